"""Steps of training few members by NumPy, without autograd."""

import numpy as np
import torch
from numpy.typing import NDArray

from gflownet_envs.environments.base import StateGraph
from gflownet_envs.objectives import OBJECTIVES
from gflownet_envs.policies import StackedMLP
from gflownet_envs.policies.flat_networks import FlatAdam, FlatNetworks, FloatArray
from gflownet_envs.random_streams import MemberStream, UniformChunks
from gflownet_envs.rewards.source import ObjectReward, RewardSource, RewardTable
from gflownet_envs.sampling.array_tape import IntArray
from gflownet_envs.sampling.array_walk import ArraySampler
from gflownet_envs.training.spec import TrainingSpec


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
