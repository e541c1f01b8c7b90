"""Refit a whole pipeline in every fold, for the policies as given or permuted.

Folds and permutations hold the members of one reward together.
Permuting the policies leaves the inputs of each fold as they are. Where no transformer
looks at y, the design matrices of all permutations are then those of the given data,
and the ridge path of all permuted targets comes from one singular value decomposition.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from ..._checks import FloatArray, IndexArray, _controller
from ..._compositions.log_ratio import (
    LogRatioGeometry,
    clr_of,
    log_ratios_of,
    sum_by_step,
)
from ..._solvers import DesignDecomposition, RidgePathSolver, make_solver, solve_path
from ..._solvers.problem import LOG_RATIO_FLOOR, weighted_spread, without_slopes
from ..._surrogate import CompositionalPCESurrogate
from .._reading import final_estimator

Split = tuple[IndexArray, IndexArray]


def take(table: Any, rows: IndexArray) -> Any:
    """Take rows of an array or data frame."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def with_parameters(pipeline: Any, **parameters: Any) -> Any:
    """Clone a pipeline and set those parameters that its last estimator has."""
    copy = clone(pipeline)
    prefix, last = final_estimator(copy)
    known = last.get_params(deep=False)
    copy.set_params(
        **{f"{prefix}{name}": v for name, v in parameters.items() if name in known}
    )
    return copy


@dataclass(frozen=True)
class CrossFit:
    """A pipeline, cloned and fitted in every fold, and its data."""

    pipeline: Any
    X: Any  # array or data frame: inputs of all members
    y: Any  # array or data frame: their compositions
    splits: Sequence[Split]
    geometry: LogRatioGeometry  # steps and mask, read from all of y
    zero_replacement: float  # for predictions and observations alike

    def permuted(self, order: IndexArray, moves_policies: bool = True) -> CrossFit:
        """Give each member the policy, or the inputs, of another one."""
        if moves_policies:
            return replace(self, y=take(self.y, order))
        return replace(self, X=take(self.X, order))

    def clr(self, policies: Any, name: str = "y") -> FloatArray:
        """Return centred log-ratios of the possible parts."""
        return clr_of(policies, self.geometry, self.zero_replacement, name)

    def squared_errors(self) -> FloatArray:  # shape: (n_members, n_active)
        """Return squared clr errors of held-out members; NaN where never held out."""

        def predicted(train: IndexArray, test: IndexArray) -> FloatArray:
            model = clone(self.pipeline).fit(take(self.X, train), take(self.y, train))
            policies = np.asarray(model.predict(take(self.X, test)), dtype=np.float64)
            return self.clr(policies, "prediction")

        return self._squared_errors(self.clr(self.y), predicted)

    def mean_only_errors(self) -> FloatArray:
        """Return squared errors of the mean of the training members."""
        observed = self.clr(self.y)
        return self._squared_errors(
            observed, lambda train, test: observed[train].mean(axis=0)
        )

    def _squared_errors(
        self,
        observed: FloatArray,
        predicted: Callable[[IndexArray, IndexArray], FloatArray],
    ) -> FloatArray:
        errors = np.full_like(observed, np.nan)
        for train, test in self.splits:
            errors[test] = np.square(observed[test] - predicted(train, test))
        return errors

    def squared_deviations(self) -> FloatArray:
        """Return squared deviations from the mean of all members; 0 where rounding."""
        observed = self.clr(self.y)
        spread = weighted_spread(observed, np.ones(len(observed)), LOG_RATIO_FLOOR)
        return np.where(spread > 0, np.square(observed - observed.mean(axis=0)), 0.0)


def step_q2(
    errors: FloatArray,  # shape: (n_members, n_active)
    deviations: FloatArray,  # shape: (n_members, n_active)
    geometry: LogRatioGeometry,
) -> FloatArray:  # shape: (n_steps,)
    """Return Q² per step; NaN for a step without choice or variance."""
    held_out = ~np.isnan(errors).any(axis=1)
    press = sum_by_step(errors[held_out].sum(axis=0), geometry)
    spread = sum_by_step(deviations[held_out].sum(axis=0), geometry)
    return 1.0 - press / np.where(spread > 0, spread, np.nan)


