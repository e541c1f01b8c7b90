"""Which states are fragile and why, and what drives the distribution over objects.

Exact policies of three tasks: the grid, Buchwald–Hartwig reactions and real molecules
(chains of three of 16 fragments).

- *Maps*: every state, as wide as the share of the members' walks that pass it, by its
  fragility and by the named part of the reward that explains most of it, found by
  exchanging the parts of members and solving again (`skpce.inspection.part_effects`).
  It is settled where that is supported, and the leading part is more than two standard
  errors above the next.
- *Drivers* of the distribution over objects: probabilities of leading objects and of
  classes, entropy, expected reward, number of modes, by `skpce.explain`.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.gflownet.whole_space --out
runs/whole_space --write docs/downloads/whole_space.txt --images docs/images``.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

import skpce
from benchmarks.measuring import options, publish, study_of, table
from benchmarks.studies.rewards import N_FRAGMENTS, components_of
from gflownet_envs import WholeSpace, policies_everywhere, solve_exact
from gflownet_envs.exact.solve import ExactSolution
from gflownet_envs.experiments.analysis import (
    effects_everywhere,
    has_choice,
    reasons_of,
)
from gflownet_envs.experiments.figures import space_map
from gflownet_envs.experiments.task import Reasons, Study
from gflownet_envs.experiments.tasks import TASKS

IMAGES = {
    "grid": "space_grid.png",
    "buchwald-hartwig": "space_reactions.png",
    "molecules": "space_molecules.png",
}
TITLES = {
    "grid": "Grid",
    "buchwald-hartwig": "Buchwald–Hartwig reactions",
    "molecules": "Molecules",
}
_N_DRAWS = {"grid": 1024, "buchwald-hartwig": 256, "molecules": 256}
_N_MEMBERS = 50  # of the drivers on the grid


@dataclass(frozen=True)
class Space:
    """A task that is solved."""

    name: str
    study: Study
    solution: ExactSolution
    space: WholeSpace

    @property
    def n_explained(self) -> int:
        """Number of members behind the drivers: of the grid not all 625."""
        return _N_MEMBERS if self.name == "grid" else len(self.space.law)

    def statistics(self) -> dict[str, np.ndarray]:
        """Return what is said of the distribution over objects."""
        classes, values = classes_and_values(self.name, self.study)
        return self.space.statistics(
            names=self.study.environment.object_names(),
            classes=classes,
            values=values,
            neighbours=neighbours_of(self.name, self.study),
        )


def solved(name: str, folder: Path) -> Space:
    """Prepare a task and solve its members."""
    preset = TASKS[name].presets["default"]
    if name == "molecules":
        preset = replace(preset, proxy=replace(preset.proxy, n_fragments=N_FRAGMENTS))
    study = study_of(name, preset, folder / "blocks" / name)
    solution = solve_exact(study.environment, study.reward)
    space = WholeSpace.from_policies(solution.graph, solution)
    return Space(name, study, solution, space)


def classes_and_values(name: str, study: Study) -> tuple[Any, dict[str, np.ndarray]]:
    """Return classes of the objects, and what each member says of them."""
    if name == "grid":
        log_reward = np.asarray(study.reward.log_reward, dtype=float)
        return study.levels["quadrant"], {"reward": np.exp(log_reward)}
    levels = study.environment.object_levels().numpy()
    if name == "buchwald-hartwig":
        # the ligand and base of a leading reaction are what a chemist stocks
        classes = {
            str(level): np.flatnonzero(levels[:, i] == number)
            for i in (0, 1)
            for number, level in enumerate(list(study.environment.levels.values())[i])
        }
        return classes, {"yield": study.reward_features}
    classes = {
        f"a chain with {fragment}": np.flatnonzero((levels == number).any(axis=1))
        for number, fragment in enumerate(next(iter(study.environment.levels.values())))
    }
    shown = dict(list(classes.items())[:4])
    return shown, {"predicted pIC50": study.reward_features}


def neighbours_of(name: str, study: Study) -> np.ndarray:  # shape: (n_pairs, 2)
    """Return cells side by side, and objects that differ in one component."""
    if name == "grid":
        cells = np.asarray(study.environment.cells)
        apart = np.abs(cells[:, None] - cells[None]).sum(axis=2)
        return np.argwhere(np.triu(apart == 1))
    levels = study.environment.object_levels().numpy()
    sizes = levels.max(axis=0) + 1
    numbers = np.arange(len(levels)).reshape(sizes)
    pairs = []
    for axis, size in enumerate(sizes):
        for one, two in combinations(range(size), 2):
            pairs.append(np.moveaxis(np.take(numbers, (one, two), axis), axis, 0))
    return np.concatenate([pair.reshape(2, -1).T for pair in pairs])


# Why states are fragile


def states_table(task: Space, reasons: Reasons, drivers: list[str]) -> str:
    """List the states that add most to the fragility of the objects."""
    graph, env, space = task.solution.graph, task.study.environment, task.space
    total, visits = space.contribution.sum(), space.visits.mean(axis=0)
    rows = []
    for state in np.argsort(-space.contribution)[:8]:
        name = str(tuple(graph.states[state, :2].tolist()))
        if env.is_tree:
            history = env.action_history(graph.states[state]).tolist()
            taken = [env.action_names[a].split(": ", 1)[-1] for a in history if a >= 0]
            name = " → ".join(taken) or "start"
        share = f"{reasons.shares[state]:.0%}"
        rows.append(
            [
                env.step_names[int(graph.steps[state])].replace("_", " "),
                name,
                f"{visits[state]:.3f}",
                f"{space.fragility[state]:.3f}",
                f"{space.contribution[state] / total:.1%}",
                reasons.parts[state],
                share if reasons.settled[state] else f"{share}, not settled",
                drivers[state],
            ]
        )
    fragile = np.argsort(-space.fragility)[:10]
    lead = (
        f"**{TITLES[task.name]}** ({graph.n_states} states, "
        f"{env.n_objects} objects, {len(space.law)} members). Mean total variation of "
        f"the distribution over objects to the mean: {space.object_fragility:.3f}; "
        f"contributions of all states together: {total:.3f}. The ten most fragile "
        f"states are passed by {visits[fragile].mean():.2%} of the walks each; the "
        f"ten that add most have "
        f"{np.sort(space.contribution)[::-1][:10].sum() / total:.0%} of all.\n\n"
    )
    heads = ("decision", "state", "visits", "fragility", "share of it")
    return lead + table(
        (*heads, "leading part", "its share alone", "drivers (tested)"), rows
    )


# Drivers of the distribution over objects


def inputs_of(task: Space) -> dict[str, np.ndarray]:
    """Return one number for each named part: its level, or its first component.

    Objects count by the root of their mean probability.
    """
    n_members, law = task.n_explained, task.space.law.mean(axis=0)
    found = {}
    for name, values in task.study.named_parts[0].parts.items():
        if task.name == "grid":  # one level for all cells of a quadrant
            cell = np.flatnonzero(values[0])[0]
            found[name] = values[:n_members, cell] - values[:, cell].mean()
            continue
        shape = [len(names) for names in task.study.environment.levels.values()]
        whole = np.broadcast_to(values[:n_members], (n_members, *shape))
        weighted = whole.reshape(n_members, -1) * np.sqrt(law)
        found[name] = components_of(weighted, n_members, 1)[:, 0]
    return found


def drivers_of_states(task: Space) -> tuple[list[str], str]:
    """Return what is tested to drive the policy of each state, and how much that is."""
    inputs, graph, n_members = inputs_of(task), task.solution.graph, task.n_explained
    policies = policies_everywhere(graph, task.solution)
    drivers = skpce.explain(
        np.column_stack(list(inputs.values())),
        policies.y[:n_members],
        inputs=list(inputs),
        steps=policies.steps,
    ).drivers
    names, choice = [""] * graph.n_states, np.flatnonzero(has_choice(task.space))
    known = {name: row for row, name in enumerate(drivers.output_names)}
    for step, state in zip(policies.step_names, choice, strict=True):
        if step in known:
            names[state] = ", ".join(driving(drivers, known[step]))
    driven = np.array(names) != ""
    share = task.space.contribution[driven].sum() / task.space.contribution.sum()
    return names, (
        f"Some part is tested to drive {driven.sum()} of {len(choice)} states with a "
        f"choice, which have {share:.0%} of all contributions ({n_members} members).\n"
    )


def explained(inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> Any:
    """Ask which input drives which statistic."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of statistics that are constant
        kept = {k: v for k, v in outputs.items() if np.ptp(v) > 1e-12}
        return skpce.explain(
            {**inputs, **kept}, inputs=list(inputs), outputs=list(kept)
        )


