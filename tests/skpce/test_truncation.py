"""Truncation sets: against the definition, scikit-learn and closed counts."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import norm
from sklearn.preprocessing import PolynomialFeatures

from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._basis.basis import Truncation
from tests.shared import cases, refuses


def brute_force(cut):
    """Every multi-index in a box that is large enough, retained by the definition."""
    ends = [
        int(end if kind else min(end, cut.degree))
        for end, kind in zip(cut.largest, cut.categorical, strict=True)
    ]
    retained = set()
    for index in itertools.product(*(range(end + 1) for end in ends)):
        powers = np.where(cut.categorical, np.minimum(index, 1), index)
        norm = np.sum(powers[powers > 0] ** cut.q)
        order = np.count_nonzero(index)
        if norm <= cut.degree**cut.q * (1 + 1e-9) and order <= (cut.order or 9):
            retained.add(index)
    return retained


@st.composite
def truncations(draw):
    n_features = draw(st.integers(1, 4))

    def one_each(values):
        return draw(st.lists(values, min_size=n_features, max_size=n_features))

    categorical = one_each(st.booleans())
    caps, endless = one_each(st.integers(0, 3)), one_each(st.booleans())
    largest = [
        np.inf if end and not kind else float(cap)
        for cap, end, kind in zip(caps, endless, categorical, strict=True)
    ]
    return Truncation(
        draw(st.integers(0, 4)),
        draw(st.sampled_from([1.0, 0.95, 0.75, 0.5, 0.3, 1e-6, 1e-300])),
        draw(st.sampled_from([None, 1, 2, 3])),
        tuple(largest),
        tuple(categorical),
    )


@given(truncations())
def test_set_is_the_definition(cut):
    built, expected = cut.listed(), brute_force(cut)
    assert {tuple(row) for row in built.tolist()} == expected
    assert len(built) == len(expected) == cut.count()
    assert built.dtype == np.int64
    assert built.flags["C_CONTIGUOUS"]
    assert not built[0].any()
    degrees = np.where(cut.categorical, built > 0, built).sum(axis=1)
    assert np.all(np.diff(degrees) >= 0), "graded"
    built[:] = 7  # whoever changes a list changes no other
    assert {tuple(row) for row in cut.listed().tolist()} == expected


@pytest.mark.parametrize("n_features", [1, 2, 3, 6])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_order_is_that_of_scikit_learn(n_features, degree):
    powers = PolynomialFeatures(degree).fit(np.zeros((1, n_features))).powers_
    built = Truncation.of_degree(n_features, degree).listed()
    assert_array_equal(built, powers)


def test_contrasts_of_one_category_are_neighbours_in_their_order():
    cut = Truncation(2, 1.0, None, (2.0, np.inf), (True, False))
    assert cut.listed().tolist() == [
        *([0, 0], [1, 0], [2, 0]),
        *([0, 1], [1, 1], [2, 1], [0, 2]),
    ]


BASES = PolynomialChaosFeatures, PolynomialChaosRegressor, CompositionalPCESurrogate


@cases("estimator", *BASES)
@cases(
    ("degree", "n_features", "options"),
    (5, 5000, {}),
    (300, 5000, {}),
    (40, 3000, {"truncation": "hyperbolic", "q": 0.9}),
    (9, 300, {"distribution": "normal"}),
)
def test_too_large_is_refused_before_any_work(
    estimator, degree, n_features, options, monkeypatch
):
    def fail(*arguments, **options):
        raise AssertionError("built")

    monkeypatch.setattr("skpce._basis.basis.Truncation.listed", fail)
    X, y = np.zeros((6, n_features)), np.full((6, 2), 0.5)
    started = time.process_time()
    advice = f"terms; with {n_features} .*Lower 'degree', set 'interaction_order'"
    model = estimator(degree, **{"distribution": "normal", **options})
    refuses(advice, model.fit, X, y)
    assert time.process_time() - started < 10.0


def test_degrees_that_no_samples_tell_apart_are_refused():
    law = {"interaction_order": 1, "distribution": norm(0, 1)}
    features = PolynomialChaosFeatures(10**6, **law)
    message = r"'degree' parameter .* at most 10000"
    refuses(message, features.fit, np.zeros((6, 4)))


NO_DEGREE = -1, 2.5, True, "2"


@cases(
    ("parameters", "message"),
    ({"truncation": "hyperbolic", "q": 0.0}, r"'q' parameter .* \(0, 1\]"),
    ({"q": 0.5}, "has an effect with truncation='hyperbolic'"),
    ({"truncation": "sparse"}, "'hyperbolic', 'total_degree'. Got 'sparse'"),
    ({"interaction_order": 0}, r"\[1, inf\) or None. Got 0"),
    *(
        ({"degree": bad}, r"'degree' .* int in the range \[0, inf\)")
        for bad in NO_DEGREE
    ),
)
def test_bad_truncation(parameters, message):
    features = PolynomialChaosFeatures(**{"degree": 2} | parameters)
    refuses(message, features.fit, np.zeros((3, 2)))
