"""Recombine members part by part, and solve a model for what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_progress,
    fail,
    refuse_extremes,
)
from ..._compositions.outputs import Outputs, read_outputs


def sum_of_parts(chosen: Mapping[str, NDArray[Any]]) -> Any:
    """Add up the parts, as real numbers whatever their types are."""
    shapes = {values.shape[1:] for values in chosen.values()}
    if len(shapes) > 1:
        raise ValueError(
            f"parts have the shapes {sorted(shapes)} of a member; expected one shape, "
            "so that they add up, or combine=."
        )
    return reduce(np.add, (values.astype(np.float64) for values in chosen.values()))


class Solver:
    """Solves a model for members put together from parts, and reads its outputs."""

    parts: dict[str, NDArray[Any]]
    outputs: Outputs
    n_solutions: int  # of all, as far as they are known
    squares: FloatArray  # of the members as they are, shape: (n_rows, n_groups)

    def __init__(
        self,
        owner: str,
        model: Any,
        parts: Any,
        combine: Any,
        batch_size: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        check_integer(owner, "batch_size", batch_size, low=1)
        if not callable(model):
            raise fail(owner, "model", "callable", model)
        if combine is not None and not callable(combine):
            raise fail(owner, "combine", "callable or None", combine)
        check_progress(owner, progress)
        self.owner, self.model, self.combine = owner, model, combine or sum_of_parts
        if not isinstance(parts, Mapping) or len(parts) < 2:
            raise fail(owner, "parts", "a dict of two or more names to arrays", parts)
        self.parts = {}
        for name, values in parts.items():
            if not isinstance(name, str):
                raise fail(owner, "parts", "a dict with names that are str", name)
            array = np.asarray(values)
            if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
                raise ValueError(
                    f"The part {name!r} of parts has values that are no finite "
                    "numbers; expected finite ones."
                )
            refuse_extremes(array.reshape(-1), f"The part {name!r} of parts")
            self.parts[name] = array
        sizes = {name: len(a) if a.ndim else 0 for name, a in self.parts.items()}
        if len(set(sizes.values())) > 1 or min(sizes.values()) < 4:
            shown = ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
            raise ValueError(
                f"All parts must be of the same four or more members. Got {shown}."
            )
        self.batch_size, self.progress = batch_size, progress
        self.names = tuple(self.parts)
        self.n_members = sizes[self.names[0]]
        self.n_done = 0

    @cached_property
    def means(self) -> dict[str, FloatArray]:
        """Each part at its mean over the members, in the shape of all members."""
        return {
            name: np.broadcast_to(values.mean(axis=0), values.shape)
            for name, values in self.parts.items()
        }

    def read_members(self, rows: IndexArray, **columns: Any) -> None:
        """Solve for members as they are, and read what the columns of y are.

        The squares of an output that does not vary are NaN.
        """
        y = self._solve(len(rows), lambda some: _of_rows(self.parts, rows[some]))
        mask = columns["mask"]
        if y.ndim == 1 and not (isinstance(mask, str) and mask == "infer"):
            raise ValueError(
                f"mask={mask!r} is of probabilities, and model returned shape "
                f"{y.shape}; expected (n_members, n_parts), or no mask."
            )
        self.outputs = read_outputs(y, self.owner, **columns)
        squares = self._squares_of(self.outputs.coordinates(y))
        self.squares = np.where(squares.any(axis=0), squares, np.nan)

    @property
    def variance(self) -> FloatArray:  # shape: (n_groups,), NaN where it is zero
        """Variance between members of each group."""
        return self.squares.sum(axis=0) / (len(self.squares) - 1)

    def coordinates(
        self, size: int, chosen: Callable[[slice], Mapping[str, NDArray[Any]]]
    ) -> FloatArray:  # shape: (size, n_coordinates)
        """Solve for inputs whose parts are chosen a batch at a time."""
        return self.outputs.coordinates(self._solve(size, chosen))

    def of_members(self, members: IndexArray) -> FloatArray:
        """Return coordinates of y for rows of members, a column for each part."""

        def chosen(some: slice) -> dict[str, NDArray[Any]]:
            columns = zip(self.parts.items(), members[some].T, strict=True)
            return {name: values[own] for (name, values), own in columns}

        return self.coordinates(len(members), chosen)

    def shares_of(
        self, chosen: Mapping[str, NDArray[Any]]
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return the variance for given parts over that of the members, with errors."""
        n = len(self.squares)
        own = self._squares_of(self.coordinates(n, lambda some: _of_rows(chosen, some)))
        mean = self.squares.mean(axis=0)
        ratio = own.mean(axis=0) / mean
        deviation = (own - ratio * self.squares) / mean
        return ratio, deviation.std(axis=0, ddof=1) / np.sqrt(n)

    def _squares_of(
        self,
        coordinates: FloatArray,  # shape: (n, n_coordinates)
    ) -> FloatArray:  # shape: (n, n_groups)
        """Return squared distances from the mean in each group; 0 for rounding."""
        varies = self.outputs.spread(coordinates) > 0
        centred = np.where(varies, coordinates - coordinates.mean(axis=0), 0.0)
        return self.outputs.sum_by_group(np.square(centred))

    def _solve(
        self, size: int, chosen: Callable[[slice], Mapping[str, NDArray[Any]]]
    ) -> FloatArray:
        found = []
        for start in range(0, size, self.batch_size):
            some = slice(start, min(start + self.batch_size, size))
            n_inputs, combined = some.stop - start, self.combine(chosen(some))
            y = np.asarray(self.model(combined), dtype=np.float64)
            if y.ndim not in (1, 2) or len(y) != n_inputs:
                raise ValueError(
                    f"model returned shape {y.shape} for {n_inputs} inputs; expected "
                    f"({n_inputs},) or ({n_inputs}, n_columns)."
                )
            if self.n_done and np.isnan(y).any():
                row = int(np.argwhere(np.isnan(y))[0, 0])
                raise ValueError(
                    f"model returned NaN for input {row} of {n_inputs} that were put "
                    "together from parts of several members; expected numbers for any "
                    "combination."
                )
            self.n_done += n_inputs
            if self.progress is not None:
                self.progress(self.n_done, self.n_solutions)
            found.append(y)
        return np.concatenate(found)


def _of_rows(parts: Mapping[str, NDArray[Any]], rows: Any) -> dict[str, NDArray[Any]]:
    return {name: values[rows] for name, values in parts.items()}


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
