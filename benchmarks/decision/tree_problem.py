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

from benchmarks.studies.closed_loop_arms import policies_of_tree

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
        return policies_of_tree(REWARD_EXPONENT * self.utilities(X), WIDTHS)
