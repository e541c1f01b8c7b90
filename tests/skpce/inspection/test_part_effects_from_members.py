"""Effects of parts from a fit to the members: closed forms, and solving again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from skpce.inspection import part_effects, part_effects_from_members


@pytest.mark.slow
def test_a_linear_model_with_noise():
    """Shares of 4, 1 and 1 of 6; the noise is in no part."""
    rng = np.random.default_rng(0)
    parts = {"a": rng.normal(size=400), "b": rng.normal(size=(400, 2))}
    y = 2.0 * parts["a"] + parts["b"][:, 0] + rng.normal(size=400)
    found = part_effects_from_members(parts, y)
    truth = np.array([4.0, 1.0]) / 6.0
    assert (np.abs(found.first[0] - truth) <= 3 * found.first_error[0]).all()
    assert found.unexplained[0] == pytest.approx(1.0 / 6.0, abs=0.05)
    np.testing.assert_array_equal(found.first, found.total)
    assert found.first.sum() + found.unexplained[0] == pytest.approx(1.0)
    assert found.supported == found.verdict.attributable == (True,)
    assert found.n_components == {"a": 1, "b": 2}
    assert (found.p_value <= 0.001).all()
    assert found.n_terms == 4
    assert "unexplained" in str(found)


@pytest.mark.slow
def test_a_product_of_parts_interacts():
    rng = np.random.default_rng(1)
    parts = {name: rng.normal(size=300) for name in "abc"}
    y = parts["a"] * parts["b"] + parts["c"]
    found = part_effects_from_members(parts, y, degree=2)
    np.testing.assert_allclose(found.first[0], [0, 0, 0.5], atol=0.1)
    np.testing.assert_allclose(found.total[0], [0.5, 0.5, 0.5], atol=0.1)
    assert abs(found.first[0, 2] - 0.5) <= 3 * found.first_error[0, 2]
    np.testing.assert_allclose(found.interaction, found.total - found.first)
    assert found.interaction_error.shape == found.interaction.shape


def test_it_agrees_with_solving_again_on_a_policy():
    """Log-ratios are linear in few directions of each part: nothing is lost."""
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(2, 6))
    parts = {
        "a": rng.normal(size=(150, 1)) * directions[0],
        "b": 0.6 * rng.normal(size=(150, 1)) * directions[1],
    }

    def model(z):
        return np.c_[softmax(z[:, :4], axis=1), softmax(z[:, 4:], axis=1)]

    steps = {"one": 4, "two": 2}
    y = model(sum(parts.values()))
    found = part_effects_from_members(parts, y, steps=steps, degree=2)
    again = part_effects(model, parts, steps=steps, n_draws=1000, random_state=0)
    assert found.step_names == again.step_names == ("one", "two")
    error = np.hypot(again.first_error, found.first_error)
    assert (np.abs(found.first - again.first) <= 3 * error).all()
    assert found.unexplained.max() < 0.01
    assert found.n_components == {"a": 1, "b": 1}


def test_noise_is_not_supported():
    rng = np.random.default_rng(3)
    parts = {name: rng.normal(size=(60, 3)) for name in "ab"}
    found = part_effects_from_members(parts, rng.normal(size=60))
    assert found.supported == (False,)
    assert found.reasons[0]
    assert found.unexplained[0] > 0.8


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_parts_that_cannot_be_separated_are_not_supported(noise):
    rng = np.random.default_rng(0)
    one = rng.normal(size=100)
    parts = {"one": one, "other": noise * rng.normal(size=100) - one}
    found = part_effects_from_members(parts, one)
    assert not any(found.supported)
    assert "one and other have a distance correlation of" in found.reasons[0][-1]
    assert found.dependence.distance_correlation.shape == (1,)


@pytest.mark.slow
def test_standard_errors_are_those_of_repetitions():
    """Over ensembles: 1.96 of them hold the effect of a linear model."""
    hits = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        parts = {"a": rng.normal(size=100), "b": 0.7 * rng.normal(size=100)}
        y = sum(parts.values()) + 0.5 * rng.normal(size=100)
        found = part_effects_from_members(parts, y, cv=3)
        truth = np.array([1.0, 0.49]) / 1.74
        hits.append(np.abs(found.first[0] - truth) <= 1.96 * found.first_error[0])
    assert np.mean(hits) >= 0.9


def test_a_constant_part_and_several_outputs():
    rng = np.random.default_rng(4)
    parts = {"a": rng.normal(size=(80, 2)), "b": np.ones(80), "c": rng.normal(size=80)}
    y = np.c_[parts["a"], 100 * parts["c"], parts["a"][:, 0]]
    found = part_effects_from_members(
        parts,
        y,
        outputs={"a": 2, "mixed": 2},
        standardize=True,
    )
    assert found.n_components == {"a": 2, "b": 0, "c": 1}
    np.testing.assert_allclose(found.first[0], [1, 0, 0], atol=0.02)
    np.testing.assert_allclose(found.first[1], [0.5, 0, 0.5], atol=0.1)
    assert np.isnan(found.p_value[:, 1]).all()
    assert (found.p_value[1, [0, 2]] < 0.05).all()
    assert found.p_value[0, 2] > 0.05


def test_no_order_of_members_matters():
    rng = np.random.default_rng(5)
    parts = {name: rng.normal(size=(50, 3)) for name in "ab"}
    y = sum(parts.values())[:, 0] + rng.normal(size=50)
    one = part_effects_from_members(parts, y)
    turned = {name: values[::-1] for name, values in parts.items()}
    two = part_effects_from_members(turned, y[::-1])
    for name in ("first", "total_error", "p_value"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(19)}, "y has 19 members; expected 20, as the parts"),
        ({"y": np.r_[np.nan, np.zeros(19)]}, "y has NaN in 1 of 20 members"),
        ({"parts": {"a": np.ones(20), "b": np.ones(20)}}, "None of the parts varies"),
        ({"parts": {"a": np.ones(20)}}, "'parts' parameter of part_effects_from_m"),
        ({"n_components": 0}, "'n_components' parameter of part_effects_from_m"),
        ({"degree": 0}, "'degree' parameter of part_effects_from_members"),
        (
            {"y": np.full((20, 3), 0.5), "steps": [2], "outputs": {"s": 1}},
            "compositions and real outputs",
        ),
    ],
)
def test_bad_arguments_are_refused(change, message):
    rng = np.random.default_rng(0)
    given = {
        "parts": {name: rng.normal(size=20) for name in "ab"},
        "y": rng.normal(size=20),
    }
    with pytest.raises(ValueError, match=message):
        part_effects_from_members(**(given | change))
