"""Recombine members part by part, and estimate effects from what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import FloatArray, IndexArray, fail
from ..._compositions.outputs import Outputs, read_outputs


@dataclass(frozen=True)
class Recombination:
    """A model of inputs that are put together from parts of members."""

    model: Callable[[Any], Any]
    parts: Mapping[str, NDArray[Any]]  # each of shape (n_members, ...)
    combine: Callable[[Mapping[str, NDArray[Any]]], Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.parts)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(next(iter(self.parts.values())))

    @cached_property
    def means(self) -> dict[str, FloatArray]:
        """Each part at its mean over the members, in the shape of all members."""
        return {
            name: np.broadcast_to(values.mean(axis=0), values.shape)
            for name, values in self.parts.items()
        }

    def of_parts(self, chosen: Mapping[str, NDArray[Any]]) -> Any:
        """Solve for given parts."""
        return self.model(self.combine(chosen))


def sum_of_parts(chosen: Mapping[str, NDArray[Any]]) -> Any:
    """Add up the parts."""
    return reduce(np.add, chosen.values())


def read_parts(owner: str, parts: Any) -> dict[str, NDArray[Any]]:
    """Return the parts as arrays of one number of members."""
    if not isinstance(parts, Mapping) or len(parts) < 2:
        raise fail(owner, "parts", "a dict of two or more names to arrays", parts)
    found = {}
    for name, values in parts.items():
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise ValueError(
                f"The part {name!r} has values that are no finite numbers."
            )
        found[str(name)] = array
    sizes = {name: len(array) if array.ndim else 0 for name, array in found.items()}
    if len(set(sizes.values())) > 1 or min(sizes.values()) < 4:
        raise ValueError(
            "All parts must be of the same four or more members. Got "
            + ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
            + "."
        )
    return found


class Solver:
    """Solves a model in batches, counts the solutions and reads its outputs."""

    outputs: Outputs

    def __init__(
        self,
        source: Recombination,
        batch_size: int,
        n_solutions: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.source, self.batch_size = source, batch_size
        self.n_solutions, self.progress = n_solutions, progress
        self.n_done = 0

    def of_all_members(
        self, owner: str, **columns: Any
    ) -> FloatArray:  # shape: (n_groups,)
        """Solve for the members as they are, and return the variance of each group.

        Reads from y what its columns are, as ``columns`` say.
        """
        y = self.of_parts(self.source.parts)
        self.outputs = read_outputs(y, owner, **columns)
        return self.variance_of(self.outputs.coordinates(y))

    def variance_of(
        self,
        coordinates: FloatArray,  # shape: (n_members, n_coordinates)
    ) -> FloatArray:  # shape: (n_groups,)
        """Return the variance between members of each group."""
        sums = self.outputs.sum_by_group(self.outputs.spread(coordinates))
        return sums / (len(coordinates) - 1)

    def share_of(
        self,
        chosen: Mapping[str, NDArray[Any]],
        variance: FloatArray,  # shape: (n_groups,)
    ) -> FloatArray:  # shape: (n_groups,)
        """Return the variance for given parts, over a known one; NaN over zero."""
        own = self.variance_of(self.outputs.coordinates(self.of_parts(chosen)))
        return own / np.where(variance > 0, variance, np.nan)

    def of_parts(self, chosen: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return y for given parts, one row for each."""
        size = len(next(iter(chosen.values())))
        found = []
        for start in range(0, size, self.batch_size):
            rows = slice(start, start + self.batch_size)
            some = {name: values[rows] for name, values in chosen.items()}
            found.append(self._solved(some, len(next(iter(some.values())))))
        return np.concatenate(found)

    def of_members(self, members: IndexArray) -> FloatArray:
        """Return coordinates of y for rows of members, a column for each part."""
        found = []
        for start in range(0, len(members), self.batch_size):
            rows = members[start : start + self.batch_size]
            columns = zip(self.source.parts.items(), rows.T, strict=True)
            chosen = {name: values[own] for (name, values), own in columns}
            found.append(self.outputs.coordinates(self._solved(chosen, len(rows))))
        return np.concatenate(found)

    def _solved(self, chosen: Mapping[str, NDArray[Any]], size: int) -> FloatArray:
        y = np.asarray(self.source.of_parts(chosen), dtype=np.float64)
        if y.ndim not in (1, 2) or len(y) != size:
            raise ValueError(
                f"model returned shape {y.shape} for {size} inputs; expected ({size},) "
                f"or ({size}, n_columns)."
            )
        self.n_done += size
        if self.progress is not None:
            self.progress(self.n_done, self.n_solutions)
        return y


