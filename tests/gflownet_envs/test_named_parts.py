"""Four named parts of a reward, two of which the policy depends on: are they found?

The shares are known: in closed form for the last step, whose log-ratios are linear in
the parts, and by quadrature with exact policies for the step before, where they
interact.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from gflownet_envs import (
    SequentialSelectionEnvironment,
    policies_along,
    solve_exact,
    trajectory_of_actions,
)
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce import LogRatioTransformer
from skpce.inspection import dependent_sobol_indices, verdict
from tests.shared import cases, ridge_surrogate

ENVIRONMENT = SequentialSelectionEnvironment(
    {"ligand": ["a", "b"], "base": ["c", "d"], "solvent": ["polar", "apolar", "none"]}
)
TRAJECTORY = trajectory_of_actions(ENVIRONMENT, [0, 2, 4])
STEPS = {"base": 2, "solvent": 3}
#: Rows are parts; columns are a-c, a-d, b-c, b-d, each with three solvents. The last
#: two lie behind ligand b, which the explained choices of base and solvent, after
#: ligand a, do not depend on.
PARTS = np.zeros((4, 12))
PARTS[0, [0, 3]] = 2.0, -2.0
PARTS[1, [1, 2, 4, 5]] = 1.5, -1.0, -2.0, 1.0
PARTS[2, 6:9] = 8.0, -6.0, 7.0
PARTS[3, 9:] = -7.0, 6.0, 5.0
NAMES = ("polar", "apolar", "b, c", "b, d")
ENTRIES = dict(zip(NAMES, map(np.flatnonzero, PARTS), strict=True))
N_MEMBERS, SEED, TOLERANCE = 100, 0, 0.05


def log_reward(z):
    return z @ PARTS


def policies(z):
    solution = solve_exact(ENVIRONMENT, log_reward(z))
    return policies_along(ENVIRONMENT, solution, TRAJECTORY).y[:, 2:]


def log_ratios(y):
    return LogRatioTransformer("ilr", steps=STEPS).fit_transform(y)


def by_step(variances):
    return np.stack([variances[:1].sum(axis=0), variances[1:].sum(axis=0)])


@pytest.fixture(scope="module")
def truth():
    """First-order and Shapley shares of both steps, by quadrature over two parts.

    With two players a Shapley effect is the first-order index and half of what both
    have together. That the other two leave the policy alone is a test below.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    weights = weights / weights.sum()
    z = np.array([(*pair, 0.0, 0.0) for pair in product(nodes, nodes)])
    values = log_ratios(policies(z)).reshape(20, 20, -1)
    mean = np.einsum("i,j,ijc->c", weights, weights, values)
    whole = by_step(np.einsum("i,j,ijc->c", weights, weights, (values - mean) ** 2))
    alone = [
        by_step(weights @ (np.einsum(average, weights, values) - mean) ** 2)
        for average in ("j,ijc->ic", "i,ijc->jc")
    ]
    first = np.zeros((2, 4))
    first[:, :2] = np.stack(alone, axis=1) / whole[:, None]
    shapley = first.copy()
    shapley[:, :2] += (1 - first.sum(axis=1, keepdims=True)) / 2
    return first, shapley


@pytest.fixture(scope="module")
def members():
    z = np.random.default_rng(SEED).normal(size=(N_MEMBERS, 4))
    return z, log_reward(z), policies(z)


def pipeline(*embedding):
    surrogate = ridge_surrogate(3, steps=STEPS)
    return make_pipeline(*embedding, PCA(2), surrogate)


def features(*excluded):
    return PolicyRelevantFeatures(
        ENVIRONMENT, trajectory=TRAJECTORY, exclude_steps=("ligand", *excluded)
    )


def test_the_truth(truth):
    first, shapley = truth
    behind = PARTS[:, :3] - PARTS[:, :3].mean(axis=1, keepdims=True)
    closed_form = np.square(behind).sum(axis=1) / np.square(behind).sum()
    assert_allclose(first[1], closed_form, atol=1e-12)
    assert_allclose(shapley.sum(axis=1), 1)
    assert 0.02 < 1 - first[0].sum() < 0.5  # the parts interact at the base
    assert np.square(PARTS[2:]).sum() > 0.9 * np.square(PARTS).sum()
    z = np.random.default_rng(1).normal(size=(5, 4))
    changed = np.concatenate([z[:, :2], z[::-1, 2:]], axis=1)
    assert_allclose(policies(changed), policies(z), atol=1e-12)


def test_groups_of_entries_have_their_shares(truth, members):
    _, X, y = members
    fitted = pipeline(features()).fit(X, y)
    # More draws of log R than members: the policies of those are not needed.
    drawn = log_reward(np.random.default_rng(1).normal(size=(5000, 4)))
    found = dependent_sobol_indices(
        fitted, drawn, groups=ENTRIES, n_samples=4096, random_state=0
    )
    assert_allclose(found.first_order, truth[0], atol=TOLERANCE)
    assert_allclose(found.shapley, truth[1], atol=TOLERANCE)


@cases(
    ("embedding", "expected"),
    ([features()], (True, True)),
    ([features("base")], (True, True)),
    ([], (False, False)),
    ids=["policy-relevant", "without those of the base", "PCA"],
)
def test_the_verdict(members, embedding, expected):
    _, X, y = members
    found = verdict(pipeline(*embedding), X, y)
    assert found.attributable == expected
