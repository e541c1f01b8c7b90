"""What a run says and leaves behind: tables, words, the report and its files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gflownet_envs.experiments.figures import make_figures, png
from gflownet_envs.experiments.paper.systems import FIRST
from gflownet_envs.experiments.task import (
    LEVELS,
    Analysis,
    PartFindings,
    RunResults,
    SourceResults,
    Table,
    TrainingNoise,
    facts,
)
from gflownet_envs.records import ResultsRecord, read_record
from gflownet_envs.rewards.source import RewardTable
from gflownet_envs.storage import (
    arrays_bytes,
    environment_versions,
    json_bytes,
    write_together,
)
from gflownet_envs.training.ensemble import MAX_DISTANCE
from skpce._page import HtmlReport
from skpce._report import (
    driver_columns,
    fragility_columns,
    interval_in_words,
    percent_with_error,
    share_columns,
    without_rounding,
)
from skpce._result import ResultRow, error_in_percent
from skpce.drivers import Answer, State
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
        _add_table(report, shares_table(source))
        _add_table(report, intervals_table(source))
    report.add_heading("Policies")
    _add_table(report, training_table(results))
    _add_table(report, noise_table(results))
    _add_table(report, fragility_table(results))
    _add_table(report, excess_table(results))
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
    _add_table(report, coverage_table(results))
    report.add_png(*figures["coverage"])
    report.add_text(
        "The push-forward of the inputs alone (the paper's interval) leaves out what "
        "is not predicted from them."
    )
    _add_original_coordinates(report, results)
    paper = paper_table(results)
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
    _add_table(report, cost_table(results))
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
            "All parts": parts_table(found),
            "Pairs of parts": pairs_table(found),
            "What matters most in the leading part": entries_table(found),
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
    _add_table(report, verdict_table(results))
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
            _add_table(report, level_table(source, component))


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


# Parts of a step that have a row of their own, the largest ones; pairs of parts.
_MOST_PARTS, _MOST_PAIRS = 6, 3
# Drivers of a step that are named in the table of verdicts.
_MOST_DRIVERS = 4
# From this share of the variance on an entry alone is said to depend on others.
_APART = 1.5
# A part with less of the variance is not named in a sentence, but for the largest.
_LEAST_SHARE = 0.1
_MOST_NAMED = 3
# Two parts of a sentence with such a distance correlation are said to be dependent.
_DEPENDENT = 0.8
# A trained policy is said to be noisy from this share on.
_NOISY = 0.1


def noise_cell(found: PartFindings, place: int) -> str:
    """Return the share of training noise of a step."""
    if found.noise_share is None or np.isnan(found.noise_share[place]):
        return "–"
    assert found.noise_error is not None
    share, error = found.noise_share[place], found.noise_error[place]
    return percent_with_error(share, error) if error > 0 else f"{share:.0%}"


# Columns of the table of parts that fit a terminal, and their names there.
_BRIEF = {
    "decision": "decision",
    "part": "part",
    "alone (first order)": "alone",
    "with interactions (total)": "total",
    "supported": "supported",
}


def parts_table(found: PartFindings, *, brief: bool = False) -> Table:
    """What each named part explains of each step: the leading parts, largest first.

    The brief table fits a terminal.
    """
    effects, rows = found.effects, []
    for place, row in enumerate(effects.steps):
        if np.isnan(row.first).any():
            continue
        order = np.argsort(-np.maximum(row.first, row.total), kind="stable")
        for rank, part in enumerate(order[:_MOST_PARTS]):
            first = percent_with_error(row.first[part], row.first_error[part])
            total = percent_with_error(row.total[part], row.total_error[part])
            alone, fall = "–", "–"
            if "left" in row.result.columns:
                alone = f"{row.alone[part]:.0%}"
                fall = f"{round(1.0 - row.left[part], 2) + 0.0:.0%}"
            cells = {
                "decision": row.step if rank == 0 else "",
                "part": effects.part_names[part],
                "alone (first order)": first,
                "with interactions (total)": total,
                "variance if only it varies": alone,
                "fall if it is fixed": fall,
            }
            if rank == 0:
                ratio, error = row.variance_ratio, row.variance_ratio_error
                cells |= {
                    "supported": "yes" if row.supported else "no",
                    "variance ratio": f"{ratio:.2f} ± {error:.2f}",
                    "training noise": noise_cell(found, place),
                }
            rows.append(cells)
    if brief:
        rows = [{_BRIEF[k]: row[k] for k in row if k in _BRIEF} for row in rows]
    return Table.of_rows(
        f"Named parts: {found.named.title}. Shares of the variance of each decision, ± "
        f"standard error, the {min(_MOST_PARTS, len(effects.part_names))} largest of "
        f"{len(effects.part_names)} "
        "parts; variance ratio: recombined members over the members as they are. "
        f"{' '.join(effects.notes)}",
        rows,
    )


def pairs_table(found: PartFindings) -> Table:
    """The pairs of parts that interact most at each step."""
    pairs: Any = found.effects.pairs
    rows: list[tuple[str, ...]] = []
    for row in pairs.rows:
        values = np.nan_to_num(row.interaction, nan=-np.inf)
        for pair in np.argsort(-values, kind="stable")[:_MOST_PAIRS]:
            error = row.interaction_error[pair]
            if values[pair] > 2.0 * error:
                text = percent_with_error(values[pair], error)
                rows.append((row.step, pairs.pair_names[pair], text))
    return Table(
        f"Pairs of parts whose total interaction is more than two standard errors, at "
        f"most {_MOST_PAIRS} a decision: {found.named.title}",
        ("decision", "pair", "interaction"),
        tuple(rows),
    )


def entries_table(found: PartFindings) -> Table | None:
    """What matters most in the leading part of each step; None where not known."""
    if found.entries is None:
        return None
    kinds = {name: entries.noun for name, entries in found.named.entries.items()}
    each = list(found.entries.rows)
    rows = [
        {
            "decision": row.step if rank == 0 else "",
            "part": f"{row.part[rank]}: {kinds[row.part[rank]]}" if rank == 0 else "",
            "entry": row.entry[rank],
            "variance if only it varies": percent_with_error(
                row.alone[rank], row.alone_error[rank]
            ),
            "fall if fixed": percent_with_error(
                1.0 - row.left[rank], row.left_error[rank]
            ),
        }
        for row in each
        for rank in range(len(row.entry))
        if row.entry[rank]
    ]
    members = f"{found.entries.n_members} members"
    if found.entries.n_verifying < found.entries.n_members:
        members = f"{found.entries.n_verifying} of {members}"
    caption = (
        "What matters most in the leading part of each decision, verified by solving "
        f"again ({members}), ± standard error: {found.named.title}"
    )
    if any(np.nanmax(np.hstack([row.alone, row.left])) > _APART for row in each):
        caption += (
            ". Beyond 100 % or below zero an entry depends on others: changed alone it "
            "makes rewards unlike those of any member"
        )
    return Table.of_rows(caption, rows)


def verdict_table(results: RunResults) -> Table:
    """Is something shown to drive a step, for every source and degree."""
    level = results.headline.main.verdict.confidence_level

    def cells(source: SourceResults, i: int) -> Iterator[dict[str, Any]]:
        for analysis in source.analyses:
            step, row = analysis.verdict.steps[i], {"deg": analysis.degree}
            if np.isnan(step.q2):
                yield row | {"drivers": "no choice"}
                continue
            ends = interval_in_words(step.q2_low, step.q2_high)
            noise = min(step.noise_share, 1.0)
            yield row | {
                "drivers": _drivers(analysis.verdict, i),
                "p": f"{step.p_value:.2g}",
                f"Q² [{level:.0%}]": f"{step.q2:z.2f} {ends}",
                "held out": f"{analysis.held_out_q2[i]:z.2f}",
                "not predicted": f"{step.not_predicted:.0%}",
                "noise": "–" if np.isnan(step.noise_share) else f"{noise:.0%}",
            }

    return Table.of_rows(
        "Verdict per decision and degree: what drives it (share in all), the "
        "smallest p (Holm), cross-fitted Q² of "
        f"{results.study.n_train} members with its interval, Q² on the members held "
        "out, what is not predicted, share of training noise",
        _by_decision(results, cells),
    )


def _by_decision(
    results: RunResults,
    cells_of: Callable[[SourceResults, int], Iterable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return rows about each decision and kind of policies."""
    return [
        {"decision": step, "policies": name} | cells
        for place, step in enumerate(results.headline.dataset.step_names)
        for name, source in results.sources.items()
        for cells in cells_of(source, place)
    ]


