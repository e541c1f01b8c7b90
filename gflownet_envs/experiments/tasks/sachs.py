"""The Sachs proteins: real cells, and exact policies without a list of graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from gflownet_envs.datasets import fetch_sachs
from gflownet_envs.datasets._sachs import CONSENSUS_EDGES
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.exact.dag import GraphFlows, adjacency
from gflownet_envs.exact.solve import PolicySource, greedy_trajectory
from gflownet_envs.experiments.task import (
    NamedParts,
    Policies,
    Preset,
    RunSettings,
    Study,
    Table,
    facts,
    presets_of,
    stage,
    words_of,
)
from gflownet_envs.experiments.tasks.graphs import (
    Edge,
    GraphParts,
    GraphTask,
    scores_above_empty,
)
from gflownet_envs.rewards.graph_scores import (
    STANDARDIZATIONS,
    LocalScoreReward,
    sample_covariances,
    subsample_rows,
)
from gflownet_envs.sampling import PlainSampler
from gflownet_envs.training.ensemble import TrainedEnsemble, train_ensemble

#: The paper's largest number of edges.
MAX_EDGES = 18

# Regressions that depend on one another: some few cells stand out in both. Distance
# correlations over the members are 0.5 to 0.95 within a block, 0.35 or less between
# single nodes of two
_BLOCKS = (("PIP3", "PIP2"), ("Raf", "Mek"), ("PKA", "Erk", "Akt"), ("P38", "Jnk"))
_SOLVED_AT_ONCE = 16  # rewards of recombined parts
_N_VERIFYING = 8  # members; a solution takes a fifth of a second
_N_SAMPLED = 256  # graphs of each trained member behind its edge marginals


@dataclass(frozen=True)
class SachsCells:
    """What the members see of the 853 cells."""

    n_rows: int = 200  # cells that a member sees
    standardize: str = STANDARDIZATIONS[0]  # see `subsample_rows`
    logarithms: bool = False  # of the fluorescence, which has heavy tails
    # the policy on the first subsample whose greedy roll-out is the reference
    # trajectory
    pilot: str = "exact"
    proteins: tuple[str, ...] | None = None  # some of the eleven
    # into named parts: of the data by "regressions" of nodes, of the scores by "nodes",
    # which depend on one another
    splits: tuple[str, ...] = ("regressions",)


class SachsTask(GraphTask):
    """Eleven proteins of a signalling network."""

    name = "sachs"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, SachsCells())

    known_name = "published"
    picture_title = "reference trajectory, edges in order"

    def known_edges(self, environment: DagEnvironment) -> Sequence[Edge]:
        """Return the edges of the 2005 paper among the proteins; no truth."""
        names = environment.node_names
        return [edge for edge in CONSENSUS_EDGES if set(edge) <= set(names)]

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        cells: SachsCells = preset.proxy
        data: Any = fetch_sachs(data_home=run["options"].get("data_home"))
        names = cells.proteins or tuple(data.feature_names)
        columns = [data.feature_names.index(name) for name in names]
        rows = np.log(data.data) if cells.logarithms else data.data
        members = np.arange(preset.n_train + preset.n_test)
        samples = subsample_rows(
            rows[:, columns],
            cells.n_rows,
            members=members.tolist(),
            seed=run["seed"],
            standardize=cells.standardize,
        )
        n_pairs = len(names) * (len(names) - 1) // 2
        environment = DagEnvironment(
            len(names), max_edges=min(MAX_EDGES, n_pairs), node_names=names
        )
        reward = LocalScoreReward(environment, scores_above_empty(samples))
        started = time.process_time()
        # the greedy roll-out of the policy on the first subsample
        first = reward.select(slice(0, 1))
        pilot: PolicySource = GraphFlows(first)
        if cells.pilot != "exact":
            pilot = train_ensemble(
                environment,
                first,
                preset.training,
                seed=run["seed"],
                store=run["store"],
                progress=stage(run["progress"], "training the pilot"),
            )
        trajectory = greedy_trajectory(environment, pilot.log_policy)
        pilot_seconds = time.process_time() - started
        parts = GraphParts(
            environment,
            samples,
            reward.scores.numpy(),
            partial(LocalScoreReward, environment),
            self.known_edges(environment),
            batch_size=_SOLVED_AT_ONCE,
            freezes=False,
            n_verifying=_N_VERIFYING,
        )
        known: dict[str, Callable[[], NamedParts]] = {
            "regressions": partial(parts.regressions, _BLOCKS),
            "nodes": parts.nodes,
        }
        unknown = sorted(set(cells.splits) - set(known))
        if unknown:
            raise ValueError(f"splits must be among {list(known)}, got {unknown}")
        covariances = sample_covariances(samples)
        return self.study_of(
            preset,
            reward,
            covariances,
            trajectory,
            f"greedy roll-out of the {cells.pilot} policy on the first subsample",
            noun="protein",
            table=_cells_table(cells, len(rows), covariances[: preset.n_train]),
            cpu_seconds={"pilot": pilot_seconds},
            exact_solver=GraphFlows,
            # of the data, whose dependence is moderate, and of the scores
            named_parts=tuple(known[split]() for split in cells.splits),
        )

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """Return the probabilities of edges."""
        rows = slice(0, study.n_train)
        environment = cast(DagEnvironment, study.environment)
        reward = cast(LocalScoreReward, study.reward).select(rows)
        exact = GraphFlows(reward).edge_marginals()
        ensemble, trained = policies.ensemble, None
        if ensemble is not None:
            first = [ensemble.rewards.index(row) for row in range(study.n_train)]
            members = [ensemble.members[place] for place in first]
            trained = _sampled_marginals(ensemble.subset(members))
        how = f"{_N_SAMPLED} sampled graphs a member"
        return (self.marginals_table(environment, exact, trained, how),)


def _sampled_marginals(ensemble: TrainedEnsemble) -> Tensor:  # shape: (E, d, d)
    """Return the shares of graphs with each edge, sampled with common numbers."""
    environment = cast(DagEnvironment, ensemble.environment)
    sampler = PlainSampler(environment)
    generator = torch.Generator().manual_seed(0)
    shape = (1, _N_SAMPLED, environment.max_steps)
    uniforms = torch.rand(shape, generator=generator, dtype=ensemble.network.dtype)
    with torch.no_grad():
        batch = sampler(ensemble.network, uniforms.expand(ensemble.n_members, -1, -1))
    assert batch.final_states is not None
    return adjacency(environment, batch.final_states).double().mean(dim=1)


def _cells_table(cells: SachsCells, n_cells: int, covariances: np.ndarray) -> Table:
    # shapes: covariances (n_train, d * d)
    order = "all cells, before they are drawn"
    if cells.standardize == "member":
        order = "the cells of the member"
    shares = PCA(2).fit(covariances).explained_variance_ratio_
    return facts(
        "Cells and inputs",
        {
            "cells": n_cells,
            "cells that a member sees, drawn without replacement": cells.n_rows,
            "logarithms of the fluorescence": cells.logarithms,
            "standardised by": order,
            "share of the covariances in PC1": float(shares[0]),
            "share of the covariances in PC2": float(shares[1]),
        },
    )
