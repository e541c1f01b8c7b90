"""What ``original_space_indices`` returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import FloatArray
from ._tidy_result import TidyResult

_NO_SUM = (
    "Note: the features are dependent, so first-order shares do not add up to one, and "
    "there is no total index: the other features determine a feature."
)


@dataclass(frozen=True, repr=False)
class OriginalSpaceIndices(TidyResult):
    """Indices of the features before a linear embedding.

    Parameters
    ----------
    feature_names, target_names : tuple of str
        Columns of X, and outputs or steps.
    first_order : ndarray of shape (n_targets, n_features)
        Share of the variance that a feature explains alone, under the law of the
        embedding: X lies exactly on the embedded subspace.
    first_order_with_residual : ndarray of shape (n_targets, n_features)
        The same when the part of the feature that the embedding drops counts as
        independent noise, as large as in X.
    first_order_standard_error : ndarray of shape (n_targets, n_features)
        Sampling error of both; 0 for closed forms.
    retained_variance : ndarray of shape (n_features,)
        Share of the variance of a feature that the embedding keeps.
    derivative_measure : ndarray of shape (n_targets, n_features)
        Mean squared derivative of the prediction (log-ratios for a surrogate of
        compositions) in the feature, the others held fixed; per squared unit.
    activity_share : ndarray of shape (n_targets, n_features)
        The same times the variance of the feature in X, scaled to add up to one.
    shapley : ndarray of shape (n_targets, n_features) or None
        Shapley effects when X is jointly normal; they add up to one. None with other
        laws, more than 12 features, or too high a degree.
    total_variance : ndarray of shape (n_targets,)
        Variance of the expansion.
    sampled : bool
        Whether first-order indices were sampled.
    supported : tuple of bool
        One flag per target.
    reasons : tuple of tuple of str
        Each condition that failed, per target.
    cautions : tuple of str
        What weakens the reading.
    """

    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    first_order: FloatArray
    first_order_with_residual: FloatArray
    first_order_standard_error: FloatArray
    retained_variance: FloatArray
    derivative_measure: FloatArray
    activity_share: FloatArray
    shapley: FloatArray | None
    total_variance: FloatArray
    sampled: bool
    supported: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]
    cautions: tuple[str, ...]

    def _columns(self) -> dict[str, FloatArray]:
        columns = {
            "first_order": self.first_order,
            "first_order_with_residual": self.first_order_with_residual,
            "first_order_standard_error": self.first_order_standard_error,
            "retained_variance": self.retained_variance[np.newaxis],
            "derivative_measure": self.derivative_measure,
            "activity_share": self.activity_share,
        }
        if self.shapley is not None:
            columns["shapley"] = self.shapley
        return columns

    def _printed_columns(self) -> dict[str, FloatArray]:
        shown = ("first_order_with_residual", "first_order", "activity_share")
        columns = self._columns()
        names = (*shown, "shapley") if self.shapley is not None else shown
        return {name: columns[name] for name in names}

    def _facts(self, target: int) -> str:
        how = "sampled" if self.sampled else "closed form"
        return f"{how}, variance {self.total_variance[target]:.3g}"

    def _notes(self) -> tuple[str, ...]:
        return (*(f"Caution: {caution}." for caution in self.cautions), _NO_SUM)
