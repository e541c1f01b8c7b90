"""Spaces and policies from torchgfn and for it, by tables of their states.

torchgfn (https://torchgfn.readthedocs.io) ends a trajectory by an exit action, the last
one, and names a parent by the action that led from it. Here an end is a state of its
own, and several parents may have led to a state by the same action: `to_torchgfn` then
gives torchgfn an action for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment, StateGraph, TooManyStatesError
from gflownet_envs.extras import import_extra
from gflownet_envs.rewards.source import graph_and_reward

__all__ = ["ListedEnvironment", "from_torchgfn", "to_torchgfn", "torchgfn_policy"]


class ListedEnvironment(Environment):
    """A state space by tables: state n, or the finished object x as n_states + x.

    Parameters
    ----------
    name : str
    children : Tensor of shape (n_states, n_actions), int64
        The state, or n_states + x, that each action leads to; −1 where it is not
        allowed. State 0 is the initial one, and all paths to a state are as long.
    encodings : Tensor of shape (n_states, F)
        What a network sees of each state.
    action_names, object_names : sequence of str
    log_reward : Tensor of shape (1, n_objects), optional
        Of the space that the tables were made from.

    Examples
    --------
    A choice between stopping and going on, once.

    >>> env = ListedEnvironment(
    ...     "once",
    ...     torch.tensor([[1, 2], [-1, 3]]),
    ...     torch.eye(2),
    ...     action_names=("go on", "stop"),
    ...     object_names=("stopped", "went on"),
    ... )
    >>> from gflownet_envs import check_environment, solve_exact
    >>> check_environment(env)
    >>> solution = solve_exact(env, torch.tensor([[1.0, 3.0]]).log())
    >>> solution.log_policy(env.initial_state()).exp().round(decimals=6).tolist()
    [[0.75, 0.25]]
    """

    def __init__(
        self,
        name: str,
        children: Tensor,
        encodings: Tensor,
        *,
        action_names: Sequence[str],
        object_names: Sequence[str],
        log_reward: Tensor | None = None,
    ) -> None:
        n_states, n_objects = len(children), len(object_names)
        self.name = name
        self.action_names = tuple(action_names)
        self.n_objects = n_objects
        self.state_size = 1
        self.log_reward = log_reward
        self.torchgfn_states: Tensor | None = None  # of `from_torchgfn`
        self._object_names = tuple(object_names)
        self._n_states = n_states
        finished = torch.arange(n_states, n_states + n_objects)[:, None]
        closed = torch.full((n_objects, children.shape[1]), -1)
        self._children = torch.cat((children, closed))
        # a finished state stays as it is
        self._next = torch.where(self._children < 0, 0, self._children)
        self._next[n_states:] = finished
        self._encodings = torch.cat(
            (encodings.float(), torch.zeros(n_objects, encodings.shape[1]))
        )
        self.encoding_size = encodings.shape[1]
        self._list_parents()
        self.step_names = tuple(f"step {t + 1}" for t in range(self._n_layers()))

    def _list_parents(self) -> None:
        parent, action = (self._children >= 0).nonzero(as_tuple=True)
        child = self._children[parent, action]
        rank = _ranks(child)
        self.n_backward_actions = int(rank.max()) + 1
        self._parents = torch.full((len(self._children), self.n_backward_actions), -1)
        self._parents[child, rank] = parent
        self._rank = torch.zeros_like(self._children)
        self._rank[parent, action] = rank

    def _n_layers(self) -> int:
        reached, count = torch.tensor([0]), 0
        while len(reached):
            following = self._children[reached]
            reached = following[
                (following >= 0) & (following < self._n_states)
            ].unique()
            count += 1
            if count > self._n_states:
                raise ValueError(f"children of {self.name} must have no cycle")
        return count

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., 0] >= self._n_states

    def valid_mask(self, states: Tensor) -> Tensor:
        return self._look_up(self._children, states) >= 0

    def step(self, states: Tensor, actions: Tensor) -> Tensor:
        return self._look_up(self._next, states).gather(-1, actions[..., None])

    def backward_mask(self, states: Tensor) -> Tensor:
        return self._look_up(self._parents, states) >= 0

    def backward_action(self, states: Tensor, actions: Tensor) -> Tensor:
        return self._look_up(self._rank, states).gather(-1, actions[..., None])[..., 0]

    def backward(self, states: Tensor, backward_actions: Tensor) -> Tensor:
        parents = self._look_up(self._parents, states)
        return parents.gather(-1, backward_actions[..., None])

    def encode(self, states: Tensor) -> Tensor:
        return self._look_up(self._encodings, states)

    def object_index(self, states: Tensor) -> Tensor:
        return states[..., 0] - self._n_states

    def object_name(self, index: int) -> str:
        self._require_object(index)
        return self._object_names[index]

    @staticmethod
    def _look_up(table: Tensor, states: Tensor) -> Tensor:
        return table.to(states.device)[states[..., 0]]


def _ranks(keys: Tensor) -> Tensor:  # shapes: (n,) -> (n,)
    """Count the equal keys before each of them."""
    order = torch.argsort(keys, stable=True)
    _, sizes = torch.unique_consecutive(keys[order], return_counts=True)
    first = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    ranks = torch.empty_like(order)
    ranks[order] = torch.arange(len(order)) - first
    return ranks


def from_torchgfn(
    env: Any,
    *,
    preprocessor: Callable[[Any], Tensor] | None = None,
    max_states: int = 200_000,
) -> ListedEnvironment:
    """List the states of a discrete environment of torchgfn.

    Parameters
    ----------
    env : gfn.env.DiscreteEnv
        Its exit action is the last one, and no state can be reached again.
    preprocessor : callable, optional
        A preprocessor of torchgfn, for what our networks see. Default: the numbers of
        the state's tensor.
    max_states : int, default=200_000

    Returns
    -------
    ListedEnvironment
        Its actions are those of ``env``, in its order; its objects are the states in
        which ``env`` allows to exit. ``log_reward`` has the reward of ``env``, one
        row, and ``torchgfn_states`` the tensor of each state. A state that can be
        reached after different numbers of actions is listed once for each number.

    Raises
    ------
    ImportError
        If torchgfn is not installed.
    ValueError
        If ``env`` is not discrete or has more than ``max_states`` states.

    Examples
    --------
    >>> from gfn.gym import HyperGrid  # doctest: +SKIP
    >>> environment = from_torchgfn(HyperGrid(ndim=2, height=8))  # doctest: +SKIP
    >>> ensemble = train_ensemble(environment, environment.log_reward)  # doctest: +SKIP
    """
    discrete = import_extra("gfn.env", "from_torchgfn").DiscreteEnv
    if not isinstance(env, discrete):
        raise ValueError(
            f"env must be a discrete environment of torchgfn, gfn.env.DiscreteEnv; got "
            f"{type(env).__name__}"
        )
    layers = [env.s0[None]]
    tables: list[Tensor] = []  # children within the next layer, −1 closed
    exits: list[Tensor] = []
    while len(layers[-1]):
        if sum(map(len, layers)) > max_states:
            raise TooManyStatesError(
                f"{type(env).__name__} has more than max_states={max_states} states, "
                "or its trajectories do not end"
            )
        states = env.states_from_tensor(layers[-1])
        mask = states.forward_masks
        exits.append(mask[:, -1].cpu())
        parent, action = mask[:, :-1].nonzero(as_tuple=True)
        taken = env.actions_from_tensor(action[:, None])
        reached = env.step(states[parent].clone(), taken).tensor
        following, place = torch.unique(reached, dim=0, return_inverse=True)
        table = torch.full(mask[:, :-1].shape, -1)
        table[parent.cpu(), action.cpu()] = place.cpu()
        tables.append(table)
        layers.append(following)
    layers.pop()
    # the objects are numbered after the states
    tensors = torch.cat(layers)
    n_states = len(tensors)
    starts = np.cumsum([0, *map(len, layers)]).tolist()
    moved = [
        torch.where(table < 0, -1, table + starts[t + 1])
        for t, table in enumerate(tables)
    ]
    may_exit = torch.cat(exits)
    objects, place = torch.unique(tensors[may_exit], dim=0, return_inverse=True)
    last = torch.full((n_states, 1), -1)
    last[may_exit, 0] = n_states + place.cpu()
    states = env.states_from_tensor(tensors)
    seen = tensors if preprocessor is None else preprocessor(states)
    encodings = seen.reshape(n_states, -1).float().cpu()
    if len(torch.unique(tensors, dim=0)) < n_states:  # some in several layers
        layer = torch.cat([torch.full((len(x), 1), t) for t, x in enumerate(layers)])
        encodings = torch.cat((encodings, layer / max(1, len(layers) - 1)), dim=1)
    log_reward = env.log_reward(env.states_from_tensor(objects)).detach()
    environment = ListedEnvironment(
        f"torchgfn-{type(env).__name__}-{n_states}-{len(objects)}",
        torch.cat((torch.cat(moved), last), dim=1),
        encodings,
        action_names=[*(f"action {a}" for a in range(env.n_actions - 1)), "exit"],
        object_names=[str(x.tolist()) for x in objects],
        log_reward=log_reward.reshape(1, -1).to(torch.float64).cpu(),
    )
    environment.torchgfn_states = tensors
    return environment


def to_torchgfn(
    environment: Environment | StateGraph,
    log_reward: Tensor | ArrayLike,  # shape: (n_objects,)
) -> Any:
    """Return an environment of torchgfn with the states of one of ours.

    Parameters
    ----------
    environment : Environment or StateGraph
        With states that can be listed.
    log_reward : array of shape (n_objects,)
        Of one member.

    Returns
    -------
    gfn.env.DiscreteEnv
        A state is its number in ``graph``, or ``graph.n_states + x`` for an object,
        which can only exit. ``preprocessor`` shows networks the encodings of our
        environment. With ``DiscretePolicyEstimator.uniform`` as backward policy its
        targets are ours.

    Raises
    ------
    ImportError
        If torchgfn is not installed.
    ValueError
        If states cannot be listed, or ``log_reward`` has another shape.

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment
    >>> environment = GridEnvironment(size=2, max_moves=1)
    >>> env = to_torchgfn(environment, [0.0, 1.0, 2.0])  # doctest: +SKIP
    >>> env.n_actions  # doctest: +SKIP
    6
    """
    import_extra("gfn", "to_torchgfn")  # before any work
    return _table_env(*graph_and_reward(environment, log_reward))


def _actions_by_parent(graph: StateGraph) -> tuple[Tensor, int]:
    """Return the action of torchgfn for each edge, and the number of them.

    Parents of one child that led to it by the same action get different ones.
    """
    n_actions = graph.mask.shape[1]
    parent, action = graph.mask.nonzero(as_tuple=True)
    key = graph.children[parent, action] * n_actions + action
    rank = _ranks(key)
    pairs, number = torch.unique(
        torch.stack((rank, action), dim=1), dim=0, return_inverse=True
    )
    edges = torch.full(graph.mask.shape, -1)
    edges[parent, action] = number
    return edges, len(pairs)


def _table_env(graph: StateGraph, log_reward: Tensor) -> Any:
    discrete_env = import_extra("gfn.env", "to_torchgfn").DiscreteEnv
    preprocessor = import_extra("gfn.preprocessors", "to_torchgfn").Preprocessor
    discrete_states = import_extra("gfn.states", "to_torchgfn").DiscreteStates
    edges, n_moves = _actions_by_parent(graph)
    n_states, n_objects = graph.n_states, len(log_reward)
    n_nodes = n_states + n_objects
    parent, action = graph.mask.nonzero(as_tuple=True)
    child, move = graph.children[parent, action], edges[parent, action]
    children = torch.full((n_nodes, n_moves), -1)
    children[parent, move] = child
    parents = torch.full((n_nodes, n_moves), -1)
    parents[child, move] = parent
    forward = torch.zeros((n_nodes, n_moves + 1), dtype=torch.bool)
    forward[:, :-1] = children >= 0
    forward[n_states:, -1] = True
    encodings = graph.encodings.new_zeros((n_nodes, graph.encodings.shape[1]))
    encodings[:n_states] = graph.encodings

    class Encodings(preprocessor):  # type: ignore[misc, valid-type]
        """What our networks see; zeros for objects, which can only exit."""

        def preprocess(self, states: Any) -> Tensor:
            return encodings[states.tensor[..., 0]]

    class TableEnv(discrete_env):  # type: ignore[misc, valid-type]
        """A space by tables of its states and of their parents."""

        def __init__(self) -> None:
            self.graph, self.edges = graph, edges
            self.preprocessor = Encodings(output_dim=encodings.shape[1])
            super().__init__(
                n_actions=n_moves + 1,
                s0=torch.zeros(1, dtype=torch.int64),
                sf=torch.full((1,), -1),
                state_shape=(1,),
            )

        def make_states_class(self) -> type[Any]:
            env = self

            class TableStates(discrete_states):  # type: ignore[misc, valid-type]
                state_shape = env.state_shape
                s0 = env.s0
                sf = env.sf
                make_random_states = env.make_random_states
                n_actions = env.n_actions

                def _compute_forward_masks(self) -> Tensor:
                    return forward[self.tensor[..., 0]]

                def _compute_backward_masks(self) -> Tensor:
                    return parents[self.tensor[..., 0]] >= 0

            return TableStates

        def step(self, states: Any, actions: Any) -> Any:
            node = children[states.tensor[..., 0], actions.tensor[..., 0]]
            return self.States(node[..., None])

        def backward_step(self, states: Any, actions: Any) -> Any:
            node = parents[states.tensor[..., 0], actions.tensor[..., 0]]
            return self.States(node[..., None])

        def log_reward(self, states: Any) -> Tensor:
            found = log_reward[states.tensor[..., 0] - n_states]
            return found.to(torch.get_default_dtype())

        def reward(self, states: Any) -> Tensor:
            return self.log_reward(states).exp()

    return TableEnv()


def torchgfn_policy(
    estimator: Any, env: Any, environment: ListedEnvironment | None = None
) -> Callable[[Tensor], np.ndarray]:
    """Return a policy that torchgfn trained, for `PolicyDataset.from_policies`.

    Parameters
    ----------
    estimator : gfn.estimators.DiscretePolicyEstimator
        The forward policy, trained or not.
    env : gfn.env.DiscreteEnv
        The environment of torchgfn in which it acts.
    environment : ListedEnvironment, optional
        What `from_torchgfn` made of ``env``; not needed where `to_torchgfn` made
        ``env``.

    Returns
    -------
    callable
        Maps states of our environment, (..., S), to probabilities of its actions,
        (..., n_actions).

    Raises
    ------
    ValueError
        If ``environment`` is missing.
    """
    graph = getattr(env, "graph", None)
    if graph is None and getattr(environment, "torchgfn_states", None) is None:
        raise ValueError(
            "environment is needed for an env that to_torchgfn did not make: what "
            f"from_torchgfn made of it; got env={type(env).__name__} and {environment}"
        )

    @torch.no_grad()
    def policy(states: Tensor) -> np.ndarray:
        flat = states.reshape(-1, states.shape[-1])
        if graph is not None:
            ids = graph.state_ids(flat)
            own = env.states_from_tensor(ids[:, None])
        else:
            assert environment is not None
            assert environment.torchgfn_states is not None
            own = env.states_from_tensor(environment.torchgfn_states[flat[:, 0]])
        logits = estimator(own).masked_fill(~own.forward_masks, float("-inf"))
        found = torch.softmax(logits.double(), dim=-1)
        if graph is not None:
            edges = env.edges[ids]
            found = found.gather(1, edges.clamp(min=0)).masked_fill(edges < 0, 0.0)
        return found.reshape(*states.shape[:-1], -1).cpu().numpy()

    return policy
