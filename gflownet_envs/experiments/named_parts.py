"""Split rewards into parts with names, in the ways that several tasks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.sequences import (
    SequentialSelectionEnvironment,
    TokenSequenceEnvironment,
)
from gflownet_envs.experiments.task import NamedParts, PartEntries
from gflownet_envs.rewards.source import RewardSource, RewardTable

REST = "the rest"
# Parts of sequences that are no positions.
LENGTH, OTHER_PAIRS, KINDS = "length", "other pairs", "equations"


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


def grouped_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    groups: Mapping[str, Sequence[np.ndarray]],
    *,
    title: str,
    phrases: Mapping[str, str],
    entries: Mapping[str, PartEntries],
    rest: str | None = REST,
    **settings: Any,
) -> NamedParts:
    """Split log R by means over groups of objects, one part after another, and a rest.

    ``groups`` has one array or more for each part: the group of each object, counted
    from 0, and −1 for none. The part has the means over these groups of what the parts
    before leave of log R. Where the objects are all combinations of some levels this
    is functional analysis of variance. The mean over all objects is left out: it
    changes no policy. ``rest=None`` says that the parts leave nothing.
    """
    sizes = {
        name: [np.bincount(labels + 1)[1:] for labels in labelled]
        for name, labelled in groups.items()
    }
    parts = {
        name: np.empty((len(log_reward), sum(map(len, own))))
        for name, own in sizes.items()
    }
    if rest is not None:
        parts[rest] = np.empty_like(log_reward)
    for row, own in enumerate(log_reward):
        left = own - own.mean(dtype=np.float64)
        for name, labelled in groups.items():
            means = []
            for labels, size in zip(labelled, sizes[name], strict=True):
                means.append(np.bincount(labels + 1, left)[1:] / size)
                left -= np.append(means[-1], 0.0)[labels]  # 0 where the label is −1
            parts[name][row] = np.concatenate(means)
        if rest is not None:
            parts[rest][row] = left

    def reward(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        n_members = len(next(iter(chosen.values())))
        total = np.zeros((n_members, log_reward.shape[1]))
        if rest is not None:
            total += chosen[rest]
        for name, labelled in groups.items():
            start = 0
            for labels, size in zip(labelled, sizes[name], strict=True):
                means = chosen[name][:, start : start + len(size)]
                total += np.pad(means, ((0, 0), (0, 1))).take(labels, axis=1)
                start += len(size)
        return RewardTable(environment, total)

    return NamedParts(title, parts, reward, phrases, entries, **settings)


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
    together.
    """
    names = [name.replace("_", " ") for name in factors]
    levels = list(factors.values())
    shape = tuple(map(len, levels))
    places = np.indices(shape).reshape(len(shape), -1)
    every = tuple(range(len(shape)))
    groups, entries = {}, {}
    for size in range(1, order + 1):
        for chosen in combinations(every, size):
            name = " × ".join(names[i] for i in chosen)
            sizes = tuple(shape[i] for i in chosen)
            groups[name] = [np.ravel_multi_index(tuple(places[[*chosen]]), sizes)]
            noun = "combinations of all levels" if chosen == every else name
            entries[name] = _combinations(noun, [levels[i] for i in chosen], " | ")
    has_rest = order < len(shape)
    if has_rest:
        entries[rest] = _combinations("combinations of all levels", levels, " | ")
    return grouped_parts(
        environment,
        log_reward,
        groups,
        title=f"log R by functional analysis of variance over {', '.join(names)}",
        phrases=phrases,
        entries=entries,
        rest=rest if has_rest else None,
    )


def _combinations(
    noun: str, levels: Sequence[Sequence[str]], between: str, n_times: int = 1
) -> PartEntries:
    """Name all combinations of levels, of numbers that a part has so many times."""
    names = tuple(map(between.join, product(*levels)))
    return PartEntries(noun, names, np.tile(np.arange(len(names)), n_times))


