"""Tables and picture of the page on artefacts, from the committed records.

Run: ``python -m benchmarks.paper.artefacts_page``; it reads
``benchmarks/paper/results`` and writes ``docs/downloads/artefacts.txt`` and
``docs/images/artefacts.png``, and the piece of the page of the paper, whose rows are
a table in ``docs/paper.md``. The tables of the pages are among those it prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import load, table, table_of
from benchmarks.paper.chuang_keiser import COMPONENTS, CONDITIONS
from benchmarks.paper.chuang_keiser import RECORD as REACTIONS
from benchmarks.paper.nine_tasks import MIN_Q2, named_parts
from benchmarks.paper.nine_tasks import RECORD as TASKS_RECORD
from benchmarks.paper.sachs_advice import ADVISED, GROUPS, INTERVENTIONS, STANDARDIZED
from benchmarks.paper.sachs_advice import RECORD as SACHS
from gflownet_envs.experiments.paper.claims.claim_list import claim_list
from gflownet_envs.experiments.paper.claims.rules import answer as answer_of
from gflownet_envs.experiments.paper.claims.study_rules import ARTEFACTS
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.paper.pieces import Pieces
from gflownet_envs.experiments.tasks import TASKS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "artefacts.md"
TABLES = ROOT / "docs" / "downloads" / "artefacts.txt"
PICTURE = ROOT / "docs" / "images" / "artefacts.png"
PIECES = Pieces(ROOT / "benchmarks/paper/pieces", (), {"preset": "full", "seed": 0})
N_RESAMPLES = 2000

#: Conditions with an artefact whose ensembles rank their own steps.
BY_COMPONENT = {
    "catalyst": "permuted catalysts",
    "base": "permuted bases",
    "aryl_halide": "permuted halides",
    "additive": "additives scrambled within blocks",
}


#: Components that are permuted under all recipes of the proxies.
PERMUTED = ("aryl_halide", "additive")


@dataclass(frozen=True)
class Measure:
    """A figure of each step; ``sign`` is -1 where artefacts should have low values."""

    label: str
    read: Callable[[dict[str, Any]], Sequence[float]]
    sign: int = 1


MEASURES = (
    Measure("D of the paper's expansion", itemgetter("d_expansion")),
    Measure("D of the members", itemgetter("d_members")),
    Measure("first-order index of PC1, mean", itemgetter("s1")),
    Measure("largest first-order index, mean", itemgetter("s_largest")),
    Measure("fragility: total variation", itemgetter("total_variation")),
    Measure("fragility over that of equal noise", itemgetter("excess")),
    Measure("Aitchison variance per degree of freedom", itemgetter("per_freedom")),
    Measure("p-value of the drivers (low)", lambda row: row["verdict"]["p"], -1),
    Measure(
        "named parts: single reactions' share", lambda row: row["parts"]["single_total"]
    ),
    Measure("named parts: own average's share", lambda row: row["parts"]["own"]),
    Measure("agreement of the members (low)", itemgetter("agreement"), -1),
    Measure("gain on unseen reactions (low)", itemgetter("gain"), -1),
)
PAPERS, GAIN = MEASURES[:4], MEASURES[-1]


def split(
    record: dict[str, Any], step: int, read: Callable[[dict[str, Any]], Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a figure of one step where it is an artefact, and where it is genuine."""
    artefacts, genuine = [], []
    for name, rows in record.items():
        condition = CONDITIONS[name]
        if condition.n_left_out:  # neither: some levels are artefacts
            continue
        of = artefacts if condition.scrambled == COMPONENTS[step] else genuine
        of += [read(row)[step] for row in rows]
    return np.array(artefacts, dtype=float), np.array(genuine, dtype=float)


def auc(higher: np.ndarray, lower: np.ndarray) -> float:
    """Return the probability that one of the first is above one of the second."""
    apart = np.subtract.outer(higher, lower)
    return float(np.mean((apart > 0) + 0.5 * (apart == 0)))


def auc_with_interval(
    higher: np.ndarray, lower: np.ndarray
) -> tuple[float, float, float]:
    """Return it with its 90 % interval from a bootstrap of the ensembles."""
    rng = np.random.default_rng(0)
    draws = [
        auc(rng.choice(higher, len(higher)), rng.choice(lower, len(lower)))
        for _ in range(N_RESAMPLES)
    ]
    low, high = np.quantile(draws, [0.05, 0.95])
    return auc(higher, lower), float(low), float(high)


