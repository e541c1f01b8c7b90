"""Reaction yields predicted by networks that each saw a part of the data."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from gflownet_envs.blocks import (
    Progress,
    Store,
    array_digest,
    block_ticker,
    json_values,
    load_or_run,
    split_into_blocks,
)
from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.random_streams import MemberStream, member_streams
from gflownet_envs.rewards.proxy_fit import ProxySpec, fit_on_own_rows, scores_of_rows

PAPER_PROXY = ProxySpec(
    batch_size=None,
    patience=None,
    standardize=False,
    learning_rate=1e-3,
    block_size=5,  # large batches of many members do not fit the cache
)
"""Full batch, 200 steps of Adam, raw percent: the paper leaves the batch open."""


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
        The epoch whose parameters were kept.
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
    spec = ProxySpec() if spec is None else spec
    table = _YieldTable.validated(rows, yields, all_combinations)
    numbers = tuple(int(member) for member in members)
    if len(numbers) == 0 or len(set(numbers)) < len(numbers):
        raise ValueError(f"members must be distinct and not empty, got {numbers}")
    blocks = split_into_blocks(len(numbers), spec.block_size)
    finished = []
    for i, block in enumerate(blocks):
        streams = member_streams(seed, numbers[block])
        tick = block_ticker(progress, i, len(blocks), spec.max_epochs)
        key = _block_key(table, spec, seed, numbers[block])
        run = partial(_train_block, table, spec, streams, tick)
        finished.append(load_or_run(store, key, run))
        tick(spec.max_epochs)
    return YieldProxies(
        **{name: np.concatenate([b[name] for b in finished]) for name in finished[0]}
    )


@dataclass(frozen=True, eq=False)
class _YieldTable:
    rows: np.ndarray  # shape: (n, n_components), int64
    yields: np.ndarray  # shape: (n,), float64
    all_combinations: np.ndarray  # shape: (n_objects, n_components), int64

    @classmethod
    def validated(
        cls, rows: ArrayLike, yields: ArrayLike, all_combinations: ArrayLike
    ) -> "_YieldTable":
        rows, combinations = np.asarray(rows), np.asarray(all_combinations)
        yields = np.asarray(yields, dtype=np.float64)
        for name, levels in (("rows", rows), ("all_combinations", combinations)):
            if levels.ndim != 2 or not np.issubdtype(levels.dtype, np.integer):
                raise ValueError(
                    f"{name} must be a two-dimensional array of integers, got shape "
                    f"{levels.shape} and type {levels.dtype}"
                )
        if yields.shape != (len(rows),) or rows.shape[1] != combinations.shape[1]:
            raise ValueError(
                "rows, yields and all_combinations must have shapes (n, c), (n,), "
                f"(n_objects, c), got {rows.shape}, {yields.shape}, "
                f"{combinations.shape}"
            )
        if not np.isfinite(yields).all():
            bad = int(np.flatnonzero(~np.isfinite(yields))[0])
            raise ValueError(f"yields must be finite, got {yields[bad]} in row {bad}")
        if rows.min() < 0 or (rows.max(axis=0) > combinations.max(axis=0)).any():
            raise ValueError(
                "rows must have levels between 0 and the largest of "
                f"all_combinations, {combinations.max(axis=0).tolist()}, got "
                f"{rows.min(axis=0).tolist()} to {rows.max(axis=0).tolist()}"
            )
        return cls(rows.astype(np.int64), yields, combinations.astype(np.int64))

    def one_hot(
        self,
        levels: np.ndarray,  # shape: (n, n_components)
    ) -> np.ndarray:  # shape: (n, n_levels)
        sizes = self.all_combinations.max(axis=0) + 1
        eyes = (np.eye(size)[levels[:, i]] for i, size in enumerate(sizes))
        return np.concatenate(list(eyes), axis=1)


def _block_key(
    table: _YieldTable, spec: ProxySpec, seed: int, members: tuple[int, ...]
) -> dict[str, Any]:
    """Return what a block's result depends on, in JSON values."""
    return {
        "kind": "yield proxies",
        "spec": json_values(asdict(spec)),
        "seed": int(seed),
        "members": list(members),
        "rows_sha256": array_digest(table.rows),
        "yields_sha256": array_digest(table.yields),
        "all_combinations_sha256": array_digest(table.all_combinations),
    }


def _train_block(
    table: _YieldTable,
    spec: ProxySpec,
    streams: list[MemberStream],
    tick: Callable[[int], None],
) -> dict[str, np.ndarray]:
    started = time.process_time()
    inputs = table.one_hot(table.rows)
    fit = fit_on_own_rows(inputs, table.yields, spec, streams, tick)
    objects = torch.from_numpy(table.one_hot(table.all_combinations))
    objects = objects.to(fit.inputs.dtype)
    on_rows = _predict(fit.network, fit.inputs) * fit.scale + fit.centre
    return {
        "predictions": _predict(fit.network, objects) * fit.scale + fit.centre,
        **scores_of_rows(table.yields, on_rows, fit.seen),
        "n_epochs": fit.n_epochs,
        "cpu_seconds": np.full(
            len(streams), (time.process_time() - started) / len(streams)
        ),
    }


@torch.no_grad()
def _predict(
    network: StackedMLP,
    inputs: torch.Tensor,  # shape: (n, F)
) -> np.ndarray:  # shape: (E, n), float64
    return network(inputs)[..., 0].to(torch.float64).numpy()
