r"""Does an input matter for an output? A test for each, without folds.

For an input j:

1. residuals of the outputs, left out one by one in closed form, under a fit of all
   *other* inputs, whose prior variances were learned without j;
2. two statistics: the squared scores of the terms of j, and, for the partner with the
   largest one, of the products of its leading terms with those of the partner;
3. j is given to other units (runs, settings, runs of a stratum), the residuals stay;
4. the smaller rank of the two statistics among all draws is ranked itself.

Where inputs were drawn independently the p-value is exact whatever the outputs depend
on: conditional randomisation [1]_ [2]_. Where an input depends on the others, what a
fit of its terms to the others leaves of them is exchanged in place of the terms
(Freedman and Lane). Where inputs were arranged to be orthogonal, redrawn values are
not: there scores are divided by their deviations. Residuals that are left out one by
one have the covariance :math:`D^{-1} V^{-1} D^{-1}` where the outputs have the
covariance V of the fit of the others, with the diagonal D of :math:`V^{-1}`. Where j is
orthogonal to squares or products of the others too, its terms keep their places, and
the residuals, made equally large by that covariance, are rotated in the directions that
the terms of the others leave [6]_. A second p-value keeps the places and changes the
signs of the contributions of the members [3]_: it holds where the spread of the noise
follows the input. Where it seems to, and where inputs depend on each other, the larger
of both counts. In designs of levels each statistic is divided by what the other one
leaves of the residuals, where that is beyond chance (F above 12), in draws too: what
an input does in a pair is no noise of what it does alone. Where draws would be too
many, the tail of a quadratic form stands in their place, which is conservative.

P-values are ranks among draws, or tails of quadratic forms.
Where an input does nothing, a statistic is :math:`\sum_{ac} w_a s_{ac}^2` with scores
:math:`s_{ac} = \sum_i f_a(x_{\pi(i)}) r_{ic}` of terms and residuals, over exchanges
:math:`\pi` of the units, or over their signs. The first two moments of the scores are
known exactly: over exchanges their covariance is :math:`F'F \otimes R'R / (n - 1)`,
over signs :math:`\sum_i f_i f_i' \otimes r_i r_i'`. With terms and residuals that are
bounded the scores are nearly normal, with lighter tails, and the tail of the statistic
is that of a mixture of chi-squares, which a saddle point gives to some per cent [4]_.

References
----------
.. [1] E. Candès, Y. Fan, L. Janson, J. Lv, "Panning for gold: model-X knockoffs",
   Journal of the Royal Statistical Society B 80 (2018).
.. [2] M. Liu, E. Katsevich, L. Janson, A. Ramdas, "Fast and powerful conditional
   randomization testing via distillation", Biometrika 109 (2022).
.. [3] E. Flachaire, "Bootstrapping heteroskedastic regression models: wild bootstrap
   vs. pairs bootstrap", Computational Statistics & Data Analysis 49 (2005).
.. [4] D. Kuonen, "Saddlepoint approximations for distributions of quadratic forms in
   normal variables", Biometrika 86 (1999).
.. [5] P. Westfall, S. Young, "Resampling-based multiple testing", Wiley (1993).
.. [6] Ø. Langsrud, "Rotation tests", Statistics and Computing 15 (2005).
.. [7] J. MacKinnon, H. White, "Some heteroskedasticity-consistent covariance matrix
   estimators with improved finite sample properties", Journal of Econometrics 29
   (1985).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special, stats

from .._basis.basis import categorical_inputs, tables_of
from .._checks import BoolArray, FloatArray, IndexArray, one_thread_if_small
from .._input_laws import choose_laws
from .._input_laws.families import InputLaw
from .._input_laws.tabulated import CategoricalLaw
from .._learned.prior import (
    INTERCEPT,
    AllTerms,
    Search,
    TermPrior,
    learn_prior,
    observations_of,
)
from .._learned.ridge import equally_large, functions_of
from ._design import (
    FEWEST_OF_SERIES,
    Design,
    Exchange,
    directions_of,
    first_of,
    levels_of,
    mean_of,
    memory_of,
    numbers_of,
    root_of,
    standardized,
    sum_of,
    waves_along,
    without_means,
)

# P-values of many hypotheses, adjusted.


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values of any shape by Holm's step-down method; NaN takes no part.

    Of p-values that are valid up to the level, the family-wise error is at most the
    level, whatever the dependence: ``holm_family_wise_error``, checked in
    ``lean/Core``. Which are NaN must not depend on the others.
    """
    flat = np.ravel(p_values)
    adjusted = np.full(len(flat), np.nan)
    tested = np.flatnonzero(~np.isnan(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * flat[order]), 1.0)
    return adjusted.reshape(np.shape(p_values))


# An input, or a group of inputs, as terms; residuals of a fit without it.


# Degrees of the terms that are tested, what a degree weighs against the one before, and
# how many terms take part in interactions.
_DEGREES, _DECAY, _LEADING = 4, 0.6, 2

# Degrees, order and steps of the search of a fit whose residuals are tested.
_FIT_DEGREES, _FIT_ORDER, _FIT_STEPS = 16, 2, 8
_MODEL_DEGREES = 4  # of a fit of the terms of an input to the others

# Rows that the search sees at most, and rows beyond which terms are listed.
_SEARCH_ROWS, _KERNEL_ROWS, _LISTED = 250, 1200, 600

# So many groups of coordinates have priors of their own; more share one.
_MOST_PRIORS = 8

# Largest square of a correlation of terms, times the rows, that is none; probability of
# so little correlation, below which inputs were arranged; most rows of such a design.
_NO_CORRELATION, _ARRANGED, _MOST_ARRANGED = 14.0, 0.03, 256

# What is rounding of the residuals, over a usual target; the last digit of a
# statistic, about its square.
_ROUNDING, _SMALLEST_DIGIT = 1e-9, 20

