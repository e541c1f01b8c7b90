"""Training objectives: a loss and a row of `OBJECTIVES` each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FloatArray = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class BalanceTerms:
    """The numbers of a batch that objectives compare. No step after the end counts.

    Attributes
    ----------
    log_pf, log_pb : Tensor of shape (E, B, T)
        0 after the end of a trajectory.
    log_reward : Tensor of shape (E, B)
    log_z : Tensor of shape (E,)
    alive : Tensor of shape (E, B, T), bool
        True where an action was taken.
    log_flow : Tensor of shape (E, B, T) or None
        log F of the state before each action, for objectives that learn it.
    decay : float
        Weight of a sub-trajectory of one more step, for sub-trajectory balance.
    """

    log_pf: Tensor
    log_pb: Tensor
    log_reward: Tensor
    log_z: Tensor
    alive: Tensor
    log_flow: Tensor | None = None
    decay: float = 1.0

    @property
    def learned_flow(self) -> Tensor:
        """`log_flow`, which objectives that learn it can rely on."""
        assert self.log_flow is not None
        return self.log_flow


@dataclass(frozen=True)
class Objective:
    """A row of the registry of objectives.

    Attributes
    ----------
    name : str
    loss : callable
        Maps `BalanceTerms` to the loss of each member, shape (E,). No member's loss
        depends on another's numbers, so that their sum trains each of them alone.
    learns_log_z : bool
        Whether ``log_z`` is a parameter; else it is the estimate of the batch.
    learns_flow : bool
        Whether the network has to put out the log-flow of a state.
    min_batch_size : int
        Smallest number of trajectories for which the loss is defined.
    score_gradient : callable or None
        For objectives that see nothing of a trajectory but its score
        :math:`\\sum_t (\\log P_F - \\log P_B) - \\log R`: maps the scores, shape
        (E, B), and log Z, shape (E,), arrays of NumPy, to the losses, shape (E,), and
        their derivatives with respect to the scores, (E, B).
    """

    name: str
    loss: Callable[[BalanceTerms], Tensor]
    learns_log_z: bool
    learns_flow: bool
    min_batch_size: int
    score_gradient: (
        Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]] | None
    ) = None


def flows_along(
    log_flow: Tensor,  # shape: (E, B, T)
    log_z: Tensor,  # shape: (E,)
    log_reward: Tensor,  # shape: (E, B)
    alive: Tensor,  # shape: (E, B, T), bool
) -> Tensor:  # shape: (E, B, T + 1)
    """Return log F of all states: log Z first, log R at the end and after it."""
    log_z = log_z[:, None, None]
    inner = torch.where(alive, log_flow + log_z, log_reward[..., None])
    first = log_z.expand(*log_flow.shape[:2], 1)
    return torch.cat((first, inner[..., 1:], log_reward[..., None]), dim=-1)


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
    end of a trajectory carry 0 in both sums. Where it is 0 for all trajectories,
    objects are drawn in proportion to the reward: ``trajectory_balance``, checked in
    ``lean/Core`` where all trajectories to an object have as many steps.

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


def _trajectory_balance_gradient(
    scores: FloatArray, log_z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of squares of log Z + score, and its derivatives."""
    residual = scores + log_z[:, None]
    gradient = residual * (2 / scores.shape[1])
    return np.add.reduce(residual * gradient, axis=1) / 2, gradient


TRAJECTORY_BALANCE = Objective(
    name="trajectory_balance",
    loss=lambda terms: trajectory_balance_loss(
        terms.log_pf, terms.log_pb, terms.log_reward, terms.log_z
    ),
    learns_log_z=True,
    learns_flow=False,
    min_batch_size=1,
    score_gradient=_trajectory_balance_gradient,
)


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
        terms.learned_flow,
        terms.log_reward,
        terms.log_z,
        terms.alive,
        terms.decay,
    ),
    learns_log_z=True,
    learns_flow=True,
    min_batch_size=1,
)


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
    trajectories of the batch. What 0 means for all steps is checked in ``lean/Core``
    (``detailed_balance``), as for trajectory balance.

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
        terms.learned_flow,
        terms.log_reward,
        terms.log_z,
        terms.alive,
    ),
    learns_log_z=True,
    learns_flow=True,
    min_batch_size=1,
)


def log_z_estimates(
    log_pf: Tensor,  # shape: (E, B, T)
    log_pb: Tensor,  # shape: (E, B, T)
    log_reward: Tensor,  # shape: (E, B)
) -> Tensor:  # shape: (E, B)
    r"""Return log R(x) + Σ log P_B − Σ log P_F of each trajectory.

    All equal log Z once the policy is exact. Their mean over trajectories sampled by
    the policy is below log Z otherwise, by the Kullback–Leibler divergence of the
    sampled from the target distribution of trajectories.

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


def _vargrad_gradient(
    scores: FloatArray, log_z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of the scores, and its derivatives."""
    mean = np.add.reduce(scores, axis=1, keepdims=True) / scores.shape[1]
    residual = scores - mean
    gradient = residual * (2 / (scores.shape[1] - 1))
    return np.add.reduce(residual * gradient, axis=1) / 2, gradient


VARGRAD = Objective(
    name="vargrad",
    loss=lambda terms: vargrad_loss(terms.log_pf, terms.log_pb, terms.log_reward),
    learns_log_z=False,
    learns_flow=False,
    min_batch_size=2,
    score_gradient=_vargrad_gradient,
)


OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        objective.name: objective
        for objective in (
            TRAJECTORY_BALANCE,
            SUB_TRAJECTORY_BALANCE,
            DETAILED_BALANCE,
            VARGRAD,
        )
    }
)

__all__ = [
    "OBJECTIVES",
    "BalanceTerms",
    "Objective",
    "detailed_balance_loss",
    "log_z_estimates",
    "sub_trajectory_balance_loss",
    "trajectory_balance_loss",
    "vargrad_loss",
]
