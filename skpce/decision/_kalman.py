r"""Update a belief by a square-root ensemble Kalman filter.

For an outcome :math:`h(x)` with noise of variance :math:`r`, let :math:`s` be the
variance of :math:`h` over the particles and :math:`c` its covariances with the inputs.
With the gain :math:`k = c / (s + r)` each particle moves by

.. math:: k\,\big(y - \bar h - \alpha\,(h(x) - \bar h)\big),
          \qquad \alpha = \Big(1 + \sqrt{r / (s + r)}\Big)^{-1},

so that the mean becomes :math:`m + k (y - \bar h)` and the covariance
:math:`C - c c^\top / (s + r)`: Kalman's formulas with the moments of the particles,
without drawn noise [1]_. Several outcomes are taken one after the other; the outcomes
that are still to come move with the inputs. Weights do not change, all moments are
weighted ones.

References
----------
.. [1] J. S. Whitaker and T. M. Hamill, "Ensemble data assimilation without perturbed
   observations", Monthly Weather Review 130 (2002).
"""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray
from ._belief import InputBelief
from ._observation import Observation


def kalman_updated(belief: InputBelief, observation: Observation) -> InputBelief:
    """Move the particles to the mean and covariance of Kalman's formulas.

    Values that would leave the support of a law are set to its nearest end.

    Raises
    ------
    ValueError
        If an input has a law of single values, between which nothing can move.
    """
    _refuse_single_values(belief)
    n_features = belief.particles.shape[1]
    # Inputs and outcomes move together.
    state = np.hstack([belief.particles, observation.outcome(belief.particles)])
    pairs = zip(observation.values, observation.noise_variance, strict=True)
    for k, (value, noise) in enumerate(pairs):
        state = _moved(state, n_features + k, value, noise, belief.weights)
    particles = state[:, :n_features]
    for i, law in enumerate(belief.laws):
        particles[:, i] = np.clip(particles[:, i], *law.support)
    return belief.with_draws(particles, belief.weights)


def _moved(
    state: FloatArray,  # shape: (n_particles, n_features + n_outcomes)
    column: int,
    value: float,
    noise: float,
    weights: FloatArray,
) -> FloatArray:
    """Use one observed value."""
    deviations = state - weights @ state
    outcome = deviations[:, column]
    covariances = (weights * outcome) @ deviations
    total = covariances[column] + noise
    innovation = value - weights @ state[:, column]
    damping = 1.0 / (1.0 + np.sqrt(noise / total))
    return state + np.outer(innovation - damping * outcome, covariances / total)


def _refuse_single_values(belief: InputBelief) -> None:
    for i, law in enumerate(belief.laws):
        low, high = np.min(belief.particles[:, i]), np.max(belief.particles[:, i])
        between = low + (high - low) * np.array([0.2718281828, 0.6180339887])
        between = np.clip(between, *law.support)
        if high > low and law.outside(between).any():
            raise ValueError(
                f"Input {belief.names[i]!r} takes single values; expected inputs "
                "that can move. Use method='weights'."
            )
