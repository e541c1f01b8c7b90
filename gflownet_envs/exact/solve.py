"""Exact GFlowNets by dynamic programming over the state graph."""

import math
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.block_store import split_into_blocks
from gflownet_envs.environments.base import Environment, require_at_least
from gflownet_envs.environments.state_graph import StateGraph, require_enumerable
from gflownet_envs.rewards.source import (
    RewardFunction,
    RewardSource,
    as_reward_source,
    require_same_twice,
    reward_of_objects,
    reward_rows,
    uncopied_log_reward,
)

# Rounding of float32 policies over many actions.
_CLOSURE_TOLERANCE = 1e-4

# Float64 numbers of an array that grows with members times states or objects.
_VALUES_AT_ONCE = 2**22
_N_PROBED = 16  # objects about which a function is asked twice, before the work


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

    Flows of unfinished states are all that is stored; policies are computed from them
    and the reward when they are read.

    Attributes
    ----------
    graph : StateGraph
    log_flow : Tensor of shape (E, N), float64
        log F of every non-terminal state.
    log_reward : Tensor of shape (E, n_objects) or callable
        As it was given, not copied: later changes of the table would spoil policies.
    """

    graph: StateGraph
    log_flow: Tensor
    log_reward: Tensor | RewardFunction

    @property
    def log_z(self) -> Tensor:  # shape: (E,)
        """The log of the total reward, which is the flow of the initial state."""
        return self.log_flow[:, 0]

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.log_flow.shape[0]

    @property
    def log_policy_table(self) -> Tensor:  # shape: (E, N, A), float64
        """Log P_F of every non-terminal state; −inf where an action is not allowed.

        Computed on each access.
        """
        return self._log_policy_of_ids(torch.arange(self.graph.n_states))

    def log_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ..., A), float64
        """Return log P_F of non-terminal states; −inf for actions not allowed."""
        ids = self.graph.state_ids(states)
        table = self._log_policy_of_ids(ids.flatten().cpu())
        return table.reshape(self.n_members, *ids.shape, table.shape[-1])

    def _log_policy_of_ids(self, ids: Tensor) -> Tensor:
        # shapes: ids (m,) -> (E, m, A), float64
        n_states, n_members = self.graph.n_states, self.n_members
        children, mask = self.graph.children[ids], self.graph.mask[ids]
        flow = self.log_flow.new_full((n_members, *mask.shape), float("-inf"))
        goes_on = mask & (children < n_states)
        flow[:, goes_on] = self.log_flow[:, children[goes_on]]
        ends = mask & (children >= n_states)
        if ends.any():
            # many edges may lead to one object
            objects, place = (children[ends] - n_states).unique(return_inverse=True)
            members = slice(0, n_members)
            flow[:, ends] = reward_rows(self.log_reward, members, objects)[:, place]
        # By their own sum: a reward in float32, asked for some objects, may differ in
        # the last digits from what it was for all of them.
        return torch.log_softmax(flow + self.graph.log_pb[ids], dim=-1)

    def target_distribution(self) -> Tensor:  # shape: (E, n_objects)
        """Return R(x) / Z."""
        objects = torch.arange(self.graph.environment.require_listed_objects())
        rows = reward_rows(self.log_reward, slice(0, self.n_members), objects)
        return torch.softmax(rows, dim=-1)


def solve_exact(
    environment: Environment | StateGraph,
    log_reward: RewardSource | Tensor | ArrayLike | RewardFunction,
    *,
    n_members: int | None = None,
) -> ExactSolution:
    """Solve for the flows by one backward pass of log-sum-exp over the layers.

    The arithmetic is in float64, over as many members at once as a bound on memory
    allows. A float32 table is not copied.

    Parameters
    ----------
    environment : Environment or StateGraph
        A graph saves listing the states again.
    log_reward : array of shape (n_members, n_objects), RewardSource, or callable
        Log R of each object. Where the table would be too large, a function called as
        ``log_reward(members, objects)`` with a slice of members and object numbers
        (m,), which returns (len(members), m); the same for the same arguments.
    n_members : int, optional
        Needed with a function, refused with a table.

    Raises
    ------
    ValueError
        If the environment is not enumerable, or ``log_reward`` has another shape or is
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

    The same from a function:

    >>> def log_reward(members, objects):
    ...     return reward[members][:, objects].log()
    >>> again = solve_exact(env, log_reward, n_members=1)
    >>> torch.equal(again.log_flow, solution.log_flow)
    True
    """
    space = environment
    if isinstance(space, StateGraph):
        space = space.environment
    require_enumerable(space)
    reward, n_members = _checked_reward(space, log_reward, n_members)
    graph = environment
    if not isinstance(graph, StateGraph):
        graph = StateGraph.from_environment(graph)
    if isinstance(reward, RewardSource):
        reward = reward_of_objects(reward, graph)
    log_flow = torch.empty((n_members, graph.n_states), dtype=torch.float64)
    for members in _member_slices(graph, n_members):
        log_flow[members] = _log_flow(graph, reward, members)
    return ExactSolution(graph, log_flow, reward)


def _checked_reward(
    environment: Environment,
    log_reward: RewardSource | Tensor | ArrayLike | RewardFunction,
    n_members: int | None,
) -> tuple[RewardSource | Tensor | RewardFunction, int]:
    """Return the reward, a table checked, and the number of members."""
    if isinstance(log_reward, RewardSource):
        if n_members not in (None, log_reward.n_members):
            raise ValueError(
                f"n_members must be that of the source, {log_reward.n_members}, or "
                f"None, got {n_members}"
            )
        return as_reward_source(log_reward, environment), log_reward.n_members
    if callable(log_reward):
        if n_members is None:
            raise ValueError("n_members must be given where log_reward is a function")
        require_at_least("n_members", n_members, 1)
        few = torch.arange(min(environment.require_listed_objects(), _N_PROBED))
        first, second = (
            reward_rows(log_reward, slice(0, 1), few).clone() for _ in range(2)
        )
        require_same_twice(first, second, "log_reward")
        return log_reward, n_members
    if n_members is not None:
        raise ValueError(
            f"n_members is for a function; a table has it as its rows, got {n_members}"
        )
    table = uncopied_log_reward(log_reward, environment)
    return table, len(table)


def _member_slices(graph: StateGraph, n_members: int) -> list[slice]:
    """Split the members so that an array of states and objects is not too large."""
    n_values = graph.n_states + graph.environment.require_listed_objects()
    size = _VALUES_AT_ONCE // max(n_values, graph.mask.numel())
    return split_into_blocks(n_members, max(1, size))


def _log_flow(
    graph: StateGraph, log_reward: Tensor | RewardFunction, members: slice
) -> Tensor:  # shape: (e, N)
    """Return the log flows of some members."""
    objects = torch.arange(graph.environment.require_listed_objects())
    rows = reward_rows(log_reward, members, objects)
    # values[:, i] is log F of state i, and then log R of the objects
    unknown = rows.new_full((rows.shape[0], graph.n_states), float("-inf"))
    values = torch.cat((unknown, rows), dim=1)
    for step in reversed(range(graph.n_layers)):
        layer = graph.layer(step)
        columns, all_open = graph.open_columns(step)
        children = graph.children[layer, columns]
        # log F(s′) + log P_B(s | s′) of the edges that leave the layer
        flow = values.index_select(1, children.clamp(min=0).flatten())
        flow = flow.unflatten(1, children.shape).add_(graph.log_pb[layer, columns])
        if not all_open:
            flow.masked_fill_(~graph.mask[layer, columns], float("-inf"))
        values[:, layer] = torch.logsumexp(flow, dim=-1)
    return values[:, : graph.n_states]


def terminating_distribution(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (E, N, A)
) -> Tensor:  # shape: (E, n_objects), float64
    """Return the distribution of the finished object under a forward policy.

    The probability of reaching each state is pushed forward through the layers.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> solution = solve_exact(env, torch.tensor([[0.0, 1.0, 2.0]]).double())
    >>> found = terminating_distribution(solution.graph, solution.log_policy_table)
    >>> torch.allclose(found, solution.target_distribution())
    True
    """
    return visits(graph, log_policy)[:, graph.n_states :]


def visits(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (E, N, A)
) -> Tensor:  # shape: (E, N + n_objects), float64
    """Return the probability that a walk passes each state, then each object.

    In a graded space a walk passes a state at most once, and the visits of the first
    layer are 1.

    Raises
    ------
    ValueError
        If the shape does not agree, or the policies do not sum to one.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> solution = solve_exact(env, torch.tensor([[2.0, 1.0, 1.0]]).log())
    >>> visits(solution.graph, solution.log_policy_table).numpy().round(6)
    array([[1.  , 0.25, 0.25, 0.5 , 0.25, 0.25]])
    """
    expected = tuple(graph.mask.shape)
    if log_policy.ndim != 3 or tuple(log_policy.shape[1:]) != expected:
        raise ValueError(
            f"log_policy must have shape (E, {expected[0]}, {expected[1]}), "
            f"got {tuple(log_policy.shape)}"
        )
    n_total = graph.n_states + graph.environment.require_listed_objects()
    reached = torch.zeros((len(log_policy), n_total), dtype=torch.float64)
    reached[:, 0] = 1.0
    for members in _member_slices(graph, len(log_policy)):
        policy = log_policy[members].to(torch.float64).exp()
        policy = policy.masked_fill_(~graph.mask, 0.0)
        worst = float((policy.sum(dim=-1) - 1).abs().nan_to_num(nan=math.inf).max())
        if worst > _CLOSURE_TOLERANCE:
            raise ValueError(
                "log_policy must sum to one over the allowed actions of each state; "
                f"the largest distance from one is {worst:.3g}"
            )
        push_forward(graph, policy, reached[members])
    return reached


def push_forward(graph: StateGraph, policy: Tensor, reached: Tensor) -> None:
    # shapes: policy (e or 1, N, A), reached (e, N + n_objects), float64
    """Add up, in place, the probabilities of what is reached from given starts."""
    for step in range(graph.n_layers):
        layer = graph.layer(step)
        mask = graph.mask[layer]
        passed = reached[:, layer, None] * policy[:, layer]
        reached.index_add_(1, graph.children[layer][mask], passed[:, mask])


def distance_to_exact(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (E, N, A)
    log_reward: Tensor | ArrayLike | RewardFunction,  # shape: (E, n_objects)
) -> Tensor:  # shape: (E,), float64
    """Return ``½ Σₓ |P_T(x) − R(x)/Z|`` of each member, between 0 and 1.

    Parameters
    ----------
    graph : StateGraph
    log_policy : Tensor of shape (n_members, n_states, n_actions)
    log_reward : array of shape (n_members, n_objects), or callable
        As `solve_exact` takes it.

    Raises
    ------
    ValueError
        If shapes do not agree, or the policies do not sum to one.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> log_reward = torch.zeros(1, 6, dtype=torch.float64)
    >>> solution = solve_exact(GridEnvironment(size=3, max_moves=2), log_reward)
    >>> table = solution.log_policy_table
    >>> bool(distance_to_exact(solution.graph, table, log_reward) < 1e-12)
    True
    """
    reward = log_reward
    if not callable(reward):
        reward = uncopied_log_reward(reward, graph.environment)
        if len(log_policy) != len(reward):
            raise ValueError(
                f"log_policy has {len(log_policy)} members and log_reward "
                f"{len(reward)}; they must be the same members"
            )
    law = terminating_distribution(graph, log_policy)
    objects = torch.arange(law.shape[1])
    for members in _member_slices(graph, len(law)):
        law[members] -= torch.softmax(reward_rows(reward, members, objects), dim=-1)
    return 0.5 * law.abs().sum(dim=-1)