def draw_pairs(
    n_members: int, n_parts: int, n_draws: int, generator: np.random.Generator
) -> tuple[IndexArray, IndexArray]:  # each of shape (n_draws, n_parts)
    """Draw two different members for each part, each member about equally often."""
    first = np.empty((n_draws, n_parts), dtype=np.int64)
    second = np.empty_like(first)
    for part in range(n_parts):
        first[:, part] = _evenly(n_members, n_draws, generator)
        shift = 1 + _evenly(n_members - 1, n_draws, generator)
        second[:, part] = (first[:, part] + shift) % n_members
    return first, second


def _evenly(size: int, n_draws: int, generator: np.random.Generator) -> IndexArray:
    """Return numbers below ``size`` in random order, each about equally often."""
    rounds = -(-n_draws // size)
    return np.concatenate([generator.permutation(size) for _ in range(rounds)])[
        :n_draws
    ]


@dataclass(frozen=True)
class Contributions:
    """Half squared distances of each draw, of which all effects are means."""

    whole: FloatArray  # (n_draws, n_groups): A to B
    total: FloatArray  # (n_parts, n_draws, n_groups): A to A with a part of B
    rest: FloatArray  # (n_parts, n_draws, n_groups): A with a part of B to B
    pairs: FloatArray  # (n_pairs, n_draws, n_groups): between two of these
    members: IndexArray  # (2, n_draws, n_parts): those of A and of B
    coordinates: tuple[FloatArray, ...]  # of A, and of A with each part of B

    def mean_over(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
        whole: FloatArray,  # shape: (n_groups,)
    ) -> tuple[FloatArray, FloatArray]:
        """Return a mean as a share of a given variance, with its standard error."""
        scaled = values / np.where(whole > 0, whole, np.nan)
        return scaled.mean(axis=0), self.standard_error(scaled)

    def ratio(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return a mean as a share of the variance, with its standard error."""
        variance = self.whole.mean(axis=0)
        safe = np.where(variance > 0, variance, np.nan)
        share = values.mean(axis=0) / safe
        influence = (values - share * self.whole) / safe
        return share, self.standard_error(influence)

    def standard_error(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
    ) -> FloatArray:  # shape: (n_groups,)
        r"""Return the standard error of the mean over draws that share members.

        Each draw depends on two members for each part. With :math:`\zeta_p` the
        variance of its expectation given one of them (Hoeffding's first projection),
        a mean over :math:`m` draws from :math:`n` members has the variance
        :math:`\sum_p 4 \zeta_p / n + (\sigma^2 - \sum_p 2 \zeta_p) / m`.
        """
        n_draws, n_parts = self.members.shape[1:]
        n_members = int(self.members.max()) + 1
        centred = values - values.mean(axis=0)
        sigma = np.square(centred).sum(axis=0) / (n_draws - 1)
        projections = np.zeros_like(sigma)
        twice = np.concatenate([centred, centred])
        for part in range(n_parts):
            member = self.members[:, :, part].ravel()
            counts = np.bincount(member, minlength=n_members).astype(np.float64)
            sums = np.zeros((n_members, values.shape[1]))
            np.add.at(sums, member, twice)
            used = counts > 0
            n_used, total = used.sum(), counts.sum()
            between = (np.square(sums[used]) / counts[used, np.newaxis]).sum(axis=0)
            within = np.square(twice).sum(axis=0) - between
            if total <= n_used:
                continue
            size = (total - np.square(counts).sum() / total) / (n_used - 1)
            mean_within = within / (total - n_used)
            projections += (between / (n_used - 1) - mean_within) / size
        projections = np.clip(projections, 0.0, sigma / 2.0)
        variance = 4.0 * projections / n_members
        variance += (sigma - 2.0 * projections) / n_draws
        return np.sqrt(variance)


def contributions(
    solver: Solver, members: tuple[IndexArray, IndexArray]
) -> Contributions:
    """Solve for all recombinations of each draw."""
    first, second = members

    def half_square(one: FloatArray, two: FloatArray) -> FloatArray:
        return solver.outputs.sum_by_group(0.5 * np.square(one - two))

    of_first, of_second = solver.of_members(first), solver.of_members(second)
    exchanged = []
    for part in range(first.shape[1]):
        rows = first.copy()
        rows[:, part] = second[:, part]
        exchanged.append(solver.of_members(rows))
    return Contributions(
        half_square(of_first, of_second),
        np.array([half_square(of_first, one) for one in exchanged]),
        np.array([half_square(one, of_second) for one in exchanged]),
        np.array([half_square(*pair) for pair in combinations(exchanged, 2)]),
        np.stack(members),
        (of_first, *exchanged),
    )


def first_and_total(found: Contributions) -> dict[str, FloatArray]:
    """Return first-order and total indices with their errors; (n_groups, n_parts)."""
    first = [found.ratio(found.whole - rest) for rest in found.rest]
    total = [found.ratio(one) for one in found.total]
    both = zip(found.total, found.rest, strict=True)
    interaction = [found.ratio(one + rest - found.whole) for one, rest in both]
    columns = {"first": first, "total": total, "interaction": interaction}
    return with_errors(columns)


def shapley_effects(
    solver: Solver, found: Contributions, generator: np.random.Generator
) -> dict[str, FloatArray]:
    """Exchange one part after another in random order, and credit each its change."""
    first, second = found.members
    n_draws, n_parts = first.shape
    orders = np.array([generator.permutation(n_parts) for _ in range(n_draws)])
    of_first, *exchanged = found.coordinates
    draws = np.arange(n_draws)
    before = np.zeros_like(found.whole)
    credits = np.zeros((n_parts, *found.whole.shape))
    rows = first.copy()
    for position in range(n_parts):
        part = orders[:, position]
        rows[draws, part] = second[draws, part]
        if position == 0:
            values = np.array(exchanged)[part, draws]
            after = solver.outputs.sum_by_group(0.5 * np.square(of_first - values))
        elif position == n_parts - 1:
            after = found.whole
        else:
            change = of_first - solver.of_members(rows)
            after = solver.outputs.sum_by_group(0.5 * np.square(change))
        credits[part, draws] = after - before
        before = after
    return with_errors({"shapley": [found.ratio(credit) for credit in credits]})


def without_independence(
    solver: Solver,
    variance: FloatArray,  # shape: (n_groups,)
) -> dict[str, FloatArray]:
    """Return variances with one part varying, and with one part fixed at its mean."""
    parts = solver.source.parts
    means = solver.source.means
    columns: dict[str, list[FloatArray]] = {"alone": [], "left": []}
    for name in parts:
        alone = {**means, name: parts[name]}
        left = {**parts, name: means[name]}
        columns["alone"].append(solver.share_of(alone, variance))
        columns["left"].append(solver.share_of(left, variance))
    return {name: np.array(values).T for name, values in columns.items()}


def with_errors(
    columns: Mapping[str, Sequence[tuple[FloatArray, FloatArray]]],
) -> dict[str, FloatArray]:
    found: dict[str, FloatArray] = {}
    for name, pairs in columns.items():
        values, errors = np.moveaxis(np.array(pairs), 0, 2)
        found |= {name: values, f"{name}_error": errors}
    return found
