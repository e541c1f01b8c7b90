"""Detailed balance."""

from torch import Tensor

from gflownet_envs.objectives.flows import flows_along
from gflownet_envs.objectives.objective import Objective


def detailed_balance_loss(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_flow: Tensor,  # shape: (E, B, T), relative to log_z
    log_reward: Tensor,  # shape: (E, B)
    log_z: Tensor,  # shape: (E,)
    alive: Tensor,  # shape: (E, B, T), bool
) -> Tensor:  # shape: (E,)
    r"""Return the mean squared detailed-balance residual of the steps taken.

    .. math::
        \big(\log F(s) + \log P_F(s' \mid s) - \log F(s') - \log P_B(s \mid s')\big)^2

    with :math:`F(s_0) = Z` and :math:`F(x) = R(x)` (Bengio et al., *GFlowNet
    Foundations*, JMLR 2023, definition 17). The mean is over the steps of all
    trajectories of the batch.

    Examples
    --------
    One step with P_F = 1/2 to an object of reward 1, log Z = 0:

    >>> import torch
    >>> half = torch.full((1, 1, 1), 0.5).log()
    >>> zero = torch.zeros(1, 1, 1)
    >>> alive = torch.ones(1, 1, 1, dtype=torch.bool)
    >>> loss = detailed_balance_loss(half, zero, zero, zero[0], zero[0, 0], alive)
    >>> round(loss.item(), 4)  # log(2)²
    0.4805
    """
    flow = flows_along(log_flow, log_z, log_reward, alive)
    # after the end both flows are log R and both probabilities are 1
    residual = flow[..., :-1] + log_pf - flow[..., 1:] - log_pb
    return residual.square().sum(dim=(1, 2)) / alive.sum(dim=(1, 2))


DETAILED_BALANCE = Objective(
    name="detailed_balance",
    loss=lambda terms: detailed_balance_loss(
        terms.log_pf,
        terms.log_pb,
        terms.log_flow,
        terms.log_reward,
        terms.log_z,
        terms.alive,
    ),
    learns_log_z=True,
    learns_flow=True,
    min_batch_size=1,
)
