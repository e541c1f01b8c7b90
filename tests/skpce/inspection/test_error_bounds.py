"""Permutations that a bound decides: never a wrong one, and the same p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.model_selection import ShuffleSplit

from skpce import CompositionalPCESurrogate
from skpce._compositions.outputs import read_outputs
from skpce.inspection import verdict
from skpce.inspection._closed_form import permuted_fits
from skpce.inspection._closed_form.error_bounds import ErrorBounds
from skpce.inspection._closed_form.gram_fits import GramFits
from skpce.inspection._closed_form.low_rank import LowRankFold
from skpce.inspection._closed_form.permuted_fits import factorise
from skpce.inspection._ensembles.cross_fit import CrossFit, Permutations

N_MEMBERS = 60
STRENGTHS = (3.0, 1.0, 0.5, 0.25, 0.0)


def weak_and_strong(n_parts=12, n_members=N_MEMBERS):
    """Steps of logits that are linear in the inputs, the last with noise alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_members, 2))
    logits = [
        strength * X @ rng.normal(size=(2, n_parts))
        + rng.normal(size=(n_members, n_parts))
        for strength in STRENGTHS
    ]
    y = np.hstack([softmax(values, axis=1) for values in logits])
    return X, y, (n_parts,) * len(STRENGTHS)


def factorised(degree=2, n_folds=4, **parameters):
    X, y, steps = weak_and_strong()
    folds = np.arange(N_MEMBERS) % n_folds
    splits = [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
        for fold in range(n_folds)
    ]
    fixed = {"solver": "ridge", "distribution": "normal"} | parameters
    model = CompositionalPCESurrogate(degree, steps=steps, **fixed)
    fit = CrossFit(model, X, y, splits, read_outputs(y, "test", steps=steps))
    return fit, factorise(fit, fit.squared_errors())


@pytest.fixture(autouse=True)
def products_of_members(monkeypatch):
    """Use Gram matrices for narrow steps too."""
    monkeypatch.setattr(permuted_fits, "_COLUMNS_A_ROW", np.inf)


def orders_of(n):
    return Permutations.draw(N_MEMBERS, None, n, np.random.default_rng(0)).orders


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("solver", ["ridge", "ols"])
def test_no_error_is_below_its_bound(degree, solver):
    """The bound of every order, that of the data too, is below the errors of refits."""
    fit, closed = factorised(degree, solver=solver)
    orders = np.vstack([np.arange(N_MEMBERS), orders_of(10)])
    least = closed.gram.bounds.least_errors(orders, closed.gram.members)
    errors = np.array(
        [
            fit.outputs.sum_by_group(fit.permuted(order).squared_errors()).sum(axis=0)
            for order in orders
        ]
    )
    assert (least > 0).all()
    assert (least <= errors * (1 + 1e-9)).all()


def test_the_bound_is_that_of_least_squares_on_the_test_rows():
    """Least squares with the terms of the test rows themselves, by another library."""
    _, closed = factorised()
    order = orders_of(1)
    least = closed.gram.bounds.least_errors(order, closed.gram.members)
    values = closed.values[order[0]]
    expected = np.zeros(len(STRENGTHS))
    for fold in closed.folds:
        targets = values[fold.test]
        design = np.hstack([np.ones((len(targets), 1)), fold.held_out])
        slopes, *_ = np.linalg.lstsq(design, targets, rcond=None)
        missed = np.square(targets - design @ slopes)
        expected += missed.reshape(len(targets), len(STRENGTHS), -1).sum(axis=(0, 2))
    np.testing.assert_allclose(least[0], expected, rtol=1e-10)
    share = closed.gram.bounds.share
    assert share == pytest.approx(4 * 6 / N_MEMBERS)  # six terms, the constant too


def test_blocks_of_orders_and_steps_are_those_of_all(monkeypatch):
    _, closed = factorised()
    orders, members = orders_of(7), closed.gram.members
    whole = closed.gram.bounds.least_errors(orders, members)
    module = "skpce.inspection._closed_form.error_bounds._LARGEST_BLOCK"
    monkeypatch.setattr(module, 2 * N_MEMBERS**2)
    parts = closed.gram.bounds.least_errors(orders, members)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


