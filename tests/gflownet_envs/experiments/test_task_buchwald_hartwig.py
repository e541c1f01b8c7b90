"""The Buchwald–Hartwig task with and without the control levels."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gflownet_envs.experiments.tasks.buchwald_hartwig import (
    WITHOUT_CONTROLS,
    BuchwaldHartwigTask,
)


@pytest.mark.parametrize(
    ("variant", "sizes"),
    [("", (4, 3, 16, 24)), (WITHOUT_CONTROLS, (4, 3, 15, 23))],
)
def test_the_absent_levels_are_there_or_left_out(variant, sizes):
    folder = os.environ.get("SKPCE_DATA")
    if not folder or not (Path(folder) / "buchwald_hartwig.csv").exists():
        pytest.skip("SKPCE_DATA is not set to a folder with buchwald_hartwig.csv")
    task = BuchwaldHartwigTask()
    preset = replace(task.presets["smoke"], n_train=2, n_test=1, variant=variant)
    study = task.prepare(
        preset, seed=0, store=None, progress=lambda *done: None, options={}
    )
    assert study.environment.sizes == sizes
    assert study.reward_features.shape == (3, np.prod(sizes))
    log_reward = study.reward.log_reward.numpy()
    np.testing.assert_allclose(log_reward, study.reward_features / 4.0, rtol=1e-6)
    # The reference reaction is the measured one of highest yield.
    reference = dict(study.tables[1].rows)
    assert reference["measured yield, percent"] == pytest.approx(100.0, abs=0.5)
