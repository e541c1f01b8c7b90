r"""The distribution of an input, and its classical families.

An input distribution standardises a column to :math:`t` and has the three-term
recurrence of the polynomials that are orthonormal under it ("Orthonormal polynomials"
in the page "Mathematics" of the documentation), so that a new family is one small class
with two arrays ([1]_, section 1.3). A distribution whose functions are no polynomials
(a categorical input) overrides ``evaluate`` instead.

References
----------
.. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
   Oxford University Press, 2004.
.. [2] D. Slepian and H. O. Pollak, "Prolate spheroidal wave functions, Fourier analysis
   and uncertainty I", Bell System Technical Journal 40 (1961).
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.linalg import eigh, eigh_tridiagonal

from .._checks import FloatArray, warn_outside_folds

#: Bandwidth of waves: about as many radians from the middle of an input to its ends.
BANDWIDTH = 5.0

# Fewer values than this are too few for a test of the distribution.
_SMALLEST_TESTABLE = 8


#: How an input of any distribution becomes a normal one, for messages.
MAP_TO_NORMAL = (
    "for example by sklearn.preprocessing.QuantileTransformer("
    "output_distribution='normal')."
)


class InputOutsideSupportWarning(UserWarning):
    """Values of X lie outside the support of the distribution learned in ``fit``."""


@dataclass(frozen=True)
class InputLaw(ABC):
    """The distribution of one input, standardised to ``(x - location) / scale``."""

    location: float
    scale: float
    learned: bool = True  # whether location and scale come from the data
    # Whether it was chosen from samples beyond which its functions keep their values.
    held: bool = field(default=False, kw_only=True)
    # Number of polynomials that are combined to waves; 0 for polynomials themselves.
    waves: int = field(default=0, kw_only=True)

    #: Short name of the polynomial family in feature names.
    polynomial: ClassVar[str]

    #: Whether finite ends of the support are learned with the location and scale.
    learns_bounds: ClassVar[bool] = True

    #: Whether function ``k`` is a polynomial of degree ``k``. Other functions
    #: (contrasts of categories) all count as of degree one.
    is_polynomial: ClassVar[bool] = True

    #: Whether :math:`t` is linear in one function of the input, whatever the data. The
    #: functions learned from other rows are then polynomials of these.
    same_function: ClassVar[bool] = True

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> InputLaw:
        """Learn location and scale from a weighted column."""
        raise TypeError(f"{cls.__name__} is given frozen, not learned from data.")

    @classmethod
    def learn_held(cls, column: FloatArray, weights: FloatArray) -> InputLaw:
        """Learn a distribution that is chosen from the column.

        Bounds lie beyond the outermost values by the gap that is expected there: the
        largest of n uniform values is (high - low) / (n + 1) below the bound on
        average. Values farther out are evaluated at the outermost ones, because
        polynomials of high degree grow fast where no value was seen.
        """
        law = replace(cls.learn(column, weights), held=True)
        if not (cls.learns_bounds and np.isfinite(law.support).all()):
            return law
        n = len(np.unique(column[weights > 0]))
        return replace(law, scale=law.scale * (n + 1) / max(n - 1, 1))

    @classmethod
    def from_frozen(cls, frozen: Any) -> InputLaw:
        """Take location and scale from a frozen ``scipy.stats`` distribution."""
        raise TypeError(f"{cls.__name__} is learned from data, not given frozen.")

    def describe(self) -> str:
        """Say which distribution this is, such as ``"uniform on [0, 1]"``."""
        return describe(self.to_scipy())

    @abstractmethod
    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        """Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree``."""

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw from the distribution, in the units of the input."""
        return np.asarray(self.to_scipy().rvs(size=size, random_state=generator))

    def to_scipy(self) -> Any:
        """Return that of ``scipy.stats``; None for one without a density."""
        return None

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Return the p-value of Kolmogorov's and Smirnov's test, parameters as given.

        NaN without a density: such a distribution is the distribution of the data.
        """
        law = self.to_scipy()
        return math.nan if law is None else stats.kstest(column, law.cdf).pvalue

    def standardize(self, column: FloatArray) -> FloatArray:
        """Return the standardised column."""
        return (column - self.location) / self.scale

    def in_units(self, standardised: FloatArray) -> FloatArray:
        """Return standardised values in the units of the input."""
        return self.location + self.scale * standardised

    def evaluate(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples)
        """Evaluate the orthonormal functions up to ``degree``."""
        a, b = self.recurrence(degree)
        return evaluate_recurrence(self.standardize(column), a, np.sqrt(b))

    def mixing(self) -> FloatArray:  # shape: (waves, waves), orthogonal
        r"""Return the coefficients of the waves in the polynomials but the constant.

        For a uniform input these are the prolate spheroidal wave functions [2]_:
        eigenfunctions of :math:`-((1 - t^2) f')' + c^2 t^2 f`, which polynomials of
        degree k have as :math:`k (k + 1)` where :math:`c` is 0. They oscillate alike
        over the whole range, polynomials the faster the nearer they are to its ends.
        """
        k = np.arange(1.0, self.waves + 1.0)
        a, b = self.recurrence(self.waves)
        middle, root = np.append(a, a[-1]) - a[0], np.sqrt(b)
        jacobi = np.diag(middle) + np.diag(root, 1) + np.diag(root, -1)
        squares = (jacobi @ jacobi)[1:, 1:] / (3.0 * b[0])  # t is about from -1 to 1
        return np.asarray(eigh(np.diag(k * (k + 1.0)) + BANDWIDTH**2 * squares)[1].T)

    def for_degree(self, degree: int | None) -> InputLaw:
        """Return the law whose functions serve a basis of this degree in the input.

        None stands for a degree that is learned.
        """
        return self

    def differentiate(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
        degree: int,
    ) -> FloatArray:  # shape: (degree + 1, n_samples), per unit of the input
        """Evaluate the derivatives of the orthonormal functions up to ``degree``."""
        standardised = self.standardize(column)
        values = self.evaluate(column, degree)
        slopes = np.zeros_like(values)
        a, b = self.recurrence(degree)
        root = np.sqrt(b)
        for k in range(degree):
            slopes[k + 1] = values[k] + (standardised - a[k]) * slopes[k]
            if k > 0:
                slopes[k + 1] -= root[k - 1] * slopes[k - 1]
            slopes[k + 1] /= root[k]
        return slopes / self.scale

    def atoms(self, degree: int) -> tuple[FloatArray, FloatArray] | None:
        """Return all values that matter to a degree, and masses; None for a density."""
        return None

    def quadrature(self, n_nodes: int) -> tuple[FloatArray, FloatArray]:
        """Return Gauss nodes, in the units of the input, and weights that sum to 1.

        A distribution on up to ``n_nodes`` values returns these, and so does one whose
        functions are no polynomials.
        """
        if not self.is_polynomial or n_nodes > self.largest_degree:
            values = self.atoms(n_nodes)
            assert values is not None  # whose number is the largest degree, and 1
            return values
        # Eigenvalues of the Jacobi matrix of the recurrence (Golub and Welsch), and
        # reciprocals of Christoffel's sums, which stay accurate in the tails.
        a, b = self.recurrence(n_nodes)
        standardised = eigh_tridiagonal(a, np.sqrt(b[:-1]), eigvals_only=True)
        nodes = self.in_units(standardised)
        functions = self.evaluate(nodes, n_nodes - 1)
        return nodes, 1.0 / np.square(functions).sum(axis=0)

    @property
    def largest_degree(self) -> float:
        """Number of functions beside the constant; inf without a bound."""
        return math.inf

    def check_degree(  # noqa: B027 (families with a closed form have any degree)
        self, owner: str, name: str, degree: int
    ) -> None:
        """Raise ``ValueError`` if there are no polynomials of a degree."""

    def p_value(self, column: FloatArray) -> float:
        """Return the goodness of fit; NaN for constant or fewer than 8 values."""
        if len(column) < _SMALLEST_TESTABLE or np.ptp(column) == 0:
            return float("nan")
        return float(self.goodness_of_fit(column))

    @property
    def is_logarithmic(self) -> bool:
        """Whether the logarithm of the input is what is drawn as an axis."""
        return False

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value, in the units of the input."""
        return -np.inf, np.inf

    def outside(
        self,
        column: FloatArray,  # shape: (n_samples,), in the units of the input
    ) -> NDArray[np.bool_]:  # shape: (n_samples,)
        """Mark the values outside the support."""
        low, high = self.support
        tolerance = 1e-9 * self.scale
        return (column < low - tolerance) | (column > high + tolerance)

    def _support_in_words(self) -> str:
        low, high = self.support
        return f"[{low:.6g}, {high:.6g}]"

    def _describe_outside(self, column: FloatArray) -> str:
        """Return what follows "values of x0" in the warning."""
        outside = f"lie outside {self._support_in_words()}"
        if self.held:
            return (
                f"{outside}, the range learned in fit; they are evaluated at the "
                "outermost values that were seen, or little beyond."
            )
        advice = " Give the true one as a frozen distribution." if self.learned else ""
        return (
            f"{outside}, the support of its distribution; the expansion extrapolates "
            f"there.{advice}"
        )

    def outside_in_words(self, column: FloatArray, name: str) -> str:
        """Say how many values lie outside the support; nothing if none does."""
        outside = self.outside(column)
        if not outside.any():
            return ""
        return (
            f"{int(outside.sum())} of {column.size} values of {name} "
            f"{self._describe_outside(column[outside])}"
        )


