"""Members that depend on their places in an order, and blocks of them.

Two tables may agree by their order alone: two random walks, two trends. What tells them
from an input that explains an output is the change from one member to the next: inputs
that explain nothing but their place do not explain how the outputs change.

Inputs that were chosen depend on their places too: grids, sorted tables, sequences of
low discrepancy. Unless an order is given, these are not asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc, rankdata

from .._checks import BoolArray, FloatArray, IndexArray

# Significance levels: a dependence on the order, and changes that inputs explain.
_LEVEL, _LEVEL_OF_CHANGES = 0.01, 0.01
# Standard scores from which inputs and outputs both depend on the rows a lag before,
# and below which a discrepancy is low.
_LARGE = 3.0
# Other orders that are drawn, and how many of them for long series.
_N_ORDERS, _N_ORDERS_LONG, _LONG = 999, 199, 300
# Largest distance of two members: that of chains of which all are saved in turn.
_LARGEST_LAG = 20
# A column with at most so many different values, as a share of the members, has levels.
_FEW_VALUES = 0.5
# So many times as often as the rarest value is the most frequent one of a factor.
_UNEVEN = 3.0
# Rows, and shuffles of them, by which a sequence of low discrepancy is known.
_MOST_ROWS, _N_SHUFFLED = 500, 49


@dataclass(frozen=True)
class Series:
    """Members that follow one another, in blocks that hardly depend on each other."""

    labels: IndexArray  # shape: (n_members,)
    words: str  # what was found


def find_series(
    tables: list[FloatArray],  # inputs as given, and as the last estimator has them
    outputs: FloatArray,  # shape: (n_members, n_coordinates), scaled
    residuals: FloatArray,  # shape: (n_members, n_coordinates), scaled alike
    order: Any,  # shape: (n_members,); None for that of the rows
) -> Series | None:
    """Return blocks where inputs and outputs agree by their order.

    An input that never falls, or never rises, may be what the rows were sorted by:
    their order has nothing that this input has not. One with few values, all of them
    about as often, is a factor of a design. Unless an order is given the others are
    asked, if there are any.
    """
    position = np.arange(len(outputs))
    if order is not None:
        position = np.argsort(np.asarray(order), kind="stable")
    observed, left = outputs[position], residuals[position]
    predicted, inputs = observed - left, tables[-1][position]
    asked = [inputs, predicted]  # of many inputs the predictions have those that matter
    if order is None:
        chosen = _sorted_by(tables[0]) | _is_factor(tables[0])
        others = tables[0][:, ~chosen]
        if chosen.any():
            inputs = others
            asked = [inputs]
    if not inputs.shape[1]:
        return None
    generator = np.random.default_rng(0)
    found = [_Dependence.of(values, generator) for values in asked]
    strongest = int(np.argmax([one.scores.max() for one in found]))
    of_inputs, inputs = found[strongest], asked[strongest]
    if min(one.p_value for one in found) > _LEVEL:
        return None
    if order is None and _of_low_discrepancy(others, generator):
        return None
    of_residuals = _Dependence.of(left, generator)
    of_outputs = _Dependence.of(observed, generator)
    if of_residuals.p_value <= _LEVEL:
        lag = of_residuals.lag
        words = (
            "members depend on those before them in the given order (correlation of "
            f"{_at(lag)} residuals {autocorrelation(left, lag):z.2f}, of inputs "
            f"{autocorrelation(inputs, lag):z.2f})"
        )
    else:
        lag = int(np.argmax(of_inputs.scores + of_outputs.scores)) + 1
        both = np.minimum(of_inputs.scores, of_outputs.scores) > _LARGE
        lags = {lag, *(np.flatnonzero(both) + 1).tolist()}
        if of_outputs.p_value > _LEVEL or all(
            _explains(_changes(predicted, k), _changes(observed, k), generator)
            for k in sorted(lags)
        ):
            return None
        words = (
            "inputs and outputs both depend on the given order (correlation of "
            f"{_at(lag)} outputs {autocorrelation(observed, lag):z.2f}, of inputs "
            f"{autocorrelation(inputs, lag):z.2f}), and the inputs do not explain how "
            "the outputs change along it"
        )
    length = _block_length(observed, inputs, lag)
    labels = np.empty(len(outputs), dtype=np.int64)
    n_blocks = max(len(outputs) // length, 1)
    for number, block in enumerate(np.array_split(position, n_blocks)):
        labels[block] = number
    return Series(labels, words)


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


def _block_length(outputs: FloatArray, inputs: FloatArray, lag: int) -> int:
    """Return thrice the distance up to which outputs and inputs both depend."""
    n_members = len(outputs)
    noise = 2.0 / np.sqrt(n_members)
    for distance in range(lag, n_members // 2, lag):
        pair = autocorrelation(outputs, distance), autocorrelation(inputs, distance)
        if min(pair) < noise:
            return 3 * distance
    return n_members
