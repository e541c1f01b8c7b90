"""Extreme and unreadable data: scaled, or refused by name; never NaN in silence."""

from __future__ import annotations

import time
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import ks_2samp, kstest, norm

from skpce import (
    Expansion,
    InputOutsideSupportWarning,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
    explain,
)
from skpce._basis.basis import Truncation
from skpce._expansion.problem import change_of_basis, sample_extremes
from skpce._input_laws import NAMED_LAWS
from skpce._input_laws.families import BetaLaw, ExponentialLaw, GammaLaw, UniformLaw
from skpce.decision import value_of_information
from skpce.decision._belief import read_observation
from skpce.inspection import input_tests, verdict
from skpce.metrics import coverage_interval, crps_score, excess_fragility
from skpce.plotting import ConvergenceDisplay, MainEffectsDisplay
from tests.shared import OLS, cases, refuses, ridge_pce, ridge_surrogate


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, X[:, 0] + X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=40)


def with_cell(X, value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


class TestMagnitudes:
    @pytest.mark.parametrize("scale", [1e-65, 1e-30, 1e30, 1e65])
    def test_indices_do_not_depend_on_the_unit(self, X, y, scale):
        plain = ridge_pce(2).fit(X, y)
        scaled = ridge_pce(2).fit(X * scale, y * scale)
        expected = plain.total_sobol_indices_
        assert_allclose(scaled.total_sobol_indices_, expected, rtol=1e-6)
        assert scaled.q2_ == pytest.approx(plain.q2_, rel=1e-6)

    @pytest.mark.parametrize("scale", [1e72, 1e155, 1e300])
    def test_large_targets(self, X, y, scale):
        refuses(r"y has .*e\+.* expected numbers up to", ridge_pce(2).fit, X, y * scale)

    @pytest.mark.parametrize("scale", [1e-80, 1e-160, 1e-300])
    def test_small_targets(self, X, y, scale):
        refuses(r"y varies by .*; expected at least", ridge_pce(2).fit, X, y * scale)
        refuses(r"X varies by .*; expected at least", ridge_pce(2).fit, X * scale, y)

    @pytest.mark.parametrize("law", ["normal", "uniform", "gamma", "exponential"])
    @pytest.mark.parametrize("value", [1e18, 1e60, 1e300])
    def test_one_cell_that_hides_the_others(self, X, y, law, value):
        with pytest.raises(ValueError, match=r"X has .* expected (values|numbers)"):
            ridge_pce(2, distribution=law).fit(with_cell(X, value), y)

    @pytest.mark.parametrize("law", ["normal", "uniform", "gamma", "exponential"])
    def test_an_outlier_that_does_not(self, X, y, law):
        fitted = ridge_pce(2, distribution=law).fit(with_cell(X, 1e9), y)
        assert np.isfinite(fitted.q2_).all()

    def test_inputs_far_from_their_distribution(self, X, y):
        fitted = ridge_pce(3).fit(X, y)
        assert np.isfinite(fitted.predict([[1e10, 1e10]])).all()
        for value in (1e40, 1e60):
            with pytest.raises(ValueError, match=r"column 0, where polynomials of deg"):
                fitted.predict([[value, 0.0]])
        frozen = ridge_pce(2, distribution=norm(0, 1e-60))
        refuses("expected values nearer to its distrib", frozen.fit, X, y)

    def test_weights_are_frequencies(self, X, y):
        with pytest.raises(ValueError, match="sample_weight adds up to"):
            ridge_pce(2).fit(X, y, np.full(len(X), 1e16))


class TestStandardDeviation:
    def test_a_fit_through_all_samples_has_none(self, X, y):
        fitted = PolynomialChaosRegressor(8, **OLS).fit(X, y)
        assert fitted.q2_ == -np.inf
        refuses(r"return_std=True.*fewer terms", fitted.predict, X, return_std=True)

    def test_from_sums(self, X, y):
        fitted = PolynomialChaosRegressor(
            8, distribution=norm(0, 1), solver="ols", criterion="gcv"
        )
        with pytest.raises(ValueError, match=r"return_std=True.*fewer terms"):
            fitted.fit(X, y).predict(X, return_std=True)


UNREADABLE = {
    "complex": (lambda v: v + 1j, "complex numbers"),
    "masked": (lambda v: np.ma.masked_greater(v, np.median(v)), "masked array"),
    "dates": (lambda v: np.round(v).astype("datetime64[D]"), "dates"),
    "durations": (lambda v: np.round(v).astype("timedelta64[s]"), "durations"),
    "text": (lambda v: v.astype(str), "text"),
    "objects": (lambda v: v.astype(str).astype(object), "text"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
class TestUnreadable:
    def test_fit(self, X, y, kind):
        change, message = UNREADABLE[kind]
        refuses(f"X .*{message}", ridge_pce(2).fit, change(X), y)
        refuses(f"y .*{message}", ridge_pce(2).fit, X, change(y))
        fitted = ridge_pce(2).fit(X, y)
        for method in (fitted.predict, fitted.gradient, fitted.main_effects):
            refuses(f"X .*{message}", method, change(X))
        with pytest.raises(ValueError, match=f"X .*{message}"):
            PolynomialChaosFeatures(2, distribution="normal").fit(change(X))
        refuses(f"sample_weight .*{message}", ridge_pce(2).fit, X, y, change(np.abs(y)))

    def test_inspection(self, X, y, kind):
        change, message = UNREADABLE[kind]
        refuses(f"X .*{message}", verdict, ridge_pce(2), change(X), y)
        refuses(f"y .*{message}", verdict, ridge_pce(2), X, change(y))
        refuses(f"X .*{message}", input_tests, change(X))

    def test_metrics(self, kind):
        change, message = UNREADABLE[kind]
        y = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=6)
        draws = np.stack([y, y[::-1]])
        calls = {
            "y_true": [
                lambda v: crps_score(v, draws),
                lambda v: coverage_interval(v, y - 0.1, y + 0.1),
            ],
            "lower": [lambda v: coverage_interval(y, v, y + 0.1)],
        }
        for name, functions in calls.items():
            for function in functions:
                refuses(f"{name} .*{message}", function, change(y))


def test_sparse_arrays(X, y):
    with pytest.raises(TypeError, match=r"y is a sparse array; expected a dense one"):
        ridge_pce(2).fit(X, csr_array(y[:, np.newaxis]))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ridge_pce(2).fit(csr_array(X), y)
    with pytest.raises(TypeError, match=r"y is a sparse array"):
        verdict(ridge_pce(2), X, csr_array(y[:, np.newaxis]))


def test_frames_say_which_column(X, y):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "day": pandas.to_datetime(np.arange(40))})
    refuses(r"dates in the column 'day'.* days since the", ridge_pce(2).fit, frame, y)


