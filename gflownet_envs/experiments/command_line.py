"""The command ``gflownet-envs``."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.table import Table as RichTable

from gflownet_envs.extras import import_extra

if TYPE_CHECKING:
    from gflownet_envs.experiments.task import Progress as ProgressCallback
    from gflownet_envs.experiments.task import RunResults, Table

_PLAIN_WIDTH = 120
_SECONDS_TO_CONNECT = 10
_COUNTS, _TIME = 13, 7  # least widths in a line of progress


class _Folder(click.Path):
    """A folder with a name; an empty one would be the current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        name = os.fspath(value)
        if not str(name).strip():
            self.fail(f"expected the name of a folder, got {name!r}", param, ctx)
        try:
            os.fsencode(name)
        except UnicodeEncodeError:
            self.fail(f"{name!r} can be no name of a folder", param, ctx)
        return super().convert(value, param, ctx)


_option = partial(click.option, show_default=True)
_data_home = click.option(
    "--data-home",
    type=_Folder(file_okay=False, path_type=Path),
    help="Cache folder of downloaded data.",
)
_jobs = _option(
    "--jobs", default=1, type=click.IntRange(min=1), help="Processes for training."
)
_cluster = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Scheduler of a dask cluster, such as tcp://host:8786, that trains in place "
    "of processes here; a killed worker costs its task only.",
)
_SEED: dict[str, Any] = {"default": 0, "type": click.IntRange(0, 2**32 - 1)}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="skpce")
def main() -> None:
    """Train GFlowNets under uncertain rewards and attribute their variance."""
    for stream in (sys.stdout, sys.stderr):  # names that the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Before torch and BLAS start: threads lose time on arrays this small.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


@main.command("list")
def list_tasks() -> None:
    """List the tasks and their presets."""
    from gflownet_envs.experiments.tasks import TASKS

    table = RichTable("task", "presets", "what it is")
    for task in TASKS.values():
        table.add_row(task.name, ", ".join(task.presets), task.title)
    Console().print(table)


@main.command()
@click.argument("task")
@_option(
    "--preset",
    default="default",
    help="smoke: seconds; default: near convergence; paper: the paper's settings.",
)
@_option(
    "--solver",
    default="train",
    help="train: GFlowNets beside exact policies; exact: exact policies only.",
)
@_option("--seed", **_SEED, help="Seed of rewards, training and draws.")
@_option(
    "--replicates",
    "n_replicates",
    default=1,
    type=click.IntRange(min=1),
    help="GFlowNets trained on each reward: shows the training noise.",
)
@_option(
    "--control",
    "n_control",
    default=None,
    type=click.IntRange(min=0),
    help="Further GFlowNets, all trained on the mean reward.  [default: the preset's]",
)
@click.option(
    "--out",
    type=_Folder(file_okay=False, path_type=Path),
    help="Folder of the results.  [default: runs/TASK-PRESET]",
)
@_data_home
@_jobs
@_cluster
def run(task: str, preset: str, out: Path | None, **given: Any) -> None:
    """Run TASK and write results, data sets, figures and a report.

    TASK is a name that `gflownet-envs list` shows, or module:Class for a task of
    your own, such as my_task:LevelTask in my_task.py of the current folder.

    Finished blocks of training stay in the folder: a run that was interrupted
    goes on where it was when the same command is given again.
    """
    name = task.rpartition(":")[2]
    _run(out or Path("runs") / f"{name}-{preset}", task=task, preset=preset, **given)


@main.command()
@click.argument("folder", type=_Folder(path_type=Path))
@click.option(
    "--import-task",
    is_flag=True,
    help="Import the module of the task that results.json names, which runs its code.",
)
@_data_home
@_jobs
@_cluster
def report(folder: Path, import_task: bool, **given: Any) -> None:
    """Make the results, figures and report of the run in FOLDER again.

    What was trained is read from the folder; the surrogate, the verdict and the
    pictures are computed again. Blocks that no longer fit the task are trained.

    A run of a task of your own needs --import-task: its module is looked for in the
    current folder too.
    """
    from gflownet_envs.experiments.files import read_settings
    from gflownet_envs.experiments.tasks import TASKS

    with _errors_in_words():
        settings = read_settings(folder)
        if settings["task"] not in TASKS and not import_task:
            raise ValueError(
                f"{folder / 'results.json'} names the task {settings['task']!r}, which "
                f"is none of {', '.join(TASKS)}: its module would be imported, which "
                "runs its code. If you trust it, add --import-task."
            )
    _run(folder, **settings, **given)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_Folder(path_type=Path))
def compare(folders: tuple[Path, ...]) -> None:
    """Show the paper's figures beside those of the runs in FOLDERS."""
    from gflownet_envs.experiments.files import paper_tables

    with _errors_in_words():
        found = paper_tables(folders)
    console = make_console()
    for table in found:
        print_table(console, table)
    console.print("\nWhich agree, from many draws of the members: gflownet-envs paper.")


