r"""Members of one reward: folds that hold them together, dispersion between and within.

Two kinds of dispersion are split, with the figures that are left when one group is
taken out, for a jackknife over groups.

- Of a convex function :math:`\varphi`: the sum of :math:`\varphi(x_i)` less
  :math:`N \varphi(\bar x)`. With :math:`\varphi(x) = \lVert x \rVert^2` this is a
  sum of squares, with :math:`\varphi(p) = \sum_k p_k \log p_k` a sum of
  Kullback-Leibler divergences to the mean. Either adds up over groups and within
  groups exactly.
- Of pairs: the mean distance of two members of the same, or of different groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.model_selection import GroupKFold, KFold, check_cv

from .._checks import FloatArray, IndexArray
from ._cross_fit import Split


def check_replicates(X: Any, reward: Any) -> None:
    """Refuse members of one reward whose inputs differ."""
    if reward is None:
        return
    inputs = np.asarray(X)
    labels = _reward_labels(reward, len(inputs))
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    reference = inputs[first[group]]
    same = (inputs == reference) | ((inputs != inputs) & (reference != reference))
    if inputs.dtype.kind == "f":  # rounding of an isometry such as a PCA is no change
        largest = np.abs(inputs).max(axis=0, initial=0.0, where=~np.isnan(inputs))
        same |= np.abs(inputs - reference) <= 1e-9 * largest
    differs = ~same.reshape(len(inputs), -1).all(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"Members {int(first[group][row])} and {row} have the reward "
            f"{labels[row].item()!r} but other rows of X. Replicates share their "
            "inputs: give X before any embedding that is random."
        )


def make_splits(
    cv: Any, X: Any, reward: Any, generator: np.random.Generator
) -> list[Split]:
    """Return the folds; an int shuffles members, or rewards, into so many."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        n_units = len(X) if reward is None else len(np.unique(np.asarray(reward)))
        if not 2 <= cv <= n_units:
            kind = "members" if reward is None else "different rewards"
            raise ValueError(
                f"cv must be an int in the range [2, {n_units}], the number of {kind}, "
                f"or a splitter. Got {cv!r} instead."
            )
        seed = int(generator.integers(2**31 - 1))
        if reward is None:
            splitter: Any = KFold(int(cv), shuffle=True, random_state=seed)
        else:
            splitter = GroupKFold(int(cv), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv)
    splits = list(splitter.split(X, groups=reward))
    _refuse_leaks(splits, reward)
    return splits


def repetition_caution(X: Any, reward: Any, splits: Sequence[Split]) -> tuple[str, ...]:
    """Caution when members that are held out have their rows of X in training."""
    if reward is not None:
        return ()
    numbers: dict[tuple[Any, ...], int] = {}
    rows = np.asarray(X).tolist()
    row = np.array([numbers.setdefault(tuple(one), len(numbers)) for one in rows])
    seen = [np.isin(row[test], row[train]) for train, test in splits]
    repeated = int(sum(found.sum() for found in seen))
    if not repeated:
        return ()
    tested = sum(len(found) for found in seen)
    return (
        f"{repeated} of {tested} held-out members have a row of X that is in their "
        "training fold too; if members with equal rows are replicates, Q² and p are "
        "too good: give reward=",
    )


def _refuse_leaks(splits: list[Split], reward: Any) -> None:
    """Refuse folds that divide the members of one reward."""
    if reward is None:
        return
    labels = np.asarray(reward)
    for train, test in splits:
        shared = np.intersect1d(labels[train], labels[test])
        if shared.size:
            raise ValueError(
                f"cv puts members of the reward {shared[0].item()!r} both into "
                "training and into test; use a splitter that respects groups, such "
                "as sklearn.model_selection.GroupKFold, or an int."
            )


_LARGEST_BLOCK = 512  # members whose distances to all others are held at once


def _reward_labels(reward: Any, n_members: int) -> NDArray[Any]:
    """Return labels that can be sorted; refuse missing and mixed ones."""
    labels = np.asarray(reward)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("reward has NaN labels; give one label per member.")
    kinds = {type(label).__name__ for label in labels.ravel().tolist()}
    if labels.dtype.kind == "O" and len(kinds) > 1:
        raise ValueError(
            f"reward has labels of the kinds {', '.join(sorted(kinds))}; give one "
            "label per member, all strings or all numbers."
        )
    if labels.shape != (n_members,):
        raise ValueError(
            f"reward has shape {labels.shape}; expected ({n_members},), one label "
            "per member."
        )
    return labels


