"""Samples and their frequencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Samples of positive weight.

    Parameters
    ----------
    inputs : ndarray of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_targets)
    weights : ndarray of shape (n_samples,)
    """

    inputs: FloatArray
    targets: FloatArray
    weights: FloatArray

    def copy(self) -> Samples:
        """Return samples that no caller can change."""
        return Samples(self.inputs.copy(), self.targets.copy(), self.weights.copy())

    def at_least_one_copy(self) -> Samples:
        """Scale weights that add up to less than the number of samples up to it.

        Weights are frequencies. Such weights are normalised ones: taken as they are,
        they would say that there is less than one sample.
        """
        total, count = float(self.weights.sum()), float(len(self.weights))
        if total >= count * (1.0 - 1e-9):
            return self
        return replace(self, weights=self.weights * (count / total))


def checked_sample_weight(sample_weight: ArrayLike | None, X: FloatArray) -> FloatArray:
    """Return float weights of shape (n_samples,); None means one copy of each row.

    Raises
    ------
    ValueError
        If the weights have another shape, are negative, not finite, or all zero.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(X.shape[0],)}!"
        )
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight must be non-negative; the smallest is {weights.min()!r}."
        )
    if not np.any(weights > 0):
        raise ValueError("sample_weight must not be all zero: no sample is left.")
    return weights
