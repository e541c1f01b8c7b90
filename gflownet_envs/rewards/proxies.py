"""Stacked networks that predict rewards: their training, and log R by them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_at_least, require_field
from gflownet_envs.policies.networks import StackedMLP, torch_threads
from gflownet_envs.random_streams import MemberStream, Purpose, member_streams
from gflownet_envs.storage import (
    Progress,
    Store,
    array_digest,
    block_ticker,
    json_values,
    load_or_run,
    split_into_blocks,
)

_VALUES_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class FeatureProxies:
    """Trained networks, one a member, and how good they are.

    Attributes
    ----------
    network : StackedMLP
        Outputs are in the units of the targets.
    r2_held_out, mse_held_out : ndarray of shape (E,)
        On the rows that the member never saw; NaN where there are none.
    mse_all : ndarray of shape (E,)
        On all rows.
    n_epochs : ndarray of shape (E,)
        The epoch whose parameters were retained.
    cpu_seconds : ndarray of shape (E,)
    """

    network: StackedMLP
    r2_held_out: np.ndarray
    mse_held_out: np.ndarray
    mse_all: np.ndarray
    n_epochs: np.ndarray
    cpu_seconds: np.ndarray

    def predict(
        self,
        features: ArrayLike,  # shape: (m, F)
    ) -> np.ndarray:  # shape: (E, m), float64
        """Return every member's predictions, some rows at a time."""
        rows = np.asarray(features)
        n_features = self.network.weights[0].shape[1]
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise ValueError(
                f"features must have shape (m, {n_features}), got {rows.shape}"
            )
        n_members = self.network.n_members
        widest = max(weight.shape[2] for weight in self.network.weights)
        size = max(1, _VALUES_AT_ONCE // (n_members * max(widest, n_features)))
        predicted = np.empty((n_members, len(rows)))
        with torch.no_grad(), torch_threads(1):
            for start in range(0, len(rows), size):
                part = torch.as_tensor(rows[start : start + size])
                outputs = self.network(part.to(self.network.dtype))
                predicted[:, start : start + size] = outputs[..., 0].numpy()
        return predicted


def train_feature_proxies(
    features: ArrayLike,  # shape: (n, F)
    targets: ArrayLike,  # shape: (n,)
    spec: ProxySpec | None = None,
    *,
    members: Sequence[int],
    seed: int = 0,
    progress: Progress | None = None,
    store: Store | None = None,
) -> FeatureProxies:
    """Train one network a member on its own random part of the rows.

    Which rows a member sees, its initial parameters and its minibatches come from its
    own random stream.

    Parameters
    ----------
    features : array of shape (n, F)
        Standardised or 0 and 1, such as one-hot levels: they are used as they are.
    targets : array of shape (n,)
    spec : ProxySpec, optional
        Default: ``ProxySpec()``.
    members : sequence of int
        Numbers of the members, which name their random streams.
    seed : int, default=0
    progress : callable, optional
        Called as ``progress(done, total)`` in epochs; members may stop early.
    store : Store, optional
        Finished blocks are saved there and not trained again.

    Returns
    -------
    FeatureProxies

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(60, 4))
    >>> proxies = train_feature_proxies(
    ...     features, features[:, 0], ProxySpec(max_epochs=2), members=range(3)
    ... )
    >>> proxies.predict(features).shape
    (3, 60)
    """
    inputs, outputs = np.asarray(features), np.asarray(targets, dtype=np.float64)
    if inputs.ndim != 2 or outputs.shape != (len(inputs),):
        raise ValueError(
            "features and targets must have shapes (n, F) and (n,), got "
            f"{inputs.shape} and {outputs.shape}"
        )
    for name, values in (("features", inputs), ("targets", outputs)):
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0, 0])
            raise ValueError(f"{name} must be finite, row {row} is not")
    spec = ProxySpec() if spec is None else spec
    numbers = distinct_numbers(members)
    blocks = split_into_blocks(len(numbers), spec.block_size)
    finished = []
    for i, block in enumerate(blocks):
        streams = member_streams(seed, numbers[block])
        tick = block_ticker(progress, i, len(blocks), spec.max_epochs)
        key = {
            "kind": "feature proxies",
            "spec": json_values(asdict(spec)),
            "seed": int(seed),
            "members": list(numbers[block]),
            "features_sha256": array_digest(inputs),
            "targets_sha256": array_digest(outputs),
        }
        run = partial(train_block, inputs, outputs, spec, streams, tick)
        finished.append(load_or_run(store, key, run))
        tick(spec.max_epochs)
    trained = {
        name: np.concatenate([b[name] for b in finished]) for name in finished[0]
    }
    scores = {name: trained.pop(name) for name in _SCORES}
    return FeatureProxies(StackedMLP.from_arrays(trained), **scores)


