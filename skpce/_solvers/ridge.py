"""Ridge regression: given penalties, paths of penalties, and refits on many resamples.

A resample gives each sample a count. Where there are clearly fewer terms than samples
the Gram matrices of all resamples are one product, otherwise the kernel matrix of the
samples is computed once and each resample scales its rows and columns. Both square
the condition number, so resamples that are close to singular are marked and refitted
one by one.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._checks import BoolArray, FloatArray, IndexArray
from .problem import (
    CoefficientSolver,
    DesignDecomposition,
    DesignMoments,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    best_penalties,
)

#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean where the inputs explain nothing.
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are determined by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.empty((problem.targets.shape[1], problem.design.shape[1]))
        for scale, targets in distinct_scales(fit.scales):
            coefficients[targets] = self._refit_group(problem, fit, scale, targets)
        return coefficients

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: NDArray[Any]
    ) -> FloatArray:
        """Return ``refit(problem.resampled(row), fit)`` for each row of counts."""
        shape = (len(counts), problem.targets.shape[1], problem.design.shape[1])
        coefficients = np.empty(shape)
        for scale, targets in distinct_scales(fit.scales):
            group, accurate = resample_group(
                problem, counts, scale, targets, fit.alpha[targets], self.free_intercept
            )
            for row in np.flatnonzero(~accurate):
                resampled = problem.resampled(counts[row])
                group[row] = self._refit_group(resampled, fit, scale, targets)
            coefficients[:, targets] = group
        return coefficients

    def _refit_group(
        self,
        problem: LinearProblem,
        fit: LinearFit,
        scale: FloatArray,
        targets: IndexArray,
    ) -> FloatArray:
        """Refit the targets of one scale; shape (n_chosen, n_terms)."""
        decomposition = DesignDecomposition.from_design(
            problem.design,
            problem.weights,
            free_intercept=self.free_intercept,
            scale=scale,
        )
        mean, _, loadings = _project(decomposition, problem.targets[:, targets])
        return decomposition.coefficients(mean, loadings, fit.alpha[targets])


class RidgePathSolver(GeneralizedRidgeSolver):
    """Minimise ``sum w (y - c Psi)^2 + alpha |c|^2`` for the best of some penalties."""

    def __init__(
        self,
        alphas: FloatArray,  # shape: (n_alphas,), ascending
        criterion: str = "loo",
        *,
        free_intercept: bool = True,
    ) -> None:
        self.alphas = alphas
        self.free_intercept = free_intercept
        self.criterion = criterion

    def fit(self, problem: LinearProblem) -> LinearFit:
        decomposition = DesignDecomposition.from_design(
            problem.design, problem.weights, free_intercept=self.free_intercept
        )
        return solve_path(
            decomposition, problem.targets, self.alphas, problem.groups, self.criterion
        )

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        return solve_moments(moments, self.alphas, groups)


class LeastSquaresSolver(RidgePathSolver):
    """Ordinary least squares; the solution of least norm where it is not unique."""

    def __init__(self) -> None:
        super().__init__(np.zeros(1))


#: Penalties of the paper, eq. (4): 1e-8, 10^-7.5, ..., 1.
PAPER_ALPHAS = np.logspace(-8, 0, 17)


class PaperSolver(RidgePathSolver):
    """The paper's eq. (4): the intercept penalised too, one penalty a target by GCV."""

    def __init__(self) -> None:
        super().__init__(PAPER_ALPHAS, free_intercept=False, criterion="gcv")

    def fit(self, problem: LinearProblem) -> LinearFit:
        each_alone = np.arange(problem.targets.shape[1])
        return super().fit(replace(problem, groups=each_alone))


#: How a penalty is chosen: closed-form leave-one-out, generalised cross-validation.
CRITERIA = ("loo", "gcv")

# Residuals held at once while a path is scored: 512 KiB, which stays in the cache.
_LARGEST_PATH_BLOCK = 65_536

# With more residuals than this on a path none of them is formed.
_LARGE_PATH = 16_777_216

# Below this share of the sum of squares of the targets that way loses too many digits.
_SMALLEST_SUM = 1e-9


