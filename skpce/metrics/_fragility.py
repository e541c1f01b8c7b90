"""The disagreement of the members of an ensemble, and distances between policies.

Variances of log-ratios have no upper bound and grow with the number of actions; the
paper's ALR sum also depends on the reference action. Distances of probabilities do
neither. The measures can rank the steps differently, so they are given side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    Mask,
    Steps,
    as_floats,
    checked_sample_weight,
    one_table,
    refuse_extremes,
    refuse_nan,
)
from .._compositions.log_ratio import (
    LogRatioGeometry,
    LogRatioTransformer,
    clr_of,
)
from .._compositions.steps import (
    StepLayout,
    close_compositions,
    refuse_masked,
    resolve_layout,
    resolve_mask,
)
from .._result import Result
from .._solvers.problem import LOG_RATIO_FLOOR, weighted_spread


def policy_fragility(
    y: ArrayLike,
    *,
    steps: Steps = None,
    mask: Mask = "infer",
    reference: int = -1,
    sample_weight: ArrayLike | None = None,
    zero_replacement: float = 1e-12,
) -> Result:
    r"""Measure how much the members of an ensemble disagree at each step.

    With members :math:`p_i`, weights :math:`w_i` that add up to :math:`W`, the
    barycentre :math:`\bar p = W^{-1} \sum_i w_i p_i` and :math:`K` possible parts:

    ============================ ==========================================
    measure                      formula
    ============================ ==========================================
    ``total_variation``          mean of TV(p_i, p̄)
    ``pairwise_total_variation`` mean of TV(p_i, p_j) over pairs i ≠ j
    ``jensen_shannon``           mean of JS(p_i, p̄) [1]_
    ``mutual_information``       H(p̄) - mean of H(p_i) [1]_
    ``aitchison_variance``       :math:`\sum_k \mathrm{Var}(\mathrm{clr}_k)` [2]_
    ``variance_per_freedom``     the same over :math:`K - 1`
    ``alr_sum``                  :math:`\sum_{k \ne r} \mathrm{Var}(\log p_k / p_r)`
    ============================ ==========================================

    The first four are bounded and free of a reference, and a rare action hardly counts.
    The others weigh relative changes of rare actions as much as those of frequent
    ones.

    Parameters
    ----------
    y : array-like of shape (n_members, n_parts) or data frame
        Policies of the members, the steps side by side.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step. None reads two-level columns or names such as
        ``step__action`` of a data frame, else all columns are one step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member.
    reference : int, default=-1
        Reference part :math:`r` of ``alr_sum`` within each step; where it is
        masked, the last possible part takes its place.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member: weight 2 is two equal members.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part, for the log-ratios
        only.

    Returns
    -------
    fragility : Result
        A row for each step, and a column for each measure: those of the table, and

        n_possible : ndarray of int of shape (n_steps,)
            Number K of possible parts. A step without choice has 0 everywhere, and NaN
            where a measure is divided by 0.
        normalized_total_variation : ndarray of shape (n_steps,)
            Over the largest possible value with K parts, in [0, 1]; alike
            ``normalized_pairwise_total_variation``, ``normalized_jensen_shannon``
            and ``normalized_mutual_information``.
        alr_reference : ndarray of str
            Name of the reference part of ``alr_sum``.

    See Also
    --------
    total_variation_distance : Between two policies.
    skpce.inspection.variance_decomposition : How much of it is noise of the training.

    Notes
    -----
    Variances divide by :math:`W`, not by :math:`W - 1`. The sum of alr variances
    depends on the reference: it is the total variance plus
    :math:`K\, \mathrm{Var}(\mathrm{clr}_r)`.

    ``normalized_*`` divides by the largest value that any ensemble can have with
    :math:`K` parts (see the user guide): of members that choose one action each, split
    evenly. 1 is reached when :math:`K` divides the number of members.

    References
    ----------
    .. [1] J. Lin, "Divergence measures based on the Shannon entropy", IEEE
       Transactions on Information Theory 37 (1991), sections IV and V.
    .. [2] V. Pawlowsky-Glahn and J. J. Egozcue, "Geometric approach to statistical
       analysis on the simplex", Stochastic Environmental Research and Risk
       Assessment 15 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import policy_fragility
    >>> y = np.array([[0.9, 0.1, 0.2, 0.3, 0.5], [0.5, 0.5, 0.2, 0.3, 0.5]])
    >>> found = policy_fragility(y, steps={"catalyst": 2, "additive": 3})
    >>> found.total_variation.round(2)
    array([0.2, 0. ])
    >>> found.normalized_total_variation.round(2)
    array([0.4, 0. ])
    >>> round(found["catalyst"].alr_sum, 2)
    1.21
    """
    owner = "policy_fragility"
    y = one_table(y)
    values = read_table(y, "y")
    layout = resolve_layout(y, steps, values.shape[1], owner)
    check_zero_replacement(owner, zero_replacement, layout, reference)
    weights = checked_sample_weight(sample_weight, values)
    closed = close_compositions(values, layout)
    possible = resolve_mask(mask, closed, layout, owner)
    geometry = LogRatioGeometry(layout, possible, "alr", int(reference))
    refuse_masked(closed, possible, layout)
    clr = clr_of(closed, geometry, zero_replacement, "y")
    n_possible = sum_steps(possible.astype(np.int64), layout)
    found = _disagreement(closed, weights, layout, n_possible > 1)
    largest = _largest_disagreement(n_possible, float(weights.sum()))
    ratios = {f"normalized_{key}": _ratio(found[key], largest[key]) for key in found}
    n_steps = layout.n_steps
    variance = _sum_of_variances(clr, weights, geometry.step_of_active, n_steps)
    alr = geometry.to_coordinates(clr)
    alr_sum = _sum_of_variances(alr, weights, geometry.step_of_coordinate, n_steps)
    names = _reference_names(layout, possible, int(reference))
    columns = {
        "n_possible": n_possible,
        **found,
        **ratios,
        "aitchison_variance": variance,
        "variance_per_freedom": _ratio(variance, n_possible - 1.0),
        "alr_sum": alr_sum,
        "alr_reference": np.array(names, dtype=object),
    }
    return Result({"step": layout.step_names}, columns)


def _disagreement(
    closed: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
    layout: StepLayout,
    choice: BoolArray,  # shape: (n_steps,)
) -> dict[str, FloatArray]:
    """Return the four measures on probabilities; each (n_steps,)."""
    share = weights / weights.sum()
    mean = share @ closed
    distance = sum_steps(np.abs(closed - mean), layout)
    differences = sum_steps(_mean_absolute_difference(closed, weights), layout)
    information = share @ sum_steps(rel_entr(closed, mean), layout)
    middle = 0.5 * (closed + mean)
    divergence = 0.5 * (rel_entr(closed, middle) + rel_entr(mean, middle))
    found = {
        "total_variation": share @ (0.5 * distance),
        "pairwise_total_variation": 0.5 * differences,
        "jensen_shannon": share @ np.maximum(sum_steps(divergence, layout), 0.0),
        "mutual_information": np.maximum(information, 0.0),
    }
    # Without a choice the mean of ones is 1 up to rounding, not exactly.
    return {name: np.where(choice, values, 0.0) for name, values in found.items()}


def _mean_absolute_difference(
    values: FloatArray,  # shape: (n_members, n_parts)
    weights: FloatArray,  # shape: (n_members,)
) -> FloatArray:  # shape: (n_parts,)
    """Return the mean of ``|x_i - x_j|`` over pairs i ≠ j by order statistics."""
    # Each gap between neighbours counts once for every pair that it separates.
    total = weights.sum()
    if total < 2:
        return np.full(values.shape[1], np.nan)
    order = np.argsort(values, axis=0)
    gaps = np.diff(np.take_along_axis(values, order, axis=0), axis=0)
    below = np.cumsum(weights[order], axis=0)[:-1]
    return 2.0 * (gaps * below * (total - below)).sum(axis=0) / (total * (total - 1))


def _largest_disagreement(
    n_possible: IndexArray, n_members: float
) -> dict[str, FloatArray]:
    """Return the largest value of each measure with K parts; 0 for K = 1."""
    inverse = 1.0 / n_possible
    log_k = np.log(n_possible)
    pairs = n_members / (n_members - 1) if n_members >= 2 else np.nan
    # (1 + 1/K) log(1 + 1/K) is 2 log 2 for K = 1: the whole is 0 up to rounding.
    bracket = (1 + inverse) * np.log1p(inverse) + inverse * log_k
    choice = n_possible > 1
    return {
        "total_variation": 1.0 - inverse,
        "pairwise_total_variation": (1.0 - inverse) * pairs,
        "jensen_shannon": np.where(choice, np.log(2) - 0.5 * bracket, 0.0),
        "mutual_information": log_k,
    }


def _ratio(values: FloatArray, scale: FloatArray) -> FloatArray:
    """Divide; NaN where the scale is 0 or not defined."""
    return values / np.where(scale > 0, scale, np.nan)


def _sum_of_variances(
    coordinates: FloatArray, weights: FloatArray, step: IndexArray, n_steps: int
) -> FloatArray:
    spread = weighted_spread(coordinates, weights, LOG_RATIO_FLOOR)
    sums = np.bincount(step, spread / weights.sum(), n_steps)
    return np.asarray(sums, dtype=np.float64)


def _reference_names(
    layout: StepLayout, possible: BoolArray, reference: int
) -> tuple[str, ...]:
    """Name the reference part of each step as the geometry chooses it."""
    names = []
    for columns in layout.slices:
        wanted = (columns.start if reference >= 0 else columns.stop) + reference
        last = columns.start + int(np.flatnonzero(possible[columns])[-1])
        names.append(layout.part_names[wanted if possible[wanted] else last])
    return tuple(names)


def sum_steps(
    values: NDArray[Any],  # shape: (..., n_parts)
    layout: StepLayout,
) -> NDArray[Any]:  # shape: (..., n_steps)
    """Add up the columns of each step."""
    starts = [columns.start for columns in layout.slices]
    return np.add.reduceat(values, starts, axis=-1)


def total_variation_distance(
    p: ArrayLike, q: ArrayLike, *, steps: Steps = None
) -> FloatArray:
    r"""Return the total variation distance of two policies, per member and step.

    :math:`\mathrm{TV}(p, q) = \tfrac12 \sum_k |p_k - q_k|`: the largest difference of
    the probability of any set of actions [1]_. 0 for equal policies, 1 for policies
    without a common action. Means under the policies differ by at most this times the
    range of what is averaged (``value_difference``, checked in ``lean/Core``).

    Parameters
    ----------
    p, q : array-like of shape (n_members, n_parts) or (1, n_parts)
        Policies, the steps side by side. One row is compared with every row of the
        other.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.

    Returns
    -------
    distance : ndarray of shape (n_members, n_steps)
        Between 0 and 1; 0 for a step without choice.

    References
    ----------
    .. [1] D. A. Levin and Y. Peres, "Markov Chains and Mixing Times", 2nd ed.,
       American Mathematical Society, 2017, proposition 4.2.

    Examples
    --------
    >>> from skpce.metrics import total_variation_distance
    >>> p, q = [[0.5, 0.5, 1.0, 0.0]], [[0.75, 0.25, 0.0, 1.0]]
    >>> total_variation_distance(p, q, steps=(2, 2))
    array([[0.25, 1.  ]])
    """
    owner = "total_variation_distance"
    layout, first, second = read_pair(p, q, ("p", "q"), steps, owner)
    return 0.5 * sum_steps(np.abs(first - second), layout)


def check_zero_replacement(
    owner: str, value: Any, layout: StepLayout, reference: Any = -1
) -> None:
    """Raise ``ValueError`` where a replacement or reference does not fit the steps."""
    how = LogRatioTransformer(reference=reference, zero_replacement=value)
    how._check_parameters(owner, layout)


def read_table(values: Any, name: str) -> FloatArray:
    """Return a finite 2-D table of floats with at least one row."""
    table = finite_table(values, name)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"{name} has shape {table.shape}; expected (n_members, n_parts) with at "
            "least one member and one part."
        )
    return table


def finite_table(values: Any, name: str) -> FloatArray:
    """Return a table of finite floats."""
    values = one_table(values, name)
    refuse_nan(values, name)
    table = as_floats(values, name)
    if not np.isfinite(table).all():
        raise ValueError(f"{name} has infinite entries or NaN; expected finite ones.")
    refuse_extremes(table, name)
    return table


def read_pair(
    p: Any, q: Any, names: tuple[str, str], steps: Steps, owner: str
) -> tuple[StepLayout, FloatArray, FloatArray]:
    """Return the steps and two closed tables of one width; one row is broadcast."""
    p = one_table(p, names[0])
    first, second = read_table(p, names[0]), read_table(q, names[1])
    rows = {len(first), len(second)}
    if first.shape[1] != second.shape[1] or (len(rows) > 1 and 1 not in rows):
        raise ValueError(
            f"{names[0]} has shape {first.shape} but {names[1]} has {second.shape}; "
            "expected the same shape, or one row."
        )
    layout = resolve_layout(p, steps, first.shape[1], owner, name=names[0])
    tables = zip((first, second), names, strict=True)
    closed = [close_compositions(t, layout, name) for t, name in tables]
    first, second = np.broadcast_arrays(*closed)
    return layout, first, second