# Share of its directions that the terms of the other inputs leave at least; square in
# deviations up to which what a fit shrank is taken for noise.
_LEFT, _NOISE = 0.4, 3.84


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of an input, or of a group of inputs, of mean 0 and variance 1."""

    values: FloatArray  # shape: (n_rows, n_terms)
    weights: FloatArray  # shape: (n_terms,)
    n_leading: int  # terms that take part in interactions: the first ones

    @property
    def leading(self) -> FloatArray:  # shape: (n_rows, n_leading)
        """Terms that take part in interactions, weighted."""
        some = slice(self.n_leading)
        return self.values[:, some] * np.sqrt(self.weights[some])

    def centred(self, strata: IndexArray) -> Terms:
        """Take the means of strata off."""
        return replace(self, values=without_means(self.values, strata))

    def first(self, most: int) -> Terms:
        """Keep so many terms."""
        n_leading = min(self.n_leading, most)
        return Terms(self.values[:, :most], self.weights[:most], n_leading)

    def times(self, table: FloatArray) -> Terms:
        """Return the products of the leading terms with those of a partner."""
        lead = self.first(self.n_leading)
        weights = np.repeat(lead.weights, table.shape[1])
        return Terms(products_of(lead.values, table), weights, 0)

    def of_units(self, first: IndexArray) -> Terms:
        """Return the terms of some rows, of mean 0."""
        values = self.values[first]
        return replace(self, values=values - values.mean(axis=0))


def equal_within(values: FloatArray, strata: IndexArray) -> FloatArray:
    """Take the means of strata off, and make what is left as large in all of them.

    It is divided by a power of one minus the leverage in a stratum: a half makes it as
    large as the noise where that is alike [7]_, and three quarters about so where a run
    at the end of a line has nearly all of it. Two runs of a stratum are alike in both
    cases.
    """
    size = np.maximum(np.bincount(strata), 2)[strata]
    factor = (1.0 - 1.0 / size) ** np.where(size == 2, 0.5, 0.75)
    return without_means(values, strata) / factor[:, np.newaxis]


def terms_of_input(values: FloatArray, is_category: bool) -> Terms:
    """Return contrasts of a category, else polynomials of the ranks.

    Ranks are bounded: no value of an input outweighs the others.
    """
    n_rows = len(values)
    levels, level = np.unique(values, return_inverse=True)
    n_levels = len(levels)
    if is_category:
        table = np.eye(n_levels)[level.ravel()]
        left = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)[0]
        found = left[:, : n_levels - 1] * np.sqrt(n_rows)
        weights = np.full(n_levels - 1, 1.0 / np.sqrt(max(n_levels - 1, 1)))
        return Terms(found, weights, n_levels - 1)
    ranks = (2.0 * stats.rankdata(values) - 1.0) / n_rows - 1.0
    degree = min(_DEGREES, n_levels - 1)
    q, r = np.linalg.qr(np.polynomial.legendre.legvander(ranks, degree))
    found = q[:, 1:] * np.sqrt(n_rows) * np.sign(np.diag(r))[1:]
    weights = np.power(_DECAY, np.arange(degree, dtype=np.float64))
    return Terms(found, weights, min(_LEADING, degree))


def joined(members: Sequence[Terms]) -> Terms:
    """Return terms of a group: those of its inputs, and leading ones times others."""
    if len(members) == 1:
        return members[0]
    values = [one.values for one in members]
    weights = [one.weights for one in members]
    for one, other in combinations(members, 2):
        product = products_of(one.leading, other.leading)
        values.append(product - product.mean(axis=0))
        weights.append(np.full(product.shape[1], _DECAY))
    order = np.argsort(-np.concatenate(weights), kind="stable")
    table = np.hstack(values)[:, order]
    n_leading = sum(one.n_leading for one in members)
    return Terms(table, np.concatenate(weights)[order], min(n_leading, len(order)))


def products_of(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of each column of a table with each of another one."""
    return (left[:, :, np.newaxis] * right[:, np.newaxis, :]).reshape(len(left), -1)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs as numbers, their distributions, and their terms."""

    X: FloatArray  # shape: (n_rows, n_inputs)
    is_category: BoolArray  # shape: (n_inputs,)
    laws: Sequence[InputLaw]
    tables: FloatArray  # shape: (n_inputs, n_functions, n_rows), see ``tables_of``
    n_functions: IndexArray  # shape: (n_inputs,)
    terms: tuple[Terms, ...]

    @classmethod
    def of(
        cls,
        X: FloatArray,
        is_category: BoolArray,
        given: Sequence[InputLaw] | None = None,
    ) -> Inputs:
        """Learn the distributions of inputs and evaluate their functions."""
        one = np.ones(len(X))
        laws = list(choose_laws(X, one) if given is None else given)
        for i in np.flatnonzero(is_category):
            laws[i] = CategoricalLaw.learn(X[:, i], one)
        n_functions = functions_of(laws, None, X)
        few = np.minimum(n_functions, _FIT_DEGREES)  # polynomials, and all contrasts
        n_functions = np.where(categorical_inputs(laws), n_functions, few)
        tables = tables_of(laws, X, n_functions)
        terms = tuple(map(terms_of_input, X.T, is_category))
        return cls(X, is_category, laws, tables, n_functions, terms)

    def without(self, members: Sequence[int]) -> IndexArray:
        """Return the positions of all other inputs."""
        return np.setdiff1d(np.arange(len(self.laws)), members)

    def free_directions(
        self,
        own: FloatArray,
        others: IndexArray,
        unit: IndexArray,
        blocks: IndexArray | None,  # shape: (n_units,), whose means are taken away
    ) -> tuple[FloatArray, bool]:  # shape: (n_units, n_directions), orthonormal
        """Return directions that other inputs leave, and whether terms are arranged.

        Terms of others to which the first own one was arranged to be orthogonal are
        taken away as long as enough is left: first ones, second ones, products of first
        ones. Where none but first ones were, as of principal components, nothing is.
        """
        first, second = [], []
        for k in others.tolist():
            table = mean_of(self.terms[k].leading, unit)
            n_first = table.shape[1] if self.is_category[k] else 1
            first.append(table[:, :n_first])
            second.append(table[:, n_first:])
        products = [products_of(*pair) for pair in combinations(first, 2)]
        columns = np.ones((len(own), 1))
        if blocks is not None:
            columns = np.eye(int(blocks.max()) + 1)[blocks]
        nothing = found = linalg.null_space(columns.T)
        arranged = False
        for kind in (first, second, products):
            table = nothing @ (nothing.T @ np.hstack([columns[:, :1], *kind]))
            length = np.linalg.norm(table, axis=0)
            table = table[:, length > 1e-9] / length[length > 1e-9]
            share = np.square(own @ table).sum() / np.square(own).sum()
            if not is_arranged(len(own) * share, table.shape[1]):
                continue
            arranged |= kind is not first
            columns = np.hstack([columns, table])
            free = linalg.null_space(columns.T, rcond=1e-9)
            if free.shape[1] >= _LEFT * len(free):
                found = free
        return (found, True) if arranged else (nothing, False)

    def are_levels(self, unit: IndexArray) -> bool:
        """Whether each input has so few values that units share them."""
        return bool(2 * levels_of(self.X).max() <= unit.max() + 1)

    def are_confounded(self, unit: IndexArray) -> bool:
        """Whether products of first terms are not told from others, or hardly."""
        n_units = int(unit.max()) + 1
        first = [mean_of(one.leading, unit)[:, :1] for one in self.terms]
        products = [products_of(*pair) for pair in combinations(first, 2)]
        table = np.hstack([np.ones((n_units, 1)), *first, *products])
        n_terms = table.shape[1]
        many = n_terms > _MOST_TERMS * n_units
        return bool(many or np.linalg.matrix_rank(table, tol=1e-6 * n_units) < n_terms)

    def functions(
        self, some: IndexArray, degrees: int, unit: IndexArray | None
    ) -> tuple[IndexArray, FloatArray]:  # shapes: (n_some,), as of ``tables``
        """Return how many functions some inputs have, and their means over units.

        Polynomials have these degrees at most; a category has all of its contrasts.
        """
        contrasts, all_of = categorical_inputs(self.laws)[some], self.n_functions[some]
        n_functions = np.where(contrasts, all_of, np.minimum(all_of, degrees))
        most = int(n_functions.max(initial=0))
        is_used = np.arange(most) < n_functions[:, np.newaxis]
        tables = self.tables[some][:, :most] * is_used[:, :, np.newaxis]
        if unit is not None and unit.max() + 1 < len(unit):
            moved = np.moveaxis(tables, 2, 0)
            tables = np.ascontiguousarray(np.moveaxis(mean_of(moved, unit), 0, 2))
        return n_functions, tables

    def centred(self, strata: IndexArray) -> Inputs:
        """Take the means of strata of rows off the functions."""
        moved = without_means(np.moveaxis(self.tables, 2, 0), strata)
        return replace(self, tables=np.ascontiguousarray(np.moveaxis(moved, 0, 2)))

    def dependence(
        self,
        own: FloatArray,  # shape: (n, n_terms), of rows or of units
        others: IndexArray,
        unit: IndexArray,  # shape: (n_rows,)
        most: int | None = None,
    ) -> FloatArray:  # shape: (n_terms, n_others)
        """Return squared correlations of terms with the others', times n.

        With the first terms of each of the others, or with all of them.
        """
        columns = (self.terms[k].values[:, :most] for k in others.tolist())
        table = np.hstack([np.zeros((len(self.X), 0)), *columns])
        if len(own) < len(table):
            table = mean_of(table, unit)
        found = (own / np.maximum(own.std(axis=0), 1e-9)).T @ table / len(table)
        return np.asarray((unit.max() + 1) * np.square(found))


@dataclass(frozen=True, eq=False)
class NullFit:
    """A fit of outputs to some inputs: residuals, rows left out one by one."""

    residuals: FloatArray  # shape: (n_rows, n_coordinates)
    weights: FloatArray  # shape: (n_inputs,), learned; 0 where nothing was found
    beside: FloatArray  # shape of the residuals: what terms leave of them
    # Covariances of residuals by the priors, and the prior of each coordinate.
    covariances: tuple[FloatArray, ...] = ()  # shapes: (n_rows, n_rows)
    prior_of: IndexArray | None = None  # shape: (n_coordinates,)


def fit_others(
    inputs: Inputs,
    others: IndexArray,
    targets: FloatArray,  # shape: (n_units, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
    unit: IndexArray | None = None,  # shape: (n_rows,), means over which are fitted
    terms: FloatArray | None = None,  # shape: (n_units, n_terms), of an input
    *,
    smooth: bool = False,
    additive: bool = False,
    setting: IndexArray | None = None,  # shape: (n_units,), left out as a whole
) -> NullFit:
    """Fit outputs to other inputs, with prior variances learned from these alone.

    With ``smooth`` as a model of an input: low degrees, no interactions, and residuals
    of the fit itself.
    """
    centred = targets - targets.mean(axis=0)
    n_rows, n_targets = centred.shape
    both = centred if terms is None else np.hstack([centred, terms])
    plain, weights = both * (n_rows / max(n_rows - 1, 1)), np.zeros(len(others))
    degrees = _MODEL_DEGREES if smooth else _FIT_DEGREES
    n_functions, tables = inputs.functions(others, degrees, unit)
    if not tables.shape[1]:
        left, beside = plain[:, :n_targets], plain[:, n_targets:]
        return NullFit(left, weights, _beside(left, beside))
    same = np.arange(n_rows) if setting is None else setting
    rows = first_of(same)
    if len(rows) > _SEARCH_ROWS:  # those seen are spread over all
        rows = rows[np.linspace(0, len(rows) - 1, _SEARCH_ROWS).round().astype(int)]
    search = AllTerms(
        np.ascontiguousarray(tables[:, :, rows]),
        1 if smooth or additive else _FIT_ORDER,
    )
    space = search, n_functions, categorical_inputs(inputs.laws)[others]
    found, beside = np.empty_like(centred), np.empty_like(centred)
    covariances: list[FloatArray] = []
    prior_of = np.unique(groups, return_inverse=True)[1]
    if prior_of.max() >= _MOST_PRIORS:
        prior_of[:] = 0
    with one_thread_if_small(n_rows**2):
        for place in range(int(prior_of.max()) + 1):
            part = np.flatnonzero(prior_of == place)
            own = rotated(centred[:, part], groups[part])
            own = mean_of(own, same)  # repeats would be predicted by one another
            known = observations_of(own[same[rows]], np.ones(len(rows)))
            start = Search(*space, known).start()
            prior = learn_prior(*space, known, start, _FIT_STEPS).or_nothing()
            columns = [*part, *range(n_targets, both.shape[1])]
            left, covariance = plain[:, columns], None
            if prior.weights.any():
                weights = prior.weights
                left, covariance = _left_by(
                    prior, tables, both[:, columns], same, smooth
                )
            if n_rows <= _MOST_ARRANGED:
                covariances.append(np.eye(n_rows) if covariance is None else covariance)
            found[:, part] = left[:, : len(part)]
            beside[:, part] = _beside(left[:, : len(part)], left[:, len(part) :])
    if not smooth:
        found, beside = (without_rounding(one, centred) for one in (found, beside))
    return NullFit(found, weights, beside, tuple(covariances), prior_of)


def _left_by(
    prior: TermPrior,
    tables: FloatArray,
    values: FloatArray,  # shape: (n_rows, n_columns)
    setting: IndexArray,  # shape: (n_rows,)
    smooth: bool,
) -> tuple[FloatArray, FloatArray | None]:
    """Return what a prior leaves of columns, and the covariance of this if it is known.

    Of the fit itself where that is smooth, else with each setting left out.
    """
    scores, size, inverse = _by_inverse(prior, tables, values)
    left = prior.noise * scores if smooth else scores / size[:, np.newaxis]
    if inverse is None:
        return left, None
    for number in np.flatnonzero(np.bincount(setting) > 1):
        repeats = np.flatnonzero(setting == number)
        block = inverse[np.ix_(repeats, repeats)]
        left[repeats] = np.linalg.solve(block, inverse[repeats] @ values)
    return left, inverse / np.outer(size, size)


def without_rounding(residuals: FloatArray, targets: FloatArray) -> FloatArray:
    """Drop the digits of residuals that are rounding, beside most of the targets.

    Without noise nothing else differs between equal runs, and the order in which a
    product of matrices adds up is no effect of an input.
    """
    size = np.abs(targets - np.median(targets, axis=0))
    middle = np.median(size, axis=0)
    unit = _ROUNDING * np.where(middle > 0, middle, size.mean(axis=0))
    unit = np.where(unit > 0, unit, 1.0)
    return np.asarray(np.round(residuals / unit) * unit)


def rotated(values: FloatArray, groups: IndexArray) -> FloatArray:
    """Return outputs, each as large; of many their coordinates in their directions.

    A prior that outputs share is the same for both.
    """
    same = equally_large(values, groups, np.ones(len(values)))
    if same.shape[1] <= len(same):
        return same
    return directions_of(same)


def _by_inverse(
    prior: TermPrior, tables: FloatArray, centred: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the inverse of the covariance of outputs, by a prior, times the outputs.

    Then its diagonal, and itself; of many rows terms are listed, and it is None.
    """
    if len(centred) <= _KERNEL_ROWS:
        covariance = prior.kernel(tables, tables) + INTERCEPT
        np.einsum("ii->i", covariance)[...] += prior.noise
        inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        return inverse @ centred, np.diag(inverse), inverse
    listed = prior.listed(_LISTED, 0.0, np.inf)
    assert listed is not None  # any variance may be left out
    scale = np.sqrt(prior.variances(listed))
    scale[0] = np.sqrt(INTERCEPT)
    design = np.tile(scale, (len(centred), 1))
    for i, exponents in enumerate(listed.T):
        some = np.flatnonzero(exponents)
        design[:, some] *= tables[i, exponents[some] - 1].T
    gram = design.T @ design
    np.einsum("ii->i", gram)[...] += prior.noise
    factor = np.linalg.cholesky(gram)
    half = linalg.solve_triangular(factor, design.T, lower=True)  # (n_terms, n_rows)
    left = 1.0 - np.minimum(np.square(half).sum(axis=0), 0.999)
    misses = centred - half.T @ (half @ centred)
    return misses / prior.noise, left / prior.noise, None


