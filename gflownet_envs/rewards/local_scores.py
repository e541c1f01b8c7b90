"""Rewards of graphs that are sums of scores of a node given its parents."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.blocks import array_digest
from gflownet_envs.environments.dag import DagEnvironment


class LocalScoreReward:
    r"""Log R of a directed acyclic graph as a sum over its nodes.

    .. math::
        \log R(G) = \sum_j \mathrm{score}_j(\mathrm{Pa}_G(j))

    The scores of all sets of parents are a table, so that a graph is as many look-ups
    as it has nodes: what is needed for Bayesian scores of networks, whose table has
    :math:`2^d` columns a node.

    Parameters
    ----------
    environment : DagEnvironment
    scores : array-like of shape (n_members, n_nodes, 2 ** n_nodes)
        ``scores[e, j, s]`` is member e's score of node j when its parents are the set
        whose members are the bits of s (bit i: node i). Sets with j itself are never
        looked up.

    Raises
    ------
    ValueError
        If the shape is another, or a score that can be looked up is not finite.

    Examples
    --------
    >>> import torch
    >>> env = DagEnvironment(2)
    >>> scores = torch.zeros(1, 2, 4)
    >>> scores[0, 1, 0b01] = 3.0  # node 0 is the parent of node 1
    >>> reward = LocalScoreReward(env, scores)
    >>> state = env.step(env.initial_state(), torch.tensor(0))
    >>> env.action_names[0], reward.of_states(state[None, None]).item()
    ('0 → 1', 3.0)
    """

    def __init__(
        self,
        environment: DagEnvironment,
        scores: Tensor | ArrayLike,  # shape: (E, d, 2^d)
    ) -> None:
        d = environment.n_nodes
        table = torch.as_tensor(np.asarray(scores, dtype=np.float64))
        if table.ndim != 3 or table.shape[0] < 1 or table.shape[1:] != (d, 2**d):
            raise ValueError(
                f"scores must have shape (n_members, {d}, {2**d}) for "
                f"{environment.name}, got {tuple(table.shape)}"
            )
        sets = torch.arange(2**d)
        own = (sets >> torch.arange(d)[:, None]) & 1 == 1
        bad = ~torch.isfinite(table) & ~own
        if bad.any():
            member, node, parents = bad.nonzero()[0].tolist()
            raise ValueError(
                "scores must be finite, got "
                f"{table[member, node, parents].item()} for member {member}, node "
                f"{node}, parents {parents:#b}"
            )
        self.environment = environment
        self.scores = table

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.scores.shape[0]

    def of_states(
        self,
        states: Tensor,  # shape: (E, B, S)
    ) -> Tensor:  # shape: (E, B)
        """Return log R of terminal states."""
        parents = self.environment.parent_sets(states)  # (E, B, d)
        by_node = self.scores.gather(2, parents.transpose(1, 2))
        return by_node.sum(dim=1)

    def _with(self, scores: Tensor) -> LocalScoreReward:
        reward = object.__new__(LocalScoreReward)
        reward.environment = self.environment
        reward.scores = scores
        return reward

    def select(self, rows: slice | np.ndarray) -> LocalScoreReward:
        """Return the rewards of some members."""
        return self._with(self.scores[rows])

    def to(self, device: torch.device | str, dtype: torch.dtype) -> LocalScoreReward:
        """Return a copy with another precision, on another device."""
        return self._with(self.scores.to(device, dtype))

    def digest(self) -> str:
        """Return the SHA-256 of the scores."""
        return array_digest(self.scores.cpu().numpy())
