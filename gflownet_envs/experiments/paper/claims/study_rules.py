"""Rules on the studies beside the tasks: surrogates, embeddings, ablations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.answers import (
    Answer,
    Found,
    Seen,
    judged,
    over_draws,
    tolerance,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim

#: The piece that ``python -m benchmarks.paper.artefacts_page`` writes.
ARTEFACTS = "artefacts"

Rows = Mapping[str, Any]  # of one kind of policies, in one draw
Curve = list[dict[str, Any]]  # of an ablation, in one draw


def _draws(columns: Any) -> Iterator[Any]:
    """Yield the figures draw by draw; they are the lists of numbers inside."""
    for number in count():
        try:
            yield _in_draw(columns, number)
        except IndexError:
            return


def _in_draw(columns: Any, number: int) -> Any:
    if isinstance(columns, Mapping):
        return {key: _in_draw(value, number) for key, value in columns.items()}
    if isinstance(columns, list) and isinstance(columns[0], Mapping):
        return [_in_draw(row, number) for row in columns]
    return columns[number] if isinstance(columns, list) else columns


def _repetitions(claim: Claim, found: Found) -> Answer:
    """Look at the repetitions of a study of artefacts, under each of its readings."""
    words = claim.values["words"]
    sides = {
        reading: over_draws(
            [
                Seen(tuple(zip(words, figures, strict=True)), agrees)
                for figures, agrees in rows
            ]
        )
        for reading, rows in found[ARTEFACTS][claim.values["measure"]].items()
    }
    first, *others = sides
    readings = {name: sides[name] for name in others}
    return judged(claim, {"exact": sides[first]}, readings=readings)


def _surrogate(claim: Claim, rows: Rows, blind: str = "") -> Seen:
    key, wanted = claim.values["measure"], claim.values["value"]
    value = rows[blind or claim.values["method"]][key]
    figures = (("{}", value), ("mean policy {}", rows["mean"][key]))
    return Seen(figures, bool(abs(value - wanted) <= tolerance(wanted)))


def _surrogate_order(claim: Claim, rows: Rows) -> Seen:
    methods = claim.values["methods"]
    errors = {name: rows[name]["mae"] for name in methods}
    figures = tuple((f"{name} {{}}", rows[name]["mae"]) for name in (*methods, "mean"))
    return Seen(figures, sorted(errors, key=errors.__getitem__) == list(methods))


def _surrogate_times(claim: Claim, rows: Rows) -> Seen:
    """Show ours without a judgement: the paper's were taken on another machine."""
    key = claim.values["measure"]
    return Seen(tuple(("{}", rows[method][key]) for method in claim.values["methods"]))


def _surrogate_ratio(claim: Claim, rows: Rows) -> Seen:
    one, other = (rows[m][claim.values["measure"]] for m in claim.values["methods"])
    if one is None:  # a draw that was not timed
        return Seen(text="–")
    ratio = one / max(other, 1e-9)
    return Seen((("{}", ratio),), bool(ratio >= claim.values["value"]))


def _embedding(claim: Claim, rows: Rows, blind: str = "") -> Seen:
    key, wanted = claim.values["measure"], claim.values["value"]
    row = rows[blind or claim.values["method"]]
    name = "shapiro_p" if key == "gaussian" else key
    words = "smallest p {}" if key == "gaussian" else "{}"
    figures = [(words, row[name])]
    if f"{name}_new" in row:
        figures.append(("other members {}", row[f"{name}_new"]))
    if key == "gaussian":
        agrees = (row[name] > 0.05) == (wanted == "yes")
    elif row[name] is None:
        return Seen(text="–")
    else:
        agrees = abs(row[name] - wanted) <= tolerance(wanted, claim.values["within"])
    return Seen(tuple(figures), bool(agrees))


def _embedding_best(claim: Claim, rows: Rows) -> Seen:
    method = claim.values["method"]
    q2 = {name: row["q2"] for name, row in rows.items() if name != "random"}
    others = max(value for name, value in q2.items() if name != method)
    figures = tuple((f"{name} {{}}", value) for name, value in q2.items())
    return Seen(figures, bool(q2[method] >= others + claim.values["within"]))


