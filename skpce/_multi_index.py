"""Multi-index sets: which products of univariate functions enter the expansion.

A truncation set keeps the multi-indices :math:`j` with

.. math:: \\lVert j \\rVert_{q, w} = \\Bigl(\\sum_i (w_i j_i)^q\\Bigr)^{1/q} \\le p

[1]_ and at most ``interaction_order`` positive entries. With :math:`q = 1` and weights
:math:`w_i = 1` this is the total-degree set; :math:`q < 1` thins the interactions (the
hyperbolic set), :math:`w_i = 2` halves the degree of input :math:`i` (the anisotropic
set).

The entry of a categorical input is the number of a contrast, not a degree: each
contrast counts as of degree one.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based
   on least angle regression", Journal of Computational Physics 230 (2011), eqs. (14)
   and (16).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_positive_weights,
    check_real,
)
from ._memory import basis_advice, check_design_fits, terms_that_fit
from ._term_costs import (
    LARGEST_COUNT,
    LARGEST_UNIVARIATE,
    budget,
    count_affordable,
    count_isotropic,
    function_numbers,
    is_isotropic,
    list_affordable,
    round_up,
    univariate_costs,
)

# Distinct costs in a first, coarse count.
_COARSE_STEPS = 1000


def count_terms(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
    anisotropy: ArrayLike | None = None,
    largest: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
    stop_above: float = math.inf,
) -> int:
    """Count the terms of a truncation set without building it.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    degree : int
        Largest weighted q-norm of a multi-index.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1].
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    anisotropy : array-like of shape (n_features,) or None, default=None
        Positive weight of each input; a weight of 2 halves its degree.
    largest : array-like of shape (n_features,) or None, default=None
        Number of functions that each input has beside the constant; ``inf`` for no
        end.
    categorical : array-like of bool of shape (n_features,) or None, default=None
        Inputs whose functions all count as of degree one; their ``largest`` must be
        finite.
    stop_above : float, optional
        Counting stops early, with a lower bound, once it exceeds this number.

    Returns
    -------
    n_terms : int
        The count. Far beyond every memory (1e15 terms, or 1e8 functions of single
        inputs) a lower bound or rounded.

    Raises
    ------
    ValueError
        For a bad parameter.

    See Also
    --------
    build_multi_indices : The set itself.

    Examples
    --------
    >>> from skpce import count_terms
    >>> count_terms(5, 3), count_terms(10, 4), count_terms(10, 4, interaction_order=2)
    (56, 1001, 311)
    >>> count_terms(10, 4, anisotropy=[1] * 3 + [2] * 7)
    133
    """
    owner = "count_terms"
    _check(owner, n_features, degree, q, interaction_order)
    inputs = _checked_inputs(owner, n_features, anisotropy, largest, categorical)
    order = n_features if interaction_order is None else interaction_order
    order = min(order, n_features)
    if is_isotropic(degree, *inputs):
        return count_isotropic(n_features, degree, q, order, stop_above)
    univariate = float(function_numbers(degree, *inputs).sum())
    if univariate > min(stop_above, LARGEST_UNIVARIATE):
        return int(min(univariate, LARGEST_COUNT))
    costs, limit = univariate_costs(degree, q, *inputs), budget(degree, q)
    if math.isfinite(stop_above):
        coarse = round_up(costs, limit, _COARSE_STEPS)
        lower_bound = count_affordable(coarse, limit, order, stop_above)
        if lower_bound > stop_above:
            return lower_bound
    return count_affordable(costs, limit, order, stop_above)


def build_multi_indices(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
    anisotropy: ArrayLike | None = None,
    largest: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
) -> IndexArray:
    """Build a truncation set in graded order.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    degree : int
        Largest weighted q-norm of a multi-index.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1].
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    anisotropy : array-like of shape (n_features,) or None, default=None
        Positive weight of each input; a weight of 2 halves its degree.
    largest : array-like of shape (n_features,) or None, default=None
        Number of functions that each input has beside the constant; ``inf`` for no
        end.
    categorical : array-like of bool of shape (n_features,) or None, default=None
        Inputs whose functions all count as of degree one; their ``largest`` must be
        finite.

    Returns
    -------
    multi_indices : ndarray of shape (n_terms, n_features)
        Row 0 is zero; rows are sorted by total degree, then as
        :class:`sklearn.preprocessing.PolynomialFeatures` sorts them.

    Raises
    ------
    ValueError
        For a bad parameter, or a set too large for memory.

    See Also
    --------
    count_terms : The number of rows, without building them.

    Examples
    --------
    >>> from skpce import build_multi_indices
    >>> build_multi_indices(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]

    A second input that gets half the degree, or is a category of three levels:

    >>> build_multi_indices(2, 2, anisotropy=[1, 2]).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0]]
    >>> build_multi_indices(2, 1, largest=[9, 2], categorical=[False, True]).tolist()
    [[0, 0], [1, 0], [0, 1], [0, 2]]
    """
    owner = "build_multi_indices"
    _check(owner, n_features, degree, q, interaction_order)
    inputs = _checked_inputs(owner, n_features, anisotropy, largest, categorical)
    n_terms = count_terms(
        n_features,
        degree,
        q=q,
        interaction_order=interaction_order,
        anisotropy=anisotropy,
        largest=largest,
        categorical=categorical,
        stop_above=terms_that_fit(n_features),
    )
    check_design_fits(owner, n_features, n_terms, basis_advice(anisotropy=True))
    order = n_features if interaction_order is None else interaction_order
    costs = univariate_costs(degree, q, *inputs)
    active, exponents = list_affordable(costs, budget(degree, q), order)
    return _dense(active, exponents, inputs[2])


def sort_graded(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    categorical: NDArray[np.bool_],  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort a set as :func:`build_multi_indices` does."""
    terms, features = np.nonzero(multi_indices)
    slot = np.arange(len(terms)) - np.searchsorted(terms, terms)
    shape = len(multi_indices), slot.max(initial=-1) + 1
    active, exponents = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    active[terms, slot] = features
    exponents[terms, slot] = multi_indices[terms, features]
    return _dense(active, exponents, categorical)


