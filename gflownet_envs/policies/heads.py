"""What the outputs of a policy network mean."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class HeadLayout:
    """The columns of a network's output: forward logits, backward logits, log-flow.

    Attributes
    ----------
    n_actions : int
        Forward actions; their logits come first.
    n_backward_actions : int, default=0
        Backward actions whose logits follow; 0 where the backward policy is not
        learned.
    has_flow : bool, default=False
        Whether the last column is the log-flow of the state.

    Examples
    --------
    >>> layout = HeadLayout(n_actions=5, n_backward_actions=3, has_flow=True)
    >>> layout.n_outputs, layout.forward, layout.backward, layout.flow
    (9, slice(0, 5, None), slice(5, 8, None), slice(8, 9, None))
    """

    n_actions: int
    n_backward_actions: int = 0
    has_flow: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return self.n_actions + self.n_backward_actions + int(self.has_flow)

    @property
    def forward(self) -> slice:
        """Columns of the forward logits."""
        return slice(0, self.n_actions)

    @property
    def backward(self) -> slice:
        """Columns of the backward logits."""
        return slice(self.n_actions, self.n_actions + self.n_backward_actions)

    @property
    def flow(self) -> slice:
        """The column of the log-flow."""
        return slice(self.n_outputs - int(self.has_flow), self.n_outputs)


def masked_logits(
    logits: Tensor,  # shape: (..., A)
    mask: Tensor,  # shape: (..., A), bool
) -> Tensor:  # shape: (..., A)
    """Return the logits with −inf where an action is not allowed.

    Examples
    --------
    >>> masked_logits(torch.zeros(3), torch.tensor([True, True, False]))
    tensor([0., 0., -inf])
    """
    return torch.where(mask, logits, float("-inf"))


def masked_log_policy(
    logits: Tensor,  # shape: (..., A)
    mask: Tensor,  # shape: (..., A), bool
) -> Tensor:  # shape: (..., A)
    """Return the log-softmax over allowed actions, −inf on the others.

    Rows without any allowed action (terminal states) are −inf throughout and pass no
    gradient.

    Examples
    --------
    >>> mask = torch.tensor([True, True, False])
    >>> masked_log_policy(torch.zeros(3), mask).exp()
    tensor([0.5000, 0.5000, 0.0000])
    """
    nothing_allowed = ~mask.any(dim=-1, keepdim=True)
    open_logits = logits.masked_fill(~mask, float("-inf"))
    open_logits = open_logits.masked_fill(nothing_allowed, 0.0)
    log_policy = torch.log_softmax(open_logits, dim=-1)
    return log_policy.masked_fill(nothing_allowed, float("-inf"))
