"""Rewards of an ensemble: log R of every object, one row a member."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment

# (members, object numbers of shape (m,)) -> log R of shape (e, m)
RewardFunction = Callable[[slice, Tensor], Tensor | ArrayLike]

_CHECKED_AT_ONCE = 2**22


def validated_log_reward(
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
    environment: Environment,
) -> Tensor:  # shape: (E, n_objects), float64
    """Check a reward table and return it in float64.

    Raises
    ------
    ValueError
        If the objects of the environment are not numbered, the shape is not
        ``(n_members, environment.n_objects)`` with at least one member, or an entry is
        not finite.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> validated_log_reward([[0, 1, 2]], GridEnvironment(size=2, max_moves=1))
    tensor([[0., 1., 2.]], dtype=torch.float64)
    """
    return uncopied_log_reward(log_reward, environment).to(torch.float64)


def uncopied_log_reward(
    log_reward: Tensor | ArrayLike,  # shape: (E, n_objects)
    environment: Environment,
) -> Tensor:  # shape: (E, n_objects), float32 or float64
    """Check a reward table as `validated_log_reward` does, and leave float32 as it is.

    A large table is then neither copied nor widened, and what is returned may share
    the memory of what is given.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> table = torch.zeros(1, 3)
    >>> environment = GridEnvironment(size=2, max_moves=1)
    >>> uncopied_log_reward(table, environment).data_ptr() == table.data_ptr()
    True
    """
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


def reward_rows(
    log_reward: Tensor | RewardFunction,
    members: slice,
    objects: Tensor,  # shape: (m,), int64
) -> Tensor:  # shape: (e, m), float64
    """Return log R of some members and objects, from a table or a function.

    A table was checked before; what a function returns is checked here.

    Examples
    --------
    >>> objects = torch.tensor([2, 0])
    >>> reward_rows(torch.tensor([[0.0, 1.0, 2.0]]), slice(0, 1), objects)
    tensor([[2., 0.]], dtype=torch.float64)
    >>> reward_rows(lambda members, x: [[2.0 * i for i in x]], slice(0, 1), objects)
    tensor([[4., 0.]], dtype=torch.float64)
    """
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


def _as_tensor(values: Tensor | ArrayLike) -> Tensor:
    """Return values on the CPU, in float32 if they are, else in float64."""
    if isinstance(values, Tensor):
        tensor = values.detach().cpu()
    else:
        array = np.asarray(values)
        if array.dtype != np.float32:
            array = array.astype(np.float64, copy=False)
        # torch wants memory that it may write to, in steps that are not negative
        array = np.require(array, requirements=["C", "W"])
        tensor = torch.from_numpy(array)
    keep = tensor.dtype in (torch.float32, torch.float64)
    return tensor if keep else tensor.to(torch.float64)


def _require_finite(
    rows: Tensor,  # shape: (e, m)
    first_member: int,
    objects: Tensor | None = None,  # shape: (m,)
) -> None:
    bad = ~torch.isfinite(rows)
    if bad.any():
        row, column = bad.nonzero()[0].tolist()
        index = column if objects is None else int(objects[column])
        raise ValueError(
            f"log_reward must be finite, got {rows[row, column].item()} for "
            f"member {first_member + row}, object {index}"
        )