def ranked_first(record: dict[str, Any], measure: Measure, place: int) -> list[bool]:
    """Say for each ensemble whether the artefact is the step of the largest value.

    ``place`` 0 is the largest, -1 the smallest.
    """
    found = []
    for component, name in BY_COMPONENT.items():
        for row in record.get(name, []):
            values = measure.sign * np.array(measure.read(row), dtype=float)
            order = np.argsort(-values, kind="stable")
            found.append(COMPONENTS[order[place]] == component)
    return found


def percent(hits: Sequence[bool]) -> str:
    return f"{100 * np.mean(hits):.0f} %"


def aucs(
    record: dict[str, Any], measure: Measure, steps: Sequence[str] = COMPONENTS
) -> list[float]:
    """Return the probability that an artefact is beyond the genuine step, by step."""
    both = [split(record, COMPONENTS.index(step), measure.read) for step in steps]
    return [auc(*(measure.sign * values for values in pair)) for pair in both]


def measures_table(record: dict[str, Any]) -> str:
    """Return how well each measure tells artefacts, step by step."""
    rows = []
    for measure in MEASURES:
        cells = [f"{found:.2f}" for found in aucs(record, measure)]
        rows.append([measure.label, *cells, percent(ranked_first(record, measure, 0))])
    columns = ["high means artefact?", "catalyst", "base", "halide", "additive"]
    return table([*columns, "ranked first"], rows)


def intervals_table(record: dict[str, Any]) -> str:
    """Return the same with intervals, medians, and the errors of the best cut."""
    rows = []
    for measure in MEASURES:
        for step, component in enumerate(COMPONENTS):
            artefacts, genuine = split(record, step, measure.read)
            signed = measure.sign * artefacts, measure.sign * genuine
            found, low, high = auc_with_interval(*signed)
            beyond = "probability that the artefact is beyond [90 %]"
            rows.append(
                {
                    "measure": measure.label,
                    "step": component.replace("_", " "),
                    "artefact": spread_of(artefacts, 3),
                    "genuine": spread_of(genuine, 3),
                    beyond: f"{found:.2f} [{low:.2f}, {high:.2f}]",
                    "mean of both error rates, best cut": f"{best_cut(*signed):.2f}",
                }
            )
    return table_of(rows)


def best_cut(artefacts: np.ndarray, genuine: np.ndarray) -> float:
    """Return the smallest mean of both error rates of any rule "high: artefact"."""
    cuts = [-np.inf, *np.unique(np.concatenate([artefacts, genuine]))]
    return min(
        0.5 * (np.mean(artefacts <= cut) + np.mean(genuine > cut)) for cut in cuts
    )


#: Rules that say yes or no of a step, with what they say.
RULES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "some principal component drives it (verdict)": lambda row: row["verdict"][
        "drives"
    ],
    "some named part drives it (explain)": lambda row: row["explain"]["drives"],
    "named parts are supported": lambda row: row["parts"]["supported"],
    "agreement above one half": lambda row: np.array(row["agreement"]) > 0.5,
    "gain on unseen reactions above 0": lambda row: np.array(row["gain"]) > 0.0,
}


def said(record: dict[str, Any], rule: str) -> list[np.ndarray]:
    """Return what a rule says of artefacts and of genuine steps."""
    some = record
    if "explain" in rule:
        some = {
            name: [row for row in rows if "explain" in row]
            for name, rows in record.items()
        }
    both = [split(some, step, RULES[rule]) for step in range(len(COMPONENTS))]
    return [np.concatenate(of) for of in zip(*both, strict=True)]


def rules_table(record: dict[str, Any]) -> str:
    rows = [[rule, *map(counted, said(record, rule))] for rule in RULES]
    return table(["says yes", "of artefacts", "of genuine steps"], rows)


#: Recipes of the proxies, as the page names them.
RECIPE_LABELS = {
    "default": "30 % of the rows, the task's proxies",
    "paper": "30 % of the rows, the paper's proxies",
    "nine tenths": "90 % of the rows, the task's proxies",
}


def recipes_table(record: dict[str, Any]) -> str:
    """Return what the two rules that work say under other recipes."""
    rows = []
    for recipe, label in RECIPE_LABELS.items():
        counts = [said(record[recipe], rule) for rule in list(RULES)[-2:]]
        rows.append([label, *(counted(of) for both in counts for of in both)])
    columns = ["agreement, artefacts", "agreement, genuine"]
    columns += ["gain, artefacts", "gain, genuine"]
    return table(["members see", *columns], rows)


