"""Policies of few members in tables of states, and their gradient, by NumPy."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gflownet_envs.policies.flat_networks import FlatNetworks

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.int64]


class TableShape(NamedTuple):
    """How many rows of a member a table has, and over which actions."""

    n_rows: int
    columns: slice


class ArrayTable(NamedTuple):
    """Views of the arrays of an `ArrayTape` that belong to one table."""

    first_cell: int
    entering: list[FloatArray]  # shapes: (E, n, H + 1): inputs, hidden values
    hidden: list[FloatArray]  # shapes: (E, n, H): without the last column
    zeros: list[FloatArray]  # shapes: (E, n, H + 1)
    last_layer: FloatArray  # shape: (E, H + 1, C)
    transposed: FloatArray  # shape: (E, C, H + 1), room for the last layer
    log_policy: FloatArray  # shape: (E, n, C), −inf where closed
    policy: FloatArray  # shape: (E, n, C)
    cdf: NDArray[np.float64]  # shape: (E, n, C), plus the row e·n + i
    row_numbers: NDArray[np.float64]  # shape: (E, n, 1)
    delta: FloatArray  # shape: (E, n, C), gradient of the logits
    below: FloatArray | None  # shape: (E, n, H + 1), gradient of the hidden values
    gradient: FloatArray  # shape: (E, H + 1, C), of the last layer


class ArrayTape:
    r"""What `PolicyTape` does, for few members: the same cells and the same gradient.

    All arrays are made once. With few members most of the time goes into calling
    operations, of which torch takes two to three times as long as NumPy. So the last
    column of all inputs and hidden values is 1, which makes the biases a row of the
    weights; and the cumulative probabilities of a row have the number of the row
    added: the whole table is one rising sequence, and one binary search draws for all
    trajectories.

    Parameters
    ----------
    flat : FlatNetworks
    tables : sequence of TableShape
    """

    def __init__(self, flat: FlatNetworks, tables: Sequence[TableShape]) -> None:
        self._flat = flat
        n_members, dtype = flat.n_members, flat.values.dtype
        row_ends = np.cumsum([0, *(table.n_rows for table in tables)])
        n_rows = int(row_ends[-1])
        widths = [layer.shape[1] for layer in flat.layers]
        # inputs and hidden values, the gradients of the latter, and zeros like them
        self._entering = [np.ones((n_members, n_rows, w), dtype) for w in widths]
        self._deltas = [np.zeros_like(values) for values in self._entering[1:]]
        of_width = {w: np.zeros((n_members, n_rows, w), dtype) for w in widths[1:]}
        zeros = [of_width[width] for width in widths[1:]]
        self._is_positive = [np.empty(d.shape, dtype=bool) for d in self._deltas]
        self._transposed = [_room_for_transposed(layer) for layer in flat.layers]
        sizes = [n_members * t.n_rows * _width(t.columns) for t in tables]
        cell_ends = np.cumsum([0, *sizes])
        self._n_cells = int(cell_ends[-1])
        self._log_policy, self._policy, self._delta = np.zeros(
            (3, self._n_cells), dtype
        )
        self._cdf = np.zeros(self._n_cells)
        self._columns = [table.columns for table in tables]
        self._overlap = _overlap(self._columns)
        self._rows = [slice(*ends) for ends in pairwise(row_ends)]
        self.tables = []
        for shape, rows, cells in zip(
            tables, self._rows, pairwise(cell_ends), strict=True
        ):
            own = slice(*cells)
            of_cells = (n_members, shape.n_rows, _width(shape.columns))
            numbers = np.arange(n_members * shape.n_rows, dtype=np.float64)
            layer = flat.layers[-1][..., shape.columns]
            gradient = flat.layer_gradients[-1][..., shape.columns]
            self.tables.append(
                ArrayTable(
                    first_cell=own.start,
                    entering=[values[:, rows] for values in self._entering],
                    hidden=[values[:, rows, :-1] for values in self._entering[1:]],
                    zeros=[values[:, rows] for values in zeros],
                    last_layer=layer,
                    transposed=_room_for_transposed(layer),
                    log_policy=self._log_policy[own].reshape(of_cells),
                    policy=self._policy[own].reshape(of_cells),
                    cdf=self._cdf[own].reshape(of_cells),
                    row_numbers=numbers.reshape(n_members, shape.n_rows, 1),
                    delta=self._delta[own].reshape(of_cells),
                    below=self._deltas[-1][:, rows] if self._deltas else None,
                    gradient=np.empty_like(gradient) if self._overlap else gradient,
                )
            )

    def evaluate(
        self,
        number: int,
        log_mask: FloatArray | None,  # shape: (n, C) or (E, n, C), 0 or −inf
        epsilon: float = 0.0,
        uniform: NDArray[np.float64]
        | None = None,  # like the mask: ε · uniform, summed
    ) -> None:
        """Fill a table from its inputs; the last two say how sampling explores."""
        table = self.tables[number]
        for values, layer, hidden, following, zeros in zip(
            table.entering,
            self._flat.layers,
            table.hidden,
            table.entering[1:],
            table.zeros,
            strict=False,
        ):
            np.matmul(values, layer, out=hidden)
            np.maximum(following, zeros, out=following)  # the last column stays 1
        logits, policy, cdf = table.log_policy, table.policy, table.cdf
        np.matmul(table.entering[-1], table.last_layer, out=logits)
        if log_mask is not None:
            logits += log_mask
        logits -= np.maximum.reduce(logits, axis=-1, keepdims=True)
        np.exp(logits, out=policy)
        np.add.accumulate(policy, axis=-1, dtype=np.float64, out=cdf)
        total = cdf[..., -1:].copy()
        as_policy = total.astype(policy.dtype)
        policy /= as_policy
        logits -= np.log(as_policy)
        if epsilon > 0:
            total /= 1 - epsilon
        cdf /= total
        if epsilon > 0:
            cdf += uniform
        np.fmin(cdf, 1.0, out=cdf)  # rows that are no numbers draw their first action
        cdf += table.row_numbers

    def draw(
        self, number: int, points: NDArray[np.float64]
    ) -> IntArray:  # shapes: points (...), e·n + i + uniform -> (...)
        """Return the cells of a table, from 0, that the points fall into."""
        table = self.tables[number]
        cells: IntArray = table.cdf.reshape(-1).searchsorted(points, side="right")
        return cells

    def pick(self, cells: IntArray) -> FloatArray:  # shapes: (...) -> (...)
        """Return log P_F in some cells of the tape."""
        return self._log_policy.take(cells)

    def backward(
        self,
        cells: IntArray,  # shape: (T, E · B)
        gradient: FloatArray,  # shape: (E, B)
    ) -> None:
        """Write the gradient of all parameters from that of each trajectory's score."""
        of_steps = np.empty(cells.shape)
        of_steps[:] = gradient.reshape(-1)
        self._delta[:] = np.bincount(
            cells.reshape(-1), of_steps.reshape(-1), minlength=self._n_cells
        )
        total = self._flat.layer_gradients[-1]
        if self._overlap:
            total[:] = 0
        last_values = self._entering[-1]
        for table, rows, columns in zip(
            self.tables, self._rows, self._columns, strict=True
        ):
            delta = table.delta
            picked = np.add.reduce(delta, axis=-1, keepdims=True)
            delta -= table.policy * picked
            values = last_values[:, rows].transpose(0, 2, 1)
            np.matmul(values, delta, out=table.gradient)
            if self._overlap:
                total[..., columns] += table.gradient
            if table.below is not None:
                # a product with a transposed matrix takes longer than copying it
                table.transposed[:] = table.last_layer.transpose(0, 2, 1)
                np.matmul(delta, table.transposed, out=table.below)
        for layer in reversed(range(len(self._deltas))):
            delta, is_positive = self._deltas[layer], self._is_positive[layer]
            np.greater(self._entering[layer + 1], 0, out=is_positive)
            np.multiply(delta, is_positive, out=delta)
            of_layer = delta[..., :-1]  # nothing flows into the column of ones
            values = self._entering[layer].transpose(0, 2, 1)
            np.matmul(values, of_layer, out=self._flat.layer_gradients[layer])
            if layer > 0:
                transposed = self._transposed[layer]
                transposed[:] = self._flat.layers[layer].transpose(0, 2, 1)
                np.matmul(of_layer, transposed, out=self._deltas[layer - 1])


def _room_for_transposed(layer: FloatArray) -> FloatArray:
    n_members, fan_in, fan_out = layer.shape
    return np.empty((n_members, fan_out, fan_in), layer.dtype)


def _width(columns: slice) -> int:
    return int(columns.stop - columns.start)


def _overlap(columns: Sequence[slice]) -> bool:
    """Say whether some actions are in several tables."""
    ordered = sorted(columns, key=lambda c: (c.start, c.stop))
    return any(one.stop > other.start for one, other in pairwise(ordered))
