"""Rewards that are formulas of a few inputs, one row of inputs a member."""

import math
from itertools import product

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.sequences import SymbolicExpressionEnvironment
from gflownet_envs.environments.walks import (
    GridEnvironment,
    HypergridEnvironment,
    PlaneWalkEnvironment,
)
from gflownet_envs.rewards.source import member_inputs

SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SPLIT = 2  # rows and columns 0–1 against the others


#: (x, y) of the bumps: above, to the left below, to the right below the start.
BUMP_CENTRES = ((0.0, 0.75), (-0.5, -0.25), (0.5, -0.25))
BUMP_WIDTH = 0.35


def quadrant_shift_rewards(
    environment: GridEnvironment,
) -> tuple[Tensor, Tensor]:  # shapes: (625, n_objects), (625, 4), float64
    r"""Return all combinations of five shifts in four quadrants.

    .. math:: \log R(\text{cell}) = b(\text{cell}) + \delta_{q(\text{cell})}

    with the quadrants q = 0 (rows 0–1, columns 0–1), 1 (rows 0–1, columns 2 and more),
    2 (rows 2 and more, columns 0–1), 3 (both 2 and more), and δ in
    {−1, −½, 0, ½, 1}⁴, the last quadrant running fastest. The mean reward is b.

    The base is

    .. math:: b = 0.5\,(r + c) - 0.4\,|r - c| + 0.1\,c.

    It grows away from the start, so that the greedy walk under the mean reward makes
    all five moves (right three times, down twice, to the cell (2, 3)); it favours the
    diagonal, which keeps both directions open (the likeliest action has probability
    0.41 to 0.67 along that walk); and the small last term breaks the symmetry of rows
    and columns. Quadrant 0 decides the first choices, 1 and 3 the last ones.

    Parameters
    ----------
    environment : GridEnvironment
        With a board of at least 3 × 3 and at least 4 moves, so that every quadrant
        can be reached.

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
    cells = torch.tensor(environment.cells)
    quadrant = quadrant_of_cell(cells)
    if len(quadrant.unique()) < 4:
        raise ValueError(
            "the environment must reach all four quadrants (size at least 3, "
            f"max_moves at least 4), got {environment.name}"
        )
    shifts = torch.tensor(list(product(SHIFTS, repeat=4)), dtype=torch.float64)
    row, column = cells.unbind(dim=-1)
    mean = 0.5 * (row + column) - 0.4 * (row - column).abs() + 0.1 * column
    return mean.to(torch.float64) + shifts[:, quadrant], shifts


def quadrant_of_cell(cells: Tensor) -> Tensor:  # shapes: cells (..., 2) -> (...)
    """Return 2 · [row ≥ 2] + [column ≥ 2]."""
    far = (cells >= _SPLIT).long()
    return 2 * far[..., 0] + far[..., 1]


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

    with H = ``side``. The paper prints x_i / H; H − 1 makes the reward symmetric. The
    last term holds :math:`2^d` modes; the smaller R_0 is, the poorer the way from one
    to the next. Comparisons are of whole numbers, without rounding.

    Parameters
    ----------
    environment : HypergridEnvironment
        One of whose cells lies in a mode: ``side`` is 7 to 10, or 12 and more.
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


def _distance_from_centre(environment: HypergridEnvironment) -> Tensor:
    # shape: -> (n_objects, n_dims)
    """Return ``|2 x − (side − 1)|``."""
    return (2 * environment.object_cells() - (environment.side - 1)).abs()


def _as_column(name: str, value: float | Tensor | ArrayLike) -> Tensor:
    # shape: -> (E or 1, 1), float64
    levels = torch.as_tensor(value, dtype=torch.float64)
    allowed = levels > 0 if name == "r0" else levels >= 0
    if levels.ndim > 1 or not (allowed & levels.isfinite()).all():
        bound = "> 0" if name == "r0" else "≥ 0"
        raise ValueError(
            f"{name} must be a finite number {bound}, or one a member, got {value!r}"
        )
    return levels.reshape(-1, 1)


def gaussian_bump_rewards(
    environment: PlaneWalkEnvironment,
    amplitudes: Tensor | ArrayLike,  # shape: (E, 3)
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R, the height of a random field, one row a member.

    .. math::
        \log R(x) = \sum_{k=1}^{3} a_k \, b_k(x), \qquad
        b_k(x) = \exp\left(-\frac{|x - c_k|^2}{2 w^2}\right)

    with amplitudes :math:`a_k \sim N(0, 1)` as the paper has them (section 2.4): they
    are the inputs themselves. It leaves the rest open. Chosen here: the field is log R
    (amplitudes may be negative, rewards not); the centres ``BUMP_CENTRES`` are each
    three moves of four from the start, in different directions; the width
    ``BUMP_WIDTH`` of 1.4 strides lets neighbouring bumps overlap a little.

    The mean of log R is 0 everywhere, and distinguishes no places; the mean reward does
    (`log_mean_bump_reward`).

    Parameters
    ----------
    environment : PlaneWalkEnvironment
    amplitudes : array-like of shape (n_members, 3)

    Examples
    --------
    >>> env = PlaneWalkEnvironment()
    >>> log_reward = gaussian_bump_rewards(env, [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> best = int(log_reward[0].argmax())
    >>> env.object_name(best), round(log_reward[0, best].item(), 6)
    ('(0, 0.75)', 1.0)
    """
    heights = member_inputs("amplitudes", amplitudes, len(BUMP_CENTRES))
    return heights @ bump_profiles(environment.positions()).T