def levels_table(record: dict[str, Any]) -> str:
    """Return how well left-out additives are told from the others."""
    labels = {
        "log_ratio_variance": "variance of the log-ratio",
        "probability_sd": "standard deviation of the probability",
        "relative_sd": "the same over the mean probability",
        "share": "share of the variance of the choice (named parts)",
    }
    rows = []
    for name, label in labels.items():
        found = []
        for row in record["left-out additives"]:
            values = np.array(row["levels"][name])
            out = np.isin(np.arange(len(values)), row["left_out"])
            found.append(auc(values[out], values[~out]))
        cells = [f"{np.median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"]
        rows.append([label, *cells])
    return table(["left-out additives have a higher", "median", "range"], rows)


def advised_first(
    rows: list[dict[str, Any]], group: str, which: int
) -> tuple[int, dict[str, int]]:
    """Count the draws in which an advised intervention lowers a group's figure most.

    With how often each intervention does.
    """
    best = [
        min(INTERVENTIONS, key=lambda name: row["interventions"][name][group][which])
        for row in rows
    ]
    counts = {name: best.count(name) for name in INTERVENTIONS}
    return sum(counts[name] for name in ADVISED[group]), counts


_UNCERTAIN = ("between members", "in all")


def advice_table(record: dict[str, Any]) -> str:
    """Return how often the paper's advice is the best."""
    rows = []
    for group, (which, label) in product(GROUPS, enumerate(_UNCERTAIN)):
        cells, leaders = [], []
        for standardized in STANDARDIZED:
            of = record[standardized]
            hits, counts = advised_first(of, group, which)
            cells.append(f"{hits} of {len(of)}")
            leader = max(counts, key=lambda name, counts=counts: counts[name])
            leaders.append(f"{leader} ({counts[leader]})")
        guess = f"{100 * len(ADVISED[group]) / len(INTERVENTIONS):.0f} %"
        rows.append([f"{group}, {label}", *cells, guess, "; ".join(leaders)])
    columns = ["edges, uncertainty", *STANDARDIZED, "chance"]
    return table([*columns, "most often best, of each"], rows)


def interventions_table(record: dict[str, Any]) -> str:
    """Return medians and ranges of the uncertainty left by each intervention."""
    rows = []
    for standardized, name in product(STANDARDIZED, ("observational", *INTERVENTIONS)):
        left = [row["interventions"][name] for row in record[standardized]]
        cells = [
            spread_of([one[group][which] for one in left])
            for group, which in product(GROUPS, range(2))
        ]
        rows.append([standardized, name, *cells])
    columns = [f"{group}, {label}" for group, label in product(GROUPS, _UNCERTAIN)]
    return table(["standardised by", "cells added", *columns], rows)


def established(record: dict[str, Any], standardized: str) -> dict[str, Any]:
    """Return whether pairs that members agree on are those that stay.

    Among the pairs with an edge in more than half of the graphs: how often pairs of the
    robust and of the fragile half have changed, and the probability that a changed pair
    is the more fragile.
    """
    halves: tuple[list[bool], list[bool]] = ([], [])
    aucs = []
    for row in record[standardized]:
        pairs = {name: np.array(values) for name, values in row["pairs"].items()}
        likely = pairs["edge"] > 0.5
        spread, distance = pairs["between"][likely], pairs["distance"][likely]
        changed = distance > 0.5
        order = np.argsort(spread, kind="stable")
        half = len(order) // 2
        halves[0].extend(changed[order[:half]])
        halves[1].extend(changed[order[-half:]])
        if 0 < changed.sum() < len(changed):
            aucs.append(auc(spread[changed], spread[~changed]))
    return {"robust": halves[0], "fragile": halves[1], "auc": aucs}


def established_table(record: dict[str, Any]) -> str:
    rows = []
    for standardized in STANDARDIZED:
        found = established(record, standardized)
        halves = [percent(found[half]) for half in ("robust", "fragile")]
        shown = spread_of(found["auc"]) if found["auc"] else "–"
        rows.append([standardized, *halves, shown])
    columns = ["standardised by", "robust half changed", "fragile half changed"]
    return table([*columns, "changed is more fragile"], rows)


def counts_of_task(found: dict[str, Any]) -> dict[str, list[int]]:
    """Count, in each draw, the steps that get an answer."""
    draws = found["draws"]
    choices = [place for place, q2 in enumerate(draws[0]["q2"]) if q2 is not None]
    return {
        "choices": choices,
        "before": [sum(draw["q2"][i] >= MIN_Q2 for i in choices) for draw in draws],
        "now": [sum(bool(draw["drives"][i]) for i in choices) for draw in draws],
    }


