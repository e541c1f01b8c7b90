r"""Which distribution a column seems to have, for all columns at once.

A column of levels that repeat, few of them or with equal distances, has the
distribution of its levels, and so has one of which a value is frequent. Any other has
the most likely of four: normal, uniform, and both of the logarithm, unless Anderson's
and Darling's test refuses it too; then it is as observed, smoothed.

Normal and uniform are compared by their likelihoods integrated over location and
scale, which is the most powerful invariant test between them [1]_. With :math:`R` the
range and :math:`S` the sum of squares about the mean of :math:`n` values these are

.. math:: \frac{R^{1-n}}{n (n-1)}, \qquad
          \frac{\Gamma((n-1)/2)}{2 \sqrt n\, (\pi S)^{(n-1)/2}}.

Normal and log-normal are compared by their largest likelihoods. Values that repeat
count once in :math:`n`: settings that are repeated, and numbers that are rounded, say
no more about a density.

References
----------
.. [1] V. A. Uthoff, "An optimum test property of two well-known statistics", Journal of
   the American Statistical Association 65 (1970).
.. [2] M. A. Stephens, "EDF statistics for goodness of fit and some comparisons",
   Journal of the American Statistical Association 69 (1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln, log_ndtr

from .._checks import BoolArray, FloatArray, IndexArray, at_least_one_copy
from .families import InputLaw, LogNormalLaw, LogUniformLaw, NormalLaw, UniformLaw
from .measures import measure_of_sample
from .smoothed import SmoothedLaw
from .tabulated import EmpiricalLaw, OrdinalLaw

# Levels of an input that is not continuous, at most, and rows for each at least; more
# are levels if they are most multiples of a step, or repeat in settings that differ.
_MOST_LEVELS = 10
_ROWS_OF_LEVEL = 1.5

# Share of the settings from which a value has a probability of its own, and number.
_FREQUENT, _FEWEST = 0.1, 5.0

# Levels whose distances differ by more than this factor are ordered, no more.
_UNEVEN = 4.0

# By so much, in the logarithm of the likelihood, a logarithm must be better.
_LOGARITHM_BY = 2.0

# Statistic of Anderson and Darling [2]_ at the level 0.05 of a uniform distribution
# with both ends known, and at 0.1 of a normal one with mean and deviation learned: its
# polynomials are large in long tails, which a small sample hardly shows.
_LARGEST_UNIFORM = 2.492
_LARGEST_NORMAL = 0.631

# Entries of the columns that are compared at once.
_BLOCK_ENTRIES = 2**21

_FAMILIES: Sequence[type[InputLaw]] = (
    NormalLaw,
    UniformLaw,
    LogNormalLaw,
    LogUniformLaw,
)
_LOGARITHMIC = (2, 3)


def choose_laws(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the distribution that each column seems to have."""
    present = weights > 0
    if not present.all():
        columns, weights = columns[present], weights[present]
    size = max(_BLOCK_ENTRIES // len(columns), 1)
    found: list[InputLaw] = []
    settings = _first_of_settings(columns)
    for start in range(0, columns.shape[1], size):
        block = columns[:, start : start + size]
        kinds = _families_of(block, weights, settings)
        pairs = zip(block.T, kinds, strict=True)
        for column, kind in pairs:
            kind = kind or _kind_of_levels(column, weights)
            # A smoothed distribution has tails of its own.
            learn = kind.learn if kind is SmoothedLaw else kind.learn_held
            found.append(learn(column, weights))
    return found


def _kind_of_levels(column: FloatArray, weights: FloatArray) -> type[InputLaw]:
    """Return that of the levels: numbers if their distances are alike, else ordered."""
    points = measure_of_sample(column, weights).points
    ordered = not _is_even(points)
    if ordered and len(points) > _MOST_LEVELS:
        ordered = bool(points[0] > 0) and _is_even(np.log(points))
    return OrdinalLaw if ordered else EmpiricalLaw


def _is_even(points: FloatArray) -> bool:
    """Whether the distances of levels are alike."""
    gaps = np.diff(points)
    return len(gaps) < 2 or bool(gaps.max() <= _UNEVEN * gaps.min())


def _first_of_settings(columns: FloatArray) -> IndexArray:
    """Return a row of each setting: of rows that are equal in all columns."""
    # As bytes: for ``axis=0`` numpy makes a field of each column, which is slow.
    rows = np.ascontiguousarray(columns + 0.0)  # no -0.0
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return np.unique(whole, return_index=True)[1]


def _are_levels(
    sorted_values: FloatArray,  # shape: (n_samples, n_columns)
    counts: IndexArray,  # shape: (n_columns,), distinct values
    gaps: FloatArray,  # shape: (n_samples - 1, n_columns), 0 for those of rounding
    n_copies: float,
    settings: FloatArray,  # shape: (n_settings, n_columns)
) -> BoolArray:
    """Return which columns have the distribution of their levels."""
    steps = np.where(gaps > 0, gaps, np.inf).min(axis=0, initial=np.inf)
    places = 1.0 + (sorted_values[-1] / 2.0 - sorted_values[0] / 2.0) / (steps / 2.0)
    known = (counts <= _MOST_LEVELS) | (places <= _ROWS_OF_LEVEL * counts)
    n_rows = np.where(known, n_copies, len(settings))
    found = (counts <= 2) | (_ROWS_OF_LEVEL * counts <= n_rows)
    for i in np.flatnonzero(~found & (counts < len(settings))).tolist():
        most = np.unique(settings[:, i], return_counts=True)[1].max()
        found[i] = most >= max(_FREQUENT * len(settings), _FEWEST)
    return np.asarray(found)


def _families_of(
    columns: FloatArray, weights: FloatArray, settings: IndexArray
) -> Sequence[type[InputLaw] | None]:  # None for levels
    """Return the family of each column."""
    order = np.argsort(columns, axis=0)
    values = np.take_along_axis(columns, order, axis=0)
    copies = at_least_one_copy(weights)
    shares = np.broadcast_to((copies / copies.sum())[:, np.newaxis], values.shape)
    if np.ptp(copies):
        shares = shares[:, 0][order]
    rounding = 10 * np.finfo(float).eps * np.maximum(-values[0], values[-1])
    gaps = np.diff(values, axis=0)
    gaps = np.where(gaps > np.abs(rounding), gaps, 0.0)
    counts = 1 + np.count_nonzero(gaps, axis=0)
    given = values, counts, gaps, float(copies.sum()), columns[settings]
    levels = _are_levels(*given)
    kinds: list[type[InputLaw] | None] = [None] * len(counts)
    chosen = np.flatnonzero(~levels)
    if len(chosen):
        sample = _Sorted(values, shares, counts.astype(np.float64)).of(chosen)
        for i, kind in zip(chosen.tolist(), _continuous(sample), strict=True):
            kinds[i] = kind
    return kinds


@dataclass(frozen=True)
class _Sorted:
    """Sorted columns, each of at least three values."""

    values: FloatArray  # shape: (n_samples, n_columns), each increasing
    shares: FloatArray  # shape: (n_samples, n_columns), of sum 1
    counts: FloatArray  # shape: (n_columns,), distinct values

    @cached_property
    def logarithm(self) -> _Sorted:
        return replace(self, values=np.log(self.values))

    @cached_property
    def half(self) -> FloatArray:
        """Half the range, because the range itself may overflow."""
        return self.values[-1] / 2.0 - self.values[0] / 2.0

    @cached_property
    def unit(self) -> FloatArray:
        """The values from 0 to 1."""
        return (self.values / 2.0 - self.values[0] / 2.0) / self.half

    @cached_property
    def mean(self) -> FloatArray:
        return np.einsum("ij,ij->j", self.shares, self.unit)

    @cached_property
    def variance(self) -> FloatArray:
        return np.einsum("ij,ij->j", self.shares, np.square(self.unit - self.mean))

    def of(self, chosen: IndexArray) -> _Sorted:
        """Return some of the columns, increasing ones."""
        if len(chosen) == len(self.counts):
            return self
        return _Sorted(
            self.values[:, chosen], self.shares[:, chosen], self.counts[chosen]
        )

    def log_likelihoods(self) -> FloatArray:  # shape: (2, n_columns)
        """Return that of a normal one, and of a uniform one as integrals compare."""
        n = self.counts
        sum_of_squares = n * self.variance
        normal = -n * (np.log(2.0 * self.half) + 0.5 * np.log(self.variance))
        normal -= 0.5 * n * np.log(2.0 * np.pi * np.e)
        uniform = normal - np.log(n * (n - 1.0)) + 0.5 * np.log(n) + np.log(2.0)
        uniform += 0.5 * (n - 1.0) * np.log(np.pi * sum_of_squares)
        uniform -= gammaln(0.5 * (n - 1.0))
        return np.stack([normal, uniform])

    def is_normal(self) -> BoolArray:
        """Test for a normal distribution."""
        n = self.counts
        z = (self.unit - self.mean) / np.sqrt(self.variance * n / (n - 1.0))
        found = _anderson_darling(log_ndtr(z), log_ndtr(-z), self.shares, n)
        return found * (1.0 + 0.75 / n + 2.25 / n**2) <= _LARGEST_NORMAL

    def is_uniform(self) -> BoolArray:
        """Test for a uniform distribution what lies between the ends of the data."""
        inner = (self.unit > 0.0) & (self.unit < 1.0)
        shares = np.where(inner, self.shares, 0.0)
        shares /= shares.sum(axis=0)
        unit = np.where(inner, self.unit, 0.5)
        below, above = np.log(unit), np.log1p(-unit)
        found = _anderson_darling(below, above, shares, self.counts - 2.0)
        return found <= _LARGEST_UNIFORM


def _continuous(columns: _Sorted) -> list[type[InputLaw]]:
    """Return the most likely family of each column that no test refuses."""
    scores = np.full((len(_FAMILIES), columns.values.shape[1]), -np.inf)
    scores[:2] = columns.log_likelihoods()
    positive = np.flatnonzero(columns.values[0] > 0)
    if len(positive):
        some = columns.of(positive)
        logarithm = some.logarithm
        known = np.einsum("ij,ij->j", some.shares, logarithm.values)
        scores[2:, positive] = logarithm.log_likelihoods() - some.counts * known
        scores[2:, positive] -= _LOGARITHM_BY
    kinds: list[type[InputLaw]] = [SmoothedLaw] * scores.shape[1]
    best = scores.argmax(axis=0)
    for number, family in enumerate(_FAMILIES):
        chosen = np.flatnonzero(best == number)
        if len(chosen):
            some = columns.of(chosen)
            some = some.logarithm if number in _LOGARITHMIC else some
            fits = some.is_uniform() if number % 2 else some.is_normal()
            for i in chosen[fits].tolist():
                kinds[i] = family
    return kinds


def _anderson_darling(
    below: FloatArray,  # shape: (n_samples, n_columns), logarithms of F, increasing
    above: FloatArray,  # shape: (n_samples, n_columns), logarithms of 1 - F
    shares: FloatArray,  # shape: (n_samples, n_columns), of sum 1
    counts: FloatArray,  # shape: (n_columns,)
) -> FloatArray:  # shape: (n_columns,)
    """Return the statistic of weighted rows: equal rows and a weight are the same."""
    sums = np.cumsum(shares, axis=0)
    lower = np.einsum("ij,ij->j", shares * (2.0 * sums - shares), below)
    upper = np.einsum("ij,ij->j", shares * (2.0 - 2.0 * sums + shares), above)
    return -counts * (1.0 + lower + upper)