def reward_groups(reward: Any, n_members: int) -> IndexArray:
    """Number the rewards; refuse labels that do not fit the members or never repeat."""
    labels = _reward_labels(reward, n_members)
    names, group = np.unique(labels, return_inverse=True)
    if len(names) == n_members:
        raise ValueError(
            "reward has no replicates: every member has a label of its own, so the "
            "noise of training cannot be separated from the effect of the reward."
        )
    if len(names) < 2:
        raise ValueError(
            f"reward has one label only, {names[0].item()!r}; the share of training "
            "noise needs at least two rewards (or control= for one fixed reward)."
        )
    return group


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
    """Sums over groups for the dispersion of a convex function."""

    function: Callable[[FloatArray], FloatArray]  # (..., n_columns) to (..., n_steps)
    sizes: FloatArray  # (n_groups,): sum of the weights
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
        sizes: Any = np.bincount(group, weights)
        sums = add_by_group(weights[:, np.newaxis] * values, group)
        members = add_by_group(weights[:, np.newaxis] * function(values), group)
        size = sizes[:, np.newaxis]
        return cls(function, sizes, sums, members, size * function(sums / size))

    def components(self, leave_out: bool = False) -> Components:
        """One-way random effects by analysis of variance, for unequal group sizes."""
        size = _total(self.sizes[:, np.newaxis], leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        of_means = _total(self.of_means, leave_out)
        within = (_total(self.of_members, leave_out) - of_means) / (size - n_groups)
        between = of_means - size * self.function(_total(self.sums, leave_out) / size)
        square = _total(np.square(self.sizes)[:, np.newaxis], leave_out)
        typical = (size - square / size) / (n_groups - 1)
        within = np.maximum(within, 0.0)
        return Components(
            (between / (n_groups - 1) - within) / typical, within, 1.0 / typical
        )

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Dispersion of the group means over the number of members less one."""
        size = _total(self.sizes[:, np.newaxis], leave_out)
        mean = _total(self.sums, leave_out) / size
        between = _total(self.of_means, leave_out) - size * self.function(mean)
        return np.maximum(between, 0.0) / (size - 1)


@dataclass(frozen=True)
class PairSums:
    """Sums over groups for the dispersion of pairs."""

    sizes: FloatArray  # (n_groups,): sum of the weights
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
        to_all = np.stack(
            [weights * _distances_to(parts, parts, weights) for parts in steps], axis=1
        )
        sizes: Any = np.bincount(group, weights)
        return cls(sizes, own, add_by_group(to_all, group))

    def components(self, leave_out: bool = False) -> Components:
        """Mean distance within groups, and how much more between them (DISCO)."""
        size = _total(self.sizes[:, np.newaxis], leave_out)
        square = _total(np.square(self.sizes)[:, np.newaxis], leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        within = _total(self.own / self.sizes[:, np.newaxis], leave_out) / (
            size - n_groups
        )
        other = self._all_pairs(leave_out) - _total(self.own, leave_out)
        different = other / (size**2 - square)
        return Components(different - within, within, np.ones_like(size))

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Mean distance of two members."""
        size = _total(self.sizes[:, np.newaxis], leave_out)
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
    starts = range(0, len(parts), _LARGEST_BLOCK)
    return 0.5 * np.concatenate(
        [
            cdist(parts[start : start + _LARGEST_BLOCK], others, "cityblock") @ weights
            for start in starts
        ]
    )


def add_by_group(values: FloatArray, group: IndexArray) -> FloatArray:
    """Add up the rows of each group; shape (n_groups, ...)."""
    sums = np.zeros((group.max() + 1, *values.shape[1:]))
    np.add.at(sums, group, values)
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
        half = student_quantile(confidence_level, n_groups - 1) * error
        found = np.exp(np.stack([centre - half, centre + half])) - pivot
    return np.where(np.isfinite(half) & (n_groups > 2), found, np.nan)


def student_quantile(confidence_level: float, freedom: Any) -> Any:
    """Return the two-sided quantile of Student's law."""
    return stats.t.ppf(0.5 + confidence_level / 2, freedom)
