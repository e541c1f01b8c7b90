"""How a claim is compared: a rule takes the claim and one draw, and says what it shows.

Exact and trained policies under the paper's settings are compared with the paper; the
word of a row is about the trained ones, which the paper has, and about the exact ones
where nothing was trained. Other readings of the settings stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import count
from math import comb
from operator import ge, le
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from gflownet_envs.datasets._sachs import CONSENSUS_EDGES
from gflownet_envs.experiments.analysis import step_intervals, theorem_a_size
from gflownet_envs.experiments.paper.claims.answers import (
    AGREES,
    COLUMNS,
    DIFFERS,
    DOES_NOT,
    INCOMPARABLE,
    INFORMATIVE,
    OURS,
    SAME,
    UNFINISHED,
    Answer,
    Claim,
    Found,
    Seen,
    Side,
    claim_list,
    is_missing,
    judged,
    number,
    over_draws,
    tolerance,
)
from gflownet_envs.experiments.paper.measures import measure
from gflownet_envs.experiments.paper.studies import embeddings
from gflownet_envs.experiments.paper.systems import FIRST, readings_of
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.experiments.tasks.grid import QUADRANTS
from gflownet_envs.experiments.tasks.sachs import MAX_EDGES
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import SHIFTS
from skpce import CompositionalPCESurrogate
from skpce._solvers.problem import PAPER_ALPHAS

Rule = Callable[[Claim, dict[str, Any]], Seen]


def answer(claim: Claim, found: Found) -> Answer:
    """Answer one claim from the pieces."""
    piece = _PIECES.get(claim.rule, "").format(task=claim.task)
    if piece and piece not in found:
        return Answer(INCOMPARABLE, {}, f"{UNFINISHED}: {piece}")
    if claim.rule not in _PER_DRAW:
        return _WHOLE.get(claim.rule, _study)(claim, found)
    rule = partial(_PER_DRAW[claim.rule], claim)
    task = claim.task or ""
    return judged(
        claim,
        _sides(rule, found, task, FIRST),
        _sides(rule, found, task, FIRST, part="control"),
        {
            reading: side
            for reading in readings_of(task)[1:]
            for side in list(_sides(rule, found, task, reading).values())[-1:]
        },
    )


def figures_beside(
    task: str, preset: Preset, datasets: Mapping[str, PolicyDataset], seed: int
) -> list[dict[str, str]]:
    """Return claims about a task, the paper's figures, and ours of the first draw.

    Seconds are left out: they differ between two runs.
    """
    claims = [
        claim
        for claim in claim_list().claims
        if claim.task == task
        and claim.rule in _PER_DRAW
        and claim.values.get("measure") not in SECONDS
    ]
    sources = {
        name: measure(dataset, preset, seed, draws=(0,), whole=False)
        for name, dataset in datasets.items()
        if claims
    }
    found = {f"{task}-{FIRST}": {"record": {}, "sources": sources}}
    return [
        {"claim": claim.text, "paper": claim.paper}
        | {name: side.text for name, side in answer(claim, found).sides.items()}
        for claim in claims
    ]


def _sides(
    rule: Callable[[dict[str, Any]], Seen],
    found: Found,
    task: str,
    reading: str,
    part: str = "draws",
) -> dict[str, Side]:
    """Return what each kind of policies shows over the draws; of random inputs too."""
    sides = {}
    for source in COLUMNS:
        try:
            seen = [rule(m) for m in draws_of(found, task, reading, source, part)]
        except KeyError:  # does not depend on the inputs
            assert part == "control"
            continue
        if seen:
            sides[source] = over_draws(seen)
    return sides


def draws_of(
    found: Found, task: str, reading: str, source: str, part: str = "draws"
) -> Iterator[dict[str, Any]]:
    """Yield the measures of one kind of policies draw by draw, with their record."""
    piece = found.get(f"{task}-{reading}")
    if piece is None or source not in piece["sources"]:
        return
    measures = piece["sources"][source]
    columns = measures.get(part, {})
    parts = ("draws", "control", "pictured")
    same = {k: v for k, v in measures.items() if k not in parts}
    same |= {"record": piece["record"], "source": source}
    for row in zip(*columns.values(), strict=True):
        yield same | dict(zip(columns, row, strict=True))


# ------------------------------------------------------ rules on one draw


def _compared(
    claim: Claim, measures: dict[str, Any], agrees: Callable[[float, float], bool]
) -> Seen:
    """Compare each figure with the paper's."""
    values = figures(measures, claim.values)
    wanted = claim.values.get("values") or [claim.values["value"]]
    if len(values) != len(wanted):
        return Seen(text="–")
    agree = all(agrees(v, w) for v, w in zip(values, wanted, strict=True))
    return Seen(tuple(("{}", value) for value in values), bool(agree))


