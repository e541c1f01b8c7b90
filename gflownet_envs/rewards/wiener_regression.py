"""Rewards of expressions: the misfit to a target under Wiener noise."""

import math

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.symbolic_expression import SymbolicExpressionEnvironment
from gflownet_envs.rewards.member_inputs import member_inputs

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
    about these alone. With `max_gap` c, log R is raised to the member's largest value
    minus c where it is below. Of N expressions this adds at most N exp(−c) of the
    largest R, which is less than Z: the law over expressions moves by at most
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
    expressions = environment.object_states(torch.arange(environment.n_objects))
    residuals = environment.values(expressions, x) - target(x)
    modes = wiener_modes(x, z.shape[1])
    without_noise = residuals.square().mean(dim=1)
    cross = z @ (residuals @ modes).T / n_points
    of_noise = (z @ modes.T).square().mean(dim=1, keepdim=True)
    log_reward = 2 * cross - without_noise - of_noise
    if max_gap is None:
        return log_reward
    return log_reward.clamp(min=log_reward.amax(dim=1, keepdim=True) - max_gap)


def target(
    x: Tensor,  # shape: (n,)
) -> Tensor:  # shape: (n,)
    """Return sin x + 2 − x.

    Examples
    --------
    >>> target(torch.zeros(1))
    tensor([2.])
    """
    return x.sin() + 2 - x


def wiener_modes(
    x: Tensor,  # shape: (n,)
    n_modes: int = 2,
) -> Tensor:  # shape: (n, n_modes), float64
    r"""Return the modes of a Wiener process on [0, 2π], scaled by their deviations.

    .. math::
        \sqrt{\lambda_k} \phi_k(x) = \sqrt{\frac{2}{L}} \,
        \frac{\sin(\omega_k x)}{\omega_k}, \qquad \omega_k = \frac{(k - 1/2) \pi}{L}

    with L = 2π; the sum of all their squares at x is the variance, x.

    Examples
    --------
    >>> wiener_modes(torch.tensor([2 * math.pi])).square().round(decimals=3).tolist()
    [[5.093, 0.566]]
    """
    numbers = torch.arange(1, n_modes + 1, dtype=torch.float64)
    frequencies = (numbers - 0.5) * math.pi / INTERVAL_LENGTH
    waves = (x.to(torch.float64)[:, None] * frequencies).sin()
    return math.sqrt(2 / INTERVAL_LENGTH) * waves / frequencies
