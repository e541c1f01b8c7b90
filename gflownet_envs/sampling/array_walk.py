"""Roll-outs of few members by look-ups of cells, by NumPy."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gflownet_envs.environments.base import StateGraph
from gflownet_envs.policies.flat_networks import FlatNetworks
from gflownet_envs.sampling.array_tape import (
    ArrayTape,
    FloatArray,
    IntArray,
    TableShape,
)
from gflownet_envs.sampling.tables import shared_layers


class ArrayWalk(NamedTuple):
    """What a batch did, E·B trajectories in a row."""

    cells: IntArray  # shape: (T, E · B), where log P_F is; that of 1 after the end
    log_pb: FloatArray | None  # shape: (E · B,), summed; None where all are zero
    objects: IntArray  # shape: (E · B,)


class ArraySampler:
    """What `TableSampler` does, for few members.

    A trajectory that is over stays in one row more of the shared table, whose only
    open action leads there again: no step has to ask who is still walking. Places are
    rows of this table, member by member, and beyond them the states that have a row
    only when a batch meets them.

    Parameters
    ----------
    graph : StateGraph
    flat : FlatNetworks
    batch_size : int
    epsilon : float
        Share of uniformly random actions.
    """

    def __init__(
        self, graph: StateGraph, flat: FlatNetworks, batch_size: int, epsilon: float
    ) -> None:
        n_members, dtype = flat.n_members, flat.values.dtype
        self._graph, self._epsilon, self._batch_size = graph, epsilon, batch_size
        self._n_members = n_members
        shared = shared_layers(graph, batch_size)
        ids = shared.ids.numpy()
        self._n_rows = len(ids) + 1  # the last is after the end
        large = [t for t in range(graph.n_layers) if t not in shared.first_row]
        self._columns = {t: graph.open_columns(t) for t in large}
        self._number_of = {t: number for number, t in enumerate(large, start=1)}
        tables = [TableShape(self._n_rows, shared.columns)]
        tables += [TableShape(batch_size, self._columns[t][0]) for t in large]
        self.tape = ArrayTape(flat, tables)
        self._mask = graph.mask.numpy()
        ones = np.ones((graph.n_states, 1))
        self._encodings = np.hstack((graph.encodings.numpy(), ones)).astype(dtype)
        self._log_mask = np.where(self._mask, 0.0, -np.inf).astype(dtype)
        self._uniform = epsilon * self._mask / self._mask.sum(axis=1, keepdims=True)
        self._log_pb = graph.log_pb.numpy().astype(dtype)
        self._has_one_parent = not self._log_pb.any()
        # a policy that is no number may take a closed action: it goes somewhere too
        children = graph.children.numpy()
        children = np.where(self._mask, children, children.max(axis=1, keepdims=True))
        is_end = children >= graph.n_states
        self._object_of = np.maximum(children - graph.n_states, 0)
        self._may_have_ended = {
            t: bool(is_end[: graph.layer_offsets[t]].any()) for t in large
        }
        self._summed_uniform = {
            t: self._uniform[graph.layer(t)][:, self._columns[t][0]].cumsum(axis=1)
            for t in large
        }
        self._offset = np.repeat(np.arange(n_members) * self._n_rows, batch_size)
        self._everyone = np.arange(n_members * batch_size)
        # the place behind each edge; a row is that of the first member
        of_state = np.arange(graph.n_states) + n_members * self._n_rows
        of_state[ids] = np.arange(len(ids))
        inner = of_state[np.minimum(children, graph.n_states - 1)]
        self._place_of = np.where(is_end, self._n_rows - 1, inner)
        self._fill_shared(ids, shared.columns)
        self._cells = np.zeros((graph.n_layers, len(self._everyone)), dtype=np.int64)
        # of steps from states without a row of their own
        shape = (len(large), len(self._everyone))
        self._objects = np.zeros(shape, dtype=np.int64)
        self._edge_log_pb = np.zeros(shape, dtype)

    def _fill_shared(self, ids: IntArray, columns: slice) -> None:
        """Write what never changes: tables of the shared rows, for every member."""
        n_members, dtype = self._n_members, self._encodings.dtype
        self.tape.inputs(0)[:, :-1] = self._encodings[ids]
        n_columns = columns.stop - columns.start

        def with_end(values: NDArray[Any], first: float, others: float) -> NDArray[Any]:
            """Return the rows of the shared states, and that after the end."""
            end = np.full((1, n_columns), others, dtype=values.dtype)
            end[0, 0] = first
            return np.concatenate((values[ids][:, columns], end))

        last_row = self._n_rows - 1
        self._shared_log_mask = with_end(self._log_mask, 0.0, -np.inf)
        self._shared_uniform = with_end(self._uniform, self._epsilon, 0.0).cumsum(
            axis=1
        )
        places = np.broadcast_to(
            with_end(self._place_of, last_row, last_row),
            (n_members, self._n_rows, n_columns),
        )
        offset = (np.arange(n_members) * self._n_rows)[:, None, None]
        is_row = places < self._n_rows
        self._following = np.where(is_row, places + offset, places).ravel()
        self._shared_objects = np.tile(
            with_end(self._object_of, 0, 0).ravel(), n_members
        )
        self._shared_log_pb = np.tile(
            with_end(self._log_pb, 0.0, 0.0).ravel(), n_members
        ).astype(dtype)
        self._after_the_end = (self._offset + last_row) * n_columns

    def __call__(self, uniforms: NDArray[np.float64]) -> ArrayWalk:
        """Sample trajectories; uniforms have the shape (E, B, T)."""
        by_step = uniforms.transpose(2, 0, 1).reshape(uniforms.shape[2], -1)
        tape, cells = self.tape, self._cells
        uniform = self._shared_uniform if self._epsilon else None
        tape.evaluate(0, self._shared_log_mask, self._epsilon, uniform)
        places = self._offset  # of the first state
        for t in range(self._graph.n_layers):
            if t not in self._columns:
                drawn = cells[t] = tape.draw(0, places + by_step[t])
                places = self._following.take(drawn)
            else:
                places = self._sampled_step(t, places, by_step[t])
        return ArrayWalk(cells, self._total_log_pb(), self._reached())

    def _sampled_step(
        self, t: int, places: IntArray, uniforms: NDArray[np.float64]
    ) -> IntArray:  # shapes: (E · B,)
        """Take a step from states that have no rows of their own."""
        number, (columns, all_open) = self._number_of[t], self._columns[t]
        start = self._graph.layer(t).start
        ids = places - self._n_members * self._n_rows
        ended = self._may_have_ended[t]
        if ended:
            alive = ids >= 0
            ids = np.where(alive, ids, start)
        by_member = ids.reshape(self._n_members, self._batch_size)
        self.tape.inputs(number)[:] = self._encodings.take(by_member, axis=0)
        log_mask = None if all_open else self._log_mask[by_member][..., columns]
        uniform = None
        if self._epsilon:
            uniform = self._summed_uniform[t].take(ids - start, axis=0)
            uniform = uniform.reshape(*by_member.shape, -1)
        self.tape.evaluate(number, log_mask, self._epsilon, uniform)
        cells = self.tape.draw(number, self._everyone + uniforms)
        edges = ids * self._mask.shape[1]
        edges += cells
        edges -= self._everyone * (columns.stop - columns.start) - columns.start
        cells += self.tape.first_cell(number)
        self._cells[t] = np.where(alive, cells, self._after_the_end) if ended else cells
        objects = self._object_of.take(edges)
        self._objects[number - 1] = objects * alive if ended else objects
        if not self._has_one_parent:
            log_pb = self._log_pb.take(edges)
            self._edge_log_pb[number - 1] = log_pb * alive if ended else log_pb
        if t == self._graph.n_layers - 1:
            return places  # nobody goes on
        following = self._place_of.take(edges)
        following = np.where(
            following < self._n_rows, following + self._offset, following
        )
        return np.where(alive, following, places) if ended else following

    def _reached(self) -> IntArray:  # shape: (E · B,)
        """Return the objects, each of which one step leads to."""
        # cells of other tables are beyond those of the shared one, whose last says 0
        found = self._shared_objects.take(self._cells, mode="clip").max(axis=0)
        if len(self._objects):
            np.maximum(found, self._objects.max(axis=0), out=found)
        return found

    def _total_log_pb(self) -> FloatArray | None:  # shape: (E · B,)
        """Return the sums of log P_B, where they are not all zero."""
        if self._has_one_parent:
            return None
        found = self._shared_log_pb.take(self._cells, mode="clip").sum(axis=0)
        return (
            found + self._edge_log_pb.sum(axis=0) if len(self._edge_log_pb) else found
        )
