"""Rewards of all members: tables, functions and formulas of what is finished."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from itertools import product
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    StateGraph,
    require_at_least,
    sample_uniformly,
)
from gflownet_envs.environments.sequences import SymbolicExpressionEnvironment
from gflownet_envs.environments.walks import (
    GridEnvironment,
    HypergridEnvironment,
    PlaneWalkEnvironment,
)
from gflownet_envs.storage import array_digest

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
        if isinstance(values, np.ma.MaskedArray):
            raise ValueError("log_reward must have no mask, got a masked array")
        try:
            array = np.asarray(values)
            if array.dtype.kind not in "biuf":
                raise TypeError(f"dtype {array.dtype}")
            array = array if array.dtype == np.float32 else array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "log_reward must be an array of real numbers, got "
                f"{type(values).__name__}: {error}"
            ) from error
        # torch wants memory that it may write to, in steps that are not negative
        array = np.require(array, requirements=["C", "W"])
        tensor = torch.from_numpy(array)
    keep = tensor.dtype in (torch.float32, torch.float64)
    return tensor if keep else tensor.to(torch.float64)


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


SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SPLIT = 2  # rows and columns 0–1 against the others


#: (x, y) of the bumps: above, to the left below, to the right below the start.
BUMP_CENTRES = ((0.0, 0.75), (-0.5, -0.25), (0.5, -0.25))
BUMP_WIDTH = 0.35


def quadrant_shift_rewards(
    environment: GridEnvironment,
) -> tuple[Tensor, Tensor]:  # shapes: (625, n_objects), (625, 4), float64
    r"""Return all combinations of five shifts in four quadrants.

    .. math:: \log R(\text{cell}) = b(\text{cell}) + \delta_{q(\text{cell})}

    with the quadrants q = 0 (rows 0–1, columns 0–1), 1 (rows 0–1, columns 2 and more),
    2 (rows 2 and more, columns 0–1), 3 (both 2 and more), and δ in
    {−1, −½, 0, ½, 1}⁴, the last quadrant running fastest. The mean reward is b.

    The base is

    .. math:: b = 0.5\,(r + c) - 0.4\,|r - c| + 0.1\,c.

    It grows away from the start, so that the greedy walk under the mean reward makes
    all five moves (right three times, down twice, to the cell (2, 3)); it favours the
    diagonal, which keeps both directions open (the likeliest action has probability
    0.41 to 0.67 along that walk); and the small last term breaks the symmetry of rows
    and columns. Quadrant 0 decides the first choices, 1 and 3 the last ones.

    Parameters
    ----------
    environment : GridEnvironment
        With a board of at least 3 × 3 and at least 4 moves, so that every quadrant
        can be reached.

    Returns
    -------
    log_reward : Tensor of shape (625, n_objects), float64
    shifts : Tensor of shape (625, 4), float64

    Examples
    --------
    >>> log_reward, shifts = quadrant_shift_rewards(GridEnvironment())
    >>> log_reward.shape, shifts[0].tolist()
    (torch.Size([625, 19]), [-1.0, -1.0, -1.0, -1.0])
    """
    cells = torch.tensor(environment.cells)
    quadrant = quadrant_of_cell(cells)
    if len(quadrant.unique()) < 4:
        raise ValueError(
            "the environment must reach all four quadrants (size at least 3, "
            f"max_moves at least 4), got {environment.name}"
        )
    shifts = torch.tensor(list(product(SHIFTS, repeat=4)), dtype=torch.float64)
    row, column = cells.unbind(dim=-1)
    mean = 0.5 * (row + column) - 0.4 * (row - column).abs() + 0.1 * column
    return mean.to(torch.float64) + shifts[:, quadrant], shifts


def quadrant_of_cell(cells: Tensor) -> Tensor:  # shapes: cells (..., 2) -> (...)
    """Return 2 · [row ≥ 2] + [column ≥ 2]."""
    far = (cells >= _SPLIT).long()
    return 2 * far[..., 0] + far[..., 1]


def hypergrid_mode_rewards(
    environment: HypergridEnvironment,
    r0: float | Tensor | ArrayLike = 0.1,
    r1: float | Tensor | ArrayLike = 0.5,
    r2: float | Tensor | ArrayLike = 2.0,
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R of Bengio et al. (NeurIPS 2021, section 4.1), one row a member.

    .. math::
        R(x) = R_0 + R_1 \prod_i [\,0.25 < |u_i|\,]
                   + R_2 \prod_i [\,0.3 < |u_i| < 0.4\,],
        \qquad u_i = \frac{x_i}{H - 1} - \frac12,

    with H = ``side``. The paper prints x_i / H; H − 1 makes the reward symmetric. The
    last term holds :math:`2^d` modes; the smaller R_0 is, the poorer the way from one
    to the next. Comparisons are of whole numbers, without rounding.

    Parameters
    ----------
    environment : HypergridEnvironment
        One of whose cells lies in a mode: ``side`` is 7 to 10, or 12 and more.
    r0, r1, r2 : float or array of shape (E,), default=0.1, 0.5, 2.0
        One number for all members or one a member; r0 > 0, r1 and r2 ≥ 0.

    Examples
    --------
    >>> log_reward = hypergrid_mode_rewards(HypergridEnvironment(), r0=[0.1, 0.001])
    >>> log_reward.shape
    torch.Size([2, 64])
    >>> [round(r, 6) for r in log_reward[1].exp().unique().tolist()]
    [0.001, 0.501, 2.501]
    """
    levels = [_as_column(*pair) for pair in (("r0", r0), ("r1", r1), ("r2", r2))]
    sizes = {len(level) for level in levels if len(level) != 1}
    if len(sizes) > 1:
        raise ValueError(
            f"r0, r1 and r2 must have one number a member, got {sorted(sizes)} numbers"
        )
    distance = _distance_from_centre(environment)
    half = environment.side - 1
    is_outer = (2 * distance > half).all(dim=-1)
    is_mode = mode_of_object(environment) >= 0
    return (levels[0] + levels[1] * is_outer + levels[2] * is_mode).log()


