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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray, refuse_memory
from .._input_laws.families import InputLaw
from .._learned.kernel_basis import Basis, KernelBasis
from .._result import Result, Shown

# Pairs of terms, and targets, in one block of work.
_PAIRS_AT_ONCE, _TARGETS_AT_ONCE = 2**14, 128

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
    laws: Sequence[InputLaw],
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> ExpansionMoments:
    """Compute the first four moments of an expansion."""
    slopes = coefficients[:, 1:]
    variance = np.square(slopes).sum(axis=1)
    skewness, kurtosis = np.full((2, len(coefficients)), np.nan)
    varies, generator = np.flatnonzero(variance > 0), np.random.default_rng(0)
    pairs = list(zip(laws, multi_indices.max(axis=0).tolist(), strict=True))
    if all(_has_products(law, degree) for law, degree in pairs):
        tables = [_products_of(law, degree, generator) for law, degree in pairs]
        for start in range(0, len(varies), _TARGETS_AT_ONCE):
            some = varies[start : start + _TARGETS_AT_ONCE]
            unit = slopes[some] / np.sqrt(variance[some, np.newaxis])
            third, fourth = _third_and_fourth(unit, multi_indices[1:], tables)
            skewness[some], kurtosis[some] = third, fourth - 3.0
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