def driving(drivers: Any, row: int) -> dict[str, float]:
    """Return the inputs that drive an output, with their shares in all."""
    every = zip(
        drivers.input_names, drivers.state[row], drivers.total[row], strict=True
    )
    return {name: share for name, state, share in every if state == "drives"}


def drivers_table(task: Space) -> str:
    """Say what drives each statistic."""
    n_members = task.n_explained
    outputs = {name: v[:n_members] for name, v in task.statistics().items()}
    drivers = explained(inputs_of(task), outputs).drivers
    rows = []
    for row, name in enumerate(drivers.output_names):
        found = driving(drivers, row)
        order = sorted(found, key=lambda who: (-found[who], who))
        shown = ", ".join(f"{who} {found[who]:.0%}" for who in order)
        value = outputs[name]
        numbers = [f"{value.mean():.3g}", f"{value.std():.2g}"]
        rows.append([name, *numbers, shown or "none found"])
    heads = ("statistic", "mean", "sd", "drivers, with their share in all")
    return f"**{TITLES[task.name]}**, {n_members} members:\n\n{table(heads, rows)}"


def main() -> None:
    given = {"tasks": IMAGES, "images": Path, "write": Path}
    arguments = options(__doc__, out=Path("runs/whole_space"), **given)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    tasks = {name: solved(name, arguments.out) for name in arguments.tasks}
    states, drivers = [], []
    for name, task in tasks.items():
        named = task.study.named_parts[0]
        effects = effects_everywhere(named, task.solution.graph, n_draws=_N_DRAWS[name])
        reasons = reasons_of(task.space, effects, list(named.parts))
        if arguments.images is not None:
            known = {"settled": reasons.settled, "title": TITLES[name]}
            drawn = space_map(task.space, reasons.parts, **known)
            drawn.savefig(arguments.images / IMAGES[name], dpi=110)
        driven, sentence = drivers_of_states(task)
        states += [states_table(task, reasons, driven), sentence]
        drivers.append(drivers_table(task))
    pieces = [
        "<!-- Written by python -m benchmarks.gflownet.whole_space -->\n",
        "**The states that add most to the fragility of the objects**\n",
        *states,
        "**Drivers of the distribution over objects** (`skpce.explain`)\n",
        *drivers,
    ]
    pieces.append(f"Made in {time.process_time():.0f} CPU-seconds.\n")
    text = "\n".join(pieces)
    publish(text, arguments.write)


if __name__ == "__main__":
    main()
