"""Graphs of five nodes: all 29,281 of them, and the exact posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from gflownet_envs.datasets import make_linear_gaussian_data
from gflownet_envs.environments.base import StateGraph
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.dag import edge_marginals
from gflownet_envs.exact.solve import solve_exact, terminating_distribution
from gflownet_envs.experiments.task import (
    Policies,
    Preset,
    RunSettings,
    Study,
    Table,
    facts,
    presets_of,
    words_of,
)
from gflownet_envs.experiments.tasks.graphs import (
    Edge,
    GraphParts,
    GraphTask,
    edges_in_preferred_order,
    scores_above_empty,
)
from gflownet_envs.rewards.graph_scores import (
    LocalScoreReward,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.rewards.source import RewardTable, log_reward_table, mean_log_reward

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


class StructureLearningTask(GraphTask):
    """Bayesian structure learning with an exact posterior."""

    name = "structure-learning"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, SimulatedRows())

    known_name = "simulated"
    picture_title = "simulated network, edges in order"

    def known_edges(self, environment: DagEnvironment) -> Sequence[Edge]:
        """Return the edges of the simulated network."""
        edges: Sequence[Edge] = make_linear_gaussian_data(n_samples=1).edges
        return edges

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
        parts = GraphParts(
            environment,
            samples,
            scores,
            reward_of,
            data.edges,
            batch_size=_SOLVED_AT_ONCE,
            freezes=False,
            n_verifying=_N_VERIFYING,
        )
        return self.study_of(
            preset,
            reward,
            covariances,
            trajectory,
            "the edges of the simulated network, always the one that the exact policy "
            "under the mean reward likes best",
            noun="node",
            table=_data_table(data, rows, covariances, table, preset.n_train),
            # the parts of the data, which are independent, then those of the scores
            named_parts=(
                parts.regressions(),
                parts.pairs(n_verified=0),
                parts.nodes(n_verified=0),
            ),
        )

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """Return the probabilities of edges."""
        solution = policies.solution
        assert solution is not None  # the space is listed
        graph = solution.graph
        n_shown = study.reward.n_members
        trained = None
        if policies.ensemble is not None:
            n_shown = study.n_train + study.n_test
            ensemble, marginals = policies.ensemble, []
            for reward in range(n_shown):  # the first policy of each
                member = ensemble.members[ensemble.rewards.index(reward)]
                policy = ensemble.subset([member]).log_policy_table(graph)
                law = terminating_distribution(graph, policy)
                marginals.append(edge_marginals(graph, law))
            trained = torch.cat(marginals)
        law = solution.target_distribution()[:n_shown]
        return (
            self.marginals_table(
                cast(DagEnvironment, study.environment),
                edge_marginals(graph, law),
                trained,
                "over the whole distribution of each policy",
            ),
        )


def _data_table(
    data: Any, rows: SimulatedRows, covariances: np.ndarray, table: Tensor, n_train: int
) -> Table:  # shapes: covariances (E, 25), table (E, n_objects)
    law = torch.softmax(table, dim=1)
    entropy = -(law * law.clamp(min=1e-300).log()).sum(dim=1)
    shares = PCA().fit(covariances[:n_train]).explained_variance_ratio_.cumsum()
    return facts(
        "Data and rewards",
        {
            "rows simulated": rows.n_samples,
            "rows that a member sees": rows.n_rows,
            "standardised by": "all rows, before they are drawn",
            "edges of the network": ", ".join(" → ".join(e) for e in data.edges),
            "graphs": table.shape[1],
            "largest distance of log R from the best graph": "any"
            if rows.max_gap is None
            else rows.max_gap,
            "share of the covariances in 2 components": float(shares[1]),
            "the same, 5 components": float(shares[4]),
            "log Z, mean over members": float(table.logsumexp(dim=1).mean()),
            "log Z, standard deviation": float(table.logsumexp(dim=1).std()),
            "effective number of graphs, median": float(entropy.exp().median()),
        },
    )
