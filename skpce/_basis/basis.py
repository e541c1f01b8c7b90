"""The orthonormal polynomial basis, and what determines it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_option,
    check_positive_weights,
    input_names,
    refuse_extremes,
    state_of_fields,
    validated,
)
from .._checks.cross_validation import warn_outside_folds
from .._input_laws import InputLaw, check_distribution, learn_input_laws
from .._input_laws.columns import check_columns, warn_of_narrow, warn_outside
from .index_sets import (
    Truncation,
    basis_advice,
    check_degrees,
    check_design_fits,
    check_multi_indices,
    check_truncation,
    rows_held_in_blocks,
    sort_graded,
    terms_that_fit,
)
from .products import Products, products_of, sparse_rows

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
    """The basis has more terms than the data have rows: the penalty decides."""


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
) -> FloatArray:  # shape: (1 + degree, n_samples)
    """Evaluate the functions of an input, or their slopes.

    Beyond the ends polynomials of degree three and more keep the values that they have
    there: samples say nothing of how they grow outside.
    """
    values = (law.differentiate if slope else law.evaluate)(column, degree)
    if ends is None or degree < 3 or not law.is_polynomial:
        return values
    held = np.clip(column, *ends)
    outside = held != column
    if outside.any():
        values[3:, outside] = 0.0 if slope else law.evaluate(held[outside], degree)[3:]
    return values


@dataclass(frozen=True)
class PolynomialBasis:
    """Products of univariate orthonormal functions.

    Row 0 of the multi-indices is zero. They are evaluated fastest in graded order; no
    row needs its divisors to be rows too.
    """

    laws: Sequence[InputLaw]  # one per feature
    multi_indices: IndexArray  # shape: (n_terms, n_features)
    # Ends of the samples of a fit that learned its degree, see ``evaluate_within``.
    reach: FloatArray | None = None  # shape: (2, n_features)

    __getstate__ = state_of_fields

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
                    ends = None
                    if self.reach is not None:
                        ends = np.repeat(self.reach[:, list(part)], len(X), axis=1)
                    slope = slope_of in part
                    values = evaluate_within(law, column, degree, ends, slope=slope)
                    tables[part] = values.reshape(degree + 1, len(part), len(X))
        return tables

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
        slopes = self.evaluate(X, slope_of=feature)
        slopes[:, self.multi_indices[:, feature] == 0] = 0.0
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

    def combine(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        coefficients: FloatArray,  # shape: (n_targets, n_terms)
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

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return one name per term, such as ``He2(x0)*He1(x1)``."""
        return [
            "*".join(f"{self.laws[i].polynomial}{k}({input_names[i]})" for i, k in row)
            or "1"
            for row in sparse_rows(self.multi_indices)
        ]


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
    anisotropy: Any = None
    multi_indices: Any = None
    has_anisotropy: bool = False
    has_terms: bool = True  # whether a degree, or the terms, were given
    levels: Collection[str] = ()  # names of the inputs that were given as labels

    @classmethod
    def of(cls, estimator: Any) -> BasisParameters:
        """Read the parameters of an estimator, which need not have them all."""
        given = {
            entry.name: getattr(estimator, entry.name)
            for entry in fields(cls)
            if hasattr(estimator, entry.name)
        }
        has_terms = (
            given["degree"] is not None or given.get("multi_indices") is not None
        )
        if given["degree"] is None and hasattr(estimator, "solver"):  # for a solver
            given["degree"] = 2
        return cls(
            type(estimator).__name__,
            has_anisotropy="anisotropy" in given,
            levels=tuple(getattr(estimator, "levels_", ())),
            has_terms=has_terms,
            **given,
        )

    @property
    def cuts_nothing(self) -> bool:
        """Whether the truncation is the default."""
        return (self.truncation, self.q) == ("total_degree", 1.0) and (
            self.anisotropy is None
        )

    def check(self, names: Sequence[str]) -> list[Any]:
        """Check the parameters; return one distribution per feature."""
        owner, n_features = self.owner, len(names)
        self._check_truncation()
        check_positive_weights(owner, "anisotropy", self.anisotropy, n_features)
        check_multi_indices(owner, self.multi_indices, n_features)
        return check_distribution(owner, self.distribution, names, self.levels)

    def _check_truncation(self) -> None:
        """Raise ``ValueError`` for a truncation whose parameters do not agree."""
        owner = self.owner
        check_truncation(owner, self.degree, self.q, self.interaction_order)
        check_option(owner, "truncation", self.truncation, TRUNCATIONS)
        if self.truncation == "total_degree" and self.q != 1.0:
            raise ValueError(
                f"The 'q' parameter of {owner} must be 1.0 with "
                "truncation='total_degree'; it has an effect with "
                f"truncation='hyperbolic'. Got {self.q!r} instead."
            )

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
        multi_indices = self._index_set(laws, names, n_rows)
        needed = multi_indices.max(axis=0).tolist()
        for law, name, degree in zip(laws, names, needed, strict=True):
            law.check_degree(self.owner, name, degree)
        return PolynomialBasis(laws, multi_indices)

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
        return laws

    def refuse_another(self, basis: PolynomialBasis, names: Sequence[str]) -> None:
        """Raise ``ValueError`` when the parameters no longer give this basis."""
        laws = self.check(names)
        wanted = self._index_set(basis.laws, names, 1)
        learned = learn_input_laws(laws, np.zeros((1, len(laws))), np.ones(1))
        same = np.array_equal(wanted, basis.multi_indices)
        if not same or list(learned) != list(basis.laws):
            raise ValueError(
                "partial_fit cannot change the basis; expected the degree, truncation "
                "and distribution of the samples before. Call fit for others."
            )

    def _index_set(
        self, laws: Sequence[InputLaw], names: Sequence[str], n_samples: int
    ) -> IndexArray:
        """Return the terms that were given, or those of the truncation."""
        rows = check_multi_indices(self.owner, self.multi_indices, len(laws))
        if rows is not None:
            return explicit_multi_indices(self.owner, rows, laws, names, n_samples)
        return truncated_multi_indices(
            self.owner,
            laws,
            n_samples,
            degree=int(self.degree),
            q=float(self.q),
            interaction_order=self.interaction_order,
            anisotropy=self.anisotropy,
            advice=basis_advice(anisotropy=self.has_anisotropy),
        )


