"""Ridge regression: given penalties, paths of penalties, fits of many sets of targets.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

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
)
from .resampling import LARGEST_BATCH, distinct_scales, resample_group

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

#: Combinations of functions of the penalty below this share of them are rounding.
SMALLEST_LENGTH = 1e-15

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
    values, value_of = np.unique(alpha, return_inverse=True)
    complement = decomposition.path_complement(values)
    safe = np.where(complement > 0.0, complement, np.nan)
    root = np.sqrt(complement)
    size = max(1, _LARGEST_PATH_BLOCK // max(len(alpha), 1))
    for start in range(0, len(centred), size):
        rows = slice(start, start + size)
        residuals = decomposition.residuals(centred, loadings, alpha, rows)
        np.divide(residuals, safe[rows][:, value_of], out=loo[rows])
        np.multiply(loo[rows], root[rows][:, value_of], out=scaled[rows])
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
    if len(alphas) * centred.size > _LARGE_PATH and np.isfinite(factors).all():
        sums = factors.T @ np.square(centred)
        scores = _sums_of_squares(
            decomposition, centred, loadings, alphas, factors, sums
        )
        if (scores > _SMALLEST_SUM * sums).all():
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
    sums: FloatArray,  # shape: (n_alphas, n_targets), of the squares times the factors
) -> FloatArray:  # shape: (n_alphas, n_targets)
    """Expand the squares of the residuals, so that products of matrices do the work.

    The factors of a sample are a smooth function of the penalty: all penalties together
    need a product for each of a few combinations of them.
    """
    left = decomposition.left
    scores = sums.copy()
    sizes = np.linalg.norm(factors, axis=0)
    basis, lengths, shares = np.linalg.svd(factors / sizes, full_matrices=False)
    basis = basis[:, lengths > SMALLEST_LENGTH * lengths[0]]
    shares = (lengths[:, np.newaxis] * shares * sizes)[: basis.shape[1]]
    rank, n_targets = loadings.shape
    products = np.empty((basis.shape[1], rank, n_targets))
    grams = np.empty((basis.shape[1], rank, rank))
    for column, product, gram in zip(basis.T, products, grams, strict=True):
        scaled = left * column[:, np.newaxis]
        np.matmul(scaled.T, centred, out=product)
        product *= loadings
        np.matmul(left.T, scaled, out=gram)
    squares = decomposition.factor.singular_values[:, np.newaxis] ** 2
    kept = squares / (squares + alphas)  # (rank, n_alphas)
    forms = shares.T[:, :, np.newaxis] * kept.T[:, np.newaxis]
    scores -= 2.0 * (forms.reshape(len(alphas), -1) @ products.reshape(-1, n_targets))
    for row, (share, own) in enumerate(zip(shares.T, kept.T, strict=True)):
        gram = np.tensordot(share, grams, 1) * np.outer(own, own)
        scores[row] += np.einsum("kt,kt->t", loadings, gram @ loadings)
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
