"""Do the nine tasks get answers from drivers and named parts where they had none?

Exact policies of the preset ``default``, along the trajectory of the task, with the
inputs and the pipeline of the task. For each step:

- *the verdict before*: whether the inputs together predict a quarter of the variance
  between the members (cross-fitted Q² of at least 0.25). That was the question until
  each input was tested by itself;
- *drivers*: which inputs are shown to drive the step, and the cross-fitted Q² of the
  fit without settings that is behind their shares;
- *named parts*: the leading part of the first split that supports the step, as in the
  reports of runs (``docs/downloads/named_parts.txt``, which
  ``python -m benchmarks.named_parts`` writes).

All but the last in ten draws of the members to fit, the first of which is that of a
run; named parts are those of all members of a run, with standard errors.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.paper.nine_tasks``; what is
in ``benchmarks/paper/results/nine_tasks.json`` is not repeated.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from benchmarks.measuring import load, options, save, solved, study_of
from benchmarks.paper.baselines import fitted
from gflownet_envs.experiments.analysis import make_pipeline, span_coordinates
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from skpce.inspection import verdict

RECORD = Path(__file__).parent / "results" / "nine_tasks.json"
NAMED = Path(__file__).parents[2] / "docs" / "downloads" / "named_parts.txt"
N_DRAWS, MIN_Q2 = 10, 0.25
#: Members beyond those to fit, where each is expensive; else those of the preset.
N_OTHERS = {"buchwald-hartwig": 50, "llm-arithmetic": 30, "sachs": 30}


def measure(task: str, found: dict[str, Any], save: Callable[[], None]) -> None:
    """Solve a task exactly, and judge draws of its members that are not known yet."""
    if len(found.get("draws", ())) >= N_DRAWS:
        return
    preset = TASKS[task].presets["default"]
    preset = replace(preset, n_test=N_OTHERS.get(task, preset.n_test))
    dataset: PolicyDataset = solved(study_of(task, preset), preset)
    found |= {"task": task, "steps": list(dataset.step_names)}
    draws = found.setdefault("draws", [])
    for draw in range(len(draws), N_DRAWS):
        started = time.process_time()
        rows = fitted(dataset, dataset.train.n_members, draw)
        X, y = dataset.X[rows], dataset.y[rows]
        pipeline = make_pipeline(dataset, preset, preset.degrees[0], 0)
        answer = verdict(pipeline, span_coordinates(X), y, order=False)
        if preset.n_components is None:
            answer = answer.with_names(dataset.feature_names)
        names, drives = answer.input_names, answer.drivers.state == "drives"
        draws.append(
            rounded(
                {
                    "q2": answer.q2,
                    "learned_q2": answer.findings.shares.q2[0],
                    "drives": [
                        [name for name, so in zip(names, row, strict=True) if so]
                        for row in drives
                    ],
                    "seconds": time.process_time() - started,
                }
            )
        )
        save()


def draws_of_tasks(record: dict[str, Any]) -> pd.DataFrame:
    """Return the steps with a choice of every task, in the order of the pages.

    A row a draw: whether the verdict said yes before, what drives the step now, and Q²
    of the fit behind it. Steps are numbered in ``place``.
    """
    rows = [
        {
            "task": task,
            "place": place,
            "step": record[task]["steps"][place],
            "draw": number,
            "q2": q2,
            "before": q2 >= MIN_Q2,
            "drives": draw["drives"][place],
            "now": bool(draw["drives"][place]),
            "learned_q2": draw["learned_q2"][place],
        }
        for task in TASKS
        if task in record
        for number, draw in enumerate(record[task]["draws"])
        for place, q2 in enumerate(draw["q2"])
        if q2 is not None
    ]
    return pd.DataFrame(rows)


def named_parts() -> dict[tuple[str, str], str]:
    """Return the leading part of each task and step, of the first split with support.

    A decision without any supported split is left out.
    """
    found: dict[tuple[str, str], str] = {}
    for line in NAMED.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 8 or cells[0] not in TASKS:
            continue
        match = re.fullmatch(r"([^(].*) (-?\d\.\d\d) ± (\d\.\d\d)", cells[6])
        if match is not None:  # in brackets where it is not supported
            name, share, error = match.groups()
            found.setdefault((cells[0], cells[2]), f"{name} {share} ± {error}")
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    record = load(RECORD)
    write = partial(save, RECORD, record)
    for task in options(__doc__, tasks=TASKS).tasks:
        with threadpool_limits(1):
            measure(task, record.setdefault(task, {}), write)


if __name__ == "__main__":
    main()
