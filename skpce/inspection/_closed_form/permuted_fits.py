"""The refits of all permutations of y, without refits.

Permuting y leaves the inputs of each fold as they are. Where no transformer looks at y,
the design matrices of all permutations are those of the given data, and the ridge path
of all permuted targets comes from one singular value decomposition. Where the columns
of a step share a penalty, no targets are needed either: all sums of squares are
quadratic forms in the products of the members (``gram_fits``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..._checks import BoolArray, FloatArray, IndexArray
from ..._checks.frames import take
from ..._checks.levels import with_codes
from ..._compositions.log_ratio import LogRatioGeometry, log_ratios_of
from ..._regressor import PolynomialChaosRegressor
from ..._solvers.problem import (
    LOG_RATIO_FLOOR,
    sum_rows,
    weighted_spread,
    without_slopes,
)
from ..._solvers.ridge import (
    LeastSquaresSolver,
    PathSolver,
    RidgePathSolver,
    SharedDesign,
)
from ..._surrogate import CompositionalPCESurrogate
from .._ensembles.cross_fit import CrossFit, quiet_fit
from .._reading import expansion_of
from .error_bounds import ErrorBounds
from .gram_fits import ErrorLimits, GramFits
from .gram_fold import GramFold, gram_fold

# Residuals on the paths of all permutations that are solved at once.
_LARGEST_PATH = 4_000_000
# Gram matrices are used up to so many training rows a column, for each step.
_COLUMNS_A_ROW = 10
# A table of more numbers is wide: its refits take seconds.
_WIDE = 2_000_000


@dataclass(frozen=True)
class FoldFactors:
    """One fold of a ridge, factorised."""

    train: IndexArray
    test: IndexArray
    design: SharedDesign  # of the training rows
    held_out: FloatArray  # (n_test, n_terms): design matrix of the test rows
    solver: PathSolver
    fitted: LogRatioGeometry | None  # coordinates of the solver; None: y as it is
    groups: IndexArray  # (n_targets,): targets of one number share a penalty

    @property
    def shares_penalties(self) -> bool:
        """Whether the columns of a step share a penalty in an isometric system."""
        return (
            type(self.solver) in (RidgePathSolver, LeastSquaresSolver)
            and self.fitted is not None
            and self.fitted.log_ratio == "ilr"
            and np.array_equal(self.groups, self.fitted.step_of_coordinate)
        )

    def predict(
        self,
        values: FloatArray,  # shape: (n_permutations, n_train, n_columns)
    ) -> FloatArray:  # shape: (n_permutations, n_test, n_columns)
        """Fit each permutation of the training rows and predict the test rows.

        Columns are those of y, or centred log-ratios.
        """
        n_permutations, n_train = values.shape[:2]
        targets = values if self.fitted is None else self.fitted.to_coordinates(values)
        coefficients = self.solver.fit_sets(
            self.design, targets.transpose(1, 0, 2), self.groups
        )
        columns = values.transpose(1, 0, 2).reshape(n_train, -1)
        spread = self._spread(columns, n_permutations)
        flat = coefficients.reshape(-1, coefficients.shape[2])
        slopes = without_slopes(flat, spread.ravel()).reshape(coefficients.shape)
        by_term = slopes.transpose(0, 2, 1)
        if self.fitted is not None:
            by_term = self.fitted.from_coordinates(by_term)
        return self.held_out @ by_term

    def _spread(
        self, columns: FloatArray, n_permutations: int
    ) -> FloatArray:  # shape: (n_permutations, n_targets)
        """Return the sum of squares behind each target; 0 where it is rounding."""
        once = np.ones(len(columns))
        if self.fitted is None:
            return weighted_spread(columns, once).reshape(n_permutations, -1)
        spread = weighted_spread(columns, once, LOG_RATIO_FLOOR)
        step = self.fitted.step_of_active
        of_sets = spread.reshape(n_permutations, -1).T
        by_step = sum_rows(of_sets, step, self.fitted.layout.n_steps).T
        return by_step[:, self.fitted.step_of_coordinate]


@dataclass(frozen=True)
class PermutedFits:
    """All folds of a ridge, factorised."""

    fit: CrossFit
    folds: tuple[FoldFactors, ...]
    values: FloatArray  # (n_members, n_columns): y, or clr as the surrogate takes it
    gram: GramFits | None = None  # where it is less work than the columns

    def squared_errors(
        self, orders: IndexArray
    ) -> FloatArray:  # shape: (n_permutations, n_members, n_coordinates)
        """Return ``CrossFit.squared_errors`` of each order of y."""
        observed = self.fit.observed
        errors = np.full((len(orders), *observed.shape), np.nan)
        for fold in self.folds:
            predicted = fold.predict(self.values[orders[:, fold.train]])
            found = self._coordinates(predicted)
            errors[:, fold.test] = np.square(observed[orders[:, fold.test]] - found)
        return errors

    def group_errors(
        self, orders: IndexArray, limits: ErrorLimits | None = None
    ) -> FloatArray:  # shape: (n_permutations, n_members, n_groups)
        """Return squared errors of each order, added up in each group.

        Those that surely exceed the limits may be infinite.
        """
        sums = self.fit.outputs.sum_by_group
        if self.gram is None:
            return sums(self.squared_errors(orders))
        errors, exact = self.gram.group_errors(orders, limits)
        rest = np.flatnonzero(~exact)
        if rest.size:
            errors[rest], exact[rest] = self._by_columns(orders[rest])
        for row in np.flatnonzero(~exact):
            errors[row] = sums(self.squared_errors(orders[row, np.newaxis]))[0]
        return errors

    def residuals(self) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return ``CrossFit.residuals`` of y as it is given."""
        observed = self.fit.observed
        found = np.full_like(observed, np.nan)
        given = np.arange(len(observed))[np.newaxis]
        for number, fold in enumerate(self.folds):
            if self.gram is None:
                values = self.values[fold.train][np.newaxis]
                predicted = self._coordinates(fold.predict(values))
            else:
                best, _ = self.gram.chosen(self.gram.folds[number], given)
                predicted = self._predicted(number, given[0], best[0])
            found[fold.test] = observed[fold.test] - predicted
        return found

    def _by_columns(
        self, orders: IndexArray
    ) -> tuple[FloatArray, BoolArray]:  # (n, n_members, n_groups), (n,)
        """Choose penalties by the products of members, but predict every column."""
        assert self.gram is not None
        outputs = self.fit.outputs
        observed = self.fit.observed
        errors = np.full((*orders.shape, outputs.n_groups), np.nan)
        accurate = np.ones(len(orders), dtype=bool)
        for number, fold in enumerate(self.folds):
            best, fine = self.gram.chosen(self.gram.folds[number], orders)
            accurate &= fine
            for own, order, chosen in zip(errors, orders, best, strict=True):
                missed = observed[order[fold.test]]
                missed = missed - self._predicted(number, order, chosen)
                own[fold.test] = outputs.sum_by_group(np.square(missed, out=missed))
        return errors, accurate

    def _predicted(
        self,
        number: int,  # of the fold
        order: IndexArray,  # (n_members,)
        chosen: IndexArray,  # (n_choices,): penalties
    ) -> FloatArray:  # (n_test, n_coordinates)
        """Predict the held-out members of a fold from the weights of its members."""
        gram, geometry = self.gram, self.fit.outputs.geometry
        assert gram is not None
        assert geometry is not None  # Gram matrices are those of compositions
        fold = gram.folds[number]
        predicted = np.empty((len(fold.test), self.values.shape[1]))
        weights = np.zeros((len(fold.test), len(order)))
        for penalty, columns in zip(chosen, geometry.active_slices, strict=True):
            weights[:, order[fold.train]] = fold.weights(penalty)
            predicted[:, columns] = weights @ self.values[:, columns]
        if (fold.distances(len(order))[chosen] <= gram.reach).all():
            return predicted  # no probability is 0: its log-ratios are these
        return self._coordinates(predicted[np.newaxis])[0]

    def _coordinates(self, predicted: FloatArray) -> FloatArray:
        """Return coordinates of predictions, both (n_permutations, n_test, ...)."""
        outputs = self.fit.outputs
        if outputs.geometry is not None:
            predicted = outputs.geometry.compositions(predicted)
        rows = predicted.reshape(-1, predicted.shape[-1])
        found = outputs.coordinates(rows, "prediction")
        return found.reshape(*predicted.shape[:2], -1)

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""
        if self.gram is not None:
            return self.gram.permutations_at_once
        fold = self.folds[0]
        n_columns = max(len(fold.groups), 1)
        path = len(fold.solver.alphas) * len(self.values) * n_columns
        return max(1, _LARGEST_PATH // path)


def factorise(fit: CrossFit, errors: FloatArray) -> PermutedFits | None:
    """Factorise every fold; None where a closed form does not hold.

    It holds for expansions with a ridge or least squares, alone or behind transformers
    that do not look at y: they say so in their tags, and give the same output with y,
    without it and with permuted y, in every fold. As a last check the closed form must
    reproduce ``errors``, those of the refits with the data as they are.
    """
    found = _factorised(fit)
    if found is None:
        return None
    given = np.arange(len(found.values))[np.newaxis]
    sums = fit.outputs.sum_by_group(errors)
    same = _same(found.squared_errors(given)[0], errors)
    return found if same and _same(found.group_errors(given)[0], sums) else None


def factorise_wide(
    fit: CrossFit, fitted: Any
) -> tuple[PermutedFits, FloatArray] | None:
    """Factorise every fold of a wide y, and return the residuals of y as it is given.

    Refits of many columns take long: the residuals are those of the closed form. As a
    last check it must predict as ``fitted``, the pipeline fitted to all members, does.
    """
    if np.size(fit.y) < _WIDE:
        return None
    found = _factorised(fit)
    if found is None or found.gram is None:
        return None
    some = fit.splits[0][1]
    every = fit.of_same_y(splits=[(np.arange(len(found.values)), some)])
    alone = factorise_like(every, found)
    if alone is None or not _same(alone.residuals()[some], fit.missed(fitted, some)):
        return None
    return found, found.residuals()


def factorise_like(fit: CrossFit, known: PermutedFits) -> PermutedFits | None:
    """Factorise other folds or terms for the members of a known closed form."""
    return _factorised(fit, known)


def _same(one: FloatArray, other: FloatArray) -> bool:
    return np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)


