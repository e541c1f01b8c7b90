"""The disagreement of the members of an ensemble, and distances between policies.

Variances of log-ratios have no upper bound and grow with the number of actions; the
paper's ALR sum also depends on the reference action. Distances of probabilities do
neither. The measures can rank the steps differently, so they are given side by side.
At the end is how fragile steps would be with equal noise of all log-weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax, logsumexp, rel_entr

from .._checks import (
    MOST_REPEATS,
    BoolArray,
    FloatArray,
    IndexArray,
    Mask,
    RandomState,
    Steps,
    as_floats,
    check_draws,
    check_integer,
    check_real,
    checked_sample_weight,
    make_generator,
    one_table,
    refuse_extremes,
    refuse_nan,
)
from .._compositions.log_ratio import (
    LogRatioGeometry,
    LogRatioTransformer,
    StepLayout,
    close_compositions,
    clr_of,
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
