"""Dependence of inputs: normal scores and their joint distribution.

References
----------
.. [1] B. L. van der Waerden, "Order tests for the two-sample problem and their power",
   Indagationes Mathematicae 14 (1952).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr, ndtri
from sklearn.neighbors import NearestNeighbors

from .._checks import FloatArray
from .._learned.ridge import Basis
from .._result import Result, Shown
from . import largest_correlation
from .families import InputLaw, NormalLaw
from .tabulated import EmpiricalLaw


@dataclass(frozen=True, eq=False)
class GaussianScores:
    """Normal scores that are jointly normal: the Gaussian copula."""

    correlation: FloatArray  # shape: (n_features, n_features), positive definite
    root: FloatArray  # root @ root.T is the correlation

    def to_independent(self, scores: FloatArray) -> FloatArray:
        """Map scores to independent standard normals."""
        normals: Any = np.linalg.solve(self.root, scores.T)
        return normals.T

    def from_independent(self, normals: FloatArray) -> FloatArray:
        """Undo :meth:`to_independent`."""
        return normals @ self.root.T

    def redraw(
        self,
        scores: FloatArray,  # shape: (n_samples, n_features)
        fixed: Sequence[int],
        noise: FloatArray,  # shape: (n_samples, n_features), standard normal
    ) -> FloatArray:  # shape: (n_samples, n_features)
        """Draw the other columns again, jointly normal given the fixed ones."""
        known, drawn = list(fixed), scores.copy()
        free = [i for i in range(len(self.correlation)) if i not in known]
        cross = self.correlation[np.ix_(free, known)]
        inner, slopes = self.correlation[np.ix_(free, free)], cross
        if known:
            factor = cho_factor(self.correlation[np.ix_(known, known)], lower=True)
            slopes = cho_solve(factor, cross.T).T
            inner -= slopes @ cross.T
        root = correlation_root(inner, "cholesky")
        drawn[:, free] = scores[:, known] @ slopes.T + noise[:, free] @ root.T
        return drawn


# Below this eigenvalue of the correlation one column is a function of the others.
_SMALLEST_EIGENVALUE = 1e-8


def standardized(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return scores of mean 0 and variance 1; 0 where that is rounding."""
    centred = scores - np.average(scores, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
    varies = (np.ptp(scores[weights > 0], axis=0) > 0) & (spread > 0)
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def best_shrinkage(
    standard: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
    correlation: FloatArray,  # shape: (n_features, n_features)
) -> float:
    """Return the estimated variance of the correlations over their square."""
    n = float(weights.sum())
    if n <= 1.0:
        return 1.0
    squared = np.square(standard)
    products = (squared * weights[:, np.newaxis]).T @ squared / n
    variance = np.maximum(products - np.square(correlation), 0.0) / (n - 1.0)
    pairs = ~np.eye(len(correlation), dtype=bool)
    whole = float(np.square(correlation)[pairs].sum())
    return float(min(variance[pairs].sum() / whole, 1.0)) if whole else 0.0


def checked_correlation(
    owner: str, correlation: FloatArray, names: Sequence[str]
) -> FloatArray:
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < _SMALLEST_EIGENVALUE:
        involved = np.argsort(-np.abs(vectors[:, 0]))[:2]
        first, second = (names[i] for i in sorted(involved))
        raise ValueError(
            f"{owner} found scores of X with a singular correlation (smallest "
            f"eigenvalue {values[0]:.2g}; {first} and {second} take part most); "
            "expected a positive definite one. Give a larger shrinkage, leave columns "
            "out, or put a PCA before."
        )
    return correlation


def correlation_root(correlation: FloatArray, kind: str) -> FloatArray:
    if kind == "cholesky":
        root: Any = np.linalg.cholesky(correlation)
        return root
    values, vectors = np.linalg.eigh(correlation)
    return (vectors * np.sqrt(values)) @ vectors.T


# Score of the end of a support that is known: a tail of 6e-16 lies beyond it.
_FARTHEST = 8.0


@dataclass(frozen=True)
class DistributionMap:
    r"""A column of a continuous distribution :math:`F`: :math:`z = \Phi^{-1}(F(x))`."""

    frozen: Any  # continuous law of scipy.stats
    lowest: float  # score of the end of the support and beyond
    highest: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        below, above = self.frozen.cdf(column), self.frozen.sf(column)
        with np.errstate(divide="ignore"):
            scores = np.where(below < 0.5, ndtri(below), -ndtri(above))
        return np.clip(scores, self.lowest, self.highest)

    def from_normal(self, scores: FloatArray) -> FloatArray:
        tail = ndtr(-np.abs(scores))
        return np.where(scores < 0, self.frozen.ppf(tail), self.frozen.isf(tail))


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A column that is linear in its score between some values, and beyond them.

    A column known by its data has van der Waerden's scores of the distinct values [1]_:
    that of the middle of each step of the distribution function. A normal one has a
    single value, its mean, and so has a constant one, to which every score maps back.
    """

    values: FloatArray  # shape: (n_values,), distinct, increasing
    scores: FloatArray  # shape: (n_values,)
    slope: float  # standard deviation of the column

    def to_normal(self, column: FloatArray) -> FloatArray:
        beyond = column - np.clip(column, self.values[0], self.values[-1])
        inside = np.interp(column, self.values, self.scores)
        return inside + beyond / (self.slope or 1.0)

    def from_normal(self, scores: FloatArray) -> FloatArray:
        beyond = scores - np.clip(scores, self.scores[0], self.scores[-1])
        return np.interp(scores, self.scores, self.values) + beyond * self.slope


#: A strictly increasing map between a column and its normal score.
MarginalMap = DistributionMap | LinearMap


def marginal_map(
    owner: str,
    name: str,
    law: InputLaw,
    column: FloatArray,  # shape: (n_samples,), of the fit
    weights: FloatArray,  # shape: (n_samples,)
) -> MarginalMap:
    """Return the map of a continuous distribution."""
    present = column[weights > 0]
    if law.learned and np.ptp(present) <= 1e-14 * np.abs(present).max():
        return LinearMap(present[:1], np.zeros(1), 0.0)
    if isinstance(law, NormalLaw):
        return LinearMap(np.array([law.location]), np.zeros(1), law.scale)
    if isinstance(law, EmpiricalLaw):
        masses = law.table.masses
        middles = np.cumsum(masses) - masses / 2.0
        return LinearMap(law.table.points, ndtri(middles), law.scale)
    frozen = law.to_scipy()
    if frozen is None:
        raise ValueError(
            f"The 'distribution' parameter of {owner} gives {name} of X a "
            f"{type(law).__name__}; expected a continuous one: categories and counts "
            "have no invertible map to a normal variable."
        )
    found = DistributionMap(frozen, -_FARTHEST, _FARTHEST)
    if not law.learned:
        return found
    # Finite ends that were learned are values of the column. Half a row of the data
    # lies beyond their score, as for an empirical law, or it is that of another row.
    sizes = np.abs(found.to_normal(present))
    half_a_row = -float(ndtri(0.5 / max(weights.sum(), 2.0)))
    farthest = max(half_a_row, float(sizes[sizes < _FARTHEST].max(initial=0.0)))
    low, high = np.where(np.isfinite(frozen.support()), farthest, _FARTHEST).tolist()
    return DistributionMap(frozen, -low, high)


# Rows of the data that suffice for the distances of neighbours.
_LARGEST_REFERENCE = 5000

# Largest share of design points outside the data, and smallest Q² of an expansion.
_MOST_OUTSIDE, _MIN_FIDELITY = 0.25, 0.9

# Share of the rows whose distance to the nearest other row counts as usual.
_USUAL_SHARE = 0.95


def outside_share(X: FloatArray, design: FloatArray) -> float:
    """Return the share of design points that lie farther from the data than usual.

    A design like the data has a share near 0.05. NaN for fewer than three rows.
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


def outside_reason(share: float) -> tuple[str, ...]:
    """Report that the model is evaluated where there are no data."""
    if not share > _MOST_OUTSIDE:
        return ()
    return (
        f"{share:.0%} of the design points lie farther from the rows of X than these "
        f"lie from each other, more than {_MOST_OUTSIDE:.0%}: there the model "
        "extrapolates",
    )


def fidelity_reason(fidelity: float) -> tuple[str, ...]:
    """Report that the expansion does not reproduce the model."""
    if np.isnan(fidelity):
        return ("the predictions do not vary",)
    if fidelity >= _MIN_FIDELITY:
        return ()
    return (
        f"the expansion reproduces {max(fidelity, 0.0):.1%} of the variance of the "
        f"model on held-out design points, less than {_MIN_FIDELITY:.0%}",
    )


@dataclass(frozen=True)
class SurrogateDiagnostics(Shown):
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
    inputs : ndarray of shape (n_members, n_features)
        Inputs of the surrogate.
    basis : PolynomialBasis
        Their distributions and the index set.
    """

    loo_q2: FloatArray
    n_members: int
    n_terms: int
    inputs: FloatArray = field(repr=False)
    basis: Basis = field(repr=False)

    def _table(self) -> Result:
        steps, _ = self._labels(len(self.loo_q2), 0)
        title = f"{self.n_members} members, {self.n_terms} terms."
        return Result({"step": steps}, {"loo_q2": self.loo_q2}, title=title)

    @cached_property
    def largest_correlation(self) -> float:
        """Largest absolute Pearson correlation of two inputs; NaN for one input."""
        return largest_correlation(self.inputs)

    @cached_property
    def condition_number(self) -> float:
        """Of the centred design matrix without the constant; inf below full rank."""
        design = self.basis.evaluate(self.inputs)
        if design.shape[1] == 1:
            return 1.0
        centred = design[:, 1:] - design[:, 1:].mean(axis=0)
        if np.linalg.matrix_rank(centred) < centred.shape[1]:
            return float("inf")
        return float(np.linalg.cond(centred))

    @cached_property
    def distribution_p_values(self) -> FloatArray:
        """Goodness of fit of each input to its distribution; shape (n_features,).

        NaN for constant inputs or fewer than 8 members. A learned normal distribution
        is tested for its shape alone, a frozen one with its parameters.
        """
        return self.basis.p_values(self.inputs)
