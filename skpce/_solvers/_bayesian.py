"""Sparse Bayesian learning: automatic relevance determination."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import ARDRegression

from .._checks import FloatArray, IndexArray
from ._base import LinearFit, LinearProblem
from ._decomposition import DesignDecomposition
from ._dictionary import comparison_price
from ._fixed import GeneralizedRidgeSolver
from ._ridge_path import fit_penalties
from ._sparse import join_fits


class BayesianSolver(GeneralizedRidgeSolver):
    r"""scikit-learn's ``ARDRegression``, one target after another.

    Each coefficient has a normal prior of its own precision :math:`\lambda_j`; with the
    precision :math:`\alpha` of the noise its penalty is :math:`\lambda_j / \alpha`.
    Leave-one-out takes these as given.

    The iteration does not settle where terms outnumber samples, and then magnifies
    rounding: rows enter in an order of their own, so that theirs has no effect.

    Raises
    ------
    ValueError
        For sample weights that are no whole numbers: a row of weight 2 is entered
        twice.
    """

    def fit(self, problem: LinearProblem) -> LinearFit:
        copies = np.round(problem.weights).astype(np.int64)
        whole = np.allclose(copies, problem.weights, rtol=0, atol=1e-6)
        if not whole or copies.min() < 1:
            raise ValueError(
                "sample_weight must be whole numbers with solver='ard', which enters a "
                f"row as often as it counts. Got {problem.weights.max()!r} and others."
            )
        rows = np.repeat(np.arange(len(copies)), copies)
        positions = [np.array([k]) for k in range(problem.targets.shape[1])]
        return join_fits(
            [_fit_target(problem, rows, target) for target in positions], positions
        )


def _fit_target(
    problem: LinearProblem, rows: IndexArray, target: IndexArray
) -> LinearFit:
    scale = np.zeros(problem.design.shape[1])
    scale[0] = 1.0
    keys = np.column_stack([problem.design, problem.targets[:, target]])
    rows = rows[np.lexsort(keys[rows].T)]
    values = problem.targets[rows, target[0]]
    spread = values.std()
    if spread > 0 and problem.design.shape[1] > 1:
        scale[1:] = _relevance(problem.design[rows, 1:], values / spread)
    decomposition = DesignDecomposition.from_design(
        problem.design, problem.weights, scale=scale
    )
    fit = fit_penalties(decomposition, problem.targets[:, target], np.ones(1))
    size = int(np.count_nonzero(scale)) - 1
    price = comparison_price(size, len(scale) - 1, float(len(rows)))
    return fit.with_criterion(fit.criterion * price)


def _relevance(design: FloatArray, values: FloatArray) -> FloatArray:
    """Return the prior scale of each coefficient in units of the noise; 0 if pruned."""
    model = ARDRegression().fit(design, values)
    kept = model.coef_ != 0.0
    return np.where(kept, np.sqrt(model.alpha_ / model.lambda_), 0.0)
