"""Graphs of five nodes: all 29,281 of them, and the exact posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from gflownet_envs.datasets import make_linear_gaussian_data
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.dag import edge_marginals
from gflownet_envs.exact.solve import solve_exact, terminating_distribution
from gflownet_envs.experiments.claims import claims_of
from gflownet_envs.experiments.task import (
    NamedParts,
    Policies,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Table,
    Task,
    presets_of,
)
from gflownet_envs.experiments.tasks.graph_parts import (
    RewardOfScores,
    TriangularSamples,
    edge_parts,
    node_parts,
    pair_parts,
    regression_parts,
    topological_order,
)
from gflownet_envs.experiments.tasks.graphs import (
    Edge,
    covariance_names,
    draw_graph,
    edges_in_preferred_order,
    edges_of_trajectory,
    levels_of_nodes,
    marginals_table,
    scores_above_empty,
    stopping_table,
    trajectory_table,
)
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.source import RewardTable, log_reward_table, mean_log_reward
from gflownet_envs.training.ensemble import TrainedEnsemble

_STANDARDIZE = "global"
_SOLVED_AT_ONCE = 64  # rewards of recombined parts, 29,281 graphs each
_N_VERIFYING = 20  # members that are solved again to verify what matters most


@dataclass(frozen=True)
class SimulatedRows:
    """What the members see of the simulated network."""

    n_samples: int = 853  # rows that are simulated
    n_rows: int = 50  # of these, the rows that a member sees
    # members beyond those that are trained: held out, and solved exactly
    n_solved_only: int = 100
    # graphs whose log R is further below that of the best one are lifted to this
    # distance. No probability of a set of graphs changes by more than the number of
    # graphs times exp(−max_gap): 6e-5 for 20. Log-ratios of rare actions do
    max_gap: float | None = None
    encoding: str | None = None  # of the graphs, for the networks; see `DagEnvironment`


class StructureLearningTask(Task):
    """Bayesian structure learning with an exact posterior."""

    name = "structure-learning"
    title = "Structure learning on five nodes under few observations"
    summary = (
        "A policy adds the edges of a directed acyclic graph one by one and stops. "
        "The reward is the Bayesian score (BGe) of the graph on 50 of 853 simulated "
        "rows; each member has other rows. Which covariances drive which edge? All "
        "29,281 graphs can be listed: the posterior is exact."
    )
    paper_claims = claims_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, SimulatedRows())

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the edges of the reference trajectory, which are the true ones."""
        environment = cast(DagEnvironment, results.study.environment)
        edges = edges_of_trajectory(environment, results.study.trajectory)
        draw_graph(
            ax, environment.node_names, edges, known=edges, known_name="simulated"
        )
        ax.set_title("simulated network, edges in order")

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        rows = preset.proxy
        data = make_linear_gaussian_data(n_samples=rows.n_samples)
        environment = DagEnvironment(
            len(data.feature_names),
            encoding=rows.encoding,
            node_names=data.feature_names,
        )
        members = np.arange(preset.n_train + preset.n_test + rows.n_solved_only)
        samples = subsample_rows(
            data.data,
            rows.n_rows,
            members=members.tolist(),
            seed=run["seed"],
            standardize=_STANDARDIZE,
        )
        covariances = sample_covariances(samples)
        scores = scores_above_empty(samples)
        graph = StateGraph.from_environment(environment)

        def reward_of(scores: np.ndarray) -> RewardTable:
            found = log_reward_table(LocalScoreReward(environment, scores), graph)
            if rows.max_gap is not None:
                best = found.amax(dim=1, keepdim=True)
                found = torch.maximum(found, best - rows.max_gap)
            return RewardTable(environment, found)

        reward = reward_of(scores)
        table = reward.log_reward
        pilot = solve_exact(
            graph, mean_log_reward(table[: preset.n_train], environment)
        )
        trajectory = edges_in_preferred_order(environment, pilot, data.edges)
        return Study(
            environment=environment,
            reward=reward,
            reward_features=covariances,
            feature_names=covariance_names(data.feature_names),
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=members,
            trajectory=trajectory,
            levels={"node": levels_of_nodes(data.feature_names)},
            feature_unit="sample covariance of standardised columns",
            tables=(
                _data_table(data, rows, covariances, table, preset.n_train),
                trajectory_table(
                    environment,
                    trajectory,
                    "the edges of the simulated network, always the one that the "
                    "exact policy under the mean reward likes best",
                    data.edges,
                    "simulated",
                ),
            ),
            named_parts=_named_parts(
                environment, samples, scores, data.edges, reward_of
            ),
        )

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """Return what stopping does to D, and the probabilities of edges."""
        solution = policies.solution
        assert solution is not None  # the space is listed
        graph = solution.graph
        n_shown = study.reward.n_members
        trained = None
        if policies.ensemble is not None:
            n_shown = study.n_train + study.n_test
            trained = _trained_marginals(graph, policies.ensemble, n_shown)
        law = solution.target_distribution()[:n_shown]
        sources = (policies.trained, policies.exact)
        return (
            *(stopping_table(found.train) for found in sources if found is not None),
            marginals_table(
                cast(DagEnvironment, study.environment),
                edge_marginals(graph, law),
                trained,
                "over the whole distribution of each policy",
                make_linear_gaussian_data(n_samples=1).edges,
                "simulated",
                n_shown=20,
            ),
        )


