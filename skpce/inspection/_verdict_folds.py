"""Folds of a verdict: members of one reward stay together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv

from ._cross_fit import Split
from ._variance_components import reward_labels


def check_replicates(X: Any, reward: Any) -> None:
    """Refuse members of one reward whose inputs differ."""
    if reward is None:
        return
    labels, inputs = reward_labels(reward), np.asarray(X)
    if labels.shape != (len(inputs),):
        raise ValueError(
            f"reward has shape {labels.shape}; expected ({len(inputs)},), one label "
            "per member."
        )
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
    """Return the folds; an int shuffles members, or rewards, into so many.

    Raises
    ------
    ValueError
        If there are too few members or rewards, or a splitter divides a reward.
    """
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
    """Caution when members that are held out have their rows of X in training.

    What an expansion remembers of a row then looks like prediction. Given ``reward``,
    folds hold no such rows but those of different rewards.
    """
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
