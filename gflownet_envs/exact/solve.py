r"""Exact GFlowNets, and policies along trajectories and in whole spaces.

Flows are solved by dynamic programming over the state graph.

Let :math:`d_i(s)` be the probability that a walk of member i of M passes state s, and
:math:`p_i(\cdot \mid s)` its policy there. The policy

.. math::
    q(a \mid s) = \sum_i d_i(s) \, p_i(a \mid s) \Big/ \sum_i d_i(s)

samples objects from the mean :math:`\bar P` of the members' distributions
:math:`P_i`: its flow through each edge is the mean of theirs. The fragility of a state
is the mean distance of its visitors' policies to q, and its contribution is that times
the mean number of visits,

.. math::
    f(s) = \frac{\sum_i d_i(s) \, \mathrm{TV}(p_i(\cdot \mid s), q(\cdot \mid s))}
                {\sum_i d_i(s)}, \qquad
    c(s) = \frac{1}{M} \sum_i d_i(s) \, \mathrm{TV}(p_i(\cdot \mid s), q(\cdot \mid s)).

To exchange p_i for q in one state after another changes the distribution over objects
by at most :math:`d_i(s) \, \mathrm{TV}(p_i, q)` each time, hence

.. math::
    \frac{1}{M} \sum_i \mathrm{TV}(P_i, \bar P) \le \sum_s c(s).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    StateGraph,
    require_at_least,
    require_enumerable,
)
from gflownet_envs.rewards.source import (
    RewardFunction,
    RewardSource,
    as_reward_source,
    require_same_twice,
    reward_of_objects,
    reward_rows,
    uncopied_log_reward,
)
from gflownet_envs.storage import split_into_blocks

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
    reward: RewardSource | Tensor | RewardFunction
    if isinstance(log_reward, RewardSource):
        if n_members not in (None, log_reward.n_members):
            raise ValueError(
                f"n_members must be that of the source, {log_reward.n_members}, or "
                f"None, got {n_members}"
            )
        reward, n_members = as_reward_source(log_reward, space), log_reward.n_members
    elif callable(log_reward):
        if n_members is None:
            raise ValueError("n_members must be given where log_reward is a function")
        require_at_least("n_members", n_members, 1)
        few = torch.arange(min(space.require_listed_objects(), _N_PROBED))
        first, second = (
            reward_rows(log_reward, slice(0, 1), few).clone() for _ in range(2)
        )
        require_same_twice(first, second, "log_reward")
        reward = log_reward
    elif n_members is not None:
        raise ValueError(
            f"n_members is for a function; a table has it as its rows, got {n_members}"
        )
    else:
        reward = uncopied_log_reward(log_reward, space)
        n_members = len(reward)
    graph = environment
    if not isinstance(graph, StateGraph):
        graph = StateGraph.from_environment(graph)
    if isinstance(reward, RewardSource):
        reward = reward_of_objects(reward, graph)
    log_flow = torch.empty((n_members, graph.n_states), dtype=torch.float64)
    for members in _member_slices(graph, n_members):
        log_flow[members] = _log_flow(graph, reward, members)
    return ExactSolution(graph, log_flow, reward)


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


#: Least log-probability of a possible action in a data set: exp of less is no normal
#: float64.
LOWEST_LOG = -700.0

_SUMS = 1e-4  # rounding of float32 probabilities


class PolicySource(Protocol):
    """Anything with the policies of an ensemble: exact or trained."""

    def log_policy(self, states: Tensor) -> Tensor:
        """Return log P_F, shape (E, N, A), in N states."""
        ...


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A path from the initial to a terminal state.

    Attributes
    ----------
    states : Tensor of shape (T + 1, S), int64
        The last one is terminal.
    actions : Tensor of shape (T,), int64
    """

    states: Tensor
    actions: Tensor

    def __len__(self) -> int:
        """Number of actions."""
        return len(self.actions)


@dataclass(frozen=True, eq=False)
class PoliciesAlong:
    """The policies of all members in the states of one trajectory, side by side.

    Attributes
    ----------
    y : ndarray of shape (E, ΣK), float64
        Probabilities; those of each step sum to 1 and are 0 where masked.
    mask : ndarray of shape (ΣK,), bool
        True where the action is allowed.
    steps : dict of str to int
        K, the number of parts of each step, by its name; for ``steps=`` of ``skpce``.
    step_names : tuple of str
    action_names : tuple of str
        One a column.
    """

    y: np.ndarray
    mask: np.ndarray
    steps: dict[str, int]
    step_names: tuple[str, ...]
    action_names: tuple[str, ...]