def _near(claim: Claim, measures: dict[str, Any]) -> Seen:
    within = claim.values.get("within")
    return _compared(claim, measures, lambda v, w: abs(v - w) <= tolerance(w, within))


def _beside(claim: Claim, measures: dict[str, Any]) -> Seen:
    """Show ours without a judgement: the claim says why."""
    values = figures(measures, claim.values)
    if not values:
        return Seen(text="–")
    words = ["{}"] * len(values)
    if "unit" in claim.values:
        words[-1] += f" {claim.values['unit']}"
    return Seen(tuple(zip(words, values, strict=True)))


def _ends(claim: Claim, measures: dict[str, Any], *, inside: bool) -> Seen:
    """Compare the smallest and the largest figure, or that all lie between."""
    values = figures(measures, claim.values)
    if not values:
        return Seen(text=claim.values.get("missing", "–"))
    low, high = min(values), max(values)
    wanted = claim.values["low"], claim.values["high"]
    slack = [tolerance(end, claim.values.get("within")) for end in wanted]
    off = wanted[0] - low, high - wanted[1]
    if not inside:
        off = abs(off[0]), abs(off[1])
    shown = (("smallest {}", low), ("largest {}", high))
    return Seen(shown, bool(off[0] <= slack[0] and off[1] <= slack[1]))


def _extreme(claim: Claim, measures: dict[str, Any], pick: Any) -> Seen:
    name = claim.values["measure"]
    values = measures[name.removesuffix("_sum")]
    if name == "mean_first_sum":
        values = [np.nansum(np.array(row, float)) / len(row) for row in values]
    known = {s: v for s, v in zip(measures["steps"], values, strict=True) if v}
    named = claim.values["step"]  # one step, or any of some
    named = [named] if isinstance(named, str) else named
    among = claim.values.get("among", list(known))
    if not {*named, *among} <= set(known):
        return Seen(text="no such step")
    figures = tuple((f"{_spoken(step)} {{}}", known[step]) for step in among)
    return Seen(figures, pick(among, key=known.__getitem__) in named)


def _spoken(step: str) -> str:
    return step.replace("_", " ")


def _shift(claim: Claim, measures: dict[str, Any], *, relative: bool) -> Seen:
    """Ask whether the first input leads early, and the second one gains later.

    Total indices of the first and of the last step with a choice; the gain is that of
    the index of the second input, or of its share of both.
    """
    known = [
        (step, row)
        for step, row, n in zip(
            measures["steps"], measures["total"], measures["n_possible"], strict=True
        )
        if n > 1 and row[0] is not None and sum(row[:2]) > 0
    ]
    (early, before), (late, after) = known[0], known[-1]
    shown = (
        (f"{early}: {{}}", before[0]),
        ("{}", before[1]),
        (f"{late}: {{}}", after[0]),
        ("{}", after[1]),
    )
    if relative:
        gains = after[1] / sum(after[:2]) > before[1] / sum(before[:2])
    else:
        gains = after[1] > after[0]
    return Seen(shown, bool(before[0] > before[1] and gains))


