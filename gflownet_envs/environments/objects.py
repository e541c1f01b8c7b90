"""Terminal states by their number, for spaces whose objects can be listed."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment


class ObjectTable:
    """The terminal states of a space in the order of its reward table.

    Does what `Environment.object_index` has to do where there is no formula for it.

    Parameters
    ----------
    states : Tensor of shape (n_objects, S), int64
        Every terminal state once.

    Raises
    ------
    ValueError
        If the states are no table of int64 numbers, or one occurs twice.

    Examples
    --------
    >>> import torch
    >>> from gflownet_envs import ObjectTable
    >>> table = ObjectTable(torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 1]]))
    >>> len(table), table.index(torch.tensor([[0, 1, 1], [1, 1, 0]])).tolist()
    (3, [2, 0])
    """

    def __init__(self, states: Tensor) -> None:
        if states.ndim != 2 or states.dtype != torch.int64 or not len(states):
            raise ValueError(
                "states must be int64 of shape (n_objects, S), got "
                f"{states.dtype} of shape {tuple(states.shape)}"
            )
        distinct, counts = torch.unique(states, dim=0, return_counts=True)
        if (counts > 1).any():
            twice = distinct[counts > 1][0].tolist()
            raise ValueError(f"states must be different, got {twice} more than once")
        self.states = states
        self._numbers = StateNumbers(states)

    def __len__(self) -> int:
        """Number of objects."""
        return len(self.states)

    def index(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...)
        """Return the numbers of terminal states.

        Raises
        ------
        ValueError
            If a state is none of the table.
        """
        found, is_missing = self._numbers.find(states)
        if is_missing.any():
            raise ValueError(
                f"{states.cpu()[is_missing][0].tolist()} is no terminal state of the "
                f"{len(self)} in the table"
            )
        return found.to(states.device)


def listed_codes(
    environment: Environment, code: Callable[[Tensor], Tensor], max_states: int
) -> Tensor | None:  # shape: (n_objects,)
    """List the codes of all objects, sorted; None where there are too many states.

    Unfinished states of one number of actions have different codes too.
    """
    unfinished, codes, n_listed = environment.initial_state((1,)), [], 0
    while len(unfinished):
        parents, actions = environment.valid_mask(unfinished).nonzero(as_tuple=True)
        n_listed += len(parents)
        if n_listed > max_states:
            return None
        reached = environment.step(unfinished[parents], actions)
        finished = environment.is_terminal(reached)
        codes.append(code(reached[finished]))
        following = reached[~finished]
        _, first = np.unique(code(following).numpy(), return_index=True)
        unfinished = following[torch.from_numpy(first)]
    return torch.cat(codes).sort().values


class StateNumbers:
    """Finds different states among others, by a linear hash modulo 2^64."""

    def __init__(self, states: Tensor) -> None:  # shape: (N, S)
        self._states = states
        rng = np.random.default_rng(20_261_120)
        factors = rng.integers(2**64, size=states.shape[1], dtype=np.uint64)
        self._factors = factors | 1
        hashes = self._hash(states)
        self._order = np.argsort(hashes)
        self._sorted = hashes[self._order]

    @property
    def are_different(self) -> bool:
        """Whether no state is there twice."""
        return bool((self._sorted[1:] != self._sorted[:-1]).all())

    def find(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> tuple[Tensor, Tensor]:  # shapes: (...), int64; (...), bool
        """Return the number of each state, and which are not there."""
        states = states.cpu()
        place = np.searchsorted(self._sorted, self._hash(states))
        numbers = torch.as_tensor(self._order[place.clip(max=len(self._order) - 1)])
        return numbers, (self._states[numbers] != states).any(dim=-1)

    def _hash(self, states: Tensor) -> np.ndarray:  # shapes: (..., S) -> (...)
        with np.errstate(over="ignore"):
            return (states.numpy().astype(np.uint64) * self._factors).sum(axis=-1)
