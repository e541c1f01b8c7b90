r"""A ridge fit from sums over the samples, which can be added up block by block.

Leverages need a second pass over the samples, so the penalty is chosen by generalised
cross-validation: :math:`\mathrm{GCV}(\lambda) = \frac{\mathrm{RSS}/\sum w}
{(1 - \mathrm{df}/\sum w)^2}` with :math:`\mathrm{df} = 1 + \sum_k
s_k^2/(s_k^2+\lambda)` [1]_. It differs from leave-one-out by the spread of the
leverages, which is small where there are many samples for every term.

References
----------
.. [1] G. H. Golub, M. Heath and G. Wahba, "Generalized cross-validation as a method
   for choosing a good ridge parameter", Technometrics 21 (1979), eq. (1.4).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import eigh

from .._checks import FloatArray, IndexArray
from .problem import Leverage, LeverageFactor, LinearFit, best_penalties


@dataclass(frozen=True)
class DesignMoments:
    """Sums over weighted samples, about their means."""

    total_weight: float
    mean: FloatArray  # shape: (n_terms,), of the columns of the design matrix
    target_mean: FloatArray  # shape: (n_targets,)
    gram: FloatArray  # shape: (n_terms, n_terms), products of centred columns
    cross: FloatArray  # shape: (n_terms, n_targets), products with centred targets
    target_square: FloatArray  # shape: (n_targets,), of the centred targets

    @classmethod
    def of_block(
        cls, design: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> DesignMoments:
        """Sum over the samples of one block."""
        total = float(weights.sum())
        mean, target_mean = weights @ design / total, weights @ targets / total
        root = np.sqrt(weights)[:, np.newaxis]
        centred, rest = root * (design - mean), root * (targets - target_mean)
        return cls(
            total,
            mean,
            target_mean,
            centred.T @ centred,
            centred.T @ rest,
            np.square(rest).sum(axis=0),
        )

    def __add__(self, other: DesignMoments) -> DesignMoments:
        """Join two sets of samples (Chan, Golub and LeVeque's pairwise update)."""
        total = self.total_weight + other.total_weight
        share = other.total_weight / total
        factor = self.total_weight * share
        step, jump = other.mean - self.mean, other.target_mean - self.target_mean
        return DesignMoments(
            total,
            self.mean + share * step,
            self.target_mean + share * jump,
            self.gram + other.gram + np.outer(factor * step, step),
            self.cross + other.cross + np.outer(factor * step, jump),
            self.target_square + other.target_square + factor * np.square(jump),
        )

    @property
    def target_spread(self) -> FloatArray:
        """Sum of squares of the targets about their mean, 0 for rounding noise."""
        offset = self.total_weight * np.square(self.target_mean)
        rounding = np.square(10 * np.finfo(float).eps) * (self.target_square + offset)
        return np.where(self.target_square > rounding, self.target_square, 0.0)


def sum_moments(blocks: Iterable[DesignMoments]) -> DesignMoments:
    """Join blocks of samples."""
    return reduce(operator.add, blocks)


def solve_moments(
    moments: DesignMoments,
    alphas: FloatArray,  # shape: (n_alphas,), ascending
    groups: IndexArray,  # shape: (n_targets,)
    scale: FloatArray | None = None,  # shape: (n_terms,)
) -> LinearFit:
    """Fit every penalty from the sums and select the best of each group by GCV."""
    n_terms = len(moments.mean)
    scale = np.ones(n_terms) if scale is None else scale
    used = np.flatnonzero(scale)
    used = used[used > 0]
    scale_used = scale[used]
    gram = moments.gram[np.ix_(used, used)] * np.outer(scale_used, scale_used)
    squares, vectors = _eigen(gram)
    loadings = vectors.T @ (scale_used[:, np.newaxis] * moments.cross[used])
    scores = _gcv_scores(moments, squares, loadings, alphas)
    best = best_penalties(scores, groups)
    alpha = alphas[best]
    criterion = np.take_along_axis(scores, best[np.newaxis], axis=0)[0]
    slopes = (loadings / (squares[:, np.newaxis] + alpha)).T @ vectors.T
    coefficients = np.zeros((len(alpha), n_terms))
    coefficients[:, used] = slopes * scale_used
    coefficients[:, 0] = moments.target_mean - coefficients @ moments.mean
    base = 1.0 / moments.total_weight
    factor = LeverageFactor(
        vectors.T, np.sqrt(squares), moments.mean, used, scale_used, base
    )
    scales = np.zeros_like(coefficients)
    scales[:, 0] = 1.0
    scales[:, used] = scale_used
    freedom = 1.0 - _degrees_of_freedom(squares, alpha) / moments.total_weight
    return LinearFit(
        coefficients,
        alpha,
        scales,
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
    """Return GCV; NaN where no degree of freedom is left."""
    shrunk = 1.0 / (squares[:, np.newaxis] + alphas)
    explained = 2.0 * shrunk - squares[:, np.newaxis] * np.square(shrunk)
    rest = moments.target_square - explained.T @ np.square(loadings)
    rounding = 1e-15 * moments.target_square
    rest = np.maximum(rest, rounding) / moments.total_weight
    freedom = 1.0 - _degrees_of_freedom(squares, alphas) / moments.total_weight
    safe = np.where(freedom > 1e-12, freedom, np.nan)
    return rest / np.square(safe)[:, np.newaxis]
