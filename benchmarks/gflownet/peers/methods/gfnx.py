"""gfnx: one member at a time, or all of them by ``jax.vmap``.

The whole training is one compiled loop. The hypergrid is the library's own with our
table of rewards; the tree of the reactions is given by look-up tables. As in the
library's baselines, a batch is rolled out and then evaluated again with gradients.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import chex
import equinox as eqx
import gfnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gfnx import spaces
from gfnx.base import BaseEnvParams, BaseEnvState, BaseRewardModule, BaseVecEnvironment

from .base import Answer, Settings, Task, log_softmax

State, Params, Batch = Any, Any, Any


class TableReward(BaseRewardModule):
    """Log-rewards by table; the table is the parameter of the reward."""

    def __init__(self, index_of: Any) -> None:
        self.index_of = index_of

    def init(self, rng_key, dummy_state):
        """Return nothing: the table comes later."""
        return

    def log_reward(self, state: State, env_params: Params) -> jax.Array:
        """Look up log R."""
        return env_params.reward_params[self.index_of(state)]

    def reward(self, state: State, env_params: Params) -> jax.Array:
        """Return R."""
        return jnp.exp(self.log_reward(state, env_params))


@chex.dataclass(frozen=True)
class TreeState(BaseEnvState):
    """A node s < N is a state, N + x an object."""

    node: jax.Array
    is_terminal: jax.Array
    is_initial: jax.Array
    is_pad: jax.Array


@chex.dataclass(frozen=True)
class TreeParams(BaseEnvParams):
    """The table of log-rewards."""

    reward_params: Any = None


class TreeEnvironment(BaseVecEnvironment):
    """A tree by tables."""

    def __init__(self, task: Task) -> None:
        super().__init__(TableReward(lambda state: state.node - task.n_states))
        self.n_inner, self.n_actions = task.mask.shape
        self.max_steps = task.max_steps
        self.children = jnp.asarray(task.children, dtype=jnp.int32)
        self.is_masked = jnp.asarray(~task.mask)
        self.encodings = jnp.asarray(task.encodings)

    def get_init_state(self, num_envs: int) -> TreeState:
        """Return the root."""
        no = jnp.zeros(num_envs, dtype=bool)
        node = jnp.zeros(num_envs, dtype=jnp.int32)
        return TreeState(node=node, is_terminal=no, is_initial=~no, is_pad=no)

    def init(self, rng_key) -> TreeParams:
        """Return parameters without a table."""
        return TreeParams()

    @property
    def max_steps_in_episode(self) -> int:
        """Return the depth of the tree."""
        return self.max_steps

    def _inner(self, state: TreeState) -> jax.Array:
        return jnp.minimum(state.node, self.n_inner - 1)

    def transition(self, state: TreeState, action, env_params):
        """Follow the edges; objects stay."""
        child = self.children[self._inner(state), action]
        node = jnp.where(state.is_terminal, state.node, child)
        following = TreeState(
            node=node,
            is_terminal=node >= self.n_inner,
            is_initial=jnp.zeros_like(state.is_initial),
            is_pad=state.is_terminal,
        )
        return following, following.is_terminal, {}

    def _single_transition(self, state, action, env_params):
        raise NotImplementedError("see transition")

    def _single_backward_transition(self, state, backward_action, env_params):
        raise NotImplementedError("not needed")

    def get_obs(self, state: TreeState, env_params) -> jax.Array:
        """Look up the encodings."""
        return self.encodings[self._inner(state)]

    def get_backward_action(self, state, forward_action, next_state, env_params):
        """Return the only one."""
        return jnp.zeros_like(forward_action)

    def get_forward_action(self, state, backward_action, prev_state, env_params):
        """Not needed."""
        raise NotImplementedError("not needed")

    def get_invalid_mask(self, state: TreeState, env_params) -> jax.Array:
        """Look up the masks."""
        return self.is_masked[self._inner(state)]

    def get_invalid_backward_mask(self, state: TreeState, env_params) -> jax.Array:
        """Return that the only backward action is allowed."""
        return jnp.zeros((*state.node.shape, 1), dtype=bool)

    @property
    def name(self) -> str:
        """Return a name."""
        return "tree"

    @property
    def action_space(self) -> spaces.Discrete:
        """Return the actions."""
        return spaces.Discrete(self.n_actions)

    @property
    def backward_action_space(self) -> spaces.Discrete:
        """Return the only backward action."""
        return spaces.Discrete(1)

    @property
    def observation_space(self):
        """Not needed."""
        raise NotImplementedError("not needed")

    @property
    def state_space(self):
        """Not needed."""
        raise NotImplementedError("not needed")


def train(
    task: Task, settings: Settings, members: tuple[int, ...], seed: int
) -> Answer:
    """Train one member."""
    (member,) = members
    learn = _learner(task, settings)
    table = jnp.asarray(task.log_reward[member], dtype=jnp.float32)
    key = jax.random.key(seed + member)
    return _measure(task, learn, table, key, 1)


def train_together(
    task: Task, settings: Settings, members: tuple[int, ...], seed: int
) -> Answer:
    """Train all members in one loop over stacked parameters."""
    learn = jax.vmap(_learner(task, settings))
    tables = jnp.asarray(task.log_reward[list(members)], dtype=jnp.float32)
    keys = jax.vmap(lambda m: jax.random.key(seed + m))(jnp.asarray(members))
    return _measure(task, learn, tables, keys, len(members))


def _measure(task: Task, learn: Any, tables, keys, n_members: int) -> Answer:
    """Compile, then train; one pass over the states at the end is in the clock."""
    started = time.process_time()
    compiled = jax.jit(learn).lower(tables, keys).compile()
    compile_seconds = time.process_time() - started
    started = time.process_time()
    logits = jax.block_until_ready(compiled(tables, keys))
    seconds = time.process_time() - started
    logits = np.asarray(logits).reshape(n_members, *task.mask.shape)
    return Answer(seconds / n_members, log_softmax(logits, task.mask), compile_seconds)


def _environment(task: Task) -> BaseVecEnvironment:
    if not task.side:
        return TreeEnvironment(task)
    reward = TableReward(lambda s: s.state[:, 0] * task.side + s.state[:, 1])
    return gfnx.HypergridEnvironment(reward, dim=2, side=task.side)


def _learner(task: Task, settings: Settings) -> Any:
    """Return the function from (table, key) to the outputs in all states."""
    env = _environment(task)
    blank = env.init(jax.random.key(0))
    schedule = _schedule(settings, settings.learning_rate)
    log_z_schedule = _schedule(settings, settings.log_z_learning_rate)
    optimizer = optax.multi_transform(
        {"network": optax.adam(schedule), "log_z": optax.adam(log_z_schedule)},
        {"network": "network", "log_z": "log_z"},
    )

    def learn(table: jax.Array, key: jax.Array) -> jax.Array:
        env_params = blank.replace(reward_params=table)
        key, network_key, first_key = jax.random.split(key, 3)
        model = eqx.nn.MLP(
            task.encodings.shape[1],
            task.mask.shape[1],
            settings.hidden,
            depth=2,
            key=network_key,
        )
        weights, rest = eqx.partition(model, eqx.is_array)
        scores = partial(_scores, env, env_params, rest)
        rollout = partial(_rollout, env, env_params, rest, settings.batch_size)
        first = scores(weights, rollout(weights, first_key))
        params = {"network": weights, "log_z": -first.mean()}

        def loss(params: dict, batch: Batch) -> jax.Array:
            found = scores(params["network"], batch)
            if settings.objective == "vargrad":
                return found.var()
            return jnp.square(params["log_z"] + found).mean()

        def update(_: int, carry: tuple) -> tuple:
            params, state, key = carry
            key, here = jax.random.split(key)
            gradient = jax.grad(loss)(params, rollout(params["network"], here))
            changes, state = optimizer.update(gradient, state, params)
            return optax.apply_updates(params, changes), state, key

        carry = (params, optimizer.init(params), key)
        params, _, _ = jax.lax.fori_loop(0, settings.n_iterations, update, carry)
        network = eqx.combine(params["network"], rest)
        return jax.vmap(network)(jnp.asarray(task.encodings))

    return learn


def _schedule(settings: Settings, rate: float) -> Any:
    if settings.final_fraction == 1:
        return rate
    return optax.cosine_decay_schedule(
        rate, settings.n_iterations, alpha=settings.final_fraction
    )


def _rollout(env, env_params, rest, batch_size: int, weights, key) -> Batch:
    def policy(_, observations, weights):
        logits = jax.vmap(eqx.combine(weights, rest))(observations)
        return logits, {}

    batch, _ = gfnx.utils.forward_rollout(
        rng_key=key,
        num_envs=batch_size,
        policy_fn=policy,
        policy_params=weights,
        env=env,
        env_params=env_params,
    )
    return batch


def _scores(env, env_params, rest, weights, batch: Batch) -> jax.Array:
    """Return log P_F − log P_B − log R of each trajectory."""
    logits = jax.vmap(jax.vmap(eqx.combine(weights, rest)))(batch.obs)
    n_backward = env.backward_action_space.n
    logits_of = {
        "forward_logits": logits,
        "backward_logits": jnp.zeros((*logits.shape[:2], n_backward)),
    }
    log_pf, log_pb = gfnx.utils.forward_trajectory_log_probs(
        env, batch.replace(info=logits_of), env_params
    )
    return log_pf - log_pb - batch.log_gfn_reward.sum(axis=1)
