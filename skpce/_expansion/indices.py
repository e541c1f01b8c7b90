r"""Sobol indices and Shapley effects from the coefficients of an expansion.

All functions are pure. With coefficients :math:`c_j` of an expansion that is
orthonormal under independent inputs, the variance is
:math:`D = \sum_{j \ne 0} c_j^2`, the first-order index of input :math:`i` is
:math:`S_i = D^{-1} \sum_{j_i > 0,\, j_{-i} = 0} c_j^2` and the total index
:math:`S_{T_i} = D^{-1} \sum_{j_i > 0} c_j^2` [1]_ (the paper's eq. 5).

A set :math:`u` of inputs has three: the interaction index (terms whose inputs are
exactly :math:`u`), the closed index (terms with no input outside :math:`u`) and the
total index (terms with an input in :math:`u`).

The Shapley effect shares each interaction equally between its inputs. With
independent inputs it needs no permutations: for the partial variances :math:`D_u` of
the sets :math:`u`,

.. math:: \mathrm{Sh}_i = \frac1D \sum_{u \ni i} \frac{D_u}{|u|},

which lies between the first-order and the total index and adds up to 1 [2]_ [3]_.

A target without variance has no attribution: its indices are 0.

References
----------
.. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
   Reliability Engineering and System Safety 93 (2008), eqs. (36)-(39).
.. [2] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on Uncertainty
   Quantification 2 (2014), section 3.
.. [3] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
   analysis: theory and computation", SIAM/ASA Journal on Uncertainty Quantification 4
   (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, IndexArray, import_pandas


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
    shapley : ndarray of shape (n_targets, n_features) or None, default=None
        Shapley effects, which share each interaction equally between its inputs.

    For all targets together the arrays have no axis of targets.
    """

    first_order: FloatArray
    total_order: FloatArray
    total_variance: Any
    shapley: Any = None


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
        ``first_order``, ``total_order``, ``total_variance`` and ``shapley``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import sobol_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> indices = sobol_indices(np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices)
    >>> indices.first_order.round(3).tolist(), indices.total_order.round(3).tolist()
    ([[0.667, 0.167]], [[0.833, 0.333]])
    """
    first, total, variance = partial_variances(coefficients, multi_indices)
    shapley = shapley_variances(coefficients, multi_indices)
    safe = np.where(variance > 0, variance, 1.0)[..., np.newaxis]
    return SobolIndices(first / safe, total / safe, variance, shapley / safe)


@dataclass(frozen=True)
class InteractionIndices:
    """Sobol indices of sets of inputs.

    Parameters
    ----------
    subsets : tuple of tuple of int
        Sets of inputs, by size and then in the order of the inputs. Sets that share
        no term of the expansion are left out: their indices are 0.
    values : ndarray of shape (n_targets, n_subsets)
        Share of the variance that belongs to exactly this set. Over all sets of the
        expansion the shares add up to 1.
    superset_values : ndarray of shape (n_targets, n_subsets)
        Share of all sets that contain this one [3]_. For a single input this is its
        total index.

    References
    ----------
    .. [3] R. Liu and A. B. Owen, "Estimating mean dimensionality of analysis of
       variance decompositions", Journal of the American Statistical Association 101
       (2006), section 2.3.
    """

    subsets: tuple[tuple[int, ...], ...]
    values: FloatArray
    superset_values: FloatArray


def _share_of_terms(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    chosen: NDArray[np.bool_],  # shape: (n_terms,) or (n_terms, n_sets)
) -> FloatArray:  # shape: (..., n_targets) or (..., n_targets, n_sets)
    """Return the share of the variance of the chosen terms; 0 without variance."""
    squares = np.square(coefficients[..., 1:])
    variance = squares.sum(axis=-1)
    safe = np.where(variance > 0, variance, 1.0)
    part = squares @ chosen[1:].astype(np.float64)
    return part / (safe if chosen.ndim == 1 else safe[..., np.newaxis])


def _inside_and_outside(
    multi_indices: IndexArray, features: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which terms hold an input of the set, and which one outside it."""
    active = multi_indices > 0
    inside = np.zeros(active.shape[1], dtype=bool)
    inside[list(features)] = True
    return np.any(active[:, inside], axis=1), np.any(active[:, ~inside], axis=1)


