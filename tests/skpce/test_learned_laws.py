"""distribution="auto", and the distributions that it learns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skpce import InputOutsideSupportWarning, PolynomialChaosRegressor
from skpce._input_laws import NAMED_LAWS, choose_laws, learn_input_laws
from skpce._input_laws.tabulated import SmoothedLaw
from tests.shared import cases, ridge_pce


def chosen(column, weights=None):
    column = np.asarray(column, dtype=float)
    weights = np.ones(len(column)) if weights is None else np.asarray(weights, float)
    return choose_laws(column[:, np.newaxis], weights)[0]


def shares(draw, n, names, size=400):
    """Return how often each distribution is chosen."""
    columns = draw(np.random.default_rng(0), (n, size))
    laws = choose_laws(columns, np.ones(n))
    return [np.mean([type(law) is NAMED_LAWS[name] for law in laws]) for name in names]


SKEW = ["lognormal", "smoothed"]


def bimodal(rng, size):
    return rng.choice([-2.5, 2.5], size) + 0.5 * rng.normal(size=size)


@cases(
    ("draw", "names", "at_30", "at_200"),
    (lambda rng, size: rng.normal(3, 2, size), ["normal"], 0.8, 0.85),
    (lambda rng, size: rng.uniform(3, 4, size), ["uniform"], 0.85, 0.9),
    (lambda rng, size: 10 ** rng.uniform(-5, -1, size), ["loguniform"], 0.85, 0.9),
    (lambda rng, size: rng.lognormal(0, 1, size), ["lognormal"], 0.8, 0.85),
    (lambda rng, size: rng.standard_t(2, size), ["smoothed"], 0.5, 0.98),
    (bimodal, ["smoothed"], 0.5, 0.98),
    (lambda rng, size: rng.integers(0, 3, size), ["empirical"], 1.0, 1.0),
    (lambda rng, size: rng.integers(1, 1001, size), ["uniform"], 0.85, 0.9),
    (lambda rng, size: rng.integers(0, 11, size), ["empirical"], 0.99, 1.0),
    (lambda rng, size: 2.0 ** rng.integers(0, 11, size), ["ordinal"], 0.5, 1.0),
    (lambda rng, size: rng.exponential(size=size), SKEW, 0.7, 0.98),
)
def test_the_distribution_is_recognised(draw, names, at_30, at_200):
    assert sum(shares(draw, 30, names)) >= at_30
    assert sum(shares(draw, 200, names)) >= at_200


@cases(
    "draw",
    lambda rng, size: rng.integers(0, 11, size),
    lambda rng, size: 2000 + rng.integers(0, 24, size),
    lambda rng, size: rng.geometric(0.05, size),
    lambda rng, size: rng.integers(0, 2, size) * rng.uniform(1, 2, size),
    lambda rng, size: np.minimum(rng.exponential(size=size), 1.0),
    ids=["integers", "years", "geometric", "zero or more", "at most one"],
)
@pytest.mark.parametrize("n", [60, 400])
def test_values_that_repeat_have_the_variance_of_the_sample(draw, n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        columns = np.column_stack([draw(rng, n), rng.normal(size=n)]).astype(float)
        nodes, shares = choose_laws(columns, np.ones(n))[0].quadrature(12)
        variance = shares @ np.square(nodes - shares @ nodes)
        assert variance == pytest.approx(columns[:, 0].var(), rel=1e-9)


def test_nothing_is_extrapolated_beyond_levels(rng):
    X = np.column_stack([rng.integers(0, 11, 80), 10.0 ** rng.integers(-4, 0, 80)])
    model = PolynomialChaosRegressor().fit(X, X[:, 0] ** 2 + np.log10(X[:, 1]))
    with pytest.warns(InputOutsideSupportWarning, match="range learned in fit"):
        found = model.predict([[10.0, 0.1], [20.0, 0.1], [10.0, 100.0]])
    assert found == pytest.approx([99.0] * 3, abs=0.5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, shape: np.maximum(rng.normal(size=shape), 0.0),
        lambda rng, shape: np.where(
            rng.random(shape) < 0.3, 0.0, rng.normal(size=shape)
        ),
        lambda rng, shape: rng.normal(size=shape).round(1),
        lambda rng, shape: rng.integers(1, 101, shape) / 50.0 - 1.0,
    ],
    ids=["half zeros", "a value is frequent", "rounded", "integers"],
)
@pytest.mark.parametrize("n", [60, 200])
def test_new_values_between_those_that_repeat_are_predicted(draw, n):
    """Polynomials of high degree gave a Q² of minus a million there."""

    def f(X):
        return np.tanh(2.0 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 1] * X[:, 2]

    rng = np.random.default_rng(1)
    X, new = draw(rng, (n, 4)), draw(rng, (500, 4))
    new = np.clip(new, X.min(axis=0), X.max(axis=0))
    for distribution in ("auto", "empirical"):
        model = PolynomialChaosRegressor(distribution=distribution).fit(X, f(X))
        assert model.score(new, f(new)) > 0.9


@pytest.mark.parametrize("name", ["empirical", "ordinal"])
def test_between_values_functions_of_high_degree_are_linear(name, rng):
    column = rng.normal(size=80).round(1)
    plain = NAMED_LAWS[name].learn(column, np.ones(80))
    assert plain.for_degree(2) == plain  # polynomials
    law, values = plain.for_degree(12), plain.table.points
    places, ends = values[:-1] + 0.25 * np.diff(values), law.evaluate(values, 12)
    expected = 0.75 * ends[:, :-1] + 0.25 * ends[:, 1:]
    assert_allclose(law.evaluate(places, 12), expected, atol=1e-9)
    slopes = np.diff(ends) / np.diff(values)
    assert_allclose(law.differentiate(places, 12), slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("frozen", [stats.lognorm(1.0), stats.loguniform(1e-4, 1.0)])
def test_a_stated_logarithmic_input_is_fitted_by_its_logarithm(frozen, rng):
    """Its own polynomials are not dense, or need high degrees."""
    X, new = (frozen.rvs(size=(n, 2), random_state=rng) for n in (100, 500))
    model = PolynomialChaosRegressor(distribution=[frozen] * 2)
    model.fit(X, np.tanh(np.log(X[:, 0])) + np.log(X).sum(axis=1))
    y = np.tanh(np.log(new[:, 0])) + np.log(new).sum(axis=1)
    assert model.score(new, y) > 0.99
    model.fit(X, X @ [1.0, 2.0])
    assert_allclose(model.sobol_indices_, [[0.2, 0.8]], atol=0.02)
    assert model.expansion_.basis.laws[0].to_scipy().mean() == pytest.approx(
        frozen.mean()
    )


def test_repeats_of_settings_are_no_levels():
    """Settings that were drawn from a range, each of which was run five times."""
    settings = np.random.default_rng(0).uniform(size=(30, 2))
    laws = choose_laws(np.repeat(settings, 5, axis=0), np.ones(150))
    assert [type(law).__name__ for law in laws] == ["UniformLaw"] * 2


@pytest.mark.parametrize("kind", ["normal", "uniform", "lognormal", "standard_t"])
@pytest.mark.parametrize("unit", [1e-6, 254.0])
def test_the_choice_does_not_depend_on_unit_or_order(kind, unit, rng):
    shape = () if kind != "standard_t" else (2,)
    columns = getattr(rng, kind)(*shape, size=(45, 50))
    laws = choose_laws(columns, np.ones(45))
    changed = choose_laws(unit * columns[rng.permutation(45)], np.ones(45))
    points = rng.choice(columns.ravel(), 20)
    for law, other in zip(laws, changed, strict=True):
        assert type(law) is type(other)
        found, expected = other.evaluate(unit * points, 5), law.evaluate(points, 5)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


MIDDLES = (np.arange(60) + 0.5) / 60


@cases(
    ("column", "name", "words"),
    ([2.5] * 6, "empirical", "constant at 2.5"),
    ([1, 2, 3] * 3, "empirical", "3 levels: 1, 2, 3"),
    (np.arange(8.0).tolist() * 2, "empirical", "8 levels, 0 to 7"),
    ([1e-4, 1e-3, 1e-1] * 3, "ordinal", "3 ordered levels: 0.0001, 0.001, 0.1"),
    (np.linspace(-1, 1, 41), "uniform", "uniform on [-1.05, 1.05]"),
    (np.geomspace(1e-5, 0.1, 41), "loguniform", "log-uniform on [7.943e-06, 0.1259]"),
    (stats.lognorm(1.0).ppf(MIDDLES), "lognormal", "log-normal (median 1, sd "),
    (stats.t(1.5).ppf(MIDDLES), "smoothed", "as observed, smooth"),
)
def test_what_was_learned_is_said(column, name, words):
    law = chosen(column)
    assert type(law) is NAMED_LAWS[name]
    assert law.learned
    assert law.describe().startswith(words)


def test_labels_are_categories_and_frozen_ones_win(rng):
    rate = 10 ** (3 * (rng.permutation(60) + rng.random(60)) / 60 - 4)
    makers = rng.choice(["A", "B", "C"], 60)
    table = pd.DataFrame({"rate": rate, "maker": makers, "mass": rng.normal(size=60)})
    y = table["mass"] + (table["maker"] == "B")
    expected = ["log-uniform on", "3 categories", "normal (mean 0, sd 3)"]
    stated = ["auto", "auto", stats.norm(0, 3)]
    for given in (dict(zip(table, stated, strict=True)), stated):
        laws = ridge_pce(2, distribution=given).fit(table, y).basis_.laws
        for law, words in zip(laws, expected, strict=True):
            assert law.describe().startswith(words)
    laws = ridge_pce(2, distribution="auto").fit(table, y).basis_.laws
    assert [law.learned for law in laws] == [True] * 3


# The smoothed distribution

SAMPLES = {
    "heavy tails": stats.t(2).rvs(size=60, random_state=0),
    "an outlier": np.append(stats.norm.rvs(size=59, random_state=0), 1e9),
    "a gap": bimodal(np.random.default_rng(0), 200),
    "ties": np.append(np.zeros(60), stats.expon.rvs(size=40, random_state=0)),
    "two values": np.array([0.0, 1.0, 1.0]),
    "large numbers": 1e68 * stats.t(2).rvs(size=60, random_state=0),
    "far from 0": 1e6 + stats.expon.rvs(size=200, random_state=0),
}


def smoothed(name):
    column = SAMPLES[name]
    return SmoothedLaw.learn(column, np.ones(len(column)))


@pytest.mark.parametrize("name", SAMPLES)
def test_smoothed_functions_are_orthonormal_to_degree_20_and_nowhere_large(name):
    law = smoothed(name)
    law.check_degree("PCE", "x0", 20)
    # Independent of the rule of the law: quantiles of many equal probabilities.
    below = (np.arange(200_000) + 0.5) / 200_000
    values = law.evaluate(law.to_scipy().ppf(below), 20)
    gram = values @ values.T / len(below)
    assert_allclose(gram, np.eye(21), atol=2e-3)
    far = np.append(SAMPLES[name], law.location + law.scale * np.array([-1e9, 1e9]))
    assert np.abs(law.evaluate(far, 20)).max() < 60
    assert not law.outside(far).any()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_smoothed_distribution_function_is_monotone_and_its_own_inverse(name):
    law = smoothed(name)
    frozen = law.to_scipy()
    below = np.linspace(1e-4, 1 - 1e-4, 2001)
    points = frozen.ppf(below)
    assert (np.diff(points) > 0).all()
    assert (np.diff(law.standardize(points)) > 0).all()
    # A value far from 0 has fewer digits.
    steep = law._curve.slopes.max() * np.spacing(np.abs(points).max())
    assert_allclose(frozen.cdf(points), below, atol=1e-12 + 10 * steep)
    back = law.in_units(law.standardize(points))
    assert_allclose(frozen.cdf(back), below, atol=1e-9 + 10 * steep)


@pytest.mark.parametrize("name", ["heavy tails", "a gap", "ties", "two values"])
def test_smoothed_derivatives_match_and_are_continuous(name):
    law = smoothed(name)
    points = law.sample(500, np.random.default_rng(0))
    knots = law.table.points
    near = np.abs(points[:, np.newaxis] - knots).min(axis=1)
    step = 1e-5 * np.minimum(near, np.diff(knots).min())
    rise = law.evaluate(points + step, 4) - law.evaluate(points - step, 4)
    found = law.differentiate(points, 4)
    size = np.abs(found).max(axis=1, keepdims=True) + 1e-300
    noise = 1e-14 / step
    assert (np.abs(found - rise / (2 * step)) <= 1e-5 * size + noise).all()
    gap = 1e-9 * np.diff(knots).min()
    left, right = (law.differentiate(knots + side, 4) for side in (-gap, gap))
    assert_allclose(left / size, right / size, atol=1e-6)


def test_a_smoothed_distribution_is_near_the_one_of_the_data():
    column = np.random.default_rng(0).gumbel(size=2000)
    law = SmoothedLaw.learn(column, np.ones(2000))
    frozen = law.to_scipy()
    assert stats.kstest(column, frozen.cdf).statistic < 0.01
    draws = law.sample(20_000, np.random.default_rng(0))
    assert stats.kstest(draws, frozen.cdf).pvalue > 1e-3
    assert draws.mean() == pytest.approx(column.mean(), abs=0.03)
    assert draws.std() == pytest.approx(column.std(), rel=0.03)


# Ordered levels and logarithms


def test_ordered_levels_have_equal_steps(rng):
    levels = np.array([1e-5, 1e-4, 1e-3, 1e-1])
    number = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=100)
    columns = np.column_stack([levels[number], number])
    ordinal, numbers = learn_input_laws(["ordinal", "empirical"], columns, np.ones(100))
    found, expected = ordinal.evaluate(levels, 3), numbers.evaluate(np.arange(4.0), 3)
    assert_allclose(found, expected, atol=1e-12)
    assert ordinal.largest_degree == 3
    between = np.array([5.5e-5, 0.05, 0.2])
    t = ordinal.standardize(between)
    assert_allclose(ordinal.in_units(t), between, rtol=1e-12)
    step = 1e-9
    rise = ordinal.evaluate(between + step, 3) - ordinal.evaluate(between - step, 3)
    slopes = ordinal.differentiate(between, 3)
    assert_allclose(slopes, rise / (2 * step), rtol=1e-5, atol=1e-3)
    outside = ordinal.outside(np.array([1e-6, 1e-5, 1e-1, 0.11]))
    assert outside.tolist() == [True, False, False, True]


@pytest.mark.parametrize("name", ["lognormal", "loguniform"])
def test_a_value_without_a_logarithm_is_taken_at_the_low_end(name):
    column = np.random.default_rng(0).lognormal(size=(60, 1))
    pce = ridge_pce(3, distribution=name)
    pce.fit(column, np.log(column[:, 0]))
    with pytest.warns(InputOutsideSupportWarning, match="2 of 3 values of x0 lie outs"):
        found = pce.predict([[0.0], [-1.0], [1.0]])
    assert np.isfinite(found).all()
    assert found[0] == found[1] < found[2]
    gradient = pce.basis_.laws[0].differentiate(np.array([-1.0, 0.0, 1.0]), 3)
    assert (gradient[:, :2] == 0).all()


def all_kinds(n=60):
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=n),
        (rng.permutation(n) + rng.random(n)) / n,
        10 ** (4 * (rng.permutation(n) + rng.random(n)) / n - 5),
        stats.lognorm(1.0).ppf((rng.permutation(n) + 0.5) / n),
        rng.standard_t(1.5, n),
        rng.integers(0, 2, n),
        10.0 ** rng.integers(-4, 0, n),
    ]
    return np.column_stack(columns)


def test_a_resample_keeps_functions_that_are_no_polynomials_of_its_own():
    X = all_kinds()
    y = X[:, 1] + np.tanh(X[:, 4]) + X[:, 5]
    pce = ridge_pce(2, distribution="auto").fit(X, y)
    found = pce.sobol_interval(method="bootstrap", n_resamples=60, random_state=0)
    low, high = found.total_order[:, 0]
    total = pce.total_sobol_indices_[0]
    assert (low[[1, 4, 5]] > 0.01).all()
    assert ((low <= total + 0.02) & (total <= high + 0.02)).all()


def test_heavy_tails_do_no_harm(rng):
    X, fresh = rng.standard_t(2, size=(100, 3)), rng.standard_t(2, size=(500, 3))

    def f(X):
        return np.tanh(X[:, 0]) + np.tanh(X[:, 1]) * np.tanh(X[:, 2])

    q2 = {}
    for name in ("auto", "normal"):
        pce = PolynomialChaosRegressor(5, distribution=name)
        with warnings.catch_warnings(action="ignore"):  # of values far outside
            missed = np.mean((pce.fit(X, f(X)).predict(fresh) - f(fresh)) ** 2)
        q2[name] = 1 - missed / f(fresh).var()
    assert q2["auto"] > 0.9
    assert q2["normal"] < 0.5


def test_smoothed_columns_over_decades_are_drawn_on_a_logarithmic_axis(rng):
    one = np.ones(300)
    rate = 10 ** rng.beta(0.5, 0.5, size=300) ** 3
    assert not SmoothedLaw.learn(rng.uniform(size=300), one).is_logarithmic
    assert not SmoothedLaw.learn(rate - 2.0, one).is_logarithmic
    assert SmoothedLaw.learn(rate**4, one).is_logarithmic
