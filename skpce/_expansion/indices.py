r"""Sensitivity indices from the coefficients: Sobol, Shapley and derivative-based.

All functions are pure. The formulas are in the page "Mathematics" of the documentation
and in the methods of :class:`~skpce.Expansion`. A target without variance has no
attribution: its indices are 0.

The mean square of the derivative in one input has a closed form,

.. math:: \nu_i = E\left[\left(\frac{\partial f}{\partial x_i}\right)^2\right]
          = \sum_{j, k :\, j_{-i} = k_{-i}} c_j c_k\, E[\psi'_{j_i} \psi'_{k_i}],

with the means from Gauss quadrature. The derivative of an orthonormal polynomial is
also a combination of those of lower degree,
:math:`\psi_k' = \sum_{l < k} D_{kl}\,\psi_l` with :math:`D_{kl} = E[\psi_k' \psi_l]`.
So every partial derivative is an expansion in the same basis, and
:math:`E[\partial_a f\, \partial_b f]` is the product of their coefficients [1]_.

References
----------
.. [1] P. G. Constantine, "Active Subspaces: Emerging Ideas for Dimension Reduction in
   Parameter Studies", SIAM, 2015, section 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import BoolArray, FloatArray, IndexArray, listed
from .._checks.frames import make_frame
from .._input_laws import InputLaw
from .._learned.kernel_basis import KernelBasis


def checked_features(features: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of chosen inputs, in the order of the inputs."""
    if isinstance(features, (str, Integral)):
        features = [features]
    features = listed(features, "features", "one or more inputs, by position or name")
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


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of several targets.

    Parameters
    ----------
    first_order : ndarray of shape (n_targets, n_features)
        Share of the variance that an input explains alone; ``S1`` of SALib.
    total_order : ndarray of shape (n_targets, n_features)
        The same with every interaction in which the input takes part; ``ST`` of SALib.
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


