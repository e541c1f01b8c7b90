"""Kill −9 at random moments, go on, and compare with what was never interrupted.

Each trial kills a process once or more, lets the same command go on to its end, and
asks three things: are the results those of an uninterrupted process, to the last bit;
is every file that can be read whole; is nothing left behind. What is killed: training
into a store, whole runs, also on two processes, the commands ``report``
and ``compare`` on a finished run, the page of the paper from training to its pictures,
and the writing of a page. The processes are forks
of one that has imported everything, so that a hundred kills take minutes and meet no
imports.

Run: ``python -m benchmarks.gflownet.kills --kills 100`` (or ``make kills``)
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import numpy as np

from benchmarks.measuring import options
from gflownet_envs import GridEnvironment, TrainingSpec, train_ensemble
from gflownet_envs.experiments import analysis, command_line, files
from gflownet_envs.experiments.paper import make
from gflownet_envs.experiments.paper.page import page as page_of_the_paper
from gflownet_envs.experiments.run import run_task
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.storage import BlockStore, read_arrays
from gflownet_envs.training.convergence import NotConvergedWarning
from skpce._page import HtmlReport

ENVIRONMENT = GridEnvironment(size=4, max_moves=4)
SPEC = TrainingSpec(n_iterations=40, hidden=(16,), block_size=2, check_every=0)
N_MEMBERS = 20
TINY = Preset(
    n_train=12,
    n_test=6,
    training=TrainingSpec(n_iterations=4, hidden=(8,), batch_size=8, block_size=5),
    n_components=2,
    degrees=(1,),
    n_part_draws=16,
)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(50_000)  # drawing is not what is killed here
PAGES = 40  # written one after the other
N_DRAWS = 50  # of a predictive distribution: drawing is not killed either


def train(folder: Path) -> None:
    """Train an ensemble, or what is missing of it."""
    rng = np.random.default_rng(0)
    log_reward = rng.normal(size=(N_MEMBERS, ENVIRONMENT.n_objects))
    train_ensemble(ENVIRONMENT, log_reward, SPEC, store=BlockStore(folder))


def make_runs_tiny() -> None:
    """Leave out of runs, in this process, what takes long and writes nothing."""
    GridTask.presets = {**GridTask.presets, "tiny": TINY}
    analysis._N_DRAWS = N_DRAWS
    files.make_figures = lambda results: {
        name: (None, name)
        for name in (
            *(f"parts_{i + 1}" for i in range(len(results.parts))),
            *("overview", "variances", "policies", "coverage"),
        )
    }
    files.png = lambda figure: PICTURE


def run(folder: Path, n_jobs: int = 1) -> None:
    """Make a whole run of the grid, or what is missing of it."""
    make_runs_tiny()
    run_task("grid", preset="tiny", out=folder, n_jobs=n_jobs)


def run_on_processes(folder: Path) -> None:
    """The same with two processes."""
    run(folder, n_jobs=2)


def report_and_compare(folder: Path) -> None:
    """Give two commands on a run that is finished: one writes all again, one prints."""
    make_runs_tiny()
    for command in ("report", "compare"):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            command_line.main([command, str(folder)], standalone_mode=False)


def make_paper_of_the_grid(folder: Path) -> None:
    """Train, measure and write the page of a paper that has the grid alone."""
    small = replace(TINY, degrees=(2,), solver="paper")
    GridTask.presets = {**GridTask.presets, "paper": small}
    make.TASKS = {"grid": make.TASKS["grid"]}
    page_of_the_paper.png = lambda figure: PICTURE
    make.make_paper(folder)


def write_pages(folder: Path) -> None:
    """Write one page again and again."""
    folder.mkdir(exist_ok=True)
    report = HtmlReport("A page")
    for number in range(2_000):
        report.add_text(f"Paragraph {number}.")
    for _ in range(PAGES):
        report.save(folder / "page.html")


#: Workers look for their parent every second, from the end of their imports on, which
#: is seconds after their start, and longer on a busy machine.
GRACE = 60.0


@dataclass(frozen=True)
class Victim:
    """What is killed."""

    work: Callable[[Path], None]
    share: float  # of the kills
    grace: float = 0.0  # seconds in which its own children may notice
    before: Callable[[Path], None] | None = None  # what must be there


VICTIMS = {
    "training": Victim(train, 0.35),
    "runs": Victim(run, 0.2),
    "runs on two processes": Victim(run_on_processes, 0.05, grace=GRACE),
    "report and compare": Victim(report_and_compare, 0.1, before=run),
    "the page of the paper": Victim(make_paper_of_the_grid, 0.1),
    "pages": Victim(write_pages, 0.1),
}


def fork(work: Callable[[Path], None], folder: Path) -> int:
    """Do work in a process of its own; return its number."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this one has no threads
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)  # its own children can be found by its number
        warnings.simplefilter("ignore", NotConvergedWarning)
        work(folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def finish(work: Callable[[Path], None], folder: Path) -> float:
    """Let work come to its end; return the seconds it took."""
    started = time.monotonic()
    _, status = os.waitpid(fork(work, folder), 0)
    if status:
        raise SystemExit(f"{work.__name__} ended with status {status}")
    return time.monotonic() - started


def kill(work: Callable[[Path], None], folder: Path, seconds: float) -> int | None:
    """Kill work after some seconds; return its number, None where it was faster."""
    child = fork(work, folder)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return child
    if status:
        raise SystemExit(f"{work.__name__} ended with status {status}")
    return None


def wait_for_group(group: int, seconds: float) -> float:
    """Return how long the children of a killed process lived; inf for too long."""
    started = time.monotonic()
    while members := living(group):
        if time.monotonic() > started + seconds:
            for process in members:  # they are ours
                os.kill(process, signal.SIGKILL)
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - started


def living(group: int) -> list[int]:
    """Return the processes of a group that run, where /proc tells; none elsewhere."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(") ")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(int(stat.parent.name))
    return found


def contents(folder: Path) -> dict[str, object]:
    """Return what all files of a folder hold, without times; read each in full."""
    found: dict[str, object] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".safetensors":
            arrays, _ = read_arrays(path)
            arrays.pop("cpu_seconds", None)
            found[name] = {k: (a.shape, a.tobytes()) for k, a in arrays.items()}
        elif name in ("run_record.json", "report.html", "paper.html"):
            found[name] = path.stat().st_size > 0  # times and costs
        elif path.suffix == ".json":
            found[name] = json.loads(path.read_bytes(), object_hook=without_times)
        else:
            found[name] = path.read_bytes()
    return found


def without_times(record: dict[str, object]) -> dict[str, object]:
    """Leave out of a record what it cost."""
    return {key: value for key, value in record.items() if "seconds" not in key}


@dataclass
class Tally:
    """What happened to one kind of victim."""

    kills: int = 0
    same: int = 0  # kills after which the results were those of no kill
    left: int = 0  # files or processes left behind
    broken: int = 0  # files that claim to be finished and are not
    seconds: float = 0.0  # that processes lived after a kill, at most


def torture(name: str, n_kills: int, rng: np.random.Generator) -> Tally:
    """Kill one kind of victim some times."""
    victim, tally = VICTIMS[name], Tally()
    with tempfile.TemporaryDirectory() as place:
        before, whole = Path(place) / "before", Path(place) / "whole"
        if victim.before is not None:
            finish(victim.before, before)
            shutil.copytree(before, whole)
        seconds = finish(victim.work, whole)
        expected = contents(whole)
        while tally.kills < n_kills:
            folder = Path(place) / "parts"
            if victim.before is not None:
                shutil.copytree(before, folder)
            killed = 0
            while not killed or (rng.random() < 0.3 and tally.kills + killed < n_kills):
                group = kill(victim.work, folder, float(rng.uniform(0, seconds)))
                if group is None:  # it was faster
                    break
                killed += 1
                lived = wait_for_group(group, victim.grace)
                tally.left += lived == float("inf")
                tally.seconds = round(max(tally.seconds, lived), 1)
                tally.broken += n_broken(folder, expected)
            if not killed:
                shutil.rmtree(folder)
                continue
            finish(victim.work, folder)
            found = contents(folder)
            # what waited for its place is hidden, and goes after an hour
            found = {k: v for k, v in found.items() if not Path(k).name.startswith(".")}
            tally.left += len(set(found) - set(expected))
            tally.kills += killed
            tally.same += killed if found == expected else 0
            shutil.rmtree(folder)
    return tally


def n_broken(folder: Path, expected: dict[str, object]) -> int:
    """Count files under their final names that are not what they should be."""
    try:
        found = contents(folder)
    except ValueError as error:
        print(error)
        return 1
    final = {name for name in found if not Path(name).name.startswith(".")}
    missing = 0
    if "results.json" in final:  # it says that all others are there
        missing = len(set(expected) - final)
    return missing + sum(found[name] != expected.get(name) for name in final)


def torture_all(n_kills: int, seed: int) -> dict[str, Tally]:
    """Share out the kills among all kinds."""
    rng = np.random.default_rng(seed)
    counts = {name: max(1, round(v.share * n_kills)) for name, v in VICTIMS.items()}
    counts["training"] += n_kills - sum(counts.values())
    tallies = {}
    for name, count in counts.items():
        if count > 0:
            tallies[name] = torture(name, count, rng)
            print(f"{name}: {replace(tallies[name])}", flush=True)
    return tallies


def main() -> None:
    arguments = options(__doc__, kills=100, seed=0)
    tallies = torture_all(arguments.kills, arguments.seed).values()
    kills, same, left, broken = (
        sum(getattr(tally, name) for tally in tallies)
        for name in ("kills", "same", "left", "broken")
    )
    print(
        f"{same} of {kills} kills: the results are those of an uninterrupted process; "
        f"{broken} files broken, {left} files or processes left behind"
    )
    if same < kills or left or broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
