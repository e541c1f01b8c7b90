"""Training few members by NumPy: roll-outs, gradient and steps, without autograd."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gflownet_envs.environments.base import StateGraph
from gflownet_envs.objectives import OBJECTIVES
from gflownet_envs.policies import StackedMLP
from gflownet_envs.policies.networks import FlatAdam, FlatNetworks, FloatArray
from gflownet_envs.random_streams import MemberStream, UniformChunks
from gflownet_envs.rewards.source import ObjectReward, RewardSource, RewardTable
from gflownet_envs.sampling.rollouts import shared_layers
from gflownet_envs.training.spec import TrainingSpec

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


def fits_arrays(spec: TrainingSpec) -> bool:
    """Say whether `ArrayLearner` can train by a specification, in a listed space."""
    return (
        OBJECTIVES[spec.objective].score_gradient is not None
        and spec.policy == "mlp"
        and not spec.learn_backward_policy
        and spec.exploration_temperature == 1
        and spec.replay_fraction == 0
    )


class ArrayLearner:
    """Networks of few members, and what a step of training does to them.

    With one member a step of `AutogradLearner` spends nine tenths of its time calling
    operations. Here the same step is some ninety operations of NumPy on arrays that
    are made once: roll-outs, the gradient and Adam are written out.

    Parameters
    ----------
    graph : StateGraph
    network : StackedMLP
        Whose numbers training starts from.
    reward : ObjectReward
        In the precision of the network.
    streams : list of MemberStream
    spec : TrainingSpec
        One of which `fits_arrays` is true.
    """

    def __init__(
        self,
        graph: StateGraph,
        network: StackedMLP,
        reward: ObjectReward,
        streams: list[MemberStream],
        spec: TrainingSpec,
    ) -> None:
        self._spec, self._graph = spec, graph
        self._objective = OBJECTIVES[spec.objective]
        self._uniforms = UniformChunks(
            streams, (spec.batch_size, graph.environment.max_steps)
        )
        self._use(network, reward)
        # steps of Adam do not depend on the unit of what it moves: in this one log Z
        # may learn at the rate of the network
        self._log_z_unit = spec.log_z_learning_rate / spec.learning_rate
        if spec.log_z_init is not None:
            self._flat.values[:, -1] = spec.log_z_init / self._log_z_unit
        self._adam = FlatAdam(self._flat, spec.adam_betas)

    def _use(self, network: StackedMLP, reward: ObjectReward) -> None:
        """Make the arrays for some networks."""
        spec, self._reward = self._spec, reward
        self._flat = FlatNetworks(network)
        self._sampler = ArraySampler(
            self._graph, self._flat, spec.batch_size, spec.exploration_epsilon
        )
        self._table, self._table_rows = None, np.zeros(0, dtype=np.int64)
        if isinstance(reward, RewardTable):
            table = reward.log_reward.numpy()
            rows = np.arange(self._flat.n_members) * table.shape[1]
            self._table = np.ascontiguousarray(table)
            self._table_rows = np.repeat(rows, spec.batch_size)

    @property
    def network(self) -> StackedMLP:
        """The networks as they are now."""
        return self._flat.network

    def step(
        self, iteration: int, rate_factor: float
    ) -> tuple[FloatArray, FloatArray]:  # shapes: (E,), (E,)
        """Take one step of Adam; return the losses and log Z before it."""
        with np.errstate(all="ignore"):  # what diverges is noticed by its loss
            return self._step(iteration, rate_factor)

    def _step(
        self, iteration: int, rate_factor: float
    ) -> tuple[FloatArray, FloatArray]:
        flat, tape = self._flat, self._sampler.tape
        walk = self._sampler(self._uniforms.next())
        scores = np.add.reduce(tape.pick(walk.cells), axis=0)
        if walk.log_pb is not None:
            scores -= walk.log_pb
        scores -= self._log_reward(walk.objects)
        scores = scores.reshape(flat.n_members, -1)
        learns_log_z = self._objective.learns_log_z
        if learns_log_z and (iteration or self._spec.log_z_init is not None):
            log_z = flat.values[:, -1] * self._log_z_unit
        else:
            log_z = np.add.reduce(scores, axis=1) / -scores.shape[1]
            flat.values[:, -1] = log_z / self._log_z_unit
        assert self._objective.score_gradient is not None  # `fits_arrays`
        losses, gradient = self._objective.score_gradient(scores, log_z)
        tape.backward(walk.cells, gradient)
        if learns_log_z:
            np.add.reduce(gradient, axis=1, out=flat.gradient[:, -1])
        if self._spec.max_gradient_norm is not None:
            self._shorten_gradients(self._spec.max_gradient_norm)
        self._adam.step(self._spec.learning_rate * rate_factor)
        return losses, log_z

    def _log_reward(self, objects: IntArray) -> FloatArray:  # shapes: (E · B,) each
        if self._table is not None:
            found: FloatArray = self._table.take(objects + self._table_rows)
            return found
        by_member = torch.from_numpy(objects).view(self._flat.n_members, -1)
        return self._reward.of_objects(by_member).numpy().reshape(-1)

    def _shorten_gradients(self, largest: float) -> None:
        """Shorten each member's gradient to a norm, all its parameters together."""
        gradient = self._flat.gradient
        norm = np.sqrt(np.add.reduce(np.square(gradient), axis=1, keepdims=True))
        gradient *= np.fmin(largest / norm, 1.0)

    def keep(self, rows: NDArray[np.intp], reward: RewardSource) -> None:
        """Go on with some members, whose rewards are given."""
        assert isinstance(reward, ObjectReward)  # as they were
        log_z = self._flat.values[rows, -1]
        self._use(self.network.select(rows), reward)
        self._flat.values[:, -1] = log_z
        self._adam = self._adam.keep(self._flat, rows)
        self._uniforms.keep(rows)
