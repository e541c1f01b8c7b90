"""The control with nothing to attribute: all members share one reward.

Members that are trained on the mean reward alone differ by training noise and by
nothing else. How much of the variance of the log-ratios, which an attribution divides
between inputs, is there all the same? The share is their variance over that of as many
members with rewards of their own, under our settings and under the paper's.

Run: ``python -m benchmarks.paper.one_reward``; what is finished is not repeated, and
without anything to do it prints the table of the page. ``--tasks grid --presets smoke
--members 4 --record FILE`` takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measuring import load, options, save, study_of, table
from gflownet_envs import policies_along, train_ensemble
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.rewards.source import mean_reward
from skpce.inspection import variance_decomposition

RECORD = Path(__file__).parent / "results" / "one_reward.json"
#: How many members are trained on one reward, and how many on rewards of their own.
MEMBERS = {"grid": 30, "buchwald-hartwig": 20}
#: Members of one reward have streams of random numbers that no other member has.
FIRST_ALIKE = 10_000
SETTINGS = {"default": "ours", "paper": "the paper's", "smoke": "smoke"}


def noise_shares(task: str, preset: str, n_members: int) -> dict[str, Any]:
    """Train both ensembles, and return the share of noise at each step."""
    chosen = replace(TASKS[task].presets[preset], n_train=n_members, n_test=2)
    study = study_of(task, chosen)
    reward, members = study.reward.select(slice(0, n_members)), list(range(n_members))
    own = train_ensemble(study.environment, reward, chosen.training, members=members)
    alike = train_ensemble(
        study.environment,
        mean_reward(reward, study.environment),
        chosen.training,
        n_replicates=n_members,
        members=[FIRST_ALIKE + member for member in members],
    )
    along = policies_along(study.environment, own, study.trajectory)
    control = policies_along(study.environment, alike, study.trajectory)
    split = variance_decomposition(
        along.y, control=control.y, steps=along.steps, mask=along.mask
    )
    return {"steps": along.step_names, "share": split.aitchison_variance.noise_share}


def page_table(record: Mapping[str, Any]) -> str:
    """Return a row of each task and its settings, in percent at steps with a choice."""
    rows = []
    for task, found in record.items():
        for preset, one in found.items():
            steps = zip(one["steps"], one["share"], strict=True)
            shares = [
                f"{step.replace('_', ' ')} {100 * share:.3g} %"
                for step, share in steps
                if share is not None
            ]
            rows.append([task, SETTINGS[preset], ", ".join(shares)])
    return table(
        ("task", "settings", "variance with one reward, of that with own rewards"), rows
    )


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
                found[preset] = rounded(noise_shares(task, preset, n_members))
                save(arguments.record, record)
    print(page_table(record))


if __name__ == "__main__":
    main()