def sequence_parts(
    environment: TokenSequenceEnvironment | SequentialSelectionEnvironment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    *,
    nouns: tuple[str, str],
    kinds: Mapping[str, np.ndarray] | None = None,
    **settings: Any,
) -> NamedParts:
    """Split log R by length, position and neighbouring positions.

    Functional analysis of variance of log R, of each length by itself. Its means, main
    effects and pairs are parts, each over all lengths: the main effect of a position
    says which token stands there. ``nouns`` are what a token is and what tokens are.
    ``kinds`` are sets of objects whose means of what is left are a part.
    """
    one_token, many = nouns
    names = environment.step_names
    tokens, shortest = _alphabet(environment)
    rows = [
        np.pad(
            np.indices((len(tokens),) * length).reshape(length, len(tokens) ** length),
            ((0, len(names) - length), (0, 0)),
        )
        for length in range(shortest, len(names) + 1)
    ]
    lengths = np.repeat(range(shortest, len(names) + 1), [own.shape[1] for own in rows])
    token = np.concatenate(rows, axis=1)  # (n_positions, n_objects)
    groups: dict[str, list[np.ndarray]] = {}
    phrases: dict[str, str] = {}
    entries: dict[str, PartEntries] = {}

    def add(part: str, phrase: str, *sets: tuple[int, ...]) -> None:
        """Group the objects by length and by their tokens at sets of positions."""
        groups[part], phrases[part] = [], phrase
        for positions in sets:
            first = max(shortest, *(t + 1 for t in positions), 0)
            label = lengths - first
            for t in positions:
                label = len(tokens) * label + token[t]
            label = np.where(lengths >= first, label, -1)
            groups[part].append(label.astype(np.int32))
        if positions and part != OTHER_PAIRS:
            noun = "tokens" if len(positions) == 1 else "pairs of tokens"
            n_lengths = len(names) + 1 - first
            levels = [tokens] * len(positions)
            entries[part] = _combinations(noun, levels, " ", n_lengths)

    if shortest < len(names):  # else it is one number, which changes no policy
        add(LENGTH, "how long the sequence is", ())
        every = [f"{length} tokens" for length in range(shortest, len(names) + 1)]
        entries[LENGTH] = _combinations("lengths", [every], "")
    for t, name in enumerate(names):
        add(name, f"which {one_token} stands at position {t + 1}", (t,))
    for t, pair in enumerate(pairwise(names)):
        phrase = f"which {many} stand at positions {t + 1} and {t + 2}"
        add(" × ".join(pair), phrase, (t, t + 1))
    pairs = combinations(range(len(names)), 2)
    apart = [(one, two) for one, two in pairs if two > one + 1]
    if apart:
        phrase = f"pairs of {many} that do not follow one another"
        add(OTHER_PAIRS, phrase, *apart)
    if kinds:
        groups[KINDS] = [np.full(len(lengths), -1)]
        for number, objects in enumerate(kinds.values()):
            groups[KINDS][0][objects] = number
        phrases[KINDS] = "whether the sequence is an equation, right or wrong"
        entries[KINDS] = _combinations("kinds", [list(kinds)], "")
    phrases[REST] = f"what more than two {many} make together"
    return grouped_parts(
        environment,
        log_reward,
        groups,
        title=f"log R by functional analysis of variance over the positions of {many}",
        phrases=phrases,
        entries=entries,
        **settings,
    )


def _alphabet(
    environment: TokenSequenceEnvironment | SequentialSelectionEnvironment,
) -> tuple[tuple[str, ...], int]:
    """Return what may stand at a position, and the least length."""
    if isinstance(environment, TokenSequenceEnvironment):
        end = environment.end_token
        tokens = tuple(t for t in environment.action_names if t != end)
        return tokens, environment.max_length if end is None else 0
    alphabets = {tuple(levels) for levels in environment.levels.values()}
    if len(alphabets) > 1:
        raise ValueError(
            f"environment must have the same levels everywhere, got {environment.name}"
        )
    return alphabets.pop(), len(environment.levels)


def level_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    factors: Mapping[str, Sequence[str]],
    factor: str,
) -> NamedParts:
    """Split log R by the levels of one factor: their mean, and how each differs."""
    axis = list(factors).index(factor) + 1
    table = np.reshape(log_reward, (-1, *map(len, factors.values())))
    mean = table.mean(axis=axis, keepdims=True)
    shown, levels = factor.replace("_", " "), tuple(factors[factor])
    common = f"all levels of {shown} alike"
    own = np.split(table - mean, len(levels), axis=axis)
    all_objects = tuple(range(1, table.ndim))
    parts = {common: mean - table.mean(axis=all_objects, keepdims=True)}
    parts |= dict(zip(levels, own, strict=True))

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

    def reward(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        return RewardTable(environment, sum(chosen.values()))

    return NamedParts(title, parts, reward, phrases)


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
