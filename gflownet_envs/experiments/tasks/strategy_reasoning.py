"""Sequences of reasoning strategies under an uncertain process reward model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gflownet_envs.blocks import Store
from gflownet_envs.experiments.paper import gain_claim, uniform_component_claim
from gflownet_envs.experiments.process_reward_study import (
    draw_problem_variance,
    process_reward_study,
)
from gflownet_envs.experiments.task import Preset, Progress, RunResults, Study, Task
from gflownet_envs.rewards.process_reward import ProcessRewardSpec
from gflownet_envs.rewards.strategy_reward import (
    strategy_environment,
    strategy_problems,
)
from gflownet_envs.training_spec import PAPER_TRAINING, TrainingSpec


class StrategyReasoningTask(Task):
    """Five strategies of ten, scored by a reward model that saw 20 problems."""

    name = "strategy-reasoning"
    title = "Sequences of strategies under an uncertain process reward model"
    summary = (
        "A policy chooses one of ten reasoning strategies at each of five steps. A "
        "reward model scores the sequence; each member's model saw 20 of 40 labelled "
        "sequences. Which part of what the reward models disagree on drives which "
        "step?"
    )
    paper_claims = (
        gain_claim("PC1 leads early, PC2 gains later", "token 1", "token 5"),
        uniform_component_claim(),
    )
    presets: Mapping[str, Preset] = {
        "smoke": Preset(
            n_train=12,
            n_test=6,
            training=TrainingSpec(n_iterations=5, hidden=(16,), batch_size=16),
            n_components=2,
            degrees=(1,),
            n_permutations=119,
            proxy=ProcessRewardSpec(n_features=8, hidden=8, n_epochs=20),
        ),
        "default": Preset(
            n_train=15,
            n_test=25,
            training=TrainingSpec(),
            n_components=2,
            degrees=(1, 2),
            proxy=ProcessRewardSpec(),
        ),
        "paper": Preset(
            n_train=15,
            n_test=25,
            training=replace(
                PAPER_TRAINING, policy="gru", hidden=(64,), n_iterations=100
            ),
            n_components=2,
            degrees=(5, 1),
            solver="paper",
            proxy=ProcessRewardSpec(),
        ),
    }

    def prepare(
        self,
        preset: Preset,
        *,
        seed: int,
        store: Store | None,
        progress: Progress,
        options: Mapping[str, Any],
    ) -> Study:
        environment = strategy_environment()
        problems, labels = strategy_problems(environment, seed=seed)
        is_good = labels.numpy() > np.median(labels.numpy())
        groups = {
            "better half": np.flatnonzero(is_good),
            "worse half": np.flatnonzero(~is_good),
        }
        return process_reward_study(environment, problems, labels, groups, preset, seed)

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the variance of each problem's score between members."""
        draw_problem_variance(results.study, ax)
