"""Our figures beside the paper's claims, on results made by hand."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from gflownet_envs.experiments import claims
from tests.shared import cases, ridge_surrogate


@pytest.fixture
def source():
    return SimpleNamespace(
        dataset=SimpleNamespace(step_names=("first", "last")),
        fragility=SimpleNamespace(
            alr_sum=np.array([60.0, 200.0]), aitchison_variance=np.array([1.0, 3.0])
        ),
        main=SimpleNamespace(
            expansion_alr_sum=np.array([70.0, 10.0]),
            calibration={
                "push-forward alone": SimpleNamespace(
                    coverage=np.array([[0.1, 0.2], [0.5, 0.93]])
                )
            },
            surrogate=SimpleNamespace(
                step_total_sobol_indices_=np.array([[0.9, 0.2], [0.3, 0.8]])
            ),
        ),
    )


@cases(
    ("measure", "steps", "figure"),
    (claims.alr_sum, ["first"], "70.0 (members 60.0)"),
    (claims.coverage, ["last"], "0.93"),
    (claims.coverage, ["first"], "0.50"),
    (claims.order, ["last", "first"], "last 3.00, first 1.00"),
)
def test_our_figure_stands_beside_the_papers(source, measure, steps, figure):
    assert measure(source, *steps) == figure


@cases(
    ("variance", "figure"),
    ([0.41, 0.50, 0.37, 0.11, 0.67], "0.41, 0.50, 0.37, 0.11, 0.67"),
    ([0.1, 0.3, np.nan, 0.2, 0.4], "0.10, 0.30, 0.20, 0.40"),
)
def test_a_rise_is_a_correlation_over_all_steps(source, variance, figure):
    """The first and the last of five moves alone would say that it rises."""
    source.fragility.aitchison_variance = np.array(variance)
    found = claims.rising(source)
    assert found.startswith(figure)
    signs = [np.sign(b - a) for a, b in combinations(variance, 2)]
    assert f"correlation {np.nanmean(signs):.1f})" in found


def test_the_last_step_with_a_choice_stands_in_for_one_without(source):
    """Neither a step that is missing nor one that is forced has indices."""
    source.dataset.step_names = ("first", "last", "forced")
    indices = source.main.surrogate.step_total_sobol_indices_
    indices = np.vstack((indices, [[np.nan, np.nan]]))
    source.main.surrogate.step_total_sobol_indices_ = indices
    source.main.verdict = SimpleNamespace(
        steps=[
            SimpleNamespace(step=step, q2=q2)
            for step, q2 in zip(
                source.dataset.step_names, (0.5, 0.4, np.nan), strict=True
            )
        ]
    )
    expected = "first 0.90 and 0.20, last 0.30 and 0.80"
    for late in ("last", "forced", "missing"):
        assert claims.gain(source, "first", late) == expected


@cases(
    ("bimodal", "figure"),
    (set(), "at no step"),
    ({0}, "first"),
    ({0, 1}, "first, last"),
)
def test_two_modes_name_their_steps(bimodal, figure):
    dataset = SimpleNamespace(
        step_names=("first", "last"),
        step_slices=(slice(0, 2), slice(2, 4)),
        action_names=("go", "EOS", "go", "EOS"),
    )
    X = np.random.default_rng(0).normal(size=(30, 1))
    logits = [4 * np.tanh(3 * X) if step in bimodal else X for step in range(2)]
    y = np.hstack([np.hstack([expit(-logit), expit(logit)]) for logit in logits])
    steps = {"first": 2, "last": 2}
    surrogate = ridge_surrogate(1, steps=steps).fit(X, y)
    found = SimpleNamespace(dataset=dataset, main=SimpleNamespace(surrogate=surrogate))
    assert claims.two_modes(found, "EOS") == figure


def test_a_trajectory_that_stops_at_once_has_no_range(source):
    source.dataset.trajectory = ("stop",)
    assert claims.alr_of_edges(source) == "no edge on the trajectory"
