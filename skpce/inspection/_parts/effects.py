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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    RandomState,
    Steps,
    check_boolean,
    check_draws,
    fail,
    listed,
    make_generator,
)
from ..._compositions.outputs import Outputs
from ..._result import Result, error_in_percent
from .._input_tests import distance_correlations, smallest_p_value
from .contributions import Contributions
from .recombination import Solver, draw_pairs

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
