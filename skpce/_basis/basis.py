r"""The orthonormal polynomial basis, and what determines it.

A truncation set consists of the multi-indices :math:`j` with

.. math:: \lVert j \rVert_q = \Bigl(\sum_i j_i^q\Bigr)^{1/q} \le p

[1]_ and at most ``interaction_order`` positive entries. With :math:`q = 1` this is the
total-degree set; :math:`q < 1` thins the interactions (the hyperbolic set).

The entry of a categorical input is the number of a contrast, not a degree: each
contrast counts as of degree one. So the function :math:`j_i` of input :math:`i` costs
:math:`j_i^q`, a contrast one, a term costs what its functions cost together, and it is
in the set when that is at most :math:`p^q`.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based
   on least angle regression", Journal of Computational Physics 230 (2011), eqs. (14)
   and (16).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    available_memory,
    check_integer,
    check_option,
    check_real,
    input_names,
    refuse_extremes,
    state_of_fields,
    validated,
    warn_outside_folds,
)
from .._input_laws import (
    check_columns,
    check_distribution,
    learn_input_laws,
)
from .._input_laws.families import InputLaw, warn_of_narrow, warn_outside
from .._input_laws.tabulated import CategoricalLaw

# Multi-index sets: which products of univariate functions enter the expansion.


def sort_graded(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    categorical: BoolArray,  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort by total degree, then by first input, its exponent, second input, ...

    Larger exponents come first, as in scikit-learn: x0*x0*x1 before x0*x1*x1. The
    contrasts of a category come in their own order.
    """
    last = multi_indices.max(initial=0) + 1  # a term without the input comes last
    contrasts = np.where(multi_indices > 0, multi_indices, last)
    keys = np.where(categorical, contrasts, -multi_indices)
    total = np.where(categorical, multi_indices > 0, multi_indices).sum(axis=1)
    return multi_indices[np.lexsort((*keys.T[::-1], total))]


def longer_sets(
    places: IndexArray,  # shape: (n_sets, n_factors), each ascending
    reach: IndexArray,  # shape: (n_sets,), before which the next factor is
    inputs: IndexArray,  # shape: (n_all_factors,), of which each is a function
) -> tuple[IndexArray, IndexArray]:
    """Return sets and a later factor of another input for each, in all ways."""
    counts = np.maximum(reach - places[:, -1] - 1, 0)
    which = np.repeat(np.arange(len(places)), counts)
    step = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    factor = places[which, -1] + 1 + step
    apart = (inputs[places[which]] != inputs[factor][:, np.newaxis]).all(axis=1)
    return which[apart], factor[apart]


def with_terms_below(multi_indices: IndexArray, inputs: Iterable[int]) -> IndexArray:
    """Append the terms that have smaller exponents of some inputs and are lacking."""
    given = {tuple(row) for row in multi_indices.tolist()}
    every = set(given)
    for i in inputs:
        for row in list(every):
            every.update((*row[:i], k, *row[i + 1 :]) for k in range(row[i]))
    return np.vstack([multi_indices, *map(np.array, sorted(every - given))])


def lines_along(multi_indices: IndexArray, feature: int) -> IndexArray:
    """Return terms that differ in the exponent of one input alone; one row for each.

    Positions by exponent, -1 where there is no term. Rows of one term are left out.
    """
    exponents = multi_indices[:, feature]
    others = np.delete(multi_indices, feature, axis=1)
    _, line = np.unique(others, axis=0, return_inverse=True)
    shape = int(line.max(initial=-1)) + 1, int(exponents.max(initial=0)) + 1
    positions = np.full(shape, -1)
    positions[line.ravel(), exponents] = np.arange(len(exponents))
    return positions[(positions[:, 1:] >= 0).any(axis=1)]


#: Sets of up to so many exponents are kept: a verdict or a search asks for the same
#: one in every fit.
LARGEST_KEPT = 20_000

# Rounding in the q-norm, relative to degree**q: 2**0.75 + 2**0.75 is not exact.
_TOLERANCE = 1e-9


