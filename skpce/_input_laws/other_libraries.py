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
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray, numbered_names

# Largest difference of distribution functions of one family.
_SAME = 1e-9

# Where distribution functions are compared.
_PROBABILITIES = np.linspace(0.02, 0.98, 33)

# What is left out of an infinite tail of a discrete distribution.
_TAIL = 1e-14


class _Given(stats.rv_continuous):
    """A distribution of one input of another library, behind the methods of scipy."""

    def __init__(self, given: Any, **kwargs: Any) -> None:
        self.given = given
        low, high = self.ends()
        super().__init__(**{"a": low, "b": high, "name": str(given), **kwargs})

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {**super()._updated_ctor_param(), "given": self.given}

    def ends(self) -> tuple[float, float]:
        """Return the ends of the support."""
        raise NotImplementedError

    def is_discrete(self) -> bool:
        raise NotImplementedError

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        """Return the values of a discrete distribution, and their probabilities."""
        low, high = self.ends()
        tails = self._ppf(np.array([_TAIL, 1.0 - _TAIL]))
        first = low if math.isfinite(low) else tails[0]
        last = high if math.isfinite(high) else tails[1]
        values = np.arange(round(first), round(last) + 1.0)
        return values, np.asarray(self._pdf(values), dtype=np.float64)

    def _pdf(self, x: Any) -> Any:
        return self.given.pdf(x)

    def _cdf(self, x: Any) -> Any:
        return self.given.cdf(x)

    def _sf(self, x: Any) -> Any:
        return 1.0 - self._cdf(x)


class _OfScipy(_Given):
    def ends(self) -> tuple[float, float]:
        low, high = self.given.support()
        return float(low), float(high)

    def is_discrete(self) -> bool:
        return _has_base(self.given, "DiscreteDistribution")

    def _pdf(self, x: Any) -> Any:
        return (self.given.pmf if self.is_discrete() else self.given.pdf)(x)

    def _sf(self, x: Any) -> Any:
        return self.given.ccdf(x)

    def _ppf(self, x: Any) -> Any:
        return self.given.icdf(x)

    def _stats(self) -> Any:
        return float(self.given.mean()), float(self.given.variance()), None, None


class _OfOpenTurns(_Given):
    def ends(self) -> tuple[float, float]:
        ends = self.given.getRange()
        low, high = ends.getLowerBound()[0], ends.getUpperBound()[0]
        return (
            low if ends.getFiniteLowerBound()[0] else -math.inf,
            high if ends.getFiniteUpperBound()[0] else math.inf,
        )

    def is_discrete(self) -> bool:
        return bool(self.given.isDiscrete())

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        values = np.ravel(np.array(self.given.getSupport()))
        return values, np.asarray(self._pdf(values), dtype=np.float64)

    def _pdf(self, x: Any) -> Any:
        return self._called(self.given.computePDF, x)

    def _cdf(self, x: Any) -> Any:
        return self._called(self.given.computeCDF, x)

    def _sf(self, x: Any) -> Any:
        return self._called(self.given.computeComplementaryCDF, x)

    def _ppf(self, x: Any) -> Any:
        found = [self.given.computeQuantile(float(one))[0] for one in np.ravel(x)]
        return np.reshape(found, np.shape(x))

    @staticmethod
    def _called(function: Callable[[Any], Any], x: Any) -> Any:
        return np.reshape(function(np.reshape(x, (-1, 1)).tolist()), np.shape(x))

    def _stats(self) -> Any:
        return (
            *(self.given.getMean()[0], self.given.getStandardDeviation()[0] ** 2),
            *(None, None),
        )


class _OfChaospy(_Given):
    def ends(self) -> tuple[float, float]:
        ends = self.given.lower, self.given.upper
        low, high = (float(np.ravel(end)[0]) for end in ends)
        if self.is_discrete():  # cells of one around whole numbers
            return math.ceil(low), math.floor(high)
        return low, high

    def is_discrete(self) -> bool:
        return bool(self.given.interpret_as_integer)

    def _ppf(self, x: Any) -> Any:
        return self.given.inv(x)

    def _stats(self) -> Any:
        mean, square = (float(np.ravel(self.given.mom(k))[0]) for k in (1, 2))
        return mean, max(square - mean**2, 0.0), None, None


def _has_base(given: Any, name: str) -> bool:
    return any(base.__name__ == name for base in type(given).__mro__)


def _kind_of(given: Any) -> type[_Given] | None:
    """Return how a distribution of another library is read; None for all else."""
    library = type(given).__module__.partition(".")[0]
    if library == "scipy" and _has_base(given, "_ProbabilityDistribution"):
        return _OfScipy
    if library == "openturns" and hasattr(given, "computePDF"):
        return _OfOpenTurns
    if library == "chaospy" and hasattr(given, "mom"):
        return _OfChaospy
    return None


def is_of_another_library(given: Any) -> bool:
    """Return whether this is a distribution, or a problem, of another library."""
    return _is_problem(given) or _kind_of(given) is not None


def in_scipy(given: Any) -> Any:
    """Return the distribution of one input as a frozen one; all else as it is."""
    kind = _kind_of(given)
    if kind is None:
        return given
    if _n_inputs(given) > 1:
        raise ValueError(
            f"{given} is a distribution of {_n_inputs(given)} inputs; expected one of "
            "a single input, or a list of these, such as its marginal distributions."
        )
    read = kind(given)
    if read.is_discrete():
        values, masses = read.atoms()
        some = masses > 0
        return stats.rv_discrete(
            values=(values[some], masses[some] / masses[some].sum())
        )()
    return _classical(read) or read()


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
    mean, variance, *_ = read._stats()
    if not (math.isfinite(mean) and 0.0 < variance < math.inf):
        return None
    quantiles = np.asarray(read._ppf(_PROBABILITIES), dtype=np.float64)
    known = np.asarray(read._cdf(quantiles), dtype=np.float64)
    for frozen in _candidates(mean, math.sqrt(variance), *read.ends()):
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
