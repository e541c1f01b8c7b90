"""A verdict whose figures are given, not found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from skpce.inspection._answer import verdict_table

from skpce.inspection import Result


def verdict_by_hand(
    names: Sequence[str],
    attributable: Sequence[bool],
    q2: float | Sequence[float] = 0.5,
    *,
    interval: tuple[float, float] = (0.4, 0.6),
    p_value: float = 0.01,
    reason: str = "by hand",
    cautions: tuple[str, ...] = (),
) -> Result:
    """Return a verdict of 60 members; what is not attributable has the reason."""
    nan = float("nan")
    figures = {
        "q2": q2,
        "q2_low": interval[0],
        "q2_high": interval[1],
        "mean_only_q2": -0.1,
        "degree_one_q2": 0.0,
        "p_value": p_value,
        "noise_share": nan,
        "noise_share_low": nan,
        "noise_share_high": nan,
    }
    n_steps = len(names)
    return verdict_table(
        names,
        {n: np.broadcast_to(v, n_steps).astype(float) for n, v in figures.items()},
        [() if good else (reason,) for good in attributable],
        {
            "n_members": 60,
            "n_permutations": 99,
            "confidence_level": 0.9,
            "cautions": cautions,
        },
    )
