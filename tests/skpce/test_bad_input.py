"""Every mistake of the issue's list: a clear error, before any work."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skpce import ClosureWarning
from skpce.inspection import verdict
from tests.shared import refuses, ridge_surrogate

WIDTHS = (3, 2, 4)


@pytest.fixture
def no_work(monkeypatch):
    """Make any evaluation of a basis fail."""

    def fail(*_):
        raise AssertionError("work was done before the check")

    monkeypatch.setattr("skpce._basis.basis.PolynomialBasis.evaluate", fail)


@pytest.fixture
def surrogate():
    return ridge_surrogate(2, steps=WIDTHS)


@pytest.mark.usefixtures("no_work")
def test_shapes_of_y(surrogate, X, y):
    message = r"'steps' .* sums to 9 columns .3 . 2 . 4.; expected 8"
    refuses(message, surrogate.fit, X, y[:, :8])
    parts, message = np.split(y, [3, 5], axis=1), "y is a (dict|list of 3).*pack_steps"
    for apart in (parts, dict(zip("abc", parts, strict=True))):
        refuses(message, surrogate.fit, X, apart)
    padded = np.full((len(X), 3, 4, 1), 0.25)
    refuses("y has 4 dimensions.*pack_steps", surrogate.fit, X, padded)


@pytest.mark.usefixtures("no_work")
def test_logits(surrogate, X, y):
    for use in (surrogate.fit, partial(verdict, surrogate)):
        refuses("Negative.*softmax of each step.*Log", use, X, np.log(y) - 1.0)


@pytest.mark.usefixtures("no_work")
def test_labels_of_classes(X):
    labels = ["setosa", "virginica"] * 30
    message = "y holds text.*predict_"
    refuses(message, ridge_surrogate(1).fit, X, labels)


def test_rows_that_do_not_add_up(surrogate, X, y):
    with pytest.warns(ClosureWarning) as caught:
        scaled = clone(surrogate).fit(X, 2 * y)
    assert len(caught) == 1  # of the step that is furthest from one
    assert "of y sums to 2, not to 1" in str(caught[0].message)
    plain = clone(surrogate).fit(X, y)
    assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-12)
    plain.fit(X, y * 1.0005)  # silent
    plain.fit(X, y.astype(np.float32))
    y = y.copy()
    y[5, 5] += 0.01
    message = r"Row 5 of step 'step2' of y sums to 1\.[0-9]+, not to 1"
    with pytest.warns(ClosureWarning, match=message):
        plain.fit(X, y)
