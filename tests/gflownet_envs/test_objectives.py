"""Values and gradients of the objectives, by hand."""

import pytest
import torch

from gflownet_envs.objectives import (
    OBJECTIVES,
    log_z_estimates,
    trajectory_balance_loss,
    vargrad_loss,
)


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
        residuals = [
            log_z[e].item()
            + log_pf[e, b, 0].item()
            + log_pf[e, b, 1].item()
            - log_reward[e, b].item()
            - log_pb[e, b, 0].item()
            - log_pb[e, b, 1].item()
            for b in range(3)
        ]
        assert losses[e].item() == pytest.approx(sum(r * r for r in residuals) / 3)
        assert log_z.grad[e].item() == pytest.approx(sum(2 * r for r in residuals) / 3)
        for b, residual in enumerate(residuals):
            assert log_pf.grad[e, b].tolist() == pytest.approx([2 * residual / 3] * 2)


def test_vargrad_value_and_gradient():
    log_pf, log_pb, log_reward = tensors()
    losses = vargrad_loss(log_pf, log_pb, log_reward)
    losses.sum().backward()
    for e in range(2):
        estimates = [
            (log_reward[e, b] + (log_pb - log_pf)[e, b].sum()).item() for b in range(3)
        ]
        mean = sum(estimates) / 3
        variance = sum((x - mean) ** 2 for x in estimates) / 2
        assert losses[e].item() == pytest.approx(variance)
        for b, estimate in enumerate(estimates):
            assert log_pf.grad[e, b].tolist() == pytest.approx([mean - estimate] * 2)


def test_vargrad_gradient_is_that_of_trajectory_balance_at_the_best_log_z():
    log_pf, log_pb, log_reward = tensors()
    log_z = log_z_estimates(log_pf, log_pb, log_reward).mean(dim=1).detach()
    balance = trajectory_balance_loss(log_pf, log_pb, log_reward, log_z).sum()
    (from_balance,) = torch.autograd.grad(balance, log_pf)
    (from_variance,) = torch.autograd.grad(
        vargrad_loss(log_pf, log_pb, log_reward).sum(), log_pf
    )
    torch.testing.assert_close(from_variance, from_balance * 3 / 2)


def test_vargrad_does_not_feel_a_constant_of_the_reward():
    log_pf, log_pb, log_reward = tensors()
    torch.testing.assert_close(
        vargrad_loss(log_pf, log_pb, log_reward + 5),
        vargrad_loss(log_pf, log_pb, log_reward),
    )


def test_vargrad_needs_two_trajectories():
    log_pf, log_pb, log_reward = (x[:, :1] for x in tensors())
    with pytest.raises(ValueError, match="at least 2 trajectories, got 1"):
        vargrad_loss(log_pf, log_pb, log_reward)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_members_are_independent(objective):
    log_pf, log_pb, log_reward = tensors()
    log_z = torch.zeros(2, dtype=torch.float64)
    losses = objective.loss(log_pf, log_pb, log_reward, log_z)
    (gradient,) = torch.autograd.grad(losses[0], log_pf)
    assert (gradient[1] == 0).all()
