"""Cross-fits of permuted policies from one factorisation per fold.

Permuting the policies leaves the inputs of each fold alone. Where no transformer looks
at y, the design matrices of all permutations are then those of the given data, and the
ridge path of all permuted targets comes from one singular value decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._checks import FloatArray, IndexArray
from .._compositions.log_ratio import LogRatioGeometry, clr_of, log_ratios_of
from .._goodness import LOG_RATIO_FLOOR, weighted_spread, without_slopes
from .._solvers import (
    DesignDecomposition,
    RidgePathSolver,
    make_solver,
    solve_path,
)
from .._surrogate import CompositionalPCESurrogate
from ._cross_fit import CrossFit, take

# Residuals on the paths of all permutations that are solved at once.
_LARGEST_PATH = 4_000_000


@dataclass(frozen=True)
class Permutations:
    """Ways to break the pairing of inputs and policies.

    Parameters
    ----------
    orders : ndarray of int of shape (n_permutations, n_members)
        Whose policy, or whose inputs, each member gets.
    moves_policies : bool
        Whether the policies move; else the inputs do.
    """

    orders: IndexArray
    moves_policies: bool

    @classmethod
    def draw(
        cls,
        n_members: int,
        reward: Any,
        n_permutations: int,
        generator: np.random.Generator,
    ) -> Permutations:
        """Permute members, or whole rewards where replicates share their inputs.

        Policies move, inputs and folds stay. Rewards with unequal numbers of
        replicates cannot exchange their policies; there the inputs move.
        """
        labels = np.arange(n_members) if reward is None else np.asarray(reward)
        names, first, group = np.unique(labels, return_index=True, return_inverse=True)
        n_groups = len(names)
        orders = np.empty((n_permutations, n_members), dtype=np.int64)
        equal = np.ptp(np.bincount(group)) == 0
        rows = np.argsort(group, kind="stable")
        for order in orders:
            moved = generator.permutation(n_groups)
            if equal:
                by_group = rows.reshape(n_groups, -1)
                order[rows] = by_group[moved].ravel()
            else:
                order[:] = first[moved][group]
        return cls(orders, bool(equal))


@dataclass(frozen=True)
class FoldFactors:
    """One fold of a ridge, factorised.

    Parameters
    ----------
    train, test : ndarray of int
        Rows.
    decomposition : DesignDecomposition
        Of the design matrix of the training rows.
    held_out : ndarray of shape (n_test, n_terms)
        Design matrix of the test rows.
    solver : RidgePathSolver
        Penalties and criterion.
    fitted : LogRatioGeometry
        Coordinates in which the solver fits.
    groups : ndarray of shape (n_coordinates,)
        Coordinates that share a penalty.
    """

    train: IndexArray
    test: IndexArray
    decomposition: DesignDecomposition
    held_out: FloatArray
    solver: RidgePathSolver
    fitted: LogRatioGeometry
    groups: IndexArray

    def predict_clr(self, clr: FloatArray) -> FloatArray:
        """Fit each permutation of the training rows and predict the test rows.

        ``clr`` has shape (n_permutations, n_train, n_active), the result
        (n_permutations, n_test, n_active).
        """
        n_permutations, n_train = clr.shape[:2]
        targets = self.fitted.to_coordinates(clr)
        n_coordinates = targets.shape[2]
        n_groups = int(self.groups.max()) + 1
        shift = n_groups * np.arange(n_permutations)[:, np.newaxis]
        fit = solve_path(
            self.decomposition,
            targets.transpose(1, 0, 2).reshape(n_train, -1),
            self.solver.alphas,
            (self.groups + shift).ravel(),
            self.solver.criterion,
        )
        spread = self._spread_of_step(clr)[:, self.fitted.step_of_coordinate]
        coefficients = without_slopes(fit.coefficients, spread.ravel())
        coefficients = coefficients.reshape(n_permutations, n_coordinates, -1)
        by_term = self.fitted.from_coordinates(coefficients.transpose(0, 2, 1))
        return self.held_out @ by_term

    def _spread_of_step(self, clr: FloatArray) -> FloatArray:
        """Return sums of squares; shape (n_permutations, n_steps)."""
        n_permutations, n_train, n_active = clr.shape
        columns = clr.transpose(1, 0, 2).reshape(n_train, -1)
        spread = weighted_spread(columns, np.ones(n_train), LOG_RATIO_FLOOR)
        by_step = np.zeros((self.fitted.layout.n_steps, n_permutations))
        by_active = spread.reshape(n_permutations, n_active)
        np.add.at(by_step, self.fitted.step_of_active, by_active.T)
        return by_step.T


@dataclass(frozen=True)
class PermutedFits:
    """All folds of a ridge, factorised.

    Parameters
    ----------
    fit : CrossFit
        What is repeated.
    folds : tuple of FoldFactors
        One per split.
    clr : ndarray of shape (n_members, n_active)
        Log-ratios of y as the surrogate takes them.
    """

    fit: CrossFit
    folds: tuple[FoldFactors, ...]
    clr: FloatArray

    def squared_errors(self, orders: IndexArray) -> FloatArray:
        """Return what ``CrossFit.squared_errors`` gives for each permutation of y.

        Shape (n_permutations, n_members, n_active); NaN where a row is never held
        out.
        """
        fit = self.fit
        observed = clr_of(fit.y, fit.geometry, fit.zero_replacement, "y")
        errors = np.full((len(orders), *observed.shape), np.nan)
        for fold in self.folds:
            clr = fold.predict_clr(self.clr[orders[:, fold.train]])
            policies = fit.geometry.compositions(clr)
            predicted = clr_of(
                policies.reshape(-1, policies.shape[-1]),
                fit.geometry,
                fit.zero_replacement,
                "prediction",
            ).reshape(clr.shape)
            errors[:, fold.test] = np.square(observed[orders[:, fold.test]] - predicted)
        return errors

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""
        fold = self.folds[0]
        path = len(fold.solver.alphas) * len(self.clr) * max(len(fold.groups), 1)
        return max(1, _LARGEST_PATH // path)


def factorise(fit: CrossFit, errors: FloatArray) -> PermutedFits | None:
    """Factorise every fold; None where a closed form does not hold.

    It holds for a :class:`CompositionalPCESurrogate` with a ridge or least squares,
    alone or behind transformers that do not look at y: they say so in their tags, and
    give the same output with y, without it and with permuted y, in every fold. As a
    last check the closed form must reproduce ``errors``, those of the refits with the
    data as they are.
    """
    last = fit.pipeline.steps[-1][1] if _is_pipeline(fit) else fit.pipeline
    if not _is_plain_ridge(last) or not fit.geometry.n_coordinates:
        return None
    folds = []
    for train, test in fit.splits:
        inputs = _inputs_without_y(fit, train, test)
        if inputs is None:
            return None
        model = clone(last).fit(inputs[0], take(fit.y, train))
        folds.append(_factorise_fold(model, train, test, *inputs))
    clr = log_ratios_of(
        np.asarray(fit.y, dtype=np.float64),
        fit.geometry,
        closure=last.closure,
        zero_replacement=last.zero_replacement,
        name="y",
    )
    found = PermutedFits(fit, tuple(folds), clr)
    given = np.arange(len(clr))[np.newaxis]
    same = np.allclose(
        found.squared_errors(given)[0], errors, rtol=1e-6, atol=1e-9, equal_nan=True
    )
    return found if same else None


def _is_pipeline(fit: CrossFit) -> bool:
    return isinstance(fit.pipeline, Pipeline)


def _is_plain_ridge(estimator: Any) -> bool:
    return (
        type(estimator) is CompositionalPCESurrogate
        and estimator.solver in ("ridge", "ols")
        and getattr(estimator, "regressor", None) is None
    )


def _factorise_fold(
    model: CompositionalPCESurrogate,
    train: IndexArray,
    test: IndexArray,
    inputs: Any,
    held_out: Any,
) -> FoldFactors:
    """Factorise the design of a fitted surrogate."""
    solver = make_solver(type(model).__name__, model.solver, model.alphas)
    assert isinstance(solver, RidgePathSolver)  # of a plain ridge
    geometry = model.geometry_
    fitted = geometry
    if not model.alpha_per_target:  # one penalty per step, in an isometric system
        fitted = LogRatioGeometry(geometry.layout, geometry.mask, "ilr", -1)
    groups = (
        np.arange(fitted.n_coordinates)
        if model.alpha_per_target
        else fitted.step_of_coordinate
    )
    decomposition = DesignDecomposition.from_design(
        model.basis_.evaluate(np.asarray(inputs, dtype=np.float64)),
        np.ones(len(train)),
        free_intercept=solver.free_intercept,
    )
    design = model.basis_.evaluate(np.asarray(held_out, dtype=np.float64))
    return FoldFactors(train, test, decomposition, design, solver, fitted, groups)


def _inputs_without_y(
    fit: CrossFit, train: IndexArray, test: IndexArray
) -> tuple[Any, Any] | None:
    """Transform the rows of a fold; None if a transformer looks at y, or may do so."""
    X, held_out = take(fit.X, train), take(fit.X, test)
    if not _is_pipeline(fit) or len(fit.pipeline) == 1:
        return X, held_out
    before = fit.pipeline[:-1]
    if any(_requires_y(step) for _, step in before.steps):
        return None
    outputs = []
    for y in (take(fit.y, train), None, take(fit.y, train[::-1])):
        model = clone(before)
        try:
            outputs.append((model.fit_transform(X, y), model.transform(held_out)))
        except (AttributeError, TypeError, ValueError):
            return None  # cannot do without y
    for other in outputs[1:]:
        for one, two in zip(outputs[0], other, strict=True):
            if not np.array_equal(np.asarray(one), np.asarray(two)):
                return None
    return outputs[0]


def _requires_y(step: Any) -> bool:
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    return bool(get_tags(step).target_tags.required)
