"""``mask="infer"`` masks what is 0 in every table that a metric compares."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpce.metrics import coverage_interval, crps_score

# The third action was never taken by a held-out member.
Y = np.array([[0.5, 0.5, 0.0], [0.3, 0.7, 0.0]])
DRAWN = np.array([[[0.4, 0.4, 0.2]], [[0.5, 0.3, 0.2]]])
IMPOSSIBLE = np.array([[[0.4, 0.6, 0.0]], [[0.6, 0.4, 0.0]]])


def test_a_part_that_is_drawn_but_never_taken_counts():
    given = crps_score(Y, DRAWN, mask=[True] * 3)
    assert_array_equal(crps_score(Y, DRAWN), given)
    # Draws of 0.2 where 0 happened: 0.2 for that part, in the mean over three.
    alone = crps_score(Y, DRAWN, mask=[True, True, False])
    assert_allclose(given, (2 * alone + 0.2) / 3)


def test_a_part_that_is_0_everywhere_is_masked():
    assert_array_equal(
        crps_score(Y, IMPOSSIBLE), crps_score(Y[:, :2], IMPOSSIBLE[..., :2])
    )


@pytest.mark.parametrize("kind", ["marginal", "joint"])
def test_bounds_of_a_part_that_is_never_taken_count(kind):
    def score(*bounds, **mask):
        return coverage_interval(*bounds, kind=kind, **mask).coverage

    lower, upper = [[0.2, 0.2, 0.1]], [[0.9, 0.9, 0.3]]
    given = score(Y, lower, upper, mask=[True] * 3)
    assert_array_equal(score(Y, lower, upper), given)
    assert score(Y, lower, upper) < 1
    masked = score(Y, [[0.2, 0.2, 0.0]], [[0.9, 0.9, 0.0]])
    assert_array_equal(masked, 1.0)
