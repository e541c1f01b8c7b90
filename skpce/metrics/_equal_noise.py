r"""How fragile steps would be if the log-weight of every action had equal noise.

A choice is fragile because its rewards are uncertain, because it has many actions, or
because several of them are almost equally good. Members with the policies
:math:`p \propto \exp(c + \sigma z)`, with independent standard normal :math:`z` and one
:math:`\sigma` for all actions of all steps, have the last two reasons alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax, logsumexp

from .._checks import (
    MOST_REPEATS,
    FloatArray,
    Mask,
    RandomState,
    Steps,
    check_draws,
    check_integer,
    check_real,
    checked_sample_weight,
    make_generator,
)
from .._compositions.steps import (
    close_compositions,
    refuse_masked,
    resolve_layout,
    resolve_mask,
)
from .._result import Result
from ._fragility import read_table, sum_steps

# Actions with a smaller mean probability move no distance by more than that.
_RARE = 1e-6
# Total variation that the mean of the draws may have from the mean policy.
_SAME_MEAN = 1e-5
# Beyond this noise nearly every draw chooses one action.
_LARGEST_NOISE = 50.0


def excess_fragility(
    y: ArrayLike,
    *,
    steps: Steps = None,
    mask: Mask = "infer",
    noise_scale: float | None = None,
    sample_weight: ArrayLike | None = None,
    n_draws: int = 1000,
    random_state: RandomState = None,
) -> Result:
    r"""Compare the fragility of each step with that of equal noise.

    Fragility, the mean total variation of the members :math:`p_i` to their mean
    :math:`\bar p`, is larger for a step with more actions, and for one whose leading
    actions are almost equally likely. Neither says that the step is more uncertain. The
    members that are compared with are

    .. math:: p \propto \exp(c + \sigma z), \qquad z \sim \mathcal{N}(0, I),

    with the same mean policy: :math:`c` solves :math:`E[p] = \bar p`. There is one
    :math:`\sigma` for all actions of all steps. ``excess`` is the ratio of the two
    fragilities: 1 where number of actions and mean policy explain the fragility, above
    1 for a step that is more fragile than that.

    Parameters
    ----------
    y : array-like of shape (n_members, n_parts) or data frame
        Policies of the members, the steps side by side.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step, as in :func:`policy_fragility`.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member.
    noise_scale : float or None, default=None
        :math:`\sigma`. None takes the one with which the fragilities of all steps add
        up to those of the members: ``excess`` then compares the steps with each other,
        and is 1 where only one step has a choice.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member: weight 2 is two equal members.
    n_draws : int, default=1000
        Draws of :math:`z`, at least 4; half of them are the others with the sign
        reversed.
    random_state : int, RandomState instance or None, default=None
        Of the draws.

    Returns
    -------
    excess : Result
        A row for each step; one without choice has a fragility of 0, and NaN as
        ``excess``. With the columns

        n_possible : ndarray of int of shape (n_steps,)
            Number K of possible parts.
        contestedness : ndarray of shape (n_steps,)
            :math:`1 - \sum_k \bar p_k^2`, in [0, 1 - 1/K]: the largest fragility with
            this mean policy.
        total_variation : ndarray of shape (n_steps,)
            Fragility: mean total variation to the mean policy.
        expected, expected_error : ndarray of shape (n_steps,)
            The same for members whose log-weights all have the same noise, and its
            standard error from a finite number of draws.
        excess, excess_error : ndarray of shape (n_steps,)
            ``total_variation`` over ``expected``, and its standard error from finite
            numbers of members and of draws, for this noise scale.

        and the figure ``noise_scale``, the standard deviation of the noise of every
        log-weight; infinite where members choose one action each.

    Raises
    ------
    ValueError
        For compositions, steps or weights that are not valid, a noise scale that is
        not positive, fewer than 4 draws or more than 200,000.

    See Also
    --------
    policy_fragility : The fragility itself, in several measures.

    Notes
    -----
    For small :math:`\sigma` the expected fragility is

    .. math:: \frac{\sigma}{\sqrt{2 \pi}} \sum_k \bar p_k
        \sqrt{1 - 2 \bar p_k + \sum_j \bar p_j^2},

    which for equally likely actions is :math:`\sigma \sqrt{(1 - 1/K) / 2 \pi}`: between
    two and very many actions it grows by a factor of :math:`\sqrt 2` only. The
    Aitchison variance of such members is exactly :math:`(K - 1) \sigma^2`, so that
    ``variance_per_freedom`` of :func:`policy_fragility` compares with equal noise
    already. For large :math:`\sigma` the expected fragility tends to ``contestedness``.

    :math:`E[p]` is the gradient of the convex function
    :math:`E[\log \sum_k \exp(c_k + \sigma z_k)]` of :math:`c` [1]_, so that :math:`c`
    exists and is unique up to a constant. Actions with a mean probability below 1e-6
    are left out of the comparison.

    References
    ----------
    .. [1] D. McFadden, "Modelling the choice of residential location", in "Spatial
       Interaction Theory and Planning Models", North-Holland, 1978, section 5.

    Examples
    --------
    The noise is the same at both steps, the fragility is not.

    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce.metrics import excess_fragility
    >>> rng = np.random.default_rng(0)
    >>> few = softmax([3, 0, 0] + rng.normal(size=(400, 3)), axis=1)
    >>> many = softmax(rng.normal(size=(400, 20)), axis=1)
    >>> y = np.hstack([few, many])
    >>> found = excess_fragility(y, steps=(3, 20), random_state=0)
    >>> found.total_variation.round(2)
    array([0.13, 0.37])
    >>> found.excess.round(1)
    array([1., 1.])
    >>> round(found.noise_scale, 1)
    1.0
    """
    owner = "excess_fragility"
    if noise_scale is not None:
        check_real(owner, "noise_scale", noise_scale, low=0)
    check_integer(owner, "n_draws", n_draws, low=4, high=MOST_REPEATS)
    values = read_table(y, "y")
    check_draws(owner, "n_draws", n_draws, each=values.shape[1])
    layout = resolve_layout(y, steps, values.shape[1], owner)
    weights = checked_sample_weight(sample_weight, values)
    closed = close_compositions(values, layout)
    possible = resolve_mask(mask, closed, layout, owner)
    refuse_masked(closed, possible, layout)
    share = weights / weights.sum()
    mean = share @ closed
    # How likely two draws of the mean policy differ: no difference of near numbers.
    contested = sum_steps(mean * (1.0 - mean), layout)
    n_possible = sum_steps(possible.astype(np.int64), layout)
    distances = 0.5 * sum_steps(np.abs(closed - mean), layout)
    distances = np.where(n_possible > 1, distances, 0.0)
    observed = share @ distances
    generator = make_generator(random_state)
    nulls = [EqualNoise(mean[columns], n_draws, generator) for columns in layout.slices]
    scale = float(noise_scale) if noise_scale is not None else _matched(nulls, observed)
    expected, error = np.array([null.expected(scale) for null in nulls]).T
    safe = np.where(expected > 0, expected, np.nan)
    spread = share @ np.square(distances - observed)
    freedom = max(float(weights.sum()) - 1.0, 1.0)
    excess = observed / safe
    of_members, of_draws = np.sqrt(spread / freedom) / safe, excess * error / safe
    columns = {
        "n_possible": n_possible,
        "contestedness": np.where(n_possible > 1, np.maximum(contested, 0.0), 0.0),
        "total_variation": observed,
        "expected": expected,
        "expected_error": error,
        "excess": excess,
        "excess_error": np.hypot(of_members, of_draws),
    }
    figures = {"noise_scale": scale}
    keys = {"step": layout.step_names}
    return Result(keys, columns, figures=figures, printed=("excess",))


def _matched(nulls: Sequence[EqualNoise], observed: FloatArray) -> float:
    """Return the noise with which the fragilities add up to those of the members."""
    total = float(observed.sum())
    slope = sum(null.slope for null in nulls)
    if total <= 0.0 or slope <= 0.0:
        return 0.0

    def difference(scale: float) -> float:
        return sum(null.expected(scale)[0] for null in nulls) - total

    low = high = total / slope
    while low > 0 and difference(low) > 0:
        low /= 2.0
    while difference(high) < 0:
        high *= 2.0
        if high > _LARGEST_NOISE:
            return np.inf
    return high if low == high else float(brentq(difference, low, high, rtol=1e-4))


class EqualNoise:
    """Policies of one step whose log-weights all have the same noise."""

    def __init__(
        self, mean: FloatArray, n_draws: int, generator: np.random.Generator
    ) -> None:
        kept = mean[mean > _RARE]
        self.mean = kept / kept.sum()
        half = generator.standard_normal((max(2, n_draws // 2), len(kept)))
        self.noise = np.concatenate((half, -half))
        self.centre = np.log(self.mean)

    @property
    def slope(self) -> float:
        """Expected fragility over a small noise scale."""
        squares = float(np.square(self.mean).sum())
        # 1 - 2 p + |p|^2 is not negative: (1 - p)^2 and the squares of the others
        spread = np.maximum(1.0 - 2.0 * self.mean + squares, 0.0)
        return float(self.mean @ np.sqrt(spread)) / np.sqrt(2.0 * np.pi)

    def expected(self, scale: float) -> tuple[float, float]:
        """Return the mean total variation to the mean policy, and its error."""
        if len(self.mean) == 1 or scale == 0.0:
            return 0.0, 0.0
        if np.isinf(scale):
            return float(self.mean @ (1.0 - self.mean)), 0.0
        noise = scale * self.noise
        self.centre = self._centre_of(noise)
        policies = np.exp(log_softmax(self.centre + noise, axis=1))
        distance = 0.5 * np.abs(policies - self.mean).sum(axis=1)
        pairs = distance.reshape(2, -1).mean(axis=0)
        return float(pairs.mean()), float(pairs.std(ddof=1) / np.sqrt(len(pairs)))

    def _centre_of(self, noise: FloatArray) -> FloatArray:
        """Return log-weights whose noisy policies have the mean policy on average."""

        def potential(centre: FloatArray) -> tuple[float, FloatArray]:
            values = centre + noise
            total = logsumexp(values, axis=1)
            mean = np.exp(values - total[:, np.newaxis]).mean(axis=0)
            return float(total.mean() - self.mean @ centre), mean - self.mean

        tolerance = 2.0 * _SAME_MEAN / len(self.mean)
        options = {"gtol": tolerance, "ftol": 0.0, "maxiter": 500}
        found = minimize(
            potential, self.centre, jac=True, method="L-BFGS-B", options=options
        )
        return np.asarray(found.x, dtype=np.float64)
