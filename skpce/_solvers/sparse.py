r"""Sparse solvers: search for a subset of the terms, then least squares on it.

The intercept is free: columns and targets are centred, columns brought to unit length.
The mean squared leave-one-out error of a subset is raised for the search that found it
("Sparse fits" in the page "Mathematics" of the documentation): leave-one-out alone
chooses subsets that are several times too large.

Some solvers put the terms in an order, of which a subset is a beginning. One QR
decomposition of the ordered columns gives least squares and leave-one-out on every
beginning. The orders are scikit-learn's: least-angle regression (the *hybrid* variant,
with least squares on the active terms [1]_) and orthogonal matching pursuit.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based on
   least angle regression", Journal of Computational Physics 230 (2011), section 4.3.
.. [2] W. Dai and O. Milenkovic, "Subspace pursuit for compressive sensing signal
   reconstruction", IEEE Transactions on Information Theory 55 (2009), algorithm 1.
.. [3] P. Diaz, A. Doostan and J. Hampton, "Sparse polynomial chaos expansions via
   compressed sensing and D-optimal design", Computer Methods in Applied Mechanics and
   Engineering 336 (2018), section 3.2.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, qr
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, orthogonal_mp

from .._checks import FloatArray, IndexArray
from .problem import (
    DesignMoments,
    LinearFit,
    LinearProblem,
    join_fits,
    weighted_spread,
)
from .ridge import GeneralizedRidgeSolver, fit_scale, solve_moments


class SparseSolver(GeneralizedRidgeSolver):
    """Choose a subset of the terms for each group of targets, then least squares."""

    #: Whether the targets of a group share their terms.
    shares_terms: ClassVar[bool] = True

    @abstractmethod
    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        """Return a subset of the dictionary."""

    def fit(self, problem: LinearProblem) -> LinearFit:
        def fitted(targets: IndexArray, scale: FloatArray) -> LinearFit:
            return fit_scale(problem, targets, scale, 0.0)

        return self._fit_groups(Dictionary(problem), problem.groups, fitted)

    def _fit_groups(
        self,
        dictionary: Dictionary,
        groups: IndexArray,
        fitted: Callable[[IndexArray, FloatArray], LinearFit],  # of targets and scales
    ) -> LinearFit:
        """Search the terms of each group, and fit these."""
        parts, positions = [], []
        if not self.shares_terms:
            groups = np.arange(len(groups))
        for label in np.unique(groups):
            targets = np.flatnonzero(groups == label)
            subset = self.search(dictionary, targets)
            price = comparison_price(
                len(subset), len(dictionary.terms), dictionary.n_copies
            )
            scale = np.zeros(dictionary.n_columns)  # 1 for the subset and the constant
            scale[0] = scale[dictionary.terms[subset]] = 1.0
            positions.append(targets)
            parts.append(fitted(targets, scale).at_price(price))
        return join_fits(parts, positions)


# Below this share of its length a column is a combination of those before it.
_SMALLEST_PIVOT = 1e-7


class NestedSolver(SparseSolver):
    """Choose a beginning of an order of the terms, for each target alone."""

    shares_terms = False

    @abstractmethod
    def order(self, columns: FloatArray, target: FloatArray, size: int) -> IndexArray:
        """Return up to ``size`` columns, the most important first."""

    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        target = dictionary.targets[:, targets[0]]
        largest = int(min(dictionary.n_copies // 2, *dictionary.columns.shape))
        order = np.zeros(0, dtype=np.int64)
        length = np.linalg.norm(target)
        if largest and length > 0:
            with warnings.catch_warnings():
                # Both stop early where the other columns explain nothing more.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                order = self.order(dictionary.columns, target / length, largest)
        errors = _errors_of_beginnings(dictionary, order, target)
        errors *= [dictionary.correction(size) for size in range(len(errors))]
        return order[: int(np.argmin(errors))]


class LeastAngleSolver(NestedSolver):
    """Hybrid least-angle regression."""

    def order(self, columns: FloatArray, target: FloatArray, size: int) -> IndexArray:
        _, active, _ = lars_path(columns, target, method="lar", max_iter=size)
        return np.asarray(active, dtype=np.int64)


class MatchingPursuitSolver(NestedSolver):
    """Orthogonal matching pursuit."""

    def order(self, columns: FloatArray, target: FloatArray, size: int) -> IndexArray:
        path = orthogonal_mp(columns, target, n_nonzero_coefs=size, return_path=True)
        path = path.reshape(columns.shape[1], -1)
        if not path.shape[1]:  # no column goes with the target
            return np.zeros(0, dtype=np.int64)
        entered = np.argmax(path != 0.0, axis=1)
        active = np.flatnonzero(np.any(path != 0.0, axis=1))
        return active[np.argsort(entered[active], kind="stable")]


def _errors_of_beginnings(
    dictionary: Dictionary, order: IndexArray, target: FloatArray
) -> FloatArray:  # shape: (n_beginnings,), the empty one first
    """Return the mean squared leave-one-out error; inf where it is not defined."""
    directions, triangle = qr(dictionary.columns[:, order], mode="economic")
    dependent = np.abs(np.diag(triangle)) < _SMALLEST_PIVOT
    n_independent = int(np.argmax(dependent)) if dependent.any() else len(order)
    directions = directions[:, :n_independent]
    steps = directions * (directions.T @ target)
    nothing = np.zeros((len(target), 1))
    residual = target[:, np.newaxis] - np.cumsum(np.hstack([nothing, steps]), axis=1)
    squares = np.square(directions) / dictionary.weights[:, np.newaxis]
    leverage = np.cumsum(np.hstack([nothing, squares]), axis=1)
    leverage += 1.0 / dictionary.weights.sum()
    left_out = np.minimum(dictionary.weights, 1.0)[:, np.newaxis]
    complement = 1.0 - left_out * leverage
    defined = complement.min(axis=0) > SMALLEST_COMPLEMENT
    press = np.square(residual / np.where(defined, complement, 1.0)).sum(axis=0)
    return np.where(defined, press / dictionary.weights.sum(), np.inf)


# Sizes are tried one by one up to the first number, then in steps of this ratio.
_SINGLE_STEPS = 25
_STEP_RATIO = 1.12

# The search ends when it has gone this far beyond the best size without gain.
_PATIENCE_RATIO = 2.0
_PATIENCE_STEPS = 10

_MOST_SWEEPS = 20


class SubspacePursuitSolver(SparseSolver):
    """Subspace pursuit for every size of the subset.

    For a given size: add as many terms again as correlate best with the residual, fit
    them all, retain the largest, until the residual no longer decreases [2]_. Each size
    starts from the best subset of the size before and, once more, from the terms that
    correlate best with the targets [3]_. Terms that a group shares are ranked by the
    length of their row of coefficients, which no rotation of the targets changes.
    """

    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        best = np.zeros(0, dtype=np.int64)
        best_score = dictionary.loo_error(best, targets)
        previous = best
        for size in _sizes(dictionary):
            found = _best_of_size(dictionary, targets, size, previous)
            if found is None:
                break
            previous, error = found
            score = error * dictionary.correction(size)
            if score < best_score:
                best, best_score = previous, score
            elif size > _PATIENCE_RATIO * len(best) + _PATIENCE_STEPS:
                break
        return best

    def fit_moments(
        self, moments: DesignMoments, groups: IndexArray, exponents: IndexArray
    ) -> LinearFit:
        """Fit from sums over the samples; generalised cross-validation chooses."""

        def fitted(targets: IndexArray, scale: FloatArray) -> LinearFit:
            some = moments.of_targets(targets)
            return solve_moments(some, np.zeros(1), np.arange(len(targets)), scale)

        return self._fit_groups(SummedDictionary(moments), groups, fitted)


def _sizes(dictionary: Dictionary) -> list[int]:
    """Return the sizes to try: at most half as many terms as samples."""
    largest = int(min(dictionary.n_copies // 2, len(dictionary.terms)))
    sizes = list(range(1, min(largest, _SINGLE_STEPS) + 1))
    while sizes and sizes[-1] < largest:
        sizes.append(min(largest, int(np.ceil(sizes[-1] * _STEP_RATIO))))
    return sizes


def _best_of_size(
    dictionary: Dictionary, targets: IndexArray, size: int, previous: IndexArray
) -> tuple[IndexArray, float] | None:
    """Pursue from both starts; None when every subset is dependent."""
    found = []
    starts = [_largest(_row_length(dictionary.correlations[:, targets]), size)]
    if len(previous):
        starts.append(_enlarge(dictionary, targets, previous, size))
    for start in starts:
        try:
            subset = _pursue(dictionary, targets, start)
        except LinAlgError:
            continue
        found.append((subset, dictionary.loo_error(subset, targets)))
    return min(found, key=lambda pair: pair[1], default=None)


def _pursue(
    dictionary: Dictionary, targets: IndexArray, subset: IndexArray
) -> IndexArray:
    size = len(subset)
    coefficients = dictionary.solve(subset, targets)
    gained = _gain(dictionary, subset, coefficients, targets)
    for _ in range(_MOST_SWEEPS):
        wide = _enlarge(dictionary, targets, subset, 2 * size, coefficients)
        widened = dictionary.solve(wide, targets)
        candidate = wide[_largest(_row_length(widened), size)]
        coefficients_there = dictionary.solve(candidate, targets)
        gain = _gain(dictionary, candidate, coefficients_there, targets)
        if gain <= gained * (1.0 + 1e-12):
            break
        subset, coefficients, gained = candidate, coefficients_there, gain
    return subset


def _enlarge(
    dictionary: Dictionary,
    targets: IndexArray,
    subset: IndexArray,
    size: int,
    coefficients: FloatArray | None = None,
) -> IndexArray:
    """Add the terms that correlate best with the residual."""
    if coefficients is None:
        coefficients = dictionary.solve(subset, targets)
    strength = _row_length(dictionary.remaining(subset, coefficients, targets))
    strength[subset] = -1.0
    size = min(size, len(strength))
    return np.concatenate([subset, _largest(strength, size - len(subset))])


def _gain(
    dictionary: Dictionary,
    subset: IndexArray,
    coefficients: FloatArray,
    targets: IndexArray,
) -> float:
    """Return the sum of squares that a subset explains."""
    return float(
        np.sum(dictionary.correlations[subset[:, np.newaxis], targets] * coefficients)
    )


def _row_length(rows: FloatArray) -> FloatArray:
    return np.abs(rows[:, 0]) if rows.shape[1] == 1 else np.linalg.norm(rows, axis=1)


def _largest(values: FloatArray, count: int) -> IndexArray:
    """Return the positions of the largest values, ties by position."""
    return np.argsort(-values, kind="stable")[:count]


# Up to this many terms the whole Gram matrix is stored (200 MiB).
_LARGEST_GRAM = 5000

#: Below this value 1 - leverage is rounding: the sample alone determines its own fit.
SMALLEST_COMPLEMENT = 1e-10

# Added to the unit diagonal of Gram matrices.
_JITTER = 1e-14

#: Share of the price of the search when a sparse fit is compared with another solver.
#: The full price makes most sparse fits look worse than they are.
COMPARISON_SHARE = 0.75


def correction(size: int, n_terms: int, n_copies: float, share: float = 1.0) -> float:
    """Return the factor for having searched ``size`` of ``n_terms`` terms."""
    return float(np.exp(2.0 * share * size * np.log(max(n_terms, 1)) / n_copies))


def comparison_price(size: int, n_terms: int, n_copies: float) -> float:
    """Return the factor for comparing a sparse fit with another solver."""
    # With k terms beside the constant (n / (n - k - 1))^2 corrects leave-one-out for
    # small samples ([1]_, section 3.4).
    left = max(n_copies - size - 1.0, 1.0)
    searched = correction(size, n_terms, n_copies, COMPARISON_SHARE)
    return searched * (n_copies / left) ** 2


class Dictionary:
    """Centred columns of unit length, and the centred targets of one problem."""

    def __init__(self, problem: LinearProblem) -> None:
        weights = problem.weights
        root = np.sqrt(weights)[:, np.newaxis]
        self.n_columns = problem.design.shape[1]
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
        self._gram: FloatArray | None = None
        if len(self.terms) <= _LARGEST_GRAM:
            self._gram = self.columns.T @ self.columns

    def factor(self, subset: IndexArray) -> FloatArray:
        """Return the lower Cholesky factor; LinAlgError for dependent columns."""
        if self._gram is None:
            gram = self.columns[:, subset].T @ self.columns[:, subset]
        else:
            gram = self._gram[subset[:, np.newaxis], subset]
        gram.flat[:: len(gram) + 1] += _JITTER
        if not len(subset):
            return gram
        # Of LAPACK itself: most systems have a few unknowns.
        factor, failed = dpotrf(gram, lower=1, clean=1)
        if failed:
            raise LinAlgError("The columns depend on one another.")
        return np.asarray(factor)

    def solve(
        self, subset: IndexArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_subset, n_chosen_targets)
        """Return least-squares coefficients of the unit columns."""
        right = self.correlations[subset[:, np.newaxis], targets]
        if not len(subset):  # scipy before 1.14 refuses a system without unknowns
            return right
        return np.asarray(dpotrs(self.factor(subset), right, lower=1)[0])

    def remaining(
        self, subset: IndexArray, coefficients: FloatArray, targets: IndexArray
    ) -> FloatArray:  # shape: (n_columns, n_chosen_targets)
        """Return the inner products of the columns with the residual."""
        if self._gram is not None:
            return self.correlations[:, targets] - self._gram[:, subset] @ coefficients
        residual = self.targets[:, targets] - self.columns[:, subset] @ coefficients
        return self.columns.T @ residual

    def loo_error(self, subset: IndexArray, targets: IndexArray) -> float:
        """Return the leave-one-out error, pooled; inf where it is not defined."""
        try:
            factor = self.factor(subset)
        except LinAlgError:
            return np.inf
        left = self.columns[:, subset].T
        right = self.correlations[subset[:, np.newaxis], targets]
        if len(subset):  # scipy before 1.14 refuses a system without unknowns
            left, right = (dtrtrs(factor, one, lower=1)[0] for one in (left, right))
        residual = self.targets[:, targets] - left.T @ right
        leverage = np.square(left).sum(axis=0) / self.weights + 1.0 / self.weights.sum()
        complement = 1.0 - np.minimum(self.weights, 1.0) * leverage
        if complement.min() < SMALLEST_COMPLEMENT:
            return np.inf
        press = np.sum(np.square(residual / complement[:, np.newaxis]))
        return float(press / self.weights.sum())

    def correction(self, size: int) -> float:
        """Return the factor for having searched ``size`` of all terms."""
        return correction(size, len(self.terms), self.n_copies)


class SummedDictionary(Dictionary):
    """The same from sums over the samples, judged by generalised cross-validation.

    Leverages need the samples; their mean does not.
    """

    def __init__(self, moments: DesignMoments) -> None:
        self.n_columns = len(moments.mean)
        length = np.sqrt(np.maximum(np.diag(moments.gram), 0.0))
        self.terms = np.flatnonzero(length > 1e-12 * np.sqrt(moments.total_weight))
        self.terms = self.terms[self.terms > 0]
        length = length[self.terms]
        self._gram = moments.gram[np.ix_(self.terms, self.terms)]
        self._gram /= np.outer(length, length)
        self._squares = moments.target_spread
        cross = moments.cross[self.terms] / length[:, np.newaxis]
        self.correlations = np.where(self._squares > 0, cross, 0.0)
        self.n_copies = max(moments.total_weight, 1.0)

    def loo_error(self, subset: IndexArray, targets: IndexArray) -> float:
        """Return generalised cross-validation, pooled; inf where it is not defined."""
        free = 1.0 - (len(subset) + 1.0) / self.n_copies
        if free <= SMALLEST_COMPLEMENT:
            return np.inf
        try:
            coefficients = self.solve(subset, targets)
        except LinAlgError:
            return np.inf
        whole = self._squares[targets]
        correlations = self.correlations[subset[:, np.newaxis], targets]
        explained = (correlations * coefficients).sum(axis=0)
        rest = np.maximum(whole - explained, _ROUNDING * whole)  # a difference of sums
        return float(rest.sum() / self.n_copies / free**2)


# Share of a sum of squares below which a difference of sums is rounding.
_ROUNDING = 1e-14
