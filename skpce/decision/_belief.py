r"""A belief about the inputs, observations, and the update by importance weights.

The weight of a particle is multiplied by the likelihood of what was observed there.
Where that would leave too few particles with weight, the likelihood :math:`L` is used
in powers, :math:`L = L^{\gamma_1} L^{\gamma_2} \cdots`, each the largest for which
the effective sample size is at least the threshold [1]_. After each power but the last
the particles are resampled (systematically) and moved by the kernel of Liu and West
[2]_,

.. math:: x \leftarrow a x + (1 - a) m + \sqrt{1 - a^2}\, C^{1/2} z,

with mean :math:`m` and covariance :math:`C` of the weighted particles, which it
preserves, and :math:`z` standard normal. It does not renew what is lost: particles that
come from few of the first ones are as good as these few, whatever their number [3]_, so
the effective sample size counts first particles.

References
----------
.. [1] A. Jasra, D. A. Stephens, A. Doucet and T. Tsagaris, "Inference for Lévy-driven
   stochastic volatility models via adaptive sequential Monte Carlo", Scandinavian
   Journal of Statistics 38 (2011).
.. [2] J. Liu and M. West, "Combined parameter and state estimation in
   simulation-based filtering", in "Sequential Monte Carlo Methods in Practice",
   Springer, 2001, section 10.3.
.. [3] A. Lee and N. Whiteley, "Variance estimation in the particle filter", Biometrika
   105 (2018).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    as_floats,
    check_integer,
    checked_sample_weight,
    fail,
    finite_floats,
    listed,
    make_frame,
    numbered_names,
    refuse_extremes,
    refuse_other_names,
    renamed,
)
from .._input_laws.families import InputLaw

# Tails outside the interval of the table.
_TAIL = 0.05
# Larger weights may have no finite sum.
_LARGEST_WEIGHT = 1e290


@dataclass(frozen=True, eq=False)
class InputBelief:
    """Draws of the inputs with weights: a belief about their values.

    A belief never changes: its arrays are read-only, and an update makes a new one.
    Particles that are no finite
    table are a ``ValueError``.

    Parameters
    ----------
    particles : array-like of shape (n_particles, n_features)
        Values of the inputs.
    weights : array-like of shape (n_particles,) or None, default=None
        Their probabilities, up to a factor; None means equal ones.
    names : sequence of str or None, default=None
        Names of the inputs; None means ``x0, x1, ...``.
    distributions : sequence of InputLaw, default=()
        Those of a fitted surrogate, whose supports no update leaves. Empty means no
        bounds.
    n_resampled : int, default=0
        How often particles were resampled so far. 0 means that they are still the
        first ones.
    ancestors : array-like of int of shape (n_particles,) or None, default=None
        Number of the first particle that each one comes from; None means that they are
        the first ones.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Weighted mean.
    covariance : ndarray of shape (n_features, n_features)
        Weighted covariance (sums divided by the total weight).
    standard_deviation : ndarray of shape (n_features,)
        Square root of its diagonal.
    effective_sample_size : float
        ``1 / sum(weights ** 2)``, with one weight for all particles that come from the
        same first one: the number of equally weighted draws that would be as good.

    Examples
    --------
    >>> from skpce.decision import InputBelief
    >>> belief = InputBelief([[0.0], [1.0], [5.0]], [2, 1, 1])
    >>> print(belief)
    3 particles (effective 2.7), 0 resamplings
    - x0: mean 1.5, sd 2.06, 90 % in [0, 5]
    """

    particles: FloatArray
    weights: FloatArray = None  # type: ignore[assignment]
    names: Sequence[str] = None  # type: ignore[assignment]
    distributions: Sequence[InputLaw] = field(default=(), repr=False)
    n_resampled: int = 0
    ancestors: IndexArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        expected = (
            "a finite table of shape (n_particles, n_features) with a row or more"
        )
        owner = "InputBelief"
        particles = finite_floats(owner, "particles", self.particles, expected)
        if particles.ndim != 2:
            raise fail(owner, "particles", expected, self.particles)
        refuse_extremes(particles, "particles")
        weights = checked_sample_weight(
            self.weights, particles, "weights", largest=math.inf
        )
        n_features = particles.shape[1]
        names = renamed("names", self.names, numbered_names(n_features))
        stated = listed(self.distributions, "distributions")
        if len(stated) not in (0, n_features):
            expected = f"empty, or {n_features}, one for each column of particles"
            raise fail(owner, "distributions", expected, self.distributions)
        ancestors = self.ancestors
        if ancestors is None:
            ancestors = np.arange(len(particles))
        elif np.shape(ancestors) != weights.shape:
            expected = f"None, or {len(particles)} numbers of first particles"
            raise fail(owner, "ancestors", expected, ancestors)
        if weights.max() > _LARGEST_WEIGHT:
            weights = weights / weights.max()
        # What is changed elsewhere, such as by an outcome, changes no belief.
        own = {"particles": particles.copy(), "weights": weights / weights.sum()}
        for name, values in {**own, "ancestors": np.array(ancestors)}.items():
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        object.__setattr__(self, "names", tuple(names))

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of each input; (n_features,)."""
        return self.weights @ self.particles

    @property
    def covariance(self) -> FloatArray:
        """Weighted covariance; (n_features, n_features)."""
        deviations = self.particles - self.mean
        return (self.weights[:, np.newaxis] * deviations).T @ deviations

    @property
    def standard_deviation(self) -> FloatArray:
        """Of each input; (n_features,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def effective_sample_size(self) -> float:
        """Number of equally weighted draws that would be as good."""
        same = np.unique(self.ancestors, return_inverse=True)[1]
        carried: Any = np.bincount(same, self.weights)
        return effective_sample_size(carried)

    def quantile(self, probabilities: ArrayLike) -> FloatArray:
        """Return the smallest particles at which the weights reach given probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n_probabilities,)
            Between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_probabilities, n_features)
            Of each input.
        """
        wanted = as_floats(probabilities, "probabilities")
        if wanted.ndim != 1 or not np.all((wanted >= 0) & (wanted <= 1)):
            expected = "a list of numbers in [0, 1]"
            raise fail("InputBelief.quantile", "probabilities", expected, probabilities)
        found = np.empty((len(wanted), self.particles.shape[1]))
        for i, column in enumerate(self.particles.T):
            order = np.argsort(column, kind="stable")
            reached = np.cumsum(self.weights[order])
            place = np.searchsorted(reached, wanted * reached[-1])
            found[:, i] = column[order[np.minimum(place, len(order) - 1)]]
        return found

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw whole particles by their weights: ndarray (size, n_features)."""
        check_integer("InputBelief.sample", "size", size, low=1)
        chosen = generator.choice(len(self.weights), size=size, p=self.weights)
        return self.particles[chosen]

    def outside(self, particles: FloatArray) -> BoolArray:
        """Return whether values are outside the supports; both (n, n_features)."""
        found = np.zeros(particles.shape, dtype=bool)
        for i, law in enumerate(self.distributions):
            found[:, i] = law.outside(particles[:, i])
        return found

    def to_frame(self) -> Any:
        """Return a data frame of mean, sd, low (5 %) and high (95 %) per input."""
        low, high = self.quantile([_TAIL, 1.0 - _TAIL])
        columns = {"input": np.array(self.names, dtype=object), "mean": self.mean}
        columns |= {"sd": self.standard_deviation, "low": low, "high": high}
        return make_frame(columns, columns.values())

    def __str__(self) -> str:
        low, high = self.quantile([_TAIL, 1.0 - _TAIL])
        size, mean, spread = len(self.weights), self.mean, self.standard_deviation
        lines = [
            f"{size} particles (effective {self.effective_sample_size:.1f}), "
            f"{self.n_resampled} resamplings"
        ]
        lines += [
            f"- {name}: mean {mean[i]:.3g}, sd {spread[i]:.3g}, "
            f"90 % in [{low[i]:.3g}, {high[i]:.3g}]"
            for i, name in enumerate(self.names)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        n_particles, n_features = self.particles.shape
        return (
            f"InputBelief({n_particles} particles of {n_features} inputs, effective "
            f"{self.effective_sample_size:.1f}, {self.n_resampled} resamplings)"
        )


def effective_sample_size(weights: FloatArray) -> float:
    """Return Kish's effective sample size of weights that sum to one."""
    return float(1.0 / np.square(weights).sum())


# Halvings of the interval in which a power is searched.
_BISECTIONS = 30
# More powers than this mean that no power helps (a likelihood of zeros and ones).
_MOST_STAGES = 100
# Fewer effective particles than this do not determine a spread.
_FEWEST_EFFECTIVE = 10.0


class DegenerateBeliefWarning(UserWarning):
    """Almost all weight is on particles that come from few of the first ones."""


def reweighted(
    belief: InputBelief,
    log_likelihood: Callable[[FloatArray], FloatArray],
    generator: np.random.Generator,
    resample_below: float = 0.5,
    shrinkage: float = 0.98,
) -> InputBelief:
    """Multiply weights by a likelihood, in as few powers as the threshold allows.

    Before the effective sample size falls below a share of the particles they are
    resampled, and moved by the kernel of Liu and West. Where few of the first particles
    are left in the end there is a warning.
    """
    smallest = resample_below * len(belief.weights)
    left = 1.0
    for stage in range(_MOST_STAGES):
        logs = log_likelihood(belief.particles)
        if np.all(np.isneginf(logs[belief.weights > 0])):
            raise ValueError(
                "What was observed is impossible at every particle: the log-likelihood "
                f"is -inf at all {len(logs)}; expected observed values that noise_sd "
                "makes possible at one or more of them."
            )
        power = left
        weights = _tempered(belief.weights, logs, power)
        is_degenerate = effective_sample_size(weights) < smallest
        if is_degenerate and stage < _MOST_STAGES - 1:
            power, high = 0.0, left  # the largest power that leaves enough, or 0
            for _ in range(_BISECTIONS):
                middle = 0.5 * (power + high)
                some = _tempered(belief.weights, logs, middle)
                if effective_sample_size(some) >= smallest:
                    power = middle
                else:
                    high = middle
            weights = _tempered(belief.weights, logs, power)
        belief = replace(belief, weights=weights)
        left -= power
        if left <= 0.0:
            break
        belief = liu_west(belief, shrinkage, generator)
    n_particles = len(belief.weights)
    fewest = min(_FEWEST_EFFECTIVE, 0.5 * n_particles)
    if belief.effective_sample_size < fewest:
        warnings.warn(
            f"Fewer than {fewest:g} of the first {n_particles} particles carry the "
            "belief (effective_sample_size): its mean and spread are unreliable. Use "
            "more particles, start from a belief closer to what was observed, or use "
            'method="kalman" where inputs are about normal.',
            DegenerateBeliefWarning,
            stacklevel=3,
        )
    return belief


def _tempered(weights: FloatArray, logs: FloatArray, power: float) -> FloatArray:
    """Return normalised ``weights * exp(power * logs)``; 0 where logs are -inf."""
    possible = (weights > 0) & ~np.isneginf(logs)
    below_best = np.where(possible, logs - logs[possible].max(), 0.0)
    found = np.where(possible, weights * np.exp(power * below_best), 0.0)
    return found / found.sum()


def liu_west(
    belief: InputBelief, shrinkage: float, generator: np.random.Generator
) -> InputBelief:
    """Resample, shrink to the mean and jitter, which preserves mean and covariance."""
    # A value that would leave the support of its law stays at its shrunk place; where
    # this is outside too (an input of single values) it is not moved at all.
    mean = belief.mean
    values, vectors = np.linalg.eigh(belief.covariance)  # which may be singular
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    # Systematic resampling: one uniform number, and equal steps from it.
    size, reached = len(belief.weights), np.cumsum(belief.weights)
    points = (np.arange(size) + generator.uniform()) / size
    chosen = np.searchsorted(reached, points * reached[-1], side="right")
    drawn = belief.particles[chosen]
    shrunk = shrinkage * drawn + (1.0 - shrinkage) * mean
    noise = generator.standard_normal(size=drawn.shape) @ root.T
    moved = shrunk + np.sqrt(1.0 - shrinkage**2) * noise
    moved = np.where(belief.outside(moved), shrunk, moved)
    moved = np.where(belief.outside(moved), drawn, moved)
    ancestors = belief.ancestors[chosen]
    return replace(
        belief,
        particles=moved,
        weights=np.ones(len(moved)),
        ancestors=ancestors,
        n_resampled=belief.n_resampled + 1,
    )


#: From inputs (n, n_features) to one log-likelihood each.


@dataclass(frozen=True)
class Observation:
    """Outcomes that are a function of the inputs plus normal noise."""

    values: FloatArray  # (n_outcomes,)
    noise_variance: FloatArray  # (n_outcomes,), of the independent noise of each
    outcome: Callable[[FloatArray], FloatArray]  # (n, n_features) to (n, n_outcomes)

    def log_likelihood(self, inputs: FloatArray) -> FloatArray:
        """Return the log-density of the values at each row, up to a constant."""
        if not np.all(self.noise_variance > 0):
            raise ValueError(
                "noise_sd must be a positive finite float with a positive square, so "
                "that there is a likelihood. Its square is 0."
            )
        errors = np.square(self.values - self.outcome(inputs))
        return -0.5 * (errors / self.noise_variance).sum(axis=1)


def read_observation(
    owner: str,
    observed: Any,
    outcome: Any,
    noise_sd: Any,
    which: Any,
    names: Sequence[str] | None = None,
) -> Observation:
    """Check the arguments of an observation of inputs with these names."""
    values = _numbers(owner, "observed", observed, "a finite number, or several")
    noise = read_noise(owner, noise_sd, len(values), "outcomes")
    predict = as_function(owner, outcome, names)

    def checked(inputs: FloatArray) -> FloatArray:
        found = evaluated(owner, "outcome", predict, inputs)
        found = found[:, columns_of(owner, which, found.shape[1])]
        if found.shape[1] != len(values):
            raise ValueError(
                f"{owner}: the outcome has {found.shape[1]} columns; expected "
                f"{len(values)}, one for each observed value; which= picks columns."
            )
        return found

    return Observation(values, noise**2, checked)


def read_noise(owner: str, noise_sd: Any, size: int, what: str) -> FloatArray:
    """Return a positive standard deviation for each of some things."""
    expected = f"a positive finite float, or one for each of {size} {what}"
    noise = _numbers(owner, "noise_sd", noise_sd, expected)
    if len(noise) not in (1, size) or np.any(noise <= 0):
        raise fail(owner, "noise_sd", expected, noise_sd)
    return np.broadcast_to(noise, (size,))


def _numbers(owner: str, name: str, value: Any, expected: str) -> FloatArray:
    """Return a number or a list of numbers as a vector."""
    numbers = np.atleast_1d(finite_floats(owner, name, value, expected))
    if numbers.ndim != 1:
        raise fail(owner, name, expected, value)
    return numbers


def as_function(
    owner: str, outcome: Any, inputs: Sequence[str] | None, name: str = "outcome"
) -> Callable[[FloatArray], Any]:
    """Return the ``predict`` of a regressor, or the callable itself."""
    if not hasattr(outcome, "predict") or isinstance(outcome, type):
        if not callable(outcome) or isinstance(outcome, type):
            expected = "a fitted regressor or a callable of the inputs"
            raise fail(owner, name, expected, outcome)
        return outcome
    names = getattr(outcome, "feature_names_in_", None)
    if names is None:
        return outcome.predict
    refuse_other_names(f"{owner}: the {name}", names, inputs)
    return lambda inputs: outcome.predict(make_frame(names, inputs.T))


def evaluated(
    owner: str, name: str, function: Callable[[FloatArray], Any], inputs: FloatArray
) -> FloatArray:  # shape: (n, n_columns)
    """Return finite values of a function, in a row for each row of inputs."""
    values = np.atleast_1d(as_floats(function(inputs), f"The {name} of {owner}"))
    if len(values) != len(inputs):
        raise ValueError(
            f"The {name} of {owner} returned {len(values)} rows; expected "
            f"{len(inputs)}, one for each row of inputs."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"The {name} of {owner} is not finite at some inputs; expected finite "
            "numbers."
        )
    return values.reshape(len(inputs), -1)


def columns_of(owner: str, which: Any, width: int) -> IndexArray:
    """Return positions of columns of an outcome; None means all."""
    columns = np.arange(width) if which is None else np.atleast_1d(np.asarray(which))
    valid = columns.dtype.kind in "iu" and columns.ndim == 1 and columns.size
    if not valid or columns.min() < 0 or columns.max() >= width:
        expected = f"None, or positions of columns from 0 to {width - 1}"
        raise fail(owner, "which", expected, which)
    return columns.astype(np.int64)
