"""Split rewards into parts with names, in the ways that several tasks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from gflownet_envs.environments.base import Environment
from gflownet_envs.experiments.task import NamedParts, PartEntries
from gflownet_envs.rewards.source import RewardSource, RewardTable
from skpce.inspection import parts_of_table

REST = "the rest"


def sum_as_reward(
    environment: Environment,
) -> Callable[[Mapping[str, np.ndarray]], RewardSource]:
    """Return the function that adds parts over the objects up to log R."""

    def reward(parts: Mapping[str, np.ndarray]) -> RewardSource:
        total = sum(values.reshape(len(values), -1) for values in parts.values())
        return RewardTable(environment, total)

    return reward


def columns_of_levels(
    rows: np.ndarray,  # shape: (n, n_factors), int
    factors: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, np.ndarray]]:
    """Return, per factor and level, the numbers of the rows that have it."""
    return {
        factor: {
            level: np.flatnonzero(column == number)
            for number, level in enumerate(levels)
        }
        for (factor, levels), column in zip(factors.items(), rows.T, strict=True)
    }


def phrases_of_factors(factors: Iterable[str], *, one: str, two: str) -> dict[str, str]:
    """Put factors and pairs of them into words, from templates with ``{}``."""
    names = [name.replace("_", " ") for name in factors]
    pairs = {f"{a} × {b}": two.format(a, b) for a, b in combinations(names, 2)}
    return {name: one.format(name) for name in names} | pairs


def factorial_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    factors: Mapping[str, Sequence[str]],
    *,
    phrases: Mapping[str, str],
    order: int = 2,
    rest: str = REST,
) -> NamedParts:
    """Split log R by functional analysis of variance over the factors of the objects.

    The factors, with the names of their levels, are in the order in which the objects
    are numbered, the last running fastest; ``rest`` names what they do not have
    together. The mean over all objects is left out: it
    changes no policy.
    """
    factors = {name.replace("_", " "): levels for name, levels in factors.items()}
    shape = tuple(map(len, factors.values()))
    table = np.reshape(log_reward, (-1, *shape))
    parts = parts_of_table(table, list(factors), order=order, rest=rest)
    del parts["mean"]
    places = np.indices(shape)
    entries = {}
    for size in range(1, order + 1):
        for chosen in combinations(range(len(shape)), size):
            name = " × ".join(list(factors)[i] for i in chosen)
            entries[name] = _level_entries(factors, places, chosen)
    if rest in parts:
        every = tuple(range(len(shape)))
        entries[rest] = _level_entries(factors, places, every)
    listed = ", ".join(factors)
    return NamedParts(
        f"log R by functional analysis of variance over {listed}",
        parts,
        sum_as_reward(environment),
        phrases,
        entries,
    )


def _level_entries(
    factors: Mapping[str, Sequence[str]],
    places: np.ndarray,  # shape: (n_factors, ...), level numbers of each object
    chosen: tuple[int, ...],
) -> PartEntries:
    """Name every combination of levels of some factors."""
    levels = [list(factors.values())[i] for i in chosen]
    shape = tuple(map(len, levels))
    labels = np.ravel_multi_index(tuple(places[i] for i in chosen), shape)
    names = tuple(
        " | ".join(own[i] for own, i in zip(levels, place, strict=True))
        for place in np.ndindex(shape)
    )
    nouns = " × ".join(list(factors)[i] for i in chosen)
    noun = "combinations of all levels" if len(chosen) == len(factors) else nouns
    return PartEntries(noun, names, labels)


def level_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    factors: Mapping[str, Sequence[str]],
    factor: str,
) -> NamedParts:
    """Split log R by the levels of one factor: their mean, and how each differs."""
    shape = tuple(map(len, factors.values()))
    axis = list(factors).index(factor) + 1
    table = np.reshape(log_reward, (-1, *shape))
    mean = table.mean(axis=axis, keepdims=True)
    deviation = table - mean
    shown = factor.replace("_", " ")
    common = f"all levels of {shown} alike"
    parts = {common: mean - table.mean(axis=tuple(range(1, table.ndim)), keepdims=True)}
    for number, level in enumerate(factors[factor]):
        parts[level] = np.take(deviation, [number], axis=axis)
    levels = tuple(factors[factor])

    def reward(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        own = np.concatenate([chosen[level] for level in levels], axis=axis)
        total = own + chosen[common]
        return RewardTable(environment, total.reshape(len(total), -1))

    return NamedParts(
        f"log R by the levels of {shown}",
        parts,
        reward,
        {common: f"what all levels of {shown} have in common"},
    )


def group_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    groups: Mapping[str, np.ndarray],
    *,
    title: str,
    phrases: Mapping[str, str],
) -> NamedParts:
    """Split log R by groups of objects, each object in one of them."""
    parts = {}
    for name, objects in groups.items():
        parts[name] = np.zeros_like(log_reward)
        parts[name][:, objects] = log_reward[:, objects]
    return NamedParts(title, parts, sum_as_reward(environment), phrases)


def input_parts(
    inputs: np.ndarray,  # shape: (n_members, n_inputs)
    names: Sequence[str],
    reward: Callable[[np.ndarray], RewardSource],
    *,
    title: str,
    phrases: Mapping[str, str],
) -> NamedParts:
    """Take each input of a formula of the reward as a part."""

    def of_parts(parts: Mapping[str, np.ndarray]) -> RewardSource:
        return reward(np.stack([parts[name] for name in names], axis=1))

    parts = dict(zip(names, inputs.T, strict=True))
    return NamedParts(title, parts, of_parts, phrases)


def feature_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    features: np.ndarray,  # shape: (n_objects, n_features)
    names: Sequence[str],
    *,
    title: str,
    phrases: Mapping[str, str],
) -> NamedParts:
    """Split log R by known features of the objects, one after another, and the rest.

    Of each feature that counts which the features before it do not determine
    (Gram–Schmidt); its part is the slope of the member's log R over all objects, for
    one standard deviation. Features that those before determine are left out, as is
    the mean.
    """
    centred = features - features.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    basis, triangle = np.linalg.qr(centred / np.where(scale > 0, scale, 1.0))
    own = np.abs(np.diag(triangle)) > 1e-6
    directions = (basis * np.sign(np.diag(triangle)))[:, own].T
    directions = directions * np.sqrt(len(features))
    rest = log_reward - log_reward.mean(axis=1, keepdims=True)
    slopes = rest @ (directions.T / len(features)).astype(log_reward.dtype)
    known = tuple(name for name, is_own in zip(names, own, strict=True) if is_own)
    for row, slope in zip(rest, slopes, strict=True):
        row -= (slope @ directions).astype(row.dtype)

    def reward(parts: Mapping[str, np.ndarray]) -> RewardSource:
        chosen = np.stack([parts[name] for name in known], axis=1)
        return RewardTable(environment, chosen @ directions + parts[REST])

    parts = dict(zip(known, slopes.T, strict=True)) | {REST: rest}
    return NamedParts(title, parts, reward, phrases)
