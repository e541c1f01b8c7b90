"""How a claim is compared: a rule takes the claim and what was found, and answers.

Exact and trained policies under the paper's settings are compared with the paper; the
word of a row is about the trained ones, which the paper has, and about the exact ones
where nothing was trained. Policies of the preset ``default`` stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.answers import (
    AGREES,
    COLUMNS,
    DIFFERS,
    DOES_NOT,
    INCOMPARABLE,
    OURS,
    SAME,
    TOLERANCE,
    UNFINISHED,
    Answer,
    Found,
    Side,
    judged,
    number,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim
from gflownet_envs.experiments.paper.claims.study_rules import STUDY_RULES
from gflownet_envs.experiments.paper.claims.values import (
    LISTS,
    VALUES,
    edge_index,
    hub_indices,
    is_missing,
)
from gflownet_envs.experiments.tasks import TASKS
from skpce.sample_size import paper_ensemble_size


def answer(claim: Claim, found: Found) -> Answer:
    """Answer one claim from the pieces."""
    missing = [name for name in _needed(claim) if name not in found]
    if missing:
        why = f"{UNFINISHED}: {', '.join(missing)}"
        return Answer(INCOMPARABLE, {}, why)
    if claim.rule in _WHOLE:
        return _WHOLE[claim.rule](claim, found)
    sides: dict[str, Side] = {}
    for source, settings in COLUMNS:
        measures = _measures(found, claim.task or "", settings, source)
        if measures is not None:
            sides[f"{source}, {settings}"] = _PER_SOURCE[claim.rule](claim, measures)
    return judged(claim, sides, found)


def _needed(claim: Claim) -> tuple[str, ...]:
    """Return the names of the pieces that the answer to a claim is made of."""
    if claim.rule.startswith("embedding"):
        return ("embeddings",)
    if claim.rule == "ablation":
        return ("ablation",)
    if claim.rule.startswith("surrogate"):
        return (f"surrogates-{claim.task}",)
    if claim.rule in _PER_SOURCE or claim.rule == "data":
        return (f"{claim.task}-paper",)
    return ()


def _measures(
    found: Found, task: str, settings: str, source: str
) -> dict[str, Any] | None:
    """Return the measures of one data set, with the record of its system."""
    piece = found.get(f"{task}-{settings}")
    if piece is None or source not in piece["sources"]:
        return None
    return piece["sources"][source] | {"record": piece["record"], "source": source}


# ------------------------------------------------------ rules on one data set


def _value(claim: Claim, measures: dict[str, Any]) -> float | None:
    return VALUES[claim.values["measure"]](measures, claim.values)


def _list(claim: Claim, measures: dict[str, Any]) -> list[float]:
    found = LISTS[claim.values["measure"]](measures, claim.values)
    return [value for value in found if not is_missing(value)]


def _compared(
    claim: Claim, measures: dict[str, Any], agrees: Callable[[float], bool]
) -> Side:
    value = _value(claim, measures)
    if value is None:
        return "–", None
    return number(value), bool(agrees(value))


def _near(claim: Claim, measures: dict[str, Any]) -> Side:
    wanted = claim.values["value"]
    within = claim.values.get("within", TOLERANCE * abs(wanted))
    return _compared(claim, measures, lambda value: abs(value - wanted) <= within)


def _at_least(claim: Claim, measures: dict[str, Any]) -> Side:
    return _compared(claim, measures, lambda v: v >= claim.values["value"])


def _at_most(claim: Claim, measures: dict[str, Any]) -> Side:
    return _compared(claim, measures, lambda v: v <= claim.values["value"])


def _beside(claim: Claim, measures: dict[str, Any]) -> Side:
    """Show ours without a judgement: the claim says why."""
    name = claim.values["measure"]
    found = _list(claim, measures) if name in LISTS else [_value(claim, measures)]
    texts = [number(value) for value in found if value is not None]
    unit = claim.values.get("unit")
    if not texts:
        return "–", None
    return ", ".join(texts) + (f" {unit}" if unit else ""), None


def _range(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    if not values:
        return "–", None
    low, high = claim.values["low"], claim.values["high"]
    inside = min(values) >= (1 - TOLERANCE) * low
    text = f"{number(min(values))} to {number(max(values))}"
    return text, bool(inside and max(values) <= (1 + TOLERANCE) * high)


def _ends(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    if not values:
        return "–", None
    low, high, within = (claim.values[key] for key in ("low", "high", "within"))
    text = f"{number(min(values))} to {number(max(values))}"
    agrees = abs(min(values) - low) <= within and abs(max(values) - high) <= within
    return text, bool(agrees)


def _each(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    wanted, within = claim.values["values"], claim.values["within"]
    if len(values) != len(wanted):
        return "–", None
    gaps = np.abs(np.subtract(values, wanted))
    return " / ".join(map(number, values)), bool((gaps <= within).all())


def _extreme(claim: Claim, measures: dict[str, Any], pick: Any) -> Side:
    values = VALUES_OF_STEPS[claim.values["measure"]](measures)
    known = {s: v for s, v in zip(measures["steps"], values, strict=True) if v}
    named = claim.values["step"]  # one step, or any of some
    named = [named] if isinstance(named, str) else named
    if not set(named) <= set(known):
        return "no such step", None
    parts = [f"{_spoken(step)} {number(value)}" for step, value in known.items()]
    return ", ".join(parts), pick(known, key=known.__getitem__) in named


def _spoken(step: str) -> str:
    return step.replace("_", " ")


def _mean_first_sums(measures: dict[str, Any]) -> list[float]:
    return [
        sum(v for v in row if v is not None) / max(1, len(row))
        for row in measures["mean_first"]
    ]


VALUES_OF_STEPS: Mapping[str, Callable[[dict[str, Any]], list[Any]]] = {
    "d_expansion": lambda m: m["d_expansion"],
    "aitchison": lambda m: m["aitchison"],
    "mean_first_sum": _mean_first_sums,
}


def _lowest(claim: Claim, measures: dict[str, Any]) -> Side:
    return _extreme(claim, measures, min)


def _highest(claim: Claim, measures: dict[str, Any]) -> Side:
    return _extreme(claim, measures, max)


def _greater(claim: Claim, measures: dict[str, Any]) -> Side:
    values = dict(
        zip(measures["steps"], measures[claim.values["measure"]], strict=True)
    )
    one, other = claim.values["step"], claim.values["other"]
    text = f"{one} {number(values[one])}, {other} {number(values[other])}"
    return text, bool(values[one] > values[other])


def _ends_of_totals(measures: dict[str, Any]) -> tuple[Any, Any, str]:
    """Return total indices of the first and the last step with a choice."""
    known = [
        (step, row)
        for step, row, n in zip(
            measures["steps"], measures["total"], measures["n_possible"], strict=True
        )
        if n > 1 and row[0] is not None and sum(row[:2]) > 0
    ]
    (early, before), (late, after) = known[0], known[-1]
    text = (
        f"{early} {number(before[0])} and {number(before[1])}, "
        f"{late} {number(after[0])} and {number(after[1])}"
    )
    return before, after, text


def _shift(claim: Claim, measures: dict[str, Any]) -> Side:
    before, after, text = _ends_of_totals(measures)
    return text, bool(before[0] > before[1] and after[1] > after[0])


def _gain(claim: Claim, measures: dict[str, Any]) -> Side:
    before, after, text = _ends_of_totals(measures)
    gains = after[1] / sum(after[:2]) > before[1] / sum(before[:2])
    return text, bool(before[0] > before[1] and gains)


def _share(claim: Claim, measures: dict[str, Any]) -> Side:
    places = list(range(len(measures["steps"])))
    if "step" in claim.values:
        places = [measures["steps"].index(claim.values["step"])]
    passed = sum(measures["ks_passed"][i] for i in places)
    pairs = sum(measures["ks_pairs"][i] for i in places)
    if not pairs:
        return "none", None
    wanted = claim.values["value"][0] / claim.values["value"][1]
    return f"{passed} of {pairs}", bool(abs(passed / pairs - wanted) <= 0.1)


def _equal(claim: Claim, measures: dict[str, Any]) -> Side:
    widths = measures["widths"]
    text = f"{len(widths)} × {widths[0]} = {sum(widths)}"
    return text, text == claim.values["value"]


def _edge(claim: Claim, measures: dict[str, Any]) -> Side:
    indices = edge_index(measures, claim.values["edge"])
    if indices is None:
        return "not on our trajectory", None
    name, row = indices
    value = row[claim.values["component"] - 1]
    text = f"{name}: PC1 {number(row[0])}, PC2 {number(row[1])}"
    return text, bool(abs(value - claim.values["value"]) <= 0.05)


def _hub_edges(claim: Claim, measures: dict[str, Any]) -> Side:
    values = hub_indices(measures, claim.values["component"])
    if not values:
        return "no such edge on our trajectory", None
    text = f"{number(min(values))} to {number(max(values))} ({len(values)} edges)"
    low, high = claim.values["low"], claim.values["high"]
    return text, bool(min(values) >= low - 0.05 and max(values) <= high + 0.05)


def _modes(claim: Claim, measures: dict[str, Any]) -> Side:
    steps = measures["bimodal"]
    if steps is None:
        return "–", None
    late = [step for step in steps if step != measures["steps"][0]]
    return ", ".join(steps) if steps else "at no step", bool(late)


def _theorem_a(claim: Claim, measures: dict[str, Any]) -> Side:
    figures = measures["theorem_a"]
    if not figures or not figures["signal"]:
        return "no variance", None
    size = paper_ensemble_size(
        figures["n_terms"],
        noise_variance=figures["noise"],
        signal_variance=figures["signal"],
        n_features=figures["n_inputs"],
        n_actions=max(measures["n_possible"]),
    )
    return number(size), size <= 1.2 * claim.values["value"]


_PER_SOURCE: Mapping[str, Callable[[Claim, dict[str, Any]], Side]] = {
    "near": _near,
    "at_least": _at_least,
    "at_most": _at_most,
    "beside": _beside,
    "range": _range,
    "ends": _ends,
    "each": _each,
    "lowest": _lowest,
    "highest": _highest,
    "greater": _greater,
    "shift": _shift,
    "gain": _gain,
    "share": _share,
    "equal": _equal,
    "edge": _edge,
    "hub_edges": _hub_edges,
    "modes": _modes,
    "theorem_a": _theorem_a,
}


# ------------------------------------------------------ rules on everything


def _incomparable(claim: Claim, found: Found) -> Answer:
    return Answer(INCOMPARABLE, {}, claim.why)


def _static(claim: Claim, found: Found) -> Answer:
    word = claim.values["found"]
    agrees = word in (AGREES, SAME)
    return Answer(word, {OURS: (claim.values["ours"], agrees)}, claim.why)


def _theory(claim: Claim, found: Found) -> Answer:
    from math import comb

    n_inputs, degree, wanted = claim.values["values"]
    ours = comb(n_inputs + degree, degree)
    ours += claim.values["measure"] == "terms_and_one"
    agrees = ours == wanted
    word = AGREES if agrees else DOES_NOT
    return Answer(word, {OURS: (str(ours), agrees)}, claim.why)


def _settings(claim: Claim, found: Found) -> Answer:
    """Compare the paper's settings with those of our preset ``paper``."""
    preset = TASKS[claim.task or ""].presets["paper"]
    return _same(claim, claim.values["settings"], preset, preset.training)


