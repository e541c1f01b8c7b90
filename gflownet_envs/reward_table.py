"""Reward tables: log R of every object, one row a member."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment


def validated_log_reward(
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
    environment: Environment,
) -> Tensor:  # shape: (E, n_objects), float64
    """Check a reward table and return it in float64.

    Raises
    ------
    ValueError
        If the shape is not ``(n_members, environment.n_objects)`` with at least one
        member, or an entry is not finite.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> validated_log_reward([[0, 1, 2]], GridEnvironment(size=2, max_moves=1))
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    if isinstance(log_reward, Tensor):
        table = log_reward.detach().to(device="cpu", dtype=torch.float64)
    else:
        table = torch.from_numpy(np.array(log_reward, dtype=np.float64))
    if table.ndim != 2 or table.shape[1] != environment.n_objects:
        raise ValueError(
            f"log_reward must have shape (n_members, {environment.n_objects}) for "
            f"{environment.name}, got {tuple(table.shape)}"
        )
    if table.shape[0] == 0:
        raise ValueError("log_reward must have at least one member, got 0 rows")
    bad = ~torch.isfinite(table)
    if bad.any():
        member, index = bad.nonzero()[0].tolist()
        raise ValueError(
            f"log_reward must be finite, got {table[member, index].item()} for "
            f"member {member}, object {index}"
        )
    return table
