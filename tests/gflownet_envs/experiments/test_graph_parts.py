"""Named parts of scores of graphs: they add up, and those of the data are free."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.experiments.tasks.graphs import (
    GraphParts,
    TriangularSamples,
    scores_above_empty,
    topological_order,
)
from gflownet_envs.rewards.graph_scores import LocalScoreReward

NAMES = ("a", "b", "c", "d")
EDGES = (("c", "a"), ("a", "b"))
ENV = DagEnvironment(4, node_names=NAMES)


@pytest.fixture(scope="module")
def samples():
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    return np.random.default_rng(0).normal(size=(12, 30, 4)) @ mixing


def parts_of(samples):
    scores = scores_above_empty(samples)
    return GraphParts(ENV, samples, scores, partial(LocalScoreReward, ENV), EDGES)


def all_splits(samples):
    parts = parts_of(samples)
    return {
        "nodes": parts.nodes(),
        "regressions": parts.regressions(),
        "blocks": parts.regressions([("a", "d"), ("gone", "b")]),
        "pairs": parts.pairs(),
    }


@pytest.mark.parametrize("name", ["nodes", "regressions", "blocks", "pairs"])
def test_the_parts_of_a_member_are_its_reward(samples, name):
    split = all_splits(samples)[name]
    found = split.reward({part: values[3:7] for part, values in split.parts.items()})
    sets = np.arange(16)
    looked_up = (sets >> np.arange(4)[:, np.newaxis]) & 1 == 0
    expected = scores_above_empty(samples)[3:7]
    difference = found.scores.numpy() - expected
    assert_allclose(difference[:, looked_up], 0.0, atol=1e-9)
    assert set(split.phrases) == set(split.parts)
    for part, entries in split.entries.items():
        assert entries.labels.shape == split.parts[part].shape[1:]
        assert entries.labels.max() < len(entries.names)


def test_any_recombination_of_the_data_is_a_sample(samples):
    """Means and covariances of members mixed by parts are those of some rows."""
    triangular = TriangularSamples(samples, [2, 0, 1, 3])
    again = triangular.samples(triangular.coordinates)
    assert_allclose(again.mean(axis=1), samples.mean(axis=1))
    for found, expected in zip(again, samples, strict=True):
        assert_allclose(np.cov(found.T), np.cov(expected.T))
    mixed = triangular.coordinates.copy()
    mixed[:, 1] = mixed[::-1, 1]
    for rows in triangular.samples(mixed):
        assert np.linalg.eigvalsh(np.cov(rows.T)).min() > 0


def test_regressions_of_gaussian_rows_are_independent_and_scores_are_not():
    """Bartlett's decomposition: entries are uncorrelated, covariances are not."""
    rng = np.random.default_rng(3)
    mixing = np.tril(rng.normal(size=(4, 4))) + 2 * np.eye(4)
    samples = rng.normal(size=(4000, 12, 4)) @ mixing.T
    triangular = TriangularSamples(samples, range(4))
    rows, columns = np.tril_indices(4)
    found = triangular.coordinates
    entries = np.concatenate((found[:, rows, columns], found[:, :, 4]), axis=1)
    for values in (entries, np.abs(entries)):
        apart = np.corrcoef(values.T) - np.eye(entries.shape[1])
        assert np.abs(apart).max() < 0.08  # five standard errors


def test_orders():
    assert topological_order("ab", []) == [0, 1]
    with pytest.raises(ValueError, match=r"no cycle, got \[\('a', 'b'\)"):
        topological_order("abc", [("a", "b"), ("b", "a")])
    for one, two in combinations(range(4), 2):
        edges = [(NAMES[two], NAMES[one])]
        order = topological_order(NAMES, edges)
        assert order.index(two) < order.index(one)