def _dense(
    active: IndexArray,  # shape: (n_terms, widest), the inputs, padded with -1
    exponents: IndexArray,  # shape: (n_terms, widest), padded with 0
    categorical: NDArray[np.bool_],  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort by total degree, then by first input, its exponent, second input, ...

    Larger exponents come first: x0*x0*x1 before x0*x1*x1, as in scikit-learn. The
    contrasts of a category come in their own order. There are as many sort keys as
    inputs in the largest term, not as features.
    """
    contrast = categorical[active] & (exponents > 0)
    degree = np.where(contrast, 1, exponents).sum(axis=1)
    keys = np.stack([active, np.where(contrast, exponents, -exponents)], axis=-1)
    order = np.lexsort((*keys.reshape(len(keys), -1).T[::-1], degree))
    active, exponents = active[order], exponents[order]
    rows = np.zeros((len(order), len(categorical)), dtype=np.int64)
    terms, slot = np.nonzero(exponents)
    rows[terms, active[terms, slot]] = exponents[terms, slot]
    return rows


def _check(
    owner: str, n_features: Any, degree: Any, q: Any, interaction_order: Any
) -> None:
    check_integer(owner, "n_features", n_features, low=1)
    check_integer(owner, "degree", degree)
    check_real(owner, "q", q, low=0, high=1, closed="right")
    check_integer(
        owner, "interaction_order", interaction_order, low=1, none_allowed=True
    )


def _checked_inputs(
    owner: str,
    n_features: int,
    anisotropy: ArrayLike | None,
    largest: ArrayLike | None,
    categorical: ArrayLike | None,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return weight, number of functions and kind of each input."""
    weights = check_positive_weights(owner, "anisotropy", anisotropy, n_features)
    ends = np.asarray(np.inf if largest is None else largest, dtype=np.float64)
    kinds = np.asarray(False if categorical is None else categorical, dtype=bool)
    for name, values in (("largest", ends), ("categorical", kinds)):
        if values.ndim and values.shape != (n_features,):
            raise ValueError(
                f"The {name!r} parameter of {owner} has shape {values.shape}; expected "
                f"({n_features},), one entry per feature."
            )
    ends = np.broadcast_to(ends, n_features)
    kinds = np.broadcast_to(kinds, n_features)
    if np.any(np.isnan(ends) | (ends < 0) | (kinds & np.isinf(ends))):
        raise ValueError(
            f"The 'largest' parameter of {owner} must be numbers in [0, inf], and "
            f"finite for categorical inputs. Got {largest!r} instead."
        )
    return weights, ends, kinds
