"""Our figures, by the names that the list of claims uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr

Measures = dict[str, Any]  # of one data set, see `measures.measure`
Options = Mapping[str, Any]  # of the claim
Value = Callable[[Measures, Options], float | None]

#: Edges with a claim of their own, and the nodes whose other edges have one together.
_NAMED_EDGES = (("Raf", "Mek"), ("Mek", "Erk"), ("PKA", "P38"), ("PKA", "Erk"))
_HUBS = {"PKA", "PKC"}


def is_missing(value: Any) -> bool:
    """Whether there is no number."""
    return value is None or not np.isfinite(value)


def _mean(values: Sequence[Any]) -> float | None:
    known = [value for value in values if not is_missing(value)]
    return float(np.mean(known)) if known else None


def _of_step(m: Measures, key: str, step: str) -> float | None:
    if step not in m["steps"]:
        return None
    value: float | None = m[key][m["steps"].index(step)]
    return value


def _of_named_step(key: str) -> Value:
    return lambda m, options: _of_step(m, key, options["step"])


def _plain(key: str) -> Value:
    return lambda m, options: m.get(key)


def _d_of_steps(m: Measures, options: Options) -> list[Any]:
    return [_of_step(m, "d_expansion", step) for step in options["steps"]]


def _d_ratio(m: Measures, options: Options) -> float | None:
    """Return D of a step over the mean of that of others."""
    one = _of_step(m, "d_expansion", options["step"])
    others = _mean(_d_of_steps(m, {"steps": options["others"]}))
    return one / others if one is not None and others else None


def _mean_first_of_pc1(m: Measures, options: Options) -> float | None:
    row: list[Any] = m["mean_first"][m["steps"].index(options["step"])]
    return row[0]


def _coverage95(m: Measures, options: Options) -> float | None:
    value: float | None = m["coverage"][-1][m["steps"].index(options["step"])]
    return value


def _explained(m: Measures, options: Options) -> float | None:
    """Return the share of some components, all inputs by default."""
    first, last = options.get("components", (1, len(m["total"][0])))
    return float(sum(m["explained"][first - 1 : last])) if m["explained"] else None


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


def _surrogate_seconds(m: Measures, options: Options) -> float | None:
    fitted = m["fit_seconds"]  # None in a draw that was not timed
    return None if fitted is None else float(fitted + m["sample_seconds"])


def _speedup(m: Measures, options: Options) -> float | None:
    """Return CPU-seconds to train the held-out members over those of the surrogate."""
    trained, seconds = _training_seconds(m, options), _surrogate_seconds(m, options)
    return trained and seconds and trained / seconds


def _rank_of_d(m: Measures, options: Options) -> float | None:
    known = [v for v, n in zip(m["d_expansion"], m["n_possible"], strict=True) if n > 1]
    return float(spearmanr(range(len(known)), known).statistic)


#: One figure of a data set.
VALUES: Mapping[str, Value] = {
    **{key: _of_named_step(key) for key in ("d_expansion", "total_variation")},
    **{
        key: _plain(key)
        for key in ("max_rho", "pc1_uniform", "fit_seconds", "sample_seconds")
    },
    "d_ratio": _d_ratio,
    "mean_first_of_pc1": _mean_first_of_pc1,
    "coverage95": _coverage95,
    "mean_coverage95": lambda m, options: _mean(m["coverage"][-1]),
    "explained": _explained,
    "mean_q2": lambda m, options: _mean(m["q2"]),
    "sum_of_totals": _sum_of_totals,
    "ks_fraction": _ks_fraction,
    "surrogate_seconds": _surrogate_seconds,
    "training_seconds": _training_seconds,
    "speedup": _speedup,
    "rank_of_d": _rank_of_d,
}


#: Those that differ between two runs.
SECONDS = frozenset(
    {
        *("fit_seconds", "sample_seconds", "surrogate_seconds"),
        *("training_seconds", "speedup"),
    }
)


def edges(m: Measures) -> list[tuple[str, set[str], list[float], float]]:
    """Return name, nodes, total indices and D of the steps that add an edge."""
    rows = zip(m["trajectory"], m["total"], m["d_expansion"], strict=True)
    return [(a, {*a.split(" → ")}, row, d) for a, row, d in rows if " → " in a]


def _hub_indices(m: Measures, options: Options) -> list[Any]:
    """Return the indices of a component where other edges of the hubs are added."""
    named = [set(pair) for pair in _NAMED_EDGES]
    return [
        row[options["component"] - 1]
        for _, nodes, row, _ in edges(m)
        if nodes not in named and nodes & _HUBS
    ]


#: Several figures of a data set.
LISTS: Mapping[str, Callable[[Measures, Options], list[Any]]] = {
    "mean_coverage": lambda m, options: [_mean(row) for row in m["coverage"]],
    "coverage95_all": lambda m, options: m["coverage"][-1],
    "d_of_edges": lambda m, options: [d for *_, d in edges(m)],
    "d_of_steps": _d_of_steps,
    "hub_indices": _hub_indices,
}