def solve_path(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    groups: IndexArray,  # shape: (n_targets,)
    criterion: str = "loo",
) -> LinearFit:
    """Fit every penalty and select the best of each group by the criterion."""
    projected = _project(decomposition, targets)
    scores = path_scores(decomposition, *projected[1:], alphas, criterion)
    best, least = best_penalties(scores, groups)
    return _fit_projected(decomposition, *projected, alphas[best], least)


def fit_scale(
    problem: LinearProblem,
    targets: IndexArray,  # shape: (n_chosen,)
    scale: FloatArray,  # shape: (n_terms,)
    penalty: float,
) -> LinearFit:
    """Fit some targets with a scale and a penalty; the criterion is leave-one-out."""
    decomposition = DesignDecomposition.from_design(
        problem.design, problem.weights, scale=scale
    )
    projected = _project(decomposition, problem.targets[:, targets])
    alpha = np.full(len(targets), penalty)
    return _fit_projected(decomposition, *projected, alpha, None)


def _project(
    decomposition: DesignDecomposition, targets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the means, the centred targets and their loadings."""
    mean, centred = decomposition.center_targets(targets)
    return mean, centred, decomposition.project(centred)


def _fit_projected(
    decomposition: DesignDecomposition,
    mean: FloatArray,
    centred: FloatArray,
    loadings: FloatArray,
    alpha: FloatArray,
    criterion: FloatArray | None,
) -> LinearFit:
    loo, scaled = np.empty_like(centred), np.empty_like(centred)
    for value in np.unique(alpha).tolist():
        chosen = alpha == value
        complement = decomposition.path_complement(np.array([value]))
        safe = np.where(complement > 0.0, complement, np.nan)
        residuals = decomposition.residuals(
            centred[:, chosen], loadings[:, chosen], value
        )
        loo[:, chosen] = residuals / safe
        scaled[:, chosen] = loo[:, chosen] * np.sqrt(complement)
    weights = decomposition.weights
    if criterion is None:
        criterion = weights @ np.square(loo) / weights.sum()
    factor = decomposition.factor
    return LinearFit(
        decomposition.coefficients(mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(criterion), np.inf, criterion),
        loo,
        scaled,
        weights @ np.square(scaled) / weights.sum(),
    )


def path_scores(
    decomposition: DesignDecomposition,
    centred: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str = "loo",
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the criterion, a mean square, of every penalty."""
    weights = decomposition.weights
    complement = decomposition.path_complement(alphas)
    if criterion == "gcv":
        complement = np.average(complement, axis=0, weights=weights)[np.newaxis]
    safe = np.where(complement > 0.0, complement, np.nan)
    factors = weights[:, np.newaxis] / np.square(safe)  # (n_samples, n_alphas)
    if len(alphas) * centred.size > _LARGE_PATH:
        scores = _sums_of_squares(decomposition, centred, loadings, alphas, factors)
        exact = scores.min(axis=0) > _SMALLEST_SUM * (weights @ np.square(centred))
        if exact.all():
            return scores / weights.sum()
    scores = np.empty((len(alphas), centred.shape[1]))
    step = max(1, _LARGEST_PATH_BLOCK // max(centred.size, 1))
    for start in range(0, len(alphas), step):
        some = slice(start, start + step)
        errors = np.square(
            decomposition.path_residuals(centred, loadings, alphas[some])
        )
        scores[some] = np.einsum("ia,iat->at", factors[:, some], errors)
    return scores / weights.sum()


def _sums_of_squares(
    decomposition: DesignDecomposition,
    centred: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    factors: FloatArray,  # shape: (n_samples, n_alphas)
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Expand the squares of the residuals, so that products of matrices do the work."""
    left = decomposition.left
    scores = factors.T @ np.square(centred)
    squares = decomposition.factor.singular_values[:, np.newaxis] ** 2
    for row, (alpha, factor) in enumerate(zip(alphas, factors.T, strict=True)):
        fitted = (squares / (squares + alpha)) * loadings
        scaled = left * factor[:, np.newaxis]
        scores[row] -= 2.0 * np.einsum("kt,kt->t", fitted, scaled.T @ centred)
        scores[row] += np.einsum("kt,kt->t", fitted, (left.T @ scaled) @ fitted)
    return scores


def solve_moments(
    moments: DesignMoments,
    alphas: FloatArray,  # shape: (n_alphas,), ascending
    groups: IndexArray,  # shape: (n_targets,)
    scale: FloatArray | None = None,  # shape: (n_terms,)
) -> LinearFit:
    """Fit every penalty from the sums and select the best of each group by GCV.

    Leverages need a second pass over the samples, generalised cross-validation does not
    [1]_. It differs from leave-one-out by the spread of the leverages, which is small
    where there are many samples for every term.
    """
    scale = np.ones(len(moments.mean)) if scale is None else scale
    used = np.flatnonzero(scale)
    used = used[used > 0]
    scale = scale[used]
    gram = moments.gram[np.ix_(used, used)] * np.outer(scale, scale)
    squares, vectors = _eigen(gram)
    loadings = vectors.T @ (scale[:, np.newaxis] * moments.cross[used])
    scores = _gcv_scores(moments, squares, loadings, alphas)
    best, criterion = best_penalties(scores, groups)
    alpha = alphas[best]
    base = 1.0 / moments.total_weight
    factor = LeverageFactor(
        vectors.T, np.sqrt(squares), moments.mean, used, scale, base
    )
    slopes = loadings / (squares[:, np.newaxis] + alpha)
    freedom = 1.0 - _degrees_of_freedom(squares, alpha) / moments.total_weight
    return LinearFit(
        factor.coefficients(moments.target_mean, slopes),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(criterion), np.inf, criterion),
        None,
        None,
        criterion * freedom,
    )


def _eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues above rounding and their vectors."""
    if len(gram) == 0:
        return np.zeros(0), np.zeros((0, 0))
    squares, vectors = eigh(gram)
    large = squares > len(gram) * np.finfo(float).eps * max(squares[-1], 0.0)
    return squares[large], vectors[:, large]


def _degrees_of_freedom(squares: FloatArray, alpha: FloatArray) -> FloatArray:
    return 1.0 + (squares[:, np.newaxis] / (squares[:, np.newaxis] + alpha)).sum(axis=0)


def _gcv_scores(
    moments: DesignMoments,
    squares: FloatArray,  # shape: (rank,)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,
) -> FloatArray:  # shape: (n_alphas, n_targets)
    r"""Return GCV, NaN where no degree of freedom is left.

    :math:`\mathrm{GCV}(\lambda) = \frac{\mathrm{RSS}/\sum w}{(1 - \mathrm{df}/\sum
    w)^2}` with :math:`\mathrm{df} = 1 + \sum_k s_k^2/(s_k^2+\lambda)` ([1]_, eq. 1.4).
    """
    shrunk = 1.0 / (squares[:, np.newaxis] + alphas)
    explained = 2.0 * shrunk - squares[:, np.newaxis] * np.square(shrunk)
    rest = moments.target_square - explained.T @ np.square(loadings)
    rounding = 1e-15 * moments.target_square
    rest = np.maximum(rest, rounding) / moments.total_weight
    freedom = 1.0 - _degrees_of_freedom(squares, alphas) / moments.total_weight
    safe = np.where(freedom > 1e-12, freedom, np.nan)
    return rest / np.square(safe)[:, np.newaxis]


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]


#: Memory for the matrices of the resamples that are solved together: 256 MiB.
LARGEST_BATCH = 268_435_456

# A resample contains about 63 % of the samples: with more terms the kernel is regular
# where the Gram matrix is not.
_SHARE_DRAWN = 0.6

# Smallest ratio of eigenvalues at which a solution has nine digits.
_SMALLEST_RATIO = 1e-7

# From this number of distinct penalties an eigendecomposition is quicker.
_MANY_PENALTIES = 6

# From this order on a call per matrix costs nothing beside its arithmetic.
_LARGE_ORDER = 150


def resample_group(
    problem: LinearProblem,
    counts: NDArray[Any],  # shape: (n_resamples, n_samples)
    scale: FloatArray,  # shape: (n_terms,)
    targets: IndexArray,  # shape: (n_chosen,)
    alpha: FloatArray,  # shape: (n_chosen,)
    free_intercept: bool,
) -> tuple[FloatArray, BoolArray]:  # the first: (n_resamples, n_chosen, n_terms)
    """Refit the targets of one scale, and mark the resamples that are accurate."""
    used = np.flatnonzero(scale)
    if free_intercept:
        used = used[used > 0]
    columns, values = problem.design[:, used], problem.targets[:, targets]
    column_mean, value_mean = np.zeros(len(used)), np.zeros(len(targets))
    if free_intercept:
        # Centring at the mean of all samples leaves little to cancel in a resample.
        column_mean, value_mean = columns.mean(axis=0), values.mean(axis=0)
    columns, values = (columns - column_mean) * scale[used], values - value_mean
    n_terms = problem.design.shape[1]
    coefficients = np.zeros((len(counts), len(targets), n_terms))
    accurate = np.ones(len(counts), dtype=bool)
    dual = columns.shape[1] > _SHARE_DRAWN * len(columns)
    solve = _solve_kernel if dual else _solve_gram
    for rows in _batches(len(counts), columns.shape, len(targets), dual):
        weights = counts[rows].astype(np.float64)
        means = _Means.of(weights, columns, values, free_intercept)
        slopes, accurate[rows] = solve(columns, values, weights, means, alpha)
        block = coefficients[rows]
        block[:, :, used] = slopes * scale[used]
        if free_intercept:
            inner = np.einsum("btp,bp->bt", slopes, means.columns)
            block[:, :, 0] = (
                value_mean + means.values - inner - block[:, :, used] @ column_mean
            )
    return coefficients, accurate


@dataclass(frozen=True)
class _Means:
    """Weighted means of each resample; zero where the intercept is penalised."""

    free: bool
    total: FloatArray  # shape: (n_resamples,)
    columns: FloatArray  # shape: (n_resamples, n_columns)
    values: FloatArray  # shape: (n_resamples, n_targets)

    @classmethod
    def of(
        cls, weights: FloatArray, columns: FloatArray, values: FloatArray, free: bool
    ) -> _Means:
        total = weights.sum(axis=1)
        share = weights / total[:, np.newaxis] if free else np.zeros_like(weights)
        return cls(free, total, share @ columns, share @ values)


def _batches(
    n_resamples: int, shape: tuple[int, ...], n_targets: int, dual: bool
) -> Iterator[slice]:
    n_samples, n_columns = shape
    order = n_samples if dual else n_columns
    entries = 4 * order**2 + n_samples * (n_columns + n_targets)
    entries += 4 * (n_columns + order) * n_targets
    step = max(1, LARGEST_BATCH // (8 * max(entries, 1)))
    for start in range(0, n_resamples, step):
        yield slice(start, start + step)


def _solve_gram(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    values: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_resamples, n_samples)
    means: _Means,
    alpha: FloatArray,  # shape: (n_targets,)
) -> tuple[FloatArray, BoolArray]:
    """Solve ``(X' W X + alpha) b = X' W y`` about the means of each resample."""
    weighted = weights[:, np.newaxis] * columns.T
    gram, right = weighted @ columns, weighted @ values
    scaled = means.total[:, np.newaxis] * means.columns
    gram -= scaled[:, :, np.newaxis] * means.columns[:, np.newaxis]
    right -= scaled[:, :, np.newaxis] * means.values[:, np.newaxis]
    slopes, accurate = _solve_penalized(gram, right, alpha)
    return slopes.swapaxes(1, 2), accurate


def _solve_kernel(
    columns: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    means: _Means,
    alpha: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Solve in the space of the samples: ``b = X' W^(1/2) (K + alpha)^(-1) W^(1/2) y``.

    Samples that are not drawn, and the direction of the intercept, are null vectors
    of the kernel and orthogonal to the right-hand side. A positive eigenvalue for them
    leaves the solution as it is: the one of least norm when the penalty is 0.
    """
    kernel = columns @ columns.T
    root = np.sqrt(weights)
    batch = np.repeat(kernel[np.newaxis], len(weights), axis=0)
    if means.free:
        inner = means.columns @ columns.T
        batch -= inner[:, :, np.newaxis] + inner[:, np.newaxis]
        batch += np.square(means.columns).sum(axis=1)[:, np.newaxis, np.newaxis]
    batch *= root[:, :, np.newaxis]
    batch *= root[:, np.newaxis]
    diagonal = np.einsum("bii->bi", batch)
    typical = diagonal.sum(axis=1) / np.maximum((weights > 0).sum(axis=1), 1)
    diagonal += np.where(weights > 0, 0.0, typical[:, np.newaxis])
    if means.free:
        unit = root * np.sqrt(typical / means.total)[:, np.newaxis]
        batch += unit[:, :, np.newaxis] * unit[:, np.newaxis]
    right = root[:, :, np.newaxis] * (values - means.values[:, np.newaxis])
    dual, accurate = _solve_penalized(batch, right, alpha)
    dual *= root[:, :, np.newaxis]
    return dual.swapaxes(1, 2) @ columns, accurate


def _solve_penalized(
    matrices: FloatArray,  # shape: (n_resamples, order, order)
    right: FloatArray,  # shape: (n_resamples, order, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
) -> tuple[FloatArray, BoolArray]:
    """Solve with the penalty of each target, and mark where that is accurate."""
    if matrices.shape[1] == 0:
        return right, np.ones(len(matrices), dtype=bool)
    penalties, which = np.unique(alpha, return_inverse=True)
    if matrices.shape[1] > _LARGE_ORDER:
        return _solve_one_by_one(matrices, right, penalties, which)
    if len(penalties) >= _MANY_PENALTIES:
        values, vectors = np.linalg.eigh(matrices)
        accurate = _well_conditioned(values, penalties[0])
        values = np.where(accurate[:, np.newaxis], values, 1.0)
        rotated = vectors.swapaxes(1, 2) @ right
        rotated /= values[:, :, np.newaxis] + alpha
        return vectors @ rotated, accurate
    accurate = _is_accurate(matrices, penalties[0])
    identity = np.eye(matrices.shape[1])
    matrices[~accurate] = identity
    solution = np.empty_like(right)
    for number, penalty in enumerate(penalties):
        mine = np.flatnonzero(which == number)
        shifted = matrices + penalty * identity
        solution[:, :, mine] = np.linalg.solve(shifted, right[:, :, mine])
    return solution, accurate


def _solve_one_by_one(
    matrices: FloatArray, right: FloatArray, penalties: FloatArray, which: IndexArray
) -> tuple[FloatArray, BoolArray]:
    """Solve large matrices by Cholesky, whose condition estimate is cheap."""
    accurate = np.ones(len(matrices), dtype=bool)
    solution = np.zeros_like(right)
    columns = [np.flatnonzero(which == k) for k in range(len(penalties))]
    for row, matrix in enumerate(matrices):
        size = np.abs(matrix).sum(axis=0).max()
        for penalty, mine in zip(penalties, columns, strict=True):
            shifted = matrix.copy()
            shifted.flat[:: len(matrix) + 1] += penalty
            # The transpose is the same matrix in the memory order of LAPACK.
            factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=1)
            ratio = 0.0 if failed else dpocon(factor, size + penalty, uplo="L")[0]
            if not ratio > _SMALLEST_RATIO:
                accurate[row] = False
                break
            solution[row][:, mine] = dpotrs(factor, right[row][:, mine], lower=1)[0]
    return solution, accurate


def _is_accurate(matrices: FloatArray, penalty: float) -> BoolArray:
    """Check the condition by a cheap bound, then by eigenvalues where it fails."""
    trace = np.einsum("bii->b", matrices)
    accurate = penalty > _SMALLEST_RATIO * (trace + penalty)
    doubtful = np.flatnonzero(~accurate)
    if len(doubtful):
        values = np.linalg.eigvalsh(matrices[doubtful])
        accurate[doubtful] = _well_conditioned(values, penalty)
    return accurate


def _well_conditioned(values: NDArray[np.floating[Any]], penalty: float) -> BoolArray:
    """Compare the smallest eigenvalue, penalty included, with the largest."""
    low, high = values[:, 0] + penalty, values[:, -1] + penalty
    return (low > _SMALLEST_RATIO * high) & (low > 0)
