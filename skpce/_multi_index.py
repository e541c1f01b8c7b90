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
from itertools import combinations
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

    Counting stops early, with a lower bound, once it exceeds ``stop_above`` (and
    1e18, so that a count that people can read is exact).

    Examples
    --------
    >>> from skpce._multi_index import count_terms
    >>> count_terms(5, 3), count_terms(10, 4)
    (56, 1001)
    """
    largest = min(n_features, degree, interaction_order or n_features)
    total = 1
    if q == 1.0:
        for size in range(1, largest + 1):
            total += math.comb(n_features, size) * math.comb(degree, size)
            if total > max(stop_above, 1e18):
                break
        return total
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
    rows = [np.zeros((1, n_features), dtype=np.int64)]
    factors = [np.full((1, degree), -1, dtype=np.int64)]
    for n_active in range(1, min(n_features, degree, limit) + 1):
        active = np.array(list(combinations(range(n_features), n_active)))
        for exponents in _positive_exponents(n_active, degree, q):
            block = np.zeros((len(active), n_features), dtype=np.int64)
            np.put_along_axis(block, active, exponents[np.newaxis], axis=1)
            rows.append(block)
            repeated = np.repeat(active, exponents, axis=1)
            padding = ((0, 0), (0, degree - repeated.shape[1]))
            factors.append(np.pad(repeated, padding, constant_values=-1))
    indices = np.vstack(rows)
    # The factors of x0*x0*x1 are 0, 0, 1: their order is that of scikit-learn, and
    # there are as many sort keys as degrees, not as features.
    order = np.lexsort((*np.vstack(factors).T[::-1], indices.sum(axis=1)))
    return np.ascontiguousarray(indices[order])


def _positive_exponents(n_active: int, degree: int, q: float) -> IndexArray:
    """Return all positive tuples of a length whose q-norm is at most ``degree``."""
    budget = float(degree**q)
    limit = budget + _Q_NORM_TOLERANCE * max(budget, 1.0)
    rows = np.zeros((1, 0), dtype=np.int64)
    cost = np.zeros(1)
    for still_needed in reversed(range(n_active)):
        exponent = np.tile(np.arange(1, degree + 1), len(rows))
        rows = np.column_stack([np.repeat(rows, degree, axis=0), exponent])
        cost = np.repeat(cost, degree) + exponent**q
        keep = cost + still_needed <= limit
        rows, cost = rows[keep], cost[keep]
    return rows


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