def _proxy(claim: Claim, found: Found) -> Answer:
    proxy = TASKS[claim.task or ""].presets["paper"].proxy
    return _same(claim, claim.values["settings"], proxy)


def _same(claim: Claim, wanted: Mapping[str, Any], *places: Any) -> Answer:
    ours = {}
    for name in wanted:
        if name == "degree":
            ours[name] = places[0].degrees[0]
            continue
        owner = next(place for place in places if hasattr(place, name))
        value = getattr(owner, name)
        ours[name] = list(value) if isinstance(value, tuple) else value
    differ = [name for name in wanted if ours[name] != wanted[name]]
    text = ", ".join(f"{name} {ours[name]}" for name in differ or wanted)
    word = DIFFERS if differ else SAME
    return Answer(word, {OURS: (text, not differ)}, claim.why)


def _architectures(claim: Claim, found: Found) -> Answer:
    wanted = {
        "grid": (64, 400, 50, 100, 5),
        "continuous-grid": (64, 400, 50, 100, 5),
        "symbolic-regression": (64, 500, 100, 50, 5),
        "llm-arithmetic": (64, 100, 30, 50, 5),
        "buchwald-hartwig": (64, 3000, 50, 100, 3),
        "sachs": (128, 3000, 30, 50, 5),
        "molecules": (64, 2000, 30, 50, 5),
    }
    differ = [task for task, row in wanted.items() if architecture(task) != row]
    text = f"{len(wanted) - len(differ)} of {len(wanted)} rows"
    word = DIFFERS if differ else SAME
    return Answer(word, {OURS: (text, not differ)}, ", ".join(differ))


