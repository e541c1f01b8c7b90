"""Ridge regression: given penalties, paths of penalties, fits of many sets of targets.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._checks import BoolArray, FloatArray, IndexArray
from .problem import (
    FEWEST_ROWS,
    CoefficientSolver,
    DesignDecomposition,
    DesignMoments,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    best_penalties,
    blocks_of_rows,
    weighted_squares,
)

# Refits of a ridge on many resamples at once.
#
# A resample gives each sample a count. Where there are clearly fewer terms than samples
# the Gram matrices of all resamples are one product, otherwise the kernel matrix of the
# samples is computed once and each resample scales its rows and columns. Both square
# the condition number, so resamples that are close to singular are marked and refitted
# one by one.


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
    # Of equal rows rounding remains, which may be negative.
    total = np.maximum(diagonal.sum(axis=1), 0.0)
    typical = total / np.maximum((weights > 0).sum(axis=1), 1)
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
    trace = np.abs(np.einsum("bii->bi", matrices)).sum(axis=1)  # rounding has any sign
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
        mean, loadings = _project(decomposition, problem.targets[:, targets])
        return decomposition.coefficients(mean, loadings, fit.alpha[targets])


class SharedDesign:
    """A design that many sets of targets share, with its decompositions."""

    def __init__(
        self,
        design: FloatArray,  # shape: (n_samples, n_terms)
        weights: FloatArray,  # shape: (n_samples,)
        exponents: IndexArray,  # shape: (n_terms, n_inputs)
    ) -> None:
        self.design, self.weights, self.exponents = design, weights, exponents
        self._made: dict[tuple[bytes, bool], DesignDecomposition] = {}

    def decomposed(
        self,
        scale: FloatArray | None = None,
        *,
        free_intercept: bool = True,
        for_scores: bool = False,
    ) -> DesignDecomposition:
        """Return the decomposition with a scale of the terms, if possible a known one.

        As many are stored as fit into the memory for a batch of resamples.
        """
        key = b"" if scale is None else scale.tobytes(), for_scores
        if key not in self._made:
            if 8 * self.design.size * len(self._made) > LARGEST_BATCH:
                self._made.clear()
            self._made[key] = DesignDecomposition.from_design(
                self.design,
                self.weights,
                free_intercept=free_intercept,
                scale=scale,
                for_scores=for_scores,
            )
        return self._made[key]


class PathSolver(GeneralizedRidgeSolver):
    """A ridge that fits many sets of targets to one design at once."""

    takes_alphas = fits_moments = True
    alphas: FloatArray
    criterion: str

    @abstractmethod
    def fit_sets(
        self,
        shared: SharedDesign,
        targets: FloatArray,  # shape: (n_samples, n_sets, n_targets)
        groups: IndexArray,  # shape: (n_targets,)
    ) -> FloatArray:  # shape: (n_sets, n_targets, n_terms)
        """Return the coefficients of ``fit`` for each set."""


def groups_of_sets(groups: IndexArray, n_sets: int) -> IndexArray:
    """Number the groups of all sets; shape (n_sets * n_targets,)."""
    shift = (int(groups.max(initial=0)) + 1) * np.arange(n_sets)
    return np.asarray(groups + shift[:, np.newaxis]).ravel()


class RidgePathSolver(PathSolver):
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

    def fit_sets(
        self, shared: SharedDesign, targets: FloatArray, groups: IndexArray
    ) -> FloatArray:
        n_samples, *shape = targets.shape
        fit = solve_path(
            shared.decomposed(free_intercept=self.free_intercept),
            targets.reshape(n_samples, -1),
            self.alphas,
            groups_of_sets(groups, shape[0]),
            self.criterion,
        )
        return fit.coefficients.reshape(*shape, -1)

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""
        return solve_moments(moments, self.alphas, groups)


class LeastSquaresSolver(RidgePathSolver):
    """Ordinary least squares; the solution of least norm where it is not unique."""

    takes_alphas = False

    def __init__(self) -> None:
        super().__init__(np.zeros(1))


#: Penalties of the paper, eq. (4): 1e-8, 10^-7.5, ..., 1.
PAPER_ALPHAS = np.logspace(-8, 0, 17)


class PaperSolver(RidgePathSolver):
    """The paper's eq. (4): the intercept penalised too, one penalty a target by GCV."""

    takes_alphas = fits_moments = False

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

#: Combinations of functions of the penalty below this share of them are rounding.
SMALLEST_LENGTH = 1e-15