def in_order(record: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the tasks that were measured, in the order of the pages."""
    return [(task, record[task]) for task in TASKS if task in record]


def range_of(counts: Sequence[int]) -> str:
    """Return the median of some draws with their range."""
    low, high = min(counts), max(counts)
    middle = f"{np.median(counts):g}"
    return middle if low == high else f"{middle} ({low} to {high})"


def tasks_table(record: dict[str, Any]) -> str:
    """Return how many steps of each task get an answer, before and now."""
    parts, rows = named_parts(), []
    for task, found in in_order(record):
        counts = counts_of_task(found)
        steps = [found["steps"][place] for place in counts["choices"]]
        cells = [range_of(counts[when]) for when in ("before", "now")]
        named = sum((task, step) in parts for step in steps)
        rows.append([task, str(len(steps)), *cells, str(named)])
    return table(["task", "steps", "verdict before", "drivers", "named parts"], rows)


def gained(record: dict[str, Any]) -> dict[str, int]:
    """Count the steps, those without an answer before, and those that have one now.

    An answer in at least half of the draws; of drivers also those whose fit predicts
    a tenth of the variance (median Q² over the draws).
    """
    parts = named_parts()
    found = dict.fromkeys(("steps", "none", "drivers", "predicted", "parts"), 0)
    for task, of in in_order(record):
        draws = of["draws"]
        for place in counts_of_task(of)["choices"]:
            found["steps"] += 1
            if np.mean([draw["q2"][place] >= MIN_Q2 for draw in draws]) >= 0.5:
                continue
            driven_now = np.mean([bool(draw["drives"][place]) for draw in draws]) >= 0.5
            learned = np.median([draw["learned_q2"][place] for draw in draws])
            found["none"] += 1
            found["drivers"] += int(driven_now)
            found["predicted"] += int(driven_now and learned >= 0.1)
            found["parts"] += int((task, of["steps"][place]) in parts)
    return found


def answer_of_tasks() -> str:
    """Return what the nine tasks gain, in words."""
    found = gained(load(TASKS_RECORD))
    return (
        f"Of {found['steps']} steps {found['none']} had no answer in most draws. Of "
        f"these, some input drives {found['drivers']} in at least half of the draws, "
        f"and the fit behind it predicts a tenth of the variance or more at "
        f"{found['predicted']}; named parts have an answer at {found['parts']}."
    )


def steps_table(record: dict[str, Any]) -> str:
    """Return each step of each task: verdict before, drivers now, named parts."""
    parts, rows = named_parts(), []
    for task, found in in_order(record):
        draws = found["draws"]
        for place in counts_of_task(found)["choices"]:
            step, q2 = found["steps"][place], [draw["q2"][place] for draw in draws]
            yes = sum(value >= MIN_Q2 for value in q2)
            drives = Counter(shown(name) for d in draws for name in d["drives"][place])
            driving = ", ".join(f"{name} {n}" for name, n in sorted(drives.items()))
            rows.append(
                {
                    "task": task,
                    "step": step,
                    "verdict before: yes in": f"{yes} of {len(q2)}; Q² {spread_of(q2)}",
                    "drivers, in how many draws": driving or "none",
                    "Q² without settings": spread_of(
                        [draw["learned_q2"][place] for draw in draws]
                    ),
                    "named parts: the leading one": parts.get(
                        (task, step), "not supported"
                    ),
                }
            )
    return table_of(rows)


def shown(name: str) -> str:
    """Return the name of a principal component as the pages write it."""
    is_component = name.startswith("pca") and name[3:].isdigit()
    return f"PC{int(name[3:]) + 1}" if is_component else name


def spread_of(values: Sequence[float] | np.ndarray, significant: int = 0) -> str:
    """Return the median and the range, with two decimals or significant digits."""
    form = f".{significant}g" if significant else ".2f"
    figures = (np.median(values), min(values), max(values))
    middle, low, high = (f"{figure:{form}}" for figure in figures)
    return f"{middle} ({low} to {high})"


def counted(hits: Sequence[bool]) -> str:
    """Return how many of how many."""
    return f"{np.sum(hits):.0f} of {len(hits)}"


def beyond(record: dict[str, Any], measure: Measure) -> str:
    """Return these probabilities side by side."""
    found = [f"{value:.2f}" for value in aucs(record, measure)]
    return f"{', '.join(found[:-1])} and {found[-1]}"


def of_two(record: dict[str, Any], measure: Measure) -> str:
    """Return the probability for the two steps that other recipes permute."""
    return " and ".join(f"{value:.2f}" for value in aucs(record, measure, PERMUTED))


def advice_counts(record: dict[str, Any], group: str, which: int) -> str:
    """Return in how many draws of both readings an advised intervention is best."""
    both = [record[standardized] for standardized in STANDARDIZED]
    hits = sum(advised_first(rows, group, which)[0] for rows in both)
    return f"{hits} of {sum(map(len, both))}"


def answer() -> list[str]:
    """Return the five sentences of the page."""
    every, sachs = load(REACTIONS), load(SACHS)
    record = every["default"]
    d, index = MEASURES[1], MEASURES[3]
    first = ranked_first(record, d, 0)
    verdicts, parts, agreeing, gains = (
        said(record, rule) for rule in RULES if "explain" not in rule
    )
    shared = said(every["nine tenths"], list(RULES)[3])[0]
    of_gain = said(every["nine tenths"], list(RULES)[4])[0]
    return [
        "No: where the levels of one component are permuted, so that whatever a policy "
        "prefers among them is chance, the step with the largest D of its ensemble is "
        f"that artefact in {percent(first)} of {len(first)} ensembles, as often as by "
        "guessing: it is the additive, which has the most levels, whatever was "
        "permuted.",
        "Beside the same step where it carries signal, the artefact has the larger D "
        f"with a probability of {beyond(record, d)} (catalyst, base, halide, additive) "
        "and the larger index of a principal component with "
        f"{beyond(record, index)}, where one half is what guessing gives and the "
        "paper's reading needs one; with the paper's proxies its D is larger "
        f"({of_two(every['paper'], d)}, halide and additive, of few ensembles), which "
        "nobody sees without the other data.",
        "Drivers and named parts say which uncertainty moves a choice, and not whether "
        "the choice is real: some principal component drives "
        f"{counted(verdicts[0])} artefacts and {counted(verdicts[1])} genuine steps, "
        f"and named parts have support at {counted(parts[0])} and {counted(parts[1])}.",
        "Two figures that need no expansion tell them apart: the members agree on what "
        f"they prefer at {counted(agreeing[0])} artefacts and {counted(agreeing[1])} "
        "genuine steps, and the component improves the prediction of unseen reactions "
        f"at {counted(gains[0])} and {counted(gains[1])}; where members share nine "
        f"tenths of the rows they agree at {counted(shared)} artefacts, and the second "
        f"figure still says {counted(of_gain)}.",
        "Of the advice what to perturb in the Sachs network, the inhibition of Mek is "
        "the best of six interventions for the MAPK edges in "
        f"{advice_counts(sachs, 'MAPK', 1)} draws by all of their uncertainty, but in "
        f"{advice_counts(sachs, 'MAPK', 0)} by what differs between members, which is "
        "what the paper's variance and indices see; for the hub edges an advised one "
        f"is the best in {advice_counts(sachs, 'hub', 1)} and "
        f"{advice_counts(sachs, 'hub', 0)}, where guessing gives half.",
    ]


def piece() -> dict[str, Any]:
    """Return what the rows of the page of the paper are made of.

    For each row, and each reading, one entry a repetition: figures, and whether it
    shows what is claimed. A repetition of the reactions has four ensembles, one with
    each component permuted, in one of which guessing finds the artefact.
    """
    record, sachs = load(REACTIONS)["default"], load(SACHS)
    found: dict[str, Any] = {}
    for name, measure in (("D", MEASURES[1]), ("index", MEASURES[3])):
        for end, place in (("high", 0), ("low", -1)):
            ranked = np.reshape(ranked_first(record, measure, place), (4, -1))
            found[f"{end} {name}"] = {
                "30 % of the rows": [
                    ([n], n > 1 if end == "high" else n < 1)
                    for n in ranked.sum(axis=0).tolist()
                ]
            }
    for group in GROUPS:
        for which, label in enumerate(_UNCERTAIN):
            found[f"{group}, {label}"] = {
                reading: [_advised(row, group, which) for row in sachs[reading]]
                for reading in STANDARDIZED
            }
    found["established"] = {
        reading: [_stays(row) for row in sachs[reading]] for reading in STANDARDIZED
    }
    plain: dict[str, Any] = rounded(found)
    return plain


def _advised(
    row: dict[str, Any], group: str, which: int
) -> tuple[tuple[float, float], bool]:
    """Return what the best advised and the best other intervention leave."""
    left = {name: row["interventions"][name][group][which] for name in INTERVENTIONS}
    advised = min(left[name] for name in ADVISED[group])
    other = min(left[name] for name in INTERVENTIONS if name not in ADVISED[group])
    return (advised, other), bool(advised_first([row], group, which)[0])


def _stays(row: dict[str, Any]) -> tuple[tuple[float, float], bool]:
    """Return how much of the robust and of the fragile half changes."""
    found = established({"": [row]}, "")
    robust, fragile = (float(np.mean(found[half])) for half in ("robust", "fragile"))
    return (robust, fragile), robust < 0.5


def words_table() -> str:
    """Return the rows of the page of the paper that are about artefacts and advice."""
    rows, pieces = [], {ARTEFACTS: piece()}
    for claim in claim_list().claims:
        if claim.rule == "repetitions":
            found = answer_of(claim, pieces)
            others = [f"{name}: {side.text}" for name, side in found.readings.items()]
            ours = "; ".join([found.sides["exact"].text, *others])
            rows.append([claim.id, claim.text, ours, found.word])
    return table(["row", "claim", "ours", "word"], rows)


def page_tables() -> dict[str, str]:
    """Return the tables that stand on the page itself."""
    record, sachs = load(REACTIONS), load(SACHS)
    reactions = record["default"]
    return {
        "measures": measures_table(reactions),
        "rules": rules_table(reactions),
        "recipes": recipes_table(record),
        "levels": levels_table(reactions),
        "advice": advice_table(sachs),
        "established": established_table(sachs),
        "tasks": tasks_table(load(TASKS_RECORD)),
    }


def download() -> str:
    """Return the large tables."""
    record, sachs = load(REACTIONS), load(SACHS)
    sections = [
        "<!-- Written by python -m benchmarks.paper.artefacts_page; do not edit. -->",
        "## Buchwald–Hartwig: artefacts and genuine steps",
        intervals_table(record["default"]),
        "Ensembles: "
        + ", ".join(f"{name} {len(rows)}" for name, rows in record["default"].items())
        + ".",
    ]
    sections += [
        "## Sachs: what each intervention leaves uncertain",
        interventions_table(sachs),
        "## The nine tasks, step by step",
        steps_table(load(TASKS_RECORD)),
    ]
    return "\n\n".join(part.rstrip("\n") for part in sections) + "\n"


def draw(record: dict[str, Any]) -> bytes:
    """Draw three measures of genuine steps and of artefacts."""
    from gflownet_envs.experiments.figures import png
    from gflownet_envs.experiments.paper.page.panels import new_figure
    from skpce.plotting._style import COLORS

    panels = (
        ("total variance D\nof the members", MEASURES[1], "log"),
        ("largest first-order index\nof a principal component", MEASURES[3], "linear"),
        ("R² that the component adds\non unseen reactions", GAIN, "linear"),
    )
    sides = (("genuine", "o", COLORS[0]), ("artefact: permuted", "s", COLORS[5]))
    figure = new_figure(3.6, 10.0)
    axes = figure.subplots(1, len(panels))
    rng = np.random.default_rng(0)
    for ax, (title, measure, scale) in zip(axes, panels, strict=True):
        for step in range(len(COMPONENTS)):
            genuine_first = split(record, step, measure.read)[::-1]
            for side, values in enumerate(genuine_first):
                label, marker, color = sides[side]
                x = step + 0.4 * (side - 0.5) + rng.uniform(-0.08, 0.08, len(values))
                how = {"ms": 3.5, "alpha": 0.6, "mew": 0, "color": color}
                ax.plot(x, values, marker, label="" if step else label, **how)
        ax.set_yscale(scale)
        ax.set_title(title, fontsize=10)
        names = [component.replace("_", "\n") for component in COMPONENTS]
        ax.set_xticks(range(len(COMPONENTS)), names)
    axes[-1].axhline(0.0, color="0.5", lw=0.8)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return png(figure)


def main() -> None:
    TABLES.write_text(download(), encoding="utf-8")
    PICTURE.write_bytes(draw(load(REACTIONS)["default"]))
    (PIECES.folder / f"{ARTEFACTS}.json").unlink(missing_ok=True)
    PIECES.get(ARTEFACTS, piece)
    print("\n".join([*answer(), answer_of_tasks()]), "\n")
    for name, shown in (page_tables() | {"words": words_table()}).items():
        print(f"{name}\n\n{shown}")


if __name__ == "__main__":
    main()
