"""Write the tables of ``docs/downloads/results.txt`` from the folders of finished runs.

Run: ``python -m benchmarks.results_page runs/grid-default runs/grid-paper
runs/buchwald-hartwig-default runs/buchwald-hartwig-no-controls
runs/buchwald-hartwig-paper > docs/downloads/results.txt``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def number(value: float | None, digits: int = 2) -> str:
    """Return a short number; a dash for a missing one."""
    return "–" if value is None else f"{value:.{digits}f}"


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def table_of(rows: list[dict[str, str]]) -> str:
    """Return a Markdown table of rows by the names of columns."""
    return table(list(rows[0]), [list(row.values()) for row in rows])


def describe(folder: Path) -> str:
    """Return the section of one run."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    parts = [
        f"## {results['task']}, preset {results['preset']}\n",
        f"`gflownet-envs run {results['task']} --preset {results['preset']} --seed "
        f"{results['seed']}`\n",
        training(results),
        verdicts(results),
        coverage(results),
        fragility(results),
        beside_the_paper(results),
    ]
    return "\n".join(parts)


def training(results: dict[str, Any]) -> str:
    """Distance and noise; what it cost is in the table of all tasks."""
    distance = results["distance_to_exact"]
    noise = results["training_noise"]["exact"]
    share = "training noise, share of the log-ratio variance"
    rows = [
        {
            "decision": step,
            share: number(noise["log_ratio_share"][i], 3),
            "of the probability variance": number(noise["probability_share"][i], 4),
            "total variation to exact": number(noise["total_variation"][i], 4),
        }
        for i, step in enumerate(results["steps"])
    ]
    return (
        f"Trained against exact policies, ½ Σ over the objects: mean "
        f"{distance['mean']:.2g}, worst member {distance['worst']:.2g}; members that "
        f"did not converge: {len(results['members_not_converged'])}.\n\n"
    ) + table_of(rows)


def verdicts(results: dict[str, Any]) -> str:
    """One row per step, source and degree."""
    rows = []
    for i, step in enumerate(results["steps"]):
        for name, source in sources(results).items():
            for analysis in source["analyses"]:
                found = analysis["verdict"][i]
                if found["q2"] is None:
                    continue
                rows.append(
                    {
                        "decision": step,
                        "policies": name,
                        "degree": str(analysis["degree"]),
                        "attributable": "yes" if found["attributable"] else "no",
                        "cross-fitted Q² [90 %]": f"{found['q2']:.2f} "
                        f"[{found['q2_low']:.2f}, {found['q2_high']:.2f}]",
                        "held-out Q²": number(analysis["held_out_q2"][i]),
                        "not predicted": number(found["not_predicted"]),
                        "p (Holm)": number(found["p_value"], 3),
                    }
                )
    return table_of(rows)


def sources(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results per data set, trained policies first."""
    return dict(sorted(results["policies"].items(), reverse=True))


def main_analysis(source: dict[str, Any]) -> dict[str, Any]:
    """Return the analysis of the main degree."""
    return next(a for a in source["analyses"] if a["degree"] == source["main_degree"])


def mean(values: list[float | None]) -> float:
    """Return the mean over the steps with a choice."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def worst_step(results: dict[str, Any], found: list[list[float | None]]) -> float:
    """Return the largest distance from nominal of one step, over the levels."""
    levels = next(iter(results["policies"].values()))["analyses"][0]["levels"]
    return max(
        abs(value - level)
        for level, row in zip(levels, found, strict=True)
        for value in row
        if value is not None
    )


def coverage(results: dict[str, Any]) -> str:
    """Coverage, width and CRPS of every kind of interval."""
    rows = []
    for name, source in sources(results).items():
        for kind, found in main_analysis(source)["calibration"].items():
            means = [number(mean(level), 3) for level in found["coverage"]]
            rows.append(
                {
                    "policies (held out)": f"{name} ({source['n_held_out']})",
                    "interval": kind,
                    **dict(zip(("50 %", "80 %", "90 %", "95 %"), means, strict=True)),
                    "worst decision": number(worst_step(results, found["coverage"]), 2),
                    "width at 95 %": number(mean(found["width"][-1]), 4),
                    "CRPS": number(mean(found["crps"]), 4),
                }
            )
    return table_of(rows)


def fragility(results: dict[str, Any]) -> str:
    """Measures of disagreement, side by side."""
    rows = []
    for i, step in enumerate(results["steps"]):
        for name, source in sources(results).items():
            found = source["fragility"]
            if found["aitchison_variance"][i] is None:
                continue
            reference = found["alr_reference"][i]
            rows.append(
                {
                    "decision": step,
                    "policies": name,
                    "total variation to the mean": number(
                        found["total_variation"][i], 3
                    ),
                    "Jensen–Shannon to the mean": number(found["jensen_shannon"][i], 4),
                    "Aitchison variance": number(found["aitchison_variance"][i], 1),
                    "per degree of freedom": number(
                        found["variance_per_freedom"][i], 2
                    ),
                    "ALR sum D": f"{found['alr_sum'][i]:.1f} (to {reference})",
                }
            )
    return table_of(rows)


def beside_the_paper(results: dict[str, Any]) -> str:
    """The paper's figures and ours."""
    rows = results["beside_the_paper"]
    if not rows:
        return ""
    columns = ["claim", "paper", *sources(results)]
    return table(columns, [[row[name] for name in columns] for row in rows])


if __name__ == "__main__":
    print("\n".join(describe(Path(folder)) for folder in sys.argv[1:]))