def _drivers(verdict: Answer, output: int) -> str:
    """Return the inputs that drive a step with their shares in all; a dash for none."""
    table, names = verdict.drivers, verdict.input_names
    order = np.argsort(-np.nan_to_num(table.total[output]), kind="stable").tolist()
    shown = [
        f"{names[i]} {table.total[output, i]:.0%}"
        for i in order
        if table.state[output, i] == State.DRIVES
    ]
    if len(shown) > _MOST_DRIVERS:
        shown[_MOST_DRIVERS:] = [f"{len(shown) - _MOST_DRIVERS} more"]
    return ", ".join(shown) or "–"


def shares_table(source: SourceResults) -> Table:
    """Shares of the variance of each step: of each input alone, and the rest."""
    from skpce.plotting import SobolDisplay

    main = source.main
    columns = share_columns(
        SobolDisplay.from_fit(
            main.pipeline, input_features=main.input_features, verdict=main.verdict
        )
    )
    words = [_word(step) for step in main.verdict.steps]
    return Table(
        f"Shares of the variance between members ({source.dataset.source} policies), "
        "alone, with intervals: those of the drivers",
        (*(heading for heading, _ in columns), "attribution"),
        tuple(zip(*(_listed(values) for _, values in columns), words, strict=True)),
    )


