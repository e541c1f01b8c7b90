"""Log R of every object, from rewards that are functions of final states."""

import torch
from torch import Tensor

from gflownet_envs.rewards.source import RewardSource
from gflownet_envs.state_graph import StateGraph

_VALUES_AT_ONCE = 2**22


def log_reward_table(
    reward: RewardSource,
    graph: StateGraph,
) -> Tensor:  # shape: (E, n_objects)
    """Return log R of every object, which is what `solve_exact` takes.

    Examples
    --------
    >>> from gflownet_envs.environments import DagEnvironment
    >>> from gflownet_envs.rewards.local_scores import LocalScoreReward
    >>> env = DagEnvironment(2)
    >>> reward = LocalScoreReward(env, [[[1.0, 0.0, 3.0, 0.0], [2.0, 4.0, 0.0, 0.0]]])
    >>> table = log_reward_table(reward, StateGraph.from_environment(env))
    >>> dict(zip(env.object_names(), table[0].tolist()))
    {'no edges': 3.0, '0 → 1': 5.0, '1 → 0': 5.0}
    """
    states = graph.final_states()
    size = max(1, _VALUES_AT_ONCE // (reward.n_members * states.shape[1]))
    parts = [
        reward.of_states(part.expand(reward.n_members, *part.shape))
        for part in states.split(size)
    ]
    return torch.cat(parts, dim=1)
