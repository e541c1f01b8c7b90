"""A run small enough to be made often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gflownet_envs.experiments import analysis, files
from gflownet_envs.experiments.run import run_task
from gflownet_envs.experiments.task import Preset, RunResults
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.training.spec import TrainingSpec

#: What a task is prepared with, beside its preset, where nobody looks on.
SILENT: dict[str, Any] = {"seed": 0, "store": None, "options": {}}
SILENT["progress"] = lambda *done: None


def never(*arguments: Any, **options: Any) -> None:
    """Stand in for work that must not be done again."""
    raise AssertionError("done again")


def invoke(*arguments: Any) -> Any:
    """Run the command ``gflownet-envs`` in this process."""
    testing = pytest.importorskip("click.testing")
    from gflownet_envs.experiments.command_line import main

    return testing.CliRunner().invoke(main, [str(a) for a in arguments])


def exact_dataset(X: Any, y: Any, steps: tuple[int, ...], **more: Any) -> Any:
    """Make a data set of exact policies whose steps and actions have some names."""
    first = np.cumsum([0, *steps])[:-1]
    names = tuple(f"{i}-{k}" for i, width in enumerate(steps) for k in range(width))
    made = {
        "steps": steps,
        "mask": np.ones(len(names), dtype=bool),
        "step_names": tuple(f"step {i}" for i in range(len(steps))),
        "action_names": names,
        "feature_names": tuple(f"f{i}" for i in range(np.shape(X)[1])),
        "members": np.arange(len(X)),
        "rewards": np.arange(len(X)),
        "seeds": np.zeros(len(X), dtype=int),
        "is_test": np.zeros(len(X), dtype=bool),
        "trajectory": tuple(names[i] for i in first),
        "source": "exact",
    }
    return PolicyDataset(X, y, **made | more)


#: 12 + 6 members, in four blocks.
_SHORT = TrainingSpec(n_iterations=4, hidden=(8,), batch_size=8, block_size=5)
TINY = Preset(12, 6, _SHORT, n_components=2, degrees=(1,), n_part_draws=16)


def prepare_tiny(patch: pytest.MonkeyPatch) -> None:
    """Let the grid have the preset ``tiny``, and draw no pictures."""
    draw_nothing(patch)
    patch.setitem(GridTask.presets, "tiny", TINY)


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Let runs write figures that are not drawn."""
    patch.setattr(files, "make_figures", named_figures)
    patch.setattr(files, "png", lambda figure: b"\x89PNG")


def named_figures(results: RunResults) -> dict[str, tuple[None, str]]:
    """Stand in for figures that take longer than the run."""
    names = [f"parts_{number + 1}" for number in range(len(results.parts))]
    names += ["overview", "policies", "variances", "coverage"]
    names += ["space"] * (results.space is not None)
    return {name: (None, name) for name in names}


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs write figures that are not drawn."""
    draw_nothing(monkeypatch)


@pytest.fixture
def run_tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResults]:
    """Run the grid with the preset ``tiny``."""
    prepare_tiny(monkeypatch)

    def run(out: Any, **arguments: Any) -> RunResults:
        return run_task("grid", preset="tiny", out=out, **arguments)

    return run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, RunResults]:
    """Folder and results of one uninterrupted run of ``tiny`` with seed 0."""
    out = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        prepare_tiny(patch)
        return out, run_task("grid", preset="tiny", out=out)


@pytest.fixture(scope="session")
def copies(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Any, RunResults, dict[str, Any]]:
    """Folder and results of ``tiny`` with 2 replicates and a control of 3 members.

    The last item is what `verdict` was given for each source.
    """
    out = tmp_path_factory.mktemp("copies")
    requests = []
    original = analysis.verdict

    def spy(pipeline: Any, X: Any, y: Any, **arguments: Any) -> Any:
        requests.append(arguments)
        return original(pipeline, X, y, **arguments)

    with pytest.MonkeyPatch.context() as patch:
        prepare_tiny(patch)
        patch.setattr(analysis, "verdict", spy)
        results = run_task("grid", preset="tiny", out=out, n_replicates=2, n_control=3)
    return out, results, dict(zip(results.sources, requests, strict=True))


@pytest.fixture(scope="session")
def smoke_runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], tuple[RunResults, Any]]:
    """Results and folder of the preset ``smoke`` of a task, made once, no pictures."""
    made: dict[str, tuple[RunResults, Any]] = {}

    def run(name: str) -> tuple[RunResults, Any]:
        if name not in made:
            out = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                draw_nothing(patch)
                made[name] = run_task(name, preset="smoke", out=out), out
        return made[name]

    return run
