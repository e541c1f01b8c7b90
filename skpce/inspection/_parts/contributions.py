"""Effects of parts as means over draws of recombined members, with standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..._checks import FloatArray, IndexArray
from ..._compositions.outputs import Outputs
from .recombination import Solver


@dataclass(frozen=True, eq=False)
class Contributions:
    """Half squared distances of each draw, of which all effects are means."""

    outputs: Outputs
    members: IndexArray  # (2, n_draws, n_parts): those of A and of B
    first: FloatArray  # (n_draws, n_coordinates): of A
    second: FloatArray  # (n_draws, n_coordinates): of B
    parts: list[FloatArray]  # each (n_draws, n_coordinates): of A with a part of B
    sets: list[FloatArray]  # the same: of A with several parts of B
    by_group: bool = True  # else by coordinate

    @classmethod
    def solve(
        cls, solver: Solver, members: IndexArray, sets: Iterable[IndexArray]
    ) -> Contributions:
        """Solve for A, for B, and for A with each part, and each set, of B."""
        first, second = members

        def exchanged(places: Iterable[Any]) -> list[FloatArray]:
            found = []
            for place in places:
                rows = first.copy()
                rows[:, place] = second[:, place]
                found.append(solver.of_members(rows))
            return found

        return cls(
            solver.outputs,
            members,
            solver.of_members(first),
            solver.of_members(second),
            exchanged(range(first.shape[1])),
            exchanged(sets),
        )

    @cached_property
    def sharing(self) -> list[csr_array]:
        """Of each part, which member is in which draw; (n_members, n_draws)."""
        n_draws = self.members.shape[1]
        draws = np.tile(np.arange(n_draws), 2)
        ones = np.ones(2 * n_draws)
        return [
            csr_array((ones, (members.ravel(), draws)))
            for members in np.moveaxis(self.members, 2, 0)
        ]

    def add_up(self, values: FloatArray) -> FloatArray:
        """Add up coordinates in groups."""
        return self.outputs.sum_by_group(values) if self.by_group else values

    def between(
        self, one: FloatArray, two: FloatArray
    ) -> FloatArray:  # shape: (n_draws, n_groups)
        """Return half the squared distance of two recombinations of each draw."""
        return self.add_up(0.5 * np.square(one - two))

    @cached_property
    def whole(self) -> FloatArray:  # shape: (n_draws, n_groups)
        """From A to B, of which the mean is the variance."""
        return self.between(self.first, self.second)

    def total(self, exchanged: FloatArray) -> FloatArray:
        """From A to A with something of B: what it causes with all interactions.

        Of independent draws the mean has no bias: ``recombination_total``, checked in
        ``lean/Core``.
        """
        return self.between(self.first, exchanged)

    def closed(self, exchanged: FloatArray) -> FloatArray:
        """What is left of the whole: what something causes alone.

        Of independent draws the mean has no bias: ``recombination_closed``, checked in
        ``lean/Core`` for the variance itself in place of ``whole``.
        """
        return self.whole - self.between(exchanged, self.second)

    def shares(
        self, **columns: Iterable[FloatArray]
    ) -> dict[str, FloatArray]:  # each of shape (n_groups, n_values)
        """Return means of values of draws as shares of the variance, with errors."""
        varies = self.add_up(self.outputs.spread(self.first)) > 0
        sums = np.where(varies, self.whole.sum(axis=0), np.nan)[:, np.newaxis]
        table: dict[str, FloatArray] = {}
        for name, values in columns.items():
            stacked = np.stack(list(values), axis=2)
            table[name] = stacked.sum(axis=0) / sums
            whole = np.broadcast_to(self.whole[:, :, np.newaxis], stacked.shape)
            flat = (len(stacked), -1)
            residuals = (stacked - table[name] * whole).reshape(flat)
            errors = self._standard_error(residuals, whole.reshape(flat))
            table[f"{name}_error"] = errors.reshape(table[name].shape)
        return table

    def variance_ratio(
        self, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return the variance of the draws over a given one, with its error."""
        scaled = self.whole / np.where(variance > 0, variance, np.nan)
        mean = scaled.mean(axis=0)
        return mean, self._standard_error(scaled - mean, np.ones_like(scaled))

    def closed_and_total(
        self, exchanged: Sequence[FloatArray], name: str = "closed"
    ) -> dict[str, FloatArray]:
        """Return closed and total effects, with errors; (n_groups, n_exchanged)."""
        closed, total = map(self.closed, exchanged), map(self.total, exchanged)
        return self.shares(**{name: closed, "total": total})

    def _standard_error(
        self,
        residuals: FloatArray,  # shape: (n_draws, n_groups)
        weights: FloatArray,  # shape: (n_draws, n_groups)
    ) -> FloatArray:  # shape: (n_groups,)
        r"""Return the standard error of a ratio of means over draws that share members.

        Each draw depends on two members for each part. With :math:`\zeta_p` the
        variance of its expectation given one of them (Hoeffding's first projection),
        :math:`\sigma^2` that of a draw and :math:`c_{pi}` the number of draws of the
        member :math:`i` for the part :math:`p`, a mean over :math:`m` draws has the
        variance :math:`\sigma^2 / m + \sum_p \zeta_p (\sum_i c_{pi}^2 - 2 m) / m^2`.
        A draw, or all draws of a member, count by what the ratio changes when they are
        left out (jackknife): the ratio's own denominator has seen them. Each estimate
        of :math:`\zeta_p` is clipped at 0, which is conservative where there are many
        parts: unbiased sums are of so few members too uncertain for their root.
        """
        n_draws = len(residuals)
        sums = weights.sum(axis=0)
        alone = (n_draws - 1) * residuals / _positive(sums - weights)
        sigma = np.square(alone).sum(axis=0) / (n_draws - 1)
        plain = n_draws * residuals / _positive(sums)
        squares = 2.0 * np.square(plain).sum(axis=0)
        projections, shared = np.zeros_like(sigma), np.zeros_like(sigma)
        for sharing in self.sharing:
            counts = np.diff(sharing.indptr).astype(np.float64)
            of_member = sharing[counts > 0]
            counts = counts[counts > 0][:, np.newaxis]
            n_used, n_places = len(counts), 2 * n_draws
            if n_places <= n_used or n_used < 3:
                continue
            summed, weighed = of_member @ residuals, of_member @ weights
            rest = _positive(sums - weighed) * counts
            without = (n_draws - counts) * summed / rest
            between = (counts * np.square(without)).sum(axis=0)
            within = squares - (np.square(of_member @ plain) / counts).sum(axis=0)
            size = (n_places - np.square(counts).sum() / n_places) / (n_used - 1)
            zeta = (between / (n_used - 1) - within / (n_places - n_used)) / size
            # Members differ from the mean of all by (n - 2) / (n - 1) of themselves:
            # their partners are the others.
            zeta = np.maximum(zeta, 0.0) * ((n_used - 1) / (n_used - 2)) ** 2
            projections += zeta
            shared += zeta * (np.square(counts).sum() - n_places)
        # No more than all the variance of a draw can be due to single members.
        too_much = 2.0 * projections > sigma
        scale = np.divide(
            sigma, 2.0 * projections, out=np.ones_like(sigma), where=too_much
        )
        return np.sqrt(sigma / n_draws + scale * np.maximum(shared, 0.0) / n_draws**2)


def _positive(values: FloatArray) -> FloatArray:
    """Return positive values, NaN in place of others."""
    return np.where(values > 0, values, np.nan)
