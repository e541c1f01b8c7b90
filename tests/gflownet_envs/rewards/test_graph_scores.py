"""BGe scores against t densities, slogdet per graph, and score equivalence."""

from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import multigammaln
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
def test_marginal_likelihoods_are_products_of_t_densities(alpha_mu, alpha_w):
    rows = correlated_rows((12, 4))
    found = log_marginal_likelihoods(rows[None], alpha_mu=alpha_mu, alpha_w=alpha_w)[0]
    assert found[0] == 0
    alpha_w = 4 + alpha_mu + 1 if alpha_w is None else alpha_w
    for s in range(1, 16):
        expected = predictive_product(rows, members_of(s, 4), alpha_mu, alpha_w)
        assert found[s] == pytest.approx(expected, abs=1e-9)


def brute_force_log_score(rows, matrix):
    """Sum over nodes of log p(node and parents) − log p(parents), by formula."""
    n, d = rows.shape
    alpha_mu, alpha_w = 1.0, d + 2.0
    prior = alpha_mu * (alpha_w - d - 1) / (alpha_mu + 1) * np.eye(d)
    mean = rows.mean(axis=0)
    posterior = prior + n * np.cov(rows.T, ddof=0)
    posterior += n * alpha_mu / (n + alpha_mu) * np.outer(mean, mean)

    def log_p(columns):
        size = len(columns)
        if size == 0:
            return 0.0
        block = np.ix_(columns, columns)
        before = (alpha_w - d + size) / 2
        after = before + n / 2
        return (
            size / 2 * np.log(alpha_mu / (n + alpha_mu))
            - size * n / 2 * np.log(np.pi)
            + multigammaln(after, size)
            - multigammaln(before, size)
            + before * np.linalg.slogdet(prior[block])[1]
            - after * np.linalg.slogdet(posterior[block])[1]
        )

    total = 0.0
    for node in range(d):
        parents = np.flatnonzero(matrix[:, node]).tolist()
        total += log_p(sorted([*parents, node])) - log_p(parents)
    return total


@pytest.fixture(scope="module")
def five_nodes():
    """The listed graphs of five nodes, their adjacency and two members' log R."""
    env = DagEnvironment(5)
    graph = StateGraph.from_environment(env)
    samples = correlated_rows((2, 40, 5), seed=1)
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph)
    matrices = adjacency(env, graph.final_states()).numpy()
    return samples, matrices, table.numpy()


def test_graphs_score_as_by_formula(five_nodes):
    samples, matrices, table = five_nodes
    for index in range(0, len(matrices), 487):
        for member in range(2):
            expected = brute_force_log_score(samples[member], matrices[index])
            assert table[member, index] == pytest.approx(expected, abs=1e-8)


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


def test_markov_equivalent_graphs_score_alike(five_nodes):
    _, matrices, table = five_nodes
    classes = {}
    for index, matrix in enumerate(matrices):
        classes.setdefault(equivalence_class(matrix), []).append(index)
    assert len(classes) == 8782  # Gillispie and Perlman (2002), five nodes
    spread = max(
        np.ptp(table[:, members], axis=1).max() for members in classes.values()
    )
    assert spread < 1e-9
    # and graphs of different classes do not
    scores = np.sort([table[0, members[0]] for members in classes.values()])
    assert (np.diff(scores) > 1e-9).mean() > 0.99


def test_the_answer_does_not_depend_on_the_order_of_columns():
    samples = correlated_rows((1, 30, 4))
    order = [2, 0, 3, 1]
    scores, permuted = bge_scores(samples), bge_scores(samples[:, :, order])
    for s in range(16):
        original = sum(1 << order[i] for i in members_of(s, 4))
        for node in set(range(4)) - set(members_of(s, 4)):
            there = scores[0, order[node], original]
            assert permuted[0, node, s] == pytest.approx(there, abs=1e-10)


def test_scores_relative_to_no_edges_give_the_same_posterior():
    env = DagEnvironment(3)
    graph = StateGraph.from_environment(env)
    scores = bge_scores(correlated_rows((2, 20, 3)))
    relative = scores - scores[:, :, :1]
    plain, shifted = (
        log_reward_table(LocalScoreReward(env, s), graph) for s in (scores, relative)
    )
    assert (shifted[:, 0] == 0).all()
    torch.testing.assert_close(plain.softmax(dim=1), shifted.softmax(dim=1))