_SCORES = ("r2_held_out", "mse_held_out", "mse_all", "n_epochs", "cpu_seconds")


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The rows of every member; all members have the same number of rows."""

    # shape: (n, F), shared by all members, which differ in the rows they use
    inputs: Tensor
    targets: Tensor  # shape: (E, n)
    train_rows: Tensor  # shape: (E, n_train)
    validation_rows: Tensor  # shape: (E, n_validation), may be empty
    weights: Tensor | None = None  # shape: (E, n), of each row in training; None: equal

    def keep(self, members: Tensor) -> RegressionData:
        """Return the data of some members."""
        return RegressionData(
            self.inputs,
            self.targets[members],
            self.train_rows[members],
            self.validation_rows[members],
            None if self.weights is None else self.weights[members],
        )


class StackedRegression:
    """Least-squares training of stacked networks by Adam, epoch by epoch.

    With validation rows, each member keeps the parameters of its best epoch, stops
    after `patience` epochs without a better one, and then leaves the stack: it costs
    nothing more, and what the others do has no influence on it.
    """

    def __init__(
        self,
        network: StackedMLP,
        data: RegressionData,
        streams: list[MemberStream],
        learning_rate: float,
        batch_size: int | None,
        patience: int | None,
    ) -> None:
        self._batch_size = batch_size
        self._patience = patience
        self._learning_rate = learning_rate
        self._data = data
        self._active = torch.arange(len(streams))
        self._shufflers = [stream.generator(Purpose.MINIBATCH) for stream in streams]
        self._network = network
        self._optimizer = self._new_optimizer()
        self._best_arrays = network.to_arrays()
        self.best_epoch = np.zeros(len(streams), dtype=np.int64)
        self._best_loss = np.full(len(streams), np.inf)

    def _new_optimizer(self) -> torch.optim.Adam:
        parameters = self._network.parameters()
        return torch.optim.Adam(parameters, lr=self._learning_rate, fused=True)

    def fit(
        self, n_epochs: int, tick: Callable[[int], None] = lambda epoch: None
    ) -> StackedMLP:
        """Train for so many epochs, or until the last member is out of patience.

        Each epoch goes once over each member's rows, then judges by its validation
        rows. Returns the parameters of the best epochs, the last without patience.
        """
        with torch_threads(1):
            for epoch in range(1, n_epochs + 1):
                tick(epoch - 1)
                for places in self._minibatches():
                    rows = self._data.train_rows.gather(1, places)
                    loss = self._mean(self._squared_error(rows), rows).sum()
                    self._optimizer.zero_grad(set_to_none=True)
                    loss.backward()
                    self._optimizer.step()
                self._judge(epoch)
                if not len(self._active):
                    break
        if self._patience is None:
            return self._network
        return StackedMLP.from_arrays(self._best_arrays)

    def _minibatches(self) -> tuple[Tensor, ...]:  # shapes: (E, b)
        """Return the places of each minibatch among the training rows."""
        n_members, n_rows = self._data.train_rows.shape
        if self._batch_size is None:
            return (torch.arange(n_rows).expand(n_members, n_rows),)
        orders = [g.permutation(n_rows) for g in self._shufflers]
        return torch.from_numpy(np.stack(orders)).split(self._batch_size, dim=1)

    def _squared_error(self, rows: Tensor) -> Tensor:  # shapes: rows (E, b) -> (E, b)
        predicted = self._network(self._data.inputs[rows])[..., 0]
        return (predicted - self._data.targets.gather(1, rows)).square()

    def _mean(self, errors: Tensor, rows: Tensor) -> Tensor:
        # shapes: errors (E, b), rows (E, b) -> (E,)
        """Return the mean over rows, by their weights where they have some."""
        if self._data.weights is None:
            return errors.mean(dim=-1)
        weights = self._data.weights.gather(1, rows)
        total = weights.sum(dim=-1).clamp(min=torch.finfo(weights.dtype).tiny)
        return (weights * errors).sum(dim=-1) / total

    @torch.no_grad()
    def _judge(self, epoch: int) -> None:
        """Record the best parameters; drop the members that are out of patience."""
        if self._patience is None:
            self.best_epoch[:] = epoch
            return
        errors = self._squared_error(self._data.validation_rows)
        losses = errors.mean(dim=-1).double().numpy()
        active = self._active.numpy()
        better = losses < self._best_loss[active]
        self._best_loss[active[better]] = losses[better]
        self._record(torch.from_numpy(better), epoch)
        goes_on = epoch - self.best_epoch[active] < self._patience
        if not goes_on.all():
            self._drop(torch.from_numpy(goes_on))

    def _record(self, better: Tensor, epoch: int) -> None:
        # shapes: better (E_active,), bool
        members = self._active[better].numpy()
        self.best_epoch[members] = epoch
        for name, array in self._network.to_arrays().items():
            self._best_arrays[name][members] = array[better.numpy()]

    def _drop(self, goes_on: Tensor) -> None:  # shapes: goes_on (E_active,), bool
        """Leave out finished members, with their rows and the state of Adam."""
        state = self._optimizer.state_dict()["state"]
        self._network = self._network.select(goes_on.numpy())
        self._optimizer = self._new_optimizer()
        for i, parameter in enumerate(self._network.parameters()):
            self._optimizer.state[parameter] = {
                "step": state[i]["step"],
                "exp_avg": state[i]["exp_avg"][goes_on],
                "exp_avg_sq": state[i]["exp_avg_sq"][goes_on],
            }
        self._data = self._data.keep(goes_on)
        self._shufflers = [
            g for g, k in zip(self._shufflers, goes_on.tolist(), strict=True) if k
        ]
        self._active = self._active[goes_on]


@dataclass(frozen=True)
class ProxySpec:
    """How a yield proxy is trained; the same for every member.

    The default is minibatch training with early stopping: a part of the member's own
    rows is held out, and the parameters of the best epoch on it are retained.
    ``PAPER_PROXY`` is full-batch training for 200 steps, which underfits.

    Attributes
    ----------
    train_fraction : float, default=0.3
        Share of all rows that a member sees, drawn without replacement.
    batch_size : int or None, default=32
        None takes all training rows at once.
    max_epochs : int, default=200
    patience : int or None, default=15
        Epochs without a better validation loss before a member stops; None trains for
        ``max_epochs`` and keeps the last parameters.
    validation_fraction : float, default=0.1
        Share of the member's own rows that judge the epochs; unused without patience.
    standardize : bool, default=True
        Whether targets are centred and scaled by the member's training rows while
        training. Predictions are in percent either way.
    learning_rate : float, default=3e-3
    hidden : tuple of int, default=(128, 128)
    block_size : int, default=50
    dtype : {"float32", "float64"}, default="float32"

    Examples
    --------
    >>> ProxySpec().batch_size, PAPER_PROXY.batch_size
    (32, None)
    """

    train_fraction: float = 0.3
    batch_size: int | None = 32
    max_epochs: int = 200
    patience: int | None = 15
    validation_fraction: float = 0.1
    standardize: bool = True
    learning_rate: float = 3e-3
    hidden: tuple[int, ...] = (128, 128)
    block_size: int = 50
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        require_field(0 < self.train_fraction <= 1, self, "train_fraction", "in (0, 1]")
        ok = 0 < self.validation_fraction < 1
        require_field(ok, self, "validation_fraction", "in (0, 1)")
        require_field(self.learning_rate > 0, self, "learning_rate", "positive")
        for name in ("max_epochs", "block_size"):
            require_at_least(name, getattr(self, name), 1)
        for name in ("batch_size", "patience"):
            value = getattr(self, name)
            ok = value is None or value >= 1
            require_field(ok, self, name, "None or at least 1")
        ok = self.dtype in ("float32", "float64")
        require_field(ok, self, "dtype", "'float32' or 'float64'")
        ok = all(width >= 1 for width in self.hidden)
        require_field(ok, self, "hidden", "a tuple of positive widths")


PAPER_PROXY = ProxySpec(
    batch_size=None,
    patience=None,
    standardize=False,
    learning_rate=1e-3,
    block_size=5,  # large batches of many members do not fit the cache
)
"""Full batch, 200 steps of Adam, raw percent: the paper leaves the batch open."""


def scores_of_rows(
    targets: np.ndarray, predicted: np.ndarray, seen: np.ndarray
) -> dict[str, np.ndarray]:  # shapes: targets (n,), predicted (E, n), seen (E, n_seen)
    """Return errors on the rows a member never saw, and on all."""
    squared = (predicted - targets) ** 2
    held_out = np.ones(predicted.shape, dtype=bool)
    np.put_along_axis(held_out, seen, False, axis=1)
    r2, mse = (np.full(len(predicted), np.nan) for _ in range(2))
    for member, its_rows in enumerate(held_out):
        if its_rows.any():
            mse[member] = squared[member, its_rows].mean()
            variance = targets[its_rows].var()
            r2[member] = 1 - mse[member] / variance if variance > 0 else np.nan
    return {"r2_held_out": r2, "mse_held_out": mse, "mse_all": squared.mean(axis=1)}


def distinct_numbers(members: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of members; raise ValueError where two are equal or none."""
    numbers = tuple(int(member) for member in members)
    if len(numbers) == 0 or len(set(numbers)) < len(numbers):
        raise ValueError(f"members must be distinct and not empty, got {numbers}")
    return numbers


