r"""Effects of named parts of an input, by recombining members.

Where a model can be solved again for any input, no expansion is needed: members lend
their parts to one another. Two recombinations :math:`A` and :math:`B` draw the member
of each part anew, and :math:`A_B^p` is :math:`A` with the part :math:`p` of :math:`B`.
With :math:`V = \tfrac12 E \lVert f(A) - f(B) \rVert^2`, the variance of the output,

.. math::

    T_p = \frac{E \lVert f(A) - f(A_B^p) \rVert^2}{2 V}, \qquad
    S_p = 1 - \frac{E \lVert f(A_B^p) - f(B) \rVert^2}{2 V}, \qquad
    T_{pq} = \frac{E \lVert f(A_B^p) - f(A_B^q) \rVert^2}{2 V}

are the total and the first-order index of a part [1]_ and the total index of a pair,
from :math:`k + 2` solutions for each draw and :math:`k` parts.

References
----------
.. [1] M. J. W. Jansen, "Analysis of variance designs for model output", Computer
   Physics Communications 117 (1999), pp. 35-43.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    RandomState,
    Steps,
    check_boolean,
    check_draws,
    check_integer,
    check_progress,
    fail,
    listed,
    make_generator,
    refuse_extremes,
)
from ..._compositions.outputs import Outputs, read_outputs
from ..._result import Result, error_in_percent
from .._input_tests import distance_correlations, smallest_p_value

OWNER = "part_effects"


def part_effects(
    model: Callable[[Any], Any],
    parts: Mapping[str, Any],
    *,
    combine: Callable[[Mapping[str, NDArray[Any]]], Any] | None = None,
    n_draws: int = 256,
    dependent: bool = True,
    sets: Mapping[str, Sequence[str]] | None = None,
    steps: Steps = None,
    outputs: OutputGroups = None,
    mask: Mask = "infer",
    batch_size: int = 1024,
    random_state: RandomState = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    r"""Say which named part of an input drives which output, by recombining members.

    For a model that can be solved again for any input, such as the exact policy of a
    reward. The input of each member is a sum of named parts; members lend their parts
    to one another, and the model is solved for the recombined inputs.

    Parameters
    ----------
    model : callable
        Maps inputs of several members, as ``combine`` returns them, to y.
    parts : dict of str to array-like of shape (n_members, ...)
        The parts of each member's input.
    combine : callable or None, default=None
        Maps parts of several members, by name, to their inputs; None adds them up.
    n_draws : int, default=256
        Pairs of recombined members. Each costs a solution for every part, and two.
    dependent : bool, default=True
        Also give the figures that do not need independent parts, for two solutions of
        each member and part.
    sets : dict of str to sequence of str, or None, default=None
        Names of sets, and the parts of each: their closed effects are estimated too,
        for one more solution of each draw and set.
    steps, outputs, mask
        What the columns of y are, as in :func:`verdict`.
    batch_size : int, default=1024
        Largest number of inputs that the model is given at once.
    random_state : int, RandomState instance or None, default=None
        Randomness of the draws.
    progress : callable or None, default=None
        Called with (solutions done, all solutions).

    Returns
    -------
    effects : Result
        One row per output (or step) and part; ``print`` gives it in words. The columns,
        each with its standard error ``..._error``, are

        first, total : ndarray of shape (n_outputs, n_parts)
            Share of the variance that the part causes alone, and with all its
            interactions.
        interaction : ndarray of shape (n_outputs, n_parts)
            Their difference.
        alone, left : ndarray of shape (n_outputs, n_parts)
            Variance when only this part varies between the members, and when all
            others do, the fixed ones at their means, over the variance of the members
            as they are. They need no independence, and have no standard error. Only
            with ``dependent``.

        Of each output ``variance_ratio`` and ``variance_ratio_error``: the variance of
        recombined members over that of the members as they are, 1 where the parts are
        independent. Further tables, each a Result, are

        pairs
            Total interaction of every two parts.
        actions
            One row per column of y (an action of a step, by its centred log-ratio) and
            part: ``first`` and ``total`` within the variance of this column, and of
            each column its ``share`` of the variance of the output that has it.
            Weighted by ``share`` they add up to ``first`` and ``total`` of the output.
        sets
            Of each output and set of parts ``closed``, the share of the variance that
            the set causes alone, with the interactions within it, and ``total``, with
            those with other parts too. Only with ``sets``.
        dependence
            Distance correlation of every two parts, and its p-value.

        Of the whole ``n_members``, ``n_draws`` and ``n_solutions``.

    Raises
    ------
    ValueError
        For fewer than two parts or four members, parts of different lengths or with
        NaN, a set of unknown parts, or a model that returns other than one row for each
        input.

    See Also
    --------
    parts_of_table : The parts of a reward on a table of factors.
    dependent_sobol_indices : Indices of dependent inputs, from an expansion.

    Notes
    -----
    *Assumption.* Parts are independent of one another; each may have any distribution.
    It is tested: an output is *supported* where ``variance_ratio`` differs from 1 by at
    most 25 %, or by at most three standard errors and 50 %, and where its standard
    error is at most 0.4.

    *Standard errors* contain the draws and the choice of the members: a draw depends on
    two members for each part, and the variance of a mean of such draws is that of an
    incomplete U-statistic, from Hoeffding's first projection [1]_. Indices are ratios,
    whose errors are those of the jackknife. They are conservative where there are many
    parts.

    References
    ----------
    .. [1] G. Blom, "Some properties of incomplete U-statistics", Biometrika 63 (1976).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import part_effects
    >>> rng = np.random.default_rng(0)
    >>> parts = {"level": rng.normal(size=300), "trend": 0.5 * rng.normal(size=300)}
    >>> effects = part_effects(lambda z: 3 * z, parts, random_state=0)
    >>> effects.total.round(1)  # 0.8 and 0.2 in the population
    array([[0.8, 0.2]])
    """
    check_boolean(OWNER, "dependent", dependent)
    solver = Solver(OWNER, model, parts, combine, batch_size, progress)
    generator = make_generator(random_state)
    names, n_members = solver.names, solver.n_members
    together = _checked_sets(sets, names)
    n_each = len(names) + 2 + len(together)
    check_draws(OWNER, "n_draws", n_draws, low=16, each=n_each)
    solver.n_solutions = n_members + n_draws * n_each
    solver.n_solutions += 2 * n_members * len(names) * dependent
    every = np.arange(n_members)
    solver.read_members(every, steps=steps, outputs=outputs, mask=mask)
    read = solver.outputs
    members = draw_pairs(n_members, len(names), n_draws, generator)
    found = Contributions.solve(solver, members, together.values())
    columns = found.closed_and_total(found.parts, "first") | found.shares(
        interaction=[found.total(one) - found.closed(one) for one in found.parts]
    )
    if dependent:  # variances with one part varying, and with one fixed at its mean
        own, means = solver.parts, solver.means
        alone = [solver.shares_of({**means, name: own[name]})[0] for name in names]
        left = [solver.shares_of({**own, name: means[name]})[0] for name in names]
        columns |= {"alone": np.array(alone).T, "left": np.array(left).T}
    ratio, error = found.variance_ratio(solver.variance)
    columns |= {"variance_ratio": ratio, "variance_ratio_error": error}
    of_pairs = found.shares(
        interaction=[
            found.total(one) + found.total(two) - found.between(one, two)
            for one, two in combinations(found.parts, 2)
        ]
    )
    pairs = {"pair": tuple(f"{one} and {two}" for one, two in combinations(names, 2))}
    tables = [
        np.reshape(values, (len(values), -1)).astype(np.float64)
        for values in solver.parts.values()
    ]
    above = np.triu_indices(len(tables), k=1)
    distance, p_values = (own[above] for own in distance_correlations(tables))
    figures = {
        "n_members": n_members,
        "n_draws": n_draws,
        "n_solutions": solver.n_solutions,
        "pairs": Result({read.noun: read.names} | pairs, of_pairs),
        "actions": _table_of_actions(replace(found, by_group=False), names),
        "dependence": Result(
            pairs, {"distance_correlation": distance, "p_value": p_values}
        ),
    }
    if sets is not None:
        keys = {read.noun: read.names, "set": tuple(together)}
        figures["sets"] = Result(keys, found.closed_and_total(found.sets))
    return _table(read, names, columns, figures)


def _checked_sets(sets: Any, names: Sequence[str]) -> dict[str, IndexArray]:
    """Return the positions of the parts of each set."""
    if sets is None:
        return {}
    if not isinstance(sets, Mapping) or not sets:
        raise fail(OWNER, "sets", "a dict of names to names of parts, or None", sets)
    found = {}
    for name, members in sets.items():
        known = ", ".join(map(repr, names))
        expected = f"a sequence of some of the parts {known}"
        chosen = listed(members, f"The set {name!r} of sets", expected)
        if not chosen or not all(one in names for one in chosen):
            raise ValueError(
                f"The set {name!r} of sets is {members!r}; expected {expected}."
            )
        found[str(name)] = np.array([i for i, n in enumerate(names) if n in chosen])
    return found


def _table_of_actions(found: Contributions, names: Sequence[str]) -> Result:
    """Return the effects on each column of y, and its share of its output."""
    outputs = found.outputs
    group = outputs.group_of_coordinate
    own = [outputs.names[i] for i in group]
    columns = found.closed_and_total(found.parts, "first")
    variance = found.whole.mean(axis=0)
    whole = outputs.sum_by_group(variance)[group]
    share = variance / np.where(whole > 0, whole, np.nan)
    parts = [outputs.layout.part_names[k] for k in outputs.column_of_coordinate]
    labels = [
        name if name == output else f"{output}: {name}"
        for output, name in zip(own, parts, strict=True)
    ]
    return Result(
        {"action": tuple(labels), "part": tuple(names)},
        {outputs.noun: np.array(own, dtype=object), "share": share, **columns},
        printed=("total", "first"),
    )


# Recombined members may have this much more or less variance than the members; up to
# the second one where it is not settled by three standard errors; and a ratio with a
# larger standard error than the last one settles nothing.
_TOLERANCE, _LARGEST, _UNSETTLED = 0.25, 0.5, 0.4


def _table(
    outputs: Outputs,
    names: Sequence[str],
    columns: dict[str, FloatArray],
    figures: dict[str, Any],
) -> Result:
    """Put the effects into words."""
    ratio, error = columns["variance_ratio"], columns["variance_ratio_error"]
    reasons, facts = [], []
    for group in range(outputs.n_groups):
        reason: tuple[str, ...] = ()
        apart = abs(ratio[group] - 1.0)
        if not np.isfinite(ratio[group]):
            reason = ("no choice, or no variance between members",)
        elif apart > max(_TOLERANCE, min(3.0 * error[group], _LARGEST)):
            reason = (
                f"recombined members have {ratio[group]:.2f} times the variance of the "
                "members: the parts are dependent, or few members carry the variance",
            )
        elif error[group] > _UNSETTLED:
            reason = (
                "too few draws to say whether the parts are independent: recombined "
                f"members have {ratio[group]:.2f} ± {error[group]:.2f} times the "
                "variance of the members",
            )
        reasons.append(reason)
        known = np.isfinite(ratio[group])
        facts.append(_leading(names, columns, group) if known else "")
    dependent = figures["dependence"]
    smallest = smallest_p_value(dependent.p_value)
    distances = np.nan_to_num(dependent.distance_correlation, nan=-1.0)
    largest, most = int(np.argmax(distances)), ""
    if distances[largest] >= 0:
        pair = dependent.keys["pair"][largest]
        most = f"largest distance correlation {distances[largest]:.2f} ({pair}), "
    return Result(
        {outputs.noun: outputs.names, "part": tuple(names)},
        columns,
        supported=tuple(not reason for reason in reasons),
        reasons=tuple(reasons),
        facts=tuple(facts),
        notes=(
            f"From {figures['n_draws']} draws of {figures['n_members']} members, "
            f"{figures['n_solutions']} solutions; ± is a standard error.",
            f"Independence: {most}smallest p-value of two parts {smallest:.2g} over "
            "all pairs.",
        ),
        figures=figures,
        printed=("total", "first"),
    )


def _leading(names: Sequence[str], columns: dict[str, FloatArray], group: int) -> str:
    """Name the three parts that explain most, alone."""
    first, errors = columns["first"][group], columns["first_error"][group]
    together = round(1.0 - float(first.sum()), 2) + 0.0  # no sign before zero
    ratio = columns["variance_ratio"][group]
    alone = ", ".join(
        f"{names[i]} {first[i]:z.0%} ± {error_in_percent(errors[i])}"
        for i in np.argsort(-first, kind="stable")[:3]
    )
    return (
        f"alone {alone}; interactions {together:z.0%}; "
        f"recombined variance {ratio:.2f} of the members'"
    )


@dataclass(frozen=True, eq=False)
class Contributions:
    """Half squared distances of each draw, of which all effects are means."""

    outputs: Outputs
    members: IndexArray  # (2, n_draws, n_parts): those of A and of B
    first: FloatArray  # (n_draws, n_coordinates): of A
    second: FloatArray  # (n_draws, n_coordinates): of B
    parts: list[FloatArray]  # each (n_draws, n_coordinates): of A with a part of B
    sets: list[FloatArray]  # the same: of A with several parts of B
    by_group: bool = True  # else by coordinate

    @classmethod
    def solve(
        cls, solver: Solver, members: IndexArray, sets: Iterable[IndexArray]
    ) -> Contributions:
        """Solve for A, for B, and for A with each part, and each set, of B."""
        first, second = members

        def exchanged(places: Iterable[Any]) -> list[FloatArray]:
            found = []
            for place in places:
                rows = first.copy()
                rows[:, place] = second[:, place]
                found.append(solver.of_members(rows))
            return found

        return cls(
            solver.outputs,
            members,
            solver.of_members(first),
            solver.of_members(second),
            exchanged(range(first.shape[1])),
            exchanged(sets),
        )

    @cached_property
    def sharing(self) -> list[csr_array]:
        """Of each part, which member is in which draw; (n_members, n_draws)."""
        n_draws = self.members.shape[1]
        draws = np.tile(np.arange(n_draws), 2)
        ones = np.ones(2 * n_draws)
        return [
            csr_array((ones, (members.ravel(), draws)))
            for members in np.moveaxis(self.members, 2, 0)
        ]

    def add_up(self, values: FloatArray) -> FloatArray:
        """Add up coordinates in groups."""
        return self.outputs.sum_by_group(values) if self.by_group else values

    def between(
        self, one: FloatArray, two: FloatArray
    ) -> FloatArray:  # shape: (n_draws, n_groups)
        """Return half the squared distance of two recombinations of each draw."""
        return self.add_up(0.5 * np.square(one - two))

    @cached_property
    def whole(self) -> FloatArray:  # shape: (n_draws, n_groups)
        """From A to B, of which the mean is the variance."""
        return self.between(self.first, self.second)

    def total(self, exchanged: FloatArray) -> FloatArray:
        """From A to A with something of B: what it causes with all interactions.

        Of independent draws the mean has no bias: ``recombination_total``, checked in
        ``lean/Core``.
        """
        return self.between(self.first, exchanged)

    def closed(self, exchanged: FloatArray) -> FloatArray:
        """What is left of the whole: what something causes alone.

        Of independent draws the mean has no bias: ``recombination_closed``, checked in
        ``lean/Core`` for the variance itself in place of ``whole``.
        """
        return self.whole - self.between(exchanged, self.second)

    def shares(
        self, **columns: Iterable[FloatArray]
    ) -> dict[str, FloatArray]:  # each of shape (n_groups, n_values)
        """Return means of values of draws as shares of the variance, with errors."""
        varies = self.add_up(self.outputs.spread(self.first)) > 0
        sums = np.where(varies, self.whole.sum(axis=0), np.nan)[:, np.newaxis]
        table: dict[str, FloatArray] = {}
        for name, values in columns.items():
            stacked = np.stack(list(values), axis=2)
            table[name] = stacked.sum(axis=0) / sums
            whole = np.broadcast_to(self.whole[:, :, np.newaxis], stacked.shape)
            flat = (len(stacked), -1)
            residuals = (stacked - table[name] * whole).reshape(flat)
            errors = self._standard_error(residuals, whole.reshape(flat))
            table[f"{name}_error"] = errors.reshape(table[name].shape)
        return table

    def variance_ratio(
        self, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return the variance of the draws over a given one, with its error."""
        scaled = self.whole / np.where(variance > 0, variance, np.nan)
        mean = scaled.mean(axis=0)
        return mean, self._standard_error(scaled - mean, np.ones_like(scaled))

    def closed_and_total(
        self, exchanged: Sequence[FloatArray], name: str = "closed"
    ) -> dict[str, FloatArray]:
        """Return closed and total effects, with errors; (n_groups, n_exchanged)."""
        closed, total = map(self.closed, exchanged), map(self.total, exchanged)
        return self.shares(**{name: closed, "total": total})

    def _standard_error(
        self,
        residuals: FloatArray,  # shape: (n_draws, n_groups)
        weights: FloatArray,  # shape: (n_draws, n_groups)
    ) -> FloatArray:  # shape: (n_groups,)
        r"""Return the standard error of a ratio of means over draws that share members.

        Each draw depends on two members for each part. With :math:`\zeta_p` the
        variance of its expectation given one of them (Hoeffding's first projection),
        :math:`\sigma^2` that of a draw and :math:`c_{pi}` the number of draws of the
        member :math:`i` for the part :math:`p`, a mean over :math:`m` draws has the
        variance :math:`\sigma^2 / m + \sum_p \zeta_p (\sum_i c_{pi}^2 - 2 m) / m^2`.
        A draw, or all draws of a member, count by what the ratio changes when they are
        left out (jackknife): the ratio's own denominator has seen them. Each estimate
        of :math:`\zeta_p` is clipped at 0, which is conservative where there are many
        parts: unbiased sums are of so few members too uncertain for their root.
        """
        n_draws = len(residuals)
        sums = weights.sum(axis=0)
        alone = (n_draws - 1) * residuals / _positive(sums - weights)
        sigma = np.square(alone).sum(axis=0) / (n_draws - 1)
        plain = n_draws * residuals / _positive(sums)
        squares = 2.0 * np.square(plain).sum(axis=0)
        projections, shared = np.zeros_like(sigma), np.zeros_like(sigma)
        for sharing in self.sharing:
            counts = np.diff(sharing.indptr).astype(np.float64)
            of_member = sharing[counts > 0]
            counts = counts[counts > 0][:, np.newaxis]
            n_used, n_places = len(counts), 2 * n_draws
            if n_places <= n_used or n_used < 3:
                continue
            summed, weighed = of_member @ residuals, of_member @ weights
            rest = _positive(sums - weighed) * counts
            without = (n_draws - counts) * summed / rest
            between = (counts * np.square(without)).sum(axis=0)
            within = squares - (np.square(of_member @ plain) / counts).sum(axis=0)
            size = (n_places - np.square(counts).sum() / n_places) / (n_used - 1)
            zeta = (between / (n_used - 1) - within / (n_places - n_used)) / size
            # Members differ from the mean of all by (n - 2) / (n - 1) of themselves:
            # their partners are the others.
            zeta = np.maximum(zeta, 0.0) * ((n_used - 1) / (n_used - 2)) ** 2
            projections += zeta
            shared += zeta * (np.square(counts).sum() - n_places)
        # No more than all the variance of a draw can be due to single members.
        too_much = 2.0 * projections > sigma
        scale = np.divide(
            sigma, 2.0 * projections, out=np.ones_like(sigma), where=too_much
        )
        return np.sqrt(sigma / n_draws + scale * np.maximum(shared, 0.0) / n_draws**2)


