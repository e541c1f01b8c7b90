"""Trajectories that were seen before, to be learned from again."""

import torch
from torch import Tensor

_BEST_SHARE = 0.1  # half of the replays come from this part of the buffer


class ReplayBuffer:
    """The last trajectories of every member, with the rewards they reached.

    Half of the replays are drawn from the tenth of the buffer with the highest rewards
    and half from all of it (Shen et al., *Towards understanding and improving GFlowNet
    training*, ICML 2023, section 4).

    Parameters
    ----------
    n_members, capacity, n_steps : int
    device : torch.device or str, default="cpu"

    Examples
    --------
    >>> buffer = ReplayBuffer(n_members=1, capacity=4, n_steps=2)
    >>> actions = torch.tensor([[[0, 1], [1, -1]]])
    >>> buffer.add(actions, torch.tensor([[0.0, 5.0]]))
    >>> buffer.draw(torch.tensor([[0.0, 0.9]])).tolist()
    [[[1, -1], [0, 1]]]
    """

    def __init__(
        self,
        n_members: int,
        capacity: int,
        n_steps: int,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (n_members, capacity)
        self._actions = torch.full((*shape, n_steps), -1, device=device)
        self._log_reward = torch.full(shape, float("-inf"), device=device)
        self._n_added = 0

    @property
    def n_stored(self) -> int:
        """Number of trajectories of each member."""
        return min(self._n_added, self._actions.shape[1])

    def add(
        self,
        actions: Tensor,  # shape: (E, B, T), −1 after the end
        log_reward: Tensor,  # shape: (E, B)
    ) -> None:
        """Store trajectories in place of the oldest ones."""
        capacity = self._actions.shape[1]
        places = torch.arange(actions.shape[1], device=actions.device)
        places = (places + self._n_added) % capacity
        kept = slice(max(0, actions.shape[1] - capacity), None)
        self._actions[:, places[kept]] = actions[:, kept]
        self._log_reward[:, places[kept]] = log_reward[:, kept].to(
            self._log_reward.dtype
        )
        self._n_added += actions.shape[1]

    def draw(
        self,
        uniforms: Tensor,  # shape: (E, R)
    ) -> Tensor:  # shape: (E, R, T)
        """Return R trajectories of each member; the first half from the best."""
        n_stored, n_drawn = self.n_stored, uniforms.shape[1]
        n_best = max(1, round(_BEST_SHARE * n_stored))
        order = self._log_reward[:, :n_stored].argsort(dim=1, descending=True)
        is_from_best = (
            torch.arange(n_drawn, device=uniforms.device) < (n_drawn + 1) // 2
        )
        limits = torch.where(is_from_best, n_best, n_stored)
        ranks = (uniforms * limits).long().clamp(max=n_stored - 1)
        rows = order.gather(1, ranks)
        index = rows[..., None].expand(-1, -1, self._actions.shape[2])
        return self._actions.gather(1, index)
