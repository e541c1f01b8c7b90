"""Distributions of other libraries as frozen ones of ``scipy.stats``.

Read are the distributions of ``scipy.stats`` that are objects (``Normal``,
``make_distribution``), those of OpenTURNS and chaospy, and the ``problem`` of SALib.
None of the libraries is imported: an object says by its module where it comes from.

One whose distribution function is that of a classical family becomes this family, so
that it has its polynomials; any other keeps its own density.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from .._checks import FloatArray, numbered_names

# Largest difference of distribution functions of one family.
_SAME = 1e-9

# Where distribution functions are compared.
_PROBABILITIES = np.linspace(0.02, 0.98, 33)

# What is left out of an infinite tail of a discrete distribution.
_TAIL = 1e-14


# How libraries call the density, the distribution function, its complement and the
# quantile function.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "scipy": {"pdf": "pdf", "pmf": "pmf", "cdf": "cdf", "sf": "ccdf", "ppf": "icdf"},
    "openturns": {
        **{"pdf": "computePDF", "pmf": "computePDF", "cdf": "computeCDF"},
        **{"sf": "computeComplementaryCDF", "ppf": "computeQuantile"},
    },
    "chaospy": {"pdf": "pdf", "pmf": "pdf", "cdf": "cdf", "ppf": "inv"},
}


class _Given(stats.rv_continuous):
    """A distribution of one input of another library, behind the methods of scipy."""

    def __init__(self, given: Any, **kwargs: Any) -> None:
        self.given, self.library = given, _library_of(given)
        self.facts = _FACTS[self.library](given)
        ends = {"a": self.facts.low, "b": self.facts.high}
        super().__init__(**{**ends, "name": str(given), **kwargs})

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {**super()._updated_ctor_param(), "given": self.given}

    def called(self, name: str, x: Any) -> FloatArray:
        """Call a function by its name in scipy."""
        function = getattr(self.given, _NAMES[self.library][name])
        if self.library != "openturns":
            return np.asarray(function(x), dtype=np.float64)
        shape = -1 if name == "ppf" else (-1, 1)  # probabilities, or rows of values
        return np.reshape(function(np.reshape(x, shape).tolist()), np.shape(x))

    def _pdf(self, x: Any) -> Any:
        return self.called("pdf", x)

    def _cdf(self, x: Any) -> Any:
        return self.called("cdf", x)

    def _sf(self, x: Any) -> Any:
        known = "sf" in _NAMES[self.library]
        return self.called("sf", x) if known else 1.0 - self.called("cdf", x)

    def _ppf(self, x: Any) -> Any:
        return self.called("ppf", x)

    def _stats(self) -> Any:
        return self.facts.mean, self.facts.variance, None, None


class _Facts(NamedTuple):
    """What is read from a distribution at once."""

    low: float  # end of the support
    high: float
    mean: float
    variance: float
    is_discrete: bool


def _of_scipy(given: Any) -> _Facts:
    is_discrete = _has_base(given, "DiscreteDistribution")
    low, high = given.support()
    return _Facts(low, high, given.mean(), given.variance(), is_discrete)


def _of_openturns(given: Any) -> _Facts:
    ends = given.getRange()
    low = ends.getLowerBound()[0] if ends.getFiniteLowerBound()[0] else -math.inf
    high = ends.getUpperBound()[0] if ends.getFiniteUpperBound()[0] else math.inf
    mean, deviation = given.getMean()[0], given.getStandardDeviation()[0]
    return _Facts(low, high, mean, deviation**2, given.isDiscrete())


def _of_chaospy(given: Any) -> _Facts:
    low, high = (float(np.ravel(end)[0]) for end in (given.lower, given.upper))
    if given.interpret_as_integer:  # cells of one around whole numbers
        low, high = math.ceil(low), math.floor(high)
    mean, square = (float(np.ravel(given.mom(k))[0]) for k in (1, 2))
    variance = max(square - mean**2, 0.0)
    return _Facts(low, high, mean, variance, given.interpret_as_integer)


_FACTS: Mapping[str, Callable[[Any], _Facts]] = {
    "scipy": _of_scipy,
    "openturns": _of_openturns,
    "chaospy": _of_chaospy,
}


def _has_base(given: Any, name: str) -> bool:
    return any(base.__name__ == name for base in type(given).__mro__)


def _library_of(given: Any) -> str:
    """Return the library of a distribution that is read; nothing for all else."""
    library = type(given).__module__.partition(".")[0]
    is_read = {
        "scipy": _has_base(given, "_ProbabilityDistribution"),
        "openturns": hasattr(given, "computePDF"),
        "chaospy": hasattr(given, "mom"),
    }
    return library if is_read.get(library) else ""


def is_of_another_library(given: Any) -> bool:
    """Return whether this is a distribution, or a problem, of another library."""
    return _is_problem(given) or bool(_library_of(given))


def in_scipy(given: Any) -> Any:
    """Return the distribution of one input as a frozen one; all else as it is."""
    if not _library_of(given):
        return given
    if _n_inputs(given) > 1:
        raise ValueError(
            f"{given} is a distribution of {_n_inputs(given)} inputs; expected one of "
            "a single input, or a list of these, such as its marginal distributions."
        )
    read = _Given(given)
    if not read.facts.is_discrete:
        return _classical(read) or read()
    values = _values_of(read)
    masses = read.called("pmf", values)
    some = masses > 0
    return stats.rv_discrete(values=(values[some], masses[some] / masses.sum()))()


def _values_of(read: _Given) -> FloatArray:
    """Return the values of a discrete distribution, of infinitely many all but few."""
    if hasattr(read.given, "getSupport"):
        return np.ravel(np.array(read.given.getSupport()))
    low, high = read.facts.low, read.facts.high
    first, last = read.called("ppf", np.array([_TAIL, 1.0 - _TAIL]))
    first = low if math.isfinite(low) else first
    last = high if math.isfinite(high) else last
    return np.arange(round(first), round(last) + 1.0)


def all_in_scipy(given: Any, names: Sequence[str] | None = None) -> Any:
    """Return distributions of inputs of whatever kind as those that are known here.

    A problem of SALib is a dict by its names; a list where ``names`` are those of an
    array without any.
    """
    if _is_problem(given):
        found = _laws_of_problem(given)
        if names is not None and list(names) == numbered_names(len(names)):
            return list(found.values())
        return found
    if isinstance(given, Mapping):
        return {name: in_scipy(law) for name, law in given.items()}
    if isinstance(given, (list, tuple)):
        is_plain = type(given) in (list, tuple)  # a named tuple takes its fields
        return type(given)(map(in_scipy, given)) if is_plain else given
    return in_scipy(given)


def _n_inputs(given: Any) -> int:
    if hasattr(given, "getDimension"):
        return int(given.getDimension())
    return len(given) if type(given).__module__.startswith("chaospy") else 1


def _classical(read: _Given) -> Any:
    """Return the family of ``scipy.stats`` with this distribution function, or None."""
    low, high, mean, variance, _ = read.facts
    if not (math.isfinite(mean) and 0.0 < variance < math.inf):
        return None
    quantiles = read.called("ppf", _PROBABILITIES)
    known = read.called("cdf", quantiles)
    for frozen in _candidates(mean, math.sqrt(variance), low, high):
        if np.abs(frozen.cdf(quantiles) - known).max() <= _SAME:
            return frozen
    return None


def _candidates(mean: float, sd: float, low: float, high: float) -> list[Any]:
    """Return the families with this mean, deviation and support."""
    half = math.sqrt(3.0) * sd
    found = [stats.norm(mean, sd), stats.uniform(mean - half, 2 * half)]
    found.append(stats.expon(mean - sd, sd))
    if mean > 0:
        ratio = 1.0 + (sd / mean) ** 2
        shape, scale = math.sqrt(math.log(ratio)), mean / math.sqrt(ratio)
        found.append(stats.lognorm(shape, scale=scale))
    if math.isfinite(low) and low < mean:
        above = mean - low
        found.append(stats.gamma((above / sd) ** 2, low, sd**2 / above))
    if math.isfinite(low) and math.isfinite(high):
        width = high - low
        middle, spread = (mean - low) / width, (sd / width) ** 2
        both = middle * (1.0 - middle) / spread - 1.0
        if both > 0:
            shapes = middle * both, (1.0 - middle) * both
            found.append(stats.beta(*shapes, low, width))
        peak = (3.0 * mean - low - high - low) / width
        if 0.0 <= peak <= 1.0:
            found.append(stats.triang(peak, low, width))
        if low > 0:
            found.append(stats.loguniform(low, high))
    return found


# The problem of SALib


def _is_problem(given: Any) -> bool:
    return isinstance(given, Mapping) and {"num_vars", "names", "bounds"} <= set(given)


# How SALib names distributions, and what their bounds are.
_OF_SALIB: Mapping[str, Callable[..., Any]] = {
    "unif": lambda low, high: stats.uniform(low, high - low),
    "logunif": stats.loguniform,
    "triang": lambda low, high, peak: stats.triang(peak, low, high - low),
    "norm": stats.norm,
    "truncnorm": lambda low, high, mean, sd: stats.truncnorm(
        (low - mean) / sd, (high - mean) / sd, mean, sd
    ),
    "lognorm": lambda mean, sd: stats.lognorm(sd, scale=math.exp(mean)),
    "weibull": lambda shape, scale, location=0.0: stats.weibull_min(
        shape, location, scale
    ),
}


def _laws_of_problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the distribution of each input of a problem of SALib."""
    names, bounds = list(map(str, problem["names"])), list(problem["bounds"])
    kinds = list(problem.get("dists") or ["unif"] * len(names))
    if not len(names) == len(bounds) == len(kinds):
        raise ValueError(
            f"The problem of SALib has {len(names)} names, {len(bounds)} bounds and "
            f"{len(kinds)} dists; expected as many of each."
        )
    found = {}
    for name, kind, ends in zip(names, kinds, bounds, strict=True):
        try:
            found[name] = _OF_SALIB[kind](*map(float, ends))
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"The problem of SALib has the distribution {kind!r} with the bounds "
                f"{list(ends)!r} for {name!r}; expected one of "
                f"{', '.join(map(repr, _OF_SALIB))}, with bounds as SALib takes them."
            ) from error
    return found