def _word(step: ResultRow) -> str:
    """Say in a word whether something is shown to drive a step."""
    if np.isnan(step.q2):
        return "no choice"
    return "driven" if step.attributable else "not attributable"


def _listed(values: Iterable[Any]) -> list[Any]:
    """Return values as a results file holds them."""
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def coverage_table(results: RunResults) -> Table:
    """Coverage, width and CRPS on held-out members: every source and kind."""
    nominal = np.array(LEVELS)[:, np.newaxis]
    rows = [
        {
            "policies": name,
            "interval": kind,
            **{
                f"at {level:.0%}": float(np.nanmean(row))
                for level, row in zip(LEVELS, found.coverage, strict=True)
            },
            "worst decision": float(np.nanmax(np.abs(found.coverage - nominal))),
            "joint at 95%": float(np.nanmean(found.joint_coverage[-1])),
            "width at 95%": float(np.nanmean(found.width[-1])),
            "CRPS": float(np.nanmean(found.crps)),
        }
        for name, source in results.sources.items()
        for kind, found in source.main.calibration.items()
    ]
    counts = ", ".join(
        f"{name}: {source.dataset.test.n_members}"
        for name, source in results.sources.items()
    )
    return Table.of_rows(
        f"Coverage on held-out members ({counts}), mean over decisions and actions; "
        "worst decision: largest distance from nominal of one decision",
        rows,
    )


def intervals_table(source: SourceResults) -> Table:
    """Indices of each step and input with two kinds of intervals."""
    main, intervals = source.main, source.intervals
    found = main.surrogate.sobol_indices("step")
    rows: list[tuple[Any, ...]] = []
    for step, row in enumerate(main.verdict.steps):
        if np.isnan(row.q2):
            continue
        for place, name in enumerate(main.input_names):
            cells: list[Any] = []
            for order in ("first_order", "total_order"):
                cells.append(f"{getattr(found, order)[step, place]:z.2f}")
                bounds = [getattr(i, order)[:, step, place] for i in intervals.values()]
                cells += [interval_in_words(*ends) for ends in bounds]
            first = place == 0
            rows.append(
                (row.step if first else "", name, *cells, _word(row) if first else "")
            )
    level = next(iter(intervals.values())).confidence_level
    methods = [f"{level:.0%}, {method}" for method in intervals]
    return Table(
        f"Sobol indices of the decisions ({source.dataset.source} policies, degree "
        f"{main.degree}), shares of the variance of the expansion, with intervals. The "
        "bootstrap shows the error of the coefficients alone; residuals add what the "
        "expansion leaves out, about what is not predicted or more",
        (
            *("decision", "input", "first order", *methods),
            *("total", *methods, "attribution"),
        ),
        tuple(rows),
    )


