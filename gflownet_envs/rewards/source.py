"""Where log-rewards come from: a table over objects, or a function of final states."""

from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.blocks import array_digest
from gflownet_envs.environments.base import Environment
from gflownet_envs.reward_table import validated_log_reward


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


class RewardTable:
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
        self.environment = environment
        self.log_reward = validated_log_reward(log_reward, environment)

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.log_reward.shape[0]

    def of_objects(
        self,
        objects: Tensor,  # shape: (E, B)
    ) -> Tensor:  # shape: (E, B)
        """Look up the log-rewards of objects."""
        return self.log_reward.gather(1, objects)

    def of_states(
        self,
        states: Tensor,  # shape: (E, B, S)
    ) -> Tensor:  # shape: (E, B)
        """Return log R of terminal states."""
        return self.of_objects(self.environment.object_index(states))

    def _with(self, log_reward: Tensor) -> "RewardTable":
        table = object.__new__(RewardTable)
        table.environment = self.environment
        table.log_reward = log_reward
        return table

    def select(self, rows: slice | np.ndarray) -> "RewardTable":
        """Return the rewards of some members."""
        return self._with(self.log_reward[rows])

    def to(self, device: torch.device | str, dtype: torch.dtype) -> "RewardTable":
        """Return a copy with another precision, on another device."""
        return self._with(self.log_reward.to(device, dtype))

    def digest(self) -> str:
        """Return the SHA-256 of the table."""
        return array_digest(self.log_reward.cpu().numpy())


class FunctionReward:
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
        values = torch.as_tensor(np.asarray(parameters, dtype=np.float64))
        if values.ndim < 1 or values.shape[0] < 1:
            raise ValueError(
                "parameters must have one row a member, at least one, got shape "
                f"{tuple(values.shape)}"
            )
        if not torch.isfinite(values).all():
            member = int((~torch.isfinite(values)).nonzero()[0, 0])
            raise ValueError(f"parameters of member {member} must be finite")
        self.function = function
        self.parameters = values

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.parameters.shape[0]

    def of_states(
        self,
        states: Tensor,  # shape: (E, B, S)
    ) -> Tensor:  # shape: (E, B)
        """Return log R of terminal states."""
        return self.function(self.parameters, states)

    def select(self, rows: slice | np.ndarray) -> "FunctionReward":
        """Return the rewards of some members."""
        return FunctionReward(self.function, self.parameters[rows])

    def to(self, device: torch.device | str, dtype: torch.dtype) -> "FunctionReward":
        """Return a copy with another precision, on another device."""
        moved = object.__new__(FunctionReward)
        moved.function = self.function
        moved.parameters = self.parameters.to(device, dtype)
        return moved

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
                f"store to tell it from others, got {self.function!r}"
            )
        name = f"{self.function.__module__}.{qualname}"
        return f"{name}:{array_digest(self.parameters.cpu().numpy())}"


def as_reward_source(reward: Any, environment: Environment) -> RewardSource:
    """Return a source of rewards, made from a table where it is none yet.

    Raises
    ------
    ValueError
        If a table has the wrong shape or an entry that is not finite, or a source was
        made for another environment.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> as_reward_source([[0.0, 1.0, 2.0]], env).n_members
    1
    """
    if isinstance(reward, RewardSource) and not isinstance(reward, Tensor):
        if reward.n_members < 1:
            raise ValueError(f"reward must have at least one member, got {reward!r}")
        made_for = getattr(reward, "environment", environment)
        if isinstance(made_for, Environment) and made_for.name != environment.name:
            raise ValueError(
                f"reward was made for {made_for.name}, not for {environment.name}"
            )
        return reward
    return RewardTable(environment, reward)
