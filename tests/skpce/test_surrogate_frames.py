"""Data frames and names in and out of the surrogate."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.shared import refuses, ridge_surrogate

WIDTHS = (3, 2, 4)


@pytest.mark.parametrize("steps", [None, {"u": 2, "v": 2}])
def test_steps_in_another_order_are_refused_in_score(simulate, steps):
    # Both steps have the parts 0 and 1: only the names of the steps tell them apart.
    pandas = pytest.importorskip("pandas")
    X, y = simulate(widths=(2, 2))
    table = pandas.DataFrame(y, columns=["u__0", "u__1", "v__0", "v__1"])
    fitted = ridge_surrogate(1, steps=steps).fit(X, table)
    with pytest.raises(ValueError, match="Column 0 of y is 'v__0'; expected 'u__0'"):
        fitted.score(X, table[["v__0", "v__1", "u__0", "u__1"]])
    numbered = ridge_surrogate(1, steps=(2, 2)).fit(X, y)
    assert numbered.score(X, table) == fitted.score(X, table)  # no names to compare


def test_inputs_in_another_order_are_refused(X, y):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abc"))
    fitted = ridge_surrogate(1, steps=WIDTHS, random_state=0).fit(table, y)
    other = table[["b", "a", "c"]]
    message = "feature names should match"
    refuses(message, fitted.predict, other)
    refuses(message, fitted.sample, 3, other)
    refuses(message, fitted.predict_interval, inputs=other)
    assert fitted.sample(3, inputs=table).shape == (3, 9)


def test_frames(X, y):
    pytest.importorskip("pandas")
    fitted = ridge_surrogate(2, steps={"a": 3, "b": 2, "c": 4}).fit(X, y)
    table = fitted.predict_frame(X)
    assert_array_equal(table.to_numpy(), fitted.predict(X))
    assert table.columns.get_level_values("step").tolist() == list("aaabbcccc")
    steps = fitted.sobol_frame(input_features=["u", "v", "w"])
    assert len(steps) == 9
    explained = 1 - steps["unexplained_share"]
    assert_allclose(steps["total_order_share"], steps["total_order"] * explained)
    row = steps[(steps["step"] == "b") & (steps["input"] == "w")]
    assert row["total_order"].item() == fitted.step_total_sobol_indices_[1, 2]
    message = r"number of features \(3\), got 2"
    refuses(message, fitted.sobol_frame, input_features=["u", "v"])
