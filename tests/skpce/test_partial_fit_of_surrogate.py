"""A surrogate fitted from sums over members that are never in memory together."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import norm

from skpce.ensembles import member_blocks
from skpce.inspection import modes_test
from tests.shared import agree, cases, copies, refuses, ridge_pce, ridge_surrogate

STEPS = {"first": 4, "second": 3}
MASK = np.array([True] * 3 + [False] + [True] * 3)


def members(n_members=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    logits = X @ rng.normal(size=(2, 7)) + 0.4 * rng.normal(size=(n_members, 7))
    logits[:, 3] = -np.inf
    blocks = softmax(logits[:, :4], axis=1), softmax(logits[:, 4:], axis=1)
    return X, np.hstack(blocks)


@pytest.fixture
def data():
    return members()


def made(**options):
    options = {"steps": STEPS, "mask": MASK, "distribution": norm()} | options
    return ridge_surrogate(2, **options)


def added(model, *tables, n_rows):
    """Fit a model block by block."""
    for block in member_blocks(*tables, n_rows=n_rows):
        model.partial_fit(*block)
    return model


@pytest.mark.parametrize("solver", ["ols", "ridge"])
@pytest.mark.parametrize("log_ratio", ["ilr", "clr", "alr"])
def test_sums_give_the_fit_of_all_members(X, y, solver, log_ratio, monkeypatch):
    monkeypatch.setattr("skpce._solvers.DEFAULT_ALPHAS", np.array([0.3]))
    options = {"solver": solver, "log_ratio": log_ratio}
    summed = added(made(**options), X, y, n_rows=70)
    at_once = made(**options).fit(X, y)
    names = "coefficients_", "step_total_sobol_indices_", "total_variance_"
    agree(summed, at_once, *names, rtol=1e-9, atol=1e-12)
    assert_allclose(summed.predict(X), at_once.predict(X), atol=1e-12)
    assert summed.score(X, y) == pytest.approx(at_once.score(X, y))
    agree(summed, at_once, "step_unexplained_share_", atol=2e-3)


def test_order_and_weights_do_not_matter(X, y):
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    first = made().partial_fit(X, y, weights.astype(float))
    backwards = [table[::-1] for table in copies(weights, X, y)]
    second = added(made(), *backwards, n_rows=50)
    agree(first, second, "coefficients_", rtol=1e-9)
    assert_array_equal(first.alpha_, second.alpha_)


def test_what_needs_members_says_so(X, y):
    model, message = made().partial_fit(X, y), "partial_fit|sums"
    refuses(message, model.predict_interval, X)
    refuses(message, model.sample, 3)
    refuses(message, model.sobol_interval)
    refuses(message, modes_test, model)
    assert not hasattr(model, "diagnostics_")


LEARNED = [{"distribution": "normal"}, {"mask": "infer"}]


@cases("options", *LEARNED, {"solver": "lars"}, {"amalgamate": 0.1})
def test_it_exists_only_where_it_is_exact(options):
    assert not hasattr(made(**options), "partial_fit")


def test_other_members_are_refused_and_change_nothing(X, y):
    model = made().partial_fit(X, y)
    before = model.coefficients_
    other = y[:, 1:] / y[:, 1:].sum(axis=1, keepdims=True)
    refuses("6 parts; expected 7", model.partial_fit, X, other)
    refuses("Negative", model.partial_fit, X, -y)
    assert_array_equal(model.coefficients_, before)


def test_blocks_of_arrays_on_disk(X, y, tmp_path):
    np.save(tmp_path / "y.npy", y.astype(np.float32))
    on_disk = np.load(tmp_path / "y.npy", mmap_mode="r")
    blocks = list(member_blocks(X, on_disk, n_rows=64))
    assert [len(block[0]) for block in blocks] == [64] * 4 + [44]
    assert_array_equal(np.vstack([block[1] for block in blocks]), on_disk)
    assert len(list(member_blocks(X, on_disk))) == 1
    one = ridge_pce(1, distribution=norm(), criterion="gcv")
    added(one, X, y[:, 0], np.ones(len(X)), n_rows=128)
    assert one.total_sobol_indices_.shape == (1, 2)


def test_blocks_of_dask_arrays(X, y):
    array = pytest.importorskip("dask.array")
    config = pytest.importorskip("dask.config")
    tables = array.from_array(X, chunks=50), array.from_array(y, chunks=50)
    with config.set(scheduler="synchronous"):  # and not one of another test's cluster
        model = added(made(), *tables, n_rows=100)
    agree(model, made().partial_fit(X, y), "coefficients_", rtol=1e-9)


def test_bad_blocks(X, y):
    def read(*given, **options):
        return list(member_blocks(*given, **options))

    refuses("299 members; expected 300", read, X, y[1:])
    refuses("'n_rows'", read, X, y, n_rows=0)
    refuses("'y' parameter of member_blocks", read, X, y.tolist())
