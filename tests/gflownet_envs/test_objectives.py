"""Values and gradients of the objectives, by hand."""

from functools import partial

import pytest
import torch

from gflownet_envs.objectives import (
    OBJECTIVES,
    BalanceTerms,
    detailed_balance_loss,
    sub_trajectory_balance_loss,
    trajectory_balance_loss,
    vargrad_loss,
)
from tests.shared import refuses


def tensors():
    """Two members, three trajectories, two steps."""
    generator = torch.Generator().manual_seed(0)
    log_pf, log_pb = -torch.rand(2, 2, 3, 2, generator=generator, dtype=torch.float64)
    log_reward = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    return log_pf.requires_grad_(), log_pb, log_reward


def test_trajectory_balance_value_and_gradient():
    log_pf, log_pb, log_reward = tensors()
    log_z = torch.tensor([0.3, -1.0], dtype=torch.float64, requires_grad=True)
    losses = trajectory_balance_loss(log_pf, log_pb, log_reward, log_z)
    losses.sum().backward()
    for e in range(2):
        passed = (log_pf - log_pb)[e].sum(dim=1)
        residuals = (log_z[e] + passed - log_reward[e]).tolist()
        assert losses[e].item() == pytest.approx(sum(r * r for r in residuals) / 3)
        assert log_z.grad[e].item() == pytest.approx(sum(2 * r for r in residuals) / 3)
        for b, residual in enumerate(residuals):
            assert log_pf.grad[e, b].tolist() == pytest.approx([2 * residual / 3] * 2)


def test_vargrad_value_and_gradient():
    log_pf, log_pb, log_reward = tensors()
    losses = vargrad_loss(log_pf, log_pb, log_reward)
    losses.sum().backward()
    for e in range(2):
        estimates = (log_reward[e] + (log_pb - log_pf)[e].sum(dim=1)).tolist()
        mean = sum(estimates) / 3
        variance = sum((x - mean) ** 2 for x in estimates) / 2
        assert losses[e].item() == pytest.approx(variance)
        for b, estimate in enumerate(estimates):
            assert log_pf.grad[e, b].tolist() == pytest.approx([mean - estimate] * 2)
    one = [x[:, :1] for x in tensors()]
    refuses("at least 2 trajectories, got 1", vargrad_loss, *one)


def flow_tensors():
    """Two members, three trajectories of 3, 2 and 1 steps."""
    generator = torch.Generator().manual_seed(1)
    shape = (2, 3, 3)
    log_pf, log_pb, log_flow = torch.randn(
        3, *shape, generator=generator, dtype=torch.float64
    )
    log_reward = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    log_z = torch.tensor([0.5, -2.0], dtype=torch.float64)
    alive = (torch.arange(3) < torch.tensor([3, 2, 1])[:, None]).expand(shape)
    log_pf = log_pf.where(alive, 0.0).requires_grad_()
    log_pb = log_pb.where(alive, 0.0)
    return log_pf, log_pb, log_flow.requires_grad_(), log_reward, log_z, alive


def state_flows(log_flow, log_z, log_reward, member, trajectory, length):
    inner = [log_z[member] + log_flow[member, trajectory, t] for t in range(1, length)]
    return [log_z[member], *inner, log_reward[member, trajectory]]


def test_detailed_balance_by_hand():
    log_pf, log_pb, log_flow, log_reward, log_z, alive = flow_tensors()
    losses = detailed_balance_loss(log_pf, log_pb, log_flow, log_reward, log_z, alive)
    for e in range(2):
        squares = []
        for b, length in enumerate((3, 2, 1)):
            flow = state_flows(log_flow, log_z, log_reward, e, b, length)
            squares += [
                (flow[t] + log_pf[e, b, t] - flow[t + 1] - log_pb[e, b, t]) ** 2
                for t in range(length)
            ]
        assert losses[e].item() == pytest.approx(sum(squares).item() / 6)


@pytest.mark.parametrize("decay", [0.3, 1.0, 2.0, 1e-60, 1e60])
def test_sub_trajectory_balance_by_hand(decay):
    flows = flow_tensors()
    log_pf, log_pb, log_flow, log_reward, log_z, _ = flows
    losses = sub_trajectory_balance_loss(*flows, decay)
    for e in range(2):
        per_trajectory = []
        for b, length in enumerate((3, 2, 1)):
            flow = state_flows(log_flow, log_z, log_reward, e, b, length)
            total = weights = 0.0
            for i in range(length):
                for j in range(i + 1, length + 1):
                    passed = (log_pf - log_pb)[e, b, i:j].sum()
                    residual = (flow[i] + passed - flow[j]).item()
                    total += decay ** (j - i) * residual**2
                    weights += decay ** (j - i)
            per_trajectory.append(total / weights)
        assert losses[e].item() == pytest.approx(sum(per_trajectory) / 3)
    single = [x.float() if x.is_floating_point() else x for x in flows]
    of_single = sub_trajectory_balance_loss(*single, decay)
    torch.testing.assert_close(of_single.double(), losses, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_members_are_independent_and_steps_after_the_end_do_not_count(objective):
    log_pf, log_pb, log_flow, log_reward, log_z, alive = flow_tensors()
    terms = BalanceTerms(log_pf, log_pb, log_reward, log_z, alive, log_flow)
    losses = objective.loss(terms)
    (gradient,) = torch.autograd.grad(losses[0], log_pf)
    assert (gradient[0] != 0).any()
    assert (gradient[1] == 0).all()
    noise = torch.randn(2, 3, 2, dtype=torch.float64)
    pad = partial(torch.nn.functional.pad, pad=(0, 2))
    ended = (pad(log_pf), pad(log_pb), log_reward, log_z, pad(alive))
    longer = BalanceTerms(*ended, torch.cat((log_flow, noise), dim=-1))
    torch.testing.assert_close(objective.loss(longer), losses)