def mode_of_object(
    environment: HypergridEnvironment,
) -> Tensor:  # shape: (n_objects,), int64
    """Return the number of the mode that each object belongs to, −1 off the modes.

    Bit i of the number, counted from the last dimension, says whether coordinate i is
    in the upper half.

    Examples
    --------
    >>> mode_of_object(HypergridEnvironment(n_dims=1, side=8)).tolist()
    [-1, 0, -1, -1, -1, -1, 1, -1]
    """
    half = environment.side - 1
    distance = _distance_from_centre(environment)
    is_mode = ((5 * distance > 3 * half) & (5 * distance < 4 * half)).all(dim=-1)
    if not is_mode.any():
        raise ValueError(
            "side must leave a cell with 0.3 < |x / (side - 1) - 0.5| < 0.4, "
            f"as 8 does, got {environment.side}"
        )
    is_upper = (2 * environment.object_cells() > half).long()
    weights = 2 ** torch.arange(environment.n_dims - 1, -1, -1)
    return torch.where(is_mode, (is_upper * weights).sum(dim=-1), -1)


def _distance_from_centre(environment: HypergridEnvironment) -> Tensor:
    # shape: -> (n_objects, n_dims)
    """Return ``|2 x − (side − 1)|``."""
    return (2 * environment.object_cells() - (environment.side - 1)).abs()


def _as_column(name: str, value: float | Tensor | ArrayLike) -> Tensor:
    # shape: -> (E or 1, 1), float64
    levels = torch.as_tensor(value, dtype=torch.float64)
    allowed = levels > 0 if name == "r0" else levels >= 0
    if levels.ndim > 1 or not (allowed & levels.isfinite()).all():
        bound = "> 0" if name == "r0" else "≥ 0"
        raise ValueError(
            f"{name} must be a finite number {bound}, or one a member, got {value!r}"
        )
    return levels.reshape(-1, 1)


