"""A run small enough to be made often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gflownet_envs.experiments import write
from gflownet_envs.experiments.run import RunResults, run_task
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.training_spec import TrainingSpec

#: 12 + 6 members, in four blocks.
TINY = Preset(
    n_train=12,
    n_test=6,
    training=TrainingSpec(n_iterations=4, hidden=(8,), batch_size=8, block_size=5),
    n_components=2,
    degrees=(1,),
    n_permutations=19,
)


@pytest.fixture
def run_tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResults]:
    """Run the grid with the preset ``tiny``; pictures are not drawn."""
    monkeypatch.setattr(write, "_png", lambda figure: b"\x89PNG")
    monkeypatch.setitem(GridTask.presets, "tiny", TINY)

    def run(out: Any, **arguments: Any) -> RunResults:
        return run_task("grid", preset="tiny", out=out, **arguments)

    return run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, RunResults]:
    """Folder and results of one uninterrupted run of ``tiny`` with seed 0."""
    out = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GridTask.presets, "tiny", TINY)
        return out, run_task("grid", preset="tiny", out=out)
