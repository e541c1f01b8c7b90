"""Rules on the studies beside the tasks: surrogates, embeddings, ablations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.answers import (
    TOLERANCE,
    Answer,
    Found,
    Side,
    judged,
    number,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim


def _by_source(
    claim: Claim, piece: Mapping[str, Any], side: Callable[[Any], Side], found: Found
) -> Answer:
    sides = {f"{source}, paper": side(rows) for source, rows in piece.items()}
    return judged(claim, sides, found)


def _surrogate(claim: Claim, found: Found) -> Answer:
    method, wanted = claim.values["method"], claim.values["value"]

    def side(rows: Any) -> Side:
        value = rows[method][claim.values["measure"]]
        text = f"{number(value)} (mean policy {number(rows['mean']['mae'])})"
        return text, bool(abs(value - wanted) <= TOLERANCE * wanted)

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_order(claim: Claim, found: Found) -> Answer:
    methods = claim.values["methods"]

    def side(rows: Any) -> Side:
        errors = {name: rows[name]["mae"] for name in (*methods, "mean")}
        order = sorted(errors, key=errors.__getitem__)
        text = " < ".join(f"{name} {number(errors[name])}" for name in order)
        return text, [name for name in order if name != "mean"] == list(methods)

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_times(claim: Claim, found: Found) -> Answer:
    """Show ours without a judgement: the paper's were taken on another machine."""
    key, methods = claim.values["measure"], claim.values["methods"]

    def side(rows: Any) -> Side:
        return ", ".join(number(rows[method][key]) for method in methods), None

    return _by_source(claim, found[f"surrogates-{claim.task}"], side, found)


def _surrogate_ratio(claim: Claim, found: Found) -> Answer:
    key, (one, other) = claim.values["measure"], claim.values["methods"]

    def side(rows: Any) -> Side:
        ratio = rows[one][key] / max(rows[other][key], 1e-9)
        return number(ratio), bool(ratio >= claim.values["value"])

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
        text = number(value)
        text += "" if other is None else f" (other members {number(other)})"
        return text, bool(abs(value - wanted) <= claim.values["within"])

    return _by_source(claim, found["embeddings"], side, found)


def _embedding_best(claim: Claim, found: Found) -> Answer:
    method = claim.values["method"]

    def side(rows: Any) -> Side:
        q2 = {name: row["q2"] for name, row in rows.items() if name != "random"}
        others = max(value for name, value in q2.items() if name != method)
        text = ", ".join(f"{name} {number(value)}" for name, value in q2.items())
        return text, bool(q2[method] >= others + claim.values["within"])

    return _by_source(claim, found["embeddings"], side, found)


def _embedding_least(claim: Claim, found: Found) -> Answer:
    key = claim.values["measure"]

    def side(rows: Any) -> Side:
        text = ", ".join(f"{name} {number(row[key])}" for name, row in rows.items())
        least = min(row[key] for name, row in rows.items() if name != "random")
        return text, bool(least >= claim.values["value"])

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
    text = f"distance from 95 %: {number(gaps[0])} below, {number(gaps[1])} above"
    return text, gaps[0] > gaps[1] + 0.02


def _sixty(rows: Any) -> Side:
    row = _row(rows["members"], 60)
    if row is None:
        return "fewer than 60 members to fit", None
    text = f"{number(row['mae_paper'])}, process {number(row['mae_gp'])}"
    return text, row["mae_paper"] <= 1.2 * row["mae_gp"]


def _high_degree(rows: Any) -> Side:
    low, high = (_row(rows["degrees"], degree) or {} for degree in (1, 5))
    text = f"degree 1 {number(low['mae_paper'])}, 5 {number(high['mae_paper'])}"
    return text, high["mae_paper"] > low["mae_paper"]


def _correlation(rows: Any) -> Side:
    change = rows["correlation"]["change"]
    return number(change), None if change is None else change > 0.1


def _twenty(rows: Any) -> Side:
    few, many = _row(rows["members"], 20), _row(rows["members"], 50)
    if few is None or many is None:
        return "fewer than 50 members to fit", None
    text = f"20: {number(few['mae_paper'])}, 50: {number(many['mae_paper'])}"
    return text, few["mae_paper"] <= 1.1 * many["mae_paper"]


def _degree_five(rows: Any) -> Side:
    errors = {row["at"]: row["mae_paper"] for row in rows["degrees"]}
    best = min(errors, key=errors.__getitem__)
    text = f"degree 5 {number(errors[5])}, best {best}: {number(errors[best])}"
    return text, errors[5] <= 1.1 * errors[best]


def _two_components(rows: Any) -> Side:
    row = _row(rows["components"], 2)
    if row is None:
        return "–", None
    return number(row["explained"]), row["explained"] >= 0.5


_ABLATIONS: Mapping[str, Callable[[Any], Side]] = {
    "fewer_members_than_terms": _fewer_members,
    "sixty_members": _sixty,
    "high_degree_overfits": _high_degree,
    "correlation_corrupts": _correlation,
    "twenty_members": _twenty,
    "degree_five": _degree_five,
    "two_components": _two_components,
}

#: The rules by the names that claims use.
STUDY_RULES: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "surrogate": _surrogate,
    "surrogate_order": _surrogate_order,
    "surrogate_times": _surrogate_times,
    "surrogate_ratio": _surrogate_ratio,
    "embedding": _embedding,
    "embedding_best": _embedding_best,
    "embedding_least": _embedding_least,
    "ablation": _ablation,
}