def test_text_is_refused_with_what_to_give(X, y):
    labels = np.where(y > 0, "yes", "no")
    with pytest.raises(ValueError, match=r"X holds text.* in a column of a data frame"):
        PolynomialChaosRegressor().fit(X.astype(str), y)
    with pytest.raises(ValueError, match=r"y holds text.*, such as 1 and 0"):
        PolynomialChaosRegressor().fit(X, labels)
    runs = {"a": X[:, 0], "y": labels}
    refuses(r"'y' has .* such as 1 and 0", explain, runs, outputs="y")


def test_lazy_frames_are_refused_by_fits(X, y):
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"LazyFrame .* as collect\(\) gives"):
        PolynomialChaosRegressor().fit(polars.DataFrame(X).lazy(), y)


def test_an_array_without_masked_entries_is_an_array(X, y):
    fitted = ridge_pce(2).fit(np.ma.array(X), np.ma.array(y))
    assert fitted.q2_ > 0.9


class TestNothing:
    def test_a_verdict_of_none(self, X, y):
        refuses("X of verdict is None", verdict, ridge_pce(2), None, y)
        refuses("y of verdict is None", verdict, ridge_pce(2), X, None)
        with pytest.raises(ValueError, match="replicate is missing in"):
            verdict(ridge_pce(2), X, y, replicate=[None] * len(X))


