"""Components of variance of crossed and nested random factors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, cast

import numpy as np
from scipy import sparse, stats
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from ._checks import (
    FloatArray,
    IndexArray,
    at_hand,
    check_integer,
    check_real,
    refuse_twice,
)
from ._result import Result
from .drivers._design import first_of, numbers_of
from .drivers._exchange import holm
from .drivers._roles import numbered
from .drivers._runs import table_of
from .ensembles._table import as_names, known_names, quoted, read_output

_LEVEL = 0.05

# Largest number of levels of which effects have their exact covariance.
_EXACT = 400

# Columns of the levels of fixed factors.
_MOST_FIXED = 200

# Draws of the components for intervals of shares.
_DRAWS = 2000

# Rows up to which interactions that are not named are looked for; their level.
_MOST_ASKED, _SEEN = 20_000, 0.001

RESIDUAL = "residual"


@dataclass(frozen=True)
class _Term:
    """A random factor, or what several of them do only together."""

    name: str
    columns: tuple[str, ...]
    code: IndexArray  # shape: (n_rows,), the level of each row

    @cached_property
    def n_levels(self) -> int:
        return int(self.code.max()) + 1

    @cached_property
    def levels(self) -> Any:
        """A column of zeros and ones for each level; a sparse table."""
        n_rows = len(self.code)
        entries = np.ones(n_rows), self.code, np.arange(n_rows + 1)
        return sparse.csr_array(entries, (n_rows, self.n_levels))

    def summed(self, values: FloatArray) -> FloatArray:
        """Add up over the rows of each level; columns are kept."""
        return np.asarray(self.levels.T @ values)

    @property
    def counts(self) -> FloatArray:
        return self.summed(np.ones(len(self.code)))

    def together(self, other: _Term) -> Any:
        """Count the rows of each pair of levels; a sparse table."""
        return sparse.csr_array(self.levels.T @ other.levels)

    def determines(self, other: _Term) -> bool:
        """Whether each level lies in one level of the other term."""
        return int(self.together(other).nnz) == self.n_levels


@dataclass(frozen=True)
class _Table:
    """Rows with their fixed part: an orthonormal basis that has the constant."""

    y: FloatArray  # shape: (n_rows,)
    fixed: FloatArray  # shape: (n_rows, n_fixed)
    terms: tuple[_Term, ...]

    @cached_property
    def rest(self) -> FloatArray:
        """What the fixed part leaves of y."""
        return self.y - self.fixed @ (self.fixed.T @ self.y)

    @cached_property
    def left(self) -> FloatArray:
        """What the fixed part and the effects of all levels leave of y."""
        ends = np.cumsum([t.n_levels for t in self.terms])
        effects = np.split(_least_squares(self, self.terms)[1], ends[:-1])
        left = self.rest
        for term, own in zip(self.terms, effects, strict=True):
            left = left - own[term.code]
        return np.asarray(left - self.fixed @ (self.fixed.T @ left))

    def finer(self, place: int) -> list[_Term]:
        """Return the terms of which each level lies in one level of this one."""
        term = self.terms[place]
        return [t for t in self.terms if t is not term and t.determines(term)]

    def means_of(self, cells: _Term) -> _Table:
        """Return the means of cells, with the terms that are constant in each."""
        terms = [t for t in self.terms if t is not cells and cells.determines(t)]
        first, counts = first_of(cells.code), cells.counts
        own = tuple(replace(t, code=t.code[first]) for t in terms)
        means = cells.summed(self.fixed) / counts[:, np.newaxis]
        return _Table(cells.summed(self.y) / counts, _orthonormal(means), own)


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns."""
    values, vectors = np.linalg.eigh(columns.T @ columns)
    kept = values > 1e-10 * values.max()
    return np.asarray(columns @ (vectors[:, kept] / np.sqrt(values[kept])))


# Estimates


