"""Measure the effects of the parts of a task, by every route, and as a run does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gflownet_envs.block_store import BlockStore
from gflownet_envs.experiments.part_effects import find_part_effects
from gflownet_envs.experiments.policies import make_policies
from gflownet_envs.experiments.tables import entries_table
from gflownet_envs.experiments.task import PartFindings, Policies, Preset, Study
from gflownet_envs.experiments.tasks import find_task
from skpce._result import ResultRow
from skpce.inspection import Result

from .destroyed import destroyed
from .routes import routes, why_no_pilot

#: The task whose parts are destroyed: the one with data of the world.
CHECKED = "buchwald-hartwig"


Finding = Callable[[], dict[str, Any]]


def measure(
    name: str, preset_name: str, n_draws: int, seed: int, blocks: Path
) -> dict[str, Finding]:
    """Return what finds the sections of one task; the study is prepared once."""
    task, preset = find_task(name, preset_name)
    store = BlockStore(blocks / name)

    @cache
    def prepared() -> tuple[Study, Policies]:
        study = task.prepare(
            preset, seed=seed, store=store, progress=progress, options={}
        )
        return study, make_policies(
            study,
            preset.training,
            train=False,
            seed=seed,
            store=store,
            progress=progress,
        )

    @cache
    def findings() -> tuple[PartFindings, ...]:
        return find_part_effects(
            *prepared(), n_draws=preset.n_part_draws, seed=seed, progress=progress
        )

    def splits() -> dict[str, Any]:
        return {
            "task": name,
            "preset": preset_name,
            "seed": seed,
            "splits": [split(one) for one in findings()],
        }

    def by_routes() -> dict[str, Any]:
        size = min(n_draws, preset.n_part_draws)
        if not prepared()[0].named_parts:
            return {}
        return by_route(*prepared(), preset, size, seed, store)

    def by_destroying() -> dict[str, Any]:
        return {"rows": destroyed(*prepared(), findings(), seed)}

    sections: dict[str, Finding] = {"splits": splits, "routes": by_routes}
    return sections | ({"destroyed": by_destroying} if name == CHECKED else {})


def split(found: PartFindings) -> dict[str, Any]:
    """Return the effects of one split, step by step."""
    effects = found.effects
    return {
        "title": found.named.title,
        "n_members": effects.n_members,
        "n_draws": effects.n_draws,
        "n_solutions": effects.n_solutions,
        "cpu_seconds": found.cpu_seconds,
        "parts": list(effects.part_names),
        "independence": effects.notes[-1],
        "steps": [
            {
                **indices(effects, place, step),
                "reasons": list(step.reasons),
                "variance_ratio": float(step.variance_ratio),
                "variance_ratio_error": float(step.variance_ratio_error),
            }
            for place, step in enumerate(effects.steps)
            if np.isfinite(step.variance_ratio)
        ],
        "entries": entries_of(found),
    }


def entries_of(found: PartFindings) -> dict[str, Any] | None:
    """Return the table of verified entries as a run reports it."""
    table = entries_table(found)
    if table is None:
        return None
    return {"caption": table.caption, "columns": table.columns, "rows": table.rows}


def indices(effects: Result, place: int, step: ResultRow) -> dict[str, Any]:
    """Return first-order and total indices of one step, with standard errors."""
    names = ("first", "first_error", "total", "total_error")
    found = {name: getattr(effects, name)[place].tolist() for name in names}
    return {"step": step.step, "supported": bool(step.supported), **found}


def by_route(
    study: Study,
    policies: Policies,
    preset: Preset,
    n_draws: int,
    seed: int,
    store: BlockStore,
) -> dict[str, Any]:
    """Return the effects of the first split by every route, from the same draws."""
    named = study.named_parts[0]
    found = []
    for name, find in routes(study, policies, named, preset, n_draws, seed, store):
        effects = find()
        found.append(
            {
                "route": name,
                "steps": [
                    indices(effects, place, step)
                    for place, step in enumerate(effects.steps)
                ],
            }
        )
    why = why_no_pilot(study)
    return {
        "title": named.title,
        "n_draws": n_draws,
        "found": found,
        "missing": [why] if why else [],
    }


def progress(stage: str, done: int, total: int) -> None:
    """Say which stage is finished."""
    if done == total:
        print(f"  {stage}", file=sys.stderr)
