"""Distributions by name of the column, by bounds, and of columns of labels."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from skpce import (
    InputOutsideSupportWarning,
    MoreTermsThanRowsWarning,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
    report,
)
from skpce.inspection import verdict
from tests.shared import agree, cases, kept, refuses, ridge_pce, ridge_surrogate

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame({"rate": RNG.uniform(1, 3, N), "size": RNG.lognormal(1, 0.5, N)})
Y = TABLE["rate"].to_numpy() ** 2 + np.log(TABLE["size"].to_numpy())
LABELS = RNG.choice(["adam", "rms", "sgd"], N)
MIXED = pd.DataFrame({"rate": TABLE["rate"], "solver": LABELS})
OF_MIXED = TABLE["rate"].to_numpy() + (LABELS == "sgd")


def same(first, second):
    assert_allclose(first.coefficients_, second.coefficients_, rtol=1e-12)


def test_a_dict_is_by_name_whatever_its_order():
    given = {"size": "lognormal", "rate": (1, 3)}
    wanted = ridge_pce(2, distribution=[stats.uniform(1, 2), "lognormal"])
    found = ridge_pce(2, distribution=given)
    same(found.fit(TABLE, Y), wanted.fit(TABLE, Y))
    assert clone(found).distribution == given
    choice = PolynomialChaosRegressor(distribution=given).fit(TABLE, Y)
    assert choice.basis_.laws[0].support == (1.0, 3.0)
    features = PolynomialChaosFeatures(1, distribution=given).fit(TABLE)
    assert features.basis_.laws[1].support == (0.0, np.inf)
    assert NatafTransformer(distribution=given).fit(TABLE).maps_[0]


@cases(
    ("given", "message"),
    ({"rate": "normal"}, r"lacks \['size'\]; expected one .* \['rate', 'size'\]"),
    ({"rate": (1, 3), "size": (0, 9), "x": (0, 1)}, r"names \['x'\], which X does"),
    ((3, 1), r"has the bounds \(3, 1\); expected two finite numbers, the low"),
    (stats.norm, r"expected the frozen .* scipy.stats.norm\(loc=..., scale=...\)\."),
    (stats.uniform, r"loc=..., scale=...\), or the bounds \(low, high\)"),
)
def test_what_is_wrong_with_a_distribution_is_said(given, message):
    refuses(message, ridge_pce(1, distribution=given).fit, TABLE, Y)


@pytest.mark.parametrize("bounds", [(0, 30), [0.0, 30.0], np.array([0, 30])])
def test_bounds_hold_for_all_inputs(bounds):
    found = ridge_pce(2, distribution=bounds).fit(TABLE, Y)
    same(found, ridge_pce(2, distribution=stats.uniform(0, 30)).fit(TABLE, Y))
    rows = ridge_pce(2, distribution=[[0, 30], [0, 40]]).fit(TABLE, Y)
    assert [law.support for law in rows.basis_.laws] == [(0, 30), (0, 40)]


def test_a_histogram_need_not_be_frozen():
    law = stats.rv_histogram(np.histogram(TABLE["rate"], bins=10))
    found = ridge_pce(2, distribution=[law, "lognormal"]).fit(TABLE, Y)
    same(found, ridge_pce(2, distribution=[law(), "lognormal"]).fit(TABLE, Y))


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_a_distribution_of_the_logarithm(law):
    logarithms = TABLE.assign(size=np.log(TABLE["size"]))
    found = ridge_pce(3, distribution=["uniform", f"log{law}"]).fit(TABLE, Y)
    wanted = ridge_pce(3, distribution=["uniform", law]).fit(logarithms, Y)
    same(found, wanted)
    assert_allclose(found.predict(TABLE), wanted.predict(logarithms), rtol=1e-9)
    gradient = found.gradient(TABLE[:5])[..., 1]
    chain = wanted.gradient(logarithms[:5])[..., 1] / TABLE["size"].to_numpy()[:5]
    assert_allclose(gradient.ravel(), chain.ravel(), rtol=1e-9)
    for method in ("residual", "bootstrap"):
        how = {"n_resamples": 20, "random_state": 0, "method": method}
        intervals = [model.sobol_interval(**how) for model in (found, wanted)]
        agree(*intervals, "total_order", rtol=1e-9)
    message = f"'log{law}' for column 1 .* the value -1; exp"
    refuses(message, found.fit, TABLE.assign(size=-1.0), Y)


AS_LABELS = {
    "text": MIXED,
    "category": MIXED.assign(solver=pd.Categorical(LABELS, [*np.unique(LABELS), "z"])),
    "polars": pl.DataFrame({"rate": TABLE["rate"].to_numpy(), "solver": list(LABELS)}),
}


@pytest.mark.parametrize("kind", AS_LABELS)
@pytest.mark.parametrize("law", ["normal", ["normal", "categorical"]])
def test_labels_are_levels(kind, law, tmp_path):
    table = AS_LABELS[kind]
    fitted = ridge_pce(2, distribution=law).fit(table, OF_MIXED)
    assert fitted.levels_ == {"solver": ("adam", "rms", "sgd")}
    codes = np.unique(LABELS, return_inverse=True)[1]
    plain = np.column_stack([TABLE["rate"], codes])
    wanted = ridge_pce(2, distribution=["normal", "categorical"])
    same(fitted, wanted.fit(plain, OF_MIXED))
    assert_allclose(fitted.predict(table), wanted.predict(plain))

    own, given = table[["solver"]], fitted.conditional_expectation(table, "solver")
    for again in (fitted, *kept(fitted, tmp_path)):
        assert_array_equal(again.predict(table), fitted.predict(table))
        assert_array_equal(again.expansion_(table), fitted.predict(table))
        assert_array_equal(again.marginal("solver")(own), given)


def test_labels_of_a_column_that_has_a_number_for_a_name():
    named = ridge_pce(2).fit(MIXED, OF_MIXED)
    numbered = MIXED.set_axis([0, 1], axis=1)
    fitted = ridge_pce(2).fit(numbered, OF_MIXED)
    assert fitted.levels_ == {"x1": named.levels_["solver"]}
    assert_array_equal(fitted.predict(numbered), named.predict(MIXED))


def test_text_where_numbers_were_names_its_column():
    message = "X holds text in the column 'size', .* leave it out, or encode it"
    fitted = ridge_pce(1).fit(TABLE, Y)
    refuses(message, fitted.predict, TABLE.assign(size="large"))
    message = "'solver' of the expansion is a category; .* main_effects"
    refuses(message, ridge_pce(1).fit(MIXED, OF_MIXED).gradient, MIXED)
    dates = pl.DataFrame({"day": pl.Series(range(N)).cast(pl.Date)})
    refuses("X holds dates in the column 'day'", fitted.fit, dates, Y)


@pytest.mark.slow
def test_labels_in_the_verdict_the_report_and_a_search():
    model = ridge_pce(2)
    found = verdict(model, MIXED, OF_MIXED)
    assert found.q2[0] > 0.9
    with warnings.catch_warnings(action="error"):
        assert "solver" in report(clone(model).fit(MIXED, OF_MIXED), MIXED, OF_MIXED)
    assert cross_val_score(model, MIXED, OF_MIXED).min() > 0.9
    surrogate = ridge_surrogate(1).fit(MIXED, np.full((N, 2), 0.5))
    assert surrogate.levels_["solver"] == ("adam", "rms", "sgd")


@pytest.mark.parametrize("library", [pd, pl])
def test_numbers_as_text_are_no_levels_unless_that_is_said(library):
    texts = [str(value) for value in np.arange(N) % 4 / 10]
    X = library.DataFrame({"rate": texts, "solver": LABELS.tolist()})
    message = "X holds numbers as text in the column 'rate', such as '0.0'; expected"
    for law in ("normal", ["empirical", "categorical"], {"rate": "normal"}):
        refuses(message, ridge_pce(1, distribution=law).fit, X, OF_MIXED)
    stated = dict.fromkeys(X.columns, "categorical")
    for law in ("categorical", list(stated.values()), stated):
        fitted = ridge_pce(1, distribution=law).fit(X, OF_MIXED)
        assert fitted.levels_["rate"] == ("0.0", "0.1", "0.2", "0.3")
    category = pd.DataFrame({"rate": pd.Categorical(texts)})
    assert ridge_pce(1).fit(category, OF_MIXED).levels_


def test_labels_that_are_not_levels():
    fitted = ridge_pce(1).fit(MIXED, OF_MIXED)
    with pytest.warns(InputOutsideSupportWarning, match="levels not seen in fit"):
        fitted.predict(MIXED[:3].assign(solver="other"))
    message, missing = "no label in 1 of 60 rows .* 'solver'", [None, *LABELS[1:]]
    refuses(message, fitted.fit, MIXED.assign(solver=missing), OF_MIXED)
    fitted.set_params(distribution={"rate": (0, 4), "solver": "normal"})
    message = "'normal' for solver, whose column of X"
    refuses(message, fitted.fit, MIXED, OF_MIXED)


def test_more_terms_than_rows():
    table = TABLE.to_numpy()[:10]
    with pytest.warns(MoreTermsThanRowsWarning, match="15 terms for 10 rows, so that"):
        ridge_pce(4).fit(table, Y[:10])
    with warnings.catch_warnings(action="error"):
        ridge_pce(4, solver="subspace_pursuit").fit(table, Y[:10])
        verdict(ridge_pce(9), TABLE.to_numpy()[:40], Y[:40])


def test_a_search_over_learned_bounds_repeats_no_warning():
    grid = {"degree": [1, 2, 3, 12], "solver": ["ridge", "ols"]}
    search = GridSearchCV(ridge_pce(distribution="uniform"), grid, cv=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(TABLE, Y)
    assert not caught
    with pytest.warns(InputOutsideSupportWarning, match="2 of 5 values of rate lie"):
        search.predict(TABLE[:5].assign(rate=[4.0, 5, 2, 2, 2]))


NARROW = {"rate": (1, 2), "size": "lognormal"}


def warned(call):
    """Return the messages about inputs outside their distribution, and their files."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    kept = [w for w in found if w.category is InputOutsideSupportWarning]
    return [(str(w.message), w.filename) for w in kept]


