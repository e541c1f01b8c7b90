"""Walks on a square board, stopped by choice."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_at_least

_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
_STOP = 4


class GridEnvironment(Environment):
    """Walks from the corner (0, 0) of a square board; the object is the last cell.

    Actions are ``up`` (row − 1), ``down`` (row + 1), ``left`` (column − 1), ``right``
    (column + 1) and ``stop``. Moves off the board are masked. After `max_moves` moves
    only ``stop`` is left, so that a trajectory has at most ``max_moves + 1`` actions.

    A state is ``(row, column, step, done)``. The finished object forgets the step:
    its parents are *all* pairs (cell, step) from which the walk may stop there, and
    the uniform backward policy counts them. Parents of a pair (cell, step) are the
    neighbouring cells that can be reached in ``step − 1`` moves, that is, those at
    Manhattan distance at most ``step − 1`` and of the same parity.

    Objects are the cells within `max_moves` of the start, row by row: 19 of the 25
    cells for the default board. The others cannot be produced, hence have no column
    in a reward table. `cells` lists them.

    Parameters
    ----------
    size : int, default=5
        Rows and columns of the board, at least 2.
    max_moves : int, default=5
        Largest number of moves, at least 1.

    Examples
    --------
    >>> env = GridEnvironment()
    >>> env.n_objects, env.max_steps
    (19, 6)
    >>> state = env.step(env.initial_state(), torch.tensor(3))
    >>> state
    tensor([0, 1, 1, 0])
    >>> [name for name, ok in zip(env.action_names, env.valid_mask(state)) if ok]
    ['down', 'left', 'right', 'stop']
    """

    def __init__(self, size: int = 5, max_moves: int = 5) -> None:
        require_at_least("size", size, 2)
        require_at_least("max_moves", max_moves, 1)
        self.size = size
        self.max_moves = max_moves
        self.name = f"grid-{size}x{size}-{max_moves}"
        self.action_names = ("up", "down", "left", "right", "stop")
        self.step_names = (*(f"move {t + 1}" for t in range(max_moves)), "stop")
        self.n_backward_actions = len(_MOVES) + max_moves + 1
        self.cells = tuple(
            (row, column)
            for row in range(size)
            for column in range(size)
            if row + column <= max_moves
        )
        self.n_objects = len(self.cells)
        self.state_size = 4
        self.encoding_size = 2 * size + max_moves + 1
        self._moves = torch.tensor([*_MOVES, (0, 0)])
        self._object_of_cell = torch.full((size, size), -1)
        for index, cell in enumerate(self.cells):
            self._object_of_cell[cell] = index

    def initial_state(
        self,
        batch_shape: Sequence[int] = (),
        device: torch.device | str | None = None,
    ) -> Tensor:  # shape: (*batch_shape, 4)
        return torch.zeros((*batch_shape, 4), dtype=torch.int64, device=device)

    def is_terminal(
        self,
        states: Tensor,  # shape: (..., 4)
    ) -> Tensor:  # shape: (...), bool
        return states[..., 3] == 1

    def valid_mask(
        self,
        states: Tensor,  # shape: (..., 4)
    ) -> Tensor:  # shape: (..., 5), bool
        row, column, step, done = states.unbind(dim=-1)
        may_move = (step < self.max_moves)[..., None]
        on_board = torch.stack(
            (row > 0, row < self.size - 1, column > 0, column < self.size - 1), dim=-1
        )
        stop = torch.ones_like(may_move)
        mask = torch.cat((on_board & may_move, stop), dim=-1)
        return mask & (done == 0)[..., None]

    def step(
        self,
        states: Tensor,  # shape: (..., 4)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., 4)
        stops = actions == _STOP
        cell = states[..., :2] + self._moves.to(states.device)[actions]
        # the object forgets the step
        step = torch.where(stops, 0, states[..., 2] + 1)
        moved = torch.cat((cell, torch.stack((step, stops.long()), dim=-1)), dim=-1)
        return torch.where(self.is_terminal(states)[..., None], states, moved)

    def backward_mask(
        self,
        states: Tensor,  # shape: (..., 4)
    ) -> Tensor:  # shape: (..., 4 + max_moves + 1), bool
        done = self.is_terminal(states)[..., None]
        cell, step = states[..., None, :2], states[..., None, 2]
        came_from = cell - self._moves[:_STOP].to(states.device)
        undo_move = self._is_reachable(came_from, step - 1) & ~done
        steps = torch.arange(self.max_moves + 1, device=states.device)
        undo_stop = self._is_reachable(cell, steps) & done
        return torch.cat((undo_move, undo_stop), dim=-1)

    def _is_reachable(
        self,
        cells: Tensor,  # shape: (..., 2)
        steps: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...), bool
        """Say whether a walk of `steps` moves can end in `cells`."""
        on_board = ((cells >= 0) & (cells < self.size)).all(dim=-1)
        slack = steps - cells.sum(dim=-1)
        return on_board & (slack >= 0) & (slack % 2 == 0)

    def backward_action(
        self,
        states: Tensor,  # shape: (..., 4)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...)
        return torch.where(actions == _STOP, _STOP + states[..., 2], actions)

    def backward(
        self,
        states: Tensor,  # shape: (..., 4)
        backward_actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., 4)
        undo_stop = backward_actions >= _STOP
        move = self._moves.to(states.device)[backward_actions.clamp(max=_STOP)]
        step = torch.where(undo_stop, backward_actions - _STOP, states[..., 2] - 1)
        tail = torch.stack((step, torch.zeros_like(step)), dim=-1)
        return torch.cat((states[..., :2] - move, tail), dim=-1)

    def encode(
        self,
        states: Tensor,  # shape: (..., 4)
    ) -> Tensor:  # shape: (..., 2 * size + max_moves + 1), float32
        """Return one-hot row, one-hot column and one-hot step."""
        row, column, step, _ = states.unbind(dim=-1)
        parts = (
            torch.nn.functional.one_hot(row, self.size),
            torch.nn.functional.one_hot(column, self.size),
            torch.nn.functional.one_hot(step, self.max_moves + 1),
        )
        return torch.cat(parts, dim=-1).to(torch.float32)

    def object_index(
        self,
        states: Tensor,  # shape: (..., 4)
    ) -> Tensor:  # shape: (...)
        table = self._object_of_cell.to(states.device)
        return table[states[..., 0], states[..., 1]]

    def object_name(self, index: int) -> str:
        row, column = self.cells[index]
        return f"({row}, {column})"
