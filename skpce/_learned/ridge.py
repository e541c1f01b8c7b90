"""Ridge with learned prior variances: its terms, or kernels where they are too many."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from .._basis.basis import (
    TRUNCATIONS,
    BasisParameters,
    Functions,
    PolynomialBasis,
    categorical_inputs,
    ends_of,
    evaluate_within,
    sort_graded,
    tables_of,
)
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    Samples,
    check_option,
    one_thread_if_small,
    state_of_fields,
)
from .._input_laws.families import InputLaw
from .._solvers.problem import (
    DesignDecomposition,
    DesignMoments,
    GeneralizedRidgeSolver,
    LinearFit,
    LinearProblem,
    fit_penalties,
    join_fits,
    solve_moments,
    sum_rows,
    weighted_mean,
    weighted_squares,
)
from .prior import (
    INTERCEPT,
    MOST_STEPS,
    MUCH_NOISE,
    AllTerms,
    ListedTerms,
    Observations,
    Search,
    TermPrior,
    Terms,
    elementary_sums,
    learn_prior,
    observations_of,
    power_sums,
)

#: Terms that are listed at most.
MOST_TERMS = 5000

# Entries of a list to which a term of each input is added.
_MOST_EXPONENTS = 10_000_000

# Largest degree in one input; less where there are very many inputs.
LARGEST_DEGREE, _FEWEST_DEGREES, _MOST_FUNCTIONS = 40, 3, 20_000

# Polynomials whose values are larger at a sample, far outside of its distribution, are
# left out, but for the first.
_LARGEST_VALUE = 1e4

# So many groups of targets have priors of their own; more share one.
_MOST_PRIORS = 8

# Up to so many rows the search sees all from the start. With more it begins with a
# part of them, and goes on with up to the last number.
_FEW_ROWS, _PART, _MOST_ROWS = 120, (100, 200), 600

# Variances that are left out: of all rows, and where a list would be too long, over
# that of the noise.
_DROPPED, _TOLERATED = 1.0, 0.1

# Steps beyond the samples, over their range. Expected squares of what an input does
# there, over its variance: of degrees from three on at most the first number, of all of
# them what is known of the input, over the second (``benchmarks.pce.beyond``).
_OUTWARDS = np.append(0.0, np.geomspace(1e-3, 1.0, 20))
_MOST_CHANGE, _KNOWN_WELL = 3.0, 8000.0

# Waves are tried of inputs with decays above the first number, and weights of this
# share of the largest, where there is noise for polynomials. So much more log evidence
# after so many steps speaks for them (``benchmarks.pce.comparison``).
_FAST, _FELT, _LEAST_NOISE = 0.4, 0.02, 1e-3
_MORE_EVIDENCE, _STEPS_OF_WAVES = 2.0, 4

# Penalties around the learned one, and the deviation of their logarithms.
_FACTORS, _FACTOR_SPREAD = np.logspace(-4.0, 4.0, 65), 2.0


class LearnedRidgeSolver(GeneralizedRidgeSolver):
    """Ridge with learned prior variances; the penalty is the learned noise."""

    fits_moments: ClassVar[bool] = True
    chooses_terms: ClassVar[bool] = True

    def __init__(
        self,
        scales: FloatArray,  # shape: (n_priors, n_terms), roots of prior variances
        noise: FloatArray,  # shape: (n_priors,)
        prior_of: IndexArray,  # by the number of a group
        refined: bool,  # whether each group looks for its penalty near the noise
        given: bool,  # whether the terms were given
        priors: Sequence[TermPrior],  # as learned, also where the fit is of noise alone
    ) -> None:
        self.scales, self.noise, self.prior_of = scales, noise, prior_of
        self.refined, self.given, self.priors = refined, given, tuple(priors)

    @property
    def is_cut(self) -> bool:
        """Whether terms were given, or inputs that do nothing together."""
        prior = self.priors[0]
        return self.given or len(prior.order_weights) == 1 < len(prior.weights)

    def fit(self, problem: LinearProblem) -> LinearFit:
        fits, positions = [], []
        for number, targets in self.parts(problem.groups):
            decomposition = DesignDecomposition.from_design(
                problem.design, problem.weights, scale=self.scales[number]
            )
            groups = problem.groups[targets]
            alpha = np.full(len(targets), self.noise[number])
            some = problem.targets[:, targets]
            if self.refined:
                alpha = likely_penalties(decomposition, some, groups, alpha[0])
            fits.append(fit_penalties(decomposition, some, alpha))
            positions.append(targets)
        return join_fits(fits, positions)

    def fit_moments(self, moments: DesignMoments, groups: IndexArray) -> LinearFit:
        """Fit from sums over the samples; penalties by generalised cross-validation."""
        fits, positions = [], []
        for number, targets in self.parts(groups):
            alphas = self.noise[number] * _FACTORS
            some = moments.of_targets(targets)
            scale = self.scales[number]
            fits.append(solve_moments(some, alphas, groups[targets], scale))
            positions.append(targets)
        return join_fits(fits, positions)

    def renumbered(self, before: IndexArray, after: IndexArray) -> LearnedRidgeSolver:
        """Return the same for groups of targets with other numbers."""
        found = copy(self)
        found.prior_of = np.zeros(int(after.max(initial=0)) + 1, dtype=np.int64)
        found.prior_of[after] = self.prior_of[before]
        return found

    def parts(self, groups: IndexArray) -> list[tuple[int, IndexArray]]:
        """Return the targets of each prior."""
        own = self.prior_of[groups]
        return [
            (int(number), np.flatnonzero(own == number)) for number in np.unique(own)
        ]


def likely_penalties(
    decomposition: DesignDecomposition,
    targets: FloatArray,  # shape: (n_samples, n_targets)
    groups: IndexArray,  # shape: (n_targets,)
    near: float,
) -> FloatArray:  # shape: (n_targets,)
    """Return the most likely penalty of each group, for targets of any variance."""
    weights = decomposition.weights
    mean = weighted_mean(targets, weights)
    loadings = decomposition.left.T @ ((targets - mean) * weights[:, np.newaxis])
    squares = np.square(loadings)
    rest = weighted_squares(targets, weights, mean) - squares.sum(axis=0)
    labels, group_of = np.unique(groups, return_inverse=True)
    squares = sum_rows(squares.T, group_of, len(labels)).T
    rest = sum_rows(np.maximum(rest, 0.0), group_of, len(labels))
    values = np.square(decomposition.factor.singular_values)
    number = weights.sum() - 1.0
    alphas = near * _FACTORS
    spread = values[:, np.newaxis] + alphas
    form = squares.T @ (1.0 / spread) + np.outer(rest, 1.0 / alphas)
    logs = np.log(spread).sum(axis=0) + (number - len(values)) * np.log(alphas)
    score = number * np.log(np.maximum(form, 1e-300)) + logs
    score += np.square(np.log(_FACTORS) / _FACTOR_SPREAD)
    best = np.argmin(score, axis=1)
    return alphas[best][group_of.ravel()]


def learn_from(
    parameters: BasisParameters,
    names: Sequence[str],
    samples: Samples,
    groups: IndexArray,  # shape: (n_targets,), numbers
    alphas: Any,
    criterion: str = "auto",
) -> tuple[Basis, LearnedRidgeSolver]:
    """Check the parameters of an estimator without a solver, and learn its terms."""
    owner = parameters.owner
    if criterion != "auto" or alphas is not None:
        raise ValueError(
            f"The 'criterion' and 'alphas' parameters of {owner} choose the penalty of "
            "a solver; expected the defaults with solver=None, which learns it, or a "
            f"solver such as 'ridge'. Got criterion={criterion!r}, alphas={alphas!r}."
        )
    check_option(owner, "truncation", parameters.truncation, TRUNCATIONS)
    cut = parameters.truncation, parameters.q
    if not parameters.has_degree and cut != ("total_degree", 1.0):
        raise ValueError(
            f"The 'truncation' and 'q' parameters of {owner} cut the terms at a "
            "degree; expected 'degree' with them."
        )
    if parameters.has_degree:
        basis = parameters.learn(samples.inputs, samples.weights, names)
        return learn_terms(basis.laws, samples, groups, basis.multi_indices)
    found = parameters.learn_laws(samples.inputs, samples.weights, names)
    laws = [law.for_degree(None) for law in found]
    order = parameters.interaction_order
    return learn_terms(
        laws, samples, groups, None, None if order is None else int(order)
    )


def learn_terms(
    laws: Sequence[InputLaw],
    samples: Samples,
    groups: IndexArray,  # shape: (n_targets,), numbers
    listed: IndexArray | None = None,  # shape: (n_terms, n_inputs), None: all terms
    largest_order: int | None = None,
) -> tuple[Basis, LearnedRidgeSolver]:
    """Learn prior variances; return the terms that matter and their solver."""
    n_functions = functions_of(laws, listed, samples.inputs)
    contrasts = categorical_inputs(laws)
    labels = np.unique(groups)
    shares = len(labels) > _MOST_PRIORS
    prior_of = np.zeros(int(groups.max(initial=0)) + 1, dtype=np.int64)
    if not shares:
        prior_of[labels] = np.arange(len(labels))
    joined = without_copies(samples)
    counted = has_ties(joined)
    distinct = joined if counted else with_mean_weight_one(joined)
    few = distinct.of(spread_rows(len(distinct.inputs), _MOST_ROWS))
    n_few = len(few.inputs)
    every = terms_of(laws, few.inputs, n_functions, listed, largest_order)
    part = spread_rows(n_few, min(max(n_few // 3, _PART[0]), _PART[1]))
    learned, observed = [], []
    # Functions far outside of a stated distribution overflow: such a prior is none.
    overflow = np.errstate(over="ignore", invalid="ignore")
    with one_thread_if_small(n_few**2), overflow:
        for number in range(int(prior_of.max(initial=0)) + 1):
            own = few.targets[:, prior_of[groups] == number]
            if shares:
                own = equally_large(own, groups, few.weights)
            known = observations_of(own, few.weights, counted)
            search = every, n_functions, contrasts
            if n_few <= _FEW_ROWS:
                prior = learn_prior(*search, known)
            else:
                some = terms_of(
                    laws, few.inputs[part], n_functions, listed, largest_order
                )
                first = observations_of(own[part], few.weights[part], counted)
                begun = learn_prior(some, n_functions, contrasts, first)
                prior = learn_prior(*search, known, begun)
                if prior.noise > MUCH_NOISE > begun.noise:
                    again = Search(some, n_functions, contrasts, first).better(begun)
                    if again is not begun:
                        other = learn_prior(*search, known, again)
                        prior = max(prior, other, key=lambda one: one.log_evidence)
            if known:
                prior = Search(*search, known).complete(prior)
            learned.append(prior)
            observed.append(known)
        waves = _as_waves(laws, learned) if listed is None else []
        if any(law.waves for law in waves):
            terms = terms_of(waves, few.inputs, n_functions, None, largest_order)
            searches = [Search(terms, n_functions, contrasts, one) for one in observed]
            tried = _gone_on(searches, learned, _STEPS_OF_WAVES)
            if _gain(tried, learned) > _MORE_EVIDENCE:
                laws, learned = waves, _gone_on(searches, tried)
    priors = [prior.shrunk() for prior in learned]
    noise = np.array([prior.noise for prior in priors])
    noise = noise * (joined.weights.mean() / distinct.weights.mean())
    refined = shares or n_few < len(distinct.inputs)
    basis = _basis_of(laws, samples, priors, listed, len(joined.inputs))
    if isinstance(basis, PolynomialBasis):
        scales = np.sqrt([prior.variances(basis.multi_indices) for prior in priors])
        scales[:, 0] = 1.0
    else:
        scales = np.zeros((len(priors), basis.n_functions))
        scales[:, 0] = 1.0
        for own_scale, columns in zip(scales, basis.columns, strict=True):
            own_scale[columns] = 1.0
    given = listed is not None
    solver = LearnedRidgeSolver(scales, noise, prior_of, refined, given, learned)
    return basis, solver


def _as_waves(laws: Sequence[InputLaw], priors: Sequence[TermPrior]) -> list[InputLaw]:
    """Return the laws, with waves of inputs along which some target varies fast."""
    fast = [
        (prior.decays > _FAST) & (prior.weights > _FELT * prior.weights.max())
        for prior in priors
        if prior.noise > _LEAST_NOISE
    ]
    moved = np.any(fast, axis=0) if fast else np.zeros(len(laws), dtype=bool)
    n_waves = np.where(moved, priors[0].n_functions, 0)
    return [
        replace(law, waves=number)
        if law.is_polynomial and number == LARGEST_DEGREE
        else law
        for law, number in zip(laws, n_waves.tolist(), strict=True)
    ]


def _gone_on(
    searches: Sequence[Search],
    priors: Sequence[TermPrior],
    n_steps: int = MOST_STEPS,
) -> list[TermPrior]:
    """Return the priors where searches end that begin with the given ones."""
    return [
        search.run(prior, n_steps) if search.observations else prior
        for search, prior in zip(searches, priors, strict=True)
    ]


def _gain(found: Sequence[TermPrior], before: Sequence[TermPrior]) -> float:
    """Return how much more log evidence there is for some priors."""
    pairs = zip(found, before, strict=True)
    return sum(a.log_evidence - b.log_evidence for a, b in pairs if a is not b)


def functions_of(
    laws: Sequence[InputLaw],
    listed: IndexArray | None,
    inputs: FloatArray,  # shape: (n_samples, n_inputs)
) -> IndexArray:  # shape: (n_inputs,)
    """Return the number of functions of each input, beside the constant."""
    if listed is not None:
        return np.asarray(listed.max(axis=0), dtype=np.int64)
    degree = max(min(LARGEST_DEGREE, _MOST_FUNCTIONS // len(laws)), _FEWEST_DEGREES)
    pairs = zip(laws, ends_of(inputs).T, strict=True)
    found = np.array([_degree_of(law, degree, own) for law, own in pairs], np.int64)
    return np.where((inputs == inputs[0]).all(axis=0), 0, found)


def _degree_of(law: InputLaw, degree: int, ends: FloatArray) -> int:
    """Return how many functions of an input there are; of polynomials, up to a degree.

    A distribution without high moments has none of high degree. Beyond their zeros,
    polynomials are largest at the ends of the samples.
    """
    if not law.is_polynomial:
        return int(law.largest_degree)
    degree = int(min(degree, law.largest_degree))
    while degree > 1:
        try:
            law.check_degree("a fit", "an input", degree)
        except ValueError:
            degree = degree * 3 // 4
        else:
            break
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.abs(law.evaluate(ends, degree)[1:]).max(axis=1)
    large = np.flatnonzero(~(values <= _LARGEST_VALUE))
    return max(int(large[0]), 1) if len(large) else degree


def terms_of(
    laws: Sequence[InputLaw],
    inputs: FloatArray,
    n_functions: IndexArray,
    listed: IndexArray | None,
    largest_order: int | None,
) -> Terms:
    if listed is not None:
        basis = PolynomialBasis(laws, listed)
        return ListedTerms(basis.evaluate(inputs)[:, 1:], listed[1:])
    return AllTerms(tables_of(laws, inputs, n_functions), largest_order)


def _basis_of(
    laws: Sequence[InputLaw],
    samples: Samples,
    priors: Sequence[TermPrior],
    listed: IndexArray | None,
    n_distinct: int,
) -> Basis:
    """List the terms of largest variance, of all priors; else take their kernels."""
    reach = _reach_of(laws, samples.inputs, priors, n_distinct)
    if listed is not None:
        return PolynomialBasis(laws, listed, reach)
    found = []
    for prior in priors:
        dropped = _DROPPED * prior.noise / max(n_distinct, 100)
        most = max(MOST_TERMS // len(priors), 1)
        rows = prior.listed(most, dropped, _TOLERATED * prior.noise)
        if rows is None:
            laws = _for_degrees(laws, priors[0].n_functions)
            return KernelBasis.of(laws, samples.inputs, priors, reach)
        found.append(rows)
    if len(laws) * max(len(found[0]), len(laws)) <= _MOST_EXPONENTS:
        # no input without a term
        found.append(np.diag(np.minimum(priors[0].n_functions, 1)))
    rows = np.unique(np.vstack(found), axis=0)
    laws = _for_degrees(laws, rows.max(axis=0))
    return PolynomialBasis(laws, sort_graded(rows, categorical_inputs(laws)), reach)


def _for_degrees(laws: Sequence[InputLaw], degrees: IndexArray) -> list[InputLaw]:
    pairs = zip(laws, degrees.tolist(), strict=True)
    return [law.for_degree(degree) for law, degree in pairs]


def _reach_of(
    laws: Sequence[InputLaw],
    inputs: FloatArray,  # shape: (n_samples, n_inputs)
    priors: Sequence[TermPrior],
    n_distinct: int,
) -> FloatArray:  # shape: (2, n_inputs)
    """Return how far beyond the samples functions go on.

    As far as an input is expected, by the prior, to do little that it does not do at
    its outermost sample; the more, the less noise and the more samples there are.
    Polynomials of high degree go on hardly at all.
    """
    reach = ends_of(inputs)
    width = np.ptp(reach, axis=0)
    for i, law in enumerate(laws):
        degree = int(priors[0].n_functions[i])
        if not degree or not law.is_polynomial or np.isfinite(law.largest_degree):
            continue
        at = reach[:, i] + np.outer(_OUTWARDS, [-width[i], width[i]])
        with np.errstate(over="ignore", invalid="ignore"):
            values = evaluate_within(law, at.ravel(), degree, None)[1:]
            values = values.reshape(degree, *at.shape)
            changes = np.square(values - values[:, :1])
        stays = np.ones(at.shape, dtype=bool)
        for prior in priors:
            if prior.weights[i] > 0:
                known = n_distinct * (prior.weights[i] / prior.noise) ** 2
                parts = prior.shares[i, :degree, np.newaxis, np.newaxis] * changes
                stays &= parts.sum(axis=0) <= known / _KNOWN_WELL
                stays &= parts[2:].sum(axis=0) <= _MOST_CHANGE
        n_steps = np.logical_and.accumulate(stays).sum(axis=0)
        reach[:, i] = at[n_steps - 1, (0, 1)]
    return reach


def without_copies(samples: Samples) -> Samples:
    """Join equal rows, and sort them by what no order of rows or inputs changes."""
    missing = np.isnan(samples.targets)
    targets = np.where(missing, 0.0, samples.targets)
    keys = np.hstack([samples.inputs, targets, missing])
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weights: FloatArray = np.bincount(number.ravel(), samples.weights).astype(float)
    centred = samples.inputs[first] - np.average(samples.inputs, 0, samples.weights)
    spread = np.abs(centred).max(axis=0)
    distance = np.square(centred / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    order = np.lexsort((distance.round(9), *targets[first].T))
    return replace(samples.of(first[order]), weights=weights[order])


def has_ties(joined: Samples) -> bool:
    """Whether rows of equal inputs differ, so that equal ones were observed alike.

    Such as passes and failures of a setting. Of joined rows; else these are copies.
    """
    if (joined.weights == joined.weights[0]).all():
        return False
    return len(np.unique(joined.inputs, axis=0)) < len(joined.inputs)


def with_mean_weight_one(samples: Samples) -> Samples:
    """Scale the weights of distinct rows: how many copies there are does not matter."""
    return replace(samples, weights=samples.weights / samples.weights.mean())


def spread_rows(n_rows: int, most: int) -> IndexArray:
    """Return rows spread over those of sorted samples, or all."""
    return np.linspace(0, n_rows - 1, min(most, n_rows)).round().astype(np.int64)


def equally_large(
    targets: FloatArray,  # shape: (n_rows, n_targets), NaN where missing
    groups: IndexArray,  # shape: (n_targets,)
    weights: FloatArray,
) -> FloatArray:
    """Scale targets so that each group that varies has the same variance."""
    has = ~np.isnan(targets)
    known = np.where(has, targets, 0.0)
    mass = weights @ has
    mean = weights @ known / mass
    variance = weights @ np.square(np.where(has, targets - mean, 0.0)) / mass
    variance = np.where(variance > 1e-24 * np.square(mean), variance, 0.0)
    by_group = np.bincount(groups, variance)[groups]
    return np.asarray(
        (targets - mean) / np.sqrt(np.where(by_group > 0, by_group, np.inf))
    )


# Draws from the posterior of coefficients, whose prior was learned.
#
# The parameters of the prior have about a normal posterior around the most likely ones,
# with the inverse of the second derivative as covariance (Laplace's approximation).
# Given a draw of them the coefficients are normal, and are drawn by conditioning a draw
# from the prior on the samples (A. G. Journel and C. J. Huijbregts, "Mining
# Geostatistics", 1978, section VII.A).


# Smallest second derivative: the parameter is then as uncertain as before the samples.
_LEAST_CURVATURE = 0.15

# An input, or its effect alone, may be nothing where the log evidence without it is
# less than this below the one with it.
_SETTLED = 2.0

# Rows from which the second derivative is taken, and inputs of which.
_MOST_DRAWN, _MOST_INPUTS = 200, 24

# Terms that are drawn, where samples are fewer than the first number and beyond.
_FEW_SAMPLES, _MOST_TERMS = 100, (800, 300)

# Draws of the coefficients for a draw of the prior, which costs more.
_OF_A_PRIOR = 2

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
        own = without_copies(own)
        counted = has_ties(own)
        own = own if counted else with_mean_weight_one(own)
        scaled = own.targets
        if len(solver.priors) < len(np.unique(groups)):
            scaled = equally_large(scaled, groups[targets], own.weights)
        known = observations_of(scaled, own.weights, counted)
        listed = multi_indices
        if listed is None:
            listed = _terms_to_draw(prior, laws, len(own.inputs))
        design = PolynomialBasis(laws, listed).evaluate(own.inputs)[:, 1:]
        settled = np.zeros((2, len(laws)), dtype=bool)
        if known:
            settled = _settled(prior, design, listed[1:], known[0])
        given = prior, laws, multi_indices, own, scaled
        priors = _priors(*given, -(-n_draws // _OF_A_PRIOR), generator, spread)
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
    at = spread_rows(len(known.rows), _MOST_DRAWN)
    design = design[known.rows[at]]
    some = known.factor[at], known.weights[at], known.number
    used = Observations(np.arange(len(at)), *some)
    kernel = (design * variances) @ design.T
    best = used.evidence(kernel, prior.noise)[0]
    found = np.zeros((2, multi_indices.shape[1]), dtype=bool)
    for row, members in enumerate((alone, active)):
        for i in np.flatnonzero((members.T @ variances) > 1e-6 * variances.sum()):
            own = design[:, members[:, i]]
            without = kernel - (own * variances[members[:, i]]) @ own.T
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
    rows = spread_rows(len(samples.inputs), _MOST_DRAWN)
    some, own = samples.of(rows), scaled[rows]
    order = len(prior.order_weights)
    terms = terms_of(laws, some.inputs, prior.n_functions, multi_indices, order)
    search = Search(
        terms,
        prior.n_functions,
        categorical_inputs(laws),
        observations_of(own, some.weights, has_ties(samples)),
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
            variance = np.square(root) * np.square(inverse).sum(axis=0)
        else:
            scaled = design * root
            covariance = scaled @ scaled.T + INTERCEPT
            noise = prior.noise / weights
            np.einsum("ii->i", covariance)[...] += noise
            whole = cho_factor(covariance, lower=True)
            half = solve_triangular(whole[0], scaled, lower=True)
            variance = np.square(root) * (1.0 - np.square(half).sum(axis=0))
        variances = np.outer(np.square(deviation), np.maximum(variance, 0.0))
        for _ in range(_OF_A_PRIOR):
            if n_terms <= n_samples:
                drawn = inverse.T @ (mean + generator.standard_normal(mean.shape))
            else:
                first = generator.standard_normal((n_terms, units.shape[1]))
                rest = units - scaled @ first
                errors = generator.standard_normal(rest.shape)
                rest -= np.sqrt(noise)[:, np.newaxis] * errors
                rest -= np.sqrt(INTERCEPT) * generator.standard_normal(rest.shape[1])
                drawn = first + scaled.T @ cho_solve(whole, rest)
            coefficients = root[:, np.newaxis] * drawn
            yield coefficients.T * deviation[:, np.newaxis], variances


# Entries of the kernel of a block of rows: 4 MiB.
_BLOCK_ENTRIES = 2**19

#: Terms that ``listed`` lists at most.
MOST_LISTED = 200_000
_MOST_EXPONENTS_LISTED = 100_000_000  # inputs times terms

# Directions of the kernel below this share of the largest are rounding.
_SMALLEST_SHARE = 1e-13


class NoTermsError(ValueError):
    """An expansion has too many terms for a list."""


@dataclass(frozen=True, eq=False)
class KernelBasis(Functions):
    r"""Kernels to the rows of a fit, as functions that are orthonormal under a prior.

    With the prior variances of :class:`~.prior.TermPrior` an expansion fitted to
    samples is :math:`f(x) = c_0 + \sum_l \beta_l k(x, x_l)`, and so are its parts: that
    of a set u of inputs is :math:`\sum_l \beta_l c_{|u|} \prod_{i \in u} k_i(x, x_l)`.
    Its variance is a quadratic form in :math:`\beta` with the products of
    :math:`E[k_i(x, x_l) k_i(x, x_m)]`, so that Sobol indices of all inputs follow from
    symmetric sums, over more terms than can be listed.

    Column 0 is the constant. A prior has a column for each direction of its kernel
    between the rows, and one for what no row of the fit has in a direction: it is 0 at
    these, and lengthens the others by what is not known about them.
    """

    laws: Sequence[InputLaw]  # one per input
    inputs: FloatArray  # shape: (n_samples, n_inputs), rows of the fit
    priors: tuple[TermPrior, ...]
    maps: tuple[FloatArray, ...]  # each (n_samples, rank), from kernels to functions
    reach: FloatArray  # shape: (2, n_inputs), see ``evaluate_within``

    __getstate__ = state_of_fields

    @classmethod
    def of(
        cls,
        laws: Sequence[InputLaw],
        inputs: FloatArray,
        priors: Sequence[TermPrior],
        reach: FloatArray,
    ) -> KernelBasis:
        """Take the directions of the kernels between the rows."""
        tables = tables_of(laws, inputs, priors[0].n_functions)
        maps = []
        for prior in priors:
            values, vectors = np.linalg.eigh(prior.kernel(tables, tables))
            large = values > _SMALLEST_SHARE * max(values[-1], 1e-300)
            maps.append(vectors[:, large] / np.sqrt(values[large]))
        return cls(laws, inputs, tuple(priors), tuple(maps), reach)

    @cached_property
    def _tables(self) -> FloatArray:
        return tables_of(self.laws, self.inputs, self._n_functions)

    @property
    def _n_functions(self) -> IndexArray:
        return self.priors[0].n_functions

    @cached_property
    def columns(self) -> list[slice]:
        """Columns of each prior, the last of them what no row has."""
        sizes = [each.shape[1] + 1 for each in self.maps]
        ends = accumulate(sizes, initial=1)
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def n_functions(self) -> int:
        """Number of coefficients of an output."""
        return int(self.columns[-1].stop)

    @property
    def n_terms(self) -> int:
        """Number of terms of up to three inputs, with the constant."""
        each = self._n_functions.astype(np.float64)
        sums = np.array([(each**power).sum() for power in (1, 2, 3)])[:, np.newaxis]
        orders = elementary_sums(sums[:, :, np.newaxis])
        return 1 + round(float(orders[: len(self.priors[0].order_weights)].sum()))

    @property
    def multi_indices(self) -> IndexArray:
        """Not listed: raises :class:`NoTermsError`."""
        raise NoTermsError(
            f"This expansion is a sum over {self.n_terms:.6g} terms that are not "
            "listed: more than 5000 of them matter. Indices, intervals and predictions "
            "do not need them; for a list give 'degree', such as degree=2."
        )

    exponents = multi_indices
    degrees = multi_indices

    @property
    def with_terms(self) -> PolynomialBasis:
        """Not available, like ``multi_indices``."""
        return PolynomialBasis(self.laws, self.multi_indices)

    @property
    def total_degree(self) -> int:
        """Largest total degree of a term."""
        largest = np.sort(self._n_functions)[::-1]
        return int(largest[: len(self.priors[0].order_weights)].sum())

    def terms_within(self, features: Collection[int]) -> IndexArray:
        """Not listed, like ``multi_indices``."""
        return self.multi_indices

    def differentiate(self, X: FloatArray, feature: int) -> FloatArray:
        """Not available, like ``multi_indices``."""
        return self.multi_indices.astype(np.float64)

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Not available, like ``multi_indices``."""
        return [str(row) for row in self.multi_indices]

    # Values

    def blocks(
        self, X: FloatArray, *, max_entries: int = _BLOCK_ENTRIES
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of rows of the values."""
        size = max(max_entries // max(3 * len(self.inputs), 1), 16)
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            tables = tables_of(self.laws, X[rows], self._n_functions, self.reach)
            parts = [np.ones((tables.shape[2], 1))]
            for prior, directions in zip(self.priors, self.maps, strict=True):
                known = prior.kernel(tables, self._tables) @ directions
                length = prior.variance_at(tables)
                rest = length - np.square(known).sum(axis=1)
                rest = np.where(rest > 1e-9 * length, rest, 0.0)
                parts += [known, np.sqrt(rest)[:, np.newaxis]]
            yield rows, np.hstack(parts)

    # Parts

    def of_inputs(self, features: Sequence[int]) -> tuple[KernelBasis, IndexArray]:
        """Leave out the terms with any other input; functions are those of samples."""
        chosen = list(features)
        alone = replace(
            self,
            laws=tuple(self.laws[i] for i in chosen),
            inputs=self.inputs[:, chosen],
            priors=tuple(prior.of_inputs(chosen) for prior in self.priors),
            reach=self.reach[:, chosen],
        )
        return alone, np.arange(self.n_functions)

    def listed(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
    ) -> tuple[PolynomialBasis, FloatArray]:  # and (n_targets, n_terms)
        """Return the basis with its terms, and their coefficients."""
        rows = []
        for prior in self.priors:
            found = prior.listed(MOST_LISTED, 1e-12 * prior.total(), 0.0)
            if found is None or found.size > _MOST_EXPONENTS_LISTED:
                raise NoTermsError(
                    f"explicit() would list more than {MOST_LISTED} terms of "
                    f"{len(self.laws)} inputs. Take fewer inputs before, by "
                    "expansion.marginal(inputs)."
                )
            rows.append(found)
        terms = np.unique(np.vstack(rows), axis=0)
        basis = PolynomialBasis(
            self.laws, sort_graded(terms, categorical_inputs(self.laws)), self.reach
        )
        design = basis.evaluate(self.inputs)
        values = np.zeros((len(coefficients), basis.n_terms))
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            values += (dual @ design) * prior.variances(basis.multi_indices)
        values[:, 0] = coefficients[:, 0]
        return basis, values

    def _dual(
        self, coefficients: FloatArray
    ) -> list[FloatArray]:  # each shape: (n_targets, n_samples)
        """Return the coefficients of the kernels of each prior."""
        return [
            coefficients[:, columns.start : columns.stop - 1] @ directions.T
            for columns, directions in zip(self.columns, self.maps, strict=True)
        ]

    # Partial variances

    def partial_variances(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,  # shape: (n_targets,)
        n_groups: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return first-order, total and Shapley partial variances and the variance."""
        found = np.zeros((3, n_groups, len(self.laws)))
        variance = np.zeros(n_groups)
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            squared = prior.squared()
            weighted = self._tables * squared.by_degree[:, :, np.newaxis]
            for group in np.unique(groups[dual.any(axis=1)]):
                mine = dual[groups == group]
                first, total, shapley, whole = _forms(
                    weighted, self._tables, squared.order_weights, mine
                )
                found[:, group] += first, total, shapley
                variance[group] += whole
        first, total, shapley = found
        variance = np.maximum(variance, first.sum(axis=1))
        total, shapley = np.clip((total, shapley), first, variance[:, np.newaxis])
        return first, total, shapley, variance

    def variance_of_set(
        self,
        kind: str,  # "exact", "closed" or "total"
        features: Sequence[int],
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,
        n_groups: int,
    ) -> FloatArray:  # shape: (n_groups,)
        """Return the variance of the terms of a set of inputs.

        Those whose inputs are exactly the set, that lie in it, or that meet it.
        """
        chosen = list(features)
        variance = np.zeros(n_groups)
        every = list(range(len(self.laws)))
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            squared = prior.squared()
            if kind == "total":
                rest = np.setdiff1d(every, chosen).tolist()
                form = self._closed(squared, every) - self._closed(squared, rest)
            elif kind == "closed":
                form = self._closed(squared, chosen)
            else:
                form = self._exact(squared, chosen)
            each = np.einsum("tl,lm,tm->t", dual, form, dual)
            np.add.at(variance, groups, each)
        return np.maximum(variance, 0.0)

    def _closed(self, squared: TermPrior, features: Sequence[int]) -> FloatArray:
        """Return the form of all terms of some inputs alone."""
        if not len(features):
            return np.zeros((len(self.inputs),) * 2)
        tables = self._tables[list(features)]
        return squared.of_inputs(features).kernel(tables, tables)

    def _exact(self, squared: TermPrior, features: Sequence[int]) -> FloatArray:
        """Return the form of the terms that have exactly some inputs."""
        if len(features) > len(squared.order_weights):
            return np.zeros((len(self.inputs),) * 2)
        form: FloatArray = np.array(squared.order_weights[len(features) - 1])
        for i in features:
            weighted = self._tables[i] * squared.by_degree[i][:, np.newaxis]
            form = form * (weighted.T @ self._tables[i])
        return form


def _forms(
    weighted: FloatArray,  # shape: (n_inputs, n_functions, n_samples)
    tables: FloatArray,
    order_weights: FloatArray,  # shape: (n_orders,)
    dual: FloatArray,  # shape: (n_targets, n_samples)
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return partial variances of a group: first-order, total, Shapley, all."""
    p1, e2, e3 = elementary_sums(power_sums(weighted, tables))
    _, c2, c3 = (*order_weights, 0.0, 0.0)[:3]
    product = dual.T @ dual
    found = np.empty((3, len(tables)))
    for i, (left, right) in enumerate(zip(weighted, tables, strict=True)):
        kernel = left.T @ right
        form = kernel * product
        others = p1 - kernel
        first, two = form.sum(), c2 * np.vdot(form, others)
        three = c3 * np.vdot(form, e2 - kernel * others)
        found[:, i] = first, first + two + three, first + two / 2.0 + three / 3.0
    whole = float(np.vdot(product, p1 + c2 * e2 + c3 * e3))
    return found[0], found[1], found[2], whole


#: What an expansion may be expanded in.
Basis = PolynomialBasis | KernelBasis
