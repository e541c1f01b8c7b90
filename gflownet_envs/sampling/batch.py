"""A batch of trajectories of every member."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class RolloutBatch:
    """Trajectories and their log-probabilities. Steps after the end carry log 1 = 0.

    Attributes
    ----------
    actions : Tensor of shape (E, B, T), int64
        −1 after the end.
    log_pf : Tensor of shape (E, B, T)
        Carries the gradient of the policy; the samples carry none.
    log_pb : Tensor of shape (E, B, T)
        Carries a gradient where the backward policy is learned.
    alive : Tensor of shape (E, B, T), bool
        True where an action was taken.
    final_states : Tensor of shape (E, B, S), int64, or None
    objects : Tensor of shape (E, B), int64, or None
        Columns of the reward table. A sampler gives one of the two.
    log_flow : Tensor of shape (E, B, T) or None
        The network's log-flow of the state before each action, where it has one.
    """

    actions: Tensor
    log_pf: Tensor
    log_pb: Tensor
    alive: Tensor
    final_states: Tensor | None = None
    objects: Tensor | None = None
    log_flow: Tensor | None = None
