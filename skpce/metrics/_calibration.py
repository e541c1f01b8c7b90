"""Calibration and sharpness of predicted probabilities.

Every score is given per step, over the possible parts of steps that have a choice:
a masked part is always "covered" and would flatter the figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import FloatArray
from .._compositions.log_ratio import (
    LogRatioGeometry,
    composition_geometry,
    sum_by_step,
)


def _read(
    owner: str,
    y_true: Any,
    steps: Any,
    mask: Any,
    **bounds: Any,
) -> tuple[LogRatioGeometry, FloatArray, dict[str, FloatArray]]:
    """Check shapes; keep the active parts of everything.

    ``mask="infer"`` masks the columns that are 0 in all tables: a part that no
    held-out member took may still be predicted.
    """
    mask = _inferred(mask, y_true, bounds)
    geometry = composition_geometry(y_true, steps, mask, owner)
    observed = np.asarray(y_true, dtype=np.float64)
    active = geometry.active_parts
    read = {}
    for name, values in bounds.items():
        array = np.asarray(values, dtype=np.float64)
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
            raise ValueError(f"{name} of shape {array.shape} is empty.")
        if np.isnan(array).any():
            raise ValueError(f"{name} has NaN.")
        read[name] = array[..., active]
    return geometry, observed[:, active], read


def _inferred(mask: Any, y_true: Any, others: dict[str, Any]) -> Any:
    """Return which parts are positive anywhere, in place of ``"infer"``."""
    if not (isinstance(mask, str) and mask == "infer"):
        return mask
    tables = [np.asarray(values) for values in (y_true, *others.values())]
    width = tables[0].shape[1:]
    if len(width) != 1 or any(table.shape[-1:] != width for table in tables):
        return mask  # refused with a message later
    return np.any([(t > 0).reshape(-1, *width).any(axis=0) for t in tables], axis=0)


def _inside(
    owner: str, y_true: Any, lower: Any, upper: Any, steps: Any, mask: Any
) -> tuple[LogRatioGeometry, NDArray[np.bool_]]:
    """Return which active parts lie in their interval; (n_members, n_active)."""
    geometry, observed, bounds = _read(
        owner, y_true, steps, mask, lower=lower, upper=upper
    )
    return geometry, (observed >= bounds["lower"]) & (observed <= bounds["upper"])


def _mean_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    counts = sum_by_step(np.ones(len(per_active)), geometry)
    return sum_by_step(per_active, geometry) / counts


def marginal_coverage_score(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
) -> FloatArray:
    """Return the share of probabilities inside their interval, per step.

    The mean over members and parts; the paper's coverage. A good 95 % interval scores
    0.95; more is too wide, less is too narrow.

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

    Returns
    -------
    coverage : ndarray of shape (n_steps,)
        NaN for a step without choice.

    Raises
    ------
    ValueError
        If the shapes do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import marginal_coverage_score
    >>> y = np.array([[0.2, 0.8], [0.6, 0.4]])
    >>> marginal_coverage_score(y, [[0.1, 0.5]], [[0.3, 0.9]])
    array([0.5])
    """
    geometry, inside = _inside(
        "marginal_coverage_score", y_true, lower, upper, steps, mask
    )
    return _mean_by_step(inside.mean(axis=0), geometry)


def joint_coverage_score(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
) -> FloatArray:
    """Return the share of members with ALL parts of a step inside, per step.

    Marginal intervals are not made for it: expect less than their level.

    Parameters
    ----------
    y_true, lower, upper, steps, mask
        As in :func:`marginal_coverage_score`.

    Returns
    -------
    coverage : ndarray of shape (n_steps,)
        NaN for a step without choice.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import joint_coverage_score
    >>> y = np.array([[0.2, 0.8], [0.6, 0.4]])
    >>> joint_coverage_score(y, [[0.1, 0.5]], [[0.3, 0.9]])
    array([0.5])
    """
    geometry, inside = _inside(
        "joint_coverage_score", y_true, lower, upper, steps, mask
    )
    scores = np.full(geometry.layout.n_steps, np.nan)
    for step in np.flatnonzero(geometry.has_choice):
        scores[step] = inside[:, geometry.step_of_active == step].all(axis=1).mean()
    return scores


def interval_width_score(
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
) -> FloatArray:
    """Return the mean width of the intervals, per step, in probability.

    Parameters
    ----------
    lower, upper : array-like of shape (n_members, n_parts)
        Bounds of the intervals.
    steps, mask
        As in :func:`marginal_coverage_score`; ``"infer"`` masks the parts whose
        upper bound is 0.

    Returns
    -------
    width : ndarray of shape (n_steps,)
        NaN for a step without choice.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import interval_width_score
    >>> interval_width_score([[0.1, 0.5]], [[0.3, 0.9]]).round(3)
    array([0.3])
    """
    geometry, high, bounds = _read(
        "interval_width_score", upper, steps, mask, lower=lower
    )
    return _mean_by_step((high - bounds["lower"]).mean(axis=0), geometry)


def crps_score(
    y_true: ArrayLike,
    draws: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
) -> FloatArray:
    r"""Return the mean continuous ranked probability score, per step.

    :math:`\mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|` for draws :math:`Y, Y'` of
    the predictive law [1]_, averaged over members and parts; in probability, smaller
    is better. Sharpness and calibration in one figure.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities of held-out members.
    draws : array-like of shape (n_draws, n_members, n_parts) or (n_draws, 1, n_parts)
        From :meth:`skpce.CompositionalPCESurrogate.sample`.
    steps, mask
        As in :func:`marginal_coverage_score`.

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
    distance = np.zeros(observed.shape)
    for draw in ordered:
        distance += np.abs(draw - observed)
    # E|Y - Y'| of the empirical law from the order statistics.
    rank = 2.0 * np.arange(1, n_draws + 1) - n_draws - 1
    spread = np.tensordot(rank, ordered, axes=1) * 2.0 / n_draws**2
    crps = distance / n_draws - 0.5 * spread
    return _mean_by_step(crps.mean(axis=0), geometry)
