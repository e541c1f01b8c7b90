"""One run of a task, from rewards to files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.experiments.analysis import (
    analyse,
    find_part_effects,
    find_reasons,
    fragility,
    fragility_beside_equal_noise,
    level_shares,
    make_policies,
    step_intervals,
    training_cautions,
    training_noise,
)
from gflownet_envs.experiments.files import write_run
from gflownet_envs.experiments.paper.claims.rules import figures_beside
from gflownet_envs.experiments.paper.systems import FIRST
from gflownet_envs.experiments.task import (
    Preset,
    Progress,
    RunResults,
    RunSettings,
    SourceResults,
    Study,
    Task,
    silent,
)
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.extras import OF_A_RUN, require_extras
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import RewardTable
from gflownet_envs.storage import BlockStore, check_writable
from skpce._checks import FEWEST_MEMBERS

SOLVERS = ("train", "exact")


def run_task(
    task: str | Task,
    *,
    preset: str = "default",
    solver: str = "train",
    seed: int = 0,
    n_replicates: int = 1,
    n_control: int | None = None,
    out: str | Path,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> RunResults:
    """Run a task and write its files.

    Parameters
    ----------
    task : str or Task
        A name of the registry, a task of your own, or its path ``module:Class``.
    preset : str, default="default"
    solver : {"train", "exact"}, default="train"
        ``"exact"`` trains no GFlowNet: policies are solved from the rewards.
    seed : int, default=0
    n_replicates : int, default=1
        GFlowNets trained on each reward, with random numbers of their own: the
        spread within a reward is training noise.
    n_control : int, optional
        Further GFlowNets, all trained on the mean reward of the training members:
        they differ by training noise alone. Default: what the preset says, none for
        tasks whose exact policies show the noise.
    out : str or Path
        Folder of the files; made when missing. Finished blocks of training are stored
        in it, so that an interrupted run goes on where it was.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    n_jobs : int, optional
        Processes for training.
    options : mapping, optional
        ``data_home`` for tasks with data.

    Returns
    -------
    RunResults

    Raises
    ------
    ValueError
        For an unknown task, preset or solver, a bad seed or number of copies, before
        any work.
    ImportError
        When an extra is missing, before any work.
    OSError
        When the folder cannot be written or data cannot be had.
    """
    require_extras(OF_A_RUN, "run_task")
    task, settings = find_task(task, preset)
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {solver!r}.")
    require_seed(seed)
    if n_control is None:
        n_control = settings.n_control if solver == "train" else 0
    if not os.fspath(out):
        raise ValueError("out must name a folder, got ''.")
    # numbers of GFlowNets, each with the least one, which trains none more
    copies = {"n_replicates": (n_replicates, 1), "n_control": (n_control, 0)}
    for name, (value, least) in copies.items():
        require_at_least(name, value, least)
        if value != least and solver != "train":
            raise ValueError(
                f"{name} is {value}, but solver={solver!r} trains no GFlowNet; "
                f"expected {name}={least}, or solver='train'."
            )
    if n_control == 1:
        raise ValueError(
            "n_control is 1, but one member has no spread; expected 0 or at least 2."
        )
    require_at_least("n_train of the preset", settings.n_train, FEWEST_MEMBERS)
    require_at_least("n_test of the preset", settings.n_test, 2)
    report = progress if progress is not None else silent
    with writable_folder(Path(out)) as folder:
        results = _find(
            task,
            preset,
            settings,
            trains=solver == "train",
            n_replicates=n_replicates,
            n_control=n_control,
            n_jobs=n_jobs,
            seed=seed,
            store=BlockStore(folder / "blocks"),
            progress=report,
            options=options or {},
        )
        report("writing the report", 0, 1)
        write_run(results, folder)
        report("writing the report", 1, 1)
    return results


def _find(
    task: Task,
    preset_name: str,
    settings: Preset,
    *,
    trains: bool,
    n_replicates: int,
    n_control: int,
    n_jobs: int | None,
    **run: Unpack[RunSettings],
) -> RunResults:
    """Do the work of a run; only finished blocks are written."""
    seed, store, options = run["seed"], run["store"], run["options"]
    known: dict[str, Any] = {"seed": seed, "progress": run["progress"]}
    started, lap = time.perf_counter(), _stopwatch()
    study = task.prepare(settings, store=store, options=options, **known)
    _refuse_nothing_to_explain(study, task)
    # Proxies that an earlier run stored took their time then.
    rest = lap() - sum(study.cpu_seconds.values())
    cpu_seconds = {**study.cpu_seconds, "rest of the study": max(0.0, rest)}
    policies = make_policies(
        study,
        settings.training,
        train=trains,
        n_replicates=n_replicates,
        n_control=n_control,
        n_jobs=n_jobs,
        store=store,
        **known,
    )
    cpu_seconds |= policies.cpu_seconds
    lap()
    study = replace(study, tables=(*study.tables, *task.findings(study, policies)))
    cpu_seconds["findings"] = lap()
    n_draws = settings.n_part_draws
    parts = find_part_effects(study, policies, n_draws=n_draws, **known)
    cpu_seconds["named parts"] = lap()
    space = find_reasons(study, policies, n_draws=n_draws, seed=seed)
    cpu_seconds["map of the states"] = lap()
    sources, trained, noise = {}, policies.trained, None
    if trained is not None:
        noise = training_noise(trained.train, policies.exact, policies.control)
        known_noise: dict[str, Any] = {
            "noise_share": noise.log_ratio_share,
            "cautions": training_cautions(policies, noise),
        }
        sources["trained"] = _analyse_source(
            trained, study, settings, **known_noise, **known
        )
    if policies.exact is not None:
        none = np.zeros(policies.exact.n_steps)  # known, and none
        sources["exact"] = _analyse_source(
            policies.exact, study, settings, noise_share=none, **known
        )
    beside: list[dict[str, str]] = []
    if preset_name == FIRST:
        datasets = {name: source.dataset for name, source in sources.items()}
        beside = figures_beside(task.path, settings, datasets, seed)
    analyses = [a for source in sources.values() for a in source.analyses]
    cpu_seconds["surrogate"] = sum(a.fit_cpu_seconds for a in analyses)
    cpu_seconds["verdict"] = sum(a.verdict_cpu_seconds for a in analyses)
    rest = lap() - cpu_seconds["surrogate"] - cpu_seconds["verdict"]
    cpu_seconds["calibration"] = max(0.0, rest)
    return RunResults(
        task=task,
        preset_name=preset_name,
        preset=settings,
        seed=seed,
        n_replicates=n_replicates,
        n_control=n_control,
        study=study,
        policies=policies,
        noise=noise,
        sources=sources,
        parts=parts,
        space=space,
        beside_the_paper=tuple(beside),
        cpu_seconds=cpu_seconds,
        wall_seconds=time.perf_counter() - started,
        peak_memory=peak_memory(),
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


@contextmanager
def writable_folder(folder: Path) -> Iterator[Path]:
    """Make a folder and try to write there, before any work."""
    is_new = not folder.exists()
    if not is_new and not folder.is_dir():
        raise NotADirectoryError(f"out must be a folder; {folder} is a file.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"could not make the folder {folder}: {error}") from error
    try:
        check_writable(folder)
        yield folder
    except BaseException:
        if is_new:
            with suppress(OSError):  # not empty: it has finished blocks
                folder.rmdir()
        raise


def _stopwatch() -> Callable[[], float]:
    """Return what says how many CPU-seconds were spent since it was asked last."""
    last = time.process_time()

    def lap() -> float:
        nonlocal last
        before, last = last, time.process_time()
        return last - before

    return lap


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes; or 0."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows
        return 0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size


def require_seed(seed: Any) -> None:
    """Raise ValueError for what is no seed of a run."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be an int in [0, 2**32), got {seed!r}.")


