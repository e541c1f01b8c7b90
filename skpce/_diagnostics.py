"""What a fit can say of itself, conditional on the inputs as given."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ._basis import PolynomialBasis
from ._checks import FloatArray


@dataclass(frozen=True)
class SurrogateDiagnostics:
    """Diagnostics of a fit, conditional on X as given.

    A transformation of X that was fitted before (PCA, PLS) has already seen every
    member, so these figures flatter the pipeline. ``skpce.inspection.verdict``
    refits the whole pipeline and is the figure to report.

    Parameters
    ----------
    loo_q2 : ndarray of shape (n_steps,)
        Leave-one-out Q² in Aitchison geometry; NaN for a step without choice,
        ``-inf`` where it is not defined.
    n_members, n_terms : int
        Size of the ensemble and of the basis; more terms than members inform, they
        do not veto.
    permutation_p_values : ndarray of shape (n_steps,) or None
        Share of permutations of the members whose leave-one-out Q² is at least as
        large; None without permutations.
    inputs : ndarray of shape (n_members, n_features)
        The inputs as the surrogate saw them.
    basis : PolynomialBasis
        Their laws and the index set.
    """

    loo_q2: FloatArray
    n_members: int
    n_terms: int
    permutation_p_values: FloatArray | None
    inputs: FloatArray = field(repr=False)
    basis: PolynomialBasis = field(repr=False)

    @cached_property
    def largest_correlation(self) -> float:
        """Largest absolute Pearson correlation of two inputs; NaN for one input."""
        return largest_correlation(self.inputs)

    @cached_property
    def condition_number(self) -> float:
        """Of the centred design matrix without the constant; inf below full rank."""
        return condition_number(self.basis.evaluate(self.inputs))

    @cached_property
    def law_p_values(self) -> FloatArray:
        """Goodness of fit of each input to its law; shape (n_features,).

        NaN for constant inputs or fewer than 8 members. The test is that of the law:
        a learned normal law is tested for its shape, a frozen one as it stands.
        """
        columns = zip(self.basis.laws, self.inputs.T, strict=True)
        return np.array([law.p_value(column) for law, column in columns])


def largest_correlation(X: FloatArray) -> float:
    """Return the largest absolute Pearson correlation between two columns."""
    varying = X[:, np.ptp(X, axis=0) > 0] if len(X) else X
    if varying.shape[1] < 2 or len(varying) < 3:
        return float("nan")
    correlation: Any = np.corrcoef(varying, rowvar=False)
    return float(np.abs(correlation[np.triu_indices_from(correlation, k=1)]).max())


def condition_number(design: FloatArray) -> float:
    """Return the condition number of the centred, non-constant columns."""
    n_terms = design.shape[1]
    if n_terms == 1:
        return 1.0
    values = np.linalg.svd(design[:, 1:] - design[:, 1:].mean(axis=0), compute_uv=False)
    rounding = max(design.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    if np.sum(values > rounding) < n_terms - 1:
        return float("inf")
    return float(values[0] / values[-1])
