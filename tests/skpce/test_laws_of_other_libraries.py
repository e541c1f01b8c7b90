"""Distributions of other libraries, against the moments that these give."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import skpce
from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce.ensembles import from_frame, sample_inputs
from skpce.inspection import sobol_indices
from tests.shared import cases, refuses

new_scipy = pytest.mark.skipif(
    not hasattr(stats, "make_distribution"), reason="scipy before 1.15"
)


def of_square(law):
    """Variance of the square of an input, by a fit that is exact; the polynomials."""
    x = np.random.default_rng(0).uniform(0.1, 0.9, size=(30, 1))
    model = PolynomialChaosRegressor(2, distribution=[law], solver="ols")
    model.fit(x, x[:, 0] ** 2)
    return float(model.total_variance_[0]), model.basis_.laws[0].polynomial


@new_scipy
@cases(
    ("make", "family"),
    (lambda: stats.Normal(mu=0.3, sigma=0.7), "He"),
    (lambda: stats.Uniform(a=-1.0, b=2.0), "P"),
    (lambda: stats.make_distribution(stats.gamma)(a=2.5), "L"),
    (lambda: 2 * stats.make_distribution(stats.beta)(a=2.0, b=3.0) - 0.5, "J"),
    (lambda: stats.truncate(stats.Normal(), lb=-1.0, ub=2.0), "A"),
    (lambda: stats.Mixture([stats.Normal(), stats.Normal(mu=3.0)]), "A"),
    (lambda: stats.Binomial(n=6, p=0.3), "D"),
    (lambda: stats.make_distribution(stats.poisson)(mu=2.0), "D"),
    ids=str.split("normal uniform gamma beta truncated mixture binomial poisson"),
)
@pytest.mark.filterwarnings("ignore::skpce.InputOutsideSupportWarning")
def test_objects_of_scipy(make, family):
    law = make()
    fourth, second = (law.moment(k, kind="raw") for k in (4, 2))
    assert of_square(law) == (pytest.approx(fourth - second**2, rel=1e-6), family)


@cases(
    ("library", "name", "arguments", "family"),
    ("openturns", "Normal", (0.3, 0.7), "He"),
    ("openturns", "Gamma", (2.5, 2.0, -1.0), "L"),
    ("openturns", "Beta", (2.0, 3.0, -0.5, 1.5), "J"),
    ("openturns", "Gumbel", (0.5, 0.2), "A"),
    ("openturns", "TruncatedNormal", (0.0, 1.0, -1.0, 2.0), "A"),
    ("openturns", "UserDefined", ([[0.0], [0.5], [2.0]], [0.2, 0.3, 0.5]), "D"),
    ("chaospy", "Normal", (0.3, 0.7), "He"),
    ("chaospy", "Gamma", (2.5, 2.0), "L"),
    ("chaospy", "Beta", (2.0, 3.0, -0.5, 1.5), "J"),
    ("chaospy", "TruncNormal", (-1.0, 2.0, 0.0, 1.0), "A"),
    ("chaospy", "Binomial", (6, 0.3), "D"),
)
@pytest.mark.filterwarnings("ignore::skpce.InputOutsideSupportWarning")
def test_distributions_of_openturns_and_chaospy(library, name, arguments, family):
    law = getattr(pytest.importorskip(library), name)(*arguments)
    moment = law.getMoment if library == "openturns" else law.mom
    fourth, second = (np.ravel(moment(k))[0] for k in (4, 2))
    assert of_square(law) == (pytest.approx(fourth - second**2, rel=1e-6), family)


PROBLEM = {
    "num_vars": 7,
    "names": ["unif", "logunif", "triang", "norm", "truncnorm", "lognorm", "weibull"],
    "bounds": [
        *([-1, 2], [0.1, 3], [-1, 2, 0.4], [1, 2]),
        *([-1, 2, 0, 1], [0, 0.3], [2, 1.5]),
    ],
}


def test_the_distributions_of_a_problem_of_salib_are_those_that_it_draws():
    util = pytest.importorskip("SALib.util")
    problem = PROBLEM | {"dists": PROBLEM["names"]}
    quantiles = np.linspace(0.01, 0.99, 9)
    columns = np.tile(quantiles[:, None], 7)
    given = problem["bounds"], problem["dists"]
    wanted = util._nonuniform_scale_samples(columns, *given)
    X = np.random.default_rng(0).uniform(0.2, 0.9, size=(40, 7))
    features = PolynomialChaosFeatures(1, distribution=problem).fit(X)
    for law, column in zip(features.basis_.laws, wanted.T, strict=True):
        assert_allclose(law.to_scipy().ppf(quantiles), column, rtol=1e-9)


def test_a_problem_is_read_by_names_and_everywhere():
    problem = {"num_vars": 2, "names": ["b", "a"], "bounds": [[0, 1], [0, 10]]}
    drawn = sample_inputs(problem, 64, random_state=0)
    assert drawn["a"].max() > 5 > 1 > drawn["b"].max()
    drawn["y"] = drawn["b"] + 0.05 * drawn["a"]
    table = drawn[["a", "b"]]  # in another order than the problem
    model = PolynomialChaosRegressor(1, distribution=problem, solver="ols")
    shares = model.fit(table, drawn["y"]).sobol_indices_[0]
    # variances 25/3 times .05 squared, and 1/12
    assert shares == pytest.approx([0.2, 0.8])
    assert from_frame(drawn, problem, "y").distribution[1].support() == (0, 10)
    answer = skpce.explain(drawn, outputs="y", inputs=problem)
    assert answer.drivers.state.tolist() == [["drives", "drives"]]
    nameless = model.fit(table[["b", "a"]].to_numpy(), drawn["y"])
    assert nameless.sobol_indices_[0] == pytest.approx([0.8, 0.2])
    found = sobol_indices(model, table[["b", "a"]].to_numpy(), distribution=problem)
    assert found.first_order[0] == pytest.approx([0.8, 0.2], abs=0.01)


def test_joint_distributions_are_refused():
    openturns, chaospy = map(pytest.importorskip, ("openturns", "chaospy"))
    X = np.random.default_rng(0).uniform(size=(40, 2))
    joints = (
        openturns.JointDistribution([openturns.Uniform(0, 1), openturns.Uniform(0, 2)]),
        chaospy.J(chaospy.Uniform(0, 1), chaospy.Uniform(0, 2)),
    )
    model = PolynomialChaosRegressor(1)
    for joint in joints:
        for given in (joint, [joint, "uniform"]):
            model.set_params(distribution=given)
            refuses("2 inputs; expected one of a single", model.fit, X, X[:, 0])


def test_estimators_with_them_are_pickled_and_draw():
    openturns = pytest.importorskip("openturns")
    X = np.random.default_rng(0).uniform(size=(40, 1))
    gumbel = openturns.Gumbel(0.5, 0.2)
    model = PolynomialChaosRegressor(2, distribution=gumbel, solver="ols")
    model.fit(X, X[:, 0] ** 2)
    other = pickle.loads(pickle.dumps(model))
    assert other.predict(X) == pytest.approx(model.predict(X))
    law = model.basis_.laws[0]
    values = law.sample(4000, np.random.default_rng(0))
    assert stats.kstest(values, stats.gumbel_r(0.2, 0.5).cdf).pvalue > 0.01
    assert law.describe().startswith("Gumbel(")


def test_model_files_hold_those_that_are_classical(tmp_path):
    openturns = pytest.importorskip("openturns")
    X = np.random.default_rng(0).uniform(size=(40, 2))
    uniform, problem = openturns.Uniform(0, 1), PROBLEM | {"num_vars": 2}
    problem |= {"names": ["a", "b"], "bounds": [[0, 1], [0, 2]]}
    for given in ([uniform, "uniform"], problem):
        model = PolynomialChaosRegressor(2, distribution=given, solver="ols")
        skpce.save_model(model.fit(X, X[:, 0] ** 2), tmp_path / "model.skpce")
        loaded = skpce.load_model(tmp_path / "model.skpce")
        assert loaded.predict(X) == pytest.approx(model.predict(X))
        assert loaded.fit(X, X[:, 0] ** 2).basis_.laws[0].support == (0.0, 1.0)
    model.set_params(distribution=[openturns.Gumbel(0.5, 0.2), "uniform"])
    message = r"no distribution of scipy\.stats by its"
    refuses(message, skpce.save_model, model.fit(X, X[:, 0]), tmp_path / "model.skpce")


def test_bad_problems_are_refused():
    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(20, 2)), columns=["a", "b"])
    problem = {"num_vars": 2, "names": ["a", "b"], "bounds": [[0, 1]]}
    model = PolynomialChaosRegressor(1, distribution=problem)
    refuses("2 names, 1 bounds and 2 dists", model.fit, X, X["a"])
    problem |= {"bounds": [[0, 1], [0, 1]], "dists": ["unif", "cauchy"]}
    model.set_params(distribution=problem)
    refuses(r"'cauchy' .* for 'b'; expected one of", model.fit, X, X["a"])
