"""Process reward models: networks that score sequences, each from its own labels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import require_at_least, require_field
from gflownet_envs.environments.sequences import TokenSequenceEnvironment
from gflownet_envs.policies.gru import StackedGRU
from gflownet_envs.policies.networks import StackedMLP
from gflownet_envs.random_streams import MemberStream, Purpose, member_streams
from gflownet_envs.rewards.proxies import (
    NetworkReward,
    RegressionData,
    StackedRegression,
    distinct_numbers,
)
from gflownet_envs.storage import array_digest

_NOBODY = 2**64 - 1  # the number under which the features are drawn, no member's
_SEQUENCES_AT_ONCE = 2**13
_N_CALIBRATION = 4096


@dataclass(frozen=True)
class ProcessRewardSpec:
    """How process reward models are made; the same for every member.

    The paper (section 2.6) gives the kind of the networks and ``n_labelled``; the rest
    is chosen here.

    Attributes
    ----------
    n_labelled : int, default=20
        Labelled problems that a member sees, drawn without replacement.
    n_features : int, default=32
        Of the frozen recurrent network.
    hidden : int, default=32
        Width of the hidden layer of the network that is trained.
    n_epochs : int, default=100
        Steps of Adam on all labelled problems of a member.
    learning_rate : float, default=3e-3
    temperature : float, default=0.5
        Log R is the score over this.
    shared_start : bool, default=True
        Whether all members start from the same parameters, so that their labelled
        problems are all that they differ in.

    Examples
    --------
    >>> ProcessRewardSpec().n_labelled
    20
    """

    n_labelled: int = 20
    n_features: int = 32
    hidden: int = 32
    n_epochs: int = 100
    learning_rate: float = 3e-3
    temperature: float = 0.5
    shared_start: bool = True

    def __post_init__(self) -> None:
        for name in ("n_labelled", "n_features", "hidden", "n_epochs"):
            require_at_least(name, getattr(self, name), 1)
        for name in ("learning_rate", "temperature"):
            require_field(getattr(self, name) > 0, self, name, "positive")


class ProcessReward(NetworkReward):
    r"""Log R of finished sequences, the score of a network over a temperature.

    .. math:: \log R(x) = \mathrm{score}_e(\phi(x)) / \tau

    The features φ are those of a recurrent network with random numbers that are never
    trained; all members share them. `train_process_reward` makes the rewards. A
    sequence is scored once, when it is finished: the paper does not say how scores of
    single steps would be added.

    It is a source of rewards for training (``of_states``), and a function of members
    and objects, as `solve_exact` takes it where a table would be too large. The
    features of all objects are computed once, when objects are first read by number,
    and stored: for 1.1 million sequences 140 MB.

    Attributes
    ----------
    environment : TokenSequenceEnvironment
    features : SequenceFeatures
    network : StackedMLP
    temperature : float
    seen : ndarray of shape (n_members, n_labelled), int
        The labelled problems that each member saw.

    Examples
    --------
    >>> from gflownet_envs import solve_exact, strategy_environment, strategy_problems
    >>> env = strategy_environment(n_steps=2)
    >>> reward = train_process_reward(env, *strategy_problems(env), members=range(3))
    >>> reward(slice(0, 2), torch.arange(env.n_objects)).shape
    torch.Size([2, 100])
    >>> solve_exact(env, reward, n_members=3).log_z.shape
    torch.Size([3])
    """

    environment: TokenSequenceEnvironment

    def __init__(
        self,
        environment: TokenSequenceEnvironment,
        features: SequenceFeatures,
        network: StackedMLP,
        temperature: float,
        seen: np.ndarray,  # shape: (E, n_labelled)
    ) -> None:
        super().__init__(environment, network, temperature)
        self.features = features
        self.seen = seen

    @torch.no_grad()
    def scores(
        self,
        states: Tensor,  # shape: (N, S)
    ) -> Tensor:  # shape: (E, N)
        """Return the scores of all members for the same sequences."""
        return self.network(self.features(states))[..., 0]

    def features_of_states(self, states: Tensor) -> Tensor:
        """Return the features of finished sequences."""
        return self.features(states.flatten(0, -2)).unflatten(0, states.shape[:-1])

    def features_of_objects(self, objects: Tensor) -> Tensor:
        """Return the features of objects."""
        return self.features.of_all_objects[objects]

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return the rewards of some members."""
        made = super().select(rows)
        made.seen = self.seen[rows]
        return made

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        made = super().to(device, dtype)
        made.features = self.features.to(device, dtype)
        return made

    def digest(self) -> str:
        """Return a checksum of the networks and the temperature."""
        arrays = [*self.features.arrays(), *self.network.to_arrays().values()]
        return ":".join([repr(self.temperature), *map(array_digest, arrays)])


