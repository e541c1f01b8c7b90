r"""An expansion in some of its inputs, along linear functions of them, and its slopes.

With independent inputs, averaging over the inputs outside a set :math:`u` leaves
exactly the terms without them [1]_:

.. math:: E[y \mid x_u] = \sum_{j\,:\, j_i = 0 \text{ for } i \notin u}
          c_j \psi_j(x_u).

The result is an expansion again, on the inputs of the set alone.

The derivative of a product :math:`\psi_j` in one input replaces one factor. Its mean
square has a closed form in the coefficients,

.. math:: \nu_i = E\left[\left(\frac{\partial f}{\partial x_i}\right)^2\right]
          = \sum_{j, k :\, j_{-i} = k_{-i}} c_j c_k\, E[\psi'_{j_i} \psi'_{k_i}],

with the means from Gauss quadrature. If the distribution of the input has the Poincaré
constant :math:`C_i`, that is :math:`\mathrm{Var}(g) \le C_i E[g'^2]` for every smooth
:math:`g`, then :math:`S_{T_i} \le C_i \nu_i / D` [2]_ [3]_.

The derivative of an orthonormal polynomial is also a combination of those of lower
degree, :math:`\psi_k' = \sum_{l < k} D_{kl}\,\psi_l` with
:math:`D_{kl} = E[\psi_k' \psi_l]`. So every partial derivative is an expansion in the
same basis, and :math:`E[\partial_a f\, \partial_b f]` is the product of their
coefficients [4]_.

An expansion in orthonormal Hermite polynomials of standard normal inputs :math:`t`
is a sum over the degree :math:`k` of :math:`\langle S_k, \cdot\rangle` with symmetric
tensors :math:`(S_k)_{i_1 \dots i_k} = c_j \sqrt{j! / k!}` (:math:`j` counts the
indices), and :math:`\sum_{|j| = k} c_j^2 = \lVert S_k \rVert^2`. Mehler's formula
[5]_ gives, for :math:`v` jointly normal with :math:`t`,

.. math:: \mathrm{Var}\,E[f(t) \mid v]
          = \sum_{k \ge 1} \langle S_k, P^{\otimes k} S_k \rangle,
          \qquad P = \mathrm{Cov}\,E[t \mid v].

For one variable :math:`v = u \cdot t` with :math:`|u| = 1`, :math:`P = u u^\top` and
the term of degree :math:`k` is
:math:`\{\sum_{|j| = k} c_j \sqrt{k! / j!}\, u^j\}^2`.

The variance that one variable explains is also estimated from samples: these are cut
into bins of equal count along the variable, with a cubic in each (lines lose the tails
of a polynomial: a tenth of the variance of a degree-4 Hermite polynomial, where cubics
lose less than 1e-4). The residual variance is corrected for its degrees of freedom, so
that a variable without effect has an expected share of about 0.

References
----------
.. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
   Reliability Engineering and System Safety 93 (2008), section 4.
.. [2] I. M. Sobol and S. Kucherenko, "Derivative based global sensitivity measures and
   their link with global sensitivity indices", Mathematics and Computers in Simulation
   79 (2009).
.. [3] S. Kucherenko and B. Iooss, "Derivative-based global sensitivity measures", in
   Handbook of Uncertainty Quantification, Springer (2017), section 4.
.. [4] P. G. Constantine, "Active Subspaces: Emerging Ideas for Dimension Reduction in
   Parameter Studies", SIAM, 2015, section 1.2.
.. [5] S. Janson, "Gaussian Hilbert Spaces", Cambridge University Press, 1997,
   theorem 4.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import gammaln

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw


def checked_features(features: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of chosen inputs, in the order of the inputs."""
    if isinstance(features, (str, Integral)):
        features = [features]
    if not isinstance(features, Iterable):
        raise ValueError(
            "features must be one or more inputs, by position or by name. "
            f"Got {features!r}."
        )
    chosen = [_position(feature, names) for feature in features]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"features must be one or more inputs, each of them once. Got {features!r}."
        )
    return sorted(chosen)


def _position(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    is_integer = isinstance(feature, Integral) and not isinstance(feature, bool)
    if is_integer and 0 <= feature < len(names):
        return int(feature)
    shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
    raise ValueError(
        f"features must be names of inputs ({shown}) or positions from 0 to "
        f"{len(names) - 1}. Got {feature!r}."
    )


def marginal_basis(
    basis: PolynomialBasis, features: Sequence[int]
) -> tuple[PolynomialBasis, IndexArray]:
    """Return the basis on these inputs alone, and its rows in the whole basis."""
    rows: Any = basis.terms_within(features)
    laws = [basis.laws[i] for i in features]
    return PolynomialBasis(laws, basis.multi_indices[np.ix_(rows, features)]), rows


def conditional_expectation(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_chosen)
    features: Sequence[int],  # which inputs the columns of X are
) -> FloatArray:  # shape: (n_samples, n_targets)
    """Evaluate the mean of each target, given some of the inputs."""
    smaller, rows = marginal_basis(basis, features)
    return smaller.combine(X, coefficients[:, rows])


def main_effects(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_features)
) -> FloatArray:  # shape: (n_samples, n_features, n_targets)
    r"""Evaluate the effect of each input alone, :math:`E[y \mid x_i] - E[y]`."""
    effects = np.empty((len(X), X.shape[1], len(coefficients)))
    for i, law in enumerate(basis.laws):
        rows = basis.terms_within([i])[1:]
        degrees = basis.multi_indices[rows, i]
        univariate = law.evaluate(X[:, i], int(degrees.max(initial=0)))
        effects[:, i] = univariate[degrees].T @ coefficients[:, rows].T
    return effects