def _embedding_least(claim: Claim, rows: Rows, blind: str = "") -> Seen:
    key, least = claim.values["measure"], claim.values["value"]
    if blind:
        value = rows[blind][key]
        return Seen((("{}", value),), bool(value >= least))
    figures = tuple((f"{name} {{}}", row[key]) for name, row in rows.items())
    known = [row[key] for name, row in rows.items() if name != "random"]
    return Seen(figures, bool(min(known) >= least))


def _curve(claim: Claim, curve: Curve, blind: str = "") -> Seen:
    """Ask whether the first figure of a curve is below so many times the second one.

    The others stand beside. A figure is one of a row, or the smallest of all rows.
    """
    found = []
    for words, at, key in claim.values["figures"]:
        known = [row for row in curve if at in ("best", row["at"])]
        if not known:
            return Seen(text=claim.values["missing"])
        key = blind if key == "mae_paper" and blind else key
        found.append((words, min(row[key] for row in known)))
    (_, first), (_, second), *_ = found
    return Seen(tuple(found), bool(first < claim.values["times"] * second))


def _two_components(claim: Claim, curve: Curve) -> Seen:
    share = next(row["explained"] for row in curve if row["at"] == 2)
    return Seen((("{}", share),), share >= 0.5)


def _fewer_members(claim: Claim, curve: Curve) -> Seen:
    few = [row for row in curve if row["at"] < row["n_terms"]]
    many = [row for row in curve if row["at"] > row["n_terms"]]
    if not few or not many:
        return Seen(text="sizes on one side of the number of terms only")
    below, above = (
        float(np.mean([abs(row["coverage_paper"] - 0.95) for row in side]))
        for side in (few, many)
    )
    figures = (("distance from 95 %: {} below", below), ("{} above", above))
    return Seen(figures, below > above + 0.02)


def _correlation(claim: Claim, rows: Rows, key: str = "change") -> Seen:
    change = rows[key]
    return Seen((("{}", change),), None if change is None else change > 0.1)


#: Of each rule its piece and the curve of an ablation, how it looks at a draw, and the
#: figure of what knows nothing of the rewards, if a claim is compared with that.
_STUDIES: Mapping[str, tuple[str, str, Callable[..., Seen], str]] = {
    "surrogate": ("surrogates-{task}", "", _surrogate, "mean"),
    "surrogate_order": ("surrogates-{task}", "", _surrogate_order, ""),
    "surrogate_times": ("surrogates-{task}", "", _surrogate_times, ""),
    "surrogate_ratio": ("surrogates-{task}", "", _surrogate_ratio, ""),
    "embedding": ("embeddings", "", _embedding, "random"),
    "embedding_best": ("embeddings", "", _embedding_best, ""),
    "embedding_least": ("embeddings", "", _embedding_least, "random"),
    "fewer_members_than_terms": ("ablation", "members", _fewer_members, ""),
    "members": ("ablation", "members", _curve, "mae_mean"),
    "degrees": ("ablation", "degrees", _curve, "mae_mean"),
    "two_components": ("ablation", "components", _two_components, ""),
    "correlation_corrupts": ("ablation", "correlation", _correlation, "change_random"),
}


def _study(claim: Claim, found: Found) -> Answer:
    """Look at every draw of each kind of policies, and at what knows nothing."""
    piece, curve, see, blind = _STUDIES[claim.rule]
    if see is _embedding and claim.values["measure"] != "coverage":
        blind = ""  # what knows nothing has no other figure
    sides, control = {}, {}
    for source, columns in found[piece.format(task=claim.task)].items():
        draws = list(_draws(columns[curve] if curve else columns))
        sides[source] = over_draws([see(claim, one) for one in draws])
        if blind:
            blinded = [see(claim, one, blind) for one in draws]
            control[source] = over_draws(blinded)
    return judged(claim, sides, control)


#: The piece that each rule looks at.
STUDY_PIECES: Mapping[str, str] = {
    "repetitions": ARTEFACTS,
    **{rule: piece for rule, (piece, *_) in _STUDIES.items()},
}
#: The rules by the names that claims use.
STUDY_RULES: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "repetitions": _repetitions,
    **dict.fromkeys(_STUDIES, _study),
}
