"""Refit a whole pipeline in every fold, for y as given or permuted.

Folds and permutations hold the members of one group together.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..._basis.basis import MoreTermsThanRowsWarning
from ..._checks import FloatArray, IndexArray, _controller, check_draws
from ..._checks.callbacks import counted, without_callbacks
from ..._checks.frames import take
from ..._checks.workers import collected, workers
from ..._compositions.outputs import Outputs, ZeroReplacedWarning
from ..._expansion.targets import ConstantTargetWarning
from ..._input_laws import InputOutsideSupportWarning
from .._reading import final_estimator

Split = tuple[IndexArray, IndexArray]


def with_parameters(pipeline: Any, **parameters: Any) -> Any:
    """Clone a pipeline, without callbacks, and set what its last estimator has."""
    copy = without_callbacks(clone(pipeline))
    prefix, last = final_estimator(copy)
    known = last.get_params(deep=False)
    copy.set_params(
        **{f"{prefix}{name}": v for name, v in parameters.items() if name in known}
    )
    return copy


def seeded(pipeline: Any, generator: np.random.Generator) -> Any:
    """Clone a pipeline and seed what has no ``random_state``: each fit is the same.

    Without a seed a randomised decomposition differs from fit to fit, so that every
    permutation had to be fitted with a decomposition of its own.
    """
    copy = clone(pipeline)
    draws = generator.spawn(1)[0]  # the generator itself stays where it is
    seeds = {
        name: int(draws.integers(np.iinfo(np.int32).max))
        for name, value in sorted(copy.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    }
    return copy.set_params(**seeds)


def _moved(table: Any, order: IndexArray) -> Any:
    """Give the rows of a table to others, which keep their labels."""
    moved = take(table, order)
    return moved.set_axis(table.index) if hasattr(moved, "iloc") else moved


@dataclass(frozen=True)
class CrossFit:
    """A pipeline, cloned and fitted in every fold, and its data."""

    pipeline: Any
    X: Any  # array or data frame: inputs of all members
    y: Any  # array or data frame
    splits: Sequence[Split]
    outputs: Outputs  # what the columns of y are, read from all of y

    def permuted(self, order: IndexArray, moves_policies: bool = True) -> CrossFit:
        """Give each member the policy, or the inputs, of another one."""
        if moves_policies:
            return replace(self, y=_moved(self.y, order))
        return replace(self, X=_moved(self.X, order))

    def of_same_y(self, **changes: Any) -> CrossFit:
        """Return the fit with another pipeline or other folds."""
        other = replace(self, **changes)
        vars(other)["observed"] = self.observed  # takes as long as a fit to a wide y
        return other

    def squared_errors(self) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return squared errors of held-out members; NaN where never held out."""
        return np.square(self.residuals())

    def residuals(self) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return what refits miss of held-out members; NaN where never held out."""
        errors = np.full_like(self.observed, np.nan)
        for train, test in self.splits:
            model = quiet_fit(self.pipeline, take(self.X, train), take(self.y, train))
            errors[test] = self.missed(model, test)
        return errors

    def missed(self, model: Any, rows: IndexArray) -> FloatArray:
        """Return what a fitted pipeline misses of some members, by coordinates."""
        with warnings.catch_warnings():  # a learned distribution is that of a fold
            warnings.simplefilter("ignore", InputOutsideSupportWarning)
            found = model.predict(take(self.X, rows))
        values = np.asarray(found, dtype=np.float64)
        self._refuse_negative(values, model)
        return self.observed[rows] - self.outputs.coordinates(values, "prediction")

    @cached_property
    def observed(self) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return the coordinates of y."""
        return self.outputs.coordinates(self.y)

    def _refuse_negative(self, predicted: FloatArray, model: Any) -> None:
        """Refuse predictions of compositions that have no log-ratios."""
        table = predicted.reshape(len(predicted), -1)
        parts = table[:, : self.outputs.n_parts]
        if parts.size and parts.min() < 0:
            _, last = final_estimator(model)
            raise ValueError(
                f"{type(last).__name__} predicts the negative probability "
                f"{parts.min():.3g} of a member that is held out; expected one that "
                "predicts probabilities, such as skpce.CompositionalPCESurrogate. To "
                "judge the columns of y as real numbers, group them by outputs=."
            )

    def mean_only_errors(self) -> FloatArray:
        """Return squared errors of the mean of the training members."""
        errors = np.full_like(self.observed, np.nan)
        centred = self.observed - self.observed.mean(axis=0)
        for train, test in self.splits:
            counts = np.bincount(train, minlength=len(errors)).astype(np.float64)
            errors[test] = np.square(centred[test] - counts @ centred / len(train))
        return errors

    def squared_deviations(self) -> FloatArray:
        """Return squared deviations from the mean of all members; 0 where rounding."""
        spread = self.outputs.spread(self.observed)
        squares = np.square(self.observed - self.observed.mean(axis=0))
        return np.where(spread > 0, squares, 0.0)


