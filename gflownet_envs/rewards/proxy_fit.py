"""Training of proxies: every member on its own random part of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.random_streams import MemberStream, Purpose
from gflownet_envs.rewards.proxy_network import RegressionData, StackedRegression
from gflownet_envs.threads import torch_threads

if TYPE_CHECKING:
    from gflownet_envs.rewards.yield_proxy import ProxySpec


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
