"""What a coefficient solver is: design matrix and targets in, coefficients out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class LinearFit:
    """What a solver returns.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        One row per target.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target, in units of the sum-of-squares loss.
    loo_residuals : ndarray of shape (n_samples, n_targets)
        Residuals of leaving one copy out; NaN where a sample fits itself alone.
    scaled_residuals : ndarray of shape (n_samples, n_targets)
        The same times the square root of one minus the leverage: alike in variance
        for all samples when the noise is.
    leverage_at : callable
        Maps a design matrix of shape (n_new, n_terms) to the leverage of new samples,
        of shape (n_new, n_targets).
    """

    coefficients: FloatArray
    alpha: FloatArray
    loo_residuals: FloatArray
    scaled_residuals: FloatArray
    leverage_at: Callable[[FloatArray], FloatArray]

    def prediction_scale(self, design: FloatArray) -> FloatArray:
        """Return ``sqrt(1 + leverage)`` of new samples; shape (n_new, n_targets).

        Times a scaled residual this is an error of prediction there.
        """
        return np.sqrt(1.0 + self.leverage_at(design))


class CoefficientSolver(ABC):
    """A way to estimate the coefficients of an expansion.

    Column 0 of every design matrix is the constant.
    """

    @abstractmethod
    def fit(
        self,
        design: FloatArray,  # shape: (n_samples, n_terms)
        targets: FloatArray,  # shape: (n_samples, n_targets)
        weights: FloatArray,  # shape: (n_samples,), positive
        groups: IndexArray,  # shape: (n_targets,), targets that share a penalty
    ) -> LinearFit:
        """Choose the penalty of each group and estimate the coefficients."""

    @abstractmethod
    def refit(
        self,
        design: FloatArray,  # shape: (n_samples, n_terms)
        targets: FloatArray,  # shape: (n_samples, n_targets)
        weights: FloatArray,  # shape: (n_samples,), positive
        alpha: FloatArray,  # shape: (n_targets,), penalties kept from a fit
    ) -> FloatArray:  # shape: (n_targets, n_terms)
        """Estimate coefficients on other samples with penalties already chosen.

        Resampling keeps the penalties of the full data: copies of a sample in a
        resample would leak into its leave-one-out error.
        """
