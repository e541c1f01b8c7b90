"""Bounds on the error of least-squares coefficients and of the indices from them.

Proofs are in the user guide, "How many members".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def coefficient_error_bound(
    noise_variance: float,
    n_members: int,
    n_terms: int,
    n_coordinates: int = 1,
    *,
    smallest_eigenvalue: float,
    confidence_level: float = 0.95,
) -> float:
    r"""Bound the squared error of least-squares coefficients.

    For one target, given the inputs of :math:`L` members, with :math:`P` terms,
    Gaussian noise that is independent between members, and no terms missing,

    .. math::
       \lVert \hat c - c \rVert^2 \le
       \frac{P\,s^2\,F_{P,L-P}(1-\delta)}{L\,\lambda_{\min}(\hat G)}

    with probability at least :math:`1 - \delta`.

    Parameters
    ----------
    noise_variance : float
        Residual variances :math:`s^2 = \mathrm{RSS}/(L - P)`, summed over the
        coordinates. The bound is for the sum of the squared errors over these.
    n_members, n_terms : int
        :math:`L` and :math:`P`; the constant is one of the terms.
    n_coordinates : int, default=1
        A step of K actions has K - 1 coordinates (ilr).
    smallest_eigenvalue : float
        :math:`\lambda_{\min}(\hat G)`, the smallest eigenvalue of :math:`\Psi^\top
        \Psi / L`.
    confidence_level : float, default=0.95
        :math:`1 - \delta`.

    Returns
    -------
    bound : float
        ``inf`` for a design of less than full rank, and without residual degrees of
        freedom (:math:`L \le P`).

    Notes
    -----
    With :math:`m` coordinates, dependent in any way, and :math:`s = \sum_k s_k^2` the
    bound is :math:`s\,P\,F_{P,L-P}(1-\delta/m) / (L\lambda_{\min})`.
    :math:`s` is a trace, so the bound of a step is the same in every isometric
    log-ratio basis. The bound holds for least squares only: the bias of a penalty and
    of missing terms is not in it. Proof: user guide, "How many members". The identity
    behind it, the step to the eigenvalue and what it says of indices are checked in
    ``lean/Core`` (``fitted_error``, ``coefficient_error``, ``indices_probably``), the
    quantiles are not.
    """
    free = n_members - n_terms
    if free <= 0 or smallest_eigenvalue == 0.0:
        return math.inf
    tail = (1.0 - confidence_level) / n_coordinates
    quantile = float(stats.f.isf(tail, n_terms, free))
    squared = noise_variance * n_terms * quantile / (n_members * smallest_eigenvalue)
    return float(squared)


def sobol_error_bound(squared_error: ArrayLike, total_variance: ArrayLike) -> Any:
    r"""Bound the error of every variance share, given that of the coefficients.

    For any weights :math:`w_j \in [0, 1]` let
    :math:`S(c) = \sum_{j\ne0} w_j c_j^2 / \sum_{j\ne0} c_j^2`: first-order, total,
    closed and interaction indices and Shapley effects are of this kind. Then

    .. math::
       |S(\hat c) - S(c)| \le
       \frac{\lVert\hat c - c\rVert}{\max(\sqrt{D}, \sqrt{\hat D})} .

    The inequality holds for all weights at once and cannot be improved (user guide,
    "How many members"). For a step, :math:`c` is all coefficients of its coordinates.
    A proof of the inequality is checked in ``lean/Core`` (``share_error``).

    Parameters
    ----------
    squared_error : float or array-like
        :math:`\lVert\hat c - c\rVert^2` or a bound on it, as from
        :func:`coefficient_error_bound`; ``inf`` is allowed.
    total_variance : float or array-like
        :math:`D`, or :math:`\hat D` of the same estimate. The two broadcast.

    Returns
    -------
    bound : float or ndarray
        At most 1, and 1 where there is no variance.
    """
    error, variance = np.broadcast_arrays(squared_error, total_variance)
    one = np.ones(error.shape)
    return np.sqrt(np.divide(error, variance, out=one, where=error < variance))[()]