# More than scores that tie differ by, and than rounding.
_MARGIN = 1e-5

# Combinations of the factors below this share of them change no score's first 11
# digits.
_SMALLEST_SHARE = 1e-13

# Below this share of what the sums are made of they lose too many digits.
_SMALLEST_SUM = 1e-4


@dataclass(frozen=True)
class _Chosen:
    """A penalty for each target, and what its fit is made of."""

    decomposition: DesignDecomposition
    targets: FloatArray  # shape: (n_samples, n_targets)
    mean: FloatArray  # shape: (n_targets,)
    loadings: FloatArray  # shape: (rank, n_targets)
    alpha: FloatArray  # shape: (n_targets,)
    known_error: FloatArray | None = None  # shape: (n_targets,), where it is known

    def fit(self, scores: FloatArray) -> LinearFit:
        """Return the fit; residuals are made when they are read.

        Few fits are asked for them. They are made now where they are smaller than what
        they are made from.
        """
        factor, alpha = self.decomposition.factor, self.alpha
        fit = LinearFit.made_later(
            self,
            coefficients=self.decomposition.coefficients(
                self.mean, self.loadings, alpha
            ),
            alpha=alpha,
            scales=factor.scales(len(alpha)),
            leverage=Leverage.shared(factor, alpha),
            criterion=np.where(np.isnan(scores), np.inf, scores),
        )
        least = max(_LARGEST_PATH_BLOCK, 2 * self.targets.size)
        return fit if self.decomposition.left.size <= least else replace(fit)

    def residuals(self) -> dict[str, FloatArray]:
        """Return the fields of a fit that hold residuals."""
        loo, scaled = np.empty_like(self.targets), np.empty_like(self.targets)
        for rows, residuals, root in self._blocks():
            np.divide(residuals, root, out=scaled[rows])
            np.divide(scaled[rows], root, out=loo[rows])
        weights = self.decomposition.weights
        return {
            "loo_residuals": loo,
            "scaled_residuals": scaled,
            "residual_variance": weighted_squares(scaled, weights) / weights.sum(),
        }

    @cached_property
    def loo_error(self) -> FloatArray:
        """Mean squared residual of leaving one copy out."""
        if self.known_error is not None:
            return self.known_error
        weights, sums = self.decomposition.weights, np.zeros(len(self.alpha))
        for rows, residuals, root in self._blocks():
            residuals /= root
            residuals /= root
            sums += weights[rows] @ np.square(residuals, out=residuals)
        return sums / weights.sum()

    def _blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield rows, their residuals, and roots of ``1 - leverage``, NaN for 0."""
        values, value_of = np.unique(self.alpha, return_inverse=True)
        root = np.sqrt(self.decomposition.path_complement(values))
        root[root == 0.0] = np.nan
        for rows in blocks_of_rows(self.targets.shape):
            residuals = self.decomposition.residuals(
                self.targets[rows] - self.mean, self.loadings, self.alpha, rows
            )
            yield rows, residuals, root[rows].take(value_of, axis=1)


def solve_path(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    groups: IndexArray,  # shape: (n_targets,)
    criterion: str = "loo",
) -> LinearFit:
    """Fit every penalty and select the best of each group by the criterion."""
    mean, loadings = _project(decomposition, targets)
    if criterion == "loo" and len(alphas) * targets.size > _LARGE_PATH:
        alphas = _in_question(decomposition, targets, loadings, alphas, mean)
    scores = path_scores(decomposition, targets, loadings, alphas, criterion, mean)
    best, least = best_penalties(scores, groups)
    error = least if criterion == "loo" else None
    chosen = _Chosen(decomposition, targets, mean, loadings, alphas[best], error)
    return chosen.fit(least)


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
    alpha = np.full(len(targets), penalty)
    return fit_penalties(decomposition, problem.targets[:, targets], alpha)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
) -> LinearFit:
    """Fit targets with given penalties; the criterion is leave-one-out."""
    mean, loadings = _project(decomposition, targets)
    chosen = _Chosen(decomposition, targets, mean, loadings, alpha)
    return chosen.fit(chosen.loo_error)


def _project(
    decomposition: DesignDecomposition, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the means of the targets, and their loadings about these."""
    mean = decomposition.target_mean(targets)
    return mean, decomposition.project(targets, mean)


