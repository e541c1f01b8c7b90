"""Which of many steps, or outputs, a report shows: those of the largest variance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from ..drivers import Answer, State
from ..drivers._words import percent
from ..metrics import PolicyFragility
from ..plotting import PrismDisplay, SobolDisplay
from ..plotting._steps import prism_flows
from .page import Column

#: Rows of a table, and bars of a figure, at most.
MOST_LISTED = 60
MOST_DRAWN = 12

#: Inputs in tables and figures, at most: those of the largest total indices.
MOST_INPUTS = 24

# Drivers that are named in a row; names of a share and of its ends.
_MOST_DRIVERS = 4
_ENDS = ("", "_low", "_high")


def of_largest(variance: FloatArray, most: int) -> IndexArray:
    """Return the positions of the largest variances, in their order."""
    order = np.argsort(-variance, kind="stable")
    return np.sort(order[:most])


def some_of(values: Any, rows: IndexArray) -> Any:
    """Return some entries of a tuple, a list or an array; None stays None."""
    if values is None or isinstance(values, np.ndarray):
        return None if values is None else values[rows]
    return tuple(values[row] for row in rows)


def some_rows(columns: Iterable[Column], rows: IndexArray) -> list[Column]:
    """Return some rows of a table."""
    return [(heading, some_of(values, rows)) for heading, values in columns]


def some_spread(found: Any, rows: IndexArray) -> Any:
    """Return the disagreement at some steps, or of some outputs."""
    if isinstance(found, PolicyFragility):
        kept = {
            one.name: some_of(getattr(found, one.name), rows) for one in fields(found)
        }
        return replace(found, **kept)
    keys = {name: some_of(labels, rows) for name, labels in found.keys.items()}
    columns = {name: some_of(values, rows) for name, values in found.columns.items()}
    return replace(found, keys=keys, columns=columns)


def some_inputs(shares: SobolDisplay, inputs: IndexArray) -> SobolDisplay:
    """Return the shares of some inputs; those of the others are added up."""
    n_others = shares.first_order.shape[1] - len(inputs)
    if not n_others:
        return shares
    others = np.delete(shares.first_order, inputs, axis=1).sum(axis=1)
    return SobolDisplay(
        np.column_stack([shares.first_order[:, inputs], others]),
        shares.unexplained,
        shares.step_names,
        [*some_of(shares.input_names, inputs), f"{n_others} others"],
        supported=shares.supported,
        sampled=shares.sampled,
        of_variance=shares.of_variance,
    )


def some_of_prism(
    shares: SobolDisplay, variance: FloatArray, rows: IndexArray
) -> PrismDisplay:
    """Return a prism of some steps; the others are one."""
    flows, names = prism_flows(shares, variance), list(some_of(shares.step_names, rows))
    supported, others = shares.supported, np.ones(len(variance), dtype=bool)
    others[rows] = False
    columns = [flows[:, rows]]
    if others.any():
        columns.append(flows[:, others].sum(axis=1, keepdims=True))
        names.append(f"{others.sum()} others")
        if supported is not None:
            supported = (*supported, bool(np.array(supported)[others].all()))
            rows = np.append(rows, len(variance))
    return PrismDisplay(
        np.hstack(columns),
        shares.input_names,
        names,
        supported=some_of(supported, rows),
    )


def driver_columns(verdict: Answer, rows: IndexArray) -> list[Column]:
    """Return the table of drivers, of some of many steps and the leading inputs."""
    table = verdict.drivers
    total = np.nan_to_num(table.total)
    inputs = np.argsort(-total.max(axis=0, initial=0.0), kind="stable")[:MOST_INPUTS]
    every = [
        (o, i)
        for o in rows.tolist()
        if not np.isnan(verdict.q2[o])
        for i in inputs[np.argsort(-total[o, inputs], kind="stable")].tolist()
    ]

    def share(name: str) -> list[str]:
        return [
            with_ends(*(table.columns[name + end][cell] for end in _ENDS))
            for cell in every
        ]

    def of(name: str) -> list[Any]:
        return [table.columns[name][cell] for cell in every]

    return [
        (next(iter(verdict.keys)), [verdict.step_names[o] for o, _ in every]),
        ("input", [verdict.input_names[i] for _, i in every]),
        ("state", of("state")),
        ("p (Holm)", of("p_value")),
        ("q (Benjamini–Hochberg)", of("q_value")),
        ("share alone", share("first")),
        ("share in all", share("total")),
        ("acts with", of("partners")),
    ]


def pair_columns(verdict: Answer) -> list[Column]:
    """Return the pairs that act together."""
    table = verdict.pairs
    return [
        ("pair", list(table.keys["pair"])),
        ("p (Holm)", table.p_value),
        ("share that neither explains alone", list(map(percent, table.share))),
    ]


def with_ends(share: float, low: float, high: float) -> str:
    """Return a share in percent with its interval; a dash for none."""
    if np.isnan(share):
        return "–"
    text = f"{percent(share)} [{100 * low:.0f}, {100 * high:.0f}]"
    return text.replace(" ", "\u00a0")


def drivers_in_words(verdict: Answer, output: int) -> str:
    """Return the inputs that drive an output with their shares in all."""
    table = verdict.drivers
    order = np.argsort(-np.nan_to_num(table.total[output]), kind="stable")
    driving = [i for i in order.tolist() if table.state[output, i] == State.DRIVES]
    shown = [
        f"{verdict.input_names[i]} "
        + with_ends(*(table.columns[f"total{end}"][output, i] for end in _ENDS))
        for i in driving[:_MOST_DRIVERS]
    ]
    if len(driving) > len(shown):
        shown.append(f"{len(driving) - len(shown)} more")
    return ", ".join(shown) or "–"
