"""The drivers of an ensemble: a state for each output and input, and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import stats

from .._checks import BoolArray, FloatArray, IndexArray
from .._compositions.outputs import Outputs
from .._result import Result
from ._design import FEWEST_UNITS, Design, find_constraint
from ._shares import Shares, shares_of
from ._terms import Inputs
from ._test import Problem, Tested

#: Family-wise error of all that an answer claims to drive, and what of it is kept for
#: pairs and for the spread.
LEVEL, _OF_PAIRS, _OF_SPREAD = 0.05, 0.003, 0.002

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


@dataclass(frozen=True)
class Caution:
    """Something that weakens an answer: a code, and the figures of its sentence."""

    code: str
    figures: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Findings:
    """States, shares and evidence, as arrays; (n_outputs, n_rows) if nothing else."""

    states: Sequence[Sequence[State]]
    p_values: FloatArray  # Holm
    q_values: FloatArray  # Benjamini and Hochberg
    shares: Shares
    partners: Sequence[Sequence[tuple[int, ...]]]
    more_runs: FloatArray  # NaN where settled, inf where too many
    tested: Sequence[Sequence[Tested]]
    pair_p_values: dict[tuple[int, int, int], float]  # output and two rows
    cautions: tuple[Caution, ...]
    n_members: IndexArray  # shape: (n_outputs,)


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
) -> Findings:
    """Test every input for every output, and measure the shares."""
    tied = find_constraint(X)
    rows_of_tied = [
        place for place, inputs in enumerate(members) if np.isin(inputs, tied).any()
    ]
    whole = set(tied.tolist())
    rows_of_tied = [
        k for k in rows_of_tied if not whole <= set(members[k])
    ]  # a group that holds the whole constraint is free of it
    n_outputs, n_rows = outputs.n_groups, len(members)
    n_hypotheses = 2 * n_outputs * n_rows
    tested: list[list[Tested]] = [[] for _ in range(n_outputs)]
    parts: list[tuple[IndexArray, IndexArray, Problem]] = []
    shape = (n_outputs, n_rows)
    found = Shares(
        np.zeros((3, *shape)),
        np.zeros((3, *shape)),
        np.zeros((*shape, n_rows)),
        np.full((3, n_outputs), np.nan),
        np.full(n_outputs, np.nan),
        np.full(n_outputs, np.nan),
    )
    counts = np.zeros(n_outputs, dtype=np.int64)
    for rows, own_outputs, columns in _patterns(coordinates, outputs):
        order = rows[_canonical(X[rows], coordinates[rows][:, columns])]
        values = coordinates[order][:, columns]
        groups = np.searchsorted(own_outputs, outputs.group_of_coordinate[columns])
        inputs = Inputs.of(X[order], is_category, laws)
        own = design.of_rows(order)
        problem = Problem(inputs, values, groups, own, tuple(members), n_hypotheses)
        parts.append((order, own_outputs, problem))
        for row in range(n_rows):
            result = problem.test(row)
            for place, output in enumerate(own_outputs.tolist()):
                tested[output].append(_of_output(result, place, order))
        unit = own.groups if own.groups is not None else own.setting
        shares = shares_of(
            *(inputs.X, inputs.laws, values, groups, unit, own.setting, members)
        )
        for whole_array, part in zip(_arrays(found), _arrays(shares), strict=True):
            axis = 1 if whole_array.ndim == 3 and len(whole_array) == 3 else 0
            _place(whole_array, part, own_outputs, axis)
        counts[own_outputs] = len(order)
    location = np.array([[one.location[0] for one in row] for row in tested])
    spread = np.array([[one.spread[0] for one in row] for row in tested])
    tied_rows = np.zeros(shape, dtype=bool)
    tied_rows[:, rows_of_tied] = True
    for output in range(n_outputs):
        for row in range(n_rows):
            tied_rows[output, row] |= bool(tested[output][row].tied_to)
    location[tied_rows] = 1.0
    level = LEVEL - _OF_PAIRS - _OF_SPREAD
    adjusted = np.minimum(_holm(location) * (LEVEL / level), 1.0)
    drives = adjusted <= LEVEL
    if design.series:
        drives[:] = False
    on_spread = (_holm(spread) <= _OF_SPREAD) & ~drives & ~tied_rows
    if design.series:
        on_spread[:] = False
    pair_p_values = _named_pairs(parts, drives, n_outputs, n_rows, design)
    for output, i, j in pair_p_values:
        for row in (i, j):
            if not tied_rows[output, row]:
                drives[output, row] = True
    partners = [
        [
            tuple(
                j
                for j in range(n_rows)
                if (output, min(row, j), max(row, j)) in pair_p_values and j != row
            )
            for row in range(n_rows)
        ]
        for output in range(n_outputs)
    ]
    states, more = _states(
        drives, on_spread, tied_rows, found, location, design, counts, negligible
    )
    _without_untested_shares(found, states)
    cautions = _cautions(
        X, names, tested, tied, found, design, outputs, members, location, drives
    )
    return Findings(
        states,
        adjusted,
        _benjamini_hochberg(location),
        found,
        partners,
        more,
        tested,
        pair_p_values,
        cautions,
        counts,
    )


def _patterns(
    coordinates: FloatArray, outputs: Outputs
) -> list[tuple[IndexArray, IndexArray, IndexArray]]:
    """Return members, outputs that they have, and the columns of these."""
    groups = outputs.group_of_coordinate
    has = np.stack(
        [
            ~np.isnan(coordinates[:, groups == g]).any(axis=1)
            for g in range(outputs.n_groups)
        ],
        axis=1,
    )
    patterns, part = np.unique(has, axis=1, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns.T):
        own = np.flatnonzero(part.ravel() == number)
        own = own[np.isin(own, groups)]  # a step without choice has no coordinates
        if len(own):
            columns = np.flatnonzero(np.isin(groups, own))
            columns = columns[np.argsort(groups[columns], kind="stable")]
            found.append((np.flatnonzero(pattern), own, columns))
    return found


def _canonical(X: FloatArray, values: FloatArray) -> IndexArray:
    """Sort rows by what no order of rows, inputs or outputs changes."""
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.square(centred).mean(axis=0))
    sizes = np.square(centred / np.where(scale > 0, scale, 1.0)).sum(axis=1)
    spread = np.abs(X - X.mean(axis=0))
    largest = spread.max(axis=0)
    distance = np.square(spread / np.where(largest > 0, largest, 1.0)).sum(axis=1)
    sums = (centred / np.where(scale > 0, scale, 1.0)).sum(axis=1)
    return np.lexsort((distance.round(9), sizes.round(9), sums.round(9)))


def _of_output(result: Tested, place: int, order: IndexArray) -> Tested:
    return Tested(
        result.location[[place]],
        result.spread[[place]],
        result.exchange,
        result.tied_to,
        (order[result.resting[place]],),
        result.sees_pairs,
    )


def _arrays(shares: Shares) -> tuple[FloatArray, ...]:
    return (
        shares.first,
        shares.total,
        shares.pairs,
        shares.q2,
        shares.noise,
        shares.lack_of_fit,
    )


def _place(whole: FloatArray, part: FloatArray, own: IndexArray, axis: int) -> None:
    axis = 1 if whole.ndim > 1 and len(whole) == 3 and len(part) == 3 else axis
    if (whole.ndim == 3 and axis == 0) or whole.ndim == 1:
        whole[own] = part
    else:
        whole[:, own] = part


def _named_pairs(
    parts: Sequence[tuple[IndexArray, IndexArray, Problem]],
    drives: BoolArray,
    n_outputs: int,
    n_rows: int,
    design: Design,
) -> dict[tuple[int, int, int], float]:
    """Test the pairs of inputs that drive, each from both sides."""
    if design.series:
        return {}
    asked: dict[tuple[int, int, int], float] = {}
    for _, own, problem in parts:
        some = np.flatnonzero(drives[own].any(axis=0))
        for i in some.tolist():
            partners = [j for j in range(n_rows) if j != i]
            if not partners:
                continue
            values = problem.pair_p_values(i, partners)
            for j, by_output in zip(partners, values, strict=True):
                for output, p_value in zip(own.tolist(), by_output, strict=True):
                    if drives[output, i]:
                        key = output, min(i, j), max(i, j)
                        asked[key] = max(asked.get(key, 0.0), float(p_value))
    if not asked:
        return {}
    keys = list(asked)
    adjusted = _holm(np.array([asked[key] for key in keys]))
    return {
        key: float(p) for key, p in zip(keys, adjusted, strict=True) if p <= _OF_PAIRS
    }


def _holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values by Holm's procedure."""
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")
    factors = len(flat) - np.arange(len(flat))
    stepped = np.minimum(1.0, np.maximum.accumulate(factors * flat[order]))
    found = np.empty_like(flat)
    found[order] = stepped
    return found.reshape(p_values.shape)


