"""Calibration of intervals and draws: do they cover members not seen in a fit?

Every score is given per step, over the possible parts of steps that have a choice:
a masked part is always "covered", which would make the score too good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri
from scipy.stats import kstest

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    as_floats,
    check_option,
    check_real,
    checked_random_state,
    refuse_extremes,
)
from .._compositions.log_ratio import (
    LogRatioGeometry,
    composition_geometry,
    sum_by_step,
)
from .._compositions.steps import refuse_masked, refuse_negative


def _read(
    owner: str,
    y_true: Any,
    steps: Any,
    mask: Any,
    first: str = "y_true",  # what y_true is called
    **bounds: Any,
) -> tuple[LogRatioGeometry, FloatArray, dict[str, FloatArray]]:
    """Check shapes and select the parts that are positive in any table."""
    mask = _inferred(mask, {first: y_true, **bounds})
    geometry = composition_geometry(y_true, steps, mask, owner, first)
    observed = as_floats(y_true, first)
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
                f"{shape[1]}) as in {first}, or ({draws}1, {shape[1]})."
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
    refuse_crossed(read.get("lower"), read.get("upper"))
    return geometry, observed[:, active], read


def refuse_crossed(lower: FloatArray | None, upper: FloatArray | None) -> None:
    """Refuse intervals that end before they begin."""
    if lower is not None and upper is not None and np.any(lower > upper):
        at = tuple(np.argwhere(lower > upper)[0].tolist())
        raise ValueError(
            f"lower exceeds upper in row {at[0]}; expected lower bounds of at most the "
            "upper ones."
        )


def _inferred(mask: Any, named: dict[str, Any]) -> Any:
    """Return which parts are positive anywhere, in place of ``"infer"``."""
    if not (isinstance(mask, str) and mask == "infer"):
        return mask
    tables = [as_floats(values, name) for name, values in named.items()]
    width = tables[0].shape[1:]
    if len(width) != 1 or any(table.shape[-1:] != width for table in tables):
        return mask  # refused with a message later
    return np.any([(t > 0).reshape(-1, *width).any(axis=0) for t in tables], axis=0)


def _inside(
    owner: str, y_true: Any, lower: Any, upper: Any, steps: Any, mask: Any
) -> tuple[LogRatioGeometry, BoolArray]:
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
    0.95; more is too wide, less is too narrow. Tables of other shapes are a
    ``ValueError``.

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

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import marginal_coverage_score
    >>> y = np.array([[0.2, 0.8], [0.6, 0.4]])
    >>> marginal_coverage_score(y, [[0.1, 0.5]], [[0.3, 0.9]])
    array([0.5])
    """
    owner = "marginal_coverage_score"
    geometry, inside = _inside(owner, y_true, lower, upper, steps, mask)
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

    Marginal intervals do not aim at it: expect less than their level.

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
    owner = "joint_coverage_score"
    geometry, inside = _inside(owner, y_true, lower, upper, steps, mask)
    scores = np.full(geometry.layout.n_steps, np.nan)
    for step in np.flatnonzero(geometry.has_choice):
        scores[step] = inside[:, geometry.step_of_active == step].all(axis=1).mean()
    return scores


