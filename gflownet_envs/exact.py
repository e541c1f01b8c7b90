"""Exact GFlowNets by dynamic programming over the state graph."""

from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.reward_table import validated_log_reward
from gflownet_envs.state_graph import StateGraph

# Rounding of float32 policies over many actions.
_CLOSURE_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class ExactSolution:
    r"""The flows and policies that sample objects exactly in proportion to R.

    With a fixed backward policy the flow of a state is the reward that passes
    through it,

    .. math::
        F(s) = \sum_{s'} P_B(s \mid s') F(s'), \qquad F(x) = R(x),

    and the forward policy is :math:`P_F(s' \mid s) = P_B(s \mid s') F(s') / F(s)`
    (Bengio et al., *GFlowNet Foundations*, JMLR 2023, section 2). Here P_B is uniform
    over parents.

    Attributes
    ----------
    graph : StateGraph
    log_flow : Tensor of shape (E, N), float64
        log F of every non-terminal state.
    log_policy_table : Tensor of shape (E, N, A), float64
        log P_F; −inf where an action is not allowed.
    log_reward : Tensor of shape (E, n_objects), float64
    """

    graph: StateGraph
    log_flow: Tensor
    log_policy_table: Tensor
    log_reward: Tensor

    @property
    def log_z(self) -> Tensor:  # shape: (E,)
        """The log of the total reward, which is the flow of the initial state."""
        return self.log_flow[:, 0]

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.log_flow.shape[0]

    def log_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ..., A), float64
        """Look up log P_F of non-terminal states."""
        return self.log_policy_table[:, self.graph.state_ids(states)]

    def target_distribution(self) -> Tensor:  # shape: (E, n_objects)
        """Return R(x) / Z."""
        return torch.softmax(self.log_reward, dim=-1)


def solve_exact(
    environment: Environment | StateGraph,
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
) -> ExactSolution:
    """Solve for the flows by one backward pass of log-sum-exp over the layers.

    All members are solved at once in float64. A state graph may be given in place of
    its environment, which saves listing the states again.

    Raises
    ------
    ValueError
        If the environment is not enumerable, or `log_reward` has another shape or is
        not finite.

    Examples
    --------
    Two steps of two levels each: the first choice has the probability of the total
    reward behind it.

    >>> from gflownet_envs.environments import SequentialSelectionEnvironment
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    >>> reward = torch.tensor([[1.0, 3.0, 2.0, 4.0]])
    >>> solution = solve_exact(env, reward.log())
    >>> first = solution.log_policy(env.initial_state()).exp()
    >>> [round(p, 6) for p in first[0].tolist()]
    [0.4, 0.6, 0.0, 0.0]
    >>> round(solution.log_z.exp().item(), 6)
    10.0
    """
    graph = _as_graph(environment)
    log_reward = validated_log_reward(log_reward, graph.environment)
    n_members, n_states = log_reward.shape[0], graph.n_states
    # values[:, i] is log F of state i, and then log R of the objects
    unknown = log_reward.new_full((n_members, n_states), float("-inf"))
    values = torch.cat((unknown, log_reward), dim=1)
    table = values.new_full((n_members, *graph.mask.shape), float("-inf"))
    for step in reversed(range(graph.n_layers)):
        layer = graph.layer(step)
        columns, all_open = graph.open_columns(step)
        edge_flow = _edge_flow(graph, values, layer, columns, all_open)
        values[:, layer] = torch.logsumexp(edge_flow, dim=-1)
        table[:, layer, columns] = edge_flow - values[:, layer, None]
    return ExactSolution(graph, values[:, :n_states].clone(), table, log_reward)


def _edge_flow(
    graph: StateGraph,
    values: Tensor,  # shape: (E, N + n_objects)
    layer: slice,
    columns: slice,
    all_open: bool,
) -> Tensor:  # shape: (E, n, n_columns)
    """Return log F(s′) + log P_B(s | s′) of the edges that leave a layer."""
    children = graph.children[layer, columns]
    flow = values.index_select(1, children.clamp(min=0).flatten())
    flow = flow.unflatten(1, children.shape) + graph.log_pb[layer, columns]
    if all_open:
        return flow
    return flow.masked_fill(~graph.mask[layer, columns], float("-inf"))


def terminating_distribution(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (E, N, A)
) -> Tensor:  # shape: (E, n_objects), float64
    """Return the law of the finished object under a forward policy.

    The probability of reaching each state is pushed forward through the layers.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> solution = solve_exact(env, torch.tensor([[0.0, 1.0, 2.0]]).double())
    >>> law = terminating_distribution(solution.graph, solution.log_policy_table)
    >>> torch.allclose(law, solution.target_distribution())
    True
    """
    expected = tuple(graph.mask.shape)
    if log_policy.ndim != 3 or tuple(log_policy.shape[1:]) != expected:
        raise ValueError(
            f"log_policy must have shape (E, {expected[0]}, {expected[1]}), "
            f"got {tuple(log_policy.shape)}"
        )
    n_total = graph.n_states + graph.environment.n_objects
    policy = log_policy.to(torch.float64).exp()
    total = policy.masked_fill(~graph.mask, 0.0).sum(dim=-1)
    worst = float((total - 1.0).abs().nan_to_num(nan=float("inf")).max())
    if worst > _CLOSURE_TOLERANCE:
        raise ValueError(
            "log_policy must sum to one over the allowed actions of each state; the "
            f"largest distance from one is {worst:.3g}"
        )
    reach = policy.new_zeros((policy.shape[0], n_total))
    reach[:, 0] = 1.0
    for step in range(graph.n_layers):
        layer = graph.layer(step)
        mask = graph.mask[layer]
        passed = reach[:, layer, None] * policy[:, layer]
        reach.index_add_(1, graph.children[layer][mask], passed[:, mask])
    return reach[:, graph.n_states :]


def distance_to_exact(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (E, N, A)
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
) -> Tensor:  # shape: (E,), float64
    """Return ``½ Σₓ |P_T(x) − R(x)/Z|`` of each member, between 0 and 1.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> log_reward = torch.zeros(1, 6, dtype=torch.float64)
    >>> solution = solve_exact(GridEnvironment(size=3, max_moves=2), log_reward)
    >>> table = solution.log_policy_table
    >>> bool(distance_to_exact(solution.graph, table, log_reward) < 1e-12)
    True
    """
    log_reward = validated_log_reward(log_reward, graph.environment)
    reached = terminating_distribution(graph, log_policy)
    if reached.shape != log_reward.shape:
        raise ValueError(
            f"log_policy has {reached.shape[0]} members and log_reward "
            f"{log_reward.shape[0]}; they must be the same members"
        )
    return 0.5 * (reached - torch.softmax(log_reward, dim=-1)).abs().sum(dim=-1)


def _as_graph(environment: Environment | StateGraph) -> StateGraph:
    if isinstance(environment, StateGraph):
        return environment
    return StateGraph.from_environment(environment)
