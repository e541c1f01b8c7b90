"""Terminal states by their number, for spaces whose objects can be listed."""

import torch
from torch import Tensor


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
        self.states = states
        ranks = torch.zeros(len(states), dtype=torch.int64)
        self._columns: list[tuple[Tensor, Tensor]] = []  # values, then ranks so far
        for column in states.T:
            values, place = torch.unique(column, return_inverse=True)
            codes, ranks = torch.unique(
                ranks * len(values) + place, return_inverse=True
            )
            self._columns.append((values, codes))
        self._object_of_rank = ranks.argsort()
        if len(ranks.unique()) < len(states):
            _, counts = torch.unique(states, dim=0, return_counts=True)
            twice = torch.unique(states, dim=0)[counts > 1][0].tolist()
            raise ValueError(f"states must be different, got {twice} more than once")

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
        ranks = torch.zeros(states.shape[:-1], dtype=torch.int64)
        for column, (values, codes) in zip(
            states.cpu().unbind(-1), self._columns, strict=True
        ):
            place = _position(values, column)
            ranks = _position(codes, ranks * len(values) + place)
        found = self._object_of_rank[ranks].to(states.device)
        wrong = (self.states[found.cpu()] != states.cpu()).any(dim=-1)
        if wrong.any():
            raise ValueError(
                f"{states.cpu()[wrong][0].tolist()} is no terminal state of the "
                f"{len(self)} in the table"
            )
        return found


def _position(values: Tensor, wanted: Tensor) -> Tensor:
    """Return the place of each number in sorted ones; any place where it is none."""
    return torch.searchsorted(values, wanted.contiguous()).clamp(max=len(values) - 1)
