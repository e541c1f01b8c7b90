"""Permutations decided in half the digits: never a wrong one, and the same p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.model_selection import ShuffleSplit

from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.inspection._closed_form import error_ranges, gram_fits, permuted_fits
from skpce.inspection._closed_form.error_ranges import (
    ErrorRanges,
    FewForms,
    _products,
    rounding,
)
from skpce.inspection._closed_form.gram_fold import gram_fold
from skpce.inspection._closed_form.low_rank import LowRankFold
from skpce.inspection._closed_form.permuted_fits import factorise
from skpce.inspection._closed_form.step_members import StepMembers
from skpce.inspection._ensembles.cross_fit import CrossFit
from tests.skpce.inspection.test_error_bounds import (
    N_MEMBERS,
    STRENGTHS,
    factorised,
    orders_of,
    weak_and_strong,
)


@pytest.fixture(autouse=True)
def products_of_members(monkeypatch):
    """Use Gram matrices and ranges for few and narrow steps too."""
    monkeypatch.setattr(permuted_fits, "_COLUMNS_A_ROW", np.inf)
    monkeypatch.setattr(gram_fits, "_MANY_ERRORS", 1)


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("solver", ["ridge", "ols"])
def test_the_errors_of_refits_are_in_range(degree, solver):
    """Ranges contain the errors of refits, and are narrow where no penalties tie."""
    fit, closed = factorised(degree, solver=solver)
    orders = np.vstack([np.arange(N_MEMBERS), orders_of(10)])
    low, high = closed.gram.ranges.of_orders(orders, closed.gram.members)
    errors = np.array(
        [
            fit.outputs.sum_by_group(fit.permuted(order).squared_errors()).sum(axis=0)
            for order in orders
        ]
    )
    assert (low < errors).all()
    assert (errors < high).all()
    assert np.median((high - low) / errors) < 2e-3


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
def test_forms_of_the_scores_are_those_of_leaving_out(criterion):
    """Scores by forms are squared errors of refits without each member in turn."""
    rng = np.random.default_rng(0)
    _, closed = factorised()
    fold = closed.folds[0]
    decomposition = fold.design.decomposed(free_intercept=True)
    rows, alphas = (fold.train, fold.test), np.array([1e-3, 1.0, 30.0])
    options = (fold.held_out, alphas, criterion)
    values = rng.normal(size=(len(fold.train), 3))
    n_train = len(values)
    centred = fold.design.design - fold.design.design.mean(axis=0)
    for kind in (LowRankFold.of_design, gram_fold):
        forms = kind(rows, decomposition, *options).score_forms()
        found = np.einsum("aij,ik,jk->a", forms, values, values)
        for alpha, score in zip(alphas, found, strict=True):
            hat = centred @ np.linalg.pinv(
                centred.T @ centred + alpha * penalties(decomposition), rcond=1e-13
            )
            hat = hat @ centred.T + 1.0 / n_train
            left = 1.0 - np.diag(hat)
            left = np.full(n_train, left.mean()) if criterion == "gcv" else left
            missed = (values - hat @ values) / left[:, np.newaxis]
            assert score == pytest.approx(np.square(missed).sum() / n_train, rel=1e-9)


def penalties(decomposition):
    """Return the penalties of the terms, of which the constant has none."""
    factor = decomposition.factor
    found = np.zeros((len(factor.center), len(factor.center)))
    used = np.arange(len(factor.center))[factor.used]
    found[used, used] = 1.0 / np.square(factor.scale)
    return found


def test_blocks_of_orders_and_steps_are_those_of_all(monkeypatch):
    _, closed = factorised()
    orders, members = orders_of(7), closed.gram.members
    whole = closed.gram.ranges.of_orders(orders, members)
    n_pairs = N_MEMBERS * (N_MEMBERS + 1) // 2
    monkeypatch.setattr(error_ranges, "_LARGEST_TABLE", 2 * n_pairs)
    monkeypatch.setattr(error_ranges, "_LARGEST_BLOCK", 20 * n_pairs)
    parts = closed.gram.ranges.of_orders(orders, members)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


@pytest.mark.parametrize("few_terms", [True, False])
def test_errors_are_exact_or_on_their_side_of_the_limits(few_terms, monkeypatch):
    """Ranges leave out errors that are far from the limits, and change no other."""
    if not few_terms:
        monkeypatch.setattr(LowRankFold, "serves", lambda decomposition: False)
    fit, closed = factorised()
    orders = orders_of(40)
    given = closed.group_errors(orders).sum(axis=1)
    spread = fit.outputs.sum_by_group(fit.squared_deviations()).sum(axis=0)
    spread = np.tile(spread, (len(orders), 1))
    n_solved = 0
    for errors in given[:7]:
        limits = np.tile(errors, (len(orders), 1)), spread
        found = closed.group_errors(orders, limits).sum(axis=1)
        above, below = np.isinf(found), found == 0.0
        solved = ~above & ~below
        assert (given[above] > limits[0][above]).all()
        assert (given[below] < limits[0][below]).all()
        np.testing.assert_allclose(found[solved], given[solved], rtol=1e-9)
        n_solved += int(solved.sum())
    assert 7 * len(STRENGTHS) <= n_solved < 0.1 * 7 * given.size  # ties at the least


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_the_same_p_values_with_and_without_ranges(degree, monkeypatch):
    """Of noise alone, of a signal, of members that are alike, and of no choice."""
    X, y, steps = weak_and_strong()
    y[:, -12:] = y[np.arange(N_MEMBERS) // 2, -12:]  # alike in pairs
    rng = np.random.default_rng(1)
    constant = np.tile(rng.dirichlet(np.ones(5)), (N_MEMBERS, 1))
    noise = softmax(rng.normal(size=(N_MEMBERS, 6, 30)), axis=2)
    y = np.hstack([y, constant, noise.reshape(N_MEMBERS, -1)])
    model = CompositionalPCESurrogate(
        degree, steps=(*steps, 5, *(30,) * 6), solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 99, "random_state": 0}
    n_near = []
    near = gram_fits.GramFits._near

    def counted(self, orders, limits):
        found = near(self, orders, limits)
        if limits is not None:
            n_near.append(int(found[0].sum()))
        return found

    monkeypatch.setattr(gram_fits.GramFits, "_near", counted)
    ranged = verdict(model, X, y, **options)
    with_ranges = sum(n_near)
    n_near.clear()
    monkeypatch.setattr(ErrorRanges, "of_folds", lambda *arguments: None)
    whole = verdict(model, X, y, **options)
    assert (ranged.closed_form, whole.closed_form) == (True, True)
    assert with_ranges < 0.2 * sum(n_near)
    for name in ("q2", "q2_low", "degree_one_q2", "p_value"):
        np.testing.assert_array_equal(ranged.columns[name], whole.columns[name])
    assert np.isnan(ranged.columns["p_value"][len(STRENGTHS)])  # no choice


def test_what_is_left_out_is_accounted_for():
    """Sums of few forms miss no more than they say, in single precision."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 12, 12))
    alphas = np.geomspace(1e-3, 1e3, 9)[:, np.newaxis, np.newaxis]
    every = (first + first.T) / (1 + alphas) + (second + second.T) / (10 + alphas)
    rows = np.arange(3, 15)
    few = FewForms.of_penalties(every, rows, 20)
    assert len(few.forms) == 2
    assert few.forms.dtype == np.float32
    placed = (few.shares @ few.forms).reshape(9, 20, 20)
    inside = placed[:, rows[:, np.newaxis], rows]
    missed = np.sqrt(np.square(inside - every).sum(axis=(1, 2)))
    assert (missed <= few.missed).all()
    length = np.sqrt(np.square(every).sum(axis=(1, 2)))
    assert (few.missed < 10 * rounding(20, 2) * length).all()
    assert np.count_nonzero(placed) == 9 * len(rows) ** 2
    nothing = FewForms.of_penalties(np.zeros((3, 4, 4)), np.arange(4), 6)
    assert nothing.forms.shape == (0, 36)
    np.testing.assert_array_equal(nothing.missed, 0.0)


