"""The files of a run."""

from __future__ import annotations

import io
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gflownet_envs.experiments import tables
from gflownet_envs.experiments.figures import make_figures
from gflownet_envs.experiments.report import build_report
from gflownet_envs.experiments.task import LEVELS, Analysis, RunResults, SourceResults
from gflownet_envs.rewards.source import RewardTable
from gflownet_envs.storage import (
    environment_versions,
    write_arrays,
    write_bytes,
    write_json,
)


def write_run(results: RunResults, folder: Path) -> None:
    """Write results, ensemble, data sets, figures and the report.

    ``results.json`` holds nothing that differs between two runs of the same command
    (times are in ``run_record.json``).
    """
    pictures = {
        name: (_png(figure), description)
        for name, (figure, description) in make_figures(results).items()
    }
    report = build_report(results, pictures)
    record = results_record(results)
    remove_stale(folder, results, set(pictures))
    write_json(folder / "results.json", record)
    write_json(folder / "run_record.json", run_record(results))
    write_arrays(folder / "ensemble.safetensors", *ensemble_arrays(results))
    results.headline.dataset.save(folder / "dataset.safetensors")
    if set(results.sources) == {"trained", "exact"}:
        exact = results.sources["exact"].dataset
        exact.save(folder / "dataset_exact.safetensors")
    (folder / "figures").mkdir(exist_ok=True)
    for name, (payload, _) in pictures.items():
        write_bytes(folder / "figures" / f"{name}.png", payload)
    report.save(folder / "report.html")


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=150)
    return stream.getvalue()


def remove_stale(folder: Path, results: RunResults, pictures: set[str]) -> None:
    """Remove what an earlier run left in the folder that this one does not make.

    Pictures of trained policies must not stand beside the results of a run that
    trained none, nor those of another preset beside this one's.
    """
    stale = [
        path for path in (folder / "figures").glob("*.png") if path.stem not in pictures
    ]
    if set(results.sources) != {"trained", "exact"}:
        stale.append(folder / "dataset_exact.safetensors")
    for path in stale:
        path.unlink(missing_ok=True)


def results_record(results: RunResults) -> dict[str, Any]:
    """Return every figure of the run as JSON values."""
    distance = results.policies.distance
    return {
        "task": results.task.name,
        "preset": results.preset_name,
        "settings": asdict(results.preset),
        "seed": results.seed,
        **asdict(results.copies),
        "versions": environment_versions(),
        "sizes": _sizes_record(results),
        "steps": list(results.headline.dataset.step_names),
        "trajectory": list(results.headline.dataset.trajectory),
        "facts": {
            table.caption: [list(row) for row in table.rows]
            for table in results.study.tables
        },
        "distance_to_exact": None
        if distance is None
        else {"mean": float(distance.mean()), "worst": float(distance.max())},
        "members_not_converged": None
        if results.policies.ensemble is None
        else results.policies.not_converged,
        "training_noise": None if results.noise is None else asdict(results.noise),
        "beside_the_paper": _paper_record(results),
        "policies": {
            name: _source_record(source) for name, source in results.sources.items()
        },
    }


def _sizes_record(results: RunResults) -> dict[str, int | None]:
    solution, environment = results.policies.solution, results.study.environment
    return {
        "n_states": None if solution is None else solution.graph.n_states,
        "n_objects": environment.n_objects,
        "n_train": results.study.n_train,
        "n_test": results.study.n_test,
    }


def _paper_record(results: RunResults) -> list[dict[str, Any]]:
    table = tables.paper_table(results)
    if table is None:
        return []
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _source_record(source: SourceResults) -> dict[str, Any]:
    return {
        "n_members": source.dataset.n_members,
        "n_held_out": source.dataset.test.n_members,
        "main_degree": source.main.degree,
        "fragility": asdict(source.fragility),
        "level_shares": source.level_shares,
        "analyses": [_analysis_record(analysis) for analysis in source.analyses],
    }


def _analysis_record(analysis: Analysis) -> dict[str, Any]:
    surrogate = analysis.surrogate
    return {
        "degree": analysis.degree,
        "n_terms": len(surrogate.multi_indices_),
        "verdict": [asdict(step) for step in analysis.verdict.steps],
        "cautions": list(analysis.verdict.cautions),
        "held_out_q2": analysis.held_out_q2,
        "expansion_alr_sum": analysis.expansion_alr_sum,
        "conditional_loo_q2": surrogate.diagnostics_.loo_q2,
        "step_sobol_indices": surrogate.step_sobol_indices_,
        "step_total_sobol_indices": surrogate.step_total_sobol_indices_,
        "step_total_variance": surrogate.step_total_variance_,
        "levels": list(LEVELS),
        "calibration": {
            name: asdict(found) for name, found in analysis.calibration.items()
        },
    }


def run_record(results: RunResults) -> dict[str, Any]:
    """Return what differs between two runs: the command and the times."""
    return {
        "command": sys.argv,
        "cpu_seconds": results.cpu_seconds,
        "wall_seconds": results.wall_seconds,
        "peak_memory_bytes": results.peak_memory,
    }


def ensemble_arrays(
    results: RunResults,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return rewards, exact log Z and the parameters of the trained policies.

    Rewards that are no table are left out: the features of each are in the data set.
    """
    policies = results.policies
    arrays = {"members": results.study.members}
    if isinstance(results.study.reward, RewardTable):
        arrays["log_reward"] = results.study.reward.log_reward.numpy()
    if policies.solution is not None:
        arrays["exact_log_z"] = policies.solution.log_z.numpy()
    if policies.ensemble is not None:
        trained = policies.ensemble
        arrays |= {f"parameters.{k}": v for k, v in trained.parameters.items()}
        arrays |= {
            "trained_members": np.array(trained.members),
            "trained_rewards": results.study.members[np.array(trained.rewards)],
            "effective_sample_share": trained.diagnostics.effective_sample_share,
            "converged": trained.diagnostics.converged,
            "final_loss": trained.diagnostics.final_loss,
            "log_z": trained.diagnostics.log_z,
        }
        if policies.distance is not None:
            arrays["distance_to_exact"] = policies.distance
    metadata = {
        "task": results.task.name,
        "preset": results.preset_name,
        "seed": results.seed,
        "training": asdict(results.preset.training),
        "environment": results.study.environment.name,
    }
    return arrays, metadata
