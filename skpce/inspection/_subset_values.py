"""Shapley effects from the value of every subset."""

from __future__ import annotations

import math

import numpy as np

from .._checks import FloatArray


def subset_shapley(
    values: FloatArray,  # shape: (n_targets, 2**n_features)
    n_features: int,
) -> FloatArray:  # shape: (n_targets, n_features)
    r"""Return Shapley values of a game, given the value of every subset.

    Bit :math:`i` of the position says whether feature :math:`i` is in the subset:
    :math:`\mathrm{Sh}_i = \sum_{u \not\ni i} \frac{|u|!\,(d - |u| - 1)!}{d!}
    \{v(u \cup i) - v(u)\}`, as a share of the value of all features.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection._subset_values import subset_shapley
    >>> subset_shapley(np.array([[0.0, 2.0, 1.0, 4.0]]), 2).round(3)
    array([[0.625, 0.375]])
    """
    positions = np.arange(2**n_features)
    size = np.array([int(u).bit_count() for u in positions])
    effects = np.empty((len(values), n_features))
    for i in range(n_features):
        without = positions[(positions >> i) & 1 == 0]
        weight = np.array(
            [1.0 / (n_features * math.comb(n_features - 1, s)) for s in size[without]]
        )
        gains = values[:, without | (1 << i)] - values[:, without]
        effects[:, i] = gains @ weight
    whole = values[:, -1:]
    return effects / np.where(whole > 0, whole, 1.0)
