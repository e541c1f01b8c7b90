"""Trajectory balance."""

from torch import Tensor

from gflownet_envs.objectives.objective import Objective


def trajectory_balance_loss(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_reward: Tensor,  # shape: (E, B)
    log_z: Tensor,  # shape: (E,)
) -> Tensor:  # shape: (E,)
    r"""Return the mean squared trajectory-balance residual of each member.

    .. math::
        \Big(\log Z + \sum_t \log P_F(s_{t+1} \mid s_t)
        - \log R(x) - \sum_t \log P_B(s_t \mid s_{t+1})\Big)^2

    (Malkin et al., *Trajectory balance*, NeurIPS 2022, equation 14). Steps after the
    end of a trajectory carry 0 in both sums.

    Examples
    --------
    One trajectory of one step with P_F = 1/2 to an object of reward 1, log Z = 0:

    >>> import torch
    >>> half = torch.full((1, 1, 1), 0.5).log()
    >>> zero = torch.zeros(1, 1)
    >>> loss = trajectory_balance_loss(half, torch.zeros(1, 1, 1), zero, zero[0])
    >>> round(loss.item(), 4)  # log(2)²
    0.4805
    """
    residual = log_z[:, None] + (log_pf - log_pb).sum(dim=-1) - log_reward
    return residual.square().mean(dim=-1)


TRAJECTORY_BALANCE = Objective(
    name="trajectory_balance",
    loss=lambda terms: trajectory_balance_loss(
        terms.log_pf, terms.log_pb, terms.log_reward, terms.log_z
    ),
    learns_log_z=True,
    learns_flow=False,
    min_batch_size=1,
)
