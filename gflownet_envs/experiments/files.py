"""The files of a run: results, data sets, figures and the report, written and read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gflownet_envs.experiments import tables
from gflownet_envs.experiments.figures import make_figures, png
from gflownet_envs.experiments.paper.systems import FIRST
from gflownet_envs.experiments.tables import answer_table, answers
from gflownet_envs.experiments.task import (
    LEVELS,
    Analysis,
    PartFindings,
    RunResults,
    SourceResults,
    Table,
    TrainingNoise,
)
from gflownet_envs.records import ResultsRecord, read_record
from gflownet_envs.rewards.source import RewardTable
from gflownet_envs.storage import (
    arrays_bytes,
    environment_versions,
    json_bytes,
    write_together,
)
from skpce._page import HtmlReport
from skpce._report import driver_columns
from skpce.inspection import Result


def build_report(
    results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> HtmlReport:
    """Build the HTML report from PNG files, each with a description."""
    report = HtmlReport(f"{results.task.title} – preset {results.preset_name}")
    report.add_text(results.task.summary)
    _add_answers(report, results, figures)
    _add_verdict(report, results, figures)
    report.add_heading("What drives each decision")
    report.add_png(*figures["variances"])
    for source in results.sources.values():
        _add_table(report, tables.shares_table(source))
        _add_table(report, tables.intervals_table(source))
    report.add_heading("Policies")
    _add_table(report, tables.training_table(results))
    _add_table(report, tables.noise_table(results))
    _add_table(report, tables.fragility_table(results))
    _add_table(report, tables.excess_table(results))
    report.add_text(
        "The measures can rank the decisions differently. Aitchison variance and ALR "
        "sum grow with the number of actions and weigh rare actions like frequent "
        "ones; the ALR sum depends on its reference action too. Total variation and "
        "Jensen–Shannon divergence (in nats) are distances of probabilities. “Of "
        "largest” divides by the largest value that so many actions allow."
    )
    report.add_png(*figures["policies"])
    others = {"overview", "policies", "coverage", "variances"}
    for name in figures:  # of the task itself, which no other section shows
        if name not in others and not name.startswith("parts_"):
            report.add_png(*figures[name])
    report.add_heading("Calibration on held-out members")
    _add_table(report, tables.coverage_table(results))
    report.add_png(*figures["coverage"])
    report.add_text(
        "The push-forward of the inputs alone (the paper's interval) leaves out what "
        "is not predicted from them."
    )
    _add_original_coordinates(report, results)
    paper = tables.paper_table(results)
    if paper is not None:
        report.add_heading("Beside the paper")
        _add_table(report, paper)
        report.add_text(
            "Ours are figures of one draw of the members to fit; whether they agree, "
            "the page of the whole paper says from many draws (gflownet-envs paper). "
            "ALR sums depend on the reference action and on the reference trajectory, "
            "which the paper does not state."
        )
    report.add_heading("How this was made")
    for table in results.study.tables:
        _add_table(report, table)
    _add_table(report, tables.cost_table(results))
    versions = ", ".join(f"{k} {v}" for k, v in environment_versions().items() if v)
    report.add_text(f"Seed {results.seed}. {versions}.")
    return report


def verdict_words(source: SourceResults) -> str:
    """Return the verdict of the main analysis: sentences, drivers and evidence."""
    return f"{_heading_of(source)}:\n{source.main.verdict}"


def _heading_of(source: SourceResults) -> str:
    return f"{source.dataset.source} policies, degree {source.main.degree}"


def _add_table(report: HtmlReport, table: Table | None) -> None:
    if table is not None:
        report.add_table(table.columns, table.rows, table.caption)


def _add_answers(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    """Lead with the named parts: words, picture, figures."""
    report.add_heading("Which part of the reward drives which choice")
    for sentence in answers(results):
        report.add_text(sentence)
    for number, found in enumerate(results.parts, start=1):
        if number == 2:
            report.add_heading("The reward split in other ways")
        report.add_png(*figures[f"parts_{number}"])
        _add_table(report, answer_table(found))
        folded = {
            "All parts": tables.parts_table(found),
            "Pairs of parts": tables.pairs_table(found),
            "What matters most in the leading part": tables.entries_table(found),
        }
        for title, table in folded.items():
            if table is not None and table.rows:
                title = f"{title}: {found.named.title}"
                report.add_folded(table.columns, table.rows, title, table.caption)


def _add_verdict(
    report: HtmlReport, results: RunResults, figures: dict[str, tuple[bytes, str]]
) -> None:
    n_components = results.preset.n_components
    inputs = f"{n_components} principal components of the rewards"
    if n_components is None:
        inputs = "the inputs of the reward, through a surrogate"
    report.add_heading(f"Verdict on {inputs}")
    for source in results.sources.values():
        verdict = source.main.verdict
        report.add_text(f"{_heading_of(source)}:")
        report.add_answer(verdict.sentences)
        report.add_preformatted("\n".join(verdict.evidence))
        report.add_columns(
            driver_columns(verdict, np.arange(source.dataset.n_steps)),
            f"The drivers ({_heading_of(source)}): shares of the variance of each "
            f"decision, with {verdict.confidence_level:.0%} intervals that hold for "
            "all inputs of a decision together",
        )
    report.add_png(*figures["overview"])
    _add_table(report, tables.verdict_table(results))
    report.add_text(
        "Each input is tested for each decision: the family-wise error of all that is "
        "said to drive something is at most 5 %. Cross-fitted Q² refits the whole "
        "pipeline, embedding included, without the members it predicts; shares are "
        "those of a fit that learns its own degree. Exact policies stand beside "
        "trained ones and do not replace them."
    )


def _add_original_coordinates(report: HtmlReport, results: RunResults) -> None:
    if not results.study.levels:
        return
    report.add_heading("In the original coordinates")
    report.add_text(
        f"The reward features ({results.study.feature_unit}) of all objects with a "
        "level vary as they do between the members, all others stay at their mean. "
        "Entries are shares of each step's variance that the surrogate then shows. "
        "Levels overlap and rewards are correlated: entries need not add up."
    )
    for name, source in results.sources.items():
        if not any(source.main.verdict.attributable):
            report.add_text(
                f"Nothing is shown to drive a step of the {name} policies: the entries "
                "below describe the fit, not the policies."
            )
        for component in source.level_shares:
            _add_table(report, tables.level_table(source, component))


def write_run(results: RunResults, folder: Path) -> None:
    """Write results, ensemble, data sets, figures and the report.

    ``results.json`` holds nothing that differs between two runs of the same command
    (times are in ``run_record.json``). It is written last: a folder without it holds
    no finished run, and a disk that is full leaves what was there before.
    """
    pictures = {
        name: (png(figure), description)
        for name, (figure, description) in make_figures(results).items()
    }
    files = {
        "run_record.json": json_bytes(run_record(results)),
        "ensemble.safetensors": arrays_bytes(*ensemble_arrays(results)),
        "dataset.safetensors": results.headline.dataset.to_bytes(),
        "report.html": build_report(results, pictures).to_html().encode(),
        "results.json": json_bytes(results_record(results)),
    }
    if set(results.sources) == {"trained", "exact"}:
        exact = results.sources["exact"].dataset
        files["dataset_exact.safetensors"] = exact.to_bytes()
    files |= {f"figures/{name}.png": payload for name, (payload, _) in pictures.items()}
    (folder / "figures").mkdir(exist_ok=True)
    payloads = {folder / name: payload for name, payload in files.items()}
    # what an earlier run left there that this one does not make
    left = {*(folder / "figures").glob("*.png"), folder / "dataset_exact.safetensors"}
    write_together(payloads, last=folder / "results.json", stale=left - payloads.keys())


def results_record(results: RunResults) -> dict[str, Any]:
    """Return every figure of the run as JSON values."""
    solution = results.policies.solution
    return {
        "task": results.task.path,
        "preset": results.preset_name,
        "settings": asdict(results.preset),
        "seed": results.seed,
        "n_replicates": results.n_replicates,
        "n_control": results.n_control,
        "versions": environment_versions(),
        "sizes": {
            "n_states": None if solution is None else solution.graph.n_states,
            "n_objects": results.study.environment.n_objects,
            "n_train": results.study.n_train,
            "n_test": results.study.n_test,
        },
        "steps": list(results.headline.dataset.step_names),
        "trajectory": list(results.headline.dataset.trajectory),
        "facts": {
            table.caption: [list(row) for row in table.rows]
            for table in results.study.tables
        },
        "distance_to_exact": results.policies.mean_and_worst_distance,
        "members_not_converged": None
        if results.policies.ensemble is None
        else results.policies.not_converged,
        "distance_bound": None
        if results.policies.bound is None
        else {
            "kind": results.policies.bound.kind,
            "least": float(results.policies.bound.bound.min()),
            "largest": float(results.policies.bound.bound.max()),
            "members_not_shown_to_be_near": results.policies.not_certified,
        },
        "members_diverged": None
        if results.policies.ensemble is None
        else sorted(results.policies.ensemble.diverged),
        "training_noise": _noise_record(results.noise),
        "beside_the_paper": list(results.beside_the_paper),
        "answers": answers(results),
        "named_parts": [_parts_record(found) for found in results.parts],
        "policies": {
            name: _source_record(source) for name, source in results.sources.items()
        },
    }


def _parts_record(found: PartFindings) -> dict[str, Any]:
    effects = found.effects
    frames = {
        "effects": effects,
        "pairs": effects.pairs,
        "dependence": effects.dependence,
        "entries": found.entries,
    }
    return {
        "title": found.named.title,
        "n_members": effects.n_members,
        "n_draws": effects.n_draws,
        "n_solutions": effects.n_solutions,
        "noise_share": found.noise_share,
        "noise_error": found.noise_error,
    } | {
        name: None if table is None else _columns_record(table)
        for name, table in frames.items()
    }


def _columns_record(table: Result) -> dict[str, Any]:
    """Return a table by columns, each with an axis for each key."""
    keys = {key: list(labels) for key, labels in table.keys.items()}
    judged = {"supported": list(table.supported), "reasons": list(table.reasons)}
    columns = {name: np.asarray(values) for name, values in table.columns.items()}
    return keys | columns | (judged if table.supported else {})


def _noise_record(noise: TrainingNoise | None) -> dict[str, Any] | None:
    if noise is None:
        return None
    names = ("between", "within", "noise_share", "noise_share_low", "noise_share_high")
    splits = {"replicates": noise.replicates, "control": noise.control}
    return {"exact": None if noise.exact is None else asdict(noise.exact)} | {
        source: None
        if split is None
        else {name: getattr(split, name) for name in names}
        for source, split in splits.items()
    }


def _columns_of(found: Result) -> dict[str, Any]:
    """Return labels, columns and figures of a table, by name."""
    return {"step_names": found.step_names, **found.columns, **found.figures}


def _source_record(source: SourceResults) -> dict[str, Any]:
    return {
        "n_members": source.dataset.n_members,
        "n_held_out": source.dataset.test.n_members,
        "main_degree": source.main.degree,
        "fragility": _columns_of(source.fragility),
        "excess_fragility": _columns_of(source.excess),
        "intervals": {name: asdict(found) for name, found in source.intervals.items()},
        "level_shares": source.level_shares,
        "analyses": [_analysis_record(analysis) for analysis in source.analyses],
    }


def _analysis_record(analysis: Analysis) -> dict[str, Any]:
    surrogate, drivers = analysis.surrogate, analysis.verdict.drivers
    more = drivers.more_runs
    known = np.where(np.isfinite(more), more, np.nan)  # none beyond all means
    return {
        "degree": analysis.degree,
        "n_terms": len(surrogate.multi_indices_),
        "verdict": [step.to_dict() for step in analysis.verdict.steps],
        "sentences": list(analysis.verdict.sentences),
        "drivers": _columns_record(drivers) | {"more_runs": known},
        "pairs": _columns_record(analysis.verdict.pairs),
        "design": str(analysis.verdict.design),
        "cautions": [
            {"code": one.code, **one.figures} for one in analysis.verdict.cautions
        ],
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
    """Return rewards, exact log Z and the parameters of the trained policies."""
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
        if policies.bound is not None:
            arrays["distance_bound"] = policies.bound.bound
    metadata = {
        "task": results.task.name,
        "preset": results.preset_name,
        "seed": results.seed,
        "training": asdict(results.preset.training),
        "environment": results.study.environment.name,
    }
    return arrays, metadata


def _record(folder: Path) -> ResultsRecord:
    """Return what ``results.json`` of a run holds; what is not there is no run."""
    path = folder / "results.json"
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"{folder} holds no results.json: expected the folder of a finished run."
        ) from None
    return read_record(text, ResultsRecord, f"{path} is no record of a run")


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the arguments of `run_task` that made the run in a folder."""
    record = _record(folder)
    return {
        "task": record.task,
        "preset": record.preset,
        "solver": "train" if "trained" in record.policies else "exact",
        "seed": record.seed,
        "n_replicates": record.n_replicates,
        "n_control": record.n_control,
    }


def paper_tables(folders: Sequence[Path]) -> list[Table]:
    """Return the paper's figures beside those of finished runs, a table for each task.

    One column for each run and kind of policies. Runs of other presets than
    ``paper`` have none.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        names = ", ".join(str(folder) for folder in folders)
        raise ValueError(f"folders must be different, got {names}")
    runs: dict[str, set[str]] = {}
    claims: dict[str, dict[str, dict[str, str]]] = {}  # by task and claim
    for folder in folders:
        record = _record(folder)
        taken = runs.setdefault(record.task, set())
        name = folder.resolve().name
        if record.preset not in name:
            name += f" ({record.preset})"
        name = str(folder) if name in taken else name
        taken.add(name)
        rows = claims.setdefault(record.task, {})
        for row in record.beside_the_paper:
            cells = rows.setdefault(row.claim, {"claim": row.claim, "paper": row.paper})
            figures = {"trained": row.trained, "exact": row.exact}
            cells |= {f"{name}: {kind}": text for kind, text in figures.items() if text}
    return [
        Table.of_rows(
            f"{task}: the paper's figures and ours"
            + ("" if rows else f" (none: no run of the preset {FIRST!r})"),
            list(rows.values()),
            missing="–",
        )
        for task, rows in claims.items()
    ]