def test_scores_with_the_node_among_its_parents_are_nan():
    scores = bge_scores(correlated_rows((3, 20, 4)))
    assert scores.shape == (3, 4, 16)
    own = (np.arange(16) >> np.arange(4)[:, None]) & 1 == 1
    assert np.array_equal(np.isnan(scores), np.broadcast_to(own, scores.shape))


def test_members_do_not_mix():
    samples = correlated_rows((3, 20, 4))
    alone = bge_scores(samples[1:2])
    assert_allclose(bge_scores(samples)[1:2], alone, rtol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_principal_minors(d):
    rows = correlated_rows((2, 3 * d, d))
    matrices = rows.transpose(0, 2, 1) @ rows
    found = log_principal_minors(matrices)
    for s in range(2**d):
        block = np.ix_(members_of(s, d), members_of(s, d))
        for member in range(2):
            sign, expected = np.linalg.slogdet(matrices[member][block])
            assert sign == 1
            assert found[member, s] == pytest.approx(expected, abs=1e-10)


def test_a_matrix_that_is_not_positive_definite_is_refused():
    with pytest.raises(ValueError, match=r"positive definite.*-3 in matrix 1"):
        log_principal_minors([np.eye(2), [[1.0, 2.0], [2.0, 1.0]]])


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
    covariance = sample_covariances(own).reshape(3, 3, 3) * 19 / 20
    assert covariance.diagonal(axis1=1, axis2=2) == pytest.approx(1.0)
    shared = subsample_rows(data, 20, members=range(3))
    for member in range(3):
        expected = np.corrcoef(shared[member].T)
        assert covariance[member] == pytest.approx(expected)


def test_sample_covariances_are_numpy_s():
    samples = correlated_rows((3, 20, 4))
    expected = np.stack([np.cov(rows.T).ravel() for rows in samples])
    assert_allclose(sample_covariances(samples), expected)


def test_more_rows_of_a_chain_decide_its_edges(rng):
    """x → y → z: the best graphs become those with two edges through y."""
    x = rng.normal(size=2000)
    y = x + rng.normal(size=2000)
    rows = np.c_[x, y, y + rng.normal(size=2000)]
    env = DagEnvironment(3)
    graph = StateGraph.from_environment(env)
    samples = subsample_rows(rows, 1000, members=range(2), standardize="member")
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph)
    names = env.object_names()
    for row in table:
        best = {names[i] for i in row.argsort(descending=True)[:3].tolist()}
        assert best == {"0 → 1, 1 → 2", "1 → 0, 2 → 1", "1 → 0, 1 → 2"}
        ranked = row.sort(descending=True).values
        assert ranked[0] - ranked[2] < 1e-9 < 1 < ranked[2] - ranked[3]
    assert torch.isfinite(table).all()


@cases(
    ("call", "message"),
    (lambda s: bge_scores(s[0]), r"samples must have shape .* got shape \(20, 3\)"),
    (lambda s: bge_scores(s * np.nan), "samples of member 0 must be finite"),
    (lambda s: bge_scores(np.ones((1, 5, 17))), "at most 16 columns, got 17"),
    (lambda s: bge_scores(s, alpha_mu=0.0), "alpha_mu must be positive, got 0.0"),
    (lambda s: bge_scores(s, alpha_w=4.0), r"alpha_w must be .* = 4, got 4.0"),
    (lambda s: sample_covariances(s[:, :1]), "at least 2 rows, got 1"),
    (
        lambda s: subsample_rows(s[0], 21, members=[0]),
        "n_rows must be at most 20, the rows, got 21",
    ),
    (
        lambda s: subsample_rows(s[0], 1, members=[0]),
        "n_rows must be at least 2, got 1",
    ),
    (lambda s: subsample_rows(s[0], 5, members=[]), "members must not be empty"),
    (
        lambda s: subsample_rows(s[0], 5, members=[0], standardize="no"),
        r"standardize must be one of \('global', 'member'\), got 'no'",
    ),
    (
        lambda s: subsample_rows(s[0] * [1, 0, 1], 5, members=[0]),
        "column 1 of data is constant",
    ),
    (lambda s: subsample_rows(s, 5, members=[0]), r"got shape \(2, 20, 3\)"),
)
def test_bad_input(call, message):
    refuses(message, call, correlated_rows((2, 20, 3)))
