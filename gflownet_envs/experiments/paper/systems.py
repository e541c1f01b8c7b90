"""The policies behind the page: each task under the paper's settings, and near exact.

A finished run of the same task and preset is read; else rewards are drawn and policies
solved and trained, without the verdicts and pictures of a run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gflownet_envs.block_store import BlockStore
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.task import Preset, Progress
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import (
    canonical_json,
    json_bytes,
    plain_json,
    write_together,
)

#: Settings of the policies: the paper's, or those of the preset ``default``.
SETTINGS = ("paper", "default")

# What `quick` takes off the paper's settings; tasks that are not listed keep theirs.
_QUICK_SIZES: Mapping[str, Mapping[str, int]] = {
    "symbolic-regression": {"n_train": 40, "n_test": 12},
    "llm-arithmetic": {"n_test": 10},
    "buchwald-hartwig": {"n_test": 30},
    "sachs": {"n_test": 6},
    "structure-learning": {"n_test": 10},
    "molecules": {"n_test": 5},
}
# Settings of a run that change neither policies nor what the page measures;
# n_permutations is one of older runs.
_WITHOUT_EFFECT = ("n_control", "n_part_draws", "n_permutations")

_QUICK_ITERATIONS: Mapping[str, int] = {"sachs": 300, "structure-learning": 600}


@dataclass(frozen=True, eq=False)
class System:
    """The policies of one task under one group of settings.

    Attributes
    ----------
    task : str
    settings : {"paper", "default"}
    preset : Preset
    datasets : dict of str to PolicyDataset
        By source: "exact", "trained".
    record : dict
        ``cpu_seconds`` of the stages, ``distance`` of trained from exact policies
        (mean and worst member, None where not known) and ``reduced``: what is smaller
        than in the paper, in words; empty where nothing is.
    """

    task: str
    settings: str
    preset: Preset
    datasets: dict[str, PolicyDataset]
    record: dict[str, Any] = field(default_factory=dict)


def preset_of(task: str, settings: str, *, quick: bool) -> tuple[Preset, str]:
    """Return the preset of a task, and what is reduced in it, in words."""
    preset = TASKS[task].presets[settings]
    if not quick or settings != "paper":
        return preset, ""
    sizes: dict[str, Any] = dict(_QUICK_SIZES.get(task, {}))
    words = [f"{name} {size}" for name, size in sizes.items()]
    smaller = replace(preset, **sizes) if sizes else preset
    if trains_less(task, quick=quick):
        n_iterations = _QUICK_ITERATIONS[task]
        training = replace(smaller.training, n_iterations=n_iterations)
        smaller = replace(smaller, training=training)
        words.append(f"{n_iterations} iterations")
    return smaller, ", ".join(words)


def trains_less(task: str, *, quick: bool) -> bool:
    """Return whether a task is trained for less long than in the paper."""
    return quick and task in _QUICK_ITERATIONS


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


def find_system(
    task: str,
    settings: str,
    *,
    quick: bool,
    folder: Path,
    runs: Path | None,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> System:
    """Return the policies of a task: of a finished run, of an earlier call, or new.

    Parameters
    ----------
    task : str
    settings : {"paper", "default"}
    quick : bool
        Whether sizes are reduced.
    folder : Path
        Where blocks of training and finished policies are stored.
    runs : Path or None
        Folder with finished runs in folders ``TASK-PRESET``.
    seed : int
    n_jobs : int or None
    progress : callable
    options : mapping
        ``data_home`` for tasks with data.

    Returns
    -------
    System
    """
    preset, reduced = preset_of(task, settings, quick=quick)
    if runs is not None and not reduced:
        finished = read_run(task, settings, preset, runs / f"{task}-{settings}")
        if finished is not None:
            return finished
    place = folder / f"{task}-{settings}"
    kept = _read_kept(task, settings, preset, place)
    if kept is not None:
        return kept
    made = _make(task, settings, preset, place, seed, n_jobs, progress, options)
    record = made.record | {"reduced": reduced}
    place.mkdir(parents=True, exist_ok=True)
    payloads = {
        place / f"{source}.safetensors": dataset.to_bytes()
        for source, dataset in made.datasets.items()
    }
    kept_record = record | {"settings": settings_checksum(preset)}
    payloads[place / "record.json"] = json_bytes(kept_record)
    write_together(payloads, last=place / "record.json")
    return replace(made, record=record)


def read_run(task: str, settings: str, preset: Preset, folder: Path) -> System | None:
    """Return the policies of a finished run, None where there is none of the preset."""
    if not (folder / "results.json").is_file():
        return None
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    if settings_checksum(results["settings"]) != settings_checksum(preset):
        return None
    times = json.loads((folder / "run_record.json").read_text(encoding="utf-8"))
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
    return System(task, settings, preset, datasets, record)


def _read_kept(task: str, settings: str, preset: Preset, folder: Path) -> System | None:
    """Return the policies that an earlier call has finished under the same settings."""
    if not (folder / "record.json").is_file():
        return None
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    if record.pop("settings", None) != settings_checksum(preset):
        return None
    datasets = {
        source: PolicyDataset.load(folder / f"{source}.safetensors")
        for source in ("exact", "trained")
    }
    return System(task, settings, preset, datasets, record)


def _make(
    task: str,
    settings: str,
    preset: Preset,
    folder: Path,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> System:
    """Draw the rewards of a task, solve and train."""
    store = BlockStore(folder / "blocks")

    def named(stage: str, done: int, total: int) -> None:
        progress(f"{task}: {stage}", done, total)

    study = TASKS[task].prepare(
        preset, seed=seed, store=store, progress=named, options=options
    )
    policies = make_policies(
        study,
        preset.training,
        train=True,
        seed=seed,
        n_jobs=n_jobs,
        store=store,
        progress=named,
    )
    found = {"exact": policies.exact, "trained": policies.trained}
    distance = policies.distance
    record = {
        "cpu_seconds": study.cpu_seconds | policies.cpu_seconds,
        "distance": None
        if distance is None
        else {"mean": float(distance.mean()), "worst": float(distance.max())},
    }
    datasets = {name: kept for name, kept in found.items() if kept is not None}
    return System(task, settings, preset, datasets, record)
