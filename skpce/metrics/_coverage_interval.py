"""How far a coverage can be from the truth with so few held-out members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from .._checks import FloatArray, check_option, check_real
from ._calibration import joint_coverage_score, marginal_coverage_score

_SCORES = {"marginal": marginal_coverage_score, "joint": joint_coverage_score}


@dataclass(frozen=True, eq=False)
class CoverageInterval:
    """Coverage per step with its binomial interval.

    Attributes
    ----------
    coverage : ndarray of shape (n_steps,)
        Share of what lies inside; NaN for a step without choice.
    lower, upper : ndarray of shape (n_steps,)
        Bounds of the coverage.
    n_members : int
        Number of held-out members.
    """

    coverage: FloatArray
    lower: FloatArray
    upper: FloatArray
    n_members: int


def coverage_interval(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    kind: str = "marginal",
    confidence_level: float = 0.95,
    method: str = "wilson",
) -> CoverageInterval:
    r"""Return the coverage per step with its binomial error.

    Members are independent, the parts of one member are not: the number of trials
    is the number :math:`n` of members. Joint coverage is then binomial. For marginal
    coverage the share of covered parts of one member has at most the variance
    :math:`c (1 - c)` of a coin, so the interval is on the safe side.

    Parameters
    ----------
    y_true, lower, upper, steps, mask
        As in :func:`marginal_coverage_score`.
    kind : {"marginal", "joint"}, default="marginal"
        Which coverage.
    confidence_level : float, default=0.95
        Level of the interval of the coverage.
    method : {"wilson", "exact"}, default="wilson"
        Wilson's score interval [1]_, or the one of Clopper and Pearson [2]_, which
        never covers less than its level. For one part both are those of
        :func:`scipy.stats.binomtest`.

    Returns
    -------
    interval : CoverageInterval
        ``coverage``, ``lower`` and ``upper`` of shape (n_steps,), ``n_members``.

    Raises
    ------
    ValueError
        If the shapes do not agree or a parameter is not one of those listed.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical
       inference", Journal of the American Statistical Association 22 (1927).
    .. [2] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
       illustrated in the case of the binomial", Biometrika 26 (1934).

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
    check_option(owner, "kind", kind, tuple(_SCORES))
    check_option(owner, "method", method, ("wilson", "exact"))
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    coverage = _SCORES[kind](y_true, lower, upper, steps=steps, mask=mask)
    n_members = len(np.asarray(y_true))
    bounds = _wilson if method == "wilson" else _clopper_pearson
    low, high = bounds(coverage, n_members, (1.0 - confidence_level) / 2.0)
    return CoverageInterval(coverage, low, high, n_members)


def _wilson(
    share: FloatArray, n_trials: int, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return the values that a score test at level ``2 * tail`` does not reject."""
    z_squared = ndtri(tail) ** 2
    centre = (share + z_squared / (2 * n_trials)) / (1 + z_squared / n_trials)
    variance = share * (1 - share) / n_trials + z_squared / (4 * n_trials**2)
    half = np.sqrt(z_squared * variance) / (1 + z_squared / n_trials)
    low = np.where(share == 0, 0.0, centre - half)
    return low, np.where(share == 1, 1.0, centre + half)


def _clopper_pearson(
    share: FloatArray, n_trials: int, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return beta quantiles; a count may be a fraction."""
    hits = share * n_trials
    misses = n_trials - hits
    low = betaincinv(np.where(hits > 0, hits, 1.0), misses + 1, tail)
    high = betaincinv(hits + 1, np.where(misses > 0, misses, 1.0), 1 - tail)
    return np.where(hits == 0, 0.0, low), np.where(misses == 0, 1.0, high)
