"""A task of one's own: levels of two components with uncertain values."""

from typing import ClassVar

import numpy as np

from gflownet_envs import (
    RewardTable,
    SequentialSelectionEnvironment,
    TrainingSpec,
    greedy_trajectory,
    mean_log_reward,
    solve_exact,
)
from gflownet_envs.experiments.task import Preset, Study, Task, factorial_parts


class LevelTask(Task):
    """Choose one of two solvents and one of three bases of uncertain value.

    Examples
    --------
    >>> from gflownet_envs.experiments.analysis import make_policies
    >>> task = LevelTask()
    >>> preset = task.presets["smoke"]
    >>> quiet = lambda stage, done, total: None
    >>> study = task.prepare(preset, seed=0, store=None, progress=quiet, options={})
    >>> make_policies(
    ...     study, preset.training, train=False, seed=0, store=None, progress=quiet
    ... ).exact
    PolicyDataset(n_members=30, n_test=10, steps=(2, 3), n_reward_features=5,
                  source='exact')
    """

    name = "levels"
    title = "Two components with uncertain levels"
    summary = "The log reward of a pair is the sum of the values of its levels."
    presets: ClassVar[dict[str, Preset]] = {
        "smoke": Preset(
            n_train=20,
            n_test=10,
            training=TrainingSpec(n_iterations=30, hidden=(16,)),
            n_components=2,
            degrees=(1,),
        )
    }

    def prepare(self, preset, *, seed, store, progress, options):
        factors = {"solvent": ["water", "toluene"], "base": ["K3PO4", "MTBD", "none"]}
        environment = SequentialSelectionEnvironment(factors)
        n_members = preset.n_train + preset.n_test
        values = np.random.default_rng(seed).normal(size=(n_members, 5))
        chosen = environment.object_levels().numpy() + np.array(environment.offsets)
        log_reward = values[:, chosen].sum(axis=2)
        pilot = solve_exact(environment, mean_log_reward(log_reward, environment))
        return Study(
            environment=environment,
            reward=RewardTable(environment, log_reward),
            reward_features=values,
            feature_names=environment.action_names,
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=np.arange(n_members),
            trajectory=greedy_trajectory(environment, pilot.log_policy),
            levels={
                "solvent": {"water": np.array([0]), "toluene": np.array([1])},
                "base": {
                    "K3PO4": np.array([2]),
                    "MTBD": np.array([3]),
                    "none": np.array([4]),
                },
            },
            feature_unit="log value",
            named_parts=(
                factorial_parts(environment, log_reward, factors, phrases={}),
            ),
        )