class TestCategories:
    def test_values_that_do_not_repeat(self, X, y):
        model = ridge_pce(2, distribution=["normal", "categorical"])
        refuses(r"'categorical' for x1, of which all 40", model.fit, X, y)
        surrogate = ridge_surrogate(2, distribution="categorical")
        with pytest.raises(ValueError, match=r"'categorical' for x0, of which all 40"):
            surrogate.fit(X, np.full((40, 2), 0.5))

    def test_many_levels(self, rng):
        X, y = rng.integers(0, 70, size=(300, 1)), rng.normal(size=300)
        model = ridge_pce(1, distribution="categorical")
        with pytest.warns(UserWarning, match=r"x0 is 'categorical' with \d+ levels"):
            model.fit(X, y)

    def test_copies_repeat(self):
        X, y = np.arange(5.0)[:, np.newaxis], np.arange(5.0) ** 2
        model = PolynomialChaosRegressor(1, distribution="categorical", solver="ols")
        assert model.fit(X, y, np.full(5, 2)).multi_indices_.shape == (5, 1)


class TestOrderStatistics:
    """The closed form against draws of whole samples."""

    LAWS = (
        UniformLaw(0.0, 1.0),
        BetaLaw(2.0, 0.5, shapes=(0.5, 3.0)),
        GammaLaw(-1.0, 2.0, shape=0.7),
        ExponentialLaw(0.0, 3.0),
    )

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
    @pytest.mark.parametrize("law", ["uniform", "beta", "gamma"])
    @pytest.mark.parametrize("weight", [1e6, 1e12])
    def test_large_weights(self, X, y, law, method, weight):
        fitted = ridge_pce(2, distribution=law)
        fitted.fit(X, y, np.full(len(X), weight))
        start = time.process_time()
        interval = fitted.sobol_interval(n_resamples=50, method=method, random_state=0)
        assert time.process_time() - start < 10
        low, high = interval.total_order
        assert np.isfinite([low, high]).all()
        assert np.all(low <= high)


class TestMemory:
    def test_degree(self, X, y):
        with pytest.raises(ValueError, match=r"'degree' .* degree 1000000 in one inp"):
            PolynomialChaosRegressor(10**6).fit(X[:, :1], y)

    def test_moments(self, X, y, monkeypatch):
        high = ridge_pce(3000, distribution="uniform").fit(X[:, :1], y)
        refuses(r"moments needs about .* GiB for produc", high.moments)
        wide = ridge_pce(3).fit(np.hstack([X] * 3), y)
        memory = 1e6
        monkeypatch.setattr("skpce._checks.physical_memory", lambda: memory / 0.75)
        assert np.isfinite(wide.moments().kurtosis)
        memory = 2e4
        refuses(r"moments needs about .* products of t", wide.moments)


MILLION = {name: {name: 10**6} for name in ("n_permutations", "n_resamples")}


class TestRepeats:
    """A sweep of the fuzz suite: a million repeats of a fit end after hours."""

    def test_value_of_information(self, X, y):
        name = "n_resamples"
        with pytest.raises(ValueError, match=rf"{name!r} .* 200000\]. Got 1000000"):
            value_of_information(
                ridge_pce(1), X, np.column_stack([y, -y]), **MILLION[name]
            )

    def test_draws_of_equal_noise(self):
        with pytest.raises(ValueError, match=r"'n_draws' .* 200000\]. Got 1000000"):
            excess_fragility([[0.2, 0.8], [0.6, 0.4]], steps=(2,), n_draws=10**6)

    def test_pairs_of_an_expansion_without_listed_terms(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(80, 100))
        y = X.sum(axis=1) + rng.normal(size=80)
        fitted = PolynomialChaosRegressor(distribution="normal").fit(X, y)
        refuses("for a list give 'degree'", fitted.sobol_frame, order=2)
        assert len(fitted.sobol_frame()) == X.shape[1]

    def test_tests_and_displays(self, X, y):
        pytest.importorskip("matplotlib")
        model = ridge_pce(1).fit(X, y)
        with pytest.raises(ValueError, match=r"'n_repeats' .* 200000"):
            ConvergenceDisplay.from_estimator(model, X, y, n_repeats=10**6)
        with pytest.raises(ValueError, match=r"'n_points' .* 10000"):
            MainEffectsDisplay.from_estimator(model, X, n_points=10**6)


