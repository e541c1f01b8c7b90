"""Every figure of the paper, in its form, from our data: panels by label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gflownet_envs.datasets._sachs import CONSENSUS_EDGES
from gflownet_envs.experiments.paper.claims.answers import claim_list
from gflownet_envs.experiments.paper.measures import (
    EXTREMES_AND_MEDIAN,
    across,
    summary,
)
from gflownet_envs.experiments.paper.page import panels
from gflownet_envs.experiments.paper.page.panels import Drawn
from gflownet_envs.experiments.paper.systems import FIRST
from gflownet_envs.experiments.task import LEVELS, record_of
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.experiments.tasks.formulas import target_and_spread
from gflownet_envs.experiments.tasks.graphs import draw_graph
from gflownet_envs.experiments.tasks.grid import draw_board
from skpce.plotting._style import COLORS

Found = Mapping[str, Any]  # pieces by name
Panels = list[tuple[str, Any]]  # what a panel shows, and the picture

_TITLES = {task: record_of(task)["page"]["title"] for task in TASKS}


def draw_figures(found: Found) -> dict[str, Panels]:
    """Return the panels of each figure of the paper; none where a piece is missing.

    Parameters
    ----------
    found : mapping of str to dict
        The pieces of the page.
    """
    return {
        label: draw(found) if all(name in found for name in needed) else []
        for label, (needed, draw) in _FIGURES.items()
    }


_WHISKERS = "; medians of the draws with smallest and largest."


def _sources(
    found: Found, task: str, reduce: Callable[[Any], Any] = np.median
) -> dict[str, dict[str, Any]]:
    """Return medians over the draws of exact and trained policies, or extremes."""
    sources = found.get(f"{task}-{FIRST}", {"sources": {}})["sources"]
    return {name: summary(measures, reduce) for name, measures in sources.items()}


def _drawn(found: Found, task: str, pick: Callable[[Any], Any]) -> dict[str, Drawn]:
    """Return smallest, median and largest of what is picked, by source."""
    ends = [_sources(found, task, reduce) for reduce in EXTREMES_AND_MEDIAN]
    return {name: [pick(one[name]) for one in ends] for name in ends[0]}


def _across(rows: Sequence[Sequence[Any]]) -> Drawn:
    """Return smallest, median and largest over the draws of each row."""
    return [[across(row, reduce) for row in rows] for reduce in EXTREMES_AND_MEDIAN]


def _inputs(measures: Mapping[str, Any], task: str) -> list[str]:
    noun = record_of(task)["page"].get("inputs", "PC")
    return [f"{noun}{i + 1}" for i in range(len(measures["total"][0]))]


def _indices(found: Found, task: str, *, order: str) -> Panels:
    """Indices per step, as the paper draws them: means over the actions."""
    some = next(iter(_sources(found, task).values()))
    rows = _steps_with_choice(some)
    picture = panels.shares(
        [_step_name(some, row) for row in rows],
        _drawn(found, task, lambda m: [m[f"mean_{order}"][row] for row in rows]),
        _inputs(some, task),
        "total index" if order == "total" else "first-order index",
        stacked=order == "first",
    )
    text = f"{order.capitalize()}-order indices per step, mean over the actions"
    return [(text + _WHISKERS, picture)]


_total, _first = partial(_indices, order="total"), partial(_indices, order="first")


def _steps_with_choice(measures: Mapping[str, Any]) -> list[int]:
    return [row for row, n in enumerate(measures["n_possible"]) if n > 1]


def _step_name(measures: Mapping[str, Any], row: int) -> str:
    step, action = measures["steps"][row], measures["trajectory"][row]
    return f"{step}: {action}" if " → " in action else step.replace("_", " ")


def _policies(found: Found, task: str) -> Panels:
    """Members beside the surrogate, a picture for each kind of policies."""
    return [
        (
            f"Members held out (red) and surrogate (blue), {name} policies.",
            panels.policies(measures["panels"]),
        )
        for name, measures in _sources(found, task).items()
    ]


def _variances(found: Found, task: str) -> Panels:
    """D per step beside the paper's."""
    steps = next(iter(_sources(found, task).values()))["steps"]
    papers = claim_list().printed["variances"][task]
    series: dict[str, Drawn] = {"paper": [papers.get(step) for step in steps]}
    members = _drawn(found, task, lambda m: m["d_members"])
    for name, values in _drawn(found, task, lambda m: m["d_expansion"]).items():
        series |= {name: values, f"{name}, members": members[name]}
    colors = panels.SOURCE_COLORS | {
        "exact, members": "#9CC3E0",
        "trained, members": "#EDBB99",
    }
    picture = panels.bars(
        [step.replace("_", " ") for step in steps],
        series,
        "D (additive log-ratios)",
        log=True,
        colors=colors,
    )
    text = (
        "Total variance D of the expansion, as the paper has it, and of the members "
        f"themselves (pale){_WHISKERS}"
    )
    return [(text, picture)]


