"""How much of the disagreement of members is their inputs, how much their training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    Steps,
    check_real,
)
from ..._compositions.outputs import Outputs, read_outputs
from ..._compositions.steps import close_compositions
from ..._expansion.expansion import read_numbers
from ..._result import Result
from ...drivers._design import numbers_of, sum_of
from .members import labels_of

# Dispersion between and within groups of members, and its jackknife.
#
# - Of a convex function :math:`\varphi`: the sum of :math:`\varphi(x_i)` less
#   :math:`N \varphi(\bar x)`. With :math:`\varphi(x) = \lVert x \rVert^2` this is a
#   sum of squares, with :math:`\varphi(p) = \sum_k p_k \log p_k` a sum of
#   Kullback-Leibler divergences to the mean. Either adds up over groups and within
#   groups exactly.
# - Of pairs: the mean distance of two members of the same, or of different groups.


_LARGEST_BLOCK = 512  # members whose distances to all others are held at once


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
    sizes: FloatArray  # (n_groups, 1): number of members
    sums: FloatArray  # (n_groups, n_columns): sums of the values
    of_members: FloatArray  # (n_groups, n_steps): sums of its values
    of_means: FloatArray  # the same for the group means

    @classmethod
    def of(
        cls,
        function: Callable[[FloatArray], FloatArray],
        values: FloatArray,  # shape: (n_members, n_columns)
        group: IndexArray,  # shape: (n_members,)
    ) -> ConvexSums:
        sizes = sum_of(np.ones((len(values), 1)), group)
        sums = sum_of(values, group)
        members = sum_of(function(values), group)
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

    sizes: FloatArray  # (n_groups, 1): number of members
    own: FloatArray  # (n_groups, n_steps): distances of members to their group
    all: FloatArray  # the same to all members

    @classmethod
    def of(
        cls,
        steps: list[FloatArray],  # each of shape (n_members, n_parts)
        group: IndexArray,
    ) -> PairSums:
        """Sum total variation distances, one array of parts per step."""
        members = [np.flatnonzero(group == name) for name in range(group.max() + 1)]
        of_groups = ([parts[rows] for parts in steps] for rows in members)
        own = np.array([[_distances_to(p, p).sum() for p in one] for one in of_groups])
        to_all = [_distances_to(parts, parts) for parts in steps]
        sizes = sum_of(np.ones((len(group), 1)), group)
        return cls(sizes, own, sum_of(np.stack(to_all, axis=1), group))

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


def _distances_to(parts: FloatArray, others: FloatArray) -> FloatArray:
    """Sum total variation distances to all others; shape (n_members,)."""
    blocks = np.split(parts, range(_LARGEST_BLOCK, len(parts), _LARGEST_BLOCK))
    return 0.5 * np.concatenate(
        [cdist(block, others, "cityblock").sum(axis=1) for block in blocks]
    )


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """Return the standard error from estimates without each group; (n_steps,)."""
    n_groups = len(left_out)
    centred = left_out - left_out.mean(axis=0)
    return np.sqrt((n_groups - 1) / n_groups * np.square(centred).sum(axis=0))


#: Measures of disagreement of compositions; real outputs have the first.
MEASURES = ("aitchison_variance", "mutual_information", "total_variation")

SHARES = ("noise_share", "noise_share_low", "noise_share_high")


def refuse_failed(values: FloatArray, name: str) -> None:
    """Raise ``ValueError`` for members that failed."""
    failed = int(np.isnan(values).any(axis=1).sum())
    if failed:
        raise ValueError(
            f"{name} has NaN in {failed} of {len(values)} members; leave these out."
        )


def variance_decomposition(
    y: ArrayLike,
    replicate: ArrayLike | None = None,
    *,
    control: ArrayLike | None = None,
    exact: ArrayLike | None = None,
    steps: Steps = None,
    mask: Mask = "infer",
    confidence_level: float = 0.9,
    zero_replacement: float = 1e-12,
    outputs: OutputGroups = None,
    standardize: bool = False,
) -> Result:
    r"""Split the disagreement of members into inputs and training noise, per output.

    Members with equal inputs, replicates (``replicate``) or a control (``control``), show
    the disagreement that would remain if the inputs were known.

    Parameters
    ----------
    y : array-like of shape (n_members,) or (n_members, n_columns), or data frame
        Real outputs of the members, or policies, the steps side by side. NaN where a
        member failed in a real output.
    replicate : array-like of shape (n_members,) or None, default=None
        Label of each member, as in scikit-learn: members with equal labels are
        replicates, with equal inputs. The numbers of replicates may differ.
    control : array-like of shape (n_control, n_parts) or None, default=None
        Outputs of members that were all trained with ONE setting of the inputs, while
        those of y have different ones.
    exact : array-like of the shape of y or None, default=None
        What the same members would be without training noise, as from an exact
        solution. Exactly one of ``replicate``, ``control`` and ``exact`` is given.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step. None reads two-level columns or names such as
        ``step__action`` of a data frame, else all columns are one step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible.
    confidence_level : float, default=0.9
        Of the intervals of the share of noise.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part, for the log-ratios
        only.
    outputs, standardize
        Of real outputs, as in :func:`verdict`. They have one measure, ``variance``.

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
            Between groups, corrected for the noise in the means of few replicates;
            at least 0.
        within : ndarray
            Within groups: noise of the training.
        total : ndarray
            Their sum.
        noise_share, noise_share_low, noise_share_high : ndarray
            ``within`` over the total, and its interval (NaN where it cannot be
            estimated). At most 1 from replicates; from a control sampling can push it
            above.

        ``noise_share`` of the decomposition is that of the Aitchison variance. Further
        attributes are ``step_names``, ``source`` ("replicates", "control" or
        "exact"), ``n_members``, ``n_groups`` (of replicates), ``n_control`` and
        ``confidence_level``. From exact outputs there is the first measure alone.

    Raises
    ------
    ValueError
        If not exactly one of ``replicate``, ``control`` and ``exact`` is given, there
        are no replicates, or rows are no compositions.

    See Also
    --------
    verdict : Takes the decomposition as ``noise_share``.
    skpce.metrics.policy_fragility : The disagreement itself.

    Notes
    -----
    *Replicates.* Member :math:`j` of group :math:`r` has
    :math:`x_{rj} = \mu + b_r + e_{rj}` (random effects). For a convex
    :math:`\varphi`, with group means :math:`m_r`, sizes :math:`n_r`, :math:`g` groups
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
    then the fragility of the groups' mean policies, corrected for noise.

    For total variation ``within`` is the mean distance of two members of one group,
    the total that of two members of different groups, both unbiased; their
    difference is an energy distance and not negative in the population [3]_. A
    distance grows like the root of a variance: with equal variances between and
    within, the share of noise is about 0.71 here and 0.5 in the other two.

    *Control.* ``within`` is the dispersion of the control, the total that of y.

    *Exact.* ``within`` is the variance of y less ``exact``, so that a constant bias
    does not count. A bias that depends on the inputs is noise here; replicates share it
    and show it as an effect of the inputs. The share may be above 1.

    *Intervals* are jackknifed over groups on the scale of the logarithm of the ratio
    of mean squares, with Student's quantile for :math:`g - 1` degrees of freedom [4]_;
    over the members of y and of the control with Welch's degrees of freedom. No
    normal distribution is assumed of members or groups. They are NaN with fewer than
    three groups.

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
    >>> settings = np.repeat(np.arange(40), 3)
    >>> logits = rng.normal(size=(40, 4))[settings] + 0.5 * rng.normal(size=(120, 4))
    >>> found = variance_decomposition(softmax(logits, axis=1), replicate=settings)
    >>> found.noise_share.round(2)  # 0.25 / 1.25 = 0.2 in the population
    array([0.2])
    >>> print(found)
    Training noise of 120 members, from 40 groups:
    - step0: 20% [16%, 25%] of the variance of log-ratios, 25% of the divergence to the barycentre.
    """  # noqa: E501
    given = sum(values is not None for values in (replicate, control, exact))
    if given != 1:
        raise ValueError(
            f"Give exactly one of replicate=, control= and exact=; got {given} of them."
        )
    owner = "variance_decomposition"
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_real(owner, "zero_replacement", zero_replacement, low=0, high=1)
    read = read_outputs(
        y,
        owner,
        steps=steps,
        outputs=outputs,
        mask=mask,
        zero_replacement=zero_replacement,
        standardize=standardize,
    )
    values = _table_of(y, "y", read)
    labels = labels_of("replicate", replicate, y)
    figures = {
        "source": "exact" if exact is not None else "replicates",
        "n_members": len(values),
        "n_groups": None,
        "n_control": None,
        "confidence_level": confidence_level,
    }
    if exact is not None:
        reference = _table_of(exact, "exact", read)
        return _result(read, _from_exact(read, values, reference), figures)
    fixed = None
    if control is not None:
        fixed, figures["source"] = _table_of(control, "control", read), "control"
    n_measures = len(MEASURES) if read.are_compositions else 1
    splits = np.full((n_measures, 5, read.n_groups), np.nan)
    blocks = read.blocks(values)
    for rows, groups in blocks[::-1]:  # the figures are those of the first
        if len(rows) < 2:
            names = ", ".join(read.names[group] for group in groups)
            raise ValueError(
                f"{len(rows)} of {len(values)} members have {names} (no NaN in y); a "
                "variance needs two."
            )
        some, columns = read, np.arange(read.n_columns)
        if len(groups) < read.n_groups:
            some, columns = read.of_groups(groups)
        block = values[np.ix_(rows, columns)]
        figures["n_members"] = len(rows)
        if labels is not None:
            group = _groups_of(labels[rows])
            figures["n_groups"] = int(group.max()) + 1
            sums = _sums_of(some, block, "y", group)
            found = _from_replicates(sums, confidence_level)
        else:
            assert fixed is not None  # one of the two is given
            of_control = _sums_of(some, fixed[:, columns], "control")
            figures["n_control"] = len(of_control[0].sizes)
            of_all = _sums_of(some, block, "y")
            found = _from_control(of_all, of_control, confidence_level)
        varies = some.sum_by_group(some.spread(some.coordinates(block))) > 0
        splits[:, :, groups] = np.where(varies, np.array(found), np.nan)
    return _result(read, splits, figures)


def _table_of(given: Any, name: str, outputs: Outputs) -> FloatArray:
    """Return outputs as a table with the columns of y."""
    values = read_numbers(given, name)
    values = values.reshape(len(values), -1)
    if values.shape[1] != outputs.n_columns:
        raise ValueError(
            f"{name} has shape {np.shape(given)}; expected (n_members, "
            f"{outputs.n_columns})."
        )
    return values


def _from_exact(
    outputs: Outputs, y: FloatArray, exact: FloatArray
) -> FloatArray:  # shape: (1, 5, n_groups)
    """Compare the variance of what differs from exact outputs with that of all."""
    if len(exact) != len(y) or len(y) < 2:
        raise ValueError(
            f"exact has {len(exact)} members and y {len(y)}; expected the same two or "
            "more."
        )
    refuse_failed(np.hstack([y, exact]), "y or exact")
    trained = outputs.coordinates(y)
    noise = trained - outputs.coordinates(exact, "exact")
    noise = noise - noise.mean(axis=0)
    total = outputs.sum_by_group(outputs.spread(trained))
    within = outputs.sum_by_group(np.square(noise).sum(axis=0))
    freedom = len(y) - 1.0
    share = within / np.where(total > 0, total, np.nan)
    nothing = np.full_like(share, np.nan)
    between = np.maximum(total - within, 0.0)
    rows = between / freedom, within / freedom, share, nothing, nothing
    return np.where(total > 0, np.stack(rows), np.nan)[np.newaxis]


def _result(
    outputs: Outputs,
    splits: FloatArray,  # shape: (n_measures, 5, n_groups)
    figures: dict[str, Any],
) -> Result:
    between, within, *shares = np.moveaxis(splits, 1, 0)
    columns = {"between": between, "within": within, "total": between + within}
    columns |= dict(zip(SHARES, shares, strict=True))
    origins = {
        "replicates": f"{figures['n_groups']} groups",
        "control": f"a control of {figures['n_control']} members",
        "exact": "exact outputs",
    }
    measures = MEASURES if outputs.are_compositions else ("variance",)
    return Result(
        {"measure": measures[: len(splits)], outputs.noun: outputs.names},
        columns,
        title=f"Training noise of {figures['n_members']} members, from "
        f"{origins[figures['source']]}:",
        notes=tuple(
            f"- {name}: {_share_in_words(splits[:, 2:, place])}."
            for place, name in enumerate(outputs.names)
        ),
        figures=figures | {"noise_share": splits[0, 2], "step_names": outputs.names},
    )


def _share_in_words(
    shares: FloatArray,  # shape: (n_measures, 3), each the share and its interval
) -> str:
    share, low, high = shares[0]
    if np.isnan(share):
        return "no choice, or no variance between members"
    known = f" [{low:z.0%}, {high:z.0%}]" if np.isfinite(low) else ""
    if len(shares) == 1:
        return f"{share:.0%}{known} of the variance"
    return (
        f"{share:.0%}{known} of the variance of log-ratios, {shares[1, 0]:.0%} of the "
        "divergence to the barycentre"
    )


def _sums_of(
    outputs: Outputs, y: FloatArray, name: str, group: IndexArray | None = None
) -> tuple[ConvexSums | PairSums, ...]:
    """Return the sums over groups, or over members, one for each measure."""
    values = outputs.coordinates(y, name)
    if outputs.real is not None:
        values = values[~np.isnan(values).any(axis=1)]
    if len(values) < 2:
        raise ValueError(f"{name} has {len(values)} member; a variance needs two.")
    group = np.arange(len(values)) if group is None else group
    squares = ConvexSums.of(
        lambda values: outputs.sum_by_group(np.square(values)),
        *(values - values.mean(axis=0), group),
    )
    if outputs.real is not None or outputs.geometry is None:
        return (squares,)
    layout = outputs.geometry.layout
    closed = close_compositions(y, layout, name)
    is_of_step = layout.step_of_part[:, np.newaxis] == np.arange(layout.n_steps)
    sums = is_of_step.astype(np.float64)
    return (
        squares,
        ConvexSums.of(lambda values: xlogy(values, values) @ sums, closed, group),
        PairSums.of([closed[:, c] for c in layout.slices], group),
    )


def _groups_of(replicate: IndexArray) -> IndexArray:  # shape: (n_members,)
    """Number the groups of members; refuse labels without repeats."""
    group = numbers_of(replicate)
    if group.max() + 1 == len(replicate):
        raise ValueError(
            "replicate has no repeats; expected at least two members with one label: "
            "where every member has its own, the noise of training cannot be separated "
            "from the effect of the inputs."
        )
    if not group.any():
        raise ValueError(
            "replicate has one label only; the share of training noise needs at least "
            "two labels (or control= for members of equal inputs)."
        )
    return group


def _from_replicates(
    measures: tuple[ConvexSums | PairSums, ...], confidence_level: float
) -> list[tuple[FloatArray, ...]]:
    """Return between, within and the three ``SHARES`` of each measure."""
    splits: list[tuple[FloatArray, ...]] = []
    for sums in measures:
        with np.errstate(divide="ignore", invalid="ignore"):
            whole, without = sums.components(), sums.components(True)
            # By the jackknife of the logarithm of ``between / within``.
            n_groups = len(without.between)
            pivot = np.maximum(whole.pivot, without.pivot.max(axis=0))
            error = jackknife_error(np.log(pivot + without.ratio))
            half = stats.t.ppf(0.5 + confidence_level / 2, n_groups - 1) * error
            centre = np.log(pivot + whole.ratio)
            ends = np.exp([centre - half, centre + half]) - pivot
        low, high = np.where(np.isfinite(half) & (n_groups > 2), ends, np.nan)
        between = np.maximum(whole.between, 0.0)
        shares = 1.0 / (1.0 + np.maximum([whole.ratio, high, low], 0.0))
        splits.append((between, whole.within, *shares))
    return splits


def _from_control(
    members: tuple[ConvexSums | PairSums, ...],
    control: tuple[ConvexSums | PairSums, ...],
    confidence_level: float,
) -> list[tuple[FloatArray, ...]]:
    """Compare the dispersion of the control with that of all members."""
    splits: list[tuple[FloatArray, ...]] = []
    for of_all, of_control in zip(members, control, strict=True):
        n_members, n_control = len(of_all.sizes), len(of_control.sizes)
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