def interaction_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the index of exactly one set of inputs.

    :math:`S_u = D^{-1} \\sum_{j_i > 0 \\iff i \\in u} c_j^2` [1]_: what the inputs of
    the set explain together and no smaller set does.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import interaction_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> interaction_index(coefficients, multi_indices, [0, 1]).round(3)
    array([0.167])
    """
    every = (multi_indices[:, list(features)] > 0).all(axis=1)
    _, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, every & ~outside)


def closed_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the closed index of a group: what it explains without the others.

    :math:`\\mathrm{Var}(E[y \\mid x_u]) / D`, the indices of all subsets of the group
    added up.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import closed_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> closed_index(coefficients, multi_indices, [0]).round(3)
    array([0.667])
    """
    inside, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside & ~outside)


def total_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the total index of a group: every term that holds one of its inputs.

    :math:`E[\\mathrm{Var}(y \\mid x_{-u})] / D`, which is 1 minus the closed index of
    the other inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import total_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> total_index(coefficients, multi_indices, [0]).round(3)
    array([0.833])
    """
    inside, _ = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside)


def interaction_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    max_order: int,
) -> InteractionIndices:
    """Compute the indices of all sets of at most ``max_order`` inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import interaction_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> found = interaction_indices(
    ...     np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices, 2
    ... )
    >>> found.subsets
    ((0,), (1,), (0, 1))
    >>> found.values.round(3).tolist()
    [[0.667, 0.167, 0.167]]
    """
    active = multi_indices > 0
    size = active.sum(axis=1)
    sets = np.unique(active[(size > 0) & (size <= max_order)], axis=0)
    subsets = sorted(
        (tuple(np.flatnonzero(row).tolist()) for row in sets),
        key=lambda subset: (len(subset), subset),
    )
    exact = np.zeros((len(active), len(subsets)), dtype=bool)
    superset = np.zeros_like(exact)
    for column, subset in enumerate(subsets):
        superset[:, column] = active[:, subset].all(axis=1)
        exact[:, column] = superset[:, column] & (size == len(subset))
    return InteractionIndices(
        tuple(subsets),
        _share_of_terms(coefficients, exact),
        _share_of_terms(coefficients, superset),
    )


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
    >>> from skpce._expansion.indices import shapley_effects
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
) -> SobolIndices:
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
    >>> from skpce._expansion.indices import aggregated_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> coefficients = np.array([[7.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    >>> aggregated_indices(coefficients, multi_indices, np.ones(2)).total_order
    array([0.9, 0.1])
    """
    first, total, variance = partial_variances(coefficients, multi_indices)
    whole = float(weights @ variance)
    safe = whole if whole > 0 else 1.0
    shapley = shapley_variances(coefficients, multi_indices)
    return SobolIndices(
        weights @ first / safe, weights @ total / safe, whole, weights @ shapley / safe
    )


def sensitivity_frame(
    indices: InteractionIndices,
    shapley: FloatArray,  # shape: (n_targets, n_features)
    targets: Sequence[Any],
    names: Sequence[str],
    unexplained: FloatArray,  # shape: (n_targets,)
    interval: Any = None,  # first_order, total_order: (2, n_targets, n_features)
) -> Any:
    """Return one row per target and set of inputs; NaN where a number is not defined.

    Every input has a row, also one that no term of the expansion holds.
    """
    n_targets, n_features = shapley.shape
    subsets = _with_every_input(indices.subsets, n_features)
    column = {subset: i for i, subset in enumerate(indices.subsets)}
    places = np.array([column.get(subset, -1) for subset in subsets])
    labels = ["*".join(str(names[i]) for i in subset) for subset in subsets]
    columns: dict[str, Any] = {
        "target": [target for target in targets for _ in subsets],
        "input": np.tile(np.array(labels, dtype=object), n_targets),
        "order": np.tile([len(subset) for subset in subsets], n_targets),
        "first_order": _taken(indices.values, places).ravel(),
        "total_order": _taken(indices.superset_values, places).ravel(),
        "shapley": _padded(shapley, len(subsets)).ravel(),
        "loo_unexplained": np.repeat(unexplained, len(subsets)),
    }
    if interval is not None:
        pairs = (("", interval.total_order), ("first_", interval.first_order))
        for prefix, bounds in pairs:
            for name, bound in zip(("low", "high"), bounds, strict=True):
                columns[prefix + name] = _padded(bound, len(subsets)).ravel()
    return import_pandas().DataFrame(columns)


def _with_every_input(
    subsets: Sequence[tuple[int, ...]], n_features: int
) -> list[tuple[int, ...]]:
    """Put all single inputs first, in order."""
    return [(i,) for i in range(n_features)] + [s for s in subsets if len(s) > 1]


def _taken(values: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Take columns by position; 0 where the position is -1."""
    with_zero = np.pad(values, ((0, 0), (0, 1)))
    return with_zero[:, places]


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Widen with NaN to one column per set; single inputs come first."""
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)
