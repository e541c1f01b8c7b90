r"""Sparse solvers: search for a subset of the terms, then least squares on it.

The intercept is free: columns and targets are centred, columns brought to unit length.
The mean squared leave-one-out error of a subset is raised for the search that found it
("Sparse fits" in the page "Mathematics" of the documentation): leave-one-out alone
chooses subsets that are several times too large.

Least-angle regression puts the terms in an order, of which a subset is a beginning. One
QR decomposition of the ordered columns gives least squares and leave-one-out on every
beginning: the *hybrid* variant, with least squares on the active terms [1]_.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based on
   least angle regression", Journal of Computational Physics 230 (2011), section 4.3.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from .._checks import FloatArray, IndexArray
from .problem import (
    DesignDecomposition,
    GeneralizedRidgeSolver,
    LinearFit,
    LinearProblem,
    fit_penalties,
    join_fits,
    weighted_spread,
)

#: Terms, as columns of the design matrix, and the targets that chose them.
ChosenTerms = list[tuple[IndexArray, IndexArray]]  # (terms, targets), both ascending


class SparseSolver(GeneralizedRidgeSolver):
    """Choose a subset of the terms for each group of targets, then least squares."""

    chooses_terms = True

    @abstractmethod
    def search(self, problem: LinearProblem) -> ChosenTerms:
        """Choose the terms of every target."""

    def fit(self, problem: LinearProblem) -> LinearFit:
        chosen, parts = self.search(problem), []
        for terms, targets in chosen:
            scale = np.zeros(problem.design.shape[1])
            scale[0] = scale[terms] = 1.0  # of the subset and the constant
            decomposition = DesignDecomposition.from_design(
                problem.design, problem.weights, scale=scale
            )
            some, nothing = problem.targets[:, targets], np.zeros(len(targets))
            parts.append(fit_penalties(decomposition, some, nothing))
        return join_fits(parts, [targets for _, targets in chosen])


# Below this share of its length a column is a combination of those before it.
_SMALLEST_PIVOT = 1e-7


class LeastAngleSolver(SparseSolver):
    """Hybrid least-angle regression: a beginning of its path, for each target alone."""

    def order(self, columns: FloatArray, target: FloatArray, size: int) -> IndexArray:
        """Return up to ``size`` columns, the most important first."""
        _, active, _ = lars_path(columns, target, method="lar", max_iter=size)
        return np.asarray(active, dtype=np.int64)

    def search(self, problem: LinearProblem) -> ChosenTerms:
        dictionary = Dictionary(problem)
        subsets = [self._best(dictionary, target) for target in dictionary.targets.T]
        return dictionary.chosen(subsets, list(np.arange(len(subsets))[:, np.newaxis]))

    def _best(self, dictionary: Dictionary, target: FloatArray) -> IndexArray:
        """Return the beginning with the smallest error."""
        largest = int(min(dictionary.n_copies // 2, *dictionary.columns.shape))
        order = np.zeros(0, dtype=np.int64)
        length = np.linalg.norm(target)
        if largest and length > 0:
            with warnings.catch_warnings():
                # It stops early where the other columns explain nothing more.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                order = self.order(dictionary.columns, target / length, largest)
        errors = _errors_of_beginnings(dictionary, order, target)
        errors *= [dictionary.correction(size) for size in range(len(errors))]
        return order[: int(np.argmin(errors))]


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


#: Below this value 1 - leverage is rounding: the sample alone determines its own fit.
SMALLEST_COMPLEMENT = 1e-10


def correction(size: int, n_terms: int, n_copies: float) -> float:
    """Return the factor for having searched ``size`` of ``n_terms`` terms."""
    return float(np.exp(2.0 * size * np.log(max(n_terms, 1)) / n_copies))


class Dictionary:
    """The terms among which a search chooses, and the targets of one problem.

    Columns are centred and of unit length, and so are not those of terms that do not
    vary, such as the constant.
    """

    def __init__(self, problem: LinearProblem) -> None:
        weights = problem.weights
        root = np.sqrt(weights)[:, np.newaxis]
        center = np.average(problem.design, axis=0, weights=weights)
        columns = root * (problem.design - center)
        length = np.sqrt(np.square(columns).sum(axis=0))
        rounding = 1e-12 * np.sqrt(weights.sum())
        terms = np.flatnonzero(length > rounding)
        terms = terms[terms > 0]
        self.terms = terms
        self.n_copies = max(float(weights.sum()), float(len(weights)))
        self.columns = columns[:, terms] / length[terms]
        mean = np.average(problem.targets, axis=0, weights=weights)
        varies = weighted_spread(problem.targets, weights) > 0
        self.targets = root * np.where(varies, problem.targets - mean, 0.0)
        self.weights = weights

    def correction(self, size: int) -> float:
        """Return the factor for having searched ``size`` of all terms."""
        return correction(size, len(self.terms), self.n_copies)

    def chosen(
        self, subsets: Sequence[IndexArray], groups: Sequence[IndexArray]
    ) -> ChosenTerms:
        """Return the subset of each group of targets as terms of the design matrix."""
        pairs = zip(subsets, groups, strict=True)
        return [(np.sort(self.terms[subset]), targets) for subset, targets in pairs]
