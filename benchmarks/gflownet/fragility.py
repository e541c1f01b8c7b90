"""How much of the fragility of steps follows from their number of actions.

Exact policies of all nine tasks, preset ``default``: fragility of each step beside that
of equal noise (`skpce.metrics.excess_fragility`), what share of the ranking of the
steps the number of actions K alone explains, fragility against the share of the data
that a member saw (Buchwald–Hartwig, Sachs, structure learning), and against the number
of members. Policies are solved, nothing is trained but proxies; about four CPU-minutes.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.gflownet.fragility
--out runs/fragility --write docs/downloads/fragility.txt``. Policies that are in the
folder are not solved again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from benchmarks.measuring import options, publish, solved, study_of, table
from gflownet_envs import PolicyDataset
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks import TASKS
from skpce.inspection import Result
from skpce.metrics import excess_fragility, policy_fragility

#: What a member saw, in percent of all rows; 30 % is the paper's.
SHARES = (2, 5, 10, 20, 30, 40)
#: Rows of 853 that a member saw; the defaults are 200 and 50.
SACHS_ROWS, SIMULATED_ROWS = (50, 100, 200, 400), (25, 50, 100, 200)
N_MEMBERS = (6, 10, 15, 20, 30, 50)
_N_SUBSETS = 40

MEASURES = {
    "D, sum over additive log-ratios (the paper's)": "alr_sum",
    "Aitchison variance": "aitchison_variance",
    "Aitchison variance per degree of freedom": "variance_per_freedom",
    "total variation to the mean (the release's)": "total_variation",
    "the same over its largest value": "normalized_total_variation",
    "mutual information": "mutual_information",
    "total variation over that of equal noise": "excess",
}


def exact_policies(
    name: str,
    folder: Path,
    seed: int,
    label: str = "default",
    preset: Preset | None = None,
    usual: bool = False,
) -> PolicyDataset:
    """Solve the members of a task, along the usual trajectory or their own."""
    path = folder / f"{name}-{label}.safetensors"
    if path.exists():
        return PolicyDataset.load(path)
    preset = TASKS[name].presets["default"] if preset is None else preset
    study = study_of(name, preset, folder / "blocks" / name, seed)
    if usual:
        known = study_of(name, store=folder / "blocks" / name, seed=seed)
        study = replace(study, trajectory=known.trajectory)
    exact: PolicyDataset = solved(study, preset, seed)
    exact.save(path)
    return exact


def excess_of(data: PolicyDataset) -> Result:
    """Compare the members of the fit with equal noise."""
    return excess_fragility(data.y, steps=data.steps, mask=data.mask, random_state=0)


class Steps:
    """Every step with a choice of every task, with all measures."""

    def __init__(self, datasets: dict[str, PolicyDataset]) -> None:
        self.tasks: list[str] = []
        self.names: list[str] = []
        columns: dict[str, list[float]] = {}
        for task, data in datasets.items():
            found = policy_fragility(data.y, steps=data.steps, mask=data.mask)
            excess = excess_of(data)
            for step in np.flatnonzero(found.n_possible > 1):
                self.tasks.append(task)
                self.names.append(data.step_names[step])
                values = {**_numbers(found, step), **_numbers(excess, step)}
                for name, value in values.items():
                    columns.setdefault(name, []).append(value)
        self.columns = {name: np.array(values) for name, values in columns.items()}
        self.task = np.array(self.tasks)

    def ranks_explained(self, measure: str, by: str, *, keep: Any = None) -> float:
        """Return R² of the ranks of a measure on those of something else."""
        rows = np.ones(len(self.task), dtype=bool) if keep is None else keep
        one, two = (rankdata(self.columns[name][rows]) for name in (measure, by))
        if np.ptp(one) == 0 or np.ptp(two) == 0:
            return 0.0
        return float(np.corrcoef(one, two)[0, 1] ** 2)

    def with_error(self, measure: str, by: str) -> str:
        """Return that with the jackknife's error, a task left out at a time."""
        tasks = np.unique(self.task)
        left = [
            self.ranks_explained(measure, by, keep=self.task != task) for task in tasks
        ]
        error = np.sqrt((len(tasks) - 1) * np.var(left))
        return f"{self.ranks_explained(measure, by):.0%} ± {error:.0%}"


def _numbers(found: Any, step: int) -> dict[str, float]:
    """Return the measures of one step by name."""
    return {
        name: float(values[step])
        for name, values in found.columns.items()
        if name != "alr_reference"
    }


def confound_table(steps: Steps) -> str:
    """What share of the ranking of steps K, or equal noise, explains."""
    rows = []
    for title, measure in MEASURES.items():
        cells = [
            steps.with_error(measure, by)
            for by in ("n_possible", "contestedness", "expected")
        ]
        rows.append([title, *cells])
    return table(
        (
            "measure",
            "ranks, all steps: K alone",
            "contestedness alone",
            "equal noise",
        ),
        rows,
    )


