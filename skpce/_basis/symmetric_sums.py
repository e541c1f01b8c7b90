r"""Sums over all products of univariate functions, without a list of the products.

With :math:`\kappa_{ik} = \psi_{ik}(x)\,\psi_{ik}(x')` and a weight :math:`a_i` for each
input, the generating function

.. math:: \prod_i \Bigl(1 + t\,a_i \sum_{k \ge 1} z^k \kappa_{ik}\Bigr)
   = \sum_{r, q} t^r z^q E_{rq}

has as its coefficient :math:`E_{rq}(x, x')` the sum over all terms of *order* :math:`r`
(number of inputs) and total *degree* :math:`q`. Such a pair is called a cell here. The
sums follow from power sums by Newton's identities ([1]_, section I.2), and a power sum
is a product of matrices.

Newton's identities subtract. Where a few inputs have nearly all the weight, the
difference would be rounding; the inputs of largest weight are therefore multiplied in
one by one, without subtraction.

References
----------
.. [1] I. G. Macdonald, "Symmetric Functions and Hall Polynomials", second edition,
   Oxford University Press, 1995.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray

#: Inputs that are multiplied in one by one. Any other input then has less than this
#: part of the weights, so that a subtraction loses at most three digits.
N_DIRECT = 12


@dataclass(frozen=True)
class Cells:
    """The orders and degrees of the terms up to a total degree."""

    degree: int
    order: int  # largest number of inputs in a term, at most the degree

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Order and degree of each cell; the first is the constant."""
        rows = range(1, self.order + 1)
        return ((0, 0), *((r, q) for r in rows for q in range(r, self.degree + 1)))

    @cached_property
    def number(self) -> dict[tuple[int, int], int]:
        """Position of each cell."""
        return {pair: position for position, pair in enumerate(self.pairs)}

    @cached_property
    def orders(self) -> IndexArray:
        """Order of each cell; shape (n_cells,)."""
        return np.array([r for r, _ in self.pairs])

    @cached_property
    def degrees(self) -> IndexArray:
        """Total degree of each cell; shape (n_cells,)."""
        return np.array([q for _, q in self.pairs])

    @cached_property
    def partitions(self) -> tuple[tuple[int, ...], ...]:
        """The degrees of products of functions of one input, each non-increasing."""
        found = [
            part
            for total in range(1, self.degree + 1)
            for part in _partitions(total, total)
            if len(part) <= self.order
        ]
        return tuple(found)

    def counts(
        self,
        n_functions: Any,  # shape: (n_inputs, degree), functions, or their weights
    ) -> FloatArray:  # shape: (n_cells,)
        """Count the terms of each cell."""
        sums = self.constant(())
        powers = {
            part: multiplicity(part)
            * np.prod([n_functions[:, k - 1] for k in part], axis=0).sum()
            for part in self.partitions
        }
        return self.newton(powers, sums.shape[1:])

    def constant(self, shape: tuple[int, ...]) -> FloatArray:
        """Return the sums without any input: one in the cell of the constant."""
        sums = np.zeros((len(self.pairs), *shape))
        sums[0] = 1.0
        return sums

    def newton(
        self,
        powers: dict[tuple[int, ...], FloatArray],  # by partition, each of one shape
        shape: tuple[int, ...],
    ) -> FloatArray:  # shape: (n_cells, ...)
        r"""Return the symmetric sums of power sums.

        :math:`r E_r = \sum_{m=1}^r (-1)^{m-1} P_m E_{r-m}`, in powers of z.
        """
        sums = self.constant(shape)
        for r, q in self.pairs[1:]:
            total = np.zeros(shape)
            for part, power in powers.items():
                below = self.number.get((r - len(part), q - sum(part)))
                if below is not None:
                    sign = 1.0 if len(part) % 2 else -1.0
                    total += (sign / r) * power * sums[below]
            sums[self.number[r, q]] = total
        return sums

    def times_input(
        self,
        sums: FloatArray,  # shape: (n_cells, ...)
        factors: FloatArray,  # shape: (n_degrees, ...), of one input, by degree
    ) -> FloatArray:  # shape: (n_cells, ...)
        """Multiply one more input in."""
        product = sums.copy()
        for (r, q), position in self.number.items():
            for k, factor in enumerate(factors, start=1):
                below = self.number.get((r - 1, q - k))
                if below is not None:
                    product[position] += factor * sums[below]
        return product

    def product(
        self,
        one: FloatArray,  # shape: (n_cells, ...)
        two: FloatArray,  # shape: (n_cells, ...)
    ) -> FloatArray:  # shape: (n_cells, ...)
        """Multiply the sums of two disjoint sets of inputs."""
        product = np.zeros_like(one)
        for (r, q), first in self.number.items():
            for (s, k), second in self.number.items():
                reached = self.number.get((r + s, q + k))
                if reached is not None:
                    product[reached] += one[first] * two[second]
        return product

    def above(
        self,
        sums: FloatArray,  # shape: (n_cells, ...)
        cell_weights: FloatArray,  # shape: (n_cells,)
        order: int,
        degree: int,
    ) -> FloatArray:
        """Weigh the cells reached from others by an order and a degree, and add up."""
        total = np.zeros(sums.shape[1:])
        for (r, q), position in self.number.items():
            reached = self.number.get((r + order, q + degree))
            if reached is not None and cell_weights[reached] != 0.0:
                total += cell_weights[reached] * sums[position]
        return total


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions of a number, each non-increasing."""
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)


def multiplicity(part: Sequence[int]) -> float:
    """Return the number of arrangements of a partition."""
    repeats = Counter(part).values()
    return math.factorial(len(part)) / math.prod(map(math.factorial, repeats))


#: Functions of some inputs: the positions of the inputs, and their values by degree.
#: Inputs of one function a degree are in blocks of shape (degree, n_rows, n_inputs). An
#: input of several functions of degree one, (1, n_rows, n_functions), stands alone.
Block = tuple[IndexArray, FloatArray]


@dataclass(frozen=True)
class SymmetricSums:
    """Symmetric sums between the rows of two sets of inputs."""

    cells: Cells
    input_weights: FloatArray  # shape: (n_inputs,), not negative
    blocks: Callable[[], Iterable[Block]]  # functions at the first rows
    others: Callable[[], Iterable[Block]] | None = None  # None: the same rows

    @cached_property
    def direct(self) -> IndexArray:
        """The inputs that are multiplied in one by one."""
        order = np.argsort(-self.input_weights, kind="stable")
        several = [block[0] for block in self.blocks() if not is_shared(*block)]
        chosen = np.unique(np.concatenate([order[:N_DIRECT], *several]))
        return np.asarray(chosen[self.input_weights[chosen] > 0], dtype=np.int64)

    @cached_property
    def _direct_functions(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Functions of the direct inputs, (degree, n_functions, n_rows), at both."""
        chosen = set(self.direct.tolist())
        found: dict[int, tuple[FloatArray, FloatArray]] = {}
        for (positions, left), (_, right) in self._pairs():
            shared = is_shared(positions, left)
            for column, i in enumerate(positions.tolist()):
                if i in chosen:
                    own = slice(column, column + 1) if shared else slice(None)
                    one, two = left[:, :, own], right[:, :, own]
                    found[i] = _rows_last(one), _rows_last(two)
        return found

    def _factors(self, i: int) -> FloatArray:  # (n_degrees, n_rows, n_others)
        """Weighted products of the functions of a direct input, by degree."""
        if i not in self._direct_functions:  # it has no function but the constant
            return np.zeros((0, 1, 1))
        left, right = self._direct_functions[i]
        return np.matmul(self.input_weights[i] * left.transpose(0, 2, 1), right)

    def _pairs(self) -> Iterator[tuple[Block, Block]]:
        """Yield the blocks of both sets of rows side by side."""
        if self.others is None:
            for block in self.blocks():
                yield block, block
        else:
            yield from zip(self.blocks(), self.others(), strict=True)

    def _shared(self, block: Block) -> tuple[IndexArray | slice, FloatArray] | None:
        """Return the columns and weights of a block that are summed by powers."""
        positions, values = block
        if not is_shared(positions, values):
            return None
        weights = self.input_weights[positions].copy()
        weights[np.isin(positions, self.direct)] = 0.0
        columns = np.flatnonzero(weights)
        if not len(columns):
            return None
        if 2 * len(columns) > len(weights):  # a copy would cost more than zeros
            return slice(None), weights
        return columns, weights[columns]

    @cached_property
    def of_the_rest(self) -> FloatArray:  # shape: (n_cells, n_rows, n_others)
        """Sums over the terms without direct inputs."""
        powers: dict[tuple[int, ...], FloatArray] = {}
        shape = (0, 0)
        for left, right in self._pairs():
            shape = left[1].shape[1], right[1].shape[1]
            found = self._shared(left)
            if found is None:
                continue
            columns, weights = found
            one, two = left[1][:, :, columns], right[1][:, :, columns]
            same = left is right
            for part in self.cells.partitions:
                first = products_of(one, part)
                second = first if same else products_of(two, part)
                scaled = first * (multiplicity(part) * weights ** len(part))
                power = scaled @ second.T
                powers[part] = powers[part] + power if part in powers else power
        return self.cells.newton(powers, shape)

    @cached_property
    def every(self) -> FloatArray:  # shape: (n_cells, n_rows, n_others)
        """Sums over all terms, by cell."""
        sums = self.of_the_rest
        for i in self.direct.tolist():
            sums = self.cells.times_input(sums, self._factors(i))
        return sums

    @cached_property
    def of_all_inputs(self) -> FloatArray:  # shape: (n_cells, n_rows, n_others)
        """Sums over the terms that hold every input; there are no more than orders."""
        sums = np.zeros_like(self.every)
        if len(self.input_weights) > self.cells.order or not self.input_weights.all():
            return sums
        sums[0] = 1.0
        for i in range(len(self.input_weights)):  # all of them are direct
            sums = self.cells.times_input(sums, self._factors(i)) - sums
        return sums

    def holding_each(
        self,
        cell_weights: FloatArray,  # shape: (n_sets, n_cells)
        matrices: FloatArray,  # shape: (n_matrices, n_rows, n_others)
    ) -> FloatArray:  # shape: (n_sets, n_matrices, n_inputs)
        r"""Return sums over the terms that hold an input, against matrices.

        :math:`\sum_{l l'} Q_{l l'} \sum_{j \ni i} w_j \psi_j(x_l)\psi_j(x_{l'})`
        for each input, cell weights and matrix Q, which is symmetric.
        """
        shape = len(cell_weights), len(matrices), len(self.input_weights)
        found = np.zeros(shape)
        self._add_direct(cell_weights, matrices, found)
        outer = {
            (order, degree): np.array(
                [
                    self.cells.above(self.every, row, order, degree)
                    for row in cell_weights
                ]
            )
            for order, degree in {(len(p), sum(p)) for p in self.cells.partitions}
        }
        for block in self.blocks():
            shared = self._shared(block)
            if shared is None:
                continue
            columns, weights = shared
            positions, values = block[0][columns], block[1][:, :, columns]
            for part in self.cells.partitions:
                product = products_of(values, part)
                sign = 1.0 if len(part) % 2 else -1.0
                factor = sign * multiplicity(part) * weights ** len(part)
                for row, weighed in enumerate(outer[len(part), sum(part)]):
                    for column, matrix in enumerate(matrices):
                        image = (matrix * weighed) @ product
                        form = np.einsum("li,li->i", product, image)
                        found[row, column, positions] += factor * form
        return found

    def _add_direct(
        self,
        cell_weights: FloatArray,  # shape: (n_sets, n_cells)
        matrices: FloatArray,  # shape: (n_matrices, n_rows, n_others)
        found: FloatArray,  # shape: (n_sets, n_matrices, n_inputs), filled
    ) -> None:
        """Add the direct inputs: the product of all others, times this one."""
        inputs = self.direct.tolist()
        for i, others in self._without_each(inputs, self.of_the_rest):
            factors = self._factors(i)
            for row, weights in enumerate(cell_weights):
                total = np.zeros(others.shape[1:])
                for k, factor in enumerate(factors, start=1):
                    total += factor * self.cells.above(others, weights, 1, k)
                found[row, :, i] = np.einsum("mlk,lk->m", matrices, total)

    def _without_each(
        self, inputs: list[int], outside: FloatArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield each input with the product of all others, by halving the set."""
        if len(inputs) < 2:
            yield from ((i, outside) for i in inputs)
            return
        half = len(inputs) // 2
        for chosen, others in (
            (inputs[:half], inputs[half:]),
            (inputs[half:], inputs[:half]),
        ):
            product = outside
            for i in others:
                product = self.cells.times_input(product, self._factors(i))
            yield from self._without_each(chosen, product)


def is_shared(positions: IndexArray, values: FloatArray) -> bool:
    """Whether a block has one function a degree for each of its inputs."""
    return len(positions) == values.shape[2]


def _rows_last(values: FloatArray) -> FloatArray:
    """Copy values (degree, n_rows, n_functions) to (degree, n_functions, n_rows)."""
    return np.ascontiguousarray(values.transpose(0, 2, 1))


def products_of(
    values: FloatArray,  # shape: (degree, n_rows, n_inputs)
    part: Sequence[int],
) -> FloatArray:  # shape: (n_rows, n_inputs)
    """Multiply the functions of the degrees of a partition."""
    product = values[part[0] - 1]
    for k in part[1:]:
        product = product * values[k - 1]
    return product
