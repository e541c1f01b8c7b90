"""Walks in a plane from its centre, stopped by choice."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.grid import GridEnvironment


class PlaneWalkEnvironment(GridEnvironment):
    """Walks of a fixed stride in a plane; the object is the place where one stops.

    The continuous grid of the paper (section 2.4): five actions, four steps. The walk
    starts at (0, 0) and moves by ``1 / max_moves`` in one of four directions, so that
    it stays within ``|x| + |y| ≤ 1``; no wall is ever met, and all five actions are
    open at each step before the last. The paper gives neither the start nor the
    stride; a start in the centre agrees with its 5 × 4 pairs of action and step.

    Places are continuous, those that can be reached are finitely many: 41 with four
    moves. States and parents are those of `GridEnvironment` on a board of
    ``2 * max_moves + 1`` rows, whose `cells` they are; `positions` gives (x, y), with x
    to the right and y upwards.

    Parameters
    ----------
    max_moves : int, default=4
        Largest number of moves, at least 1.

    Notes
    -----
    An action that is itself continuous (an angle, a displacement) does not fit the
    contract of `Environment`: its policy is a density and not a composition, so that
    there are no parts whose log-ratios a surrogate could predict, and its states have
    no list, hence no reward table, no uniform law over parents and no exact solution.

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
        super().__init__(size=2 * max_moves + 1, max_moves=max_moves)
        self.name = f"plane-walk-{max_moves}"
        self.cells = tuple(
            (row, column)
            for row in range(self.size)
            for column in range(self.size)
            if abs(row - max_moves) + abs(column - max_moves) <= max_moves
        )
        self.n_objects = len(self.cells)
        rows, columns = torch.tensor(self.cells).unbind(dim=-1)
        self._object_of_cell = torch.full((self.size, self.size), -1)
        self._object_of_cell[rows, columns] = torch.arange(self.n_objects)

    def initial_state(
        self,
        batch_shape: Sequence[int] = (),
        device: torch.device | str | None = None,
    ) -> Tensor:  # shape: (*batch_shape, 4)
        states = super().initial_state(batch_shape, device)
        states[..., :2] = self.max_moves
        return states

    def _is_reachable(
        self,
        cells: Tensor,  # shape: (..., 2)
        steps: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...), bool
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