def terms_of_inputs(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[BoolArray, BoolArray, FloatArray]:  # shape of each: (n_terms, n_features)
    """Return which terms hold an input alone, which hold it, and its Shapley share."""
    active = multi_indices > 0
    size = active.sum(axis=1, keepdims=True)
    return active & (size == 1), active, active / np.maximum(size, 1)


def index_masks(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (n_terms, 3 * n_features)
    """Return the part of each square in first-order, total and Shapley indices."""
    return np.hstack(terms_of_inputs(multi_indices))


def partial_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:  # (..., n_features)
    """Return first-order, total and Shapley partial variances and the variance."""
    squares = np.square(coefficients[..., 1:])
    alone, active, share = terms_of_inputs(multi_indices[1:])
    return squares @ alone, squares @ active, squares @ share, squares.sum(axis=-1)


def sobol_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> SobolIndices:
    """Return first-order and total indices and Shapley effects of each target."""
    return shares(*partial_variances(coefficients, multi_indices))


def shares(
    first: FloatArray,  # shape: (..., n_features), like the next two
    total: FloatArray,
    shapley: FloatArray,
    variance: FloatArray,  # shape: (...,)
) -> SobolIndices:
    """Return partial variances as shares of the variance; 0 without variance."""
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
        Share of all sets that contain this one [1]_. For a single input this is its
        total index.

    References
    ----------
    .. [1] R. Liu and A. B. Owen, "Estimating mean dimensionality of analysis of
       variance decompositions", Journal of the American Statistical Association 101
       (2006), section 2.3.
    """

    subsets: tuple[tuple[int, ...], ...]
    values: FloatArray
    superset_values: FloatArray


def _share_of_terms(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    chosen: BoolArray,  # shape: (n_terms,) or (n_terms, n_sets)
) -> FloatArray:  # shape: (..., n_targets) or (..., n_targets, n_sets)
    """Return the share of the variance of the chosen terms; 0 without variance."""
    squares = np.square(coefficients[..., 1:])
    variance = squares.sum(axis=-1)
    safe = np.where(variance > 0, variance, 1.0)
    part = squares @ chosen[1:].astype(np.float64)
    return part / (safe if chosen.ndim == 1 else safe[..., np.newaxis])


def _inside_and_outside(
    multi_indices: IndexArray, features: Sequence[int]
) -> tuple[BoolArray, BoolArray]:
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
    """Return the share of the terms whose inputs are exactly those of a set."""
    every = (multi_indices[:, list(features)] > 0).all(axis=1)
    _, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, every & ~outside)


def closed_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Return the share of the terms without an input outside a set."""
    inside, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside & ~outside)


def total_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Return the share of the terms with an input of a set."""
    inside, _ = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside)


def interaction_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    max_order: int,
) -> InteractionIndices:
    """Return the indices of all sets of at most ``max_order`` inputs."""
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


# Of an expansion, which lists its terms or not.


def variances_of(
    expansion: Any,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return first-order, total and Shapley partial variances, and the variance.

    Of each group of outputs; the first three have an axis of inputs.
    """
    basis = expansion.basis
    if isinstance(basis, KernelBasis):
        return basis.partial_variances(expansion.coefficients, *_groups(expansion))
    return partial_variances(expansion.term_norms, expansion.multi_indices)


def share_of_set(expansion: Any, kind: str, chosen: Sequence[int]) -> FloatArray:
    """Return the share of the terms of a set of inputs; shape (n_groups,).

    Those of exactly the set, those that lie in it, or those that meet it.
    """
    basis = expansion.basis
    if not isinstance(basis, KernelBasis):
        of_sets = {"exact": interaction_index, "closed": closed_index}
        of_set = of_sets.get(kind, total_index)
        return of_set(expansion.term_norms, expansion.multi_indices, chosen)
    groups = _groups(expansion)
    part = basis.variance_of_set(kind, chosen, expansion.coefficients, *groups)
    variance = expansion.sobol_indices().total_variance
    return np.asarray(part / np.where(variance > 0, variance, 1.0))


def _groups(expansion: Any) -> tuple[IndexArray, int]:
    """Return the group of each output, and the number of groups."""
    groups = expansion.groups
    own = np.arange(expansion.n_outputs) if groups is None else groups
    return own, expansion.n_groups


def aggregated_shares(
    parts: tuple[FloatArray, FloatArray, FloatArray, FloatArray],  # see above
    weights: FloatArray,  # shape: (n_targets,), not negative
) -> SobolIndices:
    """Return the same of partial variances and the variance."""
    first, total, shapley, variance = parts
    whole = float(weights @ variance)
    safe = whole if whole > 0 else 1.0
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
    of: Any = None,  # what remembers the library of its data
) -> Any:
    """Return one row per target and set of inputs; NaN where a number is not defined.

    Every input has a row, also one that no term of the expansion holds.
    """
    n_targets, n_features = shapley.shape
    pairs_and_more = [subset for subset in indices.subsets if len(subset) > 1]
    subsets = [(i,) for i in range(n_features)] + pairs_and_more
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
    return make_frame(columns, columns.values(), of=of)


def _taken(values: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Take columns by position; 0 where the position is -1."""
    return np.pad(values, ((0, 0), (0, 1)))[:, places]


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Widen with NaN to one column per set; single inputs come first."""
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)


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
        Constant of the distribution of each input, in squared units of x; NaN where
        none is known.
    total_order_bound : ndarray of shape (n_targets, n_features)
        Upper bound of the total Sobol index. It may be above 1. NaN without a
        constant, 0 for a target without variance.
    """

    mean_square: FloatArray
    poincare_constant: FloatArray
    total_order_bound: FloatArray


def poincare_constant(law: InputLaw) -> float:
    r"""Return the Poincaré constant of a distribution; NaN where none is known."""
    return (
        _POINCARE_CONSTANTS.get(type(law).__name__.removeprefix("Seen"), np.nan)
        * law.scale**2
    )


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
            "An input with distribution='categorical' has no derivative; the "
            "derivative-based measure needs inputs that are numbers."
        )
    nodes, weights = law.quadrature(degree + 1)
    slopes = law.differentiate(nodes, degree)
    return (slopes * weights) @ law.evaluate(nodes, degree).T
