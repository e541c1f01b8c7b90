"""Can held-out members be told from draws of the surrogate?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ks_2samp

from .._checks import BoolArray, FloatArray, check_real
from ._calibration import _mean_by_step
from ._tables import read_draws, scatter

# The exact law of the statistic takes n_members x n_draws operations.
_EXACT_PRODUCT = 10_000_000


@dataclass(frozen=True, eq=False)
class KSComparison:
    """Two-sample tests per action and step; masked parts and no choice are left out.

    Attributes
    ----------
    fraction : float
        Share of the action-step pairs that are not rejected; NaN without any pair.
    step_fractions : ndarray of shape (n_steps,)
        The same per step; NaN for a step without choice.
    n_pairs : int
        Number of tests.
    p_values : ndarray of shape (n_parts,)
        Not adjusted; NaN where nothing is tested.
    statistics : ndarray of shape (n_parts,)
        Largest distance of the two empirical distribution functions.
    indistinguishable : ndarray of bool of shape (n_parts,)
        ``p_values > alpha / n_pairs``; False where nothing is tested.
    alpha : float
        Level of all tests together.
    """

    fraction: float
    step_fractions: FloatArray
    n_pairs: int
    p_values: FloatArray
    statistics: FloatArray
    indistinguishable: BoolArray
    alpha: float


def ks_indistinguishable_fraction(
    y_true: ArrayLike,
    y_samples: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    alpha: float = 0.05,
) -> KSComparison:
    r"""Test, action by action, whether members and draws have the same law.

    For each of the :math:`m` action-step pairs the two-sample Kolmogorov-Smirnov test
    compares the probabilities of held-out members with those of draws; a pair is
    indistinguishable when :math:`p > \alpha / m` (Bonferroni). When the laws are
    equal, the probability that any pair is rejected is at most :math:`\alpha`,
    whatever the dependence between pairs. The fraction is the paper's (supplementary
    tables). Not rejected is not the same as equal: with few members every model
    passes.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities of held-out members.
    y_samples : array-like of shape (n_draws, n_parts)
        Policies drawn with the inputs drawn too:
        ``CompositionalPCESurrogate.sample(n)`` without X.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        both tables.
    alpha : float, default=0.05
        Level of all tests together.

    Returns
    -------
    comparison : KSComparison
        ``fraction``, ``step_fractions``, ``p_values`` and what they rest on.

    Raises
    ------
    ValueError
        If the shapes do not agree, or an entry is NaN, negative, or positive on a
        masked part, or ``alpha`` is not between 0 and 1.

    Notes
    -----
    p-values are :func:`scipy.stats.ks_2samp`'s: exact [1]_ for samples of usual size,
    asymptotic for large ones.

    References
    ----------
    .. [1] J. L. Hodges, "The significance probability of the Smirnov two-sample
       test", Arkiv för Matematik 3 (1958).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import ks_indistinguishable_fraction
    >>> rng = np.random.default_rng(0)
    >>> y, draws = rng.dirichlet([2, 3, 4], 100), rng.dirichlet([2, 3, 4], 2000)
    >>> ks_indistinguishable_fraction(y, draws).fraction
    1.0
    >>> narrow = (draws + draws.mean(axis=0)) / 2
    >>> ks_indistinguishable_fraction(y, narrow).fraction
    0.0
    """
    owner = "ks_indistinguishable_fraction"
    check_real(owner, "alpha", alpha, low=0, high=1)
    drawn = np.asarray(y_samples, dtype=np.float64)
    width = np.shape(y_true)[-1:]
    if drawn.ndim != 2 or drawn.shape[1:] != width or not drawn.size:
        raise ValueError(
            f"y_samples has shape {drawn.shape}; expected (n_draws, n_parts) with the "
            f"parts of y_true, of shape {np.shape(y_true)}. Draws at given inputs "
            "have another axis: draw without X."
        )
    geometry, observed, draws = read_draws(
        owner, y_true, drawn[:, np.newaxis], steps, mask
    )
    parts = geometry.active_parts
    tests = [_test(observed[:, part], draws[:, 0, part]) for part in parts]
    statistics, p_values = np.array(tests, dtype=np.float64).reshape(-1, 2).T
    same = p_values > alpha / max(1, len(parts))
    indistinguishable = np.zeros(geometry.layout.n_parts, dtype=bool)
    indistinguishable[parts] = same
    return KSComparison(
        fraction=float(same.mean()) if len(parts) else np.nan,
        step_fractions=_mean_by_step(same.astype(np.float64), geometry),
        n_pairs=len(parts),
        p_values=scatter(p_values, geometry),
        statistics=scatter(statistics, geometry),
        indistinguishable=indistinguishable,
        alpha=float(alpha),
    )


def _test(members: FloatArray, draws: FloatArray) -> tuple[float, float]:
    exact = len(members) * len(draws) <= _EXACT_PRODUCT
    test = ks_2samp(members, draws, method="exact" if exact else "asymp")
    return float(test.statistic), float(test.pvalue)
