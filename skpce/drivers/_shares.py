"""Shares of the variance of y between runs, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .._checks import FloatArray, IndexArray, Samples
from .._expansion.expansion import Expansion
from .._expansion.intervals import RowSums, posterior_squares
from .._expansion.problem import FittedProblem, solve_samples
from .._input_laws import InputLaw
from .._learned.ridge import LearnedRidgeSolver, learn_terms
from ._terms import mean_of

# Draws of the posterior, folds, and draws of the bootstrap of Q².
_DRAWS, _FOLDS, _RESAMPLES = 200, 5, 200

# Largest number of inputs of which shares have intervals, and pairs.
_MOST_INPUTS, _MOST_PAIRED = 400, 60

#: Nominal probability of all intervals of an answer together.
CONFIDENCE = 0.9


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the variance of each output, and what the fit leaves of it."""

    first: FloatArray  # shape: (3, n_outputs, n_rows): estimate, low, high
    total: FloatArray  # shape: (3, n_outputs, n_rows)
    pairs: FloatArray  # shape: (n_outputs, n_rows, n_rows): share of both together
    q2: FloatArray  # shape: (3, n_outputs): of runs that are left out, low, high
    noise: FloatArray  # shape: (n_outputs,), between repeats; NaN without any
    lack_of_fit: FloatArray  # shape: (n_outputs,), p-value; NaN without repeats

    @classmethod
    def nothing(cls, n_outputs: int, n_rows: int) -> Shares:
        """Return shares of outputs of which nothing is known."""
        empty = np.full((3, n_outputs, n_rows), np.nan)
        unknown = np.full((3, n_outputs), np.nan)
        pairs = np.zeros((n_outputs, n_rows, n_rows))
        return cls(empty, empty.copy(), pairs, unknown, *unknown[:2].copy())

    def put(self, outputs: IndexArray, part: Shares) -> None:
        """Set the shares of some outputs."""
        for name in ("first", "total", "q2"):
            getattr(self, name)[:, outputs] = getattr(part, name)
        for name in ("pairs", "noise", "lack_of_fit"):
            getattr(self, name)[outputs] = getattr(part, name)


def shares_of(
    X: FloatArray,
    laws: Sequence[InputLaw],
    values: FloatArray,  # shape: (n_rows, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,), numbers of the outputs
    unit: IndexArray,  # shape: (n_rows,), rows that are left out together
    setting: IndexArray,  # shape: (n_rows,)
    members: Sequence[tuple[int, ...]],  # inputs of each row of the answer
) -> Shares:
    """Fit all inputs, and measure what each of them explains."""
    centred = values - values.mean(axis=0)
    variance = np.bincount(groups, np.square(centred).mean(axis=0)).astype(np.float64)
    problem = _fitted(X, laws, values, groups)
    q2 = _left_out(problem, X, laws, values, groups, unit)
    noise, lack_of_fit = _repeats(problem, values, groups, setting, variance)
    expansion = Expansion(problem.basis, problem.coefficients)
    expansion = expansion.grouped(groups)
    first, total = _simultaneous(problem, expansion, groups, members, q2[0], variance)
    pairs = _pairs(expansion, members, q2[0])
    return Shares(first, total, pairs, q2, noise, lack_of_fit)


def _fitted(
    X: FloatArray, laws: Sequence[InputLaw], values: FloatArray, groups: IndexArray
) -> FittedProblem:
    samples = Samples(X, values, np.ones(len(X)))
    basis, solver = learn_terms(laws, samples, groups)
    return solve_samples(solver, basis, samples, groups)


