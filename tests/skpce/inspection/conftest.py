"""Ensembles with replicate members per reward."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax


@pytest.fixture(scope="session")
def replicated(simulate):
    """Make 20 rewards, 3 members each, with log-ratio noise of their training."""

    def make(noise, seed=0):
        X, y = simulate(n_members=20, noise=0.1, seed=seed)
        rng = np.random.default_rng(seed)
        reward = np.repeat(np.arange(20), 3)
        logits = np.log(y[reward]) + noise * rng.normal(size=(60, 9))
        blocks = [softmax(block, axis=1) for block in np.split(logits, [3, 5], axis=1)]
        return X[reward], np.hstack(blocks), reward

    return make
