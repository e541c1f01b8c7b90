"""How a claim is compared: a rule takes the claim and what was found, and answers.

Exact and trained policies under the paper's settings are compared with the paper; the
word of a row is about the trained ones, which the paper has, and about the exact ones
where nothing was trained. Policies of the preset ``default`` stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.claim_list import Claim
from gflownet_envs.experiments.paper.claims.values import (
    LISTS,
    VALUES,
    edge_index,
    hub_indices,
    is_missing,
)
from gflownet_envs.experiments.tasks import TASKS
from skpce.sample_size import paper_ensemble_size

#: Figures that differ by less than this, relatively, agree.
TOLERANCE = 0.2

AGREES, DOES_NOT, INCOMPARABLE = "agrees", "does not", "cannot be compared"
SAME, DIFFERS = "same", "differs"

Found = Mapping[str, Any]  # pieces by name
Side = tuple[str, bool | None]  # our figure, and whether it agrees


@dataclass(frozen=True)
class Answer:
    """What we have beside one claim.

    Attributes
    ----------
    word : str
        One of the five words of this module.
    sides : dict of str to (str, bool or None)
        Our figure by column, ``"exact, paper"`` for example.
    why : str
    """

    word: str
    sides: dict[str, Side] = field(default_factory=dict)
    why: str = ""


#: The columns of the page: kind of policies, settings.
COLUMNS = (
    ("exact", "paper"),
    ("trained", "paper"),
    ("exact", "default"),
    ("trained", "default"),
)


def answer(claim: Claim, found: Found) -> Answer:
    """Answer one claim from the pieces."""
    if claim.rule in _WHOLE:
        return _WHOLE[claim.rule](claim, found)
    sides: dict[str, Side] = {}
    for source, settings in COLUMNS:
        measures = _measures(found, claim.task or "", settings, source)
        if measures is not None:
            sides[f"{source}, {settings}"] = _PER_SOURCE[claim.rule](claim, measures)
    return _judged(claim, sides, found)


def _measures(
    found: Found, task: str, settings: str, source: str
) -> dict[str, Any] | None:
    """Return the measures of one data set, with the record of its system."""
    piece = found.get(f"{task}-{settings}")
    if piece is None or source not in piece["sources"]:
        return None
    return piece["sources"][source] | {"record": piece["record"], "source": source}


def _judged(claim: Claim, sides: dict[str, Side], found: Found) -> Answer:
    """Return the word: about trained policies with the paper's settings, else exact."""
    why = claim.why
    piece = found.get(f"{claim.task}-paper")
    reduced = "" if piece is None else piece["record"].get("reduced", "")
    judged = ["trained, paper", "exact, paper"]
    if "iterations" in reduced:  # trained for less long than the paper's
        judged.reverse()
    for column in judged:
        agrees = sides.get(column, ("", None))[1]
        if agrees is not None:
            word = AGREES if agrees else DOES_NOT
            return Answer(word, sides, why)
    texts = [text for text, _ in sides.values() if text]
    return Answer(INCOMPARABLE, sides, why or (texts[0] if texts else "not measured"))


# ------------------------------------------------------ rules on one data set


def _number(value: Any) -> str:
    """Return a number with three digits, as tables show it."""
    if is_missing(value):
        return "–"
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3g}'):g}"


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
    return _number(value), bool(agrees(value))


def _near(claim: Claim, measures: dict[str, Any]) -> Side:
    wanted = claim.values["value"]
    within = claim.values.get("within", TOLERANCE * abs(wanted))
    return _compared(claim, measures, lambda value: abs(value - wanted) <= within)


def _at_least(claim: Claim, measures: dict[str, Any]) -> Side:
    return _compared(claim, measures, lambda v: v >= claim.values["value"])


def _at_most(claim: Claim, measures: dict[str, Any]) -> Side:
    return _compared(claim, measures, lambda v: v <= claim.values["value"])


def _within_factor(claim: Claim, measures: dict[str, Any]) -> Side:
    wanted, factor = claim.values["value"], claim.values["factor"]
    return _compared(claim, measures, lambda v: wanted / factor <= v <= wanted * factor)


