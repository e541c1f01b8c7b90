"""Are the inputs independent, and do they have the stated distributions?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.spatial.distance import cdist

from .._checks import (
    FloatArray,
    binary_scales,
    correlations_of,
)
from .._input_laws.families import NormalLaw
from .._result import Result
from ._reading import read_inputs

_LARGEST_BLOCK = 2**21  # distances held at once


def input_tests(X: ArrayLike) -> Result:
    r"""Test pairs of inputs for dependence, and each input for a normal distribution.

    Closed-form Sobol indices assume independent inputs with the stated distributions.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features)
        Inputs as the surrogate sees them, after any embedding. Columns of labels have
        a distance correlation, and NaN for all else.

    Returns
    -------
    tests : Result
        One row per pair of inputs; ``print`` gives the largest figures. The columns
        are ``first`` and ``second`` (names where X is a data frame, else numbers),
        ``pearson``, ``spearman``, ``distance`` and ``p_value``; ``largest("pearson")``
        is the value of the pair where it is largest in size. As attributes:

        pearson, spearman : ndarray of shape (n_features, n_features)
            Correlations of values and of ranks; NaN for a constant input.
        distance : ndarray of shape (n_features, n_features)
            Bias-corrected distance correlation of ranks, at least 0.
        dependence_p_values : ndarray of shape (n_features, n_features)
            Of the distance correlation; not adjusted over the pairs.
        normality_p_values : ndarray of shape (n_features,)
            Shapiro-Wilk; D'Agostino-Pearson above 5000 members. NaN for a constant
            input or fewer than 8 members.
        smallest_dependence_p_value : float
            Smallest of ``dependence_p_values``, times the number of pairs.
        smallest_normality_p_value : float
            Smallest of ``normality_p_values``, times their number.

    Raises
    ------
    ValueError
        If X is not 2-D or has NaN.

    See Also
    --------
    verdict : Has these tests in ``inputs``.

    Notes
    -----
    With distances :math:`a_{ij} = |x_i - x_j|` of ranks, centred as

    .. math::

        A_{ij} = a_{ij} - \frac{a_{i\cdot} + a_{\cdot j}}{n - 2}
        + \frac{a_{\cdot\cdot}}{(n-1)(n-2)} \quad (i \ne j), \qquad A_{ii} = 0,

    and :math:`B` likewise of the other input, the bias-corrected squared distance
    correlation is :math:`R = \langle A, B \rangle / (\lVert A \rVert \lVert B
    \rVert)` [1]_; ``distance`` is :math:`\sqrt{\max(R, 0)}`. In the population it is
    0 for independent inputs only, so it sees dependence without correlation. Its
    p-value is the (slightly conservative) :math:`P(\chi^2_1 - 1 \ge n R)` [2]_, which
    ranks make hold in long tails too. Cost: :math:`O(n^2)` per pair.

    References
    ----------
    .. [1] G. J. Székely and M. L. Rizzo, "Partial distance correlation with methods
       for dissimilarities", Annals of Statistics 42 (2014), section 2.
    .. [2] C. Shen, S. Panda and J. T. Vogelstein, "The chi-square test of distance
       correlation", Journal of Computational and Graphical Statistics 31 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import input_tests
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> found = input_tests(np.stack([x, x**2], axis=1))
    >>> found.pearson[0, 1].round(2), found.distance[0, 1].round(2)
    (np.float64(0.16), np.float64(0.51))
    """
    inputs = read_inputs(X, smallest=1, labels=True)
    names = np.arange(inputs.values.shape[1])
    if hasattr(X, "columns"):
        names = np.array([str(name) for name in X.columns])
    return independence_tests(inputs.values, names, list(inputs.labels))


def independence_tests(
    values: FloatArray,  # shape: (n_members, n_features)
    names: NDArray[Any],  # shape: (n_features,)
    categories: Sequence[int],  # features that are codes of levels
) -> Result:
    """Test values of inputs; see :func:`input_tests`."""
    inputs = values / binary_scales(values)  # no test depends on the units
    inputs[:, categories] = 0.0  # levels have no order and no correlation
    n_members = len(inputs)
    ranks = stats.rankdata(inputs, axis=0) / n_members
    pearson, spearman = correlations_of(inputs), correlations_of(ranks)
    if n_members < 3:  # which always lie on a line
        pearson, spearman = np.full_like([pearson, spearman], np.nan)
    ranks[:, categories] = stats.rankdata(values[:, categories], "dense", axis=0)
    distance, dependence = distance_correlations(ranks.T)
    matrices = {"pearson": pearson, "spearman": spearman, "distance": distance}
    normality = np.array([NormalLaw(0.0, 1.0).p_value(column) for column in inputs.T])
    first, second = above = np.triu_indices(len(pearson), k=1)
    columns: dict[str, Any] = {"first": names[first], "second": names[second]}
    columns |= {name: matrix[above] for name, matrix in matrices.items()}
    columns["p_value"] = dependence[above]
    found = Result(
        {"pair": range(len(first))},
        columns,
        figures={
            **matrices,
            "dependence_p_values": dependence,
            "normality_p_values": normality,
            "smallest_dependence_p_value": smallest_p_value(dependence[above]),
            "smallest_normality_p_value": smallest_p_value(normality),
        },
        framed=tuple(columns),
    )
    facts = []
    kinds = ("pearson", "Pearson"), ("spearman", "Spearman"), ("distance", "distance")
    sizes = [(found.largest(name), word) for name, word in kinds]
    known = [f"{size:z.2f} ({word})" for size, word in sizes if np.isfinite(size)]
    if known:
        known.append(f"p = {found.smallest_dependence_p_value:.2g} over all pairs")
        facts.append("largest correlation of two inputs " + ", ".join(known))
    if np.isfinite(found.smallest_normality_p_value):
        normality = found.smallest_normality_p_value
        facts.append(f"normality p = {normality:.2g} over all inputs")
    n_varying = int((np.ptp(values, axis=0) > 0).sum())
    of_inputs = f"of {len(names)} inputs {n_varying} vary, in {n_members} members"
    return replace(found, title="; ".join(facts) or f"too few to test: {of_inputs}")


def numeric(inputs: Any) -> FloatArray | None:
    """Return a table as numbers; None where it is text, or is not finite."""
    try:
        values = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 2 and np.isfinite(values).all() else None


def smallest_p_value(p_values: FloatArray) -> float:
    """Return the smallest p-value times their number, at most 1; NaN for none."""
    known = p_values[~np.isnan(p_values)]
    return float(min(known.min() * known.size, 1.0)) if known.size else float("nan")


def distance_correlations(
    columns: Any,  # shape: (n_features, n_members), or arrays of (n_members, width)
) -> tuple[FloatArray, FloatArray]:  # each of shape (n_features, n_features)
    """Return distance correlations of rows, or parts of several columns, and p-values.

    These are of the bias-corrected squares (Shen et al., 2022), which may be negative.
    """
    n_features, n_members = len(columns), len(columns[0])
    if n_members < 4:
        unknown = np.full((n_features, n_features), np.nan)
        return unknown, unknown
    sums = np.zeros((n_features, n_members))
    inner = np.zeros((n_features, n_features))
    step = max(1, _LARGEST_BLOCK // (n_members * n_features))
    blocks = [slice(start, start + step) for start in range(0, n_members, step)]
    for rows in blocks:
        sums[:, rows] = _distances(columns, rows).sum(axis=2)
    total = sums.sum(axis=1) / ((n_members - 1) * (n_members - 2))
    means = sums / (n_members - 2)
    for rows in blocks:
        centred = _distances(columns, rows)
        centred -= means[:, rows, np.newaxis] + means[:, np.newaxis]
        centred += total[:, np.newaxis, np.newaxis]
        inside = np.arange(n_members)[rows]
        centred[:, np.arange(len(inside)), inside] = 0.0
        flat = centred.reshape(n_features, -1)
        inner += flat @ flat.T
    norm = np.sqrt(np.diagonal(inner))
    norm = np.where(norm > 0, norm, np.nan)
    squared = inner / np.outer(norm, norm)
    p_values = stats.chi2.sf(np.maximum(n_members * squared + 1.0, 0.0), 1)
    return np.sqrt(np.maximum(squared, 0.0)), p_values


def _distances(columns: Any, rows: slice) -> FloatArray:
    """Return distances within each column; shape (n_features, n_rows, n_members)."""
    if not isinstance(columns, np.ndarray):
        return np.stack([cdist(part[rows], part) for part in columns])
    # Ranks are at most 1; levels, which are whole numbers, are equal or not.
    return np.minimum(np.abs(columns[:, rows, np.newaxis] - columns[:, np.newaxis]), 1)
