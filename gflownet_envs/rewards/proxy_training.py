"""Training of proxies: every member on its own random part of the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import require_at_least, require_field
from gflownet_envs.policies.networks import StackedMLP, torch_threads
from gflownet_envs.random_streams import MemberStream, Purpose


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

    @property
    def is_finished(self) -> bool:
        """Whether every member has stopped."""
        return len(self._active) == 0

    def _new_optimizer(self) -> torch.optim.Adam:
        parameters = self._network.parameters()
        return torch.optim.Adam(parameters, lr=self._learning_rate, fused=True)

    def result(self) -> StackedMLP:
        """Return the parameters of the best epochs, or the last without patience."""
        if self._patience is None:
            return self._network
        return StackedMLP.from_arrays(self._best_arrays)

    def train_epoch(self, epoch: int) -> None:
        """Go once over each member's rows, then judge by its validation rows."""
        for places in self._minibatches():
            rows = self._data.train_rows.gather(1, places)
            loss = self._mean(self._squared_error(rows), rows).sum()
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._optimizer.step()
        self._judge(epoch)

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


def _seen_rows(
    n_rows: int, spec: ProxySpec, streams: list[MemberStream]
) -> tuple[np.ndarray, int]:  # shape: (E, n_seen)
    """Draw each member's rows; the first few are for validation."""
    n_seen = round(spec.train_fraction * n_rows)
    n_validation = 0
    if spec.patience is not None:
        n_validation = max(1, round(spec.validation_fraction * n_seen))
    if n_seen - n_validation < 1:
        raise ValueError(
            f"train_fraction={spec.train_fraction} of {n_rows} rows leaves "
            f"{n_seen - n_validation} rows to train on, expected at least 1"
        )
    draws = [s.generator(Purpose.ROW_SUBSET).permutation(n_rows) for s in streams]
    return np.stack([draw[:n_seen] for draw in draws]), n_validation


def _target_scale(
    targets: np.ndarray, standardize: bool
) -> tuple[np.ndarray, np.ndarray]:  # shapes: targets (E, n_train) -> (E, 1), (E, 1)
    """Return the centre and scale of each member's targets; a scale of 0 becomes 1."""
    if not standardize:
        return np.zeros((len(targets), 1)), np.ones((len(targets), 1))
    scale = targets.std(axis=1, keepdims=True)
    return targets.mean(axis=1, keepdims=True), np.where(scale > 0, scale, 1.0)


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
    seen, n_validation = _seen_rows(len(features), spec, streams)
    train, validation = seen[:, n_validation:], seen[:, :n_validation]
    centre, scale = _target_scale(targets[train], spec.standardize)
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
    with torch_threads(1):
        for epoch in range(1, spec.max_epochs + 1):
            tick(epoch - 1)
            regression.train_epoch(epoch)
            if regression.is_finished:
                break
        layers = regression.result().to_arrays()
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
