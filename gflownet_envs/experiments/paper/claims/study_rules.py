"""Rules on the studies beside the tasks: surrogates, embeddings, ablations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gflownet_envs.experiments.paper.claims.answers import (
    Answer,
    Found,
    Seen,
    Side,
    judged,
    over_draws,
    tolerance,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim

#: The piece that ``python -m benchmarks.paper.artefacts_page`` writes.
ARTEFACTS = "artefacts"

Rows = Mapping[str, Any]  # of one kind of policies, in one draw
See = Callable[[Rows], Seen]


def _by_source(
    claim: Claim, piece: Mapping[str, Any], see: See, blind: See | None = None
) -> Answer:
    """Look at every draw of each kind of policies, and at what knows nothing."""

    def sides(look: See) -> dict[str, Side]:
        return {
            source: over_draws([look(rows) for rows in _draws(columns)])
            for source, columns in piece.items()
        }

    return judged(claim, sides(see), None if blind is None else sides(blind))


def _draws(columns: Mapping[str, Any]) -> Iterable[Rows]:
    """Yield the figures draw by draw; they are the lists of numbers inside."""
    for number in range(_n_draws(columns)):
        yield _in_draw(columns, number)


def _n_draws(columns: Any) -> int:
    inner = list(columns.values()) if isinstance(columns, Mapping) else list(columns)
    for value in inner:
        if isinstance(value, list) and not isinstance(value[0], Mapping):
            return len(value)
        if isinstance(value, list | Mapping):
            return _n_draws(value)
    raise AssertionError("no figures")


def _in_draw(columns: Any, number: int) -> Any:
    if isinstance(columns, Mapping):
        return {key: _in_draw(value, number) for key, value in columns.items()}
    if isinstance(columns, list):
        if isinstance(columns[0], Mapping):
            return [_in_draw(row, number) for row in columns]
        return columns[number]
    return columns


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


def _surrogate(claim: Claim, found: Found) -> Answer:
    key, wanted = claim.values["measure"], claim.values["value"]

    def see(rows: Rows, method: str) -> Seen:
        value = rows[method][key]
        figures = (("{}", value), ("mean policy {}", rows["mean"][key]))
        return Seen(figures, bool(abs(value - wanted) <= tolerance(wanted)))

    return _by_source(
        claim,
        found[f"surrogates-{claim.task}"],
        lambda rows: see(rows, claim.values["method"]),
        lambda rows: see(rows, "mean"),
    )


def _surrogate_order(claim: Claim, found: Found) -> Answer:
    methods = claim.values["methods"]

    def see(rows: Rows) -> Seen:
        errors = {name: rows[name]["mae"] for name in methods}
        figures = tuple(
            (f"{name} {{}}", rows[name]["mae"]) for name in (*methods, "mean")
        )
        return Seen(figures, sorted(errors, key=errors.__getitem__) == list(methods))

    return _by_source(claim, found[f"surrogates-{claim.task}"], see)


def _surrogate_times(claim: Claim, found: Found) -> Answer:
    """Show ours without a judgement: the paper's were taken on another machine."""
    key, methods = claim.values["measure"], claim.values["methods"]

    def see(rows: Rows) -> Seen:
        return Seen(tuple(("{}", rows[method][key]) for method in methods))

    return _by_source(claim, found[f"surrogates-{claim.task}"], see)


def _surrogate_ratio(claim: Claim, found: Found) -> Answer:
    key, (one, other) = claim.values["measure"], claim.values["methods"]

    def see(rows: Rows) -> Seen:
        if rows[one][key] is None:  # a draw that was not timed
            return Seen(text="–")
        ratio = rows[one][key] / max(rows[other][key], 1e-9)
        return Seen((("{}", ratio),), bool(ratio >= claim.values["value"]))

    return _by_source(claim, found[f"surrogates-{claim.task}"], see)


def _embedding(claim: Claim, found: Found) -> Answer:
    key, wanted = claim.values["measure"], claim.values["value"]

    def see(rows: Rows, method: str) -> Seen:
        row = rows[method]
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
            gap = abs(row[name] - wanted)
            agrees = gap <= tolerance(wanted, claim.values["within"])
        return Seen(tuple(figures), bool(agrees))

    def blind(rows: Rows) -> Seen:
        return see(rows, "random")

    return _by_source(
        claim,
        found["embeddings"],
        lambda rows: see(rows, claim.values["method"]),
        blind if key == "coverage" else None,
    )


