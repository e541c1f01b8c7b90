r"""Draws from the posterior of coefficients, whose prior was learned.

The parameters of the prior have about a normal posterior around the most likely ones,
with the inverse of the second derivative as covariance (Laplace's approximation). Given
a draw of them the coefficients are normal, and are drawn by conditioning a draw from
the prior on the samples (A. G. Journel and C. J. Huijbregts, "Mining Geostatistics",
1978, section VII.A).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from .._basis.basis import PolynomialBasis, categorical_inputs
from .._basis.index_sets import sort_graded
from .._checks import BoolArray, FloatArray, IndexArray, Samples
from .._input_laws import InputLaw
from .prior import INTERCEPT, Observations, Search, TermPrior, observations_of
from .ridge import (
    LearnedRidgeSolver,
    equally_large,
    rows_of,
    spread_rows,
    terms_of,
    with_mean_weight_one,
    without_copies,
)

# Smallest second derivative: the parameter is then as uncertain as before the samples.
_LEAST_CURVATURE = 0.15

# An input, or its effect alone, may be nothing where the log evidence without it is
# less than this below the one with it.
_SETTLED = 2.0

# Rows from which the second derivative is taken, and inputs of which.
_MOST_ROWS, _MOST_INPUTS = 200, 24

# Terms that are drawn, where samples are fewer than the first number and beyond.
_FEW_SAMPLES, _MOST_TERMS = 100, (800, 300)

_STEP = 1e-3  # between the gradients whose difference is the second derivative


@dataclass(frozen=True)
class CoefficientDraws:
    """Draws of the coefficients of targets that share a prior."""

    targets: IndexArray  # shape: (n_chosen,), their positions
    multi_indices: IndexArray  # shape: (n_terms, n_inputs), without the constant
    settled: BoolArray  # shape: (2, n_inputs): the effect alone, or any, is not 0
    draws: Iterator[tuple[FloatArray, FloatArray]]
    """Coefficients, (n_chosen, n_terms), and their variances given the prior."""


def coefficient_draws(
    solver: LearnedRidgeSolver,
    laws: Sequence[InputLaw],
    multi_indices: IndexArray
    | None,  # shape: (n_terms, n_inputs), where terms are given
    samples: Samples,  # which have all targets
    groups: IndexArray,  # shape: (n_targets,)
    n_draws: int,
    generator: np.random.Generator,
    spread: float,  # of the parameters of the prior, over that of the approximation
) -> Iterator[CoefficientDraws]:
    """Yield the draws of the targets of each prior."""
    for number, targets in solver.parts(groups):
        prior = solver.priors[number]
        own = samples.of(np.arange(len(samples.inputs)), targets)
        own = with_mean_weight_one(without_copies(own))
        scaled = own.targets
        if len(solver.priors) < len(np.unique(groups)):
            scaled = equally_large(scaled, groups[targets], own.weights)
        known = observations_of(scaled, own.weights)
        listed = multi_indices
        if listed is None:
            listed = _terms_to_draw(prior, laws, len(own.inputs))
        design = PolynomialBasis(laws, listed).evaluate(own.inputs)[:, 1:]
        settled = np.zeros((2, len(laws)), dtype=bool)
        if known:
            settled = _settled(prior, design, listed[1:], known[0])
        given = prior, laws, multi_indices, own, scaled
        priors = _priors(*given, n_draws, generator, spread)
        draws = _draws(priors, design, listed[1:], own, generator)
        yield CoefficientDraws(targets, listed[1:], settled, draws)


def _terms_to_draw(
    prior: TermPrior, laws: Sequence[InputLaw], n_samples: int
) -> IndexArray:  # shape: (n_terms, n_inputs)
    most = _MOST_TERMS[n_samples > _FEW_SAMPLES]
    rows = prior.listed(most, 0.1 * prior.noise / n_samples, np.inf)
    assert rows is not None  # any variance may be left out
    linear = np.diag(np.minimum(prior.n_functions, 1))[: most // 2]
    rows = np.unique(np.vstack([rows, linear]), axis=0)
    return sort_graded(rows, categorical_inputs(laws))


def _settled(
    prior: TermPrior,
    design: FloatArray,  # shape: (n_samples, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    known: Observations,
) -> BoolArray:  # shape: (2, n_inputs)
    """Return whether the evidence falls without an input alone, and at all."""
    variances = prior.variances(multi_indices)
    active = multi_indices > 0
    alone = active & (active.sum(axis=1) == 1)[:, np.newaxis]
    used = known.subset(_MOST_ROWS)
    design = design[used.rows]
    used = replace(used, rows=np.arange(len(design)))
    kernel = (design * variances) @ design.T
    best = used.evidence(kernel, prior.noise)[0]
    found = np.zeros((2, multi_indices.shape[1]), dtype=bool)
    for row, members in enumerate((alone, active)):
        for i in np.flatnonzero((members.T @ variances) > 1e-6 * variances.sum()):
            some = design[:, members[:, i]]
            without = kernel - (some * variances[members[:, i]]) @ some.T
            found[row, i] = used.evidence(without, prior.noise)[0] - best > _SETTLED
    return found


def _priors(
    prior: TermPrior,
    laws: Sequence[InputLaw],
    multi_indices: IndexArray | None,
    samples: Samples,
    scaled: FloatArray,  # shape: (n_samples, n_targets)
    n_draws: int,
    generator: np.random.Generator,
    spread: float,
) -> Iterator[TermPrior]:
    """Draw priors around the learned one."""
    rows = spread_rows(samples, _MOST_ROWS)
    some = samples if rows is None else rows_of(samples, rows)
    own = scaled if rows is None else scaled[rows]
    order = len(prior.order_weights)
    terms = terms_of(laws, some.inputs, prior.n_functions, multi_indices, order)
    search = Search(
        terms,
        prior.n_functions,
        categorical_inputs(laws),
        observations_of(own, some.weights),
    )
    centre = search.vector(prior)
    low, high = search.bounds().T
    heavy = np.argsort(-prior.weights, kind="stable")[:_MOST_INPUTS]
    free = search.positions(heavy)
    curvature = np.empty((len(free), len(free)))
    for row, position in enumerate(free):
        step = np.zeros_like(centre)
        step[position] = _STEP
        after, before = search.objective(centre + step), search.objective(centre - step)
        curvature[row] = (after[1] - before[1])[free] / (2.0 * _STEP)
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    # The symmetric root: with others, draws would hang on the signs of eigenvectors.
    root = vectors * (spread / np.sqrt(np.maximum(values, _LEAST_CURVATURE)))
    map_to = root @ vectors.T
    for _ in range(n_draws):
        drawn = centre.copy()
        drawn[free] += map_to @ generator.standard_normal(len(free))
        yield search.prior(np.clip(drawn, low, high))


def _draws(
    priors: Iterator[TermPrior],
    design: FloatArray,  # shape: (n_samples, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    samples: Samples,
    generator: np.random.Generator,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Draw coefficients given each prior."""
    weights, targets = samples.weights, samples.targets
    share = weights / weights.sum()
    centred = targets - share @ targets
    deviation = np.sqrt(share @ np.square(centred))
    units = centred / np.where(deviation > 0, deviation, 1.0)
    design = design - share @ design
    n_samples, n_terms = design.shape
    weighted = design * weights[:, np.newaxis]
    if n_terms <= n_samples:
        gram, cross = design.T @ weighted, weighted.T @ units
    for prior in priors:
        root = np.sqrt(prior.variances(multi_indices))
        if n_terms <= n_samples:
            precision = gram * np.outer(root, root) / prior.noise
            np.einsum("ii->i", precision)[...] += 1.0
            factor = np.linalg.cholesky(precision)
            inverse = np.linalg.inv(factor)  # scipy's may refuse no terms at all
            mean = inverse @ (root[:, np.newaxis] * cross / prior.noise)
            drawn = inverse.T @ (mean + generator.standard_normal(mean.shape))
            variance = np.square(root) * np.square(inverse).sum(axis=0)
            coefficients = root[:, np.newaxis] * drawn
        else:
            scaled = design * root
            covariance = scaled @ scaled.T + INTERCEPT
            noise = prior.noise / weights
            np.einsum("ii->i", covariance)[...] += noise
            factor = cho_factor(covariance, lower=True)
            first = generator.standard_normal((n_terms, units.shape[1]))
            rest = units - scaled @ first
            rest -= np.sqrt(noise)[:, np.newaxis] * generator.standard_normal(
                rest.shape
            )
            rest -= np.sqrt(INTERCEPT) * generator.standard_normal(rest.shape[1])
            drawn = first + scaled.T @ cho_solve(factor, rest)
            coefficients = root[:, np.newaxis] * drawn
            half = solve_triangular(factor[0], scaled, lower=True)
            variance = np.square(root) * (1.0 - np.square(half).sum(axis=0))
        variances = np.outer(np.square(deviation), np.maximum(variance, 0.0))
        yield coefficients.T * deviation[:, np.newaxis], variances
