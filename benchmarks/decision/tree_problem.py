"""A tree whose rewards are known functions of a few inputs, and its exact policies.

Three decisions (4, 3 and 3 actions) lead to 36 leaves. The utility of leaf ``l`` at
inputs ``x``, four independent standard normal numbers, is

    u_l(x) = m_l + sqrt(0.8) a_l.x + sqrt(0.2) b_l.(x**2 - 1) / sqrt(2)

with ``m_l`` of standard deviation 0.5 and ``a_l``, ``b_l`` of expected squared length
one: each utility has a variance near 1 over the inputs. The exact policy for the
reward ``exp(4 u)`` goes from a node to a child with the child's share of the reward
below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

WIDTHS = (4, 3, 3)
N_INPUTS = 4
REWARD_EXPONENT = 4.0


@dataclass(frozen=True)
class TreeProblem:
    """Coefficients of the utilities; one row per leaf."""

    mean: np.ndarray
    slopes: np.ndarray
    squares: np.ndarray

    @classmethod
    def draw(cls, rng: np.random.Generator) -> TreeProblem:
        n_leaves = int(np.prod(WIDTHS))
        shape = (n_leaves, N_INPUTS)
        scale = 1.0 / np.sqrt(N_INPUTS)
        return cls(
            rng.normal(scale=0.5, size=n_leaves),
            rng.normal(scale=scale * np.sqrt(0.8), size=shape),
            rng.normal(scale=scale * np.sqrt(0.2), size=shape),
        )

    def utilities(self, X: np.ndarray) -> np.ndarray:  # shape: (n, n_leaves)
        return (
            self.mean
            + X @ self.slopes.T
            + (np.square(X) - 1.0) @ self.squares.T / np.sqrt(2.0)
        )

    def policies(self, X: np.ndarray) -> np.ndarray:  # shape: (n, n_parts)
        """Exact policies at all nodes, level by level, side by side."""
        log_reward = REWARD_EXPONENT * self.utilities(X)
        levels = []
        for depth in range(len(WIDTHS)):
            children = int(np.prod(WIDTHS[: depth + 1]))
            flows = logsumexp(log_reward.reshape(len(X), children, -1), axis=2)
            nodes = flows.reshape(len(X), -1, WIDTHS[depth])
            levels.append(softmax(nodes, axis=2).reshape(len(X), -1))
        return np.hstack(levels)


def node_widths() -> tuple[int, ...]:
    """Number of actions of each node, level by level."""
    widths: list[int] = []
    for depth, width in enumerate(WIDTHS):
        widths += [width] * int(np.prod(WIDTHS[:depth]))
    return tuple(widths)


def walk(actions: np.ndarray) -> int:
    """Return the leaf that is reached with one action given at every node."""
    first, node = 0, 0
    for depth, width in enumerate(WIDTHS):
        action = int(actions[first + node])
        first += int(np.prod(WIDTHS[:depth]))
        node = node * width + action
    return node


def act(policy: np.ndarray, greedy: bool, rng: np.random.Generator) -> int:
    """Walk with a policy (n_parts,) at all nodes; return the leaf."""
    ends = np.cumsum(node_widths())
    blocks = np.split(policy, ends[:-1])
    if greedy:
        return walk(np.array([block.argmax() for block in blocks]))
    return walk(np.array([rng.choice(len(b), p=b / b.sum()) for b in blocks]))
