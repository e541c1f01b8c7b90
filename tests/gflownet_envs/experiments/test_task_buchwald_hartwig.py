"""The Buchwald–Hartwig task with and without the control levels."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.experiments.tasks.buchwald_hartwig import (
    FRACTIONS,
    WITHOUT_CONTROLS,
    BuchwaldHartwigTask,
)
from tests.gflownet_envs.datasets.serving import real_file
from tests.gflownet_envs.experiments.conftest import SILENT
from tests.shared import cases


def small_study(seed=0, **changes):
    real_file("buchwald_hartwig.csv")
    task = BuchwaldHartwigTask()
    preset = replace(task.presets["smoke"], n_train=2, n_test=1, **changes)
    return task.prepare(preset, **SILENT | {"seed": seed})


@cases(("variant", "sizes"), ("", (4, 3, 16, 24)), (WITHOUT_CONTROLS, (4, 3, 15, 23)))
def test_the_absent_levels_are_there_or_left_out(variant, sizes):
    study = small_study(variant=variant)
    assert study.environment.sizes == sizes
    assert study.reward_features.shape == (3, np.prod(sizes))
    log_reward = study.reward.log_reward.numpy()
    assert_allclose(log_reward, study.reward_features / 4.0, rtol=1e-6)
    # The reference reaction is the measured one of highest yield.
    reference = dict(study.tables[1].rows)
    assert reference["measured yield, percent"] == pytest.approx(100.0, abs=0.5)


def test_yields_as_fractions_have_log_rewards_a_hundredth_as_large():
    """The paper does not say of what its temperature is."""
    study, as_fractions = small_study(), small_study(variant=FRACTIONS)
    assert_array_equal(study.reward_features, as_fractions.reward_features)
    assert_allclose(
        study.reward.log_reward, 100 * as_fractions.reward.log_reward, rtol=1e-6
    )


def test_components_may_come_from_some_of_the_reactions():
    """The paper's are found in 500 predictions; the rewards stay those of all."""
    assert BuchwaldHartwigTask.presets["paper"].n_reward_features == 500
    study, whole = small_study(n_reward_features=300), small_study()
    assert study.reward_features.shape == (3, 300)
    assert len(set(study.feature_names)) == 300
    places = [whole.feature_names.index(name) for name in study.feature_names]
    assert_array_equal(study.reward_features, whole.reward_features[:, places])
    assert_array_equal(study.reward.log_reward, whole.reward.log_reward)
    for component, levels in study.levels.items():
        for level, columns in levels.items():
            expected = np.isin(places, whole.levels[component][level])
            assert_array_equal(np.flatnonzero(expected), columns)
    assert small_study(1, n_reward_features=300).feature_names != study.feature_names