def _moments(table: _Table) -> FloatArray:  # shape: (n_terms + 1,), the residual last
    """Solve for components by sums of squares within the levels of each term.

    Each sum of squares is linear in the components in expectation. One below zero is
    taken for zero, and the others are solved for without it.
    """
    rest, fixed = table.rest, table.fixed
    every = table.terms
    n_rows, n_fixed = fixed.shape
    sums = [t.summed(fixed) for t in every]  # each of shape (n_levels, n_fixed)
    total = float(rest @ rest)
    # ||M Z||^2 of each term, with the projection M off the fixed part.
    whole = np.array([n_rows - np.square(s).sum() for s in sums])
    matrix = np.empty((len(every) + 1, len(every) + 1))
    matrix[0] = [*whole, n_rows - n_fixed]
    observed = np.empty(len(every) + 1)
    observed[0] = total
    for i, term in enumerate(every):
        counts = term.counts
        observed[i + 1] = total - (np.square(term.summed(rest)) / counts).sum()
        inner = sums[i] / counts[:, np.newaxis]
        for j, other in enumerate(every):
            pairs = term.together(other)
            squares = (pairs.power(2).sum(axis=1) / counts).sum()
            crossed = ((pairs @ sums[j]) * inner).sum()
            gram = sums[j].T @ sums[j]
            last = ((sums[i] @ gram) * inner).sum()
            matrix[i + 1, j] = whole[j] - (squares - 2 * crossed + last)
        left = n_rows - n_fixed - term.n_levels
        matrix[i + 1, -1] = left + (sums[i] * inner).sum()
    return _not_negative(matrix, observed, [t.name for t in every])


def _not_negative(
    matrix: FloatArray, observed: FloatArray, names: Sequence[str]
) -> FloatArray:
    used = np.arange(len(names))
    while True:
        rows, columns = np.r_[0, used + 1], np.r_[used, len(names)]
        part = matrix[np.ix_(rows, columns)]
        scale = np.abs(part).max()
        if np.linalg.matrix_rank(part / scale, tol=1e-9) < len(rows):
            left = quoted([names[k] for k in used.tolist()])
            raise ValueError(
                f"The components of {left} and of the residual cannot be told apart "
                "by these rows: expected several rows for some level of each factor, "
                "and factors that are crossed or nested. Leave out a factor, or an "
                "interaction that has one row in each cell."
            )
        found = np.linalg.solve(part, observed[rows])
        if not used.size or found[:-1].min() >= 0:
            break
        used = np.delete(used, int(np.argmin(found[:-1])))
    components = np.zeros(len(names) + 1)
    components[columns] = np.maximum(found, 0.0)
    return components


# Tests and intervals


@dataclass(frozen=True)
class _Pivot:
    r"""A quadratic form that follows F at the true ratio of a component to the error.

    :math:`H(\rho) / (r\,\mathrm{MSE})` with
    :math:`H(\rho) = \sum_k w_k / (1 + \rho \lambda_k)` follows F with r and
    :math:`\nu` degrees of freedom (Wald, 1947; Harville and Fenech, 1985).
    """

    parts: FloatArray  # w_k
    slopes: FloatArray  # lambda_k
    rank: int
    error: float  # mean square of what all terms leave
    free: int  # degrees of freedom of the error

    @property
    def p_value(self) -> float:
        statistic = self.parts.sum() / (self.rank * self.error)
        return float(stats.f.sf(statistic, self.rank, self.free))

    def component(self, quantile: float) -> float:
        """Return the component at which the form has this value of F."""
        wanted = quantile * self.rank * self.error

        def excess(log_ratio: float) -> float:
            ratio = np.exp(log_ratio)
            return float((self.parts / (1.0 + ratio * self.slopes)).sum()) - wanted

        if self.parts.sum() <= wanted:
            return 0.0
        top = np.log(self.parts.sum() / max(wanted, 1e-300) / self.slopes.min()) + 1.0
        low = top - 80.0
        if excess(low) <= 0:
            return 0.0
        return self.error * float(np.exp(brentq(excess, low, top)))

    def interval(self, confidence: float) -> tuple[float, float]:
        half = (1.0 - confidence) / 2
        low, high = stats.f.isf([half, 1.0 - half], self.rank, self.free)
        return self.component(low), self.component(high)

    def draws(self, generator: np.random.Generator) -> FloatArray:
        """Return draws of the component by its fiducial distribution."""
        values = generator.f(self.rank, self.free, _DRAWS)
        scale = self.error * self.rank
        grid = np.r_[0.0, np.geomspace(1e-9, 1e9, 400) / np.median(self.slopes)]
        form = (self.parts[:, np.newaxis] / (1.0 + np.outer(self.slopes, grid))).sum(0)
        return np.asarray(np.interp(-values * scale, -form, grid) * self.error)


