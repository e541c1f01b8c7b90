"""Frames of the library that the user has, or gives; names of columns in each."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone

from skpce import report
from skpce.embedding import PLSTransformer
from skpce.inspection import verdict
from tests.shared import printed_by, refuses, ridge_pce, ridge_surrogate

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

# It reads names through an interchange that later polars does not offer.
names_of_polars = pytest.mark.skipif(
    sklearn.__version__.startswith("1.6."), reason="scikit-learn 1.6 reads no names"
)
NAMES = ["rate", "depth", "width"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=40)


@names_of_polars
def test_policies_of_polars_come_back_as_policies_of_polars(X):
    odds = np.exp(X[:, [0, 1, 2, 0]].reshape(-1, 2, 2))
    y = (odds / odds.sum(axis=2, keepdims=True)).reshape(-1, 4)
    parts = ["a__0", "a__1", "b__0", "b__1"]
    given = pl.DataFrame(X, schema=NAMES)
    surrogate = ridge_surrogate(1)
    surrogate.fit(given, pl.DataFrame(y, schema=parts))
    found = surrogate.predict_frame(given)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == parts
    assert_array_equal(found, surrogate.predict(given))
    again = ridge_surrogate(1).fit(given, found)
    assert again.step_names_ == ("a", "b")
    result = verdict(ridge_surrogate(1), given, found)
    assert result.step_names == ("a", "b")


@pytest.mark.slow
@names_of_polars
def test_nobody_needs_pandas():
    """In a process where pandas cannot be imported frames are those of polars."""
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import numpy as np, polars as pl\n"
        "from skpce import PolynomialChaosRegressor\n"
        "from skpce.inspection import verdict\n"
        "rng = np.random.default_rng(0)\n"
        "X = pl.DataFrame(rng.normal(size=(30, 2)), schema=['a', 'b'])\n"
        "y = X['a'] * 2 + rng.normal(size=30)\n"
        "found = verdict(PolynomialChaosRegressor(1), X, y)\n"
        "assert isinstance(found.to_frame(), pl.DataFrame)\n"
        "model = PolynomialChaosRegressor(1).fit(X, y)\n"
        "assert model.sobol_frame()['input'].to_list()[:2] == ['a', 'b']\n"
    )
    printed_by("-c", code)


def test_results_are_of_the_library_that_is_set(data):
    X, y = data
    model = ridge_pce(2).fit(X, y)
    for name, kind in (("polars", pl.DataFrame), ("pandas", pd.DataFrame)):
        with sklearn.config_context(transform_output=name):
            assert isinstance(model.sobol_frame(), kind)
            assert isinstance(model.expansion_.to_frame(), kind)


NAMED = [f"run {i}" for i in range(40)]
PAIRS = [(i // 4, i % 4) for i in range(40)]
SURROGATE = ridge_surrogate(1)
CALLS = {
    "fit": lambda X, y: ridge_pce(1).fit(X, y),
    "verdict": lambda X, y: verdict(SURROGATE, X, y),
    "surrogate": lambda X, y: ridge_surrogate(1).fit(X, y),
    "score": lambda X, y: clone(SURROGATE).fit(X, np.asarray(y)).score(X, y),
    "embedding": lambda X, y: PLSTransformer(1).fit(X, y),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("labels", [NAMED, range(40), PAIRS], ids=["text", "int", "2"])
def test_rows_in_another_order_are_not_paired_by_position(call, labels, rng):
    labels = pd.Index(labels)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"], index=labels)
    y = pd.DataFrame(rng.dirichlet([1, 1], 40), columns=["p", "q"], index=labels)
    moved = y.sample(frac=1.0, random_state=0)
    message = r"X and y have the same row labels in another order: row 0 is .*\.loc\["
    refuses(message, CALLS[call], X, moved)
    CALLS[call](X, moved.loc[X.index])
    CALLS[call](X, moved.to_numpy())
    CALLS[call](X, moved.set_axis(range(100, 140)))  # no label of X


def test_weights_groups_and_positions_in_another_order():
    X = pd.DataFrame({"a": np.arange(40.0) % 20}, index=NAMED)
    y = X["a"].rename("y")
    other = pd.Series(np.arange(40) % 20 + 1, NAMED)[::-1]
    model = ridge_pce(1)
    refuses("X and sample_weight have the same row label", model.fit, X, y, other)
    same = "have the same row labels"
    refuses(f"y and replicate {same}", verdict, model, X, y, replicate=other)
    refuses(f"X and order {same}", verdict, model, X, y, order=other)
    refuses(f"X_test and y_test {same}", report, model.fit(X, y), X, other)
    twice = NAMED[:20] * 2
    repeated = X.set_axis(twice), y.set_axis(twice)[::-1]
    refuses(r"another order.* give them sorted", model.fit, *repeated)


def test_columns_of_one_name():
    frame = pd.DataFrame(np.random.default_rng(0).uniform(size=(40, 2)))
    twice = frame.set_axis(["u", "u"], axis=1)
    refuses("X has 2 columns 'u'; expected names", ridge_pce(1).fit, twice, frame)
    refuses("y has 2 columns 'u'; expected names", ridge_pce(1).fit, frame, twice)
    refuses("y has 2 columns 'u'; expected names", ridge_surrogate().fit, frame, twice)


def test_swapped_arguments():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = ridge_pce(1)
    refuses(r"3 columns: they seem to be swapped", model.fit, X[:, 0], X)
    refuses(r"3 columns: they seem to be swapped", verdict, model, X[:, 0], X)
