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
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from .._checks import (
    FloatArray,
    IndexArray,
    check_boolean,
    check_integer,
    fail,
    finite_floats,
    make_generator,
)
from .._compositions.outputs import Outputs, read_outputs
from ._input_tests import smallest_p_value
from ._result import Result

OWNER = "part_effects"


@dataclass(frozen=True)
class Recombination:
    """A model of inputs that are put together from parts of members."""

    model: Callable[[Any], Any]
    parts: Mapping[str, NDArray[Any]]  # each of shape (n_members, ...)
    combine: Callable[[Mapping[str, NDArray[Any]]], Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.parts)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(next(iter(self.parts.values())))

    def of_parts(self, chosen: Mapping[str, NDArray[Any]]) -> Any:
        """Solve for given parts."""
        return self.model(self.combine(chosen))


def part_effects(
    model: Callable[[Any], Any],
    parts: Mapping[str, Any],
    *,
    combine: Callable[[Mapping[str, NDArray[Any]]], Any] | None = None,
    n_draws: int = 256,
    shapley: bool = False,
    dependent: bool = True,
    steps: Any = None,
    outputs: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
    standardize: bool = False,
    batch_size: int = 1024,
    random_state: Any = None,
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
    shapley : bool, default=False
        Also estimate Shapley effects, for as many solutions again.
    dependent : bool, default=True
        Also give the figures that do not need independent parts, for two solutions of
        each member and part.
    steps, outputs, mask, zero_replacement, standardize
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
        shapley : ndarray of shape (n_outputs, n_parts)
            Shapley effects, which add up to one. Only with ``shapley``.
        alone, left : ndarray of shape (n_outputs, n_parts)
            Variance when only this part varies between the members, and when all
            others do, the fixed ones at their means, over the variance of the members
            as they are. They need no independence, and have no standard error. Only
            with ``dependent``.

        Of each output ``variance_ratio`` and ``variance_ratio_error``: the variance of
        recombined members over that of the members as they are, 1 where the parts are
        independent. Of the whole: ``pairs``, a Result with the total interaction of
        every two parts; ``dependence``, one with the distance correlation of every two
        parts and its p-value; ``n_members``, ``n_draws`` and ``n_solutions``.

    Raises
    ------
    ValueError
        For fewer than two parts or four members, parts of different lengths or with
        NaN, or a model that returns other than one row for each input.

    See Also
    --------
    parts_of_table : The parts of a reward on a table of factors.
    dependent_sobol_indices : Indices of dependent inputs, from an expansion.

    Notes
    -----
    *Assumption.* Parts are independent of one another; each may have any distribution.
    It is tested: an output is *supported* where ``variance_ratio`` differs from 1 by at
    most three standard errors or by at most 25 %.

    *Standard errors* contain the draws and the choice of the members: a draw depends on
    two members for each part, and the variance of a mean of such draws is that of an
    incomplete U-statistic, from Hoeffding's first projection [1]_. Indices are ratios,
    linearised.

    References
    ----------
    .. [1] G. Blom, "Some properties of incomplete U-statistics", Biometrika 63 (1976).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import part_effects
    >>> rng = np.random.default_rng(0)
    >>> parts = {"level": rng.normal(size=(80, 1)), "trend": rng.normal(size=(80, 1))}
    >>> effects = part_effects(lambda z: 3 * z[:, 0], parts, random_state=0)
    >>> effects.total.round(1)
    array([[0.5, 0.5]])
    """
    check_integer(OWNER, "n_draws", n_draws, low=16)
    check_integer(OWNER, "batch_size", batch_size, low=1)
    check_boolean(OWNER, "shapley", shapley)
    check_boolean(OWNER, "dependent", dependent)
    if progress is not None and not callable(progress):
        raise fail(OWNER, "progress", "callable or None", progress)
    named = _checked_parts(parts)
    source = Recombination(model, named, combine or _sum_of_parts)
    generator = make_generator(random_state)
    n_parts, n_members = len(named), source.n_members
    n_solutions = n_members + n_draws * (n_parts + 2 + shapley * (n_parts - 2))
    n_solutions += 2 * n_members * n_parts * dependent
    solver = _Solver(source, batch_size, n_solutions, progress)
    y = solver.of_parts(named)
    read = read_outputs(
        y,
        OWNER,
        steps=steps,
        outputs=outputs,
        mask=mask,
        zero_replacement=zero_replacement,
        standardize=standardize,
    )
    solver.outputs = read
    own = read.coordinates(y)
    spread = read.sum_by_group(read.spread(own)) / (n_members - 1)
    found = _contributions(solver, draw_pairs(n_members, n_parts, n_draws, generator))
    columns = _indices(found)
    if shapley:
        columns |= _shapley(solver, found, generator)
    if dependent:
        columns |= _without_independence(solver, spread)
    ratio, error = found.mean_over(found.whole, spread)
    columns |= {"variance_ratio": ratio, "variance_ratio_error": error}
    figures = {
        "n_members": n_members,
        "n_draws": n_draws,
        "n_solutions": n_solutions,
        "pairs": _table_of_pairs(found, read, source.names),
        "dependence": _table_of_dependence(named),
    }
    return _table(read, source.names, columns, figures)


def parts_of_table(
    table: ArrayLike, factors: Sequence[str], *, order: int = 2, rest: str = "the rest"
) -> dict[str, FloatArray]:
    r"""Split a table of factors into main effects, pairs and the rest.

    Parameters
    ----------
    table : array-like of shape (n_members, n_levels_1, ..., n_levels_d)
        A value of each member for every combination of levels, such as the logarithm
        of a reward.
    factors : sequence of str
        Name of each of the d axes.
    order : int, default=2
        Largest number of factors in a part of its own.
    rest : str, default="the rest"
        Name of what is left. There is none where ``order`` is the number of factors.

    Returns
    -------
    parts : dict of str to ndarray of the shape of ``table``
        ``"mean"``, one part for each factor, ``"a × b"`` for each pair, and so on, and
        the rest; they add up to the table. They are orthogonal under uniform weights of
        the levels (functional analysis of variance).

    Raises
    ------
    ValueError
        If ``factors`` does not name every axis once, or the table has NaN.

    See Also
    --------
    part_effects : Takes the parts.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import parts_of_table
    >>> table = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> parts = parts_of_table(table, ["base", "ligand"])
    >>> list(parts)
    ['mean', 'base', 'ligand', 'base × ligand']
    >>> parts["base"][0]
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    values = finite_floats("parts_of_table", "table", table, "finite numbers")
    names = [str(name) for name in factors]
    n_factors = values.ndim - 1
    if len(names) != n_factors or len(set(names)) < n_factors or n_factors < 1:
        raise ValueError(
            f"factors must name each of {n_factors} axes behind the members once. Got "
            f"{names}."
        )
    check_integer("parts_of_table", "order", order, low=1)
    parts: dict[str, FloatArray] = {}
    effects: dict[tuple[int, ...], FloatArray] = {}
    for size in range(min(order, n_factors) + 1):
        for chosen in combinations(range(n_factors), size):
            others = tuple(i + 1 for i in range(n_factors) if i not in chosen)
            effect = values.mean(axis=others, keepdims=True) if others else values
            for smaller, known in effects.items():
                if set(smaller) < set(chosen):
                    effect = effect - known
            effects[chosen] = effect
            name = " × ".join(names[i] for i in chosen) or "mean"
            parts[name] = np.broadcast_to(effect, values.shape)
    if order < n_factors:
        parts[rest] = values - np.sum(list(parts.values()), axis=0)
    return parts


def _checked_parts(parts: Any) -> dict[str, NDArray[Any]]:
    """Return the parts as arrays of one number of members."""
    if not isinstance(parts, Mapping) or len(parts) < 2:
        raise fail(OWNER, "parts", "a dict of two or more names to arrays", parts)
    found = {}
    for name, values in parts.items():
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise ValueError(
                f"The part {name!r} has values that are no finite numbers."
            )
        found[str(name)] = array
    sizes = {name: len(array) if array.ndim else 0 for name, array in found.items()}
    if len(set(sizes.values())) > 1 or min(sizes.values()) < 4:
        raise ValueError(
            "All parts must be of the same four or more members. Got "
            + ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
            + "."
        )
    return found


class _Solver:
    """Solves a model in batches, counts the solutions and reads its outputs."""

    outputs: Outputs

    def __init__(
        self,
        source: Recombination,
        batch_size: int,
        n_solutions: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.source, self.batch_size = source, batch_size
        self.n_solutions, self.progress = n_solutions, progress
        self.n_done = 0

    def of_parts(self, chosen: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Return y for given parts, one row for each."""
        size = len(next(iter(chosen.values())))
        found = []
        for start in range(0, size, self.batch_size):
            rows = slice(start, start + self.batch_size)
            some = {name: values[rows] for name, values in chosen.items()}
            found.append(self._solved(some, len(next(iter(some.values())))))
        return np.concatenate(found)

    def of_members(self, members: IndexArray) -> FloatArray:
        """Return coordinates of y for rows of members, a column for each part."""
        found = []
        for start in range(0, len(members), self.batch_size):
            rows = members[start : start + self.batch_size]
            columns = zip(self.source.parts.items(), rows.T, strict=True)
            chosen = {name: values[own] for (name, values), own in columns}
            found.append(self.outputs.coordinates(self._solved(chosen, len(rows))))
        return np.concatenate(found)

    def _solved(self, chosen: Mapping[str, NDArray[Any]], size: int) -> FloatArray:
        y = np.asarray(self.source.of_parts(chosen), dtype=np.float64)
        if y.ndim not in (1, 2) or len(y) != size:
            raise ValueError(
                f"model returned shape {y.shape} for {size} inputs; expected ({size},) "
                f"or ({size}, n_columns)."
            )
        self.n_done += size
        if self.progress is not None:
            self.progress(self.n_done, self.n_solutions)
        return y


def _contributions(
    solver: _Solver, members: tuple[IndexArray, IndexArray]
) -> Contributions:
    """Solve for all recombinations of each draw."""
    first, second = members
    n_draws, n_parts = first.shape

    def half_square(one: FloatArray, two: FloatArray) -> FloatArray:
        return solver.outputs.sum_by_group(0.5 * np.square(one - two))

    of_first, of_second = solver.of_members(first), solver.of_members(second)
    exchanged = []
    for part in range(n_parts):
        rows = first.copy()
        rows[:, part] = second[:, part]
        exchanged.append(solver.of_members(rows))
    return Contributions(
        half_square(of_first, of_second),
        np.array([half_square(of_first, one) for one in exchanged]),
        np.array([half_square(one, of_second) for one in exchanged]),
        np.array([half_square(*pair) for pair in combinations(exchanged, 2)]),
        np.stack(members),
        (of_first, *exchanged),
    )


def _indices(found: Contributions) -> dict[str, FloatArray]:
    """Return first-order and total indices with their errors; (n_groups, n_parts)."""
    first = [found.ratio(found.whole - rest) for rest in found.rest]
    total = [found.ratio(one) for one in found.total]
    both = zip(found.total, found.rest, strict=True)
    interaction = [found.ratio(one + rest - found.whole) for one, rest in both]
    columns = {"first": first, "total": total, "interaction": interaction}
    return _with_errors(columns)


def _with_errors(
    columns: Mapping[str, Sequence[tuple[FloatArray, FloatArray]]],
) -> dict[str, FloatArray]:
    found = {}
    for name, pairs in columns.items():
        values, errors = np.moveaxis(np.array(pairs), 0, 2)
        found |= {name: values, f"{name}_error": errors}
    return found


def _shapley(
    solver: _Solver, found: Contributions, generator: np.random.Generator
) -> dict[str, FloatArray]:
    """Exchange one part after another in random order, and credit each its change."""
    first, second = found.members
    n_draws, n_parts = first.shape
    orders = np.array([generator.permutation(n_parts) for _ in range(n_draws)])
    of_first, *exchanged = found.coordinates
    draws = np.arange(n_draws)
    before = np.zeros_like(found.whole)
    credits = np.zeros((n_parts, *found.whole.shape))
    rows = first.copy()
    for position in range(n_parts):
        part = orders[:, position]
        rows[draws, part] = second[draws, part]
        if position == 0:
            values = np.array(exchanged)[part, draws]
            after = solver.outputs.sum_by_group(0.5 * np.square(of_first - values))
        elif position == n_parts - 1:
            after = found.whole
        else:
            change = of_first - solver.of_members(rows)
            after = solver.outputs.sum_by_group(0.5 * np.square(change))
        credits[part, draws] = after - before
        before = after
    return _with_errors({"shapley": [found.ratio(credit) for credit in credits]})


def _without_independence(
    solver: _Solver,
    spread: FloatArray,  # shape: (n_groups,)
) -> dict[str, FloatArray]:
    """Return variances with one part varying, and with one part fixed at its mean."""
    parts = solver.source.parts
    means = {
        name: np.broadcast_to(values.mean(axis=0), values.shape)
        for name, values in parts.items()
    }
    columns: dict[str, list[FloatArray]] = {"alone": [], "left": []}
    for name in parts:
        alone = {**means, name: parts[name]}
        left = {**parts, name: means[name]}
        for column, chosen in (("alone", alone), ("left", left)):
            values = solver.outputs.coordinates(solver.of_parts(chosen))
            own = solver.outputs.sum_by_group(solver.outputs.spread(values))
            safe = np.where(spread > 0, spread, np.nan) * (len(values) - 1)
            columns[column].append(own / safe)
    return {name: np.array(values).T for name, values in columns.items()}


def _table_of_pairs(
    found: Contributions, outputs: Outputs, names: Sequence[str]
) -> Result:
    """Return the total interaction of every two parts."""
    pairs = list(combinations(range(len(names)), 2))
    shares = [
        found.ratio(found.total[one] + found.total[two] - both)
        for (one, two), both in zip(pairs, found.pairs, strict=True)
    ]
    return Result(
        {
            _key(outputs): outputs.names,
            "pair": tuple(f"{names[one]} and {names[two]}" for one, two in pairs),
        },
        _with_errors({"interaction": shares}),
    )


def _table_of_dependence(parts: Mapping[str, NDArray[Any]]) -> Result:
    """Return distance correlations of every two parts; NaN for one that is constant."""
    centred = {}
    for name, values in parts.items():
        distances = squareform(
            pdist(np.reshape(values, (len(values), -1)).astype(float))
        )
        centred[name] = _centred(distances)
    pairs = list(combinations(parts, 2))
    found = np.array([_squared_correlation(centred[a], centred[b]) for a, b in pairs])
    n_members = len(next(iter(parts.values())))
    p_values = stats.chi2.sf(np.maximum(n_members * found + 1.0, 0.0), 1)
    return Result(
        {"pair": tuple(f"{one} and {two}" for one, two in pairs)},
        {
            "distance_correlation": np.sqrt(np.maximum(found, 0.0)),
            "p_value": np.where(np.isnan(found), np.nan, p_values),
        },
    )


def _centred(distances: FloatArray) -> FloatArray:
    """Centre a matrix of distances without bias (Székely and Rizzo, 2014)."""
    n = len(distances)
    sums = distances.sum(axis=0) / (n - 2)
    centred = distances - sums - sums[:, np.newaxis]
    centred += distances.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


def _squared_correlation(one: FloatArray, two: FloatArray) -> float:
    norm = np.sqrt(np.sum(one * one) * np.sum(two * two))
    return float(np.sum(one * two) / norm) if norm > 0 else float("nan")


def _key(outputs: Outputs) -> str:
    return "step" if outputs.are_compositions else "output"


# Recombined members may have this much more or less variance than the members.
_TOLERANCE = 0.25


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
        if np.isnan(ratio[group]):
            reason = ("no choice, or no variance between members",)
        elif apart > max(_TOLERANCE, 3.0 * error[group]):
            reason = (
                f"recombined members have {ratio[group]:.2f} times the variance of the "
                "members: the parts are dependent",
            )
        reasons.append(reason)
        facts.append("" if np.isnan(ratio[group]) else _leading(names, columns, group))
    dependent = figures["dependence"]
    smallest = smallest_p_value(dependent.p_value)
    return Result(
        {_key(outputs): outputs.names, "part": tuple(names)},
        columns,
        supported=tuple(not reason for reason in reasons),
        reasons=tuple(reasons),
        facts=tuple(facts),
        notes=(
            f"From {figures['n_draws']} draws of {figures['n_members']} members, "
            f"{figures['n_solutions']} solutions; ± is a standard error.",
            f"Independence: smallest p-value of two parts {smallest:.2g} over all "
            "pairs (distance correlation).",
        ),
        figures=figures,
        printed=("total", "first"),
    )


def _leading(names: Sequence[str], columns: dict[str, FloatArray], group: int) -> str:
    """Name the parts that explain most, alone."""
    first, error = columns["first"][group], columns["first_error"][group]
    order = np.argsort(-first, kind="stable")[:3]
    parts = [f"{names[i]} {first[i]:.0%} ± {error[i]:.0%}" for i in order]
    together = 1.0 - first.sum()
    ratio = columns["variance_ratio"][group]
    return (
        f"alone {', '.join(parts)}; interactions {together:.0%}; recombined variance "
        f"{ratio:.2f} of the members'"
    )


def _sum_of_parts(chosen: Mapping[str, NDArray[Any]]) -> Any:
    """Add up the parts."""
    return np.sum(list(chosen.values()), axis=0)


def draw_pairs(
    n_members: int, n_parts: int, n_draws: int, generator: np.random.Generator
) -> tuple[IndexArray, IndexArray]:  # each of shape (n_draws, n_parts)
    """Draw two different members for each part, each member about equally often."""
    first = np.empty((n_draws, n_parts), dtype=np.int64)
    second = np.empty_like(first)
    for part in range(n_parts):
        first[:, part] = _evenly(n_members, n_draws, generator)
        shift = 1 + _evenly(n_members - 1, n_draws, generator)
        second[:, part] = (first[:, part] + shift) % n_members
    return first, second


def _evenly(size: int, n_draws: int, generator: np.random.Generator) -> IndexArray:
    """Return numbers below ``size`` in random order, each about equally often."""
    rounds = -(-n_draws // size)
    return np.concatenate([generator.permutation(size) for _ in range(rounds)])[
        :n_draws
    ]


@dataclass(frozen=True)
class Contributions:
    """Half squared distances of each draw, of which all effects are means."""

    whole: FloatArray  # (n_draws, n_groups): A to B
    total: FloatArray  # (n_parts, n_draws, n_groups): A to A with a part of B
    rest: FloatArray  # (n_parts, n_draws, n_groups): A with a part of B to B
    pairs: FloatArray  # (n_pairs, n_draws, n_groups): between two of these
    members: IndexArray  # (2, n_draws, n_parts): those of A and of B
    coordinates: tuple[FloatArray, ...]  # of A, and of A with each part of B

    def mean_over(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
        whole: FloatArray,  # shape: (n_groups,)
    ) -> tuple[FloatArray, FloatArray]:
        """Return a mean as a share of a given variance, with its standard error."""
        scaled = values / np.where(whole > 0, whole, np.nan)
        return scaled.mean(axis=0), self.standard_error(scaled)

    def ratio(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return a mean as a share of the variance, with its standard error."""
        variance = self.whole.mean(axis=0)
        safe = np.where(variance > 0, variance, np.nan)
        share = values.mean(axis=0) / safe
        influence = (values - share * self.whole) / safe
        return share, self.standard_error(influence)

    def standard_error(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
    ) -> FloatArray:  # shape: (n_groups,)
        r"""Return the standard error of the mean over draws that share members.

        Each draw depends on two members for each part. With :math:`\zeta_p` the
        variance of its expectation given one of them (Hoeffding's first projection),
        a mean over :math:`m` draws from :math:`n` members has the variance
        :math:`\sum_p 4 \zeta_p / n + (\sigma^2 - \sum_p 2 \zeta_p) / m`.
        """
        n_draws, n_parts = self.members.shape[1:]
        n_members = int(self.members.max()) + 1
        centred = values - values.mean(axis=0)
        sigma = np.square(centred).sum(axis=0) / (n_draws - 1)
        projections = np.zeros_like(sigma)
        twice = np.concatenate([centred, centred])
        for part in range(n_parts):
            member = self.members[:, :, part].ravel()
            counts = np.bincount(member, minlength=n_members).astype(np.float64)
            sums = np.zeros((n_members, values.shape[1]))
            np.add.at(sums, member, twice)
            used = counts > 0
            n_used, total = used.sum(), counts.sum()
            between = (np.square(sums[used]) / counts[used, np.newaxis]).sum(axis=0)
            within = np.square(twice).sum(axis=0) - between
            if total <= n_used:
                continue
            size = (total - np.square(counts).sum() / total) / (n_used - 1)
            mean_within = within / (total - n_used)
            projections += (between / (n_used - 1) - mean_within) / size
        projections = np.clip(projections, 0.0, sigma / 2.0)
        variance = 4.0 * projections / n_members
        variance += (sigma - 2.0 * projections) / n_draws
        return np.sqrt(variance)
