r"""The distribution of each input: by name, a frozen one of scipy.stats, by its data.

By its data, a column of levels that repeat, few of them or with equal distances, has
the distribution of its levels, and so has one of which a value is frequent. Any other
has the most likely of four: normal, uniform, and both of the logarithm, unless
Anderson's and Darling's test refuses it too; then it is as observed, smoothed.

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

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln, log_ndtr

from .._checks import (
    LARGEST_NUMBER,
    FloatArray,
    IndexArray,
    at_least_one_copy,
    correlations_of,
    warn_outside_folds,
)
from .families import (
    BETA_FAMILIES,
    MAP_TO_NORMAL,
    BetaLaw,
    ExponentialLaw,
    GammaLaw,
    InputLaw,
    LogNormalLaw,
    LogUniformLaw,
    NormalLaw,
    UniformLaw,
    check_frozen,
    family_name,
    is_frozen,
    measure_of_sample,
)
from .other_libraries import all_in_scipy
from .tabulated import (
    CategoricalLaw,
    ContinuousLaw,
    DiscreteLaw,
    EmpiricalLaw,
    OrdinalLaw,
    SmoothedLaw,
)

#: The name by which the family of each column is chosen from the data.
AUTO = "auto"

#: Families that ``distribution=`` takes by name.
NAMED_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        "beta": BetaLaw,
        "categorical": CategoricalLaw,
        "empirical": EmpiricalLaw,
        "exponential": ExponentialLaw,
        "gamma": GammaLaw,
        "lognormal": LogNormalLaw,
        "loguniform": LogUniformLaw,
        "normal": NormalLaw,
        "ordinal": OrdinalLaw,
        "smoothed": SmoothedLaw,
        "uniform": UniformLaw,
    }
)

#: Names accepted by ``distribution=``.
NAMES = tuple(sorted([AUTO, *NAMED_LAWS]))

#: Families of ``scipy.stats`` whose polynomials are classical. For the others the
#: recurrence is computed from the density or from the probabilities. Of two rows for a
#: family the later one counts.
FROZEN_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        **dict.fromkeys(BETA_FAMILIES, BetaLaw),
        **dict.fromkeys(("gamma", "erlang", "chi2"), GammaLaw),
        "expon": ExponentialLaw,
        "norm": NormalLaw,
        "uniform": UniformLaw,
    }
)


def check_distribution(
    owner: str, distribution: Any, names: Sequence[str], labels: Collection[str] = ()
) -> list[Any]:
    """Return one checked specification per input: a name, or a frozen distribution.

    A mapping is by the names of the inputs; a pair of numbers is the bounds of a
    uniform distribution. Inputs that were given as labels are categorical. Those of
    other libraries become frozen ones.
    """
    n_features = len(names)
    if not isinstance(distribution, str):
        distribution = all_in_scipy(distribution, names)
    if isinstance(distribution, str):
        specifications = [distribution] * n_features
    elif isinstance(distribution, Mapping):
        specifications = _in_order(owner, distribution, names)
    elif _is_listed(distribution) and not _are_bounds(distribution):
        specifications = list(distribution)
        if len(specifications) != n_features:
            raise ValueError(
                f"The 'distribution' parameter of {owner} has {len(specifications)} "
                f"entries but X has {n_features} features. Give one distribution for "
                "all or one per feature."
            )
    else:
        specifications = [distribution] * n_features
    found = [_read_specification(owner, given) for given in specifications]
    one_for_all = isinstance(distribution, str)
    for i, name in enumerate(names):
        if name not in labels:
            continue
        if not one_for_all and found[i] not in (AUTO, "categorical"):
            raise ValueError(
                f"The 'distribution' parameter of {owner} is {specifications[i]!r} for "
                f"{name}, whose column of X holds labels; expected 'categorical', or "
                "numbers."
            )
        found[i] = "categorical"
    return found


def _is_listed(distribution: Any) -> bool:
    listed = isinstance(distribution, (Sequence, np.ndarray))
    listed = listed and getattr(distribution, "ndim", 1) > 0
    return listed and not isinstance(distribution, str)


def _are_bounds(given: Any) -> bool:
    """Return whether this is a pair of numbers."""
    return (
        _is_listed(given)
        and len(given) == 2
        and all(isinstance(v, Real) and not isinstance(v, bool) for v in given)
    )


def _in_order(
    owner: str, distribution: Mapping[Any, Any], names: Sequence[str]
) -> list[Any]:
    """Return the distributions of a mapping in the order of the inputs."""
    unknown = [name for name in distribution if name not in names]
    missing = [name for name in names if name not in distribution]
    if unknown or missing:
        wrong = f"names {unknown}, which X does not have" if unknown else ""
        wrong += ", and " if unknown and missing else ""
        wrong += f"lacks {missing}" if missing else ""
        raise ValueError(
            f"The 'distribution' parameter of {owner} {wrong}; expected one "
            f"distribution for each of {list(names)}."
        )
    return [distribution[name] for name in names]


def _read_specification(owner: str, specification: Any) -> Any:
    """Return a name or a frozen distribution; bounds become a uniform one."""
    if isinstance(specification, str) and specification in NAMES:
        return specification
    if _are_bounds(specification):
        low, high = (
            float(bound) if abs(bound) <= LARGEST_NUMBER else np.inf
            for bound in specification
        )
        if not (np.isfinite([low, high]).all() and low < high):
            raise ValueError(
                f"The 'distribution' parameter of {owner} has the bounds "
                f"{tuple(specification)!r}; expected two finite numbers, the lower one "
                "first."
            )
        return _uniform_between(low, high)
    if isinstance(specification, stats.rv_histogram) or hasattr(specification, "xk"):
        return specification()  # of a table, which has all parameters
    if is_frozen(specification):
        check_frozen(owner, specification)
    elif isinstance(specification, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(
            f"The 'distribution' parameter of {owner} is scipy.stats."
            f"{specification.name} without its parameters; expected the frozen "
            f"distribution, {_call_of(specification)}."
        )
    else:
        named = ", ".join(repr(name) for name in NAMES)
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be one of {named}, bounds "
            "(low, high) of a uniform distribution, a frozen distribution of "
            "scipy.stats such as scipy.stats.norm(0, 1), one of OpenTURNS or chaospy, "
            "or a list of these, one per feature, or a dict of them by the names of "
            f"the columns. Got {specification!r} instead. An input of "
            "unknown distribution can be 'empirical', or be mapped to a normal one, "
            f"{MAP_TO_NORMAL}"
        )
    return specification


@lru_cache(maxsize=64)
def _uniform_between(low: float, high: float) -> Any:
    return stats.uniform(low, high - low)


def _call_of(family: Any) -> str:
    """Return the call that freezes a family of ``scipy.stats``."""
    names = [*(family.shapes or "").replace(",", " ").split(), "loc"]
    if isinstance(family, stats.rv_continuous):
        names.append("scale")
    call = f"scipy.stats.{family.name}({'=..., '.join(names)}=...)"
    return f"{call}, or the bounds (low, high)" if family.name == "uniform" else call


def learn_input_laws(
    given_laws: Sequence[Any],  # one per feature, checked
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the distribution of each column: frozen as it is, or learned by name."""
    auto = np.array([isinstance(given, str) and given == AUTO for given in given_laws])
    chosen = iter(choose_laws(X[:, auto], weights) if auto.any() else ())
    laws: list[InputLaw] = []
    for i, (given, column) in enumerate(zip(given_laws, X.T, strict=True)):
        if auto[i]:
            laws.append(next(chosen))
        elif isinstance(given, str):
            least = column[weights > 0].min()
            if given in ("lognormal", "loguniform") and least <= 0:
                raise ValueError(
                    f"distribution is {given!r} for column {i} of X, which has the "
                    f"value {least:g}; expected positive values."
                )
            laws.append(NAMED_LAWS[given].learn(column, weights))
        else:
            laws.append(_law_of(given))
    return laws


