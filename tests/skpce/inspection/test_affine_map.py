"""The affine map before an expansion, read off in blocks of columns."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA

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


def test_tables_of_moved_rows_stay_small():
    X = np.random.default_rng(0).normal(size=(10, 5000))
    watched = Watched().fit(X)
    found = affine_map([("pca", watched)], X)
    assert_allclose(found.matrix, watched.pca_.components_, atol=1e-12)
    assert watched.largest_ <= _affine_map._LARGEST_TABLE < X.shape[1] ** 2
