"""The contract of every state space, and walks of its uniform policy."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
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
    environment: "Environment",
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