def gaussian_bump_rewards(
    environment: PlaneWalkEnvironment,
    amplitudes: Tensor | ArrayLike,  # shape: (E, 3)
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R, the height of a random field, one row a member.

    .. math::
        \log R(x) = \sum_{k=1}^{3} a_k \, b_k(x), \qquad
        b_k(x) = \exp\left(-\frac{|x - c_k|^2}{2 w^2}\right)

    with amplitudes :math:`a_k \sim N(0, 1)` as the paper has them (section 2.4): they
    are the inputs themselves. It leaves the rest open. Chosen here: the field is log R
    (amplitudes may be negative, rewards not); the centres ``BUMP_CENTRES`` are each
    three moves of four from the start, in different directions; the width
    ``BUMP_WIDTH`` of 1.4 strides lets neighbouring bumps overlap a little.

    The mean of log R is 0 everywhere, and distinguishes no places; the mean reward does
    (`log_mean_bump_reward`).

    Parameters
    ----------
    environment : PlaneWalkEnvironment
    amplitudes : array-like of shape (n_members, 3)

    Examples
    --------
    >>> env = PlaneWalkEnvironment()
    >>> log_reward = gaussian_bump_rewards(env, [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> best = int(log_reward[0].argmax())
    >>> env.object_name(best), round(log_reward[0, best].item(), 6)
    ('(0, 0.75)', 1.0)
    """
    heights = member_inputs("amplitudes", amplitudes, len(BUMP_CENTRES))
    return heights @ bump_profiles(environment.positions()).T


def log_mean_bump_reward(
    environment: PlaneWalkEnvironment,
) -> Tensor:  # shape: (1, n_objects), float64
    r"""Return :math:`\log E[R(x)] = \tfrac12 \sum_k b_k(x)^2` over N(0, 1) amplitudes.

    The reward of a pilot, whose likeliest walk is a reference trajectory.

    Examples
    --------
    >>> from gflownet_envs import greedy_trajectory, solve_exact
    >>> env = PlaneWalkEnvironment()
    >>> pilot = solve_exact(env, log_mean_bump_reward(env))
    >>> walk = greedy_trajectory(env, pilot.log_policy)
    >>> [env.action_names[a] for a in walk.actions]
    ['up', 'up', 'up', 'stop']
    """
    profiles = bump_profiles(environment.positions())
    return 0.5 * profiles.square().sum(dim=-1)[None]


def bump_profiles(positions: Tensor) -> Tensor:
    # shapes: positions (..., 2) -> (..., 3), float64
    """Return the three bumps of height 1 at some places."""
    centres = torch.tensor(BUMP_CENTRES, dtype=torch.float64)
    squared = (positions[..., None, :] - centres).square().sum(dim=-1)
    return (-squared / (2 * BUMP_WIDTH**2)).exp()


#: The paper's interval is [0, 2π].
INTERVAL_LENGTH = 2 * math.pi


def wiener_regression_rewards(
    environment: SymbolicExpressionEnvironment,
    scores: Tensor | ArrayLike,  # shape: (E, d)
    n_points: int = 100,
    *,
    max_gap: float | None = None,
) -> Tensor:  # shape: (E, n_objects), float64
    r"""Return log R = −MSE to a noisy target, of all expressions and members at once.

    .. math::
        \log R(g) = -\frac1n \sum_{i=1}^{n} \bigl(g(x_i) - f(x_i) - W(x_i)\bigr)^2,
        \qquad f(x) = \sin x + 2 - x, \quad W = \sum_k z_k \sqrt{\lambda_k} \phi_k

    on n points from 0 to 2π, both ends counted. The scores z ~ N(0, 1) of the
    Karhunen–Loève modes are the inputs; the paper takes two of them, and the noise of
    a standard Wiener process (section 2.5 and supplement). It leaves n open.

    Expressions are evaluated once. With residuals r = g − f and modes B (n rows)
    the sum is a quadratic form of z,

    .. math::
        \log R(g) = -\tfrac1n |r|^2 + \tfrac2n r^\top B z - \tfrac1n z^\top B^\top B z.

    Its last term is the same for all expressions: the exact policy depends on z through
    the inner products of residual and modes alone.

    Some expressions have log R below −600, and squared residuals of training would be
    about these alone. With ``max_gap`` c, log R is raised to the member's largest value
    minus c where it is below. Of N expressions this adds at most N exp(−c) of the
    largest R, which is less than Z: the distribution over expressions moves by at most
    N exp(−c) in total variation (25,190 expressions and c = 20: 5.2e-5), and log Z by
    log(1 + N exp(−c)).

    Parameters
    ----------
    environment : SymbolicExpressionEnvironment
    scores : array-like of shape (n_members, n_modes)
    n_points : int, default=100
    max_gap : float, optional
        Positive. Default: log R is not raised anywhere.

    Examples
    --------
    >>> env = SymbolicExpressionEnvironment()
    >>> log_reward = wiener_regression_rewards(env, [[0.0, 0.0]])
    >>> state = torch.tensor([0, 4, 2, 5, 3, 4, 6, -1, -1])  # sin x + 2 − x
    >>> bool(log_reward[0, env.object_index(state)].abs() < 1e-12)
    True
    """
    z = member_inputs("scores", scores)
    require_at_least("n_points", n_points, 2)
    if max_gap is not None and not 0 < max_gap < math.inf:
        raise ValueError(f"max_gap must be None or positive, got {max_gap!r}")
    x = torch.linspace(0, INTERVAL_LENGTH, n_points, dtype=torch.float64)
    objects = torch.arange(environment.require_listed_objects())
    expressions = environment.object_states(objects)
    residuals = environment.values(expressions, x) - target(x)
    modes = wiener_modes(x, z.shape[1])
    without_noise = residuals.square().mean(dim=1)
    cross = z @ (residuals @ modes).T / n_points
    of_noise = (z @ modes.T).square().mean(dim=1, keepdim=True)
    log_reward = 2 * cross - without_noise - of_noise
    if max_gap is None:
        return log_reward
    return log_reward.clamp(min=log_reward.amax(dim=1, keepdim=True) - max_gap)


def target(x: Tensor) -> Tensor:  # shapes: x (n,) -> (n,)
    """Return sin x + 2 − x."""
    return x.sin() + 2 - x


def wiener_modes(x: Tensor, n_modes: int = 2) -> Tensor:
    # shapes: x (n,) -> (n, n_modes), float64
    r"""Return the modes of a Wiener process on [0, 2π], scaled by their deviations.

    .. math::
        \sqrt{\lambda_k} \phi_k(x) = \sqrt{\frac{2}{L}} \,
        \frac{\sin(\omega_k x)}{\omega_k}, \qquad \omega_k = \frac{(k - 1/2) \pi}{L}

    with L = 2π; the sum of all their squares at x is the variance, x.
    """
    numbers = torch.arange(1, n_modes + 1, dtype=torch.float64)
    frequencies = (numbers - 0.5) * math.pi / INTERVAL_LENGTH
    waves = (x.to(torch.float64)[:, None] * frequencies).sin()
    return math.sqrt(2 / INTERVAL_LENGTH) * waves / frequencies