def _in_question(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,), ascending
    center: FloatArray,  # shape: (n_targets,)
) -> FloatArray:  # shape: (n_alphas or fewer,)
    """Leave out the largest penalties that are worse than the smallest one anyway.

    Leaving samples out enlarges residuals, and by no more than the largest leverage
    does. Fewer penalties differ less, and need fewer products.
    """
    spread = weighted_squares(targets, decomposition.weights, center)
    inside = _inside_squares(decomposition, loadings, alphas)
    squares = spread - np.square(loadings).sum(axis=0) + inside
    least = decomposition.path_complement(alphas[:1]).min()
    with np.errstate(divide="ignore"):
        most = (1.0 + _MARGIN) * (squares[0] + _MARGIN * spread) / np.square(least)
    possible = np.flatnonzero((squares <= most).any(axis=1))
    return alphas[: possible.max(initial=0) + 1]


def path_scores(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets), of the targets about the center
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str = "loo",
    center: FloatArray | float = 0.0,  # shape: (n_targets,)
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the criterion, a mean square, of every penalty."""
    total = decomposition.weights.sum()
    if criterion == "gcv":
        mean = decomposition.mean_complement(alphas)
        factors = 1.0 / np.square(np.where(mean > 0.0, mean, np.nan))
        squares = _inside_squares(decomposition, loadings, alphas)
        for rows, outside in _outside(decomposition, targets, loadings, center):
            squares += decomposition.weights[rows] @ np.square(outside, out=outside)
        return factors[:, np.newaxis] * squares / total
    complement = decomposition.path_complement(alphas)
    defined = bool(complement.min(initial=np.inf) > 0.0)
    if len(alphas) * targets.size > _LARGE_PATH and defined:
        scores, size = _scores_of_sums(
            decomposition, targets, loadings, alphas, complement, center
        )
        if (scores > _SMALLEST_SUM * size).all():
            return scores / total
    if not defined:
        complement = np.where(complement > 0.0, complement, np.nan)
    n_samples, n_targets = targets.shape
    scores = np.empty((len(alphas), n_targets))
    outside = decomposition.outside(targets - center, loadings)[:, np.newaxis]
    has_outside = bool(outside.any())  # not where terms reach every sample
    step = max(1, _LARGEST_PATH_BLOCK // max(n_targets, 1))
    for start in range(0, len(alphas), step):
        some = slice(start, start + step)
        kept = decomposition.kept(alphas[some])[:, :, np.newaxis]
        size = kept.shape[1] * n_targets
        shrunk = (kept * loadings[:, np.newaxis]).reshape(len(kept), size)
        sums = np.zeros(size)
        for rows in blocks_of_rows((n_samples, size), FEWEST_ROWS):
            flat = decomposition.left[rows] @ shrunk
            errors = flat.reshape(len(flat), kept.shape[1], n_targets)
            if has_outside:
                errors += outside[rows]
            errors /= complement[rows, some, np.newaxis]
            sums += decomposition.weights[rows] @ np.square(flat, out=flat)
        scores[some] = sums.reshape(scores[some].shape)
    return scores / total


def _outside(
    decomposition: DesignDecomposition,
    targets: FloatArray,
    loadings: FloatArray,
    center: FloatArray | float,
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows, and what no penalty changes in their residuals."""
    for rows in blocks_of_rows(targets.shape, FEWEST_ROWS):
        yield rows, decomposition.outside(targets[rows] - center, loadings, rows)