def test_small_forms_among_large_ones_are_accounted_for():
    """Squares of small forms have no digits beside those of large ones."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n_rows, n_forms = rng.integers(4, 14), rng.integers(3, 12)
        basis = rng.normal(size=(rng.integers(4, 8), n_rows, n_rows))
        sizes = np.logspace(0.0, -rng.uniform(8.0, 14.0), n_forms)[:, np.newaxis]
        shares = sizes[:: rng.choice([-1, 1])] * rng.normal(size=(n_forms, len(basis)))
        every = np.tensordot(shares, basis + basis.transpose(0, 2, 1), axes=1)
        few = FewForms.of_penalties(every, np.arange(n_rows), n_rows)
        placed = few.shares.astype(np.float64) @ few.forms
        missed = np.linalg.norm(placed - every.reshape(n_forms, -1), axis=1)
        assert (missed <= few.missed).all()


def test_products_of_parts_that_round_alike():
    """Thousands of equal parts: single precision rounds all in one direction."""
    sign = np.repeat([-1.0, 1.0], 4)
    members = [
        StepMembers(np.outer(sign, np.tile([-1.0, 1.0], n_parts // 2)))
        for n_parts in (300, 3000, 5698)
    ]
    products, lengths, totals = _products(members, *np.triu_indices(8))
    twice = np.where(np.equal(*np.triu_indices(8)), 1.0, 2.0)
    expected = twice * np.outer(sign, sign)[np.triu_indices(8)] / 8
    np.testing.assert_allclose(products, np.tile(expected, (3, 1)), rtol=2e-7)
    np.testing.assert_allclose(lengths, 1.0, rtol=2e-7)
    assert totals.tolist() == [2400, 24000, 45584]


@pytest.mark.parametrize("only", [None, 3])
def test_inputs_of_which_a_fold_sees_no_variation(only):
    """Inputs that are constant, or constant but for a member that is held out."""
    n_members = 20
    X = np.ones((n_members, 1)) if only is None else np.zeros((n_members, 1))
    X[slice(0) if only is None else only] = 1.0
    y = np.random.default_rng(0).dirichlet(np.ones(20), size=(n_members, 3))
    model = CompositionalPCESurrogate(
        1, steps=(20,) * 3, solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 99, "random_state": 0}
    found = verdict(model, X, y.reshape(n_members, -1), **options)
    assert found.closed_form
    refits = verdict(model, X, y.reshape(n_members, -1), closed_form=False, **options)
    for name in ("q2", "p_value"):
        np.testing.assert_allclose(found.columns[name], refits.columns[name])


def test_where_there_are_no_ranges(monkeypatch):
    """Rows in several folds, and so many members or forms that pairs are too many."""
    fit, closed = factorised()
    splits = list(ShuffleSplit(3, test_size=0.5, random_state=0).split(fit.X))
    again = CrossFit(fit.pipeline, fit.X, fit.y, splits, fit.outputs)
    assert factorise(again, again.squared_errors()).gram.ranges is None
    assert closed.gram.ranges is not None
    for name, most in (("_MOST_MEMBERS", N_MEMBERS - 1), ("_MOST_ENTRIES", 99_999)):
        with monkeypatch.context() as patch:
            patch.setattr(error_ranges, name, most)
            _, other = factorised()
            assert other.gram.ranges is None