def _share(claim: Claim, measures: dict[str, Any]) -> Seen:
    """Compare a count of pairs: within a fifth of it, or one pair."""
    places = list(range(len(measures["steps"])))
    if "step" in claim.values:
        places = [measures["steps"].index(claim.values["step"])]
    passed = sum(measures["ks_passed"][i] for i in places)
    pairs = sum(measures["ks_pairs"][i] for i in places)
    if not pairs:
        return Seen(text="none")
    wanted = claim.values["value"][0] / claim.values["value"][1] * pairs
    limit = max(1.0, tolerance(wanted, 0.0))
    figures = ((f"{{}} of {pairs}", passed),)
    return Seen(figures, bool(abs(passed - wanted) <= limit))


def _equal(claim: Claim, measures: dict[str, Any]) -> Seen:
    widths = measures["widths"]
    text = f"{len(widths)} × {widths[0]} = {sum(widths)}"
    return Seen(text=text, agrees=text == claim.values["value"])


def _edge(claim: Claim, measures: dict[str, Any]) -> Seen:
    """Compare an index where an edge is added, whichever way it points."""
    for name, nodes, row, _ in edges(measures):
        if nodes == set(claim.values["edge"]):
            value, wanted = row[claim.values["component"] - 1], claim.values["value"]
            figures = ((f"{name}: PC1 {{}}", row[0]), ("PC2 {}", row[1]))
            return Seen(figures, bool(abs(value - wanted) <= tolerance(wanted, 0.05)))
    return Seen(text="not on our trajectory")


def _modes(claim: Claim, measures: dict[str, Any]) -> Seen:
    if measures["bimodal"] is None:
        return Seen(text="–")
    late = sum(measures["bimodal"][1:])
    return Seen((("at {} later steps", late),), late > 0)


def _theorem_a(claim: Claim, measures: dict[str, Any]) -> Seen:
    figures = measures["theorem_a"]
    if not figures or not figures["signal"]:
        return Seen(text="no variance")
    size = theorem_a_size(
        figures["n_terms"],
        noise_variance=figures["noise"],
        signal_variance=figures["signal"],
        n_features=figures["n_inputs"],
        n_actions=max(measures["n_possible"]),
    )
    wanted = claim.values["value"]
    return Seen((("{}", size),), bool(abs(size - wanted) <= tolerance(wanted)))


_PER_DRAW: Mapping[str, Rule] = {
    "near": _near,
    "at_least": partial(_compared, agrees=ge),
    "at_most": partial(_compared, agrees=le),
    "beside": _beside,
    "range": partial(_ends, inside=True),
    "ends": partial(_ends, inside=False),
    "lowest": partial(_extreme, pick=min),
    "highest": partial(_extreme, pick=max),
    "shift": partial(_shift, relative=False),
    "gain": partial(_shift, relative=True),
    "share": _share,
    "equal": _equal,
    "edge": _edge,
    "modes": _modes,
    "theorem_a": _theorem_a,
}


Measures = dict[str, Any]  # of one data set in one draw, see `measures.measure`
Options = Mapping[str, Any]  # of the claim

#: Edges with a claim of their own, and the nodes whose other edges have one together.
_NAMED_EDGES = (("Raf", "Mek"), ("Mek", "Erk"), ("PKA", "P38"), ("PKA", "Erk"))
_HUBS = {"PKA", "PKC"}


def figures(measures: Measures, options: Options) -> list[float]:
    """Return the figures that a claim is about, without those that are missing."""
    found = FIGURES[options["measure"]](measures, options)
    listed = found if isinstance(found, list) else [found]
    return [float(value) for value in listed if not is_missing(value)]


def _mean(values: Iterable[Any]) -> float | None:
    known = [value for value in values if not is_missing(value)]
    return float(np.mean(known)) if known else None


def _of_steps(m: Measures, options: Options, key: str = "d_expansion") -> list[Any]:
    """Return a figure of the step of the claim, or of its steps."""
    wanted = options.get("steps", [options.get("step")])
    known = dict(zip(m["steps"], m[key], strict=True))
    return [known.get(step) for step in wanted]


def _d_ratio(m: Measures, options: Options) -> float | None:
    """Return D of a step over the mean of that of others."""
    (one,) = _of_steps(m, options)
    others = _mean(_of_steps(m, {"steps": options["others"]}))
    return one / others if one is not None and others else None