def _pivot(table: _Table, place: int) -> _Pivot | None:
    """Return the form of a term, given all others as if they were fixed."""
    term = table.terms[place]
    others = [t for k, t in enumerate(table.terms) if k != place]
    finer = table.finer(place)
    if finer:
        # What is finer is the error: of its means, the least favourable where several.
        coarsest = [
            t for t in finer if not any(o is not t and t.determines(o) for o in finer)
        ]
        parts = [table.means_of(cells) for cells in coarsest]
        places = [[t.name for t in part.terms].index(term.name) for part in parts]
        found = filter(None, map(_pivot, parts, places))
        return max(found, key=lambda one: one.p_value, default=None)
    largest = max((t.n_levels for t in others), default=0)
    rest = sum(t.n_levels for t in others) - largest
    if term.n_levels <= _EXACT and rest <= _EXACT:
        return _exact_pivot(table, term, others)
    return _large_pivot(table, term, others)


def _error(table: _Table, explained: float, rank: int) -> tuple[float, int] | None:
    """Return the mean square of the error, and its degrees of freedom."""
    free = len(table.y) - rank
    left = max(float(table.y @ table.y) - explained, 0.0)
    if free < 1 or left <= 1e-12 * float(table.rest @ table.rest):
        return None
    return left / free, free


def _exact_pivot(table: _Table, term: _Term, others: Sequence[_Term]) -> _Pivot | None:
    """Eliminate the other terms, the largest first, which is diagonal."""
    y, fixed = table.y, table.fixed
    order = sorted(others, key=lambda t: -t.n_levels)
    # What is eliminated last, and the term itself.
    levels = sparse.hstack([t.levels for t in (*order[1:], term)], format="csr")
    sums = levels.T @ fixed
    counts = (levels.T @ levels).toarray()
    gram = np.block([[fixed.T @ fixed, sums.T], [sums, counts]])
    right = np.concatenate([fixed.T @ y, levels.T @ y])
    explained, rank = 0.0, 0
    for big in order[:1]:
        scale = 1.0 / np.sqrt(big.counts)[:, np.newaxis]
        counts = (big.levels.T @ levels).toarray()
        across = np.hstack([big.summed(fixed), counts]) * scale
        sums = big.summed(y) * scale[:, 0]
        gram -= across.T @ across
        right = right - across.T @ sums
        explained, rank = float(sums @ sums), big.n_levels
    before, of_term = slice(0, -term.n_levels), slice(-term.n_levels, None)
    values, vectors = np.linalg.eigh(gram[before, before])
    known = values > 1e-9 * max(1.0, min(len(y), float(values.max())))
    vectors = vectors[:, known]
    inverse = vectors / values[known] @ vectors.T
    rank += int(known.sum())
    solved = inverse @ right[before]
    explained += float(right[before] @ solved)
    between = gram[of_term, before]
    left = gram[of_term, of_term] - between @ inverse @ between.T
    values, vectors = np.linalg.eigh(left)
    some = values > 1e-8 * max(len(y) / term.n_levels, 1.0)
    if not some.any():
        return None
    projected = vectors[:, some].T @ (right[of_term] - between @ solved)
    parts = np.square(projected) / values[some]
    error = _error(table, explained + float(parts.sum()), rank + int(some.sum()))
    if error is None:
        return None
    return _Pivot(parts, values[some], int(some.sum()), *error)


def _large_pivot(table: _Table, term: _Term, others: Sequence[_Term]) -> _Pivot | None:
    """The same for very many levels, by conjugate gradients.

    Effects of the levels are taken as uncorrelated given the others, each with the
    variance of the error over its number of rows, scaled to the exact sum of squares.
    """
    with_it, effects = _least_squares(table, [*others, term])
    without, _ = _least_squares(table, others)
    rank_with = _rank(table, [*others, term])
    rank = rank_with - _rank(table, others)
    error = _error(table, with_it, rank_with)
    if error is None or rank < 1:
        return None
    counts = term.counts
    own = effects[-term.n_levels :]
    parts = counts * np.square(own - counts @ own / counts.sum())
    scale = max(with_it - without, 0.0) / max(float(parts.sum()), 1e-300)
    return _Pivot(parts * scale, counts, rank, *error)


