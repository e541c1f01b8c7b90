"""scikit-learn's own contract for policy-relevant features.

Their width is that of an environment, the checks draw X of any width: here the
environment is made from the columns of X.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gflownet_envs import SequentialSelectionEnvironment
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from tests.shared import STRICT


class FeaturesOfAnyWidth(PolicyRelevantFeatures):
    """Columns are the levels of one choice, or where they factor, pairs of levels."""

    trajectory, pilot = None, "exact"

    def __init__(
        self,
        *,
        exclude_steps: tuple[int, ...] = (),
        relative: bool = False,
        scale: bool = True,
    ) -> None:
        self.exclude_steps = exclude_steps
        self.relative = relative
        self.scale = scale

    @property
    def environment(self) -> SequentialSelectionEnvironment:
        width = self._width
        divisors = [k for k in range(2, width // 2 + 1) if width % k == 0]
        # none: a prime, or too few columns for two choices
        first = divisors[0] if divisors else 1
        sizes = {"first": first, "second": width // first}
        levels = {step: [str(k) for k in range(n)] for step, n in sizes.items()}
        return SequentialSelectionEnvironment(levels)

    def fit(self, X: Any, y: Any = None) -> FeaturesOfAnyWidth:
        # what is no table is left to the checks of the class itself
        shape = np.asarray(X).shape
        self._width = max(1, shape[1]) if len(shape) == 2 else 2
        return super().fit(X, y)


ESTIMATORS = [
    FeaturesOfAnyWidth(),
    FeaturesOfAnyWidth(relative=True, scale=False),
    FeaturesOfAnyWidth(exclude_steps=(0,)),
]

# The checks pass arrays to estimators fitted on data frames.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:X has feature names"),
]


@parametrize_with_checks(ESTIMATORS, **STRICT)
def test_common_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_output_contract(estimator, output_check):
    output_check(type(estimator).__name__, estimator)
