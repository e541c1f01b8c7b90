"""BGe scores against t densities and score equivalence."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t

from gflownet_envs import DagEnvironment, StateGraph
from gflownet_envs.exact.dag import adjacency
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    bge_scores,
    log_marginal_likelihoods,
    log_principal_minors,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.source import log_reward_table
from tests.shared import cases, refuses


def correlated_rows(shape, seed=0):
    """Rows of dependent columns, whose mean is not 0."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(shape[-1], shape[-1]))
    return rng.normal(size=shape) @ mixing + rng.normal(size=shape[-1])


def members_of(s, d):
    return [i for i in range(d) if s >> i & 1]


# An independent route: the marginal likelihood is a product of predictive laws, each a
# multivariate t whose parameters follow from the rows before it.


def predictive_product(rows, columns, alpha_mu, alpha_w):
    """Log p(D_Y) row by row with the block of the normal-Wishart prior."""
    d, kept = rows.shape[1], len(columns)
    t = alpha_mu * (alpha_w - d - 1) / (alpha_mu + 1)
    mean, scale = np.zeros(kept), t * np.eye(kept)
    weight, freedom = alpha_mu, alpha_w - d + kept
    total = 0.0
    for row in rows[:, columns]:
        df = freedom - kept + 1
        shape = scale * (weight + 1) / (weight * df)
        total += multivariate_t(mean, shape, df=df).logpdf(row)
        away = row - mean
        scale = scale + weight / (weight + 1) * np.outer(away, away)
        mean = (weight * mean + row) / (weight + 1)
        weight, freedom = weight + 1, freedom + 1
    return total


@pytest.mark.parametrize(("alpha_mu", "alpha_w"), [(1.0, None), (0.3, 9.5), (4.0, 6.2)])
def test_scores_are_ratios_of_products_of_t_densities(alpha_mu, alpha_w):
    samples = correlated_rows((2, 12, 4))
    settings = {"alpha_mu": alpha_mu, "alpha_w": alpha_w}
    found = log_marginal_likelihoods(samples, **settings)
    scores = bge_scores(samples, **settings)
    alpha_w = 4 + alpha_mu + 1 if alpha_w is None else alpha_w
    for rows, own, own_scores in zip(samples, found, scores, strict=True):
        assert own[0] == 0
        for s in range(1, 16):
            expected = predictive_product(rows, members_of(s, 4), alpha_mu, alpha_w)
            assert own[s] == pytest.approx(expected, abs=1e-9)
        for node in range(4):
            parents = np.array([s for s in range(16) if not s >> node & 1])
            expected = own[parents | 1 << node] - own[parents]
            assert_allclose(own_scores[node, parents], expected, atol=1e-10)
            assert np.isnan(np.delete(own_scores[node], parents)).all()


def equivalence_class(matrix):
    """Skeleton and v-structures, which decide Markov equivalence."""
    skeleton = matrix | matrix.T
    colliders = tuple(
        (i, j, k)
        for k in range(len(matrix))
        for i, j in combinations(np.flatnonzero(matrix[:, k]), 2)
        if not skeleton[i, j]
    )
    return skeleton.tobytes(), colliders


def test_markov_equivalent_graphs_score_alike():
    env = DagEnvironment(5)
    graph = StateGraph.from_environment(env)
    samples = correlated_rows((2, 40, 5), seed=1)
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph).numpy()
    matrices = adjacency(env, graph.final_states()).numpy()
    classes = {}
    for index, matrix in enumerate(matrices):
        classes.setdefault(equivalence_class(matrix), []).append(index)
    assert len(classes) == 8782  # Gillispie and Perlman (2002), five nodes
    spreads = [np.ptp(table[:, members], axis=1) for members in classes.values()]
    assert np.max(spreads) < 1e-9
    # and graphs of different classes do not
    scores = np.sort([table[0, members[0]] for members in classes.values()])
    assert (np.diff(scores) > 1e-9).mean() > 0.99


# Members.


def test_rows_are_drawn_without_replacement_and_by_member():
    data = correlated_rows((50, 3))
    drawn = subsample_rows(data, 20, members=[4, 7], seed=3)
    again = subsample_rows(data, 20, members=[7], seed=3)
    assert np.array_equal(drawn[1], again[0])
    assert not np.array_equal(drawn[0], drawn[1])
    everything = (data - data.mean(axis=0)) / data.std(axis=0)
    for rows in drawn:
        assert len(np.unique(rows, axis=0)) == 20
        distance = np.abs(rows[:, None] - everything).max(axis=-1).min(axis=1)
        assert distance.max() < 1e-12


def test_standardised_by_member_covariances_are_correlations():
    data = correlated_rows((50, 3)) * [1.0, 10.0, 100.0]
    own = subsample_rows(data, 20, members=range(3), standardize="member")
    expected = np.stack([np.cov(rows.T).ravel() for rows in own])
    assert_allclose(sample_covariances(own), expected)
    covariance = sample_covariances(own).reshape(3, 3, 3) * 19 / 20
    assert covariance.diagonal(axis1=1, axis2=2) == pytest.approx(1.0)
    shared = subsample_rows(data, 20, members=range(3))
    for member in range(3):
        expected = np.corrcoef(shared[member].T)
        assert covariance[member] == pytest.approx(expected)


ROWS = correlated_rows((2, 20, 3))


@cases(
    ("call", "arguments", "message"),
    (bge_scores, {"samples": ROWS[0]}, r"must have shape .* got shape \(20, 3\)"),
    (bge_scores, {"samples": ROWS * np.nan}, "samples of member 0 must be finite"),
    (bge_scores, {"samples": np.ones((1, 5, 17))}, "at most 16 columns, got 17"),
    (bge_scores, {"alpha_mu": 0.0}, "alpha_mu must be positive, got 0.0"),
    (bge_scores, {"alpha_w": 4.0}, r"alpha_w must be .* = 4, got 4.0"),
    (sample_covariances, {"samples": ROWS[:, :1]}, "at least 2 rows, got 1"),
    (subsample_rows, {"n_rows": 21}, "n_rows must be at most 20, the rows, got 21"),
    (subsample_rows, {"data": ROWS}, r"got shape \(2, 20, 3\)"),
    (subsample_rows, {"members": []}, "members must not be empty"),
    (subsample_rows, {"standardize": "no"}, r"one of \('global', 'member'\), got 'no'"),
    (subsample_rows, {"data": ROWS[0] * [1, 0, 1]}, "column 1 of data is constant"),
)
def test_bad_input(call, arguments, message):
    given = {"data": ROWS[0], "n_rows": 5, "members": [0]}
    given = given if call is subsample_rows else {"samples": ROWS}
    refuses(message, call, **given | arguments)
    matrices = [np.eye(2), [[1.0, 2.0], [2.0, 1.0]]]
    refuses("positive definite.*-3 in matrix 1", log_principal_minors, matrices)
