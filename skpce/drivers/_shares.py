"""Shares of the variance of y between runs, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from .._checks import BoolArray, FloatArray, IndexArray, Samples
from .._expansion.expansion import Expansion
from .._expansion.problem import (
    FittedProblem,
    RowSums,
    posterior_squares,
    solve_samples,
)
from .._input_laws.tabulated import CategoricalLaw
from .._learned.ridge import KernelBasis, LearnedRidgeSolver, learn_terms
from ._design import (
    deal_folds,
    first_of,
    mean_of,
    numbers_of,
    q2_with_interval,
    units_by_inputs,
    without_means,
)
from ._exchange import Problem, added, rotated

# Draws of the posterior; coordinates times inputs up to which these are made, and
# coordinates of a kernel basis.
_DRAWS, _MOST_DRAWN, _MOST_OF_KERNELS = 120, 80_000, 500

# Outputs with priors of their own; more share one, and each has its own noise.
_MOST_PRIORS = 8

# Runs, and the share of the variance of two of them, from which on shares have no lower
# end: whatever explains these would explain everything.
_MANY_RUNS, _MOST_OF_VARIANCE = 20, 0.7

# Fewest repeated settings of which the means are fitted, and largest number of groups
# whose labels are an input of the fit.
_FEW_SETTINGS, _MOST_LABELS = 20, 100

# Share of the variance that fits to other runs do not predict as they expect, from
# which on lower ends of shares fall by it where runs have several rows.
_MISSED = 0.1

# Largest number of inputs of which shares have intervals, and pairs.
_MOST_INPUTS, _MOST_PAIRED = 400, 60

# Share of the variance below which an input does nothing with others.
_SMALLEST_PAIR = 1e-6

#: Nominal probability of all intervals of an answer together.
CONFIDENCE = 0.9


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the variance of each output, and what the fit leaves of it."""

    first: FloatArray  # shape: (3, n_outputs, n_rows): estimate, low, high
    total: FloatArray  # shape: (3, n_outputs, n_rows)
    pairs: FloatArray  # shape: (n_outputs, n_rows, n_rows): share of both together
    explained: FloatArray  # shape: (n_outputs,), all but what the fit takes for noise
    q2: FloatArray  # shape: (3, n_outputs): of runs that are left out, low, high
    noise: FloatArray  # shape: (n_outputs,), between repeats; NaN without any
    lack_of_fit: FloatArray  # shape: (n_outputs,), p-value; NaN without repeats
    of_few: BoolArray  # shape: (n_outputs,), whether a run or two make the variance
    noise_name: str = "noise between repeats"  # another where the noise was given

    @classmethod
    def nothing(cls, n_outputs: int, n_rows: int) -> Shares:
        """Return shares of outputs of which nothing is known."""
        empty = np.full((3, n_outputs, n_rows), np.nan)
        unknown = np.full((3, n_outputs), np.nan)
        pairs = np.zeros((n_outputs, n_rows, n_rows))
        explained, noise, lack_of_fit = unknown.copy()
        few, ends = np.zeros(n_outputs, dtype=bool), (empty, empty.copy())
        return cls(*ends, pairs, explained, unknown, noise, lack_of_fit, few)

    def put(self, outputs: IndexArray, part: Shares) -> None:
        """Set the shares of some outputs."""
        for name in ("first", "total", "q2"):
            getattr(self, name)[:, outputs] = getattr(part, name)
        for name in ("pairs", "explained", "noise", "lack_of_fit", "of_few"):
            getattr(self, name)[outputs] = getattr(part, name)

    def columns(self) -> dict[str, FloatArray]:
        """Return the shares, each of shape (n_outputs, n_rows), by their names."""
        return {
            kind + end: part
            for kind, parts in (("first", self.first), ("total", self.total))
            for end, part in zip(("", "_low", "_high"), parts, strict=True)
        }