def _least_squares(table: _Table, terms: Sequence[_Term]) -> tuple[float, FloatArray]:
    """Return the sum of squares that terms explain, and the effects of their levels."""
    rest, fixed = table.rest, table.fixed
    outside = float(table.y @ table.y) - float(rest @ rest)
    if not terms:
        return outside, np.empty(0)
    design = sparse.hstack([t.levels for t in terms], format="csr")
    gram = sparse.csr_array(design.T @ design)
    sums = design.T @ fixed  # (n_levels, n_fixed)
    right = design.T @ rest
    counts = gram.diagonal()

    def apply(effects: FloatArray) -> FloatArray:
        return np.asarray(gram @ effects - sums @ (sums.T @ effects))

    size = gram.shape
    operator = LinearOperator(size, matvec=cast(Any, apply), dtype=np.float64)
    by_counts = LinearOperator(
        size, matvec=cast(Any, lambda v: np.ravel(v) / counts), dtype=np.float64
    )
    effects, _ = cg(operator, right, rtol=1e-10, maxiter=500, M=by_counts)
    return outside + float(effects @ right), np.asarray(effects)


def _rank(table: _Table, terms: Sequence[_Term]) -> int:
    """Return the rank of fixed part and terms; terms beyond two are taken as linked."""
    rank = table.fixed.shape[1]
    for place, term in enumerate(terms):
        before = terms[:place]
        if any(other.determines(term) for other in before):
            continue
        # The directions that the levels share with the fixed part, or with terms.
        sums = term.summed(table.fixed)
        shared = np.linalg.eigvalsh(sums.T @ (sums / term.counts[:, np.newaxis]))
        lost = int((shared > 1.0 - 1e-8).sum())
        nested = [other.n_levels for other in before if term.determines(other)]
        if nested:
            lost = max(lost, *nested)
        elif len(before) == 1:
            pairs = term.together(before[0])
            linked = sparse.block_array([[None, pairs], [pairs.T, None]])
            lost = max(lost, connected_components(linked)[0])
        rank += term.n_levels - lost
    return rank


# The answer