@lru_cache(maxsize=64)
def _law_of(frozen: Any) -> InputLaw:
    """Return a frozen distribution with its polynomials, which take long to make."""
    is_discrete = isinstance(frozen.dist, stats.rv_discrete)
    other = DiscreteLaw if is_discrete else ContinuousLaw
    return FROZEN_LAWS.get(family_name(frozen), other).from_frozen(frozen)


# More levels of a category than this are warned of.
_MANY_LEVELS = 50


# Deviations below this share of the scale may be rounding.
_SMALLEST_SHARE = 1e-9


def check_columns(
    owner: str,
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
    names: Sequence[str],
) -> None:
    """Refuse columns about which a learned distribution would say nothing."""
    scales = np.array([law.scale if law.learned else 0.0 for law in laws])
    if not scales.any():
        return
    # Half of the values hardly leave a faint column.
    spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0)
    faint = (scales > 0) & (spread <= _SMALLEST_SHARE * scales)
    for law, name, column, is_faint in zip(laws, names, X.T, faint, strict=True):
        if isinstance(law, CategoricalLaw):
            _check_levels(owner, name, column, weights)
        elif is_faint:
            _check_resolution(owner, law, name, column)


def _check_levels(
    owner: str, name: str, column: FloatArray, weights: FloatArray
) -> None:
    """Refuse categories of which none is seen twice; warn of many."""
    levels, level_of = np.unique(column, return_inverse=True)
    seen = np.bincount(level_of.ravel(), weights=at_least_one_copy(weights))
    if len(levels) > 2 and seen.max() < 1.5:
        raise ValueError(
            f"The 'distribution' parameter of {owner} is 'categorical' for {name}, of "
            f"which all {len(levels)} values differ; expected codes of categories, "
            "which repeat. For a continuous input take 'empirical' or another "
            "distribution."
        )
    if len(levels) > _MANY_LEVELS:
        warn_outside_folds(
            f"{name} is 'categorical' with {len(levels)} levels in {len(column)} "
            "samples: the basis has a function for each of them, and one for each "
            "product with other inputs.",
            UserWarning,
        )