@contextmanager
def quiet() -> Iterator[None]:
    """Let refits not repeat what the inspection itself cautions of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputOutsideSupportWarning)
        warnings.simplefilter("ignore", MoreTermsThanRowsWarning)
        warnings.simplefilter("ignore", ZeroReplacedWarning)
        warnings.simplefilter("ignore", ConstantTargetWarning)
        yield


def quiet_fit(pipeline: Any, X: Any, y: Any) -> Any:
    """Fit a copy, quietly."""
    with quiet():
        return clone(pipeline).fit(X, y)


def group_q2(
    errors: FloatArray,  # shape: (n_members, n_coordinates)
    deviations: FloatArray,  # shape: (n_members, n_coordinates)
    outputs: Outputs,
) -> FloatArray:  # shape: (n_groups,)
    """Return Q² per group; NaN for a group without choice or variance."""
    pair = outputs.sum_by_group(errors), outputs.sum_by_group(deviations)
    return q2_of_members(*pair)


def q2_of_members(
    errors: FloatArray,  # shape: (n_members, n_groups)
    deviations: FloatArray,  # shape: (n_members, n_groups)
) -> FloatArray:  # shape: (n_groups,)
    """Return Q² of the members that were held out; NaN without variance."""
    held_out = ~np.isnan(errors).any(axis=1)
    press, spread = errors[held_out].sum(axis=0), deviations[held_out].sum(axis=0)
    return np.asarray(1.0 - press / np.where(spread > 0, spread, np.nan))


def bootstrap_q2(
    errors: FloatArray,
    deviations: FloatArray,
    outputs: Outputs,
    confidence_level: float,
    generator: np.random.Generator,
    reward: Any = None,
    n_resamples: int = 2000,
) -> FloatArray:  # shape: (3, n_groups)
    """Return Q² and its percentile interval over members, or over groups."""
    held_out = np.flatnonzero(~np.isnan(errors).any(axis=1))
    labels = np.arange(len(errors)) if reward is None else np.asarray(reward)
    names, group = np.unique(labels[held_out], return_inverse=True)
    n_labels = len(names)
    counts = generator.multinomial(
        n_labels, np.full(n_labels, 1.0 / n_labels), size=n_resamples
    )
    together = (np.arange(n_labels)[:, np.newaxis] == group).astype(float)
    press, spread = (
        counts @ outputs.sum_by_group(together @ one[held_out])
        for one in (errors, deviations)
    )
    q2 = 1.0 - press / np.where(spread > 0, spread, np.nan)
    tail = (1.0 - confidence_level) / 2.0
    interval = np.quantile(q2, [tail, 1.0 - tail], axis=0)
    return np.vstack([group_q2(errors, deviations, outputs), interval])


class ClosedFits(Protocol):
    """Fits of every permutation without refits."""

    @property
    def permutations_at_once(self) -> int:
        """How many permutations to solve in one call."""

    def group_errors(
        self,
        orders: IndexArray,
        limits: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return squared errors of each order, (n_orders, n_members, n_groups).

        With limits, the errors and deviations of the data by order and group, errors
        that surely exceed those of the data may be infinite.
        """


# Enough to pay for sending a task to a process, few enough to show progress.
_PERMUTATIONS_PER_TASK = 8


