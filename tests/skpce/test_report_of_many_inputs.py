"""Reports and correlations of more inputs than a page can show."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce import PolynomialChaosRegressor, report
from skpce.plotting import EmbeddingDisplay, SobolDisplay


def test_shares_of_other_inputs_are_added_up():
    first = np.array([[0.1, 0.2, 0.3, 0.15], [0.0, 0.1, 0.0, 0.2]])
    whole = SobolDisplay(first, [0.2, 0.3], ["a", "b"], list("wxyz"))
    some = whole.of_inputs(np.array([0, 2]))
    assert some.input_names == ["w", "y", "others (2)"]
    assert_allclose(some.first_order[:, 2], [0.35, 0.3])
    assert_allclose(some.shares[:, -2:], whole.shares[:, -2:])
    assert whole.of_inputs(np.arange(4)) is whole


@pytest.mark.slow
def test_a_report_shows_the_leading_inputs(monkeypatch, rng):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("skpce._report.MOST_INPUTS", 3)
    X = rng.normal(size=(60, 40))
    y = X[:, 7] * X[:, 11] + X[:, 30]
    model = PolynomialChaosRegressor().fit(X, y)
    page = report(model, X[:30], y[:30])
    assert "There are 40 inputs" in page
    for name in ("x7", "x11", "x30", "others (37)"):
        assert name in page
    assert "x12" not in re.sub('base64,[^"]*', "", page)


def test_an_embedding_of_some_inputs(rng):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X = rng.normal(size=(30, 6))
    model = PolynomialChaosRegressor().fit(X, X[:, 1])
    display = EmbeddingDisplay.from_estimator(model, X, features=[1, "x4"])
    assert list(display.input_names) == ["x1", "x4"]
    assert_allclose(display.correlation, np.corrcoef(X[:, [1, 4]].T))
    pyplot.close(display.figure_)