def fragility_table(results: RunResults) -> Table:
    """Measures of disagreement side by side, trained beside exact."""

    def cells(source: SourceResults, i: int) -> Iterator[dict[str, Any]]:
        _, *measures = fragility_columns(source.fragility)
        yield {heading: _listed(values)[i] for heading, values in measures}

    return Table.of_rows(
        "How much the members disagree (training members)", _by_decision(results, cells)
    )


def excess_table(results: RunResults) -> Table:
    """Fragility beside that of members with equal noise, trained beside exact."""

    def cells(source: SourceResults, i: int) -> Iterator[dict[str, Any]]:
        found = source.excess
        if found.n_possible[i] > 1:
            ratio = f"{found.excess[i]:z.2f} ± {found.excess_error[i]:.2f}"
            yield {
                "actions": int(found.n_possible[i]),
                "contestedness (1 − Σ p²)": float(found.contestedness[i]),
                "total variation (TV)": float(found.total_variation[i]),
                "TV of equal noise": float(found.expected[i]),
                "TV over that of equal noise": ratio,
            }

    scales = ", ".join(
        f"{name}: {source.excess.noise_scale:.2g}"
        for name, source in results.sources.items()
    )
    return Table.of_rows(
        "Is a decision more fragile than number of actions and mean policy explain? "
        "Total variation to the mean, beside that of members with the same mean policy "
        "and equal noise in the log-weight of every action of every decision (standard "
        f"deviation of that noise: {scales})",
        _by_decision(results, cells),
    )


def level_table(source: SourceResults, component: str) -> Table:
    """Share of each step's variance that follows the reward of each level."""
    main = source.main
    shares = source.level_shares[component]
    supported = np.array(main.verdict.attributable)
    ranked = sorted(
        shares, key=lambda level: -float(np.nansum(shares[level][supported]))
    )
    words = [_word(step) for step in main.verdict.steps]
    steps = [
        step.step if answer == "driven" else f"{step.step} ({answer})"
        for step, answer in zip(main.verdict.steps, words, strict=True)
    ]
    return Table(
        f"Original coordinates: {component} ({source.dataset.source} policies, degree "
        f"{main.degree})" + ("" if supported.any() else "; NO STEP IS ATTRIBUTABLE"),
        (component, *steps),
        tuple((level, *without_rounding(shares[level]).tolist()) for level in ranked),
    )


def training_table(results: RunResults) -> Table | None:
    """How training went, with the distance from exact policies; None without it."""
    ensemble = results.policies.ensemble
    if ensemble is None:
        return None
    n_trained, diverged = ensemble.n_members, sorted(ensemble.diverged)
    rows: dict[str, Any] = {
        "members trained": n_trained,
        "objective": results.preset.training.objective,
        "iterations": results.preset.training.n_iterations,
        "members that did not converge": _named(
            results.policies.not_converged, n_trained
        ),
    }
    if diverged:
        named = f"{len(diverged)}: {', '.join(map(str, diverged))}"
        rows["members that diverged and are left out"] = named
    share = ensemble.diagnostics.effective_sample_share
    rows["effective sample size as a share, smallest"] = float(share.min())
    known = results.policies.mean_and_worst_distance or {}
    mean, worst = (known.get(name, "not known") for name in ("mean", "worst"))
    rows["½ Σ |trained − exact| over all objects, mean"] = mean
    rows["the same, worst member"] = worst
    bound = results.policies.bound
    if bound is not None:
        rows["upper bounds of the same, by residuals"] = (
            f"{bound.bound.min():.3f} to {bound.bound.max():.3f}, {bound.kind}"
        )
        rows[f"members not shown to be within {MAX_DISTANCE}"] = _named(
            results.policies.not_certified, len(bound.bound)
        )
    seconds = results.cpu_seconds["training"] / n_trained
    rows["CPU-seconds of training per member"] = seconds
    return facts("Training", rows)


def _named(far: list[int], n_members: int) -> str:
    if not far:
        return "none"
    if len(far) == n_members:
        return f"all {len(far)}"
    shown = ", ".join(map(str, far[:20]))
    more = f" and {len(far) - 20} more" if len(far) > 20 else ""
    return f"{len(far)}: {shown}{more}"