def _factorised(
    fit: CrossFit, known: PermutedFits | None = None
) -> PermutedFits | None:
    """Factorise every fold; None where a solver or a transformer forbids it."""
    outputs = fit.outputs
    last = fit.pipeline[-1] if isinstance(fit.pipeline, Pipeline) else fit.pipeline
    of_kind = (
        CompositionalPCESurrogate
        if outputs.are_compositions
        else PolynomialChaosRegressor
    )
    is_mixed = outputs.geometry is not None and not outputs.are_compositions
    if type(last) is not of_kind or is_mixed or not len(outputs.group_of_coordinate):
        return None
    folds = []
    for train, test in fit.splits:
        if len(np.unique(train)) < len(train):  # a member stands for one row here
            return None
        inputs = _inputs_without_y(fit, train, test)
        if inputs is None:
            return None
        fold = _factorise_fold(fit, last, (train, test), inputs)
        if fold is None:
            return None
        folds.append(fold)
    if known is not None and known.gram is not None:
        same = known.gram.with_folds(_gram_folds(folds))
        return PermutedFits(fit, tuple(folds), known.values, same)
    values = np.asarray(fit.y, dtype=np.float64).reshape(len(fit.X), -1)
    if outputs.geometry is None:
        return PermutedFits(fit, tuple(folds), values)
    values = log_ratios_of(
        values,
        outputs.geometry,
        closure=last.closure,
        zero_replacement=last.zero_replacement,
        name="y",
    )
    gram = _gram_fits(folds, values, outputs.geometry)
    return PermutedFits(fit, tuple(folds), values, gram)


