"""Refits have no callbacks of scikit-learn 1.9 and later."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import PolynomialChaosRegressor
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