@main.command()
@click.option(
    "--out",
    required=True,
    type=_Folder(file_okay=False, path_type=Path),
    help="Folder of the page, its pictures, and the finished pieces.",
)
@click.option(
    "--preset",
    help="quick: the paper's settings, fewer members; full: its sizes too.  "
    "[default: that of the finished pieces, else quick]",
)
@click.option(
    "--from",
    "runs",
    multiple=True,
    type=_Folder(file_okay=False, exists=True, path_type=Path),
    help="Folder with finished runs TASK-paper, or with pieces of an earlier page; "
    "may be given several times.",
)
@click.option(
    "--finished",
    is_flag=True,
    help="Make the page of the finished pieces; compute nothing.",
)
@_option("--seed", **_SEED, help="Seed of rewards, training and samples.")
@_data_home
@_jobs
def paper(out: Path, data_home: Path | None, jobs: int, **given: Any) -> None:
    """Write one page with every figure, table and claim of the paper beside ours.

    Finished pieces and blocks of training stay in the folder: a call that was
    interrupted goes on where it was when the same command is given again.
    """
    from gflownet_envs.experiments.paper.make import make_paper

    console = make_console()
    left = {"pieces": out / "pieces", "blocks of training": out / "policies"}
    with _interrupts_in_words(console, left), progress_bars() as progress:
        # members far from convergence are part of the paper's settings
        warnings.simplefilter("ignore")
        counts = make_paper(
            out,
            **given,
            progress=progress,
            n_jobs=jobs,
            options={"data_home": data_home},
        )
    page = counts.pop("page")
    for word, count in counts.items():
        console.print(f"{word}: {count}", highlight=False)
    console.print(f"\nPage: {page}", highlight=False)


def _run(
    folder: Path,
    *,
    data_home: Path | None,
    jobs: int,
    cluster: str | None,
    **settings: Any,
) -> None:
    """Run a task with progress bars, print its tables, and say what went wrong."""
    from gflownet_envs.experiments.run import run_task
    from gflownet_envs.training.convergence import DivergedWarning, NotConvergedWarning
    from skpce._basis.basis import MoreTermsThanRowsWarning

    console = make_console()
    left = {"blocks": folder / "blocks"}
    with (
        _interrupts_in_words(console, left),
        _on_cluster(cluster),
        progress_bars() as progress,
    ):
        # degrees are those of the preset
        warnings.simplefilter("ignore", MoreTermsThanRowsWarning)
        # the table of training names them
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", DivergedWarning)
        results = run_task(
            **settings,
            out=folder,
            progress=progress,
            n_jobs=jobs if cluster is None else None,  # all workers
            options={"data_home": data_home},
        )
    print_results(console, results, folder)


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """Say what went wrong without a traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _interrupts_in_words(console: Console, left: Mapping[str, Path]) -> Iterator[None]:
    """Say what is finished where somebody stops the work; keep filters of warnings."""
    try:
        with _errors_in_words(), warnings.catch_warnings():
            yield
    except KeyboardInterrupt:
        found = [
            f"{what} are in {path}" for what, path in left.items() if path.exists()
        ]
        console.print(
            f"Interrupted. Finished {', '.join(found)}; the same command goes on from "
            "there."
            if found
            else "Interrupted before anything was finished."
        )
        raise SystemExit(130) from None


@contextmanager
def _on_cluster(address: str | None) -> Iterator[None]:
    """Let joblib send its tasks to a dask cluster, where one is given."""
    if address is None:
        yield
        return
    from joblib import parallel_config

    Client = import_extra("distributed", "--cluster").Client
    try:
        client: Any = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"--cluster {address!r}: no scheduler of dask answers there ({error}); "
            "expected the address that `dask scheduler` prints."
        ) from error
    with client, parallel_config("dask"):
        yield


def make_console() -> Console:
    """Return a console; wide enough for the tables where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=_PLAIN_WIDTH)


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Show one bar per stage, on standard error: output is for the results."""
    columns = (
        TextColumn("{task.description}", table_column=Column(overflow="fold")),
        BarColumn(bar_width=20),
        MofNCompleteColumn(table_column=Column(min_width=_COUNTS)),
        TimeElapsedColumn(table_column=Column(min_width=_TIME)),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        known: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in known:
                known[stage] = bars.add_task(stage, total=total)
            bars.update(known[stage], completed=done, total=total)

        yield progress


def print_results(console: Console, results: RunResults, folder: Path) -> None:
    """Print the answer in words, the verdict and the final tables."""
    from gflownet_envs.experiments import files

    console.print("\nWhich part of the reward drives which choice", style="bold")
    for sentence in files.answers(results):
        console.print(sentence, markup=False, highlight=False)
    for source in results.sources.values():
        console.print()
        console.print(files.verdict_words(source), markup=False, highlight=False)
    for table in results.study.tables:
        print_table(console, table)
    for found in (
        files.training_table(results),
        files.noise_table(results),
        files.verdict_table(results),
        *(files.shares_table(source) for source in results.sources.values()),
        files.coverage_table(results),
        files.paper_table(results),
        *(files.parts_table(found, brief=True) for found in results.parts),
        files.cost_table(results),
    ):
        if found is not None:
            print_table(console, found)
    console.print(f"\nReport: {folder / 'report.html'}", highlight=False)


def print_table(console: Console, table: Table) -> None:
    """Print a table with short numbers; headers are broken where width is short."""
    console.print()
    console.print(table.caption, style="italic", markup=False, highlight=False)
    if not table.rows:
        return
    shown = _rich_table(table, padding=1, broken=False)
    wanted = console.measure(shown, options=console.options.update(width=10_000))
    if wanted.maximum > console.width:
        shown = _rich_table(table, padding=0, broken=True)
    console.print(shown)


def _rich_table(table: Table, *, padding: int, broken: bool) -> RichTable:
    from skpce._checks import format_cell

    shown = RichTable(box=SIMPLE_HEAD, padding=(0, padding), show_edge=False)
    rows = [[format_cell(cell) for cell in row] for row in table.rows]
    for position, header in enumerate(table.columns):
        cells = [row[position] for row in rows]
        if broken:
            widest = max(map(len, [*header.split(), *cells]))
            header = fill(header, widest, break_on_hyphens=False)
        # a cell that starts like a number, or is blank
        likely = (not cell or cell[0] in "-–0123456789" for cell in cells)
        is_number = position > 0 and all(likely)
        shown.add_column(header, justify="right" if is_number else "left")
    for row in rows:
        shown.add_row(*map(escape, row))
    return shown