def _explained(m: Measures, options: Options) -> float | None:
    """Return the share of some components, all inputs by default."""
    first, last = options.get("components", (1, len(m["total"][0])))
    return sum(m["explained"][first - 1 : last]) if m["explained"] else None


def _training_seconds(m: Measures, options: Options) -> float | None:
    """Return the CPU-seconds of the held-out members' share of the training."""
    trained = m["record"]["cpu_seconds"].get("training")
    if not trained or m["source"] != "trained":
        return None
    return float(trained * m["n_test"] / (m["n_train"] + m["n_test"]))


def _surrogate_seconds(m: Measures, options: Options) -> float | None:
    fitted = m["fit_seconds"]  # None in a draw that was not timed
    return None if fitted is None else float(fitted + m["sample_seconds"])


def speedup(m: Measures, options: Options) -> float | None:
    """Return CPU-seconds to train the held-out members over those of the surrogate."""
    trained, seconds = _training_seconds(m, options), _surrogate_seconds(m, options)
    return trained and seconds and trained / seconds


def _rank_of_d(m: Measures, options: Options) -> float | None:
    known = [v for v, n in zip(m["d_expansion"], m["n_possible"], strict=True) if n > 1]
    return float(spearmanr(range(len(known)), known).statistic)


def edges(m: Measures) -> list[tuple[str, set[str], list[float], float]]:
    """Return name, nodes, total indices and D of the steps that add an edge."""
    rows = zip(m["trajectory"], m["total"], m["d_expansion"], strict=True)
    return [(a, {*a.split(" → ")}, row, d) for a, row, d in rows if " → " in a]


def _hub_indices(m: Measures, options: Options) -> list[Any]:
    """Return the indices of a component where other edges of the hubs are added."""
    named = [set(pair) for pair in _NAMED_EDGES]
    return [
        row[options["component"] - 1]
        for _, nodes, row, _ in edges(m)
        if nodes not in named and nodes & _HUBS
    ]


def mean_coverage95(m: Measures, options: Options) -> float | None:
    """Return the coverage of 95 % intervals, mean over the steps."""
    return _mean(m["coverage"][-1])


#: Figures that differ between two runs.
SECONDS: Mapping[str, Callable[[Measures, Options], Any]] = {
    "fit_seconds": lambda m, options: m["fit_seconds"],
    "sample_seconds": lambda m, options: m["sample_seconds"],
    "surrogate_seconds": _surrogate_seconds,
    "training_seconds": _training_seconds,
    "speedup": speedup,
}
#: A figure of a data set, or several of them.
FIGURES: Mapping[str, Callable[[Measures, Options], Any]] = {
    **SECONDS,
    "d_expansion": _of_steps,
    "total_variation": partial(_of_steps, key="total_variation"),
    "d_ratio": _d_ratio,
    "d_of_edges": lambda m, options: [d for *_, d in edges(m)],
    "rank_of_d": _rank_of_d,
    "mean_first_of_pc1": lambda m, options: _of_steps(m, options, "mean_first")[0][0],
    "hub_indices": _hub_indices,
    "sum_of_totals": lambda m, options: _mean(
        sum(row) for row in m["total"] if row[0] is not None and sum(row) > 0
    ),
    "coverage95": lambda m, options: _of_steps(
        m | {"last": m["coverage"][-1]}, options, "last"
    ),
    "coverage95_all": lambda m, options: m["coverage"][-1],
    "mean_coverage": lambda m, options: [_mean(row) for row in m["coverage"]],
    "mean_coverage95": mean_coverage95,
    "explained": _explained,
    "mean_q2": lambda m, options: _mean(m["q2"]),
    "max_rho": lambda m, options: m["max_rho"],
    "pc1_uniform": lambda m, options: m["pc1_uniform"],
    "ks_fraction": lambda m, options: sum(m["ks_passed"]) / max(1, sum(m["ks_pairs"])),
}


#: The piece that ``python -m benchmarks.paper.artefacts_page`` writes.
ARTEFACTS = "artefacts"