def _left_out(
    problem: FittedProblem,
    X: FloatArray,
    laws: Sequence[InputLaw],
    values: FloatArray,
    groups: IndexArray,
    unit: IndexArray,
) -> FloatArray:  # shape: (3, n_outputs)
    """Return Q² of runs whose units are left out of fits, and its interval.

    Units are sorted by their outputs before they are dealt to the folds, so that each
    fold has runs from all over, whatever the order of the rows.
    """
    n_units = int(unit.max()) + 1
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.bincount(groups, np.square(centred).sum(axis=0)))[groups]
    scaled = centred / np.where(scale > 0, scale, 1.0)
    means = mean_of(scaled, unit)
    order = np.argsort(means @ _direction(means), kind="stable")
    fold = np.empty(n_units, dtype=np.int64)
    fold[order] = _dealt(n_units)
    predicted = np.empty_like(values)
    for number in range(int(fold.max()) + 1):
        out = fold[unit] == number
        kept = _fitted(X[~out], laws, values[~out], groups)
        predicted[out] = kept.basis.evaluate(X[out]) @ kept.coefficients.T
    errors = np.square(values - predicted)
    by_output = np.zeros((len(values), int(groups.max()) + 1))
    deviations = np.zeros_like(by_output)
    for label in range(by_output.shape[1]):
        part = groups == label
        by_output[:, label] = errors[:, part].sum(axis=1)
        deviations[:, label] = np.square(centred[:, part]).sum(axis=1)
    error_of, deviation_of = (_sum_of(table, unit) for table in (by_output, deviations))
    whole = np.maximum(deviation_of.sum(axis=0), 1e-300)
    q2 = 1.0 - error_of.sum(axis=0) / whole
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(n_units), size=_RESAMPLES)[
        :, np.argsort(order)
    ]
    drawn = 1.0 - (weights @ error_of) / np.maximum(weights @ deviation_of, 1e-300)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return np.stack([q2, np.minimum(low, q2), np.maximum(high, q2)])


def _dealt(n_units: int) -> IndexArray:
    """Return folds of sorted units: neighbours are in different ones."""
    folds = min(_FOLDS, n_units)
    generator = np.random.default_rng(1)
    rounds = -(-n_units // folds)
    dealt = [generator.permutation(folds) for _ in range(rounds)]
    return np.concatenate(dealt)[:n_units]


def _direction(values: FloatArray) -> FloatArray:
    """Return the direction of most variance, whatever the order of the rows."""
    _, _, vectors = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    leading = vectors[0]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))


def _sum_of(values: FloatArray, unit: IndexArray) -> FloatArray:
    found = np.zeros((int(unit.max()) + 1, values.shape[1]))
    np.add.at(found, unit, values)
    return found