def _inside_squares(
    decomposition: DesignDecomposition, loadings: FloatArray, alphas: FloatArray
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the sums of squares that penalties add to the residuals."""
    return np.asarray(np.square(decomposition.kept(alphas)).T @ np.square(loadings))


def _scores_of_sums(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    complement: FloatArray,  # shape: (n_samples, n_alphas), positive
    center: FloatArray | float,  # shape: (n_targets,)
) -> tuple[FloatArray, FloatArray]:  # each of shape (n_alphas, n_targets)
    """Expand the squares of the residuals, so that products of matrices do the work.

    The factor of a sample is a smooth function of the penalty: the smallest one of all
    samples, which needs no products, and a few combinations for all penalties together.
    Beside the sums of squares the size of what they are made of is returned.
    """
    left, weights = decomposition.left, decomposition.weights
    factors = weights[:, np.newaxis] / np.square(complement)
    sizes = np.linalg.norm(factors, axis=0)
    common = 1.0 / np.square(complement.max(axis=0))
    rest = (factors - weights[:, np.newaxis] * common) / sizes
    basis, lengths, shares = np.linalg.svd(rest, full_matrices=False)
    basis = basis[:, lengths > _SMALLEST_SHARE]
    n_forms, (rank, n_targets) = basis.shape[1], loadings.shape
    shares = (lengths[:, np.newaxis] * shares * sizes)[:n_forms]
    squares = np.zeros((n_forms + 1, n_targets))
    products = np.zeros((n_forms * rank, n_targets))
    grams = np.zeros((n_forms * rank, rank))
    columns = np.column_stack([weights, basis]).T
    for rows, outside in _outside(decomposition, targets, loadings, center):
        scaled = basis[rows, :, np.newaxis] * left[rows, np.newaxis]
        scaled = scaled.reshape(len(outside), -1).T
        products += scaled @ outside
        grams += scaled @ left[rows]
        squares += columns[:, rows] @ np.square(outside, out=outside)
    kept = decomposition.kept(alphas)  # (rank, n_alphas)
    total = squares[0] + _inside_squares(decomposition, loadings, alphas)
    scores = common[:, np.newaxis] * total + shares.T @ squares[1:]
    products = products.reshape(n_forms, rank, n_targets) * loadings
    forms = shares.T[:, :, np.newaxis] * kept.T[:, np.newaxis]
    scores += 2.0 * (forms.reshape(len(alphas), -1) @ products.reshape(-1, n_targets))
    grams = grams.reshape(n_forms, rank, rank)
    for row, (share, own) in enumerate(zip(shares.T, kept.T, strict=True)):
        gram = np.tensordot(share, grams, 1) * np.outer(own, own)
        scores[row] += np.einsum("kt,kt->t", loadings, gram @ loadings)
    return scores, sizes[:, np.newaxis] * total


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
    if scale is None:  # as below with ones, without copies
        used, scale = np.arange(1, len(moments.mean)), np.ones(len(moments.mean) - 1)
        squares, vectors = _eigen(moments.gram[1:, 1:])
        loadings = vectors.T @ moments.cross[1:]
    else:
        used = np.flatnonzero(scale)
        used = used[used > 0]
        scale = scale[used]
        gram = moments.gram[np.ix_(used, used)] * np.outer(scale, scale)
        squares, vectors = _eigen(gram)
        loadings = vectors.T @ (scale[:, np.newaxis] * moments.cross[used])
    scores, freedom = _gcv_scores(moments, squares, loadings, alphas)
    best, criterion = best_penalties(scores, groups)
    alpha = alphas[best]
    base = 1.0 / moments.total_weight
    factor = LeverageFactor(
        vectors.T, np.sqrt(squares), moments.mean, used, scale, base
    )
    slopes = loadings / (squares[:, np.newaxis] + alpha)
    return LinearFit(
        factor.coefficients(moments.target_mean, slopes),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(criterion), np.inf, criterion),
        None,
        None,
        criterion * freedom[best],
    )


def _eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues above rounding and their vectors."""
    if len(gram) == 0:
        return np.zeros(0), np.zeros((0, 0))
    squares, vectors = np.linalg.eigh(gram)
    large = squares > len(gram) * np.finfo(float).eps * max(squares[-1], 0.0)
    return squares[large], vectors[:, large]


def _gcv_scores(
    moments: DesignMoments,
    squares: FloatArray,  # shape: (rank,)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # (n_alphas, n_targets), (n_alphas,)
    r"""Return GCV and the share of degrees of freedom left, NaN where none is.

    :math:`\mathrm{GCV}(\lambda) = \frac{\mathrm{RSS}/\sum w}{(1 - \mathrm{df}/\sum
    w)^2}` with :math:`\mathrm{df} = 1 + \sum_k s_k^2/(s_k^2+\lambda)` ([1]_, eq. 1.4).
    """
    kept = alphas / (squares[:, np.newaxis] + alphas)
    inside = np.square(loadings) / squares[:, np.newaxis]
    outside = moments.target_square - inside.sum(axis=0)  # what no penalty changes
    outside = np.where(outside > 1e-13 * moments.target_square, outside, 0.0)
    rest = (outside + np.square(kept).T @ inside) / moments.total_weight
    free = max(moments.total_weight - 1.0 - len(squares), 0.0)  # without a penalty
    freedom = (free + kept.sum(axis=0)) / moments.total_weight
    safe = np.where(freedom > 1e-12, freedom, np.nan)
    return rest / np.square(safe)[:, np.newaxis], safe