def _positive(values: FloatArray) -> FloatArray:
    """Return positive values, NaN in place of others."""
    return np.where(values > 0, values, np.nan)


def sum_of_parts(chosen: Mapping[str, NDArray[Any]]) -> Any:
    """Add up the parts, as real numbers whatever their types are."""
    shapes = {values.shape[1:] for values in chosen.values()}
    if len(shapes) > 1:
        raise ValueError(
            f"parts have the shapes {sorted(shapes)} of a member; expected one shape, "
            "so that they add up, or combine=."
        )
    return reduce(np.add, (values.astype(np.float64) for values in chosen.values()))


class Solver:
    """Solves a model for members put together from parts, and reads its outputs."""

    parts: dict[str, NDArray[Any]]
    outputs: Outputs
    n_solutions: int  # of all, as far as they are known
    squares: FloatArray  # of the members as they are, shape: (n_rows, n_groups)

    def __init__(
        self,
        owner: str,
        model: Any,
        parts: Any,
        combine: Any,
        batch_size: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        check_integer(owner, "batch_size", batch_size, low=1)
        if not callable(model):
            raise fail(owner, "model", "callable", model)
        if combine is not None and not callable(combine):
            raise fail(owner, "combine", "callable or None", combine)
        check_progress(owner, progress)
        self.owner, self.model, self.combine = owner, model, combine or sum_of_parts
        if not isinstance(parts, Mapping) or len(parts) < 2:
            raise fail(owner, "parts", "a dict of two or more names to arrays", parts)
        self.parts = {}
        for name, values in parts.items():
            if not isinstance(name, str):
                raise fail(owner, "parts", "a dict with names that are str", name)
            array = np.asarray(values)
            if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
                raise ValueError(
                    f"The part {name!r} of parts has values that are no finite "
                    "numbers; expected finite ones."
                )
            refuse_extremes(array.reshape(-1), f"The part {name!r} of parts")
            self.parts[name] = array
        sizes = {name: len(a) if a.ndim else 0 for name, a in self.parts.items()}
        if len(set(sizes.values())) > 1 or min(sizes.values()) < 4:
            shown = ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
            raise ValueError(
                f"All parts must be of the same four or more members. Got {shown}."
            )
        self.batch_size, self.progress = batch_size, progress
        self.names = tuple(self.parts)
        self.n_members = sizes[self.names[0]]
        self.n_done = 0

    @cached_property
    def means(self) -> dict[str, FloatArray]:
        """Each part at its mean over the members, in the shape of all members."""
        return {
            name: np.broadcast_to(values.mean(axis=0), values.shape)
            for name, values in self.parts.items()
        }

    def read_members(self, rows: IndexArray, **columns: Any) -> None:
        """Solve for members as they are, and read what the columns of y are.

        The squares of an output that does not vary are NaN.
        """
        y = self._solve(len(rows), lambda some: _of_rows(self.parts, rows[some]))
        mask = columns["mask"]
        if y.ndim == 1 and not (isinstance(mask, str) and mask == "infer"):
            raise ValueError(
                f"mask={mask!r} is of probabilities, and model returned shape "
                f"{y.shape}; expected (n_members, n_parts), or no mask."
            )
        self.outputs = read_outputs(y, self.owner, **columns)
        squares = self._squares_of(self.outputs.coordinates(y))
        self.squares = np.where(squares.any(axis=0), squares, np.nan)

    @property
    def variance(self) -> FloatArray:  # shape: (n_groups,), NaN where it is zero
        """Variance between members of each group."""
        return self.squares.sum(axis=0) / (len(self.squares) - 1)

    def coordinates(
        self, size: int, chosen: Callable[[slice], Mapping[str, NDArray[Any]]]
    ) -> FloatArray:  # shape: (size, n_coordinates)
        """Solve for inputs whose parts are chosen a batch at a time."""
        return self.outputs.coordinates(self._solve(size, chosen))

    def of_members(self, members: IndexArray) -> FloatArray:
        """Return coordinates of y for rows of members, a column for each part."""

        def chosen(some: slice) -> dict[str, NDArray[Any]]:
            columns = zip(self.parts.items(), members[some].T, strict=True)
            return {name: values[own] for (name, values), own in columns}

        return self.coordinates(len(members), chosen)

    def shares_of(
        self, chosen: Mapping[str, NDArray[Any]]
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return the variance for given parts over that of the members, with errors."""
        n = len(self.squares)
        own = self._squares_of(self.coordinates(n, lambda some: _of_rows(chosen, some)))
        mean = self.squares.mean(axis=0)
        ratio = own.mean(axis=0) / mean
        deviation = (own - ratio * self.squares) / mean
        return ratio, deviation.std(axis=0, ddof=1) / np.sqrt(n)

    def _squares_of(
        self,
        coordinates: FloatArray,  # shape: (n, n_coordinates)
    ) -> FloatArray:  # shape: (n, n_groups)
        """Return squared distances from the mean in each group; 0 for rounding."""
        varies = self.outputs.spread(coordinates) > 0
        centred = np.where(varies, coordinates - coordinates.mean(axis=0), 0.0)
        return self.outputs.sum_by_group(np.square(centred))

    def _solve(
        self, size: int, chosen: Callable[[slice], Mapping[str, NDArray[Any]]]
    ) -> FloatArray:
        found = []
        for start in range(0, size, self.batch_size):
            some = slice(start, min(start + self.batch_size, size))
            n_inputs, combined = some.stop - start, self.combine(chosen(some))
            y = np.asarray(self.model(combined), dtype=np.float64)
            if y.ndim not in (1, 2) or len(y) != n_inputs:
                raise ValueError(
                    f"model returned shape {y.shape} for {n_inputs} inputs; expected "
                    f"({n_inputs},) or ({n_inputs}, n_columns)."
                )
            if self.n_done and np.isnan(y).any():
                row = int(np.argwhere(np.isnan(y))[0, 0])
                raise ValueError(
                    f"model returned NaN for input {row} of {n_inputs} that were put "
                    "together from parts of several members; expected numbers for any "
                    "combination."
                )
            self.n_done += n_inputs
            if self.progress is not None:
                self.progress(self.n_done, self.n_solutions)
            found.append(y)
        return np.concatenate(found)


def _of_rows(parts: Mapping[str, NDArray[Any]], rows: Any) -> dict[str, NDArray[Any]]:
    return {name: values[rows] for name, values in parts.items()}


def draw_pairs(
    n_members: int, n_parts: int, n_draws: int, generator: np.random.Generator
) -> IndexArray:  # shape: (2, n_draws, n_parts)
    """Draw two different members for each part, each equally often in both places.

    In each round the members stand in a circle, and the second of a draw stands a
    random number of places behind the first. Two different members are independent
    draws of what members are drawn from; over all pairs of those that there are, half
    the squared distance has as its mean their variance of ddof 1
    (``recombination_pairs``, checked in ``lean/Core``).
    """
    found = np.empty((2, n_draws, n_parts), dtype=np.int64)
    n_rounds = -(-n_draws // n_members)
    for part in range(n_parts):
        circles = [generator.permutation(n_members) for _ in range(n_rounds)]
        shifts = generator.integers(1, n_members, size=n_rounds)
        rolled = [np.roll(*pair) for pair in zip(circles, shifts, strict=True)]
        found[0, :, part] = np.concatenate(circles)[:n_draws]
        found[1, :, part] = np.concatenate(rolled)[:n_draws]
    return found
