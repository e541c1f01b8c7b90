"""Samplers: exploration and replay do what they say."""

import torch

from gflownet_envs import HypergridEnvironment, StateGraph
from gflownet_envs.policies import HeadLayout, StackedGRU, StackedMLP
from gflownet_envs.random_streams import member_streams
from gflownet_envs.sampling import (
    Exploration,
    PlainSampler,
    ReplayBuffer,
    TableSampler,
    cumulative_policy,
)
from tests.gflownet_envs.spaces import GRID, SELECTION


def uniforms(n_members, batch_size, env, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (n_members, batch_size, env.max_steps)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def perceptron(env, layout, n_members=2):
    sizes = (env.encoding_size, 12, layout.n_outputs)
    return StackedMLP(sizes, member_streams(0, range(n_members)), torch.float64)


def gradients(network, log_pf):
    """Gradients of a sum in which every log-probability has its own weight."""
    network.zero_grad()
    weights = torch.arange(log_pf.numel(), dtype=torch.float64).cos()
    (log_pf.flatten() * weights).sum().backward()
    return [p.grad.clone() for p in network.parameters()]


def test_a_walk_of_a_gru_agrees_with_reading_each_prefix():
    env = SELECTION
    sizes, streams = (env.n_actions, 8, env.n_actions), member_streams(0, (0, 1))
    network = StackedGRU(*sizes, streams, torch.float64)
    batch = PlainSampler(env)(network, uniforms(2, 6, env))
    fast = gradients(network, batch.log_pf)
    actions = batch.actions
    log_pf = []
    for t in range(env.max_steps):
        history = actions.clone()
        history[:, :, t:] = -1
        logits = network.read(history)
        columns = list(env.step_actions(t))
        chosen = (actions[:, :, t] - columns[0])[..., None]
        policy = torch.log_softmax(logits[..., columns], dim=-1)
        log_pf.append(policy.gather(-1, chosen)[..., 0])
    slow = torch.stack(log_pf, dim=-1)
    torch.testing.assert_close(batch.log_pf, slow)
    for one, other in zip(fast, gradients(network, slow), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-12)


def test_learned_backward_policy_by_hand():
    layout = HeadLayout(GRID.n_actions, n_backward_actions=GRID.n_backward_actions)
    network = perceptron(GRID, layout)
    batch = PlainSampler(GRID, layout)(network, uniforms(2, 5, GRID))
    for member in range(2):
        for row in range(5):
            state = GRID.initial_state()
            for t in range(GRID.max_steps):
                if GRID.is_terminal(state):
                    assert batch.log_pb[member, row, t] == 0
                    continue
                action = batch.actions[member, row, t]
                child = GRID.step(state, action)
                logits = network(GRID.encode(child)[None].double())[member, 0]
                logits = logits[layout.backward]
                logits = logits.masked_fill(~GRID.backward_mask(child), -torch.inf)
                expected = logits.log_softmax(-1)[GRID.backward_action(state, action)]
                torch.testing.assert_close(batch.log_pb[member, row, t], expected)
                state = child


def test_forced_actions_are_followed():
    graph = StateGraph.from_environment(GRID)
    network = perceptron(GRID, HeadLayout(GRID.n_actions))
    wanted = PlainSampler(GRID)(network, uniforms(2, 4, GRID, seed=1)).actions
    forced = torch.cat((wanted, torch.full_like(wanted, -1)), dim=1)
    for sampler in (PlainSampler(GRID), TableSampler(graph, 8, torch.float64)):
        u = uniforms(2, 8, GRID)
        batch = sampler(network, u, Exploration(), forced)
        assert torch.equal(batch.actions[:, :4], wanted)
        free = sampler(network, u)
        assert torch.equal(batch.actions[:, 4:], free.actions[:, 4:])


def test_temperature_and_epsilon_by_hand():
    policy = torch.tensor([0.5, 0.3, 0.2, 0.0], dtype=torch.float64)
    mask = torch.tensor([True, True, True, False])
    cumulative = cumulative_policy(policy.log(), mask, Exploration(0.1, 2.0))
    flat = policy.sqrt() / policy.sqrt().sum()
    expected = 0.9 * flat + 0.1 * torch.tensor([1, 1, 1, 0]) / 3
    torch.testing.assert_close(cumulative, expected.cumsum(0))


def test_cold_policies_stay_finite():
    log_policy = torch.tensor([-1.0, -2.0, -torch.inf])
    mask = torch.tensor([True, True, False])
    for logits in (log_policy, 1000 + log_policy):
        cumulative = cumulative_policy(logits, mask, Exploration(0.0, 1e-38))
        assert cumulative.tolist() == [1.0, 1.0, 1.0]


def test_replay_keeps_the_last_trajectories_and_prefers_the_best():
    buffer = ReplayBuffer(n_members=2, capacity=20, n_steps=1)
    rewards = torch.arange(30, dtype=torch.float64)
    actions = torch.arange(30)[:, None]
    buffer.add(actions.expand(2, 30, 1), torch.stack((rewards, -rewards)))
    assert buffer.n_stored == 20
    u = torch.linspace(0, 0.999, 500).repeat(2).expand(2, 1000)
    drawn = buffer.draw(u)[..., 0]
    assert drawn.min() == 10  # the first ten were overwritten
    best = drawn[:, :500]
    assert set(best[0].tolist()) == {28, 29}
    assert set(best[1].tolist()) == {10, 11}
    assert len(set(drawn[0, 500:].tolist())) > 8


def test_a_policy_that_is_no_number_still_ends_its_trajectories():
    env = HypergridEnvironment(side=5)
    network = perceptron(env, HeadLayout(env.n_actions))
    with torch.no_grad():
        network.weights[0].fill_(torch.nan)
    sampler = TableSampler(StateGraph.from_environment(env), 4, torch.float64)
    batch = sampler(network, uniforms(2, 4, env))
    assert batch.log_pf.isnan().any()
    assert ((batch.objects >= 0) & (batch.objects < env.n_objects)).all()
