"""A verdict whose figures are given, not found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skpce._compositions.outputs import read_outputs
from skpce.drivers import Answer, Caution, Design, State
from skpce.drivers._answer import make_answer
from skpce.drivers._exchange import Tested
from skpce.drivers._findings import Findings
from skpce.drivers._shares import Shares

N_MEMBERS = 60


class NoSource:
    """Nothing was fitted."""

    def fit(self) -> Any:
        raise NotImplementedError


def verdict_by_hand(
    names: Sequence[str],
    attributable: Sequence[bool],
    q2: float | Sequence[float] = 0.5,
    *,
    inputs: Sequence[str] = ("x0", "x1", "x2"),
    first: ArrayLike | None = None,  # shape: (n_steps, n_inputs)
    interval: tuple[float, float] = (0.4, 0.6),
    p_value: float = 0.01,
    noise: float | Sequence[float] = np.nan,
    cautions: Sequence[Caution] = (),
) -> Answer:
    """Return a verdict of 60 members on steps of two parts.

    Of a step that is attributable all inputs drive it; each explains half of what the
    inputs before it have left, all of them together the rest of Q².
    """
    shape = n_steps, n_inputs = len(names), len(inputs)
    q2 = np.broadcast_to(np.asarray(q2, dtype=np.float64), n_steps)
    explained = np.clip(q2, 0.0, 1.0)[:, np.newaxis]
    if first is None:
        first = explained * 0.5 ** np.arange(1, n_inputs + 1)
    first = np.broadcast_to(np.asarray(first, dtype=np.float64), shape)
    together = explained - first.sum(axis=1, keepdims=True)
    pairs = np.zeros((n_steps, n_inputs, n_inputs))
    if n_inputs > 1:
        pairs[:, 0, 1] = pairs[:, 1, 0] = together[:, 0]
    total = first + pairs.sum(axis=2)
    shares = Shares(
        first=np.stack([first, 0.9 * first, np.minimum(1.1 * first, 1.0)]),
        total=np.stack([total, 0.9 * total, np.minimum(1.1 * total, 1.0)]),
        pairs=pairs,
        explained=explained[:, 0],
        q2=np.stack([q2, *(np.full(n_steps, end) for end in interval)]),
        noise=np.broadcast_to(np.asarray(noise, dtype=np.float64), n_steps),
        lack_of_fit=np.full(n_steps, np.nan),
    )
    of = {True: State.DRIVES, False: State.OPEN}
    states = [[of[bool(good)]] * n_inputs for good in attributable]
    p_values = np.where(np.array(attributable)[:, np.newaxis], p_value, 1.0)
    findings = Findings(
        states=states,
        p_values=np.broadcast_to(p_values, shape),
        q_values=np.broadcast_to(p_values, shape),
        shares=shares,
        more_runs=np.full(shape, np.nan),
        tested=[[Tested()] * n_inputs for _ in names],
        pair_p_values={},
        cautions=tuple(cautions),
        n_members=np.full(n_steps, N_MEMBERS),
        design=Design.of(np.arange(float(N_MEMBERS))[:, np.newaxis]),
    )
    even = np.full((N_MEMBERS, 2 * n_steps), 0.5)
    steps = dict.fromkeys(names, 2)
    return make_answer(
        findings,
        inputs,
        read_outputs(even, "verdict_by_hand", steps=steps),
        NoSource(),
        negligible=0.05,
    )
