"""Artefacts and genuine steps: pieces of the programs, and the figures of the page."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pandas")

from numpy.testing import assert_allclose

from benchmarks.paper import artefacts_page as page
from benchmarks.paper import chuang_keiser as reactions
from benchmarks.paper import one_reward
from benchmarks.paper import sachs_advice as sachs
from gflownet_envs import train_feature_proxies
from gflownet_envs.rewards.proxies import ProxySpec
from gflownet_envs.rewards.source import one_hot_levels

SIZES = (3, 4, 2, 5)


@pytest.fixture
def levels():
    return np.indices(SIZES).reshape(4, -1).T


def additive(levels):
    """A yield to which every component adds something, on a scale of its own."""
    return levels @ [1.0, 10.0, 100.0, 1000.0]


def test_unseen_rows_are_those_of_the_training(levels):
    """With them the R² that the training reports comes out again."""
    spec, members = ProxySpec(max_epochs=3, hidden=(8,)), range(2, 5)
    yields = additive(levels) / 50
    inputs = one_hot_levels(levels, SIZES)
    found = train_feature_proxies(inputs, yields, spec, members=members)
    unseen = reactions.unseen_rows(len(yields), spec, 0, members)
    r2 = [
        1 - np.mean((one[rows] - yields[rows]) ** 2) / yields[rows].var()
        for one, rows in zip(found.predict(inputs), unseen, strict=True)
    ]
    assert_allclose(r2, found.r2_held_out, rtol=1e-4)


def test_gain_of_perfect_predictions_is_the_share_of_the_component(levels):
    yields = additive(levels)
    unseen = np.ones((1, len(yields)), dtype=bool)
    gain = reactions.gain_on_unseen(yields[None], SIZES, levels, yields, unseen)
    variances = [
        np.var(scale * np.arange(size))
        for scale, size in zip((1.0, 10.0, 100.0, 1000.0), SIZES, strict=True)
    ]
    assert_allclose(gain, np.divide(variances, sum(variances)))


def test_agreement_is_the_mean_over_mean_and_spread():
    log_odds = np.array([1.0, 3.0])  # of two members: mean 2, variance 1
    first = 1 / (1 + np.exp(-log_odds))
    y = np.column_stack([first, 1 - first, [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    y[:, 2:] = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]
    found = reactions.agreement(y, {"one": 2, "two": 3})
    clr = np.log(y[:, 2:]) - np.log(y[:, 2:]).mean(axis=1, keepdims=True)
    signal, noise = (clr.mean(axis=0) ** 2).sum(), clr.var(axis=0).sum()
    assert_allclose(found, [4 / 5, signal / (signal + noise)])


def test_uncertainty_of_pairs_by_hand():
    laws = np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]])
    assert sachs.between_members(laws) == pytest.approx([0.5])
    assert sachs.in_all(laws) == pytest.approx([1.0])
    one = np.full((3, 1, 3), 1 / 3)
    assert sachs.between_members(one) == pytest.approx([0.0])
    assert sachs.in_all(one) == pytest.approx([np.log2(3)])


def test_probability_of_a_higher_value():
    higher, lower = np.array([2.0, 3.0]), np.array([1.0, 2.0])
    assert page.auc(higher, lower) == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    assert page.best_cut(higher, lower) == pytest.approx(0.25)
    assert page.best_cut(lower, lower) == pytest.approx(0.5)
    assert page.best_cut(higher + 1, lower) == 0.0


def test_artefacts_are_the_permuted_steps(monkeypatch):
    def row(value):
        return {"d_members": [value, value + 1, value + 2, value + 3]}

    monkeypatch.setattr(page, "MEASURES", {page.D: page.MEASURES[page.D]})
    monkeypatch.setattr(page, "RULES", {})
    monkeypatch.setattr(page, "BY_COMPONENT", {"catalyst": "permuted catalysts"})
    found = {"measured": [row(0)], "permuted catalysts": [row(10)]}
    steps = page.steps_of(found | {"left-out additives": [row(99)]})
    found = [page.signed(steps, page.D, name) for name in ("catalyst", "additive")]
    expected = [[[10], [0]], [[], [3, 13]]]
    assert [[some.tolist() for some in pair] for pair in found] == expected
    assert page.ranked_first(steps, page.D).tolist() == [[False]]
    assert page.ranked_first(steps, page.D, -1).tolist() == [[True]]


def test_the_record_is_complete():
    record = page.load(reactions.RECORD)["default"]
    assert set(record) == set(reactions.CONDITIONS)
    assert all(len(page.load(page.SACHS)[name]) >= 10 for name in sachs.STANDARDIZED)


@pytest.mark.parametrize("name", list(page.page_tables()))
def test_tables_of_the_page_are_those_of_the_record(name):
    assert page.page_tables()[name] in page.PAGE.read_text(encoding="utf-8")


def test_rows_of_the_page_of_the_paper_are_those_of_the_record():
    assert page.PIECES.find(page.ARTEFACTS) == page.piece()
    paper = page.PAGE.with_name("paper.md").read_text(encoding="utf-8")
    assert page.words_table() in paper


def test_table_of_one_reward_is_that_of_the_record():
    record = page.load(one_reward.RECORD)
    assert set(record) == set(one_reward.MEMBERS)
    assert all(set(found) == {"default", "paper"} for found in record.values())
    paper = page.PAGE.with_name("paper.md").read_text(encoding="utf-8")
    assert one_reward.page_table(record) in paper
    ensembles = [one for found in record.values() for one in found.values()]
    assert all(one["driven"]["one"] == 0 for one in ensembles)
    assert "With one reward no step is said to be driven in any of the four" in paper


def test_sentences_of_the_page_are_those_of_the_record():
    text = " ".join(page.PAGE.read_text(encoding="utf-8").split())
    sentences = page.answer()
    assert len(sentences) == 5
    assert all(sentence in text for sentence in [*sentences, page.answer_of_tasks()])


@pytest.mark.slow
def test_download_is_that_of_the_record():
    assert page.TABLES.read_text(encoding="utf-8") == page.download()
