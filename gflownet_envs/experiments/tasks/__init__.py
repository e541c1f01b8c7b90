"""The tasks by name."""

from collections.abc import Mapping
from types import MappingProxyType

from gflownet_envs.experiments.task import Preset, Task
from gflownet_envs.experiments.tasks.buchwald_hartwig import BuchwaldHartwigTask
from gflownet_envs.experiments.tasks.continuous_grid import ContinuousGridTask
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.experiments.tasks.molecules import MoleculesTask
from gflownet_envs.experiments.tasks.process_rewards import (
    LlmArithmeticTask,
    StrategyReasoningTask,
)
from gflownet_envs.experiments.tasks.sachs import SachsTask
from gflownet_envs.experiments.tasks.structure_learning import StructureLearningTask
from gflownet_envs.experiments.tasks.symbolic_regression import SymbolicRegressionTask

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            GridTask(),
            ContinuousGridTask(),
            SymbolicRegressionTask(),
            LlmArithmeticTask(),
            StrategyReasoningTask(),
            BuchwaldHartwigTask(),
            SachsTask(),
            StructureLearningTask(),
            MoleculesTask(),
        )
    }
)


def find_task(task: str | Task, preset: str) -> tuple[Task, Preset]:
    """Return a task, given or by name, and one of its presets."""
    if isinstance(task, str):
        if task not in TASKS:
            raise ValueError(
                f"There is no task {task!r}; the tasks are {sorted(TASKS)}."
            )
        task = TASKS[task]
    if preset not in task.presets:
        raise ValueError(
            f"Task {task.name!r} has no preset {preset!r}; its presets are "
            f"{sorted(task.presets)}."
        )
    return task, task.presets[preset]
