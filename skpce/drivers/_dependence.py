"""Members that depend on one another, where nobody has said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import BoolArray, FloatArray
from ._copies import labels_of_copies
from ._design import Design
from ._series import find_series
from ._terms import Inputs, fit_others

# Most members of which series are asked, and coordinates.
_MOST_MEMBERS, _MOST_COORDINATES = 2000, 200

# Share of the rows with settings of their own, from which on a series is asked.
_MOSTLY_DIFFERENT = 0.7


def find_dependence(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    is_category: BoolArray,
    laws: Sequence[Any] | None,
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
    design: Design,
) -> tuple[Design, int]:
    """Return the design with near-copies as repeats, and what is found of a series.

    Also the number of runs that are near-copies of others. Nothing is asked where
    groups, or an order, say which members belong together.
    """
    complete = ~np.isnan(coordinates).any(axis=1)
    is_asked = design.groups is None and design.order is None
    if not is_asked or complete.sum() < 12 or not X.size > 0 or not coordinates.size:
        return design, 0
    values = coordinates[complete]
    inputs, outputs = _scaled(X[complete]), _scaled(values)
    if not inputs.shape[1] or not outputs.shape[1]:
        return design, 0
    n_copies = 0
    if not design.has_repeats and complete.all():
        labels = labels_of_copies([inputs], outputs)
        if labels is not None:
            design = replace(design, setting=labels)
            n_copies = int(len(labels) - labels.max() - 1)
    too_many = len(values) > _MOST_MEMBERS or values.shape[1] > _MOST_COORDINATES
    repeats = design.n_settings < _MOSTLY_DIFFERENT * design.n_rows
    if design.is_shuffled or repeats or too_many:
        return design, n_copies
    read = Inputs.of(X[complete], is_category, laws)
    one = np.zeros(outputs.shape[1], dtype=np.int64)
    left = fit_others(read, np.arange(X.shape[1]), outputs, one).residuals
    series = find_series([inputs], outputs, left, None)
    if series is None:
        return design, n_copies
    return replace(design, series=series.words), n_copies


def _scaled(values: FloatArray) -> FloatArray:
    """Return the columns that vary, of mean 0 and variance 1."""
    deviation = values.std(axis=0)
    varies = np.ptp(values, axis=0) > 0
    centred = values[:, varies] - values[:, varies].mean(axis=0)
    return np.asarray(centred / deviation[varies])


# Squared correlation from which an input has all that there is in an output.
_COPY = 1.0 - 1e-5


def copied_input(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
) -> int | None:
    """Return an input that is a linear function of the outputs; None for none."""
    has = ~np.isnan(coordinates).any(axis=1)
    if has.sum() < 3 or not X.size or not coordinates.size:
        return None
    shares = _linear_shares(X[has], coordinates[has])
    return int(shares.argmax()) if shares.max() >= _COPY else None


def _linear_shares(inputs: FloatArray, table: FloatArray) -> FloatArray:
    """Return the share of each input that a linear function of the columns explains.

    So many columns that they explain anything are asked one by one.
    """
    centred = [values - values.mean(axis=0) for values in (inputs, table)]
    size = np.square(centred[0]).sum(axis=0)
    if 4 * table.shape[1] > len(table):
        sizes = np.square(centred[1]).sum(axis=0)
        products = np.square(centred[0].T @ centred[1])
        shares = np.divide(products, sizes, np.zeros_like(products), where=sizes > 0)
        explained = shares.max(axis=1, initial=0.0)
    else:
        left, values, _ = np.linalg.svd(centred[1], full_matrices=False)
        left = left[:, values > 1e-9 * values.max(initial=0.0)]
        explained = np.square(centred[0].T @ left).sum(axis=1)
    return np.asarray(np.divide(explained, size, np.zeros_like(size), where=size > 0))