def _gram_fits(
    folds: list[FoldFactors],
    values: FloatArray,
    geometry: LogRatioGeometry,
) -> GramFits | None:
    """Return the Gram matrices, where the solver permits and they are less work."""
    n_train = max(len(fold.train) for fold in folds)
    n_steps = int(geometry.has_choice.sum())
    if n_train * n_steps > _COLUMNS_A_ROW * values.shape[1] or not all(
        fold.shares_penalties for fold in folds
    ):
        return None
    bounds = ErrorBounds.of_folds(folds)
    return GramFits.of_members(_gram_folds(folds), values, geometry, bounds)


def _gram_folds(folds: list[FoldFactors]) -> list[GramFold]:
    """Return what each fold does with products of members."""
    solver = folds[0].solver
    return [
        gram_fold(
            (fold.train, fold.test),
            fold.design.decomposed(free_intercept=True),
            fold.held_out,
            solver.alphas,
            solver.criterion,
        )
        for fold in folds
    ]


def _factorise_fold(
    fit: CrossFit, last: Any, rows: tuple[IndexArray, IndexArray], inputs: Any
) -> FoldFactors | None:
    """Factorise the design of an expansion; None where its solver cannot."""
    y, geometry = take(fit.y, rows[0]), fit.outputs.geometry
    model = clone(last)
    if geometry is not None:  # the design does not depend on y: two columns will do
        first = np.linspace(0.4, 0.6, len(rows[0]))
        y = np.column_stack([first, 1.0 - first])
        model.set_params(steps=(2,), mask="infer")
    read = expansion_of(quiet_fit(model, inputs[0], y))
    problem, compositions = read.problem, read.compositions
    assert problem is not None  # of a fit
    if not isinstance(problem.solver, PathSolver) or problem.samples is None:
        return None
    groups, fitted = problem.groups, None
    if geometry is not None:
        assert compositions is not None  # the model is a surrogate
        kind = compositions.fitted_geometry
        fitted = replace(geometry, log_ratio=kind.log_ratio, reference=kind.reference)
        groups = fitted.step_of_coordinate
        if not compositions.pooled:
            groups = np.arange(len(groups))
    linear = problem.linear
    held_out = with_codes(read.estimator, inputs[1], reset=False)
    return FoldFactors(
        *rows,
        SharedDesign(linear.design, linear.weights, linear.exponents),
        problem.basis.evaluate(np.asarray(held_out, dtype=np.float64)),
        problem.solver,
        fitted,
        groups,
    )


def _inputs_without_y(
    fit: CrossFit, train: IndexArray, test: IndexArray
) -> tuple[Any, Any] | None:
    """Transform the rows of a fold; None if a transformer looks at y, or may do so."""
    X, held_out = take(fit.X, train), take(fit.X, test)
    if not isinstance(fit.pipeline, Pipeline) or len(fit.pipeline) == 1:
        return X, held_out
    before = fit.pipeline[:-1]
    steps = [step for _, step in before.steps if step not in (None, "passthrough")]
    if any(get_tags(step).target_tags.required for step in steps):
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
