"""Flows along a trajectory, from the log-flows that a network puts out."""

import torch
from torch import Tensor


def flows_along(
    log_flow: Tensor,  # shape: (E, B, T)
    log_z: Tensor,  # shape: (E,)
    log_reward: Tensor,  # shape: (E, B)
    alive: Tensor,  # shape: (E, B, T), bool
) -> Tensor:  # shape: (E, B, T + 1)
    """Return log F of all states: log Z first, log R at the end and after it.

    The network's numbers are relative to log Z, so that they stay moderate whatever
    the scale of the reward.

    Examples
    --------
    >>> alive = torch.tensor([[[True, True, False]]])
    >>> flows = torch.tensor([[[9.0, 2.0, 9.0]]])
    >>> flows_along(flows, torch.tensor([10.0]), torch.tensor([[7.0]]), alive)
    tensor([[[10., 12.,  7.,  7.]]])
    """
    log_z = log_z[:, None, None]
    inner = torch.where(alive, log_flow + log_z, log_reward[..., None])
    first = log_z.expand(*log_flow.shape[:2], 1)
    return torch.cat((first, inner[..., 1:], log_reward[..., None]), dim=-1)