def bootstrap_q2(
    errors: FloatArray,
    deviations: FloatArray,
    geometry: LogRatioGeometry,
    confidence_level: float,
    generator: np.random.Generator,
    reward: Any = None,
    n_resamples: int = 2000,
) -> FloatArray:  # shape: (3, n_steps)
    """Return Q² and its percentile interval over members, or over rewards."""
    held_out = np.flatnonzero(~np.isnan(errors).any(axis=1))
    labels = np.arange(len(errors)) if reward is None else np.asarray(reward)
    names, group = np.unique(labels[held_out], return_inverse=True)
    n_groups, n_steps = len(names), geometry.layout.n_steps
    counts = generator.multinomial(
        n_groups, np.full(n_groups, 1.0 / n_groups), size=n_resamples
    )
    together = (np.arange(n_groups)[:, np.newaxis] == group).astype(float)
    press, spread = (
        counts @ by_step(together @ one[held_out], geometry.step_of_active, n_steps)
        for one in (errors, deviations)
    )
    q2 = 1.0 - press / np.where(spread > 0, spread, np.nan)
    tail = (1.0 - confidence_level) / 2.0
    interval = np.quantile(q2, [tail, 1.0 - tail], axis=0)
    return np.vstack([step_q2(errors, deviations, geometry), interval])


def by_step(
    values: FloatArray, step_of_column: IndexArray, n_steps: int
) -> FloatArray:  # shape: (..., n_steps)
    """Add up the columns of each step."""
    membership = np.zeros((values.shape[-1], n_steps))
    membership[np.arange(values.shape[-1]), step_of_column] = 1.0
    return values @ membership


# Enough to pay for sending a task to a process, few enough to show progress.
_PERMUTATIONS_PER_TASK = 8


