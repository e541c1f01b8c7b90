"""Tasks whose log reward is a formula of a few independent standard normal inputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Unpack, cast

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.sequences import SymbolicExpressionEnvironment
from gflownet_envs.environments.walks import PlaneWalkEnvironment
from gflownet_envs.exact.solve import Trajectory, greedy_trajectory, solve_exact
from gflownet_envs.experiments.task import (
    GREEDY,
    NamedParts,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Table,
    Task,
    facts,
    presets_of,
    walk_in_words,
    words_of,
)
from gflownet_envs.rewards.source import (
    BUMP_CENTRES,
    BUMP_WIDTH,
    INTERVAL_LENGTH,
    RewardTable,
    bump_profiles,
    gaussian_bump_rewards,
    log_mean_bump_reward,
    target,
    wiener_modes,
    wiener_regression_rewards,
)

#: The variant of the symbolic regression whose rewards are not raised.
AS_PAPER = "as the paper has it"

#: Log R below the best by more than this is raised: expressions that no policy should
#: write would otherwise be all that the loss is about.
_MAX_GAP = 20.0


#: A space, log R as a function of inputs, and that of the pilot.
Formula = tuple[Environment, Callable[[np.ndarray], Tensor], Tensor]


class FormulaTask(Task):
    """The inputs are the reward features, and the named parts.

    Attributes
    ----------
    input_names : tuple of str
    unit, parts_title : str
        Of the inputs.
    phrase : str
        What an input is in a sentence, with ``{}`` for its name.
    """

    input_names: ClassVar[tuple[str, ...]]
    unit: ClassVar[str]
    parts_title: ClassVar[str]
    phrase: ClassVar[str]

    @abstractmethod
    def formula(self, preset: Preset) -> Formula:
        """Return the formula; the trajectory is the likeliest one of the pilot."""

    @abstractmethod
    def facts_of(self, reward: RewardTable, pilot: Tensor, walk: Trajectory) -> Table:
        """Return a table about the rewards."""

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        environment, log_reward, pilot = self.formula(preset)
        n_members = preset.n_train + preset.n_test
        rng = np.random.default_rng(run["seed"])
        inputs = rng.normal(size=(n_members, len(self.input_names)))
        solved = solve_exact(environment, pilot)
        trajectory = greedy_trajectory(environment, solved.log_policy)

        def reward_of(inputs: np.ndarray) -> RewardTable:
            return RewardTable(environment, log_reward(inputs))

        def of_parts(chosen: Mapping[str, np.ndarray]) -> RewardTable:
            return reward_of(np.stack([chosen[n] for n in self.input_names], axis=1))

        reward = reward_of(inputs)
        return Study(
            environment=environment,
            reward=reward,
            reward_features=inputs,
            feature_names=self.input_names,
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=np.arange(n_members),
            trajectory=trajectory,
            levels={},
            feature_unit=self.unit,
            tables=(self.facts_of(reward, pilot, trajectory),),
            named_parts=(
                NamedParts(
                    self.parts_title,
                    dict(zip(self.input_names, inputs.T, strict=True)),
                    of_parts,
                    {name: self.phrase.format(name) for name in self.input_names},
                ),
            ),
        )


class ContinuousGridTask(FormulaTask):
    """A walk in a plane whose reward field has three uncertain bumps."""

    name = "continuous-grid"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name)
    input_names = ("upper bump", "left bump", "right bump")
    unit = "height of a bump of log R"
    parts_title = "heights of the bumps"
    phrase = "the height of the {}"

    def formula(self, preset: Preset) -> Formula:
        environment = PlaneWalkEnvironment()
        log_reward = partial(gaussian_bump_rewards, environment)
        return environment, log_reward, log_mean_bump_reward(environment)

    def facts_of(self, reward: RewardTable, pilot: Tensor, walk: Trajectory) -> Table:
        centres = zip(self.input_names, BUMP_CENTRES, strict=True)
        return facts(
            "The reward field",
            {f"centre of the {name}": f"({x:g}, {y:g})" for name, (x, y) in centres}
            | {
                "width of the bumps": BUMP_WIDTH,
                "places that can be reached": reward.environment.n_objects,
                GREEDY: walk_in_words(reward.environment, walk),
            },
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


class SymbolicRegressionTask(FormulaTask):
    """Expressions of up to nine tokens, rewarded for their fit to a noisy target."""

    name = "symbolic-regression"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name)
    input_names = ("mode 1", "mode 2")
    unit = "score of a mode of the noise"
    parts_title = "modes of the noise"
    phrase = "{} of the noise"

    def formula(self, preset: Preset) -> Formula:
        environment = SymbolicExpressionEnvironment()
        gap = None if preset.variant == AS_PAPER else _MAX_GAP
        log_reward = partial(wiener_regression_rewards, environment, max_gap=gap)
        return environment, log_reward, log_reward(np.zeros((1, len(self.input_names))))

    def facts_of(self, reward: RewardTable, pilot: Tensor, walk: Trajectory) -> Table:
        environment = reward.environment
        law = torch.softmax(pilot[0], dim=0)
        best = int(law.argmax())
        written = int(environment.object_index(walk.states[-1]))
        name = environment.object_name(written)
        return facts(
            "The expressions",
            {
                "finished expressions": environment.n_objects,
                "best without noise": environment.object_name(best),
                "its probability without noise": float(law[best]),
                "reference trajectory (greedy without noise)": name,
                "its log reward without noise": float(pilot[0, written]),
                "smallest log reward of a member": float(reward.log_reward.min()),
            },
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the target with one standard deviation of the noise."""
        x, centre, spread = target_and_spread()
        ax.fill_between(x, centre - spread, centre + spread, color="0.85")
        ax.plot(x, centre, "k", label="sin x + 2 − x ± noise")
        study = results.study
        environment = cast(SymbolicExpressionEnvironment, study.environment)
        written = study.trajectory.states[-1:]
        values = environment.values(written, torch.from_numpy(x))[0]
        number = int(environment.object_index(written[0]))
        label = f"reference: {environment.object_name(number)}"
        ax.plot(x, values, "C0--", label=label)
        ax.set(xlabel="x", title="target and reference expression")
        ax.legend(frameon=False, fontsize="small")


def target_and_spread() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places, the target there, and the standard deviation of the noise."""
    x = torch.linspace(0, INTERVAL_LENGTH, 200, dtype=torch.float64)
    modes = wiener_modes(x, len(SymbolicRegressionTask.input_names))
    return x.numpy(), target(x).numpy(), modes.square().sum(dim=1).sqrt().numpy()
