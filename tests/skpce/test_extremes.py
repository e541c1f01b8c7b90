"""Extreme and unreadable data: scaled, or refused by name; never NaN in silence."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import ks_2samp, kstest, norm

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce._expansion.problem import change_of_basis, sample_extremes
from skpce._input_laws import NAMED_LAWS
from skpce._input_laws.families import BetaLaw, ExponentialLaw, GammaLaw, UniformLaw
from skpce.inspection import input_tests, verdict
from skpce.metrics import coverage_interval, crps_score
from tests.shared import OLS, agree, refuses, ridge_pce, ridge_surrogate


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, X[:, 0] + X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=40)


def with_cell(X, value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


@pytest.mark.parametrize("scale", [1e-65, 1e-30, 1e30, 1e65])
def test_indices_do_not_depend_on_the_unit(X, y, scale):
    plain = ridge_pce(2).fit(X, y)
    scaled = ridge_pce(2).fit(X * scale, y * scale)
    agree(scaled, plain, "total_sobol_indices_", "q2_", rtol=1e-6)


def test_magnitudes_that_are_too_large_or_too_small(X, y):
    for scale in (1e72, 1e155, 1e300):
        message = r"y has .*e\+.* expected numbers up to"
        refuses(message, ridge_pce(2).fit, X, y * scale)
    for scale in (1e-80, 1e-160, 1e-300):
        message = r"varies by .*; expected at least"
        refuses(f"y {message}", ridge_pce(2).fit, X, y * scale)
        refuses(f"X {message}", ridge_pce(2).fit, X * scale, y)


@pytest.mark.parametrize("law", ["normal", "uniform", "gamma", "exponential"])
def test_one_cell_that_hides_the_others_or_does_not(X, y, law):
    model = ridge_pce(2, distribution=law)
    assert np.isfinite(model.fit(with_cell(X, 1e9), y).q2_).all()
    for value in (1e18, 1e60, 1e300):
        message = r"X has .*e\+.* expected (values|numbers)"
        refuses(message, model.fit, with_cell(X, value), y)


@pytest.mark.filterwarnings("ignore:A quarter of the values")
def test_inputs_far_from_their_distribution(X, y):
    fitted = ridge_pce(3).fit(X, y)
    assert np.isfinite(fitted.predict([[1e10, 1e10]])).all()
    for value in (1e40, 1e60):
        message = "column 0, where polynomials of deg"
        refuses(message, fitted.predict, [[value, 0.0]])
    frozen = ridge_pce(2, distribution=norm(0, 1e-60))
    refuses("expected values nearer to its distrib", frozen.fit, X, y)


def test_weights_are_frequencies(X, y):
    weights = np.full(len(X), 1e16)
    refuses("sample_weight adds up to", ridge_pce(2).fit, X, y, weights)


def test_a_fit_through_all_samples_has_no_standard_deviation(X, y):
    fitted = PolynomialChaosRegressor(8, **OLS).fit(X, y)
    assert fitted.q2_ == -np.inf
    message = "return_std=True.*fewer terms"
    refuses(message, fitted.predict, X, return_std=True)
    fitted.set_params(distribution=norm(0, 1), criterion="gcv").fit(X, y)
    refuses(message, fitted.predict, X, return_std=True)


UNREADABLE = {
    "complex": (lambda v: v + 1j, "complex numbers"),
    "masked": (lambda v: np.ma.masked_greater(v, np.median(v)), "masked array"),
    "dates": (lambda v: np.round(v).astype("datetime64[D]"), "dates"),
    "durations": (lambda v: np.round(v).astype("timedelta64[s]"), "durations"),
    "text": (lambda v: v.astype(str), "text"),
    "objects": (lambda v: v.astype(str).astype(object), "text"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_values(X, y, kind):
    change, message = UNREADABLE[kind]
    model = ridge_pce(2)
    refuses(f"X .*{message}", model.fit, change(X), y)
    refuses(f"y .*{message}", model.fit, X, change(y))
    refuses(f"sample_weight .*{message}", model.fit, X, y, change(np.abs(y)))
    refuses(f"X .*{message}", verdict, model, change(X), y)
    refuses(f"y .*{message}", verdict, model, X, change(y))
    for method in (model.fit(X, y).predict, PolynomialChaosFeatures().fit, input_tests):
        refuses(f"X .*{message}", method, change(X))
    y = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=6)
    refuses(f"y_true .*{message}", crps_score, change(y), np.stack([y, y[::-1]]))
    refuses(f"lower .*{message}", coverage_interval, y, change(y), y + 0.1)


def test_sparse_arrays(X, y):
    targets = csr_array(y[:, np.newaxis])
    for call in (ridge_pce(2).fit, partial(verdict, ridge_pce(2))):
        with pytest.raises(TypeError, match="y is a sparse array; expected a dense"):
            call(X, targets)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ridge_pce(2).fit(csr_array(X), y)


def test_frames_say_which_column_and_lazy_ones_what_to_call(X, y):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "day": pandas.to_datetime(np.arange(40))})
    refuses(r"dates in the column 'day'.* days since the", ridge_pce(2).fit, frame, y)
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(X).lazy()
    refuses(r"LazyFrame .* as collect\(\) gives", ridge_pce(2).fit, lazy, y)


def test_values_that_do_not_repeat_are_no_categories(X, y):
    model = ridge_pce(2, distribution=["normal", "categorical"])
    refuses(r"'categorical' for x1, of which all 40", model.fit, X, y)
    surrogate = ridge_surrogate(2, distribution="categorical")
    message = "'categorical' for x0, of which all 40"
    refuses(message, surrogate.fit, X, np.full((40, 2), 0.5))
    model = ridge_pce(1, distribution="categorical")
    X = np.arange(5.0)[:, np.newaxis]  # of copies, which repeat
    assert model.fit(X, X[:, 0], np.full(5, 2)).multi_indices_.shape == (5, 1)
    X = np.random.default_rng(0).integers(0, 70, size=(300, 1))
    with pytest.warns(UserWarning, match=r"x0 is 'categorical' with \d+ levels"):
        model.fit(X, np.random.default_rng(1).normal(size=300))


LAWS = (
    UniformLaw(0.0, 1.0),
    BetaLaw(2.0, 0.5, shapes=(0.5, 3.0)),
    GammaLaw(-1.0, 2.0, shape=0.7),
    ExponentialLaw(0.0, 3.0),
)


class TestOrderStatistics:
    """The closed form against draws of whole samples."""

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
    @pytest.mark.parametrize("n_copies", [1, 2, 17])
    def test_distribution(self, law, n_copies):
        generator = np.random.default_rng(1)
        smallest, largest = sample_extremes(law, n_copies, 4000, generator).T
        frozen = law.to_scipy()
        p_values = [
            kstest(smallest, lambda x: 1.0 - frozen.sf(x) ** n_copies).pvalue,
            kstest(largest, lambda x: frozen.cdf(x) ** n_copies).pvalue,
        ]
        spread = largest - smallest
        assert (spread >= 0).all()
        if n_copies > 1:
            drawn = law.sample(4000 * n_copies, generator).reshape(4000, n_copies)
            p_values.append(ks_2samp(spread, np.ptp(drawn, axis=1)).pvalue)
        assert min(p_values) > 1e-3

    @pytest.mark.parametrize("method", ["residual", "bootstrap"])
    def test_large_weights(self, X, y, method):
        fitted = ridge_pce(2, distribution="beta").fit(X, y, np.full(len(X), 1e12))
        start = time.process_time()
        interval = fitted.sobol_interval(n_resamples=50, method=method, random_state=0)
        assert time.process_time() - start < 10
        low, high = interval.total_order
        assert np.all(low <= high)


# Memory and time.


def test_degrees_and_moments_that_need_too_much_memory(X, y, monkeypatch):
    model = PolynomialChaosRegressor(10**6)
    refuses("'degree' .* degree 1000000 in one", model.fit, X[:, :1], y)
    high = ridge_pce(3000, distribution="uniform").fit(X[:, :1], y)
    refuses(r"moments needs about .* GiB for produc", high.moments)
    wide = ridge_pce(3).fit(np.hstack([X] * 3), y)
    pages = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 1e6 / 0.75}
    monkeypatch.setattr("os.sysconf", pages.get)
    assert np.isfinite(wide.moments().kurtosis)
    pages["SC_PHYS_PAGES"] = 2e4 / 0.75
    refuses(r"moments needs about .* products of t", wide.moments)


HUGE = 10**400  # integers of hundreds of digits are no floats


@pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
def test_digits_in_data(where, X, y):
    given = {"X": X, "y": y, "sample_weight": np.ones(40)}
    given[where] = given[where].astype(object)
    given[where][(0, 0) if where == "X" else 0] = HUGE
    refuses(f"{where} holds an integer .* 400 digits", ridge_pce(1).fit, **given)


def test_a_sample_of_next_to_no_weight_has_no_part_in_a_resampled_distribution():
    """With it alone beside another, the deviation would be 1e-80 of what it was."""
    column = np.array([0.5, 1.5])
    law = NAMED_LAWS["normal"].learn(column, np.ones(2))
    (found,) = change_of_basis(law, column, np.array([[1.0, 1e-160]]), 4)
    assert_array_equal(found, np.eye(5))
