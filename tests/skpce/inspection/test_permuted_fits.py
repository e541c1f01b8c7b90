"""One factorisation per fold gives what the refits of every permutation give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import CompositionalPCESurrogate
from skpce._compositions.outputs import read_outputs
from skpce.inspection import verdict
from skpce.inspection._ensembles.cross_fit import CrossFit, Permutations, factorise

WIDTHS = (3, 2, 4)


def surrogate(degree=2, **parameters):
    return CompositionalPCESurrogate(degree, steps=WIDTHS, **parameters)


def cross_fit(pipeline, X, y, n_folds=4):
    folds = np.arange(len(X)) % n_folds
    splits = [
        (np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(n_folds)
    ]
    outputs = read_outputs(y, "test", steps=WIDTHS)
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
    "weighted": surrogate(3, solver="weighted_ridge"),
    "anisotropic": surrogate(4, solver="anisotropic_ridge"),
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
        surrogate(solver="auto"),
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