def _embedding_best(claim: Claim, found: Found) -> Answer:
    method = claim.values["method"]

    def see(rows: Rows) -> Seen:
        q2 = {name: row["q2"] for name, row in rows.items() if name != "random"}
        others = max(value for name, value in q2.items() if name != method)
        figures = tuple((f"{name} {{}}", value) for name, value in q2.items())
        return Seen(figures, bool(q2[method] >= others + claim.values["within"]))

    return _by_source(claim, found["embeddings"], see)


def _embedding_least(claim: Claim, found: Found) -> Answer:
    key, least = claim.values["measure"], claim.values["value"]

    def see(rows: Rows) -> Seen:
        figures = tuple((f"{name} {{}}", row[key]) for name, row in rows.items())
        known = [row[key] for name, row in rows.items() if name != "random"]
        return Seen(figures, bool(min(known) >= least))

    def blind(rows: Rows) -> Seen:
        value = rows["random"][key]
        return Seen((("{}", value),), bool(value >= least))

    return _by_source(claim, found["embeddings"], see, blind)


def _ablation(claim: Claim, found: Found) -> Answer:
    see = _ABLATIONS[claim.values["measure"]]
    key = _FIGURE_OF_CURVES.get(claim.values["measure"])
    is_injected = see is _correlation  # which has draws of its own
    piece = {
        source: {k: v for k, v in rows.items() if (k == "correlation") == is_injected}
        for source, rows in found["ablation"].items()
    }
    if key is None:
        return _by_source(claim, piece, see)
    blind = _BLIND[key]
    return _by_source(
        claim,
        piece,
        lambda rows: see(rows, key),
        lambda rows: see(rows, blind),
    )


def _row(curve: list[dict[str, Any]], at: int) -> dict[str, Any] | None:
    return next((row for row in curve if row["at"] == at), None)


def _fewer_members(rows: Rows) -> Seen:
    curve = rows["members"]
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


def _sixty(rows: Rows, key: str) -> Seen:
    row = _row(rows["members"], 60)
    if row is None:
        return Seen(text="fewer than 60 members to fit")
    figures = (("{}", row[key]), ("process {}", row["mae_gp"]))
    return Seen(figures, row[key] <= 1.2 * row["mae_gp"])


def _high_degree(rows: Rows, key: str) -> Seen:
    low, high = (_row(rows["degrees"], degree) or {} for degree in (1, 5))
    figures = (("degree 1 {}", low[key]), ("5 {}", high[key]))
    return Seen(figures, high[key] > low[key])


def _correlation(rows: Rows, key: str) -> Seen:
    change = rows["correlation"][key]
    return Seen((("{}", change),), None if change is None else change > 0.1)


def _twenty(rows: Rows, key: str) -> Seen:
    few, many = _row(rows["members"], 20), _row(rows["members"], 50)
    if few is None or many is None:
        return Seen(text="fewer than 50 members to fit")
    figures = (("20: {}", few[key]), ("50: {}", many[key]))
    return Seen(
        (*figures, ("mean policy {}", many["mae_mean"])),
        few[key] <= 1.1 * many[key],
    )


def _degree_five(rows: Rows, key: str) -> Seen:
    errors = {row["at"]: row[key] for row in rows["degrees"]}
    figures = (("degree 5 {}", errors[5]), ("best {}", min(errors.values())))
    return Seen(figures, errors[5] <= 1.1 * min(errors.values()))


def _two_components(rows: Rows) -> Seen:
    row = _row(rows["components"], 2)
    if row is None:
        return Seen(text="–")
    return Seen((("{}", row["explained"]),), row["explained"] >= 0.5)


_ABLATIONS: Mapping[str, Callable[..., Seen]] = {
    "fewer_members_than_terms": _fewer_members,
    "sixty_members": _sixty,
    "high_degree_overfits": _high_degree,
    "correlation_corrupts": _correlation,
    "twenty_members": _twenty,
    "degree_five": _degree_five,
    "two_components": _two_components,
}
# The figure of a rule that what knows nothing has too, and that of what knows nothing.
_FIGURE_OF_CURVES: Mapping[str, str] = {
    "sixty_members": "mae_paper",
    "high_degree_overfits": "mae_paper",
    "correlation_corrupts": "change",
    "twenty_members": "mae_paper",
    "degree_five": "mae_paper",
}
_BLIND: Mapping[str, str] = {"mae_paper": "mae_mean", "change": "change_random"}

#: The rules by the names that claims use.
STUDY_RULES: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "repetitions": _repetitions,
    "surrogate": _surrogate,
    "surrogate_order": _surrogate_order,
    "surrogate_times": _surrogate_times,
    "surrogate_ratio": _surrogate_ratio,
    "embedding": _embedding,
    "embedding_best": _embedding_best,
    "embedding_least": _embedding_least,
    "ablation": _ablation,
}
