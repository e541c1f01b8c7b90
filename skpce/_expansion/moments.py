r"""Skewness and kurtosis from the coefficients, without sampling.

The mean and the variance are sums over coefficients. The next two moments need the
square of the centred expansion :math:`g = \sum_{a \ne 0} c_a \psi_a`. Products of
univariate functions are linear in the basis,

.. math:: \psi_a \psi_b = \sum_k e_{abk}\,\psi_k,
          \qquad e_{abk} = E[\psi_a \psi_b \psi_k],

where Gauss quadrature of the law gives :math:`e_{abk}` exactly. Multiplying over the
inputs gives :math:`g^2 = \sum_m b_m \psi_m`, and by orthonormality

.. math:: E g^3 = \sum_m b_m c_m, \qquad E g^4 = \sum_m b_m^2 .

Few products of a pair are not 0: a pair of terms without a common input has one.
Pairs are worked through in chunks, so that memory stays bounded [1]_.

References
----------
.. [1] B. J. Debusschere, H. N. Najm, P. P. Pébay, O. M. Knio, R. G. Ghanem and
   O. P. Le Maître, "Numerical challenges in the use of polynomial chaos
   representations for stochastic processes", SIAM Journal on Scientific Computing 26
   (2004), section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw

# Pairs of terms, products, and numbers in one block of work.
_PAIRS_AT_ONCE = 2**16
_PRODUCTS_AT_ONCE = 2**21
_NUMBERS_AT_ONCE = 2**24

# e_abk below this share of its norm over k is rounding of the quadrature.
_ROUNDING = 1e-12

# A distribution of at most so many values may be summed over all of them.
_MOST_VALUES = 10_000

# Keys of products are int64.
_LARGEST_KEY = 2**62


@dataclass(frozen=True)
class ExpansionMoments:
    """Moments of an expansion under the laws of its inputs.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_targets,)
        In units of y and their square.
    skewness : ndarray of shape (n_targets,)
        Third standardised moment; NaN without variance, and when an input has no
        polynomials of twice the degree of the expansion.
    kurtosis : ndarray of shape (n_targets,)
        Excess kurtosis, 0 for a normal distribution, as in
        :func:`scipy.stats.kurtosis`; NaN as the skewness.
    """

    mean: FloatArray
    variance: FloatArray
    skewness: FloatArray
    kurtosis: FloatArray


class UnknownMomentsError(ValueError):
    """A law has no functions of the degrees of products."""


def linearisation(law: InputLaw, degree: int) -> FloatArray:
    """Return :math:`e_{abk}`, of shape (degree + 1, degree + 1, n_functions).

    For polynomials k runs to twice the degree or to the last function of the law;
    functions that are no polynomials are all needed.
    """
    weights, values = _functions(law, degree)
    pairs = values[: degree + 1, np.newaxis] * values[: degree + 1]
    table = (pairs * weights) @ values.T
    norm = np.sqrt(np.square(table).sum(axis=-1, keepdims=True))
    return np.where(np.abs(table) > _ROUNDING * norm, table, 0.0)


def _functions(law: InputLaw, degree: int) -> tuple[FloatArray, FloatArray]:
    """Return weights and functions, on nodes, whose span contains every product."""
    last = law.largest_degree
    if not law.is_polynomial:
        nodes, weights = law.quadrature(int(last) + 1)
        return weights, law.evaluate(nodes, int(last))
    try:
        law.check_degree("moments", "an input", 2 * degree + 1)
    except ValueError as error:
        if last > _MOST_VALUES:
            raise UnknownMomentsError(str(error)) from error
        nodes, weights = law.quadrature(int(last) + 1)
        return weights, _completed(law.evaluate(nodes, degree), weights)
    nodes, weights = law.quadrature(2 * degree + 1)
    return weights, law.evaluate(nodes, int(min(2 * degree, last)))


def _completed(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Append orthonormal functions, so that the span contains every product of two.

    This is for values in tight groups, whose polynomials of twice the degree are lost
    to rounding.
    """
    root = np.sqrt(weights)
    unit = values * root
    left, right = np.triu_indices(len(values))
    products = values[left] * unit[right]
    scale = np.linalg.norm(products)
    for _ in range(2):
        products -= (products @ unit.T) @ unit
    _, spread, more = np.linalg.svd(products, full_matrices=False)
    return np.vstack([values, more[spread > _ROUNDING * scale] / root])