def interval_width_score(
    lower: ArrayLike, upper: ArrayLike, *, steps: Any = None, mask: Any = "infer"
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
    owner = "interval_width_score"
    geometry, high, bounds = _read(owner, upper, steps, mask, "upper", lower=lower)
    refuse_crossed(bounds["lower"], high)
    return _mean_by_step((high - bounds["lower"]).mean(axis=0), geometry)


def crps_score(
    y_true: ArrayLike, draws: ArrayLike, *, steps: Any = None, mask: Any = "infer"
) -> FloatArray:
    r"""Return the mean continuous ranked probability score, per step.

    :math:`\mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|` for draws :math:`Y, Y'` of
    the predictive distribution [1]_, averaged over members and parts; in probability,
    smaller is better. Sharpness and calibration in one figure.

    Parameters
    ----------
    y_true, steps, mask
        As in :func:`marginal_coverage_score`.
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
    distance = np.zeros(observed.shape)
    for draw in ordered:
        distance += np.abs(draw - observed)
    # E|Y - Y'| of the empirical distribution from the order statistics.
    rank = 2.0 * np.arange(1, n_draws + 1) - n_draws - 1
    spread = np.tensordot(rank, ordered, axes=1) * 2.0 / n_draws**2
    crps = distance / n_draws - 0.5 * spread
    return _mean_by_step(crps.mean(axis=0), geometry)


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
    :math:`c (1 - c)` of a coin, so the interval is conservative.

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
    bounds = wilson if method == "wilson" else _clopper_pearson
    low, high = bounds(coverage, n_members, (1.0 - confidence_level) / 2.0)
    return CoverageInterval(coverage, low, high, n_members)


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


def _clopper_pearson(
    share: FloatArray, n_trials: int, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return beta quantiles; a count may be a fraction."""
    hits = share * n_trials
    misses = n_trials - hits
    low = betaincinv(np.where(hits > 0, hits, 1.0), misses + 1, tail)
    high = betaincinv(hits + 1, np.where(misses > 0, misses, 1.0), 1 - tail)
    return np.where(hits == 0, 0.0, low), np.where(misses == 0, 1.0, high)


def _ranks(
    owner: str, y_true: Any, draws: Any, steps: Any, mask: Any, random_state: Any
) -> tuple[LogRatioGeometry, FloatArray]:
    """Return the randomised PIT of active parts; (n_members, n_active)."""
    geometry, table, drawn = read_draws(owner, y_true, draws, steps, mask)
    observed = table[:, geometry.active_parts]
    active = drawn[..., geometry.active_parts]
    below = sum((draw < observed for draw in active), np.zeros(observed.shape))
    equal = sum((draw == observed for draw in active), np.zeros(observed.shape))
    coin = checked_random_state(random_state).uniform(size=observed.shape)
    return geometry, (below + coin * (equal + 1.0)) / (len(drawn) + 1.0)


def pit_values(
    y_true: ArrayLike,
    draws: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    random_state: Any = None,
) -> FloatArray:
    r"""Return the probability integral transform of held-out members.

    The randomised rank of :math:`y` among its :math:`m` draws,

    .. math:: u = \frac{\#\{Y_j < y\} + V (\#\{Y_j = y\} + 1)}{m + 1},
              \quad V \sim U(0, 1),

    is uniform on (0, 1) for every :math:`m`, with ties or without, when :math:`y`
    has the distribution of the draws [1]_. A histogram with the shape of a U shows
    draws that are too narrow; a hump, too wide; a slope, biased.

    Parameters
    ----------
    y_true, draws, steps, mask
        As in :func:`crps_score`; a table with NaN, negative entries or positive ones
        on a masked part is a ``ValueError``.
    random_state : int, RandomState instance or None, default=None
        Randomness of :math:`V`.

    Returns
    -------
    pit : ndarray of shape (n_members, n_parts)
        Between 0 and 1; NaN for masked parts and for a step without choice.

    References
    ----------
    .. [1] C. Czado, T. Gneiting and L. Held, "Predictive model assessment for count
       data", Biometrics 65 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import pit_values
    >>> first = np.linspace(0.001, 0.999, 999)
    >>> draws = np.stack([first, 1 - first], axis=1)[:, np.newaxis]
    >>> pit_values([[0.3, 0.7]], draws, random_state=0).round(2)
    array([[0.3, 0.7]])
    """
    geometry, pit = _ranks("pit_values", y_true, draws, steps, mask, random_state)
    return scatter(pit, geometry)


@dataclass(frozen=True, eq=False)
class PITUniformity:
    """Is the probability integral transform uniform? NaN where there is no choice.

    Attributes
    ----------
    mean : ndarray of shape (n_parts,)
        Mean PIT of each part: one half for unbiased draws, more where members lie
        above them.
    dispersion : ndarray of shape (n_parts,)
        Variance of the PIT over 1/12: more than 1 for draws that are too narrow.
    statistic, p_values : ndarray of shape (n_parts,)
        Kolmogorov-Smirnov distance of the PIT from uniform, and its p-value.
    step_dispersion : ndarray of shape (n_steps,)
        Mean dispersion over the parts of the step.
    step_p_values : ndarray of shape (n_steps,)
        Smallest p-value of the step, times its number of parts (Bonferroni), at
        most 1.
    """

    mean: FloatArray
    dispersion: FloatArray
    statistic: FloatArray
    p_values: FloatArray
    step_dispersion: FloatArray
    step_p_values: FloatArray


def pit_uniformity(
    y_true: ArrayLike,
    draws: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    random_state: Any = None,
) -> PITUniformity:
    """Summarise how far the probability integral transform is from uniform.

    A uniform PIT is necessary for calibrated draws, not sufficient [1]_. Each part is
    assessed over the members, which are independent. The parts of a step are not (of
    two parts one has the PIT of the other, mirrored), so they are not pooled; a step
    has Bonferroni's p-value.

    Parameters
    ----------
    y_true, draws, steps, mask, random_state
        As in :func:`pit_values`. With one set of draws for all members give many
        more draws than members: their own error is not in the p-values.

    Returns
    -------
    uniformity : PITUniformity
        Mean, dispersion and Kolmogorov-Smirnov test per part; dispersion and p-value
        per step.

    See Also
    --------
    ks_indistinguishable_fraction : The same question with the draws as a sample.

    References
    ----------
    .. [1] T. Gneiting, F. Balabdaoui and A. E. Raftery, "Probabilistic forecasts,
       calibration and sharpness", Journal of the Royal Statistical Society B 69
       (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import pit_uniformity
    >>> rng = np.random.default_rng(0)
    >>> y, draws = rng.dirichlet([2, 2], 200), rng.dirichlet([2, 2], (5000, 1))
    >>> good = pit_uniformity(y, draws, random_state=0)
    >>> narrow = pit_uniformity(y, 0.25 + draws / 2, random_state=0)
    >>> good.step_dispersion.round(1), narrow.step_dispersion.round(1)
    (array([0.9]), array([1.8]))
    >>> good.step_p_values[0] > 0.05, narrow.step_p_values[0] < 0.001
    (np.True_, np.True_)
    """
    owner = "pit_uniformity"
    geometry, pit = _ranks(owner, y_true, draws, steps, mask, random_state)
    if len(pit) < 2:
        raise ValueError(f"y_true has {len(pit)} member; uniformity needs two.")
    tests = [kstest(column, "uniform") for column in pit.T]
    statistic = np.array([test.statistic for test in tests], dtype=np.float64)
    p_values = np.array([test.pvalue for test in tests], dtype=np.float64)
    dispersion = 12.0 * pit.var(axis=0, ddof=1)
    step_p_values = np.full(geometry.layout.n_steps, np.nan)
    for step in np.flatnonzero(geometry.has_choice):
        its_own = p_values[geometry.step_of_active == step]
        step_p_values[step] = min(1.0, its_own.min() * len(its_own))
    return PITUniformity(
        mean=scatter(pit.mean(axis=0), geometry),
        dispersion=scatter(dispersion, geometry),
        statistic=scatter(statistic, geometry),
        p_values=scatter(p_values, geometry),
        step_dispersion=_mean_by_step(dispersion, geometry),
        step_p_values=step_p_values,
    )


def read_draws(
    owner: str,
    y_true: Any,
    draws: Any,
    steps: Any,
    mask: Any,
    name_of_draws: str = "draws",
) -> tuple[LogRatioGeometry, FloatArray, FloatArray]:
    """Return the geometry, held-out members and draws; ``"infer"`` uses both."""
    geometry, _, _ = _read(owner, y_true, steps, mask, draws=draws)
    observed, drawn = as_floats(y_true, "y_true"), as_floats(draws, name_of_draws)
    for table, name in ((observed, "y_true"), (drawn, name_of_draws)):
        if np.isinf(table).any():
            raise ValueError(f"{name} has infinite entries; expected finite ones.")
        rows = table.reshape(-1, table.shape[-1])
        refuse_negative(rows, geometry.layout, name)
        refuse_masked(rows, geometry.mask, geometry.layout, name)
    return geometry, observed, drawn


def scatter(values: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Put values of active parts (..., n_active) in all columns; NaN elsewhere."""
    columns = np.full((*values.shape[:-1], geometry.layout.n_parts), np.nan)
    columns[..., geometry.active_parts] = values
    return columns


# Coverage of intervals of real outputs.


def output_coverage(
    y: FloatArray,  # shape: (n_members, n_columns); NaN where a member failed
    lower: Any,  # shape: (n_members or 1, n_columns)
    upper: Any,
    groups: IndexArray,  # shape: (n_columns,), the output of each column
    kind: str = "marginal",
) -> CoverageInterval:
    """Return the share of values, or of members with all columns, inside."""
    shape = -1, y.shape[1]
    low, high = (np.reshape(bound, shape) for bound in (lower, upper))
    inside, failed = (y >= low) & (y <= high), np.isnan(y)
    n_groups = int(groups.max()) + 1
    coverage, n_members = np.full(n_groups, np.nan), np.zeros(n_groups)
    for group in range(n_groups):
        columns = groups == group
        rows = ~failed[:, columns].any(axis=1)
        hits = inside[np.ix_(rows, columns)]
        n_members[group] = len(hits)
        if len(hits):
            coverage[group] = (hits if kind == "marginal" else hits.all(axis=1)).mean()
    bounds = wilson(coverage, np.maximum(n_members, 1.0), 0.025)
    return CoverageInterval(coverage, *bounds, len(y))
