"""The contract of every state space, walks through it, and all its states as tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.storage import array_digest


def require_at_least(name: str, value: object, least: int) -> None:
    """Raise ValueError unless a size is an int and large enough."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an int of at least {least}, got {value!r}")


def require_field(valid: bool, record: object, name: str, expected: str) -> None:
    """Raise ValueError for a field of a record that is not valid."""
    if not valid:
        raise ValueError(f"{name} must be {expected}, got {getattr(record, name)!r}")


def require_environment(value: object) -> None:
    """Raise ValueError unless a state space is an `Environment`."""
    if not isinstance(value, Environment):
        raise ValueError(
            f"environment must be an Environment, such as GridEnvironment(), got "
            f"{value!r}"
        )


def require_choice(
    environment: Environment,
    states: Tensor,  # shape: (..., S)
    mask: Tensor,  # shape: (..., A), bool
) -> None:
    """Raise ValueError where an unfinished state allows no action: a dead end."""
    expected = (*states.shape[:-1], environment.n_actions)
    dtype, shape = getattr(mask, "dtype", None), tuple(getattr(mask, "shape", ()))
    if shape != expected or dtype != torch.bool:
        raise ValueError(
            f"valid_mask of {environment.name} must be a tensor of torch.bool, of "
            f"shape {expected} for states of shape {tuple(states.shape)}, got "
            f"{type(mask).__name__} of {dtype} and shape {shape}"
        )
    closed = ~mask.any(dim=-1)
    if not closed.any():
        return
    stuck = closed & ~environment.is_terminal(states)
    if stuck.any():
        raise ValueError(
            f"{environment.name} has a dead end: no action is allowed in the "
            f"unfinished state {states[stuck][0].tolist()}; let valid_mask allow one "
            "or is_terminal say that it is finished"
        )


