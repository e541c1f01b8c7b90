"""A reward with one mode near every corner of a hypergrid."""

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.hypergrid import HypergridEnvironment


def hypergrid_mode_rewards(
    environment: HypergridEnvironment,
    r0: float | Tensor | ArrayLike = 0.1,
    r1: float | Tensor | ArrayLike = 0.5,
    r2: float | Tensor | ArrayLike = 2.0,
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R of Bengio et al. (NeurIPS 2021, section 4.1), one row a member.

    .. math::
        R(x) = R_0 + R_1 \prod_i [\,0.25 < |u_i|\,]
                   + R_2 \prod_i [\,0.3 < |u_i| < 0.4\,],
        \qquad u_i = \frac{x_i}{H - 1} - \frac12,

    with H = `side`. The paper prints x_i / H; H − 1 makes the reward symmetric. The
    last term holds :math:`2^d` modes; the smaller R_0 is, the poorer the way from one
    to the next. Comparisons are of whole numbers, without rounding.

    Parameters
    ----------
    environment : HypergridEnvironment
        One of whose cells lies in a mode: `side` is 7 to 10, or 12 and more.
    r0, r1, r2 : float or array of shape (E,), default=0.1, 0.5, 2.0
        One number for all members or one a member; r0 > 0, r1 and r2 ≥ 0.

    Examples
    --------
    >>> log_reward = hypergrid_mode_rewards(HypergridEnvironment(), r0=[0.1, 0.001])
    >>> log_reward.shape
    torch.Size([2, 64])
    >>> [round(r, 6) for r in log_reward[1].exp().unique().tolist()]
    [0.001, 0.501, 2.501]
    """
    levels = [_as_column(*pair) for pair in (("r0", r0), ("r1", r1), ("r2", r2))]
    sizes = {len(level) for level in levels if len(level) != 1}
    if len(sizes) > 1:
        raise ValueError(
            f"r0, r1 and r2 must have one number a member, got {sorted(sizes)} numbers"
        )
    distance = _distance_from_centre(environment)
    half = environment.side - 1
    is_outer = (2 * distance > half).all(dim=-1)
    is_mode = mode_of_object(environment) >= 0
    return (levels[0] + levels[1] * is_outer + levels[2] * is_mode).log()


def mode_of_object(
    environment: HypergridEnvironment,
) -> Tensor:  # shape: (n_objects,), int64
    """Return the number of the mode that each object belongs to, −1 off the modes.

    Bit i of the number, counted from the last dimension, says whether coordinate i is
    in the upper half.

    Examples
    --------
    >>> mode_of_object(HypergridEnvironment(n_dims=1, side=8)).tolist()
    [-1, 0, -1, -1, -1, -1, 1, -1]
    """
    half = environment.side - 1
    distance = _distance_from_centre(environment)
    is_mode = ((5 * distance > 3 * half) & (5 * distance < 4 * half)).all(dim=-1)
    if not is_mode.any():
        raise ValueError(
            "side must leave a cell with 0.3 < |x / (side - 1) - 0.5| < 0.4, "
            f"as 8 does, got {environment.side}"
        )
    is_upper = (2 * environment.object_cells() > half).long()
    weights = 2 ** torch.arange(environment.n_dims - 1, -1, -1)
    return torch.where(is_mode, (is_upper * weights).sum(dim=-1), -1)


def _distance_from_centre(
    environment: HypergridEnvironment,
) -> Tensor:  # shape: (n_objects, n_dims)
    """Return ``|2 x − (side − 1)|``."""
    return (2 * environment.object_cells() - (environment.side - 1)).abs()


def _as_column(
    name: str,
    value: float | Tensor | ArrayLike,
) -> Tensor:  # shape: (E or 1, 1), float64
    levels = torch.as_tensor(value, dtype=torch.float64)
    allowed = levels > 0 if name == "r0" else levels >= 0
    if levels.ndim > 1 or not (allowed & levels.isfinite()).all():
        bound = "> 0" if name == "r0" else "≥ 0"
        raise ValueError(
            f"{name} must be a finite number {bound}, or one a member, got {value!r}"
        )
    return levels.reshape(-1, 1)
