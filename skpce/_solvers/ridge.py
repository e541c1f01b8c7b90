"""Ridge regression: given penalties, paths of penalties, fits of many sets of targets.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from .._checks import FloatArray, IndexArray
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


def distinct_scales(
    scales: FloatArray,  # shape: (n_targets, n_terms)
) -> list[tuple[FloatArray, IndexArray]]:
    """Return each distinct row with the targets that have it."""
    rows, row_of = np.unique(scales, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    return [(row, np.flatnonzero(row_of == k)) for k, row in enumerate(rows)]


# Smallest estimate of the condition at which a solution has nine digits.
_SMALLEST_RATIO = 1e-7


def resampled_slopes(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    targets: FloatArray,  # shape: (n_samples, n_targets)
    weights: FloatArray,  # shape: (n_samples,)
    alpha: FloatArray,  # shape: (n_targets,)
) -> FloatArray | None:  # shape: (n_columns, n_targets)
    """Return ``(X' W X + alpha)^(-1) X' W y``; None where digits would be lost.

    With more columns than rows it is ``X' W^(1/2) (K + alpha)^(-1) W^(1/2) y``.
    """
    root = np.sqrt(weights)[:, np.newaxis]
    rows, right = columns * root, targets * root
    dual = len(rows) < rows.shape[1]
    gram = rows @ rows.T if dual else rows.T @ rows
    if not dual:
        right = rows.T @ right
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
    return rows.T @ solved if dual else solved


#: Penalties tried by default, in units of the sum-of-squares loss. The upper end
#: lets the ridge return the mean where the inputs explain nothing.
DEFAULT_ALPHAS = np.logspace(-8, 4, 25)


class GeneralizedRidgeSolver(CoefficientSolver):
    """A solver whose fits are determined by scales and penalties."""

    free_intercept: bool = True

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        coefficients = np.empty_like(fit.scales)
        for scale, targets in distinct_scales(fit.scales):
            coefficients[targets] = self._refit_group(problem, fit, scale, targets)
        return coefficients

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: NDArray[Any]
    ) -> FloatArray:
        """Return ``refit(problem.resampled(row), fit)`` for each row of counts."""
        found = np.empty((len(counts), *fit.scales.shape))
        for scale, targets in distinct_scales(fit.scales):
            for coefficients, row in zip(found, counts, strict=True):
                own = problem.resampled(row)
                coefficients[targets] = self._resampled(own, fit, scale, targets)
        return found

    def _resampled(
        self,
        problem: LinearProblem,
        fit: LinearFit,
        scale: FloatArray,
        targets: IndexArray,
    ) -> FloatArray:
        """Refit by the normal equations, where these lose no digits."""
        center, mean = np.zeros(len(scale)), np.zeros(len(targets))
        values = problem.targets[:, targets]
        used = np.flatnonzero(scale)
        if self.free_intercept:
            used = used[used > 0]
            share = problem.weights / problem.weights.sum()
            center, mean = share @ problem.design, share @ values
        columns = (problem.design[:, used] - center[used]) * scale[used]
        slopes = resampled_slopes(
            columns, values - mean, problem.weights, fit.alpha[targets]
        )
        if slopes is None:
            return self._refit_group(problem, fit, scale, targets)
        coefficients = np.zeros((len(targets), len(scale)))
        coefficients[:, used] = slopes.T * scale[used]
        if self.free_intercept:
            coefficients[:, 0] = mean - coefficients @ center
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

# Residuals held at once while a path is scored: 512 KiB, which stays in the cache.
_LARGEST_PATH_BLOCK = 65_536

# With more residuals than this on a path none of them is formed.
_LARGE_PATH = 16_777_216

# More than scores that tie differ by, and than rounding.
_MARGIN = 1e-5

# Combinations of the factors below this share of them change no score's first 11
# digits.
_SMALLEST_SHARE = 1e-13

# Below this share of what the sums are made of they lose too many digits.
_SMALLEST_SUM = 1e-4


def _fit_of(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    mean: FloatArray,  # shape: (n_targets,)
    loadings: FloatArray,  # shape: (rank, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
    scores: FloatArray | None = None,  # shape: (n_targets,); None: leave-one-out
) -> LinearFit:
    """Return the fit with a penalty for each target."""
    factor, weights = decomposition.factor, decomposition.weights
    values, value_of = np.unique(alpha, return_inverse=True)
    root = np.sqrt(decomposition.path_complement(values))
    root[root == 0.0] = np.nan
    loo, scaled = np.empty_like(targets), np.empty_like(targets)
    for rows in blocks_of_rows(targets.shape):
        residuals = decomposition.residuals(targets[rows] - mean, loadings, alpha, rows)
        own = root[rows].take(value_of, axis=1)
        np.divide(residuals, own, out=scaled[rows])
        np.divide(scaled[rows], own, out=loo[rows])
    if scores is None:
        scores = weighted_squares(loo, weights) / weights.sum()
    return LinearFit(
        decomposition.coefficients(mean, loadings, alpha),
        alpha,
        factor.scales(len(alpha)),
        Leverage.shared(factor, alpha),
        np.where(np.isnan(scores), np.inf, scores),
        loo,
        scaled,
        weighted_squares(scaled, weights) / weights.sum(),
    )


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
    return _fit_of(decomposition, targets, mean, loadings, alphas[best], least)


def fit_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    alpha: FloatArray,  # shape: (n_targets,)
) -> LinearFit:
    """Fit targets with given penalties; the criterion is leave-one-out."""
    mean, loadings = _project(decomposition, targets)
    return _fit_of(decomposition, targets, mean, loadings, alpha)


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
    if scale is None:
        scale = np.ones(len(moments.mean))
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
