"""One decision: which action in which step, and by which policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray, fail
from .._compositions.steps import StepLayout


@dataclass(frozen=True, eq=False)
class Decision:
    """One action in each of the steps that were asked for.

    Parameters
    ----------
    steps : tuple of str
        Names of the steps.
    actions : ndarray of int of shape (n_steps,)
        Position of the action within its step.
    labels : tuple of str
        Names of the actions.
    policy : tuple of ndarray
        Per step, what the action was taken by: probabilities, or shares of votes.
    inputs : ndarray of shape (n_features,) or None
        The draw of the inputs behind all steps; None for the rules that use many.
    """

    steps: tuple[str, ...]
    actions: IndexArray
    labels: tuple[str, ...]
    policy: tuple[FloatArray, ...]
    inputs: FloatArray | None

    def __str__(self) -> str:
        return ", ".join(
            f"{step}: {label} ({policy[action]:.2f})"
            for step, label, policy, action in zip(
                self.steps, self.labels, self.policy, self.actions, strict=True
            )
        )


def decide(
    policy: FloatArray,  # shape: (n_parts,)
    inputs: FloatArray | None,
    layout: StepLayout,
    steps: Sequence[int],
    greedy: bool,
    generator: np.random.Generator,
) -> Decision:
    """Take one action in each step, the likeliest one or one by its probability."""
    blocks = tuple(policy[layout.slices[step]] for step in steps)
    take = most_likely if greedy else drawn
    actions = np.array([take(block, generator) for block in blocks], dtype=np.int64)
    starts = np.array([layout.slices[step].start for step in steps], dtype=np.int64)
    return Decision(
        tuple(str(layout.step_names[step]) for step in steps),
        actions,
        tuple(str(layout.part_names[part]) for part in starts + actions),
        blocks,
        inputs,
    )


def most_likely(block: FloatArray, generator: np.random.Generator) -> int:
    """Return a largest entry; of several one at random."""
    largest = np.flatnonzero(block == block.max())
    return int(largest[0] if len(largest) == 1 else generator.choice(largest))


def vote_shares(policies: FloatArray, layout: StepLayout) -> FloatArray:
    """Return the share of the votes of each part, (n_parts,).

    In each step each policy votes for its likeliest action; several equal ones share
    the vote.
    """
    shares = np.empty(policies.shape[1])
    for columns in layout.slices:
        ballots = policies[:, columns]
        best = ballots == ballots.max(axis=1, keepdims=True)
        shares[columns] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def drawn(block: FloatArray, generator: np.random.Generator) -> int:
    """Return an entry drawn by its probability; never one of probability 0."""
    reached = np.cumsum(block)
    point = generator.uniform() * reached[-1]
    return int(np.searchsorted(reached, point, side="right"))


def read_steps(owner: str, steps: Any, layout: StepLayout) -> list[int]:
    """Return positions of steps given by name or position; None means all.

    Raises
    ------
    ValueError
        For a step that does not exist.
    """
    if steps is None:
        return list(range(layout.n_steps))
    names = [str(name) for name in layout.step_names]
    is_one = isinstance(steps, (str, int, np.integer))
    try:
        given = [steps] if is_one else list(steps)
    except TypeError:
        raise fail(owner, "steps", f"None, or some of {names}", steps) from None
    found = []
    for step in given:
        is_position = isinstance(step, (int, np.integer)) and not isinstance(step, bool)
        if is_position and 0 <= step < len(names):
            found.append(int(step))
        elif isinstance(step, str) and step in names:
            found.append(names.index(step))
        else:
            expected = f"None, or some of {names} or of their positions"
            raise fail(owner, "steps", expected, steps)
    if not found:
        raise fail(owner, "steps", f"None, or some of {names}", steps)
    return found
