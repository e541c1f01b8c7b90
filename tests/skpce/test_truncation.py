"""Anisotropic, capped, categorical and explicit sets against the definition."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from skpce import CompositionalPCESurrogate, PolynomialChaosFeatures
from skpce._basis.basis import (
    build_multi_indices,
    check_multi_indices,
    count_terms,
    explicit_multi_indices,
    truncated_multi_indices,
)
from skpce._input_laws import NormalLaw


class CappedLaw(NormalLaw):
    """A law of three values: two polynomials beside the constant."""

    @property
    def largest_degree(self):
        return 2.0


class ContrastLaw(NormalLaw):
    """A category of four levels."""

    polynomial = "C"
    is_polynomial = False

    @property
    def largest_degree(self):
        return 3.0


def brute_force(n_features, degree, q, order, weights, largest, categorical):
    """Every multi-index in a box that is large enough, retained by the definition."""
    ends = [
        int(min(end, np.inf if kind else degree / weight + 1e-6))
        for weight, end, kind in zip(weights, largest, categorical, strict=True)
    ]
    retained = set()
    for index in itertools.product(*(range(end + 1) for end in ends)):
        powers = np.where(categorical, np.minimum(index, 1), index)
        norm = np.sum((weights * powers) ** q) ** (1 / q)
        if norm <= degree * (1 + 1e-8) and np.count_nonzero(index) <= (order or 9):
            retained.add(index)
    return retained


@st.composite
def truncations(draw):
    n_features = draw(st.integers(1, 4))

    def one_each(values):
        return draw(st.lists(values, min_size=n_features, max_size=n_features))

    categorical = one_each(st.booleans())
    caps = one_each(st.integers(0, 3))
    endless = one_each(st.booleans())
    largest = [
        np.inf if end and not kind else float(cap)
        for cap, end, kind in zip(caps, endless, categorical, strict=True)
    ]
    return {
        "n_features": n_features,
        "degree": draw(st.integers(0, 4)),
        "q": draw(st.sampled_from([1.0, 0.75, 0.5, 0.3])),
        "order": draw(st.sampled_from([None, 1, 2, 3])),
        "weights": np.array(one_each(st.sampled_from([0.5, 0.7, 1.0, 1.3, 2.0, 9.0]))),
        "largest": np.array(largest),
        "categorical": np.array(categorical),
    }


@given(truncations())
def test_set_is_the_definition(case):
    options = {
        "q": case["q"],
        "interaction_order": case["order"],
        "anisotropy": case["weights"],
        "largest": case["largest"],
        "categorical": case["categorical"],
    }
    built = build_multi_indices(case["n_features"], case["degree"], **options)
    expected = brute_force(**case)
    assert {tuple(row) for row in built.tolist()} == expected
    assert len(built) == len(expected)
    assert count_terms(case["n_features"], case["degree"], **options) == len(expected)
    assert built.dtype == np.int64
    assert built.flags["C_CONTIGUOUS"]
    assert not built[0].any()
    degrees = np.where(case["categorical"], built > 0, built).sum(axis=1)
    assert np.all(np.diff(degrees) >= 0), "graded"


@given(truncations(), st.integers(1, 60))
def test_counting_stops_early_with_a_lower_bound(case, stop_above):
    options = {
        "q": case["q"],
        "interaction_order": case["order"],
        "anisotropy": case["weights"],
        "largest": case["largest"],
        "categorical": case["categorical"],
    }
    exact = count_terms(case["n_features"], case["degree"], **options)
    stopped = count_terms(
        case["n_features"], case["degree"], **options, stop_above=stop_above
    )
    assert stopped <= exact
    assert (stopped > stop_above) == (exact > stop_above)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_equal_weights_rescale_the_degree(weight):
    np.testing.assert_array_equal(
        build_multi_indices(3, 4, anisotropy=[weight] * 3),
        build_multi_indices(3, int(4 / weight)),
    )


def test_contrasts_of_one_category_are_neighbours_in_their_order():
    built = build_multi_indices(
        2, 2, largest=[2, np.inf], categorical=np.array([True, False])
    )
    assert built.tolist() == [
        [0, 0],
        [1, 0],
        [2, 0],
        [0, 1],
        [1, 1],
        [2, 1],
        [0, 2],
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"anisotropy": np.linspace(0.8, 1.2, 20)},
        {"largest": [1] * 20},
        {"interaction_order": 3, "largest": [2] * 20},
    ],
)
def test_fifty_thousand_terms_are_quick(options):
    started = time.process_time()
    count = count_terms(20, 5, **options)
    assert len(build_multi_indices(20, 5, **options)) == count > 4000
    assert time.process_time() - started < 10.0


def test_weights_without_pattern_are_counted_quickly_when_there_are_too_many():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=200)
    started = time.process_time()
    assert count_terms(200, 8, anisotropy=weights, stop_above=1e8) > 1e8
    assert time.process_time() - started < 10.0


def test_too_large_is_refused_before_building(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("built")

    monkeypatch.setattr("skpce._basis.basis.Truncation.listed", fail)
    X = np.zeros((6, 300))
    advice = "(?s)terms; with 300 .*'degree'.*'interaction_order'.*'anisotropy'.*q < 1"
    with pytest.raises(ValueError, match=advice):
        PolynomialChaosFeatures(
            9, anisotropy=np.linspace(1, 1.5, 300), distribution="normal"
        ).fit(X)
    with pytest.raises(ValueError, match=r"or 3\), or use truncation='hyperbolic'"):
        CompositionalPCESurrogate(9, solver="ridge", distribution="normal").fit(
            X, np.full((6, 2), 0.5)
        )


def test_an_explicit_set_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("skpce._checks.physical_memory", lambda: 1000.0 / 0.75)
    with pytest.raises(ValueError, match=r"3 terms; .*Give fewer 'multi_indices'"):
        PolynomialChaosFeatures(multi_indices=[[1], [2]], distribution="normal").fit(
            np.zeros((20, 1))
        )


@pytest.mark.parametrize("function", [count_terms, build_multi_indices])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, r"int in the range \[1, inf\)"),
        ({"degree": -1}, r"int in the range \[0, inf\)"),
        ({"q": 2.0}, r"float in the range \(0, 1\]"),
        ({"interaction_order": 0}, r"\[1, inf\) or None"),
        ({"anisotropy": [1.0]}, "1 entries but there are 2 features"),
        ({"largest": [1, 2, 3]}, r"shape \(3,\); expected \(2,\)"),
        ({"largest": [-1, 2]}, r"numbers in \[0, inf\]"),
        ({"largest": None, "categorical": [True, False]}, "finite for categorical"),
    ],
)
def test_bad_calls(function, options, message):
    name = f"'{next(iter(options))}' parameter of {function.__name__}"
    with pytest.raises(ValueError, match=f"{name} .*{message}"):
        function(**{"n_features": 2, "degree": 2, **options})


@pytest.mark.parametrize(
    "anisotropy",
    [[1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], 2.0, "one", [[1.0, 1.0]]],
)
def test_bad_anisotropy(anisotropy):
    message = "'anisotropy' parameter of PolynomialChaosFeatures"
    with pytest.raises(ValueError, match=message):
        PolynomialChaosFeatures(anisotropy=anisotropy, distribution="normal").fit(
            np.eye(3, 2)
        )


def test_anisotropy_of_another_length():
    with pytest.raises(ValueError, match="has 3 entries but there are 2 features"):
        PolynomialChaosFeatures(anisotropy=[1, 1, 1], distribution="normal").fit(
            np.eye(3, 2)
        )


@pytest.mark.parametrize(
    ("multi_indices", "message"),
    [
        ([], r"at least one row. Got shape \(0,\)"),
        (np.empty((0, 2)), r"at least one row. Got shape \(0, 2\)"),
        ([1, 0], r"Got shape \(2,\)"),
        ([[1, 0, 0]], "must have a column for each of the 2 features"),
        ([[1, 0], [0, -1]], "non-negative ints. Got -1 in row 1, column 1"),
        ([[1, 0], [0.5, 1]], "non-negative ints. Got 0.5 in row 1, column 0"),
        ([[np.nan, 0]], "Got nan in row 0, column 0"),
        ([[np.inf, 0]], "Got inf in row 0, column 0"),
        ([[1, 0], [0, 1], [1, 0]], r"has the row \[1, 0\] more than once"),
        ([[1], [1, 0]], "array-like of non-negative ints"),
        ("all", "array-like of non-negative ints"),
    ],
)
def test_bad_multi_indices(multi_indices, message):
    with pytest.raises(ValueError, match=f"'multi_indices' parameter of .*{message}"):
        PolynomialChaosFeatures(multi_indices=multi_indices, distribution="normal").fit(
            np.eye(3, 2)
        )


@pytest.mark.parametrize("constant", [[], [[0, 0]]])
def test_explicit_sets_are_sorted_and_have_a_constant(constant):
    rows = np.array([[0, 3], [2, 2], [1, 0], *constant])
    features = PolynomialChaosFeatures(
        1, multi_indices=rows, distribution="normal"
    ).fit(np.eye(3, 2))
    assert features.multi_indices_.tolist() == [[0, 0], [1, 0], [0, 3], [2, 2]]
    assert features.multi_indices_.dtype == np.int64
    assert rows.tolist()[0] == [0, 3], "the parameter is left as it is"


def test_an_explicit_built_set_is_the_built_set():
    built = build_multi_indices(3, 3, q=0.7)
    shuffled = np.random.default_rng(0).permutation(built)
    features = PolynomialChaosFeatures(
        multi_indices=shuffled, distribution="normal"
    ).fit(np.eye(4, 3))
    np.testing.assert_array_equal(features.multi_indices_, built)


LAWS = [NormalLaw(0, 1), CappedLaw(0, 1), ContrastLaw(0, 1)]


def test_laws_cap_and_expand_the_set():
    built = truncated_multi_indices(
        "Owner", LAWS, 9, degree=3, q=1.0, interaction_order=None, anisotropy=None
    )
    expected = brute_force(
        3,
        3,
        1.0,
        None,
        np.ones(3),
        np.array([np.inf, 2, 3]),
        np.array([False, False, True]),
    )
    assert {tuple(row) for row in built.tolist()} == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [([0, 3, 0], "entry 3 for b of X; .* at most 2"), ([0, 0, 4], "entry 4 for c")],
)
def test_explicit_rows_beyond_a_cap(row, message):
    rows = check_multi_indices("Owner", [row], 3)
    with pytest.raises(ValueError, match=f"'multi_indices' .* of Owner .*{message}"):
        explicit_multi_indices("Owner", rows, LAWS, ["a", "b", "c"], 9)


def test_laws_are_checked_for_the_degree_that_they_get(monkeypatch):
    checked = []

    def check_degree(self, owner, name, degree):
        checked.append((owner, name, degree))

    monkeypatch.setattr(NormalLaw, "check_degree", check_degree)
    PolynomialChaosFeatures(4, distribution=norm(0, 1), anisotropy=[1, 2, 8]).fit(
        np.zeros((2, 3))
    )
    owner = "PolynomialChaosFeatures"
    assert checked == [(owner, "x0", 4), (owner, "x1", 2), (owner, "x2", 0)]