def permuted_q2(
    fit: CrossFit,
    permutations: Permutations,
    closed: ClosedFits | None,
    q2: FloatArray,  # shape: (n_groups,), of the data
    deviations: FloatArray,  # shape: (n_members, n_coordinates)
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[FloatArray, float]:  # shape: (n_permutations, n_groups); CPU seconds
    """Return Q² of every permutation, in their order, and the CPU time of all.

    Where a bound suffices to show that it is below that of the data it is -inf.
    """
    orders = permutations.orders
    size = _PERMUTATIONS_PER_TASK if closed is None else closed.permutations_at_once
    deviations = fit.outputs.sum_by_group(deviations)
    parts = (
        replace(permutations, orders=orders[start : start + size])
        for start in range(0, len(orders), size)
    )
    tasks = (
        delayed(_q2_of_orders)(fit, closed, q2, deviations, part) for part in parts
    )
    if closed is not None:
        n_jobs = 1  # sending the data would take longer than the work
    done = counted(progress, len(orders), lambda part: len(part[0]))
    found = run_in_order(tasks, n_jobs, done)
    cpu_seconds = sum(seconds for _, seconds in found)
    return np.concatenate([permuted for permuted, _ in found]), cpu_seconds


def run_in_order(
    tasks: Iterable[Any], n_jobs: int | None, done: Callable[[Any], None]
) -> list[Any]:
    """Return the results of tasks, each given to ``done``, which may stop them all."""
    with _controller().limit(limits=1):
        return collected(workers(n_jobs, return_as="generator")(tasks), done)


def _q2_of_orders(
    fit: CrossFit,
    closed: ClosedFits | None,
    q2: FloatArray,  # shape: (n_groups,)
    deviations: FloatArray,  # shape: (n_members, n_groups)
    permutations: Permutations,
) -> tuple[list[FloatArray], float]:
    started = time.process_time()
    with threadpool_limits(1):  # threads lose time on fits this small
        errors: Iterable[FloatArray] = (
            fit.outputs.sum_by_group(one.squared_errors())
            for one in permutations.fits(fit)
        )
        if closed is not None:
            held_out = np.concatenate([test for _, test in fit.splits])
            moved = permutations.deviations(deviations)
            spread = np.array([own[held_out].sum(axis=0) for own in moved])
            limits = (1.0 - q2) * spread, spread
            errors = closed.group_errors(permutations.orders, limits)
        pairs = zip(errors, permutations.deviations(deviations), strict=True)
        found = [q2_of_members(error, own) for error, own in pairs]
    return found, time.process_time() - started


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
        dependent: str = "",
    ) -> Permutations:
        """Permute members, or groups; the inputs where replicates are unequal.

        Groups of ``dependent`` members have other inputs each: ``"copies"`` change
        places with groups of their size, and blocks of a ``"series"`` are laid one
        after another in another order, whatever their lengths.
        """
        labels = np.arange(n_members) if reward is None else np.asarray(reward)
        names, first, group = np.unique(labels, return_index=True, return_inverse=True)
        n_groups = len(names)
        owner = "The permutation test"
        check_draws(owner, "n_permutations", n_permutations, each=n_members)
        orders = np.empty((n_permutations, n_members), dtype=np.int64)
        sizes = np.bincount(group)
        equal = np.ptp(sizes) == 0
        rows = np.argsort(group, kind="stable")
        members = np.split(rows, np.cumsum(sizes)[:-1])
        for order in orders:
            if dependent == "copies":
                moved = _within(sizes, generator)
            else:
                moved = generator.permutation(n_groups)
            if dependent:
                order[rows] = np.concatenate([members[i] for i in moved])
            elif equal:
                by_group = rows.reshape(n_groups, -1)
                order[rows] = by_group[moved].ravel()
            else:
                order[:] = first[moved][group]
        return cls(orders, bool(equal) or bool(dependent))

    def fits(self, fit: CrossFit) -> Iterator[CrossFit]:
        """Yield the cross-fit of each permutation."""
        return (fit.permuted(order, self.moves_policies) for order in self.orders)

    def deviations(self, given: FloatArray) -> Iterator[FloatArray]:
        """Yield what the deviations of the policies are in each permutation."""
        return (given[order] if self.moves_policies else given for order in self.orders)


def _within(sizes: IndexArray, generator: np.random.Generator) -> IndexArray:
    """Permute groups among those of the same size."""
    moved = np.arange(len(sizes))
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        moved[own] = generator.permutation(own)
    return moved