@dataclass(frozen=True)
class _Products:
    """The linearisation of one input, without its zeros, and the place of its key."""

    counts: IndexArray  # shape: (degree + 1, degree + 1)
    starts: IndexArray  # shape: (degree + 1, degree + 1)
    functions: IndexArray  # shape: (n_products,)
    values: FloatArray  # shape: (n_products,)
    word: int
    stride: int

    def expand(
        self, left: IndexArray, right: IndexArray
    ) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return, per product: which pair it is of, its key, its value."""
        counts = self.counts[left, right]
        pair = np.repeat(np.arange(len(left)), counts)
        first = self.starts[left, right] - (np.cumsum(counts) - counts)
        entry = np.arange(len(pair)) + first[pair]
        return pair, self.functions[entry] * self.stride, self.values[entry]


def _product_tables(
    laws: Sequence[InputLaw], multi_indices: IndexArray
) -> list[_Products]:
    """Return one table per input, with keys that never collide."""
    tables = []
    word, stride = 0, 1
    for law, degree in zip(laws, multi_indices.max(axis=0), strict=True):
        table = linearisation(law, int(degree))
        if stride > _LARGEST_KEY // table.shape[2]:
            word, stride = word + 1, 1
        left, right, functions = np.nonzero(table)
        counts = np.count_nonzero(table, axis=2)
        starts = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
        values = table[left, right, functions]
        tables.append(_Products(counts, starts, functions, values, word, stride))
        stride *= table.shape[2]
    return tables


def _keys(rows: IndexArray, tables: Sequence[_Products]) -> IndexArray:
    """Return the keys of multi-indices; shape (n_words, n_rows)."""
    keys = np.zeros((tables[-1].word + 1, len(rows)), dtype=np.int64)
    for i, table in enumerate(tables):
        keys[table.word] += rows[:, i] * table.stride
    return keys


def _distinct(keys: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the distinct columns and, for each column, which of these it is."""
    _, first, rank = np.unique(keys[0], return_index=True, return_inverse=True)
    for word in keys[1:]:
        _, other = np.unique(word, return_inverse=True)
        joint = rank * (other.max(initial=0) + 1) + other
        _, first, rank = np.unique(joint, return_index=True, return_inverse=True)
    return keys[:, first], rank


