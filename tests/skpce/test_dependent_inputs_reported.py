"""Messages of the indices of dependent inputs: text, cautions and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skpce import NatafTransformer
from skpce.inspection import dependent_sobol_indices
from tests.shared import cases, refuses, ridge_pce
from tests.skpce.test_dependent_inputs import BETA, NORMALS, exact_pce


def test_it_says_whether_independence_is_broken(rng):
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=200)
    frame = pd.DataFrame(X, columns=["yield", "price"])
    pce = ridge_pce(1).fit(frame, X[:, 0])
    found = dependent_sobol_indices(pce, frame, random_state=0)
    assert found.independence.startswith("yield and price are dependent (correlation")
    assert "the closed form assumes that they are not" in str(found)
    assert found.supported == (True,)
    free = rng.normal(size=(200, 2))
    pce = ridge_pce(1).fit(free, free[:, 0])
    found = dependent_sobol_indices(pce, free, random_state=0)
    assert found.independence.startswith("no dependence of two columns is visible")


def test_draws_outside_the_laws_of_the_expansion_are_told(rng):
    X = rng.uniform(size=(40, 2))
    pce = ridge_pce(1, distribution="uniform").fit(X, X[:, 0])
    found = dependent_sobol_indices(pce, X, random_state=0)
    assert any("outside the supports" in text for text in found.cautions)


def test_few_rows_do_not_say_how_columns_depend(rng):
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=60)
    pce, given = ridge_pce(1).fit(X, X[:, 0]), {"random_state": 0, "n_samples": 1024}
    found = dependent_sobol_indices(pce, X, **given)
    assert found.supported == (True,)
    assert found.cautions[0].startswith("a correlation learned from 60 rows has a")
    few = dependent_sobol_indices(pce, X[:4], **given)
    assert few.supported == (False,)
    assert "from 4 rows has a standard error of up to 0.50, more" in few.reasons[0][0]
    law = NatafTransformer("normal", correlation=[[1, 0.8], [0.8, 1]])
    stated = dependent_sobol_indices(pce, X[:4], distribution=law, **given)
    assert stated.supported == (True,)


def test_a_law_that_spreads_a_column_of_few_values_says_so(rng):
    X = np.c_[rng.normal(size=300), rng.integers(0, 2, size=300), rng.poisson(50, 300)]
    pce = ridge_pce(1).fit(X, X[:, 0] + 2 * X[:, 1])
    found = dependent_sobol_indices(pce, X, n_samples=1024, random_state=0)
    drawn = found.distribution.sample(50_000, random_state=0)
    assert_allclose(drawn.std(axis=0) / X.std(axis=0), [1, 1.25, 1], atol=0.03)
    (caution,) = [text for text in found.cautions if "distinct values" in text]
    assert "the 2 distinct values of x1" in caution
    assert "becomes 1.25 times" in caution


def test_columns_in_another_order_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    pce = ridge_pce(1).fit(frame, X[:, 0])
    message = r"\['b', 'a'\]; expected \['a', 'b'\]"
    refuses(message, dependent_sobol_indices, pce, frame[["b", "a"]])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_draws_outside_the_domain_of_a_step_are_refused():
    X = np.random.default_rng(0).lognormal(size=(100, 2))
    logarithm = make_pipeline(FunctionTransformer(np.log), ridge_pce(1))
    logarithm.fit(X, np.log(X[:, 0]))
    with pytest.raises(ValueError, match=r"give NaN or infinity for \d+ of 64 rows"):
        dependent_sobol_indices(logarithm, X, n_samples=1024, random_state=0)
    law = NatafTransformer(stats.lognorm(1.0))
    found = dependent_sobol_indices(logarithm, X, distribution=law, random_state=0)
    assert found.first_order[0, 0] == pytest.approx(1.0, abs=0.02)


def test_a_copy_of_a_column():
    x = np.random.default_rng(0).normal(size=(500, 2))
    X = x[:, [0, 0, 1]]
    pce = ridge_pce(1).fit(X, x.sum(axis=1))
    found = dependent_sobol_indices(pce, X, random_state=0)
    assert_allclose(found.shapley, [[0.25, 0.25, 0.5]], atol=0.05)
    assert_allclose(found.total_order[0, :2], 0.0, atol=0.01)
    assert_allclose(found.first_order[0, :2], 0.5, atol=0.05)


def test_days_of_work_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 20))
    pce = ridge_pce(1).fit(X, X[:, 0])
    expected = r"takes days.*n_resamples=1000000.*at most 1e\+10"
    refuses(expected, dependent_sobol_indices, pce, X, n_resamples=10**6)


@cases(
    ("given", "message"),
    ({"distribution": "gaussian"}, r"'distribution' parameter .* Got 'gaussian'"),
    ({"groups": {"a": [0, 1], "b": [1]}}, "groups has 'x1' in 'a' and in 'b'"),
    ({"groups": {"a": ["x9"]}}, r"group 'a' of groups must be a set of .* X: .*'x9'"),
    ({"groups": {"x2": [0, 1]}}, "has the name 'x2', which is that of"),
)
def test_bad_input(given, message):
    pce, X = exact_pce(lambda X: X @ BETA, NORMALS, 1, size=40)
    refuses(message, dependent_sobol_indices, pce, X, **given)
