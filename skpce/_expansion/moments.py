r"""Moments of an expansion, and its means and variances given some of the inputs.

Skewness and kurtosis need the square of the expansion: see "Moments" in the page
"Mathematics" of the documentation. Few products of a pair of terms are not 0: a pair
without a common input has one. Pairs are worked through in chunks, so that memory stays
bounded.

An expansion in orthonormal Hermite polynomials of standard normal inputs :math:`t`
is a sum over the degree :math:`k` of :math:`\langle S_k, \cdot\rangle` with symmetric
tensors :math:`(S_k)_{i_1 \dots i_k} = c_j \sqrt{j! / k!}` (:math:`j` counts the
indices), and :math:`\sum_{|j| = k} c_j^2 = \lVert S_k \rVert^2`. Mehler's formula
[1]_ gives, for :math:`v` jointly normal with :math:`t`,

.. math:: \mathrm{Var}\,E[f(t) \mid v]
          = \sum_{k \ge 1} \langle S_k, P^{\otimes k} S_k \rangle,
          \qquad P = \mathrm{Cov}\,E[t \mid v].

For one variable this is the formula "Behind a linear embedding" of the same page.

The variance that one variable explains is also estimated from samples: these are cut
into bins of equal count along the variable, with a cubic in each (lines lose the tails
of a polynomial: a tenth of the variance of a degree-4 Hermite polynomial, where cubics
lose less than 1e-4). The residual variance is corrected for its degrees of freedom, so
that a variable without effect has an expected share of about 0.

References
----------
.. [1] S. Janson, "Gaussian Hilbert Spaces", Cambridge University Press, 1997,
   theorem 4.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from .._basis.basis import PolynomialBasis, evaluate_within
from .._checks import FloatArray, IndexArray, refuse_memory
from .._input_laws.families import InputLaw
from .._learned.kernel_basis import Basis, KernelBasis
from .._result import Result, Shown

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
class ExpansionMoments(Shown):
    """Moments of an expansion under the distributions of its inputs.

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

    def _table(self) -> Result:
        outputs, _ = self._labels(len(self.mean), 0)
        names = ("mean", "variance", "skewness", "kurtosis")
        return Result({"target": outputs}, {n: getattr(self, n) for n in names})


class UnknownMomentsError(ValueError):
    """A distribution has no functions of the degrees of products."""


def linearisation(
    law: InputLaw, degree: int
) -> FloatArray:  # shape: (degree + 1, degree + 1, n_functions)
    """Return :math:`e_{abk}` for every k whose product with a pair may not be 0."""
    # The values of products at the nodes, and three copies of the table.
    n_entries = 4.0 * (degree + 1) ** 2 * (2 * degree + 1)
    refuse_memory("moments", 8.0 * n_entries, f"products of degree {2 * degree}")
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


