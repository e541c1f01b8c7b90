"""The continuous grid: a plane with three bumps of uncertain height."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch

from gflownet_envs.environments.walks import PlaneWalkEnvironment
from gflownet_envs.exact.solve import solve_exact
from gflownet_envs.exact.trajectories import greedy_trajectory
from gflownet_envs.experiments.claims import claims_of
from gflownet_envs.experiments.named_parts import input_parts
from gflownet_envs.experiments.task import (
    GREEDY,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Task,
    facts,
    presets_of,
    walk_in_words,
)
from gflownet_envs.rewards.closed_form import (
    BUMP_CENTRES,
    BUMP_WIDTH,
    bump_profiles,
    gaussian_bump_rewards,
    log_mean_bump_reward,
)
from gflownet_envs.rewards.source import RewardTable

_BUMPS = ("upper bump", "left bump", "right bump")


class ContinuousGridTask(Task):
    """A walk in a plane whose reward field has three uncertain bumps."""

    name = "continuous-grid"
    title = "Continuous grid with three uncertain bumps"
    summary = (
        "A walker starts in the middle of a plane, makes up to four moves of a fixed "
        "stride and stops. The log reward of the place where it stops is a field of "
        "three Gaussian bumps, whose heights are independent standard normal numbers. "
        "Which height drives which move?"
    )
    paper_claims = claims_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name)

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        environment = PlaneWalkEnvironment()
        n_members = preset.n_train + preset.n_test
        rng = np.random.default_rng(run["seed"])
        heights = rng.normal(size=(n_members, len(_BUMPS)))
        pilot = solve_exact(environment, log_mean_bump_reward(environment))
        trajectory = greedy_trajectory(environment, pilot.log_policy)

        def reward(inputs: np.ndarray) -> RewardTable:
            return RewardTable(environment, gaussian_bump_rewards(environment, inputs))

        return Study(
            environment=environment,
            reward=reward(heights),
            reward_features=heights,
            feature_names=_BUMPS,
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=np.arange(n_members),
            trajectory=trajectory,
            levels={},
            feature_unit="height of a bump of log R",
            tables=(
                facts(
                    "The reward field",
                    {
                        f"centre of the {name}": f"({x:g}, {y:g})"
                        for name, (x, y) in zip(_BUMPS, BUMP_CENTRES, strict=True)
                    }
                    | {
                        "width of the bumps": BUMP_WIDTH,
                        "places that can be reached": environment.n_objects,
                        GREEDY: walk_in_words(environment, trajectory),
                    },
                ),
            ),
            named_parts=(
                input_parts(
                    heights,
                    _BUMPS,
                    reward,
                    title="heights of the bumps",
                    phrases={name: f"the height of the {name}" for name in _BUMPS},
                ),
            ),
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the bumps, the places that can be reached and the reference walk."""
        axis = torch.linspace(-1.1, 1.1, 111, dtype=torch.float64)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        field = bump_profiles(torch.stack((x, y), dim=-1)).square().sum(dim=-1)
        ax.contourf(x.numpy(), y.numpy(), field.numpy(), levels=12, cmap="Greens")
        environment = cast(PlaneWalkEnvironment, results.study.environment)
        places = environment.positions().numpy()
        ax.plot(*places.T, "o", color="0.5", markersize=2)
        states = results.study.trajectory.states
        walk = places[environment.object_index(states).numpy()]
        ax.plot(*walk.T, "k-o", markersize=4)
        ax.plot(*walk[0], "ko", markersize=9, fillstyle="none")
        ax.set(title="variance of the field, reference walk", xlabel="x", ylabel="y")
        ax.set_aspect("equal")
