"""Measures on finitely many points, and the recurrence they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import FloatArray
from ._base import evaluate_recurrence, positive_scale


@dataclass(frozen=True, eq=False)
class FiniteMeasure:
    """Masses on distinct points.

    Parameters
    ----------
    points : ndarray of shape (n_points,)
        Distinct, increasing.
    masses : ndarray of shape (n_points,)
        Positive, of sum 1.
    """

    points: FloatArray
    masses: FloatArray

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FiniteMeasure)
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.masses, other.masses)
        )

    def __hash__(self) -> int:
        return hash((self.points.tobytes(), self.masses.tobytes()))

    def __len__(self) -> int:
        return len(self.points)

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return mean and standard deviation, 1 in place of a deviation of 0."""
        mean = float(self.masses @ self.points)
        sd = float(np.sqrt(self.masses @ (self.points - mean) ** 2))
        return mean, positive_scale(sd, self.points)

    def without_rounding(self) -> FiniteMeasure:
        """Join points that differ by rounding alone, at the first of them."""
        rounding = 10 * np.finfo(float).eps * np.max(np.abs(self.points))
        starts = np.flatnonzero(np.diff(self.points, prepend=-np.inf) > rounding)
        return FiniteMeasure(self.points[starts], np.add.reduceat(self.masses, starts))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        r"""Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree`` by Lanczos.

        The vectors :math:`q_k = \sqrt{w}\,\psi_k(t)` are Lanczos' vectors of the
        diagonal matrix of the points, started at :math:`\sqrt{w}` [1]_. They are
        orthogonalised twice against all before them. A measure on :math:`n` points
        ends the recurrence with :math:`b_n = 0`.

        References
        ----------
        .. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
           Oxford University Press, 2004, section 2.2.3.
        """
        if degree > len(self):
            raise ValueError(
                f"A measure on {len(self)} points has no recurrence of degree {degree}."
            )
        a, root = np.zeros(degree), np.zeros(degree)
        vectors = np.empty((min(degree + 1, len(self)), len(self)))
        vectors[0] = np.sqrt(self.masses / self.masses.sum())
        for k in range(degree):
            image = self.points * vectors[k]
            a[k] = vectors[k] @ image
            if k + 1 == len(self):
                break
            for _ in range(2):
                image -= (vectors[: k + 1] @ image) @ vectors[: k + 1]
            root[k] = np.linalg.norm(image)
            with np.errstate(all="ignore"):  # points that coincide: `defect` tells
                vectors[k + 1] = image / root[k]
        return a, root**2

    def defect(self, a: FloatArray, b: FloatArray) -> float:
        """Return how far functions of a recurrence are from orthonormal here.

        The largest deviation of their Gram matrix from the identity, NaN when they
        are not finite.
        """
        with np.errstate(all="ignore"):
            values = evaluate_recurrence(self.points, a, np.sqrt(b))
            values *= np.sqrt(self.masses)
            gram = values @ values.T
        return float(np.max(np.abs(gram - np.eye(len(gram)))))


def measure_of_sample(column: FloatArray, weights: FloatArray) -> FiniteMeasure:
    """Return the distinct values of positive weight and their frequencies."""
    present = weights > 0
    points, position = np.unique(column[present], return_inverse=True)
    masses = np.bincount(position.ravel(), weights=weights[present])
    return FiniteMeasure(points, masses / masses.sum())