def _calibration(found: Found, task: str) -> Panels:
    """Coverage of each step."""
    pictures: Panels = []
    drawn = _drawn(found, task, lambda m: m["coverage"])
    for name, measures in _sources(found, task).items():
        coverage = np.array(drawn[name], dtype=float)  # (3, levels, steps)
        series = {
            measures["steps"][row].replace("_", " "): coverage[:, :, row]
            for row in _steps_with_choice(measures)
        }
        picture = panels.lines(LEVELS, series, _COVERAGE_AXES, diagonal=True)
        text = f"Coverage of the push-forward intervals, {name} policies."
        pictures.append((text, picture))
    return pictures


# ------------------------------------------------------------- figures 1 to 7


def _network(found: Found, task: str) -> Panels:
    some = next(iter(_sources(found, task).values()))
    edges = [
        (one, other)
        for one, arrow, other in (a.partition(" → ") for a in some["trajectory"])
        if arrow
    ]
    nodes = sorted({node for edge in CONSENSUS_EDGES for node in edge})
    nodes += sorted({node for edge in edges for node in edge} - set(nodes))
    figure = panels.new_figure(5.0)
    draw_graph(
        figure.subplots(), nodes, edges, known=CONSENSUS_EDGES, known_name="published"
    )
    return [
        ("The published edges, and those that our reference trajectory adds.", figure)
    ]


def _board(found: Found, task: str) -> Panels:
    figure = panels.new_figure(3.8)
    moves = {"right": (0, 1), "down": (1, 0), "left": (0, -1), "up": (-1, 0)}
    taken = next(iter(_sources(found, task).values()))["trajectory"]
    steps = [(0, 0), *(moves[action] for action in taken if action in moves)]
    draw_board(figure.subplots(), 5, np.cumsum(steps, axis=0))
    return [("The board with its four zones, and our reference walk.", figure)]


def _target(found: Found, task: str) -> Panels:
    figure = panels.new_figure(3.2)
    ax = figure.subplots()
    x, target, spread = target_and_spread()
    ax.fill_between(x, target - spread, target + spread, color="0.85")
    ax.plot(x, target, color=COLORS[0])
    ax.set(xlabel="x", ylabel="f(x)")
    return [("sin x + 2 − x with the envelope of two modes (± 1 sd).", figure)]


def _problems(found: Found, task: str) -> Panels:
    some = next(iter(_sources(found, task).values()))
    figure = panels.new_figure(3.0)
    ax = figure.subplots()
    variance = np.square(some["feature_sd"] or [])
    ax.bar(np.arange(1, len(variance) + 1), variance, color=COLORS[2])
    ax.set(xlabel="problem", ylabel="variance between members")
    return [
        ("Variance of the reward models' outputs on each labelled problem.", figure)
    ]


# ------------------------------------------------------------- figures S1 to S8


def _by_action(found: Found, task: str) -> Panels:
    """First-order indices of each log-ratio, step by step."""
    pictures: Panels = []
    drawn = _drawn(
        found, task, lambda m: [row for step in m["by_action"] for row in step]
    )
    for name, measures in _sources(found, task).items():
        labels = [
            f"{step}: {action}"
            for step, actions, rows in zip(
                measures["steps"],
                measures["actions"],
                measures["by_action"],
                strict=True,
            )
            for action in actions[: len(rows)]
        ]
        picture = panels.shares(
            labels,
            {name: drawn[name]},
            _inputs(measures, task),
            "first-order",
            stacked=True,
        )
        text = (
            f"First-order indices of each action's log-ratio, {name} policies"
            f"{_WHISKERS} Without a bar: a log-ratio that is the same for all members."
        )
        pictures.append((text, picture))
    return pictures


def _all_indices(found: Found) -> Panels:
    """Mean total index of the first two inputs, task by task."""
    tasks = [task for task in _TITLES if f"{task}-{FIRST}" in found]
    pictures: Panels = []
    for column in (0, 1):
        series: dict[str, Drawn] = {
            source: [
                [
                    None if own is None else own["mean_total_of_steps"][column]
                    for task in tasks
                    for own in [_sources(found, task, end).get(source)]
                ]
                for end in EXTREMES_AND_MEDIAN
            ]
            for source in ("exact", "trained")
        }
        titles = [_TITLES[task] for task in tasks]
        picture = panels.bars(titles, series, "total index")
        text = f"Mean total-order index of input {column + 1}, all steps and actions"
        pictures.append((text + _WHISKERS, picture))
    return pictures


