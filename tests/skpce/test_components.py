"""Components of variance: analyses of variance, simulations, sizes, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce import _components
from skpce import variance_components as components
from tests.shared import cases, refuses

# Yield of dyestuff, 6 batches x 5 (Davies and Goldsmith, 1972).
DYESTUFF = [
    *([1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495]),
    *([1595, 1550, 1605, 1510, 1560], [1445, 1440, 1595, 1465, 1545]),
    *([1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445]),
]
# Measured parts: 3 appraisers x 3 trials x 10 parts (AIAG, Measurement Systems
# Analysis, 4th edition).
GAUGE = [
    [0.29, -0.56, 1.34, 0.47, -0.80, 0.02, 0.59, -0.31, 2.26, -1.36],
    [0.41, -0.68, 1.17, 0.50, -0.92, -0.11, 0.75, -0.20, 1.99, -1.25],
    [0.64, -0.58, 1.27, 0.64, -0.84, -0.21, 0.66, -0.17, 2.01, -1.31],
    [0.08, -0.47, 1.19, 0.01, -0.56, -0.20, 0.47, -0.63, 1.80, -1.68],
    [0.25, -1.22, 0.94, 1.03, -1.20, 0.22, 0.55, 0.08, 2.12, -1.62],
    [0.07, -0.68, 1.34, 0.20, -1.28, 0.06, 0.83, -0.34, 2.19, -1.50],
    [0.04, -1.38, 0.88, 0.14, -1.46, -0.29, 0.02, -0.46, 1.77, -1.49],
    [-0.11, -1.13, 1.09, 0.20, -1.07, -0.67, 0.01, -0.56, 1.45, -1.77],
    [-0.15, -0.96, 0.67, 0.11, -1.45, -0.49, 0.21, -0.49, 1.87, -2.16],
]


def crossed(n_items, n_prompts, n_repeats=1):
    axes = map(np.arange, (n_items, n_prompts, n_repeats))
    item, prompt, _ = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    return item, prompt


def simulated(seed, sizes=(30, 5), deviations=(1.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    item, prompt = crossed(*sizes)
    y = deviations[0] * rng.normal(size=sizes[0])[item]
    y = y + deviations[1] * rng.normal(size=sizes[1])[prompt]
    y = y + deviations[2] * rng.normal(size=len(item))
    return {"item": item, "prompt": prompt, "score": y}


def unbalanced(seed, n_rows=300, sizes=(40, 8), deviations=(1.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    table = {
        "item": rng.integers(sizes[0], size=n_rows),
        "prompt": rng.integers(sizes[1], size=n_rows),
        "model": rng.choice(["a", "b"], size=n_rows),
    }
    y = deviations[0] * rng.normal(size=sizes[0])[table["item"]]
    y = y + deviations[1] * rng.normal(size=sizes[1])[table["prompt"]]
    y = y + deviations[2] * rng.normal(size=n_rows) + 3.0 * (table["model"] == "b")
    return table | {"score": y}


def test_dyestuff_is_that_of_the_book():
    y = np.array(DYESTUFF, dtype=float)
    table = {"batch": np.repeat(list("ABCDEF"), 5), "yield": y.ravel()}
    found = components(table, "yield", random="batch")
    assert_allclose(found.variance, [1764.05, 2451.25], rtol=1e-9)
    assert found["batch"].p_value == pytest.approx(0.0044, abs=5e-5)
    assert found.mean_standard_error == pytest.approx(19.383, abs=1e-3)  # lme4: 19.38


def test_a_gauge_study_is_that_of_the_book():
    y = np.array(GAUGE)
    appraiser = np.repeat(["A", "B", "C"], 30)
    part = np.tile(np.arange(10), 9)
    table = {"part": part, "appraiser": appraiser, "y": y.ravel()}
    found = components(table, "y", random=["part", "appraiser", "part:appraiser"])
    # Published: parts 1.0423, appraisers .2268, interaction 0, equipment .1999.
    expected = [1.042327, 0.226838, 0.0, 0.199933]
    assert_allclose(np.sqrt(found.variance), expected, atol=5e-7)
    assert found.supported == (True, True, False, True)


def test_a_component_below_zero_is_pooled_with_the_error(rng):
    y = rng.normal(size=(10, 4))
    y -= y.mean(axis=0)  # prompts explain nothing at all
    item, prompt = crossed(10, 4)
    table = {"item": item, "prompt": prompt, "score": y.ravel()}
    found = components(table, "score", random=["item", "prompt"])
    one = components(table, "score", random=["item"])
    assert found["prompt"].variance == 0
    assert_allclose(found.variance[[0, 2]], one.variance, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_components_of_unbalanced_tables_are_without_bias(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(_components, "_EXACT", 1)
    options = {"random": ["item", "prompt"], "fixed": ["model"]}
    tables = (unbalanced(seed) for seed in range(200))
    every = [components(table, "score", **options) for table in tables]
    variance = np.array([found.variance for found in every])
    truth = np.array([1.0, 0.25, 1.0])
    error = variance.std(axis=0) / np.sqrt(200)
    assert (np.abs(variance.mean(axis=0) - truth) < 3.5 * error).all()
    held = [(f.variance_low <= truth) & (truth <= f.variance_high) for f in every]
    assert np.mean(held, axis=0).min() > 0.91


def test_conjugate_gradients_agree_with_the_exact_form(monkeypatch):
    table = unbalanced(2, n_rows=1500, sizes=(40, 60))
    options = {"random": ["item", "prompt"], "fixed": ["model"]}
    exact = components(table, "score", **options)
    monkeypatch.setattr(_components, "_EXACT", 1)
    large = components(table, "score", **options)
    assert_allclose(exact.variance, large.variance)
    assert_allclose(exact.p_value, large.p_value, rtol=1e-5)
    assert_allclose(exact.variance_high[:2], large.variance_high[:2], rtol=0.05)


@pytest.mark.slow
def test_intervals_hold_and_tests_keep_their_level_with_five_prompts():
    truth = np.array([1.0, 0.25, 1.0])
    every = [
        components(simulated(seed), "score", random=["item", "prompt"])
        for seed in range(400)
    ]
    held = [(f.variance_low <= truth) & (truth <= f.variance_high) for f in every]
    shares = truth / truth.sum()
    of_shares = [(f.share_low <= shares) & (shares <= f.share_high) for f in every]
    assert np.mean(held, axis=0).min() > 0.93
    assert np.mean(of_shares, axis=0).min() > 0.92
    nulls = (simulated(seed, deviations=(0.0, 0.0, 1.0)) for seed in range(400))
    found = (components(table, "score", random=["item", "prompt"]) for table in nulls)
    assert np.mean([any(each.supported[:2]) for each in found]) < 0.075


def test_the_interval_of_the_residual_holds_where_tails_are_heavy():
    # That of chi-squared holds in .74 (``python -m benchmarks.answer.components``).
    item, prompt = crossed(30, 5)
    held = []
    for seed in range(200):
        score = np.random.default_rng(seed).standard_t(4, len(item)) / np.sqrt(2)
        table = {"item": item, "prompt": prompt, "score": score}
        found = components(table, "score", random=["item", "prompt"])
        held.append(found.variance_low[-1] <= 1.0 <= found.variance_high[-1])
    assert np.mean(held) >= 0.84


def test_large_scores_lose_no_digits():
    table = unbalanced(0)
    shifted = table | {"score": table["score"] + 1e8}
    options = {"random": ["item", "prompt"]}
    found, far = (components(t, "score", **options) for t in (table, shifted))
    assert_allclose(far.p_value, found.p_value, rtol=1e-5)
    assert_allclose(far.share_high, found.share_high, rtol=1e-5)
    assert far.mean == pytest.approx(found.mean + 1e8)


def test_what_is_finer_is_the_error_of_a_test():
    rng = np.random.default_rng(4)
    item, prompt = crossed(20, 6, 2)
    together = rng.normal(size=(20, 6))[item, prompt]
    y = together + 0.1 * rng.normal(size=240)
    table = {"item": item, "prompt": prompt, "score": y}
    found = components(table, "score", random=["item", "prompt", "item:prompt"])
    means = {"item": item[::2], "prompt": prompt[::2]}
    means["score"] = y.reshape(-1, 2).mean(axis=1)
    alone = components(means, "score", random=["item", "prompt"])
    assert_allclose(found.p_value[:2], alone.p_value[:2])
    assert found["item:prompt"].supported
    wrong = components(table, "score", random=["item", "prompt"])
    assert wrong["item"].p_value < found["item"].p_value


def test_nested_factors_under_names_of_their_own_or_with_the_one_above():
    rng = np.random.default_rng(5)
    school = np.repeat(np.arange(8), 12)
    own = np.repeat(np.arange(24), 4)
    y = rng.normal(size=8)[school] + rng.normal(size=24)[own] + rng.normal(size=96)
    table = {"school": school, "class": own, "number": own % 3, "score": y}
    one = components(table, "score", random=["school", "class"])
    two = components(table, "score", random=["school", "school:number"])
    assert_allclose(one.variance, two.variance)
    assert_allclose(one.p_value, two.p_value)
    assert one.sizes == {"school": 8, "class": 3}
    assert two.sizes == {"school": 8, "number": 3}
    again = one.standard_error({"school": 8, "class": 3}, repeats=4)
    assert again == pytest.approx(one.standard_error())


def test_sizes_are_the_smallest_that_reach_a_standard_error():
    found = components(simulated(7), "score", random=["item", "prompt"])
    sizes = found.sizes_for(0.2)
    item, prompt, error = found.variance
    n, m = np.meshgrid(np.arange(1, 400), np.arange(1, 400))
    reached = np.sqrt(item / n + prompt / m + error / (n * m)) <= 0.2
    assert np.prod(list(sizes.values())) == (n * m)[reached].min()
    assert found.standard_error(sizes) <= 0.2
    few = found.sizes_for(0.25, at_most={"prompt": 10})
    assert few["prompt"] <= 10
    assert found.standard_error(few) <= 0.25
    with pytest.raises(ValueError, match=r"cannot be reached.*at least"):
        found.sizes_for(0.001, at_most={"prompt": 10})


@cases(
    ("options", "message"),
    ({"random": ["item", "copy"]}, "'item' and 'copy' number the same groups"),
    ({"random": ["one"]}, "'one' has one level"),
    ({"random": ["item", "prompt", "item:prompt"]}, "cannot be told apart"),
    ({"random": ["item"], "fixed": ["item"]}, "expected one role"),
    ({"random": ["prompt"], "fixed": ["row"]}, "expected at most 200 of all fixed"),
    ({"random": ["gaps"]}, "gaps is missing in 1 of 300"),
)
def test_what_cannot_be_answered_is_refused(options, message):
    table = simulated(10, sizes=(60, 5))
    table["copy"] = table["item"] + 7
    table["one"] = np.zeros(300)
    table["row"] = np.arange(300)
    table["gaps"] = np.array([None, *table["item"][1:]], dtype=object)
    refuses(message, components, table, "score", **options)


def test_scores_that_are_none_are_refused():
    table = simulated(11)
    for score, message in (
        (np.ones(150), "150 rows that are all equal"),
        (np.full(150, "good"), "no numbers, such as 'good'; expected floats"),
        (np.append(table["score"][1:], np.inf), "'score' is infinite in 1 rows"),
    ):
        given = table | {"score": score}
        refuses(message, components, given, "score", random=["item"])


@pytest.mark.parametrize(("spread", "is_seen"), [(0.8, True), (0.0, False)])
def test_an_interaction_that_repeats_show_is_named(spread, is_seen, rng):
    item, judge = (part.ravel() for part in np.mgrid[:15, :5, :3][:2])
    y = rng.normal(size=15)[item] + spread * rng.normal(size=(15, 5))[item, judge]
    table = {"item": item, "judge": judge, "y": y + 0.5 * rng.normal(size=225)}
    text = str(components(table, "y", random=["item", "judge"]))
    assert ("item and judge do something only together" in text) == is_seen
    named = components(table, "y", random=["item", "judge", "item:judge"])
    assert "only together" not in str(named)
    once = {name: values[::3] for name, values in table.items()}
    seen = components(once, "y", random=["item", "judge"])
    assert "only together" not in str(seen)
