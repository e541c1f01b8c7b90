"""The leverage of new samples, kept apart from the samples of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._checks import FloatArray, IndexArray


@dataclass(frozen=True)
class LeverageFactor:
    """Singular values and right singular vectors of one scaled design matrix.

    Parameters
    ----------
    right : ndarray of shape (rank, n_used)
        Right singular vectors.
    singular_values : ndarray of shape (rank,)
        Those above rounding.
    center : ndarray of shape (n_terms,)
        Weighted mean of the columns before scaling.
    used : ndarray of shape (n_used,)
        Columns that take part.
    scale : ndarray of shape (n_used,)
        Their scales.
    base : float
        Leverage of the free intercept; 0 where it is penalised.
    """

    right: FloatArray
    singular_values: FloatArray
    center: FloatArray
    used: IndexArray
    scale: FloatArray
    base: float

    def at(self, design: FloatArray, alpha: FloatArray) -> FloatArray:
        r"""Return the leverage of new samples, one column per penalty.

        :math:`h(x) = 1/\sum w + (\psi - \bar\psi)^T (A^T A + \lambda I)^{-1}
        (\psi - \bar\psi)`: ``1 + h`` is the variance of a prediction over that of
        the noise, and of a sample left out it is ``1 / (1 - leverage)``. Directions
        that no sample shows count in full where there is a penalty.
        """
        centred = (design[:, self.used] - self.center[self.used]) * self.scale
        inside = centred @ self.right.T
        length = np.square(centred).sum(axis=1)
        hidden = length - np.square(inside).sum(axis=1)
        hidden = np.where(hidden > 1e-9 * length, hidden, 0.0)
        leverage = np.full((len(design), len(alpha)), self.base)
        for column, penalty in enumerate(alpha):
            leverage[:, column] += np.square(inside) @ (
                1.0 / (self.singular_values**2 + penalty)
            )
            if penalty > 0:
                leverage[:, column] += hidden / penalty
        return leverage


@dataclass(frozen=True)
class Leverage:
    """The leverage of new samples for every target.

    Parameters
    ----------
    factors : sequence of LeverageFactor
        The distinct ones.
    factor_of_target : ndarray of shape (n_targets,)
        Which of them a target uses.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target.
    """

    factors: Sequence[LeverageFactor]
    factor_of_target: IndexArray
    alpha: FloatArray

    def at(self, design: FloatArray) -> FloatArray:
        """Return leverages of shape (n_new, n_targets)."""
        leverage = np.empty((len(design), len(self.alpha)))
        for number, factor in enumerate(self.factors):
            mine = np.flatnonzero(self.factor_of_target == number)
            penalties, which = np.unique(self.alpha[mine], return_inverse=True)
            leverage[:, mine] = factor.at(design, penalties)[:, which]
        return leverage

    def of_targets(self, columns: IndexArray) -> Leverage:
        """Keep some targets."""
        return Leverage(
            self.factors, self.factor_of_target[columns], self.alpha[columns]
        )


def join_leverages(
    parts: Sequence[Leverage],
    positions: Sequence[IndexArray],  # the targets of each part
    n_targets: int,
) -> Leverage:
    """Put the leverages of groups of targets together; unused factors are dropped."""
    factors: list[LeverageFactor] = []
    factor_of_target = np.empty(n_targets, dtype=np.int64)
    alpha = np.empty(n_targets)
    for part, targets in zip(parts, positions, strict=True):
        used, number = np.unique(part.factor_of_target, return_inverse=True)
        factor_of_target[targets] = number + len(factors)
        factors.extend(part.factors[k] for k in used)
        alpha[targets] = part.alpha
    return Leverage(tuple(factors), factor_of_target, alpha)