class Truncation(NamedTuple):
    """Which terms are in a set."""

    degree: int
    q: float
    order: int | None  # largest number of inputs in a term; None for no limit
    largest: tuple[float, ...]  # functions of each input beside the constant
    categorical: tuple[bool, ...]  # whether they are contrasts

    @classmethod
    def of_degree(
        cls, n_features: int, degree: int, q: float = 1.0, order: int | None = None
    ) -> Truncation:
        """Return the set of polynomials without an end."""
        return cls(degree, q, order, (math.inf,) * n_features, (False,) * n_features)

    @classmethod
    def of_laws(
        cls, laws: Sequence[InputLaw], degree: int, q: float, order: int | None
    ) -> Truncation:
        """Return the set of the functions that the inputs have."""
        pairs = [(float(law.largest_degree), not law.is_polynomial) for law in laws]
        largest, categorical = zip(*pairs, strict=True)
        return cls(degree, q, order, largest, categorical)

    def count(self, stop_above: float = math.inf) -> int:
        """Count the terms, or return a lower bound above ``stop_above``."""
        return self._grown(stop_above)[0]

    def listed(self) -> IndexArray:  # shape: (n_terms, n_features)
        """Return the terms, sorted; those of a small set are listed once."""
        small = _listed(self)
        return self.made() if small is None else small.copy()

    def made(self) -> IndexArray:  # shape: (n_terms, n_features)
        """List and sort the terms."""
        n_terms, steps = self._grown()
        rows = np.zeros((n_terms, len(self.largest)), dtype=np.int64)
        start = 1
        for i, (shorter, numbers) in enumerate(steps):
            own = rows[start : start + len(shorter)]
            own[:] = rows[shorter]
            own[:, i] = numbers
            start += len(shorter)
        return sort_graded(rows, np.array(self.categorical))

    def _grown(
        self, stop_above: float = math.inf
    ) -> tuple[int, list[tuple[IndexArray, IndexArray]]]:
        """Return the number of terms, and how those are made that each input adds.

        A function of the input, given by its number, times a term of inputs before.
        """
        limit = float(self.degree) ** self.q * (1.0 + _TOLERANCE)
        order = self.order or len(self.largest)
        spent, sizes = np.zeros(1), np.zeros(1, dtype=np.int64)
        steps: list[tuple[IndexArray, IndexArray]] = []
        n_functions = self.function_numbers().astype(np.int64)
        for n, categorical in zip(n_functions, self.categorical, strict=True):
            costs = np.arange(1.0, n + 1.0) ** (0.0 if categorical else self.q)
            shorter = np.flatnonzero(sizes < order)
            reach = np.searchsorted(costs, limit - spent[shorter], side="right")
            n_terms = len(spent) + int(reach.sum())
            if n_terms > stop_above:
                return n_terms, steps
            which = np.repeat(shorter, reach)
            ends = np.cumsum(reach)
            numbers = 1 + np.arange(len(which)) - np.repeat(ends - reach, reach)
            spent = np.append(spent, spent[which] + costs[numbers - 1])
            sizes = np.append(sizes, sizes[which] + 1)
            steps.append((which, numbers))
        return len(spent), steps

    def function_numbers(self) -> FloatArray:
        """Return the number of functions of each input alone."""
        largest = np.array(self.largest)
        contrasts = largest if self.degree >= 1 else np.zeros_like(largest)
        return np.where(self.categorical, contrasts, np.minimum(self.degree, largest))


@lru_cache(maxsize=32)
def _listed(cut: Truncation) -> IndexArray | None:  # shape: (n_terms, n_features)
    """Return the terms of a small set."""
    most = LARGEST_KEPT // len(cut.largest)
    return cut.made() if cut._grown(most)[0] <= most else None


# More functions of one input than this are refused; no number of samples tells them
# apart.
_MOST_FUNCTIONS = 10_000

# A fit needs about three arrays of the size of the design matrix, of 8 bytes each.
_BYTES_PER_ENTRY = 3 * 8


def check_design_fits(
    owner: str, n_rows: int, n_terms: int, fit: str | None = None
) -> None:
    """Raise ``ValueError``, with advice, when a fit exceeds the memory."""
    needed = _BYTES_PER_ENTRY * max(n_rows, 1) * n_terms
    if needed <= available_memory():
        return
    fit = f"with {n_rows} samples the fit" if fit is None else fit
    raise ValueError(
        f"The basis of {owner} has at least {n_terms} terms; {fit} needs about "
        f"{needed / 2**30:.3g} GiB, more than the "
        f"{available_memory() / 2**30:.3g} GiB that it may use here. Lower 'degree', "
        "set 'interaction_order' (2 or 3), or use truncation='hyperbolic' with q < 1."
    )


