"""The mean reward of an ensemble as a reward of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.rewards.source import RewardSource


class MeanReward:
    r"""Mean of log R over the members of another source of rewards.

    .. math:: \log \bar R(x) = \frac1E \sum_e \log R_e(x)

    What a pilot or a control is trained on where objects cannot be listed; where they
    can, `mean_reward` makes a table. Every evaluation asks all members of the source.

    Parameters
    ----------
    source : RewardSource
    n_members : int, default=1
        Equal copies.

    Examples
    --------
    >>> from gflownet_envs.rewards.source import FunctionReward
    >>> def count(weights, states):
    ...     return weights * states.sum(dim=-1)
    >>> mean = MeanReward(FunctionReward(count, [[1.0], [3.0]]))
    >>> mean.of_states(torch.ones(1, 2, 4, dtype=torch.int64))
    tensor([[8., 8.]], dtype=torch.float64)
    """

    def __init__(self, source: RewardSource, n_members: int = 1) -> None:
        self.source = source
        self._n_members = n_members

    @property
    def n_members(self) -> int:
        """Number of copies."""
        return self._n_members

    @property
    def environment(self) -> Any:
        """What the source was made for, where it says so."""
        return getattr(self.source, "environment", None)

    def of_states(
        self,
        states: Tensor,  # shape: (E, B, S)
    ) -> Tensor:  # shape: (E, B)
        """Return log R of terminal states."""
        flat = states.flatten(0, 1)
        asked = flat.expand(self.source.n_members, *flat.shape)
        return self.source.of_states(asked).mean(dim=0).view(states.shape[:2])

    def select(self, rows: slice | np.ndarray) -> MeanReward:
        """Return as many copies as rows are asked for."""
        return MeanReward(self.source, len(np.arange(self.n_members)[rows]))

    def to(self, device: torch.device | str, dtype: torch.dtype) -> MeanReward:
        """Return a copy with another precision, on another device."""
        return MeanReward(self.source.to(device, dtype), self.n_members)

    def digest(self) -> str:
        """Return a checksum of the source, and the number of copies."""
        return f"mean:{self.n_members}:{self.source.digest()}"
