"""What ``dependent_sobol_indices`` returns."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import FloatArray
from ._tidy_result import TidyResult

_NO_SUM = (
    "Note: with dependent inputs first-order indices may add up to more than one, and "
    "a total index may be below the first-order one. Shapley effects add up to one."
)


@dataclass(frozen=True, repr=False)
class DependentSobolIndices(TidyResult):
    """Kucherenko indices and Shapley effects of an expansion of dependent inputs.

    Parameters
    ----------
    feature_names, target_names : tuple of str
        Columns of X or groups of them, and outputs or steps.
    first_order, total_order, shapley : ndarray of shape (n_targets, n_features)
        Shares of the variance of the expansion under the joint law.
    first_order_standard_error : ndarray of shape (n_targets, n_features)
        Sampling error, the law and the expansion taken as given.
    total_order_standard_error, shapley_standard_error : ndarray
        The same for the other two.
    first_order_law_error : ndarray of shape (n_targets, n_features)
        Standard deviation when the law is learned from resampled rows of X; NaN
        without ``n_resamples``.
    total_order_law_error, shapley_law_error : ndarray
        The same for the other two.
    closed_form_first_order, closed_form_total_order : ndarray
        Indices from the coefficients alone, for independent inputs; NaN behind
        transformers.
    total_variance, variance_standard_error : ndarray of shape (n_targets,)
        Variance of the expansion under the joint law, and its sampling error.
    closed_form_variance : ndarray of shape (n_targets,)
        Variance for independent inputs.
    law : object
        The fitted transformer whose joint law was used.
    independence : str
        Whether X shows dependence, and how far the closed form is off.
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
    total_order: FloatArray
    shapley: FloatArray
    first_order_standard_error: FloatArray
    total_order_standard_error: FloatArray
    shapley_standard_error: FloatArray
    first_order_law_error: FloatArray
    total_order_law_error: FloatArray
    shapley_law_error: FloatArray
    closed_form_first_order: FloatArray
    closed_form_total_order: FloatArray
    total_variance: FloatArray
    variance_standard_error: FloatArray
    closed_form_variance: FloatArray
    law: object
    independence: str
    supported: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]
    cautions: tuple[str, ...]

    def _columns(self) -> dict[str, FloatArray]:
        columns = {}
        for name in ("first_order", "total_order", "shapley"):
            columns[name] = getattr(self, name)
            columns[f"{name}_standard_error"] = getattr(self, f"{name}_standard_error")
            columns[f"{name}_law_error"] = getattr(self, f"{name}_law_error")
        columns["closed_form_first_order"] = self.closed_form_first_order
        columns["closed_form_total_order"] = self.closed_form_total_order
        return columns

    def _printed_columns(self) -> dict[str, FloatArray]:
        names = ("shapley", "first_order", "total_order")
        return {name: getattr(self, name) for name in names}

    def _facts(self, target: int) -> str:
        errors = [
            getattr(self, f"{name}_standard_error")[target].max()
            for name in ("first_order", "total_order", "shapley")
        ]
        return (
            f"{type(self.law).__name__}, variance {self.total_variance[target]:.3g} "
            f"against {self.closed_form_variance[target]:.3g} for independent inputs, "
            f"largest standard error of sampling {max(errors):.2g}"
        )

    def _notes(self) -> tuple[str, ...]:
        cautions = (f"Caution: {caution}." for caution in self.cautions)
        return (f"Independence: {self.independence}.", *cautions, _NO_SUM)
