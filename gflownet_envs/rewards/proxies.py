"""Proxies of a reward: a network over features for each member."""

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
