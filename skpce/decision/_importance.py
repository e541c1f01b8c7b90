r"""Update a belief by importance weights.

The weight of a particle is multiplied by the likelihood of what was observed there.
Where that would leave too few particles with weight, the likelihood :math:`L` is taken
in powers, :math:`L = L^{\gamma_1} L^{\gamma_2} \cdots`, each the largest that keeps
the effective sample size at the threshold [1]_. After each power but the last the
particles are resampled (systematically) and moved by the kernel of Liu and West [2]_,

.. math:: x \leftarrow a x + (1 - a) m + \sqrt{1 - a^2}\, C^{1/2} z,

with mean :math:`m` and covariance :math:`C` of the weighted particles and :math:`z`
standard normal: the kernel keeps both.

References
----------
.. [1] A. Jasra, D. A. Stephens, A. Doucet and T. Tsagaris, "Inference for Lévy-driven
   stochastic volatility models via adaptive sequential Monte Carlo", Scandinavian
   Journal of Statistics 38 (2011).
.. [2] J. Liu and M. West, "Combined parameter and state estimation in
   simulation-based filtering", in "Sequential Monte Carlo Methods in Practice",
   Springer, 2001, section 10.3.
"""

from __future__ import annotations

import warnings

import numpy as np

from .._checks import FloatArray, IndexArray
from ._belief import InputBelief, effective_sample_size
from ._observation import LogLikelihood

# Halvings of the interval in which a power is searched.
_BISECTIONS = 30
# More powers than this mean that no power helps (a likelihood of zeros and ones).
_MOST_STAGES = 100
# Fewer effective particles than this do not tell a spread.
_FEWEST_EFFECTIVE = 10.0


class DegenerateBeliefWarning(UserWarning):
    """Almost all weight is on a few particles when they are resampled."""


def reweighted(
    belief: InputBelief,
    log_likelihood: LogLikelihood,
    *,
    resample_below: float,
    shrinkage: float,
    generator: np.random.Generator,
) -> InputBelief:
    """Multiply weights by a likelihood, in as few powers as the threshold allows.

    Raises
    ------
    ValueError
        If the likelihood is zero at every particle.

    Warns
    -----
    DegenerateBeliefWarning
        When a few particles are to become all of them.
    """
    smallest = resample_below * len(belief.weights)
    left = 1.0
    for stage in range(_MOST_STAGES):
        logs = log_likelihood(belief.particles)
        _refuse_impossible(belief, logs)
        power = left
        if smallest and stage < _MOST_STAGES - 1:
            power = _largest_power(belief.weights, logs, left, smallest)
        belief = belief.with_draws(
            belief.particles, _tempered(belief.weights, logs, power)
        )
        left -= power
        if left <= 0.0:
            break
        _warn_of_few(belief)
        belief = liu_west(belief, shrinkage, generator)
    return belief


def _warn_of_few(belief: InputBelief) -> None:
    size, n_particles = belief.effective_sample_size, len(belief.weights)
    if size < min(_FEWEST_EFFECTIVE, 0.5 * n_particles):
        warnings.warn(
            f"Only {size:.1f} of {n_particles} particles hold the belief when it is "
            "resampled: its spread, and the effective sample size that is reported "
            "from now on, are not to be trusted. Use more particles, or start from a "
            "belief nearer to what was observed.",
            DegenerateBeliefWarning,
            stacklevel=5,
        )


def _refuse_impossible(belief: InputBelief, logs: FloatArray) -> None:
    if np.all(np.isneginf(logs[belief.weights > 0])):
        raise ValueError(
            "What was observed is impossible at every particle: the log-likelihood is "
            f"-inf at all {len(logs)}. Check the likelihood, or believe in more."
        )


def _tempered(weights: FloatArray, logs: FloatArray, power: float) -> FloatArray:
    """Return normalised ``weights * exp(power * logs)``; 0 where logs are -inf."""
    possible = (weights > 0) & ~np.isneginf(logs)
    below_best = np.where(possible, logs - logs[possible].max(), 0.0)
    found = np.where(possible, weights * np.exp(power * below_best), 0.0)
    return found / found.sum()


def _largest_power(
    weights: FloatArray, logs: FloatArray, left: float, smallest: float
) -> float:
    """Return the largest power up to ``left`` that keeps the effective size.

    0 when the particles that are possible are too few already.
    """

    def enough(power: float) -> bool:
        size = effective_sample_size(_tempered(weights, logs, power))
        return size >= smallest

    if enough(left):
        return left
    low, high = 0.0, left
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def liu_west(
    belief: InputBelief, shrinkage: float, generator: np.random.Generator
) -> InputBelief:
    """Resample, shrink to the mean and jitter: mean and covariance are kept.

    A value that would leave the support of its law stays at its shrunk place; where
    this is outside too (an input of single values) it is not moved at all.
    """
    mean, root = belief.mean, _square_root(belief.covariance)
    drawn = belief.particles[_systematic(belief.weights, generator)]
    shrunk = shrinkage * drawn + (1.0 - shrinkage) * mean
    noise = generator.standard_normal(size=drawn.shape) @ root.T
    moved = shrunk + np.sqrt(1.0 - shrinkage**2) * noise
    moved = np.where(belief.outside(moved), shrunk, moved)
    moved = np.where(belief.outside(moved), drawn, moved)
    return belief.with_draws(moved, None, resampled=1)


def _systematic(weights: FloatArray, generator: np.random.Generator) -> IndexArray:
    """Return positions drawn by one uniform number and equal steps."""
    size = len(weights)
    points = (np.arange(size) + generator.uniform()) / size
    reached = np.cumsum(weights)
    return np.searchsorted(reached, points * reached[-1], side="right")


def _square_root(covariance: FloatArray) -> FloatArray:
    """Return a square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
