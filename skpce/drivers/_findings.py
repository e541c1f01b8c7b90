"""The drivers of an ensemble: a state for each output and input, and its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._checks import BoolArray, FloatArray, IndexArray
from .._compositions.outputs import Outputs
from ._cautions import Caution, Seen, find_cautions
from ._dependence import find_series, with_copies
from ._design import (
    Design,
    find_constraint,
    first_of,
    is_complete,
    levels_of,
    standardized,
)
from ._exchange import OF_PAIRS, Inputs, Problem, Tested, holm
from ._shares import Shares, shares_of

#: Family-wise error of all that an answer claims to drive, and what of it is kept for
#: pairs and for the spread.
LEVEL, _OF_SPREAD = 0.05, 0.002

# Share of the variance that may be left open where an input is said not to matter.
_LEFT_OPEN = 0.15

# Times as many runs that settle nothing are not worth a number.
_MANY_TIMES = 20

# A share of an input that drives, from which on it is not called small.
_SMALL = 0.05


class State(StrEnum):
    """What is known of an input."""

    DRIVES = "drives"
    SPREAD = "acts on the spread"
    NOTHING = "does not matter"
    OPEN = "not settled"


@dataclass(frozen=True, eq=False)
class Findings:
    """States, shares and evidence, as arrays; (n_outputs, n_rows) if nothing else."""

    states: NDArray[Any]  # of State
    p_values: FloatArray  # Holm
    q_values: FloatArray  # Benjamini and Hochberg
    shares: Shares
    more_runs: FloatArray  # NaN where settled, inf where too many
    tested: Tested
    pair_p_values: dict[tuple[int, int, int], float]  # output and two rows
    cautions: tuple[Caution, ...]
    n_members: IndexArray  # shape: (n_outputs,)
    design: Design  # with what was found of the members
    members: Sequence[tuple[int, ...]] = ()  # inputs of each row of the answer

    def __str__(self) -> str:
        found = self.states.ravel().tolist()
        counts = {state: found.count(state) for state in dict.fromkeys(found)}
        return ", ".join(f"{count} {state}" for state, count in counts.items()) + "."


# Share of a pair that was named, below which the fit has missed it; and of one below
# which an input that nothing else names is exchanged.
_NO_PAIR, _SMALL_PAIR = 1e-4, 0.01


def find_drivers(
    X: FloatArray,
    is_category: BoolArray,
    laws: Sequence[Any] | None,
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
    outputs: Outputs,
    design: Design,
    members: Sequence[tuple[int, ...]],
    names: Sequence[str],  # of the rows of the answer
    negligible: float,
    n_choices: int = 1,  # sets of inputs from which these were chosen by the outputs
    may_be_copies: bool = True,  # whether runs of equal inputs repeat a setting
) -> Findings:
    """Test every input for every output, and measure the shares."""
    coordinates = _upright(coordinates)
    as_given = members
    order, members = order_of_inputs(X, coordinates, members, names)
    X, is_category = X[:, order], is_category[order]
    laws = None if laws is None else [laws[k] for k in order]
    n_settings = design.n_settings
    design = with_copies(design, X) if may_be_copies else design
    n_copies = n_settings - design.n_settings
    X = X[first_of(design.setting)][design.setting]
    if design.may_be_series:
        series = find_series(X, is_category, laws, coordinates)
        design = replace(design, series=series)
    tied, shape = find_constraint(X), (outputs.n_groups, len(members))
    tested, shares = Tested.nothing(*shape), Shares.nothing(*shape)
    given = X, coordinates, outputs, design, names, members, tied, n_copies
    seen = Seen(*given, tested, shares, drives=np.zeros(shape, dtype=bool))
    counts, parts = _gather(seen, is_category, laws, n_choices)
    location = np.minimum(tested.location * n_choices, 1.0)
    spread = np.minimum(tested.spread * n_choices, 1.0)
    told_apart = _told_apart(seen)
    location[~told_apart] = 1.0
    level = LEVEL - OF_PAIRS - _OF_SPREAD
    adjusted = np.minimum(holm(location) * (LEVEL / level), 1.0)
    drives = seen.drives
    drives[:] = adjusted <= LEVEL
    pairs: dict[tuple[int, int, int], float] = {}
    on_spread = (holm(spread) <= _OF_SPREAD) & ~drives & told_apart
    if design.series:
        drives[:] = on_spread[:] = False
    else:
        pairs = _named_pairs(seen, parts, n_choices)
        _take_named(seen, pairs, adjusted, told_apart)
    alike = _alike(parts, drives, told_apart)
    of_blocks = design.inputs_of_blocks(X, members)
    for part in (shares.first, shares.total):  # NaN of no variance stays
        part[..., of_blocks] *= 0.0
        part[2][:, of_blocks] += 1.0
        part[1, ~drives] = 0.0  # as of all that no test has let through
    untold = ~told_apart | _untold(seen, of_blocks, alike)
    kinds = drives, on_spread & ~drives, untold
    states, more = _states(seen, kinds, location, negligible, counts[:, np.newaxis])
    q_values = stats.false_discovery_control(location.ravel()).reshape(shape)
    return Findings(
        states=states,
        p_values=adjusted,
        q_values=np.minimum(q_values, adjusted),
        shares=shares,
        more_runs=more,
        tested=tested,
        pair_p_values=pairs,
        cautions=find_cautions(replace(seen, alike=alike)),
        n_members=counts,
        design=design,
        members=as_given,
    )


def _told_apart(seen: Seen) -> BoolArray:  # shape: (n_outputs, n_rows)
    """Return what is told from the other inputs, for each output."""
    found, tied = ~seen.tested.tied_to.astype(bool), set(seen.tied)
    for row, own in enumerate(seen.members):
        if tied & set(own) and not tied <= set(own):  # with all of them it is free
            found[:, row] = False
    return found


def _take_named(
    seen: Seen,
    pairs: Mapping[tuple[int, int, int], float],
    p_values: FloatArray,  # shape: (n_outputs, n_rows)
    told_apart: BoolArray,
) -> None:
    """Let the inputs of a pair that was named drive, with the p-value of the pair."""
    tested, shares = seen.tested, seen.shares
    for (output, *pair), p_value in pairs.items():
        new = told_apart[output, pair] & ~seen.drives[output, pair]
        both = list(compress(pair, new))
        seen.drives[output, both] = True
        if shares.pairs[output, *pair] < _NO_PAIR:
            shares.total[2, output, pair] = 1.0
        p_values[output, both] = p_value * LEVEL / OF_PAIRS
        if "tried" in tested.scope[output, pair]:
            tested.scope[output, both] = "tried"


def _untold(
    seen: Seen, of_blocks: Sequence[int], alike: Sequence[tuple[int, int, int]]
) -> BoolArray:  # shape: (n_outputs, n_rows)
    """Return of what it cannot be said that it does not matter."""
    found = seen.tested.why_not.astype(bool)
    found[:, of_blocks] = True
    for output, *both in alike:
        found[output, both] = True
    for output, ties in enumerate(seen.tested.tied_to):
        others = list(set().union(*ties))
        for row, own in enumerate(seen.members):
            found[output, row] |= np.isin(own, others).any()
    return found


def _upright(coordinates: FloatArray) -> FloatArray:
    """Turn coordinates so that their longer tail is above: a score is minus a loss."""
    count = np.maximum(np.count_nonzero(~np.isnan(coordinates), axis=0), 1)
    mean = np.nan_to_num(coordinates).sum(axis=0) / count
    centred = np.nan_to_num(coordinates - mean)
    size = np.maximum(np.abs(centred).max(axis=0, initial=0.0), 1e-300)
    is_down = ((centred / size) ** 3).sum(axis=0).round(9) < 0
    return np.where(is_down, -coordinates, coordinates)


def order_of_inputs(
    X: FloatArray,
    coordinates: FloatArray,
    members: Sequence[tuple[int, ...]],
    names: Sequence[str],
) -> tuple[IndexArray, list[tuple[int, ...]]]:
    """Sort inputs by what no order of the columns, and no unit, changes.

    Returns their order, and the members of each row of the answer in it.
    """
    standard, values = standardized(X), standardized(np.nan_to_num(coordinates))
    shape = [np.abs(np.mean(standard**power, axis=0)).round(8) for power in (3, 4)]
    strength = np.abs(standard.T @ values / len(X)).sum(axis=1).round(8)
    named = [""] * X.shape[1]
    for name, inputs in zip(names, members, strict=True):
        for i in inputs:
            named[i] = name
    order = np.lexsort((np.array(named), *shape, strength, levels_of(X)))
    place = np.argsort(order)
    return order, [tuple(place[list(inputs)].tolist()) for inputs in members]


_Parts = Sequence[tuple[IndexArray, Problem]]


def _gather(
    seen: Seen, is_category: BoolArray, laws: Sequence[Any] | None, n_choices: int
) -> tuple[IndexArray, _Parts]:
    """Test and measure, output by output or those with the same members at once.

    Returns the members of each output; the others are 0. And the outputs that the same
    runs have, with their problem.
    """
    X, coordinates, outputs = seen.X, seen.coordinates, seen.outputs
    shares, n_rows = seen.shares, len(seen.members)
    patterns = _patterns(coordinates, outputs)
    n_tested = sum(len(own) for _, own, _ in patterns)
    counts, parts = np.zeros(outputs.n_groups, dtype=np.int64), []
    for rows, own_outputs, columns in patterns:
        order = rows[canonical_order(X[rows], coordinates[rows][:, columns])]
        counts[own_outputs] = len(order)
        if not n_rows:
            shares.q2[:, own_outputs] = shares.explained[own_outputs] = 0.0
            continue
        values = coordinates[order][:, columns]
        group_of = outputs.group_of_coordinate[columns]
        groups = np.cumsum(np.diff(group_of, prepend=group_of[:1]) != 0)
        inputs = Inputs.of(X[order], is_category, laws)
        own, members = seen.design.of_rows(order), tuple(seen.members)
        n_hypotheses = 2 * n_tested * n_rows * n_choices
        problem = Problem(inputs, values, groups, own, members, n_hypotheses)
        parts.append((own_outputs, problem))
        # Labels of which all combinations were tried: no more settings exist.
        are_labels = own.has_repeats and inputs.is_category.all()
        all_tried = are_labels and is_complete(inputs.X)
        for row in range(n_rows):
            found = problem.test(row)
            for output, places in enumerate(found.resting):
                found.resting[output] = tuple(order[list(places)].tolist())
            if all_tried:
                found.scope[:] = "tried"
            seen.tested.put(own_outputs, row, found)
        # Of few settings only what is so at these can be known: runs are left out.
        at_tried = (seen.tested.scope[own_outputs[0]] == "tried").all()
        unit = np.arange(len(order)) if at_tried else own.units
        shares.put(own_outputs, shares_of(problem, unit))
    return counts, parts


def _named_pairs(
    seen: Seen, parts: _Parts, n_choices: int
) -> dict[tuple[int, int, int], float]:
    """Test the pairs of inputs that drive, each from both sides."""
    asked: dict[tuple[int, int, int], float] = {}
    drives = seen.drives
    for own, problem in parts:
        for i in np.flatnonzero(drives[own].any(axis=0)).tolist():
            partners = [j for j in range(drives.shape[1]) if j != i]
            if not partners:
                continue
            setting = problem.setting(problem.members[i])
            assert setting is not None  # of an input that drives
            values = setting.pairs([problem.members[j] for j in partners])
            for j, by_output in zip(partners, values, strict=True):
                back = None
                if by_output.min() <= OF_PAIRS:
                    back = problem.setting(problem.members[j])
                    if back is None or back.is_left:
                        # It may stand for an input that it is correlated with.
                        given = [problem.members[i]]
                        other = 1.0 if back is None else back.pairs(given)[0]
                        np.maximum(by_output, other, out=by_output)
                # Of noise far below what a driver does tails say little: an input of
                # which the fit too sees little is exchanged.
                some = (by_output <= OF_PAIRS) & drives[own, i] & ~drives[own, j]
                some &= seen.shares.pairs[own, i, j] < _SMALL_PAIR
                if back is not None and some.any():
                    again = back.only(np.flatnonzero(some)).pairs_by_exchange(
                        problem.members[i], problem.n_draws
                    )
                    by_output[some] = np.maximum(by_output[some], again)
                for output, p_value in zip(own.tolist(), by_output, strict=True):
                    if drives[output, i]:
                        key = output, min(i, j), max(i, j)
                        asked[key] = max(asked.get(key, 0.0), float(p_value))
    adjusted = holm(np.array(list(asked.values())) * n_choices).tolist()
    found = zip(asked, adjusted, strict=True)
    return {key: p_value for key, p_value in found if p_value <= OF_PAIRS}


def _alike(
    parts: _Parts, drives: BoolArray, told_apart: BoolArray
) -> list[tuple[int, int, int]]:
    """Return outputs and two inputs of which one drives, nobody can say which."""
    found = []
    for own, problem in parts:
        level = LEVEL / problem.n_hypotheses
        quiet = ~drives[own] & told_apart[own]
        for i, j in combinations(range(drives.shape[1]), 2):
            both = quiet[:, i] & quiet[:, j]
            if both.any():
                both &= problem.alike_p_values(i, j) <= level
                found += [(output, i, j) for output in own[both].tolist()]
    return found


def _states(
    seen: Seen,
    kinds: Sequence[BoolArray],  # drive, act on the spread, cannot be told apart
    p_values: FloatArray,
    negligible: float,
    counts: IndexArray,  # shape: (n_outputs, 1)
) -> tuple[NDArray[Any], FloatArray]:
    """Return states, and how many more runs would settle those that are open."""
    drives, on_spread, tied = kinds
    shares, high = seen.shares, seen.shares.total[2]
    left_open = 1.0 - shares.q2[0] - np.nan_to_num(shares.noise)
    may_be_nothing = (left_open <= _LEFT_OPEN)[:, np.newaxis] & ~tied
    nothing = may_be_nothing & (high < negligible) & (not seen.design.series)
    kind = np.select([drives, on_spread, nothing], [0, 1, 2], 3)
    states = np.array(list(State), dtype=object)[kind]  # in this order
    needed = stats.norm.isf(LEVEL / (2 * max(drives.size, 1)))
    score = stats.norm.isf(np.minimum(p_values, 1.0) / 2)
    # Of an input that may well do nothing its score says nothing of more runs.
    times = np.square(needed / np.where(p_values <= LEVEL, score, 1e-9))
    times = np.where(may_be_nothing, np.minimum(times, high / negligible), times)
    known = (times <= _MANY_TIMES) & ~tied & (counts > 0)
    tens = np.ceil((times - 1.0) * counts / 10.0)
    more = np.where(known, 10.0 * tens, np.inf)
    return states, np.where(kind == 3, more, np.nan)


def _patterns(
    coordinates: FloatArray, outputs: Outputs
) -> list[tuple[IndexArray, IndexArray, IndexArray]]:
    """Return members, outputs that they have, and the columns of these.

    An output without coordinates, or without variance, has none.
    """
    groups, every = outputs.group_of_coordinate, np.arange(outputs.n_groups)
    missing = np.isnan(coordinates)
    has = np.stack([~missing[:, groups == g].any(axis=1) for g in every], axis=1)
    patterns, part = np.unique(has, axis=1, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(pattern)
        own = np.flatnonzero(part.ravel() == number)
        spread = outputs.spread(np.where(missing, 0.0, coordinates)[rows])
        own = own[np.isin(own, groups[spread > 0])]
        if len(own) and len(rows):
            columns = np.flatnonzero(np.isin(groups, own))
            columns = columns[np.argsort(groups[columns], kind="stable")]
            starts = np.flatnonzero(np.diff(groups[columns], prepend=-1))
            # Sorted by what no order of outputs, and no unit, changes; then by name.
            values = coordinates[rows][:, columns]
            squares = np.square(values - values.mean(axis=0))
            sizes = np.add.reduceat(squares, starts, axis=1)
            sizes = sizes / sizes.mean(axis=0)
            shape = [-np.mean(sizes**power, axis=0).round(8) for power in (2, 3)]
            order = np.lexsort(([str(outputs.names[g]) for g in own], *shape))
            of_each = np.split(columns, starts[1:])
            columns = np.concatenate([of_each[k] for k in order])
            found.append((rows, own[order], columns))
    return found


def canonical_order(X: FloatArray, values: FloatArray) -> IndexArray:
    """Sort rows by what no order of rows, inputs or outputs changes."""
    standard = standardized(values)
    sizes = np.square(standard).sum(axis=1)
    spread = np.abs(X - X.mean(axis=0))
    largest = spread.max(axis=0)
    distance = np.square(spread / np.where(largest > 0, largest, 1.0)).sum(axis=1)
    sums = standard.sum(axis=1)
    # Rows of a grid tie in all of these: then inputs decide, in the direction of y.
    along = standardized(X)
    along = along * np.where((sums @ along).round(9) < 0, -1.0, 1.0)
    keys = *along.T, distance, sizes, sums
    return np.lexsort(np.round(keys, 9))


# Figures in words


def percent(share: float) -> str:
    """Return a share in percent, for a table."""
    return "<1 %" if 0.0 < share < 0.005 else f"{100.0 * share:.0f} %"


def percent_in_words(share: float) -> str:
    """Return a share in percent, for a sentence: none is nothing, and none is all."""
    return "less than 1 %" if share < 0.005 else f"{100.0 * share:.0f} %"


def between(low: float, high: float) -> str:
    """Return an interval in percent; ends that round to one number have a decimal."""
    if high < 0.005:
        return "<1 %"
    for digits in (0, 1):
        first, last = (f"{100.0 * end:.{digits}f}" for end in (low, high))
        if first != last:
            return f"{first} to {last} %"
    return f"{100.0 * low:.0f} %"


def parts_of(findings: Findings, output: int) -> list[tuple[str, float]]:
    """Return what is left of the variance beside inputs alone, with its names.

    Shares of inputs alone, of several together, what the fit does not predict, and
    the noise between repeats are all of the variance.
    """
    left, noise, together = rest_of(findings, output)
    parts = [("several together", together)] if together >= 0.005 else []
    parts.append(("not predicted", left))
    return parts if np.isnan(noise) else [*parts, (findings.shares.noise_name, noise)]


def rest_of(findings: Findings, output: int) -> tuple[float, float, float]:
    """Return the shares not predicted, of noise between repeats, and of several."""
    shares = findings.shares
    explained = float(shares.explained[output])
    rest = max(1.0 - explained, 0.0)
    noise = min(float(shares.noise[output]), rest)  # NaN stays
    alone = float(np.nansum(shares.first[0, output]))
    return rest - float(np.nan_to_num(noise)), noise, max(explained - alone, 0.0)