def _named_parts(
    environment: DagEnvironment,
    samples: np.ndarray,  # shape: (E, n, d)
    scores: np.ndarray,  # shape: (E, d, 2^d)
    edges: Sequence[Edge],
    reward: RewardOfScores,
) -> tuple[NamedParts, ...]:
    """Return the parts of the data, which are independent, then those of the scores."""
    order = topological_order(environment.node_names, edges)
    triangular = TriangularSamples(samples, order)
    settings: Any = {"batch_size": _SOLVED_AT_ONCE, "freezes": False}
    settings |= {"n_verifying": _N_VERIFYING}
    plain = settings | {"n_verified": 0}
    pairs = list(combinations(environment.node_names, 2))
    return (
        regression_parts(environment, triangular, reward, **settings),
        pair_parts(environment, triangular, pairs, reward, **plain),
        node_parts(environment, scores, reward, **plain),
        edge_parts(environment, scores, reward, **plain),
    )


def _trained_marginals(
    graph: StateGraph, ensemble: TrainedEnsemble, n_rewards: int
) -> Tensor:  # shape: (n_rewards, d, d)
    """Return the edge marginals of the first policy of each reward."""
    marginals = []
    for reward in range(n_rewards):
        member = ensemble.members[ensemble.rewards.index(reward)]
        table = ensemble.subset([member]).log_policy_table(graph)
        marginals.append(edge_marginals(graph, terminating_distribution(graph, table)))
    return torch.cat(marginals)


def _data_table(
    data: Any, rows: SimulatedRows, covariances: np.ndarray, table: Tensor, n_train: int
) -> Table:  # shapes: covariances (E, 25), table (E, n_objects)
    law = torch.softmax(table, dim=1)
    entropy = -(law * law.clamp(min=1e-300).log()).sum(dim=1)
    shares = PCA().fit(covariances[:n_train]).explained_variance_ratio_.cumsum()
    return Table(
        "Data and rewards",
        ("what", "value"),
        (
            ("rows simulated", rows.n_samples),
            ("rows that a member sees", rows.n_rows),
            ("standardised by", "all rows, before they are drawn"),
            ("edges of the network", ", ".join(" → ".join(e) for e in data.edges)),
            ("graphs", table.shape[1]),
            ("largest distance of log R from the best graph", _gap_text(rows.max_gap)),
            ("share of the covariances in 2 components", float(shares[1])),
            ("the same, 5 components", float(shares[4])),
            ("log Z, mean over members", float(table.logsumexp(dim=1).mean())),
            ("log Z, standard deviation", float(table.logsumexp(dim=1).std())),
            ("effective number of graphs, median", float(entropy.exp().median())),
        ),
    )


def _gap_text(max_gap: float | None) -> float | str:
    return "any" if max_gap is None else max_gap
