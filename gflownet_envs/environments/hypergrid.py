"""Walks away from a corner of a grid in any number of dimensions."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_at_least

_MAX_OBJECTS = 2**62  # object numbers are int64


class HypergridEnvironment(Environment):
    """Walks from a corner that only grow coordinates; the object is the last cell.

    The grid of Bengio et al., *Flow Network based Generative Models for Non-Iterative
    Diverse Candidate Generation* (NeurIPS 2021, section 4.1). An action adds one to a
    coordinate or stops; coordinates stay below `side`. Every cell can be reached and
    stopped in. A state is the coordinates and a flag of having stopped; the sum of the
    coordinates is the number of moves. Objects are numbered in C order.

    Unlike in `GridEnvironment`, moves cannot be undone and their number is not limited.

    Parameters
    ----------
    n_dims : int, default=2
        At least 1.
    side : int, default=8
        Cells along each dimension, at least 2.

    Examples
    --------
    >>> env = HypergridEnvironment(n_dims=3, side=4)
    >>> env.n_objects, env.max_steps, env.action_names
    (64, 10, ('+x1', '+x2', '+x3', 'stop'))
    >>> env.object_name(6)
    '(0, 1, 2)'
    """

    def __init__(self, n_dims: int = 2, side: int = 8) -> None:
        require_at_least("n_dims", n_dims, 1)
        require_at_least("side", side, 2)
        if side**n_dims > _MAX_OBJECTS:
            raise ValueError(
                f"side ** n_dims must be at most 2^62, got {side} ** {n_dims}"
            )
        self.n_dims = n_dims
        self.side = side
        self.name = f"hypergrid-{n_dims}d-{side}"
        self.action_names = (*(f"+x{i + 1}" for i in range(n_dims)), "stop")
        n_moves = n_dims * (side - 1)
        self.step_names = (*(f"move {t + 1}" for t in range(n_moves)), "stop")
        self.n_backward_actions = n_dims + 1
        self.n_objects = side**n_dims
        self.state_size = n_dims + 1
        self.encoding_size = n_dims * side
        self._change = torch.eye(n_dims + 1, dtype=torch.int64)
        self._strides = side ** torch.arange(n_dims - 1, -1, -1)

    def initial_state(
        self,
        batch_shape: Sequence[int] = (),
        device: torch.device | str | None = None,
    ) -> Tensor:  # shape: (*batch_shape, n_dims + 1)
        shape = (*batch_shape, self.state_size)
        return torch.zeros(shape, dtype=torch.int64, device=device)

    def is_terminal(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
    ) -> Tensor:  # shape: (...), bool
        return states[..., -1] == 1

    def valid_mask(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
    ) -> Tensor:  # shape: (..., n_dims + 1), bool
        going_on = states[..., -1:] == 0
        return torch.cat(((states[..., :-1] < self.side - 1) & going_on, going_on), -1)

    def step(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., n_dims + 1)
        going_on = (states[..., -1:] == 0).long()
        return states + self._change.to(states.device)[actions] * going_on

    def backward_mask(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
    ) -> Tensor:  # shape: (..., n_dims + 1), bool
        stopped = states[..., -1:] == 1
        return torch.cat(((states[..., :-1] > 0) & ~stopped, stopped), dim=-1)

    def backward_action(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...)
        return actions

    def backward(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
        backward_actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., n_dims + 1)
        return states - self._change.to(states.device)[backward_actions]

    def encode(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
    ) -> Tensor:  # shape: (..., n_dims * side), float32
        """Return one-hot coordinates."""
        values = torch.arange(self.side, device=states.device)
        one_hot = states[..., :-1, None] == values
        return one_hot.flatten(start_dim=-2).to(torch.float32)

    def object_index(
        self,
        states: Tensor,  # shape: (..., n_dims + 1)
    ) -> Tensor:  # shape: (...)
        return (states[..., :-1] * self._strides.to(states.device)).sum(dim=-1)

    def object_cells(self) -> Tensor:  # shape: (n_objects, n_dims)
        """Return the coordinates of every object, in the order of the reward table."""
        index = torch.arange(self.n_objects)
        return index[:, None] // self._strides % self.side

    def object_name(self, index: int) -> str:
        self._require_object(index)
        cell = torch.tensor(index) // self._strides % self.side
        return f"({', '.join(str(x) for x in cell.tolist())})"
