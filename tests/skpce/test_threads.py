"""Fits in several threads, and the limit on BLAS threads that they share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

import skpce
from skpce import PolynomialChaosRegressor
from skpce._checks import one_thread_if_small
from skpce._learned.prior import Search
from skpce._solvers import SOLVERS


@pytest.fixture(autouse=True)
def two_blas_threads():
    """A limit to be restored that is not one, whatever the environment."""
    with threadpool_limits(2, user_api="blas"):
        yield


SMALL, LARGE = 10, 10**8


def blas_threads():
    found = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    return set(found)


def datasets(n_fits):
    rng = np.random.default_rng(0)
    for _ in range(n_fits):
        X = rng.normal(size=(60, 3))
        yield X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)


def fit(task):
    solver, (X, y) = task
    return PolynomialChaosRegressor(3, solver=solver, distribution="normal").fit(X, y)


@pytest.mark.parametrize("n_threads", [2, 8])
def test_fits_in_threads_are_those_of_one(n_threads):
    solvers = [name for name in SOLVERS for _ in range(2)]
    tasks = list(zip(solvers, datasets(len(solvers)), strict=True))
    serial = [fit(task) for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        parallel = list(pool.map(fit, tasks))
    for one, other in zip(serial, parallel, strict=True):
        assert_array_equal(one.coefficients_, other.coefficients_)
        assert_array_equal(one.sobol_indices_, other.sobol_indices_)
    assert blas_threads() == {2}


def test_the_limit_is_lifted_by_the_last_of_fits_that_overlap():
    """The first to begin is the first to end."""
    begun, ended = Barrier(2, timeout=30), Event()

    def first():
        with one_thread_if_small(SMALL):
            begun.wait()
        ended.set()

    thread = Thread(target=first)
    thread.start()
    with one_thread_if_small(SMALL):
        begun.wait()
        assert ended.wait(timeout=30)
        assert blas_threads() == {1}
    thread.join(timeout=30)
    assert blas_threads() == {2}
    with one_thread_if_small(LARGE):
        assert blas_threads() == {2}


@pytest.mark.slow
def test_searches_of_a_large_table_use_one_thread(monkeypatch):
    seen = set()
    objective = Search.objective

    def spied(self, theta):
        seen.update(blas_threads())
        return objective(self, theta)

    monkeypatch.setattr(Search, "objective", spied)
    X = np.random.default_rng(0).normal(size=(7000, 2))  # more than ``explain`` limits
    skpce.explain(X, X[:, 0], order=False)
    assert seen == {1}
    assert blas_threads() == {2}
