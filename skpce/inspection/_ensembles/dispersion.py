r"""Dispersion between and within groups of members, and its jackknife.

- Of a convex function :math:`\varphi`: the sum of :math:`\varphi(x_i)` less
  :math:`N \varphi(\bar x)`. With :math:`\varphi(x) = \lVert x \rVert^2` this is a
  sum of squares, with :math:`\varphi(p) = \sum_k p_k \log p_k` a sum of
  Kullback-Leibler divergences to the mean. Either adds up over groups and within
  groups exactly.
- Of pairs: the mean distance of two members of the same, or of different groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist

from ..._checks import FloatArray, IndexArray

_LARGEST_BLOCK = 512  # members whose distances to all others are held at once


@dataclass(frozen=True)
class Components:
    """What a dispersion is made of; every array ends in (n_steps,)."""

    between: FloatArray  # between groups without that within them; may be negative
    within: FloatArray  # within groups
    pivot: FloatArray  # ``between / within`` may not fall below minus this

    @property
    def ratio(self) -> FloatArray:
        """``between / within``; inf without dispersion within."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.between / self.within


@dataclass(frozen=True)
class ConvexSums:
    """Sums over groups for the dispersion of a convex function: it adds up exactly."""

    function: Callable[[FloatArray], FloatArray]  # (..., n_columns) to (..., n_steps)
    sizes: FloatArray  # (n_groups, 1): sum of the weights
    sums: FloatArray  # (n_groups, n_columns): weighted sums of the values
    of_members: FloatArray  # (n_groups, n_steps): sums of its values
    of_means: FloatArray  # the same for the group means

    @classmethod
    def of(
        cls,
        function: Callable[[FloatArray], FloatArray],
        values: FloatArray,  # shape: (n_members, n_columns)
        group: IndexArray,  # shape: (n_members,)
        weights: FloatArray,  # shape: (n_members,)
    ) -> ConvexSums:
        sizes = _add_by_group(np.ones((len(values), 1)), group, weights)
        sums = _add_by_group(values, group, weights)
        members = _add_by_group(function(values), group, weights)
        return cls(function, sizes, sums, members, sizes * function(sums / sizes))

    def components(self, leave_out: bool = False) -> Components:
        """One-way random effects by analysis of variance, for unequal group sizes."""
        size = _total(self.sizes, leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        of_means = _total(self.of_means, leave_out)
        within = (_total(self.of_members, leave_out) - of_means) / (size - n_groups)
        between = of_means - size * self.function(_total(self.sums, leave_out) / size)
        square = _total(np.square(self.sizes), leave_out)
        typical = (size - square / size) / (n_groups - 1)
        within = np.maximum(within, 0.0)
        return Components(
            (between / (n_groups - 1) - within) / typical, within, 1.0 / typical
        )

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Dispersion of the group means over the number of members less one."""
        size = _total(self.sizes, leave_out)
        mean = _total(self.sums, leave_out) / size
        between = _total(self.of_means, leave_out) - size * self.function(mean)
        return np.maximum(between, 0.0) / (size - 1)


@dataclass(frozen=True)
class PairSums:
    """Sums over groups for the dispersion of pairs."""

    sizes: FloatArray  # (n_groups, 1): sum of the weights
    own: FloatArray  # (n_groups, n_steps): weighted distances of members to their group
    all: FloatArray  # the same to all members

    @classmethod
    def of(
        cls,
        steps: list[FloatArray],  # each of shape (n_members, n_parts)
        group: IndexArray,
        weights: FloatArray,
    ) -> PairSums:
        """Sum total variation distances, one array of parts per step."""
        members = [np.flatnonzero(group == name) for name in range(group.max() + 1)]

        def own_of(rows: IndexArray, parts: FloatArray) -> Any:
            distances = _distances_to(parts[rows], parts[rows], weights[rows])
            return weights[rows] @ distances

        own = np.array([[own_of(rows, parts) for parts in steps] for rows in members])
        to_all = [_distances_to(parts, parts, weights) for parts in steps]
        sizes = _add_by_group(np.ones((len(group), 1)), group, weights)
        return cls(sizes, own, _add_by_group(np.stack(to_all, axis=1), group, weights))

    def components(self, leave_out: bool = False) -> Components:
        """Mean distance within groups, and how much more between them (DISCO)."""
        size = _total(self.sizes, leave_out)
        square = _total(np.square(self.sizes), leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        within = _total(self.own / self.sizes, leave_out) / (size - n_groups)
        other = self._all_pairs(leave_out) - _total(self.own, leave_out)
        different = other / (size**2 - square)
        return Components(different - within, within, np.ones_like(size))

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Mean distance of two members."""
        size = _total(self.sizes, leave_out)
        return self._all_pairs(leave_out) / (size * (size - 1))

    def _all_pairs(self, leave_out: bool) -> FloatArray:
        total = self.all.sum(axis=0)
        return total - 2 * self.all + self.own if leave_out else total


def _total(per_group: FloatArray, leave_out: bool) -> FloatArray:
    """Sum over all groups, or over all but each one in turn."""
    total = per_group.sum(axis=0)
    return total - per_group if leave_out else total


def _distances_to(
    parts: FloatArray, others: FloatArray, weights: FloatArray
) -> FloatArray:
    """Sum weighted total variation distances to all others; shape (n_members,)."""
    blocks = np.split(parts, range(_LARGEST_BLOCK, len(parts), _LARGEST_BLOCK))
    return 0.5 * np.concatenate(
        [cdist(block, others, "cityblock") @ weights for block in blocks]
    )


def _add_by_group(
    values: FloatArray, group: IndexArray, weights: FloatArray
) -> FloatArray:  # shape: (n_groups, n_columns)
    """Add up the weighted rows of each group."""
    sums = np.zeros((group.max() + 1, values.shape[1]))
    np.add.at(sums, group, weights[:, np.newaxis] * values)
    return sums


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """Return the standard error from estimates without each group; (n_steps,)."""
    n_groups = len(left_out)
    centred = left_out - left_out.mean(axis=0)
    return np.sqrt((n_groups - 1) / n_groups * np.square(centred).sum(axis=0))


def ratio_interval(
    whole: Components, without: Components, confidence_level: float
) -> FloatArray:  # shape: (2, n_steps)
    """Return an interval of ``between / within`` by the jackknife of its logarithm."""
    n_groups = len(without.between)
    pivot = np.maximum(whole.pivot, without.pivot.max(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = jackknife_error(np.log(pivot + without.ratio))
        centre = np.log(pivot + whole.ratio)
        half = stats.t.ppf(0.5 + confidence_level / 2, n_groups - 1) * error
        found = np.exp(np.stack([centre - half, centre + half])) - pivot
    return np.where(np.isfinite(half) & (n_groups > 2), found, np.nan)