Rows = Mapping[str, Any]  # of one kind of policies, in one draw
Curve = list[dict[str, Any]]  # of an ablation, in one draw


def _draws(columns: Any) -> Iterator[Any]:
    """Yield the figures draw by draw; they are the lists of numbers inside."""
    for draw in count():
        try:
            yield _in_draw(columns, draw)
        except IndexError:
            return


def _in_draw(columns: Any, draw: int) -> Any:
    if isinstance(columns, Mapping):
        return {key: _in_draw(value, draw) for key, value in columns.items()}
    if isinstance(columns, list) and isinstance(columns[0], Mapping):
        return [_in_draw(row, draw) for row in columns]
    return columns[draw] if isinstance(columns, list) else columns


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


# ------------------------------------------------------ rules on everything


def _incomparable(claim: Claim, found: Found) -> Answer:
    return Answer(INCOMPARABLE, {}, claim.why)


def _ours(claim: Claim, text: str, word: str, why: str = "") -> Answer:
    """Return an answer that is about no policies."""
    kind = "" if claim.kind == "setting" else claim.kind
    kind = INFORMATIVE if kind == "finding" else kind
    return Answer(word, {OURS: Side(text, word)}, why or claim.why, kind)


def _shown(claim: Claim, found: Found) -> Answer:
    """Show what a command of the repository shows; the claim names it."""
    return _ours(claim, f"{claim.values['ours']} ({claim.values['command']})", DOES_NOT)


def _theory(claim: Claim, found: Found) -> Answer:
    n_inputs, degree, wanted = claim.values["values"]
    ours = comb(n_inputs + degree, degree)
    ours += claim.values["measure"] == "terms_and_one"
    return _ours(claim, str(ours), AGREES if ours == wanted else DOES_NOT)


def _settings(claim: Claim, found: Found) -> Answer:
    """Compare the paper's settings with ours number by number."""
    wanted = claim.values["settings"]
    ours = {name: setting(claim.task, name, found) for name in wanted}
    if None in ours.values():
        missing = next(name for name, value in ours.items() if value is None)
        return Answer(INCOMPARABLE, {}, f"{UNFINISHED}: {missing}")
    differ = [name for name in wanted if ours[name] != wanted[name]]
    text = ", ".join(f"{_spoken(name)} {_plain(ours[name])}" for name in ours)
    why = f"differ: {', '.join(_spoken(name) for name in differ)}" if differ else ""
    return _ours(claim, text, DIFFERS if differ else SAME, why)


def papers_settings(claim: Claim) -> str:
    """Return the paper's numbers, which the row compares one by one."""
    return ", ".join(
        f"{_spoken(name)} {_plain(value)}"
        for name, value in claim.values["settings"].items()
    )


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def setting(task: str | None, name: str, found: Found) -> Any:
    """Return our number of a setting; None where the piece that has it is missing.

    A name is a path from the preset ``paper``, or one of `_COUNTED`.
    """
    if name in _COUNTED:
        piece = found.get(f"{task}-{FIRST}")
        if piece is None:
            return None
        return _COUNTED[name](next(iter(piece["sources"].values())))
    if name in _CONSTANTS:
        return _CONSTANTS[name]()
    value: Any = TASKS[task or ""].presets["paper"]
    if name == "degree":
        return value.degrees[0]
    for part in name.split("."):
        value = getattr(value, part)
    return list(value) if isinstance(value, tuple) else value