def train_block(
    features: np.ndarray,  # shape: (n, F)
    targets: np.ndarray,  # shape: (n,)
    spec: ProxySpec,
    streams: list[MemberStream],
    tick: Callable[[int], None],
) -> dict[str, np.ndarray]:
    """Train one block of members on their own rows and score it on all.

    The layers are those of networks that put out numbers in the units of the targets.
    """
    started = time.process_time()
    n_rows, n_validation = len(features), 0
    n_seen = round(spec.train_fraction * n_rows)
    if spec.patience is not None:  # the first rows are for validation
        n_validation = max(1, round(spec.validation_fraction * n_seen))
    if n_seen - n_validation < 1:
        raise ValueError(
            f"train_fraction={spec.train_fraction} of {n_rows} rows leaves "
            f"{n_seen - n_validation} rows to train on, expected at least 1"
        )
    draws = [s.generator(Purpose.ROW_SUBSET).permutation(n_rows) for s in streams]
    seen = np.stack([draw[:n_seen] for draw in draws])
    train, validation = seen[:, n_validation:], seen[:, :n_validation]
    centre, scale = np.zeros((len(streams), 1)), np.ones((len(streams), 1))
    if spec.standardize:
        centre = targets[train].mean(axis=1, keepdims=True)
        scale = targets[train].std(axis=1, keepdims=True)
        scale[scale == 0] = 1.0
    dtype = getattr(torch, spec.dtype)
    data = RegressionData(
        torch.from_numpy(features).to(dtype),
        torch.from_numpy((targets - centre) / scale).to(dtype),
        torch.from_numpy(train),
        torch.from_numpy(validation),
    )
    network = StackedMLP((features.shape[1], *spec.hidden, 1), streams, dtype)
    regression = StackedRegression(
        network, data, streams, spec.learning_rate, spec.batch_size, spec.patience
    )
    layers = regression.fit(spec.max_epochs, tick).to_arrays()
    with torch_threads(1):
        # the last layer takes back the standardisation
        weight, bias = f"weight_{len(spec.hidden)}", f"bias_{len(spec.hidden)}"
        scale, centre = scale[:, None], centre[:, None]
        layers[weight] = (layers[weight] * scale).astype(layers[weight].dtype)
        layers[bias] = (layers[bias] * scale + centre).astype(layers[bias].dtype)
        with torch.no_grad():
            on_rows = StackedMLP.from_arrays(layers)(data.inputs)[..., 0].double()
    seconds = (time.process_time() - started) / len(streams)
    return {
        **layers,
        **scores_of_rows(targets, on_rows.numpy(), seen),
        "n_epochs": regression.best_epoch,
        "cpu_seconds": np.full(len(streams), seconds),
    }


