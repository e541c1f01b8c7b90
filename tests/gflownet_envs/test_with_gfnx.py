"""Policies of models that the real gfnx has trained, as members of an ensemble."""

from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from gflownet_envs import (
    HypergridEnvironment,
    PolicyDataset,
    StateGraph,
    solve_exact,
    terminating_distribution,
)

gfnx = pytest.importorskip("gfnx", reason="gfnx is not installed")
import equinox as eqx  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402
from gfnx.environment.hypergrid import EnvState  # noqa: E402
from gfnx.reward.hypergrid import GeneralHypergridRewardModule  # noqa: E402

SIDE = 4


def theirs(level):
    """Return their grid, whose corners have a reward of this level."""
    reward = GeneralHypergridRewardModule(R0=0.1, R1=level, R2=0.0)
    env = gfnx.HypergridEnvironment(reward, dim=2, side=SIDE)
    return env, env.init(jax.random.key(0))


def their_state(state):
    no = jnp.zeros(1, dtype=bool)
    cell = jnp.asarray(state[None, :2].tolist())
    return EnvState(state=cell, is_terminal=no, is_initial=no, is_pad=no)


def policy_of(model, env, params):
    """Return a function from a state of ours to the probabilities of the actions."""

    def policy(state):
        there = their_state(state)
        logits = model(env.get_obs(there, params)[0])
        closed = env.get_invalid_mask(there, params)[0]
        return np.asarray(jax.nn.softmax(jnp.where(closed, -jnp.inf, logits)))

    return policy


def trained(env, params, seed, n_iterations=400):
    """Train a network by trajectory balance as their baselines do."""
    key, first = jax.random.split(jax.random.key(seed))
    n_inputs = env.get_obs(env.get_init_state(1), params).shape[1]
    model = eqx.nn.MLP(n_inputs, 3, 32, depth=1, key=first)
    weights, rest = eqx.partition(model, eqx.is_array)

    def forward(_, obs, weights):
        return jax.vmap(eqx.combine(weights, rest))(obs), {}

    def loss(learned, batch):
        logits = jax.vmap(partial(forward, None, weights=learned[0]))(batch.obs)[0]
        backward = jnp.zeros((*logits.shape[:2], env.backward_action_space.n))
        info = {"forward_logits": logits, "backward_logits": backward}
        log_pf, log_pb = gfnx.utils.forward_trajectory_log_probs(
            env, batch.replace(info=info), params
        )
        residual = learned[1] + log_pf - log_pb - batch.log_gfn_reward.sum(axis=1)
        return jnp.square(residual).mean()

    optimizer = optax.adam(0.02)

    @jax.jit
    def update(learned, state, key):
        batch, _ = gfnx.utils.forward_rollout(key, 16, forward, learned[0], env, params)
        changes, state = optimizer.update(jax.grad(loss)(learned, batch), state)
        return optax.apply_updates(learned, changes), state

    learned = weights, jnp.zeros(())
    state = optimizer.init(learned)
    for _ in range(n_iterations):
        key, here = jax.random.split(key)
        learned, state = update(learned, state, here)
    return eqx.combine(learned[0], rest)


def test_their_grid_has_our_states_and_actions():
    env, params = theirs(1.0)
    ours = HypergridEnvironment(2, SIDE)
    graph = StateGraph.from_environment(ours)
    for state in graph.states:
        closed = np.asarray(env.get_invalid_mask(their_state(state), params)[0])
        assert_array_equal(~closed, ours.valid_mask(state).numpy())


@pytest.mark.slow
def test_their_models_are_members():
    ours = HypergridEnvironment(2, SIDE)
    levels = np.array([0.2, 1.0, 4.0])
    policies, rewards = [], []
    for seed, level in enumerate(levels):
        env, params = theirs(float(level))
        policies.append(policy_of(trained(env, params, seed), env, params))
        cells = jnp.asarray([[i // SIDE, i % SIDE] for i in range(SIDE**2)])
        there = env.get_init_state(SIDE**2).replace(state=cells)
        rewards.append(np.asarray(env.reward_module.log_reward(there, params)))
    dataset = PolicyDataset.from_policies(ours, policies, levels[:, None])
    exact = solve_exact(ours, torch.tensor(np.array(rewards), dtype=torch.float64))
    graph = exact.graph
    table = np.array([[policy(s) for s in graph.states] for policy in policies])
    found = terminating_distribution(graph, torch.tensor(np.log(table + 1e-30)))
    true = terminating_distribution(graph, exact.log_policy_table)
    assert float((found - true).abs().sum(dim=1).max()) / 2 < 0.1
    assert dataset.X.shape == (3, 1)
    assert dataset.n_members == 3
