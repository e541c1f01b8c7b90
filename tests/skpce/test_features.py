"""The basis as a transformer: parameters, names and output containers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skpce import PolynomialChaosFeatures

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize(
    "parameters",
    [
        {"anisotropy": np.array([1.0, 2.0])},
        {"anisotropy": (1, 2)},
        {"multi_indices": np.array([[1, 0], [0, 2]])},
        {"multi_indices": [[1, 0], [0, 2]]},
    ],
)
def test_parameters_are_stored_as_given_and_clone(parameters):
    features = PolynomialChaosFeatures(2, **parameters)
    for name, value in parameters.items():
        assert getattr(features, name) is value
    copy = clone(features).fit(X)
    np.testing.assert_array_equal(copy.transform(X), features.fit_transform(X))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_carry_the_names_of_the_terms(container):
    pytest.importorskip(container)
    features = PolynomialChaosFeatures(2, anisotropy=[1, 2], distribution="normal")
    frame = features.set_output(transform=container).fit_transform(X)
    assert list(frame.columns) == ["1", "He1(x0)", "He1(x1)", "He2(x0)"]
    assert list(frame.columns) == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(
        frame.to_numpy(),
        PolynomialChaosFeatures(
            2, anisotropy=[1, 2], distribution="normal"
        ).fit_transform(X),
    )


def test_names_of_an_explicit_set():
    features = PolynomialChaosFeatures(
        multi_indices=[[2, 1], [0, 3]], distribution="normal"
    ).fit(X)
    names = features.get_feature_names_out(["x0", "x1"]).tolist()
    assert names == ["1", "He2(x0)*He1(x1)", "He3(x1)"]


def test_with_an_explicit_set_the_truncation_has_no_effect():
    rows = [[2, 1], [0, 3]]
    reference = PolynomialChaosFeatures(
        multi_indices=rows, distribution="normal"
    ).fit_transform(X)
    other = PolynomialChaosFeatures(
        0,
        interaction_order=1,
        anisotropy=[9, 9],
        multi_indices=rows,
        distribution="normal",
    )
    np.testing.assert_array_equal(other.fit_transform(X), reference)


def test_the_weights_can_be_searched():
    y = X[:, 0] ** 3
    pipeline = make_pipeline(
        PolynomialChaosFeatures(3, distribution="normal"), LinearRegression()
    )
    grid = {"polynomialchaosfeatures__anisotropy": [None, [3, 1], [1, 3]]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[2] > 0.999
    assert scores[1] < 0.98
