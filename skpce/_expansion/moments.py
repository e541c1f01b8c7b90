r"""Moments of an expansion, and its means and variances given some of the inputs.

Skewness and kurtosis need the square of the expansion: see "Moments" in the page
"Mathematics" of the documentation. Few products of a pair of terms are not 0: a pair
without a common input has one. Pairs are worked through in chunks, so that memory stays
bounded.

What one linear function of standard normal inputs explains is the formula "Behind a
linear embedding" of the same page (Mehler's formula [1]_).

References
----------
.. [1] S. Janson, "Gaussian Hilbert Spaces", Cambridge University Press, 1997,
   theorem 4.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln
from scipy.stats import kurtosis as kurtosis_of
from scipy.stats import skew

from .._checks import FloatArray, IndexArray, refuse_memory
from .._input_laws.families import InputLaw
from .._learned.ridge import Basis, KernelBasis
from .._result import Result, Shown

# Pairs of terms, and targets, in one block of work.
_PAIRS_AT_ONCE, _TARGETS_AT_ONCE = 2**14, 128

# So many draws stand for what is no sum of a few polynomials: kernels, waves, and
# functions of a higher degree than this that end before the support of an input does.
_N_DRAWS, _TAME_DEGREE = 2**16, 3

# e_abk below this share of its norm over k is rounding of the quadrature.
_ROUNDING = 1e-12


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


def linearisation(
    law: InputLaw, degree: int
) -> FloatArray:  # shape: (degree + 1, degree + 1, n_functions)
    """Return :math:`e_{abk}` for every k whose product with a pair may not be 0."""
    # The values of products at the nodes, and three copies of the table.
    n_entries = 4.0 * (degree + 1) ** 2 * (2 * degree + 1)
    refuse_memory("moments", 8.0 * n_entries, f"products of degree {2 * degree}")
    last, n_nodes = law.largest_degree, 2 * degree + 1
    if law.is_polynomial:
        last = min(2 * degree, last)
    else:  # every function of the levels
        n_nodes = int(last) + 1
    nodes, weights = law.quadrature(n_nodes)
    values = law.evaluate(nodes, int(last))
    pairs = values[: degree + 1, np.newaxis] * values[: degree + 1]
    table = (pairs * weights) @ values.T
    norm = np.sqrt(np.square(table).sum(axis=-1, keepdims=True))
    return np.where(np.abs(table) > _ROUNDING * norm, table, 0.0)


def _has_products(law: InputLaw, degree: int) -> bool:
    """Return whether a distribution has the polynomials of products of two."""
    try:
        if law.is_polynomial:
            law.check_degree("moments", "an input", 2 * degree + 1)
    except ValueError:
        return False
    return True


def _products_of(
    law: InputLaw, degree: int, generator: np.random.Generator
) -> tuple[csr_array, NDArray[np.uint64]]:
    """Return the linearisation, a row for each pair of degrees, and keys of functions.

    The key of a product of inputs is the sum of random keys. Two of n products have the
    same with a probability below n² / 2⁶⁴.
    """
    table = linearisation(law, degree)
    n_functions = table.shape[2]
    keys = generator.integers(2**64 - 1, size=(n_functions,), dtype=np.uint64)
    keys[0] = 0  # of the constant
    return csr_array(table.reshape(-1, n_functions)), keys


def _third_and_fourth(
    coefficients: FloatArray,  # shape: (n_targets, n_terms), of variance 1
    terms: IndexArray,  # shape: (n_terms, n_features), without the constant
    tables: Sequence[tuple[csr_array, NDArray[np.uint64]]],
) -> tuple[FloatArray, FloatArray]:
    """Return the third and fourth moments."""
    used = coefficients.any(axis=0)
    coefficients, terms = coefficients[:, used], terms[used]
    own = np.zeros(len(terms), dtype=np.uint64)
    for i, (_, codes) in enumerate(tables):
        own += codes[terms[:, i]]
    keys, squared = np.unique(own), np.zeros(coefficients.shape)
    n_rows = max(1, _PAIRS_AT_ONCE // len(terms))
    for start in range(0, len(terms), n_rows):
        rows = np.arange(start, min(start + n_rows, len(terms)))
        left, right = np.nonzero(rows[:, np.newaxis] <= np.arange(len(terms)))
        left += start
        pair, values = np.arange(len(left)), np.ones(len(left))
        products = np.zeros(len(left), dtype=np.uint64)
        for i, (table, codes) in enumerate(tables):
            n_degrees = math.isqrt(table.shape[0])
            degrees = terms[left, i] * n_degrees + terms[right, i]
            found = table[degrees[pair]]
            counts = np.diff(found.indptr)
            pair = np.repeat(pair, counts)
            values = np.repeat(values, counts) * found.data
            products = np.repeat(products, counts) + codes[found.indices]
        every, place = np.unique(np.concatenate([keys, products]), return_inverse=True)
        # Keys and coefficients, before and after, and what sorting them needs.
        numbers = 2.0 * len(every) * (len(coefficients) + 5)
        refuse_memory("moments", 8.0 * numbers, f"{len(every)} products of terms")
        of_pairs = coefficients[:, left] * coefficients[:, right]
        of_pairs *= np.where(left == right, 1.0, 2.0)
        shape = len(every), len(left)
        sums = csr_array((values, (place[len(keys) :], pair)), shape=shape)
        total = (sums @ of_pairs.T).T
        total[:, place[: len(keys)]] += squared
        keys, squared = every, total
    third = np.sum(squared[:, np.searchsorted(keys, own)] * coefficients, axis=1)
    return third, np.square(squared).sum(axis=1)


def expansion_moments(
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_functions)
    variance: FloatArray,  # shape: (n_targets,)
) -> ExpansionMoments:
    """Compute the first four moments of an expansion."""
    slopes = coefficients[:, 1:]
    skewness, kurtosis = np.full((2, len(coefficients)), np.nan)
    varies, generator = np.flatnonzero(variance > 0), np.random.default_rng(0)
    if not _has_few_polynomials(basis):
        drawn = basis.sample(_N_DRAWS, generator)
        for start in range(0, len(varies), _TARGETS_AT_ONCE):
            some = varies[start : start + _TARGETS_AT_ONCE]
            values = basis.combine(drawn, coefficients[some])
            skewness[some], kurtosis[some] = skew(values), kurtosis_of(values)
        return ExpansionMoments(coefficients[:, 0].copy(), variance, skewness, kurtosis)
    laws, multi_indices = basis.laws, basis.multi_indices
    pairs = list(zip(laws, multi_indices.max(axis=0).tolist(), strict=True))
    if all(_has_products(law, degree) for law, degree in pairs):
        tables = [_products_of(law, degree, generator) for law, degree in pairs]
        for start in range(0, len(varies), _TARGETS_AT_ONCE):
            some = varies[start : start + _TARGETS_AT_ONCE]
            unit = slopes[some] / np.sqrt(variance[some, np.newaxis])
            third, fourth = _third_and_fourth(unit, multi_indices[1:], tables)
            skewness[some], kurtosis[some] = third, fourth - 3.0
    return ExpansionMoments(coefficients[:, 0].copy(), variance, skewness, kurtosis)


def _has_few_polynomials(basis: Basis) -> bool:
    """Say whether an expansion is, where its inputs are, a sum of polynomials."""
    if isinstance(basis, KernelBasis) or any(law.waves for law in basis.laws):
        return False
    if basis.reach is None:
        return True
    low, high = np.transpose([law.support for law in basis.laws])
    cut = (low < basis.reach[0]) | (basis.reach[1] < high)
    return not (basis.multi_indices.max(axis=0)[cut] > _TAME_DEGREE).any()


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
