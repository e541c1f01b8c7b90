"""Points of values: what is drawn, hollow where not supported, and legible."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpce.inspection import Result
from skpce.plotting import ValueOfInformationDisplay
from tests.skpce.pictures import LONG, assert_legible

pytest.importorskip("matplotlib")


def values_by_hand(plug_in, variance, supported, names=None, spread=0.1):
    """The last row is that of all inputs."""
    plug_in = np.asarray(plug_in, dtype=float)
    names = names or [f"x{i}" for i in range(len(plug_in) - 1)]
    return Result(
        {"input": (*names, "all inputs")},
        {
            "plug_in": plug_in,
            "low": plug_in - spread,
            "high": plug_in + 2 * spread,
            "variance_share": np.asarray([*variance, 1.0]),
        },
        supported=(*supported, True),
        reasons=((),) * len(plug_in),
    )


def test_points_are_shares_of_all_inputs_and_hollow_without_support():
    values = values_by_hand([0.1, 0.4, 0.5], [0.9, 0.1], [False, True])
    display = ValueOfInformationDisplay.from_values(values)
    assert_allclose(display.decision_share, [0.2, 0.8])
    assert display.names == ["x0", "x1"]
    drawn = [line.get_xydata()[0] for line in display.points_]
    assert_allclose(drawn, [[0.9, 0.2], [0.1, 0.8]])
    bars = [held.lines[2][0].get_segments()[0] for held in display.ax_.containers]
    assert_allclose([s[:, 1] for s in bars], [[0.0, 0.6], [0.6, 1.2]], atol=1e-12)
    hollow, filled = display.points_
    assert hollow.get_markerfacecolor() == "white"
    assert filled.get_markerfacecolor() == filled.get_color() != hollow.get_color()
    supported = values_by_hand([0.1, 0.4, 0.5], [0.9, 0.1], [True, True])
    assert ValueOfInformationDisplay.from_values(supported).ax_.get_legend() is None


@pytest.mark.slow
@pytest.mark.parametrize("n_inputs", [1, 4, 12, 40])
def test_crowded_points_are_legible(n_inputs, rng):
    plug_in = np.append(0.02 * rng.random(n_inputs), 1.0)
    variance = 0.02 * rng.random(n_inputs)
    names = [f"{LONG[i % 4]} {i}" if i % 3 == 0 else f"x{i}" for i in range(n_inputs)]
    supported = rng.random(n_inputs) > 0.5
    values = values_by_hand(plug_in, variance, supported, names, spread=0.005)
    display = ValueOfInformationDisplay.from_values(values)
    assert len(display.points_) == n_inputs
    assert len(display.ax_.texts) == min(n_inputs, 12)
    assert_legible(display.figure_)


def test_nothing_to_know_and_no_members():
    values = values_by_hand([0.0, 0.0, 0.0], [1.0, 0.0], [False, False], spread=np.nan)
    display = ValueOfInformationDisplay.from_values(values)
    assert_array_equal(display.decision_share, [0.0, 0.0])
    assert_legible(display.figure_)


def test_other_results_are_refused():
    with pytest.raises(ValueError, match="value_of_information"):
        ValueOfInformationDisplay(Result({"a": ("b",)}, {"c": np.zeros(1)}))
