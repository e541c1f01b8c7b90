"""How much of the disagreement of members is their inputs, how much their training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    Steps,
    check_real,
)
from ..._compositions.outputs import Outputs, read_outputs
from ..._expansion.expansion import read_numbers
from ..._result import Result
from ...drivers._design import numbers_of, sum_of
from .members import labels_of


@dataclass(frozen=True)
class Squares:
    """Sums over groups of members; squared distances from means add up exactly."""

    outputs: Outputs
    sizes: FloatArray  # (n_groups, 1): number of members
    sums: FloatArray  # (n_groups, n_coordinates): sums of the values
    of_members: FloatArray  # (n_groups, n_steps): sums of their squares
    of_means: FloatArray  # the same for the group means

    @classmethod
    def of(
        cls,
        outputs: Outputs,
        y: FloatArray,  # shape: (n_members, n_columns)
        name: str,
        group: IndexArray | None = None,  # shape: (n_members,); None: each its own
    ) -> Squares:
        """Add up coordinates of members; of real outputs of those that did not fail."""
        values = outputs.coordinates(y, name)
        if outputs.real is not None:
            values = values[~np.isnan(values).any(axis=1)]
        if len(values) < 2:
            raise ValueError(f"{name} has {len(values)} member; a variance needs two.")
        group = np.arange(len(values)) if group is None else group
        values = values - values.mean(axis=0)
        sizes = sum_of(np.ones((len(values), 1)), group)
        sums = sum_of(values, group)
        members = sum_of(outputs.sum_by_group(np.square(values)), group)
        means = sizes * outputs.sum_by_group(np.square(sums / sizes))
        return cls(outputs, sizes, sums, members, means)

    def _totals(self, per_group: FloatArray) -> FloatArray:
        """Sum over all groups, then over all but each; shape (1 + n_groups, ...)."""
        total = per_group.sum(axis=0)
        return total - np.vstack([np.zeros_like(total), per_group])

    def _between(self) -> FloatArray:
        """Squared distances of the group means from the mean, once a member."""
        size = self._totals(self.sizes)
        square = np.square(self._totals(self.sums) / size)
        return self._totals(self.of_means) - size * self.outputs.sum_by_group(square)

    def components(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """One-way random effects by analysis of variance, for unequal group sizes.

        Of all groups, then without each: the component between groups, which may be
        negative, that within, and what an extreme ratio of them cannot be below.
        """
        size, of_means = self._totals(self.sizes), self._totals(self.of_means)
        n_groups = len(self.sizes) - np.sign(np.arange(len(size)))[:, np.newaxis]
        within = (self._totals(self.of_members) - of_means) / (size - n_groups)
        within = np.maximum(within, 0.0)
        square = self._totals(np.square(self.sizes))
        typical = (size - square / size) / (n_groups - 1)
        between = self._between() / (n_groups - 1) - within
        return between / typical, within, 1.0 / typical

    def dispersion(self) -> FloatArray:  # shape: (1 + n_groups, n_steps)
        """Dispersion of the group means over the number of members less one."""
        return np.maximum(self._between(), 0.0) / (self._totals(self.sizes) - 1)


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """Return the standard error from estimates without each group; (n_steps,)."""
    n_groups = len(left_out)
    centred = left_out - left_out.mean(axis=0)
    return np.sqrt((n_groups - 1) / n_groups * np.square(centred).sum(axis=0))


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

    Members with equal inputs, replicates (``replicate``) or a control (``control``),
    show the disagreement that would remain if the inputs were known.

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
        Of real outputs, as in :func:`verdict`.

    Returns
    -------
    decomposition : Result
        One row per step, or output; ``print`` gives words. Its columns, also of
        ``decomposition.aitchison_variance`` (of real outputs ``variance``), have NaN
        for a step without choice or whose members do not differ:

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

        Further attributes are ``step_names``, ``source`` ("replicates", "control" or
        "exact"), ``n_members``, ``n_groups`` (of replicates), ``n_control`` and
        ``confidence_level``.

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
    :math:`x_{rj} = \mu + b_r + e_{rj}` (random effects) in centred log-ratios. With
    group means :math:`m_r`, sizes :math:`n_r`, :math:`g` groups and :math:`N` members,
    the sum of squares :math:`\sum_{rj} \lVert x_{rj} - m \rVert^2` is

    .. math::

        \underbrace{\sum_{rj} \lVert x_{rj} - m_r \rVert^2}_{W} +
        \underbrace{\sum_r n_r \lVert m_r - m \rVert^2}_{B},

    and ``within`` :math:`= W / (N - g)`, ``between`` :math:`= (B / (g - 1) -
    \text{within}) / n_0` with :math:`n_0 = (N - \sum_r n_r^2 / N) / (g - 1)`: the
    analysis of variance for unequal groups [1]_, unbiased.

    *Control.* ``within`` is the dispersion of the control, the total that of y.

    *Exact.* ``within`` is the variance of y less ``exact``, so that a constant bias
    does not count. A bias that depends on the inputs is noise here; replicates share it
    and show it as an effect of the inputs. The share may be above 1.

    *Intervals* are jackknifed over groups on the scale of the logarithm of the ratio
    of mean squares, with Student's quantile for :math:`g - 1` degrees of freedom [2]_;
    over the members of y and of the control with Welch's degrees of freedom. No
    normal distribution is assumed of members or groups. They are NaN with fewer than
    three groups.

    References
    ----------
    .. [1] S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components", Wiley,
       1992, section 3.6.
    .. [2] J. N. Arvesen and T. H. Schmitz, "Robust procedures for variance component
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
    - step0: 20% [16%, 25%] of the variance of log-ratios.
    """
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
    split = np.full((5, read.n_groups), np.nan)
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
            group = numbers_of(labels[rows])
            if group.max() + 1 == len(group):
                raise ValueError(
                    "replicate has no repeats; expected at least two members with one "
                    "label: where every member has its own, the noise of training "
                    "cannot be separated from the effect of the inputs."
                )
            if not group.any():
                raise ValueError(
                    "replicate has one label only; the share of training noise needs "
                    "at least two labels (or control= for members of equal inputs)."
                )
            figures["n_groups"] = int(group.max()) + 1
            squares = Squares.of(some, block, "y", group)
            found = _from_replicates(squares, confidence_level)
        else:
            assert fixed is not None  # one of the two is given
            of_control = Squares.of(some, fixed[:, columns], "control")
            figures["n_control"] = len(of_control.sizes)
            of_all = Squares.of(some, block, "y")
            found = _from_control(of_all, of_control, confidence_level)
        varies = some.sum_by_group(some.spread(some.coordinates(block))) > 0
        split[:, groups] = np.where(varies, found, np.nan)
    return _result(read, split, figures)


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
) -> FloatArray:  # shape: (5, n_groups)
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
    return np.where(total > 0, np.stack(rows), np.nan)


