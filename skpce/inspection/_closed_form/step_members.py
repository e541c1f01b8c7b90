"""The members of a step, and their products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._checks import FloatArray


@dataclass(frozen=True)
class StepMembers:
    """Centred log-ratios of one step, about their mean over all members."""

    values: FloatArray  # (n_members, n_parts)

    @cached_property
    def squares(self) -> FloatArray:  # (n_members,)
        """Sum of squares of each member."""
        return np.einsum("ik,ik->i", self.values, self.values)

    @cached_property
    def products(self) -> FloatArray:  # (n_members, n_members)
        """The Gram matrix."""
        return self.values @ self.values.T

    @property
    def total(self) -> float:
        """Sum of squares of all members."""
        return float(self.squares.sum())

    def times(self, vectors: FloatArray, out: FloatArray) -> None:
        """Multiply by the Gram matrix, or by its factors if these are narrow.

        Both of shape (n_members, n_vectors).
        """
        n_members, n_parts = self.values.shape
        if 2 * n_parts < n_members:
            np.matmul(self.values, self.values.T @ vectors, out=out)
        else:
            np.matmul(self.products, vectors, out=out)