def bounded(
    residuals: FloatArray,  # shape: (n_units, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
) -> FloatArray:
    """Shorten rows that are longer than three deviations, in each group."""
    found = residuals - np.median(residuals, axis=0)
    size = _sizes(found, groups)
    unit = 1.4826 * np.median(size, axis=0)
    unit = np.where(unit > 0, unit, np.sqrt(np.square(size).mean(axis=0)))
    bound = np.where(unit > 0, 3.0 * unit, np.inf)
    factor = np.ones_like(size)
    np.divide(bound, size, out=factor, where=size > bound)
    found *= factor[:, groups]
    return np.asarray(found - found.mean(axis=0))


def _partners_of(
    inputs: Inputs, others: IndexArray, unit: IndexArray, few: bool
) -> dict[int, FloatArray]:  # each shape: (n_units, n_leading)
    """Return leading terms of other inputs; of numbers one, for few directions."""
    tables = {k: mean_of(inputs.terms[k].leading, unit) for k in others.tolist()}
    return {
        k: table[:, :1] if few and not inputs.is_category[k] else table
        for k, table in tables.items()
        if table.size  # else the input is constant
    }


def is_arranged(dependence: float, n_others: int) -> bool:
    """Whether first terms are nearer to orthogonal than those of random inputs."""
    return bool(n_others and stats.chi2.cdf(dependence, n_others) < _ARRANGED)


# P-values


# Units for each function of an input that is taken off beside its terms.
_UNITS_A_FUNCTION = 5

# Part of the squares of a product that no function of one input explains, above which
# it is no rounding.
_SEEN = 1e-9

# Exceedances from which a rank is a p-value; below, the tail is extrapolated.
_EXCEEDED = 10

#: Part of the level that is kept for what an input does alone; the rest is for pairs.
ALONE = 0.8

#: Level of the pairs that are named.
OF_PAIRS = 0.003


def smaller_rank(
    observed: Sequence[FloatArray],  # one or two of shape (1, n_outputs)
    drawn: Sequence[FloatArray],  # as many of shape (n_draws, n_outputs)
) -> FloatArray:  # shape: (n_outputs,)
    """Rank the smaller rank of two statistics; extrapolate where few are as large.

    The first one, of what an input does alone, has most of the level. Without the
    extrapolation, the rank of exchangeable pairs is valid: ``smaller_rank_valid``,
    checked in ``lean/Core``.
    """
    number, pairs = len(drawn[0]) + 1, list(zip(observed, drawn, strict=True))
    ranks = []
    for pair in pairs:
        values = _rounded(np.concatenate(pair))
        ranks.append(number - stats.rankdata(values, method="min", axis=0) + 1)
    smaller = _of_both(*ranks)
    found = (smaller <= smaller[0]).mean(axis=0)
    few = (found * number < _EXCEEDED) & (number > 1000)
    for k in np.flatnonzero(few):
        tails = [tail_of_draws(float(own[0, k]), others[:, k]) for own, others in pairs]
        found[k] = min(found[k], float(_of_both(*tails)))
    return np.asarray(found)


def _of_both(alone: Any, pairs: Any = None) -> FloatArray:
    """Return the smaller of two p-values, or ranks, each with its part of the level."""
    if pairs is None:
        return np.asarray(alone)
    return np.asarray(np.minimum(alone / ALONE, pairs / (1.0 - ALONE)))


