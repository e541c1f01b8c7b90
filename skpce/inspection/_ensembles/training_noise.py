"""How much of the disagreement of members is their reward, how much their training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from ..._checks import (
    FloatArray,
    IndexArray,
    check_real,
    checked_sample_weight,
)
from ..._compositions.log_ratio import (
    LogRatioGeometry,
    clr_of,
    composition_geometry,
    sum_by_step,
)
from ..._compositions.steps import close_compositions
from ..._solvers.problem import LOG_RATIO_FLOOR, weighted_spread
from .._result import Result
from .cross_fit import by_step, reward_groups

MEASURES = ("aitchison_variance", "mutual_information", "total_variation")

SHARES = ("noise_share", "noise_share_low", "noise_share_high")

_LARGEST_BLOCK = 512  # members whose distances to all others are held at once


def training_noise_share(
    y: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    reward: ArrayLike | None = None,
    control: ArrayLike | None = None,
    steps: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
) -> FloatArray:
    """Return the share of the variance of y that is noise of the training, per step.

    Of Aitchison (total) variances, from exactly one of ``exact``, ``reward`` and
    ``control``.

    Parameters
    ----------
    y : array-like of shape (n_members, n_parts) or data frame
        Policies of the trained members, the steps side by side.
    exact : array-like of shape (n_members, n_parts) or None, default=None
        What the same members would be without training noise:
        ``Var(trained - exact) / Var(trained)``. A constant bias does not count.
    reward : array-like of shape (n_members,) or None, default=None
        Label of the reward of each member: variance within rewards over the sum of
        the variances within and between, as in :func:`variance_decomposition`.
    control : array-like of shape (n_control, n_parts) or None, default=None
        Members trained on ONE fixed reward: ``Var(control) / Var(trained)``.
    steps, mask, zero_replacement
        As in :func:`variance_decomposition`.

    Returns
    -------
    share : ndarray of shape (n_steps,)
        0 is no noise; about 1 is nothing but noise (sampling can push it above 1).
        NaN for a step without choice or without variance.

    Raises
    ------
    ValueError
        If not exactly one is given, or there are no replicates, or fewer than two
        members.

    See Also
    --------
    variance_decomposition : The share with an interval, and for fragility.

    Notes
    -----
    The two definitions differ where training has a bias that depends on the reward:
    ``exact`` counts its variance as noise, replicates share it and show it as an effect
    of the reward. Only ``exact`` can see it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce.inspection import training_noise_share
    >>> rng = np.random.default_rng(0)
    >>> signal, noise = rng.normal(size=(2, 500, 3))
    >>> trained = softmax(signal + noise, axis=1)
    >>> training_noise_share(trained, exact=softmax(signal, axis=1)).round(1)
    array([0.5])
    """
    given = [exact is not None, reward is not None, control is not None]
    if sum(given) != 1:
        raise ValueError(
            "Give exactly one of exact=, reward= and control=; got "
            f"{sum(given)} of them."
        )
    owner = "training_noise_share"
    check_real(owner, "zero_replacement", zero_replacement, low=0, high=1)
    if exact is None:
        return variance_decomposition(
            y,
            reward,
            control=control,
            steps=steps,
            mask=mask,
            zero_replacement=zero_replacement,
        ).noise_share
    geometry = composition_geometry(y, steps, mask, owner)
    trained = clr_of(y, geometry, zero_replacement, "y")
    if len(trained) < 2:
        raise ValueError(f"y has {len(trained)} member; a variance needs two.")
    reference = clr_of(exact, geometry, zero_replacement, "exact")
    if reference.shape != trained.shape:
        raise ValueError(
            f"exact has {len(reference)} members but y has {len(trained)}."
        )
    spread = weighted_spread(trained, np.ones(len(trained)), LOG_RATIO_FLOOR)
    total = sum_by_step(spread / (len(trained) - 1), geometry)
    noise = sum_by_step((trained - reference).var(axis=0, ddof=1), geometry)
    return noise / np.where(total > 0, total, np.nan)


def variance_decomposition(
    y: ArrayLike,
    reward: ArrayLike | None = None,
    *,
    control: ArrayLike | None = None,
    steps: Any = None,
    mask: Any = "infer",
    sample_weight: ArrayLike | None = None,
    confidence_level: float = 0.9,
    zero_replacement: float = 1e-12,
) -> Result:
    r"""Split the disagreement of members into reward and training noise, per step.

    Members that were trained on one reward, replicates (``reward``) or a control
    (``control``), show the disagreement that would remain if the reward were known.

    Parameters
    ----------
    y : array-like of shape (n_members, n_parts) or data frame
        Policies of the members, the steps side by side.
    reward : array-like of shape (n_members,) or None, default=None
        Label of the reward of each member; the numbers of replicates may differ.
    control : array-like of shape (n_control, n_parts) or None, default=None
        Policies of members that were all trained on ONE reward, while those of y were
        trained on different ones. Exactly one of ``reward`` and ``control`` is given.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step. None reads two-level columns or names such as
        ``step__action`` of a data frame, else all columns are one step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each row of y: weight 2 is two equal replicates.
    confidence_level : float, default=0.9
        Of the intervals of the share of noise.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part, for the log-ratios
        only.

    Returns
    -------
    decomposition : Result
        One row per measure of disagreement and step; ``print`` gives words.
        ``aitchison_variance`` (total variance of the centred log-ratios),
        ``mutual_information`` (mean Kullback-Leibler divergence to the barycentre,
        generalised Jensen-Shannon, in nats) and ``total_variation`` (mean of two
        members) each have arrays of shape (n_steps,), NaN for a step without choice
        or whose members do not differ:

        between : ndarray
            Between rewards, corrected for the noise in the means of few replicates;
            at least 0.
        within : ndarray
            Within rewards: noise of the training.
        total : ndarray
            Their sum.
        noise_share, noise_share_low, noise_share_high : ndarray
            ``within`` over the total, and its interval (NaN where it cannot be
            estimated). At most 1 from replicates; from a control sampling can push it
            above.

        ``noise_share`` of the decomposition is that of the Aitchison variance. Further
        attributes are ``step_names``, ``source`` ("replicates" or "control"),
        ``n_members``, ``n_rewards`` (None with a control), ``n_control`` (None with
        replicates) and ``confidence_level``.

    Raises
    ------
    ValueError
        If not exactly one of ``reward`` and ``control`` is given, there are no
        replicates, or rows are no compositions.

    See Also
    --------
    training_noise_share : The share alone; also against exact policies.
    verdict : Takes the decomposition as ``noise_share``.
    skpce.metrics.policy_fragility : The disagreement itself.

    Notes
    -----
    *Replicates.* Member :math:`j` of reward :math:`r` has
    :math:`x_{rj} = \mu + b_r + e_{rj}` (random effects). For a convex
    :math:`\varphi`, with group means :math:`m_r`, sizes :math:`n_r`, :math:`g` rewards
    and :math:`N` members, the sum
    :math:`\sum_{rj} \varphi(x_{rj}) - N \varphi(m)` is exactly

    .. math::

        \underbrace{\sum_{rj} \varphi(x_{rj}) - \sum_r n_r \varphi(m_r)}_{W} +
        \underbrace{\sum_r n_r \varphi(m_r) - N \varphi(m)}_{B},

    and ``within`` :math:`= W / (N - g)`, ``between`` :math:`= (B / (g - 1) -
    \text{within}) / n_0` with :math:`n_0 = (N - \sum_r n_r^2 / N) / (g - 1)`.
    With :math:`\varphi(x) = \lVert x \rVert^2` on centred log-ratios this is the
    analysis of variance for unequal groups [1]_, unbiased. With
    :math:`\varphi(p) = \sum_k p_k \log p_k` on probabilities, :math:`B` and :math:`W`
    are sums of Kullback-Leibler divergences to the barycentre [2]_; the correction is
    exact to second order, where the divergence is a quadratic form. ``between`` is
    then the fragility of the rewards' mean policies, corrected for noise.

    For total variation ``within`` is the mean distance of two members of one reward,
    the total that of two members of different rewards, both unbiased; their
    difference is an energy distance and not negative in the population [3]_. A
    distance grows like the root of a variance: with equal variances between and
    within, the share of noise is about 0.71 here and 0.5 in the other two.

    *Control.* ``within`` is the dispersion of the control, the total that of y.

    *Intervals* are jackknifed over rewards on the scale of the logarithm of the ratio
    of mean squares, with Student's quantile for :math:`g - 1` degrees of freedom [4]_;
    over the members of y and of the control with Welch's degrees of freedom. No
    normal law is assumed of members or rewards. They are NaN with fewer than three
    rewards.

    References
    ----------
    .. [1] S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components", Wiley,
       1992, section 3.6.
    .. [2] A. Banerjee, S. Merugu, I. S. Dhillon and J. Ghosh, "Clustering with
       Bregman divergences", Journal of Machine Learning Research 6 (2005), section 3.
    .. [3] M. L. Rizzo and G. J. Székely, "DISCO analysis: a nonparametric extension
       of analysis of variance", Annals of Applied Statistics 4 (2010).
    .. [4] J. N. Arvesen and T. H. Schmitz, "Robust procedures for variance component
       problems using the jackknife", Biometrics 26 (1970).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce.inspection import variance_decomposition
    >>> rng = np.random.default_rng(0)
    >>> reward = np.repeat(np.arange(40), 3)
    >>> logits = rng.normal(size=(40, 4))[reward] + 0.5 * rng.normal(size=(120, 4))
    >>> found = variance_decomposition(softmax(logits, axis=1), reward)
    >>> found.noise_share.round(2)  # 0.25 / 1.25 = 0.2 in the population
    array([0.2])
    >>> print(found)
    Training noise of 120 members, from 40 rewards:
    - step0: 20% [16%, 25%] of the variance of log-ratios, 25% of the divergence to the barycentre.
    """  # noqa: E501
    if (reward is None) == (control is None):
        given = "neither" if reward is None else "both"
        raise ValueError(f"Give exactly one of reward= and control=; got {given}.")
    owner = "variance_decomposition"
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_real(owner, "zero_replacement", zero_replacement, low=0, high=1)
    geometry = composition_geometry(y, steps, mask, owner)
    weights = checked_sample_weight(sample_weight, np.asarray(y, dtype=np.float64))
    ensemble = _Ensemble.of(y, geometry, zero_replacement, "y").rows(weights > 0)
    group = None if reward is None else reward_groups(reward, weights)
    weights = weights[weights > 0]
    if group is not None:
        splits = _from_replicates(ensemble, group, weights, confidence_level)
        n_rewards, n_control = int(group.max()) + 1, None
    else:
        fixed = _Ensemble.of(control, geometry, zero_replacement, "control")
        n_rewards, n_control = None, len(fixed.clr)
        if weights.sum() <= 1:
            raise ValueError(
                f"sample_weight sums to {weights.sum():.3g}; a variance needs more "
                "than one member."
            )
        splits = _from_control(ensemble, fixed, weights, confidence_level)
    figures = {
        "source": "replicates" if control is None else "control",
        "n_members": len(weights),
        "n_rewards": n_rewards,
        "n_control": n_control,
        "confidence_level": confidence_level,
    }
    spread = weighted_spread(ensemble.clr, weights, LOG_RATIO_FLOOR)
    varies = sum_by_step(spread, geometry) > 0
    found = np.where(varies, np.array(splits), np.nan)
    return _result(geometry.layout.step_names, found, figures)


def _result(
    steps: tuple[str, ...],
    splits: FloatArray,  # shape: (n_measures, 5, n_steps)
    figures: dict[str, Any],
) -> Result:
    between, within, *shares = np.moveaxis(splits, 1, 0)
    columns = {"between": between, "within": within, "total": between + within}
    columns |= dict(zip(SHARES, shares, strict=True))
    origin = (
        f"{figures['n_rewards']} rewards"
        if figures["source"] == "replicates"
        else f"a control of {figures['n_control']} members"
    )
    return Result(
        {"measure": MEASURES, "step": steps},
        columns,
        title=f"Training noise of {figures['n_members']} members, from {origin}:",
        notes=tuple(
            f"- {name}: {_share_in_words(splits[0, 2:, step], splits[1, 2, step])}."
            for step, name in enumerate(steps)
        ),
        figures=figures | {"noise_share": splits[0, 2]},
    )


def _share_in_words(
    of_variance: FloatArray,  # shape: (3,), the share and its interval
    divergence: float,
) -> str:
    share, low, high = of_variance
    if np.isnan(share):
        return "no choice, or no variance between members"
    known = f"[{low:.0%}, {high:.0%}]" if np.isfinite(low) else "interval not known"
    return (
        f"{share:.0%} {known} of the variance of log-ratios, {divergence:.0%} of the "
        "divergence to the barycentre"
    )


@dataclass(frozen=True)
class _Ensemble:
    """Policies in both geometries."""

    geometry: LogRatioGeometry
    clr: FloatArray  # shape: (n_members, n_active)
    closed: FloatArray  # shape: (n_members, n_parts)

    @classmethod
    def of(
        cls, y: Any, geometry: LogRatioGeometry, zero_replacement: float, name: str
    ) -> _Ensemble:
        clr = clr_of(y, geometry, zero_replacement, name)
        if len(clr) < 2:
            raise ValueError(f"{name} has {len(clr)} member; a variance needs two.")
        values = np.asarray(y, dtype=np.float64)
        closed = close_compositions(values, geometry.layout, "renormalize", name)
        return cls(geometry, clr, closed)

    def rows(self, rows: NDArray[Any]) -> _Ensemble:
        return _Ensemble(self.geometry, self.clr[rows], self.closed[rows])

    def sums(
        self, group: IndexArray, weights: FloatArray
    ) -> tuple[ConvexSums | PairSums, ...]:
        """Return the sums over groups, in the order of ``MEASURES``."""
        layout, n_steps = self.geometry.layout, self.geometry.layout.n_steps
        centre = np.average(self.clr, axis=0, weights=weights)

        def square(values: FloatArray) -> FloatArray:
            return by_step(np.square(values), self.geometry.step_of_active, n_steps)

        def negative_entropy(values: FloatArray) -> FloatArray:
            return by_step(xlogy(values, values), layout.step_of_part, n_steps)

        return (
            ConvexSums.of(square, self.clr - centre, group, weights),
            ConvexSums.of(negative_entropy, self.closed, group, weights),
            PairSums.of([self.closed[:, c] for c in layout.slices], group, weights),
        )


def _from_replicates(
    ensemble: _Ensemble, group: IndexArray, weights: FloatArray, confidence_level: float
) -> list[tuple[FloatArray, ...]]:
    """Return between, within and the three ``SHARES`` of each measure."""

    def share(ratio: FloatArray) -> FloatArray:
        return 1.0 / (1.0 + np.maximum(ratio, 0.0))

    splits: list[tuple[FloatArray, ...]] = []
    for sums in ensemble.sums(group, weights):
        with np.errstate(divide="ignore", invalid="ignore"):
            whole, without = sums.components(), sums.components(True)
            low, high = ratio_interval(whole, without, confidence_level)
        between = np.maximum(whole.between, 0.0)
        shares = share(whole.ratio), share(high), share(low)
        splits.append((between, whole.within, *shares))
    return splits


def _from_control(
    ensemble: _Ensemble, fixed: _Ensemble, weights: FloatArray, confidence_level: float
) -> list[tuple[FloatArray, ...]]:
    """Compare the dispersion of the control with that of all members."""
    n_members, n_control = len(weights), len(fixed.clr)
    splits: list[tuple[FloatArray, ...]] = []
    for of_all, of_control in zip(
        ensemble.sums(np.arange(n_members), weights),
        fixed.sums(np.arange(n_control), np.ones(n_control)),
        strict=True,
    ):
        total, within = of_all.dispersion(), of_control.dispersion()
        with np.errstate(divide="ignore", invalid="ignore"):
            share = within / total
            one = np.square(jackknife_error(np.log(of_all.dispersion(True))))
            two = np.square(jackknife_error(np.log(of_control.dispersion(True))))
            freedom = np.square(one + two) / (
                np.square(one) / (n_members - 1) + np.square(two) / (n_control - 1)
            )
            quantile = stats.t.ppf(0.5 + confidence_level / 2, freedom)
            half = quantile * np.sqrt(one + two)
            known = np.isfinite(half) & (n_members > 2) & (n_control > 2)
            factor = np.where(known, np.exp(half), np.nan)
        shares = share, share / factor, share * factor
        splits.append((np.maximum(total - within, 0.0), within, *shares))
    return splits


@dataclass(frozen=True)
class Components:
    """What a dispersion is made of; every array ends in (n_steps,)."""

    between: FloatArray  # between groups without that within them; may be negative
    within: FloatArray  # within groups
    pivot: FloatArray  # ``between / within`` may not fall below minus this

    @property
    def ratio(self) -> FloatArray:
        """``between / within``; inf without dispersion within."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.between / self.within


