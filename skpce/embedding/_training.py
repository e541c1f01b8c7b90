"""What embeddings share: checked inputs, held-out rows, early stopping, and torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_real,
    refuse_memory,
    validated_array,
)


def check_training_parameters(estimator: Any) -> None:
    """Raise ``ValueError`` for a bad parameter of the training."""
    owner = type(estimator).__name__
    for name in ("n_components", "max_epochs", "batch_size", "patience"):
        check_integer(owner, name, getattr(estimator, name), low=1)
    check_real(owner, "learning_rate", estimator.learning_rate, low=0)
    fraction = estimator.validation_fraction
    if fraction is not None:
        check_real(owner, "validation_fraction", fraction, low=0, high=1)
    sizes: Any = estimator.hidden_layer_sizes
    if not isinstance(sizes, (tuple, list)):
        raise ValueError(
            f"The 'hidden_layer_sizes' parameter of {owner} must be a tuple of "
            f"positive ints. Got {sizes!r} instead."
        )
    for size in sizes:
        check_integer(owner, "hidden_layer_sizes", size, low=1)
    widest = max([2 * estimator.n_components, *sizes])
    what = f"n_components={estimator.n_components} and hidden_layer_sizes={sizes}"
    refuse_memory(owner, 8.0 * widest**2, what)


def descend(
    estimator: Any,  # with the parameters of the training
    torch: Any,
    tensors: Sequence[Any],
    loss: Callable[[IndexArray], Any],  # of the rows of a minibatch
    held_out_loss: Callable[[], Any] | None,  # None without held-out rows
    copy: Callable[[], Any],  # returns a copy of the parameters as they are
    n_rows: int,
    rng: np.random.RandomState,
) -> BestEpoch:
    """Minimise by Adam; return the best epoch on the held-out rows, or the last."""
    optimizer = torch.optim.Adam(tensors, lr=estimator.learning_rate, fused=True)
    best, stopped_early = BestEpoch(None, 0, math.inf), False
    for epoch in range(estimator.max_epochs + 1):
        for rows in batches(n_rows, estimator.batch_size, rng) if epoch else ():
            value = loss(rows)
            if not math.isfinite(value.item()):
                raise ValueError(
                    f"the training of {type(estimator).__name__} diverged: its loss is "
                    f"{value.item()}. Lower learning_rate, or scale X."
                )
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        if held_out_loss is None:
            continue
        with torch.no_grad():
            assessed = float(held_out_loss())
        if assessed < best.loss:
            best = BestEpoch(copy(), epoch, assessed)
        stopped_early = epoch - best.epoch >= estimator.patience
        if stopped_early:
            break
    if best.parameters is None:
        best = BestEpoch(copy(), estimator.max_epochs, math.inf)
    estimator.n_epochs_ = best.epoch
    estimator.stopped_early_ = stopped_early
    return best


def batches(n_rows: int, size: int, rng: np.random.RandomState) -> list[IndexArray]:
    """Return the rows of the minibatches of one epoch; few rows are one batch."""
    if n_rows <= size:
        return [np.arange(n_rows)]
    return np.array_split(rng.permutation(n_rows), math.ceil(n_rows / size))


@dataclass(frozen=True)
class BestEpoch:
    """The epoch of smallest loss on the held-out rows, and a copy of its parameters."""

    parameters: Any
    epoch: int
    loss: float


def split_rows(
    n_samples: int, fraction: float | None, rng: np.random.RandomState
) -> tuple[IndexArray, IndexArray]:
    """Return the rows to train on and those held out; at least one of each."""
    if fraction is None:  # no row is held out
        return np.arange(n_samples), np.arange(0)
    n_held_out = min(max(1, round(fraction * n_samples)), n_samples - 1)
    order = rng.permutation(n_samples)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def explained_share(X: FloatArray, predicted: FloatArray, mean: FloatArray) -> float:
    """Return R² over all entries; NaN where X does not vary."""
    total = np.square(X - mean).sum()
    if total == 0:
        return math.nan
    return float(1 - np.square(X - predicted).sum() / total)


def checked_inputs(embedding: Any, Z: ArrayLike) -> FloatArray:
    """Return finite inputs of the width that an embedding gives."""
    values = validated_array(Z, "Z")
    expected = embedding._n_features_out
    if values.shape[1] != expected:
        raise ValueError(
            f"Z has {values.shape[1]} columns, but {type(embedding).__name__} is "
            f"expecting {expected}, one per component."
        )
    return values


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Use one torch thread inside; the matrices here are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
