"""Coverage, width and CRPS of one ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skpce import CompositionalPCESurrogate
from skpce.metrics import crps_score

from .ensembles import Ensemble

LEVELS = (0.5, 0.8, 0.9, 0.95)

#: The law whose quantiles are the interval, as the page names it.
GIVEN_INPUTS = "given the inputs"
NEW_MEMBER = "new member, inputs unknown"
PUSH_FORWARD = "push-forward alone"
RAW = "quantiles of the members"
LAWS = (GIVEN_INPUTS, NEW_MEMBER, PUSH_FORWARD, RAW)

_N_CRPS_DRAWS = 500


def measure(ensemble: Ensemble, seed: int) -> dict[str, Any]:
    """Fit, and compare every law with the held-out members.

    Coverages are means over the action-step pairs of a member first: members are
    independent, the pairs of one member are not.
    """
    n_fit = ensemble.n_fit
    fitted, held_out = ensemble.y[:n_fit], ensemble.y[n_fit:]
    ensemble.pipeline.fit(ensemble.X[:n_fit], fitted)
    surrogate = ensemble.pipeline[-1]
    X = ensemble.X[n_fit:]
    if len(ensemble.pipeline) > 1:
        X = ensemble.pipeline[:-1].transform(X)
    active, step = surrogate.geometry_.active_parts, surrogate.geometry_.step_of_active
    shape = {"steps": surrogate.steps_, "mask": surrogate.mask_}
    laws = {}
    for law in LAWS:
        inside, width = [], []
        for lower, upper in _intervals(law, surrogate, X, fitted, seed):
            hit = (lower <= held_out) & (held_out <= upper)
            inside.append(hit[:, active])
            width.append((upper - lower)[:, active].mean())
        by_member = np.mean(inside, axis=2)
        draws = _draws(law, surrogate, X, fitted, seed)
        crps = crps_score(held_out, draws, **shape)
        laws[law] = {
            "coverage": by_member.mean(axis=1).tolist(),
            "worst_step": _worst_step(np.mean(inside, axis=1), step),
            "width": [float(value) for value in width],
            "crps": float(np.nanmean(crps[step])),
        }
    return {
        "loo_q2": surrogate.diagnostics_.loo_q2[np.unique(step)].tolist(),
        "n_terms": len(surrogate.multi_indices_),
        "laws": laws,
    }


def _intervals(
    law: str,
    surrogate: CompositionalPCESurrogate,
    X: np.ndarray,
    fitted: np.ndarray,
    seed: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the bounds at each level."""
    for level in LEVELS:
        if law == RAW:
            # Of n exchangeable members these quantiles hold the next one with
            # exactly this probability, if none are equal.
            tails = [(1 - level) / 2, (1 + level) / 2]
            low, high = np.quantile(fitted, tails, axis=0, method="weibull")
            yield low[np.newaxis], high[np.newaxis]
        else:
            yield surrogate.predict_interval(
                X if law == GIVEN_INPUTS else None,
                confidence_level=level,
                residual=None if law == PUSH_FORWARD else "resampled",
                random_state=seed,
            )


def _draws(
    law: str,
    surrogate: CompositionalPCESurrogate,
    X: np.ndarray,
    fitted: np.ndarray,
    seed: int,
) -> np.ndarray:  # shape: (n_draws, n_members or 1, n_parts)
    if law == RAW:
        return fitted[:, np.newaxis]
    if law == GIVEN_INPUTS:
        return surrogate.sample(_N_CRPS_DRAWS, X, random_state=seed)
    residual = None if law == PUSH_FORWARD else "resampled"
    draws = surrogate.sample(_N_CRPS_DRAWS, residual=residual, random_state=seed)
    return draws[:, np.newaxis]


def _worst_step(
    by_part: np.ndarray,  # shape: (n_levels, n_active)
    step: np.ndarray,  # shape: (n_active,)
) -> float:
    """Return the largest distance of the mean of one step from nominal."""
    means = [by_part[:, step == one].mean(axis=1) for one in np.unique(step)]
    return float(np.abs(np.array(means) - np.array(LEVELS)).max())
