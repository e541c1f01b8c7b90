"""What a training objective is."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


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
        Whether `log_z` is a parameter; else it is the estimate of the batch.
    learns_flow : bool
        Whether the network has to put out the log-flow of a state.
    min_batch_size : int
        Smallest number of trajectories for which the loss is defined.
    """

    name: str
    loss: Callable[[BalanceTerms], Tensor]
    learns_log_z: bool
    learns_flow: bool
    min_batch_size: int
