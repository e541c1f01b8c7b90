"""What the law of an input is.

An input law maps a column to its *germ* (the standardised variable) and knows the
three-term recurrence of the polynomials that are orthonormal under it,

.. math:: \\sqrt{b_{k+1}}\\,\\psi_{k+1}(t) = (t - a_k)\\,\\psi_k(t)
          - \\sqrt{b_k}\\,\\psi_{k-1}(t),
          \\qquad \\psi_0 = 1,

so that a new family is one small class with two arrays [1]_. A law whose functions are
no polynomials (a categorical input) overrides ``evaluate`` instead.

References
----------
.. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
   Oxford University Press, 2004, section 1.3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Fewer values than this say too little about a law.
_SMALLEST_TESTABLE = 8


class InputOutsideSupportWarning(UserWarning):
    """Values of X lie outside the support of the input law learned in ``fit``."""


@dataclass(frozen=True)
class InputLaw(ABC):
    """A law of one input, of a location and a scale.

    Parameters
    ----------
    location, scale : float
        The germ is ``(x - location) / scale``.
    learned : bool, default=True
        Whether location and scale were taken from the data.
    """

    location: float
    scale: float
    learned: bool = True

    #: Short name of the polynomial family in feature names.
    polynomial: ClassVar[str]

    @classmethod
    @abstractmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> InputLaw:
        """Learn location and scale from a weighted column."""

    @classmethod
    @abstractmethod
    def from_frozen(cls, frozen: Any) -> InputLaw:
        """Take location and scale from a frozen ``scipy.stats`` law."""

    @abstractmethod
    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        """Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree``."""

    @abstractmethod
    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw from the law, in the units of the input."""

    @abstractmethod
    def goodness_of_fit(self, column: FloatArray) -> float:
        """Return the p-value of a test of a column against the law."""

    def standardize(self, column: FloatArray) -> FloatArray:
        """Map a column to its germ."""
        return (column - self.location) / self.scale

    def evaluate(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples)
        """Evaluate the orthonormal functions up to ``degree``."""
        germ = self.standardize(column)
        values = np.empty((degree + 1, len(germ)))
        values[0] = 1.0
        a, b = self.recurrence(degree)
        root = np.sqrt(b)
        for k in range(degree):
            values[k + 1] = (germ - a[k]) * values[k]
            if k > 0:
                values[k + 1] -= root[k - 1] * values[k - 1]
            values[k + 1] /= root[k]
        return values

    def p_value(self, column: FloatArray) -> float:
        """Return the goodness of fit; NaN for constant or fewer than 8 values."""
        if len(column) < _SMALLEST_TESTABLE or np.ptp(column) == 0:
            return float("nan")
        return float(self.goodness_of_fit(column))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value, in the units of the input."""
        return -np.inf, np.inf

    def warn_outside(self, column: FloatArray, name: str) -> None:
        """Warn when values lie outside the support."""
        low, high = self.support
        tolerance = 1e-9 * self.scale
        outside = (column < low - tolerance) | (column > high + tolerance)
        if outside.any():
            advice = " Give the true law as a frozen one." if self.learned else ""
            warnings.warn(
                f"{int(outside.sum())} of {column.size} values of {name} lie outside "
                f"[{low:.6g}, {high:.6g}], the support of its law; the expansion "
                f"extrapolates there.{advice}",
                InputOutsideSupportWarning,
                stacklevel=5,
            )


def positive_scale(scale: float, column: FloatArray) -> float:
    """Return the scale, or 1 for a column that is constant up to rounding."""
    rounding = 10 * np.finfo(float).eps * float(np.max(np.abs(column), initial=0.0))
    return float(scale) if scale > rounding else 1.0