class Environment(ABC):
    """A state space as pure functions over integer states.

    A state is a vector of ``state_size`` int64 numbers; functions take any number of
    leading axes, never modify their arguments, and answer on the device of the states.
    Everything an environment holds is set in ``__init__`` and stays, so that it pickles
    and may be shared.

    Three rules make the exact solver and the batched training possible:

    - *the reward is data*: a terminal state is an object with an index, and a reward
      is a table over these indices, with one row a member of the ensemble;
    - *the space is graded*: every path to a non-terminal state has the same number of
      actions (add a step counter where it would not);
    - *terminal states are fixed points*: `step` leaves them as they are, which pads
      the shorter trajectories of a batch.

    `check_environment` tests the whole contract.

    Attributes
    ----------
    name : str
        Identifies the space together with its sizes, for example ``"grid-5x5-5"``.
    action_names : tuple of str
        One name an action.
    step_names : tuple of str
        One name a decision, ``max_steps`` of them.
    n_backward_actions : int
        Number of ways to undo an action.
    n_objects : int or None
        Number of terminal states, which is the width of a reward table; None where
        they cannot be listed. `object_index` and `object_name` then raise ValueError.
    state_size, encoding_size : int
        Length of a state and of its encoding.
    is_enumerable : bool
        Whether `StateGraph` can list the states.
    enumeration_reason : str
        Why not, where ``is_enumerable`` is False; else empty.
    is_tree : bool
        Whether each state has a single parent, from which a single action leads to
        it. The subclass then defines `action_history`.
    """

    name: str
    action_names: tuple[str, ...]
    step_names: tuple[str, ...]
    n_backward_actions: int
    n_objects: int | None
    state_size: int
    encoding_size: int
    is_tree: bool = False
    is_enumerable: bool = True
    enumeration_reason: str = ""

    @property
    def n_actions(self) -> int:
        """Number of forward actions."""
        return len(self.action_names)

    @property
    def max_steps(self) -> int:
        """Number of actions of the longest trajectory."""
        return len(self.step_names)

    def initial_state(
        self, batch_shape: Sequence[int] = (), device: torch.device | str | None = None
    ) -> Tensor:  # shape: (*batch_shape, S)
        """Return the only state without parents, repeated over ``batch_shape``.

        All its numbers are 0, unless a subclass says otherwise.
        """
        shape = (*batch_shape, self.state_size)
        return torch.zeros(shape, dtype=torch.int64, device=device)

    @abstractmethod
    def is_terminal(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...), bool
        """Say which states are finished objects."""

    @abstractmethod
    def valid_mask(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (..., A), bool
        """Return True where an action is allowed; all False on terminal states."""

    @abstractmethod
    def step(
        self,
        states: Tensor,  # shape: (..., S)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., S)
        """Take one allowed action a state; terminal states stay as they are.

        Whether an action is allowed is for the caller to know (`valid_mask`).
        """

    @abstractmethod
    def backward_mask(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (..., A_backward), bool
        """Return True where a backward action leads to a parent.

        Only parents that can be reached from the initial state count. All False on
        the initial state.
        """

    @abstractmethod
    def backward_action(
        self,
        states: Tensor,  # shape: (..., S)
        actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (...)
        """Return the backward action which undoes ``actions`` taken in ``states``."""

    @abstractmethod
    def backward(
        self,
        states: Tensor,  # shape: (..., S)
        backward_actions: Tensor,  # shape: (...)
    ) -> Tensor:  # shape: (..., S)
        """Return the parents which allowed backward actions lead to."""

    @abstractmethod
    def encode(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (..., F), float32
        """Return what a network sees; different for different non-terminal states."""

    @abstractmethod
    def object_index(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...)
        """Return the column of the reward table for terminal states."""

    @abstractmethod
    def object_name(self, index: int) -> str:
        """Return a readable name of an object."""

    def object_names(self) -> tuple[str, ...]:
        """Return the names of all objects in the order of the reward table."""
        n_objects = self.require_listed_objects()
        return tuple(self.object_name(index) for index in range(n_objects))

    def require_listed_objects(self) -> int:
        """Return the number of objects; raise ValueError where they have no numbers."""
        if self.n_objects is None:
            raise ValueError(
                f"the objects of {self.name} are not numbered: "
                f"{self.enumeration_reason}"
            )
        return self.n_objects

    def _require_object(self, index: int) -> None:
        """Raise ValueError where no object has this number."""
        n_objects = self.require_listed_objects()
        if not 0 <= index < n_objects:
            raise ValueError(
                f"index must be in [0, {n_objects}), the objects of {self.name}, "
                f"got {index}"
            )

    def action_history(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (..., T), int64
        """Return the actions that lead to each state, −1 after the last of them.

        Raises
        ------
        ValueError
            If the space is no tree, where several sequences lead to one state.
        """
        if self.is_tree:
            raise ValueError(
                f"{type(self).__name__} sets is_tree = True and does not define "
                "action_history, which returns the actions that lead to each state, "
                "and -1 after the last of them; define it, or leave is_tree False"
            )
        raise ValueError(
            f"{self.name} has no action history: its states can be reached in several "
            "ways (is_tree is False)"
        )

    def step_actions(self, step: int) -> tuple[int, ...]:
        """Return the actions that are the parts of the choice at a step."""
        if not 0 <= step < self.max_steps:
            raise ValueError(f"step must be in [0, {self.max_steps}), got {step}")
        return tuple(range(self.n_actions))

    def log_backward_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (...), float64
        """Return log P_B(parent | state) of the uniform distribution over parents.

        This is −log(number of parents), the same for each of them. With it the
        terminating distribution is ∝ R(x); without it, ∝ R(x) × number of paths to x.
        The initial state, which has no parents, gives 0.
        """
        n_parents = self.backward_mask(states).sum(dim=-1)
        return -n_parents.clamp(min=1).to(torch.float64).log()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


_N_DIGESTED = 64  # walks behind the digest of an environment


@dataclass(frozen=True, eq=False)
class SampledTrajectories:
    """Uniformly random trajectories, padded by their terminal states."""

    states: Tensor  # shape: (B, T + 1, S)
    actions: Tensor  # shape: (B, T), meaningless where `alive` is False
    alive: Tensor  # shape: (B, T), whether ``states[:, t]`` is not terminal

    @property
    def before(self) -> Tensor:  # shape: (n_edges, S)
        """The states in which the actions were taken."""
        return self.states[:, :-1][self.alive]

    @property
    def steps(self) -> Tensor:  # shape: (n_edges,)
        """The numbers of actions that led to the states of `before`."""
        times = torch.arange(self.actions.shape[1])
        return times.expand_as(self.actions)[self.alive]

    @property
    def taken(self) -> Tensor:  # shape: (n_edges,)
        """The actions."""
        return self.actions[self.alive]

    @property
    def after(self) -> Tensor:  # shape: (n_edges, S)
        """The states they led to."""
        return self.states[:, 1:][self.alive]

    @property
    def final(self) -> Tensor:  # shape: (B, S)
        """The states after `max_steps` actions."""
        return self.states[:, -1]


def sample_uniformly(
    environment: Environment, n_trajectories: int, seed: int = 0
) -> SampledTrajectories:
    """Roll out the uniform policy; raise ValueError in a dead end."""
    generator = torch.Generator().manual_seed(seed)
    state = environment.initial_state((n_trajectories,))
    states, actions = [state], []
    for _ in range(environment.max_steps):
        mask = environment.valid_mask(state)
        require_choice(environment, state, mask)
        weights = (mask | ~mask.any(dim=-1, keepdim=True)).to(torch.float64)
        action = torch.multinomial(weights, 1, generator=generator)[:, 0]
        state = environment.step(state, action)
        states.append(state)
        actions.append(action)
    stacked = torch.stack(states, dim=1)
    alive = ~environment.is_terminal(stacked[:, :-1])
    return SampledTrajectories(stacked, torch.stack(actions, dim=1), alive)


def environment_digest(environment: Environment) -> str:
    """Return a checksum of random walks, which differs for spaces of the same name."""
    rng = np.random.default_rng(0)  # the same numbers in every version of torch
    state = environment.initial_state((_N_DIGESTED,))
    seen = []
    for _ in range(environment.max_steps):
        mask = environment.valid_mask(state)
        require_choice(environment, state, mask)
        weight = torch.from_numpy(rng.random(mask.shape))
        action = weight.masked_fill(~mask, -1.0).argmax(dim=-1)
        state = environment.step(state, action)
        tables = (
            mask,
            state,
            environment.backward_mask(state),
            environment.encode(state),
        )
        seen += [array_digest(table.cpu().numpy()) for table in tables]
    if environment.n_objects is not None:
        seen.append(array_digest(environment.object_index(state).cpu().numpy()))
    return array_digest(np.frombuffer("".join(seen).encode(), dtype=np.uint8))


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
