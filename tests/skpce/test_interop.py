"""Inside scikit-learn: search, pipelines, selection, routing."""

from __future__ import annotations

import os

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skpce import (
    PolynomialChaosRegressor,
)
from tests.shared import printed_by, ridge_pce


def test_permutation_importance_agrees_with_the_total_indices(rng):
    """For a sum, permuting an input costs twice its share of the variance."""
    X = rng.normal(size=(2000, 3))
    y = 2 * X[:, 0] + X[:, 1]
    pce = ridge_pce(1).fit(X, y)
    found = permutation_importance(pce, X, y, n_repeats=3, random_state=0)
    assert_allclose(found.importances_mean / 2, pce.total_sobol_indices_[0], atol=0.05)


@pytest.fixture
def hidden():
    """A quadratic function of three directions of ten features, and noise."""
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(10, 10)))
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + X[:, 1] ** 2 - X[:, 0] * X[:, 2]
    wide = np.column_stack([X * [5, 4, 3], 0.1 * rng.normal(size=(120, 7))])
    return wide @ rotation, y + 0.1 * rng.normal(size=120)


REGRESSORS = pytest.mark.parametrize(
    "regressor", [ridge_pce(), PolynomialChaosRegressor()], ids=["ridge", "learned"]
)


def test_grid_search_over_embedding_degree_and_solver(hidden):
    X, y = hidden
    model = make_pipeline(PCA(2, whiten=True), ridge_pce())
    grid = {
        "pca__n_components": [2, 3],
        "polynomialchaosregressor__degree": [1, 2],
        "polynomialchaosregressor__solver": ["ridge", "lars", None],
    }
    search = GridSearchCV(model, grid, cv=4).fit(X, y)
    assert search.best_params_["pca__n_components"] == 3
    assert search.best_params_["polynomialchaosregressor__degree"] == 2
    assert search.best_score_ > 0.95
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@REGRESSORS
def test_elimination_by_importance(regressor, rng):
    X = rng.normal(size=(99, 5))
    y = X[:, 1] * X[:, 3] + 0.1 * rng.normal(size=99)
    selector = RFE(regressor, n_features_to_select=2).fit(X, y)
    assert selector.get_support().tolist() == [False, True, False, True, False]
    assert SelectFromModel(regressor).fit(X, y).get_support()[[1, 3]].all()


# Members of a bag have not seen the whole range of each input.
@pytest.mark.filterwarnings("ignore::skpce.InputOutsideSupportWarning")
@REGRESSORS
def test_meta_regressors(regressor, rng):
    X = rng.normal(size=(80, 3))
    y = np.exp(X[:, 0] + 0.5 * X[:, 1])
    logarithm = TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp)
    assert_allclose(logarithm.fit(X, y).predict(X), y, rtol=1e-4)
    wide = TransformedTargetRegressor(
        regressor, transformer=FunctionTransformer(np.log, np.exp)
    )
    both = np.column_stack([y, y**2])
    assert_allclose(wide.fit(X, both).predict(X), both, rtol=1e-3)
    stack = StackingRegressor([("pce", regressor), ("line", LinearRegression())])
    assert stack.fit(X, np.log(y)).score(X, np.log(y)) > 0.99
    each = MultiOutputRegressor(regressor).fit(X, np.log(both))
    assert each.score(X, np.log(both)) > 0.99
    bagged = BaggingRegressor(regressor, 3, random_state=0).fit(X, np.log(y))
    assert bagged.score(X, np.log(y)) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("dispatch", [False, True])
def test_arrays_of_torch(dispatch):
    """They are read as NumPy's, unless scikit-learn promises results of their kind."""
    pytest.importorskip("torch")
    if dispatch and sklearn.__version__.startswith("1.6."):
        pytest.skip("scikit-learn 1.6 needs another library to dispatch")
    code = (
        "import numpy as np, sklearn, torch\n"
        "from skpce import PolynomialChaosRegressor\n"
        "X = torch.tensor(np.random.default_rng(0).normal(size=(30, 2)))\n"
        "model = PolynomialChaosRegressor(1)\n"
        f"sklearn.set_config(array_api_dispatch={dispatch})\n"
        "model.fit(X.numpy(), X[:, 0].numpy())\n"
        "for given in (X, X.clone().requires_grad_()):\n"
        "    try: print(type(model.predict(given)).__name__)\n"
        "    except TypeError as error: print(error)\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    first, second = printed_by("-c", code, env=environment).splitlines()
    words = "X is a tensor with a gradient, which would be lost; expected X.detach()."
    assert second == words
    refusal = "X is a Tensor, and array_api_dispatch is on, but skpce"
    assert first.startswith(refusal if dispatch else "ndarray")
