"""Named parts of a process reward: tokens at positions, and the labels it saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from torch import Tensor

from gflownet_envs.environments.selection import SequentialSelectionEnvironment
from gflownet_envs.environments.sequences import TokenSequenceEnvironment
from gflownet_envs.experiments.named_parts import REST
from gflownet_envs.experiments.task import NamedParts, PartEntries
from gflownet_envs.rewards.process_reward import (
    ProcessReward,
    ProcessRewardSpec,
    retrain_process_reward,
)
from gflownet_envs.rewards.source import RewardTable
from skpce.inspection import parts_of_table

LENGTH = "length"
OTHER_PAIRS = "other pairs"
KINDS = "equations"

# Numbers of tables of log R that are split at once.
_VALUES_AT_ONCE = 2**22


@dataclass(frozen=True)
class _Block:
    """An effect of some positions in the sequences of one length."""

    length: int
    positions: tuple[int, ...]
    place: slice  # of the effect in its part


class SequenceParts:
    """Functional analysis of variance of log R, of each length by itself.

    The sequences of one length are a table with a factor for each position. Its mean,
    main effects and pairs are parts, each over all lengths: the main effect of a
    position says which token stands there. Of what is left, the mean over each of some
    sets of objects, the `kinds`, is a part too, and taken off before the rest. Parts of
    positions are orthogonal to one another; the kinds are a projection of what the
    positions leave.
    """

    def __init__(
        self,
        environment: TokenSequenceEnvironment | SequentialSelectionEnvironment,
        kinds: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.environment, self.kinds = environment, dict(kinds or {})
        self.positions = environment.step_names
        self.tokens, shortest = _alphabet(environment)
        self.lengths = range(shortest, len(self.positions) + 1)
        counts = [len(self.tokens) ** length for length in self.lengths]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).tolist()

    @cached_property
    def blocks(self) -> dict[str, tuple[_Block, ...]]:
        """What each part of tokens is made of."""
        names, positions = self.positions, range(len(self.positions))
        chosen: dict[str, list[tuple[int, ...]]] = {LENGTH: [()]}
        chosen |= {names[t]: [(t,)] for t in positions}
        chosen |= {f"{names[t]} × {names[t + 1]}": [(t, t + 1)] for t in positions[:-1]}
        chosen[OTHER_PAIRS] = [
            pair for pair in combinations(positions, 2) if pair[1] > pair[0] + 1
        ]
        if len(self.lengths) == 1:
            del chosen[LENGTH]  # one number, which changes no policy
        blocks = {name: tuple(self._blocks_of(own)) for name, own in chosen.items()}
        return {name: own for name, own in blocks.items() if own}

    def _blocks_of(self, chosen: Iterable[tuple[int, ...]]) -> Iterator[_Block]:
        """Lay the effects of one part side by side."""
        start = 0
        for positions in chosen:
            for length in self.lengths:
                if max(positions, default=-1) < length:
                    end = start + len(self.tokens) ** len(positions)
                    yield _Block(length, positions, slice(start, end))
                    start = end

    def split(
        self,
        log_reward: np.ndarray,  # shape: (n_members, n_objects)
    ) -> dict[str, np.ndarray]:
        """Return the parts of each member, the rest in float32."""
        size = max(1, _VALUES_AT_ONCE // log_reward.shape[1])
        some = [
            self._split_at_once(log_reward[start : start + size])
            for start in range(0, len(log_reward), size)
        ]
        return {name: np.concatenate([one[name] for one in some]) for name in some[0]}

    def _split_at_once(self, log_reward: np.ndarray) -> dict[str, np.ndarray]:
        rest = np.empty(log_reward.shape)
        effects: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        names = [str(t) for t in range(len(self.positions))]
        for length, objects in self._objects_of_lengths():
            table = log_reward[:, objects].reshape(-1, *self._shape(length))
            if length == 0:
                effects[0, ()], rest[:, objects] = table.astype(np.float64), 0.0
                continue
            found = parts_of_table(table, names[:length], rest=REST)
            for order in range(min(length, 2) + 1):
                for positions in combinations(range(length), order):
                    name = " × ".join(names[t] for t in positions) or "mean"
                    others = tuple(
                        slice(None) if t in positions else 0 for t in range(length)
                    )
                    effects[length, positions] = found[name][:, *others]
            rest[:, objects] = (
                found[REST].reshape(len(rest), -1) if REST in found else 0
            )
        parts = {
            name: np.concatenate(
                [effects[b.length, b.positions].reshape(len(rest), -1) for b in own],
                axis=1,
            )
            for name, own in self.blocks.items()
        }
        if LENGTH in parts:
            parts[LENGTH] -= log_reward.mean(axis=1, keepdims=True, dtype=np.float64)
        if self.kinds:
            means = [rest[:, own].mean(axis=1) for own in self.kinds.values()]
            parts[KINDS] = np.stack(means, axis=1)
            self._add_kinds(rest, -parts[KINDS])
        return parts | {REST: rest.astype(np.float32)}

    def log_reward(
        self, parts: Mapping[str, np.ndarray]
    ) -> np.ndarray:  # shape: (n, n_objects)
        """Add up parts, up to a constant of each member."""
        total = parts[REST].astype(np.float64)
        if self.kinds:
            self._add_kinds(total, parts[KINDS])
        for length, objects in self._objects_of_lengths():
            total[:, objects] += self._of_tokens(parts, length)
        return total

    def _of_tokens(
        self, parts: Mapping[str, np.ndarray], length: int
    ) -> np.ndarray:  # shape: (n, n_tokens**length)
        """Add up the effects of the sequences of one length."""
        total = np.zeros((len(parts[REST]), *self._shape(length)))
        effects = [(b, name) for name, own in self.blocks.items() for b in own]
        for block, name in sorted(effects, key=_last_position):
            if block.length == length:
                has_axis = (t in block.positions for t in range(length))
                shape = [len(self.tokens) if own else 1 for own in has_axis]
                total += parts[name][:, block.place].reshape(-1, *shape)
        return total.reshape(len(total), -1)

    def _add_kinds(self, total: np.ndarray, means: np.ndarray) -> None:
        for objects, mean in zip(self.kinds.values(), means.T, strict=True):
            total[:, objects] += mean[:, np.newaxis]

    def _objects_of_lengths(self) -> Iterator[tuple[int, slice]]:
        for i, length in enumerate(self.lengths):
            yield length, slice(self._starts[i], self._starts[i + 1])

    def _shape(self, length: int) -> tuple[int, ...]:
        return (len(self.tokens),) * length

    def reward(self, parts: Mapping[str, np.ndarray]) -> RewardTable:
        """Return the rewards of parts of several members."""
        return RewardTable(self.environment, self.log_reward(parts))

    def entries(self) -> dict[str, PartEntries]:
        """Return the lengths, tokens and pairs of tokens that a part is made of."""
        found = {
            name: self._entries_of_tokens(blocks)
            for name, blocks in self.blocks.items()
            if name not in (LENGTH, OTHER_PAIRS)
        }
        if LENGTH in self.blocks:
            names = tuple(f"{length} tokens" for length in self.lengths)
            found[LENGTH] = PartEntries("lengths", names, np.arange(len(names)))
        if self.kinds:
            names = tuple(self.kinds)
            labels = np.arange(len(names))
            found[KINDS] = PartEntries("kinds", names, labels)
        return found

    def _entries_of_tokens(self, blocks: Sequence[_Block]) -> PartEntries:
        """Name tokens, or pairs of them, of all lengths together."""
        order = len(blocks[0].positions)
        shape = self._shape(order)
        names = tuple(
            " ".join(self.tokens[i] for i in place) for place in np.ndindex(shape)
        )
        noun = "tokens" if order == 1 else "pairs of tokens"
        return PartEntries(noun, names, np.tile(np.arange(len(names)), len(blocks)))


def _last_position(effect: tuple[_Block, str]) -> int:
    return max(effect[0].positions, default=-1)


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


def sequence_parts(
    environment: TokenSequenceEnvironment | SequentialSelectionEnvironment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    *,
    nouns: tuple[str, str],
    kinds: Mapping[str, np.ndarray] | None = None,
    **settings: Any,
) -> NamedParts:
    """Split log R by length, position and neighbouring positions.

    ``nouns`` are what a token is and what tokens are. ``kinds`` are sets of objects
    whose means are a part.
    """
    one_token, tokens = nouns
    parts = SequenceParts(environment, kinds)
    phrases = {
        LENGTH: "how long the sequence is",
        OTHER_PAIRS: f"pairs of {tokens} that do not follow one another",
        REST: f"what more than two {tokens} make together",
    }
    names = environment.step_names
    for t, name in enumerate(names):
        phrases[name] = f"which {one_token} stands at position {t + 1}"
    for t, (one, two) in enumerate(pairwise(names)):
        both = f"{t + 1} and {t + 2}"
        phrases[f"{one} × {two}"] = f"which {tokens} stand at positions {both}"
    phrases[KINDS] = "whether the sequence is an equation, right or wrong"
    split = parts.split(log_reward)
    return NamedParts(
        f"log R by functional analysis of variance over the positions of {tokens}",
        split,
        parts.reward,
        {name: phrases[name] for name in split},
        parts.entries(),
        **settings,
    )


@dataclass(frozen=True)
class SeenGroups:
    """Groups of labelled problems, each problem in one of them."""

    title: str
    groups: Mapping[str, np.ndarray]  # numbers of problems


def seen_parts(
    reward: ProcessReward,  # of at least n_members
    problems: Tensor,  # shape: (n, S)
    labels: Tensor,  # shape: (n,)
    spec: ProcessRewardSpec,
    seen_groups: SeenGroups,
    names: Sequence[str],
    *,
    n_members: int,
    seed: int,
    **settings: Any,
) -> NamedParts:
    """Split what the reward models saw by groups of the labelled problems.

    A part is 1 for each problem of the group that the member's model saw, else 0. The
    models of recombined members are trained again; how many problems they saw differs
    a little.
    """
    groups = seen_groups.groups
    seen = np.zeros((n_members, len(problems)))
    np.put_along_axis(seen, reward.seen[:n_members], 1.0, axis=1)

    def of_parts(parts: Mapping[str, np.ndarray]) -> ProcessReward:
        weights = np.zeros((len(next(iter(parts.values()))), len(problems)))
        for name, own in parts.items():
            weights[:, groups[name]] = own
        return retrain_process_reward(
            reward, problems, labels, spec, weights=weights, seed=seed
        )

    return NamedParts(
        f"what each reward model saw: {seen_groups.title}",
        {name: seen[:, own] for name, own in groups.items()},
        of_parts,
        {name: f"which of {name} the reward models had seen" for name in groups},
        {
            name: PartEntries(
                "labelled problems", tuple(names[i] for i in own), np.arange(len(own))
            )
            for name, own in groups.items()
        },
        **settings,
    )
