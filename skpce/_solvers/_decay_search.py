"""The search for decay rates: how fast the prior of a coefficient shrinks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._checks import FloatArray, IndexArray

# Common decays that are tried, until one is worse than the one before; then the two
# between the best and its neighbours. 1 is the plain ridge.
_COARSE_DECAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

# Factors by which the decay of one input is changed, sweep by sweep.
_STEPS = (2.0, 2.0, 2.0**0.5, 2.0**0.5)

# At this decay even the first degree of an input is left to the penalty.
_LARGEST_DECAY = 1e4

# A change of one decay must lower the score by this share.
_SMALLEST_GAIN = 1e-3


def search_decay(
    score: Callable[[FloatArray], float], exponents: IndexArray
) -> FloatArray:
    """Return the best common decay, once for each input."""
    n_inputs = exponents.shape[1]
    if exponents.sum(axis=1).max(initial=0) < 2:
        return np.ones(n_inputs)
    known: dict[float, float] = {}
    for decay in _COARSE_DECAYS:
        known[decay] = score(np.full(n_inputs, decay))
        if known[decay] > min(known.values()):
            break
    best = min(known, key=known.__getitem__)
    for factor in (2.0**-0.5, 2.0**0.5):
        decay = best * factor
        if decay >= 1.0:
            known[decay] = score(np.full(n_inputs, decay))
    return np.full(n_inputs, min(known, key=known.__getitem__))


def search_decays(
    score: Callable[[FloatArray], float], exponents: IndexArray, start: FloatArray
) -> FloatArray:
    """Change the decay of one input after another while the score falls."""
    decays, best = start, score(start)
    for step in _STEPS:
        for i in np.flatnonzero(exponents.any(axis=0)):
            for factor in (step, 1.0 / step):
                moved, found = _walk(score, decays, best, int(i), factor)
                if found < best:
                    decays, best = moved, found
                    break
    return decays


def _walk(
    score: Callable[[FloatArray], float],
    decays: FloatArray,
    best: float,
    i: int,
    factor: float,
) -> tuple[FloatArray, float]:
    """Multiply one decay again and again while the score falls."""
    while True:
        candidate = decays.copy()
        candidate[i] *= factor
        if not 1.0 <= candidate[i] <= _LARGEST_DECAY:
            return decays, best
        found = score(candidate)
        if not found < best * (1.0 - _SMALLEST_GAIN):
            return decays, best
        decays, best = candidate, found