def shares_of(problem: Problem, unit: IndexArray) -> Shares:
    """Fit all inputs, and measure what each of them explains.

    Rows of a unit are left out together. Where those of a setting are not, shares are
    of the settings that were tried. With blocks: of the variance within these.
    """
    problem = _within_blocks(problem)
    tried = problem.design.has_repeats and int(unit.max()) + 1 == len(unit)
    fit = _Fit.of(problem, tried)
    q2 = fit.left_out(unit)
    found, missed = _measured([fit], q2, (1, 3))
    found.pairs[:] = fit.pairs()
    found.noise[:], found.lack_of_fit[:] = fit.repeats()
    if unit.max() + 1 < len(unit):  # what a fit knows of a unit by its other rows
        unknown = np.where(missed > _MISSED, missed, 0.0)[:, np.newaxis]
        for part in (found.first, found.total):
            part[1] = np.maximum(part[1] - unknown, 0.0)
    return found


def shares_along(problem: Problem, q2: FloatArray) -> Shares:
    """Measure shares whose bounds hold for all outputs together.

    Each output has a prior of its own: along a curve the noise and what inputs do grow
    and vanish. Q² has the shape (3, n_outputs).
    """
    problem, fits = _within_blocks(problem), []
    for output in range(q2.shape[1]):
        values = problem.values[:, problem.groups == output]
        one = np.zeros(values.shape[1], dtype=np.int64)
        fits.append(_Fit.of(replace(problem, values=values, groups=one)))
    return _measured(fits, q2, (1, 2, 3))[0]


def _measured(
    fits: Sequence[_Fit],  # each of some outputs, one after another
    q2: FloatArray,  # shape: (3, n_outputs)
    axes: tuple[int, ...],  # along which bounds hold together, see ``_bands``
) -> tuple[Shares, FloatArray]:
    """Return shares, and what fits to other runs miss of each output; (n_outputs,)."""
    found = Shares.nothing(q2.shape[1], len(fits[0].data.members))
    found.q2[:], missed = q2, np.zeros(q2.shape[1])
    generator, drawn, end = np.random.default_rng(2), [], 0
    for fit in fits:
        own = slice(end, end := end + fit.data.n_outputs)
        found.explained[own], missed[own] = fit.explained, fit.missed(q2[:, own])
        found.of_few[own] = of_few_runs(fit.data.values, fit.data.groups)
        found.first[0, own], found.total[0, own] = fit.estimate
        drawn.append(fit.draws(generator))
    first, total = found.first, found.total
    bounds = _bands(drawn, np.stack([first[0], total[0]]), axes)
    first[:], total[:] = bounds[:, 0], bounds[:, 1]
    first[1, found.of_few] = total[1, found.of_few] = 0.0
    total[2] = np.minimum(total[2] + missed[:, np.newaxis], 1.0)
    nothing = q2[0] <= 0  # is predicted of runs left out: then any share may be
    first[1, nothing] = total[1, nothing] = 0.0
    first[2, nothing] = total[2, nothing] = 1.0
    if first.shape[2] == 1 or fits[0].is_additive:
        first[:] = total
    return found, missed


def _within_blocks(problem: Problem) -> Problem:
    blocks = problem.design.blocks
    if blocks is None or not problem.design.within_blocks:
        return problem
    return replace(problem, values=without_means(problem.values, blocks))