def counted_by_hand(n_features, degree, q):
    """Count each combination with repetition of inputs as a multi-index."""
    count = 0
    for size in range(degree + 1):
        for inputs in combinations_with_replacement(range(n_features), size):
            exponents = np.bincount(inputs, minlength=n_features)
            norm_ = np.sum(exponents[exponents > 0] ** float(q))
            count += norm_ <= degree**q * (1 + 1e-9)
    return count


@pytest.mark.parametrize("q", [1e-300, 1e-6, 0.1, 0.4, 0.5, 0.75, 0.95])
@pytest.mark.parametrize(("n_features", "degree"), [(1, 5), (2, 9), (3, 6), (5, 4)])
def test_hyperbolic_count(n_features, degree, q):
    expected = counted_by_hand(n_features, degree, q)
    assert Truncation.of_degree(n_features, degree, q).count() == expected


@pytest.mark.parametrize("q", [1e-9, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n_features", [1, 2, 3, 50])
def test_hyperbolic_sets_are_refused_at_once(n_features, q):
    start = time.process_time()
    n_terms = Truncation.of_degree(n_features, 10_000, q).count(1e7)
    assert n_terms > n_features * 10_000
    assert time.process_time() - start < 5


def test_gamma_with_a_large_value(X, y):
    X = with_cell(np.abs(X), 1e200)
    with pytest.raises(ValueError, match=r"X has .*1e\+200.* in row 3, column 1"):
        ridge_pce(2, distribution="gamma").fit(X, y)


@pytest.mark.filterwarnings("error")
def test_a_bounded_law_still_warns_outside(X, y):
    fitted = ridge_pce(2, distribution="uniform").fit(X, y)
    with pytest.raises(InputOutsideSupportWarning, match="lie outside"):
        fitted.predict(X * 3)


class TestGreatIntegers:
    """Integers of hundreds of digits are no floats."""

    HUGE = 10**400

    @pytest.mark.parametrize("where", ["X", "y", "sample_weight"])
    def test_digits_in_data(self, where, rng):
        X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
        model = ridge_pce(1)
        given = {"X": X, "y": y, "sample_weight": np.ones(20)}
        given[where] = given[where].astype(object)
        given[where][(0, 0) if where == "X" else 0] = self.HUGE
        refuses(f"{where} holds an integer .* 400 digits", model.fit, **given)

    @cases(
        "parameters",
        {"degree": HUGE},
        {"distribution": (0, HUGE)},
        {"alphas": [HUGE]},
        {"interaction_order": HUGE},
        ids=["degree", "distribution", "alphas", "interaction_order"],
    )
    def test_digits_in_parameters(self, parameters):
        X = np.random.default_rng(0).normal(size=(20, 2))
        name = next(iter(parameters))
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            PolynomialChaosRegressor(**{"degree": 1} | parameters).fit(X, X[:, 0])

    def test_masks_inside_lists(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        rows = [np.ma.masked_array(X[0], [True, False]), *X[1:]]
        refuses("X is a masked array", ridge_pce(1).fit, rows, X[:, 0])


def test_a_sample_of_next_to_no_weight_has_no_part_in_a_resampled_distribution():
    """With it alone beside another, the deviation would be 1e-80 of what it was."""
    column = np.array([0.5, 1.5])
    law = NAMED_LAWS["normal"].learn(column, np.ones(2))
    (found,) = change_of_basis(law, column, np.array([[1.0, 1e-160]]), 4)
    assert_array_equal(found, np.eye(5))


def test_a_scalar_that_is_no_bool_and_a_noise_whose_square_is_zero():
    X = np.random.default_rng(0).normal(size=(20, 1))
    fitted = ridge_pce(1).fit(X, X[:, 0])
    expansion = fitted.expansion_
    with pytest.raises(ValueError, match="'scalar' parameter of Expansion"):
        Expansion(expansion.basis, expansion.coefficients, scalar=[True, False])
    seen = read_observation("Policy", [0.1], fitted.predict, 1e-300, None)
    refuses(r"noise_sd.* with a positive square", seen.log_likelihood, X)
