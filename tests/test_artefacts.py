"""Artefacts and genuine steps: pieces of the programs, and the figures of the page."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pandas")

from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.paper import artefacts_page as page
from benchmarks.paper import chuang_keiser as reactions
from benchmarks.paper import sachs_advice as sachs
from gflownet_envs import train_yield_proxies
from gflownet_envs.rewards.proxy_training import ProxySpec

SIZES = (3, 4, 2, 5)


@pytest.fixture
def levels():
    return np.indices(SIZES).reshape(4, -1).T


def additive(levels):
    """A yield to which every component adds something, on a scale of its own."""
    return levels @ [1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize("component", range(4))
def test_yields_are_permuted_within_blocks(levels, component, rng):
    yields = additive(levels)
    same, permuted = reactions.scrambled(levels, yields, component, True, rng)
    assert_array_equal(same, levels)
    before, after = yields.reshape(SIZES), permuted.reshape(SIZES)
    # Yields of a block are the same ones, in another order.
    assert_array_equal(np.sort(before, axis=component), np.sort(after, axis=component))
    assert (before != after).any()
    for other in set(range(4)) - {component}:
        rest = tuple(set(range(4)) - {other})
        assert_allclose(before.mean(axis=rest), after.mean(axis=rest))
    # The spread of its level means falls to that of chance, 1 / n of the blocks.
    rest = tuple(set(range(4)) - {component})
    assert after.mean(axis=rest).var() < 0.25 * before.mean(axis=rest).var()


def test_rows_keep_their_yields_where_a_column_is_permuted(levels, rng):
    yields = additive(levels)
    changed, same = reactions.scrambled(levels, yields, 3, False, rng)
    assert_array_equal(same, yields)
    assert_array_equal(changed[:, :3], levels[:, :3])
    assert_array_equal(np.sort(changed[:, 3]), np.sort(levels[:, 3]))
    assert (changed[:, 3] != levels[:, 3]).any()


def test_left_out_additives_are_in_no_row():
    levels = np.indices((2, 2, 2, 8)).reshape(4, -1).T
    known = "left-out additives", levels, additive(levels), 0
    kept, yields, out = reactions.data_of(*known)
    assert len(out) == reactions.N_LEFT_OUT
    assert not np.isin(kept[:, 3], out).any()
    assert len(kept) == len(yields) == 8 * (8 - len(out))
    assert_array_equal(additive(kept), yields)


def test_unseen_rows_are_those_of_the_training(levels):
    """With them the R² that the training reports comes out again."""
    spec, members = ProxySpec(max_epochs=3, hidden=(8,)), range(2, 5)
    yields = additive(levels) / 50
    found = train_yield_proxies(levels, yields, levels, spec, members=members)
    unseen = reactions.unseen_rows(len(yields), spec, 0, members)
    r2 = [
        1 - np.mean((one[rows] - yields[rows]) ** 2) / yields[rows].var()
        for one, rows in zip(found.predictions, unseen, strict=True)
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


def test_gain_of_chance_is_negative(levels):
    """Predictions that add noise by level predict worse with the level."""
    noise = np.array([-1.0, 0.0, 1.0])[levels[:, 0]]
    yields = np.where(levels[:, 1] > 1, 1.0, 0.0)
    unseen = np.ones((1, len(yields)), dtype=bool)
    predicted = (yields + noise)[None]
    gain = reactions.gain_on_unseen(predicted, SIZES, levels, yields, unseen)
    assert gain[0] == pytest.approx(-np.var([-1, 0, 1]) / yields.var())


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
    steps = page.steps_of(
        {
            "measured": [row(0)],
            "permuted catalysts": [row(10)],
            "left-out additives": [row(99)],
        }
    )
    artefacts, genuine = page.signed(steps, page.D, "catalyst")
    assert artefacts.tolist() == [10]
    assert genuine.tolist() == [0]
    artefacts, genuine = page.signed(steps, page.D, "additive")
    assert artefacts.tolist() == []
    assert genuine.tolist() == [3, 13]
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


def test_sentences_of_the_page_are_those_of_the_record():
    text = " ".join(page.PAGE.read_text(encoding="utf-8").split())
    sentences = page.answer()
    assert len(sentences) == 5
    assert all(sentence in text for sentence in [*sentences, page.answer_of_tasks()])


def test_counts_of_other_draws_are_those_of_the_record():
    from benchmarks.all_tasks import other_draws

    pages = page.PAGE.parent
    assert other_draws() in (pages / "tasks" / "table.md").read_text(encoding="utf-8")


def test_steps_that_gain_an_answer_are_counted(monkeypatch):
    def draw(q2, drives, learned):
        return {"q2": q2, "drives": drives, "learned_q2": learned}

    one = draw([0.3, 0.1, None, 0.0], [["a"], ["a"], [], []], [0.5, 0.2, None, 0.0])
    other = draw([0.3, 0.3, None, 0.0], [["a"], [], [], []], [0.5, 0.2, None, 0.0])
    record = {"grid": {"steps": ["m1", "m2", "stop", "m3"], "draws": [one, one, other]}}
    monkeypatch.setattr(page, "named_parts", lambda: {("grid", "m3"): "x"})
    # Step m1 had an answer; m2 in one of three draws; stop is no choice.
    counts = {"steps": 3, "none": 2, "drivers": 1, "predicted": 1, "parts": 1}
    assert page.gained(record) == counts
    draws = page.draws_of_tasks(record)
    assert draws.groupby("draw")["before"].sum().tolist() == [1, 1, 2]


@pytest.mark.slow
def test_download_is_that_of_the_record():
    assert page.TABLES.read_text(encoding="utf-8") == page.download()
