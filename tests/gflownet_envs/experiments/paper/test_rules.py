"""How claims are compared, on figures made by hand."""

from __future__ import annotations

import pytest

from gflownet_envs.experiments.paper.claims.answers import OURS
from gflownet_envs.experiments.paper.claims.claim_list import Claim
from gflownet_envs.experiments.paper.claims.rules import answer


def claim_of(rule, task="grid", **values):
    return Claim(
        "X-1", "section", "text", "paper", rule, ("quote",), task=task, values=values
    )


@pytest.fixture
def measures():
    return {
        "steps": ["first", "last"],
        "widths": [3, 3],
        "trajectory": ["a → b", "stop"],
        "d_expansion": [10.0, 30.0],
        "total_variation": [0.2, 0.1],
        "aitchison": [1.0, 2.0],
        "n_possible": [3, 3],
        "total": [[0.8, 0.3], [0.2, 0.9]],
        "mean_first": [[0.6, 0.1], [0.1, 0.7]],
        "coverage": [[0.5, 0.5], [0.8, 0.8], [0.9, 0.9], [1.0, 0.8]],
        "ks_passed": [1, 0],
        "ks_pairs": [3, 3],
        "bimodal": None,
        "max_rho": 0.0,
        "q2": [0.1, None],
        "fit_seconds": 0.1,
        "sample_seconds": 0.1,
        "n_train": 3,
        "n_test": 1,
    }


@pytest.fixture
def found(measures):
    trained = measures | {"d_expansion": [10.0, 300.0]}
    sources = {"exact": measures, "trained": trained}
    record = {"reduced": "", "cpu_seconds": {"training": 80.0}}
    return {"grid-paper": {"record": record, "sources": sources}}


def test_the_word_is_about_trained_policies(found):
    claim = claim_of("near", measure="d_expansion", step="last", value=29.0)
    result = answer(claim, found)
    assert result.sides["exact, paper"] == ("30", True)
    assert result.sides["trained, paper"] == ("300", False)
    assert result.word == "does not"


def test_the_word_is_about_exact_ones_where_training_is_shorter(found):
    claim = claim_of("near", measure="d_expansion", step="last", value=29.0)
    found["grid-paper"]["record"]["reduced"] = "300 iterations"
    assert answer(claim, found).word == "agrees"
    found["grid-paper"]["record"]["reduced"] = "n_test 4"
    assert answer(claim, found).word == "does not"


def test_what_is_not_there_cannot_be_compared(found):
    claim = claim_of("edge", edge=["b", "c"], component=1, value=0.9)
    result = answer(claim, found)
    assert result.word == "cannot be compared"
    assert "trajectory" in result.why


@pytest.mark.parametrize(
    ("rule", "values", "text", "word"),
    [
        ("at_most", {"measure": "max_rho", "value": 0.1}, "0", "agrees"),
        ("at_least", {"measure": "mean_q2", "value": 0.5}, "0.1", "does not"),
        ("ends", {"measure": "coverage95_all", "low": 0.8, "high": 1.0, "within": 0.05},
         "0.8 to 1", "agrees"),
        ("each", {"measure": "mean_coverage", "values": [0.5, 0.8, 0.9, 0.7],
                  "within": 0.05}, "0.5 / 0.8 / 0.9 / 0.9", "does not"),
        ("lowest", {"measure": "d_expansion", "step": "first"}, None, "agrees"),
        ("highest", {"measure": "aitchison", "step": "first"}, None, "does not"),
        ("lowest", {"measure": "aitchison", "step": ["last", "first"]},
         "first 1, last 2", "agrees"),
        ("lowest", {"measure": "aitchison", "step": ["last"]}, None, "does not"),
        ("beside", {"measure": "fit_seconds", "unit": "s"}, "0.1 s",
         "cannot be compared"),
        ("beside", {"measure": "coverage95_all"}, "1, 0.8", "cannot be compared"),
        ("beside", {"measure": "training_seconds"}, "–", "cannot be compared"),
        ("greater", {"measure": "total_variation", "step": "first", "other": "last"},
         "first 0.2, last 0.1", "agrees"),
        ("shift", {}, "first 0.8 and 0.3, last 0.2 and 0.9", "agrees"),
        ("gain", {}, None, "agrees"),
        ("share", {"value": [0, 63]}, "1 of 6", "does not"),
        ("share", {"value": [0, 3], "step": "last"}, "0 of 3", "agrees"),
        ("equal", {"value": "2 × 3 = 6"}, "2 × 3 = 6", "agrees"),
        ("edge", {"edge": ["b", "a"], "component": 1, "value": 0.82},
         "a → b: PC1 0.8, PC2 0.3", "agrees"),
        ("theory", {"measure": "terms_and_one", "values": [5, 3, 57]}, "57", "agrees"),
        ("theory", {"measure": "terms", "values": [5, 3, 57]}, "56", "does not"),
    ],
)  # fmt: skip
def test_rules(found, rule, values, text, word):
    result = answer(claim_of(rule, **values), found)
    assert result.word == word
    if text is not None:
        side = result.sides.get(OURS) or result.sides["exact, paper"]
        assert side[0] == text


def test_settings_are_those_of_the_preset():
    same = claim_of("settings", settings={"n_train": 50, "degree": 5})
    assert answer(same, {}).word == "same"
    other = answer(claim_of("settings", settings={"n_train": 51, "degree": 5}), {})
    assert other.word == "differs"
    assert other.sides == {OURS: ("n_train 50", False)}


def test_times_of_training_stand_beside_the_papers_without_a_word(found):
    result = answer(claim_of("beside", measure="speedup"), found)
    assert result.sides["exact, paper"] == ("–", None)
    assert result.sides["trained, paper"] == ("100", None)  # 80 s / 4 over 0.2 s
    assert result.word == "cannot be compared"
    over_all = answer(claim_of("speedups", task=None), found)
    assert over_all.sides == {"trained, paper": ("100 to 100 (1 tasks)", None)}
    assert over_all.word == "cannot be compared"


def test_coverages_of_several_tasks_are_alike(found, measures):
    low = measures | {"coverage": [[0.5, 0.5]]}
    found["sachs-paper"] = {
        "record": {"reduced": ""},
        "sources": {"exact": measures, "trained": low},
    }
    claim = claim_of("coverage_alike", None, tasks=["grid", "sachs"], within=0.1)
    result = answer(claim, found)
    assert result.sides["exact, paper"] == ("grid 0.9, sachs 0.9", True)
    assert result.sides["trained, paper"] == ("grid 0.9, sachs 0.5", False)
    assert result.word == "does not"
    del found["sachs-paper"]
    assert answer(claim, found).word == "cannot be compared"


def test_the_least_of_the_embeddings_leaves_out_random_inputs():
    rows = {"pca": {"coverage": 0.99}, "vae": {"coverage": 0.98}}
    rows["random"] = {"coverage": 0.5}
    claim = claim_of("embedding_least", measure="coverage", value=0.98)
    result = answer(claim, {"embeddings": {"exact": rows}})
    assert result.sides["exact, paper"] == ("pca 0.99, vae 0.98, random 0.5", True)
