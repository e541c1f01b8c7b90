"""Drivers along an axis: positions, p-values for all points at once, bands, words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skpce
from skpce.drivers._curves import adjusted_for_families, positions_of
from skpce.drivers._exchange import holm, step_down
from tests.shared import cases, refuses

AXIS = np.array([1, 2, 3, 5, 8])


def runs(n_runs=48, seed=0):
    """Return inputs and curves: the first input acts from the third point on."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_runs, 3))
    late = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    Y = X[:, [0]] * late + X[:, [1]] * late[::-1] + 0.2 * rng.normal(size=(n_runs, 1))
    return X, Y + 0.05 * rng.normal(size=Y.shape)


@pytest.fixture(scope="module")
def answer():
    X, Y = runs()
    table = {"rate": X[:, 0], "units": X[:, 1], "drop": X[:, 2]}
    table |= {f"loss_epoch_{t}": y for t, y in zip(AXIS, Y.T, strict=True)}
    return skpce.explain(table, outputs=[f"loss_epoch_{t}" for t in AXIS])


@pytest.fixture(scope="module")
def curves(answer):
    return answer.over()


def test_positions_are_numbers_of_the_names():
    names = ["acc/epoch=1", "acc/epoch=2.5", "acc/epoch=10"]
    axis, name = positions_of(names, None, None)
    assert (axis.tolist(), name) == ([1, 2.5, 10], "epoch")
    assert positions_of(names, None, "time")[1] == "time"
    assert positions_of(["a", "b"], [3, 4], None)[1] == "point"


@cases(
    ("axis", "message"),
    (None, "'loss' has no number"),
    ([1], "shape"),
    ([1, 1], "explain each of them by outputs="),
    (["a", "b"], "must be numbers"),
)
def test_other_positions_are_refused(axis, message):
    refuses(message, positions_of, ["loss", "loss_2"], axis, None)


def test_independent_outputs_cost_what_they_must():
    rng = np.random.default_rng(1)
    drawn = tuple(rng.exponential(size=(4999, 5)) for _ in range(2))
    observed = [np.array([[7.0, 3.0, 2.0, 1.0, 0.1]]), np.zeros((1, 5))]
    found = step_down(observed, drawn)
    # Each competes with those that are as weak as it; 0.8 of the level is for the first
    # statistic, and either may be the smaller one.
    level = np.exp(-observed[0][0]) / 0.8
    expected = 1 - (1 - np.minimum(level, 1)) ** np.arange(5, 0, -1)
    assert_allclose(found[:2], expected[:2], rtol=0.2)
    assert (np.diff(found) >= 0).all()


def test_families_of_one_are_adjusted_by_holm():
    p_values = np.array([0.01, 0.3, 0.02, 0.6])
    found = adjusted_for_families(p_values[:, np.newaxis])
    assert_allclose(found[:, 0], holm(p_values))
    own = np.array([[0.01, 0.02, 0.6]])
    assert_allclose(adjusted_for_families(own), own)


def test_where_inputs_begin_to_matter(curves):
    assert curves.state.tolist() == ["drives", "drives", "not settled"]
    assert_array_equal(curves.begins, [3, 1, np.nan])
    assert_array_equal(curves.last, [8, 3, np.nan])
    assert curves.epoch_names == tuple(AXIS)
    assert (curves.total_low <= curves.total).all()
    assert (curves.total <= curves.total_high).all()
    assert (curves.total_low[curves.p_value > 0.05] == 0).all()


def test_words_tables_and_pages(curves):
    text = str(curves)
    assert "rate begins to matter at epoch 3, and is shown to until the end" in text
    assert "units begins to matter at epoch 1, and is shown to until 3" in text
    assert "drop is not shown to matter at any epoch." in text
    frame = curves.to_frame()
    assert list(frame.columns[:2]) == ["input", "epoch"]
    assert len(frame) == 3 * len(AXIS)
    assert len(curves.sentences) == 3
    assert "<table" in curves._repr_html_()


def test_picture(curves):
    pytest.importorskip("matplotlib").use("agg")
    ax = curves.plot()
    names = {text.get_text() for text in ax.texts}
    assert names == {"rate", "units"}
    assert ax.get_xlabel() == "epoch"
    assert ax.get_xscale() == "log"
    assert ax.get_title(loc="left") == "1 input not shown to matter"


def test_failed_runs_and_constant_points_are_left_out():
    X, Y = runs()
    Y[:5, 3:] = np.nan
    Y[:, 1] = 7.0
    found = skpce.explain(X, Y).over(AXIS)
    assert "5 runs that failed at some point are left out." in found.notes
    assert (found.p_value[:, 1] == 1).all()
    assert np.isnan(found.total[:, 1]).all()
    assert found.begins[0] == 3


def test_too_few_whole_runs_are_refused():
    X, Y = runs(12)
    Y[6:, 0] = np.nan
    refuses("6 runs have all 2 outputs", skpce.explain(X, Y[:, :2]).over, [1, 2])


def test_a_pipeline_is_refused(answer):
    refuses("the answer is of a pipeline", replace(answer, source=None).over)
