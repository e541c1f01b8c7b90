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


class ArrayTape:
    r"""Evaluates networks of few members at cells of tables, and their gradient.

    All large arrays are made once. With few members most of the time goes into calling
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
        self._columns = [table.columns for table in tables]
        self._shapes = [
            (n_members, table.n_rows, table.columns.stop - table.columns.start)
            for table in tables
        ]
        row_ends = np.cumsum([0, *(table.n_rows for table in tables)])
        cell_ends = np.cumsum([0, *(np.prod(shape) for shape in self._shapes)])
        self._rows = [slice(*ends) for ends in pairwise(row_ends.tolist())]
        self._cells = [slice(*ends) for ends in pairwise(cell_ends.tolist())]
        self._row_numbers = [
            np.arange(n * n_rows, dtype=np.float64).reshape(n, n_rows, 1)
            for n, n_rows, _ in self._shapes
        ]
        # inputs and hidden values, and the gradients of the latter
        self._entering = [
            np.ones((n_members, row_ends[-1], layer.shape[1]), dtype)
            for layer in flat.layers
        ]
        self._deltas = [np.zeros_like(values) for values in self._entering[1:]]
        # log P_F, −inf where closed, P_F, and the gradient of the logits
        self._log_policy, self._policy, self._delta = np.zeros(
            (3, cell_ends[-1]), dtype
        )
        self._cdf = np.zeros(cell_ends[-1])

    def inputs(self, number: int) -> FloatArray:  # shape: (E, n, F + 1)
        """Return the inputs of a table, to be written; the last column is 1."""
        return self._entering[0][:, self._rows[number]]

    def first_cell(self, number: int) -> int:
        """Return the place of the first cell of a table among all."""
        return int(self._cells[number].start)

    def evaluate(
        self,
        number: int,
        log_mask: FloatArray | None,  # shape: (n, C) or (E, n, C), 0 or −inf
        epsilon: float = 0.0,
        uniform: NDArray[np.float64]
        | None = None,  # like the mask: ε · uniform, summed
    ) -> None:
        """Fill a table from its inputs; the last two say how sampling explores."""
        rows = self._rows[number]
        *hidden_layers, last = self._flat.layers
        values = self._entering[0][:, rows]
        for layer, of_layer in zip(hidden_layers, self._entering[1:], strict=True):
            following = of_layer[:, rows]
            np.matmul(values, layer, out=following[..., :-1])
            values = np.maximum(following, 0, out=following)  # the last column stays 1
        logits, policy, cdf = self._of_table(number)
        np.matmul(values, last[..., self._columns[number]], out=logits)
        if log_mask is not None:
            logits += log_mask
        logits -= np.maximum.reduce(logits, axis=-1, keepdims=True)
        np.exp(logits, out=policy)
        np.add.accumulate(policy, axis=-1, dtype=np.float64, out=cdf)
        total = cdf[..., -1:].copy()
        as_policy = total.astype(policy.dtype)
        policy /= as_policy
        logits -= np.log(as_policy)
        if uniform is None:
            cdf /= total
        else:
            cdf *= (1 - epsilon) / total
            cdf += uniform
        np.fmin(cdf, 1.0, out=cdf)  # rows that are no numbers draw their first action
        cdf += self._row_numbers[number]

    def _of_table(self, number: int) -> list[FloatArray]:  # shapes: (E, n, C) each
        """Return views of log P_F, P_F and its sums, plus the row e·n + i."""
        cells, shape = self._cells[number], self._shapes[number]
        arrays = (self._log_policy, self._policy, self._cdf)
        return [array[cells].reshape(shape) for array in arrays]

    def draw(
        self, number: int, points: NDArray[np.float64]
    ) -> IntArray:  # shapes: points (...), e·n + i + uniform -> (...)
        """Return the cells of a table, from 0, that the points fall into."""
        cells: IntArray = self._cdf[self._cells[number]].searchsorted(
            points, side="right"
        )
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
            cells.reshape(-1), of_steps.reshape(-1), minlength=len(self._delta)
        )
        layers, gradients = self._flat.layers, self._flat.layer_gradients
        gradients[-1][:] = 0  # tables may share actions
        for number, (rows, columns) in enumerate(
            zip(self._rows, self._columns, strict=True)
        ):
            _, policy, _ = self._of_table(number)
            delta = self._delta[self._cells[number]].reshape(policy.shape)
            delta -= policy * np.add.reduce(delta, axis=-1, keepdims=True)
            leaving = self._entering[-1][:, rows].transpose(0, 2, 1)
            gradients[-1][..., columns] += np.matmul(leaving, delta)
            if self._deltas:
                turned = _transposed(layers[-1][..., columns])
                np.matmul(delta, turned, out=self._deltas[-1][:, rows])
        for i, delta in reversed(list(enumerate(self._deltas))):
            delta *= self._entering[i + 1] > 0
            of_layer = delta[..., :-1]  # nothing flows into the column of ones
            entering = self._entering[i].transpose(0, 2, 1)
            np.matmul(entering, of_layer, out=gradients[i])
            if i > 0:
                turned = _transposed(layers[i])
                np.matmul(of_layer, turned, out=self._deltas[i - 1])


def _transposed(layer: FloatArray) -> FloatArray:
    """Return a copy: a product with a transposed matrix takes longer than that."""
    return np.ascontiguousarray(layer.transpose(0, 2, 1))
