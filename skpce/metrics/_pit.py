"""Probability integral transform: do held-out members look like draws?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kstest
from sklearn.utils import check_random_state

from .._checks import FloatArray
from .._compositions.log_ratio import LogRatioGeometry
from ._calibration import _mean_by_step
from ._tables import read_draws, scatter


def _ranks(
    owner: str, y_true: Any, draws: Any, steps: Any, mask: Any, random_state: Any
) -> tuple[LogRatioGeometry, FloatArray]:
    """Return the randomised PIT of active parts; (n_members, n_active)."""
    geometry, table, drawn = read_draws(owner, y_true, draws, steps, mask)
    observed = table[:, geometry.active_parts]
    below = np.zeros(observed.shape)
    equal = np.zeros(observed.shape)
    for draw in drawn[..., geometry.active_parts]:
        below += draw < observed
        equal += draw == observed
    coin = check_random_state(random_state).uniform(size=observed.shape)
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
    has the law of the draws [1]_. A histogram with the shape of a U shows draws that
    are too narrow; a hump, too wide; a slope, biased.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities of held-out members.
    draws : array-like of shape (n_draws, n_members, n_parts) or (n_draws, 1, n_parts)
        From :meth:`skpce.CompositionalPCESurrogate.sample`.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        ``y_true`` and in all draws.
    random_state : int, RandomState instance or None, default=None
        Randomness of :math:`V`.

    Returns
    -------
    pit : ndarray of shape (n_members, n_parts)
        Between 0 and 1; NaN for masked parts and for a step without choice.

    Raises
    ------
    ValueError
        If the shapes do not agree, or an entry is NaN, negative, or positive on a
        masked part.

    See Also
    --------
    pit_uniformity : A summary.

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
    judged over the members, which are independent. The parts of a step
    are not (of two parts one has the PIT of the other, mirrored), so they are not
    pooled; a step has Bonferroni's p-value.

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

    Raises
    ------
    ValueError
        As in :func:`pit_values`, or for fewer than two members.

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