#: Poincaré constants of standardised inputs, by the name of the law. Normal: Chernoff's
#: inequality. Uniform on [-1, 1]: Wirtinger's, (length / pi)^2. Exponential: 4.
_POINCARE_CONSTANTS: Mapping[str, float] = MappingProxyType(
    {"NormalLaw": 1.0, "UniformLaw": 4.0 / np.pi**2, "ExponentialLaw": 4.0}
)


@dataclass(frozen=True)
class DerivativeSensitivity:
    """Derivative-based sensitivity measures.

    Parameters
    ----------
    mean_square : ndarray of shape (n_targets, n_features)
        Mean square of the derivative, in squared units of y per unit of x. NaN for
        a categorical input.
    poincare_constant : ndarray of shape (n_features,)
        Constant of the law of each input, in squared units of x; NaN where none is
        known.
    total_order_bound : ndarray of shape (n_targets, n_features)
        Upper bound of the total Sobol index. It may be above 1. NaN without a
        constant, 0 for a target without variance.
    """

    mean_square: FloatArray
    poincare_constant: FloatArray
    total_order_bound: FloatArray


def gradient(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_features)
) -> FloatArray:  # shape: (n_samples, n_targets, n_features)
    """Evaluate the gradient of an expansion."""
    slopes = np.empty((len(X), len(coefficients), len(basis.laws)))
    for i in range(len(basis.laws)):
        slopes[:, :, i] = basis.differentiate(X, i) @ coefficients.T
    return slopes


def poincare_constant(law: InputLaw) -> float:
    r"""Return the Poincaré constant of a law; NaN where none is known.

    Normal: :math:`\sigma^2`. Uniform on [a, b]: :math:`(b - a)^2 / \pi^2`.
    Exponential: 4 times the squared scale.
    """
    return _POINCARE_CONSTANTS.get(type(law).__name__, np.nan) * law.scale**2


def _mean_square(
    law: InputLaw, coefficients: FloatArray, multi_indices: IndexArray, feature: int
) -> FloatArray:  # shape: (n_targets,)
    """Sum over groups of terms that differ in the exponent of one input alone."""
    rows = np.flatnonzero(multi_indices[:, feature] > 0)
    degrees = multi_indices[rows, feature]
    largest = int(degrees.max(initial=0))
    nodes, weights = law.quadrature(max(largest, 1))
    slopes = law.differentiate(nodes, largest)[1:] * np.sqrt(weights)
    others = np.delete(multi_indices[rows], feature, axis=1)
    _, group = np.unique(others, axis=0, return_inverse=True)
    n_groups = int(group.max(initial=-1)) + 1
    grouped = np.zeros((len(coefficients), n_groups, largest))
    grouped[:, group.reshape(-1), degrees - 1] = coefficients[:, rows]
    return np.square(grouped @ slopes).sum(axis=(1, 2))


def derivative_sensitivity(
    laws: Sequence[InputLaw],
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> DerivativeSensitivity:
    """Compute the mean squares of the derivatives and the bounds that follow."""
    mean_square = np.full((len(coefficients), len(laws)), np.nan)
    for i, law in enumerate(laws):
        if law.is_polynomial:
            mean_square[:, i] = _mean_square(law, coefficients, multi_indices, i)
    constants = np.array([poincare_constant(law) for law in laws])
    variance = np.square(coefficients[:, 1:]).sum(axis=1, keepdims=True)
    safe = np.where(variance > 0, variance, 1.0)
    bound = constants * mean_square / safe
    return DerivativeSensitivity(mean_square, constants, bound)


def gradient_moments(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    laws: Sequence[InputLaw],
) -> FloatArray:  # shape: (n_targets, n_inputs, n_inputs)
    """Return ``E[grad f grad f^T]`` in the units of the inputs."""
    positions: dict[bytes, int] = {}
    for row in multi_indices:
        positions.setdefault(np.ascontiguousarray(row).tobytes(), len(positions))
    parts = []
    for a, law in enumerate(laws):
        lower = _lower_degrees(law, int(multi_indices[:, a].max(initial=0)))
        for term in np.flatnonzero(multi_indices[:, a]):
            row = multi_indices[term].copy()
            for degree in range(multi_indices[term, a]):
                row[a] = degree
                target = positions.setdefault(row.tobytes(), len(positions))
                slope = lower[multi_indices[term, a], degree]
                parts.append((a, target, term, slope))
    derivatives = np.zeros((len(laws), len(positions), len(coefficients)))
    for a, target, term, slope in parts:
        derivatives[a, target] += slope * coefficients[:, term]
    return np.einsum("akt,bkt->tab", derivatives, derivatives)


def _lower_degrees(law: InputLaw, degree: int) -> FloatArray:
    """Return ``D`` with ``D[k, l]`` the part of ``psi_l`` in ``psi_k'``."""
    if not law.is_polynomial:
        raise ValueError(
            f"{type(law).__name__} is a law without derivatives; the derivative-based "
            "measure needs inputs that are numbers."
        )
    nodes, weights = law.quadrature(degree + 1)
    slopes = law.differentiate(nodes, degree)
    return (slopes * weights) @ law.evaluate(nodes, degree).T


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


def tensors_fit(n_inputs: int, degree: int, n_targets: int) -> bool:
    """Return whether the tensors of a degree are small enough to build."""
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
