"""Members that depend on one another, where nobody has said so: copies and series.

*Copies* are found by two searches, whose links are joined. Rows that are equal are
copies, unless inputs take few values, where rows are expected to repeat. Rows that are
near are found by gaps in the sorted distances to other members, at every size of a
group. Inputs of few values have no such distances: members that differ in them are no
copies.

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

from .._checks import BoolArray, FloatArray, IndexArray
from .._input_laws.families import InputLaw
from ._design import Design, first_of, numbers_of, root_of
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
        outputs = root_of(outputs @ outputs.T)[:, -_MOST_COLUMNS:]
    asked = X[:, ~(_sorted_by(X) | _is_factor(X) | is_category)]
    if not asked.shape[1] or not outputs.any():
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
    words = _in_words(tables, outputs, residuals, generator)
    by_result = words and _sorted_by(coordinates[rows]).any()
    return f"the rows are sorted by an output, so that {words}" if by_result else words


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
    lag = int(np.argmax(of_residuals.scores)) + 1
    if of_residuals.p_value > _LEVEL:
        lag = int(np.argmax(of_inputs.scores + of_outputs.scores)) + 1
        both = np.minimum(of_inputs.scores, of_outputs.scores) > _LARGE
        lags = {lag, *(np.flatnonzero(both) + 1).tolist()}
        if of_outputs.p_value > _LEVEL or all(
            _explains_changes(outputs - residuals, outputs, k, generator)
            for k in sorted(lags)
        ):
            return ""
    at = "consecutive outputs" if lag == 1 else f"outputs {lag} rows apart"
    return (
        "runs depend on those before them in the order of the rows (correlation of "
        f"{at} {autocorrelation(outputs, lag):z.2f}, of inputs "
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
    predicted: FloatArray,  # shape: (n_rows, n_columns)
    observed: FloatArray,  # shape: (n_rows, n_columns)
    lag: int,
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


# Squared correlation from which an input has all that there is in an output.
_COPY = 1.0 - 1e-5
# Members from which copies are looked for.
_FEWEST = 12
# Ratio of the ends of an input from which its logarithm is looked at.
_DECADES = 100.0
# Share of the members, and number, that has to be in excess of one for each group.
_LEAST_EXCESS, _LEAST_MEMBERS = 0.05, 3
# False discovery rate at which the neighbours of a member are too near.
_FALSE_DISCOVERIES = 0.1
# Neighbours from whose distances the dimension is estimated.
_NEIGHBOURS = 16
# Points of which a tree finds the neighbours on one thread.
_FEW_POINTS = 500

# Distances that are looked at, of all members, and the error of each, as a share.
_MOST_DISTANCES, _ROUNDING = 2_000_000, 1e-7
# A column of at most so many values has levels; more values have to be multiples of a
# step, of which the range has at most so many.
_FEW_LEVELS, _MOST_STEPS = 8, 1e5
# Groups have to lie apart by a factor, as in many dimensions all distances are nearly
# equal and any gap is improbable; those of more than so many by a larger one, and those
# of more than this share of all members by the largest: two modes are not copies.
_LEAST_APART = 1.5
_LARGE_GROUP, _APART = 8, 3.0
_LARGE_SHARE, _FAR_APART = 1 / 8, 20.0
# Where more than this share of members has copies, all that are as near are copies.
_COMMON = 1 / 3


def labels_of_copies(
    inputs: FloatArray,  # scaled, shape: (n_members, n_columns)
    outputs: FloatArray,  # scaled, shape: (n_members, n_coordinates)
) -> IndexArray | None:  # shape: (n_members,); None where members are independent
    """Return the group of each member, where enough members are copies of others."""
    n_members = len(outputs)
    few, joint = has_few_values(inputs), _joint(inputs, outputs)
    links = [np.zeros((0, 2), dtype=np.int64)]
    if _has_levels(inputs):
        # Two settings that have an output in common show that outputs repeat.
        if _distinct(outputs) == _distinct(joint):
            links.append(equal_rows(joint))
    else:
        links.append(equal_rows(inputs))
        if not few.all():
            others, levels = inputs[:, ~few], inputs[:, few]
            both = too_near(others), too_near(_joint(others, outputs))
            near = np.concatenate(both)
            links.append(near[(levels[near[:, 0]] == levels[near[:, 1]]).all(axis=1)])
    pairs = np.concatenate(links)
    entries = np.ones(len(pairs)), tuple(pairs.T)
    graph = coo_matrix(entries, shape=(n_members, n_members))
    n_groups, labels = connected_components(graph, directed=False)
    if n_members - n_groups < max(_LEAST_MEMBERS, _LEAST_EXCESS * n_members):
        return None
    return np.asarray(labels)


def _joint(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return inputs and outputs, of which outputs do not count more."""
    widths = max(inputs.shape[1], 1) / max(outputs.shape[1], 1)
    return np.hstack([inputs, outputs * min(np.sqrt(widths), 1.0)])


def _distinct(values: FloatArray) -> int:
    """Count distinct rows."""
    return len(np.unique(values, axis=0))


def _has_levels(inputs: FloatArray) -> bool:
    """Return whether rows repeat by design: each column takes few values.

    Columns in which each value belongs to one row are no design of levels, but a few
    settings that were repeated.
    """
    values = [np.unique(column) for column in inputs.T]
    if not all(_are_levels(column) for column in values):
        return False
    tied = {len(column) for column in values} == {_distinct(inputs)}
    return not (tied and len(values) > 1)


def _are_levels(values: FloatArray) -> bool:
    """Return whether sorted distinct values are few, or rounded to one step."""
    if len(values) <= _FEW_LEVELS:
        return True
    multiples = (values - values[0]) / np.diff(values).min()
    whole = np.abs(multiples - np.round(multiples)).max() < 1e-4
    return bool(whole and multiples[-1] < _MOST_STEPS)


