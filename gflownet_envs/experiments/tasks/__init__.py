"""The tasks by name."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from gflownet_envs.experiments.task import Preset, Task
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


def load_task(path: str) -> Task:
    """Return a task of one's own by its path ``module:Class``.

    Parameters
    ----------
    path : str
        A module that can be imported, or one in the current folder, and the name of a
        subclass of `Task` in it, or of an instance.

    Raises
    ------
    ValueError
        If there is no such module, or no task of that name in it.

    Examples
    --------
    >>> load_task("gflownet_envs.experiments.tasks.grid:GridTask").name
    'grid'
    """
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(
            f"The task {path!r} is no name of a module and a class; expected "
            "module:Class, such as my_task:LevelTask."
        )
    sys.path.insert(0, os.getcwd())  # a console script does not look there
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise  # the module is there, and something that it needs is not
        raise ValueError(
            f"There is no module {module!r} for the task {path!r}; expected "
            "module:Class, of a module in the current folder or of an installed one."
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    task = found() if isinstance(found, type) and issubclass(found, Task) else found
    if not isinstance(task, Task):
        raise ValueError(
            f"The module {module!r} has no task {name!r}; expected a subclass of "
            f"gflownet_envs.experiments.task.Task, got {found!r}."
        )
    return task


def path_of(task: Task) -> str:
    """Return the name of a task of the registry, else its path ``module:Class``."""
    if TASKS.get(task.name) is task:
        return task.name
    return f"{type(task).__module__}:{type(task).__qualname__}"


def find_task(task: str | Task, preset: str) -> tuple[Task, Preset]:
    """Return a task, given or by name or path, and one of its presets."""
    if isinstance(task, str) and ":" in task:
        task = load_task(task)
    if isinstance(task, str):
        if task not in TASKS:
            raise ValueError(
                f"There is no task {task!r}; the tasks are {sorted(TASKS)}, and one "
                "of your own is module:Class."
            )
        task = TASKS[task]
    if not isinstance(task, Task):
        raise ValueError(
            "task must be a name, a path module:Class or a Task, such as MyTask(); "
            f"got {task!r}."
        )
    if preset not in task.presets:
        raise ValueError(
            f"Task {task.name!r} has no preset {preset!r}; its presets are "
            f"{sorted(task.presets)}."
        )
    settings = task.presets[preset]
    if not isinstance(settings, Preset):
        raise ValueError(
            f"The preset {preset!r} of the task {task.name!r} must be a Preset, got "
            f"{type(settings).__name__}."
        )
    return task, settings
