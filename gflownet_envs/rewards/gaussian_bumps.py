"""Rewards of places in a plane: a field of three bumps of uncertain height."""

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.plane_walk import PlaneWalkEnvironment
from gflownet_envs.rewards.member_inputs import member_inputs

#: (x, y) of the bumps: above, to the left below, to the right below the start.
BUMP_CENTRES = ((0.0, 0.75), (-0.5, -0.25), (0.5, -0.25))
BUMP_WIDTH = 0.35


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
    (amplitudes may be negative, rewards not); the centres `BUMP_CENTRES` are each three
    moves of four from the start, in different directions; the width `BUMP_WIDTH` of
    1.4 strides lets neighbouring bumps overlap a little.

    The mean of log R is 0 everywhere, and tells no places apart; the mean reward does
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


def bump_profiles(
    positions: Tensor,  # shape: (..., 2)
) -> Tensor:  # shape: (..., 3), float64
    """Return the three bumps of height 1 at some places.

    Examples
    --------
    >>> bump_profiles(torch.tensor([0.0, 0.75])).round(decimals=3).tolist()
    [1.0, 0.006, 0.006]
    """
    centres = torch.tensor(BUMP_CENTRES, dtype=torch.float64)
    squared = (positions[..., None, :] - centres).square().sum(dim=-1)
    return (-squared / (2 * BUMP_WIDTH**2)).exp()