def permuted_q2(
    fit: CrossFit,
    permutations: Permutations,
    closed: PermutedFits | None,
    deviations: FloatArray,
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[FloatArray, float]:  # shape: (n_permutations, n_steps); CPU seconds
    """Return Q² of every permutation, in their order, and the CPU time of all."""
    orders = permutations.orders
    size = _PERMUTATIONS_PER_TASK if closed is None else closed.permutations_at_once
    parts = (
        replace(permutations, orders=orders[start : start + size])
        for start in range(0, len(orders), size)
    )
    tasks = (delayed(_q2_of_orders)(fit, closed, deviations, part) for part in parts)
    if closed is not None:
        n_jobs = 1  # sending the data would take longer than the work
    n_done = 0

    def done(part: tuple[list[FloatArray], float]) -> None:
        nonlocal n_done
        n_done += len(part[0])
        if progress is not None:
            progress(n_done, len(orders))

    found = run_in_order(tasks, n_jobs, done)
    cpu_seconds = sum(seconds for _, seconds in found)
    return np.concatenate([q2 for q2, _ in found]), cpu_seconds


def run_in_order(
    tasks: Iterable[Any], n_jobs: int | None, done: Callable[[Any], None]
) -> list[Any]:
    """Return the results of tasks, each given to ``done``, which may stop them all."""
    with _controller().limit(limits=1):
        return _collected(Parallel(n_jobs=n_jobs, return_as="generator")(tasks), done)


def _collected(
    results: Generator[Any, None, None], done: Callable[[Any], None]
) -> list[Any]:
    """Return all results, each given to ``done``; stop the processes when it fails."""
    found = []
    try:
        for result in results:
            done(result)
            found.append(result)
    finally:  # a suspended generator dispatches for as long as a traceback holds it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()
    return found


def _q2_of_orders(
    fit: CrossFit,
    closed: PermutedFits | None,
    deviations: FloatArray,
    permutations: Permutations,
) -> tuple[list[FloatArray], float]:
    started = time.process_time()
    with threadpool_limits(1):  # threads lose time on fits this small
        errors: Iterable[FloatArray] = (
            one.squared_errors() for one in permutations.fits(fit)
        )
        if closed is not None:
            errors = closed.squared_errors(permutations.orders)
        pairs = zip(errors, permutations.deviations(deviations), strict=True)
        q2 = [step_q2(error, own, fit.geometry) for error, own in pairs]
    return q2, time.process_time() - started


# Residuals on the paths of all permutations that are solved at once.
_LARGEST_PATH = 4_000_000


@dataclass(frozen=True)
class Permutations:
    """Ways to break the pairing of inputs and policies."""

    orders: IndexArray  # (n_permutations, n_members): who lends policy or inputs
    moves_policies: bool  # else the inputs move

    @classmethod
    def draw(
        cls,
        n_members: int,
        reward: Any,
        n_permutations: int,
        generator: np.random.Generator,
    ) -> Permutations:
        """Permute members, or rewards; the inputs where replicates are unequal."""
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

    def fits(self, fit: CrossFit) -> Iterator[CrossFit]:
        """Yield the cross-fit of each permutation."""
        return (fit.permuted(order, self.moves_policies) for order in self.orders)

    def deviations(self, given: FloatArray) -> Iterator[FloatArray]:
        """Yield what the deviations of the policies are in each permutation."""
        return (given[order] if self.moves_policies else given for order in self.orders)


@dataclass(frozen=True)
class FoldFactors:
    """One fold of a ridge, factorised."""

    train: IndexArray
    test: IndexArray
    decomposition: DesignDecomposition  # of the design matrix of the training rows
    held_out: FloatArray  # (n_test, n_terms): design matrix of the test rows
    solver: RidgePathSolver
    fitted: LogRatioGeometry  # coordinates in which the solver fits
    groups: IndexArray  # (n_coordinates,): coordinates of one number share a penalty

    def predict_clr(
        self,
        clr: FloatArray,  # shape: (n_permutations, n_train, n_active)
    ) -> FloatArray:  # shape: (n_permutations, n_test, n_active)
        """Fit each permutation of the training rows and predict the test rows."""
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
        columns, geometry = clr.transpose(1, 0, 2).reshape(n_train, -1), self.fitted
        spread = weighted_spread(columns, np.ones(n_train), LOG_RATIO_FLOOR)
        spread = spread.reshape(n_permutations, -1)
        spread = by_step(spread, geometry.step_of_active, geometry.layout.n_steps)
        spread = spread[:, geometry.step_of_coordinate].ravel()
        coefficients = without_slopes(fit.coefficients, spread)
        coefficients = coefficients.reshape(n_permutations, n_coordinates, -1)
        by_term = self.fitted.from_coordinates(coefficients.transpose(0, 2, 1))
        return self.held_out @ by_term


@dataclass(frozen=True)
class PermutedFits:
    """All folds of a ridge, factorised."""

    fit: CrossFit
    folds: tuple[FoldFactors, ...]
    clr: FloatArray  # (n_members, n_active): as the surrogate takes y

    def squared_errors(
        self, orders: IndexArray
    ) -> FloatArray:  # shape: (n_permutations, n_members, n_active)
        """Return ``CrossFit.squared_errors`` of each order of y."""
        fit = self.fit
        observed = fit.clr(fit.y)
        errors = np.full((len(orders), *observed.shape), np.nan)
        for fold in self.folds:
            clr = fold.predict_clr(self.clr[orders[:, fold.train]])
            policies = fit.geometry.compositions(clr)
            rows = policies.reshape(-1, policies.shape[-1])
            predicted = fit.clr(rows, "prediction").reshape(clr.shape)
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
    last = fit.pipeline[-1] if isinstance(fit.pipeline, Pipeline) else fit.pipeline
    plain_ridge = (
        type(last) is CompositionalPCESurrogate
        and last.solver in ("ridge", "ols")
        and last.regressor is None
    )
    if not plain_ridge or not fit.geometry.n_coordinates:
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
    fitted = model.geometry_
    groups = np.arange(fitted.n_coordinates)
    if not model.alpha_per_target:  # one penalty per step, in an isometric system
        fitted = LogRatioGeometry(fitted.layout, fitted.mask, "ilr", -1)
        groups = fitted.step_of_coordinate
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


def check_replicates(X: Any, reward: Any) -> None:
    """Refuse members of one reward whose inputs differ."""
    if reward is None:
        return
    inputs = np.asarray(X)
    labels = _reward_labels(reward, len(inputs))
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    reference = inputs[first[group]]
    same = (inputs == reference) | ((inputs != inputs) & (reference != reference))
    if inputs.dtype.kind == "f":  # rounding of an isometry such as a PCA is no change
        largest = np.abs(inputs).max(axis=0, initial=0.0, where=~np.isnan(inputs))
        same |= np.abs(inputs - reference) <= 1e-9 * largest
    differs = ~same.reshape(len(inputs), -1).all(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Members {int(first[group][row])} and {row} have the reward "
            f"{labels[row].item()!r} but other rows of X. Replicates share their "
            "inputs: give X before any embedding that is random."
        )


def make_splits(
    cv: Any, X: Any, reward: Any, generator: np.random.Generator
) -> list[Split]:
    """Return the folds; an int shuffles members, or rewards, into so many."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        n_units = len(X) if reward is None else len(np.unique(np.asarray(reward)))
        if not 2 <= cv <= n_units:
            kind = "members" if reward is None else "different rewards"
            raise ValueError(
                f"cv must be an int in the range [2, {n_units}], the number of {kind}, "
                f"or a splitter. Got {cv!r} instead."
            )
        seed = int(generator.integers(2**31 - 1))
        if reward is None:
            splitter: Any = KFold(int(cv), shuffle=True, random_state=seed)
        else:
            splitter = GroupKFold(int(cv), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv)
    splits = list(splitter.split(X, groups=reward))
    _refuse_leaks(splits, reward)
    return splits


def repetition_caution(X: Any, reward: Any, splits: Sequence[Split]) -> tuple[str, ...]:
    """Caution when members that are held out have their rows of X in training."""
    if reward is not None:
        return ()
    numbers: dict[tuple[Any, ...], int] = {}
    rows = np.asarray(X).tolist()
    row = np.array([numbers.setdefault(tuple(one), len(numbers)) for one in rows])
    seen = [np.isin(row[test], row[train]) for train, test in splits]
    repeated = int(sum(found.sum() for found in seen))
    if not repeated:
        return ()
    tested = sum(len(found) for found in seen)
    return (
        f"{repeated} of {tested} held-out members have a row of X that is in their "
        "training fold too; if members with equal rows are replicates, Q² and p are "
        "too good: give reward=",
    )


def _refuse_leaks(splits: list[Split], reward: Any) -> None:
    """Refuse folds that divide the members of one reward."""
    if reward is None:
        return
    labels = np.asarray(reward)
    for train, test in splits:
        shared = np.intersect1d(labels[train], labels[test])
        if shared.size:
            raise ValueError(
                f"cv puts members of the reward {shared[0].item()!r} both into "
                "training and into test; use a splitter that respects groups, such "
                "as sklearn.model_selection.GroupKFold, or an int."
            )


def _reward_labels(reward: Any, n_members: int) -> NDArray[Any]:
    """Return labels that can be sorted; refuse missing and mixed ones."""
    labels = np.asarray(reward)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("reward has NaN labels; give one label per member.")
    kinds = {type(label).__name__ for label in labels.ravel().tolist()}
    if labels.dtype.kind == "O" and len(kinds) > 1:
        raise ValueError(
            f"reward has labels of the kinds {', '.join(sorted(kinds))}; give one "
            "label per member, all strings or all numbers."
        )
    if labels.shape != (n_members,):
        raise ValueError(
            f"reward has shape {labels.shape}; expected ({n_members},), one label "
            "per member."
        )
    return labels


def reward_groups(
    reward: Any,
    weights: FloatArray,  # shape: (n_members,)
) -> IndexArray:
    """Number the rewards of members of positive weight; refuse them without repeats."""
    labels, unweighted = np.asarray(reward), bool(np.all(weights == 1))
    if unweighted or labels.shape != weights.shape:
        labels = _reward_labels(reward, len(weights))
    names, group = np.unique(labels[weights > 0], return_inverse=True)
    if unweighted and len(names) == len(labels):
        raise ValueError(
            "reward has no replicates: every member has a label of its own, so the "
            "noise of training cannot be separated from the effect of the reward."
        )
    if unweighted and len(names) < 2:
        raise ValueError(
            f"reward has one label only, {names[0].item()!r}; the share of training "
            "noise needs at least two rewards (or control= for one fixed reward)."
        )
    if len(names) < 2 or weights.sum() <= len(names):
        raise ValueError(
            f"sample_weight sums to {weights.sum():.3g} over {len(names)} rewards; "
            "replicates need at least two rewards and more members than rewards."
        )
    return group
