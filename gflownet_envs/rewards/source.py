"""Sources of rewards: log R of every member, from a table or a function."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.block_store import array_digest
from gflownet_envs.environments.base import Environment, sample_uniformly
from gflownet_envs.environments.state_graph import StateGraph

# (members, object numbers of shape (m,)) -> log R of shape (e, m)
RewardFunction = Callable[[slice, Tensor], Tensor | ArrayLike]

_CHECKED_AT_ONCE = 2**22


_VALUES_AT_ONCE = 2**22
_N_PROBED = 4  # finished states about which a source is asked before training


def validated_log_reward(
    log_reward: Tensor | ArrayLike, environment: Environment
) -> Tensor:  # shapes: log_reward (E, n_objects) -> (E, n_objects), float64
    """Check a reward table and return it in float64."""
    return uncopied_log_reward(log_reward, environment).to(torch.float64)


def uncopied_log_reward(
    log_reward: Tensor | ArrayLike, environment: Environment
) -> Tensor:  # shapes: log_reward (E, n_objects) -> (E, n_objects), float32 or float64
    """Check a reward table like `validated_log_reward`; float32 is left as it is."""
    table = _as_tensor(log_reward)
    n_objects = environment.require_listed_objects()
    if table.ndim != 2 or table.shape[1] != n_objects:
        raise ValueError(
            f"log_reward must have shape (n_members, {n_objects}) for "
            f"{environment.name}, got {tuple(table.shape)}"
        )
    if table.shape[0] == 0:
        raise ValueError("log_reward must have at least one member, got 0 rows")
    n_rows = max(1, _CHECKED_AT_ONCE // n_objects)
    for start in range(0, table.shape[0], n_rows):
        _require_finite(table[start : start + n_rows], start)
    return table


def graph_and_reward(
    environment: Environment | StateGraph,
    log_reward: Tensor | ArrayLike,  # shape: (n_objects,)
) -> tuple[StateGraph, Tensor]:  # shape: (n_objects,), float64
    """Return the states of a space and the checked reward of one member."""
    graph = environment
    if not isinstance(graph, StateGraph):
        graph = StateGraph.from_environment(graph)
    rows = torch.as_tensor(np.asarray(log_reward, dtype=np.float64))
    if rows.ndim != 1:
        raise ValueError(
            "log_reward must have shape (n_objects,), that of one member, got "
            f"{tuple(rows.shape)}"
        )
    return graph, validated_log_reward(rows[None], graph.environment)[0]


def reward_rows(
    log_reward: Tensor | RewardFunction, members: slice, objects: Tensor
) -> Tensor:  # shapes: objects (m,), int64 -> (e, m), float64
    """Return log R of some members and objects, from a table or a function."""
    if isinstance(log_reward, Tensor):
        return log_reward[members].index_select(1, objects).to(torch.float64)
    expected = (members.stop - members.start, len(objects))
    rows = _as_tensor(log_reward(members, objects)).to(torch.float64)
    if tuple(rows.shape) != expected:
        raise ValueError(
            f"log_reward must return shape {expected} for members "
            f"{members.start} to {members.stop - 1} and {len(objects)} objects, "
            f"got {tuple(rows.shape)}"
        )
    _require_finite(rows, members.start, objects)
    return rows


def checked_log_reward(
    values: Any, states: Tensor, what: str
) -> Tensor:  # shapes: states (E, B, S) -> (E, B)
    """Return log R of states; raise ValueError where it is no log R of them."""
    if not isinstance(values, Tensor):
        values = _as_tensor(values).to(states.device)
    expected = tuple(states.shape[:-1])
    if tuple(values.shape) != expected:
        raise ValueError(
            f"{what} must give shape {expected} (members, trajectories), "
            f"got {tuple(values.shape)}"
        )
    if not values.is_floating_point():
        values = _as_tensor(values)
    if not torch.isfinite(values).all():
        member, row = (~torch.isfinite(values)).nonzero()[0].tolist()
        raise ValueError(
            f"{what} must be finite, got {values[member, row].item()} for member "
            f"{member}, state {states[member, row].tolist()}"
        )
    return values


def require_same_twice(first: Tensor, second: Tensor, what: str) -> None:
    """Raise ValueError where a reward changes between two calls."""
    if torch.allclose(first, second, rtol=1e-4, atol=1e-6):
        return
    gap = float((first - second).abs().max())
    raise ValueError(
        f"{what} must be the same for the same arguments; two calls differ by up to "
        f"{gap:.3g}: draw what is random once for each member, before training"
    )


def _as_tensor(values: Any) -> Tensor:
    """Return values on the CPU, in float32 if they are, else in float64."""
    if isinstance(values, Tensor):
        if values.is_complex():
            raise ValueError(f"log_reward must be real, got {values.dtype}")
        tensor = values.detach().cpu()
    else:
        array = _real_array(values)
        # torch wants memory that it may write to, in steps that are not negative
        array = np.require(array, requirements=["C", "W"])
        tensor = torch.from_numpy(array)
    keep = tensor.dtype in (torch.float32, torch.float64)
    return tensor if keep else tensor.to(torch.float64)


def _real_array(values: Any) -> np.ndarray:
    """Return an array of float32 or float64, or say that there is none."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError("log_reward must have no mask, got a masked array")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        return array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "log_reward must be an array of real numbers, got "
            f"{type(values).__name__}: {error}"
        ) from error


