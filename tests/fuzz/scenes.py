"""Scenes: a few calls on the same data, drawn from a seed and a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.fuzz.estimators import scene_of_estimator
from tests.fuzz.functions import FUNCTIONS
from tests.fuzz.judge import Outcome, judge
from tests.fuzz.models import case_of
from tests.fuzz.values import one_of


def play(seed: int, number: int) -> Iterator[Outcome]:
    """Play one scene, of estimators or of functions, with sound or spoiled values."""
    rng = np.random.default_rng([seed, number])
    np.random.seed(number % 2**32)  # noqa: NPY002 - what random_state=None draws from
    valid = bool(rng.random() < 0.5)
    if rng.random() < 0.8:
        yield from scene_of_estimator(rng, valid)
    else:
        name = one_of(rng, sorted(FUNCTIONS))
        yield judge(case_of(rng, name, FUNCTIONS[name](rng), valid))
