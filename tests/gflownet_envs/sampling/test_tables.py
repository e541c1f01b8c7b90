"""Tables of states give the policies and the gradient of walks step by step."""

import pytest
import torch

from gflownet_envs import (
    HypergridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
)
from gflownet_envs.policies import HeadLayout, StackedMLP
from gflownet_envs.random_streams import member_streams
from gflownet_envs.sampling import Exploration, TableSampler
from tests.gflownet_envs.spaces import GRID

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
ENVIRONMENTS = (
    GRID,
    HypergridEnvironment(side=5),
    SequentialSelectionEnvironment({"a": list("xyz"), "b": list("pqrs")}),
)


def network_for(sizes, n_members=3, dtype=torch.float64):
    streams = member_streams(0, range(n_members))
    return StackedMLP(sizes, streams, dtype, "he")


def by_autograd(network, graph, batch, weights):
    """Walk the actions again; log P_F and log F of every step, then the gradient."""
    env, dtype = graph.environment, network.dtype
    state = env.initial_state(batch.actions.shape[:2])
    log_pf, log_flow = [], []
    for t in range(env.max_steps):
        alive, action = batch.alive[..., t], batch.actions[..., t].clamp(min=0)
        outputs = network(env.encode(state).to(dtype))
        mask = env.valid_mask(state) | ~alive[..., None]
        logits = outputs[..., : env.n_actions].masked_fill(~mask, -torch.inf)
        chosen = logits.log_softmax(-1).gather(-1, action[..., None])[..., 0]
        log_pf.append(chosen.where(alive, 0.0))
        log_flow.append(outputs[..., -1].where(alive, 0.0))
        state = torch.where(alive[..., None], env.step(state, action), state)
    log_pf, log_flow = torch.stack(log_pf, -1), torch.stack(log_flow, -1)
    network.zero_grad()
    total = (log_pf * weights[0]).sum() + (log_flow * weights[1]).sum()
    total.backward()
    return log_pf, [p.grad.clone() for p in network.parameters()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("env", ENVIRONMENTS, ids=lambda env: env.name)
@pytest.mark.parametrize("batch_size", [2, 30], ids=["sampled", "shared"])
@pytest.mark.parametrize("hidden", [(), (9,), (8, 7, 6)], ids=len)
@pytest.mark.parametrize("has_flow", [False, True], ids=["policy", "flow"])
def test_gradient_is_that_of_autograd(env, batch_size, hidden, has_flow, dtype):
    graph = StateGraph.from_environment(env)
    layout = HeadLayout(env.n_actions, has_flow=has_flow)
    sizes = (env.encoding_size, *hidden, layout.n_outputs)
    network = network_for(sizes, dtype=dtype)
    generator = torch.Generator().manual_seed(0)
    shape = (3, batch_size, env.max_steps)
    uniforms = torch.rand(shape, generator=generator, dtype=dtype)
    weights = torch.randn((2, *shape), generator=generator, dtype=dtype)
    weights[1] *= has_flow
    sampler = TableSampler(graph, batch_size, dtype, layout)
    batch = sampler(network, uniforms, Exploration(epsilon=0.3))
    total = (batch.log_pf * weights[0]).sum()
    if has_flow:
        flow = batch.log_flow.where(batch.alive, 0.0)
        total = total + (flow * weights[1]).sum()
    network.zero_grad()
    total.backward()
    found = [p.grad.clone() for p in network.parameters()]
    log_pf, expected = by_autograd(network, graph, batch, weights)
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(batch.log_pf, log_pf, rtol=tolerance, atol=tolerance)
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(other.abs().max()))
        assert (one - other).abs().max() <= tolerance * scale


def test_a_policy_that_is_no_number_still_ends_its_trajectories():
    env = ENVIRONMENTS[1]
    graph = StateGraph.from_environment(env)
    network = network_for((env.encoding_size, 6, env.n_actions))
    with torch.no_grad():
        network.weights[0].fill_(torch.nan)
    uniforms = torch.full((3, 4, env.max_steps), 0.5, dtype=torch.float64)
    batch = TableSampler(graph, 4, torch.float64)(network, uniforms)
    assert batch.log_pf.isnan().any()
    assert ((batch.objects >= 0) & (batch.objects < env.n_objects)).all()
