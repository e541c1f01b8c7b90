"""Findings and verdicts whose figures are given, not found."""

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


def findings(
    states: ArrayLike,
    total: ArrayLike,
    *,
    first: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    q2: ArrayLike = 0.9,
    interval: tuple[float, float] | None = None,
    noise: float = np.nan,
    more: ArrayLike = np.nan,
    pairs: Sequence[tuple[int, int, int, float]] = (),
    p_value: ArrayLike = 0.5,
    cautions: Sequence[Caution] = (),
) -> Findings:
    """Return findings of 60 members, of as many outputs as there are rows of states."""
    states = np.atleast_2d(np.array(states, dtype=object))
    shape = n_outputs, n_rows = states.shape

    def table(given: ArrayLike) -> Any:
        return np.array(np.broadcast_to(np.asarray(given, dtype=float), shape))

    def column(given: ArrayLike) -> Any:
        return np.array(np.broadcast_to(np.asarray(given, dtype=float), n_outputs))

    total, q2 = table(total), column(q2)
    first = total if first is None else table(first)
    ends = total - 0.05 if low is None else low, total + 0.05 if high is None else high
    together = np.zeros((*shape, n_rows))
    for o, i, j, share in pairs:
        together[o, i, j] = together[o, j, i] = share
    shares = Shares(
        first=np.stack([first, first - 0.05, first + 0.05]),
        total=np.stack([total, *map(table, ends)]),
        pairs=together,
        explained=np.clip(q2, 0.0, 1.0),
        q2=np.stack([q2, *map(column, interval or (q2, q2))]),
        noise=column(noise),
        lack_of_fit=column(np.nan),
        of_few=np.zeros(n_outputs, dtype=bool),
    )
    return Findings(
        states=states,
        p_values=table(p_value),
        q_values=table(p_value),
        shares=shares,
        more_runs=table(more),
        tested=Tested.nothing(*shape),
        pair_p_values={(o, i, j): 0.001 for o, i, j, _ in pairs},
        cautions=tuple(cautions),
        n_members=np.full(n_outputs, N_MEMBERS),
        design=Design.of(np.arange(float(N_MEMBERS))[:, np.newaxis]),
    )


def verdict_by_hand(
    names: Sequence[str],
    attributable: Sequence[bool],
    q2: float | Sequence[float] = 0.5,
    interval: tuple[float, float] = (0.4, 0.6),
) -> Answer:
    """Return a verdict of 60 members on steps of two parts, by three inputs.

    Of a step that is attributable all inputs drive it; each explains half of what the
    inputs before it have left, the first two together the rest of Q².
    """
    n_steps = len(names)
    explained = np.clip(np.broadcast_to(q2, n_steps), 0.0, 1.0)
    first = np.outer(explained, [0.5, 0.25, 0.125])
    together = explained - first.sum(axis=1)
    good = np.array(attributable)[:, np.newaxis] & np.ones(3, dtype=bool)
    found = findings(
        np.where(good, State.DRIVES, State.OPEN),
        first + np.outer(together, [1, 1, 0]),
        first=first,
        q2=q2,
        interval=interval,
        pairs=[(step, 0, 1, share) for step, share in enumerate(together)],
        p_value=np.where(good, 0.01, 1.0),
    )
    even = np.full((N_MEMBERS, 2 * n_steps), 0.5)
    read = read_outputs(even, "verdict_by_hand", steps=dict.fromkeys(names, 2))
    inputs = ("x0", "x1", "x2")
    return make_answer(found, inputs, read, NoSource(), negligible=0.05)