@dataclass(frozen=True)
class ConvexSums:
    """Sums over groups for the dispersion of a convex function: it adds up exactly."""

    function: Callable[[FloatArray], FloatArray]  # (..., n_columns) to (..., n_steps)
    sizes: FloatArray  # (n_groups, 1): sum of the weights
    sums: FloatArray  # (n_groups, n_columns): weighted sums of the values
    of_members: FloatArray  # (n_groups, n_steps): sums of its values
    of_means: FloatArray  # the same for the group means

    @classmethod
    def of(
        cls,
        function: Callable[[FloatArray], FloatArray],
        values: FloatArray,  # shape: (n_members, n_columns)
        group: IndexArray,  # shape: (n_members,)
        weights: FloatArray,  # shape: (n_members,)
    ) -> ConvexSums:
        sizes = _add_by_group(np.ones((len(values), 1)), group, weights)
        sums = _add_by_group(values, group, weights)
        members = _add_by_group(function(values), group, weights)
        return cls(function, sizes, sums, members, sizes * function(sums / sizes))

    def components(self, leave_out: bool = False) -> Components:
        """One-way random effects by analysis of variance, for unequal group sizes."""
        size = _total(self.sizes, leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        of_means = _total(self.of_means, leave_out)
        within = (_total(self.of_members, leave_out) - of_means) / (size - n_groups)
        between = of_means - size * self.function(_total(self.sums, leave_out) / size)
        square = _total(np.square(self.sizes), leave_out)
        typical = (size - square / size) / (n_groups - 1)
        within = np.maximum(within, 0.0)
        return Components(
            (between / (n_groups - 1) - within) / typical, within, 1.0 / typical
        )

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Dispersion of the group means over the number of members less one."""
        size = _total(self.sizes, leave_out)
        mean = _total(self.sums, leave_out) / size
        between = _total(self.of_means, leave_out) - size * self.function(mean)
        return np.maximum(between, 0.0) / (size - 1)


@dataclass(frozen=True)
class PairSums:
    """Sums over groups for the dispersion of pairs."""

    sizes: FloatArray  # (n_groups, 1): sum of the weights
    own: FloatArray  # (n_groups, n_steps): weighted distances of members to their group
    all: FloatArray  # the same to all members

    @classmethod
    def of(
        cls,
        steps: list[FloatArray],  # each of shape (n_members, n_parts)
        group: IndexArray,
        weights: FloatArray,
    ) -> PairSums:
        """Sum total variation distances, one array of parts per step."""
        members = [np.flatnonzero(group == name) for name in range(group.max() + 1)]

        def own_of(rows: IndexArray, parts: FloatArray) -> Any:
            distances = _distances_to(parts[rows], parts[rows], weights[rows])
            return weights[rows] @ distances

        own = np.array([[own_of(rows, parts) for parts in steps] for rows in members])
        to_all = [_distances_to(parts, parts, weights) for parts in steps]
        sizes = _add_by_group(np.ones((len(group), 1)), group, weights)
        return cls(sizes, own, _add_by_group(np.stack(to_all, axis=1), group, weights))

    def components(self, leave_out: bool = False) -> Components:
        """Mean distance within groups, and how much more between them (DISCO)."""
        size = _total(self.sizes, leave_out)
        square = _total(np.square(self.sizes), leave_out)
        n_groups = len(self.sizes) - int(leave_out)
        within = _total(self.own / self.sizes, leave_out) / (size - n_groups)
        other = self._all_pairs(leave_out) - _total(self.own, leave_out)
        different = other / (size**2 - square)
        return Components(different - within, within, np.ones_like(size))

    def dispersion(self, leave_out: bool = False) -> FloatArray:
        """Mean distance of two members."""
        size = _total(self.sizes, leave_out)
        return self._all_pairs(leave_out) / (size * (size - 1))

    def _all_pairs(self, leave_out: bool) -> FloatArray:
        total = self.all.sum(axis=0)
        return total - 2 * self.all + self.own if leave_out else total


def _total(per_group: FloatArray, leave_out: bool) -> FloatArray:
    """Sum over all groups, or over all but each one in turn."""
    total = per_group.sum(axis=0)
    return total - per_group if leave_out else total


def _distances_to(
    parts: FloatArray, others: FloatArray, weights: FloatArray
) -> FloatArray:
    """Sum weighted total variation distances to all others; shape (n_members,)."""
    blocks = np.split(parts, range(_LARGEST_BLOCK, len(parts), _LARGEST_BLOCK))
    return 0.5 * np.concatenate(
        [cdist(block, others, "cityblock") @ weights for block in blocks]
    )


def _add_by_group(
    values: FloatArray, group: IndexArray, weights: FloatArray
) -> FloatArray:  # shape: (n_groups, n_columns)
    """Add up the weighted rows of each group."""
    sums = np.zeros((group.max() + 1, values.shape[1]))
    np.add.at(sums, group, weights[:, np.newaxis] * values)
    return sums


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """Return the standard error from estimates without each group; (n_steps,)."""
    n_groups = len(left_out)
    centred = left_out - left_out.mean(axis=0)
    return np.sqrt((n_groups - 1) / n_groups * np.square(centred).sum(axis=0))


def ratio_interval(
    whole: Components, without: Components, confidence_level: float
) -> FloatArray:  # shape: (2, n_steps)
    """Return an interval of ``between / within`` by the jackknife of its logarithm."""
    n_groups = len(without.between)
    pivot = np.maximum(whole.pivot, without.pivot.max(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = jackknife_error(np.log(pivot + without.ratio))
        centre = np.log(pivot + whole.ratio)
        half = stats.t.ppf(0.5 + confidence_level / 2, n_groups - 1) * error
        found = np.exp(np.stack([centre - half, centre + half])) - pivot
    return np.where(np.isfinite(half) & (n_groups > 2), found, np.nan)
