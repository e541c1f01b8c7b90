"""Multi-index sets: which products of univariate polynomials enter the expansion.

A truncation set keeps the multi-indices :math:`j` with
:math:`\\lVert j \\rVert_q = (\\sum_i j_i^q)^{1/q} \\le p` [1]_ and at most
``interaction_order`` positive entries. With :math:`q = 1` this is the total-degree
set; :math:`q < 1` thins the interactions (the hyperbolic set).

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based
   on least angle regression", Journal of Computational Physics 230 (2011), eq. (14).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._parameters import check_integer, check_option, check_real

IndexArray = NDArray[np.int64]

TRUNCATIONS = ("total_degree", "hyperbolic")

# Rounding in the q-norm, relative to degree**q: 2**0.75 + 2**0.75 is not exact.
_Q_NORM_TOLERANCE = 1e-9


def check_truncation(
    owner: str, degree: Any, truncation: Any, q: Any, interaction_order: Any
) -> None:
    """Raise ``ValueError`` for a truncation that makes no sense."""
    check_integer(owner, "degree", degree)
    check_option(owner, "truncation", truncation, TRUNCATIONS)
    check_real(owner, "q", q, low=0, high=1, closed="right")
    check_integer(
        owner, "interaction_order", interaction_order, low=1, none_allowed=True
    )
    if truncation == "total_degree" and q != 1.0:
        raise ValueError(
            f"The 'q' parameter of {owner} is {q!r} but has an effect only with "
            "truncation='hyperbolic'; 'total_degree' means q=1.0."
        )


def count_terms(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
    stop_above: float = math.inf,
) -> int:
    """Return the number of terms of a truncation set without building it.

    Counting stops early, with a lower bound, once it exceeds ``stop_above``.

    Examples
    --------
    >>> from skpce._multi_index import count_terms
    >>> count_terms(5, 3), count_terms(10, 4)
    (56, 1001)
    """
    largest = min(n_features, degree, interaction_order or n_features)
    if q == 1.0:
        return sum(
            math.comb(n_features, size) * math.comb(degree, size)
            for size in range(largest + 1)
        )
    total = 1
    for exponents in _partitions(degree, degree**q, q, largest):
        arrangements = math.factorial(len(exponents))
        for multiplicity in Counter(exponents).values():
            arrangements //= math.factorial(multiplicity)
        total += math.comb(n_features, len(exponents)) * arrangements
        if total > stop_above:
            break
    return total


def _partitions(
    largest: int, budget: float, q: float, n_parts: int
) -> Iterator[tuple[int, ...]]:
    """Yield the non-increasing positive tuples whose sum of q-powers fits."""
    if n_parts == 0:
        return
    slack = _Q_NORM_TOLERANCE * max(budget, 1.0)
    for first in range(1, largest + 1):
        if first**q > budget + slack:
            break
        yield (first,)
        for rest in _partitions(first, budget - first**q, q, n_parts - 1):
            yield (first, *rest)


def build_multi_indices(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
) -> IndexArray:
    """Build a truncation set in graded order.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    degree : int
        Largest q-norm of a multi-index.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1].
    interaction_order : int or None, default=None
        Largest number of inputs in one term.

    Returns
    -------
    multi_indices : ndarray of shape (n_terms, n_features)
        Row 0 is zero; rows are sorted by total degree, then as
        :class:`sklearn.preprocessing.PolynomialFeatures` sorts them.

    Examples
    --------
    >>> from skpce._multi_index import build_multi_indices
    >>> build_multi_indices(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    limit = n_features if interaction_order is None else interaction_order
    budget = float(degree**q) if degree else 0.0
    slack = _Q_NORM_TOLERANCE * max(budget, 1.0)
    rows = np.zeros((1, 0), dtype=np.int64)
    cost = np.zeros(1)
    active = np.zeros(1, dtype=np.int64)
    for _ in range(n_features):
        kept_rows, kept_cost, kept_active = [], [], []
        for exponent in range(degree + 1):
            new_cost = cost + (exponent**q if exponent else 0.0)
            new_active = active + (exponent > 0)
            keep = (new_cost <= budget + slack) & (new_active <= limit)
            column = np.full((int(keep.sum()), 1), exponent, dtype=np.int64)
            kept_rows.append(np.hstack([rows[keep], column]))
            kept_cost.append(new_cost[keep])
            kept_active.append(new_active[keep])
        rows = np.vstack(kept_rows)
        cost = np.concatenate(kept_cost)
        active = np.concatenate(kept_active)
    order = np.lexsort((*(-rows.T[::-1]), rows.sum(axis=1)))
    return np.ascontiguousarray(rows[order])


def check_design_fits(owner: str, n_samples: int, n_terms: int) -> None:
    """Raise ``ValueError`` when the design matrix would not fit in memory.

    A fit needs about three arrays of the size of the design matrix; they may take
    three quarters of the physical memory.
    """
    needed = 3 * 8 * max(n_samples, 1) * n_terms
    available = 0.75 * _physical_memory()
    if needed > available:
        raise ValueError(
            f"The basis of {owner} has at least {n_terms} terms; with {n_samples} "
            f"samples the fit needs about {needed / 2**30:.3g} GiB, more than the "
            f"{available / 2**30:.3g} GiB that it may use here. Lower 'degree', set "
            "'interaction_order' (2 or 3), or use truncation='hyperbolic' with "
            "q < 1."
        )


def _physical_memory() -> float:
    """Bytes of physical memory; 8 GiB where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30


def checked_multi_indices(
    owner: str,
    n_samples: int,
    n_features: int,
    *,
    degree: int,
    q: float,
    interaction_order: int | None,
) -> IndexArray:
    """Count the terms, refuse what does not fit, then build the set."""
    stop_above = _physical_memory() / (3 * 8 * max(n_samples, 1))
    n_terms = count_terms(
        n_features,
        degree,
        q=q,
        interaction_order=interaction_order,
        stop_above=stop_above,
    )
    check_design_fits(owner, max(n_samples, n_features), n_terms)
    return build_multi_indices(
        n_features, degree, q=q, interaction_order=interaction_order
    )
