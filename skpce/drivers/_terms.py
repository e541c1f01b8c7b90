"""An input, or a group of inputs, as terms; residuals of a fit without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from .._basis.basis import categorical_inputs
from .._checks import BoolArray, FloatArray, IndexArray, one_thread_if_small
from .._input_laws import InputLaw
from .._input_laws.choice import choose_laws
from .._input_laws.tabulated import CategoricalLaw
from .._learned.kernel_basis import tables_of
from .._learned.prior import (
    INTERCEPT,
    AllTerms,
    Search,
    TermPrior,
    learn_prior,
    observations_of,
)
from .._learned.ridge import equally_large, functions_of

# Degrees of the terms that are tested, what a degree weighs against the one before, and
# how many terms take part in interactions.
_DEGREES, _DECAY, _LEADING = 4, 0.6, 2

# Degrees, order and steps of the search of a fit whose residuals are tested.
_FIT_DEGREES, _FIT_ORDER, _FIT_STEPS = 6, 2, 8
_MODEL_DEGREES = 4  # of a fit of the terms of an input to the others

# Rows that the search sees at most, and rows beyond which terms are listed.
_SEARCH_ROWS, _KERNEL_ROWS, _LISTED = 250, 1200, 600

# So many groups of coordinates have priors of their own; more share one.
_MOST_PRIORS = 8

# Largest square of a correlation of terms, times the rows, that is none.
_NO_CORRELATION = 14.0


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

    def of_units(self, first: IndexArray) -> Terms:
        """Return the terms of some rows, of mean 0."""
        values = self.values[first]
        return replace(self, values=values - values.mean(axis=0))


def without_means(values: FloatArray, strata: IndexArray) -> FloatArray:
    """Take the means of strata off."""
    return np.asarray(values - mean_of(values, strata)[strata])


def mean_of(values: FloatArray, labels: IndexArray) -> FloatArray:
    """Return the mean of the rows of each label."""
    sums = np.zeros((labels.max() + 1, *values.shape[1:]))
    np.add.at(sums, labels, values)
    counts = np.bincount(labels).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(sums / counts)


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
    ranks = (2.0 * rankdata(values) - 1.0) / n_rows - 1.0
    degree = min(_DEGREES, n_levels - 1)
    powers = np.polynomial.legendre.legvander(ranks, degree)
    q, r = np.linalg.qr(powers)
    found = q[:, 1:] * np.sqrt(n_rows) * np.sign(np.diag(r))[1:]
    weights = np.power(_DECAY, np.arange(degree, dtype=np.float64))
    return Terms(found, weights, min(_LEADING, degree))


def joined(members: Sequence[Terms]) -> Terms:
    """Return terms of a group: those of its inputs, and leading ones times others."""
    if len(members) == 1:
        return members[0]
    values = [one.values for one in members]
    weights = [one.weights for one in members]
    for i, one in enumerate(members):
        for other in members[i + 1 :]:
            product = one.leading[:, :, None] * other.leading[:, None, :]
            product = product.reshape(len(product), -1)
            values.append(product - product.mean(axis=0))
            weights.append(np.full(product.shape[1], _DECAY))
    order = np.argsort(-np.concatenate(weights), kind="stable")
    table = np.hstack(values)[:, order]
    n_leading = sum(one.n_leading for one in members)
    return Terms(table, np.concatenate(weights)[order], min(n_leading, len(order)))


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
        number = np.where(categorical_inputs(laws), n_functions, _FIT_DEGREES)
        n_functions = np.minimum(n_functions, number)
        tables = tables_of(laws, X, n_functions)
        own = (terms_of_input(x, c) for x, c in zip(X.T, is_category, strict=True))
        return cls(X, is_category, laws, tables, n_functions, tuple(own))

    def without(self, members: Sequence[int]) -> IndexArray:
        """Return the positions of all other inputs."""
        return np.setdiff1d(np.arange(len(self.laws)), members)

    def dependence(
        self, members: Sequence[int], others: IndexArray, unit: IndexArray | None
    ) -> float:
        """Return the largest squared correlation of terms with the others', times n."""
        if not len(others):
            return 0.0
        own = joined([self.terms[k] for k in members]).values
        table = np.hstack([self.terms[k].values for k in others.tolist()])
        found = own.T @ table / len(table)
        n_units = len(table) if unit is None else int(unit.max()) + 1
        return float(n_units * np.square(found).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class NullFit:
    """A fit of outputs to some inputs: residuals, rows left out one by one."""

    residuals: FloatArray  # shape: (n_rows, n_coordinates)
    explains: bool  # whether anything was found
    weights: FloatArray  # shape: (n_inputs,), learned; of the first prior


def fit_others(
    inputs: Inputs,
    others: IndexArray,
    targets: FloatArray,  # shape: (n_units, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
    unit: IndexArray | None = None,  # shape: (n_rows,), means over which are fitted
    *,
    smooth: bool = False,
) -> NullFit:
    """Fit outputs to other inputs, with prior variances learned from these alone.

    With ``smooth`` as a model of an input: low degrees, no interactions, and residuals
    of the fit itself.
    """
    degrees = _MODEL_DEGREES if smooth else _FIT_DEGREES
    contrasts = categorical_inputs(inputs.laws)[others]
    limit = np.where(contrasts, inputs.n_functions[others], degrees)
    n_functions = np.minimum(inputs.n_functions[others], limit)
    most = int(n_functions.max(initial=0))
    tables = inputs.tables[others][:, :most]
    if smooth:
        keep = np.arange(most) < n_functions[:, np.newaxis]
        tables = tables * keep[:, :, np.newaxis]
    if unit is not None and unit.max() + 1 < len(unit):
        moved = np.moveaxis(tables, 2, 0)
        tables = np.ascontiguousarray(np.moveaxis(mean_of(moved, unit), 0, 2))
    centred = targets - targets.mean(axis=0)
    n_rows = len(centred)
    alone = centred * (n_rows / max(n_rows - 1, 1))
    found, explains = alone.copy(), False
    weights = np.zeros(len(others))
    if not len(others) or not most:
        return NullFit(found, False, weights)
    labels = np.unique(groups)
    parts = [np.flatnonzero(groups == label) for label in labels]
    if len(labels) > _MOST_PRIORS:
        parts = [np.arange(len(groups))]
    order = 1 if smooth else _FIT_ORDER
    rows = spread(n_rows, _SEARCH_ROWS)
    with one_thread_if_small(n_rows**2):
        for part in parts:
            own = rotated(centred[:, part], groups[part])
            known = observations_of(own[rows], np.ones(len(rows)))
            search = AllTerms(np.ascontiguousarray(tables[:, :, rows]), order)
            start = Search(search, n_functions, contrasts, known).start()
            asked = search, n_functions, contrasts, known, start, _FIT_STEPS
            prior = learn_prior(*asked).or_nothing()
            if not prior.weights.any():
                continue
            explains = True
            weights = prior.weights
            found[:, part] = _residuals(prior, tables, centred[:, part], smooth)
    return NullFit(found, explains, weights)


def rotated(values: FloatArray, groups: IndexArray) -> FloatArray:
    """Return outputs, each as large; of many their coordinates in their directions.

    A prior that outputs share is the same for both.
    """
    same = equally_large(values, groups, np.ones(len(values)))
    if same.shape[1] <= len(same):
        return same
    sizes, vectors = np.linalg.eigh(same @ same.T)
    kept = sizes > 1e-12 * sizes[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(sizes[kept]))


def spread(n_rows: int, most: int) -> IndexArray:
    """Return rows spread over all, or all."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, most).round().astype(np.int64)


def _residuals(
    prior: TermPrior,
    tables: FloatArray,
    centred: FloatArray,
    smooth: bool,
) -> FloatArray:
    n_rows = len(centred)
    if n_rows <= _KERNEL_ROWS:
        covariance = prior.kernel(tables, tables) + INTERCEPT
        np.einsum("ii->i", covariance)[...] += prior.noise
        inverse = np.linalg.inv(covariance)
        if smooth:
            return np.asarray(prior.noise * (inverse @ centred))
        return np.asarray((inverse @ centred) / np.diag(inverse)[:, np.newaxis])
    listed = prior.listed(_LISTED, 0.0, np.inf)
    assert listed is not None  # any variance may be left out
    design = _products(listed, tables)
    scale = np.sqrt(prior.variances(listed))
    scale[0] = np.sqrt(INTERCEPT)
    design = design * scale
    gram = design.T @ design
    np.einsum("ii->i", gram)[...] += prior.noise
    half = np.linalg.solve(np.linalg.cholesky(gram), design.T)  # (n_terms, n_rows)
    fitted = half.T @ (half @ centred)
    leverage = np.square(half).sum(axis=0)
    misses = centred - fitted
    if smooth:
        return np.asarray(misses)
    return np.asarray(misses / (1.0 - np.minimum(leverage, 0.999))[:, np.newaxis])


def _products(
    listed: IndexArray, tables: FloatArray
) -> FloatArray:  # shape: (n_rows, n_terms)
    """Evaluate products of the functions of a table."""
    n_rows = tables.shape[2]
    found = np.ones((n_rows, len(listed)))
    for i, exponents in enumerate(listed.T):
        some = np.flatnonzero(exponents)
        found[:, some] *= tables[i, exponents[some] - 1].T
    return found


def bounded(
    residuals: FloatArray,  # shape: (n_units, n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
    most: float = 3.0,
) -> FloatArray:
    """Shorten rows that are longer than so many deviations, in each group."""
    found = residuals - np.median(residuals, axis=0)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    size = np.sqrt(np.add.reduceat(np.square(found), starts, axis=1))
    unit = 1.4826 * np.median(size, axis=0)
    unit = np.where(unit > 0, unit, np.sqrt(np.square(size).mean(axis=0)))
    factor = np.minimum(1.0, most * unit / np.maximum(size, 1e-300))
    factor[:, unit == 0] = 1.0
    found *= factor[:, np.cumsum(np.diff(groups, prepend=groups[0]) > 0)]
    return np.asarray(found - found.mean(axis=0))


def is_correlated(dependence: float) -> bool:
    """Whether a correlation of terms is beyond chance."""
    return dependence > _NO_CORRELATION
