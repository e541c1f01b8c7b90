"""What is believed of the inputs: draws with weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import (
    FloatArray,
    check_integer,
    checked_sample_weight,
    fail,
    import_pandas,
)
from .._input_laws import InputLaw

# Tails outside the interval of the table.
_TAIL = 0.05
# Larger weights may have no finite sum.
_LARGEST_WEIGHT = 1e290


@dataclass(frozen=True, eq=False)
class InputBelief:
    """Draws of the inputs with weights: what is believed of them.

    A belief never changes; an update makes a new one.

    Parameters
    ----------
    particles : array-like of shape (n_particles, n_features)
        Values of the inputs.
    weights : array-like of shape (n_particles,) or None, default=None
        Their probabilities, up to a factor; None means equal ones.
    names : sequence of str or None, default=None
        Names of the inputs; None means ``x0, x1, ...``.
    laws : sequence of InputLaw, default=()
        Where an input may be: no update leaves the supports. Empty means anywhere.
    n_resampled : int, default=0
        How often particles were resampled so far. 0 means that they are still the
        first ones, moved by no kernel.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Weighted mean.
    covariance : ndarray of shape (n_features, n_features)
        Weighted covariance (sums divided by the total weight).
    standard_deviation : ndarray of shape (n_features,)
        Square root of its diagonal.
    effective_sample_size : float
        ``1 / sum(weights ** 2)``: how many equally weighted draws would be as good.

    Raises
    ------
    ValueError
        If particles are no finite table, or weights or names do not fit them.

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
    laws: Sequence[InputLaw] = field(default=(), repr=False)
    n_resampled: int = 0

    def __post_init__(self) -> None:
        particles = _checked_particles(self.particles)
        weights = checked_sample_weight(self.weights, particles)
        n_features = particles.shape[1]
        names = self.names
        if names is None:
            names = [f"x{i}" for i in range(n_features)]
        if isinstance(names, str) or len(names) != n_features:
            raise fail("InputBelief", "names", f"None or {n_features} names", names)
        if len(self.laws) not in (0, n_features):
            expected = f"empty, or {n_features} laws"
            raise fail("InputBelief", "laws", expected, self.laws)
        object.__setattr__(self, "particles", particles)
        if weights.max() > _LARGEST_WEIGHT:
            weights = weights / weights.max()
        object.__setattr__(self, "weights", weights / weights.sum())
        object.__setattr__(self, "names", tuple(str(name) for name in names))

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
        """How many equally weighted draws would be as good."""
        return effective_sample_size(self.weights)

    def quantile(self, probabilities: ArrayLike) -> FloatArray:
        """Return weighted quantiles of each input.

        Parameters
        ----------
        probabilities : array-like of shape (n_probabilities,)
            Between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_probabilities, n_features)
            The smallest particle at which the weights reach the probability.

        Raises
        ------
        ValueError
            If the probabilities are no list of numbers between 0 and 1.
        """
        wanted = np.asarray(probabilities, dtype=np.float64)
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
        """Draw particles by their weights, with replacement.

        Parameters
        ----------
        size : int
            Number of draws.
        generator : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        inputs : ndarray of shape (size, n_features)
            Whole particles.
        """
        check_integer("InputBelief.sample", "size", size, low=1)
        chosen = generator.choice(len(self.weights), size=size, p=self.weights)
        return self.particles[chosen]

    def with_draws(
        self, particles: FloatArray, weights: FloatArray | None, *, resampled: int = 0
    ) -> InputBelief:
        """Return the same inputs with other draws.

        Parameters
        ----------
        particles : ndarray of shape (n_particles, n_features)
            Their values.
        weights : ndarray of shape (n_particles,) or None
            None means equal ones.
        resampled : int, default=0
            How many resamplings lie between.

        Returns
        -------
        belief : InputBelief
            The new belief.
        """
        count = self.n_resampled + resampled
        return replace(
            self,
            particles=particles,
            weights=weights,  # type: ignore[arg-type]
            n_resampled=count,
        )

    def outside(self, particles: FloatArray) -> NDArray[np.bool_]:
        """Tell which values lie outside the supports of the laws.

        Parameters
        ----------
        particles : ndarray of shape (n_particles, n_features)
            Values of the inputs.

        Returns
        -------
        outside : ndarray of bool of shape (n_particles, n_features)
            All False without laws.
        """
        found = np.zeros(particles.shape, dtype=bool)
        for i, law in enumerate(self.laws):
            found[:, i] = law.outside(particles[:, i])
        return found

    def to_frame(self) -> Any:
        """Return one row per input as a pandas data frame.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``input``, ``mean``, ``sd``, ``low`` and ``high`` (quantiles at 5
            and 95 %). Needs pandas.
        """
        low, high = self.quantile([_TAIL, 1.0 - _TAIL])
        return import_pandas().DataFrame(
            {
                "input": np.array(self.names, dtype=object),
                "mean": self.mean,
                "sd": self.standard_deviation,
                "low": low,
                "high": high,
            }
        )

    def __str__(self) -> str:
        low, high = self.quantile([_TAIL, 1.0 - _TAIL])
        lines = [
            f"{len(self.weights)} particles (effective "
            f"{self.effective_sample_size:.1f}), {self.n_resampled} resamplings"
        ]
        mean, spread = self.mean, self.standard_deviation
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


def _checked_particles(particles: Any) -> FloatArray:
    expected = "a finite table of shape (n_particles, n_features) with a row or more"
    try:
        values = np.array(particles, dtype=np.float64)
    except (TypeError, ValueError):
        raise fail("InputBelief", "particles", expected, particles) from None
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise fail("InputBelief", "particles", expected, particles)
    return values
