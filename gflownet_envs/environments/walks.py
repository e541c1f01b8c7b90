"""Walks that end when the agent decides: on a grid, a hypergrid, and in the plane."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_at_least

_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
_STOP = 4


class GridEnvironment(Environment):
    """Walks from the corner (0, 0) of a square board; the object is the last cell.

    Actions are ``up`` (row − 1), ``down`` (row + 1), ``left`` (column − 1), ``right``
    (column + 1) and ``stop``. Moves off the board are masked. After ``max_moves`` moves
    only ``stop`` is left, so that a trajectory has at most ``max_moves + 1`` actions.

    A state is ``(row, column, step, done)``. The finished object forgets the step:
    its parents are *all* pairs (cell, step) from which the walk may stop there, and
    the uniform backward policy counts them. Parents of a pair (cell, step) are the
    neighbouring cells that can be reached in ``step − 1`` moves, that is, those at
    Manhattan distance at most ``step − 1`` and of the same parity.

    Objects are the cells within ``max_moves`` of the start, row by row: 19 of the 25
    cells for the default board. The others cannot be produced, hence have no column
    in a reward table. ``cells`` lists them.

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

    _start = 0  # row and column where a walk begins

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
            if abs(row - self._start) + abs(column - self._start) <= max_moves
        )
        self.n_objects = len(self.cells)
        self.state_size = 4
        self.encoding_size = 2 * size + max_moves + 1
        self._moves = torch.tensor([*_MOVES, (0, 0)])
        self._object_of_cell = torch.full((size, size), -1)
        for index, cell in enumerate(self.cells):
            self._object_of_cell[cell] = index

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., 3] == 1

    def valid_mask(self, states: Tensor) -> Tensor:
        row, column, step, done = states.unbind(dim=-1)
        may_move = (step < self.max_moves)[..., None]
        on_board = torch.stack(
            (row > 0, row < self.size - 1, column > 0, column < self.size - 1), dim=-1
        )
        stop = torch.ones_like(may_move)
        mask = torch.cat((on_board & may_move, stop), dim=-1)
        return mask & (done == 0)[..., None]

    def step(self, states: Tensor, actions: Tensor) -> Tensor:
        stops = actions == _STOP
        cell = states[..., :2] + self._moves.to(states.device)[actions]
        # the object forgets the step
        step = torch.where(stops, 0, states[..., 2] + 1)
        moved = torch.cat((cell, torch.stack((step, stops.long()), dim=-1)), dim=-1)
        return torch.where(self.is_terminal(states)[..., None], states, moved)

    def backward_mask(self, states: Tensor) -> Tensor:
        done = self.is_terminal(states)[..., None]
        cell, step = states[..., None, :2], states[..., None, 2]
        came_from = cell - self._moves[:_STOP].to(states.device)
        undo_move = self._is_reachable(came_from, step - 1) & ~done
        steps = torch.arange(self.max_moves + 1, device=states.device)
        undo_stop = self._is_reachable(cell, steps) & done
        return torch.cat((undo_move, undo_stop), dim=-1)

    def _is_reachable(self, cells: Tensor, steps: Tensor) -> Tensor:
        # shapes: cells (..., 2), steps (...) -> (...), bool
        """Say whether a walk of `steps` moves can end in ``cells``."""
        on_board = ((cells >= 0) & (cells < self.size)).all(dim=-1)
        slack = steps - cells.sum(dim=-1)
        return on_board & (slack >= 0) & (slack % 2 == 0)

    def backward_action(self, states: Tensor, actions: Tensor) -> Tensor:
        return torch.where(actions == _STOP, _STOP + states[..., 2], actions)

    def backward(self, states: Tensor, backward_actions: Tensor) -> Tensor:
        undo_stop = backward_actions >= _STOP
        move = self._moves.to(states.device)[backward_actions.clamp(max=_STOP)]
        step = torch.where(undo_stop, backward_actions - _STOP, states[..., 2] - 1)
        tail = torch.stack((step, torch.zeros_like(step)), dim=-1)
        return torch.cat((states[..., :2] - move, tail), dim=-1)

    def encode(self, states: Tensor) -> Tensor:
        """Return one-hot row, one-hot column and one-hot step."""
        sizes = (self.size, self.size, self.max_moves + 1)
        one_hot = torch.nn.functional.one_hot
        parts = [one_hot(states[..., i], size) for i, size in enumerate(sizes)]
        return torch.cat(parts, dim=-1).to(torch.float32)

    def object_index(self, states: Tensor) -> Tensor:
        table = self._object_of_cell.to(states.device)
        return table[states[..., 0], states[..., 1]]

    def object_name(self, index: int) -> str:
        row, column = self.cells[index]
        return f"({row}, {column})"


_MAX_OBJECTS = 2**62  # object numbers are int64


