"""Training noise in the verdict: the share, its interval, and what they decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.model_selection import KFold

from skpce import CompositionalPCESurrogate
from skpce.inspection import variance_decomposition, verdict

WIDTHS = (3, 2, 4)
QUICK = {"n_permutations": 99, "random_state": 0}


def surrogate(degree=1, **parameters):
    fixed = {"solver": "ridge", "distribution": "normal"} | parameters
    return CompositionalPCESurrogate(degree, steps=WIDTHS, **fixed)


def test_training_noise_vetoes(replicated):
    X, y, reward = replicated(noise=4.0)
    options = {"n_permutations": 99, "random_state": 0, "min_q2": -10.0}
    free = verdict(surrogate(), X, y, reward, max_noise_share=10.0, **options)
    found = verdict(surrogate(), X, y, reward, **options)
    for step, without in zip(found.steps, free.steps, strict=True):
        assert step.noise_share > 0.5
        assert step.reasons[:-1] == without.reasons
        assert step.reasons[-1].startswith("training noise ")
        assert not any("settle" in text for text in found.cautions)
        assert not step.attributable


def test_a_decomposition_of_steps_in_another_order_is_refused(replicated):
    X, y, reward = replicated(noise=0.7)
    names = ("first", "second", "third")
    model = surrogate().set_params(steps=dict(zip(names, WIDTHS, strict=True)))
    options = {**QUICK, "n_permutations": 19}
    fitting = variance_decomposition(y, reward, steps=model.steps)
    unnamed = variance_decomposition(y, reward, steps=WIDTHS)
    shares = [
        [
            step.noise_share
            for step in verdict(model, X, y, noise_share=n, **options).steps
        ]
        for n in (fitting, unnamed)
    ]
    np.testing.assert_array_equal(*shares)
    turned = np.hstack([y[:, 5:], y[:, :5]])
    steps = {"third": 4, "first": 3, "second": 2}
    other = variance_decomposition(turned, reward, steps=steps)
    with pytest.raises(ValueError, match=r"of the steps \['third', 'first'"):
        verdict(model, X, y, noise_share=other, **options)


def test_replicates_that_are_not_declared_are_found():
    """Policies by chance, four copies each: would be remembered, not predicted."""
    rng = np.random.default_rng(0)
    reward = np.repeat(np.arange(15), 4)
    X = rng.normal(size=(15, 2))[reward]
    logits = rng.normal(size=(15, sum(WIDTHS)))[reward]
    y = np.hstack([softmax(part, axis=1) for part in np.split(logits, [3, 5], axis=1)])
    found = verdict(surrogate(4), X, y, **QUICK)
    assert not any(found.attributable)
    words = "60 members are near-copies of others (groups of up to 4)"
    assert any(text.startswith(words) for text in found.cautions)
    noise = [0.0] * 3
    known = verdict(surrogate(4), X, y, reward, noise_share=noise, **QUICK)
    assert not any(known.attributable)
    reduced = [
        (np.flatnonzero(reward % 5 != k), np.flatnonzero(reward % 5 == k))
        for k in range(5)
    ]
    for found in (known, verdict(surrogate(4), X, y, cv=reduced, **QUICK)):
        assert not any("held-out members" in text for text in found.cautions)


def test_a_given_noise_share_is_used(ensemble):
    X, y = ensemble
    share = [0.1, 0.9, np.nan]
    found = verdict(
        surrogate(2), X, y, noise_share=share, n_permutations=99, random_state=0
    )
    np.testing.assert_array_equal([step.noise_share for step in found.steps], share)
    assert all(np.isnan(step.noise_share_low) for step in found.steps)
    assert found.attributable == (True, False, True)
    assert found.steps[1].reasons == (
        "training noise makes up 90% of the variance, at least 50%",
    )


@pytest.mark.parametrize("confidence_level", [0.5, 0.9])
def test_the_interval_is_that_of_the_decomposition(replicated, confidence_level):
    X, y, reward = replicated(noise=0.7)
    found = verdict(
        surrogate(), X, y, reward, confidence_level=confidence_level, **QUICK
    )
    split = variance_decomposition(
        y, reward, steps=WIDTHS, confidence_level=confidence_level
    ).aitchison_variance
    for name in ("noise_share", "noise_share_low", "noise_share_high"):
        np.testing.assert_array_equal(
            [getattr(step, name) for step in found.steps], getattr(split, name)
        )
    for step in found.steps:
        assert step.noise_share_low < step.noise_share < step.noise_share_high
        shown = f"[{step.noise_share_low:.0%}, {step.noise_share_high:.0%}]"
        assert f"training noise {step.noise_share:.0%} {shown}" in str(step)
        assert f"<td>{step.noise_share_low:.3g}</td>" in found._repr_html_()


def test_the_interval_stands_beside_the_share_in_the_table(replicated):
    pytest.importorskip("pandas")
    found = verdict(surrogate(), *replicated(noise=0.7), **QUICK)
    table = found.to_frame()
    first = table.columns.get_loc("noise_share")
    assert table.columns[first + 1 : first + 3].tolist() == [
        "noise_share_low",
        "noise_share_high",
    ]
    assert table["noise_share_low"].tolist() == [
        step.noise_share_low for step in found.steps
    ]


def known_noise(y, share, low, high):
    """A decomposition with one share and interval in every step."""
    found = variance_decomposition(y, control=y, steps=WIDTHS)
    known = {"noise_share": share, "noise_share_low": low, "noise_share_high": high}
    columns = {name: np.full((3, 3), value) for name, value in known.items()}
    return replace(found, columns={**found.columns, **columns})


@pytest.mark.parametrize(
    ("share", "low", "high", "attributable", "is_open"),
    [
        (0.2, 0.1, 0.3, True, False),
        (0.45, 0.3, 0.6, True, True),
        (0.55, 0.4, 0.7, False, True),
        (0.8, 0.6, 1.0, False, False),
        (0.2, np.nan, np.nan, True, False),
    ],
)
def test_the_estimate_decides_and_an_open_interval_is_a_caution(
    ensemble, share, low, high, attributable, is_open
):
    X, y = ensemble
    found = verdict(
        surrogate(2), X, y, noise_share=known_noise(y, share, low, high), **QUICK
    )
    assert found.attributable == (attributable,) * 3
    text = " ".join(found.cautions)
    named = "training noise of step0, step1, step2 holds 50%" in text
    assert named == is_open
    assert "not known" not in text


def test_the_threshold_decides_what_is_open(ensemble):
    X, y = ensemble
    noise = known_noise(y, 0.2, 0.1, 0.3)
    found = verdict(
        surrogate(2), X, y, noise_share=noise, max_noise_share=0.25, **QUICK
    )
    assert found.attributable == (True,) * 3
    assert any("holds 25%" in text for text in found.cautions)


def test_a_step_without_choice_has_no_say_in_the_noise(simulate):
    X, y = simulate(n_members=15, widths=(3,))
    reward = np.repeat(np.arange(15), 2)
    rng = np.random.default_rng(0)
    noisy = softmax(np.log(y[reward]) + 0.1 * rng.normal(size=(30, 3)), axis=1)
    y = np.hstack([noisy, np.tile([0.0, 1.0], (30, 1))])
    model = CompositionalPCESurrogate(
        2, steps=(3, 2), solver="ridge", distribution="normal"
    )
    found = verdict(model, X[reward], y, reward, **QUICK)
    assert found.steps[0].noise_share < found.steps[0].noise_share_high < 0.5
    assert np.isnan(found.steps[1].noise_share_low)
    assert not any("training noise" in text for text in found.cautions)


def test_a_decomposition_of_other_steps_is_refused(ensemble):
    X, y = ensemble
    other = variance_decomposition(y[:, :3], control=y[:, :3])
    with pytest.raises(ValueError, match=r"shape \(1,\); expected \(3,\)"):
        verdict(surrogate(), X, y, noise_share=other)


def test_folds_that_divide_a_reward_are_refused(replicated):
    X, y, reward = replicated(noise=0.1)
    with (
        pytest.warns(UserWarning, match="groups"),
        pytest.raises(
            ValueError, match="both into training and into test; use a splitter"
        ),
    ):
        verdict(surrogate(), X, y, reward, cv=KFold(5, shuffle=True), random_state=0)
    with pytest.raises(ValueError, match="the number of different groups"):
        verdict(surrogate(), X, y, reward, cv=1000)


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ([0.1, -3.0, 0.1], "noise_share must be finite and not negative"),
        ([0.1, np.inf, 0.1], "noise_share must be finite and not negative"),
        (["a", "b", "c"], "noise_share must be 3 numbers"),
    ],
)
def test_a_noise_share_that_is_none(ensemble, share, message):
    with pytest.raises(ValueError, match=message):
        verdict(surrogate(), *ensemble, noise_share=share)
