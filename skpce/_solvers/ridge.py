"""Ridge regression: given penalties, paths of penalties, fits of many sets of targets.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._checks import FloatArray, IndexArray
from .problem import (
    CoefficientSolver,
    DesignDecomposition,
    DesignMoments,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    best_penalties,
    weighted_squares,
)


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    if len(scales) and (scales == scales[0]).all():
        return [(scales[0], np.arange(len(scales)))]
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]


# Smallest estimate of the condition at which a solution has nine digits.
_SMALLEST_RATIO = 1e-7


def slopes_by_normal_equations(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
    alpha: FloatArray,  # shape: (n_targets,)
) -> FloatArray | None:  # shape: (n_columns, n_targets)
    """Return ``(X' W X + alpha)^(-1) X' W y``; None where digits would be lost."""
    root = np.sqrt(weights)[:, np.newaxis]
    rows = columns * root
    if len(rows) < rows.shape[1]:
        return None
    gram, right = rows.T @ rows, rows.T @ (targets * root)
    if not gram.size:
        return right
    penalties, which = np.unique(alpha, return_inverse=True)
    size = np.abs(gram).sum(axis=0).max()
    solved = np.empty_like(right)
    for number, penalty in enumerate(penalties):
        shifted = gram.copy()
        shifted.flat[:: len(gram) + 1] += penalty
        factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=1)
        ratio = 0.0 if failed else dpocon(factor, size + penalty, uplo="L")[0]
        if not ratio > _SMALLEST_RATIO:
            return None
        mine = which == number
        solved[:, mine] = dpotrs(factor, right[:, mine], lower=1)[0]
    return solved


#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean where the inputs explain nothing.
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are determined by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.zeros_like(fit.scales)
        for scale, targets in distinct_scales(fit.scales):
            some, alpha = problem.targets[:, targets], fit.alpha[targets]
            coefficients[targets] = self._refitted(problem, some, scale, alpha)
        return coefficients

    def _refitted(
        self,
        problem: LinearProblem,
        targets: FloatArray,  # shape: (n_samples, n_chosen)
        scale: FloatArray,  # shape: (n_terms,)
        alpha: FloatArray,  # shape: (n_chosen,)
    ) -> FloatArray:  # shape: (n_chosen, n_terms)
        """Refit by the normal equations, unless digits would be lost."""
        design, weights, used = problem.design, problem.weights, np.flatnonzero(scale)
        center, mean = np.zeros(len(scale)), np.zeros(len(alpha))
        if self.free_intercept:
            used = used[used > 0]
            share = weights / weights.sum()
            center, mean = share @ design, share @ targets
        columns = (design[:, used] - center[used]) * scale[used]
        slopes = slopes_by_normal_equations(columns, targets - mean, weights, alpha)
        if slopes is None:
            free = self.free_intercept
            decomposition = DesignDecomposition.from_design(
                design, weights, free_intercept=free, scale=scale
            )
            mean, loadings, _ = decomposition.project(targets)
            return decomposition.factor.coefficients(mean, loadings, alpha)
        coefficients = np.zeros((len(alpha), len(scale)))
        coefficients[:, used] = slopes.T * scale[used]
        if self.free_intercept:
            coefficients[:, 0] = mean - coefficients @ center
        return coefficients


class RidgePathSolver(GeneralizedRidgeSolver):
    """Minimise ``sum w (y - c Psi)^2 + alpha |c|^2`` for the best of some penalties."""

    takes_alphas = fits_moments = True

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

    def fit_moments(self, moments: DesignMoments, groups: IndexArray) -> LinearFit:
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

# Residuals of a path that are held at once, but for so many rows: 512 KiB.
_LARGEST_BLOCK, _FEWEST_ROWS = 262144, 256


def solve_path(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    groups: IndexArray,  # shape: (n_targets,)
    criterion: str = "loo",
) -> LinearFit:
    """Fit every penalty and select the best of each group by the criterion."""
    scores = path_scores(decomposition, targets, alphas, criterion)
    best, least = best_penalties(scores, groups)
    return fit_penalties(decomposition, targets, alphas[best], least)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
    scores: FloatArray | None = None,  # shape: (n_targets,); None: leave-one-out
) -> LinearFit:
    """Fit targets with given penalties."""
    factor, weights = decomposition.factor, decomposition.weights
    mean, loadings, outside = decomposition.project(targets)
    values, value_of = np.unique(alpha, return_inverse=True)
    root = np.sqrt(decomposition.path_complement(values))
    root[root == 0.0] = np.nan
    own = root.take(value_of, axis=1)
    residuals = decomposition.left @ (factor.kept(alpha) * loadings)
    scaled = (residuals + outside) / own
    loo = scaled / own
    if scores is None:
        scores = weighted_squares(loo, weights) / weights.sum()
    return LinearFit(
        factor.coefficients(mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(scores), np.inf, scores),
        loo,
        scaled,
        weighted_squares(scaled, weights) / weights.sum(),
    )


def path_scores(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    criterion: str = "loo",
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Return the criterion, a mean square, of every penalty."""
    factor, total = decomposition.factor, decomposition.weights.sum()
    _, loadings, outside = decomposition.project(targets)
    if criterion == "gcv":
        mean = decomposition.mean_complement(alphas)
        freedom = np.where(mean > 0.0, mean, np.nan)
        squares = decomposition.weights @ np.square(outside)
        return _gcv(factor, loadings, alphas, squares / total, freedom, total)
    complement = decomposition.path_complement(alphas)
    complement[complement <= 0.0] = np.nan
    n_samples, n_targets = targets.shape
    scores = np.zeros((len(alphas), n_targets))
    step = max(1, _LARGEST_BLOCK // max(n_targets, 1))
    for start in range(0, len(alphas), step):
        some = slice(start, start + step)
        kept = factor.kept(alphas[some])[:, :, np.newaxis]
        size = kept.shape[1] * n_targets
        shrunk = (kept * loadings[:, np.newaxis]).reshape(len(kept), size)
        n_rows = max(_FEWEST_ROWS, _LARGEST_BLOCK // max(size, 1))
        for first in range(0, n_samples, n_rows):
            rows = slice(first, first + n_rows)
            flat = decomposition.left[rows] @ shrunk
            errors = flat.reshape(len(flat), kept.shape[1], n_targets)
            errors += outside[rows, np.newaxis]
            errors /= complement[rows, some, np.newaxis]
            sums = decomposition.weights[rows] @ np.square(flat, out=flat)
            scores[some] += sums.reshape(scores[some].shape)
    return scores / total


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
    if scale is None:
        scale = np.ones(len(moments.mean))
    used = np.flatnonzero(scale)
    used = used[used > 0]
    scale = scale[used]
    gram = moments.gram[np.ix_(used, used)] * np.outer(scale, scale)
    squares, vectors = np.linalg.eigh(gram)
    large = squares > len(gram) * np.finfo(float).eps * squares.max(initial=0.0)
    vectors, values = vectors[:, large], np.sqrt(squares[large])
    total = moments.total_weight
    given = vectors.T, values, moments.mean, used, scale, 1.0 / total
    factor = LeverageFactor(*given)
    cross = vectors.T @ (scale[:, np.newaxis] * moments.cross[used])
    loadings = cross / values[:, np.newaxis]
    outside = moments.target_square - np.square(loadings).sum(axis=0)
    outside = np.where(outside > 1e-13 * moments.target_square, outside, 0.0)
    free = max(total - 1.0 - len(values), 0.0)  # without a penalty
    freedom = (free + factor.kept(alphas).sum(axis=0)) / total
    freedom = np.where(freedom > 1e-12, freedom, np.nan)
    scores = _gcv(factor, loadings, alphas, outside / total, freedom, total)
    best, criterion = best_penalties(scores, groups)
    alpha = alphas[best]
    return LinearFit(
        factor.coefficients(moments.target_mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(criterion), np.inf, criterion),
        None,
        None,
        criterion * freedom[best],
    )


def _gcv(
    factor: LeverageFactor,
    loadings: FloatArray,  # shape: (rank, n_targets)
    alphas: FloatArray,  # shape: (n_alphas,)
    outside: FloatArray,  # shape: (n_targets,), mean square that no penalty changes
    freedom: FloatArray,  # shape: (n_alphas,), share that is left
    total: float,
) -> FloatArray:  # shape: (n_alphas, n_targets)
    r"""Return the scores of generalised cross-validation, of all penalties.

    :math:`\mathrm{GCV}(\lambda) = \frac{\mathrm{RSS}/\sum w}{(1 - \mathrm{df}/\sum
    w)^2}` with :math:`\mathrm{df} = 1 + \sum_k s_k^2/(s_k^2+\lambda)` ([1]_, eq. 1.4).
    """
    inside = np.square(factor.kept(alphas)).T @ np.square(loadings) / total
    return (outside + inside) / np.square(freedom)[:, np.newaxis]
