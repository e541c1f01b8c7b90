"""Sobol indices from the coefficients of an orthonormal expansion.

All functions are pure. With coefficients :math:`c_j` of an expansion that is
orthonormal under independent inputs, the variance is
:math:`D = \\sum_{j \\ne 0} c_j^2`, the first-order index of input :math:`i` is
:math:`S_i = D^{-1} \\sum_{j_i > 0,\\, j_{-i} = 0} c_j^2` and the total index
:math:`S_{T_i} = D^{-1} \\sum_{j_i > 0} c_j^2` [1]_ (the paper's eq. 5).

A target without variance has no attribution: its indices are 0.

References
----------
.. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
   Reliability Engineering and System Safety 93 (2008), eqs. (36)-(39).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of several targets.

    Parameters
    ----------
    first_order : ndarray of shape (n_targets, n_features)
        Share of the variance that an input explains alone.
    total_order : ndarray of shape (n_targets, n_features)
        The same with every interaction in which the input takes part.
    total_variance : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of the target.
    """

    first_order: FloatArray
    total_order: FloatArray
    total_variance: FloatArray


def partial_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return first-order and total partial variances and the variance.

    Shapes: (..., n_targets, n_features) twice, then (..., n_targets).
    """
    squares = np.square(coefficients[..., 1:])
    active = multi_indices[1:] > 0
    alone = active & (active.sum(axis=1, keepdims=True) == 1)
    return squares @ alone, squares @ active, squares.sum(axis=-1)


def normalize_partial_variances(
    first: FloatArray,  # shape: (..., n_targets, n_features)
    total: FloatArray,  # shape: (..., n_targets, n_features)
    variance: FloatArray,  # shape: (..., n_targets)
) -> SobolIndices:
    """Divide by the variance; 0 where there is none."""
    safe = np.where(variance > 0, variance, 1.0)[..., np.newaxis]
    return SobolIndices(first / safe, total / safe, variance)


def sobol_indices(coefficients: FloatArray, multi_indices: IndexArray) -> SobolIndices:
    """Compute first-order and total Sobol indices.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        Coefficients of an orthonormal basis; column 0 is the constant.
    multi_indices : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is zero.

    Returns
    -------
    indices : SobolIndices
        ``first_order``, ``total_order`` and ``total_variance``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._sobol import sobol_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> indices = sobol_indices(np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices)
    >>> indices.first_order.round(3).tolist(), indices.total_order.round(3).tolist()
    ([[0.667, 0.167]], [[0.833, 0.333]])
    """
    return normalize_partial_variances(*partial_variances(coefficients, multi_indices))


def aggregate_sobol_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    groups: IndexArray,  # shape: (n_targets,)
    n_groups: int,
) -> SobolIndices:
    """Compute variance-weighted (generalised) indices of groups of targets.

    The partial variances of the targets of a group are summed before they are
    divided [2]_. With targets that are orthonormal coordinates of a composition the
    result does not depend on the choice of the coordinates.

    References
    ----------
    .. [2] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics 8
       (2014), section 2.2.
    """
    member = (np.arange(n_groups)[:, np.newaxis] == groups).astype(float)
    first, total, variance = partial_variances(coefficients, multi_indices)
    return normalize_partial_variances(
        member @ first, member @ total, (member @ variance[..., np.newaxis])[..., 0]
    )