@cases(
    "model",
    ridge_pce(1, distribution=NARROW),
    PolynomialChaosRegressor(distribution=NARROW),
    PolynomialChaosFeatures(1, distribution=NARROW),
    make_pipeline("passthrough", ridge_pce(1, distribution=NARROW)),
    GridSearchCV(ridge_pce(distribution=NARROW), {"degree": [1, 2]}, cv=3),
    ids=lambda model: type(model).__name__,
)
def test_a_distribution_narrower_than_the_data_is_warned_of_once(model):
    rate = TABLE["rate"]
    ((message, file),) = warned(lambda: clone(model).fit(TABLE, Y))
    counted = f"{(rate > 2).sum()} of 60 values of rate ({rate.min():.3g} to"
    assert message.startswith(f"{counted} {rate.max():.3g}) lie outside [1, 2], the")
    assert "State wider ones, such as bounds (low, high)" in message
    assert file == __file__


def test_a_stated_distribution_far_from_most_of_the_data_is_warned_of():
    X = np.random.default_rng(0).normal(50, 10, (40, 1))
    wide = ridge_pce(1, distribution=stats.norm(40, 5))
    assert warned(lambda: wide.fit(X, X[:, 0])) == []
    standard = ridge_pce(1, distribution=stats.norm())
    ((message, _),) = warned(lambda: standard.fit(X, X[:, 0]))
    assert message.startswith("A quarter of the values of x0 (")
    assert "normal (mean 0, sd 1), has less than 1e-06 of its probability" in message


def test_one_warning_names_three_of_many_inputs():
    X = np.random.default_rng(0).uniform(0, 2, (40, 5))
    model = ridge_pce(1, distribution=(0, 1))
    ((message, _),) = warned(lambda: model.fit(X, X[:, 0]))
    assert "x2" in message
    assert "x3" not in message
    assert "So it is for 2 more inputs." in message
    assert warned(lambda: model.predict(X / 2)) == []
    model, weights = ridge_pce(1, distribution=NARROW), TABLE["rate"] <= 2
    assert warned(lambda: model.fit(TABLE, Y, sample_weight=weights * 1.0)) == []


@pytest.mark.slow
def test_a_verdict_and_a_report_do_not_repeat_the_warning():
    model = ridge_pce(2, distribution=NARROW)
    assert warned(lambda: verdict(model, TABLE, Y)) == []
    text = str(verdict(model, TABLE, Y))
    assert "rate does not have its stated distribution (p = " in text
    warned(lambda: model.fit(TABLE, Y))
    assert len(warned(lambda: model.sobol_interval(n_resamples=5))) == 0
    pytest.importorskip("matplotlib")
    assert len(warned(lambda: report(model, TABLE, Y))) == 1
