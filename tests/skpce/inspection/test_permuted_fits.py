"""One factorisation per fold gives what the refits of every permutation give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import CompositionalPCESurrogate
from skpce._compositions.outputs import read_outputs
from skpce.inspection import verdict
from skpce.inspection._closed_form import permuted_fits
from skpce.inspection._closed_form.low_rank import LowRankFold
from skpce.inspection._closed_form.pairs import PairFold
from skpce.inspection._closed_form.permuted_fits import factorise
from skpce.inspection._ensembles.conditions import permutation_p_values
from skpce.inspection._ensembles.cross_fit import CrossFit, Permutations

WIDTHS = (3, 2, 4)


def surrogate(degree=2, **parameters):
    fixed = {"solver": "ridge", "distribution": "normal"} | parameters
    return CompositionalPCESurrogate(degree, steps=WIDTHS, **fixed)


def cross_fit(pipeline, X, y, n_folds=4, steps=WIDTHS):
    folds = np.arange(len(X)) % n_folds
    splits = [
        (np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(n_folds)
    ]
    outputs = read_outputs(y, "test", steps=steps)
    return CrossFit(pipeline, X, y, splits, outputs)


class Centre(TransformerMixin, BaseEstimator):
    """Looks at y, and does not say so."""

    def fit(self, X, y=None):
        self.shift_ = 0.0 if y is None else y[0, 0]
        return self

    def transform(self, X):
        return X - self.shift_


class Noisy(Centre):
    """Does not look at y, but is random."""

    def fit(self, X, y=None):
        self.shift_ = np.random.default_rng().normal()
        return self


PIPELINES = {
    "alone": surrogate(),
    "ols": surrogate(1, solver="ols"),
    "alpha_per_target": surrogate(alpha_per_target=True, log_ratio="clr"),
    "alr": surrogate(log_ratio="alr"),
    "frozen": surrogate(distribution=stats.norm(0, 1)),
    "pca": make_pipeline(PCA(2, whiten=True), surrogate()),
    "two": make_pipeline(StandardScaler(), PCA(3), surrogate(3)),
    "passthrough": make_pipeline("passthrough", surrogate()),
    "select": make_pipeline(VarianceThreshold(), surrogate()),
    "paper": surrogate(solver="paper"),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_equal_to_refits(ensemble, name):
    X, y = ensemble
    fit = cross_fit(PIPELINES[name], X, y)
    closed = factorise(fit, fit.squared_errors())
    assert closed is not None
    orders = Permutations.draw(60, None, 6, np.random.default_rng(0)).orders
    together = closed.squared_errors(orders)
    for order, errors in zip(orders, together, strict=True):
        np.testing.assert_allclose(
            errors, fit.permuted(order).squared_errors(), rtol=1e-7, atol=1e-10
        )


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(Centre(), surrogate()),
        make_pipeline(Noisy(), surrogate()),
        make_pipeline(
            SelectKBest(lambda X, y: np.square(X.T @ y).sum(axis=1), k=2), surrogate()
        ),
        surrogate(None, solver=None),
        surrogate(solver="subspace_pursuit"),
    ],
)
def test_what_looks_at_y_is_refitted(ensemble, pipeline):
    fit = cross_fit(pipeline, *ensemble)
    assert factorise(fit, fit.squared_errors()) is None


@pytest.mark.parametrize(
    "pipeline", [surrogate(), make_pipeline(PCA(2, whiten=True), surrogate())]
)
@pytest.mark.parametrize("cv", [5, ShuffleSplit(3, test_size=0.2, random_state=0)])
def test_the_verdict_is_the_same_either_way(ensemble, pipeline, cv):
    X, y = ensemble
    options = {"cv": cv, "n_permutations": 39, "random_state": 0}
    calls = []
    closed = verdict(
        pipeline, X, y, progress=lambda *pair: calls.append(pair), **options
    )
    refits = verdict(pipeline, X, y, closed_form=False, **options)
    assert (closed.closed_form, refits.closed_form) == (True, False)
    assert repr(closed) == repr(refits)
    assert calls[-1] == (39, 39)


def test_replicates_either_way(simulate):
    X, y = simulate(n_members=20)
    reward = np.tile(np.arange(20), 3)
    noise = np.random.default_rng(0).dirichlet(np.ones(2), size=60)
    y = y[reward].copy()
    y[:, 3:5] = 0.9 * y[:, 3:5] + 0.1 * noise
    y[:, :3] = 0.9 * y[:, :3] + 0.1 * np.random.default_rng(1).dirichlet([1] * 3, 60)
    y[:, 5:] = 0.9 * y[:, 5:] + 0.1 * np.random.default_rng(2).dirichlet([1] * 4, 60)
    options = {"n_permutations": 39, "random_state": 0}
    closed = verdict(surrogate(1), X[reward], y, reward, **options)
    refits = verdict(surrogate(1), X[reward], y, reward, closed_form=False, **options)
    assert closed.closed_form
    assert repr(closed) == repr(refits)
    rows = np.r_[np.arange(60)[1:]]  # unequal numbers of replicates: the inputs move
    unequal = verdict(surrogate(1), X[reward][rows], y[rows], reward[rows], **options)
    assert not unequal.closed_form


def test_permutations_of_replicates_move_rewards_whole():
    reward = np.array([2, 0, 1, 0, 2, 1])
    drawn = Permutations.draw(6, reward, 50, np.random.default_rng(0))
    assert drawn.moves_policies
    for order in drawn.orders:
        assert sorted(order) == list(range(6))
        for label in range(3):
            assert len(set(reward[order[reward == label]])) == 1
    unequal = np.array([0, 0, 1, 2, 1, 1])
    drawn = Permutations.draw(6, unequal, 50, np.random.default_rng(0))
    assert not drawn.moves_policies
    assert len(np.unique(drawn.orders, axis=0)) == 6


# What a Gram matrix serves: one penalty a step, in an isometric system.
WITH_GRAM = ("alone", "ols", "alr", "frozen", "pca", "two", "passthrough", "select")


@pytest.mark.parametrize("name", PIPELINES)
def test_products_of_members_are_enough(ensemble, name, monkeypatch):
    X, y = ensemble
    fit = cross_fit(PIPELINES[name], X, y)
    monkeypatch.setattr(permuted_fits, "_COLUMNS_A_ROW", np.inf)
    closed = factorise(fit, fit.squared_errors())
    assert (closed.gram is not None) == (name in WITH_GRAM)
    orders = Permutations.draw(60, None, 6, np.random.default_rng(0)).orders
    sums = fit.outputs.sum_by_group
    for order, errors in zip(orders, closed.group_errors(orders), strict=True):
        np.testing.assert_allclose(
            errors, sums(fit.permuted(order).squared_errors()), rtol=1e-7, atol=1e-10
        )
    np.testing.assert_allclose(closed.residuals(), fit.residuals(), atol=1e-9)


def many_steps(n_steps, n_parts, n_members=40, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, 2))
    z = X @ rng.normal(size=(2, n_steps * n_parts))
    z = z + noise * rng.normal(size=z.shape)
    z = z.reshape(n_members, n_steps, n_parts)
    return X, softmax(z, axis=2).reshape(n_members, -1), (n_parts,) * n_steps


@pytest.mark.parametrize(("n_steps", "n_parts"), [(30, 3), (1, 400), (26, 12)])
def test_many_steps_and_many_parts(n_steps, n_parts):
    """More steps than penalties, more parts than members, maps without matrices."""
    X, y, steps = many_steps(n_steps, n_parts)
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 39, "random_state": 0}
    closed = verdict(model, X, y, **options)
    refits = verdict(model, X, y, closed_form=False, **options)
    assert (closed.closed_form, refits.closed_form) == (True, False)
    for name in ("q2", "q2_low", "q2_high", "p_value", "mean_only_q2"):
        np.testing.assert_allclose(
            closed.columns[name], refits.columns[name], atol=1e-9, err_msg=name
        )


def test_masks_and_replicates_by_products_of_members():
    """Parts that nobody uses, and rewards of several members, in the Gram matrix."""
    X, y, steps = many_steps(2, 60, n_members=40)
    reward = np.repeat(np.arange(20), 2)
    X = X[2 * reward]
    y[:, [4, 70, 71]] = 0.0
    for own in (slice(0, 60), slice(60, 120)):
        y[:, own] /= y[:, own].sum(axis=1, keepdims=True)
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 39, "random_state": 0}
    closed = verdict(model, X, y, reward, **options)
    refits = verdict(model, X, y, reward, closed_form=False, **options)
    assert (closed.closed_form, refits.closed_form) == (True, False)
    fit = cross_fit(model, X, y, steps=steps)
    assert factorise(fit, fit.squared_errors()).gram is not None
    for name in ("q2", "q2_low", "p_value", "noise_share"):
        np.testing.assert_allclose(
            closed.columns[name], refits.columns[name], atol=1e-9, err_msg=name
        )


def test_a_wide_table_is_not_refitted(monkeypatch):
    """Residuals of the closed form, checked with the fit to all members."""
    X, y, steps = many_steps(2, 300)
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    options = {"n_permutations": 39, "random_state": 0}
    refits = verdict(model, X, y, **options)
    n_fitted = []
    fit = CompositionalPCESurrogate.fit
    monkeypatch.setattr(
        CompositionalPCESurrogate,
        "fit",
        lambda *args: n_fitted.append(np.shape(args[2])[1]) or fit(*args),
    )
    monkeypatch.setattr(permuted_fits, "_WIDE", 1000)
    wide = verdict(model, X, y, **options)
    assert n_fitted.count(600) == 1  # all members
    assert wide.attributable == refits.attributable
    for name in ("q2", "q2_low", "degree_one_q2", "p_value"):
        np.testing.assert_allclose(
            wide.columns[name], refits.columns[name], atol=1e-10, err_msg=name
        )
    # A closed form that does not predict as the fit does is not used.
    of_design = LowRankFold.of_design

    def shrunken(*args):
        found = of_design(*args)
        return replace(found, slopes=0.9 * found.slopes)

    monkeypatch.setattr(LowRankFold, "of_design", shrunken)
    n_fitted.clear()
    wrong = verdict(model, X, y, n_permutations=19, random_state=0)
    assert not wrong.closed_form
    assert n_fitted.count(600) > 100


def test_replaced_zeros_need_the_columns():
    """A prediction that is a replaced zero is not a sum of members."""
    X, y, steps = many_steps(1, 40, noise=0.1)
    y = softmax(8.0 * np.log(y), axis=1)
    y[y < 1e-12] = 0.0
    y /= y.sum(axis=1, keepdims=True)
    X = X**3  # predictions of the outermost members are far outside
    model = CompositionalPCESurrogate(
        3, steps=steps, solver="ols", distribution="normal"
    )
    fit = cross_fit(model, X, y, steps=steps)
    closed = factorise(fit, fit.squared_errors())
    orders = Permutations.draw(40, None, 4, np.random.default_rng(0)).orders
    sums = fit.outputs.sum_by_group
    differ = 0
    without, exact = closed.gram.group_errors(orders)
    pairs = zip(orders, closed.group_errors(orders), without, exact, strict=True)
    for order, errors, other, is_exact in pairs:
        expected = sums(fit.permuted(order).squared_errors())
        np.testing.assert_allclose(errors, expected, rtol=1e-7, atol=1e-10)
        differs = np.abs(other - expected).max() > 1e-3
        assert not (differs and is_exact)
        differ += differs
    assert differ  # the products alone would have been wrong


def test_constant_members_and_single_differences():
    """Where the training members do not vary, their columns are looked at."""
    X, y, steps = many_steps(1, 60)
    y[1:] = y[1]  # one member differs: folds without it have no variance
    fit = cross_fit(
        CompositionalPCESurrogate(
            1, steps=steps, solver="ridge", distribution="normal"
        ),
        X,
        y,
        steps=steps,
    )
    closed = factorise(fit, fit.squared_errors())
    orders = Permutations.draw(40, None, 4, np.random.default_rng(0)).orders
    sums = fit.outputs.sum_by_group
    for order, errors in zip(orders, closed.group_errors(orders), strict=True):
        expected = sums(fit.permuted(order).squared_errors())
        np.testing.assert_allclose(errors, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("n_parts", [4, 90])
def test_few_terms_are_products_of_matrices(n_parts, monkeypatch):
    """Singular vectors give what pairs of members give, wide step or narrow."""
    X, y, steps = many_steps(3, n_parts, n_members=60)
    model = CompositionalPCESurrogate(
        2, steps=steps, solver="ridge", distribution="normal"
    )
    fit = cross_fit(model, X, y, steps=steps)
    monkeypatch.setattr(permuted_fits, "_COLUMNS_A_ROW", np.inf)
    low = factorise(fit, fit.squared_errors())
    assert {type(fold) for fold in low.gram.folds} == {LowRankFold}
    monkeypatch.setattr(LowRankFold, "serves", lambda decomposition: False)
    pairs = factorise(fit, fit.squared_errors())
    assert {type(fold) for fold in pairs.gram.folds} == {PairFold}
    orders = Permutations.draw(60, None, 20, np.random.default_rng(0)).orders
    np.testing.assert_allclose(
        low.group_errors(orders), pairs.group_errors(orders), rtol=1e-9
    )
    for one, other in zip(low.gram.folds, pairs.gram.folds, strict=True):
        np.testing.assert_allclose(one.distances(60), other.distances(60), atol=1e-12)
        for alpha in (0, 12, 24):
            np.testing.assert_allclose(
                one.weights(alpha), other.weights(alpha), atol=1e-12
            )
        found = [
            gram.gram.chosen(f, orders)[0] for gram, f in ((low, one), (pairs, other))
        ]
        np.testing.assert_array_equal(*found)


def test_inputs_that_do_not_vary_have_no_vectors():
    """A design of rank 0 predicts the mean of the training members."""
    X, y, steps = many_steps(1, 60)
    fit = cross_fit(
        CompositionalPCESurrogate(
            1, steps=steps, solver="ridge", distribution="normal"
        ),
        np.ones_like(X),
        y,
        steps=steps,
    )
    closed = factorise(fit, fit.squared_errors())
    assert closed.gram.folds[0].vectors.shape[1] == 1
    orders = Permutations.draw(40, None, 3, np.random.default_rng(0)).orders
    sums = fit.outputs.sum_by_group
    for order, errors in zip(orders, closed.group_errors(orders), strict=True):
        expected = sums(fit.permuted(order).mean_only_errors())
        np.testing.assert_allclose(errors, expected, rtol=1e-9)


def test_ties_count_as_reached():
    """Members of equal y change places without an effect: a tie, not rounding."""
    q2 = np.array([0.5, -1e6, np.nan, 1.0])
    permuted = np.array(
        [[0.5 - 1e-12, -1e6 - 1e-5, 0.0, 1.0], [0.4999, -2e6, 0.0, 0.9]]
    )
    found = permutation_p_values(q2, permuted)
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, np.nan, 2 / 3])


@pytest.mark.parametrize("widest", [1, 10**9], ids=["wide", "narrow"])
@pytest.mark.parametrize("kind", ["repeated", "from the end", "masks"])
def test_unusual_folds_are_those_of_the_refits(kind, widest, monkeypatch):
    """Bootstrap folds train on members more than once."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    noise = 0.3 * rng.normal(size=(40, 12))
    y = softmax(X @ rng.normal(size=(2, 12)) + noise, axis=1)
    cv = []
    for test in np.array_split(rng.permutation(40), 5):
        train = np.setdiff1d(np.arange(40), test)
        if kind == "repeated":
            train = rng.choice(train, 40)
        elif kind == "from the end":
            train = train - 40
        else:
            train, test = (np.isin(np.arange(40), rows) for rows in (train, test))
        cv.append((train, test))
    monkeypatch.setattr(permuted_fits, "_WIDE", widest)
    model = CompositionalPCESurrogate(
        2, steps=(12,), solver="ridge", distribution="normal"
    )
    closed, refitted = (
        verdict(
            model, X, y, cv=cv, n_permutations=19, random_state=0, closed_form=known
        ).columns
        for known in (True, False)
    )
    assert 0 < closed["q2"][0] < 1
    for name in ("q2", "q2_low", "q2_high", "mean_only_q2", "degree_one_q2", "p_value"):
        np.testing.assert_allclose(closed[name], refitted[name], rtol=1e-9)
