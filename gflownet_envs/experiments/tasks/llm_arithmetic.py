"""Arithmetic sequences under an uncertain process reward model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gflownet_envs.blocks import Store
from gflownet_envs.experiments.paper import (
    explained_variance_claim,
    gain_claim,
    mean_coverage_claim,
    two_modes_claim,
    uniform_component_claim,
)
from gflownet_envs.experiments.process_reward_study import (
    draw_problem_variance,
    process_reward_study,
)
from gflownet_envs.experiments.task import Preset, Progress, RunResults, Study, Task
from gflownet_envs.rewards.arithmetic_problems import (
    arithmetic_environment,
    arithmetic_problems,
)
from gflownet_envs.rewards.process_reward import ProcessRewardSpec
from gflownet_envs.training_spec import PAPER_TRAINING, TrainingSpec


class LlmArithmeticTask(Task):
    """Five tokens of arithmetic, scored by a reward model that saw 20 problems."""

    name = "llm-arithmetic"
    title = "Arithmetic sequences under an uncertain process reward model"
    summary = (
        "A policy writes up to five tokens: digits, operators, an end. A reward model, "
        "a small network on frozen recurrent features, scores the sequence; each "
        "member's model saw 20 of 40 labelled problems. Which part of what the reward "
        "models disagree on drives which token?"
    )
    paper_claims = (
        explained_variance_claim(0.244),
        mean_coverage_claim(0.68),
        gain_claim("PC1 leads early, PC2 gains later", "token 1", "token 5"),
        uniform_component_claim(),
        two_modes_claim("EOS"),
    )
    presets: Mapping[str, Preset] = {
        "smoke": Preset(
            n_train=16,
            n_test=8,
            training=TrainingSpec(
                policy="gru", n_iterations=5, hidden=(16,), batch_size=16
            ),
            n_components=2,
            degrees=(1, 2),
            n_permutations=119,
            proxy=ProcessRewardSpec(n_features=8, hidden=8, n_epochs=20),
        ),
        "default": Preset(
            n_train=30,
            n_test=50,
            training=TrainingSpec(max_table_states=100_000),
            n_components=2,
            degrees=(1, 3),
            proxy=ProcessRewardSpec(),
        ),
        "paper": Preset(
            n_train=30,
            n_test=50,
            training=replace(
                PAPER_TRAINING, policy="gru", hidden=(64,), n_iterations=100
            ),
            n_components=2,
            degrees=(5, 1),
            solver="paper",
            n_permutations=199,
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
        environment = arithmetic_environment()
        problems, labels = arithmetic_problems(environment, seed=seed)
        right = labels.numpy() == 1
        groups = {
            "right equations": np.flatnonzero(right),
            "wrong equations": np.flatnonzero(~right),
        }
        return process_reward_study(environment, problems, labels, groups, preset, seed)

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the variance of each problem's score between members."""
        draw_problem_variance(results.study, ax)
