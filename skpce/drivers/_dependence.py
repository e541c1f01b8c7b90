"""Members that depend on one another, where nobody has said so: copies and series.

*Copies* are rows whose inputs differ by a thousandth, or less, of the distance from a
typical row to its tenth neighbour, as by rounding.

A *series* is a set of members that depend on their places in the order of the rows.
Two tables may agree by their order alone: two random walks, two trends. What tells them
from an input that explains an output is the change from one member to the next: inputs
that explain nothing but their place do not explain how the outputs change.

Inputs that were chosen depend on their places too: grids, sorted tables, sequences of
low discrepancy. These are not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.stats import qmc, rankdata
from sklearn.neighbors import NearestNeighbors

from .._checks import BoolArray, FloatArray
from .._input_laws.families import InputLaw
from ._design import Design, directions_of, levels_of, standardized
from ._exchange import Inputs, fit_others

# Series


# Significance levels: a dependence on the order, and changes that inputs explain.
_LEVEL, _LEVEL_OF_CHANGES = 0.01, 0.01
# Standard scores from which inputs and outputs both depend on the rows a lag before,
# and below which a discrepancy is low.
_LARGE = 3.0
# Other orders that are drawn, and how many of them for long series; rows of very long
# ones that are looked at.
_N_ORDERS, _N_ORDERS_LONG, _LONG, _VERY_LONG = 399, 199, 300, 4000
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
    rows = ~np.isnan(coordinates).any(axis=1)
    if not X.shape[1] or rows.sum() < _FEWEST_ROWS:
        return ""
    X, outputs = X[rows], _scaled(coordinates[rows])
    if outputs.shape[1] > _MOST_COLUMNS:  # then in their directions of most variance
        outputs = directions_of(outputs)[:, :_MOST_COLUMNS]
    asked = X[:, ~(_sorted_by(X) | _is_factor(X) | is_category)]
    if not asked.shape[1] or not outputs.any():
        return ""
    generator = np.random.default_rng(0)
    asked = standardized(asked)
    of_asked = _Dependence.of(asked, generator)
    if min(of_asked.p_value, _Dependence.of(outputs, generator).p_value) > _LEVEL:
        return ""
    if _of_low_discrepancy(asked, generator):
        return ""
    inputs = Inputs.of(X, is_category, laws)
    one = np.zeros(outputs.shape[1], dtype=np.int64)
    residuals = fit_others(inputs, np.arange(X.shape[1]), outputs, one).residuals
    tables = [asked]  # and what inputs predict, if all of them are asked
    if asked.shape[1] == X.shape[1]:
        tables.append(outputs - residuals)
    found = [_Dependence.of(values, generator) for values in tables]
    strongest = int(np.argmax([one.scores.max() for one in found]))
    if min(one.p_value for one in found) > _LEVEL:
        return ""
    of_residuals = _Dependence.of(residuals, generator)
    of_outputs = _Dependence.of(outputs, generator)
    lag = int(np.argmax(of_residuals.scores)) + 1
    if of_residuals.p_value > _LEVEL:
        scores = found[strongest].scores, of_outputs.scores
        lag = int(np.argmax(np.sum(scores, axis=0))) + 1
        lags = {lag, *(np.flatnonzero(np.min(scores, axis=0) > _LARGE) + 1).tolist()}
        changes = outputs - residuals, outputs, generator
        if of_outputs.p_value > _LEVEL or all(
            _explains_changes(k, *changes) for k in sorted(lags)
        ):
            return ""
    at = "consecutive outputs" if lag == 1 else f"outputs {lag} rows apart"
    both = outputs, tables[strongest]
    alike = [autocorrelation(values, lag) for values in both]
    words = (
        "runs depend on those before them in the order of the rows (correlation of "
        f"{at} {alike[0]:z.2f}, of inputs {alike[1]:z.2f})"
    )
    if _sorted_by(coordinates[rows]).any():
        return f"the rows are sorted by an output, so that {words}"
    return words


def _sorted_by(values: FloatArray) -> BoolArray:  # shapes: (n, d) -> (d,)
    """Return which columns never fall, or never rise."""
    steps = np.diff(values, axis=0)
    return np.asarray((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0))


def _is_factor(values: FloatArray) -> BoolArray:  # shapes: (n, d) -> (d,)
    """Return which columns have few values, each of them about as often.

    A walk of whole numbers has few too, but those at its ends are rare.
    """
    found = levels_of(values) <= _FEW_VALUES * len(values)
    for i in np.flatnonzero(found):
        counts = np.unique(values[:, i], return_counts=True)[1]
        found[i] = counts.max() <= _UNEVEN * counts.min()
    return np.asarray(found)


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


def autocorrelation(values: FloatArray, lag: int) -> float:
    """Return the correlation of rows that are a lag apart, over all columns."""
    total = np.square(values).sum()
    return float((values[lag:] * values[:-lag]).sum() / total) if total > 0 else 0.0


@dataclass(frozen=True)
class _Dependence:
    """How rows depend on those some places before them, beside other orders."""

    scores: FloatArray  # shape: (n_lags,), standard scores
    p_value: float

    @classmethod
    def of(cls, values: FloatArray, generator: np.random.Generator) -> _Dependence:
        """Compare the largest score of all lags with those of other orders.

        Of a very long series by its first rows.
        """
        values = values[:_VERY_LONG]
        n_rows = len(values)
        n_lags = max(min(_LARGEST_LAG, n_rows // 4), 1)
        gram = values @ values.T
        if not np.trace(gram) > 0:
            return cls(np.zeros(n_lags), 1.0)
        n_orders = _N_ORDERS if n_rows <= _LONG else _N_ORDERS_LONG
        others = [generator.permutation(n_rows) for _ in range(n_orders)]
        orders = np.array([np.arange(n_rows), *others])
        lags = range(1, n_lags + 1)
        sums = np.array([gram[orders[:, k:], orders[:, :-k]].sum(axis=1) for k in lags])
        spread = sums.std(axis=1, keepdims=True)
        centred = sums - sums.mean(axis=1, keepdims=True)
        scores = centred / np.where(spread > 0, spread, 1.0)
        largest = scores.max(axis=0)
        return cls(scores[:, 0], float(np.mean(largest >= largest[0])))


def _explains_changes(
    lag: int,
    predicted: FloatArray,  # shape: (n_rows, n_columns)
    observed: FloatArray,  # shape: (n_rows, n_columns)
    generator: np.random.Generator,
) -> bool:
    """Test whether predicted changes of rows a lag apart go with observed ones."""
    changes = (values[lag:] - values[:-lag] for values in (predicted, observed))
    predicted, observed = (values - values.mean(axis=0) for values in changes)
    orders = (generator.permutation(len(predicted)) for _ in range(_N_ORDERS_LONG))
    others = np.array([np.sum(observed * predicted[order]) for order in orders])
    p_value = (1 + np.sum(others >= np.sum(observed * predicted))) / (1 + len(others))
    return bool(p_value <= _LEVEL_OF_CHANGES)


# Copies


# Members from which copies are looked for, and the neighbour that is no copy.
_FEWEST, _NEIGHBOUR = 12, 10
# Share of the distance to it, in a typical member, up to which two are copies.
_NEAR = 1e-3
# Ratio of the ends of an input from which its logarithm is looked at.
_DECADES = 100.0
# Share of the members, and number, that has to be in excess of one for each group.
_LEAST_EXCESS, _LEAST_MEMBERS = 0.05, 3
# Squared correlation from which an input has all that there is in an output.
_COPY = 1.0 - 1e-5


def with_copies(
    design: Design,
    X: FloatArray,  # shape: (n_rows, n_inputs)
) -> Design:
    """Return the design with members of nearly equal inputs as repeats of one setting.

    Nothing is asked where groups, repeats or an order say what belongs together.
    """
    told = design.groups is not None or design.order is not None or design.has_repeats
    # Columns of decades are taken as logarithms: raw, most of them lie at the low end.
    wide = (X > 0).all(axis=0) & (X.max(axis=0) > _DECADES * X.min(axis=0))
    inputs = _scaled(np.where(wide, np.log(np.where(wide, X, 1.0)), X))
    n_rows = len(X)
    if told or n_rows < _FEWEST or not inputs.shape[1]:
        return design
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOUR, n_rows // 2)).fit(inputs)
    distance, place = search.kneighbors()
    rows, columns = np.nonzero(distance < _NEAR * np.median(distance[:, -1]))
    pairs = np.ones(len(rows)), (rows, place[rows, columns])
    graph = coo_matrix(pairs, shape=(n_rows, n_rows))
    n_groups, labels = connected_components(graph, directed=False)
    if n_rows - n_groups < max(_LEAST_MEMBERS, _LEAST_EXCESS * n_rows):
        return design
    return replace(design, setting=labels.astype(np.int64))


def _scaled(values: FloatArray) -> FloatArray:
    """Return the columns that vary, of mean 0 and variance 1."""
    return standardized(values[:, (values != values[:1]).any(axis=0)])


def copied_input(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
) -> int | None:
    """Return an input that is a linear function of the outputs; None for none."""
    has = ~np.isnan(coordinates).any(axis=1)
    if has.sum() < 3 or not X.size or not coordinates.size:
        return None
    inputs = X[has] - X[has].mean(axis=0)
    outputs = coordinates[has] - coordinates[has].mean(axis=0)
    size = np.square(inputs).sum(axis=0)
    if 4 * outputs.shape[1] > len(outputs):  # which explain anything: one by one
        sizes = np.square(outputs).sum(axis=0)
        products = np.square(inputs.T @ outputs)
        shares = np.divide(products, sizes, np.zeros_like(products), where=sizes > 0)
        explained = shares.max(axis=1, initial=0.0)
    else:
        left, values, _ = np.linalg.svd(outputs, full_matrices=False)
        left = left[:, values > 1e-9 * values.max(initial=0.0)]
        explained = np.square(inputs.T @ left).sum(axis=1)
    shares = np.divide(explained, size, np.zeros_like(size), where=size > 0)
    return int(shares.argmax()) if shares.max() >= _COPY else None
