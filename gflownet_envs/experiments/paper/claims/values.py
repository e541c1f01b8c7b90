"""Our figures, by the names that the list of claims uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

Measures = dict[str, Any]  # of one data set in one draw, see `measures.measure`
Options = Mapping[str, Any]  # of the claim

#: Edges with a claim of their own, and the nodes whose other edges have one together.
_NAMED_EDGES = (("Raf", "Mek"), ("Mek", "Erk"), ("PKA", "P38"), ("PKA", "Erk"))
_HUBS = {"PKA", "PKC"}


def is_missing(value: Any) -> bool:
    """Whether there is no number."""
    return value is None or not np.isfinite(value)


def figures(measures: Measures, options: Options) -> list[float]:
    """Return the figures that a claim is about, without those that are missing."""
    found = FIGURES[options["measure"]](measures, options)
    listed = found if isinstance(found, list) else [found]
    return [float(value) for value in listed if not is_missing(value)]


def _mean(values: Iterable[Any]) -> float | None:
    known = [value for value in values if not is_missing(value)]
    return float(np.mean(known)) if known else None


def _of_steps(m: Measures, options: Options, key: str = "d_expansion") -> list[Any]:
    """Return a figure of the step of the claim, or of its steps."""
    wanted = options.get("steps", [options.get("step")])
    known = dict(zip(m["steps"], m[key], strict=True))
    return [known.get(step) for step in wanted]


def _d_ratio(m: Measures, options: Options) -> float | None:
    """Return D of a step over the mean of that of others."""
    (one,) = _of_steps(m, options)
    others = _mean(_of_steps(m, {"steps": options["others"]}))
    return one / others if one is not None and others else None


def _explained(m: Measures, options: Options) -> float | None:
    """Return the share of some components, all inputs by default."""
    first, last = options.get("components", (1, len(m["total"][0])))
    return sum(m["explained"][first - 1 : last]) if m["explained"] else None


def _training_seconds(m: Measures, options: Options) -> float | None:
    """Return the CPU-seconds of the held-out members' share of the training."""
    trained = m["record"]["cpu_seconds"].get("training")
    if not trained or m["source"] != "trained":
        return None
    return float(trained * m["n_test"] / (m["n_train"] + m["n_test"]))


def _surrogate_seconds(m: Measures, options: Options) -> float | None:
    fitted = m["fit_seconds"]  # None in a draw that was not timed
    return None if fitted is None else float(fitted + m["sample_seconds"])


def speedup(m: Measures, options: Options) -> float | None:
    """Return CPU-seconds to train the held-out members over those of the surrogate."""
    trained, seconds = _training_seconds(m, options), _surrogate_seconds(m, options)
    return trained and seconds and trained / seconds


def _rank_of_d(m: Measures, options: Options) -> float | None:
    known = [v for v, n in zip(m["d_expansion"], m["n_possible"], strict=True) if n > 1]
    return float(spearmanr(range(len(known)), known).statistic)


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


def mean_coverage95(m: Measures, options: Options) -> float | None:
    """Return the coverage of 95 % intervals, mean over the steps."""
    return _mean(m["coverage"][-1])


#: Figures that differ between two runs.
SECONDS: Mapping[str, Callable[[Measures, Options], Any]] = {
    "fit_seconds": lambda m, options: m["fit_seconds"],
    "sample_seconds": lambda m, options: m["sample_seconds"],
    "surrogate_seconds": _surrogate_seconds,
    "training_seconds": _training_seconds,
    "speedup": speedup,
}
#: A figure of a data set, or several of them.
FIGURES: Mapping[str, Callable[[Measures, Options], Any]] = {
    **SECONDS,
    "d_expansion": _of_steps,
    "d_of_steps": _of_steps,
    "total_variation": partial(_of_steps, key="total_variation"),
    "d_ratio": _d_ratio,
    "d_of_edges": lambda m, options: [d for *_, d in edges(m)],
    "rank_of_d": _rank_of_d,
    "mean_first_of_pc1": lambda m, options: _of_steps(m, options, "mean_first")[0][0],
    "hub_indices": _hub_indices,
    "sum_of_totals": lambda m, options: _mean(
        sum(row) for row in m["total"] if row[0] is not None and sum(row) > 0
    ),
    "coverage95": lambda m, options: _of_steps(
        m | {"last": m["coverage"][-1]}, options, "last"
    ),
    "coverage95_all": lambda m, options: m["coverage"][-1],
    "mean_coverage": lambda m, options: [_mean(row) for row in m["coverage"]],
    "mean_coverage95": mean_coverage95,
    "explained": _explained,
    "mean_q2": lambda m, options: _mean(m["q2"]),
    "max_rho": lambda m, options: m["max_rho"],
    "pc1_uniform": lambda m, options: m["pc1_uniform"],
    "ks_fraction": lambda m, options: sum(m["ks_passed"]) / max(1, sum(m["ks_pairs"])),
}
