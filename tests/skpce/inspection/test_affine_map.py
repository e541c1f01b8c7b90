"""The affine map before an expansion, read off in blocks of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from skpce.inspection import _affine_map
from skpce.inspection._affine_map import affine_map


class Watched(TransformerMixin, BaseEstimator):
    """Principal components that remember the largest table they saw."""

    def fit(self, X, y=None):
        self.pca_ = PCA(2).fit(X)
        self.largest_ = 0
        return self

    def transform(self, X):
        self.largest_ = max(self.largest_, np.size(X))
        return self.pca_.transform(X)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(3.0, [1, 5, 0.1, 2, 1, 1, 4], size=(20, 7))


@pytest.mark.parametrize("largest", [2**22, 21, 1])
def test_the_matrix_is_that_of_the_steps(rows, largest, monkeypatch):
    monkeypatch.setattr(_affine_map, "_LARGEST_TABLE", largest)
    scaler = StandardScaler().fit(rows)
    pca = PCA(3, whiten=True).fit(scaler.transform(rows))
    found = affine_map([("scaler", scaler), ("pca", pca)], rows)
    whitened = pca.components_ / np.sqrt(pca.explained_variance_)[:, np.newaxis]
    assert_allclose(found.matrix, whitened / scaler.scale_, rtol=1e-9)
    assert_allclose(found.outputs, pca.transform(scaler.transform(rows)))


def test_no_steps_are_the_identity(rows):
    assert_array_equal(affine_map([], rows).matrix, np.eye(7))


def test_tables_of_moved_rows_stay_small():
    X = np.random.default_rng(0).normal(size=(10, 5000))
    watched = Watched().fit(X)
    found = affine_map([("pca", watched)], X)
    assert_allclose(found.matrix, watched.pca_.components_, atol=1e-12)
    assert watched.largest_ <= _affine_map._LARGEST_TABLE < X.shape[1] ** 2
