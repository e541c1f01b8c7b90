"""Our figures, by the names that the list of claims uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

Measures = dict[str, Any]  # of one data set, see `measures.measure`
Options = Mapping[str, Any]  # of the claim
Value = Callable[[Measures, Options], float | None]

_HUBS = ("PKA", "PKC")
_MAPK = (("Raf", "Mek"), ("Mek", "Erk"), ("PKA", "P38"))


def is_missing(value: Any) -> bool:
    """Whether there is no number."""
    return value is None or not np.isfinite(value)


def _of_step(measures: Measures, key: str, step: str) -> float | None:
    if step not in measures["steps"]:
        return None
    value: float | None = measures[key][measures["steps"].index(step)]
    return value


def _mean(values: Sequence[Any]) -> float | None:
    known = [value for value in values if not is_missing(value)]
    return float(np.mean(known)) if known else None


def _of_named_step(key: str) -> Value:
    return lambda m, options: _of_step(m, key, options["step"])


def _d_ratio(m: Measures, options: Options) -> float | None:
    one, other = (_of_step(m, "d_expansion", options[k]) for k in ("step", "other"))
    return one / other if one is not None and other else None


def _mean_first_of_pc1(m: Measures, options: Options) -> float | None:
    row: list[Any] = m["mean_first"][m["steps"].index(options["step"])]
    return row[0]


def _coverage95(m: Measures, options: Options) -> float | None:
    value: float | None = m["coverage"][-1][m["steps"].index(options["step"])]
    return value


def _explained(m: Measures, options: Options) -> float | None:
    if not m["explained"]:
        return None
    return float(sum(m["explained"][: len(m["total"][0])]))


def _explained_by_6_and_7(m: Measures, options: Options) -> float | None:
    return float(sum(m["explained"][5:7])) if m["explained"] else None


def _sum_of_totals(m: Measures, options: Options) -> float | None:
    return _mean(
        [sum(row) for row in m["total"] if row[0] is not None and sum(row) > 0]
    )


def _ks_fraction(m: Measures, options: Options) -> float | None:
    return sum(m["ks_passed"]) / max(1, sum(m["ks_pairs"]))


def _training_seconds(m: Measures, options: Options) -> float | None:
    """Return the CPU-seconds of the held-out members' share of the training."""
    trained = m["record"]["cpu_seconds"].get("training")
    if not trained or m["source"] != "trained":
        return None
    return float(trained * m["n_test"] / (m["n_train"] + m["n_test"]))


def _speedup(m: Measures, options: Options) -> float | None:
    """Return CPU-seconds to train the held-out members over those of the surrogate."""
    trained = _training_seconds(m, options)
    seconds = _surrogate_seconds(m, options)
    return trained and seconds and trained / seconds


def _surrogate_seconds(m: Measures, options: Options) -> float | None:
    fitted = m["fit_seconds"]  # None in a draw that was not timed
    return None if fitted is None else float(fitted + m["sample_seconds"])


def _rank_of_d(m: Measures, options: Options) -> float | None:
    known = [v for v, n in zip(m["d_expansion"], m["n_possible"], strict=True) if n > 1]
    return float(spearmanr(range(len(known)), known).statistic)


def _linker_over(*others: str) -> Value:
    def ratio(m: Measures, options: Options) -> float | None:
        linker = _of_step(m, "d_expansion", "linker")
        mean = _mean([_of_step(m, "d_expansion", step) for step in others])
        return None if linker is None or not mean else linker / mean

    return ratio


#: One figure of a data set.
VALUES: Mapping[str, Value] = {
    "d_expansion": _of_named_step("d_expansion"),
    "total_variation": _of_named_step("total_variation"),
    "d_ratio": _d_ratio,
    "mean_first_of_pc1": _mean_first_of_pc1,
    "coverage95": _coverage95,
    "mean_coverage95": lambda m, options: _mean(m["coverage"][-1]),
    "explained": _explained,
    "explained_by_6_and_7": _explained_by_6_and_7,
    "mean_q2": lambda m, options: _mean(m["q2"]),
    "max_rho": lambda m, options: m["max_rho"],
    "sum_of_totals": _sum_of_totals,
    "pc1_uniform": lambda m, options: m.get("pc1_uniform"),
    "ks_fraction": _ks_fraction,
    "fit_seconds": lambda m, options: m["fit_seconds"],
    "sample_seconds": lambda m, options: m["sample_seconds"],
    "surrogate_seconds": _surrogate_seconds,
    "training_seconds": _training_seconds,
    "speedup": _speedup,
    "rank_of_d": _rank_of_d,
    "linker_over_scaffolds": _linker_over("scaffold 1", "scaffold 2"),
    "linker_over_decorations": _linker_over("decoration 1", "decoration 2"),
}


def _of_steps(*steps: str) -> Callable[[Measures, Options], list[Any]]:
    return lambda m, options: [_of_step(m, "d_expansion", step) for step in steps]


def _d_of_edges(m: Measures, options: Options) -> list[Any]:
    return [
        value
        for value, action in zip(m["d_expansion"], m["trajectory"], strict=True)
        if action != "stop"
    ]


#: Several figures of a data set.
LISTS: Mapping[str, Callable[[Measures, Options], list[Any]]] = {
    "mean_coverage": lambda m, options: [_mean(row) for row in m["coverage"]],
    "coverage95_all": lambda m, options: m["coverage"][-1],
    "d_of_edges": _d_of_edges,
    "d_of_scaffolds": _of_steps("scaffold 1", "scaffold 2"),
    "d_of_decorations": _of_steps("decoration 1", "decoration 2"),
}


def _edges(m: Measures) -> list[tuple[str, tuple[str, str], list[float]]]:
    """Return name, nodes and total indices of the steps that add an edge."""
    found = []
    for action, row in zip(m["trajectory"], m["total"], strict=True):
        if " → " in action:
            one, _, other = action.partition(" → ")
            found.append((action, (one, other), row))
    return found


def edge_index(m: Measures, edge: Sequence[str]) -> tuple[str, list[float]] | None:
    """Return the step that adds an edge, whichever way it points."""
    for name, nodes, row in _edges(m):
        if set(nodes) == set(edge):
            return name, row
    return None


def hub_indices(m: Measures, component: int) -> list[float]:
    """Return the indices of a component where other edges of PKA or PKC are added."""
    named = [set(pair) for pair in (*_MAPK, ("PKA", "Erk"))]
    return [
        row[component - 1]
        for _, nodes, row in _edges(m)
        if set(nodes) not in named and set(nodes) & set(_HUBS)
    ]