def _pairs(n_terms: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield all unordered pairs of terms, a block of rows at a time."""
    start = 0
    while start < n_terms:
        rows = max(1, _PAIRS_AT_ONCE // (n_terms - start))
        block = np.arange(start, min(start + rows, n_terms))
        left = np.repeat(block, n_terms - block)
        ends = np.cumsum(n_terms - block)
        right = np.arange(len(left)) + np.repeat(n_terms - ends, n_terms - block)
        yield left, right
        start = int(block[-1]) + 1


def _chunks(
    multi_indices: IndexArray, tables: Sequence[_Products]
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield pairs whose products fit in a block of work."""
    for left, right in _pairs(len(multi_indices)):
        count = np.ones(len(left), dtype=np.int64)
        for i, table in enumerate(tables):
            count *= table.counts[multi_indices[left, i], multi_indices[right, i]]
        block = np.cumsum(count) // _PRODUCTS_AT_ONCE
        cuts = np.flatnonzero(np.diff(block)) + 1
        yield from zip(np.split(left, cuts), np.split(right, cuts), strict=True)


def _linearise(
    left: IndexArray,  # shape: (n_pairs, n_features)
    right: IndexArray,  # shape: (n_pairs, n_features)
    tables: Sequence[_Products],
) -> tuple[IndexArray, csr_array]:
    """Return keys and the matrix (n_keys, n_pairs) of products of pairs of terms."""
    n_pairs = len(left)
    pair, value = np.arange(n_pairs), np.ones(n_pairs)
    keys = np.zeros((tables[-1].word + 1, n_pairs), dtype=np.int64)
    for i, table in enumerate(tables):
        entry, key, factor = table.expand(left[pair, i], right[pair, i])
        pair, keys, value = pair[entry], keys[:, entry], value[entry] * factor
        keys[table.word] += key
    distinct, rank = _distinct(keys)
    shape = (distinct.shape[1], n_pairs)
    return distinct, csr_array((value, (rank, pair)), shape=shape)


def _squared(
    coefficients: FloatArray,  # shape: (n_targets, n_terms), without the constant
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    tables: Sequence[_Products],
) -> tuple[IndexArray, FloatArray]:
    """Return the keys and the coefficients of the squared expansions."""
    keys = np.zeros((tables[-1].word + 1, 0), dtype=np.int64)
    squared = np.zeros((len(coefficients), 0))
    for left, right in _chunks(multi_indices, tables):
        new, products = _linearise(multi_indices[left], multi_indices[right], tables)
        pairs = coefficients[:, left] * coefficients[:, right]
        pairs *= np.where(left == right, 1.0, 2.0)
        n_known = keys.shape[1]
        keys, rank = _distinct(np.hstack([keys, new]))
        total = np.zeros((len(coefficients), keys.shape[1]))
        total[:, rank[:n_known]] = squared
        total[:, rank[n_known:]] += (products @ pairs.T).T
        squared = total
    return keys, squared


def _third_and_fourth(
    coefficients: FloatArray,  # shape: (n_targets, n_terms), of variance 1
    multi_indices: IndexArray,  # shape: (n_terms, n_features), without the constant
    tables: Sequence[_Products],
) -> tuple[FloatArray, FloatArray, int]:
    """Return the third and fourth moments, and the number of products."""
    used = coefficients.any(axis=0)
    coefficients, multi_indices = coefficients[:, used], multi_indices[used]
    keys, squared = _squared(coefficients, multi_indices, tables)
    n_products = keys.shape[1]
    known, rank = _distinct(np.hstack([keys, _keys(multi_indices, tables)]))
    aligned = np.zeros((len(coefficients), known.shape[1]))
    aligned[:, rank[:n_products]] = squared
    third = np.sum(aligned[:, rank[n_products:]] * coefficients, axis=1)
    return third, np.square(squared).sum(axis=1), n_products


def expansion_moments(
    laws: Sequence[InputLaw],
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> ExpansionMoments:
    """Compute the first four moments of an expansion."""
    slopes = coefficients[:, 1:]
    variance = np.square(slopes).sum(axis=1)
    skewness, kurtosis = np.full((2, len(coefficients)), np.nan)
    varies = np.flatnonzero(variance > 0)
    unit = slopes[varies] / np.sqrt(variance[varies, np.newaxis])
    try:
        tables = _product_tables(laws, multi_indices)
    except UnknownMomentsError:
        pass
    else:
        third, fourth = _higher_moments(unit, multi_indices[1:], tables)
        skewness[varies], kurtosis[varies] = third, fourth - 3.0
    return ExpansionMoments(coefficients[:, 0].copy(), variance, skewness, kurtosis)


def _higher_moments(
    coefficients: FloatArray,  # shape: (n_targets, n_terms), of variance 1
    multi_indices: IndexArray,  # shape: (n_terms, n_features), without the constant
    tables: Sequence[_Products],
) -> tuple[FloatArray, FloatArray]:
    """Process the targets in blocks that fit in memory."""
    third, fourth = np.empty((2, len(coefficients)))
    start, size = 0, 16
    while start < len(coefficients):
        block = slice(start, start + size)
        third[block], fourth[block], n_products = _third_and_fourth(
            coefficients[block], multi_indices, tables
        )
        start += size
        size = max(1, _NUMBERS_AT_ONCE // max(n_products, _PAIRS_AT_ONCE))
    return third, fourth
