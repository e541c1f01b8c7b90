"""Folds that depend on no random state and no order of rows, and their Q²."""

from __future__ import annotations

import numpy as np

from .._checks import FloatArray, IndexArray
from ._terms import mean_of

# Folds, and draws of the bootstrap of Q².
_FOLDS, _RESAMPLES = 5, 200


def deal_folds(
    order: IndexArray,  # shape: (n_units,), units as they are dealt
    unit: IndexArray,  # shape: (n_rows,), rows that stay together
    n_folds: int = _FOLDS,
    seed: int = 0,
) -> IndexArray:  # shape: (n_rows,)
    """Return the fold of each row.

    Units are sorted before they are dealt, so that each fold has some from all over,
    whatever the order of the rows.
    """
    n_units = len(order)
    folds = min(n_folds, n_units)
    generator = np.random.default_rng(seed + 1)
    dealt = [generator.permutation(folds) for _ in range(-(-n_units // folds))]
    fold = np.empty(n_units, dtype=np.int64)
    fold[order] = np.concatenate(dealt)[:n_units]
    return fold[unit]


def units_by_inputs(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    values: FloatArray,  # shape: (n_rows, n_coordinates)
    unit: IndexArray,  # shape: (n_rows,)
) -> IndexArray:  # shape: (n_units,)
    """Return units by how far their inputs lie from the middle.

    No output has a say in the folds of another one, but where inputs tie. Neither the
    unit nor the sign of an input matters, but where outputs tie as well.
    """
    along = _along(values, unit)
    if not X.shape[1]:
        return np.argsort(along, kind="stable")
    means = mean_of(X, unit)
    centred = means - means.mean(axis=0)
    size = np.sqrt(np.square(centred).mean(axis=0))
    standard = centred / np.where(size > 0, size, 1.0)
    squares = np.square(standard)
    keys = (
        standard @ np.sqrt(np.arange(1.0, 1.0 + X.shape[1])),
        (squares * standard).sum(axis=1),
        along,
        np.square(squares).sum(axis=1),
        squares.sum(axis=1),
    )
    return np.lexsort([key.round(9) for key in keys])


def sorted_units(values: FloatArray, unit: IndexArray) -> IndexArray:  # (n_units,)
    """Return units in the order of their outputs, along the direction of most variance.

    Each output counts alike, whatever its unit.
    """
    return np.argsort(_along(values, unit), kind="stable")


def _along(values: FloatArray, unit: IndexArray) -> FloatArray:  # shape: (n_units,)
    """Return coordinates along the direction of most variance; equal outputs tie."""
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.square(centred).mean(axis=0))
    means = mean_of(centred / np.where(scale > 0, scale, 1.0), unit)
    means = means - means.mean(axis=0)
    along = _direction(means)
    skewness = (along**3).sum()  # no order of the columns changes it
    if abs(skewness) <= 1e-9 * (np.abs(along) ** 3).sum():
        loadings = along @ means
        skewness = loadings[np.abs(loadings).round(9).argmax()]
    return np.asarray((along * np.sign(skewness)).round(9))


def _direction(values: FloatArray) -> FloatArray:  # shape: (n_units,)
    """Return the coordinates of rows in their direction of most variance."""
    if values.shape[1] <= len(values):
        return np.asarray(values @ np.linalg.eigh(values.T @ values)[1][:, -1])
    sizes, vectors = np.linalg.eigh(values @ values.T)
    return np.asarray(vectors[:, -1] * np.sqrt(max(sizes[-1], 0.0)))


def q2_with_interval(
    errors: FloatArray,  # shape: (n_rows, n_outputs), squared; NaN: never left out
    deviations: FloatArray,  # shape: (n_rows, n_outputs), squared, from the mean
    order: IndexArray,  # shape: (n_units,), as they were dealt
    unit: IndexArray,  # shape: (n_rows,)
) -> FloatArray:  # shape: (3, n_outputs)
    """Return Q² and the ends of its 90 % interval, by weights of the units.

    NaN for an output without variance.
    """
    known = ~np.isnan(errors).any(axis=1)
    n_units = len(order)
    error, deviation = (
        np.stack([np.bincount(unit[known], one, n_units) for one in table[known].T])
        for table in (errors, deviations)
    )  # shape: (n_outputs, n_units)
    draws = np.random.default_rng(0).dirichlet(np.ones(n_units), size=_RESAMPLES)
    weights = np.vstack([np.full(n_units, 1.0 / n_units), draws[:, np.argsort(order)]])
    whole = deviation @ weights.T
    q2 = 1.0 - (error @ weights.T) / np.where(whole > 0, whole, np.nan)
    low, high = np.quantile(q2[:, 1:], [0.05, 0.95], axis=1)
    middle = q2[:, 0]
    return np.stack([middle, np.minimum(low, middle), np.maximum(high, middle)])
