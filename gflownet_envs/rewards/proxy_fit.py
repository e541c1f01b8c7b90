"""Training of proxies: every member on its own random part of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.random_streams import MemberStream, Purpose
from gflownet_envs.rewards.proxy_network import RegressionData, StackedRegression
from gflownet_envs.threads import torch_threads


@dataclass(frozen=True)
class ProxySpec:
    """How a yield proxy is trained; the same for every member.

    The default is minibatch training with early stopping: a part of the member's own
    rows is held out, and the parameters of the best epoch on it are kept. `PAPER_PROXY`
    is full-batch training for 200 steps, which underfits.

    Attributes
    ----------
    train_fraction : float, default=0.3
        Share of all rows that a member sees, drawn without replacement.
    batch_size : int or None, default=32
        None takes all training rows at once.
    max_epochs : int, default=200
    patience : int or None, default=15
        Epochs without a better validation loss before a member stops; None trains for
        `max_epochs` and keeps the last parameters.
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
        self._require(0 < self.train_fraction <= 1, "train_fraction", "in (0, 1]")
        ok = 0 < self.validation_fraction < 1
        self._require(ok, "validation_fraction", "in (0, 1)")
        self._require(self.learning_rate > 0, "learning_rate", "positive")
        for name in ("max_epochs", "block_size"):
            self._require(getattr(self, name) >= 1, name, "at least 1")
        for name in ("batch_size", "patience"):
            value = getattr(self, name)
            self._require(value is None or value >= 1, name, "None or at least 1")
        ok = self.dtype in ("float32", "float64")
        self._require(ok, "dtype", "'float32' or 'float64'")
        ok = all(width >= 1 for width in self.hidden)
        self._require(ok, "hidden", "a tuple of positive widths")

    def _require(self, condition: bool, name: str, expected: str) -> None:
        if not condition:
            raise ValueError(f"{name} must be {expected}, got {getattr(self, name)!r}")


@dataclass(frozen=True, eq=False)
class ProxyFit:
    """Networks fitted to standardised targets, one a member.

    Attributes
    ----------
    network : StackedMLP
        As it was in the best epoch.
    inputs : Tensor of shape (n, F)
    seen : ndarray of shape (E, n_seen), int
        The rows that each member saw, those of validation included.
    centre, scale : ndarray of shape (E, 1)
        Targets are ``scale * output + centre``.
    n_epochs : ndarray of shape (E,)
        Epochs that were kept.
    """

    network: StackedMLP
    inputs: Tensor
    seen: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    n_epochs: np.ndarray


def fit_on_own_rows(
    features: np.ndarray,  # shape: (n, F)
    targets: np.ndarray,  # shape: (n,)
    spec: ProxySpec,
    streams: list[MemberStream],
    tick: Callable[[int], None],
) -> ProxyFit:
    """Train the members of a block; which rows each one sees is its stream's.

    Raises
    ------
    ValueError
        If `spec` leaves no row to train on.
    """
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
    return ProxyFit(
        regression.result(), data.inputs, seen, centre, scale, regression.best_epoch
    )


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
    targets: np.ndarray,  # shape: (E, n_train)
    standardize: bool,
) -> tuple[np.ndarray, np.ndarray]:  # shapes: (E, 1), (E, 1)
    """Return the centre and scale of each member's targets; a scale of 0 becomes 1."""
    if not standardize:
        return np.zeros((len(targets), 1)), np.ones((len(targets), 1))
    scale = targets.std(axis=1, keepdims=True)
    return targets.mean(axis=1, keepdims=True), np.where(scale > 0, scale, 1.0)


def scores_of_rows(
    targets: np.ndarray,  # shape: (n,)
    predicted: np.ndarray,  # shape: (E, n)
    seen: np.ndarray,  # shape: (E, n_seen)
) -> dict[str, np.ndarray]:
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
