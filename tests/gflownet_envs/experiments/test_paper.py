"""Our figures beside the paper's claims, on results made by hand."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from gflownet_envs.experiments import claims
from gflownet_envs.rewards.molecules import POSITIONS
from tests.shared import cases, ridge_surrogate


@pytest.fixture
def source():
    """Two steps and two inputs; a claim reads what it needs."""
    coverage = SimpleNamespace(coverage=np.array([[0.1, 0.2], [0.5, 0.93]]))
    indices = np.array([[0.9, 0.2], [0.3, 0.8]])
    main = SimpleNamespace(
        expansion_alr_sum=np.array([70.0, 10.0]),
        calibration={"push-forward alone": coverage},
        surrogate=SimpleNamespace(step_total_sobol_indices_=indices),
    )
    sums, variance = np.array([60.0, 200.0]), np.array([1.0, 3.0])
    fragility = SimpleNamespace(alr_sum=sums, aitchison_variance=variance)
    dataset = SimpleNamespace(step_names=("first", "last"), trajectory=("stop",))
    return SimpleNamespace(dataset=dataset, fragility=fragility, main=main)


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
    surrogate = source.main.surrogate
    indices = [*surrogate.step_total_sobol_indices_, [np.nan, np.nan]]
    surrogate.step_total_sobol_indices_ = np.array(indices)
    q2 = {"first": 0.5, "last": 0.4, "forced": np.nan}
    steps = [SimpleNamespace(step=step, q2=value) for step, value in q2.items()]
    source.main.verdict = SimpleNamespace(steps=steps)
    expected = "first 0.90 and 0.20, last 0.30 and 0.80"
    for late in ("last", "forced", "missing"):
        assert claims.gain(source, "first", late) == expected


@cases(
    ("bimodal", "figure"),
    (set(), "at no step"),
    ({0}, "first"),
    ({0, 1}, "first, last"),
)
def test_two_modes_name_their_steps(source, bimodal, figure):
    X = np.random.default_rng(0).normal(size=(30, 1))
    logits = [4 * np.tanh(3 * X) if step in bimodal else X for step in range(2)]
    y = np.hstack([np.hstack([expit(-logit), expit(logit)]) for logit in logits])
    steps = {"first": 2, "last": 2}
    source.dataset.step_slices = (slice(0, 2), slice(2, 4))
    source.dataset.action_names = ("go", "EOS", "go", "EOS")
    source.main.surrogate = ridge_surrogate(1, steps=steps).fit(X, y)
    assert claims.two_modes(source, "EOS") == figure


@cases(
    ("others", "figure"),
    (False, "Mek → Raf 0.20 and 0.90"),
    (True, "PKA → Akt 0.90 and 0.10"),
)
def test_which_component_leads(source, others, figure):
    edges, indices = [("Raf", "Mek")], [[0.2, 0.9], [0.9, 0.1], [0.5, 0.5]]
    source.dataset.trajectory = ("Mek → Raf", "PKA → Akt", "stop")
    source.dataset.steps = (3, 3, 3)
    source.main.surrogate.step_total_sobol_indices_ = np.array(indices)
    assert claims.leading_input(source, edges, others) == figure
    found = claims.leading_input(source, [("Raf", "Erk")])
    assert found == "no such edge on the trajectory"


def test_the_range_of_the_variances_leaves_the_stop_out(source):
    assert claims.alr_of_edges(source) == "no edge on the trajectory"
    source.dataset.trajectory = ("a → b", "b → c", "stop")
    source.fragility.alr_sum = np.array([1.0e5, 3.0e5, 1.0])
    source.main.expansion_alr_sum = source.fragility.alr_sum
    figures = "1.0e+05 to 3.0e+05 (members 1.0e+05 to 3.0e+05)"
    assert claims.alr_of_edges(source) == figures


def test_the_error_of_the_mean_policy_stands_beside(source):
    y = np.array([[0.5, 0.5], [0.7, 0.3]])
    source.dataset.train = SimpleNamespace(y=y)
    source.dataset.test = SimpleNamespace(y=y[:1], X=None, n_members=1)
    predicted = np.array([[0.516, 0.484]])
    source.main.pipeline = SimpleNamespace(predict=lambda X: predicted)
    assert claims.mean_error(source) == "0.0160 (mean policy 0.1000)"


def test_claims_about_five_positions(source):
    source.dataset.step_names = POSITIONS
    source.main.expansion_alr_sum = np.array([16.0, 20.0, 27.0, 12.0, 25.0])
    covered = np.array([[0.1] * 5, [0.95, 0.7, np.nan, 0.8, 0.9]])
    source.main.calibration["push-forward alone"].coverage = covered
    scaffolds, decorations = POSITIONS[:2], POSITIONS[3:]
    assert claims.alr_of_steps(source, scaffolds) == "16.0, 20.0"
    assert claims.alr_of_steps(source, decorations) == "12.0, 25.0"
    assert claims.alr_ratio(source, "linker", scaffolds) == "1.50"
    assert claims.alr_ratio(source, "linker", decorations) == "1.46"
    assert claims.coverage_range(source) == "0.70 to 0.95"


def test_claims_about_components_read_the_fitted_pca(source):
    shares = np.array([0.2, 0.05])
    pca = SimpleNamespace(explained_variance_ratio_=shares)
    pca.components_ = np.array([[0.5, 0.5, 0.5, 0.5], [1, -1, 0, 0]])
    source.main.pipeline = [pca]
    assert claims.explained_variance(source) == "25.0%"
    assert claims.uniform_component(source) == "cosine 1.00"
    pca.components_ = np.array([[1.0, -1.0, 1.0, -1.0]])
    assert claims.uniform_component(source) == "cosine 0.00"
