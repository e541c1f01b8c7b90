"""Proxies of a reward: predicted yields, and networks over features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import ArrayLike

from gflownet_envs.block_store import (
    Progress,
    Store,
    array_digest,
    block_ticker,
    json_values,
    load_or_run,
    split_into_blocks,
)
from gflownet_envs.policies.networks import StackedMLP, torch_threads
from gflownet_envs.random_streams import member_streams
from gflownet_envs.rewards.proxy_training import (
    ProxySpec,
    distinct_numbers,
    train_block,
)
from gflownet_envs.rewards.source import one_hot_levels

_VALUES_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class YieldProxies:
    """Predicted yields of every member, and how good they are.

    Attributes
    ----------
    predictions : ndarray of shape (E, n_objects)
        In percent, not clipped.
    r2_held_out, mse_held_out : ndarray of shape (E,)
        On the rows that the member never saw; NaN where there are none.
    mse_all : ndarray of shape (E,)
        On all rows.
    n_epochs : ndarray of shape (E,)
        The epoch whose parameters were retained.
    cpu_seconds : ndarray of shape (E,)
    """

    predictions: np.ndarray
    r2_held_out: np.ndarray
    mse_held_out: np.ndarray
    mse_all: np.ndarray
    n_epochs: np.ndarray
    cpu_seconds: np.ndarray


def yield_log_reward(
    predictions: ArrayLike,  # shape: (E, n_objects)
    temperature: float = 4.0,
) -> np.ndarray:  # shape: (E, n_objects), float64
    """Return log R = predicted yield in percent / temperature.

    Examples
    --------
    >>> yield_log_reward([[0.0, 50.0, 100.0]])
    array([[ 0. , 12.5, 25. ]])
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return np.asarray(predictions, dtype=np.float64) / temperature


def train_yield_proxies(
    rows: ArrayLike,  # shape: (n, n_components), int
    yields: ArrayLike,  # shape: (n,)
    all_combinations: ArrayLike,  # shape: (n_objects, n_components), int
    spec: ProxySpec | None = None,
    *,
    members: Sequence[int],
    seed: int = 0,
    progress: Progress | None = None,
    store: Store | None = None,
) -> YieldProxies:
    """Train one network a member on its own random part of the rows.

    Inputs are one-hot levels of all components. Which rows a member sees, its initial
    parameters and its minibatches come from its own random stream.

    Parameters
    ----------
    rows : array of int of shape (n, n_components)
        The levels of the measured combinations.
    yields : array of shape (n,)
        In percent.
    all_combinations : array of int of shape (n_objects, n_components)
        The combinations to predict, in the order of the reward table; their largest
        entries give the numbers of levels.
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
    YieldProxies

    Examples
    --------
    >>> all_combinations = np.indices((2, 3)).reshape(2, -1).T
    >>> rows, yields = np.tile(all_combinations, (9, 1)), np.tile(np.arange(6), 9) * 10
    >>> proxies = train_yield_proxies(
    ...     rows, yields, all_combinations, ProxySpec(max_epochs=2), members=range(3)
    ... )
    >>> proxies.predictions.shape
    (3, 6)
    """
    measured, targets, combinations = _checked_yields(rows, yields, all_combinations)
    sizes = combinations.max(axis=0) + 1
    proxies = train_feature_proxies(
        one_hot_levels(measured, sizes),
        targets,
        spec,
        members=members,
        seed=seed,
        progress=progress,
        store=store,
    )
    return YieldProxies(
        proxies.predict(one_hot_levels(combinations, sizes)),
        **{name: getattr(proxies, name) for name in _SCORES},
    )


def _checked_yields(
    rows: ArrayLike, yields: ArrayLike, all_combinations: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # shapes: -> (n, n_components), int64; (n,); (n_objects, n_components), int64
    levels, combinations = np.asarray(rows), np.asarray(all_combinations)
    targets = np.asarray(yields, dtype=np.float64)
    for name, values in (("rows", levels), ("all_combinations", combinations)):
        if values.ndim != 2 or not np.issubdtype(values.dtype, np.integer):
            raise ValueError(
                f"{name} must be a two-dimensional array of integers, got shape "
                f"{values.shape} and type {values.dtype}"
            )
    if targets.shape != (len(levels),) or levels.shape[1] != combinations.shape[1]:
        raise ValueError(
            "rows, yields and all_combinations must have shapes (n, c), (n,), "
            f"(n_objects, c), got {levels.shape}, {targets.shape}, "
            f"{combinations.shape}"
        )
    if not np.isfinite(targets).all():
        bad = int(np.flatnonzero(~np.isfinite(targets))[0])
        raise ValueError(f"yields must be finite, got {targets[bad]} in row {bad}")
    return levels.astype(np.int64), targets, combinations.astype(np.int64)


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

    The training is that of `train_yield_proxies`, the inputs are any numbers, and the
    networks are stored, for objects too many to predict at once.

    Parameters
    ----------
    features : array of shape (n, F)
        Standardised or 0 and 1: they are used as they are.
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
