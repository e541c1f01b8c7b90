"""Slopes of an expansion, and what they say about its inputs.

The derivative of a product :math:`\\psi_j` in one input replaces one factor. Its mean
square has a closed form in the coefficients,

.. math:: \\nu_i = E\\left[\\left(\\frac{\\partial f}{\\partial x_i}\\right)^2\\right]
          = \\sum_{j, k :\\, j_{-i} = k_{-i}} c_j c_k\\, E[\\psi'_{j_i} \\psi'_{k_i}],

with the means from Gauss quadrature of the law. If the law has the Poincaré constant
:math:`C_i`, that is :math:`\\mathrm{Var}(g) \\le C_i E[g'^2]` for every smooth
:math:`g`, then :math:`S_{T_i} \\le C_i \\nu_i / D` [1]_ [2]_.

References
----------
.. [1] I. M. Sobol and S. Kucherenko, "Derivative based global sensitivity measures and
   their link with global sensitivity indices", Mathematics and Computers in Simulation
   79 (2009).
.. [2] S. Kucherenko and B. Iooss, "Derivative-based global sensitivity measures", in
   Handbook of Uncertainty Quantification, Springer (2017), section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ._basis.basis import PolynomialBasis
from ._checks import FloatArray, IndexArray
from ._input_laws import InputLaw

#: Poincaré constants of the germs, by the name of the law. Normal: Chernoff's
#: inequality. Uniform on [-1, 1]: Wirtinger's, (length / pi)^2. Exponential: 4.
_GERM_CONSTANTS: Mapping[str, float] = MappingProxyType(
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
    """Evaluate the gradient of an expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._basis.basis import PolynomialBasis
    >>> from skpce._derivatives import gradient
    >>> from skpce._input_laws import NormalLaw
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> basis = PolynomialBasis([NormalLaw(0.0, 1.0)] * 2, multi_indices)
    >>> gradient(basis, np.array([[7.0, 2.0, 1.0, 1.0]]), np.array([[3.0, 5.0]]))
    array([[[7., 4.]]])
    """
    slopes = np.empty((len(X), len(coefficients), len(basis.laws)))
    for i in range(len(basis.laws)):
        slopes[:, :, i] = basis.differentiate(X, i) @ coefficients.T
    return slopes


def poincare_constant(law: InputLaw) -> float:
    """Return the Poincaré constant of a law; NaN where none is known.

    Normal: :math:`\\sigma^2`. Uniform on [a, b]: :math:`(b - a)^2 / \\pi^2`.
    Exponential: 4 times the squared scale.

    Examples
    --------
    >>> from skpce._derivatives import poincare_constant
    >>> from skpce._input_laws import NormalLaw
    >>> poincare_constant(NormalLaw(0.0, 3.0))
    9.0
    """
    return _GERM_CONSTANTS.get(type(law).__name__, np.nan) * law.scale**2


def mean_square_derivatives(
    laws: Sequence[InputLaw],
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (n_targets, n_features)
    """Compute the mean squares of the derivatives; NaN for categorical inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._derivatives import mean_square_derivatives
    >>> from skpce._input_laws import NormalLaw
    >>> mean_square_derivatives(
    ...     [NormalLaw(0.0, 1.0)] * 2,
    ...     np.array([[7.0, 2.0, 1.0, 1.0]]),
    ...     np.array([[0, 0], [1, 0], [0, 1], [1, 1]]),
    ... )
    array([[5., 2.]])
    """
    found = np.full((len(coefficients), len(laws)), np.nan)
    for i, law in enumerate(laws):
        if law.is_polynomial:
            found[:, i] = _mean_square(law, coefficients, multi_indices, i)
    return found


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
    """Compute the mean squares of the derivatives and what they bound.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._derivatives import derivative_sensitivity
    >>> from skpce._input_laws import NormalLaw
    >>> derivative_sensitivity(
    ...     [NormalLaw(0.0, 1.0)] * 2,
    ...     np.array([[7.0, 2.0, 1.0, 1.0]]),
    ...     np.array([[0, 0], [1, 0], [0, 1], [1, 1]]),
    ... ).total_order_bound.round(3)
    array([[0.833, 0.333]])
    """
    mean_square = mean_square_derivatives(laws, coefficients, multi_indices)
    constants = np.array([poincare_constant(law) for law in laws])
    variance = np.square(coefficients[:, 1:]).sum(axis=1, keepdims=True)
    safe = np.where(variance > 0, variance, 1.0)
    bound = constants * mean_square / safe
    return DerivativeSensitivity(mean_square, constants, bound)
