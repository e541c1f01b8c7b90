"""Calibration of intervals and draws: do they cover members not seen in a fit?

Every score is given per step, over the possible parts of steps that have a choice:
a masked part is always "covered", which would make the score too good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from .._checks import (
    FloatArray,
    IndexArray,
    Mask,
    Steps,
    as_floats,
    check_option,
    refuse_extremes,
)
from .._compositions.log_ratio import (
    LogRatioGeometry,
    composition_geometry,
    sum_by_step,
)
from .._result import Result

_TAIL = 0.025  # beyond each end of the binomial error


def _read(
    owner: str, y_true: Any, steps: Steps, mask: Mask, **bounds: Any
) -> tuple[LogRatioGeometry, FloatArray, dict[str, FloatArray]]:
    """Check shapes and select the parts that are positive in any table."""
    mask = inferred_mask(mask, {"y_true": y_true, **bounds})
    geometry = composition_geometry(y_true, steps, mask, owner, "y_true")
    observed = as_floats(y_true, "y_true")
    active = geometry.active_parts
    read = {}
    for name, values in bounds.items():
        array = as_floats(values, name)
        shape = observed.shape
        # Draws have an axis before those of y_true; bounds have not.
        n_before = 1 if name == "draws" else 0
        tails = (shape, (1, shape[1]))
        if array.ndim != 2 + n_before or array.shape[n_before:] not in tails:
            draws = "n_draws, " * n_before
            raise ValueError(
                f"{name} has shape {array.shape}; expected ({draws}{shape[0]}, "
                f"{shape[1]}) as in y_true, or ({draws}1, {shape[1]})."
            )
        if not array.size:
            raise ValueError(
                f"{name} of shape {array.shape} is empty; expected a row or more."
            )
        if np.isnan(array).any():
            raise ValueError(f"{name} has NaN; expected numbers.")
        infinite = np.isinf(array)
        if n_before and infinite.any():
            raise ValueError(f"{name} has infinite entries; expected finite ones.")
        refuse_extremes(np.where(infinite, 0.0, array), name)
        read[name] = array[..., active]
    return geometry, observed[:, active], read


def inferred_mask(mask: Mask, named: dict[str, Any]) -> Any:
    """Return which parts are positive anywhere, in place of ``"infer"``."""
    if not (isinstance(mask, str) and mask == "infer"):
        return mask
    tables = [as_floats(values, name) for name, values in named.items()]
    width = tables[0].shape[1:]
    if len(width) != 1 or any(table.shape[-1:] != width for table in tables):
        return mask  # refused with a message later
    return np.any([(t > 0).reshape(-1, *width).any(axis=0) for t in tables], axis=0)


def _mean_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    counts = sum_by_step(np.ones(len(per_active)), geometry)
    return sum_by_step(per_active, geometry) / counts


def crps_score(
    y_true: ArrayLike, draws: ArrayLike, *, steps: Steps = None, mask: Mask = "infer"
) -> FloatArray:
    r"""Return the mean continuous ranked probability score, per step.

    :math:`\mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|` for draws :math:`Y, Y'` of
    the predictive distribution [1]_, averaged over members and parts; in probability,
    smaller is better. Sharpness and calibration in one figure.

    Parameters
    ----------
    y_true, steps, mask
        As in :func:`coverage_interval`.
    draws : array-like of shape (n_draws, n_members, n_parts) or (n_draws, 1, n_parts)
        From :meth:`skpce.CompositionalPCESurrogate.sample`.

    Returns
    -------
    crps : ndarray of shape (n_steps,)
        NaN for a step without choice.

    References
    ----------
    .. [1] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction,
       and Estimation", Journal of the American Statistical Association 102 (2007),
       eq. (21).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import crps_score
    >>> y = np.array([[0.5, 0.5]])
    >>> crps_score(y, np.array([[[0.4, 0.6]], [[0.6, 0.4]]])).round(3)
    array([0.05])
    """
    geometry, observed, read = _read("crps_score", y_true, steps, mask, draws=draws)
    ordered = np.sort(read["draws"], axis=0)
    n_draws = len(ordered)
    distance, spread = np.zeros((2, *observed.shape))
    # E|Y - Y'| of the empirical distribution from the order statistics.
    for rank, draw in zip(range(1 - n_draws, n_draws, 2), ordered, strict=True):
        miss = draw - observed
        distance += np.abs(miss)
        spread += rank * miss
    crps = distance / n_draws - spread / n_draws**2
    return _mean_by_step(crps.mean(axis=0), geometry)


def coverage_interval(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    steps: Steps = None,
    mask: Mask = "infer",
    kind: str = "marginal",
) -> Result:
    r"""Return the coverage of intervals per step, with its binomial error.

    *Marginal* coverage is the share of probabilities inside their interval, the mean
    over members and parts (the paper's coverage); *joint* coverage the share of members
    with all parts of a step inside, at which marginal intervals do not aim.

    Members are independent, the parts of one member are not: the number of trials
    is the number :math:`n` of members. Joint coverage is then binomial. For marginal
    coverage the share of covered parts of one member has at most the variance
    :math:`c (1 - c)` of a coin, so the interval is conservative.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities of held-out members.
    lower, upper : array-like of shape (n_members, n_parts) or (1, n_parts)
        Bounds, from :meth:`skpce.CompositionalPCESurrogate.predict_interval`.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        all tables given.
    kind : {"marginal", "joint"}, default="marginal"
        Which coverage.

    Returns
    -------
    interval : Result
        A row for each step with ``coverage``, its interval of 95 % ``lower`` and
        ``upper`` (Wilson's [1]_), and ``width``, the mean width of the intervals in
        probability (NaN for a step without choice), and the figure ``n_members``.

    Raises
    ------
    ValueError
        For tables that do not fit each other, and bounds that cross.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical
       inference", Journal of the American Statistical Association 22 (1927).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import coverage_interval
    >>> first = np.linspace(0.01, 0.99, 50)[:, np.newaxis]
    >>> y = np.hstack([first, 1 - first])
    >>> found = coverage_interval(y, [[0.1, 0.1]], [[0.9, 0.9]])
    >>> found.coverage, found.lower.round(2), found.upper.round(2)
    (array([0.8]), array([0.67]), array([0.89]))
    """
    owner = "coverage_interval"
    check_option(owner, "kind", kind, ("marginal", "joint"))
    geometry, observed, bounds = _read(
        owner, y_true, steps, mask, lower=lower, upper=upper
    )
    low, high = bounds["lower"], bounds["upper"]
    crossed = np.argwhere(low > high)
    if len(crossed):
        raise ValueError(
            f"lower exceeds upper in row {crossed[0, 0]}; expected lower bounds of at "
            "most the upper ones."
        )
    steps_of_parts, names = geometry.step_of_active, geometry.layout.step_names
    inside = (observed >= low) & (observed <= high)
    found = _coverage(inside, steps_of_parts, names, kind)
    width = _mean_by_step((high - low).mean(axis=0), geometry)
    return replace(found, columns={**found.columns, "width": width})


def _coverage(
    inside: NDArray[Any],  # shape: (n_members, n_columns); NaN where a member failed
    groups: IndexArray,  # shape: (n_columns,), the step or output of each column
    names: Sequence[Any],  # of the groups
    kind: str,
) -> Result:
    """Return the share of columns, or of members with all of them, inside."""
    shares, n_trials = np.full(len(names), np.nan), np.zeros(len(names))
    for group in np.unique(groups):
        hits = inside[:, groups == group].astype(np.float64)
        hits = hits[~np.isnan(hits).any(axis=1)]
        n_trials[group] = len(hits)
        if len(hits):
            shares[group] = (hits if kind == "marginal" else hits.all(axis=1)).mean()
    low, high = wilson(shares, np.maximum(n_trials, 1.0), _TAIL)
    columns = {"coverage": shares, "lower": low, "upper": high}
    figures = {"n_members": len(inside)}
    return Result({"step": tuple(names)}, columns, figures=figures)


def wilson(
    share: FloatArray, n_trials: Any, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return the values that a score test at level ``2 * tail`` does not reject."""
    z_squared = ndtri(tail) ** 2
    centre = (share + z_squared / (2 * n_trials)) / (1 + z_squared / n_trials)
    variance = share * (1 - share) / n_trials + z_squared / (4 * n_trials**2)
    half = np.sqrt(z_squared * variance) / (1 + z_squared / n_trials)
    low = np.where(share == 0, 0.0, centre - half)
    return low, np.where(share == 1, 1.0, centre + half)


# Coverage of intervals of real outputs.


def output_coverage(
    y: FloatArray,  # shape: (n_members, n_columns); NaN where a member failed
    lower: Any,  # shape: (n_members or 1, n_columns)
    upper: Any,
    groups: IndexArray,  # shape: (n_columns,), the output of each column
    kind: str = "marginal",
) -> Result:
    """Return the share of values, or of members with all columns, inside."""
    shape = -1, y.shape[1]
    low, high = (np.reshape(bound, shape) for bound in (lower, upper))
    inside = np.where(np.isnan(y), np.nan, (y >= low) & (y <= high))
    return _coverage(inside, groups, range(int(groups.max()) + 1), kind)