class HypergridEnvironment(Environment):
    """Walks from a corner that only grow coordinates; the object is the last cell.

    The grid of Bengio et al., *Flow Network based Generative Models for Non-Iterative
    Diverse Candidate Generation* (NeurIPS 2021, section 4.1). An action adds one to a
    coordinate or stops; coordinates stay below ``side``. Every cell can be reached and
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

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., -1] == 1

    def valid_mask(self, states: Tensor) -> Tensor:
        going_on = states[..., -1:] == 0
        return torch.cat(((states[..., :-1] < self.side - 1) & going_on, going_on), -1)

    def step(self, states: Tensor, actions: Tensor) -> Tensor:
        going_on = (states[..., -1:] == 0).long()
        return states + self._change.to(states.device)[actions] * going_on

    def backward_mask(self, states: Tensor) -> Tensor:
        stopped = states[..., -1:] == 1
        return torch.cat(((states[..., :-1] > 0) & ~stopped, stopped), dim=-1)

    def backward_action(self, states: Tensor, actions: Tensor) -> Tensor:
        return actions

    def backward(self, states: Tensor, backward_actions: Tensor) -> Tensor:
        return states - self._change.to(states.device)[backward_actions]

    def encode(self, states: Tensor) -> Tensor:
        """Return one-hot coordinates."""
        values = torch.arange(self.side, device=states.device)
        one_hot = states[..., :-1, None] == values
        return one_hot.flatten(start_dim=-2).to(torch.float32)

    def object_index(self, states: Tensor) -> Tensor:
        return (states[..., :-1] * self._strides.to(states.device)).sum(dim=-1)

    def object_cells(self) -> Tensor:  # shape: (n_objects, n_dims)
        """Return the coordinates of every object, in the order of the reward table."""
        index = torch.arange(self.require_listed_objects())
        return index[:, None] // self._strides % self.side

    def object_name(self, index: int) -> str:
        self._require_object(index)
        cell = torch.tensor(index) // self._strides % self.side
        return f"({', '.join(str(x) for x in cell.tolist())})"


class PlaneWalkEnvironment(GridEnvironment):
    """Walks of a fixed stride in a plane; the object is the place where one stops.

    The continuous grid of the paper (section 2.4): five actions, four steps. The walk
    starts at (0, 0) and moves by ``1 / max_moves`` in one of four directions, so that
    it stays within ``|x| + |y| ≤ 1``; no wall is ever met, and all five actions are
    open at each step before the last. The paper gives neither the start nor the
    stride; a start in the centre agrees with its 5 × 4 pairs of action and step.

    Places are continuous, those that can be reached are finitely many: 41 with four
    moves. States and parents are those of `GridEnvironment` on a board of
    ``2 * max_moves + 1`` rows, whose ``cells`` they are; `positions` gives (x, y), with
    x to the right and y upwards.

    Parameters
    ----------
    max_moves : int, default=4
        Largest number of moves, at least 1.

    Notes
    -----
    An action that is itself continuous (an angle, a displacement) does not fit the
    contract of `Environment`: its policy is a density and not a composition, so that
    there are no parts whose log-ratios a surrogate could predict, and its states have
    no list, hence no reward table, no uniform distribution over parents and no exact
    solution.

    Examples
    --------
    >>> env = PlaneWalkEnvironment()
    >>> env.n_objects, env.n_actions, env.max_steps
    (41, 5, 5)
    >>> state = env.step(env.initial_state(), torch.tensor(3))
    >>> env.positions()[env.object_index(state)].tolist()
    [0.25, 0.0]
    """

    def __init__(self, max_moves: int = 4) -> None:
        require_at_least("max_moves", max_moves, 1)
        self._start = max_moves
        super().__init__(size=2 * max_moves + 1, max_moves=max_moves)
        self.name = f"plane-walk-{max_moves}"

    def initial_state(
        self, batch_shape: Sequence[int] = (), device: torch.device | str | None = None
    ) -> Tensor:
        states = super().initial_state(batch_shape, device)
        states[..., :2] = self.max_moves
        return states

    def _is_reachable(self, cells: Tensor, steps: Tensor) -> Tensor:
        # shapes: cells (..., 2), steps (...) -> (...), bool
        slack = steps - (cells - self.max_moves).abs().sum(dim=-1)
        return (slack >= 0) & (slack % 2 == 0)

    def positions(self) -> Tensor:  # shape: (n_objects, 2), float64
        """Return (x, y) of the objects, in the order of the reward table."""
        rows, columns = torch.tensor(self.cells, dtype=torch.float64).unbind(dim=-1)
        right, up = columns - self.max_moves, self.max_moves - rows
        return torch.stack((right, up), dim=-1) / self.max_moves

    def object_name(self, index: int) -> str:
        self._require_object(index)
        x, y = self.positions()[index].tolist()
        return f"({x:g}, {y:g})"
