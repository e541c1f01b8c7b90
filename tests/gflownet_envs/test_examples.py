"""Values of small functions that nothing else compares."""

import numpy as np

from gflownet_envs.experiments.task import columns_of_levels
from gflownet_envs.experiments.tasks.graphs import (
    edge_kind,
)
from gflownet_envs.storage import array_digest, share_out
from tests.shared import cases

LEVELS = columns_of_levels(
    np.array([[0, 1], [0, 0]]), {key: ["C", "O"] for key in "ab"}
)


@cases(
    ("found", "expected"),
    (array_digest(np.zeros(3)) == array_digest(np.zeros((3, 1))), False),
    ([block.stop - block.start for block in share_out(150, 50)], [38, 38, 37, 37]),
    (share_out(50, 50), [slice(0, 50)]),
    ([edge_kind(edge, [("a", "b")]) for edge in (("a", "b"), ("b", "a"), ("a", "c"))],
     ["known", "known, other way", "not known"]),
    ({name: column.tolist() for name, column in LEVELS["b"].items()},
     {"C": [1], "O": [0]}),
)  # fmt: skip
def test_values(found, expected):
    assert found == expected
