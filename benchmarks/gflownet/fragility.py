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

import numpy as np
import pandas as pd
import torch

from benchmarks.measuring import numbers, options, publish, solved, study_of, table
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


def steps_of(datasets: dict[str, PolicyDataset]) -> pd.DataFrame:
    """Return every step with a choice of every task, with all measures."""
    frames = []
    for task, data in datasets.items():
        found = policy_fragility(data.y, steps=data.steps, mask=data.mask)
        columns = {**found.columns, **excess_of(data).columns}
        columns.pop("alr_reference")
        frame = pd.DataFrame(columns).assign(task=task, step=data.step_names)
        frames.append(frame[found.n_possible > 1])
    return pd.concat(frames, ignore_index=True)


def ranks_explained(steps: pd.DataFrame, measure: str, by: str) -> float:
    """Return R² of the ranks of a measure on those of something else."""
    pair = steps[[measure, by]]
    if (pair.nunique() == 1).any():
        return 0.0
    return float(pair.corr("spearman").iloc[0, 1] ** 2)


def with_error(steps: pd.DataFrame, measure: str, by: str) -> str:
    """Return that with the jackknife's error, a task left out at a time."""
    tasks = steps["task"].unique()
    left = [
        ranks_explained(steps[steps["task"] != task], measure, by) for task in tasks
    ]
    error = np.sqrt((len(tasks) - 1) * np.var(left))
    return f"{ranks_explained(steps, measure, by):.0%} ± {error:.0%}"


def confound_table(steps: pd.DataFrame) -> str:
    """What share of the ranking of steps K, or equal noise, explains."""
    others = ("n_possible", "contestedness", "expected")
    rows = [
        [title, *(with_error(steps, measure, by) for by in others)]
        for title, measure in MEASURES.items()
    ]
    columns = ["measure", "ranks, all steps: K alone", "contestedness alone"]
    return table([*columns, "equal noise"], rows)


def steps_table(steps: pd.DataFrame) -> str:
    """Every step beside equal noise."""
    rows, is_first = [], ~steps["task"].duplicated()
    for first, one in zip(is_first, steps.itertuples(), strict=True):
        rows.append(
            [
                one.task if first else "",
                one.step.replace("_", " "),
                f"{one.n_possible:.0f}",
                f"{one.contestedness:.2f}",
                f"{one.alr_sum:.3g}",
                f"{one.variance_per_freedom:.3g}",
                f"{one.total_variation:.3f}",
                f"{one.expected:.3f}",
                f"{one.excess:.2f} ± {one.excess_error:.2f}",
            ]
        )
    columns = ["task", "step", "K", "contestedness", "D", "per degree of freedom"]
    columns += ["TV", "TV of equal noise", "TV over that of equal noise"]
    return table(columns, rows)


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
        some = found.n_possible > 1
        tv, excess = found.total_variation[some], found.excess[some]
        cells = [numbers(tv, 3, " "), f"{found.noise_scale:.2f}"]
        title = name if name != last else ""
        rows.append([title, shown, *cells, numbers(excess, 2, " ")])
        last = name
    columns = ["task", "share of the data", "TV of each step", "noise scale"]
    return table([*columns, "TV over that of equal noise"], rows)


def members_table(datasets: dict[str, PolicyDataset]) -> str:
    """Fragility of subsets of the members, against that of all."""
    rng, rows = np.random.default_rng(0), []
    for name, data in datasets.items():
        shape = {"steps": data.steps, "mask": data.mask}
        whole = policy_fragility(data.y, **shape)
        some = whole.n_possible > 1
        of_all, cells = whole.total_variation[some], []
        for n_members in N_MEMBERS:
            if n_members >= data.n_members:
                cells.append("–")
                continue
            drawn = []
            for _ in range(_N_SUBSETS):
                chosen = rng.choice(data.n_members, n_members, replace=False)
                found = policy_fragility(data.y[chosen], **shape)
                drawn.append(found.total_variation[some])
            ratios = np.array(drawn) / of_all
            same = np.argmax(drawn, axis=1) == np.argmax(of_all)
            spread = ratios.std(axis=0).mean()
            cells.append(f"{ratios.mean():.2f} ± {spread:.2f}, {same.mean():.0%}")
        rows.append([name, str(data.n_members), *cells])
    heads = (f"{n} members" for n in N_MEMBERS)
    return table(["task", "members", *heads], rows)


def page(folder: Path, seed: int) -> str:
    """Return all tables."""
    everyone = {name: exact_policies(name, folder, seed) for name in TASKS}
    training = {name: data.train for name, data in everyone.items()}
    steps = steps_of(training)
    reactions = steps[steps["task"] == "buchwald-hartwig"]
    shares = ", ".join(
        f"{title} {ranks_explained(reactions, name, 'n_possible'):.0%}"
        for title, name in MEASURES.items()
    )
    return "\n".join(
        [
            "<!-- Written by python -m benchmarks.gflownet.fragility -->\n",
            f"**Share of the ranking of {len(steps)} steps that is explained** "
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
