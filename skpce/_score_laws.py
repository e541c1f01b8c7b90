r"""Joint laws of normal scores: maps to independent normals, and every conditional."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ._checks import FloatArray


class ScoreLaw(ABC):
    """A joint law of normal scores."""

    @property
    @abstractmethod
    def n_noise(self) -> int:
        """Independent normals that one draw needs."""

    @abstractmethod
    def to_independent(self, scores: FloatArray) -> FloatArray:
        """Map scores to independent standard normals, column after column."""

    @abstractmethod
    def from_independent(self, normals: FloatArray) -> FloatArray:
        """Undo :meth:`to_independent`."""

    @abstractmethod
    def redraw(
        self,
        scores: FloatArray,  # shape: (n_samples, n_features)
        kept: Sequence[int],
        noise: FloatArray,  # shape: (n_samples, n_noise)
    ) -> FloatArray:  # shape: (n_samples, n_features)
        """Draw the other columns again, given those that are kept."""


@dataclass(frozen=True, eq=False)
class GaussianScores(ScoreLaw):
    """Scores that are jointly normal.

    Parameters
    ----------
    correlation : ndarray of shape (n_features, n_features)
        Positive definite.
    root : ndarray of shape (n_features, n_features)
        A matrix whose product with its transpose is the correlation.
    """

    correlation: FloatArray
    root: FloatArray

    @property
    def n_noise(self) -> int:
        return len(self.correlation)

    def to_independent(self, scores: FloatArray) -> FloatArray:
        normals: Any = np.linalg.solve(self.root, scores.T)
        return normals.T

    def from_independent(self, normals: FloatArray) -> FloatArray:
        return normals @ self.root.T

    def redraw(
        self, scores: FloatArray, kept: Sequence[int], noise: FloatArray
    ) -> FloatArray:
        slopes, root, free = conditional_parts(self.correlation, kept)
        drawn = scores.copy()
        drawn[:, free] = scores[:, list(kept)] @ slopes.T + noise[:, free] @ root.T
        return drawn


def conditional_parts(
    correlation: FloatArray, kept: Sequence[int]
) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return slopes on the kept columns, root of the rest, and the other columns.

    Of jointly normal columns: given the kept ones, the mean of the others is slopes
    times these, and root times its transpose their covariance.
    """
    known = list(kept)
    free = [i for i in range(len(correlation)) if i not in set(known)]
    inner, cross = correlation[np.ix_(free, free)], correlation[np.ix_(free, known)]
    if not known:
        root: Any = np.linalg.cholesky(inner)
        return cross, root, free
    factor = cho_factor(correlation[np.ix_(known, known)], lower=True)
    slopes = cho_solve(factor, cross.T).T
    return slopes, np.linalg.cholesky(inner - slopes @ cross.T), free