def architecture(task: str) -> tuple[int, int, int, int, int]:
    """Return width, iterations, members to fit and to test, and degree of a task."""
    preset = TASKS[task].presets["paper"]
    return (
        preset.training.hidden[0],
        preset.training.n_iterations,
        preset.n_train,
        preset.n_test,
        preset.degrees[0],
    )


def _bh_data(claim: Claim, found: Found) -> Answer:
    widths = found["buchwald-hartwig-paper"]["sources"]["exact"]["widths"]
    same = widths == [4, 3, 16, 24]
    text = "4,599 rows; catalysts, bases, halides, additives: "
    text += ", ".join(map(str, widths))
    text += " (16 and 24 count the wells without a halide and without an additive)"
    return Answer(SAME if same else DIFFERS, {OURS: (text, same)})


def _mean_coverages(
    found: Found, tasks: Sequence[str], source: str
) -> dict[str, float]:
    """Return the mean coverage of 95 % intervals of the tasks that there are."""
    coverages = {}
    for task in tasks:
        measures = _measures(found, task, "paper", source)
        if measures is not None:
            coverages[task] = VALUES["mean_coverage95"](measures, {}) or 0.0
    return coverages


def _coverage_alike(claim: Claim, found: Found) -> Answer:
    sides: dict[str, Side] = {}
    for source in ("exact", "trained"):
        known = _mean_coverages(found, claim.values["tasks"], source)
        if len(known) == len(claim.values["tasks"]):
            text = ", ".join(f"{task} {number(value)}" for task, value in known.items())
            spread = max(known.values()) - min(known.values())
            sides[f"{source}, paper"] = text, spread <= claim.values["within"]
    return judged(claim, sides, found)


def _speedups(claim: Claim, found: Found) -> Answer:
    """Show how many times training takes the surrogate's time, over all tasks."""
    sides: dict[str, Side] = {}
    for source, settings in COLUMNS:
        measures = [_measures(found, task, settings, source) for task in TASKS]
        ratios = [VALUES["speedup"](m, {}) for m in measures if m is not None]
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            text = f"{number(min(known))} to {number(max(known))} ({len(known)} tasks)"
            sides[f"{source}, {settings}"] = text, None
    return Answer(INCOMPARABLE, sides, claim.why)


_WHOLE: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "incomparable": _incomparable,
    "static": _static,
    "theory": _theory,
    "settings": _settings,
    "proxy": _proxy,
    "architectures": _architectures,
    "data": _bh_data,
    "coverage_alike": _coverage_alike,
    "speedups": _speedups,
    **STUDY_RULES,
}

#: Every rule that a claim may name.
RULES = frozenset({*_WHOLE, *_PER_SOURCE})
