"""Steps given as groups of columns."""

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.base import clone

from tests.shared import cases, refuses, ridge_surrogate


@cases(
    "steps",
    {"colour": ["red", "green"], "size": ["s", "m", "l"]},
    {"colour": [0, 1], "size": [2, 3, 4]},
    [("red", "green"), ("s", "m", "l")],
    [np.array([0, 1]), range(2, 5)],
    ids=["names by step", "positions by step", "names", "positions"],
)
def test_steps_as_groups_of_columns(steps):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = softmax(np.c_[X[:, 0], 0 * X], axis=1)
    y = np.hstack([y[:, :2] / y[:, :2].sum(axis=1, keepdims=True), y])
    frame = pd.DataFrame(y, columns=["red", "green", "s", "m", "l"])
    by_width = ridge_surrogate(1, steps=(2, 3)).fit(X, frame)
    by_group = clone(ridge_surrogate(1, steps=steps)).fit(X, frame)
    assert by_group.steps_ == (2, 3)
    assert_array_equal(by_group.predict(X), by_width.predict(X))
    if isinstance(steps, dict):
        assert by_group.step_names_ == ("colour", "size")
    assert ridge_surrogate(1, steps=steps).fit(X, y).steps_ == (2, 3)


@cases(
    "steps",
    {"colour": ["green", "red"], "size": ["s", "m", "l"]},
    {"colour": ["red"], "size": ["green", "s", "m"]},
    [[0, 2], [1, 3, 4]],
)
def test_groups_must_be_the_columns_in_their_order(steps):
    X = np.random.default_rng(0).normal(size=(6, 2))
    y = np.full((6, 5), [0.5, 0.5, 0.2, 0.3, 0.5])
    frame = pd.DataFrame(y, columns=["red", "green", "s", "m", "l"])
    refuses("once and in their order", ridge_surrogate(1, steps=steps).fit, X, frame)
