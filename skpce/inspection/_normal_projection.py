r"""Variances explained by linear functions of normal inputs, in closed form.

An expansion in orthonormal Hermite polynomials of standard normal inputs :math:`t`
is a sum over the degree :math:`k` of :math:`\langle S_k, \cdot\rangle` with symmetric
tensors :math:`(S_k)_{i_1 \dots i_k} = c_j \sqrt{j! / k!}` (:math:`j` counts the
indices), and :math:`\sum_{|j| = k} c_j^2 = \lVert S_k \rVert^2`. Mehler's formula
[1]_ gives, for :math:`v` jointly normal with :math:`t`,

.. math:: \mathrm{Var}\,E[f(t) \mid v]
          = \sum_{k \ge 1} \langle S_k, P^{\otimes k} S_k \rangle,
          \qquad P = \mathrm{Cov}\,E[t \mid v].

For one variable :math:`v = u \cdot t` with :math:`|u| = 1`, :math:`P = u u^\top` and
the term of degree :math:`k` is
:math:`\{\sum_{|j| = k} c_j \sqrt{k! / j!}\, u^j\}^2`.

References
----------
.. [1] S. Janson, "Gaussian Hilbert Spaces", Cambridge University Press, 1997,
   theorem 4.9.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from .._checks import FloatArray, IndexArray

#: Entries of the largest tensor that is built.
LARGEST_TENSOR = 2_000_000


def variance_along(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    directions: FloatArray,  # shape: (n_directions, n_inputs), of length at most one
) -> FloatArray:  # shape: (n_targets, n_directions)
    """Return the variance that each linear function of the germ explains.

    A direction shorter than one is a function with independent normal noise; its
    squared length is the share of its variance that is not noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection._normal_projection import variance_along
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> diagonal = np.array([[1.0, 1.0]]) / np.sqrt(2)
    >>> variance_along(np.array([[5.0, 1.0, 1.0]]), multi_indices, diagonal).round(6)
    array([[2.]])
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


def tensors_fit(n_inputs: int, degree: int, n_targets: int) -> bool:
    """Whether the tensors of a degree are small enough to build."""
    return n_targets * float(n_inputs) ** degree <= LARGEST_TENSOR


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
    cross_covariance: FloatArray,  # shape: (n_inputs, n_features), of germ and feature
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

    Singular values above one are rounding: no vector explains more than the germ.
    """
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > 1e-9 * max(eigenvalues.max(initial=0.0), 1e-300)
    root = cross @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))
    left, singular, _ = np.linalg.svd(root, full_matrices=False)
    held = singular > 1e-9
    return left[:, held] * np.minimum(singular[held], 1.0)
