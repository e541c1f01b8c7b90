"""How claims are compared, on figures made by hand."""

from __future__ import annotations

import pytest

from gflownet_envs.experiments.paper.claims.answers import (
    AGREES,
    DOES_NOT,
    INFORMATIVE,
    NO_POWER,
    OURS,
    UNDECIDED,
    Claim,
    Seen,
    Side,
    claim_list,
    median_and_range,
    over_draws,
    tolerance,
    word_of,
)
from gflownet_envs.experiments.paper.claims.rules import answer, papers_settings
from tests.shared import cases


def claim_of(rule, task="grid", kind="finding", **values):
    where = {"paper": "paper", "kind": kind, "task": task, "values": values}
    return Claim("X-1", "section", "text", rule, ("quote",), **where)


CONSTANT = {"steps": ["first", "last"], "trajectory": ["a → b", "stop"]}
CONSTANT |= {"widths": [3, 3], "n_possible": [3, 3], "n_train": 3, "n_test": 1}
ONE_DRAW = {"d_expansion": [10.0, 30.0], "total_variation": [0.2, 0.1]}
ONE_DRAW |= {"total": [[0.8, 0.3], [0.2, 0.9]], "mean_first": [[0.6, 0.1], [0.1, 0.7]]}
ONE_DRAW |= {"coverage": [[0.5, 0.5], [0.8, 0.8], [0.9, 0.9], [1.0, 0.8]]}
ONE_DRAW |= {"ks_passed": [1, 0], "ks_pairs": [3, 3], "bimodal": None, "max_rho": 0.0}
ONE_DRAW |= {"q2": [0.1, None], "fit_seconds": 0.1, "sample_seconds": 0.1}
OF_THE_INPUTS = ("d_expansion", "q2", "coverage", "total", "mean_first")
OF_THE_INPUTS += ("ks_passed", "ks_pairs", "bimodal")


def measures_of(*draws, control=None):
    """Measures of some draws, each of which changes some figures."""
    rows = [ONE_DRAW | draw for draw in draws]
    blind = [ONE_DRAW | (control or {})] * len(rows)
    columns = {key: [row[key] for row in rows] for key in ONE_DRAW}
    of_inputs = {key: [row[key] for row in blind] for key in OF_THE_INPUTS}
    return CONSTANT | {"draws": columns, "control": of_inputs}


def system_of(exact=None, trained=None):
    record = {"reduced": "", "cpu_seconds": {"training": 80.0}}
    known = {"exact": exact, "trained": trained}
    sources = {name: some for name, some in known.items() if some is not None}
    return {"record": record, "sources": sources}


@pytest.fixture
def found():
    trained = measures_of({"d_expansion": [10.0, 300.0]})
    return {"grid-paper": system_of(measures_of({}), trained)}


@cases(
    ("word", "shares"),
    (AGREES, (1.0, 0.85)),
    (UNDECIDED, (0.8, 0.5, 0.2)),
    (DOES_NOT, (0.15, 0.0)),
)
def test_a_word_is_decided_by_most_of_the_draws(word, shares):
    assert {word_of(share) for share in shares} == {word}


def test_a_side_is_the_median_with_its_range_and_how_many_draws_agree():
    seen = [Seen((("D {}", d), ("{} of 3", 1)), d < 3) for d in (1.0, 2.0, 9.0, 2.5)]
    text = "D 2.25 (1 to 9), 1 of 3; agrees in 3 of 4 draws"
    assert over_draws(seen) == Side(text, UNDECIDED, 3, 4)
    assert over_draws(seen[:2]) == Side("D 1.5 (1 to 2), 1 of 3", AGREES, 2, 2)
    assert median_and_range([None, float("nan")]) == "–"
    assert over_draws([Seen(text="no such step")]).word == "cannot be compared"


@cases(
    ("wanted", "within", "limit"),
    (71.3, None, 14.26),  # a fifth
    (0.95, 0.05, 0.05),
    (0.02, 0.05, 0.004),  # small figures: a fifth, not 0.05
    (0.0, 0.001, 0.001),  # nothing has no fifth
    (-5.0, None, 1.0),
)
def test_tolerances_are_relative_where_a_figure_is_small(wanted, within, limit):
    assert tolerance(wanted, within) == pytest.approx(limit)


@cases(("factor", "word"), (0.7, DOES_NOT), (1.3, DOES_NOT), (1.1, AGREES))
def test_a_figure_that_is_three_tenths_off_does_not_agree(factor, word):
    """A tolerance of twice the fifth would let it pass."""
    claim = claim_of("near", measure="d_expansion", step="last", value=30 * factor)
    assert answer(claim, {"grid-paper": system_of(measures_of({}))}).word == word