#: Numbers of the systems themselves, from their measures.
_COUNTED: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "levels of the steps": lambda m: m["widths"],
    "steps": lambda m: len(m["widths"]),
    "choices": lambda m: sum(n > 1 for n in m["n_possible"]),
    "actions": lambda m: m["widths"][0],
    "inputs": lambda m: len(m["draws"]["total"][0][0]),
    "problems": lambda m: len(m["feature_sd"]),
    "proteins": lambda m: round((1 + np.sqrt(4 * m["widths"][0] - 3)) / 2),
}
#: Numbers of ours that are in no preset.
_CONSTANTS: Mapping[str, Callable[[], Any]] = {
    "temperature": lambda: TEMPERATURE,
    "rewards": lambda: len(SHIFTS) ** len(QUADRANTS),
    "largest number of edges": lambda: MAX_EDGES,
    "published edges": lambda: len(CONSENSUS_EDGES),
    "outputs": lambda: embeddings.N_ENTRIES,
    "embedded inputs": lambda: embeddings.N_INPUTS,
    "degree of the expansion": lambda: embeddings.DEGREE,
    "members to fit": lambda: embeddings.N_FIT,
    "members to test": lambda: embeddings.N_TEST,
    "smallest penalty": lambda: float(PAPER_ALPHAS[0]),
    "largest penalty": lambda: float(PAPER_ALPHAS[-1]),
    "penalties": lambda: len(PAPER_ALPHAS),
    "resamples": lambda: signature(step_intervals).parameters["n_resamples"].default,
    "level": lambda: (
        signature(CompositionalPCESurrogate.sobol_interval)
        .parameters["confidence_level"]
        .default
    ),
}


def _architectures(claim: Claim, found: Found) -> Answer:
    """Compare the rows of the paper's table of architectures number by number."""
    wanted = {row[0]: tuple(row[1:]) for row in claim.values["rows"]}
    differ = [task for task, row in wanted.items() if architecture(task) != row]
    text = f"{len(wanted) - len(differ)} of {len(wanted)} rows"
    why = f"differ: {', '.join(differ)}" if differ else ""
    return _ours(claim, text, DIFFERS if differ else SAME, why)


def architecture(task: str) -> tuple[str, int, int, int, int, int]:
    """Return kind, width, iterations, members to fit and to test, degree of a task."""
    preset = TASKS[task].presets["paper"]
    return (
        preset.training.policy,
        preset.training.hidden[0],
        preset.training.n_iterations,
        preset.n_train,
        preset.n_test,
        preset.degrees[0],
    )


def _coverage_alike(claim: Claim, found: Found) -> Answer:
    """Compare the mean coverage of several tasks, draw by draw."""
    tasks = claim.values["tasks"]

    def alike(rows: Sequence[dict[str, Any]]) -> Seen:
        values = [mean_coverage95(measures, {}) or 0.0 for measures in rows]
        shown = tuple(zip((f"{task} {{}}" for task in tasks), values, strict=True))
        return Seen(shown, max(values) - min(values) <= claim.values["within"])

    def sides(part: str) -> dict[str, Side]:
        drawn = {
            source: [[*draws_of(found, task, FIRST, source, part)] for task in tasks]
            for source in COLUMNS
        }
        return {
            source: over_draws([alike(row) for row in zip(*rows, strict=True)])
            for source, rows in drawn.items()
            if all(rows)
        }

    return judged(claim, sides("draws"), sides("control"))


def _speedups(claim: Claim, found: Found) -> Answer:
    """Show how many times training takes the surrogate's time, over all tasks."""
    measures = [next(draws_of(found, task, FIRST, "trained"), None) for task in TASKS]
    ratios = [speedup(m, {}) for m in measures if m is not None]
    known = [ratio for ratio in ratios if ratio is not None]
    sides = {}
    if known:
        text = f"{number(min(known))} to {number(max(known))} ({len(known)} tasks)"
        sides["trained"] = Side(text)
    return Answer(INCOMPARABLE, sides, claim.why)


_WHOLE: Mapping[str, Callable[[Claim, Found], Answer]] = {
    "incomparable": _incomparable,
    "shown": _shown,
    "theory": _theory,
    "settings": _settings,
    "architectures": _architectures,
    "coverage_alike": _coverage_alike,
    "speedups": _speedups,
    "repetitions": _repetitions,
}

#: The piece that the answer by a rule is made of.
_PIECES = {
    **dict.fromkeys(_PER_DRAW, f"{{task}}-{FIRST}"),
    **{rule: piece for rule, (piece, *_) in _STUDIES.items()},
    "repetitions": ARTEFACTS,
}

#: Every rule that a claim may name.
RULES = frozenset({*_WHOLE, *_PER_DRAW, *_STUDIES})