def _all_calibration(found: Found) -> Panels:
    pictures: Panels = []
    for kind, text in (
        ("coverage", "the push-forward alone, as in the paper"),
        ("coverage_given", "with the residual distribution, of the first draw"),
    ):
        for source in ("exact", "trained"):
            series = {}
            for task, title in _TITLES.items():
                measures = _sources(found, task).get(source)
                if measures is not None:
                    rows = np.array(measures[kind], dtype=float)
                    series[title] = np.nanmean(rows, axis=1)
            picture = panels.lines(LEVELS, series, _COVERAGE_AXES, diagonal=True)
            pictures.append((f"Coverage, {source} policies: {text}.", picture))
    return pictures


def _compared(found: Found, other: str, title: str) -> Panels:
    """Error and time of the expansion beside another surrogate."""
    papers = claim_list().printed["surrogates"]
    pictures: Panels = []
    bars = [
        (place, task, method)
        for place, task in enumerate(("buchwald-hartwig", "sachs"))
        for method in ("paper", other)
    ]
    names = {"paper": "expansion", other: title}
    categories = [f"{_TITLES[task]},\n{names[method]}" for _, task, method in bars]
    for number, (key, label, what, log) in enumerate(
        (
            ("mae", "mean absolute error", "Error on held-out members", False),
            ("fit_seconds", "CPU-seconds to fit", "Time to fit", True),
        )
    ):
        series: dict[str, Drawn] = {
            "paper": [papers[method][place][number] for place, _, method in bars]
        }
        for source in ("exact", "trained"):
            of_tasks = (found[f"surrogates-{task}"].get(source) for _, task, _ in bars)
            series[source] = _across(
                [
                    [] if rows is None else rows[method][key]
                    for rows, (_, _, method) in zip(of_tasks, bars, strict=True)
                ]
            )
        text = f"{what} of the expansion and of the {title}{_WHISKERS}"
        pictures.append((text, panels.bars(categories, series, label, log=log)))
    return pictures


_COMPARED = ("surrogates-buchwald-hartwig", "surrogates-sachs")


def _ablation(found: Found) -> Panels:
    pictures: Panels = []
    for curve, label in (
        ("members", "members to fit"),
        ("degrees", "degree"),
        ("components", "components"),
    ):
        series: dict[str, Drawn] = {}
        at: list[Any] = []
        styles = {}
        for source, rows in found["ablation"].items():
            at = [row["at"] for row in rows[curve]]
            color = panels.SOURCE_COLORS[source]
            for key, name, line in (
                ("mae_paper", "paper's expansion", "-"),
                ("mae_ridge1", "ridge, degree 1", "--"),
                ("mae_mean", "mean policy", ":"),
            ):
                if key in rows[curve][0]:
                    named = f"{source}: {name}"
                    series[named] = _across([row[key] for row in rows[curve]])
                    styles[named] = {"color": color, "linestyle": line}
        picture = panels.lines(
            at, series, (label, "mean absolute error"), logy=True, styles=styles
        )
        text = f"Error of held-out policies against {label}{_WHISKERS}"
        pictures.append((text, picture))
    return pictures


_COVERAGE_AXES = ("nominal level", "empirical coverage")

_Figure = tuple[Sequence[str], Callable[[Found], Panels]]


def _of(task: str, *makers: Callable[[Found, str], Panels]) -> _Figure:
    """Return a figure of one task, made of several kinds of panels."""

    def draw(found: Found) -> Panels:
        return [panel for make in makers for panel in make(found, task)]

    return [f"{task}-{FIRST}"], draw


#: Of each figure the pieces that it cannot do without, and what draws it.
_FIGURES: Mapping[str, _Figure] = {
    "fig:framework": _of("buchwald-hartwig", _first, _variances),
    "fig:buchwald": _of("buchwald-hartwig", _variances, _first, _calibration),
    "fig:sachs": _of("sachs", _network, _total, _policies),
    "fig:gridworld": _of("grid", _board, _total, _policies),
    "fig:symreg": _of("symbolic-regression", _target, _total, _policies),
    "fig:llm": _of("llm-arithmetic", _problems, _total, _policies),
    "fig:moldesign": _of("molecules", _variances, _first),
    "fig:s_discrete": _of("grid", _policies, _by_action),
    "fig:s_continuous": _of("continuous-grid", _policies, _by_action),
    "fig:s_sobol_all": ((), _all_indices),
    "fig:s_calibration": ((), _all_calibration),
    "fig:s_mlp": (_COMPARED, partial(_compared, other="mlp", title="network")),
    "fig:s_gp": (_COMPARED, partial(_compared, other="gp", title="process")),
    "fig:s_ablation": (["ablation"], _ablation),
    "fig:s_controlled_llm": _of("strategy-reasoning", _first, _total),
}
