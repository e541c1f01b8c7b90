"""Fragility and distances against closed forms, other libraries and laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import jensenshannon, pdist
from scipy.special import softmax
from scipy.stats import entropy

from skpce.metrics import policy_fragility, total_variation_distance
from tests.shared import cases, refuses

BOUNDED = (
    "total_variation",
    "pairwise_total_variation",
    "jensen_shannon",
    "mutual_information",
)
NORMALIZED = tuple(f"normalized_{name}" for name in BOUNDED)
STEPS = {"four": 4, "single": 2, "masked": 3}
MASK = np.array([True] * 4 + [False, True] + [True, False, True])


def members(n_members=12, n_parts=4, seed=0):
    rng = np.random.default_rng(seed)
    return softmax(rng.normal(size=(n_members, n_parts)), axis=1)


@pytest.fixture
def ensemble_of_three():
    """Four parts; one possible part of two; two possible parts of three."""
    pair = members(n_parts=2, seed=1)
    zero, one = np.zeros((12, 1)), np.ones((12, 1))
    return np.hstack([members(), zero, one, pair[:, :1], zero, pair[:, 1:]])


def test_every_measure_by_hand(ensemble_of_three):
    found = policy_fragility(ensemble_of_three, steps=STEPS, mask=MASK)
    assert_array_equal(found.n_possible, [4, 1, 2])
    for step, columns in ((0, slice(0, 4)), (2, [6, 8])):
        p = ensemble_of_three[:, columns]
        k, mean = p.shape[1], p.mean(axis=0)
        distances = np.array([jensenshannon(row, mean) for row in p])
        log = np.log(p)
        clr = log - log.mean(axis=1, keepdims=True)
        expected = {
            "total_variation": 0.5 * np.abs(p - mean).sum(axis=1).mean(),
            "pairwise_total_variation": pdist(p, "cityblock").mean() / 2,
            "jensen_shannon": np.mean(distances**2),
            "mutual_information": entropy(mean) - entropy(p, axis=1).mean(),
            "aitchison_variance": clr.var(axis=0).sum(),
            "variance_per_freedom": clr.var(axis=0).sum() / (k - 1),
            "alr_sum": (log[:, :-1] - log[:, -1:]).var(axis=0).sum(),
        }
        for name, value in expected.items():
            assert getattr(found, name)[step] == pytest.approx(value, rel=1e-10), name


@pytest.mark.parametrize("n_members", [6, 49, 100])
def test_one_action_is_exactly_zero(n_members):
    # The weighted mean of so many ones is 1 up to rounding.
    y = np.hstack([members(n_members), np.ones((n_members, 1))])
    found = policy_fragility(y, steps=(4, 1))
    for name in (*BOUNDED, "aitchison_variance", "alr_sum"):
        assert getattr(found, name)[0] > 0, name
        assert getattr(found, name)[1] == 0, name
    for name in (*NORMALIZED, "variance_per_freedom"):
        assert np.isfinite(getattr(found, name)[0]), name
        assert np.isnan(getattr(found, name)[1]), name


def test_a_masked_part_that_is_possible_counts(ensemble_of_three):
    with_zeros = ensemble_of_three[:, 6:]
    found = policy_fragility(with_zeros, mask=[True] * 3, zero_replacement=1e-6)
    replaced = with_zeros * (1 - 1e-6)
    replaced[:, 1] = 1e-6
    clr = np.log(replaced) - np.log(replaced).mean(axis=1, keepdims=True)
    assert found.aitchison_variance[0] == pytest.approx(clr.var(axis=0).sum())
    # Distances of probabilities do not replace zeros.
    alone = policy_fragility(ensemble_of_three[:, [6, 8]])
    assert found.total_variation[0] == pytest.approx(alone.total_variation[0])
    assert found.n_possible[0] == 3


@pytest.mark.parametrize("n_parts", [2, 3, 7])
@pytest.mark.parametrize("copies", [1, 4])
def test_members_split_evenly_over_all_actions_reach_one(n_parts, copies):
    found = policy_fragility(np.repeat(np.eye(n_parts), copies, axis=0))
    for name in NORMALIZED:
        assert getattr(found, name)[0] == pytest.approx(1.0, rel=1e-12), name
    assert found.total_variation[0] == pytest.approx(1 - 1 / n_parts)
    assert found.mutual_information[0] == pytest.approx(np.log(n_parts))


def test_one_member_has_no_pair():
    found = policy_fragility([[0.3, 0.7]])
    assert np.isnan(found.pairwise_total_variation[0])
    assert found.total_variation[0] == found.alr_sum[0] == 0


def test_sums_of_log_ratios_grow_with_actions_and_distances_do_not():
    # The same law of logits over 3 and over 30 actions: the fault of the paper's D.
    few, many = members(4000, 3), members(4000, 30)
    found = policy_fragility(np.hstack([few, many]), steps=(3, 30))
    assert found.alr_sum[1] > 10 * found.alr_sum[0]
    assert_allclose(found.variance_per_freedom, 1, rtol=0.1)
    assert found.total_variation[1] < 2 * found.total_variation[0]


def test_distances_obey_their_laws(ensemble_of_three):
    p, q = ensemble_of_three, np.roll(ensemble_of_three, 1, axis=0)
    found = total_variation_distance(p, q, steps=STEPS)
    assert found.shape == (12, 3)
    assert_array_equal(found, total_variation_distance(q, p, steps=STEPS))
    assert_array_equal(found[:, 1], 0)
    assert np.all(found[:, [0, 2]] > 0)
    one = total_variation_distance(p, q[:1], steps=STEPS)
    every = total_variation_distance(p, np.tile(q[:1], (12, 1)), steps=STEPS)
    assert_allclose(one, every)
    assert_allclose(one, total_variation_distance(q[:1], p, steps=STEPS))


Y = np.full((4, 3), 1 / 3)


@cases(
    ("arguments", "message"),
    ({"y": Y[:0]}, r"y has shape \(0, 3\); .*at least one member"),
    ({"y": [Y, Y]}, "pack_steps"),
    ({"y": Y - 0.5}, r"y has -0\.16.* in row 0"),
    ({"y": Y, "steps": (2, 2)}, "sums to 4 columns"),
    ({"y": Y, "reference": 3}, r"'reference' .* must be in \[-3, 3\).*Got 3"),
)
def test_bad_input_is_named(arguments, message):
    refuses(message, policy_fragility, **arguments)
    refuses("q has|but q", total_variation_distance, Y, np.ones((3, 3)))
