"""Every state of an enumerable environment, as integer tables; objects by number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    require_choice,
    require_environment,
)

_EDGES_AT_ONCE = 2**20  # bounds the memory that listing needs beside the tables


class TooManyStatesError(ValueError):
    """A state space is larger than the limit given to `StateGraph`."""


@dataclass(frozen=True, eq=False, repr=False)
class StateGraph:
    """The non-terminal states of an environment and the edges between them.

    States are numbered layer by layer (by the number of actions that lead to them),
    from 0, the initial state. An edge leads to another state or to an object: child
    numbers below ``n_states`` are states, ``n_states + x`` is the object x, and −1
    stands where the action is not allowed.

    Attributes
    ----------
    environment : Environment
    states : Tensor of shape (N, S), int64
    steps : Tensor of shape (N,), int64
        The layer of each state.
    layer_offsets : tuple of int
        Layer t holds the states ``layer_offsets[t]`` to ``layer_offsets[t + 1] − 1``.
    encodings : Tensor of shape (N, F), float32
    mask : Tensor of shape (N, A), bool
    children : Tensor of shape (N, A), int64
    log_pb : Tensor of shape (N, A), float64
        log P_B(state | child) of each edge; 0 where there is no edge.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> graph = StateGraph.from_environment(GridEnvironment(size=2, max_moves=1))
    >>> graph
    StateGraph(grid-2x2-1, n_states=3, n_layers=2)
    >>> graph.states.tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]]
    >>> graph.children.tolist()  # 3, 4, 5 are the cells (0, 0), (0, 1), (1, 0)
    [[-1, 2, -1, 1, 3], [-1, -1, -1, -1, 4], [-1, -1, -1, -1, 5]]
    """

    environment: Environment
    states: Tensor
    steps: Tensor
    layer_offsets: tuple[int, ...]
    encodings: Tensor
    mask: Tensor
    children: Tensor
    log_pb: Tensor

    def __repr__(self) -> str:
        name = self.environment.name
        return f"StateGraph({name}, n_states={self.n_states}, n_layers={self.n_layers})"

    @classmethod
    def from_environment(
        cls, environment: Environment, max_states: int = 2_000_000
    ) -> StateGraph:
        """List the states of an environment, breadth first.

        Raises
        ------
        ValueError
            If the environment is not enumerable or not graded, or has a dead end: an
            unfinished state without an action; if an object is not reached, or the
            probabilities of P_B into a state or an object do not add up to one.
        TooManyStatesError
            If it has more than ``max_states`` non-terminal states.
        """
        require_enumerable(environment)
        layers = [environment.initial_state((1,))]
        if environment.is_terminal(layers[0]).any():
            raise ValueError(
                f"the initial state of {environment.name} is finished; expected one "
                "from which an action leads on"
            )
        tables: list[tuple[Tensor, Tensor, Tensor]] = []
        offset = 0
        while layers[-1].shape[0] > 0:
            n_listed = offset + layers[-1].shape[0]
            if n_listed > max_states:
                raise TooManyStatesError(
                    f"{environment.name} has more than max_states={max_states} states"
                )
            following, table = _expand(environment, layers[-1], first_child=n_listed)
            tables.append(table)
            layers.append(following)
            offset = n_listed
            if len(layers) > environment.max_steps + 1:
                raise ValueError(
                    f"{environment.name} has trajectories of more than "
                    f"max_steps={environment.max_steps} actions"
                )
        layers.pop()
        states = torch.cat(layers)
        if not StateNumbers(states).are_different:
            raise ValueError(
                f"{environment.name} is not graded: a state appears after different "
                "numbers of actions; add a step counter to the state"
            )
        mask, children, log_pb = map(torch.cat, zip(*tables, strict=True))
        # objects have their final numbers
        children = torch.where(children <= -2, len(states) - 2 - children, children)
        sizes = torch.tensor([len(layer) for layer in layers])
        _check_backward(environment, states, mask, children, log_pb)
        return cls(
            environment=environment,
            states=states,
            steps=torch.repeat_interleave(torch.arange(len(sizes)), sizes),
            layer_offsets=(0, *sizes.cumsum(0).tolist()),
            encodings=environment.encode(states),
            mask=mask,
            children=children,
            log_pb=log_pb,
        )

    @classmethod
    def if_listed(
        cls, environment: Environment | StateGraph, max_states: int
    ) -> StateGraph | None:
        """Return the graph; None where states cannot be listed or are too many."""
        if isinstance(environment, StateGraph):
            return environment
        if not environment.is_enumerable:
            return None
        try:
            return cls.from_environment(environment, max_states)
        except TooManyStatesError:
            return None

    @property
    def n_states(self) -> int:
        """Number of non-terminal states."""
        return self.states.shape[0]

    @property
    def n_layers(self) -> int:
        """Number of layers, which is the length of the longest trajectory."""
        return len(self.layer_offsets) - 1

    @cached_property
    def _numbers(self) -> StateNumbers:
        return StateNumbers(self.states)

    def layer(self, step: int) -> slice:
        """Return the numbers of the states in a layer."""
        return slice(self.layer_offsets[step], self.layer_offsets[step + 1])

    def final_states(self) -> Tensor:  # shape: (n_objects, S)
        """Return a terminal state of every object, in the order of the reward table.

        Raises
        ------
        ValueError
            If objects are not listed, or no action leads to one of them.

        Examples
        --------
        >>> from gflownet_envs.environments import GridEnvironment
        >>> graph = StateGraph.from_environment(GridEnvironment(size=2, max_moves=1))
        >>> graph.final_states()[:, :2].tolist()
        [[0, 0], [0, 1], [1, 0]]
        """
        parents, actions = (self.children >= self.n_states).nonzero(as_tuple=True)
        objects = self.children[parents, actions] - self.n_states
        n_objects = self.environment.require_listed_objects()
        edge = torch.full((n_objects,), -1)
        edge[objects] = torch.arange(len(objects))  # any of the edges that lead there
        if (edge < 0).any():
            raise ValueError(
                f"object {int((edge < 0).nonzero()[0])} of {self.environment.name} is "
                "not reached by any action"
            )
        return self.environment.step(self.states[parents[edge]], actions[edge])

    def open_columns(self, step: int) -> tuple[slice, bool]:
        """Return the range of actions that a layer uses, and if all of it is open."""
        mask = self.mask[self.layer(step)]
        used = mask.any(dim=0).nonzero()[:, 0]
        columns = slice(int(used[0]), int(used[-1]) + 1)
        return columns, bool(mask[:, columns].all())

    def state_ids(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...)
        """Return the numbers of non-terminal states.

        Raises
        ------
        ValueError
            If a state is not in the graph (terminal or unreachable).
        """
        ids, is_missing = self._numbers.find(states)
        if is_missing.any():
            raise ValueError(
                f"{states.cpu()[is_missing][0].tolist()} is not a reachable "
                f"non-terminal state of {self.environment.name}"
            )
        return ids.to(states.device)


def require_enumerable(environment: Environment) -> None:
    """Raise ValueError, with the reason, where states cannot be listed."""
    require_environment(environment)
    if not environment.is_enumerable:
        raise ValueError(
            f"{environment.name} is not enumerable: {environment.enumeration_reason}"
        )


def _expand(
    environment: Environment, states: Tensor, first_child: int
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:  # shapes: states (n, S)
    """Return the next layer and (mask, children, log P_B) of this one.

    Children are numbered from `first_child`; object x is written as −2 − x until the
    number of states is known.
    """
    n_rows = max(1, _EDGES_AT_ONCE // environment.n_actions)
    parts = [_edges(environment, chunk) for chunk in states.split(n_rows)]
    masks, going_on, reached, numbers, log_pbs = zip(*parts, strict=True)
    following, place = torch.unique(torch.cat(reached), dim=0, return_inverse=True)
    children = torch.cat(numbers)
    children[torch.cat(going_on)] = first_child + place
    return following, (torch.cat(masks), children, torch.cat(log_pbs))


def _edges(
    environment: Environment, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # shapes: states (n, S)
    """Return the edges that leave some states.

    They are `valid_mask`, which edges lead to unfinished states, these states, the
    numbers of the objects (−2 − x) that the other edges lead to, and log P_B.
    """
    mask = environment.valid_mask(states)
    require_choice(environment, states, mask)
    parents, actions = mask.nonzero(as_tuple=True)
    reached = environment.step(states[parents], actions)
    terminal = environment.is_terminal(reached)
    going_on = torch.zeros_like(mask)
    going_on[parents, actions] = ~terminal
    children = torch.full(mask.shape, -1)
    finished, n_objects = reached[terminal], environment.n_objects
    assert n_objects is not None  # the space is listed
    numbers = environment.object_index(finished)
    wrong = (numbers < 0) | (numbers >= n_objects)
    if wrong.any():
        raise ValueError(
            f"object_index of {environment.name} is {int(numbers[wrong][0])} for the "
            f"state {finished[wrong][0].tolist()}; expected a number from 0 to "
            f"{n_objects - 1}, below n_objects. "
            "gflownet_envs.testing.check_environment finds such rules."
        )
    children[parents[terminal], actions[terminal]] = -2 - numbers
    log_pb = torch.zeros(mask.shape, dtype=torch.float64)
    log_pb[parents, actions] = environment.log_backward_policy(reached)
    return mask, going_on, reached[~terminal], children, log_pb


def _check_backward(
    environment: Environment,
    states: Tensor,  # shape: (N, S)
    mask: Tensor,  # shape: (N, A)
    children: Tensor,  # shape: (N, A)
    log_pb: Tensor,  # shape: (N, A)
) -> None:
    """Refuse an environment whose P_B is no distribution over parents."""
    n_states, n_objects = len(states), environment.n_objects
    assert n_objects is not None  # the space is listed
    sums = torch.zeros(n_states + n_objects, dtype=torch.float64)
    sums.index_add_(0, children[mask], log_pb[mask].exp())
    sums[0] = 1.0  # the initial state has no parent
    wrong = ((sums - 1.0).abs() > 1e-6).nonzero()[:, 0].tolist()
    if not wrong:
        return
    child, name = wrong[0], environment.name
    what = f"object {child - n_states}"
    if child < n_states:
        what = f"the state {states[child].tolist()}"
    if sums[child] == 0:
        raise ValueError(
            f"{what} of {name} is not reached by any action; expected n_objects to "
            "count those that are"
        )
    raise ValueError(
        f"the probabilities of log_backward_policy of {name} add up to "
        f"{float(sums[child]):.3g} over the edges into {what}; expected 1: "
        "backward_mask allows every action that leads there, and each object has one "
        "final state. "
        "gflownet_envs.testing.check_environment finds such rules."
    )


class ObjectTable:
    """The terminal states of a space in the order of its reward table.

    Does what `Environment.object_index` has to do where there is no formula for it.

    Parameters
    ----------
    states : Tensor of shape (n_objects, S), int64
        Every terminal state once.

    Raises
    ------
    ValueError
        If the states are no table of int64 numbers, or one occurs twice.

    Examples
    --------
    >>> import torch
    >>> from gflownet_envs import ObjectTable
    >>> table = ObjectTable(torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 1]]))
    >>> len(table), table.index(torch.tensor([[0, 1, 1], [1, 1, 0]])).tolist()
    (3, [2, 0])
    """

    def __init__(self, states: Tensor) -> None:
        if states.ndim != 2 or states.dtype != torch.int64 or not len(states):
            raise ValueError(
                "states must be int64 of shape (n_objects, S), got "
                f"{states.dtype} of shape {tuple(states.shape)}"
            )
        distinct, counts = torch.unique(states, dim=0, return_counts=True)
        if (counts > 1).any():
            twice = distinct[counts > 1][0].tolist()
            raise ValueError(f"states must be different, got {twice} more than once")
        self.states = states
        self._numbers = StateNumbers(states)

    def __len__(self) -> int:
        """Number of objects."""
        return len(self.states)

    def index(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...)
        """Return the numbers of terminal states.

        Raises
        ------
        ValueError
            If a state is none of the table.
        """
        found, is_missing = self._numbers.find(states)
        if is_missing.any():
            raise ValueError(
                f"{states.cpu()[is_missing][0].tolist()} is no terminal state of the "
                f"{len(self)} in the table"
            )
        return found.to(states.device)


def listed_codes(
    environment: Environment, code: Callable[[Tensor], Tensor], max_states: int
) -> Tensor | None:  # shape: (n_objects,)
    """List the codes of all objects, sorted; None where there are too many states.

    Unfinished states of one number of actions have different codes too.
    """
    unfinished, codes, n_listed = environment.initial_state((1,)), [], 0
    while len(unfinished):
        parents, actions = environment.valid_mask(unfinished).nonzero(as_tuple=True)
        n_listed += len(parents)
        if n_listed > max_states:
            return None
        reached = environment.step(unfinished[parents], actions)
        finished = environment.is_terminal(reached)
        codes.append(code(reached[finished]))
        following = reached[~finished]
        _, first = np.unique(code(following).numpy(), return_index=True)
        unfinished = following[torch.from_numpy(first)]
    return torch.cat(codes).sort().values


class StateNumbers:
    """Finds different states among others, by a linear hash modulo 2^64."""

    def __init__(self, states: Tensor) -> None:  # shape: (N, S)
        self._states = states
        rng = np.random.default_rng(20_261_120)
        factors = rng.integers(2**64, size=states.shape[1], dtype=np.uint64)
        self._factors = factors | 1
        hashes = self._hash(states)
        self._order = np.argsort(hashes)
        self._sorted = hashes[self._order]

    @property
    def are_different(self) -> bool:
        """Whether no state is there twice."""
        return bool((self._sorted[1:] != self._sorted[:-1]).all())

    def find(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> tuple[Tensor, Tensor]:  # shapes: (...), int64; (...), bool
        """Return the number of each state, and which are not there."""
        states = states.cpu()
        place = np.searchsorted(self._sorted, self._hash(states))
        numbers = torch.as_tensor(self._order[place.clip(max=len(self._order) - 1)])
        return numbers, (self._states[numbers] != states).any(dim=-1)

    def _hash(self, states: Tensor) -> np.ndarray:  # shapes: (..., S) -> (...)
        with np.errstate(over="ignore"):
            return (states.numpy().astype(np.uint64) * self._factors).sum(axis=-1)
