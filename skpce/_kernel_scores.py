r"""Normal scores with any joint law: a kernel estimate whose conditionals are exact.

The mixture of :math:`N(\sqrt{1 - h^2}\, z_i,\ h^2 R)` over the rows :math:`z_i` of
the data keeps their mean and correlation, whatever the bandwidth [1]_. At :math:`h = 1`
it is the Gaussian copula, at :math:`h \to 0` it is the data.

References
----------
.. [1] M. West, "Approximating posterior distributions by mixtures", Journal of the
   Royal Statistical Society B 55 (1993), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp, softmax

from ._checks import FloatArray
from ._score_correlation import correlation_root
from ._score_laws import ScoreLaw, conditional_parts

# Numbers of a block of points times rows of the data.
_BLOCK_ENTRIES = 2**21

# Newton's steps on the score of a distribution function, at most.
_MOST_STEPS = 60
_TOLERANCE = 1e-11


@dataclass(frozen=True, eq=False)
class KernelScores(ScoreLaw):
    """Scores with the shrunk normal kernel estimate of the data.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Scores of the data.
    weights : ndarray of shape (n_rows,)
        Their frequencies.
    bandwidth : float
        Above 0 and below 1.
    correlation : ndarray of shape (n_features, n_features)
        Positive definite.
    """

    rows: FloatArray
    weights: FloatArray
    bandwidth: float
    correlation: FloatArray

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

    def to_independent(self, scores: FloatArray) -> FloatArray:
        size = max(_BLOCK_ENTRIES // self.rows.size, 1)
        blocks = np.array_split(scores, -(-len(scores) // size) or 1)
        return np.vstack([self._block_to_independent(block) for block in blocks])

    def _block_to_independent(self, scores: FloatArray) -> FloatArray:
        steps = standard_residuals(scores, self.centers, self.kernel_root)
        log_weights = np.broadcast_to(self.log_shares, steps.shape[:2])
        normals = np.empty_like(scores)
        for k in range(scores.shape[1]):
            normals[:, k] = mixture_score(softmax(log_weights, axis=1), steps[:, :, k])
            log_weights = log_weights - 0.5 * np.square(steps[:, :, k])
        return normals

    def from_independent(self, normals: FloatArray) -> FloatArray:
        size = max(_BLOCK_ENTRIES // self.rows.size, 1)
        blocks = np.array_split(normals, -(-len(normals) // size) or 1)
        return np.vstack([self._block_from_independent(block) for block in blocks])

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
        self, scores: FloatArray, kept: Sequence[int], noise: FloatArray
    ) -> FloatArray:
        slopes, root, free = conditional_parts(self.correlation, kept)
        known, centers = list(kept), self.centers
        chosen: Any = self._components(scores[:, known], known, noise[:, -1])
        shift = scores[:, known] - centers[np.ix_(chosen, known)]
        drawn = scores.copy()
        drawn[:, free] = centers[np.ix_(chosen, free)] + shift @ slopes.T
        drawn[:, free] += self.bandwidth * noise[:, free] @ root.T
        return drawn

    def _components(
        self, known: FloatArray, kept: Sequence[int], noise: FloatArray
    ) -> NDArray[np.int64]:
        """Draw the component of each point, given the columns that are kept."""
        covariance = self.correlation[np.ix_(kept, kept)]
        root = self.bandwidth * correlation_root(covariance, "cholesky")
        chosen = np.empty(len(known), dtype=np.int64)
        size = max(_BLOCK_ENTRIES // self.rows.size, 1)
        for start in range(0, len(known), size):
            block = slice(start, start + size)
            steps = standard_residuals(known[block], self.centers[:, kept], root)
            log_weights = self.log_shares - 0.5 * np.square(steps).sum(axis=2)
            sums = np.cumsum(softmax(log_weights, axis=1), axis=1)
            below = np.sum(sums < ndtr(noise[block])[:, np.newaxis], axis=1)
            chosen[block] = np.minimum(below, len(self.rows) - 1)
        return chosen


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
    """Return the normal score of the distribution function of a normal mixture.

    From the smaller of the two tails, in logarithms where it is no number.
    """
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
    """Invert :func:`mixture_score` by Newton's method between bounds.

    The quantile of a mixture lies between the quantiles of its components. A step
    that leaves the bounds becomes a bisection.
    """
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
    """Return the mean log density of a row under the kernels of the others.

    Of a row with a frequency above one a copy is left out. With bandwidth 1 all
    kernels are the same normal law. The correlation is that of all rows throughout.
    """
    root = bandwidth * np.linalg.cholesky(correlation)
    centers = np.sqrt(1.0 - bandwidth**2) * rows
    points, middles = (
        solve_triangular(root, table.T, lower=True).T for table in (rows, centers)
    )
    squared = np.square(points).sum(axis=1)[:, np.newaxis]
    squared = squared + np.square(middles).sum(axis=1) - 2.0 * points @ middles.T
    others = np.broadcast_to(weights, squared.shape).copy()
    others[np.diag_indices(len(rows))] = np.maximum(weights - 1.0, 0.0)
    with np.errstate(divide="ignore"):
        density = logsumexp(np.log(others) - 0.5 * squared, axis=1)
    density -= np.log(others.sum(axis=1)) + np.log(np.diag(root)).sum()
    return float(np.average(density, weights=weights))
