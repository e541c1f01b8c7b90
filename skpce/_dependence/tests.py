"""Reasons against closed-form indices: diagnostics of the inputs and of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from sklearn.neighbors import NearestNeighbors

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray

# Level below which a correlation is not explained by chance.
_CHANCE_LEVEL = 0.01

# Rows of the data that suffice for the distances of neighbours.
_LARGEST_REFERENCE = 5000

# Share of the data that counts as usual.
_USUAL_SHARE = 0.95


def correlation_reason(
    X: FloatArray, max_correlation: float, names: Sequence[str]
) -> tuple[str, ...]:
    """Name two columns that are correlated beyond the limit and beyond chance."""
    n_samples, n_features = X.shape
    largest = largest_correlation(X)
    if not largest > max_correlation:
        return ()
    if n_samples > 3:
        ratio = np.sqrt((n_samples - 2) / max(1 - largest**2, 1e-12))
        p_value = 2 * stats.t.sf(largest * ratio, n_samples - 2)
        if p_value * n_features * (n_features - 1) / 2 > _CHANCE_LEVEL:
            return ()
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    absolute = np.triu(np.abs(np.corrcoef(X[:, varying], rowvar=False)), k=1)
    first, second = varying[list(np.unravel_index(absolute.argmax(), absolute.shape))]
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{max_correlation:g}): the indices assume independent inputs",
    )


def outside_share(X: FloatArray, design: FloatArray) -> float:
    """Return the share of design points that lie farther from the data than usual.

    Usual are the distances of 95 % of the rows of X to their nearest other row, in
    units of the standard deviation of each column. A design like the data has a share
    near 0.05. NaN for fewer than three different rows.
    """
    scale = X.std(axis=0)
    varying = scale > 0
    rows = np.unique(X[:, varying] / scale[varying], axis=0)
    if len(rows) < 3:
        return float("nan")
    rows = rows[:: -(-len(rows) // _LARGEST_REFERENCE)]
    neighbors = NearestNeighbors(n_neighbors=2).fit(rows)
    usual = np.quantile(neighbors.kneighbors(rows)[0][:, 1], _USUAL_SHARE)
    points = design[:, varying] / scale[varying]
    nearest = neighbors.kneighbors(points, n_neighbors=1)[0][:, 0]
    return float(np.mean(nearest > usual))


def outside_reason(share: float, max_outside: float) -> tuple[str, ...]:
    """Report that the model is evaluated where there are no data."""
    if not share > max_outside:
        return ()
    return (
        f"{share:.0%} of the design points lie farther from the rows of X than these "
        f"lie from each other, more than {max_outside:.0%}: there the model "
        "extrapolates",
    )


def fidelity_reason(fidelity: float, min_fidelity: float) -> tuple[str, ...]:
    """Report that the expansion does not reproduce the model."""
    if np.isnan(fidelity):
        return ("the predictions do not vary",)
    if fidelity >= min_fidelity:
        return ()
    return (
        f"the expansion reproduces {max(fidelity, 0.0):.1%} of the variance of the "
        f"model on held-out design points, less than {min_fidelity:.0%}",
    )


@dataclass(frozen=True)
class SurrogateDiagnostics:
    """Diagnostics of a fit, conditional on X as given.

    A transformation of X that was fitted before (PCA, PLS) has used every member, so
    these figures are optimistic for the pipeline. ``skpce.inspection.verdict`` refits
    the whole pipeline and is the figure to report.

    Parameters
    ----------
    loo_q2 : ndarray of shape (n_steps,)
        Leave-one-out Q² in Aitchison geometry; NaN for a step without choice,
        ``-inf`` where it is not defined.
    n_members, n_terms : int
        Size of the ensemble and of the basis; more terms than members are no fault in
        themselves.
    permutation_p_values : ndarray of shape (n_steps,) or None
        Share of permutations of the members whose leave-one-out Q² is at least as
        large; None without permutations.
    inputs : ndarray of shape (n_members, n_features)
        Inputs of the surrogate.
    basis : PolynomialBasis
        Their distributions and the index set.
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
        """Goodness of fit of each input to its distribution; shape (n_features,).

        NaN for constant inputs or fewer than 8 members. A learned normal distribution
        is tested for its shape alone, a frozen one with its parameters.
        """
        return self.basis.p_values(self.inputs)


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