_OUTPUTS_AT_ONCE = 2**20


class NetworkReward(ABC):
    """Log R as the output of each member's network over a temperature.

    It is a source of rewards for training (`of_states`), and a function of members and
    objects, as `solve_exact` takes it where a table would be too large.
    """

    def __init__(
        self, environment: Environment, network: StackedMLP, temperature: float
    ) -> None:
        self.environment = environment
        self.network = network.requires_grad_(False)
        self.temperature = temperature

    @property
    def n_members(self) -> int:
        """Number of rewards."""
        return self.network.n_members

    @abstractmethod
    def features_of_states(self, states: Tensor) -> Tensor:
        """Return what the networks see, (..., S) -> (..., F)."""

    @abstractmethod
    def features_of_objects(self, objects: Tensor) -> Tensor:
        """Return what the networks see, (...) -> (..., F)."""

    @torch.no_grad()
    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        return self.network(self.features_of_states(states))[..., 0] / self.temperature

    @torch.no_grad()
    def of_objects(self, objects: Tensor) -> Tensor:
        """Return log R of objects."""
        features = self.features_of_objects(objects)
        return self.network(features)[..., 0] / self.temperature

    def __call__(
        self,
        members: slice,
        objects: Tensor,  # shape: (m,)
    ) -> Tensor:  # shape: (e, m)
        """Return log R of some members and objects."""
        some = self.select(members)
        widest = max(bias.numel() for bias in some.network.biases)  # of all members
        chunks = objects.split(max(1, _OUTPUTS_AT_ONCE // widest))
        return torch.cat([some.of_objects(chunk) for chunk in chunks], dim=1)

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return the rewards of some members."""
        made = copy(self)
        made.network = self.network.select(rows).requires_grad_(False)
        return made

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        made = self.select(slice(None))
        made.network = made.network.to(device, dtype)
        return made
