"""Reference trajectories and the policies of an ensemble along them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.environments.state_graph import StateGraph

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
    names = tuple(_state_name(graph, int(i)) for i in chosen)
    steps = graph.steps[chosen].tolist()
    return _side_by_side(environment, policy_source, graph.states[chosen], steps, names)


def _state_name(graph: StateGraph, number: int) -> str:
    if number == 0:
        return "start"
    if not graph.environment.is_tree:
        return f"state {number}"
    history = graph.environment.action_history(graph.states[number]).tolist()
    return ", ".join(graph.environment.action_names[a] for a in history if a >= 0)
