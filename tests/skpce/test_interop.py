"""Inside the meta-estimators of scikit-learn, and on arrays of other libraries."""

from __future__ import annotations

import os

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import FunctionTransformer

from skpce import PolynomialChaosRegressor
from tests.shared import cases, printed_by, ridge_pce


# Members of a bag have not seen the whole range of each input.
@pytest.mark.filterwarnings("ignore::skpce.InputOutsideSupportWarning")
@cases("regressor", ridge_pce(), PolynomialChaosRegressor(), ids=["ridge", "learned"])
def test_meta_regressors(regressor, rng):
    X = rng.normal(size=(80, 3))
    y = np.exp(X[:, 0] + 0.5 * X[:, 1])
    wide = TransformedTargetRegressor(
        regressor, transformer=FunctionTransformer(np.log, np.exp)
    )
    both = np.column_stack([y, y**2])
    assert_allclose(wide.fit(X, both).predict(X), both, rtol=1e-3)
    stack = StackingRegressor([("pce", regressor), ("line", LinearRegression())])
    assert stack.fit(X, np.log(y)).score(X, np.log(y)) > 0.99
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
        "    except (TypeError, RuntimeError) as error: print(error)\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    first, second = printed_by("-c", code, env=environment).splitlines()
    refusal = "X is a Tensor, and array_api_dispatch is on, but skpce"
    assert first.startswith(refusal if dispatch else "ndarray")
    assert second.startswith(refusal if dispatch else "Can't call numpy() on Tensor")
