"""Refits have no callbacks of scikit-learn 1.9 and later; progress is called."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.inspection import verdict

callback = pytest.importorskip("sklearn.callback")

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=30)


class Recorder:
    """Remembers what it is told; one for each level of tasks."""

    def __init__(self):
        self.begun, self.ended, self.open = [], [], 0

    def setup(self, estimator, context):
        self.open += 1

    def teardown(self, estimator, context):
        self.open -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name))


def test_refits_have_no_callbacks():
    """The pipeline's own would be told of fits that nobody asked for."""
    recorder = Recorder()
    pipeline = make_pipeline(
        PCA(2), PolynomialChaosRegressor(1, solver="lars", distribution="normal")
    )
    pipeline.set_callbacks(recorder)
    found = verdict(pipeline, X, Y)
    assert recorder.begun == []
    pipeline.fit(X, Y)
    assert ("Pipeline", "fit") in recorder.begun
    assert found.q2[0] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("regressor", [None, LinearRegression(), KNeighborsRegressor()])
def test_the_bootstrap_tells_of_its_resamples(regressor):
    """A regressor is refitted to one resample after the other, a solver to many."""
    y = softmax(np.column_stack([X[:, 0], X[:, 1], 0.1 * X[:, 2]]), axis=1)
    surrogate = CompositionalPCESurrogate(1, regressor=regressor, distribution="normal")
    surrogate.set_params(random_state=0).fit(X, y)
    told: list[tuple[int, int]] = []
    arguments = {"n_resamples": 70, "method": "bootstrap"}
    found = surrogate.sobol_interval(
        **arguments, progress=lambda *done: told.append(done)
    )
    assert told[-1] == (70, 70)
    assert len(told) == (2 if regressor is None else 70)
    plain = surrogate.sobol_interval(**arguments)
    assert_array_equal(found.first_order, plain.first_order)
    with pytest.raises(ValueError, match=r"'progress' parameter.*must be a callable"):
        surrogate.sobol_interval(progress=3)
