"""One singular value decomposition serves all penalties and all targets.

With :math:`A = W^{1/2}(\\Psi - \\bar\\Psi) = U S V^T` the ridge fit of penalty
:math:`\\lambda` has the fitted values
:math:`W^{-1/2} U\\, \\mathrm{diag}(s^2/(s^2+\\lambda))\\, U^T W^{1/2}(y - \\bar y)`
and copy :math:`i` has the leverage
:math:`h_i = 1/\\sum w + \\sum_k (U_{ik}^2/w_i)\\, s_k^2/(s_k^2+\\lambda)`, so that the
residual of leaving one copy out is :math:`e_i / (1 - h_i)`: exact for a penalised
least-squares fit with a free intercept [1]_.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979), section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

FloatArray = NDArray[np.float64]

# Below this value 1 - leverage is rounding: the sample is fitted by itself alone.
_SMALLEST_COMPLEMENT = 1e-12


@dataclass(frozen=True)
class DesignDecomposition:
    """The weighted design matrix, factorised once.

    Parameters
    ----------
    left : ndarray of shape (n_samples, rank)
        Left singular vectors, divided by the square root of the weights.
    singular_values : ndarray of shape (rank,)
        Those above rounding.
    right : ndarray of shape (rank, n_terms)
        Right singular vectors.
    center : ndarray of shape (n_terms,)
        Weighted mean of the columns; zero where the intercept is penalised.
    weights : ndarray of shape (n_samples,)
        Positive frequencies.
    free_intercept : bool
        Whether column 0 is left out of the penalty.
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    center: FloatArray
    weights: FloatArray
    free_intercept: bool

    @classmethod
    def from_design(
        cls, design: FloatArray, weights: FloatArray, *, free_intercept: bool
    ) -> DesignDecomposition:
        """Factorise a design matrix of shape (n_samples, n_terms)."""
        center = np.zeros(design.shape[1])
        if free_intercept:
            center = np.average(design, axis=0, weights=weights)
        root = np.sqrt(weights)[:, np.newaxis]
        left, values, right = svd(root * (design - center), full_matrices=False)
        rounding = max(design.shape) * np.finfo(float).eps * values.max(initial=0.0)
        rank = int(np.sum(values > rounding))
        return cls(
            left[:, :rank] / root,
            values[:rank],
            right[:rank],
            center,
            weights,
            free_intercept,
        )

    def center_targets(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted mean of the targets and what is left."""
        mean = np.zeros(targets.shape[1])
        if self.free_intercept:
            mean = np.average(targets, axis=0, weights=self.weights)
        return mean, targets - mean

    def project(self, targets: FloatArray) -> FloatArray:
        """Return the loadings of centred targets; shape (rank, n_targets)."""
        return self.left.T @ (self.weights[:, np.newaxis] * targets)

    @cached_property
    def _left_out(self) -> FloatArray:
        """The weight that is left out: one copy, or the sample if it has less."""
        return np.minimum(self.weights, 1.0)

    @cached_property
    def _unpenalized_complement(self) -> FloatArray:
        """``1 - leverage`` at penalty 0; exactly 0 for samples that are saturated."""
        leverage = np.square(self.left).sum(axis=1)
        if self.free_intercept:
            leverage += 1.0 / self.weights.sum()
        base = 1.0 - self._left_out * leverage
        return np.where(base > _SMALLEST_COMPLEMENT, base, 0.0)

    def leverage_complement(self, alpha: float) -> FloatArray:
        """Return ``1 - leverage`` of one copy of each sample.

        A sample of weight below one, as when weights are normalised, has no whole
        copy: it is left out as it is. Arranged so that nothing cancels when the
        penalty is small.
        """
        penalized = np.square(self.left) @ self._complement(alpha)
        return self._unpenalized_complement + self._left_out * penalized

    def residuals(
        self, centred: FloatArray, loadings: FloatArray, alpha: float
    ) -> FloatArray:
        """Return residuals of shape (n_samples, n_targets)."""
        outside = centred - self.left @ loadings
        outside[self._unpenalized_complement == 0.0] = 0.0
        return outside + self.left @ (self._complement(alpha)[:, np.newaxis] * loadings)

    def leave_one_out(
        self, centred: FloatArray, loadings: FloatArray, alpha: float
    ) -> FloatArray:
        """Return leave-one-out residuals; NaN where a sample fits itself alone."""
        complement = self.leverage_complement(alpha)
        safe = np.where(complement > 0.0, complement, np.nan)
        return self.residuals(centred, loadings, alpha) / safe[:, np.newaxis]

    def coefficients(
        self, mean: FloatArray, loadings: FloatArray, alpha: FloatArray
    ) -> FloatArray:
        """Return coefficients of shape (n_targets, n_terms); one alpha per target."""
        values = self.singular_values[:, np.newaxis]
        slopes = (values / (values**2 + alpha)) * loadings
        coefficients = slopes.T @ self.right
        if self.free_intercept:
            coefficients[:, 0] = mean - coefficients @ self.center
        return coefficients

    def _complement(self, alpha: float) -> FloatArray:
        return alpha / (self.singular_values**2 + alpha)

    def leverage_at(
        self, design: FloatArray, alpha: FloatArray
    ) -> FloatArray:  # shape: (n_new, n_targets)
        """Return the leverage of new samples, one column per penalty.

        :math:`h(x) = 1/\\sum w + (\\psi - \\bar\\psi)^T (A^T A + \\lambda I)^{-1}
        (\\psi - \\bar\\psi)`: ``1 + h`` is the variance of a prediction over that of
        the noise, and of a sample left out it is ``1 / (1 - leverage)``. Directions
        that no sample shows count in full where there is a penalty.
        """
        centred = design - self.center
        inside = centred @ self.right.T
        hidden = np.square(centred).sum(axis=1) - np.square(inside).sum(axis=1)
        rounding = 1e-9 * np.square(centred).sum(axis=1)
        hidden = np.where(hidden > rounding, hidden, 0.0)
        base = 1.0 / self.weights.sum() if self.free_intercept else 0.0
        penalties, which = np.unique(alpha, return_inverse=True)
        leverage = np.full((len(design), len(penalties)), base)
        for column, penalty in enumerate(penalties):
            leverage[:, column] += np.square(inside) @ (
                1.0 / (self.singular_values**2 + penalty)
            )
            if penalty > 0:
                leverage[:, column] += hidden / penalty
        return leverage[:, which]
