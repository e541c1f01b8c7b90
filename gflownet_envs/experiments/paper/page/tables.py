"""Every table of the paper, with ours beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import comb
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.answers import median_and_range
from gflownet_envs.experiments.paper.claims.claim_list import claim_list
from gflownet_envs.experiments.paper.claims.rules import architecture
from gflownet_envs.experiments.paper.measures import across
from gflownet_envs.experiments.paper.studies.embeddings import EMBEDDINGS
from gflownet_envs.experiments.paper.studies.surrogates import METHODS
from gflownet_envs.experiments.paper.systems import FIRST
from gflownet_envs.experiments.task import Table

Found = Mapping[str, Any]  # pieces by name

_SOURCES = ("exact", "trained")


def make_tables(found: Found) -> dict[str, Table]:
    """Return each table of the paper by its label.

    Parameters
    ----------
    found : mapping of str to dict
        The pieces of the page.
    """
    return {label: make(found) for label, make in _TABLES.items()}


def _surrogates(found: Found) -> Table:
    printed = claim_list().printed["surrogates"]
    columns = ["task", "surrogate"]
    for what in ("MAE", "s to fit", "s for 10,000"):
        columns += [f"{what}: paper", *_SOURCES]
    rows = []
    for place, task in enumerate(("buchwald-hartwig", "sachs")):
        for method in ("mean", "paper", "ridge1", "mlp", "gp"):
            row: list[Any] = [task, METHODS[method]]
            papers = printed.get(method)
            for number, key in enumerate(("mae", "fit_seconds", "sample_seconds")):
                row.append("–" if papers is None else papers[place][number])
                for source in _SOURCES:
                    piece = found.get(f"surrogates-{task}", {}).get(source)
                    drawn = [] if piece is None else piece[method][key]
                    row.append(median_and_range(drawn))
            rows.append(tuple(row))
    return Table(
        "Surrogates on held-out members, under the paper's settings: medians of the "
        "draws with smallest and largest. The paper has no row for the mean policy",
        tuple(columns),
        tuple(rows),
    )


def _architectures(found: Found) -> Table:
    rows = []
    for task, paper in claim_list().printed["architectures"].items():
        kind, width, iterations, n_train, n_test, degree = architecture(task)
        ours = f"{kind.upper()} {width}, {iterations:,} iterations, "
        ours += f"{n_train}/{n_test}, degree {degree}"
        piece = found.get(f"{task}-{FIRST}")
        reduced = "not finished" if piece is None else piece["record"]["reduced"]
        rows.append((task, paper, ours, reduced or "–"))
    return Table(
        "Architectures and settings; all with trajectory balance",
        ("task", "paper", "our preset paper", "reduced on this page"),
        tuple(rows),
    )


def _ks_reactions(found: Found) -> Table:
    sources = found.get(f"buchwald-hartwig-{FIRST}", {"sources": {}})["sources"]
    rows = [
        (step.replace("_", " "), paper, *(_passed(m, step) for m in sources.values()))
        for step, paper in claim_list().printed["ks_reactions"].items()
    ]
    rows.append(("all", "0/47", *(_passed(m) for m in sources.values())))
    return Table(
        "Pairs of action and step that a two-sample Kolmogorov–Smirnov test cannot "
        "distinguish, push-forward against held-out members: medians of the draws with "
        "smallest and largest",
        ("step", "paper", *sources),
        tuple(rows),
    )


def _passed(measures: Mapping[str, Any], step: str | None = None) -> str:
    places = list(range(len(measures["steps"])))
    if step is not None:
        places = [measures["steps"].index(step)]
    if measures["draws"]["ks_pairs"][0] is None:
        return "not tested"
    passed, pairs = (
        [sum(draw[place] for place in places) for draw in measures["draws"][key]]
        for key in ("ks_passed", "ks_pairs")
    )
    return f"{median_and_range(passed)} of {max(pairs)}"


def _ks_all(found: Found) -> Table:
    rows = []
    for task, paper in claim_list().printed["ks"].items():
        sources = found.get(f"{task}-{FIRST}", {"sources": {}})["sources"]
        ours = [_passed(sources[s]) if s in sources else "–" for s in _SOURCES]
        rows.append((task, paper, *ours))
    return Table(
        "The same for all tasks (pairs of possible actions; the paper counts "
        "impossible ones too)",
        ("task", "paper", *_SOURCES),
        tuple(rows),
    )


def _cost(found: Found) -> Table:
    rows = []
    for task, (hours, fit, sample, speedup) in claim_list().printed["cost"].items():
        piece = found.get(f"{task}-{FIRST}")
        if piece is None:
            continue
        measures = piece["sources"].get("trained") or piece["sources"]["exact"]
        seconds = piece["record"]["cpu_seconds"].get("training")
        fitted, sampled = (
            measures["draws"][key] for key in ("fit_seconds", "sample_seconds")
        )
        spent = across(fitted, np.median) + across(sampled, np.median)
        share = measures["n_test"] / (measures["n_train"] + measures["n_test"])
        ours = "–" if seconds is None else f"{seconds * share / spent:,.0f}"
        rows.append(
            (
                task,
                f"~{hours} h, GPU",
                "–" if seconds is None else f"{seconds:.3g} s, one core",
                f"{fit} s",
                f"{median_and_range(fitted)} s",
                f"{sample} s",
                f"{median_and_range(sampled)} s",
                f"~{speedup}",
                ours,
            )
        )
    return Table(
        "Cost. Ours: CPU-seconds of all members together, trained at once; the last "
        "column has the share of the held-out members over fit and samples",
        (
            "task",
            "training: paper",
            "ours",
            "fit: paper",
            "ours",
            "10,000 samples: paper",
            "ours",
            "speed-up: paper",
            "ours",
        ),
        tuple(rows),
    )


def _embeddings(found: Found) -> Table:
    rows = []
    for key, paper in claim_list().printed["embeddings"].items():
        for source, methods in found.get("embeddings", {}).items():
            row = methods[key]
            rows.append(
                {
                    "embedding": EMBEDDINGS[key],
                    "paper: R², largest ρ, normal, coverage": paper,
                    "policies": source,
                    "R²": _pair(row, "r2"),
                    "largest ρ": _pair(row, "rho"),
                    "smallest p of normality": _pair(row, "shapiro_p"),
                    "coverage at 95 %": median_and_range(row["coverage"]),
                    "Q², paper's fit": median_and_range(row["q2_paper"]),
                    "Q², ridge of degree 1": median_and_range(row["q2"]),
                }
            )
    return Table.of_rows(
        "Embeddings of 500 outputs of the yield proxies; 30 members to fit (after the "
        "semicolon: other members), degree 3; medians of the draws with smallest and "
        "largest. Q² is held out, mean over the steps",
        rows,
    )


def _pair(row: Mapping[str, Any], key: str) -> str:
    return "; ".join(median_and_range(row[name]) for name in (key, f"{key}_new"))


def _sizes(found: Found) -> Table:
    rows = [
        (name, d, p, paper, comb(d + p, p), comb(d + p, p) + 1, members)
        for name, (d, p, paper, members) in claim_list().printed["sizes"].items()
    ]
    return Table(
        "Sample sizes: the paper's L* is the number of terms plus one",
        ("system", "inputs", "degree", "paper", "terms", "terms + 1", "members used"),
        tuple(rows),
    )


_TABLES: Mapping[str, Callable[[Found], Table]] = {
    "tab:comparison": _surrogates,
    "tab:architectures": _architectures,
    "tab:s_ks_bh": _ks_reactions,
    "tab:s_ks_all": _ks_all,
    "tab:s_cost": _cost,
    "tab:s_embedding": _embeddings,
    "sample-sizes": _sizes,
}
