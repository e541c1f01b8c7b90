"""Trees whose states are the choices made so far."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment


class PrefixEnvironment(Environment):
    """A state holds the choices so far in their order, and −1 where none is made yet.

    The choice at position t is written as ``action − offset[t]``. Undoing an action
    takes the last choice back, so every state has one parent. Subclasses say which
    actions are open, when a walk is finished, and how objects are numbered.

    Parameters
    ----------
    offsets : sequence of int
        The offset of each position.
    """

    n_backward_actions = 1
    is_tree = True

    def __init__(self, offsets: Sequence[int]) -> None:
        self.state_size = len(offsets)
        self._offsets = torch.tensor(offsets)

    def initial_state(
        self,
        batch_shape: Sequence[int] = (),
        device: torch.device | str | None = None,
    ) -> Tensor:  # shape: (*batch_shape, T)
        shape = (*batch_shape, self.state_size)
        return torch.full(shape, -1, dtype=torch.int64, device=device)

    def _steps(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (...)
        """Return the number of choices made so far."""
        return (states >= 0).sum(dim=-1)

    def _one_hot_step(
        self,
        states: Tensor,  # shape: (..., T)
        shift: int = 0,
    ) -> Tensor:  # shape: (..., T), bool
        """Mark the position of the next choice, moved by `shift`."""
        positions = torch.arange(self.state_size, device=states.device)
        return positions == self._steps(states)[..., None] + shift

    def step(
        self,
        states: Tensor,  # shape: (..., T)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., T)
        is_turn = self._one_hot_step(states) & ~self.is_terminal(states)[..., None]
        choice = actions[..., None] - self._offsets.to(states.device)
        return torch.where(is_turn, choice, states)

    def backward_mask(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., 1), bool
        return states[..., :1] >= 0

    def backward_action(
        self,
        states: Tensor,  # shape: (..., T)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...)
        return torch.zeros_like(actions)

    def backward(
        self,
        states: Tensor,  # shape: (..., T)
        backward_actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., T)
        return torch.where(self._one_hot_step(states, shift=-1), -1, states)

    def action_history(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., T), int64
        actions = states + self._offsets.to(states.device)
        return torch.where(states >= 0, actions, -1)