def greedy_trajectory(
    environment: Environment, log_policy: Callable[[Tensor], Tensor]
) -> Trajectory:
    """Follow the likeliest action of one policy until the end.

    Parameters
    ----------
    environment : Environment
    log_policy : callable
        Maps one state (S,) to the log-probabilities of its actions, of shape (A,) or
        (1, A), such as the ``log_policy`` of a source with a single member. The first
        of equally likely actions is taken.

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment, solve_exact
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> pilot = solve_exact(env, [[0.0, 1.0, 3.0]])
    >>> trajectory = greedy_trajectory(env, pilot.log_policy)
    >>> [env.action_names[a] for a in trajectory.actions]
    ['down', 'stop']
    """
    state = environment.initial_state()
    actions = []
    while not environment.is_terminal(state):
        own = log_policy(state)
        if own.numel() != environment.n_actions:
            raise ValueError(
                f"log_policy must give one policy of {environment.n_actions} actions, "
                f"got shape {tuple(own.shape)}"
            )
        closed = ~environment.valid_mask(state)
        action = own.reshape(-1).masked_fill(closed, float("-inf")).argmax()
        actions.append(int(action))
        state = environment.step(state, action)
    return trajectory_of_actions(environment, actions)


def mean_policy(source: PolicySource) -> Callable[[Tensor], Tensor]:
    """Return the log of the mean policy of an ensemble, for `greedy_trajectory`.

    The mean of the members' probabilities, which is not the policy under the mean
    reward (`mean_log_reward`).

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment, solve_exact
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> source = solve_exact(env, [[0.0, 1.0, 3.0], [0.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    >>> trajectory = greedy_trajectory(env, mean_policy(source))
    >>> [env.action_names[a] for a in trajectory.actions]
    ['down', 'stop']
    """

    def log_policy(state: Tensor) -> Tensor:
        return source.log_policy(state).exp().mean(dim=0).log()

    return log_policy


def trajectory_of_actions(
    environment: Environment, actions: Sequence[int | str]
) -> Trajectory:
    """Return the trajectory of given actions, which must end in a terminal state.

    Actions are numbers or names, such as ``PolicyDataset.trajectory``.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> trajectory = trajectory_of_actions(GridEnvironment(), [3, 1, 4])
    >>> trajectory.states[:, :2].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 1]]
    """
    states = [environment.initial_state()]
    taken: list[int] = []
    for t, action in enumerate(actions):
        allowed = environment.valid_mask(states[-1]).nonzero()[:, 0].tolist()
        names = [environment.action_names[a] for a in allowed]
        found = dict(zip(names, allowed, strict=True)).get(action, action)
        if found not in allowed:
            raise ValueError(
                f"action {action!r} at step {t} is not allowed in state "
                f"{states[-1].tolist()}; allowed are {names}"
            )
        taken.append(int(found))
        states.append(environment.step(states[-1], torch.tensor(taken[-1])))
    if not environment.is_terminal(states[-1]):
        raise ValueError(
            f"actions must end in a terminal state, got {states[-1].tolist()} after "
            f"{len(actions)} actions"
        )
    return Trajectory(torch.stack(states), torch.tensor(taken))