@cases(
    ("rule", "values"),
    ("near", {"measure": "mean_first_of_pc1", "step": "first", "value": 0.6}),
    ("highest", {"measure": "mean_first_sum", "step": "last"}),
)
def test_first_order_claims_read_first_order_indices(rule, values):
    """Totals in their place have another figure and another order."""
    first = {"mean_first": [[0.6, 0.0], [0.1, 0.8]], "total": [[0.9, 0.9], [0.2, 0.9]]}
    claim = claim_of(rule, **values)
    assert answer(claim, {"grid-paper": system_of(measures_of(first))}).word == AGREES
    totals = first | {"mean_first": first["total"]}
    found = {"grid-paper": system_of(measures_of(totals))}
    assert answer(claim, found).word == DOES_NOT


def test_the_word_is_about_trained_policies(found):
    claim = claim_of("near", measure="d_expansion", step="last", value=29.0)
    result = answer(claim, found)
    assert result.sides["exact"] == Side("30", AGREES, 1, 1)
    assert result.sides["trained"] == Side("300", DOES_NOT, 0, 1)
    assert result.word == DOES_NOT
    del found["grid-paper"]["sources"]["trained"]
    assert answer(claim, found).word == AGREES


@cases(("blind", "kind"), ([[1.0, 0.9]] * 4, NO_POWER), ([[0.3, 0.4]] * 4, INFORMATIVE))
def test_what_random_inputs_reach_too_has_no_power(blind, kind):
    ours = {"coverage": [[1.0, 0.9]] * 4}
    measures = measures_of(ours, ours, control={"coverage": blind})
    claim = claim_of("near", measure="coverage95", step="first", value=1.0, within=0.05)
    result = answer(claim, {"grid-paper": system_of(measures)})
    assert (result.word, result.kind) == (AGREES, kind)
    # of rows without power both agree; a figure that both miss tells something
    claim = claim_of("near", measure="d_expansion", step="last", value=300.0)
    result = answer(claim, {"grid-paper": system_of(measures_of({}, control={}))})
    assert (result.word, result.kind) == (DOES_NOT, INFORMATIVE)


def test_identities_are_a_kind_of_their_own(found):
    claim = claim_of("at_most", kind="identity", measure="max_rho", value=0.1)
    result = answer(claim, found)
    assert (result.word, result.kind) == (AGREES, "identity")
    values = {"measure": "terms_and_one", "values": [5, 3, 57]}
    assert answer(claim_of("theory", None, "identity", **values), {}).kind == "identity"


def test_other_readings_stand_beside_with_a_word_of_their_own(found):
    found["grid-episodes"] = system_of(trained=measures_of({}))
    claim = claim_of("near", measure="d_expansion", step="last", value=29.0)
    result = answer(claim, found)
    assert result.word == DOES_NOT
    assert result.readings == {"episodes": Side("30", AGREES, 1, 1)}


def test_what_is_not_there_cannot_be_compared(found):
    claim = claim_of("edge", edge=["b", "c"], component=1, value=0.9)
    result = answer(claim, found)
    assert result.word == "cannot be compared"
    assert "trajectory" in result.why
    assert result.kind == ""


@cases(("rule", "values", "text", "word"),
        ("at_most", {"measure": "max_rho", "value": 0.1}, "0", "agrees"),
        ("at_least", {"measure": "mean_q2", "value": 0.5}, "0.1", "does not"),
        ("ends", {"measure": "coverage95_all", "low": 0.8, "high": 1.0, "within": 0.05},
         "smallest 0.8, largest 1", "agrees"),
        ("near", {"measure": "mean_coverage", "values": [0.5, 0.8, 0.9, 0.7],
                  "within": 0.05}, "0.5, 0.8, 0.9, 0.9", "does not"),
        ("lowest", {"measure": "d_expansion", "step": "first"},
         "first 10, last 30", "agrees"),
        ("lowest", {"measure": "d_expansion", "step": ["last", "first"]},
         "first 10, last 30", "agrees"),
        ("lowest", {"measure": "d_expansion", "step": "linker"}, "no such step",
         "cannot be compared"),
        ("beside", {"measure": "fit_seconds", "unit": "s"}, "0.1 s",
         "cannot be compared"),
        ("highest", {"measure": "total_variation", "step": "last",
                     "among": ["last", "first"]}, "last 0.1, first 0.2", "does not"),
        ("shift", {}, "first: 0.8, 0.3, last: 0.2, 0.9", "agrees"),
        ("gain", {}, None, "agrees"),
        ("share", {"value": [3, 6]}, "1 of 6", "does not"),
        ("share", {"value": [0, 63]}, "1 of 6", "agrees"),  # one pair
        ("share", {"value": [0, 3], "step": "last"}, "0 of 3", "agrees"),
        ("equal", {"value": "2 × 3 = 6"}, "2 × 3 = 6", "agrees"),
        ("edge", {"edge": ["b", "a"], "component": 1, "value": 0.82},
         "a → b: PC1 0.8, PC2 0.3", "agrees"),
        ("theory", {"measure": "terms_and_one", "values": [5, 3, 57]}, "57", "agrees"),
        ("shown", {"ours": "a", "command": "b"}, "a (b)", "does not"),
     )  # fmt: skip