@dataclass(frozen=True, eq=False, repr=False)
class VarianceComponents(Result):
    """Components of variance, and what follows for the error of the mean.

    What :func:`skpce.variance_components` returns: a :class:`skpce.inspection.Result`
    with a row for each component. Its attributes are described there.
    """

    def standard_error(
        self, sizes: Mapping[str, int] | None = None, *, repeats: int = 1
    ) -> float:
        r"""Return the standard error of the mean of an evaluation of other sizes.

        :math:`\sum_f \sigma_f^2 / n_f + \sigma_e^2 / n`, with the levels
        :math:`n_f` of each component and all factors crossed.

        Parameters
        ----------
        sizes : dict of str to int, default=None
            Number of levels by random factor; of a factor that is nested in another,
            the number in each level of that one. What is not named stays as in the
            table. None: the rows of the table as they are.
        repeats : int, default=1
            Rows in each cell of the crossed factors.

        Returns
        -------
        standard_error : float
            In units of the score. Fixed factors are not counted: it is that of the
            mean at one setting of them.

        Raises
        ------
        ValueError
            If a name is no random factor, or a number is below 1.
        """
        if sizes is None:
            return float(self.figures["mean_standard_error"])
        levels = dict(self.figures["sizes"]) | self._checked(sizes, "sizes")
        check_integer("standard_error", "repeats", repeats, low=1)
        return float(np.sqrt(self._squared(levels, repeats)))

    def sizes_for(
        self, standard_error: float, *, at_most: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Return the smallest crossed evaluation with a standard error of the mean.

        Parameters
        ----------
        standard_error : float
            The largest that is accepted, in units of the score.
        at_most : dict of str to int, default=None
            Largest numbers of levels by random factor, as in :meth:`standard_error`.

        Returns
        -------
        sizes : dict of str to int
            Levels of each random factor. Their product, the number of rows, is the
            smallest found among all numbers up to 64 and steps of 4 % above them.

        Raises
        ------
        ValueError
            If no numbers within ``at_most`` reach it.
        """
        check_real("sizes_for", "standard_error", standard_error, low=0, closed="none")
        most = self._checked(at_most or {}, "at_most")
        names = list(self.figures["sizes"])
        steps = np.unique(np.r_[1:65, np.geomspace(65, 1e7, 300).round()])
        grids = [steps[steps <= most.get(name, 1e7)] for name in names]
        for name, grid in zip(names, grids, strict=True):
            if name in most:
                grid[-1] = most[name]
        if len(names) > 3:  # coarser, for what all of them multiply to
            grids = [g if len(g) < 24 else g[:: len(g) // 24] for g in grids]
        target = standard_error**2
        last = names[-1]  # as many as are needed; at first without end
        every = np.meshgrid(*grids[:-1], [np.inf], indexing="ij")
        levels = dict(zip(names, every, strict=True))
        always = self._squared(levels)
        enough = np.where(always < target, target - always, np.nan)
        shrinks = self._squared(levels | {last: 1.0}) - always
        levels[last] = np.maximum(np.ceil(shrinks / enough - 1e-9), 1.0)
        possible = levels[last] <= most.get(last, np.inf)
        rows = np.where(possible, math.prod(levels.values()), np.inf)
        if not possible.any():
            least = {name: most.get(name, np.inf) for name in names}
            raise ValueError(
                f"standard_error={standard_error:g} cannot be reached: with the "
                f"numbers of at_most it is {np.sqrt(self._squared(least)):.3g} at "
                "least. Expected a larger one, or more levels in at_most."
            )
        best = rows.argmin()
        return {name: int(levels[name].flat[best]) for name in names}

    def _checked(self, sizes: Mapping[str, int], what: str) -> dict[str, int]:
        known = list(self.figures["sizes"])
        if not isinstance(sizes, Mapping):
            raise ValueError(
                f"{what} must be a dict of numbers by random factor, such as "
                f"{{{known[0]!r}: 100}}. Got {sizes!r}."
            )
        if sizes:
            known_names(list(sizes), known, what, "random factor")
        for name, number in sizes.items():
            check_integer(what, name, number, low=1)
        return dict(sizes)

    def _squared(self, levels: Mapping[str, Any], repeats: int = 1) -> Any:
        """Return the variance of the mean of crossed levels, numbers or arrays."""
        *components, residual = self.columns["variance"].tolist()
        total = residual / (math.prod(levels.values()) * repeats)
        for value, factors in zip(components, self.figures["factors"], strict=True):
            total = total + value / math.prod(levels[name] for name in factors)
        return total


def variance_components(
    table: Any,
    score: str,
    *,
    random: Sequence[str],
    fixed: Sequence[str] = (),
    confidence_level: float = 0.95,
) -> VarianceComponents:
    r"""Split the variance of a score among random factors: items, prompts, judges.

    The levels of a random factor are draws from a population, as the items of a
    benchmark are, or prompts, judges and seeds; they may be crossed, nested and
    unbalanced. What is asked of them is how much they contribute to the variance of
    the score, and how many are needed. Levels of a fixed factor, such as models that
    are compared, are all that there are, and their means are taken out.

    Parameters
    ----------
    table : table or path
        One row for each score: a data frame, a dict of columns, a list of dicts, or
        the path of a CSV or JSON file.
    score : str
        Column of the score. Rows without one (NaN) are left out.
    random : sequence of str
        Columns of the random factors. What two do only together is a component too
        where it is named: ``"item:prompt"``. Levels of a nested factor have names
        that differ between the levels of the factor above, or it is named with it:
        ``"school:class"`` beside ``"school"``.
    fixed : sequence of str, default=()
        Columns of the fixed factors, of which every value is a level. Their main
        effects are taken out; name ``"model:item"`` in ``random`` for what items do
        differently under models.
    confidence_level : float, default=0.95
        Of each interval.

    Returns
    -------
    components : VarianceComponents
        A table with one row for each component, the residual last. ``variance`` with
        ``variance_low`` and ``variance_high``, ``share`` of the sum of all of them
        with ``share_low`` and ``share_high``, ``p_value`` (NaN for the residual),
        ``n_levels``, ``of_error``: its share of the squared standard error of the
        mean, and whether it is ``supported``: p-values by Holm's procedure are at
        most .05. The figures ``mean``, ``mean_standard_error``, ``n_rows`` and
        ``sizes``, the levels of each factor. ``standard_error(sizes)`` and
        ``sizes_for(standard_error)`` say what another evaluation would give.

    Raises
    ------
    ValueError
        If a column is missing, a factor has one level or a missing one, two factors
        number the same groups, the rows cannot tell components apart, or the score
        does not vary.

    Notes
    -----
    Components solve the expectations of the sums of squares within the levels of each
    factor [1]_, in a time that is linear in the rows; of balanced tables they are those
    of the analysis of variance and of REML. One below zero is zero, and the others
    are solved for without it. A test compares what a factor explains, given all
    others, to what they leave, or to the means of what is finer, such as an
    interaction with it; its F distribution is exact for normal effects, whatever the
    numbers of rows [2]_ (with an interaction: of balanced tables). The interval of a
    component inverts the same distribution [3]_. Shares are intervals of draws of all
    components from these.

    References
    ----------
    .. [1] Gao, K., and Owen, A. B. (2017). Efficient moment calculations for variance
       components in large unbalanced crossed random effects models. Electronic
       Journal of Statistics, 11(1).
    .. [2] Wald, A. (1947). A note on regression analysis. Annals of Mathematical
       Statistics, 18(4); Seely, J. F., and El-Bassiouni, Y. (1983). Applying Wald's
       variance component test. Annals of Statistics, 11(1).
    .. [3] Harville, D. A., and Fenech, A. P. (1985). Confidence intervals for a
       variance ratio, or for heritability, in an unbalanced mixed linear model.
       Biometrics, 41(1).

    Examples
    --------
    >>> import numpy as np
    >>> import skpce
    >>> rng = np.random.default_rng(0)
    >>> item, prompt = np.divmod(np.arange(150), 5)
    >>> score = rng.normal(size=30)[item] + rng.normal(size=5)[prompt]
    >>> table = {"item": item, "prompt": prompt, "score": score + rng.normal(size=150)}
    >>> found = skpce.variance_components(table, "score", random=["item", "prompt"])
    >>> found.variance.round(2)
    array([0.93, 0.36, 0.88])
    >>> round(found.standard_error({"item": 300, "prompt": 5}), 2)
    0.28
    """
    check_real(
        "variance_components", "confidence_level", confidence_level, low=0.5, high=1
    )
    scores, mean, sizes, factors = _read(table, score, random, fixed)
    variance = _moments(scores)
    terms = scores.terms
    pivots = [_pivot(scores, place) for place in range(len(terms))]
    intervals = _intervals(scores, pivots, variance, confidence_level)
    p_values = [np.nan if pivot is None else pivot.p_value for pivot in pivots]
    adjusted = holm(np.nan_to_num(np.array(p_values), nan=1.0))
    n_rows = len(scores.y)
    shares = [np.square(t.counts / n_rows).sum() for t in terms]
    of_mean = variance * np.array([*shares, 1.0 / n_rows])  # of its squared error
    squared = float(of_mean.sum())
    columns = {
        "variance": variance,
        "variance_low": intervals[0],
        "variance_high": intervals[1],
        "share": variance / variance.sum(),
        "share_low": intervals[2],
        "share_high": intervals[3],
        "p_value": np.array([*p_values, np.nan]),
        "n_levels": np.array([*(t.n_levels for t in terms), n_rows]),
        "of_error": of_mean / squared,
    }
    figures = {
        "mean": mean,
        "mean_standard_error": float(np.sqrt(squared)),
        "n_rows": n_rows,
        "sizes": sizes,
        "factors": factors,
    }
    components = (*(t.name for t in terms), RESIDUAL)
    return VarianceComponents(
        keys={"component": components},
        columns=columns,
        supported=(*(bool(p <= _LEVEL) for p in adjusted), True),
        reasons=(*map(_why_not, p_values, adjusted), ()),
        facts=tuple(map(_fact, *(columns[name] for name in _IN_WORDS))),
        title=f"Components of the variance of {score}, {n_rows} rows",
        notes=(*_notes(components, of_mean, figures), *_unnamed(scores)),
        figures=figures,
    )


_IN_WORDS = "share", "share_low", "share_high", "p_value"


def _why_not(p_value: float, adjusted: float) -> tuple[str, ...]:
    if np.isnan(p_value):
        return ("nothing is left to test it against",)
    return () if adjusted <= _LEVEL else (f"p = {adjusted:.2g} by Holm's procedure",)


def _fact(share: float, low: float, high: float, p_value: float) -> str:
    ends = "" if np.isnan(low) else f" ({low:.0%} to {high:.0%})"
    size = f"{share:.0%}" if share == 0 or share >= 0.005 else "less than 1%"
    tested = "" if np.isnan(p_value) else f", p = {max(p_value, 1e-300):.2g}"
    return f"{size} of the variance{ends}{tested}"


def _intervals(
    table: _Table, pivots: Sequence[_Pivot | None], variance: FloatArray, level: float
) -> FloatArray:  # shape: (4, n_components): of components and of shares, low and high
    """Return ends that hold the estimates; NaN where nothing is left to compare to."""
    half = (1.0 - level) / 2
    generator = np.random.default_rng(0)
    ends = np.full((4, len(variance)), np.nan)
    drawn = np.tile(variance, (_DRAWS, 1))
    for place, pivot in enumerate(pivots):
        if pivot is not None:
            ends[:2, place] = pivot.interval(level)
            drawn[:, place] = pivot.draws(generator)
            if not table.finer(place):  # its error is the residual
                free = _free_of_residual(table, pivot.free)
                left = pivot.error * free
                ends[:2, -1] = left / stats.chi2.isf([half, 1 - half], free)
                drawn[:, -1] = left / generator.chisquare(free, _DRAWS)
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    ends[2:] = np.quantile(shares, [half, 1 - half], axis=0)
    can_be_nothing = ends[0] == 0  # then shares of 0, and of 1 for all the rest, too
    ends[2, can_be_nothing] = 0.0
    for place in range(len(variance)):
        if np.delete(can_be_nothing, place).all():
            ends[3, place] = 1.0
    ends[2:, np.isnan(ends[0])] = np.nan
    middle = np.stack([variance, variance / variance.sum()])
    ends[::2] = np.minimum(ends[::2], middle)
    ends[1::2] = np.maximum(ends[1::2], middle)
    return ends


def _free_of_residual(table: _Table, free: int) -> float:
    r"""Return the degrees of freedom of the residual, fewer where tails are heavy.

    The variance of a mean square is :math:`\sigma^4 (2 / \nu + \kappa / n)` with the
    excess kurtosis of the errors (Box, 1953), here that of the residuals over the
    square of their share :math:`\nu / n`, where it is above 0.
    """
    left, n_rows = table.left, len(table.y)
    fourth = n_rows * float(np.sum(left**4)) / float(left @ left) ** 2
    excess = max(fourth - 3.0, 0.0) * (n_rows / free) ** 2
    return 1.0 / (1.0 / free + excess / (2.0 * n_rows))


def _notes(
    components: Sequence[str], of_mean: FloatArray, figures: Mapping[str, Any]
) -> tuple[str, ...]:
    """Say what the error of the mean is made of, and what more levels would bring."""
    error = figures["mean_standard_error"]
    top = int(np.argmax(of_mean))
    what = components[top]
    first = (
        f"The mean {figures['mean']:.3g} has a standard error of {error:#.2g}; "
        f"{of_mean[top] / of_mean.sum():.0%} of its square is that of {what}"
    )
    if top < len(components) - 1:
        first += (
            ", and without more levels of it the error is "
            f"{np.sqrt(of_mean[top]):#.2g} at least"
        )
    doubled = []
    for name in figures["sizes"]:
        less = [0.5 if name in f else 1.0 for f in figures["factors"]] + [0.5]
        error = np.sqrt(of_mean @ less)
        doubled.append(f"{error:#.2g} with twice as many levels of {name}")
    return (first + ".", f"It would be {', '.join(doubled)}.")


def _unnamed(table: _Table) -> Iterator[str]:
    """Say which factors do something only together that is no component."""
    n_rows = len(table.y)
    named = [frozenset(t.columns) for t in table.terms]
    pairs = [
        (one, other)
        for one, other in combinations(table.terms, 2)
        if len(one.columns) == len(other.columns) == 1
        and frozenset(one.columns + other.columns) not in named
        and not (one.determines(other) or other.determines(one))
    ]
    if not pairs or n_rows > _MOST_ASKED:
        return
    for one, other in pairs:
        name = f"{one.name}:{other.name}"
        codes = {one.name: one.code, other.name: other.code}
        cells = _term(name, [one.name, other.name], codes)
        with_it = replace(table, terms=(*table.terms, cells))
        pivot = _pivot(with_it, len(table.terms))
        if pivot is not None and pivot.p_value <= _SEEN / len(pairs):
            yield (
                f"{one.name} and {other.name} do something only together (p = "
                f"{max(pivot.p_value, 1e-300):.2g}): without '{name}' in random= it "
                "counts for each of them, whose tests do not hold."
            )


# Reading


def _read(
    data: Any, score: str, random: Sequence[str], fixed: Sequence[str]
) -> tuple[_Table, float, dict[str, int], tuple[tuple[str, ...], ...]]:
    """Return a table of scores with their mean, and how the levels multiply.

    The table is without the fixed effects, which may be large beside the others. Sizes
    are the levels of each random column in each level above it, factors the columns of
    which the levels of terms are.
    """
    runs = table_of(at_hand(data))
    noun = "column of table"
    random_names = as_names(random, "random")
    refuse_twice(random_names, "random")
    parts = {n: [n] if n in runs else n.split(":") for n in random_names}
    columns = list(dict.fromkeys(c for own in parts.values() for c in own))
    known_names([score], runs, "score", noun)
    known_names(columns, runs, "random", noun)
    is_none = isinstance(fixed, (list, tuple)) and not fixed
    fixed_names = [] if is_none else known_names(fixed, runs, "fixed", noun)
    both = next((n for n in (score, *fixed_names) if n in random_names), None)
    if both is not None:
        raise ValueError(
            f"{both!r} is a random factor, and the score or a fixed factor too; "
            "expected one role."
        )
    y = read_output(score, runs[score])
    used = ~np.isnan(y)
    codes = {
        name: numbered(name, runs[name], used)
        for name in dict.fromkeys([*columns, *fixed_names])
    }
    y = y[used]
    if len(y) < 3 or np.ptp(y) == 0:
        raise ValueError(
            f"The score {score!r} has {len(y)} rows"
            f"{' that are all equal' if len(y) else ''}; expected three or more, which "
            "differ."
        )
    terms = tuple(_term(name, own, codes) for name, own in parts.items())
    for other, term in combinations(terms, 2):
        if term.n_levels == other.n_levels and term.determines(other):
            raise ValueError(
                f"{other.name!r} and {term.name!r} number the same groups of rows; "
                "expected one of them."
            )
    levels = np.ones((len(y), 1))
    for name in fixed_names:
        own = codes[name][:, np.newaxis] == np.arange(1, codes[name].max() + 1)
        if levels.shape[1] + own.shape[1] > _MOST_FIXED:
            raise ValueError(
                f"The fixed factor {name!r} has {own.shape[1] + 1} levels; expected at "
                f"most {_MOST_FIXED} of all fixed factors. Is it a random one?"
            )
        levels = np.hstack([levels, own])
    drawn = {c: _term(c, [c], codes) for c in columns if c not in fixed_names}
    above = {
        c: [o for o in drawn if o != c and drawn[c].determines(drawn[o])] for c in drawn
    }
    sizes: dict[str, int] = {}
    for name in sorted(drawn, key=lambda c: len(above[c])):
        within = float(np.prod([sizes[o] for o in above[name]]))
        sizes[name] = max(round(drawn[name].n_levels / within), 1)
    factors = tuple(
        tuple(dict.fromkeys(o for c in t.columns if c in drawn for o in (*above[c], c)))
        for t in terms
    )
    order = {name: sizes[name] for name in drawn}
    mean = float(y.mean())
    table = _Table(y - mean, _orthonormal(levels), terms)
    return replace(table, y=table.rest), mean, order, factors


def _term(name: str, columns: Sequence[str], codes: Mapping[str, IndexArray]) -> _Term:
    code = codes[columns[0]]
    if len(columns) > 1:
        code = numbers_of(np.column_stack([codes[column] for column in columns]))
    if not code.any():
        raise ValueError(
            f"The random factor {name!r} has one level; expected two or more."
        )
    return _Term(name, tuple(columns), code)
