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
    leaving: FloatArray  # shape: (E, H + 1, n), the last hidden values transposed
    last_layer: FloatArray  # shape: (E, H + 1, C)
    turned: FloatArray  # shape: (E, C, H + 1), the last layer transposed
    copy: FloatArray  # shape: (E, C, H + 1), room for a copy of it
    log_policy: FloatArray  # shape: (E, n, C), −inf where closed
    policy: FloatArray  # shape: (E, n, C)
    cdf: NDArray[np.float64]  # shape: (E, n, C), plus the row e·n + i
    total: NDArray[np.float64]  # shape: (E, n, 1), its last column
    flat_cdf: NDArray[np.float64]  # shape: (E · n · C,)
    row_numbers: NDArray[np.float64]  # shape: (E, n, 1)
    delta: FloatArray  # shape: (E, n, C), gradient of the logits
    below: FloatArray | None  # shape: (E, n, H + 1), gradient of the hidden values
    gradient: FloatArray  # shape: (E, H + 1, C), of the last layer


class HiddenLayer(NamedTuple):
    """Views of what the gradient of a hidden layer, over all tables, needs."""

    values: FloatArray  # shape: (E, n, H + 1)
    is_positive: NDArray[np.bool_]  # shape: (E, n, H + 1)
    delta: FloatArray  # shape: (E, n, H + 1), gradient of the values
    of_layer: FloatArray  # shape: (E, n, H); nothing flows into the column of ones
    entering: FloatArray  # shape: (E, F + 1, n), what enters the layer, transposed
    gradient: FloatArray  # shape: (E, F + 1, H), of the layer
    turned: FloatArray  # shape: (E, H, F + 1), the layer transposed
    copy: FloatArray  # shape: (E, H, F + 1), room for a copy of it
    below: FloatArray | None  # shape: (E, n, F + 1), gradient of what enters


class ArrayTape:
    r"""Evaluates networks of few members at cells of tables, and their gradient.

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
        self._hidden_layers = [
            HiddenLayer(
                values=self._entering[i + 1],
                is_positive=np.empty(delta.shape, dtype=bool),
                delta=delta,
                of_layer=delta[..., :-1],
                entering=self._entering[i].transpose(0, 2, 1),
                gradient=flat.layer_gradients[i],
                turned=flat.layers[i].transpose(0, 2, 1),
                copy=_room_for_transposed(flat.layers[i]),
                below=self._deltas[i - 1] if i > 0 else None,
            )
            for i, delta in reversed(list(enumerate(self._deltas)))
        ]
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
                    leaving=self._entering[-1][:, rows].transpose(0, 2, 1),
                    last_layer=layer,
                    turned=layer.transpose(0, 2, 1),
                    copy=_room_for_transposed(layer),
                    log_policy=self._log_policy[own].reshape(of_cells),
                    policy=self._policy[own].reshape(of_cells),
                    cdf=self._cdf[own].reshape(of_cells),
                    total=self._cdf[own].reshape(of_cells)[..., -1:],
                    flat_cdf=self._cdf[own],
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
        total = table.total.copy()
        as_policy = total.astype(policy.dtype)
        policy /= as_policy
        logits -= np.log(as_policy)
        if uniform is None:
            cdf /= total
        else:
            cdf *= (1 - epsilon) / total
            cdf += uniform
        np.fmin(cdf, 1.0, out=cdf)  # rows that are no numbers draw their first action
        cdf += table.row_numbers

    def draw(
        self, number: int, points: NDArray[np.float64]
    ) -> IntArray:  # shapes: points (...), e·n + i + uniform -> (...)
        """Return the cells of a table, from 0, that the points fall into."""
        cdf = self.tables[number].flat_cdf
        cells: IntArray = cdf.searchsorted(points, side="right")
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
        for table, columns in zip(self.tables, self._columns, strict=True):
            delta = table.delta
            picked = np.add.reduce(delta, axis=-1, keepdims=True)
            delta -= table.policy * picked
            np.matmul(table.leaving, delta, out=table.gradient)
            if self._overlap:
                total[..., columns] += table.gradient
            if table.below is not None:
                # a product with a transposed matrix takes longer than copying it
                np.copyto(table.copy, table.turned)
                np.matmul(delta, table.copy, out=table.below)
        for layer in self._hidden_layers:
            np.greater(layer.values, 0, out=layer.is_positive)
            np.multiply(layer.delta, layer.is_positive, out=layer.delta)
            np.matmul(layer.entering, layer.of_layer, out=layer.gradient)
            if layer.below is not None:
                np.copyto(layer.copy, layer.turned)
                np.matmul(layer.of_layer, layer.copy, out=layer.below)


def _room_for_transposed(layer: FloatArray) -> FloatArray:
    n_members, fan_in, fan_out = layer.shape
    return np.empty((n_members, fan_out, fan_in), layer.dtype)


def _width(columns: slice) -> int:
    return int(columns.stop - columns.start)


def _overlap(columns: Sequence[slice]) -> bool:
    """Say whether some actions are in several tables."""
    ordered = sorted(columns, key=lambda c: (c.start, c.stop))
    return any(one.stop > other.start for one, other in pairwise(ordered))
