"""Transformers that are affine: their map, and its least-squares inverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import FloatArray
from ._reading import Inputs, read_inputs

# Departure from an affine map that is rounding, relative to the spread of the output.
_TOLERANCE = 1e-6

_LARGEST_TABLE = 2**22  # entries of a table of perturbed rows


@dataclass(frozen=True)
class AffineMap:
    """The map z = W (x - m) + b and the data on both sides of it."""

    matrix: FloatArray  # (n_outputs, n_features): W
    inputs: Inputs  # X as given
    outputs: FloatArray  # X after the transformers

    @cached_property
    def loading(self) -> FloatArray:  # shape: (n_features, n_outputs)
        """Coefficients A of least squares: x = m + A (z - mean) + rest."""
        X, Z = self.inputs.values, self.outputs
        scale = Z.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        standard = (Z - Z.mean(axis=0)) / scale
        solution = np.linalg.lstsq(standard, X - X.mean(axis=0), rcond=1e-10)[0]
        return solution.T / scale

    @property
    def residuals(self) -> FloatArray:  # shape: (n_samples, n_features)
        """Part of X that its image does not determine."""
        X, Z = self.inputs.values, self.outputs
        return X - X.mean(axis=0) - (Z - Z.mean(axis=0)) @ self.loading.T


def affine_map(steps: Sequence[tuple[str, Any]], X: Any) -> AffineMap:
    """Compose the steps; refuse one that is not affine on the rows of X."""
    first = inputs = read_inputs(X, smallest=3)
    table = X
    for name, step in steps:
        table, inputs = _checked_step(name, step, table, inputs)
    if steps:
        blocks = _slopes([step for _, step in steps], first)
        matrix = np.hstack([slopes.T for _, slopes in blocks])
    else:
        matrix = np.eye(first.values.shape[1])
    if len(first.values) < inputs.values.shape[1] + 2:
        raise ValueError(
            f"X has {len(first.values)} rows; {inputs.values.shape[1]} embedded inputs "
            f"need at least {inputs.values.shape[1] + 2}."
        )
    return AffineMap(matrix, first, inputs.values)


def _checked_step(
    name: str, step: Any, table: Any, inputs: Inputs
) -> tuple[Any, Inputs]:
    """Transform a table; refuse a step that is not affine on it."""
    X = inputs.values
    table = step.transform(table)
    try:
        outputs = read_inputs(table, smallest=1)
    except (TypeError, ValueError):
        raise _not_affine(
            name, step, "its output is not a finite numeric table"
        ) from None
    centred = X - X.mean(axis=0)
    mean = inputs.like(X.mean(axis=0, keepdims=True))
    base = np.asarray(step.transform(mean), dtype=np.float64)[0]
    expected = np.tile(base, (len(X), 1))
    for columns, slopes in _slopes([step], inputs):
        expected += centred[:, columns] @ slopes
    spread = np.abs(outputs.values - base).max(axis=0)
    rounding = _TOLERANCE * spread + 1e-12 * np.abs(outputs.values).max(axis=0)
    error = np.abs(outputs.values - expected).max(axis=0)
    if np.any(error > rounding):
        worst = float(np.max(error / np.maximum(spread, 1e-300)))
        raise _not_affine(
            name,
            step,
            f"on X it departs from an affine map by {worst:.2g} of its range",
        )
    return table, outputs


def _slopes(
    steps: list[Any], inputs: Inputs
) -> Iterator[tuple[slice, FloatArray]]:  # shapes: (n_columns, n_outputs)
    """Yield the slopes of the steps in each column, some columns at a time."""
    X = inputs.values
    n_features = X.shape[1]
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    size = max(1, _LARGEST_TABLE // n_features - 1)
    for start in range(0, n_features, size):
        columns = slice(start, min(start + size, n_features))
        moves = scale[columns]
        probes = np.tile(mean, (len(moves) + 1, 1))
        probes[np.arange(1, len(probes)), np.arange(start, columns.stop)] += moves
        moved = inputs.like(probes)
        for step in steps:
            moved = step.transform(moved)
        images = np.asarray(moved, dtype=np.float64)
        yield columns, (images[1:] - images[0]) / moves[:, np.newaxis]


def _not_affine(name: str, step: Any, why: str) -> ValueError:
    return ValueError(
        f"The step {name!r} ({type(step).__name__}) is not affine: {why}. Indices in "
        "the original space need affine steps (scaling, PCA, selection of columns). "
        "skpce.inspection.sobol_indices(pipeline, X) takes any pipeline."
    )