def _pairs(
    multi_indices: IndexArray, tables: Sequence[_Products]
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield all unordered pairs of terms, whose products fit in a block of work."""
    start, n_terms = 0, len(multi_indices)
    while start < n_terms:
        n_rows = max(1, _PAIRS_AT_ONCE // (n_terms - start))
        rows = np.arange(start, min(start + n_rows, n_terms))
        left, right = np.nonzero(rows[:, np.newaxis] <= np.arange(n_terms))
        left += start
        count = np.ones(len(left), dtype=np.int64)
        for i, table in enumerate(tables):
            count *= table.counts[multi_indices[left, i], multi_indices[right, i]]
        cuts = np.flatnonzero(np.diff(np.cumsum(count) // _PRODUCTS_AT_ONCE)) + 1
        yield from zip(np.split(left, cuts), np.split(right, cuts), strict=True)
        start += len(rows)


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
    for left, right in _pairs(multi_indices, tables):
        new, products = _linearise(multi_indices[left], multi_indices[right], tables)
        pairs = coefficients[:, left] * coefficients[:, right]
        pairs *= np.where(left == right, 1.0, 2.0)
        n_known = keys.shape[1]
        keys, rank = _distinct(np.hstack([keys, new]))
        # Keys and coefficients, before and after, and what sorting them needs.
        numbers = 2.0 * keys.shape[1] * (len(coefficients) + len(keys) + 4)
        refuse_memory("moments", 8.0 * numbers, f"{keys.shape[1]} products of terms")
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
    with suppress(UnknownMomentsError):
        tables = _product_tables(laws, multi_indices)
        start, size = 0, 16  # targets of a block that fits in memory
        while start < len(varies):
            some = varies[start : start + size]
            unit = slopes[some] / np.sqrt(variance[some, np.newaxis])
            third, fourth, n_products = _third_and_fourth(
                unit, multi_indices[1:], tables
            )
            skewness[some], kurtosis[some] = third, fourth - 3.0
            start += size
            size = max(1, _NUMBERS_AT_ONCE // max(n_products, _PAIRS_AT_ONCE))
    return ExpansionMoments(coefficients[:, 0].copy(), variance, skewness, kurtosis)


def basis_of_inputs(basis: Basis, features: Sequence[int]) -> tuple[Basis, IndexArray]:
    """Return the basis on these inputs alone, and its functions in the whole basis."""
    if isinstance(basis, KernelBasis):
        return basis.of_inputs(features), np.arange(basis.n_functions)
    return marginal_basis(basis, features)


def marginal_basis(
    basis: PolynomialBasis, features: Sequence[int]
) -> tuple[PolynomialBasis, IndexArray]:
    """Return the basis on these inputs alone, and its rows in the whole basis."""
    rows: Any = basis.terms_within(features)
    laws = [basis.laws[i] for i in features]
    reach = None if basis.reach is None else basis.reach[:, features]
    terms = basis.multi_indices[np.ix_(rows, features)]
    return PolynomialBasis(laws, terms, reach), rows


def main_effects(
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_features)
) -> FloatArray:  # shape: (n_samples, n_features, n_targets)
    r"""Evaluate the effect of each input alone, :math:`E[y \mid x_i] - E[y]`."""
    if isinstance(basis, KernelBasis):
        return basis.main_effects(coefficients, X)
    effects = np.empty((len(X), X.shape[1], len(coefficients)))
    for i, law in enumerate(basis.laws):
        rows = basis.terms_within([i])[1:]
        degrees = basis.multi_indices[rows, i]
        ends = None if basis.reach is None else basis.reach[:, i]
        largest = int(degrees.max(initial=0))
        univariate = evaluate_within(law, X[:, i], largest, ends)
        effects[:, i] = univariate[degrees].T @ coefficients[:, rows].T
    return effects


#: Entries of the largest tensor that is built.
LARGEST_TENSOR = 2_000_000


def variance_along(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    directions: FloatArray,  # shape: (n_directions, n_inputs), of length at most one
) -> FloatArray:  # shape: (n_targets, n_directions)
    """Return the variance that each linear function of standardised inputs explains.

    A direction shorter than one is a function with independent normal noise; its
    squared length is the share of its variance that is not noise.
    """
    order = multi_indices.sum(axis=1)
    log_arrangements = gammaln(order + 1.0) - gammaln(multi_indices + 1.0).sum(axis=1)
    monomials = np.prod(directions[:, np.newaxis, :] ** multi_indices, axis=2)
    terms = coefficients * np.exp(0.5 * log_arrangements)
    explained = np.zeros((len(coefficients), len(directions)))
    for k in range(1, int(order.max(initial=0)) + 1):
        of_degree = order == k
        explained += np.square(terms[:, of_degree] @ monomials[:, of_degree].T)
    return explained


def tensors_fit(n_inputs: int, degree: int) -> bool:
    """Return whether the tensors of a degree are small enough to build."""
    return float(n_inputs) ** degree <= LARGEST_TENSOR


def symmetric_tensors(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
) -> list[FloatArray]:  # of degree k: shape (n_targets, n_inputs, ..., n_inputs)
    """Return the symmetric tensors of degree 1, 2, ... of an expansion."""
    n_inputs = multi_indices.shape[1]
    order = multi_indices.sum(axis=1)
    tensors = []
    for k in range(1, int(order.max(initial=0)) + 1):
        rows = np.flatnonzero(order == k)
        factors = np.array(
            [np.repeat(np.arange(n_inputs), multi_indices[row]) for row in rows],
            dtype=np.int64,
        ).reshape(len(rows), k)
        powers = n_inputs ** np.arange(k)[::-1]
        position = np.full(n_inputs**k, -1)
        position[factors @ powers] = rows
        cells = np.indices((n_inputs,) * k).reshape(k, -1).T
        rows_of_cells = position[np.sort(cells, axis=1) @ powers]
        log_factorials = gammaln(multi_indices + 1.0).sum(axis=1) - gammaln(k + 1.0)
        values = coefficients * np.exp(0.5 * log_factorials)
        values = np.where(rows_of_cells >= 0, values[:, rows_of_cells], 0.0)
        tensors.append(values.reshape(len(coefficients), *(n_inputs,) * k))
    return tensors


def explained_variance(
    tensors: list[FloatArray],
    root: FloatArray,  # shape: (n_inputs, rank), root @ root.T is P
) -> FloatArray:  # shape: (n_targets,)
    """Return the variance that a normal vector explains."""
    n_targets = len(tensors[0]) if tensors else 0
    explained = np.zeros(n_targets)
    if root.shape[1] == 0:
        return explained
    for tensor in tensors:
        rotated = tensor
        for _ in range(tensor.ndim - 1):  # contract the first axis, append its image
            rotated = np.tensordot(rotated, root, axes=(1, 0))
        explained += np.square(rotated).reshape(n_targets, -1).sum(axis=1)
    return explained


def subset_variances(
    tensors: list[FloatArray],
    cross_covariance: FloatArray,  # shape: (n_inputs, n_features), inputs standardised
    covariance: FloatArray,  # shape: (n_features, n_features)
) -> FloatArray:  # shape: (n_targets, 2**n_features)
    """Return the variance that every subset of normal features explains."""
    n_features = covariance.shape[0]
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    correlation = covariance / np.outer(scale, scale)
    cross = cross_covariance / scale
    n_targets = len(tensors[0]) if tensors else 0
    values = np.zeros((n_targets, 2**n_features))
    for position in range(1, 2**n_features):
        subset = [i for i in range(n_features) if position >> i & 1]
        root = _root(cross[:, subset], correlation[np.ix_(subset, subset)])
        values[:, position] = explained_variance(tensors, root)
    return values


def _root(cross: FloatArray, correlation: FloatArray) -> FloatArray:
    """Return ``A`` with ``A A^T = cross correlation^+ cross^T``, of full column rank.

    Singular values above one are rounding: no vector explains more than all inputs.
    """
    eigenvalues, vectors = np.linalg.eigh(correlation)
    large = eigenvalues > 1e-9 * max(eigenvalues.max(initial=0.0), 1e-300)
    root = cross @ (vectors[:, large] / np.sqrt(eigenvalues[large]))
    left, singular, _ = np.linalg.svd(root, full_matrices=False)
    used = singular > 1e-9
    return left[:, used] * np.minimum(singular[used], 1.0)


_BINS = 16
_PARAMETERS = 4  # of a cubic


def explained_share(
    variable: FloatArray,  # shape: (n_samples,)
    values: FloatArray,  # shape: (n_samples, n_targets)
    group: FloatArray,  # shape: (n_groups, n_targets), zeros and ones
) -> FloatArray:  # shape: (n_groups,)
    """Return the share of the summed variance of each group; 0 without variance."""
    n_samples = len(variable) // _BINS * _BINS
    order = np.argsort(variable[:n_samples], kind="stable")
    x = variable[order].reshape(_BINS, -1)
    y = values[order].reshape(_BINS, -1, values.shape[1])
    spread = x.std(axis=1, keepdims=True)
    x = (x - x.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    frame, _ = np.linalg.qr(x[:, :, np.newaxis] ** np.arange(_PARAMETERS))
    residual = y - frame @ (np.swapaxes(frame, 1, 2) @ y)
    error = np.square(residual).sum(axis=(0, 1)) / (n_samples - _PARAMETERS * _BINS)
    whole = group @ values[order].var(axis=0, ddof=1)
    safe = np.where(whole > 0, whole, 1.0)
    return np.where(whole > 0, 1.0 - (group @ error) / safe, 0.0)