def step_down(
    observed: Sequence[FloatArray],  # one or two of shape (1, n_outputs)
    drawn: Sequence[FloatArray],  # as many of shape (n_draws, n_outputs)
) -> FloatArray:  # shape: (n_outputs,)
    """Adjust for all outputs at once, by the largest statistic of each draw [5]_.

    Step down: beside the strongest outputs the weaker ones compete among themselves.
    Statistics are ranked among those of all outputs, which have the same scale.
    """
    pairs = zip(observed, drawn, strict=True)
    every = [_rounded(np.concatenate(pair)) for pair in pairs]
    ranks = [stats.rankdata(-one, method="max").reshape(one.shape) for one in every]
    ranks = [found / found.size for found in ranks]
    smaller = _of_both(*ranks)
    order = np.argsort(smaller[0], kind="stable")
    smaller = smaller[:, order]
    least = np.minimum.accumulate(smaller[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(len(order))
    found[order] = np.maximum.accumulate((least <= smaller[0]).mean(axis=0))
    return found


def rank_p_values(
    observed: FloatArray,  # shape: (n_outputs,)
    drawn: FloatArray,  # shape: (n_draws, n_outputs)
) -> FloatArray:
    """Return ranks as p-values; extrapolated where few draws are as large.

    Ranks of exchangeable values are valid, with ties: ``exchange_valid``, checked in
    ``lean/Core``.
    """
    return smaller_rank([observed[np.newaxis]], [drawn])


def _rounded(values: FloatArray) -> FloatArray:
    """Round to nine digits: equal arrangements have equal statistics.

    Statistics are about one where an input does nothing. What is far below is the
    rounding of residuals that no exchange changes.
    """
    with np.errstate(divide="ignore"):
        digits = 9 - np.ceil(np.log10(np.maximum(np.abs(values), 1e-300)))
    factor = np.power(10.0, np.clip(digits, -300, _SMALLEST_DIGIT))
    return np.asarray(np.round(values * factor) / factor)


def tail_of_draws(observed: float, drawn: FloatArray) -> float:
    """Return the share of draws beyond a value, by an exponential tail.

    The statistics are quadratic forms, whose tails are exponential or lighter. The mean
    excess is taken two standard errors too large.
    """
    size = max(len(drawn) // 40, 25)
    largest = np.sort(drawn)[-size - 1 :]
    start, excess = largest[0], largest[1:] - largest[0]
    mean = excess.mean() * (1.0 + 2.0 / np.sqrt(size))
    distinct = len(np.unique(_rounded(largest)))
    if observed <= start or not mean > 0 or distinct < size // 2:
        return 1.0  # few arrangements: there is no tail
    return float(size / len(drawn) * np.exp(-(observed - start) / mean))


#: Over the largest part, from which on a tail is 0 in floating point.
_NO_TAIL = 1e6


def tail_of_mixture(observed: float, sizes: FloatArray) -> float:
    r"""Return the probability of larger values of :math:`\sum_k \lambda_k \chi^2_1`.

    By the saddle point above the mean; by three moments below, where nothing is
    decided. The sizes are not negative.
    """
    largest = sizes.max(initial=0.0)
    if not largest > 0:
        return 1.0
    parts, value = sizes / largest, observed / largest
    if value > 1.1 * parts.sum():
        value = min(value, _NO_TAIL)
        ends = 0.0, 0.5 - 0.25 / value
        at = optimize.brentq(
            lambda at: (parts / (1.0 - 2.0 * at * parts)).sum() - value,
            *ends,
            xtol=1e-16,
        )
        left = 1.0 - 2.0 * at * parts
        cumulant = -0.5 * np.log(left).sum()
        w = np.sqrt(2.0 * max(at * value - cumulant, 1e-12))
        v = at * np.sqrt(2.0 * np.square(parts / left).sum())
        found = special.ndtr(-w - np.log(max(v, 1e-300) / w) / w)
    else:
        first, second, third = (np.power(parts, k).sum() for k in (1, 2, 3))
        degrees = second**3 / third**2
        standard = (value - first) / np.sqrt(2.0 * second)
        at = degrees + standard * np.sqrt(2.0 * degrees)
        found = special.chdtrc(degrees, max(at, 0.0))
    return float(np.clip(found, 0.0, 1.0))


def sizes_of_exchange(
    own: Terms,
    residuals: FloatArray,  # shape: (n_units, n_columns)
    strata: IndexArray | None = None,  # shape: (n_units,)
) -> FloatArray:  # shape: (n_parts,)
    """Return the parts of the mixture over exchanges of units, in their strata."""
    terms = own.values * np.sqrt(own.weights)
    if strata is None or not np.ptp(strata):
        both = terms - terms.mean(axis=0), residuals - residuals.mean(axis=0)
        sizes = [np.square(np.linalg.svd(one, compute_uv=False)) for one in both]
        return np.outer(*sizes).ravel() / (len(terms) - 1)
    if terms.shape[1] > len(terms):  # as many directions as rows are enough
        terms = np.transpose(np.linalg.qr(terms.T, mode="r"))
    n_parts = terms.shape[1] * residuals.shape[1]
    whole = np.zeros((n_parts, n_parts))
    for stratum in np.flatnonzero(np.bincount(strata) > 1):
        rows = strata == stratum
        left, right = (np.atleast_2d(np.cov(t[rows].T)) for t in (terms, residuals))
        whole += (rows.sum() - 1) * np.kron(left, right)
    return np.maximum(np.linalg.eigvalsh(whole), 0.0)


def sizes_of_signs(
    own: Terms,
    residuals: FloatArray,  # shape: (n_rows, n_columns)
    unit: IndexArray | None = None,  # shape: (n_rows,), of one sign; None: each row
) -> FloatArray:  # shape: (n_parts,)
    """Return the parts of the mixture over signs of units."""
    given = products_of(own.values * np.sqrt(own.weights), residuals)
    given = given if unit is None else sum_of(given, unit)
    return np.square(np.linalg.svd(given, compute_uv=False))


# The test


# Draws: of the first look, of signs, and at most.
_FIRST, _SIGNS, _MOST = 199, 2000, 20_000

# From such a p-value on a hypothesis is not looked at any closer.
_CLEAR = 0.3

# Below such a p-value, changes of signs are asked beside the exchange, if below such a
# one the spread of what an input leaves follows it; or if the others know of it.
_SMALL, _FOLLOWS = 0.1, 0.2

# Up to such a p-value, what an input does may differ between labels, such as seeds.
_DIFFERS = 0.5

# Free directions of an arranged design from which second terms take part in products;
# terms for each unit up to which products are looked at.
_MANY_FREE, _MOST_TERMS = 16, 0.7

# Part of the residuals that is taken to be left at least beside an input.
_LEAST_LEFT = 0.05

# F from which on what an input does in a pair is no noise of what it does alone.
_LARGE_F = 12.0

# Entries of scores in memory at a time, columns of products at most, and
# multiplications from which on a tail stands in the place of draws.
_BLOCK, _MOST_PRODUCTS, _MOST_WORK = 4_000_000, 150_000, 1.5e9

# Entries of draws at most, and of settings that are kept; rows from which on draws of
# some of them are made from those of all.
_MOST_DRAWN, _KEPT_SETTING, _MANY_ROWS = 20_000_000, 1_000_000, 900

# Excess of the fourth moments of scores up to which tails are those of normal ones, and
# draws that are made where it is larger.
_NORMAL, _FEW_DRAWS = 0.1, 1001

# Coordinates of an output that are looked at: directions of most variance.
_MOST_COORDINATES = 12

# An input with such a share of its terms known from the others cannot be told apart.
# What labels know of a number can be told from it, unless that is all of it.
_TIED, _COPIED = 0.9, 1.0 - 1e-6

# From such a square of a correlation of their terms two inputs may be mistaken.
_ALIKE = 0.25

# Deviations from which a member is outlying: in the residuals, or in these less far
# and in an input; the largest share of such members, and how many of the first kind.
_OUTLYING, _FAR, _MOST_OUTLYING, _FEW = 6.0, 3.0, 0.1, 2

# Members with one of two values up to which they are exceptions.
_EXCEPTIONS = 5

# Scores of terms, of shape (n_terms, n, C), of products with partners, of shape
# (n_leading, n, C, P), and the squares of the first products, (n or 1, P).
_Scores = tuple[FloatArray, FloatArray, FloatArray]

_Rank = Callable[[Sequence[FloatArray], Sequence[FloatArray]], FloatArray]

# Units from which changes of signs are asked beside an exchange within strata.
_EXACT = 30


@dataclass(frozen=True, eq=False)
class Tested:
    """Tests of inputs, or of groups of inputs, for outputs: arrays of one shape."""

    location: FloatArray  # p-values of the mean
    spread: FloatArray  # p-values of the spread
    scope: NDArray[Any]  # as of :class:`Exchange`
    why_not: NDArray[Any]  # reasons why nothing could be exchanged
    tied_to: NDArray[Any]  # tuples of inputs that it cannot be told apart from
    resting: NDArray[Any]  # tuples of members that the answer rests on
    sees_pairs: BoolArray
    unsteady: BoolArray  # whether other seeds, or blocks, may differ

    @classmethod
    def nothing(cls, *shape: int) -> Tested:
        """Return the tests of constants."""
        none = np.empty((2, *shape), dtype=object)
        none.fill(())
        return cls(
            location=np.ones(shape),
            spread=np.ones(shape),
            scope=np.full(shape, "beyond", dtype=object),
            why_not=np.full(shape, "", dtype=object),
            tied_to=none[0],
            resting=none[1],
            sees_pairs=np.ones(shape, dtype=bool),
            unsteady=np.zeros(shape, dtype=bool),
        )

    def put(self, outputs: IndexArray, row: int, part: Tested) -> None:
        """Set the tests of an input for some outputs."""
        for name, values in vars(part).items():
            getattr(self, name)[outputs, row] = values


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs, outputs and the design of the members that have these outputs."""

    inputs: Inputs
    values: FloatArray  # shape: (n_rows, n_coordinates)
    groups: IndexArray  # shape: (n_coordinates,), numbers of the outputs
    design: Design
    members: tuple[tuple[int, ...], ...]  # inputs of each row of the answer
    n_hypotheses: int  # of the whole answer
    _orders: dict[int, IndexArray] = field(default_factory=dict, init=False)
    _settings: dict[tuple[int, ...], _Setting] = field(default_factory=dict, init=False)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.groups.max()) + 1

    @property
    def n_draws(self) -> int:
        """Draws that a p-value below the level of a corrected test needs."""
        return min(max(int(20 * self.n_hypotheses / 0.05), 2000), _MOST)

    @cached_property
    def coordinates(self) -> tuple[FloatArray, IndexArray]:
        """Each output in its directions of most variance, and their outputs."""
        centred = self.values - self.values.mean(axis=0)
        if self.groups.max() + 1 == len(self.groups):
            return centred, self.groups
        found, labels = [], []
        for label in range(self.n_outputs):
            part = centred[:, self.groups == label]
            if part.shape[1] > 1:
                part = directions_of(part)[:, :_MOST_COORDINATES]
            found.append(part)
            labels += [label] * part.shape[1]
        return np.hstack(found), np.array(labels)

    @cached_property
    def is_ablation(self) -> bool:
        """Whether each input was changed alone: nothing is known of products."""
        return all(self.exchange(own).pooled for own in self.members)

    @cached_property
    def of_two_values(self) -> BoolArray:  # shape: (n_outputs,)
        """Whether an output is one of two values, of which none is an exception."""
        found = np.zeros(self.n_outputs, dtype=bool)
        for output in np.flatnonzero(np.bincount(self.groups) == 1).tolist():
            column = self.values[:, int(np.argmax(self.groups == output))]
            counts = np.unique(column, return_counts=True)[1]
            found[output] = len(counts) == 2 and counts.min() > _EXCEPTIONS
        return found

    def test(self, row: int) -> Tested:
        """Test an input, or a group of inputs, for each output."""
        members, found = self.members[row], Tested.nothing(self.n_outputs)
        setting = self.setting(members)
        if setting is None:
            found.why_not[:] = self.exchange(members).why
            return found
        found.scope[:] = setting.exchange.scope
        found.tied_to.fill(setting.tied_to)
        found.sees_pairs[:] = setting.sees_pairs
        location, spread = found.location, found.spread
        location[:] = setting.p_values(self.n_draws)
        differs = setting.differences()
        found.unsteady[:] = (differs > 0.05) & (location <= 0.05)
        np.maximum(location, differs, out=location)
        if setting.exchange.kind == "signs":
            return found
        for output, few, alone in setting.without_outlying(location):
            again = alone.p_values(self.n_draws)[0]
            # Else it is found without them too, whatever the correction.
            if again > location[output] and again * self.n_hypotheses > 0.05:
                rows = np.flatnonzero(np.isin(setting.exchange.unit, few))
                found.resting[output] = tuple(rows.tolist())
            location[output] = max(location[output], again)
        spread[:] = setting.spread_p_values(self.n_draws)
        if spread.min() <= 0.05:  # which a change of the mean of few units is too
            rest = replace(setting, residuals=setting.left_over())
            left = rest.spread_p_values(self.n_draws)
            np.maximum(spread, left, out=spread, where=spread <= 0.05)
        for output, _, alone in setting.without_outlying(spread):
            again = alone.spread_p_values(self.n_draws)[0]
            spread[output] = max(spread[output], again)
        return found

    def terms(self, members: tuple[int, ...]) -> Terms:
        """Return the terms of inputs, taken as one."""
        return joined([self.inputs.terms[k] for k in members])

    def exchange(self, members: tuple[int, ...]) -> Exchange:
        """Return how inputs are exchanged; of a constant there is nothing to say."""
        inputs, design = self.inputs, self.design
        others = inputs.without(members)
        own = self.terms(members).values
        each = np.arange(design.n_rows)
        if not own.size:
            return Exchange("none", each)
        found = design.exchange(inputs.X[:, list(members)], inputs.X[:, others])
        if found.kind == "none":
            return found
        if design.order is not None:
            tables, blocks = [self.coordinates[0], own[:, :1]], design.blocks_of_series
            if blocks is not None:
                tables = [without_means(one, blocks) for one in tables]
            memory = memory_of(*map(standardized, tables), order=design.order)
            labels = design.series_blocks(3 * memory if memory > 1 else 1)
            if labels.max() + 1 >= FEWEST_OF_SERIES:
                return Exchange("signs", labels)
            why = "the series remembers for too long to divide it into blocks"
            return Exchange("none", labels, why=why)
        if design.repeats_few and found.strata is None:
            nearness = inputs.dependence(own[:, :1], others, each, 1).sum()
            if is_arranged(nearness, len(others)):  # as a design with centre runs
                return Exchange("rows", each)
        return found

    def p_values_of_all(self, row: int) -> FloatArray:  # shape: (n_outputs,)
        """Test an input for all outputs: that any p-value is wrong is adjusted for."""
        setting = self.setting(self.members[row])
        if setting is None or setting.tied_to:
            return np.ones(self.n_outputs)
        few = np.flatnonzero(setting.outlying.any(axis=1))
        found = setting.p_values_of_all(self.n_draws)
        if len(few) and found.min() <= 0.05 and setting.exchange.kind != "signs":
            again = setting.without(few).p_values_of_all(self.n_draws)
            found = np.maximum(found, again)
        return found

    def alike_p_values(self, row: int, other: int) -> FloatArray:  # (n_outputs,)
        """Test two rows of the answer as one group, where their terms hardly differ."""
        both = self.members[row], self.members[other]
        left, right = (self.terms(own).values for own in both)
        largest = np.square(left.T @ right / len(left)).max(initial=0.0)
        setting = None
        if largest > max(_ALIKE, _NO_CORRELATION / len(left)):
            setting = _Setting.of(self, tuple(sorted({*both[0], *both[1]})))
        if setting is None:
            return np.ones(self.n_outputs)
        return setting.p_values(self.n_draws)

    def setting(self, members: tuple[int, ...]) -> _Setting | None:
        """Return the residuals without some inputs; kept if they are small."""
        if members in self._settings:
            return self._settings[members]
        found = _Setting.of(self, members)
        if found is not None and found.residuals.size < _KEPT_SETTING:
            self._settings[members] = found
        return found

    def orders(self, number: int, block: int, n_units: int) -> Iterator[IndexArray]:
        """Return so many orders of units, the same for every input, in blocks.

        Where few of many rows are left out, those of all without the others: an order
        of some of the rows is as random, and takes a thirtieth of the time.
        """
        n_rows = self.design.n_rows
        if _MANY_ROWS <= 0.9 * n_rows < n_units < n_rows:
            for one in self.orders(number, block, n_rows):
                yield one[one < n_units].reshape(len(one), n_units)
            return
        known = self._orders.get(n_units)
        if known is None or len(known) < number:
            known = np.tile(np.arange(n_units, dtype=np.int32), (number, 1))
            np.random.default_rng(1).permuted(known, axis=1, out=known)
            self._orders[n_units] = known
        for start in range(0, number, block):
            yield known[start : min(start + block, number)]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Inputs that are tested, as one, and how they are exchanged."""

    problem: Problem
    members: tuple[int, ...]
    exchange: Exchange

    @property
    def of_signs(self) -> bool:
        """Whether signs change, not places."""
        return self.exchange.kind == "signs"

    @property
    def are_labels(self) -> bool:
        return bool(self.problem.inputs.is_category[list(self.members)].all())

    @cached_property
    def others(self) -> IndexArray:
        return self.problem.inputs.without(self.members)

    @cached_property
    def unit(self) -> IndexArray:  # shape: (n_rows,)
        """Units over which means are taken; where signs change each row is one."""
        each = np.arange(self.problem.design.n_rows)
        return each if self.of_signs else self.exchange.unit

    @cached_property
    def first(self) -> IndexArray | None:  # shape: (n_units,)
        """First row of each unit; None where each row is one."""
        first = first_of(self.unit)
        return first if len(first) < len(self.unit) else None

    @property
    def inputs(self) -> FloatArray:  # shape: (n_units, n_members)
        values = self.problem.inputs.X[:, list(self.members)]
        return values if self.first is None else values[self.first]

    @cached_property
    def whole(self) -> Terms:
        """Terms of all rows."""
        return self.problem.terms(self.members)

    @cached_property
    def own(self) -> Terms:
        """Terms of units, of mean 0 where units are compared."""
        own, blocks = self.whole, self.problem.design.blocks_of_series
        own = own if blocks is None else own.centred(blocks)
        own = own if self.first is None else own.of_units(self.first)
        strata = self.exchange.strata
        return own if strata is None else own.centred(strata)

    def fit(self) -> tuple[NullFit, FloatArray, FloatArray | None]:
        """Fit the outputs of units to the other inputs.

        With what the inputs may do alone, their terms and polynomials, of shape
        (n_units, n_functions), and the residuals of runs if something recurs.
        """
        inputs, design = self.problem.inputs, self.problem.design
        exchange, (values, groups) = self.exchange, self.problem.coordinates
        numbers = [k for k in self.members if not inputs.is_category[k]]
        polynomials = [inputs.tables[k, : inputs.n_functions[k]].T for k in numbers]
        both = np.hstack([values, self.whole.values, *polynomials])
        if design.blocks_of_series is not None:
            both = without_means(both, design.blocks_of_series)
        both = design.without_shifts(both, exchange)
        inside = without_means(both[:, : len(groups)], self.unit)
        if self.first is not None:
            both = mean_of(both, self.unit)
        fitted = self.others
        if exchange.pooled and exchange.strata is not None:  # whose means take all off
            both, fitted = equal_within(both, exchange.strata), fitted[:0]
        values, terms = both[:, : len(groups)], both[:, len(groups) :]
        if _UNITS_A_FUNCTION * terms.shape[1] > len(terms):
            terms = terms[:, : self.whole.values.shape[1]]
        given = inputs, fitted, values, groups, self.unit, terms
        of_series = design.setting if self.of_signs else None
        fit = fit_others(*given, additive=exchange.pooled, setting=of_series)
        if design.recurring is None or self.of_signs:
            return fit, terms, None
        return fit, terms, bounded(inside + fit.residuals[self.unit], groups)

    def left(self) -> tuple[Terms, bool, tuple[int, ...]]:
        """Return what the other inputs leave of the terms, whether they know any.

        And the others that the terms are tied to.
        """
        inputs, strata, own = self.problem.inputs, self.exchange.strata, self.own
        seen = self.whole if strata is None else own
        same = self.problem.design.setting if self.of_signs else self.unit
        dependence = inputs.dependence(seen.values, self.others, same)
        is_left = bool(dependence.max(initial=0.0) > _NO_CORRELATION)  # beyond chance
        tied: tuple[int, ...] = ()
        if is_left:
            known = inputs if strata is None else inputs.centred(strata[self.unit])
            own, tied = _left_of(known, self.others, own, self.unit)
            own = own if strata is None else own.centred(strata)
        first_terms = self.own.values if self.are_labels else self.own.values[:, :1]
        given = inputs, self.others, first_terms, self.unit, self.are_labels
        return own, is_left, tied or _known_in_order(*given)

    def arranged(self, fit: NullFit, own: Terms) -> tuple[FloatArray, bool] | None:
        """Return ``Inputs.free_directions`` of an arranged design, None of others."""
        strata, blocks = self.exchange.strata, self.problem.design.blocks
        if strata is not None and blocks is not None:
            blocks = blocks[first_of(self.unit)]
        is_free = strata is None or (blocks is not None and (strata == blocks).all())
        if not fit.covariances or self.of_signs or not is_free:
            return None  # of other strata than the blocks nothing is known
        inputs, given = self.problem.inputs, (self.others, self.unit)
        nearness = inputs.dependence(self.whole.values[:, :1], *given, 1).sum()
        if not is_arranged(nearness, len(self.others)):
            return None
        return inputs.free_directions(own.values[:, 0], *given, strata)


@dataclass(frozen=True, eq=False)
class _Setting:
    """Units with residuals of a fit of the others, and terms that are exchanged."""

    problem: Problem
    own: Terms
    residuals: FloatArray  # shape: (n_units, n_coordinates), few for each output
    groups: IndexArray  # shape: (n_coordinates,)
    partners: Mapping[int, FloatArray]  # their leading terms, by units
    exchange: Exchange
    tied_to: tuple[int, ...]
    outlying: BoolArray  # shape: (n_units, n_outputs), see ``_outlying``
    functions: FloatArray  # shape: (n_units, n_functions), what inputs may do alone
    beside: FloatArray  # shape of the residuals: what these functions leave of them
    sees_pairs: bool = True  # else there are too many to look at them
    is_left: bool = False  # whether terms are what the other inputs leave of them
    # Of an arranged design: roots of covariances of the residuals, by their priors.
    roots: tuple[FloatArray, ...] = ()  # shapes: (n_units, n_directions)
    prior_of: IndexArray | None = None  # shape: (n_coordinates,)
    turns: bool = False  # whether residuals are rotated, the terms in their places
    of_levels: bool = False  # whether it is a design of levels
    order: FloatArray | None = None  # shape: (n_units,), of a series
    rows: FloatArray | None = None  # shape: (n_rows, n_coordinates), residuals of runs
    alone: bool = False  # whether all of the level is for what the terms do alone

    @classmethod
    def of(cls, problem: Problem, members: tuple[int, ...]) -> _Setting | None:
        inputs, groups = problem.inputs, problem.coordinates[1]
        exchange = problem.exchange(members)
        if exchange.kind == "none":
            return None
        asked = _Asked(problem, members, exchange)
        others, unit = asked.others, asked.unit
        fit, terms, of_rows = asked.fit()
        residuals, beside = bounded(fit.residuals, groups), bounded(fit.beside, groups)
        own, is_left, tied = asked.left()
        roots: tuple[FloatArray, ...] = ()
        turns, few, are_levels = False, False, inputs.are_levels(unit)
        arranged = asked.arranged(fit, own)
        if arranged is not None:
            free, turns = arranged
            residuals = free @ (free.T @ residuals)
            roots = tuple(
                free @ root_of(free.T @ one @ free) for one in fit.covariances
            )
            few = turns and are_levels and free.shape[1] < _MANY_FREE
            if turns and len(members) == 1 and not asked.are_labels:
                own = own.first(max(free.shape[1] // 3, 1))
                own = replace(own, n_leading=1) if few else own
            terms, beside = own.values, _beside(residuals, own.values)
        size = np.sqrt(np.square(_sizes(residuals, groups)).sum(axis=0))
        residuals = residuals / np.where(size > 0, size, 1.0)[groups]
        confounded = roots and are_levels and inputs.are_confounded(unit)
        some = others[:0] if exchange.pooled or confounded else others
        partners = _partners_of(inputs, some, unit, few)
        n_products = len(groups) * sum(one.shape[1] for one in partners.values())
        sees_pairs = n_products <= _MOST_PRODUCTS
        return cls(
            problem=problem,
            own=own,
            residuals=residuals,
            groups=groups,
            partners=partners if sees_pairs else {},
            exchange=exchange,
            tied_to=tied,
            outlying=_outlying(asked.inputs, fit.residuals, groups)
            & ~problem.of_two_values,
            functions=terms,
            beside=beside,
            sees_pairs=sees_pairs,
            is_left=is_left,
            roots=roots,
            prior_of=fit.prior_of,
            turns=turns,
            of_levels=are_levels and (turns or exchange.strata is not None),
            order=problem.design.order,
            rows=of_rows,
        )

    @property
    def n_units(self) -> int:
        return len(self.residuals)

    @property
    def n_outputs(self) -> int:
        return int(self.groups.max()) + 1

    @cached_property
    def lead(self) -> Terms:
        """Terms that take part in products."""
        return self.own.first(self.own.n_leading)

    @cached_property
    def columns(self) -> FloatArray:  # shape: (n_units, n_products)
        """Leading terms of all partners."""
        return np.hstack([np.zeros((self.n_units, 0)), *self.partners.values()])

    @cached_property
    def products(self) -> FloatArray:  # shape: (n_units, n_coordinates * n_products)
        """Residuals times the leading terms of all partners."""
        return products_of(self.residuals, self.columns)

    def of_partners(self, values: FloatArray) -> FloatArray:
        """Add up the last axis, of products, by partner."""
        widths = [table.shape[1] for table in self.partners.values()]
        return np.add.reduceat(values, np.cumsum([0, *widths[:-1]]), axis=-1)

    def with_partner(self, place: int) -> list[Terms]:
        """Return the terms, and their products with a partner; -1 for none."""
        tables = list(self.partners.values())[place : place + 1] if place >= 0 else []
        return [self.own, *map(self.own.times, tables)]

    def only(self, outputs: IndexArray) -> _Setting:
        """Keep some outputs, with new numbers."""
        if len(outputs) == self.n_outputs:
            return self
        columns = np.flatnonzero(np.isin(self.groups, outputs))
        groups = np.searchsorted(outputs, self.groups[columns])
        return replace(
            self,
            residuals=self.residuals[:, columns],
            groups=groups,
            outlying=self.outlying[:, outputs],
            beside=self.beside[:, columns],
            prior_of=None if self.prior_of is None else self.prior_of[columns],
        )

    def without(self, rows: IndexArray) -> _Setting:
        """Leave units out."""
        keep = np.setdiff1d(np.arange(self.n_units), rows)
        strata = self.exchange.strata
        strata = None if strata is None else numbers_of(strata[keep])
        return replace(
            self,
            own=self.own.of_units(keep),
            residuals=self.residuals[keep] - self.residuals[keep].mean(axis=0),
            partners={k: table[keep] for k, table in self.partners.items()},
            exchange=replace(self.exchange, strata=strata),
            outlying=self.outlying[keep],
            functions=self.functions[keep],
            beside=self.beside[keep],
            roots=tuple(one[keep] for one in self.roots),
        )

    def without_outlying(
        self, p_values: FloatArray
    ) -> Iterator[tuple[int, IndexArray, _Setting]]:
        """Leave outlying units out, of each output whose p-value is small."""
        rests = (p_values <= 0.05) & self.outlying.any(axis=0)
        for output in np.flatnonzero(rests).tolist():
            few = np.flatnonzero(self.outlying[:, output])
            yield output, few, self.only(np.array([output])).without(few)

    # Scores, of draws in which the input does nothing.

    def draws(self, number: int, block: int, signs: bool = False) -> Iterator[_Scores]:
        """Return scores of so many draws, in blocks; of other signs or as exchanged."""
        strata = self.exchange.within
        signs |= self.exchange.kind == "signs"
        if strata is None and not (signs or self.turns):
            every = self.problem.orders(number, block, self.n_units)
            yield from map(self.scores_of_orders, every)
            return
        for start in range(0, number, block):
            size = min(block, number - start)
            if signs:
                unit = self.unit_of_signs
                shape = size, self.n_units if unit is None else int(unit.max()) + 1
                generator = np.random.default_rng([start, 3])
                yield self.scores_of_signs(generator.choice([-1.0, 1.0], size=shape))
            elif self.turns:
                yield self.scores_in_place(self.residuals_of_draws(size, start))
            else:
                assert strata is not None
                keys = np.random.default_rng([start, 2]).random((size, self.n_units))
                orders = np.empty((size, self.n_units), dtype=np.int64)
                orders[:, np.argsort(strata, kind="stable")] = np.argsort(keys + strata)
                yield self.scores_of_orders(orders)

    @property
    def unit_of_signs(self) -> IndexArray | None:  # shape: (n_units,)
        """Units whose signs change together; None where each has its own."""
        return self.exchange.unit if self.exchange.kind == "signs" else None

    def scores_of_orders(self, orders: IndexArray) -> _Scores:
        """Return scores where the terms have other orders."""
        moved = np.take(self.own.values.T, orders, axis=1)  # (n_terms, n, n_units)
        flat = moved.reshape(-1, self.n_units)
        n_flat = self.own.n_leading * len(orders)
        alone, pairs = flat @ self.residuals, flat[:n_flat] @ self.products
        return self._over_deviations(alone, pairs, moved)

    def scores_of_signs(self, signs: FloatArray) -> _Scores:
        """Return scores where the contributions of units have other signs."""
        unit, found = self.unit_of_signs, []
        for own, table in ((self.own, self.residuals), (self.lead, self.products)):
            flat = products_of(own.values, table)
            flat = signs @ (flat if unit is None else sum_of(flat, unit))
            found.append(flat.reshape(len(signs), own.values.shape[1], -1))
        alone, pairs = (np.swapaxes(one, 0, 1) for one in found)
        return self._over_deviations(alone, pairs)

    def scores_in_place(
        self,
        residuals: FloatArray,  # shape: (n, n_units, C)
    ) -> _Scores:
        """Return scores of other residuals."""
        alone = np.tensordot(self.own.values.T, residuals, axes=(1, 1))
        whole = products_of(self.lead.values, self.columns)
        pairs = np.tensordot(whole.T, residuals, axes=(1, 1))
        pairs = pairs.reshape(self.own.n_leading, -1, *alone.shape[1:])
        return self._over_deviations(alone, np.moveaxis(pairs, 1, 3))

    def residuals_of_draws(self, number: int, start: int) -> FloatArray:
        """Draw residuals as long as these, and as alike, from their covariances."""
        assert self.prior_of is not None
        roots = [self.roots[k] for k in self.prior_of.tolist()]
        white, length = [], []
        for root, column in zip(roots, self.residuals.T, strict=True):
            white.append(np.linalg.lstsq(root, column, rcond=None)[0])
            # Squares are not divided by more than the noise where they are small.
            squares, sizes = np.square(white[-1]), np.square(root).sum(axis=0)
            most = np.maximum(squares, _NOISE * squares.mean())
            every = squares * sizes.max() / np.maximum(sizes, 1e-300)
            length.append(np.sqrt(np.minimum(every, most).sum()))
        half = root_of(np.array(white) @ np.array(white).T)
        generator = np.random.default_rng([start, 4])
        normal = generator.normal(size=(number, roots[0].shape[1], len(half)))
        drawn = normal @ half.T
        drawn *= (length / np.maximum(np.linalg.norm(drawn, axis=1), 1e-300))[:, None]
        found = [root @ drawn[:, :, k].T for k, root in enumerate(roots)]
        return np.moveaxis(np.array(found), 2, 0).swapaxes(1, 2)

    def _over_deviations(
        self, alone: FloatArray, pairs: FloatArray, moved: FloatArray | None = None
    ) -> _Scores:
        """Divide scores, of terms in other places or in their own, by deviations."""
        if moved is None:
            moved = self.own.values.T[:, np.newaxis]
        n_columns, n_products = self.residuals.shape[1], self.columns.shape[1]
        alone = alone.reshape(len(moved), -1, n_columns)
        pairs = pairs.reshape(self.own.n_leading, alone.shape[1], n_columns, n_products)
        sizes = np.full((1, n_products), float(self.n_free))
        if self.roots:
            alone = alone / self._deviations(moved)
            lead = moved[: self.own.n_leading]
            for k, column in enumerate(self.columns.T):
                pairs[..., k] /= self._deviations(lead * column)
        elif self.of_levels:
            sizes = np.square(moved[0]) @ np.square(self.columns)
        return alone, pairs, np.maximum(sizes, 1e-300)

    def _deviations(self, moved: FloatArray) -> FloatArray:
        """Return deviations of scores; shape (n_terms, n_orders, n_coordinates)."""
        assert self.prior_of is not None
        length = partial(np.linalg.norm, axis=-1)
        found = [length(moved @ root) / np.linalg.norm(root) for root in self.roots]
        least = 1e-6 * length(moved) / np.sqrt(self.n_units)
        known = [np.where(one > least, one, np.inf) for one in found]
        return np.stack(known, axis=2)[:, :, self.prior_of]

    def statistics(self, scores: _Scores) -> list[FloatArray]:  # (n_draws, n_outputs)
        """Return the statistic of scores alone, and that of the best pair.

        In a design of levels, what an input does alone is no noise of what it does in
        its best pair, nor the other way round: what is beyond chance is taken off.
        """
        alone, pairs, sizes = np.square(scores[0]), np.square(scores[1]), scores[2]
        whole, first = alone.sum(axis=0), pairs[:1]
        alone = added(np.tensordot(self.own.weights, alone, axes=1), self.groups)
        if self.alone:
            return [alone]
        if not self.partners:
            return [alone, np.zeros_like(alone)]
        pairs = np.tensordot(self.lead.weights, pairs, axes=1)
        pairs = self.of_partners(added(pairs, self.groups, axis=1)) / self.expected
        pairs = pairs.max(axis=2)
        if not self.of_levels:
            return [alone, pairs]
        whole = added(whole, self.groups) / self.n_free
        best = added(first.sum(axis=0), self.groups, axis=1) / sizes[:, np.newaxis]
        best = best.max(axis=2)
        total = added(np.square(self.residuals), self.groups).sum(axis=0)
        rest = (total - best - whole) / max(self.n_free - 2, 1)
        for statistic, other in ((alone, best), (pairs, whole)):
            left = np.maximum(1.0 - other / np.maximum(total, 1e-300), _LEAST_LEFT)
            statistic /= np.where(other > _LARGE_F * rest, left, 1.0)
        return [alone, pairs]

    @property
    def n_free(self) -> int:
        """Directions of the residuals."""
        return self.roots[0].shape[1] if self.roots else self.n_units

    @cached_property
    def expected(self) -> FloatArray:  # shape: (n_outputs, n_partners)
        """Mean of the scores of products where the input does nothing."""
        size = float(np.square(self.lead.values).mean(axis=0) @ self.lead.weights)
        if self.roots:
            columns = self.of_partners(np.ones(self.columns.shape[1]))
            return np.outer(np.bincount(self.groups), columns) * size
        sums = np.square(self.products).sum(axis=0)
        sums = sums.reshape(len(self.groups), -1)  # (n_coordinates, n_products)
        sums = added(sums, self.groups, axis=0)
        return np.asarray(np.maximum(size * self.of_partners(sums), 1e-300))

    @cached_property
    def observed(self) -> list[FloatArray]:  # of shape (1, n_outputs)
        """The statistics."""
        return self.statistics(self.scores_of_orders(np.arange(self.n_units)[None]))

    @cached_property
    def best(self) -> IndexArray:  # shape: (n_outputs,)
        """Partners with the largest products; -1 for none."""
        if not self.partners:
            return np.full(self.n_outputs, -1)
        scores = np.square(self.lead.values.T @ self.products)
        scores = (self.lead.weights @ scores).reshape(len(self.groups), -1)
        scores = self.of_partners(added(scores, self.groups, axis=0))
        return np.argmax(scores / self.expected, axis=1)

    # P-values, by ranks among draws, or by tails where these would be too many.

    @property
    def work(self) -> int:
        """Multiplications of a draw."""
        size = self.own.values.shape[1] + self.own.n_leading * self.columns.shape[1]
        return self.residuals.size * size

    def is_affordable(self, n_draws: int) -> bool:
        """Whether so many draws are made; else tails stand in their place."""
        entries = self.n_units * n_draws
        return self.work * n_draws <= _MOST_WORK and entries <= _MOST_DRAWN

    @property
    def is_nearly_normal(self) -> BoolArray:  # shape: (n_outputs,)
        """Whether no few units, as of a rare level and a rare result, make a score."""

        def peaks(values: FloatArray) -> FloatArray:
            squares = np.square(values)
            size = np.maximum(np.square(squares.mean(axis=0)), 1e-300)
            return np.asarray(np.square(squares).mean(axis=0) / size)

        largest = peaks(self.own.values).max() * peaks(self.residuals)
        of_lead = peaks(self.lead.values).max(initial=0.0)
        for column in self.columns.T:
            products = self.residuals * column[:, np.newaxis]
            np.maximum(largest, of_lead * peaks(products), out=largest)
        whole = added(largest, self.groups, of=np.maximum)
        return np.asarray(whole <= _NORMAL * self.n_units)

    def p_values(self, n_draws: int) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values; more draws for those that are small, then signs."""
        found = self._of_exchange(_FIRST)
        open_ = np.flatnonzero(found <= _CLEAR)
        if len(open_) and (self.roots or self.is_affordable(_FIRST)):
            found[open_] = self.only(open_)._of_exchange(n_draws)
        small = np.flatnonzero(found <= _SMALL)
        if len(small):
            by_signs = self.only(small)._of_signs(min(n_draws, _SIGNS))
            found[small] = np.maximum(found[small], by_signs)
        return found

    def p_values_of_all(self, n_draws: int) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values that are adjusted for all outputs."""
        found = self._of_exchange(n_draws, step_down)
        if found.min() <= _SMALL:
            found = np.maximum(found, self._of_signs(n_draws, step_down))
        return found if self.roots or self.is_affordable(n_draws) else holm(found)

    def spread_p_values(self, n_draws: int) -> FloatArray:  # shape: (n_outputs,)
        """Test whether the size of the residuals depends on the input."""
        each = np.arange(self.n_outputs)
        sizes = bounded(_sizes(self.residuals, self.groups), each)
        of_sizes = replace(
            self,
            own=self.lead,
            residuals=sizes,
            groups=each,
            partners={},
            roots=(),
            turns=False,
            alone=True,
        )
        return of_sizes.p_values(n_draws)

    def differences(self) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values whose error is what differs between labels, such as seeds.

        0 where what the input does differs no more between them than noise does. Else
        an effect in the mean is compared to that, by the F-test of a mixed model, with
        the degrees of freedom of as many terms as have equal weights.
        """
        found = np.zeros(self.n_outputs)
        if self.rows is None:
            return found
        label, unit = self.problem.design.recurring, self.exchange.unit
        assert label is not None
        for output, partner in enumerate(self.best.tolist()):
            columns = self.rows[:, self.groups == output]
            every = self.with_partner(partner)
            detected, steady = np.transpose(
                [_by_label(one, unit, columns, label) for one in every]
            )
            steady[1:] *= len(self.partners)
            if min(len(every) * detected.min(), 1.0) <= _DIFFERS:
                found[output] = min(float(_of_both(*steady)), 1.0)
        return found

    def _of_exchange(self, n_draws: int, rank: _Rank = smaller_rank) -> FloatArray:
        """Return ranks among draws; tails of normal scores where these cost too much.

        Where scores are not nearly normal, ranks among few draws stand for the tails.
        In a series, amplitudes of waves are asked too, whose products with an input
        change their signs: what a trend, a step or a cycle shares with another one is
        in few of them.
        """
        if self.roots or self.is_affordable(n_draws):
            found = rank(self.observed, self._drawn(n_draws))
        else:
            signs = self.exchange.kind == "signs"
            found = self._of_tails(self.residuals, signs)
            others = np.flatnonzero(~self.is_nearly_normal)
            if len(others) and not signs:
                rare = self.only(others)
                found[others] = smaller_rank(rare.observed, rare._drawn(_FEW_DRAWS))
        if self.order is None:
            return found
        residuals = waves_along(self.order, self.residuals)
        waves = replace(
            self,
            own=replace(self.own, values=waves_along(self.order, self.own.values)),
            residuals=residuals,
            partners={},
            exchange=replace(self.exchange, unit=np.arange(len(residuals))),
            order=None,
        )
        return np.maximum(found, waves._of_exchange(n_draws, rank))

    def _drawn(self, n_draws: int) -> list[FloatArray]:  # of shape (n_draws, n_outputs)
        """Return the statistics of draws."""
        each = self.own.values.size if self.alone else self.work
        every = self.draws(n_draws, max(_BLOCK * 8 // each, 64))
        drawn = zip(*map(self.statistics, every), strict=True)
        return list(map(np.concatenate, drawn))

    def _of_signs(
        self, n_draws: int, rank: _Rank = smaller_rank
    ) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values of changes of signs, of what the input leaves of residuals.

        What its terms, and those of the best partner, explain would be noise here. It
        is left in where the spread follows the input: in small samples a fit takes
        most of the noise away where there is most of it. Of few runs an exchange in
        strata is exact.
        """
        few = self.exchange.within is not None and self.n_units < _EXACT
        if self.alone or few or self.exchange.kind == "signs":
            return np.zeros(self.n_outputs)
        left = self.left_over()
        follows = replace(self, residuals=left).spread_p_values(_FIRST) <= _FOLLOWS
        if self.exchange.strata is None:
            follows &= self._is_larger_at_terms(left)
        if not self.is_left and not follows.any():
            return np.zeros(self.n_outputs)  # the exchange is exact
        columns = follows[self.groups]
        whole, strata = self.residuals, self.exchange.within
        if strata is not None:  # whose means the terms do not see
            whole = equal_within(whole, strata)
        left[:, columns] = whole[:, columns]
        other = replace(self, residuals=left)
        if not other.is_affordable(n_draws):
            found = self._of_tails(left, signs=True)
        else:
            (drawn,) = other.draws(n_draws, n_draws, signs=True)
            found = rank(self.observed, self.statistics(drawn))
        return found if self.is_left else np.where(follows, found, 0.0)

    def left_over(self) -> FloatArray:  # shape: (n_units, n_coordinates)
        """Return what the terms, and those of the best partner, leave of residuals."""
        left = self.residuals.copy()
        for partner in np.unique(self.best).tolist():
            whole = np.hstack([one.values for one in self.with_partner(partner)])
            if whole.shape[1] >= 0.5 * len(whole):
                continue
            q = np.linalg.qr(whole)[0]
            leverage = np.minimum(np.square(q).sum(axis=1), 0.9)
            columns = (self.best == partner)[self.groups]
            part = left[:, columns]
            part = (part - q @ (q.T @ part)) / np.sqrt(1.0 - leverage)[:, None]
            left[:, columns] = part
        return left

    def _is_larger_at_terms(self, left: FloatArray) -> BoolArray:  # (n_outputs,)
        """Whether scores vary more than exchanges do, by what is left of residuals.

        Where noise is small at the units that make the scores, an exchange asks for
        more than it needs to: as of designs that change one input at a time.
        """
        size = added(np.square(left), self.groups)
        share = size / np.maximum(size.mean(axis=0), 1e-300)
        larger = np.zeros(self.n_outputs, dtype=bool)
        for output, partner in enumerate(self.best.tolist()):
            for one in self.with_partner(partner):
                squares = np.square(one.values) @ one.weights
                larger[output] |= squares @ share[:, output] > squares.sum()
        return larger

    def _of_tails(self, residuals: FloatArray, signs: bool) -> FloatArray:
        """Return p-values by the tails of the statistics, Bonferroni among them."""
        alone = self._tail(self.own, residuals, None, signs)
        if not self.partners:
            return alone
        tables = self.partners.values()
        each = [self._tail(self.lead, residuals, table, signs) for table in tables]
        best = np.minimum(len(each) * np.min(each, axis=0), 1.0)
        return np.minimum(_of_both(alone, best), 1.0)

    def _tail(
        self, own: Terms, residuals: FloatArray, table: FloatArray | None, signs: bool
    ) -> FloatArray:  # shape: (n_outputs,)
        """Return the tail of squared scores of terms, times those of a partner."""
        found = np.ones(self.n_outputs)
        for output in range(self.n_outputs):
            columns = self.groups == output
            seen, given = self.residuals[:, columns], residuals[:, columns]
            if table is not None:
                seen, given = products_of(seen, table), products_of(given, table)
            value = own.weights @ np.square(own.values.T @ seen).sum(axis=1)
            if signs:
                sizes = sizes_of_signs(own, given, self.unit_of_signs)
            else:
                sizes = sizes_of_exchange(own, given, self.exchange.within)
            found[output] = tail_of_mixture(value, sizes)
        return found

    # Pairs

    def pairs(
        self, partners: Sequence[tuple[int, ...]]
    ) -> FloatArray:  # shape: (n_partners, n_outputs)
        """Test products with partners beside what both do alone.

        By the tails of the scores, over exchanges and over signs; the larger counts.
        Terms are taken off as the fit of the others leaves them out: a share of them
        that varies with the others would be a product. Weaker products are tested
        beside the stronger ones, which would be noise that follows the input.
        """
        found = np.ones((len(partners), self.n_outputs))
        if self.exchange.kind == "signs":
            return found
        products: dict[int, Terms] = {}
        for place, inputs in enumerate(partners):
            product = self._product(inputs)
            if product is not None:
                products[place] = product
                found[place] = self._of_product(product)
        for output in np.flatnonzero((found <= OF_PAIRS).sum(axis=0) > 1):
            rest, stronger = self.only(np.array([output])), None
            for place in np.argsort(found[:, output], kind="stable").tolist():
                if found[place, output] > OF_PAIRS:
                    break
                if stronger is not None:
                    rest = replace(rest, beside=_beside(rest.beside, stronger))
                    again = rest._of_product(products[place])[0]
                    found[place, output] = max(found[place, output], again)
                stronger = products[place].values
        return found

    def pairs_by_exchange(
        self, inputs: tuple[int, ...], n_draws: int
    ) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values of products with a partner, by exchanges of the input.

        Of an input that does nothing they are valid whatever the partner does alone.
        """
        if self.exchange.kind == "signs" or not set(inputs) <= set(self.partners):
            return np.zeros(self.n_outputs)  # as the tails say
        one = replace(self, partners={k: self.partners[k] for k in inputs})
        return rank_p_values(one.observed[1][0], one._drawn(n_draws)[1])

    def _product(self, inputs: tuple[int, ...]) -> Terms | None:
        """Return products with a partner, beside what both do alone."""
        if not set(inputs) <= set(self.partners):
            return None
        table = np.hstack([self.partners[k] for k in inputs])
        alone = np.hstack([self.own.values, self.functions, table])
        alone = linalg.orth(alone, rcond=_ROUNDING)
        if alone.shape[1] >= 0.5 * len(alone):
            return None  # beside so many terms nothing is left to see
        whole = self.own.times(table)
        left = _beside(whole.values - whole.values.mean(axis=0), alone)
        rounding = _SEEN * np.square(whole.values).sum(axis=0)
        seen = np.square(left).sum(axis=0) > rounding
        return Terms(left[:, seen], whole.weights[seen], 0) if seen.any() else None

    def _of_product(self, product: Terms) -> FloatArray:  # shape: (n_outputs,)
        other = replace(self, own=product, residuals=self.beside, partners={})
        by_signs = other._of_tails(other.left_over(), signs=True)
        return np.maximum(other._of_tails(self.beside, signs=False), by_signs)


def _beside(values: FloatArray, table: FloatArray) -> FloatArray:
    """Return what no linear function of the columns of a table explains."""
    basis = linalg.orth(table, rcond=_ROUNDING)
    return np.asarray(values - basis @ (basis.T @ values))


def _sizes(
    values: FloatArray, groups: IndexArray
) -> FloatArray:  # shape: (n_units, n_outputs)
    return np.asarray(np.sqrt(added(np.square(values), groups)))


def _outlying(
    X: FloatArray,  # shape: (n_units, n_own): values of the inputs that are tested
    residuals: FloatArray,  # shape: (n_units, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
) -> BoolArray:  # shape: (n_units, n_outputs)
    """Return units that lie far out, so that an answer may rest on them.

    Sizes of rows are in robust deviations. Where most rows are equal these are 0: at
    least a third of the root mean square.
    """
    size = _sizes(residuals - np.median(residuals, axis=0), groups)
    unit = 1.4826 * np.median(size, axis=0)
    unit = np.maximum(unit, np.sqrt(np.square(size).mean(axis=0)) / 3.0)
    far = size / np.where(unit > 0, unit, np.inf)
    middle = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - middle), axis=0)
    away = np.abs(X - middle) > _OUTLYING * spread
    elsewhere = np.asarray((away & (spread > 0)).any(axis=1))
    wild = (far > _FAR) & elsewhere[:, np.newaxis]
    wild &= wild.mean(axis=0) <= _MOST_OUTLYING
    largest = -np.partition(-far, _FEW - 1, axis=0)[_FEW - 1]
    lone = far > np.maximum(_OUTLYING, largest - 1e-12)
    lone &= lone.sum(axis=0) <= max(_FEW, _MOST_OUTLYING * len(lone))
    return np.asarray(wild | lone)


def _by_label(
    own: Terms,  # of units
    unit: IndexArray,  # shape: (n_rows,)
    residuals: FloatArray,  # shape: (n_rows, n_coordinates)
    label: IndexArray,  # shape: (n_rows,)
) -> tuple[float, float]:
    """Return p-values of slopes: that they differ, and that they are more in the mean.

    F-tests of an analysis of variance; means of labels are taken off.
    """
    weights, terms = own.weights, without_means(own.values[unit], label)
    residuals = without_means(residuals, label)
    counts = np.bincount(label)
    n_rows, n_labels = len(label), len(counts)
    slopes = sum_of(terms[:, :, np.newaxis] * residuals[:, np.newaxis, :], label)
    slopes /= np.maximum(np.square(terms).mean(axis=0), 1e-6)[:, np.newaxis]
    slopes /= counts[:, np.newaxis, np.newaxis]
    mean = np.tensordot(counts / n_rows, slopes, axes=1)
    squares = np.square(slopes - mean).sum(axis=2) @ weights
    between = float(counts @ squares) / (n_labels - 1)
    whole = n_rows * float(np.square(mean).sum(axis=1) @ weights)
    left = residuals - np.einsum("it,itc->ic", terms, slopes[label])
    noise = float(np.square(terms) @ weights @ np.square(left).sum(axis=1)) / n_rows
    free = n_rows - n_labels * (1 + terms.shape[1])
    if free < 1 or not min(between, noise) > 0.0:
        return 1.0, 0.0
    noise *= n_rows / free
    n_terms = weights.sum() ** 2 / np.square(weights).sum()
    degrees = n_terms * (n_labels - 1)
    detected = stats.f.sf(between / noise, degrees, free)
    return float(detected), float(stats.f.sf(whole / between, n_terms, degrees))


def added(
    values: FloatArray, groups: IndexArray, axis: int = -1, of: np.ufunc = np.add
) -> FloatArray:
    """Add up the coordinates of each output, which stand together along an axis.

    Or take the largest of them.
    """
    if len(groups) == groups[-1] + 1:
        return values
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.asarray(of.reduceat(values, starts, axis=axis))


def _left_of(
    inputs: Inputs, others: IndexArray, own: Terms, unit: IndexArray
) -> tuple[Terms, tuple[int, ...]]:
    """Return what the others leave of the terms, and what they cannot be told from.

    What labels know of a number is known exactly: it can be told from them.
    """
    targets = own.values
    one = np.zeros(targets.shape[1], dtype=np.int64)
    fit = fit_others(inputs, others, targets, one, unit, smooth=True)
    if not fit.weights.any():
        return own, ()
    left = fit.residuals - fit.residuals.mean(axis=0)
    size = np.square(targets - targets.mean(axis=0)).sum(axis=0)
    known = 1.0 - np.square(left).sum(axis=0)[0] / max(size[0], 1e-300)
    tied = others[fit.weights / fit.weights.sum() > 0.1]
    if known <= _TIED or (inputs.is_category[tied].all() and known < _COPIED):
        return replace(own, values=left), ()
    return replace(own, values=left), tuple(tied.tolist())


def _known_in_order(
    inputs: Inputs,
    others: IndexArray,
    terms: FloatArray,  # shape: (n_units, n_terms)
    unit: IndexArray,
    are_labels: bool,
) -> tuple[int, ...]:
    """Return the other numbers of which an input is a function, also a rough one.

    By the differences between neighbours in their order (J. von Neumann, 1941), of
    labels by how often these change, beside what is expected of any order. Ties are in
    no order.
    """
    n_units = len(terms)
    least, expected = 0.0, 2.0 * float(terms.var(axis=0).sum()) * n_units
    if are_labels:
        number, counts = np.unique(numbers_of(terms), return_counts=True)
        least, expected = len(number) - 1.0, n_units - np.square(counts).sum() / n_units
    if not expected > 1.1 * least:
        return ()
    shuffled = np.random.default_rng(0).permutation(n_units)
    columns = inputs.X[first_of(unit)][shuffled]
    terms, found = terms[shuffled], []
    for k in others[~inputs.is_category[others]].tolist():
        steps = np.diff(terms[np.argsort(columns[:, k], kind="stable")], axis=0)
        seen = (steps != 0).any(axis=1) if are_labels else np.square(steps).sum(axis=1)
        if 1.0 - (float(seen.sum()) - least) / (expected - least) > _TIED:
            found.append(k)
    return tuple(found)