def evaluate_recurrence(
    points: FloatArray,  # shape: (n_points,), standardised
    a: FloatArray,  # shape: (degree,)
    root: FloatArray,  # shape: (degree,), the square roots of b
) -> FloatArray:  # shape: (degree + 1, n_points)
    """Evaluate orthonormal polynomials by their three-term recurrence."""
    values = np.empty((len(a) + 1, len(points)))
    values[0] = 1.0
    before = 0.0
    for k, (middle, scale) in enumerate(zip(a.tolist(), root.tolist(), strict=True)):
        shifted = points - middle if middle else points
        new = np.multiply(shifted, values[k], out=values[k + 1])
        if k > 0:
            new -= before * values[k - 1]
        new /= scale
        before = scale
    return values


def weighted_moments(column: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and variance."""
    mean = float(np.average(column, weights=weights))
    return mean, float(np.average((column - mean) ** 2, weights=weights))


def positive_scale(scale: float, column: FloatArray) -> float:
    """Return the scale; for a constant column 1, or more where 1 would be rounding."""
    largest = float(np.max(np.abs(column), initial=0.0))
    rounding = 10 * np.finfo(float).eps * largest
    return float(scale) if scale > rounding else max(1.0, 1e-6 * largest)


@dataclass(frozen=True, eq=False)
class FiniteMeasure:
    """Masses on distinct points."""

    points: FloatArray  # shape: (n_points,), distinct, increasing
    masses: FloatArray  # shape: (n_points,), positive, of sum 1

    def __len__(self) -> int:
        return len(self.points)

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return mean and standard deviation, 1 in place of a deviation of 0."""
        mean = float(self.masses @ self.points)
        sd = float(np.sqrt(self.masses @ (self.points - mean) ** 2))
        return mean, positive_scale(sd, self.points)

    def without_rounding(self) -> FiniteMeasure:
        """Join points that differ by rounding alone, at the first of them."""
        rounding = 10 * np.finfo(float).eps * np.max(np.abs(self.points))
        starts = np.flatnonzero(np.diff(self.points, prepend=-np.inf) > rounding)
        return FiniteMeasure(self.points[starts], np.add.reduceat(self.masses, starts))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        r"""Return ``a_0 .. a_{degree-1}`` and ``b_1 .. b_degree`` by Lanczos.

        The vectors :math:`q_k = \sqrt{w}\,\psi_k(t)` are Lanczos' vectors of the
        diagonal matrix of the points, started at :math:`\sqrt{w}` (Gautschi, 2004,
        section 2.2.3). They are orthogonalised twice against all before them. A
        measure on :math:`n` points ends the recurrence with :math:`b_n = 0`.
        """
        a, root = np.zeros(degree), np.zeros(degree)
        vectors = np.empty((min(degree + 1, len(self)), len(self)))
        vectors[0] = np.sqrt(self.masses / self.masses.sum())
        for k in range(degree):
            image = self.points * vectors[k]
            a[k] = vectors[k] @ image
            if k + 1 == len(self):
                break
            for _ in range(2):
                image -= (vectors[: k + 1] @ image) @ vectors[: k + 1]
            root[k] = np.linalg.norm(image)
            with np.errstate(all="ignore"):  # `defect` finds points that coincide
                vectors[k + 1] = image / root[k]
        return a, root**2

    def defect(self, a: FloatArray, b: FloatArray) -> float:
        """Return the largest deviation of a recurrence from orthonormality, or NaN."""
        with np.errstate(all="ignore"):
            values = evaluate_recurrence(self.points, a, np.sqrt(b))
            values *= np.sqrt(self.masses)
            gram = values @ values.T
        return float(np.max(np.abs(gram - np.eye(len(gram)))))


def measure_of_sample(column: FloatArray, weights: FloatArray) -> FiniteMeasure:
    """Return the distinct values of positive weight and their frequencies."""
    present = weights > 0
    points, position = np.unique(column[present], return_inverse=True)
    masses = np.bincount(position.ravel(), weights=weights[present])
    return FiniteMeasure(points, masses / masses.sum())


def is_frozen(specification: Any) -> bool:
    """Return whether this is a frozen univariate distribution of ``scipy.stats``."""
    family = getattr(specification, "dist", None)
    return isinstance(family, (stats.rv_continuous, stats.rv_discrete))


def family_name(frozen: Any) -> str:
    """Return the name of the family of a frozen distribution."""
    family = frozen.dist
    # scipy names a family of no name, such as a histogram, "Distribution".
    named = family.name not in (None, "Distribution")
    return str(family.name if named else type(family).__name__)


def parameters(frozen: Any) -> dict[str, Any]:
    """Return shapes, ``loc`` and, for a continuous distribution, ``scale`` by name."""
    shapes = (frozen.dist.shapes or "").split(",")
    names = [*filter(None, map(str.strip, shapes)), "loc", "scale"]
    given = dict(zip(names, frozen.args, strict=False)) | dict(frozen.kwds)
    given.setdefault("loc", 0.0)
    if isinstance(frozen.dist, stats.rv_continuous):
        given.setdefault("scale", 1.0)
    return given


def of_logarithm(frozen: Any) -> Any:
    """Return the distribution of the logarithm to base 10 of a variable.

    None for others than log-uniform and log-normal ones that begin at 0.
    """
    name = family_name(frozen) if is_frozen(frozen) else ""
    if name not in ("loguniform", "reciprocal", "lognorm"):
        return None
    given = parameters(frozen)
    if given["loc"] != 0:
        return None
    if name == "lognorm":
        return stats.norm(np.log10(given["scale"]), given["s"] / np.log(10.0))
    low, high = np.log10(frozen.support())
    return stats.uniform(low, high - low)


def describe(frozen: Any) -> str:
    """Return the distribution as code, such as ``scipy.stats.t(df=3)``."""
    if hasattr(frozen.dist, "given"):  # of another library
        return str(frozen.dist.given)
    defaults = {"loc": 0.0, "scale": 1.0}
    shown = ", ".join(
        f"{name}={value:.6g}"
        for name, value in parameters(frozen).items()
        if value != defaults.get(name)
    )
    return f"scipy.stats.{family_name(frozen)}({shown})"


def check_frozen(owner: str, frozen: Any) -> None:
    """Refuse a frozen distribution whose mean or variance is an array or not finite."""
    if type(frozen.dist) is type(stats.vonmises) and np.isinf(frozen.support()[0]):
        raise ValueError(
            f"The 'distribution' parameter of {owner} is scipy.stats.vonmises, which "
            "repeats itself along the whole line; expected scipy.stats.vonmises_line, "
            "the same on one turn."
        )
    mean, sd = moments(frozen)
    if mean.ndim or sd.ndim or not np.isfinite(mean + sd) or sd <= 0:
        raise ValueError(
            f"The 'distribution' parameter of {owner} has a frozen "
            f"scipy.stats.{family_name(frozen)} of mean {mean.tolist()!r} and "
            f"standard deviation {sd.tolist()!r}; expected finite numbers, and a "
            "positive scale. An input without mean or variance can be mapped to a "
            f"normal one before, {MAP_TO_NORMAL}"
        )


@lru_cache(maxsize=64)
def moments(frozen: Any) -> tuple[Any, Any]:
    """Return mean and standard deviation, not finite where they do not exist."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # scipy integrates where it has no formula, and warns where that fails.
        warnings.simplefilter("ignore")
        mean, variance = frozen.stats(moments="mv")
        return np.asarray(mean), np.sqrt(np.asarray(variance))


# Above this size the p-value of Shapiro and Wilk's test is not accurate.
_LARGEST_SHAPIRO = 5000


class NormalLaw(InputLaw):
    """Normal input; orthonormal (probabilists') Hermite polynomials."""

    polynomial = "He"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> NormalLaw:
        mean, variance = weighted_moments(column, weights)
        return cls(mean, positive_scale(np.sqrt(variance), column))

    @classmethod
    def from_frozen(cls, frozen: Any) -> NormalLaw:
        mean, deviation = moments(frozen)
        return cls(float(mean), float(deviation), learned=False)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        return np.zeros(degree), np.arange(1.0, degree + 1.0)

    def to_scipy(self) -> Any:
        return stats.norm(self.location, self.scale)

    def describe(self) -> str:
        return f"normal (mean {self.location:.3g}, sd {self.scale:.3g})"

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Test the shape alone when learned: Shapiro-Wilk, or D'Agostino-Pearson."""
        if not self.learned:
            return super().goodness_of_fit(column)
        test = stats.shapiro if len(column) <= _LARGEST_SHAPIRO else stats.normaltest
        return test(column).pvalue


class BoundedLaw(InputLaw):
    """An input between two bounds, standardised to [-1, 1]."""

    @property
    def support(self) -> tuple[float, float]:
        return self.location - self.scale, self.location + self.scale


def _middle_and_half(low: Any, high: Any) -> tuple[float, float]:
    """Return location and scale of an input between two bounds."""
    low, high = float(low), float(high)
    return (low + high) / 2.0, (high - low) / 2.0


class UniformLaw(BoundedLaw):
    """Uniform input; orthonormal Legendre polynomials."""

    polynomial = "P"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> UniformLaw:
        present = column[weights > 0]
        middle, half = _middle_and_half(present.min(), present.max())
        return cls(middle, positive_scale(half, present))

    @classmethod
    def from_frozen(cls, frozen: Any) -> UniformLaw:
        return cls(*_middle_and_half(*frozen.support()), learned=False)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        k = np.arange(1.0, degree + 1.0)
        return np.zeros(degree), k**2 / (4.0 * k**2 - 1.0)

    def to_scipy(self) -> Any:
        return stats.uniform(self.location - self.scale, 2.0 * self.scale)

    def describe(self) -> str:
        low, high = self.support
        return f"uniform on [{low:.4g}, {high:.4g}]"


class LogarithmicLaw(InputLaw):
    """A positive input of whose logarithm the distribution is known.

    Location and scale are those of the logarithm, and so are the polynomials. A value
    without a logarithm, which lies outside, is evaluated at the low end.
    """

    #: Distribution of the logarithm.
    of_logarithm: ClassVar[type[InputLaw]]

    #: Standardised value in place of the logarithm of a number that is not positive.
    low_end: ClassVar[float]

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> LogarithmicLaw:
        present = weights > 0
        law = cls.of_logarithm.learn(np.log(column[present]), weights[present])
        return cls(law.location, law.scale)

    @classmethod
    def from_frozen(cls, frozen: Any) -> LogarithmicLaw:
        law = cls.of_logarithm.from_frozen(of_logarithm(frozen))
        natural = math.log(10.0)
        return cls(natural * law.location, natural * law.scale, learned=False)

    @property
    def _logarithm(self) -> InputLaw:
        return self.of_logarithm(self.location, self.scale)

    @property
    def is_logarithmic(self) -> bool:
        return True

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        return self._logarithm.recurrence(degree)

    def standardize(self, column: FloatArray) -> FloatArray:
        positive = column > 0
        if positive.all():
            return super().standardize(np.log(column))
        known = np.log(np.where(positive, column, 1.0))
        return np.where(positive, super().standardize(known), self.low_end)

    def in_units(self, standardised: FloatArray) -> FloatArray:
        return np.exp(super().in_units(standardised))

    def differentiate(self, column: FloatArray, degree: int) -> FloatArray:
        positive = column > 0
        slopes = super().differentiate(column, degree)
        return np.where(positive, slopes / np.where(positive, column, 1.0), 0.0)

    def goodness_of_fit(self, column: FloatArray) -> float:
        return self._logarithm.goodness_of_fit(np.log(column))

    @property
    def support(self) -> tuple[float, float]:
        low, high = np.exp(self._logarithm.support).tolist()
        return low, high

    def outside(self, column: FloatArray) -> NDArray[np.bool_]:
        known = np.log(np.where(column > 0, column, 1.0))
        return (column <= 0) | self._logarithm.outside(known)


class LogNormalLaw(LogarithmicLaw):
    """Input whose logarithm is normal; orthonormal Hermite polynomials of it.

    Polynomials of the input itself would not come near every function of it (O. G.
    Ernst and others, ESAIM: M2AN 46, 2012); those of its logarithm do.
    """

    polynomial = "LogHe"
    of_logarithm = NormalLaw
    learns_bounds = False
    low_end = -3.0

    def to_scipy(self) -> Any:
        return stats.lognorm(s=self.scale, scale=math.exp(self.location))

    def describe(self) -> str:
        median = math.exp(self.location)
        return f"log-normal (median {median:.3g}, sd of the logarithm {self.scale:.3g})"


class LogUniformLaw(LogarithmicLaw):
    """Input whose logarithm is uniform; orthonormal Legendre polynomials of it.

    Learned are the ends, which are the smallest and the largest value.
    """

    polynomial = "LogP"
    of_logarithm = UniformLaw
    low_end = -1.0

    def to_scipy(self) -> Any:
        return stats.loguniform(*self.support)

    def describe(self) -> str:
        low, high = self.support
        return f"log-uniform on [{low:.4g}, {high:.4g}]"


@dataclass(frozen=True)
class GammaLaw(InputLaw):
    r"""Gamma input; orthonormal generalised Laguerre polynomials ([1]_, table 1.1).

    The standardised density is :math:`t^{\alpha} e^{-t} / \Gamma(\alpha + 1)` with
    :math:`\alpha` = ``shape`` - 1. Learned are the location, which is the smallest
    value of positive weight, and shape and scale, from mean and variance above it.
    """

    shape: float = 1.0

    polynomial = "L"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> GammaLaw:
        low, mean, variance = _moments_above_smallest(column, weights)
        deviation = float(np.sqrt(variance))
        if positive_scale(deviation, column[weights > 0]) != deviation:  # constant
            return cls(low, positive_scale(0.0, column[weights > 0]))
        return cls(low, variance / mean, shape=mean**2 / variance)

    @classmethod
    def from_frozen(cls, frozen: Any) -> GammaLaw:
        given = parameters(frozen)
        loc, scale = float(given["loc"]), float(given["scale"])
        if family_name(frozen) == "chi2":
            return cls(loc, 2.0 * scale, learned=False, shape=float(given["df"]) / 2.0)
        return cls(loc, scale, learned=False, shape=float(given.get("a", 1.0)))

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        k = np.arange(degree + 1.0)
        alpha = self.shape - 1.0
        return 2.0 * k[:-1] + 1.0 + alpha, k[1:] * (k[1:] + alpha)

    def to_scipy(self) -> Any:
        return stats.gamma(self.shape, self.location, self.scale)

    def describe(self) -> str:
        above = f"scale {self.scale:.3g}, above {self.location:.4g}"
        if self.shape == 1.0:
            return f"exponential ({above})"
        return f"gamma (shape {self.shape:.3g}, {above})"

    @property
    def support(self) -> tuple[float, float]:
        return self.location, np.inf


class ExponentialLaw(GammaLaw):
    """Exponential input: a gamma one of shape 1, whose scale is the mean."""

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> ExponentialLaw:
        low, mean, _ = _moments_above_smallest(column, weights)
        return cls(low, positive_scale(mean, column[weights > 0]))


def _moments_above_smallest(
    column: FloatArray, weights: FloatArray
) -> tuple[float, float, float]:
    """Return the smallest value, and mean and variance of the distance above it."""
    low = float(column[weights > 0].min())
    return low, *weighted_moments(column - low, weights)


# Moments of a column that takes only its two extremes give shapes of 0.
_SMALLEST_SHAPE = 1e-3


@dataclass(frozen=True)
class BetaLaw(BoundedLaw):
    r"""Beta input; orthonormal Jacobi polynomials ([1]_, table 1.1).

    The standardised density is proportional to :math:`(1-t)^\alpha (1+t)^\beta` with
    :math:`\alpha` = ``shapes[1]`` - 1 and :math:`\beta` = ``shapes[0]`` - 1, the shapes
    in the order of :data:`scipy.stats.beta`. Learned are the bounds, which are values
    of positive weight, and the shapes, from mean and variance between them.
    """

    shapes: tuple[float, float] = (1.0, 1.0)

    polynomial = "J"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> BetaLaw:
        present = column[weights > 0]
        low, high = float(present.min()), float(present.max())
        middle, half = _middle_and_half(low, high)
        if positive_scale(half, present) != half:  # constant
            return cls(middle, positive_scale(0.0, present))
        mean, variance = weighted_moments((column - low) / (high - low), weights)
        total = mean * (1.0 - mean) / variance - 1.0
        first = max(mean * total, _SMALLEST_SHAPE)
        second = max((1.0 - mean) * total, _SMALLEST_SHAPE)
        return cls(middle, half, shapes=(first, second))

    @classmethod
    def from_frozen(cls, frozen: Any) -> BetaLaw:
        shapes = BETA_FAMILIES[family_name(frozen)](parameters(frozen))
        bounds = _middle_and_half(*frozen.support())
        return cls(*bounds, learned=False, shapes=shapes)

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        alpha, beta = self.shapes[1] - 1.0, self.shapes[0] - 1.0
        total = alpha + beta
        a, b = np.empty(degree), np.empty(degree)
        # With s = 2 k + alpha + beta, a_k = (beta^2 - alpha^2) / (s (s + 2)) and b_k =
        # 4 k (k + alpha) (k + beta) (k + alpha + beta) / (s^2 (s + 1) (s - 1)). These
        # are 0/0 at k = 0 and k = 1 for some shapes.
        a[:1] = (beta - alpha) / (total + 2.0)
        b[:1] = 4 * (1 + alpha) * (1 + beta) / ((total + 2) ** 2 * (total + 3))
        k = np.arange(1.0, degree)
        s = 2.0 * k + total
        a[1:] = (beta - alpha) * total / (s * (s + 2.0))
        k = np.arange(2.0, degree + 1.0)
        s = 2.0 * k + total
        b[1:] = 4 * k * (k + alpha) * (k + beta) * (k + total)
        b[1:] /= s**2 * (s + 1.0) * (s - 1.0)
        return a, b

    def to_scipy(self) -> Any:
        low = self.location - self.scale
        return stats.beta(*self.shapes, low, 2.0 * self.scale)

    def describe(self) -> str:
        (first, second), (low, high) = self.shapes, self.support
        return f"beta ({first:.3g}, {second:.3g}) on [{low:.4g}, {high:.4g}]"


#: Families of ``scipy.stats`` that are beta laws on their support, with the shapes.
BETA_FAMILIES: Mapping[str, Callable[[dict[str, Any]], tuple[float, float]]] = {
    "beta": lambda given: (float(given["a"]), float(given["b"])),
    "powerlaw": lambda given: (float(given["a"]), 1.0),
    "arcsine": lambda given: (0.5, 0.5),
    "semicircular": lambda given: (1.5, 1.5),
    "rdist": lambda given: (float(given["c"] / 2.0),) * 2,
}


# Inputs that a warning names.
_MOST_NAMED = 3

# The tail of a stated distribution that holds no quarter of the values; it is asked
# for beyond so many scales.
_SMALLEST_TAIL, _FAR = 1e-6, 3.0


def warn_outside(
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    names: Sequence[str],
    reach: FloatArray | None = None,  # shape: (2, n_features), where functions end
) -> None:
    """Warn once of values outside the supports, except in a cross-validation.

    There the row with the largest value of an input is held out once, and lies
    outside a range that was learned without it. Without a support, of values that are
    beyond the reach of the functions by more than half of it.
    """
    found = []
    for i, (law, column, name) in enumerate(zip(laws, X.T, names, strict=True)):
        text = law.outside_in_words(column, name)
        if not text and reach is not None and law.is_polynomial:
            low, high = reach[:, i].tolist()
            beyond = np.maximum(low - column, column - high) > 0.5 * (high - low)
            if beyond.any():
                text = (
                    f"{int(beyond.sum())} of {len(column)} values of {name} lie far "
                    f"outside [{low:.6g}, {high:.6g}], where its functions end; they "
                    "are evaluated at these ends."
                )
        if text:
            found.append(text)
    if found:
        _warn(found)


def warn_of_narrow(
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    names: Sequence[str],
) -> None:
    """Warn once of inputs whose stated distribution is narrower than their data.

    Either some values are outside of its support, or a quarter of them is where it has
    no more than a millionth.
    """
    found = []
    for law, column, name in zip(laws, X.T, names, strict=True):
        if law.learned:
            continue
        ends = np.array([column.min(), column.max()])
        data = f"{name} ({ends[0]:.3g} to {ends[1]:.3g})"
        text = law.outside_in_words(column, data)
        if not text and _are_far(law, ends):
            lower, upper = quartiles = np.quantile(column, [0.25, 0.75])
            stated = law.to_scipy() if _are_far(law, quartiles) else None
            if stated and min(stated.cdf(lower), stated.sf(upper)) < _SMALLEST_TAIL:
                text = (
                    f"A quarter of the values of {data} lie where the distribution "
                    f"that was given, {law.describe()}, has less than "
                    f"{_SMALLEST_TAIL:g} of its probability."
                )
        if text:
            found.append(text)
    if found:
        remedy = " The indices hold for the stated distributions. State wider ones, "
        remedy += "such as bounds (low, high) that contain the data, or leave these "
        _warn(found, f"{remedy}rows out.")


def _are_far(law: InputLaw, values: FloatArray) -> bool:
    return bool(np.abs(law.standardize(values)).max() > _FAR)


def _warn(found: Sequence[str], remedy: str = "") -> None:
    """Warn of some inputs by name, and of the number of others."""
    text = " ".join(found[:_MOST_NAMED])
    if len(found) > _MOST_NAMED:
        text += f" So it is for {len(found) - _MOST_NAMED} more inputs."
    warn_outside_folds(text + remedy, InputOutsideSupportWarning)