def steps_table(steps: Steps) -> str:
    """Every step beside equal noise."""
    rows = []
    for i, (task, name) in enumerate(zip(steps.tasks, steps.names, strict=True)):
        value = {key: values[i] for key, values in steps.columns.items()}
        first = i == 0 or steps.tasks[i - 1] != task
        rows.append(
            [
                task if first else "",
                name.replace("_", " "),
                f"{value['n_possible']:.0f}",
                f"{value['contestedness']:.2f}",
                f"{value['alr_sum']:.3g}",
                f"{value['variance_per_freedom']:.3g}",
                f"{value['total_variation']:.3f}",
                f"{value['expected']:.3f}",
                f"{value['excess']:.2f} ± {value['excess_error']:.2f}",
            ]
        )
    return table(
        (
            *("task", "step", "K", "contestedness", "D", "per degree of freedom"),
            *("TV", "TV of equal noise", "TV over that of equal noise"),
        ),
        rows,
    )


def data_settings(folder: Path, seed: int) -> Iterator[tuple[str, str, PolicyDataset]]:
    """Yield a task, what its members saw, and their exact policies."""
    for name, settings in (
        ("buchwald-hartwig", SHARES),
        ("sachs", SACHS_ROWS),
        ("structure-learning", SIMULATED_ROWS),
    ):
        preset = TASKS[name].presets["default"]
        for value in settings:
            if name == "buchwald-hartwig":
                proxy = replace(preset.proxy, train_fraction=value / 100)
                label, shown = f"{value}percent", f"{value} %"
            else:
                proxy = replace(preset.proxy, n_rows=value)
                label, shown = f"{value}rows", f"{value / 853:.0%} ({value} rows)"
            small = replace(preset, proxy=proxy, n_test=0)
            # The pilot of the Sachs task sees other rows.
            usual = name == "sachs"
            data = exact_policies(name, folder, seed, label, small, usual=usual)
            yield name, shown, data


def data_table(folder: Path, seed: int) -> str:
    """Fragility against the share of the data that a member saw."""
    rows, last = [], ""
    for name, shown, data in data_settings(folder, seed):
        found = excess_of(data.train)
        steps = np.flatnonzero(found.n_possible > 1)
        rows.append(
            [
                name if name != last else "",
                shown,
                " ".join(f"{found.total_variation[s]:.3f}" for s in steps),
                f"{found.noise_scale:.2f}",
                " ".join(f"{found.excess[s]:.2f}" for s in steps),
            ]
        )
        last = name
    return table(
        (
            "task",
            "share of the data",
            "TV of each step",
            "noise scale",
            "TV over that of equal noise",
        ),
        rows,
    )


def members_table(datasets: dict[str, PolicyDataset]) -> str:
    """Fragility of subsets of the members, against that of all."""
    rng, rows = np.random.default_rng(0), []
    for name, data in datasets.items():
        whole = policy_fragility(data.y, steps=data.steps, mask=data.mask)
        some = whole.n_possible > 1
        cells, order = [], np.argsort(whole.total_variation[some])
        for n_members in N_MEMBERS:
            if n_members >= data.n_members:
                cells.append("–")
                continue
            ratios, same = [], []
            for _ in range(_N_SUBSETS):
                chosen = rng.choice(data.n_members, n_members, replace=False)
                found = policy_fragility(
                    data.y[chosen], steps=data.steps, mask=data.mask
                ).total_variation[some]
                ratios.append(found / whole.total_variation[some])
                same.append(np.argsort(found)[-1] == order[-1])
            mean, spread = np.mean(ratios), np.std(ratios, axis=0).mean()
            cells.append(f"{mean:.2f} ± {spread:.2f}, {np.mean(same):.0%}")
        rows.append([name, str(data.n_members), *cells])
    heads = tuple(f"{n} members" for n in N_MEMBERS)
    return table(("task", "members", *heads), rows)


def page(folder: Path, seed: int) -> str:
    """Return all tables."""
    everyone = {name: exact_policies(name, folder, seed) for name in TASKS}
    training = {name: data.train for name, data in everyone.items()}
    steps = Steps(training)
    reactions = steps.task == "buchwald-hartwig"
    shares = ", ".join(
        f"{title} {steps.ranks_explained(name, 'n_possible', keep=reactions):.0%}"
        for title, name in MEASURES.items()
    )
    return "\n".join(
        [
            "<!-- Written by python -m benchmarks.gflownet.fragility -->\n",
            f"**Share of the ranking of {len(steps.tasks)} steps that is explained** "
            "(R² of ranks; ± jackknife over the nine tasks):\n",
            confound_table(steps),
            f"The four steps of Buchwald–Hartwig alone, ranks by K: {shares}.\n",
            "**Every step beside equal noise** (exact policies of the members of the "
            "fit):\n",
            steps_table(steps),
            "**Against the share of the data that a member saw**:\n",
            data_table(folder, seed),
            "**Against the number of members** (TV of subsets over that of all "
            "members, mean over steps ± standard deviation over subsets; how often the "
            "most fragile step is the same):\n",
            members_table(everyone),
        ]
    )


def main() -> None:
    arguments = options(__doc__, seed=0, out=Path("runs/fragility"), write=Path)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    publish(page(arguments.out, arguments.seed), arguments.write)


if __name__ == "__main__":
    main()
