"""The policies behind the page: each task under each reading of the paper's settings.

A finished run of the same task and preset is read; else rewards are drawn and policies
solved and trained, without the verdicts and pictures of a run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gflownet_envs.experiments.analysis import make_policies
from gflownet_envs.experiments.paper.measures import N_DRAWS, n_draws_of_preset
from gflownet_envs.experiments.task import Preset, Progress, changed, record_of
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import BlockStore, canonical_json, plain_json


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open.

    Attributes
    ----------
    words : str
        How it reads, for the page.
    sources : tuple of str
        Kinds of policies that are made: "exact", "trained".
    changes : mapping
        Of the preset ``paper``, and of the records in it.
    as_episodes : bool
        Whether as many trajectories are trained on as the paper has episodes.
    """

    words: str
    sources: Sequence[str]
    changes: Mapping[str, Any] = field(default_factory=dict)
    as_episodes: bool = False

    def change(self, preset: Preset) -> Preset:
        """Return the preset of the reading."""
        changes, spec = self.changes, preset.training
        if self.as_episodes:
            n_iterations = max(1, spec.n_iterations // spec.batch_size)
            changes = {"training": {"n_iterations": n_iterations}}
        read: Preset = changed(preset, changes)
        return read


FIRST = "paper"

#: What the paper leaves open, and how each choice reads: the words of the page, the
#: kinds of policies that are made, and the change of the preset ``paper``. The first
#: reading is the one that the word of a row is about.
READINGS: Mapping[str, Reading] = {
    name: Reading(**entry) for name, entry in record_of("readings").items()
}

# Settings of a run that change neither policies nor what the page measures;
# n_permutations is one of older runs.
_WITHOUT_EFFECT = ("n_control", "n_part_draws", "n_permutations")


def readings_of(task: str, *, quick: bool = False) -> tuple[str, ...]:
    """Return the names of the readings of a task, the first one first."""
    page = record_of(task)["page"]
    others = page["readings"]
    if quick:
        others = page.get("quick_readings", others)
    return (FIRST, *others)


def sources_of(task: str, reading: str, *, quick: bool) -> tuple[str, ...]:
    """Return the kinds of policies that a reading of a task has."""
    sources = READINGS[reading].sources
    if reading == FIRST:
        page = record_of(task)["page"]
        sources = page.get("sources", sources)
        if quick:
            sources = page.get("quick_sources", sources)
    return tuple(sources)


@dataclass(frozen=True, eq=False)
class System:
    """The policies of one task under one reading.

    Attributes
    ----------
    preset : Preset
    datasets : dict of str to PolicyDataset
        By source: "exact", "trained".
    record : dict
        ``cpu_seconds`` of the stages, ``distance`` of trained from exact policies
        (mean and worst member, None where not known) and ``reduced``: what is smaller
        than in the paper, in words; empty where nothing is.
    """

    preset: Preset
    datasets: dict[str, PolicyDataset]
    record: dict[str, Any] = field(default_factory=dict)


def preset_of(task: str, reading: str, *, quick: bool) -> tuple[Preset, str]:
    """Return the preset of a reading of a task, and what is reduced in it, in words."""
    preset = TASKS[task].presets["paper"]
    if reading not in readings_of(task):
        raise ValueError(
            f"reading must be one of {readings_of(task)} for {task}, got {reading!r}"
        )
    preset = READINGS[reading].change(preset)
    sizes = record_of(task)["page"].get("quick", {}) if quick else {}
    words = [f"{name} {size}" for name, size in sizes.items()]
    sources = sources_of(task, reading, quick=quick)
    if sources != sources_of(task, reading, quick=False):
        words.append(f"{' and '.join(sources)} policies only")
    return replace(preset, **sizes), ", ".join(words)


def settings_checksum(settings: Preset | Mapping[str, Any]) -> str:
    """Return a checksum of the settings on which policies and measures depend.

    Parameters
    ----------
    settings : Preset or mapping
        A preset, or the settings that a run has written.
    """
    record = asdict(settings) if isinstance(settings, Preset) else dict(settings)
    kept = {key: record[key] for key in record if key not in _WITHOUT_EFFECT}
    plain = plain_json(kept, "settings", nan_as_null=False)
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Systems:
    """The policies of all tasks: of a finished run, or new.

    Attributes
    ----------
    quick : bool
        Whether sizes are reduced.
    folder : Path
        Where blocks of training are stored.
    runs : Path or None
        Folder with finished runs in folders ``TASK-paper``.
    seed : int
    n_jobs : int or None
    progress : callable
    options : mapping
        ``data_home`` for tasks with data.
    draws : int
        Of other numbers the members to fit are drawn anew.
    last : dict
        The system that was asked for last: one at a time is in memory.
    """

    quick: bool
    folder: Path
    runs: Path | None
    seed: int
    n_jobs: int | None
    progress: Progress
    options: Mapping[str, Any]
    draws: int = 0
    last: dict[tuple[str, str], System] = field(default_factory=dict)

    def draws_of(self, n_draws: int) -> range:
        """Return the seeds of the draws where the preset ``full`` has so many."""
        start = self.draws * N_DRAWS
        return range(start, start + n_draws_of_preset(n_draws, quick=self.quick))

    def find(self, task: str, reading: str) -> System:
        """Return the policies of a task under a reading, a name in ``READINGS``."""
        if (task, reading) not in self.last:
            self.last.clear()
            preset, reduced = preset_of(task, reading, quick=self.quick)
            found = None
            if self.runs is not None and not reduced and reading == FIRST:
                found = read_run(preset, self.runs / f"{task}-{FIRST}")
            if found is None:
                found = self._made(task, reading, preset)
                found.record["reduced"] = reduced
            self.last[task, reading] = found
        return self.last[task, reading]

    def _made(self, task: str, reading: str, preset: Preset) -> System:
        """Draw the rewards of a task, solve and train."""

        def progress(stage: str, done: int, total: int) -> None:
            self.progress(f"{task}: {stage}", done, total)

        known: dict[str, Any] = {
            "seed": self.seed,
            # proxies are the same under all readings
            "store": BlockStore(self.folder / f"{task}-{FIRST}" / "blocks"),
            "progress": progress,
        }
        sources = sources_of(task, reading, quick=self.quick)
        study = TASKS[task].prepare(preset, options=self.options, **known)
        policies = make_policies(
            study,
            preset.training,
            solve="exact" in sources,
            train="trained" in sources,
            n_jobs=self.n_jobs,
            **known,
        )
        found = {"exact": policies.exact, "trained": policies.trained}
        record: dict[str, Any] = {
            "cpu_seconds": study.cpu_seconds | policies.cpu_seconds,
            "distance": policies.mean_and_worst_distance,
        }
        datasets = {name: kept for name, kept in found.items() if kept is not None}
        return System(preset, datasets, record)


def read_run(preset: Preset, folder: Path) -> System | None:
    """Return the policies of a finished run, None where there is none of the preset."""
    if not (folder / "results.json").is_file():
        return None
    results, times = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("results.json", "run_record.json")
    )
    if settings_checksum(results["settings"]) != settings_checksum(preset):
        return None
    datasets = {}
    for name in ("dataset_exact.safetensors", "dataset.safetensors"):
        if (folder / name).is_file():
            dataset = PolicyDataset.load(folder / name)
            datasets[dataset.source] = dataset
    record = {
        "cpu_seconds": times["cpu_seconds"],
        "distance": results["distance_to_exact"],
        "reduced": "",
    }
    return System(preset, datasets, record)
