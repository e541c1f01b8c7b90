"""The control with nothing to attribute: all members share one reward.

Members that are trained on the mean reward alone differ by training noise and by
nothing else. How much of the variance of the log-ratios, which an attribution divides
between inputs, is there all the same; and at how many steps is an input, the one of a
reward that the member was not trained on, said to drive the choice? Beside them stand
as many members with rewards of their own, under our settings and under the paper's.

Run: ``python -m benchmarks.paper.one_reward``, some minutes; what is finished is not
repeated, and without anything to do it prints the table of the page. ``--tasks grid
--presets smoke --members 12 --record FILE`` takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measuring import load, options, save, study_of, table
from gflownet_envs.experiments.analysis import (
    make_pipeline,
    make_policies,
    training_noise,
)
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.task import silent
from gflownet_envs.experiments.tasks import TASKS
from skpce.inspection import verdict

RECORD = Path(__file__).parent / "results" / "one_reward.json"
#: How many members are trained on one reward, and how many on rewards of their own.
MEMBERS = {"grid": 30, "buchwald-hartwig": 20}
SETTINGS = {"default": "ours", "paper": "the paper's", "smoke": "smoke"}
DRIVEN = {"own": "driven steps, own rewards", "one": "driven steps, one reward"}


def measure(task: str, preset: str, n_members: int) -> dict[str, Any]:
    """Train both ensembles; return the share of noise, and which steps are driven."""
    chosen = replace(TASKS[task].presets[preset], n_train=n_members, n_test=2)
    policies = make_policies(
        study_of(task, chosen),
        chosen.training,
        train=True,
        solve=False,
        seed=0,
        store=None,
        progress=silent,
        n_control=n_members,
    )
    assert policies.trained is not None
    own, alike = policies.trained.train, policies.control
    noise = training_noise(own, None, alike).control
    assert alike is not None
    assert noise is not None
    driven = {}
    for name, y in {"own": own.y, "one": alike}.items():
        X = own.X[: len(y)]
        pipeline = make_pipeline(own, chosen, chosen.degrees[-1], seed=0).fit(X, y)
        driven[name] = sum(verdict(pipeline, X, y).attributable)
    return {"steps": own.step_names, "share": noise.noise_share, "driven": driven}


def page_table(record: Mapping[str, Any]) -> str:
    """Return a row of each task and its settings, in percent at steps with a choice."""
    rows = []
    for task, found in record.items():
        for preset, one in found.items():
            shares = [
                f"{step.replace('_', ' ')} {100 * share:.3g} %"
                for step, share in zip(one["steps"], one["share"], strict=True)
                if share is not None
            ]
            driven = (f"{one['driven'][kind]} of {len(shares)}" for kind in DRIVEN)
            rows.append([task, SETTINGS[preset], ", ".join(shares), *driven])
    columns = ["task", "settings", "variance with one reward, of that with own ones"]
    return table([*columns, *DRIVEN.values()], rows)


def main() -> None:
    """Measure what the record lacks, and print the table."""
    arguments = options(
        __doc__, tasks=MEMBERS, presets=["default", "paper"], members=0, record=RECORD
    )
    record = load(arguments.record)
    for task in arguments.tasks:
        for preset in arguments.presets:
            found = record.setdefault(task, {})
            if preset not in found:
                n_members = arguments.members or MEMBERS[task]
                found[preset] = rounded(measure(task, preset, n_members))
                save(arguments.record, record)
    print(page_table(record))


if __name__ == "__main__":
    main()