class CallablePolicies:
    """Policies that are functions of one state, as a `PolicySource`.

    Each maps a state, shape (S,), to the probabilities of all actions, shape (A,).

    Raises
    ------
    ValueError
        When it is asked about a state in which a function gives no probabilities.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> source = CallablePolicies(env, [lambda state: [0.0, 0.5, 0.0, 0.25, 0.25]])
    >>> source.log_policy(env.initial_state()).exp().tolist()
    [[0.0, 0.5, 0.0, 0.25, 0.25]]
    """

    def __init__(
        self, environment: Environment, policies: Sequence[Callable[[Tensor], Any]]
    ) -> None:
        self.environment = environment
        self.policies = policies

    def log_policy(self, states: Tensor) -> Tensor:  # shapes: (..., S) -> (E, ..., A)
        flat = states.reshape(-1, states.shape[-1])
        mask = self.environment.valid_mask(flat)
        found = [
            self._one(member, *pair)
            for member in range(len(self.policies))
            for pair in zip(flat, mask, strict=True)
        ]
        shape = (len(self.policies), *states.shape[:-1], mask.shape[-1])
        return torch.stack(found).reshape(shape).log()

    def _one(self, member: int, state: Tensor, mask: Tensor) -> Tensor:
        # shapes: state (S,), mask (A,) -> (A,), float64
        given = self.policies[member](state)
        if isinstance(given, Tensor):
            given = given.detach().cpu().numpy()
        policy = torch.from_numpy(np.array(given, dtype=np.float64))
        where = f"the policy of member {member} in state {state.tolist()}"
        if policy.shape != mask.shape:
            raise ValueError(
                f"{where} must have shape {tuple(mask.shape)}, a probability for each "
                f"action of {self.environment.name}, got {tuple(policy.shape)}"
            )
        is_law = bool((policy >= 0).all()) and abs(float(policy.sum()) - 1) < _SUMS
        if not is_law or float(policy[~mask].sum()) > _SUMS:
            raise ValueError(
                f"{where} must be probabilities that sum to 1, 0 where an action is "
                f"not allowed, got {policy.tolist()}"
            )
        open_policy = policy.where(mask, 0.0)
        return open_policy / open_policy.sum()


def policies_along(
    environment: Environment, policy_source: PolicySource, trajectory: Trajectory
) -> PoliciesAlong:
    """Return the policies of all members in the states of a trajectory.

    Each step contributes the actions ``environment.step_actions`` names, the parts of a
    composition. Masked ones stay, with probability 0 and False in the mask. Others have
    a probability of at least e⁻⁷⁰⁰, which is not 0 in double precision, unless the
    source gives 0.

    Examples
    --------
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q", "r"]})
    >>> source = solve_exact(env, torch.zeros(4, 6))
    >>> along = policies_along(env, source, trajectory_of_actions(env, [0, 2]))
    >>> along.y.shape, along.steps
    ((4, 5), {'a': 2, 'b': 3})
    """
    if not isinstance(trajectory, Trajectory):
        raise ValueError(
            f"trajectory must be a Trajectory, got {trajectory!r}; "
            "trajectory_of_actions(environment, actions) makes one"
        )
    names = environment.step_names[: len(trajectory)]
    numbers = range(len(trajectory))
    return _side_by_side(
        environment, policy_source, trajectory.states[:-1], numbers, names
    )


def _side_by_side(
    environment: Environment,
    policy_source: PolicySource,
    states: Tensor,  # shape: (n, S)
    steps: Iterable[int],  # number of the step of each state
    names: tuple[str, ...],
) -> PoliciesAlong:
    """Return the policies in some states, each of which is a step of its own."""
    columns = [list(environment.step_actions(step)) for step in steps]
    mask = environment.valid_mask(states)
    log_policy = policy_source.log_policy(states).to(torch.float64)
    # of allowed actions 0 only where the source says so
    stays = ~mask | log_policy.isneginf()
    policy = log_policy.where(stays, log_policy.clamp(min=LOWEST_LOG)).exp()
    of_states = list(enumerate(columns))
    return PoliciesAlong(
        y=torch.cat([policy[:, i, own] for i, own in of_states], dim=1).cpu().numpy(),
        mask=torch.cat([mask[i, own] for i, own in of_states]).numpy(),
        steps=dict(zip(names, map(len, columns), strict=True)),
        step_names=names,
        action_names=tuple(environment.action_names[a] for own in columns for a in own),
    )


