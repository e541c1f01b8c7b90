"""Displays and reports of real outputs: right numbers, groups, words and refusals."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skpce import PolynomialChaosRegressor, report
from skpce.inspection import verdict
from skpce.metrics._coverage import output_coverage
from skpce.plotting import (
    ConvergenceDisplay,
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PolicyDistributionDisplay,
    RewardEffectsDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from tests.shared import refuses, ridge_pce

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

OUTPUTS = {"accuracy": 1, "logits": 2}
WORDS = re.compile(r"\b(polic(y|ies)|rewards?|steps?|surrogate|actions?)\b", re.I)

BEHIND = make_pipeline(PCA(2, whiten=True), ridge_pce(2))
MODELS = {
    "alone": ridge_pce(2),
    "behind PCA": BEHIND,
    "learned": PolynomialChaosRegressor(),
    "in a search": GridSearchCV(BEHIND, {"polynomialchaosregressor__degree": [1, 2]}),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.c_[X[:, 0] + X[:, 0] * X[:, 1], 3 * X[:, 1], rng.normal(size=60)]
    return X, y + 0.3 * rng.normal(size=(60, 3))


@pytest.fixture(scope="module")
def frame(data):
    columns = [("accuracy", ""), ("logits", 0), ("logits", 1)]
    return pd.DataFrame(data[1], columns=pd.MultiIndex.from_tuples(columns))


def all_displays(model, X, y, found):
    """Every display of real outputs, with the verdict where it takes one."""
    known = {"verdict": found}
    yield SobolDisplay.from_estimator(model, **known)
    yield SobolDisplay.from_estimator(model, kind="heatmap", **known)
    yield InteractionDisplay.from_estimator(model, step=found.step_names[-1], **known)
    yield MainEffectsDisplay.from_estimator(model, X, **known)
    yield StepVarianceDisplay.from_estimator(model, y, **known)
    yield RewardEffectsDisplay.from_estimator(model, X, **known)
    yield RewardEffectsDisplay.from_estimator(model, X, kind="heatmap", **known)
    yield CoverageDisplay.from_estimator(model, X, y)
    yield EmbeddingDisplay.from_estimator(model, X)
    yield ConvergenceDisplay.from_estimator(model, X, y, n_repeats=1, sizes=(20, 40))


def texts_of(display):
    display.figure_.canvas.draw()
    return " ".join(text.get_text() for text in display.figure_.findobj(plt.Text))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_display_draws_real_outputs(X, name, frame):
    model = MODELS[name]
    found = verdict(model, X, frame)
    assert tuple(found.keys) == ("output",)
    for display in all_displays(model.fit(X, frame), X, frame, found):
        assert not WORDS.search(texts_of(display)), type(display).__name__


def test_groups_come_from_the_verdict_or_are_given(X, y):
    model = ridge_pce(2).fit(X, y)
    found = verdict(ridge_pce(2), X, y, outputs=OUTPUTS)
    by_verdict = SobolDisplay.from_fit(model, verdict=found)
    assert by_verdict.step_names == ["accuracy", "logits"]
    assert_array_equal(by_verdict.unexplained, found.not_predicted)
    assert_array_equal(by_verdict.shares[:, :3], found.drivers.first)
    given = SobolDisplay.from_fit(model, outputs=OUTPUTS)
    assert SobolDisplay.from_fit(model).step_names == ["y0", "y1", "y2"]
    shown = InteractionDisplay.from_estimator(model, step="logits", outputs=OUTPUTS)
    pairs = model.interaction_indices(2)
    weights = model.total_variance_[1:]
    both = weights @ pairs.values[1:] / weights.sum()
    explained = 1 - given.unexplained[1]
    place = pairs.subsets.index((1,))
    assert_allclose(shown.values[1, 1], explained * both[place])


def test_a_verdict_about_other_outputs_is_refused(X, y):
    names = ["a", "b", "c"]
    model = ridge_pce(1).fit(X, pd.DataFrame(y, columns=names))
    found = verdict(model, X, pd.DataFrame(y, columns=names[::-1]))
    known, message = {"verdict": found}, "verdict is about the outputs"
    refuses(message, SobolDisplay.from_estimator, model, **known)
    refuses(message, RewardEffectsDisplay.from_estimator, model, X, **known)
    message = "step='d' must be one of a, b, c"
    refuses(message, InteractionDisplay.from_estimator, model, step="d")


def test_displays_of_compositions_say_what_to_use(X, y):
    model = ridge_pce(1).fit(X, y)
    with pytest.raises(ValueError, match="For real outputs use StepVarianceDisplay"):
        PolicyDistributionDisplay.from_estimator(model, y)
    for draw in (report, CoverageDisplay.from_estimator):
        refuses("an expansion alone has no residuals", draw, model.expansion_, X, y)


# The spread of members.


def test_spread_of_members(X, y):
    y = y.copy()
    y[:5, 1] = np.nan
    with warnings.catch_warnings(action="ignore"):
        model = ridge_pce(1).fit(X, y)
    display = StepVarianceDisplay.from_estimator(model, y, outputs=OUTPUTS)
    found, rest = display.fragility, y[5:, 1:]
    assert found.output_names == ("accuracy", "logits")
    assert found.members.tolist() == [60, 55]
    assert_allclose(found.variance, [y[:, 0].var(), rest.var(axis=0).sum()])
    assert_allclose(found.variance_per_column[1], rest.var(axis=0).mean())
    assert_allclose(found.standard_deviation[0], y[:, 0].std())
    assert (found.minimum[1], found.maximum[1]) == (rest.min(), rest.max())
    assert len(display.axes_) == 3
    agreed = StepVarianceDisplay.from_predictions(np.c_[y[:, 0], np.full(60, 0.1)])
    assert agreed.fragility.variance[1] == 0.0
    alone = StepVarianceDisplay.from_predictions(y, outputs=OUTPUTS)
    assert_array_equal(alone.fragility.variance, found.variance)


# Coverage, convergence.


def test_coverage_of_groups_with_failed_members():
    y = np.array([[0.0, 0.0, 5.0], [0.0, 9.0, 0.0], [9.0, np.nan, 0.0]])
    ends = np.full((1, 3), -1.0), np.full((1, 3), 1.0)
    groups = np.array([0, 1, 1])
    marginal, joint = (
        output_coverage(y, *ends, groups, kind) for kind in ("marginal", "joint")
    )
    assert_allclose(marginal.coverage, [2 / 3, 2 / 4])
    assert_allclose(joint.coverage, [2 / 3, 0.0])
    assert marginal.n_members == 3
    lost = output_coverage(np.full((3, 3), np.nan), *ends, groups)
    assert np.isnan(lost.coverage).all()


def test_convergence_of_groups(X, y, frame):
    model = ridge_pce(1)
    options = {"sizes": (45,), "n_repeats": 1, "random_state": 3}
    display = ConvergenceDisplay.from_estimator(model, X, frame, **options)
    given = ConvergenceDisplay.from_estimator(model, X, y, outputs=OUTPUTS, **options)
    assert display.curve_names == given.curve_names == ["accuracy", "logits"]
    assert_allclose(display.values, given.values)
    alone = ConvergenceDisplay.from_estimator(model, X, y, **options)
    assert_allclose(alone.values[0, 0, 0], display.values[0, 0, 0])
    low, high = np.sort(alone.values[0, 0, 1:])
    assert low < display.values[0, 0, 1] < high


# The report.


def prose(page):
    """The words that one reads, without figures and the repr of the pipeline."""
    text = re.sub(
        r"<style>.*?</style>|<pre>.*?</pre>|<img[^>]*>", " ", page, flags=re.S
    )
    return re.sub(r"<[^>]+>", " ", text)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_report_of_real_outputs(X, name, frame):
    model = MODELS[name]
    found = verdict(model, X[:40], frame[:40])
    page = report(model.fit(X[:40], frame[:40]), X[40:], frame[40:], verdict=found)
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        *("Answer", "Verdict", "How well the inputs predict each output"),
        *("How much the members disagree", "Shares of the variance and Sobol indices"),
        *("Coverage on the test data", "What each input does"),
        *("The inputs", "How this was made"),
    ]
    assert not WORDS.search(prose(page))
    assert "logits" in page
    assert "What drives each output</title>" in page
    again = report(model, X[40:], frame[40:], verdict=found)
    assert page == again


@pytest.mark.slow
def test_a_report_of_scaled_groups_and_failed_members(X, y):
    y = y.copy()
    y[45:48, 0] = np.nan
    model = ridge_pce(1)
    found = verdict(model, X[:40], y[:40], outputs=OUTPUTS, standardize=True)
    page = report(model.fit(X[:40], y[:40]), X[40:], y[40:], verdict=found)
    assert "added up in units of their standard deviations" in page
    assert "counts in the others" in page
    scales = y[:40].std(axis=0)[1:]
    errors = np.square((y[40:] - model.predict(X[40:]))[:, 1:] / scales).sum()
    spread = 20 * (y[40:, 1:] / scales).var(axis=0).sum()
    assert f"{1 - errors / spread:.2g}" in page


@pytest.mark.parametrize("solver", [None, "ridge"])
def test_intervals_of_indices_in_a_report_know_what_the_fit_leaves_out(solver, rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    model = PolynomialChaosRegressor(solver=solver).fit(X[:40], y[:40])
    found = model.sobol_interval(random_state=0)
    assert found.method == ("residual" if solver else "posterior")
    low, high = found.total_order[:, 0, 0]
    page = report(model, X[40:], y[40:])
    assert f"[{low:.2f},\xa0{high:.2f}]" in page
    assert "what the expansion leaves out" in page