def test_rules(rule, values, text, word):
    found = {"grid-paper": system_of(measures_of({}, {}))}
    result = answer(claim_of(rule, **values), found)
    assert result.word == word
    if text is not None:
        side = result.sides.get(OURS) or result.sides["exact"]
        assert side.text == text


def test_settings_are_compared_number_by_number(found):
    same = claim_of("settings", kind="setting", settings={"n_train": 50, "degree": 5})
    assert answer(same, {}).word == "same"
    wanted = {"n_train": 51, "training.n_iterations": 400, "rewards": 625}
    other = answer(claim_of("settings", settings=wanted), {})
    assert other.word == "differs"
    text = "n train 50, training.n iterations 400, rewards 625"
    assert other.sides[OURS].text == text
    assert other.why == "differ: n train"
    shown = papers_settings(claim_of("settings", settings=wanted))
    assert shown.startswith("n train 51, ")
    counted = claim_of("settings", kind="setting", settings={"choices": 2, "inputs": 2})
    assert answer(counted, found).word == "same"
    assert answer(counted, {}).why == "not finished: choices"


def test_times_of_training_stand_beside_the_papers_without_a_word(found):
    result = answer(claim_of("beside", measure="speedup"), found)
    assert result.sides["trained"] == Side("100")  # 80 s / 4 over 0.2 s
    assert result.word == "cannot be compared"
    over_all = answer(claim_of("speedups", task=None), found)
    assert over_all.sides == {"trained": Side("100 to 100 (1 tasks)")}
    assert over_all.word == "cannot be compared"


def test_coverages_of_several_tasks_are_alike(found):
    low = measures_of({"coverage": [[0.5, 0.5]]})
    found["sachs-paper"] = system_of(measures_of({}), low)
    claim = claim_of("coverage_alike", None, tasks=["grid", "sachs"], within=0.1)
    result = answer(claim, found)
    assert result.sides["exact"] == Side("grid 0.9, sachs 0.9", AGREES, 1, 1)
    assert result.sides["trained"] == Side("grid 0.9, sachs 0.5", DOES_NOT, 0, 1)
    assert (result.word, result.kind) == (DOES_NOT, INFORMATIVE)
    del found["sachs-paper"]
    assert answer(claim, found).word == "cannot be compared"


def test_the_least_of_the_embeddings_leaves_out_random_inputs():
    rows = {"pca": {"coverage": [0.99]}, "vae": {"coverage": [0.98]}}
    rows["random"] = {"coverage": [0.5]}
    claim = claim_of("embedding_least", measure="coverage", value=0.98)
    result = answer(claim, {"embeddings": {"exact": rows}})
    assert result.sides["exact"] == Side("pca 0.99, vae 0.98, random 0.5", AGREES, 1, 1)
    assert result.kind == INFORMATIVE
    rows["random"] = {"coverage": [0.99]}
    assert answer(claim, {"embeddings": {"exact": rows}}).kind == NO_POWER


def test_an_error_that_the_mean_policy_has_too_has_no_power():
    rows = {"paper": {"mae": [0.016, 0.017]}, "mean": {"mae": [0.0155, 0.0155]}}
    claim = claim_of("surrogate", measure="mae", method="paper", value=0.016)
    result = answer(claim, {"surrogates-grid": {"exact": rows}})
    assert (result.word, result.kind) == (AGREES, NO_POWER)
    text = "0.0165 (0.016 to 0.017), mean policy 0.0155"
    assert result.sides["exact"].text == text
    rows["mean"] = {"mae": [0.05, 0.05]}
    assert answer(claim, {"surrogates-grid": {"exact": rows}}).kind == INFORMATIVE


@cases(
    ("few", "word", "kind"),
    ([0.03, 0.03], AGREES, NO_POWER),
    ([0.05, 0.03], UNDECIDED, INFORMATIVE),
    ([0.05, 0.05], DOES_NOT, INFORMATIVE),
)
def test_a_curve_is_judged_draw_by_draw_and_beside_the_mean_policy(few, word, kind):
    def curve(few, many):
        known = {"n_terms": 56, "mae_mean": [0.02, 0.02]}
        rows = {20: few, 50: many}
        return [{"at": at, "mae_paper": rows[at], **known} for at in rows]

    (claim,) = (claim for claim in claim_list().claims if claim.id == "S7-1")
    piece = {"exact": {"members": curve(few, [0.03, 0.03])}}
    result = answer(claim, {"ablation": piece})
    assert (result.word, result.kind) == (word, kind)
