"""BGe tables: cost, inputs on the Sachs data, and the exact posterior of five nodes.

- CPU-milliseconds a member of the whole table of 11 nodes, beside one call of
  ``slogdet`` a set of columns; the largest difference of the determinants.
- Share of the variance of the flattened sample covariances that two principal
  components hold (the paper: 38.4 %), for both standardisations, raw and logarithms,
  with fewer and more members; how far apart log R of the 17-edge network and of the
  empty graph are, and what a greedy climb finds above both.
- Five simulated nodes: listing, table and exact solution, and whether the posterior
  finds the six edges.

Run: ``SKPCE_DATA=… python -m benchmarks.gflownet.graph_rewards``
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import torch
from sklearn.decomposition import PCA

from gflownet_envs import DagEnvironment, StateGraph, solve_exact
from gflownet_envs.datasets import fetch_sachs, make_linear_gaussian_data
from gflownet_envs.exact.dag import edge_marginals
from gflownet_envs.rewards.graph_scores import (
    STANDARDIZATIONS,
    LocalScoreReward,
    bge_scores,
    log_principal_minors,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.source import log_reward_table


def cpu_ms(call, repeats: int) -> float:
    """Return the median CPU-milliseconds of a call."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return 1e3 * float(np.median(found))


def cost(rows: np.ndarray, n_members: int, repeats: int) -> None:
    samples = subsample_rows(rows, members=range(n_members))
    together = cpu_ms(lambda: bge_scores(samples), repeats) / n_members
    alone = cpu_ms(lambda: bge_scores(samples[:1]), repeats)
    matrix = samples[0].T @ samples[0] + 0.5 * np.eye(rows.shape[1])
    minors = cpu_ms(lambda: log_principal_minors(matrix[None]), repeats)
    plain = cpu_ms(lambda: one_by_one(matrix), 1)
    off = np.abs(log_principal_minors(matrix[None])[0] - one_by_one(matrix)).max()
    print(
        f"a table of 11 x 2048: {together:.2f} CPU-ms a member ({n_members} at once), "
        f"{alone:.2f} alone; its 2048 determinants {minors:.2f}, one slogdet a set "
        f"{plain:.1f}; largest difference {off:.1e}"
    )


def one_by_one(matrix: np.ndarray) -> np.ndarray:
    d = len(matrix)
    found = np.zeros(2**d)
    for s in range(2**d):
        kept = [i for i in range(d) if s >> i & 1]
        found[s] = np.linalg.slogdet(matrix[np.ix_(kept, kept)])[1]
    return found


def inputs(bunch, n_members: int) -> None:
    names = bunch.feature_names
    for standardize in STANDARDIZATIONS:
        for label, rows in (("raw", bunch.data), ("log", np.log(bunch.data))):
            samples = subsample_rows(
                rows, members=range(n_members), standardize=standardize
            )
            covariances = sample_covariances(samples)
            shares = [
                100 * PCA(2).fit(covariances[:n]).explained_variance_ratio_.sum()
                for n in (30, n_members)
            ]
            scores = bge_scores(samples)
            empty = scores[:, :, 0].sum(axis=1)
            parents = parent_sets(bunch.edges, names)
            consensus = scores[:, np.arange(len(names)), parents].sum(axis=1)
            best, n_edges = climb(scores)
            print(
                f"{standardize}, {label}: two components hold {shares[0]:.1f} % "
                f"(30 members), {shares[1]:.1f} % ({n_members}); log R above the empty "
                f"graph: 17 edges {mean_sd(consensus - empty)}, greedy climb to "
                f"{mean_sd(n_edges)} edges {mean_sd(best - empty)}"
            )


def mean_sd(values: np.ndarray) -> str:
    return f"{values.mean():.1f} ± {values.std():.1f}"


def parent_sets(edges, names) -> np.ndarray:
    sets = np.zeros(len(names), dtype=np.int64)
    for source, target in edges:
        sets[names.index(target)] |= 1 << names.index(source)
    return sets


def climb(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add the best edge to each member's graph until none raises its score."""
    n_members, d = scores.shape[:2]
    env = DagEnvironment(d, max_edges=18)
    reward = LocalScoreReward(env, scores)
    states = env.initial_state((n_members, 1))
    actions = torch.arange(env.n_actions).expand(n_members, -1)
    for _ in range(env.max_edges):
        allowed = torch.where(env.valid_mask(states)[:, 0], actions, actions[:, -1:])
        tried = env.step(states.expand(-1, env.n_actions, -1), allowed)
        best = allowed.gather(1, reward.of_states(tried).argmax(dim=1, keepdim=True))
        states = env.step(states, best)
    n_edges = states[:, 0, -2].double().numpy()
    return reward.of_states(states)[:, 0].numpy(), n_edges


def five_nodes(n_rows: int, n_members: int) -> None:
    bunch = make_linear_gaussian_data()
    start = time.process_time()
    env = DagEnvironment(5)
    graph = StateGraph.from_environment(env)
    listed = time.process_time()
    samples = subsample_rows(bunch.data, n_rows, members=range(n_members))
    table = log_reward_table(LocalScoreReward(env, bge_scores(samples)), graph)
    scored = time.process_time()
    solution = solve_exact(graph, table)
    solved = time.process_time()
    law = solution.target_distribution()
    marginals = edge_marginals(graph, law)
    print(
        f"five nodes, {n_rows} of {len(bunch.data)} rows: listing "
        f"{listed - start:.2f} CPU-s, {n_members} tables of {env.n_objects} "
        f"{scored - listed:.2f}, exact {solved - scored:.2f}, marginals "
        f"{time.process_time() - solved:.2f}"
    )
    names = bunch.feature_names
    present = np.zeros((5, 5), dtype=bool)
    for source, target in bunch.edges:
        present[names.index(source), names.index(target)] = True
    skeleton = (marginals + marginals.transpose(1, 2)).numpy()
    print(
        "  P(edge, either way): true pairs "
        f"{skeleton[:, present].mean():.2f}, other pairs "
        f"{skeleton[:, ~(present | present.T | np.eye(5, dtype=bool))].mean():.2f}; "
        f"P(right way) of true edges {marginals.numpy()[:, present].mean():.2f}"
    )
    entropy = -(law * law.clamp(min=1e-300).log()).sum(dim=1)
    apart = 0.5 * (law - law.mean(dim=0)).abs().sum(dim=1)
    print(
        f"  effective number of graphs {entropy.exp().median():.0f}, total variation "
        f"to the mean posterior {apart.mean():.2f}, sd of an edge's probability "
        f"between members {marginals.std(dim=0).max():.2f} at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=80)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    bunch = fetch_sachs()
    cost(bunch.data, arguments.members, arguments.repeats)
    inputs(bunch, arguments.members)
    for n_rows in (50, 200):
        five_nodes(n_rows, arguments.members)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
