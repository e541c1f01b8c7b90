"""Solvers that put the terms in an order: a subset is a beginning of the order.

One QR decomposition of the ordered columns gives least squares and leave-one-out on
every beginning. The orders are scikit-learn's: least-angle regression (the *hybrid*
variant, with least squares on the active terms [1]_) and orthogonal matching pursuit.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based on
   least angle regression", Journal of Computational Physics 230 (2011), section 4.3.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod

import numpy as np
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, orthogonal_mp

from .._checks import FloatArray, IndexArray
from ._dictionary import SMALLEST_COMPLEMENT, Dictionary
from ._sparse import SparseSolver

# Below this share of its length a column is a combination of those before it.
_SMALLEST_PIVOT = 1e-7


class NestedSolver(SparseSolver):
    """Choose a beginning of an order of the terms, for each target alone.

    Targets of a group do not share their terms: use ``"subspace_pursuit"`` where the
    fit is not to depend on the coordinates of the targets.
    """

    shares_terms = False

    @abstractmethod
    def order(
        self, columns: FloatArray, target: FloatArray, largest: int
    ) -> IndexArray:
        """Return up to ``largest`` columns, the most important first."""

    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        target = dictionary.targets[:, targets[0]]
        largest = int(min(dictionary.n_copies // 2, *dictionary.columns.shape))
        order = np.zeros(0, dtype=np.int64)
        length = np.linalg.norm(target)
        if largest and length > 0:
            with warnings.catch_warnings():
                # Both stop early where the rest of the columns says nothing more.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                order = self.order(dictionary.columns, target / length, largest)
        errors = _errors_of_beginnings(dictionary, order, target)
        errors *= [dictionary.correction(size) for size in range(len(errors))]
        return order[: int(np.argmin(errors))]


class LeastAngleSolver(NestedSolver):
    """Hybrid least-angle regression."""

    def order(
        self, columns: FloatArray, target: FloatArray, largest: int
    ) -> IndexArray:
        _, active, _ = lars_path(columns, target, method="lar", max_iter=largest)
        return np.asarray(active, dtype=np.int64)


class MatchingPursuitSolver(NestedSolver):
    """Orthogonal matching pursuit."""

    def order(
        self, columns: FloatArray, target: FloatArray, largest: int
    ) -> IndexArray:
        path = orthogonal_mp(
            columns, target, n_nonzero_coefs=largest, return_path=True
        ).reshape(columns.shape[1], -1)
        entered = np.argmax(path != 0.0, axis=1)
        active = np.flatnonzero(np.any(path != 0.0, axis=1))
        return active[np.argsort(entered[active], kind="stable")]


def _errors_of_beginnings(
    dictionary: Dictionary, order: IndexArray, target: FloatArray
) -> FloatArray:  # shape: (n_beginnings,), the empty one first
    """Return the mean squared leave-one-out error; inf where it is not defined."""
    directions, triangle = qr(dictionary.columns[:, order], mode="economic")
    dependent = np.abs(np.diag(triangle)) < _SMALLEST_PIVOT
    n_kept = int(np.argmax(dependent)) if dependent.any() else len(order)
    directions = directions[:, :n_kept]
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
