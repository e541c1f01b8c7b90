"""Least squares on subsets of the terms, and the leave-one-out error of a subset.

The intercept is free: columns and targets are centred, columns brought to unit length.
A subset :math:`S` that was *searched for* among :math:`P` terms fits better than one
that was given. Its mean squared leave-one-out error is therefore multiplied by
:math:`P^{2|S|/n}`: on the scale of the logarithm of the error this is the price
:math:`2 \\log P` a term of the risk inflation criterion [1]_. Leave-one-out alone
chooses subsets that are several times too large.

References
----------
.. [1] D. P. Foster and E. I. George, "The risk inflation criterion for multiple
   regression", Annals of Statistics 22 (1994), eq. (3).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from .._checks import FloatArray, IndexArray
from .._goodness import weighted_spread
from ._base import LinearProblem

# Up to this many terms the whole Gram matrix is kept (200 MiB).
_LARGEST_GRAM = 5000

#: Below this value 1 - leverage is rounding: the sample is fitted by itself alone.
SMALLEST_COMPLEMENT = 1e-10

# Added to the unit diagonal of Gram matrices.
_JITTER = 1e-14


#: Share of the price that is asked when a sparse fit is compared with another solver.
#: The full price makes most sparse fits look worse than they are.
COMPARISON_SHARE = 0.75


def correction(size: int, n_terms: int, n_copies: float, share: float = 1.0) -> float:
    """Return the factor for having searched ``size`` of ``n_terms`` terms."""
    return float(np.exp(2.0 * share * size * np.log(max(n_terms, 1)) / n_copies))


def comparison_price(size: int, n_terms: int, n_copies: float) -> float:
    """Return the factor for comparing a sparse fit with another solver.

    Three quarters of the price of the search, times the correction of leave-one-out
    for small samples (Blatman and Sudret, 2011, section 3.4), here
    :math:`(n / (n - k - 1))^2` with :math:`k` terms beside the constant.
    """
    left = max(n_copies - size - 1.0, 1.0)
    searched = correction(size, n_terms, n_copies, COMPARISON_SHARE)
    return searched * (n_copies / left) ** 2


class Dictionary:
    """Centred columns of unit length, and the centred targets of one problem.

    Parameters
    ----------
    problem : LinearProblem
        Its groups are not looked at.
    """

    def __init__(self, problem: LinearProblem) -> None:
        weights = problem.weights
        root = np.sqrt(weights)[:, np.newaxis]
        center = np.average(problem.design, axis=0, weights=weights)
        columns = root * (problem.design - center)
        length = np.sqrt(np.square(columns).sum(axis=0))
        rounding = 1e-12 * np.sqrt(weights.sum())
        #: Terms that vary over the samples, the constant not among them.
        self.terms = np.flatnonzero(length > rounding)
        self.terms = self.terms[self.terms > 0]
        self.columns = columns[:, self.terms] / length[self.terms]
        mean = np.average(problem.targets, axis=0, weights=weights)
        varies = weighted_spread(problem.targets, weights) > 0
        self.targets = root * np.where(varies, problem.targets - mean, 0.0)
        self.correlations = self.columns.T @ self.targets
        self.weights = weights
        #: Number of samples, copies counted.
        self.n_copies = max(float(weights.sum()), float(len(weights)))
        self._gram = None
        if len(self.terms) <= _LARGEST_GRAM:
            self._gram = self.columns.T @ self.columns

    def gram(self, rows: IndexArray) -> FloatArray:
        """Return the Gram matrix of a subset."""
        if self._gram is not None:
            return self._gram[np.ix_(rows, rows)]
        return self.columns[:, rows].T @ self.columns[:, rows]

    def factor(self, subset: IndexArray) -> FloatArray:
        """Return the lower Cholesky factor; LinAlgError for dependent columns."""
        gram = self.gram(subset)
        gram.flat[:: len(gram) + 1] += _JITTER
        return cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(
        self, subset: IndexArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_subset, n_chosen_targets)
        """Return least-squares coefficients of the unit columns."""
        right = self.correlations[np.ix_(subset, targets)]
        return cho_solve((self.factor(subset), True), right, check_finite=False)

    def remaining(
        self, subset: IndexArray, coefficients: FloatArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_columns, n_chosen_targets)
        """Return the inner products of the columns with the residual."""
        if self._gram is not None:
            return self.correlations[:, targets] - self._gram[:, subset] @ coefficients
        residual = self.targets[:, targets] - self.columns[:, subset] @ coefficients
        return self.columns.T @ residual

    def loo_error(
        self, subset: IndexArray, targets: IndexArray
    ) -> float:  # pooled over the targets
        """Return the mean squared leave-one-out error; inf where it is not defined."""
        try:
            factor = self.factor(subset)
        except LinAlgError:
            return np.inf
        left = solve_triangular(
            factor, self.columns[:, subset].T, lower=True, check_finite=False
        )
        right = solve_triangular(
            factor,
            self.correlations[np.ix_(subset, targets)],
            lower=True,
            check_finite=False,
        )
        residual = self.targets[:, targets] - left.T @ right
        leverage = np.square(left).sum(axis=0) / self.weights + 1.0 / self.weights.sum()
        complement = 1.0 - np.minimum(self.weights, 1.0) * leverage
        if complement.min() < SMALLEST_COMPLEMENT:
            return np.inf
        press = np.sum(np.square(residual / complement[:, np.newaxis]))
        return float(press / self.weights.sum())

    def mean_error(self, targets: IndexArray) -> float:
        """Return the leave-one-out error of the constant alone."""
        return self.loo_error(np.zeros(0, dtype=np.int64), targets)

    def correction(self, size: int) -> float:
        """Return the factor for having searched ``size`` of all terms."""
        return correction(size, len(self.terms), self.n_copies)

    def comparison_price(self, size: int) -> float:
        """Return the factor for comparing a fit of ``size`` terms with others."""
        return comparison_price(size, len(self.terms), self.n_copies)

    def scale(self, subset: IndexArray, n_terms: int) -> FloatArray:
        """Return the scales of a subset: 1 for its terms and the constant, else 0."""
        scale = np.zeros(n_terms)
        scale[0] = 1.0
        scale[self.terms[subset]] = 1.0
        return scale
