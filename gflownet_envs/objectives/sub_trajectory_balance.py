"""Sub-trajectory balance, over all sub-trajectories."""

import torch
from torch import Tensor

from gflownet_envs.objectives.flows import flows_along
from gflownet_envs.objectives.objective import Objective


def sub_trajectory_balance_loss(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_flow: Tensor,  # shape: (E, B, T), relative to log_z
    log_reward: Tensor,  # shape: (E, B)
    log_z: Tensor,  # shape: (E,)
    alive: Tensor,  # shape: (E, B, T), bool
    decay: float = 0.9,
) -> Tensor:  # shape: (E,)
    r"""Return the weighted mean squared residual of all sub-trajectories.

    A sub-trajectory from step i to step j has the residual

    .. math::
        \log F(s_i) + \sum_{t=i}^{j-1} \log P_F(s_{t+1} \mid s_t) - \log F(s_j)
        - \sum_{t=i}^{j-1} \log P_B(s_t \mid s_{t+1})

    and the weight :math:`\lambda^{j-i}`, normalised in each trajectory (Madan et al.,
    *Learning GFlowNets from partial episodes*, ICML 2023, equation 12). With λ → 0 it
    is detailed balance, with λ → ∞ trajectory balance.

    Residuals are differences :math:`u_i - u_j` of
    :math:`u_t = \log F(s_t) - \sum_{t' < t} (\log P_F - \log P_B)`.

    Examples
    --------
    >>> half = torch.full((1, 1, 1), 0.5).log()
    >>> zero = torch.zeros(1, 1, 1)
    >>> alive = torch.ones(1, 1, 1, dtype=torch.bool)
    >>> loss = sub_trajectory_balance_loss(half, zero, zero, zero[0], zero[0, 0], alive)
    >>> round(loss.item(), 4)  # log(2)²
    0.4805
    """
    flow = flows_along(log_flow, log_z, log_reward, alive)
    passed = torch.nn.functional.pad((log_pf - log_pb).cumsum(dim=-1), (1, 0))
    u = flow - passed
    residual = u[..., :, None] - u[..., None, :]  # (E, B, T + 1, T + 1): i, j
    steps = torch.arange(u.shape[-1], device=u.device, dtype=u.dtype)
    length = steps - steps[:, None]
    # the largest weight of a trajectory is 1, so that no power overflows
    if decay <= 1:
        exponent = (length - 1).clamp(min=0)
    else:
        n_steps = alive.sum(dim=-1)[..., None, None]
        exponent = (length - n_steps).clamp(max=0)
    weight = torch.where(length > 0, decay**exponent, 0.0)
    ends = torch.nn.functional.pad(alive, (1, 0), value=True)  # states up to the end
    weight = torch.where(ends[..., None, :], weight, 0.0)
    total = (weight * residual.square()).sum(dim=(-2, -1))
    return (total / weight.sum(dim=(-2, -1))).mean(dim=-1)


SUB_TRAJECTORY_BALANCE = Objective(
    name="sub_trajectory_balance",
    loss=lambda terms: sub_trajectory_balance_loss(
        terms.log_pf,
        terms.log_pb,
        terms.log_flow,
        terms.log_reward,
        terms.log_z,
        terms.alive,
        terms.decay,
    ),
    learns_log_z=True,
    learns_flow=True,
    min_batch_size=1,
)