def of_few_runs(
    values: FloatArray,  # shape: (n_rows, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
) -> BoolArray:  # shape: (n_outputs,)
    """Whether most of the variance of an output is that of a run or two of many."""
    squares = added(np.square(values - values.mean(axis=0)), groups)
    if len(squares) < _MANY_RUNS:
        return np.zeros(squares.shape[1], dtype=bool)
    largest = np.sort(squares, axis=0)[-2:].sum(axis=0)
    return np.asarray(largest > _MOST_OF_VARIANCE * squares.sum(axis=0))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit of all inputs to outputs, and what follows for the rows of the answer.

    Where groups of runs have several rows, their labels are one more input of the fit,
    behind the others: what a group has of its own, which its inputs do not say, is
    neither taken for their effect nor for noise that differs from row to row.
    """

    data: Problem
    labels: IndexArray  # shape: (n_rows, 1), of the groups; (n_rows, 0) without
    merged: IndexArray | None = None  # shape: (n_rows,), rows whose means were fitted
    tried: bool = False  # whether shares are of the settings that were tried

    @classmethod
    def of(cls, problem: Problem, tried: bool = False) -> _Fit:
        design, n_rows = problem.design, len(problem.values)
        setting, merged = design.setting, None
        labels = np.zeros((n_rows, 0), dtype=np.int64)
        if design.groups is not None:
            groups = numbers_of(design.groups)
            if groups.max() + 1 <= min(_MOST_LABELS, n_rows - 1):
                labels = groups[:, np.newaxis]
        else:  # settings may differ on their own, if most of them are repeated
            counts = np.bincount(setting)
            is_even = counts.min() >= 2 and counts.max() <= 2 * counts.min()
            are_enough = is_even and len(counts) >= _FEW_SETTINGS
            if are_enough and not problem.inputs.are_levels(setting):
                merged = setting
        return cls(problem, labels, merged, tried)

    @cached_property
    def problem(self) -> FittedProblem:
        """The fit to all rows."""
        return self.fitted(slice(None))

    def fitted(self, rows: Any) -> FittedProblem:
        """Fit all inputs to some rows."""
        data, groups, n_outputs = self.data, self.data.groups, self.data.n_outputs
        X = np.hstack([data.inputs.X[rows], self.labels[rows]])
        laws, values = list(data.inputs.laws), data.values[rows]
        if self.labels.size:
            laws.append(CategoricalLaw.learn(X[:, -1], np.ones(len(X))))
        if self.merged is not None:
            some = numbers_of(self.merged[rows])
            X, values = X[first_of(some)], mean_of(values, some)
        samples = Samples(X, values, np.ones(len(X)))
        if n_outputs <= _MOST_PRIORS or values.shape[1] <= len(X):
            order = 1 if data.is_ablation else None
            basis, solver = learn_terms(laws, samples, groups, largest_order=order)
            return solve_samples(solver, basis, samples, groups)
        few = Samples(X, rotated(values, groups), samples.weights)
        basis, solver = learn_terms(laws, few, np.zeros(few.targets.shape[1], np.int64))
        known = solver.scales, solver.noise, np.zeros(n_outputs, np.int64)
        solver = LearnedRidgeSolver(*known, True, False, solver.priors)
        return solve_samples(solver, basis, samples, groups)

    @property
    def is_additive(self) -> bool:
        """Whether no inputs do anything together."""
        solver = self.problem.solver
        assert isinstance(solver, LearnedRidgeSolver)
        return len(solver.priors[0].order_weights) == 1

    @property
    def n_inputs(self) -> int:
        """Number of inputs, without labels of groups."""
        return self.data.inputs.X.shape[1]

    @cached_property
    def at_rows(self) -> FloatArray:  # shape: (n_rows, n_terms)
        """Values of the terms."""
        whole = np.hstack([self.data.inputs.X, self.labels])
        return self.problem.basis.evaluate(whole)

    @cached_property
    def whole(self) -> Expansion:
        """The expansion in inputs and labels."""
        every = Expansion(self.problem.basis, self.problem.coefficients)
        return every.grouped(self.data.groups)

    @cached_property
    def expansion(self) -> Expansion:
        """The expansion in the inputs."""
        if not self.labels.size:
            return self.whole
        return self.whole.marginal(range(self.n_inputs))

    @cached_property
    def variance(self) -> FloatArray:  # shape: (n_outputs,)
        squares = self.data.values.var(axis=0)
        return np.bincount(self.data.groups, squares).astype(np.float64)

    @cached_property
    def noise(self) -> FloatArray:  # shape: (n_outputs,)
        """Variance of the noise, as learned; of a shared prior, as left over."""
        solver, groups = self.problem.solver, self.data.groups
        assert isinstance(solver, LearnedRidgeSolver)
        if len(self.variance) > _MOST_PRIORS:
            left = np.asarray(self.problem.fit.scaled_residuals)
            return self.inside + added(np.square(left), groups).mean(axis=0)
        share = np.array([prior.or_nothing().noise for prior in solver.priors])
        fitted = self.variance - self.inside
        return self.inside + fitted * share[solver.prior_of[: len(self.variance)]]

    @cached_property
    def inside(self) -> FloatArray:  # shape: (n_outputs,)
        """Variance about the means that were fitted."""
        if self.merged is None:
            return np.zeros(self.data.n_outputs)
        left = without_means(self.data.values, self.merged)
        return np.asarray(added(np.square(left), self.data.groups).mean(axis=0))

    @cached_property
    def explained(self) -> FloatArray:  # shape: (n_outputs,)
        """Share of the variance that the fit does not take for noise.

        Q² of runs left out is smaller: it is of fits to fewer runs, and counts what
        these have not learned yet as not explained. Inputs of real trainings explain
        more (``benchmarks.exact_truth``).
        """
        fitted = self.expansion.total_variance
        whole = self.whole.total_variance + self.noise
        return np.asarray(fitted / np.maximum(whole, 1e-300))

    @cached_property
    def estimate(self) -> FloatArray:  # shape: (2, n_outputs, n_rows)
        """Shares of each row of the answer, alone and in all."""
        indices = self.expansion.sobol_indices()
        single = np.stack([indices.first_order, indices.total_order])
        found = np.empty((2, self.expansion.n_groups, len(self.data.members)))
        for place, inputs in enumerate(self.data.members):
            if len(inputs) == 1:
                found[:, :, place] = single[:, :, inputs[0]]
            else:
                found[0, :, place] = self.expansion.closed_sobol_index(inputs)
                found[1, :, place] = self.expansion.total_sobol_index(inputs)
        return np.nan_to_num(found) * self.explained[:, np.newaxis]

    def pairs(self) -> FloatArray:  # shape: (n_outputs, n_rows, n_rows)
        """Return the share that two inputs have together only, of the variance of y."""
        n_rows = len(self.data.members)
        found = np.zeros((self.expansion.n_groups, n_rows, n_rows))
        if not 1 < self.n_inputs <= _MOST_PAIRED:
            return found
        first, total = self.estimate
        acts = (total - first > _SMALLEST_PAIR).any(axis=0)
        acts &= [len(own) == 1 for own in self.data.members]
        for i, j in combinations(np.flatnonzero(acts).tolist(), 2):
            own = self.data.members[i] + self.data.members[j]
            closed = np.nan_to_num(self.expansion.closed_sobol_index(own))
            both = closed * self.explained - first[:, i] - first[:, j]
            found[:, i, j] = found[:, j, i] = np.maximum(both, 0.0)
        return found

    def left_out(self, unit: IndexArray) -> FloatArray:  # shape: (3, n_outputs)
        """Return Q² of runs whose units are left out of fits, and its interval."""
        values, groups = self.data.values, self.data.groups
        order = units_by_inputs(self.data.inputs.X, values, unit)
        fold = deal_folds(order, unit)
        predicted = np.empty_like(values)
        for number in range(int(fold.max()) + 1):
            out = fold == number
            kept = self.fitted(~out)
            unseen = np.hstack([self.data.inputs.X[out], 0 * self.labels[out] - 1])
            predicted[out] = kept.basis.evaluate(unseen) @ kept.coefficients.T
        errors = added(np.square(values - predicted), groups)
        deviations = added(np.square(values - values.mean(axis=0)), groups)
        return np.nan_to_num(q2_with_interval(errors, deviations, order, unit))

    def missed(self, q2: FloatArray) -> FloatArray:  # shapes: (3, n_outputs) -> (n,)
        """Return the share of y that refits miss, and the fit does not expect to miss.

        The errors of leaving out one run hold what was learned fixed. Where those of
        runs that are left out of all learning are larger, there is something that the
        fit does not see, such as an interaction of many inputs, and any input may take
        part in it. Of labels with more triples of levels than there are runs nothing
        says how alike these are: what the fit explains, and refits do not predict, may
        be of many inputs. So it is of settings that earlier results chose, of which
        much was hardly tried. And one run more may show what none of n different
        settings has: 1 / n is added.
        """
        n_rows = len(self.data.values)
        alone = np.nan_to_num(np.asarray(self.problem.fit.loo_residuals))
        expected = self.inside + added(np.square(alone), self.data.groups).mean(axis=0)
        expected += self.whole.total_variance - self.expansion.total_variance
        missed = 1.0 - q2[0] - expected / np.maximum(self.variance, 1e-300)
        laws = self.problem.basis.laws
        of_labels = [len(v.table) for v in laws if isinstance(v, CategoricalLaw)]
        most = sorted(of_labels)[-3:]
        if self.data.design.adaptive or (len(most) > 1 and np.prod(most) > n_rows):
            missed = np.maximum(missed, self.explained - q2[0])
        no_noise = np.isnan(self.repeats()[0])  # known, as of copies
        unseen = np.where(no_noise, 1.0 / self.data.design.n_settings, 0.0)
        return np.clip(missed, 0.0, 1.0) + unseen

    def repeats(self) -> tuple[FloatArray, FloatArray]:
        """Return the share of noise between repeats, and the p-value of lack of fit.

        Of copies, whose outputs are equal, nothing is known.
        """
        values, groups = self.data.values, self.data.groups
        setting = self.data.design.setting
        nothing = np.full(int(groups.max()) + 1, np.nan)
        n_rows, n_settings = len(values), int(setting.max()) + 1
        if not 1 < n_settings < n_rows:
            return nothing, nothing
        within = _within(values, groups, setting)
        misses = values - self.at_rows @ self.problem.coefficients.T
        misses = mean_of(misses, setting)
        between = np.bincount(setting) @ added(np.square(misses), groups) / n_settings
        widths = np.bincount(groups)
        ratio = between / np.maximum(within, 1e-300)
        degrees = n_settings * widths, (n_rows - n_settings) * widths
        found = noise_share(values, groups, setting), stats.f.sf(ratio, *degrees)
        noise, lack_of_fit = np.where(within > 0, found, np.nan)
        # Through the means of two settings any fit goes.
        return noise, lack_of_fit if n_settings > 2 else nothing

    def draws(
        self, generator: np.random.Generator
    ) -> tuple[FloatArray, BoolArray] | None:
        """Return draws of the shares of both kinds, and which of them are not 0.

        Of shapes (n_draws, 2, n_outputs, n_rows) and (2, n_outputs, n_rows). None for
        more inputs and outputs than draws can be made of.
        """
        is_kernel = isinstance(self.problem.basis, KernelBasis)
        n_coordinates = len(self.data.groups)
        is_wide = n_coordinates * self.n_inputs > _MOST_DRAWN
        is_wide |= is_kernel and n_coordinates > _MOST_OF_KERNELS
        if is_wide or self.n_inputs > _MOST_INPUTS:
            return None
        members, n_inputs = self.data.members, self.n_inputs
        groups, n_laws = self.data.groups, len(self.problem.basis.laws)
        rows = RowSums(
            groups=groups, row_of_target=groups, n_rows=int(groups.max()) + 1
        )
        squares, known = posterior_squares(
            self.problem, _DRAWS, generator, rows, sets=members, n_inputs=n_inputs
        )
        kinds = *squares.shape[:2], 2, -1
        drawn = np.moveaxis(squares[:, :, 3 * n_laws : -1].reshape(kinds), 2, 1)
        each = np.moveaxis(known.reshape(len(known), 2, n_laws), 1, 0)
        settled = [each[:, :, list(inputs)].any(axis=2) for inputs in members]
        # The variance of the noise is drawn too: a scaled inverse chi-square.
        n_fitted = len(self.problem.fit.scaled_residuals)
        free = max(n_fitted, 8) * 0.75
        factor = free / generator.chisquare(free, size=(len(squares), 1))
        # So are the variances of what each input does, over settings drawn too.
        vary = self._spread_of_squares()  # (n_outputs, n_inputs)
        shape = 1.0 / np.maximum(vary, 1e-6)
        moved = generator.gamma(shape, 1.0 / shape, size=(len(squares), *vary.shape))
        every = squares[:, :, : 2 * n_laws].reshape(kinds)[..., :n_inputs]
        shift = (every.mean(axis=2) * (moved - 1.0)).sum(axis=2)
        of_rows = [moved[:, :, list(inputs)].mean(axis=2) for inputs in members]
        drawn = drawn * np.stack(of_rows, axis=2)[:, np.newaxis]
        whole_drawn = np.maximum(squares[:, :, -1] + shift, 0.0) + self.noise * factor
        shares = drawn / np.maximum(whole_drawn, 1e-300)[:, np.newaxis, :, np.newaxis]
        return np.clip(shares, 0.0, 1.0), np.stack(settled, axis=2)

    def _spread_of_squares(self) -> FloatArray:  # shape: (n_outputs, n_inputs)
        """Return relative variances of the variance of all terms of an input.

        Of the settings, which are a sample: the variance of what an input does differs
        between samples by its kurtosis. Of terms that are not listed: that of a normal
        one.
        """
        problem, n_settings = self.problem, self.data.design.n_settings
        shape = len(self.variance), self.n_inputs
        if self.tried:
            return np.zeros(shape)
        if isinstance(problem.basis, KernelBasis):
            return np.full(shape, 2.0 / n_settings)
        active = problem.basis.multi_indices > 0
        found = np.zeros(shape)
        for place, some in enumerate(active.T[: self.n_inputs]):
            if some.any():
                effect = self.at_rows[:, some] @ problem.coefficients[:, some].T
                effect -= effect.mean(axis=0)
                squares = added(np.square(effect), self.data.groups)
                mean = squares.mean(axis=0)
                scale = np.where(mean > 0, mean, 1.0)
                found[:, place] = squares.var(axis=0) / np.square(scale) / n_settings
        return found


def noise_share(
    values: FloatArray,  # shape: (n_rows, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
    setting: IndexArray,  # shape: (n_rows,)
) -> FloatArray:  # shape: (n_outputs,)
    r"""Return the share of the noise between repeats in the variance of an output.

    :math:`W / (W + \max(B, 0))` with the components of a one-way analysis of variance
    for unequal groups, as in :func:`skpce.inspection.variance_decomposition`.
    """
    counts = np.bincount(setting).astype(np.float64)
    n_rows, n_settings = len(values), len(counts)
    centred = values - values.mean(axis=0)
    within = _within(centred, groups, setting)
    if n_settings == 2:
        whole = added(np.square(centred), groups).sum(axis=0)
        return np.asarray(within * (n_rows - 2) / np.maximum(whole, 1e-300))
    means = mean_of(centred, setting)
    between = counts @ added(np.square(means), groups) / (n_settings - 1)
    typical = (n_rows - np.square(counts).sum() / n_rows) / (n_settings - 1)
    between = np.maximum((between - within) / typical, 0.0)
    whole = within + between
    return np.asarray(np.where(whole > 0, within / np.where(whole > 0, whole, 1), 0))


def _within(
    values: FloatArray, groups: IndexArray, setting: IndexArray
) -> FloatArray:  # shape: (n_outputs,)
    """Return the variance between repeats of a setting."""
    inside = without_means(values, setting)
    freedom = len(values) - int(setting.max()) - 1
    return np.asarray(added(np.square(inside), groups).sum(axis=0) / freedom)


def _bands(
    drawn: Sequence[tuple[FloatArray, BoolArray] | None],  # see ``_Fit.draws``
    estimate: FloatArray,  # shape: (2, n_outputs, n_rows)
    axes: tuple[int, ...],
) -> FloatArray:  # shape: (3, 2, n_outputs, n_rows)
    """Return bounds in which all shares of an output lie together, in 90 % of draws.

    The share of an input alone is the median of its draws: coefficients of single
    inputs are shrunk less than those of interactions, so that the fit itself gives
    inputs alone too much where there are few runs (``benchmarks.exact_truth``).

    Along other axes, such as that of the outputs too, all shares of these.
    """
    known = [one for one in drawn if one is not None]
    if len(known) < len(drawn):
        return np.stack([estimate, np.zeros_like(estimate), np.ones_like(estimate)])
    shares, settled = (np.concatenate(one, axis=-2) for one in zip(*known, strict=True))
    angle = np.arcsin(np.sqrt(shares))
    middle = np.median(angle, axis=0)
    ends = np.quantile(angle, (0.05, 0.95), axis=0)
    below, above = np.abs(ends - middle) / 1.645
    deviation = np.where(angle < middle, below, above)
    score = np.abs(angle - middle) / np.maximum(deviation, 1e-9)
    score = np.where(deviation > 1e-6, score, 0.0)
    largest = score.max(axis=axes, keepdims=True)
    reach = np.quantile(largest, CONFIDENCE, axis=0)
    alone = np.minimum(np.square(np.sin(middle[0])), estimate[1])
    estimate = np.stack([alone, estimate[1]])
    low = np.square(np.sin(np.clip(middle - reach * below, 0.0, np.pi / 2)))
    high = np.square(np.sin(np.clip(middle + reach * above, 0.0, np.pi / 2)))
    low = np.where(settled, np.minimum(low, estimate), 0.0)
    return np.stack([estimate, low, np.maximum(high, estimate)])
