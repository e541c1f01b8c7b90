"""The tasks by name."""

from collections.abc import Mapping
from types import MappingProxyType

from gflownet_envs.experiments.task import Task
from gflownet_envs.experiments.tasks.buchwald_hartwig import BuchwaldHartwigTask
from gflownet_envs.experiments.tasks.formulas import (
    ContinuousGridTask,
    SymbolicRegressionTask,
)
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.experiments.tasks.molecules import MoleculesTask
from gflownet_envs.experiments.tasks.process_rewards import (
    LlmArithmeticTask,
    StrategyReasoningTask,
)
from gflownet_envs.experiments.tasks.sachs import SachsTask
from gflownet_envs.experiments.tasks.structure_learning import StructureLearningTask

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