def explicit_multi_indices(
    owner: str,
    rows: IndexArray,  # shape: (n_terms, n_features), checked
    laws: Sequence[InputLaw],
    names: Sequence[str],
    n_samples: int,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Add the constant where it is missing, and sort as the built sets are sorted."""
    check_degrees(owner, "multi_indices", rows.max(axis=0))
    for law, needed, name in zip(laws, rows.max(axis=0).tolist(), names, strict=True):
        if needed > law.largest_degree:
            raise ValueError(
                f"The 'multi_indices' parameter of {owner} has the entry {needed} "
                f"for {name} of X; expected at most {law.largest_degree:g}, the "
                "largest degree of a function of its distribution."
            )
    if rows.any(axis=1).all():
        rows = np.vstack([np.zeros((1, rows.shape[1]), dtype=np.int64), rows])
    check_design_fits(owner, n_samples, len(rows), "Give fewer 'multi_indices'.")
    return sort_graded(rows, categorical_inputs(laws))


def truncated_multi_indices(
    owner: str,
    laws: Sequence[InputLaw],
    n_samples: int,
    *,
    degree: int,
    q: float,
    interaction_order: int | None,
    anisotropy: Any,
    advice: str | None = None,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Build the set, or raise ``ValueError`` for one that exceeds the memory."""
    n_features = len(laws)
    weights = check_positive_weights(owner, "anisotropy", anisotropy, n_features)
    ends = np.array([law.largest_degree for law in laws], dtype=np.float64)
    check_degrees(owner, "degree", np.minimum(degree / weights, ends))
    kinds = categorical_inputs(laws)
    order = n_features if interaction_order is None else interaction_order
    cut = Truncation(degree, q, min(order, n_features), weights, ends, kinds)
    n_rows = max(n_samples, n_features)
    n_terms = cut.count(terms_that_fit(n_rows))
    advice = basis_advice(anisotropy=True) if advice is None else advice
    check_design_fits(owner, n_rows, n_terms, advice)
    if kinds.any():  # of others the degrees are checked
        check_degrees(owner, "degree", cut.function_numbers())
    return cut.listed(n_terms)


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
    warn_outside(self.basis_.laws, values, input_names(self))
    basis = self.basis_.with_terms
    return basis.evaluate(values, largest_product=_LARGEST_FEATURE)


def checked_inputs(estimator: Any, X: ArrayLike) -> FloatArray:
    """Return inputs as an array; warn of those outside their distributions."""
    check_is_fitted(estimator)
    values = validated(estimator, X, reset=False)
    warn_outside(estimator.basis_.laws, values, input_names(estimator))
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
