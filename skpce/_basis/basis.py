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
from dataclasses import dataclass, field, fields, replace
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
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.columns import check_columns, warn_of_narrow, warn_outside
from .._input_laws.families import InputLaw
from .._input_laws.tabulated import CategoricalLaw

# Multi-index sets: which products of univariate functions enter the expansion.


#: Sets of up to so many exponents are kept, to be listed once: a verdict or a search
#: asks for the same one in every fit.
LARGEST_KEPT = 20_000


def sort_graded(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    categorical: BoolArray,  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort a set as a truncation lists it."""
    terms, features = np.nonzero(multi_indices)
    slot = np.arange(len(terms)) - np.searchsorted(terms, terms)
    shape = len(multi_indices), slot.max(initial=-1) + 1
    active, exponents = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    active[terms, slot] = features
    exponents[terms, slot] = multi_indices[terms, features]
    return _dense(active, exponents, categorical)


def _dense(
    active: IndexArray,  # shape: (n_terms, widest), the inputs, padded with -1
    exponents: IndexArray,  # shape: (n_terms, widest), padded with 0
    categorical: BoolArray,  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort by total degree, then by first input, its exponent, second input, ...

    Larger exponents come first, as in scikit-learn: x0*x0*x1 before x0*x1*x1. The
    contrasts of a category come in their own order. There are as many sort keys as
    inputs in the largest term, not as features.
    """
    contrast = categorical[active] & (exponents > 0)
    degree = np.where(contrast, 1, exponents).sum(axis=1)
    keys = np.stack([active, np.where(contrast, exponents, -exponents)], axis=-1)
    order = np.lexsort((*keys.reshape(len(keys), -1).T[::-1], degree))
    active, exponents = active[order], exponents[order]
    rows = np.zeros((len(order), len(categorical)), dtype=np.int64)
    terms, slot = np.nonzero(exponents)
    rows[terms, active[terms, slot]] = exponents[terms, slot]
    return rows


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


class Truncation(NamedTuple):
    """Which terms are in a set."""

    degree: int
    q: float
    order: int | None  # largest number of inputs in a term; None for no limit
    largest: FloatArray  # shape: (n_features,), functions beside the constant
    categorical: BoolArray  # shape: (n_features,)

    @classmethod
    def of_degree(
        cls, n_features: int, degree: int, q: float = 1.0, order: int | None = None
    ) -> Truncation:
        """Return the set of polynomials without an end."""
        ends, kinds = np.full(n_features, np.inf), np.zeros(n_features, dtype=bool)
        return cls(degree, q, order, ends, kinds)

    @classmethod
    def of_laws(
        cls, laws: Sequence[InputLaw], degree: int, q: float, order: int | None
    ) -> Truncation:
        """Return the set of the functions that the inputs have."""
        ends = np.array([law.largest_degree for law in laws], dtype=np.float64)
        return cls(degree, q, order, ends, categorical_inputs(laws))

    @property
    def budget(self) -> float:
        """The largest sum of the costs of a term."""
        return float(self.degree) ** self.q * (1.0 + _TOLERANCE)

    @property
    def most_inputs(self) -> int:
        """Largest number of inputs in a term."""
        n_features = len(self.largest)
        return n_features if self.order is None else min(self.order, n_features)

    def count(self, stop_above: float = math.inf) -> int:
        """Count the terms, or return a lower bound above ``stop_above``."""
        numbers = self.function_numbers()
        alike = np.all(self.largest >= self.degree) and not self.categorical.any()
        if alike and self.q == 1.0:
            return _count_total_degree(
                len(numbers), self.degree, self.most_inputs, stop_above
            )
        if numbers.sum() > min(stop_above, _LARGEST_UNIVARIATE):
            return int(min(numbers.sum(), _LARGEST_COUNT))
        return self._grown(stop_above)[0]

    def listed(self) -> IndexArray:  # shape: (n_terms, n_features)
        """Return the terms, sorted; those of a small set are listed once."""
        if self.count(LARGEST_KEPT) * len(self.largest) > LARGEST_KEPT:
            return self.made()
        arrays = self.largest.tobytes(), self.categorical.tobytes()
        return _kept(*self[:3], *arrays).copy()

    def made(self) -> IndexArray:  # shape: (n_terms, n_features)
        """List and sort the terms."""
        return _dense(*_write_out(*self._grown()), self.categorical)

    def _grown(self, stop_above: float = math.inf) -> tuple[int, int, list[Block]]:
        """Return the number of terms, the widest, and the blocks in which they grow.

        Only the terms that a later input can still extend are visited again.
        """
        costs, limit, order = self.univariate_costs(), self.budget, self.most_inputs
        n_terms, widest = 1, 0
        blocks: list[Block] = []
        ids, spent, active = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
        for feature, (cost, later) in enumerate(
            zip(costs, _cheapest_later(costs), strict=True)
        ):
            cheap_first = np.argsort(spent, kind="stable")
            ids, spent, active = (
                ids[cheap_first],
                spent[cheap_first],
                active[cheap_first],
            )
            fitting = np.searchsorted(spent, limit - cost, side="right")
            n_new = int(fitting.sum())
            if n_terms + n_new > stop_above:
                return n_terms + n_new, widest, blocks
            number = np.repeat(np.arange(len(cost)), fitting)
            place = np.arange(n_new) - (np.cumsum(fitting) - fitting)[number]
            blocks.append((ids[place], feature, number + 1))
            ids = np.concatenate([ids, np.arange(n_terms, n_terms + n_new)])
            spent = np.concatenate([spent, spent[place] + cost[number]])
            active = np.concatenate([active, active[place] + 1])
            n_terms += n_new
            widest = max(widest, int(active.max(initial=0)))
            still = (spent + later <= limit) & (active < order)
            ids, spent, active = ids[still], spent[still], active[still]
        return n_terms, widest, blocks

    def function_numbers(self) -> FloatArray:
        """Return the number of functions of each input alone."""
        contrasts = self.largest if self.degree >= 1 else np.zeros_like(self.largest)
        polynomials = np.minimum(self.degree, self.largest)
        return np.where(self.categorical, contrasts, polynomials)

    def univariate_costs(self) -> list[FloatArray]:
        """Return, for each input, the costs of its functions."""
        numbers = self.function_numbers().astype(np.int64).tolist()
        degrees = np.arange(1.0, max(numbers, default=0) + 1.0) ** self.q
        return [
            np.ones(number) if contrasts else degrees[:number]
            for number, contrasts in zip(numbers, self.categorical, strict=True)
        ]


@lru_cache(maxsize=32)
def _kept(
    degree: int, q: float, order: int | None, largest: bytes, categorical: bytes
) -> IndexArray:  # shape: (n_terms, n_features)
    """List the terms of a small set once; the arrays are given by their bytes."""
    kinds = np.frombuffer(categorical, dtype=bool)
    return Truncation(degree, q, order, np.frombuffer(largest), kinds).made()


#: Parent terms, and the input and exponents by which new ones differ from them.
Block = tuple[IndexArray, int, IndexArray]

# Rounding in the q-norm, relative to degree**q: 2**0.75 + 2**0.75 is not exact.
_TOLERANCE = 1e-9

# More functions of single inputs than this are counted as a lower bound.
_LARGEST_UNIVARIATE = 1e8

# Counts up to here are exact where there is a closed form.
_LARGEST_COUNT = 1e18


def _count_total_degree(
    n_features: int, degree: int, order: int, stop_above: float
) -> int:
    """Count by the number of inputs in a term."""
    total = 1
    for size in range(1, min(degree, order) + 1):
        total += math.comb(n_features, size) * math.comb(degree, size)
        if total > max(stop_above, _LARGEST_COUNT):
            break
    return total


def _cheapest_later(costs: list[FloatArray]) -> FloatArray:
    """Return the smallest cost of the inputs that come after each input."""
    cheapest = np.array([cost.min(initial=np.inf) for cost in costs] + [np.inf])
    return np.minimum.accumulate(cheapest[::-1])[::-1][1:]


def _write_out(
    n_terms: int, widest: int, blocks: list[Block]
) -> tuple[IndexArray, IndexArray]:  # shape: (n_terms, widest), padded with -1, 0
    """Return the inputs and exponents of terms that grow out of their parents."""
    inputs = np.full((n_terms, widest), -1, dtype=np.int64)
    exponents = np.zeros((n_terms, widest), dtype=np.int64)
    size = np.zeros(n_terms, dtype=np.int64)
    start = 1
    for parents, feature, new in blocks:
        rows = np.arange(start, start + len(parents))
        inputs[rows], exponents[rows] = inputs[parents], exponents[parents]
        inputs[rows, size[parents]] = feature
        exponents[rows, size[parents]] = new
        size[rows] = size[parents] + 1
        start += len(parents)
    return inputs, exponents


# More functions of one input than this are refused; no number of samples tells them
# apart.
_MOST_FUNCTIONS = 10_000


def check_degrees(owner: str, name: str, degrees: Any) -> None:
    """Refuse more functions of one input than any number of samples can distinguish."""
    if np.max(degrees, initial=0) > _MOST_FUNCTIONS:
        raise ValueError(
            f"The {name!r} parameter of {owner} asks for degree {np.max(degrees):.0f} "
            f"in one input; expected at most {_MOST_FUNCTIONS}."
        )


# A fit needs about three arrays of the size of the design matrix, of 8 bytes each.
_BYTES_PER_ENTRY = 3 * 8


#: How to make a truncation set smaller.
BASIS_ADVICE = (
    "Lower 'degree', set 'interaction_order' (2 or 3), or use truncation='hyperbolic' "
    "with q < 1."
)


def terms_that_fit(n_samples: int) -> float:
    """Return the largest number of terms that :func:`check_design_fits` accepts."""
    return available_memory() / (_BYTES_PER_ENTRY * max(n_samples, 1))


def rows_held_in_blocks(n_samples: int) -> int:
    """Return the number of rows in memory when the design matrix is never whole."""
    # Sums over blocks are matrices as high as wide: no saving with fewer rows.
    return min(n_samples, math.isqrt(int(available_memory() / _BYTES_PER_ENTRY)))


def check_design_fits(
    owner: str, n_rows: int, n_terms: int, fit: str | None = None
) -> None:
    """Raise ``ValueError``, with advice, when a fit exceeds the memory."""
    if n_terms <= terms_that_fit(n_rows):
        return
    fit = f"with {n_rows} samples the fit" if fit is None else fit
    needed = _BYTES_PER_ENTRY * max(n_rows, 1) * n_terms
    raise ValueError(
        f"The basis of {owner} has at least {n_terms} terms; {fit} needs about "
        f"{needed / 2**30:.3g} GiB, more than the "
        f"{available_memory() / 2**30:.3g} GiB that it may use here. {BASIS_ADVICE}"
    )


# The columns of a basis as products of blocks of columns.
#
# A term is its first univariate function times its tail. In graded order the terms that
# begin with one function have consecutive tails, so that few products of whole blocks
# make all columns.


_LARGEST_CODE = 2**62


class Run(NamedTuple):
    """Consecutive columns that are one function times consecutive columns."""

    start: int
    stop: int
    parent: int  # first of the other columns; 0, the constant, for a single one
    feature: int
    exponent: int


class Products(NamedTuple):
    """What fills the columns of a basis, and what its terms are made of."""

    n_columns: int  # those of the terms, then those of their tails
    runs: list[Run]  # in order
    most_factors: int  # number of inputs in the largest product of a term, at least 1
    largest: list[int]  # exponent of each input


def products_of(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    polynomial: BoolArray,  # shape: (n_features,)
) -> Products:
    """Return the products that fill the columns; those of a small set are made once."""
    if multi_indices.size > LARGEST_KEPT:
        return _made(multi_indices, polynomial)
    rows = np.ascontiguousarray(multi_indices, dtype=np.int64)
    return _kept_products(rows.tobytes(), polynomial.tobytes())


def _made(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    polynomial: BoolArray,  # shape: (n_features,)
) -> Products:
    """Make the products; tails that are no terms get columns after the terms."""
    terms, features = np.nonzero(multi_indices)
    factors = np.column_stack([features, multi_indices[terms, features]])
    base = int(multi_indices.max(initial=0)) + 1
    codes, number = np.unique(factors @ [base, 1], return_inverse=True)
    distinct = np.column_stack(np.divmod(codes, base))
    counts = np.bincount(terms, minlength=len(multi_indices))
    most = max(int(counts.max(initial=0)), 1)
    keys = np.zeros((len(multi_indices), most), dtype=np.int64)  # 0 after the last one
    slots = np.arange(len(terms)) - (np.cumsum(counts) - counts)[terms]
    keys[terms, slots] = number.ravel() + 1
    keys, parents = _with_tails(keys)
    order = np.argsort((keys > 0).sum(axis=1), kind="stable")
    order = order[keys[order, 0] > 0]  # without the constant
    heads, tails = keys[order, 0] - 1, parents[order]
    follows = np.zeros(len(order), dtype=bool)
    follows[1:] = (
        (np.diff(order) == 1)
        & (np.diff(heads) == 0)
        & (np.diff(tails) == 1)
        & (tails[:-1] > 0)
    )
    starts = np.flatnonzero(~follows)
    ends = np.append(starts[1:], len(order))
    columns = order[starts]
    runs = zip(
        columns.tolist(),
        (columns + ends - starts).tolist(),
        tails[starts].tolist(),
        *distinct[heads[starts]].T.tolist(),
        strict=True,
    )
    largest = multi_indices.max(axis=0, initial=0).tolist()
    return Products(len(keys), [Run(*run) for run in runs], most, largest)


def _with_tails(
    keys: IndexArray,  # shape: (n_columns, most_factors), 0 after the last factor
) -> tuple[IndexArray, IndexArray]:
    """Append the tails that are no columns; return all, and where each tail is."""
    while True:
        tails = np.pad(keys[:, 1:], ((0, 0), (0, 1)))
        codes = _codes(np.vstack([keys, tails]))
        _, first, number = np.unique(codes, return_index=True, return_inverse=True)
        places = first[number[len(keys) :]]  # of each tail
        missing = np.unique(places[places >= len(keys)])
        if not len(missing):
            return keys, places
        keys = np.vstack([keys, tails[missing - len(keys)]])


def _codes(rows: IndexArray) -> IndexArray:  # shape: (n_rows,)
    """Return one number for each row, equal for equal rows."""
    base = int(rows.max(initial=0)) + 1
    codes, largest = np.zeros(len(rows), dtype=np.int64), 0
    for column in rows.T:
        if largest > (_LARGEST_CODE - base) // base:
            codes = np.unique(codes, return_inverse=True)[1]
            largest = int(codes.max(initial=0))
        codes = codes * base + column
        largest = largest * base + base - 1
    return codes


@lru_cache(maxsize=32)
def _kept_products(multi_indices: bytes, polynomial: bytes) -> Products:
    """Return the products of a small set; arrays are given by their bytes."""
    inputs = np.frombuffer(polynomial, dtype=bool)
    rows = np.frombuffer(multi_indices, dtype=np.int64).reshape(-1, len(inputs))
    return _made(rows, inputs)


TRUNCATIONS = ("total_degree", "hyperbolic")

# Entries of a block of the design matrix: 4 MiB, which stay in the cache for a matrix
# product. Four times more or less was slower.
_BLOCK_ENTRIES = 2**19

# Below this many rows the calls cost more than the arithmetic.
_SMALLEST_BLOCK = 64


# Largest product of functions: 1 - leverage is about the inverse of its square, and
# the square of that is a number too.
_LARGEST_PRODUCT = 1e60
# Features that are fitted by nothing may be as large as numbers are.
_LARGEST_FEATURE = 1e300


class MoreTermsThanRowsWarning(UserWarning):
    """Terms are many beside the rows, or beside the settings that rows repeat."""


def warn_of_terms(chooses_terms: bool, n_terms: int, n_rows: int) -> None:
    """Warn of more terms than rows, from two calls up, unless terms are chosen."""
    if n_terms > n_rows and not chooses_terms:
        warn_outside_folds(
            f"The basis has {n_terms} terms for {n_rows} rows, so that the penalty "
            "decides most coefficients. Lower the degree, or choose few terms with "
            "solver='subspace_pursuit'.",
            MoreTermsThanRowsWarning,
            stacklevel=3,
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
        laws = [f"- x{i}: {law.describe()}" for i, law in enumerate(self.laws[:_SHOWN])]
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

    @cached_property
    def _products(self) -> Products:
        """How to make the columns."""
        return products_of(self.multi_indices, ~categorical_inputs(self.laws))

    def _fill(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        columns: FloatArray,  # shape: (n_columns, n_samples), filled
        slope_of: int | None = None,
        largest_product: float = _LARGEST_PRODUCT,
    ) -> None:
        """Fill every column, with derivatives of the functions of ``slope_of``."""
        tables = self._tables(X, slope_of)
        highest = largest_product ** (1.0 / self._products.most_factors)
        for table in tables.values():
            ends = table.min(initial=0.0), table.max(initial=0.0)  # NaN for overflow
            if not -highest <= ends[0] <= ends[1] <= highest:
                self._refuse_overflow(tables, X, highest)
        functions = {
            i: table[:, position]
            for alike, table in tables.items()
            for position, i in enumerate(alike)
        }
        columns[0] = 1.0
        for start, stop, parent, feature, exponent in self._products.runs:
            factor = functions[feature][exponent]
            if parent == 0:
                columns[start] = factor
            else:
                parents = columns[parent : parent + stop - start]
                np.multiply(parents, factor, out=columns[start:stop])

    def _tables(
        self, X: FloatArray, slope_of: int | None
    ) -> dict[tuple[int, ...], FloatArray]:  # (1 + degree, n_inputs, n_samples)
        """Evaluate the functions of the inputs that are used, alike ones together."""
        tables = {}
        with np.errstate(over="ignore", invalid="ignore"):
            for alike, degree in self._inputs_alike:
                law, parts = self.laws[alike[0]], [alike]
                if slope_of in alike:
                    parts = [(i,) for i in alike]
                for part in parts:
                    alone = len(part) == 1
                    column = X[:, part[0]] if alone else X.T[list(part)].ravel()
                    ends: Any = self._ends and self._ends[part[0]]
                    if self.reach is not None and not alone:
                        ends = np.repeat(self.reach[:, list(part)], len(X), axis=1)
                    slope = slope_of in part
                    values = evaluate_within(law, column, degree, ends, slope=slope)
                    tables[part] = values.reshape(degree + 1, len(part), len(X))
        return tables

    @cached_property
    def _ends(self) -> list[list[float]] | None:
        """The reach of each input."""
        return None if self.reach is None else self.reach.T.tolist()

    @cached_property
    def _inputs_alike(self) -> list[tuple[tuple[int, ...], int]]:
        """Inputs that have functions, together those of one distribution and degree."""
        found: dict[tuple[int, int], list[int]] = {}
        for i, degree in enumerate(self._products.largest):
            if degree:
                found.setdefault((id(self.laws[i]), degree), []).append(i)
        return [(tuple(alike), degree) for (_, degree), alike in found.items()]

    def _refuse_overflow(
        self,
        tables: dict[tuple[int, ...], FloatArray],
        X: FloatArray,
        highest: float,
    ) -> None:
        """Refuse inputs at which the functions of one input, or products, overflow."""
        places = {
            i: (alike, position) for alike in tables for position, i in enumerate(alike)
        }
        for i, (alike, position) in sorted(places.items()):
            table = tables[alike][:, position]
            height = np.abs(table).max(axis=0, initial=0.0)  # NaN where it overflows
            high = ~(height <= highest) & np.isfinite(X[:, i])
            if high.any():
                value = X[np.argmax(high), i]
                law = self.laws[i]
                raise ValueError(
                    f"X has {float(value)!r} in column {i}, where polynomials of "
                    f"degree {len(table) - 1} overflow; expected values nearer to its "
                    f"distribution, which is about {law.location:.6g} with the scale "
                    f"{law.scale:.6g}."
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

    def evaluate(
        self,
        X: FloatArray,
        slope_of: int | None = None,
        largest_product: float = _LARGEST_PRODUCT,
    ) -> FloatArray:
        """Return the design matrix of shape (n_samples, n_terms)."""
        columns = np.empty((len(self.multi_indices), len(X)))
        if self._products.n_columns == len(columns):
            self._fill(X, columns, slope_of, largest_product)
        else:  # by blocks, so that columns that are no terms stay small
            for rows, design in self.blocks(
                X, slope_of=slope_of, largest_product=largest_product
            ):
                columns[:, rows] = design.T
        return columns.T

    def blocks(
        self,
        X: FloatArray,
        *,
        max_entries: int = _BLOCK_ENTRIES,
        slope_of: int | None = None,
        largest_product: float = _LARGEST_PRODUCT,
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of at least 64 rows of the design matrix.

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

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return one name per term, such as ``He2(x0)*He1(x1)``."""
        found: list[list[str]] = [[] for _ in self.multi_indices]
        for term, i in np.argwhere(self.multi_indices).tolist():
            function = f"{self.laws[i].polynomial}{self.multi_indices[term, i]}"
            found[term].append(f"{function}({input_names[i]})")
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
        given = {
            entry.name: getattr(estimator, entry.name)
            for entry in fields(cls)
            if hasattr(estimator, entry.name)
        }
        has_degree = given["degree"] is not None
        if not has_degree and hasattr(estimator, "solver"):  # for a solver
            given["degree"] = 2
        return cls(
            type(estimator).__name__,
            levels=getattr(estimator, "levels_", {}),
            has_degree=has_degree,
            **given,
        )

    @property
    def cuts_nothing(self) -> bool:
        """Whether the truncation is the default."""
        return (self.truncation, self.q) == ("total_degree", 1.0)

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
        n_rows = rows_held_in_blocks(len(X)) if in_blocks else len(X)
        multi_indices = self._index_set(laws, n_rows)
        needed = multi_indices.max(axis=0).tolist()
        for law, name, degree in zip(laws, names, needed, strict=True):
            law.check_degree(self.owner, name, degree)
        laws = [law.for_degree(n) for law, n in zip(laws, needed, strict=True)]
        used = weights > 0
        reach = reach_of_held(laws, X if used.all() else X[used])
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
        return [
            replace(law, levels=self.levels.get(name, ()))
            if isinstance(law, CategoricalLaw)
            else law
            for name, law in zip(names, laws, strict=True)
        ]

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
        check_degrees(owner, "degree", np.minimum(degree, cut.largest))
        n_rows = max(n_samples, len(laws))
        n_terms = cut.count(terms_that_fit(n_rows))
        check_design_fits(owner, n_rows, n_terms)
        if cut.categorical.any():  # of others the degrees are checked
            check_degrees(owner, "degree", cut.function_numbers())
        return cut.listed()


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
    check_is_fitted(self)
    values = validated(self, X, reset=False)
    # Not by ``checked_inputs``, for the warning is to name the line of the caller.
    laws, reach = self.basis_.laws, self.basis_.reach
    warn_outside(laws, values, input_names(self), reach)
    basis = self.basis_.with_terms
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


def reach_of_held(laws: Sequence[InputLaw], inputs: FloatArray) -> FloatArray | None:
    """Return the outermost samples of inputs whose functions are held there."""
    held = np.array([law.held for law in laws])
    if not held.any():
        return None
    return np.where(held, ends_of(inputs), [[-np.inf], [np.inf]])


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