def equal_rows(points: FloatArray) -> IndexArray:  # shapes: (n, d) -> (n_pairs, 2)
    """Return each row that is equal to an earlier one, with the first of these."""
    number = numbers_of(points)
    origin = first_of(number)[number]
    later = np.flatnonzero(origin != np.arange(len(points)))
    return np.column_stack([origin[later], later])


def too_near(points: FloatArray) -> IndexArray:  # shapes: (n, d) -> (n_pairs, 2)
    r"""Return pairs of rows that belong to a group which lies apart from all others.

    Where the density is about constant around a point, the volumes
    :math:`V_j \propto r_j^D` of balls that reach its j-th neighbour make
    :math:`(V_j / V_{j+1})^j` uniform, independently for all j (E. Facco et al.,
    "Estimating the intrinsic dimension of datasets by a minimal neighborhood
    information", Scientific Reports 7, 2017). The members of a group of j + 1 copies
    have a gap between the j-th and the next neighbour. Each point is tested by its
    smallest p-value with weights 1 / (j (j + 1)), which add up to one, at a false
    discovery rate. The dimension D follows from the median of
    :math:`j \log (r_{j+1} / r_j)`, which is :math:`\log 2 / D`.

    Large groups are only those that lie apart by a factor: ensembles may have modes.
    """
    origin = first_of(numbers_of(points))  # one of each equal rows
    unique = _without_tails(points[origin])
    n_unique = len(unique)
    n_neighbours = min(n_unique // 2, max(_MOST_DISTANCES // n_unique, _NEIGHBOURS))
    none = np.zeros((0, 2), dtype=np.int64)
    if n_neighbours < 3:
        return none
    algorithm = "kd_tree" if n_unique <= _FEW_POINTS else "auto"
    search = NearestNeighbors(n_neighbors=n_neighbours, algorithm=algorithm).fit(unique)
    distance, place = search.kneighbors()
    distance = np.maximum(distance, _ROUNDING * np.median(distance[:, -1]))
    gaps = np.log(distance[:, 1:] / distance[:, :-1])
    number = np.arange(1, n_neighbours)  # of neighbours before the gap
    near = number * gaps
    median = float(np.median(near[:, : min(_NEIGHBOURS, n_neighbours - 1)]))
    if not median > 0:
        return none
    # (log p-values; a gap of factor f before j others has p = f^(-D j))
    scores = np.log(number * (number + 1.0)) - near * np.log(2.0) / median
    needed = np.log(np.where(number >= _LARGE_GROUP, _APART, _LEAST_APART))
    needed[number >= _LARGE_SHARE * n_unique] = np.log(_FAR_APART)
    scores[gaps < needed] = 0.0
    size = np.argmin(scores, axis=1)  # (position of the widest gap)
    smallest = scores[np.arange(n_unique), size]
    limits = np.log(_FALSE_DISCOVERIES * np.arange(1, n_unique + 1) / n_unique)
    passed = np.flatnonzero(np.sort(smallest) <= limits)
    allowed = smallest <= (limits[passed[-1]] if passed.size else -np.inf)
    reach = np.where(allowed, distance[np.arange(n_unique), size], 0.0)
    if np.mean(allowed) > _COMMON:
        reach = np.maximum(reach, np.median(reach[allowed]))
    rows, columns = np.nonzero(distance <= reach[:, np.newaxis])
    others = place[rows, columns]
    mutual = distance[rows, columns] <= reach[others]
    return np.column_stack([origin[rows[mutual]], origin[others[mutual]]])


def _without_tails(points: FloatArray) -> FloatArray:
    """Move far points towards the centre: in long tails few points make wide gaps."""
    centred = points - np.median(points, axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    scaled = length / max(float(np.median(length)), np.finfo(float).tiny)
    with np.errstate(invalid="ignore"):
        factor = np.where(scaled > 0, np.arcsinh(scaled) / scaled, 1.0)
    return np.asarray(centred * factor)


def with_copies(
    design: Design,
    X: FloatArray,  # shape: (n_rows, n_inputs)
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
) -> Design:
    """Return the design with near-copies as repeats of one setting.

    Nothing is asked where groups, repeats or an order say what belongs together.
    """
    told = design.groups is not None or design.order is not None or design.has_repeats
    if told or len(X) < _FEWEST or np.isnan(coordinates).any():
        return design
    # Columns of decades are taken as logarithms: raw, most of them lie at the low end.
    wide = (X > 0).all(axis=0) & (X.max(axis=0) > _DECADES * X.min(axis=0))
    even = np.where(wide, np.log(np.where(wide, X, 1.0)), X)
    inputs, outputs = _scaled(even), _scaled(coordinates)
    if not inputs.shape[1] or not outputs.shape[1]:
        return design
    labels = labels_of_copies(inputs, outputs)
    return design if labels is None else replace(design, setting=labels)


def _scaled(values: FloatArray) -> FloatArray:
    """Return the columns that vary, of mean 0 and variance 1."""
    varies = np.ptp(values, axis=0) > 0 if values.size else np.zeros(0, dtype=bool)
    some = values[:, varies]
    return np.asarray((some - some.mean(axis=0)) / some.std(axis=0))


def copied_input(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    coordinates: FloatArray,  # shape: (n_rows, n_coordinates), NaN where failed
) -> int | None:
    """Return an input that is a linear function of the outputs; None for none."""
    has = ~np.isnan(coordinates).any(axis=1)
    if has.sum() < 3 or not X.size or not coordinates.size:
        return None
    inputs, outputs = (values[has] for values in (X, coordinates))
    inputs, outputs = inputs - inputs.mean(axis=0), outputs - outputs.mean(axis=0)
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
