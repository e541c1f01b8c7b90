"""Grid rewards whose level is uncertain in each quadrant."""

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType

import torch
from torch import Tensor

from gflownet_envs.environments.grid import GridEnvironment

SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SPLIT = 2  # rows and columns 0–1 against the others


def _diagonal(
    cells: Tensor,  # shape: (n_objects, 2)
) -> Tensor:  # shape: (n_objects,)
    row, column = cells.unbind(dim=-1)
    return 0.5 * (row + column) - 0.4 * (row - column).abs() + 0.1 * column


def _flat(
    cells: Tensor,  # shape: (n_objects, 2)
) -> Tensor:  # shape: (n_objects,)
    return torch.zeros(len(cells), dtype=torch.float64)


BASES: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {"diagonal": _diagonal, "flat": _flat}
)


def quadrant_shift_rewards(
    environment: GridEnvironment,
    base: str = "diagonal",
) -> tuple[Tensor, Tensor]:  # shapes: (625, n_objects), (625, 4), float64
    r"""Return all combinations of five shifts in four quadrants.

    .. math:: \log R(\text{cell}) = b(\text{cell}) + \delta_{q(\text{cell})}

    with the quadrants q = 0 (rows 0–1, columns 0–1), 1 (rows 0–1, columns 2 and more),
    2 (rows 2 and more, columns 0–1), 3 (both 2 and more), and δ in
    {−1, −½, 0, ½, 1}⁴, the last quadrant running fastest. The mean reward is b.

    The base ``"diagonal"`` is

    .. math:: b = 0.5\,(r + c) - 0.4\,|r - c| + 0.1\,c.

    It grows away from the start, so that the greedy walk under the mean reward makes
    all five moves (right three times, down twice, to the cell (2, 3)); it favours the
    diagonal, which keeps both directions open (the likeliest action has probability
    0.41 to 0.67 along that walk); and the small last term breaks the symmetry of rows
    and columns. Quadrant 0 drives the first choices, 1 and 3 the last ones. ``"flat"``
    is b = 0, where most walks stop early.

    Parameters
    ----------
    environment : GridEnvironment
        With a board of at least 3 × 3 and at least 4 moves, so that every quadrant
        can be reached.
    base : {"diagonal", "flat"}, default="diagonal"

    Returns
    -------
    log_reward : Tensor of shape (625, n_objects), float64
    shifts : Tensor of shape (625, 4), float64

    Examples
    --------
    >>> log_reward, shifts = quadrant_shift_rewards(GridEnvironment())
    >>> log_reward.shape, shifts[0].tolist()
    (torch.Size([625, 19]), [-1.0, -1.0, -1.0, -1.0])
    """
    if base not in BASES:
        raise ValueError(f"base must be one of {sorted(BASES)}, got {base!r}")
    cells = torch.tensor(environment.cells)
    quadrant = quadrant_of_cell(cells)
    if len(quadrant.unique()) < 4:
        raise ValueError(
            "the environment must reach all four quadrants (size at least 3, "
            f"max_moves at least 4), got {environment.name}"
        )
    shifts = torch.tensor(list(product(SHIFTS, repeat=4)), dtype=torch.float64)
    return BASES[base](cells).to(torch.float64) + shifts[:, quadrant], shifts


def quadrant_of_cell(
    cells: Tensor,  # shape: (..., 2)
) -> Tensor:  # shape: (...)
    """Return 2 · [row ≥ 2] + [column ≥ 2].

    Examples
    --------
    >>> quadrant_of_cell(torch.tensor([[1, 1], [0, 2], [4, 0], [2, 3]]))
    tensor([0, 1, 2, 3])
    """
    far = (cells >= _SPLIT).long()
    return 2 * far[..., 0] + far[..., 1]
