"""Values of small functions that nothing else compares."""

import math

import numpy as np
import torch

from gflownet_envs.block_store import (
    array_digest,
    json_values,
    share_out,
    split_into_blocks,
)
from gflownet_envs.experiments.tasks.graphs import (
    covariance_names,
    edge_kind,
    levels_of_nodes,
)
from gflownet_envs.experiments.tasks.molecule_studies import columns_of_levels
from gflownet_envs.rewards.closed_form import (
    bump_profiles,
    quadrant_of_cell,
    target,
    wiener_modes,
)
from gflownet_envs.rewards.problems import right_equations
from gflownet_envs.storage import environment_versions
from tests.shared import cases

CELLS = torch.tensor([[1, 1], [0, 2], [4, 0], [2, 3]])
LEVELS = columns_of_levels(np.array([[0, 1], [0, 0]]), ("a", "b"), ["C", "O"])
MODES = wiener_modes(torch.tensor([2 * math.pi])).square()
VERSIONS = ["numpy", "python", "scikit-learn", "scipy", "skpce"]


@cases(
    ("found", "expected"),
    (array_digest(np.zeros(3)) == array_digest(np.zeros(3)), True),
    (array_digest(np.zeros(3)) == array_digest(np.zeros((3, 1))), False),
    (json_values({"hidden": (64, 64)}), {"hidden": [64, 64]}),
    ([block.stop - block.start for block in share_out(150, 50)], [38, 38, 37, 37]),
    (share_out(50, 50), [slice(0, 50)]),
    (split_into_blocks(5, 2), [slice(0, 2), slice(2, 4), slice(4, 5)]),
    (quadrant_of_cell(CELLS).tolist(), [0, 1, 2, 3]),
    (bump_profiles(torch.tensor([0.0, 0.75])).round(decimals=3).tolist(),
     [1.0, 0.006, 0.006]),
    (target(torch.zeros(1)).tolist(), [2.0]),
    (MODES.round(decimals=3).tolist(), [[5.093, 0.566]]),
    ((len(right_equations()), " ".join(right_equations()[0])), (222, "0 + 0 = 0")),
    ([edge_kind(edge, [("a", "b")]) for edge in (("a", "b"), ("b", "a"), ("a", "c"))],
     ["known", "known, other way", "not known"]),
    (covariance_names("ab"), ("cov(a, a)", "cov(a, b)", "cov(b, a)", "cov(b, b)")),
    (levels_of_nodes(["a", "b"])["b"].tolist(), [1, 2, 3]),
    ({name: column.tolist() for name, column in LEVELS["b"].items()},
     {"C": [1], "O": [0]}),
    (sorted(set(environment_versions()) - {"torch"}), VERSIONS),
)  # fmt: skip
def test_values(found, expected):
    assert found == expected
