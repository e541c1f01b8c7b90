"""VarGrad: trajectory balance with log Z estimated from the batch."""

from torch import Tensor

from gflownet_envs.objectives.objective import Objective


def log_z_estimates(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_reward: Tensor,  # shape: (E, B)
) -> Tensor:  # shape: (E, B)
    r"""Return log R(x) + Σ log P_B − Σ log P_F of each trajectory.

    All equal log Z once the policy is exact. Their mean over trajectories sampled by
    the policy is below log Z otherwise, by the Kullback–Leibler divergence of the
    sampled from the target law of trajectories.

    Examples
    --------
    >>> import torch
    >>> half = torch.full((1, 1, 1), 0.5).log()
    >>> log_z_estimates(half, torch.zeros(1, 1, 1), torch.zeros(1, 1)).exp()
    tensor([[2.]])
    """
    return log_reward + (log_pb - log_pf).sum(dim=-1)


def vargrad_loss(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_reward: Tensor,  # shape: (E, B)
) -> Tensor:  # shape: (E,)
    r"""Return the variance over the batch of the estimates of log Z.

    .. math::
        \frac{1}{B - 1} \sum_b \Big(\log \hat Z_b - \tfrac1B
        \sum_{b'} \log \hat Z_{b'}\Big)^2

    (Richter et al., *VarGrad*, NeurIPS 2020; Zhang et al., *Robust scheduling with
    GFlowNets*, ICLR 2023, equation 7). It is the trajectory-balance loss with the best
    log Z for each batch, and 0 if and only if the batch is balanced.

    Raises
    ------
    ValueError
        If the batch has fewer than two trajectories.

    Examples
    --------
    >>> import torch
    >>> zero = torch.zeros(1, 2, 1)
    >>> vargrad_loss(zero, zero, torch.tensor([[0.0, 2.0]])).item()
    2.0
    """
    if log_reward.shape[-1] < 2:
        raise ValueError(
            "vargrad needs a batch of at least 2 trajectories, "
            f"got {log_reward.shape[-1]}"
        )
    return log_z_estimates(log_pf, log_pb, log_reward).var(dim=-1)


VARGRAD = Objective(
    name="vargrad",
    loss=lambda terms: vargrad_loss(terms.log_pf, terms.log_pb, terms.log_reward),
    learns_log_z=False,
    learns_flow=False,
    min_batch_size=2,
)
