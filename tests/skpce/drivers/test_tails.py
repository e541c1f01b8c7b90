"""Ranks and tails against enumeration and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from skpce.drivers._exchange import (
    Terms,
    rank_p_values,
    sizes_of_exchange,
    sizes_of_signs,
    smaller_rank,
    tail_of_draws,
    tail_of_mixture,
)


@pytest.mark.parametrize(
    ("degrees", "rtol"), [(1, 0.12), (2, 0.06), (4, 0.06), (9, 0.06)]
)
def test_tail_of_equal_parts_is_that_of_a_chi_square(degrees, rtol):
    value = np.array([0.5, 1.5, 3.0, 6.0]) * degrees
    found = [tail_of_mixture(3.0 * one, np.full(degrees, 3.0)) for one in value]
    assert_allclose(found, stats.chi2.sf(value, degrees), rtol=rtol)


def test_an_output_without_variance_has_the_p_value_one():
    assert tail_of_mixture(0.0, np.zeros(3)) == 1.0


@pytest.mark.parametrize("n_terms", [2, 9])
@pytest.mark.parametrize("strata", [None, [0] * 6, [0, 0, 0, 1, 1, 1]])
def test_covariances_of_scores_over_all_exchanges(strata, n_terms):
    rng = np.random.default_rng(1)
    terms, residuals = rng.normal(size=(6, n_terms)), rng.normal(size=(6, 2))
    strata = None if strata is None else np.array(strata)
    place = np.zeros(6, dtype=int) if strata is None else strata
    for table in (terms, residuals):
        for stratum in set(place):
            table[place == stratum] -= table[place == stratum].mean(axis=0)
    weights = 0.5 ** np.arange(n_terms)
    orders = map(list, itertools.permutations(range(6)))
    within = (order for order in orders if (place[order] == place).all())
    scores = [(terms[order] * np.sqrt(weights)).T @ residuals for order in within]
    flat = np.reshape(scores, (len(scores), -1))
    expected = np.linalg.eigvalsh(flat.T @ flat / len(flat))
    found = sizes_of_exchange(Terms(terms, weights, 2), residuals, strata)
    none = np.zeros(len(expected) - len(found))  # of more directions than there are
    assert_allclose(np.sort(np.append(none, found)), expected, atol=1e-12)


@pytest.mark.parametrize("n_strata", [1, 2])
def test_few_rows_have_few_parts(n_strata):
    """40 inputs and their products, 12 coordinates: a matrix of all parts has 12 GB."""
    rng = np.random.default_rng(2)
    terms = Terms(rng.normal(size=(60, 3280)), np.ones(3280), 80)
    strata = np.arange(60) % n_strata
    found = sizes_of_exchange(terms, rng.normal(size=(60, 12)), strata)
    assert len(found) <= 60 * 12
    assert (found > 1e-9 * found.max()).sum() == (60 - n_strata) * 12


@pytest.mark.parametrize("unit", [None, np.array([0, 0, 1, 1, 2, 2])])
def test_covariances_of_scores_over_all_signs(unit):
    rng = np.random.default_rng(3)
    terms, residuals = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    each = np.arange(6) if unit is None else unit
    scores = [
        (np.array(signs)[each, np.newaxis] * terms).T @ residuals
        for signs in itertools.product([-1.0, 1.0], repeat=each.max() + 1)
    ]
    flat = np.reshape(scores, (len(scores), -1))
    expected = np.linalg.eigvalsh(flat.T @ flat / len(flat))
    found = sizes_of_signs(Terms(terms, np.ones(2), 2), residuals, unit)
    assert_allclose(np.sort(found), expected, atol=1e-12)


@pytest.mark.parametrize("n_rows", [30, 120])
def test_tails_over_exchanges_are_not_too_small(n_rows):
    rng = np.random.default_rng(n_rows)
    ranks = (2.0 * np.arange(n_rows) + 1.0) / n_rows - 1.0
    terms = np.linalg.qr(np.polynomial.legendre.legvander(ranks, 3))[0][:, 1:]
    weights = np.array([1.0, 0.6, 0.36])
    residuals = np.clip(rng.standard_t(3, size=(n_rows, 1)), -3, 3)
    residuals -= residuals.mean()
    orders = rng.permuted(np.tile(np.arange(n_rows), (40_000, 1)), axis=1)
    scores = terms.T[:, orders] @ residuals[:, 0]
    drawn = weights @ np.square(scores)
    sizes = sizes_of_exchange(Terms(terms, weights, 3), residuals)
    for level in (0.05, 0.01, 0.001):
        value = np.quantile(drawn, 1.0 - level)
        assert tail_of_mixture(value, sizes) > 0.85 * level


def test_rank_of_the_smaller_rank_by_hand():
    observed = [np.array([[9.0]]), np.array([[1.0]])]
    drawn = np.arange(5.0)[:, np.newaxis], np.array([[2.0], [3], [4], [0], [0]])
    # Of six, the observed one has the ranks 1 and 4, the others 6 to 2 and 3, 2, 1, 6,
    # 6. Divided by .8 and .2 the smaller ones are 1.25, then 7.5, 6.25, 5, 3.75, 2.5.
    assert smaller_rank(observed, drawn)[0] == pytest.approx(1 / 6)
    observed = [np.array([[2.5]]), np.array([[5.0]])]
    # Now the ranks are 3 and 1: 3.75, and 2.5 and 1.25 of others are as small.
    assert smaller_rank(observed, drawn)[0] == pytest.approx(3 / 6)


def test_rank_counts_ties_and_the_observed_value():
    drawn = np.array([[1.0], [2.0], [2.0], [3.0]])
    assert rank_p_values(np.array([2.0]), drawn)[0] == pytest.approx(4 / 5)


def test_tail_of_draws_is_that_of_an_exponential_or_above():
    drawn = np.random.default_rng(4).exponential(size=4000)
    found = tail_of_draws(12.0, drawn)
    assert np.exp(-12.0) < found < 100 * np.exp(-12.0)
