"""Recombine members part by part, and solve a model for what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import FloatArray, IndexArray, fail, refuse_extremes
from ..._compositions.outputs import Outputs, read_outputs
from ..._result import error_in_percent


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
    """Add up the parts, as real numbers whatever their types are."""
    shapes = {values.shape[1:] for values in chosen.values()}
    if len(shapes) > 1:
        raise ValueError(
            f"parts have the shapes {sorted(shapes)} of a member; expected one shape, "
            "so that they add up, or combine=."
        )
    return reduce(np.add, (values.astype(np.float64) for values in chosen.values()))


def read_parts(owner: str, parts: Any) -> dict[str, NDArray[Any]]:
    """Return the parts as arrays of one number of members."""
    if not isinstance(parts, Mapping) or len(parts) < 2:
        raise fail(owner, "parts", "a dict of two or more names to arrays", parts)
    found = {}
    for name, values in parts.items():
        if not isinstance(name, str):
            raise fail(owner, "parts", "a dict with names that are str", name)
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise ValueError(
                f"The part {name!r} of parts has values that are no finite numbers; "
                "expected finite ones."
            )
        refuse_extremes(array.reshape(-1), f"The part {name!r} of parts")
        found[name] = array
    sizes = {name: len(array) if array.ndim else 0 for name, array in found.items()}
    if len(set(sizes.values())) > 1 or min(sizes.values()) < 4:
        raise ValueError(
            "All parts must be of the same four or more members. Got "
            + ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
            + "."
        )
    return found


def leading_parts(
    names: Sequence[str],
    shares: FloatArray,  # shape: (n_parts,)
    errors: FloatArray,  # shape: (n_parts,)
) -> str:
    """Name the parts of the three largest shares."""
    order = np.argsort(-shares, kind="stable")[:3]
    return ", ".join(
        f"{names[i]} {shares[i]:z.0%} ± {error_in_percent(errors[i])}" for i in order
    )


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
        """Solve for the members as they are, and return the variance of each group."""
        every = np.arange(self.source.n_members)
        return self.variance_of(self.read_members(owner, every, **columns))

    def read_members(
        self, owner: str, rows: IndexArray, **columns: Any
    ) -> FloatArray:  # shape: (n_rows, n_coordinates)
        """Solve for members as they are, and return the coordinates of y.

        Reads from y what its columns are, as ``columns`` say.
        """
        y = self.of_parts({name: own[rows] for name, own in self.source.parts.items()})
        self.outputs = read_outputs(y, owner, **columns)
        return self.outputs.coordinates(y)

    def squares_of(
        self,
        coordinates: FloatArray,  # shape: (n, n_coordinates)
    ) -> FloatArray:  # shape: (n, n_groups)
        """Return squared distances from the mean in each group; 0 for rounding."""
        varies = self.outputs.spread(coordinates) > 0
        centred = np.where(varies, coordinates - coordinates.mean(axis=0), 0.0)
        return self.outputs.sum_by_group(np.square(centred))

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
        if self.n_done and np.isnan(y).any():
            row = int(np.argwhere(np.isnan(y))[0, 0])
            raise ValueError(
                f"model returned NaN for input {row} of {size} that were put together "
                "from parts of several members; expected numbers for any combination."
            )
        self.n_done += size
        if self.progress is not None:
            self.progress(self.n_done, self.n_solutions)
        return y


def draw_pairs(
    n_members: int, n_parts: int, n_draws: int, generator: np.random.Generator
) -> IndexArray:  # shape: (2, n_draws, n_parts)
    """Draw two different members for each part, each equally often in both places.

    In each round the members stand in a circle, and the second of a draw stands a
    random number of places behind the first. Two different members are independent
    draws of what members are drawn from; over all pairs of those that there are, half
    the squared distance has as its mean their variance of ddof 1
    (``recombination_pairs``, checked in ``lean/Core``).
    """
    found = np.empty((2, n_draws, n_parts), dtype=np.int64)
    n_rounds = -(-n_draws // n_members)
    for part in range(n_parts):
        circles = [generator.permutation(n_members) for _ in range(n_rounds)]
        shifts = generator.integers(1, n_members, size=n_rounds)
        rolled = [np.roll(*pair) for pair in zip(circles, shifts, strict=True)]
        found[0, :, part] = np.concatenate(circles)[:n_draws]
        found[1, :, part] = np.concatenate(rolled)[:n_draws]
    return found


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