def policies_everywhere(
    graph: StateGraph, policy_source: PolicySource
) -> PoliciesAlong:
    """Return the policies of all members in every non-terminal state of a small space.

    What `policies_along` does for one trajectory: each state is a step of its own. Only
    states where there is a choice are taken. In trees a step is named by the actions
    that lead to it, elsewhere by the number of the state in the graph.

    Examples
    --------
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q", "r"]})
    >>> source = solve_exact(env, torch.zeros(4, 6))
    >>> found = policies_everywhere(source.graph, source)
    >>> found.y.shape, found.step_names
    ((4, 8), ('start', 'a: x', 'a: y'))
    """
    environment = graph.environment
    chosen = (graph.mask.sum(dim=1) > 1).nonzero()[:, 0]
    if not len(chosen):
        raise ValueError(f"no state of {environment.name} leaves a choice")
    names = ["start" if i == 0 else f"state {i}" for i in chosen.tolist()]
    if environment.is_tree:
        histories = environment.action_history(graph.states[chosen]).tolist()
        taken = [[environment.action_names[a] for a in h if a >= 0] for h in histories]
        names = [", ".join(actions) or "start" for actions in taken]
    steps = graph.steps[chosen].tolist()
    return _side_by_side(
        environment, policy_source, graph.states[chosen], steps, tuple(names)
    )


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class WholeSpace:
    """Visits and fragility of every state, and the distributions over the objects.

    Attributes
    ----------
    graph : StateGraph
    visits : ndarray of shape (n_members, n_states)
        Probability that a walk of the member passes the state.
    fragility : ndarray of shape (n_states,)
        Mean total variation of a visitor's policy to the policy of all visitors
        together, in [0, 1]; 0 where there is no choice. Visitors count by their visits.
    law : ndarray of shape (n_members, n_objects)
        Probability of each object, in the order of the reward table.

    See Also
    --------
    policies_everywhere : The policies themselves, for drivers of each state.

    Notes
    -----
    The formulas are those of the module ``gflownet_envs.exact.solve``: the
    policy of all visitors gives the mean of the members' distributions, and
    ``contribution`` adds up to no less than their mean distance to it.

    Examples
    --------
    Two members agree in the first choice and differ in what follows ``x``, which few
    walks pass.

    >>> import numpy as np
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    >>> reward = np.array([[0.1, 0.1, 0.4, 0.4], [0.2, 0.0001, 0.4, 0.4]])
    >>> solution = solve_exact(env, np.log(reward))
    >>> space = WholeSpace.from_policies(solution.graph, solution)
    >>> space
    WholeSpace(StateGraph(selection-2x2, n_states=3, n_layers=2), \
n_members=2, n_objects=4)
    >>> space.fragility.round(2)
    array([0.  , 0.25, 0.  ])
    >>> space.contribution.round(3)
    array([0.  , 0.05, 0.  ])
    >>> statistics = space.statistics(n_leading=1, classes={"x": [0, 1]})
    >>> {name: column.round(2).tolist() for name, column in statistics.items()}
    {'probability of y | p': [0.4, 0.4], 'probability of x': [0.2, 0.2], 'entropy': \
[1.19, 1.06]}
    """

    graph: StateGraph
    visits: Floats
    fragility: Floats
    law: Floats

    def __repr__(self) -> str:
        members, objects = self.law.shape
        return f"WholeSpace({self.graph}, n_members={members}, n_objects={objects})"

    @classmethod
    def from_policies(cls, graph: StateGraph, policies: PolicySource) -> Self:
        """Follow the policies of an ensemble through all states.

        Parameters
        ----------
        graph : StateGraph
            Of a space whose states and objects can be listed.
        policies : ExactSolution, TrainedEnsemble, or anything with ``log_policy``
            The members; they are held in all states at once.

        Raises
        ------
        ValueError
            If the policies are of another space, have another shape, or do not sum to
            one.
        """
        if not isinstance(graph, StateGraph):
            raise ValueError(
                f"graph must be a StateGraph, got {graph!r}; "
                "StateGraph.from_environment(environment) makes one"
            )
        name = graph.environment.name
        made_for = getattr(policies, "environment", graph.environment).name
        if made_for != name:
            raise ValueError(f"policies are of {made_for}, expected those of {name}")
        log_policy = policies.log_policy(graph.states)
        reached = visits(graph, log_policy).numpy()
        passed, law = np.split(reached, [graph.n_states], axis=1)
        policy = log_policy.double().exp().masked_fill(~graph.mask, 0.0).numpy()
        total = passed.sum(axis=0)
        share = passed / np.where(total > 0, total, 1.0)  # (E, N)
        fragility = np.zeros(graph.n_states)
        choice = (graph.mask.sum(dim=1) > 1).numpy()
        common = np.einsum("en,ena->na", share, policy)
        for row, own in zip(share, policy, strict=True):
            fragility += row * 0.5 * np.abs(own - common).sum(axis=1)
        return cls(graph, passed, np.where(choice, fragility, 0.0), law)

    @property
    def contribution(self) -> Floats:  # shape: (n_states,)
        """Mean visits times fragility: what a state adds to that of the objects."""
        return self.visits.mean(axis=0) * self.fragility

    @property
    def object_fragility(self) -> float:
        """Mean total variation of a member's distribution over objects to the mean."""
        return float(0.5 * np.abs(self.law - self.law.mean(axis=0)).sum(axis=1).mean())

    def statistics(
        self,
        *,
        n_leading: int = 5,
        names: Sequence[str] | None = None,
        classes: Mapping[str, ArrayLike] | None = None,
        values: Mapping[str, ArrayLike] | None = None,
        neighbours: ArrayLike | None = None,
    ) -> dict[str, Floats]:
        """Return statistics of each member's distribution over objects, by name.

        They are columns of real outputs, one row a member:
        ``skpce.explain({**inputs, **statistics}, outputs=list(statistics))``.

        Parameters
        ----------
        n_leading : int, default=5
            So many objects, the likeliest of all members together, have a column.
        names : sequence of str of length n_objects, optional
            What to call the objects; None asks the environment.
        classes : mapping of str to array-like of int, optional
            Object numbers of each class; a class has the sum of their probabilities.
        values : mapping of str to array-like of shape (n_objects,) or \
(n_members, n_objects), optional
            What objects are worth, or their rewards under each member: the mean under
            the member's distribution is ``expected ...``.
        neighbours : array-like of int of shape (n_pairs, 2), optional
            Objects next to one another. With it the number of modes is counted: objects
            that are likelier than all their neighbours, and than 1 / n_objects. Of
            equally likely neighbours that of the smaller number counts.

        Returns
        -------
        statistics : dict of str to ndarray of shape (n_members,)
            ``probability of ...``, ``entropy`` (natural logarithm), ``expected ...``,
            ``number of modes``.

        Raises
        ------
        ValueError
            For numbers that no object has, values of another shape, or a name twice.
        """
        n_objects = self.law.shape[1]
        require_at_least("n_leading", n_leading, 0)
        leading = np.argsort(-self.law.mean(axis=0), kind="stable")[:n_leading]
        if names is not None and len(names) != n_objects:
            raise ValueError(f"names must be {n_objects} names, got {len(names)}")
        found: dict[str, Floats] = {}
        name_of = self.graph.environment.object_name if names is None else None
        for number in leading:
            name = name_of(int(number)) if name_of else names[number]  # type: ignore[index]
            _add(found, f"probability of {name}", self.law[:, number])
        for name, objects in (classes or {}).items():
            its = np.unique(_object_numbers(f"classes[{name!r}]", objects, n_objects))
            _add(found, f"probability of {name}", self.law[:, its].sum(axis=1))
        log_law = np.log(np.where(self.law > 0, self.law, 1.0))
        _add(found, "entropy", -(self.law * log_law).sum(axis=1))
        for name, value in (values or {}).items():
            own = np.asarray(value, dtype=np.float64)
            if own.shape not in (self.law.shape, self.law.shape[1:]):
                raise ValueError(
                    f"values[{name!r}] must have shape {self.law.shape[1:]} or "
                    f"{self.law.shape}, got {own.shape}"
                )
            if not np.isfinite(own).all():
                raise ValueError(
                    f"values[{name!r}] must be finite; leave such objects at 0"
                )
            _add(found, f"expected {name}", (self.law * own).sum(axis=1))
        if neighbours is not None:
            pairs = _object_numbers("neighbours", neighbours, n_objects)
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(
                    f"neighbours must have shape (n_pairs, 2), got {pairs.shape}"
                )
            # local maxima that are likelier than with equal probabilities
            first, second = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1).T
            is_mode = self.law > 1.0 / n_objects
            for row, law in zip(is_mode, self.law, strict=True):
                upwards = law[second] > law[first]
                row[first[upwards]] = False
                row[second[~upwards]] = False
            _add(found, "number of modes", is_mode.sum(axis=1).astype(np.float64))
        return found


def _add(found: dict[str, Floats], name: str, column: Floats) -> None:
    if name in found:
        raise ValueError(
            f"{name!r} would be there twice; expected names of objects, classes and "
            "values that differ"
        )
    found[name] = column


def _object_numbers(what: str, given: ArrayLike, n_objects: int) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{what} must be object numbers, whole numbers below {n_objects}, got "
            f"{numbers.dtype}"
        )
    wrong = numbers[(numbers < 0) | (numbers >= n_objects)]
    if wrong.size:
        raise ValueError(
            f"{what} has {int(wrong[0])}, which is no object: expected numbers from 0 "
            f"to {n_objects - 1}"
        )
    return numbers.astype(np.int64)
