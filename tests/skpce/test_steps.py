"""Steps: blocks of columns, their names, packing and unpacking."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpce import LogRatioTransformer, pack_steps
from skpce._compositions.log_ratio import resolve_layout
from tests.shared import cases, refuses

A = np.full((5, 2), 1 / 2)
B = np.full((5, 3), 1 / 3)


def test_pack_a_padded_array_and_a_dict():
    padded = np.full((4, 2, 3), np.nan)
    padded[:, 0, :2] = 0.5
    padded[:, 1] = 1 / 3
    mask = np.array([[True, True, False], [True, True, True]])
    y, steps = pack_steps(padded, mask)
    assert steps == (2, 3)
    assert_allclose(y, np.hstack([A[:4], B[:4]]))
    y, steps = pack_steps({"cat": A, "dog": B})
    assert steps == {"cat": 2, "dog": 3}
    assert_allclose(y, np.hstack([A, B]))


@cases(
    ("policies", "mask", "message"),
    (np.ones((2, 2, 2)), None, "needs mask="),
    (np.ones((2, 2, 2)), [True, False], r"mask has shape \(2,\); expected \(2, 2\)"),
    ([], None, "must have a 2-D array"),
)
def test_bad_packing(policies, mask, message):
    refuses(message, pack_steps, policies, mask)


def frame(columns):
    pandas = pytest.importorskip("pandas")
    if isinstance(columns[0], tuple):
        columns = pandas.MultiIndex.from_tuples(columns)
    return pandas.DataFrame(np.full((3, len(columns)), 0.5), columns=columns)


@cases(
    ("columns", "widths", "step_names", "part_names"),
    ([("s", "a"), ("s", "b"), ("t", "a"), ("t", "b")], (2, 2), "st", "abab"),
    (["s__a", "s__b", "t__a", "t__b"], (2, 2), "st", "abab"),
    (["s__a__1", "s__a__2"], (2,), "s", ("a__1", "a__2")),
    (["a", "b"], (2,), ("step0",), "ab"),
)
def test_layout_from_names(columns, widths, step_names, part_names):
    layout = resolve_layout(frame(columns), None, len(columns), "x")
    assert layout.widths == widths
    assert layout.step_names == tuple(step_names)
    assert layout.part_names == tuple(part_names)


def test_scattered_columns_are_refused():
    table, message = frame(["s__a", "t__a", "s__b"]), "side by side; got the steps"
    refuses(rf"{message} \['s', 't', 's", resolve_layout, table, None, 3, "x")


@pytest.mark.parametrize("steps", [(2.0, 2), (True, 3), (-1, 5), [], {"a": 0}, 4.0])
def test_bad_steps(steps):
    message = "None, a sequence of positive ints"
    refuses(message, LogRatioTransformer(steps=steps).fit, np.full((2, 4), 0.25))
