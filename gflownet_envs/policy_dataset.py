"""What an experiment hands to the surrogate: inputs, policies, and their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gflownet_envs.extras import import_extra
from gflownet_envs.storage import arrays_bytes, read_arrays, write_bytes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from gflownet_envs.environments.base import Environment

__all__ = ["PolicyDataset"]

_FORMAT = "gflownet_envs.policy_dataset"
_FORMAT_VERSION = 1
_SUM_TOLERANCE = 1e-6
_SOURCES = ("exact", "trained")
_PER_MEMBER = ("X", "y", "members", "rewards", "seeds", "is_test")
_ARRAYS = (*_PER_MEMBER, "mask")
_NAMES = ("step_names", "action_names", "feature_names", "trajectory")


@dataclass(frozen=True, eq=False, repr=False)
class PolicyDataset:
    """The policies of an ensemble along one reference trajectory.

    Member i was trained on (or solved for) one reward of an uncertain ensemble.
    Row i of ``X`` describes that reward; row i of ``y`` is what member i would do at
    each state of the trajectory, one probability vector a step, side by side.

    Parameters
    ----------
    X : ndarray of shape (n_members, n_reward_features)
        The reward of each member: its entries, parameters or proxy outputs.
    y : ndarray of shape (n_members, n_actions_total)
        Action probabilities, the steps side by side; each step sums to one.
    steps : tuple of int
        Number of actions of each step.
    mask : ndarray of bool of shape (n_actions_total,)
        True where the action is possible in the state of that step. Elsewhere ``y``
        is 0 for every member.
    step_names : tuple of str, length n_steps
        Names of the steps, all different.
    action_names : tuple of str, length n_actions_total
        Names of the actions, different within a step.
    feature_names : tuple of str, length n_reward_features
        Names of the columns of ``X``, all different.
    members : ndarray of int of shape (n_members,)
        Member numbers, all different.
    rewards : ndarray of int of shape (n_members,)
        Reward numbers; replicates of one reward share theirs.
    seeds : ndarray of int of shape (n_members,)
        Seed of each member's training.
    is_test : ndarray of bool of shape (n_members,)
        True for the members held out of every fit.
    trajectory : sequence of str, length n_steps
        The possible action that the reference trajectory takes at each step.
    source : {"exact", "trained"}
        Whether the policies were solved for or learned.
    metadata : dict, default={}
        Whatever else belongs to the data; what JSON can hold.

    Raises
    ------
    ValueError
        If shapes disagree, or ``y`` is not a policy; the message says where.

    Notes
    -----
    Schema of the file that `save` writes (safetensors, readable with any
    safetensors library). Arrays: ``X``, ``y`` (float64), ``mask``, ``is_test``
    (bool), ``steps``, ``members``, ``rewards``, ``seeds`` (integers), shapes as
    above. The JSON string ``record`` of the header has an object ``metadata``
    with ``format`` (``"gflownet_envs.policy_dataset"``), ``format_version`` (1),
    ``step_names``, ``action_names``, ``feature_names``, ``trajectory`` (lists of
    strings), ``source`` and ``metadata``.

    Examples
    --------
    >>> import numpy as np
    >>> from gflownet_envs.policy_dataset import PolicyDataset
    >>> dataset = PolicyDataset(
    ...     np.array([[0.0], [1.0], [2.0]]),
    ...     np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.3, 0.7, 0.0]]),
    ...     steps=(3,),
    ...     mask=np.array([True, True, False]),
    ...     step_names=("first",),
    ...     action_names=("left", "right", "up"),
    ...     feature_names=("bonus",),
    ...     members=np.arange(3),
    ...     rewards=np.arange(3),
    ...     seeds=np.array([0, 1, 2]),
    ...     is_test=np.array([False, False, True]),
    ...     trajectory=("right",),
    ...     source="exact",
    ... )
    >>> dataset
    PolicyDataset(n_members=3, n_test=1, steps=(3,), n_reward_features=1,
                  source='exact')
    >>> dataset.test.y
    array([[0.3, 0.7, 0. ]])
    """

    X: np.ndarray  # shape: (n_members, n_reward_features)
    y: np.ndarray  # shape: (n_members, n_actions_total)
    _: KW_ONLY
    steps: tuple[int, ...]
    mask: np.ndarray  # shape: (n_actions_total,)
    step_names: tuple[str, ...]
    action_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    members: np.ndarray  # shape: (n_members,)
    rewards: np.ndarray  # shape: (n_members,)
    seeds: np.ndarray  # shape: (n_members,)
    is_test: np.ndarray  # shape: (n_members,)
    trajectory: tuple[str, ...]
    source: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for read, names in _READERS.items():
            for name in names:  # frozen: only while being made
                object.__setattr__(self, name, read(name, getattr(self, name)))
        self._check_shapes()
        self._check_names()
        self._check_policies()

    def __repr__(self) -> str:
        return (
            f"PolicyDataset(n_members={self.n_members}, "
            f"n_test={int(self.is_test.sum())}, steps={self.steps}, "
            f"n_reward_features={self.X.shape[1]}, source={self.source!r})"
        )

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def n_steps(self) -> int:
        """Number of steps of the trajectory."""
        return len(self.steps)

    @property
    def step_slices(self) -> tuple[slice, ...]:
        """The columns of ``y`` of each step."""
        ends = np.cumsum(self.steps).tolist()
        return tuple(
            slice(end - width, end) for end, width in zip(ends, self.steps, strict=True)
        )

    @property
    def train(self) -> PolicyDataset:
        """The members that fits may use."""
        return self.select(~self.is_test)

    @property
    def test(self) -> PolicyDataset:
        """The members held out."""
        return self.select(self.is_test)

    def select(self, rows: np.ndarray | Sequence[int]) -> PolicyDataset:
        """Return the data set of some members.

        Parameters
        ----------
        rows : ndarray of bool of shape (n_members,), or row numbers
            Which members, in which order; none twice.

        Returns
        -------
        PolicyDataset
            The same steps, names and metadata with fewer members.
        """
        rows = _check_rows(rows, self.n_members)
        return replace(
            self, **{name: getattr(self, name)[rows] for name in _PER_MEMBER}
        )

    def to_frame(self) -> pd.DataFrame:
        """Return ``y`` as a DataFrame with two column levels, step and action.

        Returns
        -------
        pandas.DataFrame of shape (n_members, n_actions_total)
            The index holds the member numbers. `~skpce.CompositionalPCESurrogate` reads
            its ``steps`` from such columns.
        """
        pandas = import_extra("pandas", "to_frame")
        steps = np.repeat(np.array(self.step_names, dtype=object), self.steps)
        columns = pandas.MultiIndex.from_arrays(
            [steps, list(self.action_names)], names=["step", "action"]
        )
        index = pandas.Index(self.members, name="member")
        return pandas.DataFrame(self.y, index=index, columns=columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the data set to one safetensors file, atomically.

        Parameters
        ----------
        path : path-like
            The file; its folder must exist. The class docstring has the schema.
        """
        write_bytes(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays["steps"] = np.array(self.steps, dtype=np.int64)
        record = {name: getattr(self, name) for name in (*_NAMES, "source", "metadata")}
        record |= {"format": _FORMAT, "format_version": _FORMAT_VERSION}
        return arrays_bytes(arrays, record)

    @classmethod
    def from_policies(
        cls,
        environment: Environment,
        policies: Sequence[Callable[[Any], Any]],
        X: ArrayLike,
        *,
        trajectory: Sequence[int | str] | None = None,
        feature_names: Sequence[str] | None = None,
        rewards: ArrayLike | None = None,
        seeds: ArrayLike | None = None,
        is_test: ArrayLike | None = None,
    ) -> Self:
        """Collect policies of any origin along one trajectory.

        Parameters
        ----------
        environment : Environment
        policies : sequence of callables, one a member
            Each maps a state, an int64 tensor of shape (state_size,), to the
            probabilities of the ``n_actions`` actions, an array or a tensor. Those
            of actions that are not allowed must be 0.
        X : array-like of shape (n_members, n_reward_features)
            The reward of each member.
        trajectory : sequence of int or str, optional
            Actions of the reference trajectory, by number or name. Default: the
            likeliest action of the mean policy at each step.
        feature_names : sequence of str, optional
            Default: the names of the columns of a data frame ``X``, else x0, x1, …
        rewards, seeds : array-like of int of shape (n_members,), optional
            Default: 0, 1, … for ``rewards``, and 0 for all ``seeds``.
        is_test : array-like of bool of shape (n_members,), optional
            Default: none is held out.

        Returns
        -------
        PolicyDataset
            With ``source="trained"``.

        Raises
        ------
        ValueError
            If a policy gives something else than probabilities; it names the member
            and the state.

        Examples
        --------
        >>> import numpy as np
        >>> from gflownet_envs import GridEnvironment
        >>> environment = GridEnvironment(size=2, max_moves=1)
        >>> def uniform(state):
        ...     open = environment.valid_mask(state).numpy()
        ...     return open / open.sum()
        >>> dataset = PolicyDataset.from_policies(
        ...     environment, [uniform] * 3, [[0.0], [1.0], [2.0]], trajectory=[3, 4]
        ... )
        >>> dataset.trajectory, dataset.y[0].round(2).tolist()
        (('right', 'stop'), [0.0, 0.33, 0.0, 0.33, 0.33, 0.0, 0.0, 0.0, 0.0, 1.0])
        """
        from gflownet_envs.exact.solve import (
            CallablePolicies,
            greedy_trajectory,
            mean_policy,
            policies_along,
            trajectory_of_actions,
        )

        if feature_names is None:
            feature_names = getattr(X, "columns", None)
        X = _floats("X", X)
        for e, policy in enumerate(policies):
            if not callable(policy):
                raise ValueError(
                    "policies must be callables that map a state to the probabilities "
                    f"of all actions; that of member {e} is {policy!r}"
                )
        if len(policies) != len(X) or not len(X):
            raise ValueError(
                f"policies has {len(policies)} members and X {len(X)} rows; they must "
                "be the same members, at least one"
            )
        source = CallablePolicies(environment, policies)
        if trajectory is None:
            path = greedy_trajectory(environment, mean_policy(source))
        else:
            path = trajectory_of_actions(environment, trajectory)
        along = policies_along(environment, source, path)
        numbers = np.arange(len(X))
        names = environment.action_names
        return cls(
            X,
            along.y,
            steps=tuple(along.steps.values()),
            mask=along.mask,
            step_names=along.step_names,
            action_names=along.action_names,
            feature_names=tuple(
                (f"x{i}" for i in range(X.shape[1]))
                if feature_names is None
                else map(str, feature_names)
            ),
            members=numbers,
            rewards=np.asarray(numbers if rewards is None else rewards),
            seeds=np.asarray(0 * numbers if seeds is None else seeds),
            is_test=np.asarray(numbers < 0 if is_test is None else is_test),
            trajectory=tuple(names[action] for action in path.actions),
            source="trained",
            metadata={"task": environment.name},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a data set and check it.

        Parameters
        ----------
        path : path-like
            A file that `save` wrote. Neither torch nor unpickling is involved.

        Returns
        -------
        PolicyDataset
            The data set.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is damaged, holds something else, or has another version.
        """
        from gflownet_envs.records import DatasetRecord, read_record

        arrays, metadata = read_arrays(path)
        place = os.fspath(path)
        if metadata.get("format") != _FORMAT:
            raise ValueError(
                f"{place} is not a policy data set: its format is "
                f"{metadata.get('format')!r}; expected {_FORMAT!r}"
            )
        if metadata.get("format_version") != _FORMAT_VERSION:
            raise ValueError(
                f"{place} has format version {metadata.get('format_version')!r}; "
                f"this version of the package reads {_FORMAT_VERSION}"
            )
        expected = {*_ARRAYS, "steps"}
        if set(arrays) != expected:
            raise ValueError(
                f"{place} has the arrays {sorted(arrays)}; expected {sorted(expected)}"
            )
        what = f"{place} has other metadata than a policy data set"
        record = read_record(metadata, DatasetRecord, what)
        parts = {
            name: getattr(record, name) for name in (*_NAMES, "source", "metadata")
        }
        try:
            return cls(**arrays | parts | {"steps": arrays["steps"].tolist()})
        except ValueError as error:
            raise ValueError(f"{place} holds no data set: {error}") from error

    def _check_shapes(self) -> None:
        n_members, n_actions = self.y.shape
        expected = {"steps": sum(self.steps), "mask": n_actions}
        expected |= {"action_names": n_actions, "feature_names": self.X.shape[1]}
        expected |= {"step_names": self.n_steps, "trajectory": self.n_steps}
        found = {name: len(getattr(self, name)) for name in expected}
        expected["steps"], found["steps"] = n_actions, expected["steps"]
        for name in ("X", "members", "rewards", "seeds", "is_test"):
            expected[name], found[name] = n_members, len(getattr(self, name))
        for name, number in expected.items():
            if found[name] != number:
                verb = "sums to" if name == "steps" else "has length"
                raise ValueError(
                    f"{name} {verb} {found[name]}; expected {number}, as y has shape "
                    f"{self.y.shape}, X {self.X.shape} and steps is {self.steps}"
                )

    def _check_names(self) -> None:
        _check_unique("step_names", self.step_names)
        _check_unique("feature_names", self.feature_names)
        _check_unique("members", self.members.tolist())
        if self.source not in _SOURCES:
            raise ValueError(f"source is {self.source!r}; expected one of {_SOURCES}")
        if not isinstance(self.metadata, dict):
            raise ValueError(f"metadata is {self.metadata!r}; expected a dict")
        walk = zip(self.step_names, self.step_slices, self.trajectory, strict=True)
        for name, columns, action in walk:
            actions = self.action_names[columns]
            _check_unique(f"action_names of step {name!r}", actions)
            mask = self.mask[columns]
            possible = [a for a, m in zip(actions, mask, strict=True) if m]
            if action not in possible:
                raise ValueError(
                    f"trajectory takes {action!r} at step {name!r}; expected one of "
                    f"its possible actions {possible}"
                )

    def _check_policies(self) -> None:
        _check_finite("X", self.X)
        _check_finite("y", self.y)
        if (self.y < 0).any():
            row, column = np.argwhere(self.y < 0)[0]
            raise ValueError(
                f"y is {self.y[row, column]} at {self._place(row, column)}; expected "
                "no negative probability"
            )
        forbidden = (self.y != 0) & ~self.mask
        if forbidden.any():
            row, column = np.argwhere(forbidden)[0]
            raise ValueError(
                f"y is {self.y[row, column]} at {self._place(row, column)}; expected 0 "
                "since mask says that the action is not possible"
            )
        for name, columns in zip(self.step_names, self.step_slices, strict=True):
            sums = self.y[:, columns].sum(axis=1)
            error = np.abs(sums - 1.0)
            if (error > _SUM_TOLERANCE).any():
                row = int(error.argmax())
                raise ValueError(
                    f"y sums to {sums[row]} over step {name!r} for member "
                    f"{self.members[row]}; expected 1 within {_SUM_TOLERANCE}"
                )

    def _place(self, row: int, column: int) -> str:
        step = int(np.searchsorted(np.cumsum(self.steps), column, side="right"))
        return (
            f"member {self.members[row]}, step {self.step_names[step]!r}, "
            f"action {self.action_names[column]!r}"
        )


def _floats(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; expected a "
            "two-dimensional array of real numbers, one row a member"
        )
    return array.astype(np.float64, copy=False)


def _integers(name: str, value: Any) -> np.ndarray:
    array = _one_dimensional(name, value)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}; expected integers")
    if np.can_cast(array.dtype, np.int64):
        return array.astype(np.int64, copy=False)
    return array  # uint64 seeds keep all their bits


def _booleans(name: str, value: Any) -> np.ndarray:
    array = _one_dimensional(name, value)
    if array.dtype != bool:
        raise ValueError(f"{name} has dtype {array.dtype}; expected bool")
    return array


def _one_dimensional(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; expected one dimension")
    return array


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; expected a sequence of strings")
    strings = tuple(value)
    for i, item in enumerate(strings):
        if not isinstance(item, str):
            raise ValueError(f"{name}[{i}] is {item!r}; expected a string")
    return tuple(str(item) for item in strings)


def _widths(name: str, value: Any) -> tuple[int, ...]:
    array = _one_dimensional(name, value)
    if array.size == 0 or array.dtype.kind not in "iu" or (array < 1).any():
        raise ValueError(f"steps is {value!r}; expected positive integers, one a step")
    return tuple(array.tolist())


_READERS: dict[Callable[[str, Any], Any], tuple[str, ...]] = {
    _floats: ("X", "y"),
    _integers: ("members", "rewards", "seeds"),
    _booleans: ("mask", "is_test"),
    _strings: _NAMES,
    _widths: ("steps",),
}


def _check_unique(name: str, values: Sequence[Any]) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{name} contains {value!r} twice; expected no repetition")
        seen.add(value)


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(
            f"{name} is {array[row, column]} in row {row}, column {column}; expected "
            "finite numbers"
        )


def _check_rows(value: Any, n_members: int) -> np.ndarray:
    rows = np.asarray(value)
    if rows.size == 0 and rows.dtype != bool:
        return np.zeros(0, dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise ValueError(
            f"rows has shape {rows.shape} and dtype {rows.dtype}; expected one "
            "dimension of bool or integers"
        )
    if rows.dtype == bool and len(rows) != n_members:
        raise ValueError(f"rows has length {len(rows)}; expected {n_members}")
    return rows