def _benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjust p-values by the procedure of Benjamini and Hochberg."""
    return np.asarray(stats.false_discovery_control(p_values.ravel())).reshape(
        p_values.shape
    )


def _states(
    drives: BoolArray,
    on_spread: BoolArray,
    tied: BoolArray,
    shares: Shares,
    p_values: FloatArray,
    design: Design,
    counts: IndexArray,
    negligible: float,
) -> tuple[list[list[State]], FloatArray]:
    """Return states, and how many more runs would settle those that are open."""
    known_noise = np.nan_to_num(shares.noise)
    open_share = 1.0 - shares.q2[0] - known_noise
    states: list[list[State]] = []
    more = np.full(drives.shape, np.nan)
    needed = stats.norm.isf(LEVEL / (2 * drives.size))
    for output, row in enumerate(drives):
        own: list[State] = []
        for i in range(len(row)):
            high = shares.total[2, output, i]
            may_be_nothing = open_share[output] <= _LEFT_OPEN and not tied[output, i]
            if row[i]:
                state = State.DRIVES
            elif on_spread[output, i]:
                state = State.SPREAD
            elif high < negligible and may_be_nothing and not design.series:
                state = State.NOTHING
            else:
                state = State.OPEN
                seen = stats.norm.isf(min(p_values[output, i], 1.0) / 2)
                factors = [np.inf]
                if not tied[output, i]:
                    factors.append(np.square(needed / seen) if seen > 0.5 else np.inf)
                    if may_be_nothing:
                        factors.append(high / negligible)
                times = min(factors)
                extra = np.ceil((times - 1.0) * counts[output] / 10.0) * 10.0
                more[output, i] = extra if times <= _MANY_TIMES else np.inf
            own.append(state)
        states.append(own)
    return states, more


def _without_untested_shares(shares: Shares, states: Sequence[Sequence[State]]) -> None:
    """Take the lower ends of shares that no test has let through to 0."""
    for output, row in enumerate(states):
        for i, state in enumerate(row):
            if state is not State.DRIVES:
                shares.first[1, output, i] = shares.total[1, output, i] = 0.0


def _cautions(
    X: FloatArray,
    names: Sequence[str],
    tested: Sequence[Sequence[Tested]],
    tied: IndexArray,
    shares: Shares,
    design: Design,
    outputs: Outputs,
    members: Sequence[tuple[int, ...]],
    p_values: FloatArray,
    drives: BoolArray,
) -> tuple[Caution, ...]:
    """Return what weakens the answer, as values."""
    found = []
    if design.series:
        found.append(Caution("series", {"words": design.series}))
    if len(tied):
        rows = [k for k, m in enumerate(members) if np.isin(m, tied).any()]
        found.append(
            Caution(
                "constraint",
                {
                    "inputs": tuple(names[k] for k in rows),
                    "sum": _is_sum(X[:, tied]),
                },
            )
        )
    for row, name in enumerate(names):
        one = next((t[row] for t in tested if t[row].tied_to), None)
        if one is not None:
            others = tuple(
                names[k]
                for k, m in enumerate(members)
                if k != row and np.isin(m, one.tied_to).any()
            )
            found.append(Caution("alike", {"input": name, "others": others}))
        kinds = {t[row].exchange.why for t in tested if t[row].exchange.kind == "none"}
        found += [
            Caution("not exchanged", {"input": name, "why": why})
            for why in sorted(kinds)
        ]
    for output, row_of in enumerate(tested):
        for row, test in enumerate(row_of):
            if len(test.resting[0]) and not drives[output, row]:
                found.append(
                    Caution(
                        "rests on members",
                        {
                            "input": names[row],
                            "output": outputs.names[output],
                            "members": tuple(test.resting[0].tolist()),
                        },
                    )
                )
    lacking = np.flatnonzero(shares.lack_of_fit < 0.01 / max(outputs.n_groups, 1))
    found += [
        Caution(
            "lack of fit",
            {
                "output": outputs.names[output],
                "p_value": float(shares.lack_of_fit[output]),
            },
        )
        for output in lacking.tolist()
    ]
    if design.n_rows < 30 and not design.has_repeats and design.groups is None:
        found.append(Caution("few runs", {"n": design.n_rows}))
    if any(not t.sees_pairs for row_of in tested for t in row_of):
        found.append(Caution("no pairs", {}))
    return tuple(found)


def _is_sum(X: FloatArray) -> float:
    """Return what inputs add up to; NaN if they do not."""
    sums = X.sum(axis=1)
    return float(sums[0]) if np.ptp(sums) <= 1e-6 * np.abs(sums).max() else np.nan


def too_few(n_members: int) -> bool:
    """Whether so few members answer nothing."""
    return n_members < FEWEST_UNITS + 2


def pairs_table(findings: Findings, names: Sequence[str], outputs: Outputs) -> Result:
    """Return the named pairs as a table."""
    keys = sorted(findings.pair_p_values)
    labels = [f"{outputs.names[o]}: {names[i]} and {names[j]}" for o, i, j in keys]
    return Result(
        {"pair": tuple(labels)},
        {
            "output": np.array([outputs.names[o] for o, _, _ in keys], dtype=object),
            "first_input": np.array([names[i] for _, i, _ in keys], dtype=object),
            "second_input": np.array([names[j] for _, _, j in keys], dtype=object),
            "p_value": np.array([findings.pair_p_values[key] for key in keys]),
            "share": np.array([findings.shares.pairs[key] for key in keys]),
        },
    )
