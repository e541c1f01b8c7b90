"""Every mistake of the issue's list: a clear error, before any work."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skpce import ClosureWarning, LogRatioTransformer
from skpce.inspection import verdict
from tests.shared import cases, refuses, ridge_surrogate

WIDTHS = (3, 2, 4)
STRICT = LogRatioTransformer(closure="strict")


@pytest.fixture
def no_work(monkeypatch):
    """Make any evaluation of a basis fail."""

    def fail(*_):
        raise AssertionError("work was done before the check")

    monkeypatch.setattr("skpce._basis.basis.PolynomialBasis.evaluate", fail)


@pytest.fixture
def surrogate():
    return ridge_surrogate(2, steps=WIDTHS)


def with_value(y, row, column, value):
    changed = y.copy()
    changed[row, column] = value
    return changed


@pytest.mark.usefixtures("no_work")
@cases(
    ("row", "column", "value", "message"),
    (3, 2, np.nan, r"Input y contains NaN: nan in row 3, .*pack_steps"),
    (3, 2, np.inf, "infinity"),
    (7, 4, -0.25, r"Negative .* -0\.25 in row 7, part '1' of step 'step1'; prob"),
    # of a sum of one: no logits
    (7, slice(3, 5), [-0.25, 1.25], r"must be non-negative\.$"),
    (5, slice(3, 5), 0.0, r"Row 5 of step 'step1' of y is all zero"),
)
def test_entries_of_y(surrogate, X, y, row, column, value, message):
    refuses(message, surrogate.fit, X, with_value(y, row, column, value))


@pytest.mark.usefixtures("no_work")
@cases(
    ("parameters", "message"),
    *(({"log_ratio": kind}, "one of 'alr', 'clr', 'ilr'. Got") for kind in ("a", None)),
    ({"degree": -1}, "'degree' parameter .*-1"),
    ({"distribution": "cauchy"}, "'distribution' parameter .*cauchy"),
    ({"mask": [True] * 7 + [False, True]}, "row 0, part '2' of step 'step2', which"),
    ({"mask": ~np.eye(60, 9, dtype=bool)}, "differs between members.*Fit them separ"),
)
def test_parameters(surrogate, X, y, parameters, message):
    refuses(message, surrogate.set_params(**parameters).fit, X, y)


@pytest.mark.usefixtures("no_work")
def test_shapes_of_y(surrogate, X, y):
    message = r"'steps' .* sums to 9 columns .3 . 2 . 4.; expected 8"
    refuses(message, surrogate.fit, X, y[:, :8])
    parts, message = (
        np.split(y, [3, 5], axis=1),
        "y is a (dict|list of 3).*pack_steps",
    )
    for apart in (parts, tuple(parts), dict(zip("abc", parts, strict=True))):
        refuses(message, surrogate.fit, X, apart)
    padded = np.full((len(X), 3, 4, 1), 0.25)
    refuses("y has 4 dimensions.*pack_steps", surrogate.fit, X, padded)


@cases("bad", {"a": np.ones((2, 2))}, [np.ones((2, 2))] * 2, np.ones((2, 2, 2, 2)))
def test_transformer_names_pack_steps(bad):
    refuses("pack_steps", LogRatioTransformer().fit, bad)


@pytest.mark.usefixtures("no_work")
def test_logits(surrogate, X, y):
    for use in (surrogate.fit, partial(verdict, surrogate)):
        refuses("Negative.*softmax of each step.*Log", use, X, np.log(y) - 1.0)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("kind", ["list", "array", "category"])
def test_labels_of_classes(X, kind):
    labels = ["setosa", "virginica"] * 30
    if kind == "category":
        pandas = pytest.importorskip("pandas")
        labels = pandas.Series(labels, dtype="category")
    labels = np.array(labels) if kind == "array" else labels
    message = "y holds text such as 'setosa'.*predict_"
    refuses(message, ridge_surrogate(1).fit, X, labels)


def test_rows_that_do_not_add_up(surrogate, X, y):
    with pytest.warns(ClosureWarning) as caught:
        scaled = clone(surrogate).fit(X, 2 * y)
    assert len(caught) == 1  # of the step that is furthest from one
    assert "of y sums to 2, not to 1" in str(caught[0].message)
    plain = clone(surrogate).fit(X, y)
    assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-12)
    plain.fit(X, y * 1.0005)  # silent
    plain.set_params(log_ratio=STRICT).fit(X, y.astype(np.float32))
    message = r"Row 5 of step 'step2' of y sums to 1\.[0-9]+; .* expects 1"
    refuses(message, plain.fit, X, with_value(y, 5, 5, y[5, 5] + 0.01))


def test_several_steps_in_one(X, y):
    message = r"sums to 3, .* 3 steps side by side\. Give steps="
    for log_ratio in ("ilr", STRICT):
        refuses(message, ridge_surrogate(1, log_ratio=log_ratio).fit, X, y)
    # Weights, and percentages.
    for other in (y * np.linspace(1, 2, len(y))[:, np.newaxis], 100 * y / 3):
        with pytest.warns(ClosureWarning, match=r"not to 1; rows were .* their sum\.$"):
            ridge_surrogate(1).fit(X, other)


# After a fit, to the ensemble with one more part, which is masked.


@pytest.fixture(scope="module")
def padded(ensemble):
    X, y = ensemble
    return np.hstack([y, np.zeros((len(X), 1))])


@pytest.fixture(scope="module")
def fitted(ensemble, padded):
    return ridge_surrogate(2, steps=(3, 2, 5)).fit(ensemble[0], padded)


def test_other_inputs_than_fitted(fitted):
    other, message = np.zeros((2, 4)), "X has 4 features.*expecting 3 features"
    for method in (fitted.predict, fitted.transform, fitted.predict_interval):
        refuses(message, method, other)
    refuses(message, fitted.sample, 2, other)


@cases(
    ("change", "message"),
    (lambda y: y[:, :9], r"\(60, 9\); expected \(60, 10\)"),
    (lambda y: y.reshape(120, 5), r"\(120, 5\); expected \(60, 10\)"),
    (lambda y: y[:20], r"\(20, 10\); expected \(60, 10\)"),
    (
        lambda y: with_value(y, 4, 9, 0.125),
        r"0\.125 in row 4, part '4' of step 'step2'",
    ),
    (lambda y: np.split(y, [3, 5], axis=1), "pack_steps"),
)
def test_other_tables_in_score(fitted, X, padded, change, message):
    refuses(message, fitted.score, X, change(padded))
