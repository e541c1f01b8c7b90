"""The expansion that every fit ends in, as an object of its own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skpce import CompositionalPCESurrogate, Expansion, PolynomialChaosRegressor
from skpce._basis.basis import PolynomialBasis, Truncation
from skpce._input_laws.families import NormalLaw
from tests.shared import (
    agree,
    cases,
    refuses,
    ridge_pce,
    ridge_surrogate,
    shares_of_terms,
)

MULTI_INDICES = Truncation.of_degree(3, 2).listed()
BASIS = PolynomialBasis([NormalLaw(0.0, 1.0)] * 3, MULTI_INDICES)


def random_expansion(n_outputs=4, **options):
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(n_outputs, len(MULTI_INDICES)))
    return Expansion(BASIS, coefficients, **options)


def data(n_members=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_members, 3))
    y = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], X[:, 1] ** 2])
    return X, y + 0.1 * rng.normal(size=y.shape)


def probabilities(X):
    first = softmax(np.c_[X[:, 0], X[:, 1], 0 * X[:, 0]], axis=1)
    second = softmax(np.c_[X[:, 2], 0 * X[:, 0]], axis=1)
    return np.hstack([first, second])


def test_it_is_a_function():
    expansion = random_expansion()
    X = np.random.default_rng(1).normal(size=(7, 3))
    expected = BASIS.evaluate(X) @ expansion.coefficients.T
    assert_allclose(expansion(X), expected, rtol=1e-12)
    alone = random_expansion(1, scalar=True)
    assert alone(X).shape == (7,)
    assert_allclose(alone(X), random_expansion(1)(X)[:, 0])


def test_a_group_has_the_squares_of_its_outputs():
    expansion = random_expansion(groups=[0, 1, 0, 1], group_names=["a", "b"])
    found = expansion.sobol_indices()
    squares = np.square(expansion.coefficients)
    sums = squares[:2] + squares[2:]
    first, total, shapley = shares_of_terms(sums, MULTI_INDICES)
    assert_allclose(found.first_order, first)
    assert_allclose(found.total_order, total)
    assert_allclose(found.shapley, shapley)
    assert_allclose(found.total_variance, sums[:, 1:].sum(axis=1))


def test_the_expansion_of_a_surrogate_knows_steps_and_actions():
    X, _ = data()
    surrogate = ridge_surrogate(2, steps={"first": 3, "second": 2})
    surrogate.fit(X, probabilities(X))
    expansion = surrogate.expansion_
    assert expansion.group_names == ("first", "second")
    assert expansion.marginal(0).group_names == ("first", "second")
    assert expansion.output_names[::2] == ("first:0", "first:2", "second:1")
    clr = np.log(surrogate.predict(X))
    for step in (slice(0, 3), slice(3, 5)):
        clr[:, step] -= clr[:, step].mean(axis=1, keepdims=True)
    assert_allclose(expansion(X), clr, atol=1e-9)
    found = expansion.sobol_indices()
    assert_allclose(found.first_order, surrogate.step_sobol_indices_)
    assert_allclose(found.total_order, surrogate.step_total_sobol_indices_)
    assert_allclose(expansion.q2, surrogate.diagnostics_.loo_q2)
    trajectory = expansion.grouped([0] * 5).sobol_indices()
    agree(trajectory, surrogate.sobol_indices("trajectory"), "total_order")


def test_it_is_framed_and_printed():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    expansion = ridge_pce(2).fit(frame, y[:, 0]).expansion_
    table = expansion.to_frame()
    assert table.loc["He1(a)", "y"] == expansion.coefficients[0, 1]
    assert list(table.index) == expansion.term_names
    assert expansion.sobol_frame()["input"].tolist() == ["a", "b", "c"]
    share = expansion.sobol_indices().total_order[0, 1]
    assert f"b {share:.2f}" in str(expansion)
    assert f"unexplained {expansion.unexplained_share[0]:.0%}" in str(expansion)
    escaped = random_expansion(1, output_names=["<script>"])._repr_html_()
    assert "<script>" not in escaped


@cases(
    ("options", "message"),
    ({"input_names": ["a"]}, "input_names must be 3 names"),
    ({"output_names": ["a"]}, "output_names must be 4 names"),
    ({"groups": [0, 1]}, "groups must be 4 ints"),
    ({"groups": [0, 1, 2, 3], "group_names": ["a", "b"]}, "from 0 to 1"),
    ({"q2": [0.5]}, r"q2 has shape \(1,\); expected \(4,\)"),
)
def test_parts_that_do_not_fit_are_refused(options, message):
    refuses(message, random_expansion, **options)
    message = r"has shape \(2, 3\); expected \(n_outputs"
    refuses(message, Expansion, BASIS, np.zeros((2, 3)))


ESTIMATORS = [
    ridge_pce(2),
    PolynomialChaosRegressor(),
    ridge_surrogate(2, steps=(3, 2)),
]


def fitted(estimator):
    X, y = data()
    if isinstance(estimator, CompositionalPCESurrogate):
        y = probabilities(X)
    return clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_indices_are_fitted_attributes(estimator):
    """They are computed when they are read, and missing before ``fit``."""
    for name in ("expansion_", "sobol_indices_", "total_variance_"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(estimator, name)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    model = fitted(estimator)
    check_is_fitted(model, ["sobol_indices_", "total_sobol_indices_"])
    assert not hasattr(clone(model), "sobol_indices_")
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.sobol_indices_, model.sobol_indices_)