def log_mean_bump_reward(
    environment: PlaneWalkEnvironment,
) -> Tensor:  # shape: (1, n_objects), float64
    r"""Return :math:`\log E[R(x)] = \tfrac12 \sum_k b_k(x)^2` over N(0, 1) amplitudes.

    The reward of a pilot, whose likeliest walk is a reference trajectory.

    Examples
    --------
    >>> from gflownet_envs import greedy_trajectory, solve_exact
    >>> env = PlaneWalkEnvironment()
    >>> pilot = solve_exact(env, log_mean_bump_reward(env))
    >>> walk = greedy_trajectory(env, pilot.log_policy)
    >>> [env.action_names[a] for a in walk.actions]
    ['up', 'up', 'up', 'stop']
    """
    profiles = bump_profiles(environment.positions())
    return 0.5 * profiles.square().sum(dim=-1)[None]


def bump_profiles(positions: Tensor) -> Tensor:
    # shapes: positions (..., 2) -> (..., 3), float64
    """Return the three bumps of height 1 at some places."""
    centres = torch.tensor(BUMP_CENTRES, dtype=torch.float64)
    squared = (positions[..., None, :] - centres).square().sum(dim=-1)
    return (-squared / (2 * BUMP_WIDTH**2)).exp()


#: The paper's interval is [0, 2π].
INTERVAL_LENGTH = 2 * math.pi


def wiener_regression_rewards(
    environment: SymbolicExpressionEnvironment,
    scores: Tensor | ArrayLike,  # shape: (E, d)
    n_points: int = 100,
    *,
    max_gap: float | None = None,
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R = −MSE to a noisy target, of all expressions and members at once.

    .. math::
        \log R(g) = -\frac1n \sum_{i=1}^{n} \bigl(g(x_i) - f(x_i) - W(x_i)\bigr)^2,
        \qquad f(x) = \sin x + 2 - x, \quad W = \sum_k z_k \sqrt{\lambda_k} \phi_k

    on n points from 0 to 2π, both ends counted. The scores z ~ N(0, 1) of the
    Karhunen–Loève modes are the inputs; the paper takes two of them, and the noise of
    a standard Wiener process (section 2.5 and supplement). It leaves n open.

    Expressions are evaluated once. With residuals r = g − f and modes B (n rows)
    the sum is a quadratic form of z,

    .. math::
        \log R(g) = -\tfrac1n |r|^2 + \tfrac2n r^\top B z - \tfrac1n z^\top B^\top B z.

    Its last term is the same for all expressions: the exact policy depends on z through
    the inner products of residual and modes alone.

    Some expressions have log R below −600, and squared residuals of training would be
    about these alone. With ``max_gap`` c, log R is raised to the member's largest value
    minus c where it is below. Of N expressions this adds at most N exp(−c) of the
    largest R, which is less than Z: the distribution over expressions moves by at most
    N exp(−c) in total variation (25,190 expressions and c = 20: 5.2e-5), and log Z by
    log(1 + N exp(−c)).

    Parameters
    ----------
    environment : SymbolicExpressionEnvironment
    scores : array-like of shape (n_members, n_modes)
    n_points : int, default=100
    max_gap : float, optional
        Positive. Default: log R is not raised anywhere.

    Examples
    --------
    >>> env = SymbolicExpressionEnvironment()
    >>> log_reward = wiener_regression_rewards(env, [[0.0, 0.0]])
    >>> state = torch.tensor([0, 4, 2, 5, 3, 4, 6, -1, -1])  # sin x + 2 − x
    >>> bool(log_reward[0, env.object_index(state)].abs() < 1e-12)
    True
    """
    z = member_inputs("scores", scores)
    require_at_least("n_points", n_points, 2)
    if max_gap is not None and not 0 < max_gap < math.inf:
        raise ValueError(f"max_gap must be None or positive, got {max_gap!r}")
    x = torch.linspace(0, INTERVAL_LENGTH, n_points, dtype=torch.float64)
    objects = torch.arange(environment.require_listed_objects())
    expressions = environment.object_states(objects)
    residuals = environment.values(expressions, x) - target(x)
    modes = wiener_modes(x, z.shape[1])
    without_noise = residuals.square().mean(dim=1)
    cross = z @ (residuals @ modes).T / n_points
    of_noise = (z @ modes.T).square().mean(dim=1, keepdim=True)
    log_reward = 2 * cross - without_noise - of_noise
    if max_gap is None:
        return log_reward
    return log_reward.clamp(min=log_reward.amax(dim=1, keepdim=True) - max_gap)


def target(x: Tensor) -> Tensor:  # shapes: x (n,) -> (n,)
    """Return sin x + 2 − x."""
    return x.sin() + 2 - x


def wiener_modes(x: Tensor, n_modes: int = 2) -> Tensor:
    # shapes: x (n,) -> (n, n_modes), float64
    r"""Return the modes of a Wiener process on [0, 2π], scaled by their deviations.

    .. math::
        \sqrt{\lambda_k} \phi_k(x) = \sqrt{\frac{2}{L}} \,
        \frac{\sin(\omega_k x)}{\omega_k}, \qquad \omega_k = \frac{(k - 1/2) \pi}{L}

    with L = 2π; the sum of all their squares at x is the variance, x.
    """
    numbers = torch.arange(1, n_modes + 1, dtype=torch.float64)
    frequencies = (numbers - 0.5) * math.pi / INTERVAL_LENGTH
    waves = (x.to(torch.float64)[:, None] * frequencies).sin()
    return math.sqrt(2 / INTERVAL_LENGTH) * waves / frequencies