def _result(
    outputs: Outputs,
    split: FloatArray,  # shape: (5, n_groups)
    figures: dict[str, Any],
) -> Result:
    between, within, *shares = split[:, np.newaxis]
    columns = {"between": between, "within": within, "total": between + within}
    columns |= dict(zip(SHARES, shares, strict=True))
    origins = {
        "replicates": f"{figures['n_groups']} groups",
        "control": f"a control of {figures['n_control']} members",
        "exact": "exact outputs",
    }
    of_what = "variance of log-ratios" if outputs.are_compositions else "variance"
    notes = []
    for name, share, low, high in zip(outputs.names, *split[2:], strict=True):
        said = "no choice, or no variance between members"
        if not np.isnan(share):
            known = f" [{low:z.0%}, {high:z.0%}]" if np.isfinite(low) else ""
            said = f"{share:.0%}{known} of the {of_what}"
        notes.append(f"- {name}: {said}.")
    measure = "aitchison_variance" if outputs.are_compositions else "variance"
    return Result(
        {"measure": (measure,), outputs.noun: outputs.names},
        columns,
        title=f"Training noise of {figures['n_members']} members, from "
        f"{origins[figures['source']]}:",
        notes=tuple(notes),
        figures=figures | {"noise_share": split[2], "step_names": outputs.names},
    )


def _from_replicates(squares: Squares, confidence_level: float) -> FloatArray:
    """Return between, within and the three ``SHARES``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        between, within, least = squares.components()
        # By the jackknife of the logarithm of ``between / within``.
        ratios, n_groups = between / within, len(squares.sizes)
        ratio, pivot = ratios[0], least.max(axis=0)
        error = jackknife_error(np.log(pivot + ratios[1:]))
        half = stats.t.ppf(0.5 + confidence_level / 2, n_groups - 1) * error
        centre = np.log(pivot + ratio)
        ends = np.exp([centre - half, centre + half]) - pivot
    low, high = np.where(np.isfinite(half) & (n_groups > 2), ends, np.nan)
    shares = 1.0 / (1.0 + np.maximum([ratio, high, low], 0.0))
    return np.stack([np.maximum(between[0], 0.0), within[0], *shares])


def _from_control(
    of_all: Squares, of_control: Squares, confidence_level: float
) -> FloatArray:
    """Compare the dispersion of the control with that of all members."""
    n_members, n_control = len(of_all.sizes), len(of_control.sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        every, fixed = of_all.dispersion(), of_control.dispersion()
        total, within = every[0], fixed[0]
        share = within / total
        one = np.square(jackknife_error(np.log(every[1:])))
        two = np.square(jackknife_error(np.log(fixed[1:])))
        freedom = np.square(one + two) / (
            np.square(one) / (n_members - 1) + np.square(two) / (n_control - 1)
        )
        quantile = stats.t.ppf(0.5 + confidence_level / 2, freedom)
        half = quantile * np.sqrt(one + two)
        known = np.isfinite(half) & (n_members > 2) & (n_control > 2)
        factor = np.where(known, np.exp(half), np.nan)
    shares = share, share / factor, share * factor
    return np.stack([np.maximum(total - within, 0.0), within, *shares])