def _repeats(
    problem: FittedProblem,
    values: FloatArray,
    groups: IndexArray,
    setting: IndexArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the share of the noise between repeats, and the p-value of lack of fit."""
    n_outputs = len(variance)
    nothing = np.full(n_outputs, np.nan)
    n_rows, n_settings = len(values), int(setting.max()) + 1
    if n_settings >= n_rows or n_settings < 3:
        return nothing, nothing
    means = mean_of(values, setting)
    squares = np.square(values - means[setting]).sum(axis=0)
    within = np.bincount(groups, squares) / (n_rows - n_settings)
    assert problem.samples is not None
    fitted = problem.basis.evaluate(problem.samples.inputs) @ problem.coefficients.T
    misses = mean_of(values - fitted, setting)
    counts = np.bincount(setting)
    between = np.bincount(groups, counts @ np.square(misses)) / n_settings
    widths = np.bincount(groups)
    ratio = between / np.maximum(within, 1e-300)
    degrees = n_settings * widths, (n_rows - n_settings) * widths
    p_value = stats.f.sf(ratio, *degrees)
    share = np.clip(within / np.maximum(variance, 1e-300), 0.0, 1.0)
    return share, np.asarray(p_value)


def _simultaneous(
    problem: FittedProblem,
    expansion: Expansion,
    groups: IndexArray,
    members: Sequence[tuple[int, ...]],
    q2: FloatArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return shares with bounds that hold together, of both kinds."""
    n_outputs, n_rows = len(variance), len(members)
    explained = np.clip(q2, 0.0, 1.0)
    estimate = _variances(expansion, members) * explained[:, np.newaxis]
    n_inputs = len(problem.basis.laws)
    if n_inputs > _MOST_INPUTS:
        low, high = np.zeros_like(estimate), np.ones_like(estimate)
        found = np.stack([estimate, low, high], axis=1)
        return found[0], found[1]
    rows = RowSums(add=lambda table: _added(table, groups), largest=_largest(groups))
    generator = np.random.default_rng(2)
    squares, known = posterior_squares(problem, _DRAWS, generator, rows)
    drawn = np.empty((len(squares), 2, n_outputs, n_rows))
    settled = np.empty((2, n_outputs, n_rows), dtype=bool)
    for place, inputs in enumerate(members):
        at = np.array(inputs)
        drawn[:, 0, :, place] = squares[:, :, at].sum(axis=2)
        drawn[:, 1, :, place] = squares[:, :, n_inputs + at].sum(axis=2)
        settled[0, :, place] = known[:, at].any(axis=1)
        settled[1, :, place] = known[:, n_inputs + at].any(axis=1)
    assert isinstance(problem.solver, LearnedRidgeSolver)
    priors = problem.solver.priors
    share = np.array([prior.or_nothing().noise for prior in priors])
    noise = variance * share[problem.solver.prior_of[: len(variance)]]
    # The variance of the noise is drawn too: a scaled inverse chi-square.
    free = max(len(problem.samples.inputs) if problem.samples else 0, 8) * 0.75
    factor = free / generator.chisquare(free, size=(len(squares), 1))
    whole_drawn = squares[:, :, -1] + noise * factor
    shares = drawn / np.maximum(whole_drawn, 1e-300)[:, np.newaxis, :, np.newaxis]
    bounds = _bands(np.clip(shares, 0.0, 1.0), estimate)
    bounds[1][~settled] = 0.0
    return bounds[:, 0], bounds[:, 1]


def _bands(
    shares: FloatArray,  # shape: (n_draws, 2, n_outputs, n_rows)
    estimate: FloatArray,  # shape: (2, n_outputs, n_rows)
) -> FloatArray:  # shape: (3, 2, n_outputs, n_rows)
    """Return bounds in which all shares of an output lie together, in 90 % of draws."""
    angle = np.arcsin(np.sqrt(shares))
    middle = np.median(angle, axis=0)
    below, above = (
        np.abs(np.quantile(angle, q, axis=0) - middle) / 1.645 for q in (0.05, 0.95)
    )
    deviation = np.where(angle < middle, below, above)
    score = np.abs(angle - middle) / np.maximum(deviation, 1e-9)
    score = np.where(deviation > 1e-6, score, 0.0)
    largest = score.max(axis=(1, 3))  # (n_draws, n_outputs)
    reach = np.quantile(largest, CONFIDENCE, axis=0)[np.newaxis, :, np.newaxis]
    low = np.square(np.sin(np.clip(middle - reach * below, 0.0, np.pi / 2)))
    high = np.square(np.sin(np.clip(middle + reach * above, 0.0, np.pi / 2)))
    return np.stack([estimate, np.minimum(low, estimate), np.maximum(high, estimate)])


def _added(table: FloatArray, groups: IndexArray) -> FloatArray:
    """Add up the last axis by output."""
    found = np.zeros((*table.shape[:-1], int(groups.max()) + 1))
    np.add.at(np.moveaxis(found, -1, 0), groups, np.moveaxis(table, -1, 0))
    return found


def _largest(groups: IndexArray):  # type: ignore[no-untyped-def]
    def largest(table: FloatArray) -> FloatArray:
        found = np.zeros((*table.shape[:-1], int(groups.max()) + 1))
        np.maximum.at(np.moveaxis(found, -1, 0), groups, np.moveaxis(table, -1, 0))
        return found

    return largest


def _variances(
    expansion: Expansion, members: Sequence[tuple[int, ...]]
) -> FloatArray:  # shape: (2, n_outputs, n_rows)
    """Return shares of the expansion, of each row of the answer alone and in all."""
    indices = expansion.sobol_indices()
    single = np.stack([indices.first_order, indices.total_order])
    found = np.empty((2, expansion.n_groups, len(members)))
    for place, inputs in enumerate(members):
        if len(inputs) == 1:
            found[:, :, place] = single[:, :, inputs[0]]
        else:
            found[0, :, place] = expansion.closed_sobol_index(inputs)
            found[1, :, place] = expansion.total_sobol_index(inputs)
    return np.nan_to_num(found)


def _pairs(
    expansion: Expansion, members: Sequence[tuple[int, ...]], q2: FloatArray
) -> FloatArray:  # shape: (n_outputs, n_rows, n_rows)
    """Return the share that two inputs have together only, of the variance of y."""
    found = np.zeros((expansion.n_groups, len(members), len(members)))
    n_inputs = expansion.n_inputs
    if not 1 < n_inputs <= _MOST_PAIRED:
        return found
    row_of = {own[0]: row for row, own in enumerate(members) if len(own) == 1}
    indices = expansion.interaction_indices(2)
    for place, subset in enumerate(indices.subsets):
        if len(subset) == 2 and set(subset) <= set(row_of):
            i, j = (row_of[one] for one in subset)
            values = np.nan_to_num(indices.values[:, place]) * np.clip(q2, 0.0, 1.0)
            found[:, i, j] = found[:, j, i] = values
    return found
