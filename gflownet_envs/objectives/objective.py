"""What a training objective is."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Objective:
    """A row of the registry of objectives.

    Attributes
    ----------
    name : str
    loss : callable
        ``loss(log_pf, log_pb, log_reward, log_z)`` with shapes (E, B, T), (E, B, T),
        (E, B), (E,) returns the loss of each member, shape (E,). No member's loss
        depends on another's numbers, so that their sum trains each of them alone.
    learns_log_z : bool
        Whether `log_z` is a parameter. The others get None.
    min_batch_size : int
        Smallest number of trajectories for which the loss is defined.
    """

    name: str
    loss: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
    learns_log_z: bool
    min_batch_size: int
