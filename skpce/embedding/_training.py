"""Training of embeddings: checked inputs, held-out rows, early stopping, and torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    sizes = estimator.hidden_layer_sizes
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


def split_rows(
    n_samples: int, fraction: float | None, rng: np.random.RandomState
) -> tuple[IndexArray, IndexArray]:
    """Return the rows to train on and those held out; at least one of each."""
    if fraction is None:  # no row is held out
        return np.arange(n_samples), np.arange(0)
    n_held_out = min(max(1, round(fraction * n_samples)), n_samples - 1)
    order = rng.permutation(n_samples)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def batches(
    n_rows: int, batch_size: int, rng: np.random.RandomState
) -> Iterator[IndexArray]:
    """Yield the rows of the minibatches of one epoch; few rows are one batch."""
    if n_rows <= batch_size:
        yield np.arange(n_rows)
        return
    order = rng.permutation(n_rows)
    yield from np.array_split(order, math.ceil(n_rows / batch_size))


def descend(
    torch: Any,
    tensors: Sequence[Any],
    loss: Callable[[IndexArray], Any],  # of the rows of a minibatch
    held_out_loss: Callable[[], Any] | None,  # None without held-out rows
    copy: Callable[[], Any],  # returns a copy of the parameters as they are
    *,
    owner: str,
    n_rows: int,
    settings: Any,  # learning_rate, batch_size, max_epochs, patience
    rng: np.random.RandomState,
) -> BestEpoch:
    """Minimise by Adam; return the best epoch on the held-out rows, or the last."""
    optimizer = torch.optim.Adam(tensors, lr=settings.learning_rate, fused=True)
    best = BestEpoch(copy, settings.patience)

    def is_over(epoch: int) -> bool:
        if held_out_loss is None:
            return False
        with torch.no_grad():
            return best.is_over(epoch, float(held_out_loss()))

    is_over(0)
    for epoch in range(1, settings.max_epochs + 1):
        for rows in batches(n_rows, settings.batch_size, rng):
            value = loss(rows)
            if not math.isfinite(value.item()):
                raise ValueError(
                    f"the training of {owner} diverged: its loss is {value.item()}. "
                    "Lower learning_rate, or scale X."
                )
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        best.stopped_early = is_over(epoch)
        if best.stopped_early:
            break
    if best.parameters is None:
        best.epoch, best.parameters = settings.max_epochs, copy()
    return best


class BestEpoch:
    """The epoch of smallest loss on the held-out rows, and a copy of its parameters."""

    def __init__(self, copy: Callable[[], Any], patience: int) -> None:
        self._copy, self._patience = copy, patience
        self.loss, self.epoch = math.inf, 0
        self.parameters: Any = None
        self.stopped_early = False

    def is_over(self, epoch: int, loss: float) -> bool:
        """Record an epoch; return whether training stops."""
        if loss < self.loss:
            self.loss, self.epoch, self.parameters = loss, epoch, self._copy()
        return epoch - self.epoch >= self._patience


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