_NOISE_COLUMNS = {
    "noise over the log-ratio variance": "log_ratio_share",
    "noise over the probability variance": "probability_share",
    "squared bias of log-ratios over their variance": "log_ratio_bias",
    "total variation": "total_variation",
}


def noise_table(results: RunResults) -> Table | None:
    """Training noise, step by step; None where nothing shows it."""
    noise = results.noise
    if noise is None or noise.log_ratio_share is None:
        return None
    columns: dict[str, list[Any]] = {}
    if noise.exact is not None:
        columns = {
            label: without_rounding(getattr(noise.exact, name)).tolist()
            for label, name in _NOISE_COLUMNS.items()
        }
    if noise.replicates is not None:
        columns["share from replicates alone"] = _split_texts(noise.replicates)
    if noise.control is not None:
        columns["share from the control"] = _split_texts(noise.control)
    return Table(
        "Training noise (training members)"
        if noise.exact is None
        else "Training noise: trained against exact policies (training members)",
        ("decision", *columns),
        tuple(zip(results.headline.dataset.step_names, *columns.values(), strict=True)),
    )


def _split_texts(split: ResultRow) -> list[str]:
    """Return the share of noise of each step with its interval."""
    return [
        "–" if np.isnan(share) else f"{share:.2g} [{low:.2g}, {high:.2g}]"
        for share, low, high in zip(
            split.noise_share,
            split.noise_share_low,
            split.noise_share_high,
            strict=True,
        )
    ]


def paper_table(results: RunResults) -> Table | None:
    """The paper's figures beside ours; None where there are none.

    No word says whether they agree: these are of one draw of the members to fit, and
    the page of the paper has many.
    """
    rows = results.beside_the_paper
    return Table.of_rows("The paper's figures and ours", rows) if rows else None


def cost_table(results: RunResults) -> Table:
    """CPU-seconds of each stage, their sum, and the wall time."""
    rows = [(stage, "CPU", value) for stage, value in results.cpu_seconds.items()]
    rows.append(("all of these", "CPU", sum(results.cpu_seconds.values())))
    rows.append(("whole run", "wall", results.wall_seconds))
    rows.append(("largest memory of this process, MB", "", results.peak_memory / 1e6))
    return Table("Cost", ("stage", "clock", "seconds"), tuple(rows))


def answers(results: RunResults) -> list[str]:
    """Return a sentence or two for each step, and what they rest on."""
    if not results.parts:
        return [_why_none(results)]
    steps = results.parts[0].effects.step_names
    sentences = [_sentence(results.parts, place) for place in range(len(steps))]
    return [*sentences, _basis(results.parts)]


def _sentence(findings: tuple[PartFindings, ...], place: int) -> str:
    """Answer for one step from the first split that supports it."""
    row = findings[0].effects.steps[place]
    if np.isnan(row.first).any():
        return f"{_shown(row.step)}: no choice, or no variance between members."
    supported = [f for f in findings if f.effects.steps[place].supported]
    if not supported:
        return f"{_shown(row.step)}: no answer. {_not_supported(findings[0], row)}"
    chosen = supported[0]
    found = chosen.effects.steps[place]
    sentence = f"{_shown(row.step)}: {_shares(chosen, found)}"
    if chosen is not findings[0]:
        sentence += (
            f" (split: {chosen.named.title}; the first split gives no answer here: "
            f"{', '.join(row.reasons)})"
        )
    return f"{sentence}.{_noise(chosen, place)}"


def answer_table(found: PartFindings) -> Table:
    """Return one row for each decision: the part that explains most of it."""
    rows = []
    for place, row in enumerate(found.effects.steps):
        cells = {"decision": _shown(row.step)}
        if np.isnan(row.first).any():
            rows.append(cells | {"attribution": "no choice"})
            continue
        part = int(np.argmax(row.first))
        first = percent_with_error(row.first[part], row.first_error[part])
        total = percent_with_error(row.total[part], row.total_error[part])
        cells |= {
            "attribution": "supported" if row.supported else "not supported",
            "leading part": found.effects.part_names[part],
            "alone": first,
            "with interactions": total,
            "training noise": noise_cell(found, place),
        }
        rows.append(cells)
    return Table.of_rows(
        f"The leading part of each decision ({found.named.title}): its share of the "
        "variance, ± standard error",
        rows,
    )