def _check_resolution(owner: str, law: InputLaw, name: str, column: FloatArray) -> None:
    """Refuse a column in which a few values hide the differences of all others."""
    standardised = 1.0 + law.standardize(column)  # differences beside the scale
    if 2 * len(np.unique(standardised)) <= len(np.unique(column)):
        value = column[np.argmax(np.abs(column - np.median(column)))]
        raise ValueError(
            f"X has {value!r} in {name}, beside which its other values do not differ "
            f"in double precision, so that {owner} would see a constant; expected "
            "values of comparable size among the rows whose sample_weight is positive. "
            "Leave the row out, or transform the input."
        )


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


# Correlation beyond which two columns depend on each other.
_CORRELATED = 0.3

# Level below which a correlation is not explained by chance.
_CHANCE_LEVEL = 0.01


def correlated_pairs(
    X: FloatArray, input_of: IndexArray | None = None
) -> list[tuple[float, int, int]]:
    """Return columns of two inputs, correlated beyond the limit and beyond chance."""
    sizes = np.minimum(_sizes(X, input_of), 1.0)
    n_samples, n_features = X.shape
    first, second = np.nonzero(sizes > _CORRELATED)
    found = sizes[first, second]
    with np.errstate(divide="ignore"):
        score = found * np.sqrt((n_samples - 2) / (1.0 - np.square(found)))
    n_pairs = n_features * (n_features - 1)  # of both signs: twice
    known = stats.t.sf(score, n_samples - 2) * n_pairs <= _CHANCE_LEVEL
    pairs = found[known], first[known], second[known]
    return list(zip(*(part.tolist() for part in pairs), strict=True))


def correlation_reason(
    X: FloatArray, names: Sequence[str], input_of: IndexArray | None = None
) -> tuple[str, ...]:
    """Name the columns of two inputs that are correlated most."""
    pairs = correlated_pairs(X, input_of)
    if not pairs:
        return ()
    largest, first, second = max(pairs, key=lambda pair: pair[0])
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{_CORRELATED:g}): the indices assume independent inputs",
    )


def largest_correlation(X: FloatArray, input_of: IndexArray | None = None) -> float:
    """Return the largest absolute Pearson correlation of columns of two inputs."""
    sizes = _sizes(X, input_of)
    return float("nan") if np.isnan(sizes).all() else min(float(np.nanmax(sizes)), 1.0)


def _sizes(X: FloatArray, input_of: IndexArray | None) -> FloatArray:
    """Return the sizes of correlations above the diagonal; NaN of one input."""
    own = np.arange(X.shape[1]) if input_of is None else input_of
    sizes = np.full((len(own),) * 2, np.nan)
    if len(X) > 2:
        sizes = np.triu(np.abs(correlations_of(X)), k=1)
        sizes[own[:, np.newaxis] == own] = np.nan
    return sizes
