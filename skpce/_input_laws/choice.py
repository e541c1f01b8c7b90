r"""Which distribution a column seems to have.

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

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, log_ndtr

from .._checks import FloatArray, at_least_one_copy
from .families import (
    InputLaw,
    LogNormalLaw,
    LogUniformLaw,
    NormalLaw,
    UniformLaw,
    measure_of_sample,
)
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


def choose_laws(
    columns: FloatArray,  # shape: (n_samples, n_columns)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the distribution that each column seems to have."""
    present = weights > 0
    columns, weights = columns[present], weights[present]
    settings = np.unique(columns, axis=0)
    found = []
    for column, setting in zip(columns.T, settings.T, strict=True):
        kind = _kind_of(column, weights, setting)
        # A smoothed distribution has tails of its own.
        learn = kind.learn if kind is SmoothedLaw else kind.learn_held
        found.append(learn(column, weights))
    return found


def _kind_of(
    column: FloatArray, weights: FloatArray, settings: FloatArray
) -> type[InputLaw]:
    measure = measure_of_sample(column, weights).without_rounding()
    n_copies = float(at_least_one_copy(weights).sum())
    if _has_levels(measure.points, n_copies, settings):
        # Numbers if their distances are alike, else ordered.
        points = measure.points
        ordered = not _is_even(points)
        if ordered and len(points) > _MOST_LEVELS:
            ordered = bool(points[0] > 0) and _is_even(np.log(points))
        return OrdinalLaw if ordered else EmpiricalLaw
    plain = _Compared(measure.points, measure.masses)
    normal, uniform = plain.log_likelihoods()
    likely: list[tuple[float, type[InputLaw], Callable[[], bool]]]
    likely = [(normal, NormalLaw, plain.is_normal)]
    likely.append((uniform, UniformLaw, plain.is_uniform))
    if measure.points[0] > 0:
        logs = np.log(measure.points)
        log = _Compared(logs, measure.masses)
        more = float(len(logs) * (measure.masses @ logs)) + _LOGARITHM_BY
        normal, uniform = log.log_likelihoods()
        likely.append((normal - more, LogNormalLaw, log.is_normal))
        likely.append((uniform - more, LogUniformLaw, log.is_uniform))
    _, family, fits = max(likely, key=lambda one: one[0])
    return family if fits() else SmoothedLaw


def _has_levels(points: FloatArray, n_copies: float, settings: FloatArray) -> bool:
    """Whether a column of these distinct values has the distribution of its levels."""
    count = len(points)
    if count <= 2:
        return True
    step = np.diff(points).min()
    places = 1.0 + (points[-1] / 2.0 - points[0] / 2.0) / (step / 2.0)
    known = count <= _MOST_LEVELS or places <= _ROWS_OF_LEVEL * count
    if _ROWS_OF_LEVEL * count <= (n_copies if known else len(settings)):
        return True
    most = np.unique(settings, return_counts=True)[1].max()
    return bool(most >= max(_FREQUENT * len(settings), _FEWEST))


def _is_even(points: FloatArray) -> bool:
    """Whether the distances of levels are alike."""
    gaps = np.diff(points)
    return len(gaps) < 2 or bool(gaps.max() <= _UNEVEN * gaps.min())


class _Compared:
    """Three distinct values or more, beside a normal and a uniform distribution."""

    def __init__(self, points: FloatArray, masses: FloatArray) -> None:
        self.masses = masses
        # Half the range, because the range itself may overflow.
        self.half = points[-1] / 2.0 - points[0] / 2.0
        self.unit = (points / 2.0 - points[0] / 2.0) / self.half
        self.mean = masses @ self.unit
        self.variance = masses @ np.square(self.unit - self.mean)

    def log_likelihoods(self) -> tuple[float, float]:
        """Return that of a normal one, and of a uniform one as integrals compare."""
        n, variance = len(self.unit), self.variance
        normal = -n * (np.log(2.0 * self.half) + 0.5 * np.log(2.0 * np.pi * variance))
        normal -= 0.5 * n
        uniform = normal - np.log(n * (n - 1.0)) + 0.5 * np.log(n) + np.log(2.0)
        uniform += 0.5 * (n - 1.0) * np.log(np.pi * n * variance)
        return float(normal), float(uniform - gammaln(0.5 * (n - 1.0)))

    def is_normal(self) -> bool:
        """Test for a normal distribution."""
        n = len(self.unit)
        z = (self.unit - self.mean) / np.sqrt(self.variance * n / (n - 1.0))
        found = _anderson_darling(log_ndtr(z), log_ndtr(-z), self.masses, n)
        return found * (1.0 + 0.75 / n + 2.25 / n**2) <= _LARGEST_NORMAL

    def is_uniform(self) -> bool:
        """Test for a uniform distribution what lies between the ends of the data."""
        unit, masses = self.unit[1:-1], self.masses[1:-1] / self.masses[1:-1].sum()
        found = _anderson_darling(np.log(unit), np.log1p(-unit), masses, len(unit))
        return found <= _LARGEST_UNIFORM


def _anderson_darling(
    below: FloatArray,  # shape: (n_values,), logarithms of F, increasing
    above: FloatArray,  # shape: (n_values,), logarithms of 1 - F
    masses: FloatArray,  # shape: (n_values,), of sum 1
    count: int,
) -> float:
    """Return the statistic of weighted values: equal rows and a weight are the same."""
    sums = np.cumsum(masses)
    lower = (masses * (2.0 * sums - masses)) @ below
    upper = (masses * (2.0 - 2.0 * sums + masses)) @ above
    return float(-count * (1.0 + lower + upper))