def _shown(name: str) -> str:
    return name.replace("_", " ")


def _shares(found: PartFindings, row: ResultRow) -> str:
    """List the leading parts of a step with their shares."""
    names, phrases = found.effects.part_names, found.named.phrases
    order = np.argsort(-row.first, kind="stable")[:_MOST_NAMED]
    named = [i for n, i in enumerate(order) if n == 0 or row.first[i] >= _LEAST_SHARE]
    parts = [
        f"{share_in_words(row.first[i], row.first_error[i])} from "
        f"{phrases.get(names[i], names[i])}"
        for i in named
    ]
    together = 1.0 - float(row.first.sum())
    parts[0] = parts[0].replace(
        " from ", " of the variance between members comes from ", 1
    )
    if together >= _LEAST_SHARE:
        error = float(np.sqrt(np.square(row.first_error).sum()))
        share = share_in_words(together, error)
        parts.append(f"{share} from interactions of several parts")
    text = ", ".join(parts)
    text += _dependent(found, [names[i] for i in named])
    if "left" in row.result.columns:
        fall = max(1.0 - float(row.left[named[0]]), 0.0)
        text += f"; fixing the first at its mean takes away {fall:.0%}"
    return text


def _dependent(found: PartFindings, named: list[str]) -> str:
    """Say which of the named parts members do not have independently."""
    dependence = found.effects.dependence
    for pair, correlation in zip(
        dependence.keys["pair"], dependence.distance_correlation, strict=True
    ):
        one, _, other = pair.partition(" and ")
        if correlation >= _DEPENDENT and one in named and other in named:
            return (
                f" (but members do not have {_shown(one)} and {_shown(other)} "
                f"independently: their distance correlation is {correlation:.2f})"
            )
    return ""


def share_in_words(share: float, error: float) -> str:
    """Return a share with its standard error in percent."""
    return f"{max(share, 0.0):.0%} (± {error_in_percent(error)})"


def _noise(found: PartFindings, place: int) -> str:
    """Say how much of the trained policies' variance training noise makes up."""
    if (
        found.noise_share is None
        or found.noise_error is None
        or np.isnan(found.noise_share[place])
    ):
        return ""
    share = float(found.noise_share[place])
    if share < _NOISY:
        return ""
    error = float(found.noise_error[place])
    noisy = share_in_words(share, error) if error > 0 else f"{share:.0%}"
    if share < 0.495:  # below what is shown as one half
        return f" Of the trained policies, {noisy} is training noise."
    return (
        f" Of the trained policies, {noisy} is training noise: to train longer "
        "reduces more of the uncertainty than to learn more about the reward."
    )


def _not_supported(found: PartFindings, row: ResultRow) -> str:
    text = f"{row.reasons[0][0].upper()}{row.reasons[0][1:]}."
    if "left" not in found.effects.columns:
        return text
    largest = int(np.argmin(row.left))
    return (
        f"{text} Without that assumption: fixing {found.effects.part_names[largest]} "
        f"at its mean lowers the variance by {1.0 - row.left[largest]:.0%}, the most "
        "of all parts."
    )


def _basis(findings: tuple[PartFindings, ...]) -> str:
    first = findings[0].effects
    noise = any(found.noise_share is not None for found in findings)
    return (
        f"Members exchanged parts ({findings[0].named.title}) and every exchange was "
        f"solved again exactly: {first.n_draws} draws of {first.n_members} members, "
        f"{first.n_solutions:,} solutions. Shares are estimates with standard errors "
        "in brackets, and need not add up to 100 %. They hold for independent parts. "
        f"{first.notes[-1]}"
        + (" Shares refer to exact policies; training noise is extra." if noise else "")
    )


def _why_none(results: RunResults) -> str:
    """Say in a sentence why no part is named."""
    if results.study.named_parts:
        return (
            "No part of the reward is named: its policies cannot be solved again for "
            "members that exchange parts. `skpce.explain(..., together=)` takes parts "
            "of trained members as groups of inputs."
        )
    return (
        f"No part of the reward is named in the preset {results.preset_name!r} of "
        f"{results.task.name}."
    )