def _range(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    if not values:
        return "–", None
    low, high = claim.values["low"], claim.values["high"]
    inside = min(values) >= (1 - TOLERANCE) * low
    text = f"{_number(min(values))} to {_number(max(values))}"
    return text, bool(inside and max(values) <= (1 + TOLERANCE) * high)


def _ends(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    if not values:
        return "–", None
    low, high, within = (claim.values[key] for key in ("low", "high", "within"))
    text = f"{_number(min(values))} to {_number(max(values))}"
    agrees = abs(min(values) - low) <= within and abs(max(values) - high) <= within
    return text, bool(agrees)


def _each(claim: Claim, measures: dict[str, Any]) -> Side:
    values = _list(claim, measures)
    wanted, within = claim.values["values"], claim.values["within"]
    if len(values) != len(wanted):
        return "–", None
    gaps = np.abs(np.subtract(values, wanted))
    return " / ".join(map(_number, values)), bool((gaps <= within).all())


def _extreme(claim: Claim, measures: dict[str, Any], pick: Any) -> Side:
    values = VALUES_OF_STEPS[claim.values["measure"]](measures)
    known = {s: v for s, v in zip(measures["steps"], values, strict=True) if v}
    if claim.values["step"] not in known:
        return "no such step", None
    text = ", ".join(f"{step} {_number(value)}" for step, value in known.items())
    return text, pick(known, key=known.__getitem__) == claim.values["step"]


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
    text = f"{one} {_number(values[one])}, {other} {_number(values[other])}"
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
        f"{early} {_number(before[0])} and {_number(before[1])}, "
        f"{late} {_number(after[0])} and {_number(after[1])}"
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
    text = f"{name}: PC1 {_number(row[0])}, PC2 {_number(row[1])}"
    return text, bool(abs(value - claim.values["value"]) <= 0.05)


def _hub_edges(claim: Claim, measures: dict[str, Any]) -> Side:
    values = hub_indices(measures, claim.values["component"])
    if not values:
        return "no such edge on our trajectory", None
    text = f"{_number(min(values))} to {_number(max(values))} ({len(values)} edges)"
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
    return f"{size:,}", size <= 1.2 * claim.values["value"]


_PER_SOURCE: Mapping[str, Callable[[Claim, dict[str, Any]], Side]] = {
    "near": _near,
    "at_least": _at_least,
    "at_most": _at_most,
    "within_factor": _within_factor,
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
    return Answer(word, {"exact, paper": (claim.values["ours"], agrees)}, claim.why)


def _theory(claim: Claim, found: Found) -> Answer:
    from math import comb

    n_inputs, degree, wanted = claim.values["values"]
    ours = comb(n_inputs + degree, degree)
    ours += claim.values["measure"] == "terms_and_one"
    agrees = ours == wanted
    word = AGREES if agrees else DOES_NOT
    return Answer(word, {"exact, paper": (str(ours), agrees)}, claim.why)


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
    return Answer(word, {"exact, paper": (text, not differ)}, claim.why)


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
    return Answer(word, {"exact, paper": (text, not differ)}, ", ".join(differ))


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
    return Answer(SAME if same else DIFFERS, {"exact, paper": (text, same)})


def _by_source(
    claim: Claim, piece: Mapping[str, Any], side: Callable[[Any], Side], found: Found
) -> Answer:
    sides = {f"{source}, paper": side(rows) for source, rows in piece.items()}
    return _judged(claim, sides, found)


def _surrogate(claim: Claim, found: Found) -> Answer:
    method, wanted = claim.values["method"], claim.values["value"]

    def side(rows: Any) -> Side:
        value = rows[method][claim.values["measure"]]
        text = f"{_number(value)} (mean policy {_number(rows['mean']['mae'])})"
        return text, bool(abs(value - wanted) <= TOLERANCE * wanted)

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_order(claim: Claim, found: Found) -> Answer:
    methods = claim.values["methods"]

    def side(rows: Any) -> Side:
        errors = {name: rows[name]["mae"] for name in (*methods, "mean")}
        order = sorted(errors, key=errors.__getitem__)
        text = " < ".join(f"{name} {_number(errors[name])}" for name in order)
        return text, [name for name in order if name != "mean"] == list(methods)

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_times(claim: Claim, found: Found) -> Answer:
    key, methods = claim.values["measure"], claim.values["methods"]

    def side(rows: Any) -> Side:
        ours = [rows[method][key] for method in methods]
        ratios = np.divide(ours, claim.values["values"])
        text = ", ".join(map(_number, ours))
        return text, bool(((ratios <= 3.0) & (ratios >= 1 / 3)).all())

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_ratio(claim: Claim, found: Found) -> Answer:
    key, (one, other) = claim.values["measure"], claim.values["methods"]

    def side(rows: Any) -> Side:
        ratio = rows[one][key] / max(rows[other][key], 1e-9)
        return _number(ratio), bool(ratio >= claim.values["value"])

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _embedding(claim: Claim, found: Found) -> Answer:
    method, key = claim.values["method"], claim.values["measure"]
    wanted = claim.values["value"]

    def side(rows: Any) -> Side:
        row = rows[method]
        if key == "gaussian":
            is_normal = row["shapiro_p"] > 0.05
            text = f"{'yes' if is_normal else 'no'} (smallest p {row['shapiro_p']:.2g}"
            text += f"; other members {row['shapiro_p_new']:.2g})"
            return text, is_normal == (wanted == "yes")
        value = row[key]
        other = row.get(f"{key}_new")
        text = _number(value)
        text += "" if other is None else f" (other members {_number(other)})"
        return text, bool(abs(value - wanted) <= claim.values["within"])

    return _by_source(claim, found["embeddings"], side, found)


def _embedding_best(claim: Claim, found: Found) -> Answer:
    method = claim.values["method"]

    def side(rows: Any) -> Side:
        q2 = {name: row["q2"] for name, row in rows.items() if name != "random"}
        others = max(value for name, value in q2.items() if name != method)
        text = ", ".join(f"{name} {_number(value)}" for name, value in q2.items())
        return text, bool(q2[method] >= others + claim.values["within"])

    return _by_source(claim, found["embeddings"], side, found)


def _ablation(claim: Claim, found: Found) -> Answer:
    return _by_source(
        claim, found["ablation"], _ABLATIONS[claim.values["measure"]], found
    )


def _row(curve: list[dict[str, Any]], at: int) -> dict[str, Any] | None:
    return next((row for row in curve if row["at"] == at), None)


def _fewer_members(rows: Any) -> Side:
    curve = rows["members"]
    few = [row for row in curve if row["at"] < row["n_terms"]]
    many = [row for row in curve if row["at"] > row["n_terms"]]
    if not few or not many:
        return "sizes on one side of the number of terms only", None
    gaps = [
        float(np.mean([abs(row["coverage_paper"] - 0.95) for row in side]))
        for side in (few, many)
    ]
    text = f"distance from 95 %: {_number(gaps[0])} below, {_number(gaps[1])} above"
    return text, gaps[0] > gaps[1] + 0.02


def _sixty(rows: Any) -> Side:
    row = _row(rows["members"], 60)
    if row is None:
        return "fewer than 60 members to fit", None
    text = f"{_number(row['mae_paper'])}, process {_number(row['mae_gp'])}"
    return text, row["mae_paper"] <= 1.2 * row["mae_gp"]


def _high_degree(rows: Any) -> Side:
    low, high = (_row(rows["degrees"], degree) or {} for degree in (1, 5))
    text = f"degree 1 {_number(low['mae_paper'])}, 5 {_number(high['mae_paper'])}"
    return text, high["mae_paper"] > low["mae_paper"]


def _correlation(rows: Any) -> Side:
    change = rows["correlation"]["change"]
    return _number(change), None if change is None else change > 0.1


def _twenty(rows: Any) -> Side:
    few, many = _row(rows["members"], 20), _row(rows["members"], 50)
    if few is None or many is None:
        return "fewer than 50 members to fit", None
    text = f"20: {_number(few['mae_paper'])}, 50: {_number(many['mae_paper'])}"
    return text, few["mae_paper"] <= 1.1 * many["mae_paper"]


def _degree_five(rows: Any) -> Side:
    errors = {row["at"]: row["mae_paper"] for row in rows["degrees"]}
    best = min(errors, key=errors.__getitem__)
    text = f"degree 5 {_number(errors[5])}, best {best}: {_number(errors[best])}"
    return text, errors[5] <= 1.1 * errors[best]


def _two_components(rows: Any) -> Side:
    row = _row(rows["components"], 2)
    if row is None:
        return "–", None
    return _number(row["explained"]), row["explained"] >= 0.5


_ABLATIONS: Mapping[str, Callable[[Any], Side]] = {
    "fewer_members_than_terms": _fewer_members,
    "sixty_members": _sixty,
    "high_degree_overfits": _high_degree,
    "correlation_corrupts": _correlation,
    "twenty_members": _twenty,
    "degree_five": _degree_five,
    "two_components": _two_components,
}

_WHOLE: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "incomparable": _incomparable,
    "static": _static,
    "theory": _theory,
    "settings": _settings,
    "proxy": _proxy,
    "architectures": _architectures,
    "data": _bh_data,
    "surrogate": _surrogate,
    "surrogate_order": _surrogate_order,
    "surrogate_times": _surrogate_times,
    "surrogate_ratio": _surrogate_ratio,
    "embedding": _embedding,
    "embedding_best": _embedding_best,
    "ablation": _ablation,
}

#: Every rule that a claim may name.
RULES = frozenset({*_WHOLE, *_PER_SOURCE})
