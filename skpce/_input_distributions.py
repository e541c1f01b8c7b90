"""The law of each input and the polynomials that are orthonormal under it.

An input law maps a column to its *germ* (the standardised variable) and knows the
three-term recurrence of its orthonormal polynomials,

.. math:: \\sqrt{b_{k+1}}\\,\\psi_{k+1}(t) = (t - a_k)\\,\\psi_k(t)
          - \\sqrt{b_k}\\,\\psi_{k-1}(t),
          \\qquad \\psi_0 = 1,

so that adding a family is adding one small class with two arrays [1]_.

References
----------
.. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
   Oxford University Press, 2004, section 1.3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class InputOutsideSupportWarning(UserWarning):
    """Values of X lie outside the support of the input law learned in ``fit``."""


@dataclass(frozen=True)
class InputLaw(ABC):
    """A location-scale law of one input.

    Parameters
    ----------
    location, scale : float
        The germ is ``(x - location) / scale``.
    """

    location: float
    scale: float

    #: Short name of the polynomial family in feature names.
    polynomial: ClassVar[str]

    @classmethod
    @abstractmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> InputLaw:
        """Learn location and scale from a weighted column."""

    @classmethod
    @abstractmethod
    def from_frozen(cls, frozen: Any) -> InputLaw:
        """Take location and scale from a frozen ``scipy.stats`` law."""

    @abstractmethod
    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        """Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree``."""

    @abstractmethod
    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw from the law, in the units of the input."""

    def standardize(self, column: FloatArray) -> FloatArray:
        """Map a column to its germ."""
        return (column - self.location) / self.scale

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value, in the units of the input."""
        return -np.inf, np.inf

    def warn_outside(self, column: FloatArray, name: str) -> None:
        """Warn when values lie outside the support."""
        low, high = self.support
        tolerance = 1e-9 * self.scale
        outside = (column < low - tolerance) | (column > high + tolerance)
        if outside.any():
            warnings.warn(
                f"{int(outside.sum())} of {column.size} values of {name} lie outside "
                f"[{low:.6g}, {high:.6g}], the support of its law; the expansion "
                "extrapolates there. Give the true range as a frozen "
                "scipy.stats.uniform(loc, scale).",
                InputOutsideSupportWarning,
                stacklevel=5,
            )


class NormalLaw(InputLaw):
    """Normal input; orthonormal (probabilists') Hermite polynomials."""

    polynomial = "He"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> NormalLaw:
        mean = float(np.average(column, weights=weights))
        variance = float(np.average((column - mean) ** 2, weights=weights))
        return cls(mean, _positive_scale(np.sqrt(variance), column))

    @classmethod
    def from_frozen(cls, frozen: Any) -> NormalLaw:
        return cls(float(frozen.mean()), float(frozen.std()))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        return np.zeros(degree), np.arange(1.0, degree + 1.0)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.normal(self.location, self.scale, size=size)


class UniformLaw(InputLaw):
    """Uniform input; orthonormal Legendre polynomials. The germ is on [-1, 1]."""

    polynomial = "P"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> UniformLaw:
        present = column[weights > 0]
        return cls._between(float(present.min()), float(present.max()), column)

    @classmethod
    def from_frozen(cls, frozen: Any) -> UniformLaw:
        low, high = frozen.support()
        return cls._between(float(low), float(high), np.array([low, high]))

    @classmethod
    def _between(cls, low: float, high: float, column: FloatArray) -> UniformLaw:
        return cls((low + high) / 2.0, _positive_scale((high - low) / 2.0, column))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        k = np.arange(1.0, degree + 1.0)
        return np.zeros(degree), k**2 / (4.0 * k**2 - 1.0)

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return generator.uniform(*self.support, size=size)

    @property
    def support(self) -> tuple[float, float]:
        return self.location - self.scale, self.location + self.scale


#: Names accepted by ``distribution=``.
NAMED_LAWS: dict[str, type[InputLaw]] = {"normal": NormalLaw, "uniform": UniformLaw}

#: Names of ``scipy.stats`` families accepted in frozen form.
FROZEN_LAWS: dict[str, type[InputLaw]] = {"norm": NormalLaw, "uniform": UniformLaw}


def _positive_scale(scale: float, column: FloatArray) -> float:
    """Return the scale, or 1 for a column that is constant up to rounding."""
    rounding = 10 * np.finfo(float).eps * float(np.max(np.abs(column), initial=0.0))
    return float(scale) if scale > rounding else 1.0


def check_distribution(owner: str, distribution: Any, n_features: int) -> list[Any]:
    """Return one checked specification per feature.

    Raises
    ------
    ValueError
        If a name is unknown, a frozen law is not supported, or a list has not one
        entry per feature.
    """
    if isinstance(distribution, Sequence) and not isinstance(distribution, str):
        specifications = list(distribution)
        if len(specifications) != n_features:
            raise ValueError(
                f"The 'distribution' parameter of {owner} has {len(specifications)} "
                f"entries but X has {n_features} features. Give one law for all or "
                "one per feature."
            )
    else:
        specifications = [distribution] * n_features
    for specification in specifications:
        _check_specification(owner, specification)
    return specifications


def _check_specification(owner: str, specification: Any) -> None:
    if isinstance(specification, str):
        known = specification in NAMED_LAWS
    else:
        known = _frozen_family(specification) in FROZEN_LAWS
    if not known:
        named = ", ".join(repr(name) for name in sorted(NAMED_LAWS))
        frozen = ", ".join(f"scipy.stats.{name}" for name in sorted(FROZEN_LAWS))
        shown = _frozen_family(specification) or specification
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be one of {named}, a "
            f"frozen law of {frozen}, or a list of these, one per feature. Got "
            f"{shown!r} instead. An input with another law can be mapped to a normal "
            "one before, for example by sklearn.preprocessing.QuantileTransformer("
            "output_distribution='normal')."
        )
    if not isinstance(specification, str):
        _check_frozen(owner, specification)


