"""Shapley effects, and indices of all targets together.

The Shapley effect shares each interaction equally between its inputs. With
independent inputs it needs no permutations: for the partial variances :math:`D_u` of
the sets :math:`u`,

.. math:: \\mathrm{Sh}_i = \\frac1D \\sum_{u \\ni i} \\frac{D_u}{|u|},

which lies between the first-order and the total index and adds up to 1 [1]_ [2]_.

References
----------
.. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on Uncertainty
   Quantification 2 (2014), section 3.
.. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
   analysis: theory and computation", SIAM/ASA Journal on Uncertainty Quantification 4
   (2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._checks import FloatArray, IndexArray
from ._sobol import partial_variances


@dataclass(frozen=True)
class AggregatedIndices:
    """Sensitivity indices of all targets together.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (n_features,)
        Shares of the summed variance.
    total_variance : float
        Weighted sum of the variances of the targets.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    total_variance: float


def shapley_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (..., n_targets, n_features)
    """Return the part of the variance that each input is given."""
    active = multi_indices[1:] > 0
    share = active / np.maximum(active.sum(axis=1, keepdims=True), 1)
    return np.square(coefficients[..., 1:]) @ share


def shapley_effects(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (..., n_targets, n_features)
    """Compute Shapley effects; 0 for a target without variance.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._shapley import shapley_effects
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> shapley_effects(np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices)
    array([[0.75, 0.25]])
    """
    variance = np.square(coefficients[..., 1:]).sum(axis=-1, keepdims=True)
    safe = np.where(variance > 0, variance, 1.0)
    return shapley_variances(coefficients, multi_indices) / safe


def aggregated_indices(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    weights: FloatArray,  # shape: (n_targets,), not negative
) -> AggregatedIndices:
    """Compute the generalised indices of several targets.

    Partial variances are summed over the targets, times a weight each, and then
    divided by the sum of the variances [3]_. Without weights the result does not
    change when the targets are rotated.

    References
    ----------
    .. [3] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics 8
       (2014), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._shapley import aggregated_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> coefficients = np.array([[7.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    >>> aggregated_indices(coefficients, multi_indices, np.ones(2)).total_order
    array([0.9, 0.1])
    """
    first, total, variance = partial_variances(coefficients, multi_indices)
    whole = float(weights @ variance)
    safe = whole if whole > 0 else 1.0
    shapley = shapley_variances(coefficients, multi_indices)
    return AggregatedIndices(
        weights @ first / safe, weights @ total / safe, weights @ shapley / safe, whole
    )
