"""Orthonormal functions of many inputs at once, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw
from .symmetric_sums import Block

# Inputs of a block, whatever the rows: blocks of two sets of rows are paired.
_BLOCK_INPUTS = 2048
# Entries of all blocks that are held for the samples of a fit.
_HELD_ENTRIES = 2**27

# Above it, products of three functions and their squares are no numbers.
_LARGEST_VALUE = 1e20


@dataclass(frozen=True)
class UnivariateFunctions:
    """The functions of each input up to a degree, without the constant."""

    laws: Sequence[InputLaw]
    degree: int

    @cached_property
    def counts(self) -> IndexArray:  # shape: (n_inputs, degree)
        """Number of functions of each degree."""
        counts = np.zeros((len(self.laws), self.degree), dtype=np.int64)
        for i, law in enumerate(self.laws):
            if law.is_polynomial:
                counts[i, : int(min(law.largest_degree, self.degree))] = 1
            else:
                counts[i, 0] = int(law.largest_degree)
        return counts

    @cached_property
    def _polynomial(self) -> IndexArray:
        """The inputs whose functions are polynomials."""
        return np.flatnonzero([law.is_polynomial for law in self.laws])

    @cached_property
    def _recurrences(self) -> tuple[FloatArray, FloatArray]:
        """Both sequences of the polynomial inputs, each (degree, n_polynomial)."""
        a = np.zeros((self.degree, len(self._polynomial)))
        root = np.ones_like(a)
        for column, i in enumerate(self._polynomial.tolist()):
            known = int(self.counts[i].sum())
            of_law = self.laws[i].recurrence(known)
            a[:known, column] = of_law[0]
            root[:known, column] = np.sqrt(of_law[1])
        return a, root

    def at(self, X: FloatArray) -> Iterator[Block]:  # X of shape (n_rows, n_inputs)
        """Yield the values of the functions at rows of inputs; at least one block."""
        if not self.counts.any():  # inputs that do not vary, with the rows alone
            yield np.zeros(0, dtype=np.int64), np.zeros((self.degree, len(X), 0))
            return
        for start in range(0, len(self._polynomial), _BLOCK_INPUTS):
            yield self._polynomials(X, slice(start, start + _BLOCK_INPUTS))
        yield from self._categorical(X)

    def _categorical(self, X: FloatArray) -> Iterator[Block]:
        """Yield inputs of one contrast side by side, the others one by one."""
        several = np.setdiff1d(np.arange(len(self.laws)), self._polynomial)
        alone = several[self.counts[several, 0] == 1]
        for start in range(0, len(alone), _BLOCK_INPUTS):
            positions = alone[start : start + _BLOCK_INPUTS]
            values = np.zeros((self.degree, len(X), len(positions)))
            for column, i in enumerate(positions.tolist()):
                values[0, :, column] = self.laws[i].evaluate(X[:, i], 1)[1]
            yield positions, values
        for i in several[self.counts[several, 0] > 1].tolist():
            n_functions = int(self.counts[i, 0])
            values = self.laws[i].evaluate(X[:, i], n_functions)[1:].T
            yield np.array([i]), np.ascontiguousarray(values)[np.newaxis]

    def held(self, X: FloatArray) -> Iterable[Block]:
        """Return the blocks at the samples of a fit, in memory where they are small."""
        if X.size * self.degree <= _HELD_ENTRIES:
            return list(self.at(X))
        return _Repeated(self, X)

    def _polynomials(self, X: FloatArray, chosen: slice) -> Block:
        """Evaluate the recurrences of some of the polynomial inputs."""
        positions = self._polynomial[chosen]
        a, root = self._recurrences[0][:, chosen], self._recurrences[1][:, chosen]
        laws = [self.laws[i] for i in positions.tolist()]
        points = X[:, positions] - np.array([law.location for law in laws])
        points /= np.array([law.scale for law in laws])
        for column, law in enumerate(laws):  # one that is not standardised linearly
            if type(law).standardize is not InputLaw.standardize:
                points[:, column] = law.standardize(X[:, positions[column]])
        values = np.empty((self.degree, len(X), len(positions)))
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(self.degree):
                before = values[k - 1] if k else 1.0
                np.multiply(points - a[k], before, out=values[k])
                if k:
                    values[k] -= root[k - 1] * (values[k - 2] if k > 1 else 1.0)
                values[k] /= root[k]
            lacking = np.argwhere(self.counts[positions].T == 0)
            for k, column in lacking.tolist():
                values[k, :, column] = 0.0
            self._refuse_overflow(values, X, positions)
        return positions, values

    def _refuse_overflow(
        self, values: FloatArray, X: FloatArray, positions: IndexArray
    ) -> None:
        """Refuse inputs at which products of the functions overflow."""
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        if largest <= _LARGEST_VALUE:  # NaN is not
            return
        high = ~(np.abs(values).max(axis=0) <= _LARGEST_VALUE)
        row, column = np.argwhere(high)[0].tolist()
        i = int(positions[column])
        law = self.laws[i]
        raise ValueError(
            f"X has {float(X[row, i])!r} in column {i}, where polynomials of degree "
            f"{self.degree} overflow; expected values nearer to its distribution, "
            f"which is about {law.location:.6g} with the scale {law.scale:.6g}."
        )


@dataclass(frozen=True)
class _Repeated:
    """Blocks that are evaluated again each time."""

    functions: UnivariateFunctions
    X: FloatArray

    def __iter__(self) -> Iterator[Block]:
        return self.functions.at(self.X)
