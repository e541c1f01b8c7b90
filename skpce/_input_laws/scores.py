r"""Dependence of inputs: normal scores and their joint distributions.

A normal joint distribution is the Gaussian copula. Any other is a kernel estimate whose
conditionals are exact: the mixture of :math:`N(\sqrt{1 - h^2}\, z_i,\ h^2 R)` over the
rows :math:`z_i` of the data has their mean and correlation, whatever the bandwidth
[1]_. At :math:`h = 1` it is the Gaussian copula, at :math:`h \to 0` it is the data.

References
----------
.. [1] M. West, "Approximating posterior distributions by mixtures", Journal of the
   Royal Statistical Society B 55 (1993), section 2.
.. [2] B. L. van der Waerden, "Order tests for the two-sample problem and their power",
   Indagationes Mathematicae 14 (1952).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp, softmax
from sklearn.neighbors import NearestNeighbors

from .._checks import FloatArray, IndexArray
from .._learned.kernel_basis import Basis
from . import EmpiricalLaw, InputLaw, NormalLaw
from .correlations import largest_correlation


class ScoreLaw(ABC):
    """A joint distribution of normal scores."""

    @property
    @abstractmethod
    def n_noise(self) -> int:
        """Number of independent normals for one draw."""

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
        fixed: Sequence[int],
        noise: FloatArray,  # shape: (n_samples, n_noise)
    ) -> FloatArray:  # shape: (n_samples, n_features)
        """Draw the other columns again, given the fixed ones."""


@dataclass(frozen=True, eq=False)
class GaussianScores(ScoreLaw):
    """Scores that are jointly normal."""

    correlation: FloatArray  # shape: (n_features, n_features), positive definite
    root: FloatArray  # root @ root.T is the correlation

    @property
    def n_noise(self) -> int:
        return len(self.correlation)

    def to_independent(self, scores: FloatArray) -> FloatArray:
        normals: Any = np.linalg.solve(self.root, scores.T)
        return normals.T

    def from_independent(self, normals: FloatArray) -> FloatArray:
        return normals @ self.root.T

    def redraw(
        self, scores: FloatArray, fixed: Sequence[int], noise: FloatArray
    ) -> FloatArray:
        slopes, root, free = conditional_parts(self.correlation, fixed)
        drawn = scores.copy()
        drawn[:, free] = scores[:, list(fixed)] @ slopes.T + noise[:, free] @ root.T
        return drawn


def conditional_parts(
    correlation: FloatArray, fixed: Sequence[int]
) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return slopes of the means, root of the covariance, and positions of the others.

    All columns are jointly normal; the others are taken conditional on the fixed ones.
    """
    known = list(fixed)
    free = sorted(set(range(len(correlation))) - set(known))
    inner, cross = correlation[np.ix_(free, free)], correlation[np.ix_(free, known)]
    slopes = cross
    if known:
        factor = cho_factor(correlation[np.ix_(known, known)], lower=True)
        slopes = cho_solve(factor, cross.T).T
        inner -= slopes @ cross.T
    return slopes, correlation_root(inner, "cholesky"), free


# Numbers of a block of points times rows of the data.
_BLOCK_ENTRIES = 2**21

# Newton's steps on the score of a distribution function, at most.
_MOST_STEPS = 60
_TOLERANCE = 1e-11