def _require_finite(
    rows: Tensor, first_member: int, objects: Tensor | None = None
) -> None:  # shapes: rows (e, m), objects (m,)
    bad = ~torch.isfinite(rows)
    if bad.any():
        row, column = bad.nonzero()[0].tolist()
        index = column if objects is None else int(objects[column])
        raise ValueError(
            f"log_reward must be finite, got {rows[row, column].item()} for "
            f"member {first_member + row}, object {index}; a reward of 0 has no "
            "policy: take one that is small beside the others"
        )


def member_inputs(
    name: str, values: Tensor | ArrayLike, n_inputs: int | None = None
) -> Tensor:  # shapes: values (E, d) -> (E, d), float64
    """Return inputs in float64; raise ValueError if they cannot be used."""
    inputs = torch.as_tensor(np.asarray(values, dtype=np.float64))
    has_columns = inputs.ndim == 2 and inputs.shape[1] == (n_inputs or inputs.shape[1])
    if not has_columns or 0 in inputs.shape:
        columns = "n_inputs" if n_inputs is None else n_inputs
        raise ValueError(
            f"{name} must have shape (n_members, {columns}), got {tuple(inputs.shape)}"
        )
    bad = ~torch.isfinite(inputs)
    if bad.any():
        member, column = bad.nonzero()[0].tolist()
        raise ValueError(
            f"{name} must be finite, got {inputs[member, column].item()} for member "
            f"{member}, column {column}"
        )
    return inputs


def one_hot_levels(
    levels: ArrayLike,  # shape: (n, n_components), int
    sizes: ArrayLike,  # shape: (n_components,), int
) -> np.ndarray:  # shape: (n, Σ sizes), float64
    """Return the one-hot vectors of the levels of all components, side by side."""
    rows, sizes = np.asarray(levels), np.asarray(sizes)
    whole = np.issubdtype(rows.dtype, np.integer)
    if rows.ndim != 2 or not whole or sizes.shape != rows.shape[1:]:
        raise ValueError(
            "levels must be ints of shape (n, n_components) with one size a component, "
            f"got shapes {rows.shape} and {sizes.shape}, type {rows.dtype}"
        )
    bad = (rows < 0) | (rows >= sizes)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"levels must be in [0, {sizes[column]}) for component {column}, got "
            f"{rows[row, column]} in row {row}"
        )
    eyes = [np.eye(size)[rows[:, i]] for i, size in enumerate(sizes)]
    return np.concatenate(eyes, axis=1)


@runtime_checkable
class RewardSource(Protocol):
    """Log-rewards of all members; data, never code inside an environment."""

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        ...

    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states, (E, B, S) -> (E, B)."""
        ...

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return the rewards of some members."""
        ...

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        ...

    def digest(self) -> str:
        """Return a checksum of everything the rewards depend on."""
        ...


@runtime_checkable
class ObjectReward(RewardSource, Protocol):
    """A source that also knows objects by their numbers, which is faster."""

    def of_objects(self, objects: Tensor) -> Tensor:
        """Return log R of objects, (E, B) -> (E, B)."""
        ...


class MemberNumbers:
    """Rewards that depend on one tensor of numbers, with a row a member."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.numbers.shape[0]

    def _with(self, numbers: Tensor) -> Self:
        made = copy(self)
        made.numbers = numbers
        return made

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return the rewards of some members."""
        return self._with(self.numbers[rows])

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        return self._with(self.numbers.to(device, dtype))

    def digest(self) -> str:
        """Return the SHA-256 of the numbers."""
        return array_digest(self.numbers.cpu().numpy())


