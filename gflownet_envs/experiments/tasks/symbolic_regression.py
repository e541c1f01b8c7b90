"""Symbolic regression: expressions that fit a target under Wiener noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch

from gflownet_envs.environments.sequences import SymbolicExpressionEnvironment
from gflownet_envs.exact.solve import solve_exact
from gflownet_envs.exact.trajectories import greedy_trajectory
from gflownet_envs.experiments.claims import claims_of
from gflownet_envs.experiments.named_parts import input_parts
from gflownet_envs.experiments.task import (
    Preset,
    RunResults,
    RunSettings,
    Study,
    Task,
    facts,
    presets_of,
)
from gflownet_envs.rewards.closed_form import (
    INTERVAL_LENGTH,
    target,
    wiener_modes,
    wiener_regression_rewards,
)
from gflownet_envs.rewards.source import RewardTable

#: The variant whose rewards are not raised.
AS_PAPER = "as the paper has it"

_MODES = ("mode 1", "mode 2")

#: Log R below the best by more than this is raised: expressions that no policy should
#: write would otherwise be all that the loss is about.
_MAX_GAP = 20.0


class SymbolicRegressionTask(Task):
    """Expressions of up to nine tokens, rewarded for their fit to a noisy target."""

    name = "symbolic-regression"
    title = "Symbolic regression under Wiener noise"
    summary = (
        "A policy writes an expression in sin, cos, +, −, x and 2, one token at a "
        "time. Its log reward is minus the mean squared error to sin x + 2 − x plus a "
        "path of noise, which two independent standard normal scores determine. Which "
        "mode of the noise drives which token?"
    )
    paper_claims = claims_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name)

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        environment = SymbolicExpressionEnvironment()
        n_members = preset.n_train + preset.n_test
        rng = np.random.default_rng(run["seed"])
        scores = rng.normal(size=(n_members, len(_MODES)))
        # as the paper has them, without
        gap = None if preset.variant == AS_PAPER else _MAX_GAP

        def reward(inputs: np.ndarray) -> RewardTable:
            raised = wiener_regression_rewards(environment, inputs, max_gap=gap)
            return RewardTable(environment, raised)

        source = reward(scores)
        smallest = float(source.log_reward.min())
        no_noise = np.zeros((1, len(_MODES)))
        without_noise = wiener_regression_rewards(environment, no_noise, max_gap=gap)
        pilot = solve_exact(environment, without_noise)
        trajectory = greedy_trajectory(environment, pilot.log_policy)
        law = torch.softmax(without_noise[0], dim=0)
        best = int(law.argmax())
        written = int(environment.object_index(trajectory.states[-1]))
        fit = float(without_noise[0, written])
        name = environment.object_name(written)
        return Study(
            environment=environment,
            reward=source,
            reward_features=scores,
            feature_names=_MODES,
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=np.arange(n_members),
            trajectory=trajectory,
            levels={},
            feature_unit="score of a mode of the noise",
            tables=(
                facts(
                    "The expressions",
                    {
                        "finished expressions": environment.n_objects,
                        "best without noise": environment.object_name(best),
                        "its probability without noise": float(law[best]),
                        "reference trajectory (greedy without noise)": name,
                        "its log reward without noise": fit,
                        "smallest log reward of a member": smallest,
                    },
                ),
            ),
            named_parts=(
                input_parts(
                    scores,
                    _MODES,
                    reward,
                    title="modes of the noise",
                    phrases={name: f"{name} of the noise" for name in _MODES},
                ),
            ),
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the target with one standard deviation of the noise."""
        x = torch.linspace(0, INTERVAL_LENGTH, 200, dtype=torch.float64)
        deviation = wiener_modes(x, len(_MODES)).square().sum(dim=1).sqrt()
        centre, spread = target(x).numpy(), deviation.numpy()
        ax.fill_between(x, centre - spread, centre + spread, color="0.85")
        ax.plot(x, centre, "k", label="sin x + 2 − x ± noise")
        study = results.study
        environment = cast(SymbolicExpressionEnvironment, study.environment)
        written = study.trajectory.states[-1:]
        values = environment.values(written, x)[0]
        number = int(environment.object_index(written[0]))
        label = f"reference: {environment.object_name(number)}"
        ax.plot(x, values, "C0--", label=label)
        ax.set(xlabel="x", title="target and reference expression")
        ax.legend(frameon=False, fontsize="small")
