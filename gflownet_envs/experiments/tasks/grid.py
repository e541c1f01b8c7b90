"""The discrete grid: 625 rewards that can all be solved exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch

from gflownet_envs.environments.walks import GridEnvironment
from gflownet_envs.exact.solve import greedy_trajectory, solve_exact
from gflownet_envs.experiments.task import (
    GREEDY,
    NamedParts,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Task,
    facts,
    presets_of,
    walk_in_words,
    words_of,
)
from gflownet_envs.rewards.source import (
    RewardTable,
    mean_log_reward,
    quadrant_of_cell,
    quadrant_shift_rewards,
)

QUADRANTS = ("near", "right", "down", "far")


class GridTask(Task):
    """A 5 × 5 grid whose four quadrants have uncertain levels."""

    name = "grid"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name)

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the board, its quadrants and the reference walk."""
        size = cast(GridEnvironment, results.study.environment).size
        walk = results.study.trajectory.states[:, :2].numpy()
        quadrant = draw_board(ax, size, walk)
        for number, name in enumerate(QUADRANTS):
            # between cells, where no walk passes
            row, column = np.argwhere(quadrant == number).min(axis=0) + 0.5
            ax.text(column, row, name, ha="center", va="center", color="0.35")
        ax.plot(*walk[0, ::-1], "ko", markersize=9, fillstyle="none")
        ax.set(title="reference walk")

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        environment = GridEnvironment()
        log_reward, shifts = quadrant_shift_rewards(environment)
        members = np.random.default_rng(run["seed"]).permutation(len(log_reward))
        pilot = solve_exact(environment, mean_log_reward(log_reward, environment))
        trajectory = greedy_trajectory(environment, pilot.log_policy)
        cells = np.asarray(environment.cells)
        quadrant = quadrant_of_cell(torch.from_numpy(cells)).numpy()
        features = log_reward.numpy()[members]
        quadrants = {
            name: np.flatnonzero(quadrant == number)
            for number, name in enumerate(QUADRANTS)
        }
        parts = {name: np.zeros_like(features) for name in quadrants}
        for name, own in quadrants.items():
            parts[name][:, own] = features[:, own]

        def reward_of(chosen: Mapping[str, np.ndarray]) -> RewardTable:
            return RewardTable(environment, sum(chosen.values()))

        return Study(
            environment=environment,
            reward=RewardTable(environment, features),
            reward_features=features,
            feature_names=tuple(f"cell {row},{column}" for row, column in cells),
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=members,
            trajectory=trajectory,
            levels={"quadrant": quadrants},
            feature_unit="log reward",
            tables=(
                facts(
                    "The rewards",
                    {
                        "rewards, all solved exactly": len(log_reward),
                        "cells that can be reached": environment.n_objects,
                        GREEDY: walk_in_words(environment, trajectory),
                        "standard deviation of a quadrant's level": float(
                            shifts.numpy().std(axis=0)[0]
                        ),
                    },
                ),
            ),
            named_parts=(
                NamedParts(
                    "levels of the quadrants",
                    parts,
                    reward_of,
                    {name: f"the level of “{name}”" for name in QUADRANTS},
                ),
            ),
        )


def draw_board(ax: Any, size: int, walk: np.ndarray) -> np.ndarray:
    # shapes: walk (n, 2), rows and columns -> (size, size)
    """Draw a board with its quadrants and a walk; return the quadrant of each cell."""
    cells = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    quadrant = quadrant_of_cell(cells).numpy().reshape(size, size)
    ax.imshow(quadrant, cmap="Pastel1", vmin=0, vmax=8)
    ax.plot(walk[:, 1], walk[:, 0], "k-o", markersize=4)
    ax.set(xticks=range(size), yticks=range(size), xlabel="column", ylabel="row")
    return quadrant
