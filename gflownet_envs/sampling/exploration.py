"""From policies to actions: exploration and inverse-CDF sampling."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Exploration:
    """How the sampled policy differs from the trained one.

    Attributes
    ----------
    epsilon : float, default=0.0
        Share of uniformly random actions.
    temperature : float, default=1.0
        Log-policies are divided by it; above 1 the sampled policy is flatter.

    Examples
    --------
    >>> Exploration(epsilon=0.05)
    Exploration(epsilon=0.05, temperature=1.0)
    """

    epsilon: float = 0.0
    temperature: float = 1.0


ON_POLICY = Exploration()
"""Sampling from the trained policy itself."""


@torch.no_grad()
def cumulative_policy(
    logits: Tensor,  # shape: (..., A)
    mask: Tensor,  # shape: (..., A), bool
    exploration: Exploration = ON_POLICY,
    policy: Tensor | None = None,  # shape: (..., A), softmax of the logits if known
) -> Tensor:  # shape: (..., A)
    """Return cumulative probabilities of the sampled policy.

    It is (1 − ε) π^(1/temperature) / Σ + ε · uniform over allowed actions. `logits` are
    −inf where the mask is False, at least one entry a row is not; log-probabilities
    will do.

    Examples
    --------
    >>> log_policy = torch.tensor([1.0, 0.0, 0.0]).log()
    >>> mask = torch.tensor([True, True, False])
    >>> cumulative_policy(log_policy, mask, Exploration(epsilon=0.5))
    tensor([0.7500, 1.0000, 1.0000])
    """
    if exploration.temperature != 1:
        # the largest becomes 0, so that no quotient overflows
        logits = logits - logits.amax(dim=-1, keepdim=True)
        policy = torch.softmax(logits / exploration.temperature, dim=-1)
    elif policy is None:
        policy = torch.softmax(logits, dim=-1)
    if exploration.epsilon > 0:
        share = exploration.epsilon / mask.sum(dim=-1, keepdim=True)
        policy = (policy * (1 - exploration.epsilon)).addcmul_(mask, share)
    return policy.cumsum(dim=-1)


def inverse_cdf_sample(
    cumulative: Tensor,  # shape: (..., A)
    uniforms: Tensor,  # shape: (...)
) -> Tensor:  # shape: (...)
    """Return the first action whose cumulative probability exceeds the uniform.

    Uniforms are at most 1 − 2⁻²⁴, so an action of probability 0 is never drawn. Rows
    that are no numbers give the last action; their loss is no number either.

    Examples
    --------
    >>> cumulative = torch.tensor([[0.2, 0.2, 1.0], [0.2, 0.2, 1.0]])
    >>> inverse_cdf_sample(cumulative, torch.tensor([0.1, 0.2]))
    tensor([0, 2])
    """
    threshold = uniforms[..., None] * cumulative[..., -1:]
    actions = torch.searchsorted(cumulative, threshold, right=True)[..., 0]
    return actions.clamp_(max=cumulative.shape[-1] - 1)


def with_forced(
    actions: Tensor,  # shape: (E, B)
    forced: Tensor | None,  # shape: (E, B, T), −1 where free
    step: int,
) -> Tensor:  # shape: (E, B)
    """Put given actions in place of sampled ones.

    Examples
    --------
    >>> with_forced(torch.tensor([[1, 1]]), torch.tensor([[[-1], [0]]]), step=0)
    tensor([[1, 0]])
    """
    if forced is None:
        return actions
    given = forced[..., step]
    return torch.where(given >= 0, given, actions)
