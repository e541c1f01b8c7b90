"""Truncation sets against brute force, scikit-learn and closed counts."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._basis.basis import build_multi_indices, count_terms

GRID = [
    (n_features, degree, q, order)
    for n_features in (1, 2, 3, 5)
    for degree in (0, 1, 2, 3, 5)
    for q in (1.0, 0.75, 0.5, 0.2)
    for order in (None, 1, 2, 4)
]


def brute_force(n_features, degree, q, order):
    """Every multi-index in the box, retained by the definition in exact fractions."""
    retained = set()
    for index in itertools.product(range(degree + 1), repeat=n_features):
        active = sum(i > 0 for i in index)
        norm = sum(i**q for i in index if i) ** (1 / q)
        if norm <= degree * (1 + 1e-9) and active <= (order or n_features):
            retained.add(index)
    return retained


@pytest.mark.parametrize(("n_features", "degree", "q", "order"), GRID)
def test_set_is_the_definition(n_features, degree, q, order):
    if (degree + 1) ** n_features > 4000:
        n_features = 4
    built = build_multi_indices(n_features, degree, q=q, interaction_order=order)
    assert {tuple(row) for row in built.tolist()} == brute_force(
        n_features, degree, q, order
    )
    assert len(built) == count_terms(n_features, degree, q=q, interaction_order=order)
    assert built.dtype == np.int64
    assert built.flags["C_CONTIGUOUS"]
    assert not built[0].any()
    assert np.all(np.diff(built.sum(axis=1)) >= 0), "graded"


@pytest.mark.parametrize("n_features", [1, 2, 3, 6])
@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_order_is_that_of_scikit_learn(n_features, degree):
    powers = (
        PolynomialFeatures(degree).fit(np.zeros((1, n_features))).powers_
        if degree
        else np.zeros((1, n_features), dtype=int)
    )
    np.testing.assert_array_equal(build_multi_indices(n_features, degree), powers)


@pytest.mark.parametrize(("n_features", "degree"), [(5, 3), (40, 2), (10, 4), (2, 30)])
def test_total_degree_count_is_a_binomial(n_features, degree):
    expected = math.comb(n_features + degree, degree)
    assert count_terms(n_features, degree) == expected
    assert len(build_multi_indices(n_features, degree)) == expected


def test_every_term_has_its_parent():
    rows = build_multi_indices(4, 5, q=0.6, interaction_order=3)
    known = {tuple(row) for row in rows.tolist()}
    for row in rows[1:]:
        parent = row.copy()
        parent[np.flatnonzero(row)[-1]] = 0
        assert tuple(parent.tolist()) in known


def test_many_features_of_low_degree_are_quick():
    started = time.process_time()
    rows = build_multi_indices(1500, 1)
    assert time.process_time() - started < 10.0
    np.testing.assert_array_equal(rows[1:], np.eye(1500))


@pytest.mark.parametrize(
    ("n_features", "degree", "count"),
    [(5000, 5, math.comb(5005, 5)), (5000, 3, math.comb(5003, 3))],
)
@pytest.mark.parametrize(
    "estimator",
    [PolynomialChaosFeatures, PolynomialChaosRegressor, CompositionalPCESurrogate],
)
def test_too_large_names_the_counts_before_any_work(
    estimator, n_features, degree, count
):
    X = np.zeros((6, n_features))
    y = np.full((6, 2), 0.5)
    started = time.process_time()
    with pytest.raises(ValueError, match=f"{count} terms; with .* the fit needs about"):
        estimator(degree, distribution="normal").fit(X, y)
    assert time.process_time() - started < 10.0


@pytest.mark.parametrize(("degree", "n_features"), [(300, 5000), (1000, 1000)])
def test_astronomical_bases_are_refused_too(degree, n_features):
    with pytest.raises(ValueError, match=r"terms; with 1000|terms; with 5000"):
        PolynomialChaosFeatures(degree, distribution="normal").fit(
            np.zeros((2, n_features))
        )


def test_a_large_hyperbolic_basis_is_refused_without_enumerating_it():
    started = time.process_time()
    with pytest.raises(ValueError, match="Lower 'degree'"):
        PolynomialChaosFeatures(
            40, truncation="hyperbolic", q=0.9, distribution="normal"
        ).fit(np.zeros((2, 3000)))
    assert time.process_time() - started < 10.0


@pytest.mark.parametrize("degree", [-1, 2.5, True, "2", None])
def test_degree_must_be_a_natural_number(degree):
    with pytest.raises(
        ValueError, match=r"'degree' parameter of .* int in the range \[0, inf\)"
    ):
        PolynomialChaosFeatures(degree, distribution="normal").fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"truncation": "hyperbolic", "q": 0.0}, r"'q' parameter .* \(0, 1\]"),
        ({"truncation": "hyperbolic", "q": 1.5}, r"'q' parameter .* Got 1.5"),
        ({"truncation": "hyperbolic", "q": float("nan")}, "Got nan"),
        ({"truncation": "hyperbolic", "q": "half"}, "Got 'half'"),
        ({"q": 0.5}, "has an effect with truncation='hyperbolic'"),
        ({"truncation": "sparse"}, "'hyperbolic', 'total_degree'. Got 'sparse'"),
        ({"interaction_order": 0}, r"\[1, inf\) or None. Got 0"),
        ({"interaction_order": 1.5}, "Got 1.5"),
    ],
)
def test_bad_truncation(parameters, message):
    with pytest.raises(ValueError, match=message):
        PolynomialChaosFeatures(2, **parameters).fit(np.zeros((3, 2)))


def test_sets_that_no_samples_tell_apart_are_refused():
    with pytest.raises(ValueError, match=r"'degree' parameter .* at most 10000"):
        build_multi_indices(4, 10**6, interaction_order=1)
    with pytest.raises(ValueError, match=r"n_features=1000000 needs about .* GiB"):
        build_multi_indices(10**6, 1)
    assert len(build_multi_indices(1, 10_000)) == 10_001
