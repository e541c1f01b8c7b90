"""Log R of every object, from any source of rewards."""

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.reward_table import RewardFunction, reward_rows
from gflownet_envs.rewards.mean_reward import MeanReward
from gflownet_envs.rewards.source import RewardSource, RewardTable
from gflownet_envs.state_graph import StateGraph

_VALUES_AT_ONCE = 2**22


def log_reward_table(
    reward: RewardSource,
    graph: StateGraph,
) -> Tensor:  # shape: (E, n_objects)
    """Return log R of every object, from a function of final states.

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


def reward_of_objects(
    reward: RewardSource,
    graph: StateGraph,
) -> Tensor | RewardFunction:
    """Return log R as a table, or as a function of members and objects.

    A source that can be called as a function of members and objects is one (it is meant
    for spaces whose table would be too large); any other becomes a table.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> graph = StateGraph.from_environment(env)
    >>> reward_of_objects(RewardTable(env, [[0.0, 1.0, 2.0]]), graph)
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    if isinstance(reward, RewardTable):
        return reward.log_reward
    if callable(reward):
        return reward
    return log_reward_table(reward, graph)


def mean_reward(
    reward: RewardSource,
    environment: Environment,
) -> RewardSource:
    """Return one reward, the mean of log R over the members.

    A table where the objects can be listed, a `MeanReward` elsewhere.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> table = RewardTable(env, [[0.0, 1.0, 2.0], [2.0, 1.0, 2.0]])
    >>> mean_reward(table, env).log_reward
    tensor([[1., 1., 2.]], dtype=torch.float64)
    """
    if not environment.is_enumerable:
        return MeanReward(reward)
    if isinstance(reward, RewardTable):
        return RewardTable(environment, reward.log_reward.mean(dim=0, keepdim=True))
    if not callable(reward):
        graph = StateGraph.from_environment(environment)
        table = log_reward_table(reward, graph)
        return RewardTable(environment, table.mean(dim=0, keepdim=True))
    objects = torch.arange(environment.require_listed_objects())
    total = torch.zeros(1, len(objects), dtype=torch.float64)
    for member in range(reward.n_members):
        total += reward_rows(reward, slice(member, member + 1), objects)
    return RewardTable(environment, total / reward.n_members)
