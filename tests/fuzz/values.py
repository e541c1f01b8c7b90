"""Random tables, targets and compositions, sound ones and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

Generator = np.random.Generator
Table = NDArray[np.float64]


def one_of(rng: Generator, values: Any) -> Any:
    """Return one of a sequence, of whatever types."""
    return values[int(rng.integers(len(values)))]


_COLUMNS: tuple[Callable[[Generator, int], Table], ...] = (
    *[lambda rng, n: rng.normal(size=n)] * 4,
    *[lambda rng, n: rng.uniform(-1, 1, size=n)] * 2,
    lambda rng, n: rng.lognormal(size=n),
    lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    lambda rng, n: rng.standard_cauchy(size=n),
    lambda rng, n: np.full(n, rng.normal()),
    lambda rng, n: rng.integers(0, 2, size=n).astype(float),
    lambda rng, n: np.round(rng.gamma(0.5, size=n), 2),
)


def column(rng: Generator, n: int) -> Table:
    """Return one input of some distribution, unit and offset."""
    values = one_of(rng, _COLUMNS)(rng, n)
    if rng.random() < 0.15:
        values = values * 10.0 ** rng.uniform(-72, 72)
    if rng.random() < 0.1:
        values = values + 10.0 ** rng.uniform(0, 12)
    if rng.random() < 0.03:
        values[rng.integers(n)] = one_of(rng, [1e5, 1e12, -1e18, 1e60, 1e99])
    return values


def inputs(rng: Generator, n: int | None = None, d: int | None = None) -> Table:
    """Return a table of inputs, sometimes with equal or nearly equal columns."""
    n = int(one_of(rng, [2, 3, 4, 6, 9, 15, 20, 25, 30, 40])) if n is None else n
    d = int(one_of(rng, [1, 1, 2, 2, 2, 3, 3, 4])) if d is None else d
    X = np.stack([column(rng, n) for _ in range(d)], axis=1)
    if d > 1 and rng.random() < 0.06:
        X[:, 1] = X[:, 0] * (1 + one_of(rng, [0.0, 1e-12, 1e-6]))
    if n > 2 and rng.random() < 0.06:
        X[1:] = X[rng.integers(0, n, size=n - 1)]
    return X


def signal_of(rng: Generator, X: Table) -> Table:
    """Return a function of standardised inputs."""
    with np.errstate(all="ignore"):
        deviation = X.std(axis=0)
        t = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    t = np.nan_to_num(t)
    weights = rng.normal(size=X.shape[1])
    return t @ weights + rng.normal() * t[:, 0] * t[:, -1]


def targets(rng: Generator, X: Table, may_lack: bool = True) -> Table:
    """Return one or several targets, in some unit, sometimes constant or with gaps."""
    n_targets = int(one_of(rng, [0, 0, 0, 1, 2, 3]))
    noise = one_of(rng, [0.0, 0.1, 1.0, 1e-9])
    columns = [
        signal_of(rng, X) + noise * rng.normal(size=len(X))
        for _ in range(max(n_targets, 1))
    ]
    y = np.stack(columns, axis=1)
    if rng.random() < 0.1:
        y[:, 0] = rng.normal()
    if rng.random() < 0.1:
        y = np.round(y)
    if rng.random() < 0.15:
        y = y * 10.0 ** rng.uniform(-72, 72)
    if rng.random() < 0.1:
        y = y + 10.0 ** rng.uniform(0, 14)
    if may_lack and rng.random() < 0.1:
        y[rng.random(y.shape) < 0.2] = np.nan
    return y[:, 0] if n_targets == 0 else y


def compositions(rng: Generator, X: Table) -> tuple[Table, tuple[int, ...]]:
    """Return policies, the steps side by side, and the widths of the steps."""
    widths = tuple(int(w) for w in rng.integers(1, 5, size=rng.integers(1, 4)))
    blocks = []
    for width in widths:
        kind = int(rng.integers(4))
        if kind == 0:
            block = rng.dirichlet(
                np.full(width, one_of(rng, [0.05, 1.0, 30.0])), len(X)
            )
        elif kind == 1:
            block = np.full((len(X), width), 1.0 / width)
        else:
            logits = np.outer(signal_of(rng, X), rng.normal(size=width))
            logits = logits + 0.1 * rng.normal(size=logits.shape)
            logits *= one_of(rng, [0.1, 1.0, 10.0, 300.0])
            block = np.exp(logits - logits.max(axis=1, keepdims=True))
            block /= block.sum(axis=1, keepdims=True)
        if width > 1 and rng.random() < 0.1:
            block[:, 0] = 0.0
            block[:, 1] += block.sum(axis=1) == 0
            block /= block.sum(axis=1, keepdims=True)
        blocks.append(block)
    y = np.hstack(blocks)
    if rng.random() < 0.1:
        y = y * rng.uniform(0.5, 2.0, size=(len(X), 1))
    return y, widths


_WEIGHTS: tuple[Callable[[Generator, int], Any], ...] = (
    *[lambda rng, n: None] * 6,
    lambda rng, n: rng.integers(1, 4, size=n),
    lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, 1.0) + np.eye(n)[0],
    lambda rng, n: rng.dirichlet(np.ones(n)),
    lambda rng, n: rng.uniform(0, 1, size=n) * 10.0 ** rng.uniform(-20, 12) + 1e-3,
)


def weights(rng: Generator, n: int) -> Any:
    """Return frequencies of rows, most often none."""
    return one_of(rng, _WEIGHTS)(rng, n)


def container(rng: Generator, table: Table, prefix: str = "") -> Any:
    """Return the same numbers in another container or type."""
    kind = int(rng.integers(14))
    if kind == 0:
        return np.asfortranarray(table)
    if kind == 1:
        return table.tolist()
    if kind == 2 and np.abs(table[np.isfinite(table)]).max(initial=0) < 1e30:
        return table.astype(np.float32)
    if kind == 3:
        return table.astype(object)
    if kind == 4:
        return np.ma.array(table)
    if kind == 5 and table.ndim == 2:
        return pd.DataFrame(table).add_prefix(prefix)
    if kind == 6 and table.ndim == 2:
        return pd.DataFrame(table).add_prefix(prefix).astype("Float64")
    if kind == 7 and table.ndim == 2:
        return pd.DataFrame(table)
    if kind == 8 and table.ndim == 1:
        return pd.Series(table, name=prefix or None)
    if kind == 9:
        return np.repeat(table, 2, axis=0)[::2]
    return table


def _insert(value: float) -> Callable[[Generator, Table], Any]:
    def change(rng: Generator, table: Table) -> Any:
        changed = np.array(table, dtype=float)
        if changed.size:
            changed.flat[int(rng.integers(changed.size))] = value
        return changed

    return change


def _masked(rng: Generator, table: Table) -> Any:
    return np.ma.array(table, mask=rng.random(np.shape(table)) < 0.3)


#: What may be wrong with a table; each takes a generator and a sound one.
CORRUPTIONS: tuple[Callable[[Generator, Table], Any], ...] = (
    _insert(np.nan),
    _insert(np.inf),
    _insert(1e300),
    _insert(1e160),
    _insert(-1.0),
    _masked,
    lambda rng, t: None,
    lambda rng, t: "abc",
    lambda rng, t: [],
    lambda rng, t: object(),
    lambda rng, t: t + 1j,
    lambda rng, t: np.round(np.clip(t, -9, 9)).astype("datetime64[D]"),
    lambda rng, t: t.astype(str),
    lambda rng, t: np.full(np.shape(t), None),
    lambda rng, t: csr_array(np.reshape(t, (len(t), -1))),
    lambda rng, t: t[:-1],
    lambda rng, t: t[:0],
    lambda rng, t: t[..., np.newaxis],
    lambda rng, t: np.ravel(t),
    lambda rng, t: np.atleast_2d(t)[:, :-1],
    lambda rng, t: np.hstack([np.atleast_2d(t)] * 2),
    lambda rng, t: [*np.asarray(t).tolist()[:-1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]],
    lambda rng, t: pd.DataFrame({"a": pd.date_range("2026-01-01", periods=len(t))}),
    lambda rng, t: t * 1e250,
    lambda rng, t: t * 1e-250,
    lambda rng, t: np.zeros(np.shape(t)),
    lambda rng, t: t > 0,
    lambda rng, t: iter(np.asarray(t).tolist()),
)


def corrupted(rng: Generator, table: Table) -> Any:
    """Return a table with something wrong with it, most often."""
    with np.errstate(all="ignore"):
        return one_of(rng, CORRUPTIONS)(rng, np.asarray(table, dtype=float))


#: Values that hardly any parameter takes.
BAD_VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 1.5, -0.5, "abc", "", np.nan, np.inf, -np.inf, 1e-300),
    *([], (), {}, {"a": 1}, [None], ["a", "b"], object(), True, b"x"),
    *(np.array([1.0, 2.0]), np.array(3), np.float32(0.5), 1j),
    *(np.datetime64("2026-01-01"), [np.nan, 1.0], [-1, 2], [[1, 2], [3]]),
    *(stats.norm, stats.norm(0, 1), stats.cauchy(), lambda x: x, int, 10**6),
)
