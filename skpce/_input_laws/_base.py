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

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from .._checks import FloatArray

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

    #: Whether function ``k`` is a polynomial of degree ``k``. Functions of a law that
    #: has none (contrasts of categories) all count as of degree one.
    is_polynomial: ClassVar[bool] = True

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
        a, b = self.recurrence(degree)
        return evaluate_recurrence(self.standardize(column), a, np.sqrt(b))

    def differentiate(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples), per unit of the input
        """Evaluate the derivatives of the orthonormal functions up to ``degree``.

        The recurrence, differentiated term by term.
        """
        germ = self.standardize(column)
        values = self.evaluate(column, degree)
        slopes = np.zeros_like(values)
        a, b = self.recurrence(degree)
        root = np.sqrt(b)
        for k in range(degree):
            slopes[k + 1] = values[k] + (germ - a[k]) * slopes[k]
            if k > 0:
                slopes[k + 1] -= root[k - 1] * slopes[k - 1]
            slopes[k + 1] /= root[k]
        return slopes / self.scale

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Return Gauss nodes, in the units of the input, and weights that sum to 1.

        Exact for polynomials of degree up to ``2 n_nodes - 1``. The nodes are the
        eigenvalues of the Jacobi matrix of the recurrence (Golub and Welsch), the
        weights the reciprocals of Christoffel's sums, which stay accurate in the
        tails. A law of fewer than ``n_nodes`` values returns its values.
        """
        n_nodes = int(min(n_nodes, self.largest_degree + 1))
        a, b = self.recurrence(n_nodes)
        germ = eigh_tridiagonal(a, np.sqrt(b[:-1]), eigvals_only=True)
        nodes = self.location + self.scale * germ
        return nodes, 1.0 / np.square(self.evaluate(nodes, n_nodes - 1)).sum(axis=0)

    @property
    def largest_degree(self) -> float:
        """Number of functions beside the constant; inf when there is no end."""
        return math.inf

    def check_degree(self, owner: str, name: str, degree: int) -> None:  # noqa: B027
        """Raise ``ValueError`` if the law cannot carry polynomials of a degree.

        ``owner`` is the estimator and ``name`` the input, for the message. Families
        with a closed form carry any degree.
        """

    def p_value(self, column: FloatArray) -> float:
        """Return the goodness of fit; NaN for constant or fewer than 8 values."""
        if len(column) < _SMALLEST_TESTABLE or np.ptp(column) == 0:
            return float("nan")
        return float(self.goodness_of_fit(column))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value, in the units of the input."""
        return -np.inf, np.inf

    def outside(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
    ) -> NDArray[np.bool_]:  # shape: (n_samples,)
        """Tell which values are outside the support."""
        low, high = self.support
        tolerance = 1e-9 * self.scale
        return (column < low - tolerance) | (column > high + tolerance)

    def _describe_outside(self, column: FloatArray) -> str:
        """Say what is wrong with the values outside, after "values of x0"."""
        low, high = self.support
        advice = " Give the true law as a frozen one." if self.learned else ""
        return (
            f"lie outside [{low:.6g}, {high:.6g}], the support of its law; the "
            f"expansion extrapolates there.{advice}"
        )

    def warn_outside(self, column: FloatArray, name: str) -> None:
        """Warn when values lie outside the support."""
        outside = self.outside(column)
        if outside.any():
            warnings.warn(
                f"{int(outside.sum())} of {column.size} values of {name} "
                f"{self._describe_outside(column[outside])}",
                InputOutsideSupportWarning,
                stacklevel=5,
            )


def evaluate_recurrence(
    germ: FloatArray,  # shape: (n_samples,)
    a: FloatArray,  # shape: (degree,)
    root: FloatArray,  # shape: (degree,), the square roots of b
) -> FloatArray:  # shape: (degree + 1, n_samples)
    """Evaluate orthonormal polynomials by their three-term recurrence."""
    values = np.empty((len(a) + 1, len(germ)))
    values[0] = 1.0
    for k in range(len(a)):
        values[k + 1] = (germ - a[k]) * values[k]
        if k > 0:
            values[k + 1] -= root[k - 1] * values[k - 1]
        values[k + 1] /= root[k]
    return values


def positive_scale(scale: float, column: FloatArray) -> float:
    """Return the scale, or 1 for a column that is constant up to rounding."""
    rounding = 10 * np.finfo(float).eps * float(np.max(np.abs(column), initial=0.0))
    return float(scale) if scale > rounding else 1.0
