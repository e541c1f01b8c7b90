"""Members that depend on their places in the order of the rows.

Two tables may agree by their order alone: two random walks, two trends. What tells them
from an input that explains an output is the change from one member to the next: inputs
that explain nothing but their place do not explain how the outputs change.

Inputs that were chosen depend on their places too: grids, sorted tables, sequences of
low discrepancy. These are not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc, rankdata

from .._checks import BoolArray, FloatArray
from .._input_laws import InputLaw
from ._terms import Inputs, fit_others

# Significance levels: a dependence on the order, and changes that inputs explain.
_LEVEL, _LEVEL_OF_CHANGES = 0.01, 0.01
# Standard scores from which inputs and outputs both depend on the rows a lag before,
# and below which a discrepancy is low.
_LARGE = 3.0
# Other orders that are drawn, and how many of them for long series.
_N_ORDERS, _N_ORDERS_LONG, _LONG = 399, 199, 300
# Largest distance of two members: that of chains of which all are saved in turn.
_LARGEST_LAG = 20
# A column with at most so many different values, as a share of the members, has levels.
_FEW_VALUES = 0.5
# So many times as often as the rarest value is the most frequent one of a factor.
_UNEVEN = 3.0
# Rows from which an order is looked at.
_FEWEST_ROWS = 20
# Directions of the outputs that are looked at.
_MOST_COLUMNS = 12
# Rows, and shuffles of them, by which a sequence of low discrepancy is known.
_MOST_ROWS, _N_SHUFFLED = 500, 49


def find_series(
    X: FloatArray,  # shape: (n_rows, n_inputs), numbers
    is_category: BoolArray,  # shape: (n_inputs,)
    laws: Sequence[InputLaw] | None,
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
) -> str:
    """Say how inputs and outputs agree by the order of the rows; "" if they do not.

    An input that never falls, or never rises, may be what the rows were sorted by:
    their order has nothing that this input has not. One with few values is a factor
    of a design. The others are asked, if there are any.
    """
    if not X.shape[1]:
        return ""
    rows = ~np.isnan(coordinates).any(axis=1)
    X, outputs = X[rows], _few_columns(coordinates[rows])
    asked = X[:, ~(_sorted_by(X) | _is_factor(X) | is_category)]
    if not asked.shape[1] or len(X) < _FEWEST_ROWS or not outputs.any():
        return ""
    generator = np.random.default_rng(0)
    asked = (asked - asked.mean(axis=0)) / asked.std(axis=0)
    first = [_Dependence.of(values, generator) for values in (asked, outputs)]
    if min(one.p_value for one in first) > _LEVEL:
        return ""
    if _of_low_discrepancy(asked, generator):
        return ""
    inputs = Inputs.of(X, is_category, laws)
    one = np.zeros(outputs.shape[1], dtype=np.int64)
    residuals = fit_others(inputs, np.arange(X.shape[1]), outputs, one).residuals
    tables = [asked, outputs - residuals]
    if asked.shape[1] < X.shape[1]:  # predictions depend on inputs that are not asked
        tables = [asked]
    return _in_words(tables, outputs, residuals, generator)


def _few_columns(coordinates: FloatArray) -> FloatArray:
    """Return outputs, each as large, in their directions of most variance."""
    centred = coordinates - coordinates.mean(axis=0)
    size = np.sqrt(np.square(centred).mean(axis=0))
    scaled = centred[:, size > 0] / size[size > 0]
    if scaled.shape[1] <= _MOST_COLUMNS:
        return np.asarray(scaled)
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    chosen = vectors[:, -_MOST_COLUMNS:] * np.sqrt(values[-_MOST_COLUMNS:].clip(0))
    return np.asarray(chosen)


def _in_words(
    tables: Sequence[FloatArray],  # inputs, and what they predict
    outputs: FloatArray,
    residuals: FloatArray,
    generator: np.random.Generator,
) -> str:
    found = [_Dependence.of(values, generator) for values in tables]
    strongest = int(np.argmax([one.scores.max() for one in found]))
    of_inputs, table = found[strongest], tables[strongest]
    if min(one.p_value for one in found) > _LEVEL:
        return ""
    of_residuals = _Dependence.of(residuals, generator)
    of_outputs = _Dependence.of(outputs, generator)
    lag, predicted = of_residuals.lag, outputs - residuals
    if of_residuals.p_value > _LEVEL:
        lag = int(np.argmax(of_inputs.scores + of_outputs.scores)) + 1
        both = np.minimum(of_inputs.scores, of_outputs.scores) > _LARGE
        lags = {lag, *(np.flatnonzero(both) + 1).tolist()}
        if of_outputs.p_value > _LEVEL or all(
            _explains(_changes(predicted, k), _changes(outputs, k), generator)
            for k in sorted(lags)
        ):
            return ""
    return (
        "runs depend on those before them in the order of the rows (correlation of "
        f"{_at(lag)} outputs {autocorrelation(outputs, lag):z.2f}, of inputs "
        f"{autocorrelation(table, lag):z.2f})"
    )


def _sorted_by(values: FloatArray) -> BoolArray:  # shapes: (n, d) -> (d,)
    """Return which columns never fall, or never rise."""
    steps = np.diff(values, axis=0)
    return np.asarray((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0))


def _is_factor(values: FloatArray) -> BoolArray:  # shapes: (n, d) -> (d,)
    """Return which columns have few values, each of them about as often.

    A walk of whole numbers has few too, but those at its ends are rare.
    """
    found = has_few_values(values)
    for i in np.flatnonzero(found):
        counts = np.unique(values[:, i], return_counts=True)[1]
        found[i] = counts.max() <= _UNEVEN * counts.min()
    return found


def has_few_values(values: FloatArray) -> BoolArray:  # shapes: (n, d) -> (d,)
    """Return which columns repeat most of their values, as factors of a design do."""
    distinct = 1 + (np.diff(np.sort(values, axis=0), axis=0) > 0).sum(axis=0)
    return np.asarray(distinct <= _FEW_VALUES * len(values))


def _of_low_discrepancy(values: FloatArray, generator: np.random.Generator) -> bool:
    """Whether rows and their places fill space more evenly than shuffled columns do.

    Those of Sobol and Halton sequences do, those of a series leave most of it empty.
    """
    values = values[:_MOST_ROWS]
    if values.shape[1] >= len(values):
        return False
    ranks = rankdata(np.column_stack([np.arange(len(values)), values]), axis=0)
    points = (ranks - 0.5) / len(values)
    shuffled = (generator.permuted(points, axis=0) for _ in range(_N_SHUFFLED))
    given, *others = (
        np.log(qmc.discrepancy(table, method="MD")) for table in (points, *shuffled)
    )
    return bool(given < np.mean(others) - _LARGE * np.std(others))


def _at(lag: int) -> str:
    return "consecutive" if lag == 1 else f"every {lag}th row's"


def autocorrelation(values: FloatArray, lag: int) -> float:
    """Return the correlation of rows that are a lag apart, over all columns."""
    total = np.square(values).sum()
    return float((values[lag:] * values[:-lag]).sum() / total) if total > 0 else 0.0


@dataclass(frozen=True)
class _Dependence:
    """How rows depend on those some places before them, beside other orders."""

    scores: FloatArray  # shape: (n_lags,), standard scores
    p_value: float

    @property
    def lag(self) -> int:
        """The lag of the strongest dependence."""
        return int(np.argmax(self.scores)) + 1

    @classmethod
    def of(cls, values: FloatArray, generator: np.random.Generator) -> _Dependence:
        """Compare the largest score of all lags with those of other orders."""
        n_rows = len(values)
        n_lags = max(min(_LARGEST_LAG, n_rows // 4), 1)
        gram = values @ values.T
        if not np.trace(gram) > 0:
            return cls(np.zeros(n_lags), 1.0)
        n_orders = _N_ORDERS if n_rows <= _LONG else _N_ORDERS_LONG
        orders = np.array(
            [
                np.arange(n_rows),
                *(generator.permutation(n_rows) for _ in range(n_orders)),
            ]
        )
        sums = np.array(
            [
                gram[orders[:, lag:], orders[:, :-lag]].sum(axis=1)
                for lag in range(1, n_lags + 1)
            ]
        )
        spread = sums.std(axis=1, keepdims=True)
        scores = (sums - sums.mean(axis=1, keepdims=True)) / np.where(
            spread > 0, spread, 1.0
        )
        largest = scores.max(axis=0)
        return cls(scores[:, 0], float(np.mean(largest >= largest[0])))


def _changes(values: FloatArray, lag: int) -> FloatArray:
    """Return the differences of rows that are a lag apart, about their mean."""
    found = values[lag:] - values[:-lag]
    return np.asarray(found - found.mean(axis=0))


def _explains(
    predicted: FloatArray,  # shape: (n_changes, n_coordinates)
    observed: FloatArray,
    generator: np.random.Generator,
) -> bool:
    """Test whether predicted changes go with those that were observed."""
    gram = observed @ predicted.T
    rows = np.arange(len(gram))
    given = np.trace(gram)
    orders = (generator.permutation(rows) for _ in range(_N_ORDERS_LONG))
    others = np.array([gram[rows, order].sum() for order in orders])
    p_value = (1 + np.sum(others >= given)) / (1 + len(others))
    return bool(p_value <= _LEVEL_OF_CHANGES)