class RewardTable(MemberNumbers):
    """Log R of every object, one row a member.

    Parameters
    ----------
    environment : Environment
    log_reward : array-like of shape (n_members, n_objects)

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> table = RewardTable(env, [[0.0, 1.0, 2.0]])
    >>> table.of_objects(torch.tensor([[2, 0]]))
    tensor([[2., 0.]], dtype=torch.float64)
    """

    def __init__(
        self,
        environment: Environment,
        log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
    ) -> None:
        super().__init__(validated_log_reward(log_reward, environment))
        self.environment = environment

    @property
    def log_reward(self) -> Tensor:
        """The table."""
        return self.numbers

    def of_objects(self, objects: Tensor) -> Tensor:
        """Look up the log-rewards of objects."""
        return self.log_reward.gather(1, objects)

    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        return self.of_objects(self.environment.object_index(states))

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device.

        Raises
        ------
        ValueError
            If a log R is beyond the range of that precision.
        """
        largest = float(self.log_reward.abs().max())
        if largest > torch.finfo(dtype).max:
            raise ValueError(
                f"log_reward has a value of size {largest:.3g}, beyond the range of "
                f"{dtype}; expected smaller ones: log R less its largest value has the "
                "same target"
            )
        return super().to(device, dtype)


class FunctionReward(MemberNumbers):
    """Log R as a function of final states, with parameters that differ by member.

    Parameters
    ----------
    function : callable
        ``function(parameters, states)`` with shapes (E, …) and (E, B, S) returns
        log R, shape (E, B). A function of a module, so that it pickles.
    parameters : array-like of shape (n_members, …)

    Examples
    --------
    >>> def count(weights, states):
    ...     return weights * states.sum(dim=-1)
    >>> reward = FunctionReward(count, [[1.0], [2.0]])
    >>> reward.of_states(torch.ones(2, 3, 4, dtype=torch.int64))
    tensor([[4., 4., 4.],
            [8., 8., 8.]], dtype=torch.float64)
    """

    def __init__(
        self,
        function: Callable[[Tensor, Tensor], Tensor],
        parameters: Tensor | ArrayLike,  # shape: (E, ...)
    ) -> None:
        if not callable(function):
            raise TypeError(
                "function must be callable as function(parameters, states), got "
                f"{function!r}"
            )
        values = torch.as_tensor(np.asarray(parameters, dtype=np.float64))
        if values.ndim < 1 or values.shape[0] < 1:
            raise ValueError(
                "parameters must have one row a member, at least one, got shape "
                f"{tuple(values.shape)}"
            )
        if not torch.isfinite(values).all():
            member = int((~torch.isfinite(values)).nonzero()[0, 0])
            raise ValueError(f"parameters of member {member} must be finite")
        super().__init__(values)
        self.function = function

    @property
    def parameters(self) -> Tensor:
        """What the function depends on, one row a member."""
        return self.numbers

    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        name = getattr(self.function, "__name__", repr(self.function))
        found = self.function(self.parameters, states)
        return checked_log_reward(found, states, f"the reward function {name}")

    def digest(self) -> str:
        """Return a checksum of the parameters and the name of the function.

        A function that changes under the same name is not noticed.

        Raises
        ------
        ValueError
            If the function has no name of its own in a module (a lambda, a partial, a
            function inside a function): others would have the same checksum.
        """
        qualname = getattr(self.function, "__qualname__", "<no name>")
        if "<" in qualname:
            raise ValueError(
                "function must be one of a module, with a name of its own, for a "
                f"store to distinguish it from others, got {self.function!r}"
            )
        name = f"{self.function.__module__}.{qualname}"
        return f"{name}:{super().digest()}"


def as_reward_source(reward: Any, environment: Environment) -> RewardSource:
    """Return a source of rewards, made from a table where it is none yet."""
    if isinstance(reward, RewardSource) and not isinstance(reward, Tensor):
        if reward.n_members < 1:
            raise ValueError(f"reward must have at least one member, got {reward!r}")
        made_for = getattr(reward, "environment", environment)
        if isinstance(made_for, Environment) and made_for.name != environment.name:
            raise ValueError(
                f"reward was made for {made_for.name}, not for {environment.name}"
            )
        if not isinstance(reward, RewardTable):
            _probe(reward, environment)
        return reward
    if callable(reward):
        raise TypeError(
            f"reward must be a table or a RewardSource, got the function {reward!r}: "
            "FunctionReward makes a source of a function of final states"
        )
    return RewardTable(environment, reward)


def _probe(reward: RewardSource, environment: Environment) -> None:
    """Ask a source twice about a few finished states, before any work."""
    final = sample_uniformly(environment, _N_PROBED).final
    states = final.expand(reward.n_members, *final.shape)
    what = f"log R of {type(reward).__name__}"
    first, second = (
        checked_log_reward(reward.of_states(states), states, what).clone()
        for _ in range(2)
    )
    require_same_twice(first, second, what)


class MeanReward(MemberNumbers):
    r"""Mean of log R over the members of another source of rewards.

    .. math:: \log \bar R(x) = \frac1E \sum_e \log R_e(x)

    What a pilot or a control is trained on where objects cannot be listed; where they
    can, `mean_reward` makes a table. Every evaluation takes all members of the source.
    The numbers of its members, which are alike, are zeros.
    """

    def __init__(self, source: RewardSource, n_members: int = 1) -> None:
        super().__init__(torch.zeros(n_members))
        self.source = source
        self.environment = getattr(source, "environment", None)

    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        flat = states.flatten(0, 1)
        for_each = flat.expand(self.source.n_members, *flat.shape)
        return self.source.of_states(for_each).mean(dim=0).view(states.shape[:2])

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        made = super().to(device, dtype)
        made.source = self.source.to(device, dtype)
        return made

    def digest(self) -> str:
        """Return a checksum of the source, and the number of copies."""
        return f"mean:{self.n_members}:{self.source.digest()}"


def log_reward_table(
    reward: RewardSource, graph: StateGraph | Environment
) -> Tensor:  # shape: (E, n_objects)
    """Return log R of every object, from a function of final states.

    An environment is listed first.

    Examples
    --------
    >>> from gflownet_envs.environments import DagEnvironment
    >>> from gflownet_envs.rewards.graph_scores import LocalScoreReward
    >>> env = DagEnvironment(2)
    >>> reward = LocalScoreReward(env, [[[1.0, 0.0, 3.0, 0.0], [2.0, 4.0, 0.0, 0.0]]])
    >>> table = log_reward_table(reward, env)
    >>> dict(zip(env.object_names(), table[0].tolist()))
    {'no edges': 3.0, '0 → 1': 5.0, '1 → 0': 5.0}
    """
    if isinstance(reward, RewardTable):
        return reward.log_reward
    if not isinstance(graph, StateGraph):
        graph = StateGraph.from_environment(graph)
    states = graph.final_states()
    size = max(1, _VALUES_AT_ONCE // (reward.n_members * states.shape[1]))
    parts = []
    for part in states.split(size):
        of_members = part.expand(reward.n_members, *part.shape)
        found = reward.of_states(of_members)
        parts.append(checked_log_reward(found, of_members, "the reward"))
    return torch.cat(parts, dim=1)


def reward_of_objects(
    reward: RewardSource, graph: StateGraph
) -> Tensor | RewardFunction:
    """Return log R as a table, or as a function of members and objects."""
    return reward if callable(reward) else log_reward_table(reward, graph)


def mean_log_reward(
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
    environment: Environment,
) -> Tensor:  # shape: (1, n_objects), float64
    """Return the mean reward of an ensemble: the mean of log R over members.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> mean_log_reward([[0.0, 0.0, 2.0], [0.0, 2.0, 2.0]], env)
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    return validated_log_reward(log_reward, environment).mean(dim=0, keepdim=True)


def mean_reward(reward: RewardSource, environment: Environment) -> RewardSource:
    """Return one reward, the mean of log R over the members.

    A table where the objects can be listed, a ``MeanReward`` elsewhere.

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
    if not callable(reward):
        table = log_reward_table(reward, environment)
        return RewardTable(environment, mean_log_reward(table, environment))
    objects = torch.arange(environment.require_listed_objects())
    total = torch.zeros(1, len(objects), dtype=torch.float64)
    for member in range(reward.n_members):
        total += reward_rows(reward, slice(member, member + 1), objects)
    return RewardTable(environment, total / reward.n_members)