def _check_frozen(owner: str, frozen: Any) -> None:
    """Refuse a frozen law whose parameters are arrays, not finite or not a law."""
    with np.errstate(all="ignore"):
        moments = np.asarray([frozen.mean(), frozen.std()], dtype=np.float64)
    if moments.shape != (2,) or not np.all(np.isfinite(moments)) or moments[1] <= 0:
        raise ValueError(
            f"The 'distribution' parameter of {owner} has a frozen "
            f"scipy.stats.{_frozen_family(frozen)} of mean {frozen.mean()!r} and "
            f"standard deviation {frozen.std()!r}; expected finite numbers, and a "
            "positive scale."
        )


def _frozen_family(specification: Any) -> str | None:
    family = getattr(getattr(specification, "dist", None), "name", None)
    return family if isinstance(family, str) else None


def learn_input_laws(
    specifications: Sequence[Any],  # one per feature, checked
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the law of each column: frozen laws as they are, named ones learned."""
    laws: list[InputLaw] = []
    for specification, column in zip(specifications, X.T, strict=True):
        if isinstance(specification, str):
            laws.append(NAMED_LAWS[specification].learn(column, weights))
        else:
            family = FROZEN_LAWS[_frozen_family(specification) or ""]
            laws.append(family.from_frozen(specification))
    return laws


def evaluate_orthonormal(
    law: InputLaw,
    germ: FloatArray,  # shape: (n_samples,)
    degree: int,
) -> FloatArray:  # shape: (degree + 1, n_samples)
    """Evaluate the orthonormal polynomials up to ``degree`` by their recurrence."""
    values = np.empty((degree + 1, germ.shape[0]))
    values[0] = 1.0
    a, b = law.recurrence(degree)
    root = np.sqrt(b)
    for k in range(degree):
        values[k + 1] = (germ - a[k]) * values[k]
        if k > 0:
            values[k + 1] -= root[k - 1] * values[k - 1]
        values[k + 1] /= root[k]
    return values