@pytest.mark.parametrize("few_terms", [True, False])
def test_errors_are_exact_or_exceed_the_limits(few_terms, monkeypatch):
    """Limits leave out errors that exceed them, and change none of the others."""
    if not few_terms:
        monkeypatch.setattr(LowRankFold, "serves", lambda decomposition: False)
    fit, closed = factorised()
    orders = orders_of(40)
    every = closed.group_errors(orders)
    spread = fit.outputs.sum_by_group(fit.squared_deviations()).sum(axis=0)
    spread = np.tile(spread, (len(orders), 1))
    n_left_out = []
    for q2 in (0.9, 0.5, 0.45, 0.1, -0.1):
        limits = (1.0 - q2) * spread, spread
        found = closed.group_errors(orders, limits)
        sums, given = found.sum(axis=1), every.sum(axis=1)
        left_out = np.isinf(sums)
        assert (given[left_out] > limits[0][left_out]).all()
        np.testing.assert_allclose(sums[~left_out], given[~left_out], rtol=1e-12)
        n_left_out.append(int(left_out.sum()))
    assert n_left_out[0] == left_out.size  # a strong signal needs no errors at all
    assert 0 < n_left_out[2] < left_out.size  # some orders of a step, not all
    assert n_left_out[-1] == 0


def test_one_order_is_solved_for_all_steps_at_once(monkeypatch):
    """The two directions of a batch agree: steps of an order, orders of a step."""
    _, closed = factorised()
    orders = orders_of(3)
    together = closed.group_errors(orders)
    for order, errors in zip(orders, together, strict=True):
        alone = closed.group_errors(order[np.newaxis])[0]
        np.testing.assert_allclose(alone, errors, rtol=1e-9)
    monkeypatch.setattr("skpce.inspection._closed_form.low_rank._LARGEST_BLOCK", 1)
    alone = closed.group_errors(orders[:1])[0]
    np.testing.assert_allclose(alone, together[0], rtol=1e-9)


def test_the_same_p_values_with_and_without_bounds(monkeypatch):
    X, y, steps = weak_and_strong()
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 199, "random_state": 0}
    n_solved = []
    choose = GramFits.group_errors

    def counted(self, orders, limits=None):
        found = choose(self, orders, limits)
        n_solved.append(int(np.isfinite(found[0]).all(axis=1).sum()))
        return found

    monkeypatch.setattr(GramFits, "group_errors", counted)
    bounded = verdict(model, X, y, **options)
    with_bounds = sum(n_solved)
    n_solved.clear()
    monkeypatch.setattr(ErrorBounds, "of_folds", lambda folds: None)
    whole = verdict(model, X, y, **options)
    assert bounded.closed_form
    assert whole.closed_form
    assert with_bounds <= sum(n_solved) - 199  # at least one step was decided by bounds
    for name in ("q2", "q2_low", "degree_one_q2", "p_value"):
        np.testing.assert_array_equal(bounded.columns[name], whole.columns[name])
    assert bounded.columns["p_value"][-1] > 0.05  # noise


def test_rows_that_the_terms_explain_whole_have_no_bound():
    """As many terms as test rows leave nothing to bound by."""
    _, closed = factorised(degree=4, n_folds=6)  # 15 terms, 10 test rows a fold
    assert closed.gram.bounds is None


def test_rows_in_several_folds_have_no_bound():
    fit, _ = factorised()
    splits = list(ShuffleSplit(3, test_size=0.5, random_state=0).split(fit.X))
    again = CrossFit(fit.pipeline, fit.X, fit.y, splits, fit.outputs)
    assert factorise(again, again.squared_errors()).gram.bounds is None


def test_members_that_are_never_held_out():
    """Where folds leave members out, the limits are those of the rows held out."""
    X, y, steps = weak_and_strong()
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    every = np.arange(N_MEMBERS)
    cv = [(every[20:], every[:20]), (np.r_[every[:20], every[40:]], every[20:40])]
    options = {"n_permutations": 39, "random_state": 0, "cv": cv}
    closed = verdict(model, X, y, **options)
    refits = verdict(model, X, y, closed_form=False, **options)
    assert closed.closed_form
    for name in ("q2", "p_value"):
        np.testing.assert_allclose(
            closed.columns[name], refits.columns[name], atol=1e-10, err_msg=name
        )


def test_inputs_that_do_not_vary_are_bounded_by_the_mean():
    """With a constant design the bound is the sum of squares about the test means."""
    fit, _ = factorised()
    constant = CrossFit(
        fit.pipeline, np.ones_like(fit.X), fit.y, fit.splits, fit.outputs
    )
    closed = factorise(constant, constant.squared_errors())
    assert closed.gram.bounds.share == pytest.approx(4 / N_MEMBERS)
