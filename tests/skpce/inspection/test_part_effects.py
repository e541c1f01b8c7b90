"""Effects of named parts by recombination, against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import softmax

from skpce.inspection import part_effects, parts_of_table
from tests.shared import cases, ishigami, ishigami_indices, refuses


def stacked(chosen):
    return np.stack(list(chosen.values()), axis=1)


def linear_parts(n_members, rng, scales=(1.0, 0.7, 0.4)):
    named = dict(zip("abc", scales, strict=True))
    return {name: s * rng.normal(size=n_members) for name, s in named.items()}


def within(found, error, truth, n_errors=3.0):
    """Whether estimates are near the truth, in units of their standard errors."""
    return np.abs(found - truth) <= n_errors * error


def ishigami_parts(n_members, rng):
    return {name: rng.uniform(-np.pi, np.pi, size=n_members) for name in "abc"}


FIRST, TOTAL, _ = ishigami_indices()


def policy(z):
    return softmax(z, axis=1)


def policy_parts(n_members, rng):
    scales = {"a": 1.0, "b": 0.5}
    return {name: s * rng.normal(size=(n_members, 4)) for name, s in scales.items()}


def product_parts(n_members, rng):
    """Two parts of means 2 and -1, for their product."""
    a, b = rng.normal(size=(2, n_members))
    return {"a": 2.0 + a, "b": -1.0 + 0.5 * b}


LINEAR = np.array([1.0, 0.49, 0.16]) / 1.65
#: Models, parts, what else is given, first-order and total effects in closed form; the
#: log-ratios of a softmax are linear, and of a product ab the variances are 1, 1, 1/4.
CLOSED = {
    "linear": (lambda z: z, linear_parts, {}, LINEAR, LINEAR),
    "ishigami": (ishigami, ishigami_parts, {"combine": stacked}, FIRST, TOTAL),
    "softmax": (policy, policy_parts, {"steps": {"move": 4}}, *[[0.8, 0.2]] * 2),
    "product": (
        *(lambda z: z[:, 0] * z[:, 1], product_parts, {"combine": stacked}),
        *(np.array([1.0, 1.0]) / 2.25, np.array([1.25, 1.25]) / 2.25),
    ),
}
#: of the pairs that act together
PAIRS = {"linear": [0, 0, 0], "ishigami": [0, TOTAL[2], 0], "product": [0.25 / 2.25]}


@pytest.mark.parametrize("name", CLOSED)
def test_effects_in_closed_form(name):
    model, parts_of, arguments, first, total = CLOSED[name]
    parts = parts_of(300, np.random.default_rng(1))
    found = part_effects(model, parts, n_draws=2000, random_state=0, **arguments)
    assert within(found.first[0], found.first_error[0], first).all()
    assert within(found.total[0], found.total_error[0], total).all()
    rest = np.subtract(total, first)
    assert within(found.interaction[0], found.interaction_error[0], rest).all()
    assert found.supported == (True,)
    assert found.n_solutions == 300 + 2000 * (len(parts) + 2) + 2 * 300 * len(parts)
    if name in PAIRS:
        pairs = found.pairs
        error = pairs.interaction_error[0]
        assert within(pairs.interaction[0], error, PAIRS[name]).all()
        names = ("a and b", "a and c", "b and c")
        assert pairs.keys["pair"] == names[: len(PAIRS[name])]
    if name == "softmax":
        assert found.step_names == ("move",)
        spread = [
            np.var(one - one.mean(1, keepdims=True), axis=0).sum()
            for one in (*parts.values(), sum(parts.values()))
        ]
        assert_allclose(found.alone[0], np.array(spread[:-1]) / spread[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "ishigami", "softmax"])
def test_standard_errors_cover(name):
    """Over repetitions with new members and new draws."""
    model, parts_of, arguments, *truth = CLOSED[name]
    hits = []
    for seed in range(200):
        parts = parts_of(100, np.random.default_rng(seed))
        known = {"n_draws": 400, "dependent": False, "random_state": seed}
        found = part_effects(model, parts, **known, **arguments)
        estimates = (found.first, found.first_error), (found.total, found.total_error)
        pairs = zip(estimates, truth, strict=True)
        hits.append([within(e[0], error[0], t, 1.96) for (e, error), t in pairs])
    assert np.mean(hits, axis=(0, 2)).min() >= 0.93


def test_dependent_parts_are_reported():
    rng = np.random.default_rng(4)
    shared = rng.normal(size=120)
    parts = {"a": shared + 0.2 * rng.normal(size=120), "b": shared}
    effects = part_effects(lambda z: z, parts, random_state=0)
    assert effects.supported == (False,)
    assert "the parts are dependent" in effects.reasons[0][0]
    assert effects.variance_ratio[0] == pytest.approx(0.5, abs=0.1)
    assert effects.dependence.p_value[0] < 1e-6


def test_batches_and_seeds():
    parts = linear_parts(40, np.random.default_rng(6))
    sizes, calls = [], []

    def model(z):
        sizes.append(len(z))
        return z

    def told(*done):
        calls.append(done)

    draws = {"n_draws": 32, "random_state": 1}
    one = part_effects(model, parts, **draws, batch_size=10, progress=told)
    two = part_effects(model, parts, **draws)
    assert_array_equal(one.total, two.total)
    assert max(sizes[:10]) == 10
    assert calls[-1] == (one.n_solutions, one.n_solutions)


@cases(
    ("parts", "message"),
    ({"a": np.zeros(9), "b": np.zeros(8)}, "9 for 'a', 8 for 'b'"),
    ({"a": np.zeros(3), "b": np.zeros(3)}, "same four or more members"),
    ({"a": np.zeros(9), "b": np.full(9, np.nan)}, "'b' of parts has values"),
)
def test_bad_parts_are_refused(parts, message):
    refuses(message, part_effects, lambda z: z, parts)


def test_bad_models_are_refused():
    parts = linear_parts(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"model returned shape \(3,\) for 20 inputs"):
        part_effects(lambda z: z[:3], parts)


def test_a_table_is_the_sum_of_its_parts():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(6, 3, 2, 4, 2))
    parts = parts_of_table(table, list("abcd"))
    assert list(parts)[:6] == ["mean", "a", "b", "c", "d", "a × b"]
    refuses("must name each of the 4 axes", parts_of_table, table, ["a"])
    assert len(parts) == 1 + 4 + 6 + 1
    assert_allclose(sum(parts.values()), table)
    flat = np.array([part.reshape(6, -1) for part in parts.values()])
    products = np.einsum("pmi,qmi->pq", flat, flat)
    assert_allclose(products - np.diag(np.diag(products)), 0, atol=1e-10)


def test_p_values_of_dependence_are_near_their_level():
    rng = np.random.default_rng(9)
    few = {"n_draws": 16, "dependent": False, "random_state": 0}
    drawn = (linear_parts(40, rng) for _ in range(100))
    found = [part_effects(lambda z: z, parts, **few) for parts in drawn]
    rejected = np.mean([one.dependence.p_value < 0.05 for one in found])
    assert stats.binom.cdf(round(300 * rejected), 300, 0.05) < 0.999


def test_closed_effects_of_sets():
    rng = np.random.default_rng(13)
    parts = {name: rng.normal(size=200) for name in "abcd"}
    sizes = []

    def model(z):
        sizes.append(len(z))
        return z[:, 0] * z[:, 1] + z[:, 2] * z[:, 3] + z[:, 2]

    sets = {"both": ["b", "a"], "mixed": ["a", "c"], "all": ["a", "b", "c", "d"]}
    effects = part_effects(
        model, parts, combine=stacked, sets=sets, n_draws=1000, random_state=0
    )
    found = effects.sets
    assert found.set_names == ("both", "mixed", "all")
    closed, total = np.array([1, 1, 3]) / 3, np.array([1, 3, 3]) / 3
    assert within(found.closed[0], found.closed_error[0], closed)[:2].all()
    assert within(found.total[0], found.total_error[0], total)[:2].all()
    assert found.closed[0, 2] == pytest.approx(1.0)
    assert found.total[0, 2] == pytest.approx(1.0)
    assert effects.n_solutions == sum(sizes)
    assert effects.n_solutions == 200 + 1000 * (4 + 2 + 3) + 2 * 200 * 4


@pytest.mark.parametrize("sets", [{}, ["a"], {"x": []}, {"x": "a"}, {"x": ["z"]}])
def test_bad_sets_are_refused(sets):
    parts = linear_parts(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"'sets' parameter of part_effects|The set"):
        part_effects(lambda z: z, parts, sets=sets)


def test_effects_on_each_action():
    """Weighted by their shares, those of the actions add up to those of the step."""
    rng = np.random.default_rng(15)
    parts = {name: rng.normal(size=(100, 5)) for name in "ab"}

    def model(z):
        policies = np.c_[softmax(z[:, :3], axis=1), softmax(2 * z[:, 3:], axis=1)]
        return np.c_[policies, z[:, 0]]

    parts["a"] = parts["a"] * [3, 1, 1, 0, 0]
    known = {"steps": {"one": 3, "two": 2}, "outputs": {"score": 1}}
    effects = part_effects(model, parts, **known, n_draws=128, random_state=0)
    actions = effects.actions
    assert actions.action_names[0] == "one: 0"
    assert actions.to_frame().shape[0] == 6 * 2
    assert list(actions.output) == ["one"] * 3 + ["two"] * 2 + ["score"]
    for group, name in enumerate(effects.output_names):
        own = actions.output == name
        assert actions.share[own].sum() == pytest.approx(1.0)
        for column in ("first", "total"):
            weighted = actions.share[own] @ getattr(actions, column)[own]
            assert_allclose(weighted, getattr(effects, column)[group])
    assert_allclose(actions.first[5], effects.first[2])
    assert_allclose(actions.first_error[5], effects.first_error[2])
    assert_allclose(actions.share[3:], [0.5, 0.5, 1.0])
    assert actions.share[0] > actions.share[1:3].max()


def test_masked_and_constant_columns_have_no_effects():
    rng = np.random.default_rng(16)
    parts = {name: rng.normal(size=(40, 2)) for name in "ab"}

    def model(z):
        return np.c_[softmax(z, axis=1), np.zeros(len(z)), np.ones((len(z), 1))]

    effects = part_effects(
        model, parts, steps={"move": 3, "stop": 1}, n_draws=32, random_state=0
    )
    assert effects.actions.action_names == ("move: 0", "move: 1")
    assert np.isnan(effects.first[1]).all()
    assert effects.supported == (True, False)
