"""Effects of named parts by recombination, against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import softmax

from skpce.inspection import part_effects, parts_of_table
from skpce.inspection._parts.recombination import draw_pairs
from tests.shared import cases

A, B = 7.0, 0.1  # of the Ishigami function


def stacked(chosen):
    return np.stack(list(chosen.values()), axis=1)


def linear_parts(n_members, rng, scales=(1.0, 0.7, 0.4)):
    named = dict(zip("abc", scales, strict=True))
    return {name: s * rng.normal(size=n_members) for name, s in named.items()}


def within(found, error, truth, n_errors=3.0):
    """Whether estimates are near the truth, in units of their standard errors."""
    return np.abs(found - truth) <= n_errors * error


def test_a_linear_model():
    truth = np.array([1.0, 0.49, 0.16]) / 1.65
    rng = np.random.default_rng(0)
    effects = part_effects(
        lambda z: z, linear_parts(150, rng), n_draws=1000, random_state=0
    )
    for name in ("first", "total"):
        found, error = getattr(effects, name)[0], getattr(effects, f"{name}_error")[0]
        assert within(found, error, truth).all(), name
    assert within(effects.interaction, effects.interaction_error, 0.0).all()
    assert effects.supported == (True,)
    assert effects.n_solutions == 150 + 1000 * (3 + 2) + 2 * 150 * 3


def ishigami(z):
    return (
        np.sin(z[:, 0]) + A * np.sin(z[:, 1]) ** 2 + B * z[:, 2] ** 4 * np.sin(z[:, 0])
    )


def ishigami_parts(n_members, rng):
    return {name: rng.uniform(-np.pi, np.pi, size=n_members) for name in "abc"}


def ishigami_effects():
    """First-order and total effects, and the interaction of the first and third."""
    one, two = 0.5 * (1 + B * np.pi**4 / 5) ** 2, A**2 / 8
    both = B**2 * np.pi**8 * (1 / 18 - 1 / 50)
    first, total = np.array([one, two, 0.0]), np.array([one + both, two, both])
    variance = one + two + both
    return first / variance, total / variance, both / variance


def test_the_ishigami_function():
    effects = part_effects(
        ishigami,
        ishigami_parts(300, np.random.default_rng(1)),
        combine=stacked,
        n_draws=2000,
        random_state=0,
    )
    first, total, both = ishigami_effects()
    assert within(effects.first[0], effects.first_error[0], first).all()
    assert within(effects.total[0], effects.total_error[0], total).all()
    pairs = effects.pairs
    assert within(pairs.interaction[0], pairs.interaction_error[0], [0, both, 0]).all()
    assert pairs.keys["pair"] == ("a and b", "a and c", "b and c")


def test_a_policy_is_measured_in_aitchison_geometry():
    """Log-ratios of a softmax are linear in the logits: the indices are known."""
    rng = np.random.default_rng(2)
    parts = {name: s * rng.normal(size=(200, 4)) for name, s in (("a", 1), ("b", 0.5))}
    effects = part_effects(
        lambda z: softmax(z, axis=1),
        parts,
        steps={"move": 4},
        n_draws=800,
        random_state=0,
    )
    truth = np.array([0.8, 0.2])
    assert within(effects.first[0], effects.first_error[0], truth).all()
    assert effects.step_names == ("move",)
    alone = [np.var(p - p.mean(1, keepdims=True), axis=0).sum() for p in parts.values()]
    whole = sum(parts.values())
    spread = np.var(whole - whole.mean(1, keepdims=True), axis=0).sum()
    assert_allclose(effects.alone[0], np.array(alone) / spread)


def policy(z):
    return softmax(z, axis=1)


def policy_parts(n_members, rng):
    scales = {"a": 1.0, "b": 0.5}
    return {name: s * rng.normal(size=(n_members, 4)) for name, s in scales.items()}


LINEAR = np.array([1.0, 0.49, 0.16]) / 1.65


@pytest.mark.slow
@cases(
    ("model", "parts_of", "arguments", "first", "total"),
    (lambda z: z, linear_parts, {}, LINEAR, LINEAR),
    (ishigami, ishigami_parts, {"combine": stacked}, *ishigami_effects()[:2]),
    (policy, policy_parts, {"steps": {"move": 4}}, [0.8, 0.2], [0.8, 0.2]),
    ids=["linear", "ishigami", "softmax"],
)
def test_standard_errors_cover(model, parts_of, arguments, first, total):
    """Over repetitions with new members and new draws."""
    hits = []
    for seed in range(200):
        effects = part_effects(
            model,
            parts_of(100, np.random.default_rng(seed)),
            n_draws=400,
            dependent=False,
            random_state=seed,
            **arguments,
        )
        hits.append(
            [
                within(effects.first[0], effects.first_error[0], first, 1.96),
                within(effects.total[0], effects.total_error[0], total, 1.96),
            ]
        )
    assert np.mean(hits, axis=(0, 2)).min() >= 0.93


def test_a_part_that_does_nothing_has_no_effect():
    rng = np.random.default_rng(3)
    parts = linear_parts(60, rng) | {"idle": rng.normal(size=60)}
    effects = part_effects(
        lambda z: z[:, 0] ** 2, parts, combine=stacked, random_state=0
    )
    assert_array_equal(effects.total[0, 1:], 0.0)
    assert_allclose(effects.first[0, 1:], 0.0, atol=0.2)
    assert_array_equal(effects.alone[0, 1:], 0.0)
    assert_allclose(effects.left[0], [0.0, 1.0, 1.0, 1.0])


def test_dependent_parts_are_reported():
    rng = np.random.default_rng(4)
    shared = rng.normal(size=120)
    parts = {"a": shared + 0.2 * rng.normal(size=120), "b": shared}
    effects = part_effects(lambda z: z, parts, random_state=0)
    assert effects.supported == (False,)
    assert "the parts are dependent" in effects.reasons[0][0]
    assert effects.variance_ratio[0] == pytest.approx(0.5, abs=0.1)
    assert effects.dependence.p_value[0] < 1e-6
    assert "NOT SUPPORTED" in str(effects)


def test_several_outputs_and_groups():
    rng = np.random.default_rng(5)
    parts = linear_parts(80, rng)

    def model(z):
        return np.c_[z[:, 0], z[:, 1], z[:, 1] + z[:, 2]]

    effects = part_effects(
        model, parts, combine=stacked, outputs={"one": 1, "two": 2}, random_state=0
    )
    assert effects.output_names == ("one", "two")
    assert effects["one"].total.argmax() == 0
    assert effects["two"].total[0] == 0.0
    assert effects.to_frame().shape[0] == 6


def test_batches_and_seeds():
    parts = linear_parts(40, np.random.default_rng(6))
    sizes, calls = [], []

    def model(z):
        sizes.append(len(z))
        return z

    one = part_effects(
        model,
        parts,
        n_draws=32,
        batch_size=10,
        random_state=1,
        progress=lambda done, every: calls.append((done, every)),
    )
    two = part_effects(model, parts, n_draws=32, random_state=1)
    assert_array_equal(one.total, two.total)
    assert max(sizes[:10]) == 10
    assert calls[-1] == (one.n_solutions, one.n_solutions)


@cases(
    ("parts", "message"),
    ({"a": np.zeros(9)}, "two or more names"),
    ([np.zeros(9)] * 2, "two or more names"),
    ({"a": np.zeros(9), "b": np.zeros(8)}, "9 for 'a', 8 for 'b'"),
    ({"a": np.zeros(3), "b": np.zeros(3)}, "same four or more members"),
    ({"a": np.zeros(9), "b": np.full(9, np.nan)}, "'b' of parts has values"),
    ({"a": np.zeros(9), "b": np.array(["x"] * 9)}, "'b' of parts has values"),
)
def test_bad_parts_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        part_effects(lambda z: z, parts)


def test_bad_models_are_refused():
    parts = linear_parts(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"model returned shape \(3,\) for 20 inputs"):
        part_effects(lambda z: z[:3], parts)
    with pytest.raises(ValueError, match="'n_draws' parameter of part_effects"):
        part_effects(lambda z: z, parts, n_draws=3)


def test_a_table_is_the_sum_of_its_parts():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(6, 3, 2, 4, 2))
    parts = parts_of_table(table, list("abcd"))
    assert list(parts)[:6] == ["mean", "a", "b", "c", "d", "a × b"]
    assert len(parts) == 1 + 4 + 6 + 1
    assert_allclose(sum(parts.values()), table)
    flat = np.array([part.reshape(6, -1) for part in parts.values()])
    products = np.einsum("pmi,qmi->pq", flat, flat)
    assert_allclose(products - np.diag(np.diag(products)), 0, atol=1e-10)


def test_all_orders_of_a_table_leave_no_rest():
    table = np.random.default_rng(8).normal(size=(5, 3, 2))
    parts = parts_of_table(table, ["a", "b"])
    assert list(parts) == ["mean", "a", "b", "a × b"]
    with pytest.raises(ValueError, match="must name each of the 2 axes"):
        parts_of_table(table, ["a"])
    with pytest.raises(ValueError, match="'table' parameter"):
        parts_of_table(np.full((5, 3, 2), np.nan), ["a", "b"])


def test_p_values_of_dependence_are_near_their_level():
    rng = np.random.default_rng(9)
    p_values = [
        part_effects(
            lambda z: z,
            linear_parts(40, rng),
            n_draws=16,
            dependent=False,
            random_state=0,
        ).dependence.p_value
        for _ in range(100)
    ]
    rejected = np.mean(np.array(p_values) < 0.05)
    assert stats.binom.cdf(round(300 * rejected), 300, 0.05) < 0.999


def product_parts(n_members, rng):
    """Two parts of means 2 and -1, for their product."""
    return {
        "a": 2.0 + rng.normal(size=n_members),
        "b": -1.0 + 0.5 * rng.normal(size=n_members),
    }


def product(z):
    return z[:, 0] * z[:, 1]


def test_a_product_solved_by_hand():
    """ab - E = (a - 2)(-1) + 2 (b + 1) + (a - 2)(b + 1): variances 1, 1, 1/4."""
    parts = product_parts(300, np.random.default_rng(10))
    effects = part_effects(
        product, parts, combine=stacked, n_draws=2000, random_state=0
    )
    first, total = np.array([1.0, 1.0]) / 2.25, np.array([1.25, 1.25]) / 2.25
    assert within(effects.first[0], effects.first_error[0], first).all()
    assert within(effects.total[0], effects.total_error[0], total).all()
    pairs = effects.pairs
    assert within(pairs.interaction[0], pairs.interaction_error[0], 0.25 / 2.25).all()


def test_an_exponential_solved_by_hand():
    """exp(a + b) of normal parts: the variance factors are e^(s^2) of each part."""
    rng = np.random.default_rng(11)
    squares = np.array([0.25, 0.16])
    parts = {
        name: s * rng.normal(size=400)
        for name, s in zip("ab", np.sqrt(squares), strict=True)
    }
    effects = part_effects(np.exp, parts, n_draws=2000, random_state=0)
    alone, whole = np.expm1(squares), np.expm1(squares.sum())
    assert within(effects.first[0], effects.first_error[0], alone / whole).all()
    total = 1.0 - alone[::-1] / whole
    assert within(effects.total[0], effects.total_error[0], total).all()


def test_a_softmax_against_quadrature():
    """The probability itself, a real output, so that the parts interact."""
    scales = {"a": 1.5, "b": 0.8}
    rng = np.random.default_rng(12)
    parts = {name: s * rng.normal(size=300) for name, s in scales.items()}

    def probability(z):
        return softmax(np.c_[z, np.zeros(len(z))], axis=1)[:, 0]

    effects = part_effects(probability, parts, n_draws=2000, random_state=0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    grid = scales["a"] * nodes[:, np.newaxis] + scales["b"] * nodes
    values = probability(grid.ravel()).reshape(grid.shape)
    mean = weights @ values @ weights
    variance = weights @ np.square(values - mean) @ weights
    first = [
        weights @ np.square(values @ weights - mean) / variance,
        weights @ np.square(weights @ values - mean) / variance,
    ]
    total = [1.0 - first[1], 1.0 - first[0]]
    assert within(effects.first[0], effects.first_error[0], first).all()
    assert within(effects.total[0], effects.total_error[0], total).all()
    assert effects.interaction[0] == pytest.approx(1.0 - sum(first), abs=0.03)


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


def test_a_set_of_one_part_is_that_part():
    parts = linear_parts(50, np.random.default_rng(14))
    effects = part_effects(
        lambda z: z, parts, sets={"a": ["a"]}, n_draws=64, random_state=0
    )
    assert effects.sets.closed[0, 0] == pytest.approx(effects.first[0, 0])
    assert effects.sets.total_error[0, 0] == pytest.approx(effects.total_error[0, 0])


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

    effects = part_effects(
        model,
        {"a": parts["a"] * [3, 1, 1, 0, 0], "b": parts["b"]},
        steps={"one": 3, "two": 2},
        outputs={"score": 1},
        n_draws=128,
        random_state=0,
    )
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


def test_members_are_drawn_equally_often():
    for n_members, n_draws in ((10, 40), (10, 37), (30, 12)):
        generator = np.random.default_rng(0)
        first, second = draw_pairs(n_members, 3, n_draws, generator)
        assert (first != second).all()
        for found in (first, second):
            counts = [np.bincount(column, minlength=n_members) for column in found.T]
            assert np.ptp(counts, axis=1).max() <= 1