# The columns of a basis: each is its first univariate function times another column,
# that of its tail.


class Products(NamedTuple):
    """How the columns of a basis are filled."""

    n_columns: int  # those of the terms, then those of tails that are no terms
    # Of each column but the constant its place, that of its tail, which is filled
    # before, and the input and the exponent of its first function.
    steps: list[tuple[int, int, int, int]]
    most_factors: int  # number of inputs in the largest product of a term, at least 1
    largest: list[int]  # exponent of each input


@lru_cache(maxsize=32)
def _products_of_small(multi_indices: bytes, n_features: int) -> Products:
    rows = np.frombuffer(multi_indices, dtype=np.int64).reshape(-1, n_features)
    return products_of(rows)


def products_of(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> Products:
    """Return the steps; tails that are no terms get columns after the terms."""
    factors: list[list[tuple[int, int]]] = [[] for _ in multi_indices]
    terms, inputs = np.nonzero(multi_indices)
    exponents = multi_indices[terms, inputs].tolist()
    for term, i, k in zip(terms.tolist(), inputs.tolist(), exponents, strict=True):
        factors[term].append((i, k))
    rows = [tuple(row) for row in factors]
    places = {row: place for place, row in enumerate(rows)}
    for row in rows:  # which grow
        if row[1:] not in places:
            places[row[1:]] = len(rows)
            rows.append(row[1:])
    shortest_first = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    steps = [
        (place, places[rows[place][1:]], *rows[place][0])
        for place in shortest_first
        if rows[place]
    ]
    most_factors = max(map(len, rows))
    largest = multi_indices.max(axis=0, initial=0).tolist()
    return Products(len(rows), steps, max(most_factors, 1), largest)


TRUNCATIONS = ("total_degree", "hyperbolic")

# Entries of a block of the design matrix: 4 MiB, which stay in the cache for a matrix
# product. Four times more or less was slower.
_BLOCK_ENTRIES = 2**19

# Below this many rows the calls cost more than the arithmetic.
_SMALLEST_BLOCK = 256


# Largest product of functions: 1 - leverage is about the inverse of its square, and
# the square of that is a number too.
_LARGEST_PRODUCT = 1e60
# Features that are fitted by nothing may be as large as numbers are.
_LARGEST_FEATURE = 1e300


class MoreTermsThanRowsWarning(UserWarning):
    """Terms are many beside the rows, or beside the settings that rows repeat."""


def warn_of_terms(chooses_terms: bool, n_terms: int, n_rows: int) -> None:
    """Warn of more terms than rows, unless terms are chosen."""
    if n_terms > n_rows and not chooses_terms:
        warn_outside_folds(
            f"The basis has {n_terms} terms for {n_rows} rows, so that the penalty "
            "decides most coefficients. Lower the degree, or choose few terms with "
            "solver='subspace_pursuit'.",
            MoreTermsThanRowsWarning,
        )


def evaluate_within(
    law: InputLaw,
    column: FloatArray,  # shape: (n_samples,)
    degree: int,
    ends: FloatArray | None,  # shape: (2, n_samples) or (2,)
    *,
    slope: bool = False,
    held_from: int = 1,
) -> FloatArray:  # shape: (1 + degree, n_samples)
    """Evaluate the functions of an input, or their slopes.

    Beyond the ends polynomials, from a degree on, keep the values that they have there.
    """
    evaluate = law.differentiate if slope else law.evaluate
    if law.waves:
        law, mixing = replace(law, waves=0), law.mixing()[:degree]
        values = evaluate_within(law, column, mixing.shape[1], ends, slope=slope)
        return np.vstack([values[:1], mixing @ values[1:]])
    if ends is None or not law.is_polynomial:
        return evaluate(column, degree)
    held = np.clip(column, *ends)
    values = evaluate(held, degree)
    if slope:
        values[:, held != column] = 0.0
    if held_from > 1:
        values[:held_from] = evaluate(column, min(held_from - 1, degree))
    return values


_SHOWN = 12  # inputs that are printed


class Functions(ABC):
    """Functions of independent inputs, in which an expansion is expanded."""

    laws: Sequence[InputLaw]  # one per input

    @abstractmethod
    def blocks(
        self, X: FloatArray, *, max_entries: int = _BLOCK_ENTRIES
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of rows of the values of the functions."""

    @property
    @abstractmethod
    def n_functions(self) -> int:
        """Number of coefficients of an output."""

    def evaluate(self, X: FloatArray, **options: Any) -> FloatArray:
        """Return the design matrix of shape (n_samples, n_functions)."""
        columns = np.empty((self.n_functions, len(X)))
        for rows, design in self.blocks(X, **options):
            columns[:, rows] = design.T
        return columns.T

    def combine(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
    ) -> FloatArray:  # shape: (n_samples, n_targets)
        """Evaluate expansions, without the whole design matrix."""
        values = np.empty((len(X), len(coefficients)))
        for rows, design in self.blocks(X):
            np.matmul(design, coefficients.T, out=values[rows])
        return values

    def p_values(self, X: FloatArray) -> FloatArray:  # shape: (n_features,)
        """Return the goodness of fit of each input to its distribution."""
        columns = zip(self.laws, X.T, strict=True)
        return np.array([law.p_value(column) for law, column in columns])

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw independent inputs; shape (size, n_features)."""
        return sample_laws(self.laws, size, generator)


@dataclass(frozen=True)
class PolynomialBasis(Functions):
    """Products of univariate orthonormal functions.

    Row 0 of the multi-indices is zero. They are evaluated fastest in graded order; no
    row needs its divisors to be rows too.
    """

    laws: Sequence[InputLaw]  # one per feature
    multi_indices: IndexArray  # shape: (n_terms, n_features)
    # Beyond which functions keep their values, see ``evaluate_within``.
    reach: FloatArray | None = None  # shape: (2, n_features)

    __getstate__ = state_of_fields

    def __str__(self) -> str:
        head = f"{self.n_terms} terms of degree up to {self.total_degree}."
        laws = [
            f"- x{i}: {law.describe()}{', waves' if law.waves else ''}"
            for i, law in enumerate(self.laws[:_SHOWN])
        ]
        more = len(self.laws) - len(laws)
        return "\n".join([head, *laws, *([f"- ({more} more)"] if more else [])])

    @cached_property
    def exponents(self) -> IndexArray:
        """Degree in each input, shape (n_terms, n_features); a contrast counts one."""
        categorical = categorical_inputs(self.laws)
        return np.where(categorical, self.multi_indices > 0, self.multi_indices)

    @cached_property
    def degrees(self) -> IndexArray:
        """Total degree of each term, shape (n_terms,); a contrast counts one."""
        return self.exponents.sum(axis=1)

    @property
    def with_terms(self) -> PolynomialBasis:
        """The basis itself, whose terms are listed."""
        return self

    @property
    def n_terms(self) -> int:
        """Number of terms, with the constant."""
        return len(self.multi_indices)

    @property
    def n_functions(self) -> int:
        """Number of coefficients of an output, one for each term."""
        return len(self.multi_indices)

    @property
    def total_degree(self) -> int:
        """Largest total degree of a term."""
        return int(self.degrees.max())

    def terms_within(self, features: Collection[int]) -> IndexArray:
        """Return the positions of the constant and the terms of these inputs alone."""
        others = np.setdiff1d(np.arange(len(self.laws)), list(features))
        return np.flatnonzero(~self.multi_indices[:, others].any(axis=1))

    def of_inputs(self, features: Sequence[int]) -> tuple[PolynomialBasis, IndexArray]:
        """Return the basis on these inputs alone, and its functions in this one."""
        rows = self.terms_within(features)
        laws = [self.laws[i] for i in features]
        reach = None if self.reach is None else self.reach[:, features]
        terms = self.multi_indices[rows][:, features]
        return PolynomialBasis(laws, terms, reach), rows

    @cached_property
    def _products(self) -> Products:
        """How to make the columns."""
        rows = self.multi_indices
        if rows.size > LARGEST_KEPT:
            return products_of(rows)
        return _products_of_small(rows.tobytes(), rows.shape[1])

    def _fill(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        columns: FloatArray,  # shape: (n_columns, n_samples), filled
        slope_of: int | None = None,
        largest_product: float = _LARGEST_PRODUCT,
    ) -> None:
        """Fill every column, with derivatives of the functions of ``slope_of``."""
        highest = largest_product ** (1.0 / self._products.most_factors)
        tables = {}
        with np.errstate(over="ignore", invalid="ignore"):
            for i, degree in enumerate(self._products.largest):
                if degree:
                    ends = None if self.reach is None else self.reach[:, i]
                    given = self.laws[i], X[:, i], degree, ends
                    tables[i] = evaluate_within(*given, slope=slope_of == i)
                    table = tables[i]
                    low, high = table.min(initial=0.0), table.max(initial=0.0)
                    if not -highest <= low <= high <= highest:  # or NaN
                        self._refuse_overflow(table, X, i, highest)
        columns[0] = 1.0
        for place, tail, feature, exponent in self._products.steps:
            np.multiply(columns[tail], tables[feature][exponent], out=columns[place])

    def _refuse_overflow(
        self, table: FloatArray, X: FloatArray, i: int, highest: float
    ) -> None:
        """Refuse inputs at which the functions of an input, or products, overflow."""
        height = np.abs(table).max(axis=0, initial=0.0)
        beyond = ~(height <= highest) & np.isfinite(X[:, i])
        if beyond.any():
            law = self.laws[i]
            raise ValueError(
                f"X has {float(X[np.argmax(beyond), i])!r} in column {i}, where "
                f"polynomials of degree {len(table) - 1} overflow; expected values "
                f"nearer to its distribution, which is about {law.location:.6g} with "
                f"the scale {law.scale:.6g}."
            )

    def differentiate(
        self, X: FloatArray, feature: int
    ) -> FloatArray:  # shape: (n_samples, n_terms), per unit of the input
        """Return the derivative of every term with respect to one input."""
        own = np.flatnonzero(self.multi_indices[:, feature])
        slopes = np.zeros((len(X), len(self.multi_indices)))
        rows = np.concatenate([[0], own])
        some = PolynomialBasis(self.laws, self.multi_indices[rows], self.reach)
        slopes[:, own] = some.evaluate(X, slope_of=feature)[:, 1:]
        return slopes

    def blocks(
        self,
        X: FloatArray,
        *,
        max_entries: int = _BLOCK_ENTRIES,
        slope_of: int | None = None,
        largest_product: float = _LARGEST_PRODUCT,
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of at least 256 rows of the design matrix.

        The columns of a block are contiguous. The next block overwrites it.
        """
        n_columns, n_terms = self._products.n_columns, len(self.multi_indices)
        size = max(max_entries // n_columns, _SMALLEST_BLOCK)
        buffer = np.empty(n_columns * min(size, len(X)))
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            n_rows = rows.stop - start
            columns = buffer[: n_columns * n_rows].reshape(n_columns, n_rows)
            self._fill(X[rows], columns, slope_of, largest_product)
            yield rows, columns[:n_terms].T

    def without_waves(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_terms)
    ) -> tuple[PolynomialBasis, FloatArray]:
        """Return an expansion in polynomials alone, which are many along waves."""
        laws, terms = list(self.laws), self.multi_indices
        for i, law in enumerate(self.laws):
            if not law.waves:
                continue
            others, line = np.unique(
                np.delete(terms, i, axis=1), axis=0, return_inverse=True
            )
            along = np.zeros((len(coefficients), len(others), 1 + law.waves))
            along[:, line.ravel(), terms[:, i]] = coefficients
            along[:, :, 1:] = along[:, :, 1:] @ law.mixing()
            size = np.abs(along).max(axis=0)
            kept = size > 1e-10 * size.max(initial=0.0)  # else rounding
            kept[0, 0] = True  # the constant comes first
            which, degree = np.nonzero(kept)
            terms = np.insert(others[which], i, degree, axis=1)
            coefficients = along[:, which, degree]
            laws[i] = replace(law, waves=0)
        return PolynomialBasis(laws, terms, self.reach), coefficients

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return one name per term, such as ``He2(x0)*He1(x1)``."""
        found: list[list[str]] = [[] for _ in self.multi_indices]
        for term, i in np.argwhere(self.multi_indices).tolist():
            law, number = self.laws[i], self.multi_indices[term, i]
            function = "Wave" if law.waves else law.polynomial
            found[term].append(f"{function}{number}({input_names[i]})")
        return ["*".join(factors) or "1" for factors in found]


def sample_laws(
    laws: Sequence[InputLaw], size: int, generator: np.random.Generator
) -> FloatArray:  # shape: (size, n_features)
    """Draw independent inputs."""
    return np.column_stack([law.sample(size, generator) for law in laws])


@dataclass(frozen=True)
class BasisParameters:
    """The parameters of an estimator that determine its basis together with data."""

    owner: str
    degree: Any
    distribution: Any
    interaction_order: Any
    truncation: Any = "total_degree"
    q: Any = 1.0
    has_degree: bool = True  # whether one was given
    # Labels of inputs, by their names.
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, estimator: Any) -> BasisParameters:
        """Read the parameters of an estimator, which need not have them all."""
        degree = estimator.degree
        if degree is None and hasattr(estimator, "solver"):  # for a solver
            degree = 2
        return cls(
            type(estimator).__name__,
            degree,
            estimator.distribution,
            estimator.interaction_order,
            getattr(estimator, "truncation", "total_degree"),
            getattr(estimator, "q", 1.0),
            has_degree=estimator.degree is not None,
            levels=getattr(estimator, "levels_", {}),
        )

    def check(self, names: Sequence[str]) -> list[Any]:
        """Check the parameters; return one distribution per feature."""
        owner, order = self.owner, self.interaction_order
        check_integer(owner, "degree", self.degree)
        check_real(owner, "q", self.q, low=0, high=1, closed="right")
        check_integer(owner, "interaction_order", order, low=1, none_allowed=True)
        check_option(owner, "truncation", self.truncation, TRUNCATIONS)
        if self.truncation == "total_degree" and self.q != 1.0:
            raise ValueError(
                f"The 'q' parameter of {owner} must be 1.0 with "
                "truncation='total_degree'; it has an effect with "
                f"truncation='hyperbolic'. Got {self.q!r} instead."
            )
        return check_distribution(owner, self.distribution, names, self.levels)

    def learn(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        weights: FloatArray,  # shape: (n_samples,)
        names: Sequence[str],
        *,
        in_blocks: bool = False,  # True when the design matrix is never whole in memory
    ) -> PolynomialBasis:
        """Learn the input distributions and build the index set that they can carry."""
        laws = self.learn_laws(X, weights, names)
        n_rows = len(X)
        if in_blocks:  # sums are matrices as high as wide: no saving with fewer rows
            most = math.isqrt(int(available_memory() / _BYTES_PER_ENTRY))
            n_rows = min(n_rows, most)
        multi_indices = self._index_set(laws, n_rows)
        needed = multi_indices.max(axis=0).tolist()
        held, reach = [], None
        for i, (name, degree) in enumerate(zip(names, needed, strict=True)):
            laws[i].check_degree(self.owner, name, degree)
            laws[i] = laws[i].for_degree(degree)
            held.append(laws[i].held)
        if any(held):  # their functions keep the values of the outermost samples
            reach = np.where(held, ends_of(X[weights > 0]), [[-np.inf], [np.inf]])
        return PolynomialBasis(laws, multi_indices, reach)

    def learn_laws(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        weights: FloatArray,  # shape: (n_samples,)
        names: Sequence[str],
    ) -> list[InputLaw]:
        """Check the parameters and learn the input distributions."""
        specifications = self.check(names)
        refuse_extremes(X, "X", varying=True)
        laws = learn_input_laws(specifications, X, weights)
        check_columns(self.owner, laws, X, weights, names)
        used = weights > 0
        warn_of_narrow(laws, X if used.all() else X[used], names)
        for i, (name, law) in enumerate(zip(names, laws, strict=True)):
            if isinstance(law, CategoricalLaw):
                laws[i] = replace(law, levels=self.levels.get(name, ()))
        return laws

    def refuse_another(self, basis: PolynomialBasis, names: Sequence[str]) -> None:
        """Raise ``ValueError`` when the parameters no longer give this basis."""
        laws = self.check(names)
        wanted = self._index_set(basis.laws, 1)
        learned = learn_input_laws(laws, np.zeros((1, len(laws))), np.ones(1))
        same = np.array_equal(wanted, basis.multi_indices)
        if not same or list(learned) != list(basis.laws):
            raise ValueError(
                "partial_fit cannot change the basis; expected the degree, truncation "
                "and distribution of the samples before. Call fit for others."
            )

    def _index_set(self, laws: Sequence[InputLaw], n_samples: int) -> IndexArray:
        """Return the terms, or raise ``ValueError`` for more than the memory holds."""
        owner, degree, order = self.owner, int(self.degree), self.interaction_order
        cut = Truncation.of_laws(laws, degree, float(self.q), order)
        n_rows = max(n_samples, len(laws))
        most = np.max(cut.function_numbers(), initial=0)
        if most > _MOST_FUNCTIONS:
            raise ValueError(
                f"The 'degree' parameter of {owner} asks for degree {most:.0f} in one "
                f"input; expected at most {_MOST_FUNCTIONS}."
            )
        small = _listed(cut)
        if small is not None:
            check_design_fits(owner, n_rows, len(small))
            return small.copy()
        enough = available_memory() / (_BYTES_PER_ENTRY * n_rows)
        check_design_fits(owner, n_rows, cut.count(enough))
        return cut.made()


def terms_of_inputs(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[BoolArray, BoolArray, FloatArray]:  # shape of each: (n_terms, n_features)
    """Return which terms hold an input alone, which hold it, and its Shapley share.

    Shapley effects sum to one: ``shapley_sum_one``, checked in ``lean/Core``.
    """
    active = multi_indices > 0
    size = active.sum(axis=1, keepdims=True)
    return active & (size == 1), active, active / np.maximum(size, 1)


def terms_of_set(
    kind: str,
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> BoolArray:  # shape: (n_terms,)
    """Return the terms that a set of inputs has.

    ``"exact"`` are the terms of all its inputs and no others, ``"closed"`` those
    without an input outside it, ``"total"`` those with an input of it.
    """
    own = multi_indices[:, list(features)] > 0
    chosen = np.asarray(own.all(axis=1) if kind == "exact" else own.any(axis=1))
    if kind == "total":
        return chosen
    return chosen & ~np.delete(multi_indices, list(features), axis=1).any(axis=1)


def index_masks(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (n_terms, 3 * n_features)
    """Return the part of each square in first-order, total and Shapley indices."""
    return np.hstack(terms_of_inputs(multi_indices))


def categorical_inputs(laws: Sequence[InputLaw]) -> BoolArray:
    """Return which inputs have functions that all count as of degree one."""
    return np.array([not law.is_polynomial for law in laws], dtype=bool)


# Methods of every estimator with a basis.


def transform(self: Any, X: ArrayLike) -> FloatArray:
    """Return the orthonormal basis at X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    design : ndarray of shape (n_samples, n_terms)
        Values of the basis functions; column 0 is one.
    """
    values, basis = checked_inputs(self, X), self.basis_.with_terms
    return basis.evaluate(values, largest_product=_LARGEST_FEATURE)


def checked_inputs(estimator: Any, X: ArrayLike) -> FloatArray:
    """Return inputs as an array; warn of those outside their distributions."""
    check_is_fitted(estimator)
    values = validated(estimator, X, reset=False)
    basis = estimator.basis_
    warn_outside(basis.laws, values, input_names(estimator), basis.reach)
    return values


def get_feature_names_out(
    self: Any, input_features: ArrayLike | None = None
) -> NDArray[np.object_]:
    """Return the names of the basis functions.

    Parameters
    ----------
    input_features : array-like of str or None, default=None
        Names of the inputs; by default those seen in ``fit``, else ``x0, x1, ...``.

    Returns
    -------
    names : ndarray of str of shape (n_terms,)
        Such as ``He2(x0)*He1(x1)``; the constant is ``1``.
    """
    check_is_fitted(self)
    names = input_names(self, input_features)
    return np.asarray(self.basis_.names(names), dtype=object)


def ends_of(inputs: FloatArray) -> FloatArray:  # shape: (2, n_inputs)
    """Return the smallest and the largest value of each input."""
    return np.stack([inputs.min(axis=0), inputs.max(axis=0)])


def tables_of(
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_rows, n_inputs)
    n_functions: IndexArray,  # shape: (n_inputs,)
    reach: FloatArray | None = None,  # shape: (2, n_inputs), see ``evaluate_within``
) -> FloatArray:  # shape: (n_inputs, largest n_functions, n_rows)
    """Evaluate the orthonormal functions of each input, without the constant."""
    tables = np.zeros((len(laws), int(n_functions.max(initial=0)), len(X)))
    for i, (law, number) in enumerate(zip(laws, n_functions.tolist(), strict=True)):
        if number:
            ends = None if reach is None else reach[:, i]
            tables[i, :number] = evaluate_within(law, X[:, i], number, ends)[1:]
    return tables