class SequenceFeatures:
    """What a random recurrent network reads in finished sequences, standardised.

    Its numbers are drawn once and never trained. Each feature has mean 0 and variance 1
    over some 4,096 objects, which lie evenly in the list of all: all sequences are
    within the reach of a network that saw but a few of one form.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
    n_features : int
    seed : int

    Examples
    --------
    >>> env = TokenSequenceEnvironment(["a", "b"], max_length=3)
    >>> features = SequenceFeatures(env, n_features=4, seed=0)
    >>> features(torch.tensor([[0, 1, 0], [1, 1, 1]])).shape
    torch.Size([2, 4])
    """

    def __init__(
        self, environment: TokenSequenceEnvironment, n_features: int, seed: int
    ) -> None:
        n_objects = environment.require_listed_objects()
        self._environment = environment
        self._of_all: Tensor | None = None
        stream = MemberStream(seed, _NOBODY)
        self._gru = StackedGRU(
            environment.n_actions, n_features, n_features, [stream]
        ).requires_grad_(False)
        self._centre, self._scale = torch.zeros(n_features), torch.ones(n_features)
        places = np.linspace(0, n_objects - 1, min(n_objects, _N_CALIBRATION))
        objects = torch.from_numpy(places.round().astype(np.int64))
        raw = self(environment.object_states(objects))
        self._centre, self._scale = raw.mean(dim=0), raw.std(dim=0, correction=0)

    def __call__(
        self,
        states: Tensor,  # shape: (N, S)
    ) -> Tensor:  # shape: (N, F)
        raw = self._gru.read(states.to(self._centre.device))[0]
        return (raw - self._centre) / self._scale

    @property
    def of_all_objects(self) -> Tensor:  # shape: (n_objects, F)
        """Features of all objects, computed once."""
        if self._of_all is None:
            objects = torch.arange(self._environment.require_listed_objects())
            parts = map(
                self._environment.object_states, objects.split(_SEQUENCES_AT_ONCE)
            )
            with torch.no_grad():
                self._of_all = torch.cat([self(states) for states in parts])
        return self._of_all

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again: other processes do that."""
        return {**self.__dict__, "_of_all": None}

    def arrays(self) -> list[np.ndarray]:
        """Return everything that the features depend on."""
        own = (self._centre.cpu().numpy(), self._scale.cpu().numpy())
        return [*self._gru.to_arrays().values(), *own]

    def to(self, device: torch.device | str, dtype: torch.dtype) -> SequenceFeatures:
        """Return the same, or a copy with another precision or on another device."""
        if self._centre.dtype == dtype and self._centre.device == torch.device(device):
            return self
        moved = copy(self)
        moved._of_all = None
        gru = StackedGRU.from_arrays(self._gru.to_arrays()).requires_grad_(False)
        moved._gru = gru.to(device, dtype)
        moved._centre = self._centre.to(device, dtype)
        moved._scale = self._scale.to(device, dtype)
        return moved


def train_process_reward(
    environment: TokenSequenceEnvironment,
    problems: Tensor,  # shape: (n, S)
    labels: Tensor | ArrayLike,  # shape: (n,)
    spec: ProcessRewardSpec | None = None,
    *,
    members: Sequence[int],
    seed: int = 0,
) -> ProcessReward:
    """Train one network a member on its own part of the labelled problems.

    Least squares on frozen features (``SequenceFeatures``), all labelled problems at
    once. Scores are in standard deviations of the labels of the whole pool, from their
    mean. Which problems a member sees comes from its own random stream.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
        With numbered objects.
    problems : Tensor of shape (n, state_size), int64
        Finished sequences.
    labels : array-like of shape (n,)
        How good they are, for example 1 for right and 0 for wrong.
    spec : ProcessRewardSpec, optional
        Default: ``ProcessRewardSpec()``.
    members : sequence of int
        Numbers of the members, which name their random streams.
    seed : int, default=0

    Examples
    --------
    >>> env = TokenSequenceEnvironment(["a", "b"], max_length=3)
    >>> problems = env.object_states(torch.arange(8))
    >>> spec = ProcessRewardSpec(n_labelled=4, n_epochs=5)
    >>> reward = train_process_reward(
    ...     env, problems, problems[:, 0], spec, members=range(3)
    ... )
    >>> reward.scores(problems).shape, reward.seen.shape
    (torch.Size([3, 8]), (3, 4))
    """
    spec = ProcessRewardSpec() if spec is None else spec
    targets = _validated_labels(environment, problems, labels, spec)
    streams = member_streams(seed, distinct_numbers(members))
    orders = [
        s.generator(Purpose.ROW_SUBSET).permutation(len(targets)) for s in streams
    ]
    seen = np.stack([order[: spec.n_labelled] for order in orders])
    if spec.shared_start:
        streams = member_streams(seed, (0,) * len(seen))
    features = SequenceFeatures(environment, spec.n_features, seed)
    return _trained(environment, features, problems, targets, seen, spec, streams)


def retrain_process_reward(
    reward: ProcessReward,
    problems: Tensor,  # shape: (n, S)
    labels: Tensor | ArrayLike,  # shape: (n,)
    spec: ProcessRewardSpec | None = None,
    *,
    weights: ArrayLike,  # shape: (E, n)
    seed: int = 0,
) -> ProcessReward:
    r"""Train networks again as if members had seen other problems.

    Least squares of the labelled problems :math:`i` with weights :math:`w_i`,

    .. math:: \frac{\sum_i w_i (\mathrm{score}(x_i) - y_i)^2}{\sum_i w_i},

    which is the training of `train_process_reward` where the weights are 1 for the
    problems that the member saw and 0 for the others.

    Parameters
    ----------
    reward : ProcessReward
        Of `train_process_reward`; its features are used again.
    problems, labels, spec, seed
        With which it was trained. The spec needs `shared_start`: all that members
        differ in is what they saw.
    weights : array-like of shape (n_members, n)
        Not negative.

    Raises
    ------
    ValueError
        If members have no shared start, weights are negative, not finite or of another
        shape, or problems or labels cannot be used.

    Examples
    --------
    >>> env = TokenSequenceEnvironment(["a", "b"], max_length=3)
    >>> problems = env.object_states(torch.arange(8))
    >>> spec = ProcessRewardSpec(n_labelled=4, n_epochs=5)
    >>> labelled = problems, problems[:, 0], spec
    >>> reward = train_process_reward(env, *labelled, members=range(3))
    >>> weights = np.zeros((3, 8))
    >>> np.put_along_axis(weights, reward.seen, 1.0, axis=1)
    >>> again = retrain_process_reward(reward, *labelled, weights=weights)
    >>> torch.allclose(again.scores(problems), reward.scores(problems), atol=1e-4)
    True
    """
    spec = ProcessRewardSpec() if spec is None else spec
    targets = _validated_labels(reward.environment, problems, labels, spec)
    given = np.asarray(weights, dtype=np.float32)
    if given.ndim != 2 or given.shape[1] != len(targets):
        raise ValueError(
            f"weights must have shape (n_members, {len(targets)}), one for each "
            f"problem, got {given.shape}"
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ValueError("weights must be finite and not negative")
    if not spec.shared_start:
        raise ValueError("spec must have shared_start, got shared_start=False")
    n_members, n = given.shape
    return _trained(
        reward.environment,
        reward.features,
        problems,
        targets,
        np.tile(np.arange(n), (n_members, 1)),
        spec,
        member_streams(seed, (0,) * n_members),
        torch.from_numpy(given),
    )


def _trained(
    environment: TokenSequenceEnvironment,
    features: SequenceFeatures,
    problems: Tensor,  # shape: (n, S)
    targets: Tensor,  # shape: (n,)
    seen: np.ndarray,  # shape: (E, n_seen)
    spec: ProcessRewardSpec,
    streams: list[MemberStream],
    weights: Tensor | None = None,  # shape: (E, n)
) -> ProcessReward:
    """Train networks on what members saw of the labelled problems, all at once."""
    data = RegressionData(
        inputs=features(problems),
        targets=targets.expand(len(seen), -1),
        train_rows=torch.from_numpy(seen),
        validation_rows=torch.empty((len(seen), 0), dtype=torch.int64),
        weights=weights,
    )
    network = StackedMLP((spec.n_features, spec.hidden, 1), streams)
    # all rows at once: the streams shuffle nothing
    regression = StackedRegression(
        network, data, streams, spec.learning_rate, batch_size=None, patience=None
    )
    network = regression.fit(spec.n_epochs)
    return ProcessReward(environment, features, network, spec.temperature, seen)


def _validated_labels(
    environment: TokenSequenceEnvironment,
    problems: Tensor,
    labels: Tensor | ArrayLike,
    spec: ProcessRewardSpec,
) -> Tensor:  # shape: (n,), float32
    """Return standardised labels; raise ValueError where something cannot be used."""
    if problems.ndim != 2 or problems.shape[1] != environment.state_size:
        raise ValueError(
            f"problems must have shape (n, {environment.state_size}) for "
            f"{environment.name}, got {tuple(problems.shape)}"
        )
    unfinished = ~environment.is_terminal(problems)
    if unfinished.any():
        raise ValueError(
            "problems must be finished sequences, got "
            f"{problems[unfinished][0].tolist()}"
        )
    targets = torch.as_tensor(np.asarray(labels, dtype=np.float32))
    if targets.shape != problems.shape[:1] or not torch.isfinite(targets).all():
        raise ValueError(
            f"labels must be {len(problems)} finite numbers, one a problem, got "
            f"{labels!r}"
        )
    if spec.n_labelled > len(problems):
        raise ValueError(
            f"n_labelled must be at most {len(problems)}, the number of problems, got "
            f"{spec.n_labelled}"
        )
    scale = targets.std(correction=0)
    return (targets - targets.mean()) / scale.where(scale > 0, 1.0)