def _refuse_nothing_to_explain(study: object, task: Task) -> None:
    """Refuse what no study is, a trajectory without a choice and equal rewards."""
    of_task = f"prepare of the task {task.name!r} returned"
    if not isinstance(study, Study):
        raise ValueError(f"{of_task} a {type(study).__name__}; expected a Study.")
    on_the_way = study.trajectory.states[:-1]
    if study.environment.valid_mask(on_the_way).sum(dim=-1).max() < 2:
        raise ValueError(
            f"{of_task} a trajectory without a choice; expected two allowed actions in "
            "some of its states."
        )
    reward = study.reward
    if isinstance(reward, RewardTable):
        members = reward.log_reward[: study.n_train]
        if (members == members[0]).all():
            raise ValueError(
                f"{of_task} equal rewards for all {study.n_train} members; expected "
                "rewards that differ, whose differences are to be explained."
            )


def _analyse_source(
    dataset: PolicyDataset, study: Study, preset: Preset, *, seed: int, **known: Any
) -> SourceResults:
    analyses = tuple(
        analyse(dataset, preset, degree, seed=seed, **known)
        for degree in preset.degrees
    )
    return SourceResults(
        dataset,
        analyses,
        fragility(dataset.train),
        fragility_beside_equal_noise(dataset.train, seed),
        step_intervals(analyses[0], seed),
        level_shares(analyses[0].pipeline, dataset.train, study.levels),
    )