@dataclass(frozen=True, eq=False)
class KernelScores(ScoreLaw):
    """Scores with the shrunk normal kernel estimate of the data."""

    rows: FloatArray  # shape: (n_rows, n_features), scores of the data
    weights: FloatArray  # shape: (n_rows,), their frequencies
    bandwidth: float  # above 0 and below 1
    correlation: FloatArray  # shape: (n_features, n_features), positive definite

    @property
    def n_noise(self) -> int:
        return self.rows.shape[1] + 1

    @property
    def centers(self) -> FloatArray:
        """Means of the components."""
        return np.sqrt(1.0 - self.bandwidth**2) * self.rows

    @property
    def log_shares(self) -> FloatArray:
        """Logarithms of the shares of the components."""
        return np.log(self.weights / self.weights.sum())

    @property
    def kernel_root(self) -> FloatArray:
        """Lower triangular root of the covariance of a component."""
        return self.bandwidth * correlation_root(self.correlation, "cholesky")

    def _by_block(
        self, function: Callable[..., FloatArray | IndexArray], *points: FloatArray
    ) -> Any:
        """Join what a function returns for blocks of points."""
        size = max(_BLOCK_ENTRIES // self.rows.size, 1)
        n_blocks = -(-len(points[0]) // size) or 1
        blocks = (np.array_split(one, n_blocks) for one in points)
        return np.concatenate([function(*some) for some in zip(*blocks, strict=True)])

    def to_independent(self, scores: FloatArray) -> FloatArray:
        return self._by_block(self._block_to_independent, scores)

    def _block_to_independent(self, scores: FloatArray) -> FloatArray:
        steps = standard_residuals(scores, self.centers, self.kernel_root)
        log_weights = np.broadcast_to(self.log_shares, steps.shape[:2])
        normals = np.empty_like(scores)
        for k in range(scores.shape[1]):
            normals[:, k] = mixture_score(softmax(log_weights, axis=1), steps[:, :, k])
            log_weights = log_weights - 0.5 * np.square(steps[:, :, k])
        return normals

    def from_independent(self, normals: FloatArray) -> FloatArray:
        return self._by_block(self._block_from_independent, normals)

    def _block_from_independent(self, normals: FloatArray) -> FloatArray:
        root, centers = self.kernel_root, self.centers
        scores = np.empty_like(normals)
        steps = np.empty((len(normals), *centers.shape))
        log_weights = np.broadcast_to(self.log_shares, steps.shape[:2])
        for k in range(normals.shape[1]):
            means = centers[:, k] + steps[:, :, :k] @ root[k, :k]
            scores[:, k] = mixture_quantile(
                softmax(log_weights, axis=1), means, root[k, k], normals[:, k]
            )
            steps[:, :, k] = (scores[:, [k]] - means) / root[k, k]
            log_weights = log_weights - 0.5 * np.square(steps[:, :, k])
        return scores

    def redraw(
        self, scores: FloatArray, fixed: Sequence[int], noise: FloatArray
    ) -> FloatArray:
        slopes, root, free = conditional_parts(self.correlation, fixed)
        known, centers = list(fixed), self.centers
        covariance = self.correlation[np.ix_(known, known)]
        known_root = self.bandwidth * correlation_root(covariance, "cholesky")

        def component(points: FloatArray, uniform: FloatArray) -> IndexArray:
            """Draw the component of each point, given its fixed columns."""
            steps = standard_residuals(points, centers[:, known], known_root)
            log_weights = self.log_shares - 0.5 * np.square(steps).sum(axis=2)
            sums = np.cumsum(softmax(log_weights, axis=1), axis=1)
            below = np.sum(sums < uniform[:, np.newaxis], axis=1)
            return np.minimum(below, len(self.rows) - 1)

        chosen = self._by_block(component, scores[:, known], ndtr(noise[:, -1]))
        shift = scores[:, known] - centers[np.ix_(chosen, known)]
        drawn = scores.copy()
        drawn[:, free] = centers[np.ix_(chosen, free)] + shift @ slopes.T
        drawn[:, free] += self.bandwidth * noise[:, free] @ root.T
        return drawn


def standard_residuals(
    points: FloatArray,  # shape: (n_points, n_features)
    centers: FloatArray,  # shape: (n_rows, n_features)
    root: FloatArray,  # shape: (n_features, n_features), lower triangular
) -> FloatArray:  # shape: (n_points, n_rows, n_features)
    """Return the differences of points and centres, whitened by the root."""
    if not len(root):
        return np.zeros((len(points), len(centers), 0))
    first = solve_triangular(root, points.T, lower=True).T
    second = solve_triangular(root, centers.T, lower=True).T
    return first[:, np.newaxis, :] - second


def mixture_score(
    shares: FloatArray,  # shape: (n_points, n_rows), rows of sum 1
    steps: FloatArray,  # shape: (n_points, n_rows)
) -> FloatArray:  # shape: (n_points,)
    """Return the normal score of the distribution function of a normal mixture."""
    # The smaller of the two tails has the digits; where it underflows, its logarithm.
    below = np.einsum("ij,ij->i", shares, ndtr(steps))
    above = np.einsum("ij,ij->i", shares, ndtr(-steps))
    sign = np.where(below < above, 1.0, -1.0)
    with np.errstate(divide="ignore"):
        scores = sign * ndtri(np.minimum(below, above))
    far = np.isinf(scores)
    if far.any():
        tails = log_ndtr(sign[far, np.newaxis] * steps[far])
        scores[far] = sign[far] * ndtri_exp(logsumexp(tails, b=shares[far], axis=1))
    return scores


def mixture_quantile(
    shares: FloatArray,  # shape: (n_points, n_rows), rows of sum 1
    means: FloatArray,  # shape: (n_points, n_rows)
    deviation: float,
    targets: FloatArray,  # shape: (n_points,)
) -> FloatArray:  # shape: (n_points,)
    """Invert :func:`mixture_score` by Newton's method, between the components' own."""
    low = means.min(axis=1) + deviation * targets
    high = means.max(axis=1) + deviation * targets
    found = 0.5 * (low + high)
    open_ = np.arange(len(targets))
    for _ in range(_MOST_STEPS):
        share, at, target = shares[open_], found[open_], targets[open_]
        steps = (at[:, np.newaxis] - means[open_]) / deviation
        scores = mixture_score(share, steps)
        high[open_] = np.where(scores >= target, at, high[open_])
        low[open_] = np.where(scores <= target, at, low[open_])
        density = np.einsum("ij,ij->i", share, np.exp(-0.5 * np.square(steps)))
        with np.errstate(all="ignore"):  # no density: the step leaves the bounds
            slope = density * np.exp(0.5 * np.square(scores)) / deviation
            new = at + (target - scores) / slope
        inside = (new > low[open_]) & (new < high[open_])
        new = np.where(inside, new, 0.5 * (low[open_] + high[open_]))
        found[open_] = new
        open_ = open_[np.abs(new - at) > _TOLERANCE * (1.0 + np.abs(new))]
        if not open_.size:
            break
    return found


def leave_one_out_log_likelihood(
    rows: FloatArray,  # shape: (n_rows, n_features)
    weights: FloatArray,  # shape: (n_rows,)
    bandwidth: float,
    correlation: FloatArray,
) -> float:
    """Return the mean log density of a row when one copy of it is left out."""
    root = bandwidth * np.linalg.cholesky(correlation)
    points = solve_triangular(root, rows.T, lower=True).T
    middles = np.sqrt(1.0 - bandwidth**2) * points
    squared = np.square(points).sum(axis=1)[:, np.newaxis]
    squared = squared + np.square(middles).sum(axis=1) - 2.0 * points @ middles.T
    others = np.broadcast_to(weights, squared.shape).copy()
    others[np.diag_indices(len(rows))] = np.maximum(weights - 1.0, 0.0)
    with np.errstate(divide="ignore"):
        density = logsumexp(np.log(others) - 0.5 * squared, axis=1)
    density -= np.log(others.sum(axis=1)) + np.log(np.diag(root)).sum()
    return float(np.average(density, weights=weights))


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


class MarginalMap(ABC):
    """A strictly increasing map between a column and its normal score."""

    @abstractmethod
    def to_normal(self, column: FloatArray) -> FloatArray:
        """Return the scores of values."""

    @abstractmethod
    def from_normal(self, scores: FloatArray) -> FloatArray:
        """Return the values of scores."""


@dataclass(frozen=True)
class ConstantMap(MarginalMap):
    """A column that never varied: every score maps back to its value."""

    value: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        return column - self.value

    def from_normal(self, scores: FloatArray) -> FloatArray:
        return np.full_like(scores, self.value)


@dataclass(frozen=True)
class NormalMap(MarginalMap):
    """A normal column: standardised."""

    location: float
    scale: float

    def to_normal(self, column: FloatArray) -> FloatArray:
        return (column - self.location) / self.scale

    def from_normal(self, scores: FloatArray) -> FloatArray:
        return self.location + self.scale * scores


@dataclass(frozen=True)
class DistributionMap(MarginalMap):
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
class EmpiricalMap(MarginalMap):
    """A column known by its data: van der Waerden's scores of the distinct values [2]_.

    A value has the score of the middle of its step of the distribution function.
    Between values the map is linear, beyond them it continues as a normal tail.
    """

    values: FloatArray  # shape: (n_values,), distinct, increasing, at least two
    scores: FloatArray  # shape: (n_values,)
    slope: float  # standard deviation of the column

    def to_normal(self, column: FloatArray) -> FloatArray:
        beyond = column - np.clip(column, self.values[0], self.values[-1])
        return np.interp(column, self.values, self.scores) + beyond / self.slope

    def from_normal(self, scores: FloatArray) -> FloatArray:
        beyond = scores - np.clip(scores, self.scores[0], self.scores[-1])
        return np.interp(scores, self.scores, self.values) + beyond * self.slope


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
        return ConstantMap(float(present[0]))
    if isinstance(law, NormalLaw):
        return NormalMap(law.location, law.scale)
    if isinstance(law, EmpiricalLaw):
        masses = law.table.masses
        middles = np.cumsum(masses) - masses / 2.0
        return EmpiricalMap(law.table.points, ndtri(middles), law.scale)
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
        values = np.linalg.svd(centred, compute_uv=False)
        rounding = max(design.shape) * np.finfo(np.float64).eps * values[0]
        if np.sum(values > rounding) < centred.shape[1]:
            return float("inf")
        return float(values[0] / values[-1])

    @cached_property
    def distribution_p_values(self) -> FloatArray:
        """Goodness of fit of each input to its distribution; shape (n_features,).

        NaN for constant inputs or fewer than 8 members. A learned normal distribution
        is tested for its shape alone, a frozen one with its parameters.
        """
        return self.basis.p_values(self.inputs)
