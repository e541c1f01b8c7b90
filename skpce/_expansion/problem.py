r"""What a fit was made from and found, and what resamples of its samples give.

A distribution that was learned from the samples is an estimate too: a resample has
distributions of its own, and its indices are those of its fit under them. The fit stays
a polynomial, so it need not be repeated: a change of basis gives its coefficients in
the functions of the new distributions ("Resamples learn their distributions anew" in
the page "Mathematics" of the documentation). They may be nonzero for every term below
one of the index set. A set that was built contains these terms; to one that was given
they are appended.

At the end is what a fit says about its samples, and about the terms that it learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._basis.basis import (
    MoreTermsThanRowsWarning,
    PolynomialBasis,
    check_design_fits,
    evaluate_within,
    index_masks,
    lines_along,
    terms_of_set,
    with_terms_below,
)
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    Samples,
    checked_sample_weight,
    finite_table,
    one_thread_if_small,
    state_of_fields,
    validated,
    warn_outside_folds,
)
from .._input_laws.families import InputLaw, positive_scale
from .._input_laws.tabulated import LevelsLaw
from .._learned.prior import LARGEST_ORDER, TermPrior
from .._learned.ridge import (
    LARGEST_DEGREE,
    Basis,
    CoefficientDraws,
    LearnedRidgeSolver,
    coefficient_draws,
    learn_terms,
    with_mean_weight_one,
    without_copies,
)
from .._solvers.problem import (
    CoefficientSolver,
    DesignMoments,
    LinearFit,
    LinearProblem,
    join_fits,
    sum_moments,
    sum_rows,
    weighted_spread,
    without_slopes,
)

#: Coefficients of resamples in memory at a time while indices are computed: 64 MiB.
LARGEST_BLOCK = 8_388_608

# Least eigenvalue of a Gram matrix that resamples change.
_LEAST_GRAM = 0.05

# Weight of a value that only extends the support of a distribution: it moves no mean.
_NO_WEIGHT = 1e-12

# Share of the variance of the terms whose distributions are drawn, and most of them.
_LEADING, _MOST_LEADING = 0.999, 200

# Folds that say how much smaller errors are for what was learned, and most rows for it.
_N_FOLDS, _MOST_FOLDED = 5, 1000


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """The data and the outcome of a linear fit."""

    basis: Basis
    solver: CoefficientSolver  # with its penalties
    fit: LinearFit
    spread: (
        FloatArray  # shape: (n_targets,), sums of squares; 0 where slopes are rounding
    )
    groups: IndexArray  # shape: (n_targets,), the targets that share one choice
    samples: Samples | None  # None for a fit from sums over them
    sums: DesignMoments | None = None

    # How to have the samples where only sums over them are kept.
    remedy = "Fit with criterion='loo' to keep the samples."

    __getstate__ = state_of_fields

    @property
    def coefficients(self) -> FloatArray:
        """Coefficients without the slopes of rounding; (n_targets, n_terms)."""
        return without_slopes(self.fit.coefficients, self.spread)

    @property
    def total_weight(self) -> float:
        """Number of samples; copies are counted."""
        if self.samples is not None:
            return float(self.samples.weights.sum())
        assert self.sums is not None  # a fit retains its samples or their sums
        return float(self.sums.total_weight)

    @property
    def target_variance(self) -> FloatArray:
        """Variance of each target; shape (n_targets,)."""
        return self.spread / self.weight_of_targets

    @cached_property
    def optimism(self) -> FloatArray:  # shape: (n_targets,), at least 1
        """Errors of refits in folds over those by leaving one out, root mean square.

        The second hold what was learned fixed, and are too small for a fit that learns
        much. 1 for one that learns nothing, or has as many samples as make no odds.
        """
        one = np.ones(len(self.spread))
        samples = self.samples
        if not isinstance(self.solver, LearnedRidgeSolver) or samples is None:
            return one
        samples = without_copies(samples)
        if not _N_FOLDS < len(samples.inputs) <= _MOST_FOLDED:
            return one
        listed = self.basis.multi_indices if self.solver.given else None
        order = len(self.solver.priors[0].order_weights)
        fold = np.arange(len(samples.inputs)) % _N_FOLDS
        errors = np.zeros(len(one))
        for number in range(_N_FOLDS):
            fitted = samples.of(np.flatnonzero(fold != number))
            left = samples.of(np.flatnonzero(fold == number))
            if np.isnan(fitted.targets).all(axis=0).any():
                return one
            # All but the distributions is learned anew.
            basis, solver = learn_terms(
                self.basis.laws, fitted, self.groups, listed, order
            )
            refit = solve_samples(solver, basis, fitted, self.groups)
            predicted = basis.evaluate(left.inputs) @ refit.coefficients.T
            misses = np.nan_to_num(left.targets - predicted)
            errors += left.weights @ np.square(misses)
        assert self.samples is not None
        own = np.nan_to_num(np.asarray(self.fit.loo_residuals))
        known, groups = self.samples.weights @ np.square(own), self.groups
        whole, left_out = np.bincount(groups, errors), np.bincount(groups, known)
        whole, left_out = whole[groups], left_out[groups]
        ratio = np.divide(whole, left_out, out=one.copy(), where=left_out > 0)
        return np.sqrt(np.maximum(ratio, 1.0))

    @property
    def weight_of_targets(self) -> FloatArray:
        """Number of samples that have each target; shape (n_targets,)."""
        if self.samples is None or not self.lacks_targets:
            return np.full(len(self.spread), self.total_weight)
        return self.samples.weights @ ~np.isnan(self.samples.targets)

    @property
    def lacks_targets(self) -> bool:
        """Whether some samples lack a target (NaN)."""
        return self.samples is not None and self.samples.lacks_targets

    @cached_property
    def parts(self) -> tuple[tuple[Self, IndexArray], ...]:
        """Problems of targets that the same samples have, with these targets.

        A sample that lacks a target (NaN) takes part in the others.
        """
        every = np.arange(len(self.spread))
        if self.samples is None or not self.lacks_targets:
            return ((self, every),)
        return tuple(
            (self._of_part(rows, targets), targets)
            for rows, targets in complete_parts(self.samples.targets)
        )

    def _of_part(self, rows: IndexArray, targets: IndexArray) -> Self:
        """Select samples and targets."""
        assert self.samples is not None  # which lack some targets
        return replace(
            self,
            fit=self.fit.of_targets(targets).of_samples(rows),
            spread=self.spread[targets],
            groups=self.groups[targets],
            samples=self.samples.of(rows, targets),
        )

    @cached_property
    def loo_error(self) -> FloatArray:
        """Mean squared leave-one-out residual of each target; shape (n_targets,)."""
        if self.samples is None:
            return np.where(self.spread > 0, self.fit.criterion, 0.0)
        error = np.empty(len(self.spread))
        for part, targets in self.parts:
            assert part.samples is not None  # see above
            error[targets] = part.fit.loo_error(part.samples.weights)
        return np.where(np.isnan(error), np.inf, error)

    @property
    def linear(self) -> LinearProblem:
        """What the solver was given.

        The design is made again each time: it is large beside the rest.
        """
        assert self.samples is not None  # see ``require_samples``
        return linear_problem(self.solver, self.basis, self.samples, self.groups)

    @property
    def gram(self) -> FloatArray:
        """Sum of squares and products of the design; shape (n_terms, n_terms)."""
        if self.samples is not None:
            root = np.sqrt(self.samples.weights)[:, np.newaxis]
            design = root * self.basis.evaluate(self.samples.inputs)
            return design.T @ design
        assert self.sums is not None  # a fit retains its samples or their sums
        mean = self.sums.mean
        return self.sums.gram + self.sums.total_weight * np.outer(mean, mean)

    # What y can be, and how it follows from the targets that were fitted.
    #
    # Targets have a linear *image*, in which residuals are added to predictions.
    # *Values* are what y shows; *scores* are those that vary, on a scale without
    # bounds, on which distances are measured. Of real targets all three are the same.

    joint: ClassVar[Sequence[str]] = ("targets",)  # over what a band may be joint
    what_is_lacking: ClassVar[str] = "targets"  # where samples have NaN, in words

    @property
    def n_values(self) -> int:
        """Number of columns of y."""
        return len(self.spread)

    @property
    def noise_groups(self) -> IndexArray:
        """Targets whose residuals share a scale; shape (n_targets,)."""
        return np.arange(len(self.spread))

    def columns_of(self, targets: IndexArray) -> IndexArray:
        """Return the columns of y that some targets give."""
        return targets

    def predicted(self, X: FloatArray, design: FloatArray | None = None) -> FloatArray:
        """Evaluate the image of the predictions; shape (n_inputs, n_image).

        The design, the basis at X, is made block by block where it is not at hand.
        """
        if design is None:
            return self.basis.combine(X, self.coefficients)
        return design @ self.coefficients.T

    def image(self, targets: FloatArray) -> FloatArray:
        """Map (..., n_targets) -> (..., n_image)."""
        return targets

    def values(self, image: FloatArray) -> FloatArray:
        """Map (..., n_image) -> (..., n_values)."""
        return image

    def scores(self, values: FloatArray) -> FloatArray:
        """Map (..., n_values) -> (..., n_scores)."""
        return values

    def bounds(
        self,
        lower: FloatArray,  # shape: (n_inputs, n_scores)
        upper: FloatArray,
        like: FloatArray,  # shape: (n_inputs, n_values), for what does not vary
    ) -> FloatArray:  # shape: (2, n_inputs, n_values)
        """Map bounds of scores to those of values."""
        return np.stack([lower, upper])

    def score_scale(self, scale: FloatArray) -> FloatArray:
        """Map scales of targets, (n_inputs, n_targets) -> (n_inputs, n_scores)."""
        return scale

    def score_deviation(self) -> FloatArray:
        """Return the spread of the residuals of each score; shape (n_scores,)."""
        return np.sqrt(self.fit.residual_variance) * self.optimism

    def score_groups(self, joint: str) -> IndexArray:  # shape: (n_scores,)
        """Return which scores lie in a band together."""
        return np.zeros(self.n_values, dtype=np.int64)

    def learned_laws(self, *, whole: bool = False) -> LearnedLaws:
        """Return the distributions of the inputs, which resamples learn anew.

        Indices are those of polynomials everywhere. In a fit that learned its degree
        high ones grow too fast.
        """
        basis = self.basis.with_terms
        inputs = self.require_samples("sobol_interval").inputs
        if not isinstance(self.solver, LearnedRidgeSolver):
            return LearnedLaws(basis, inputs, whole)
        return LearnedLaws(replace(basis, reach=None), inputs, whole, basis.reach)

    def require_samples(self, owner: str) -> Samples:
        """Return the samples; raise ``ValueError`` for a fit from sums over them."""
        if self.samples is None:
            remedy = self.remedy
            if isinstance(self.solver, LearnedRidgeSolver):
                remedy = "Fit a part of the samples: where they are fewer, they stay."
            raise ValueError(
                f"{owner} needs the samples, but this fit retains only sums over them. "
                f"{remedy}"
            )
        return self.samples


def read_samples(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    reset: bool = True,
    varying: str = "",
) -> tuple[Samples, int]:
    """Return the samples that have a weight, and the number of dimensions of y.

    Their targets are NaN or infinite where y is.
    """
    if y is None:
        raise ValueError("This fit requires y to be passed, but the target y is None.")
    finite, lost = finite_table(y)
    options: Any = {"multi_output": True, "y_numeric": True, "varying": varying}
    inputs, values = validated(estimator, X, finite, reset=reset, **options)
    targets = values.reshape(len(values), -1).astype(np.float64, copy=False)
    if lost is not None:
        targets = targets + lost.reshape(targets.shape)
    weights = checked_sample_weight(sample_weight, inputs)
    used = weights > 0
    return Samples(inputs[used], targets[used], weights[used]), values.ndim


def are_stated(distribution: Any) -> bool:
    """Return whether distributions of inputs are stated, and none is learned."""
    laws = distribution
    if isinstance(laws, Mapping):
        laws = list(laws.values())
    elif not isinstance(laws, (list, tuple, np.ndarray)):
        laws = [laws]
    return not any(isinstance(law, str) for law in laws)


def linear_problem(
    solver: CoefficientSolver, basis: Basis, samples: Samples, groups: IndexArray
) -> LinearProblem:
    """Return what a solver is given: the basis at the inputs, and the targets."""
    design = samples.inputs
    if not solver.sees_inputs:
        design = basis.evaluate(samples.inputs)
    return LinearProblem(design, samples.targets, samples.weights, groups)


def solve_samples(
    solver: CoefficientSolver,
    basis: Basis,
    samples: Samples,
    groups: IndexArray | None = None,
) -> FittedProblem:
    """Fit each target to the samples that have it.

    Each target makes its own choices without ``groups``.
    """
    if groups is None:
        groups = np.arange(samples.targets.shape[1])
    if samples.lacks_targets:
        fits, parts = [], complete_parts(samples.targets)
        for rows, targets in parts:
            some = samples.of(rows, targets)
            part = solve_samples(solver, basis, some, groups[targets])
            fits.append(part.fit.among(rows, len(samples.inputs)))
        fit = join_fits(fits, [targets for _, targets in parts])
    else:
        problem = linear_problem(solver, basis, samples, groups)
        with one_thread_if_small(problem.design.size):
            fit = solver.fit(problem)
    spread = spread_of_targets(samples.targets, samples.weights)
    return FittedProblem(basis, solver, fit, spread, groups, samples)


def spread_of_targets(
    targets: FloatArray,  # shape: (n_samples, n_targets), NaN where missing
    weights: FloatArray,  # shape: (n_samples,)
    floor: float = 0.0,
) -> FloatArray:  # shape: (n_targets,)
    """Return sums of squares about the mean of the samples that have each target."""
    has = ~np.isnan(targets)
    if has.all():
        return weighted_spread(targets, weights, floor)
    own = [
        weighted_spread(targets[rows, k, np.newaxis], weights[rows], floor)
        for k, rows in enumerate(has.T)
    ]
    return np.concatenate(own)


def complete_parts(
    targets: FloatArray,  # shape: (n_samples, n_targets), NaN where missing
) -> list[tuple[IndexArray, IndexArray]]:
    """Return the samples that have some targets, and these: (rows, targets)."""
    has = ~np.isnan(targets)
    patterns, part = np.unique(has, axis=1, return_inverse=True)
    return [
        (np.flatnonzero(pattern), np.flatnonzero(part.ravel() == number))
        for number, pattern in enumerate(patterns.T)
    ]


def solve_sums(
    owner: str,
    solver: Any,
    basis: PolynomialBasis,
    samples: Samples,
    groups: IndexArray | None = None,
    before: DesignMoments | None = None,  # sums over samples that came before
) -> FittedProblem:
    """Fit from sums over the samples; each target chooses alone without ``groups``."""
    n_terms, n_targets = len(basis.multi_indices), samples.targets.shape[1]
    check_design_fits(owner, n_terms, n_terms, "a fit from sums")
    # Rows whose design and targets stay in the cache; of many terms enough for their
    # product to cost more than adding it, in 32 MiB.
    enough = min(2 * n_terms, 2**22 // n_terms)
    n_rows = max(2**18 // (n_terms + n_targets), enough, 64)
    blocks = basis.blocks(samples.inputs, max_entries=n_rows * n_terms)
    with one_thread_if_small(samples.targets.size + n_terms**2):
        sums = sum_moments(
            DesignMoments.of_block(design, samples.targets[rows], samples.weights[rows])
            for rows, design in blocks
        )
    sums = sums if before is None else before + sums
    groups = np.arange(n_targets) if groups is None else groups
    with one_thread_if_small(n_terms**2):
        fit = solver.fit_moments(sums, groups)
    return FittedProblem(basis, solver, fit, sums.target_spread, groups, None, sums)


def resample_counts(
    weights: FloatArray,  # shape: (n_samples,)
    n_resamples: int,
    generator: np.random.Generator,
) -> IndexArray:  # shape: (n_resamples, n_samples)
    """Draw how often each sample comes; a weight is a number of copies."""
    copies = max(round(float(weights.sum())), 1)
    return generator.multinomial(copies, weights / weights.sum(), size=n_resamples)


def percentile_bounds(
    draws: FloatArray,  # shape: (n_resamples, ...)
    confidence_level: float,
) -> FloatArray:  # shape: (2, ...)
    """Return the two equal-tailed quantiles."""
    tail = (1.0 - confidence_level) / 2.0
    return np.quantile(draws, [tail, 1.0 - tail], axis=0)


@dataclass(frozen=True)
class LearnedLaws:
    """The input distributions of a fit, and the inputs from which they were learned."""

    basis: PolynomialBasis
    X: FloatArray  # shape: (n_samples, n_features), of positive weight
    whole: bool = False  # whether each resample has all values, as of Dirichlet shares
    # Beyond which functions of high degree keep their values, see ``evaluate_within``.
    reach: FloatArray | None = None  # shape: (2, n_features)

    @cached_property
    def features(self) -> list[int]:
        """Inputs with functions of a distribution that was learned.

        Where a resample may lack a value, contrasts of categories stay, and functions
        that are no polynomials of those of a resample.
        """
        return [
            i
            for i, law in enumerate(self.basis.laws)
            if law.learned and (self.whole or _moves_as_one(law))
        ]

    @cached_property
    def multi_indices(self) -> IndexArray:
        """The index set, then the terms below it that it lacks."""
        return with_terms_below(self.basis.multi_indices, self.features)

    @cached_property
    def _lines(self) -> dict[int, IndexArray]:
        """The lines of terms along each input whose distribution was learned."""
        return {i: lines_along(self.multi_indices, i) for i in self.features}

    def relearned(
        self,
        coefficients: FloatArray,  # shape: (n_resamples or 1, n_targets, n_terms)
        matrices: Mapping[int, FloatArray],  # of the inputs, see ``changes``
    ) -> FloatArray:  # shape: (n_resamples, n_targets, n_terms or more)
        """Return the coefficients in the functions of each resample."""
        n_resamples = len(next(iter(matrices.values())))
        _, n_targets, n_terms = coefficients.shape
        # The last stands for terms that are not there.
        found = np.zeros((n_resamples, n_targets, len(self.multi_indices) + 1))
        found[..., :n_terms] = coefficients
        for i, matrix in matrices.items():
            along = self._lines[i]
            change = np.swapaxes(matrix, 1, 2)[:, np.newaxis]
            found[..., along] = found[..., along] @ change
        return found[..., :-1]

    def changes(
        self,
        weights: NDArray[np.floating | np.integer],  # shape: (n_resamples, n_samples)
        generator: np.random.Generator | None = None,  # draws bounds
        n_copies: int = 0,  # samples of each resample; only with a generator
    ) -> dict[int, FloatArray]:
        """Return ``change_of_basis`` of each input that was learned.

        With a generator supports of families with bounds exceed the samples: a learned
        bound is the outermost sample, which is always inside the true one. The drawn
        bound is as far outside as that is from ``n_copies`` samples of the distribution
        itself.
        """
        degrees = self.basis.multi_indices.max(axis=0, initial=0).tolist()
        changes = {}
        for i in self.features:
            law, bounds = self.basis.laws[i], None
            finite = np.isfinite(law.support) & law.learns_bounds
            has_bounds = finite.any() and not np.isfinite(law.largest_degree)
            if generator is not None and has_bounds:
                extremes = sample_extremes(law, n_copies, len(weights), generator)
                ends = np.array(law.support)
                if (
                    self.basis.reach is not None
                ):  # beyond it values count as at its ends
                    ends = np.clip(ends, *self.basis.reach[:, i])
                    extremes = np.clip(extremes, *self.basis.reach[:, i])
                found = law.standardize(ends[finite])
                drawn = law.standardize(extremes[:, finite])
                bounds = law.in_units(2.0 * found - drawn)
            reach = None if self.reach is None else self.reach[:, i]
            known = self.X[:, i], weights, degrees[i]
            changes[i] = change_of_basis(law, *known, bounds, reach)
        return changes

    def resample(
        self,
        solver: CoefficientSolver,
        problem: LinearProblem,
        fit: LinearFit,
        counts: IndexArray,  # shape: (n_resamples, n_samples)
        generator: np.random.Generator | None = None,
    ) -> FloatArray:  # shape: (n_resamples, n_targets, n_terms or more)
        """Refit, and learn the distributions anew; terms are ``multi_indices``.

        The generator draws bounds beyond the samples; None learns them from the
        resample too, whose outermost samples are always inside.
        """
        coefficients = solver.resample(problem, fit, counts)
        if not self.features:
            return coefficients
        changes = self.changes(counts, generator, int(counts[0].sum()))
        return self.relearned(coefficients, changes)


def sample_extremes(
    law: InputLaw,
    n_copies: int,
    size: int,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (size, 2)
    r"""Draw the smallest and the largest of ``n_copies`` values, ``size`` times.

    The largest of :math:`n` uniform numbers is :math:`e^{-E/n}` with an exponential
    :math:`E`, and the smallest is that largest one times the smallest of
    :math:`n - 1` others (L. Devroye, "Non-Uniform Random Variate Generation",
    Springer, 1986, section V.3.1). Quantiles of the distribution map both.
    """
    exponential = generator.standard_exponential((2, size))
    above = -np.expm1(-exponential[0] / n_copies)  # 1 minus the largest
    below = 1.0 - above
    if n_copies > 1:
        below *= -np.expm1(-exponential[1] / (n_copies - 1))
    frozen = law.to_scipy()
    smallest = frozen.ppf(below)
    return np.stack([smallest, np.maximum(frozen.isf(above), smallest)], axis=1)


def change_of_basis(
    law: InputLaw,
    column: FloatArray,  # shape: (n_samples,)
    weights: NDArray[np.floating | np.integer],  # shape: (n_resamples, n_samples)
    degree: int,
    bounds: FloatArray | None = None,  # shape: (n_resamples, n_bounds), of no weight
    reach: FloatArray | None = None,  # shape: (2,), see ``evaluate_within``
) -> FloatArray:  # shape: (n_resamples, degree + 1, degree + 1)
    """Return ``m_kl`` of each resample; the identity for distributions of too few
    values.

    One value alone has no scale: that of a constant column may be any other unit.
    """
    matrices = np.repeat(np.eye(degree + 1)[np.newaxis], len(weights), axis=0)
    if degree == 0:
        return matrices

    def functions_at(at: FloatArray) -> FloatArray:
        return evaluate_within(law, at, degree, reach, held_from=3)

    if not _moves_as_one(law):
        # Functions stay; those that are orthonormal with other weights follow from how
        # much the Gram matrix differs between the weights and these in the mean.
        functions = functions_at(column)
        shares = weights / weights.sum(axis=1, keepdims=True)
        products = (functions[:, np.newaxis] * functions).reshape((degree + 1) ** 2, -1)
        gram = (shares - shares.mean(axis=0)) @ products.T
        gram = np.eye(degree + 1) + gram.reshape(-1, degree + 1, degree + 1)
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values, _LEAST_GRAM)[:, np.newaxis]
        root = np.linalg.cholesky((vectors * values) @ np.swapaxes(vectors, 1, 2))
        return np.asarray(np.swapaxes(root, 1, 2))
    recurrence = np.concatenate(law.recurrence(degree))
    alike, moved = [], []  # resamples with the same standardised functions
    for number, row in enumerate(weights):
        has = row > _NO_WEIGHT * row.sum()
        values, mass = column[has], row[has].astype(np.float64)
        if bounds is not None:
            values = np.append(values, bounds[number])
            mass = np.append(mass, np.full(bounds.shape[1], _NO_WEIGHT * mass.sum()))
        spread = float(np.ptp(values))
        if positive_scale(spread, values) != spread:
            continue
        learn = law.learn_held if law.held else law.learn
        new = learn(values, mass)
        if new.largest_degree < degree:
            continue
        if np.array_equal(np.concatenate(new.recurrence(degree)), recurrence):
            alike.append(number)
            moved.append(new)
            continue
        nodes, shares = new.quadrature(degree + 1)
        functions = new.evaluate(nodes, degree) * shares
        matrices[number] = functions @ functions_at(nodes).T
    if alike:
        nodes, shares = law.quadrature(degree + 1)
        standardised = law.standardize(nodes)
        at = np.stack([new.in_units(standardised) for new in moved])
        functions = law.evaluate(nodes, degree) * shares
        values = functions_at(at.ravel()).reshape(degree + 1, *at.shape)
        matrices[alike] = np.einsum("kq,lrq->rkl", functions, values)
    return np.triu(matrices)


def _moves_as_one(law: InputLaw) -> bool:
    """Whether functions learned from other rows are polynomials of these."""
    return law.is_polynomial and law.same_function and not law.waves


def dirichlet_shares(
    weights: FloatArray,  # shape: (n_samples,), at least 1: numbers of copies
    n_resamples: int,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (n_resamples, n_samples)
    """Draw the shares of samples of the Bayesian bootstrap."""
    copies = weights * max(1.0, len(weights) / weights.sum())
    shares = generator.standard_gamma(copies, size=(n_resamples, len(weights)))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def law_errors(
    laws: LearnedLaws,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    weights: FloatArray,  # shape: (n_samples,)
    rows: FloatArray,  # shape: (n_resamples, n_samples), see ``dirichlet_shares``
    masks: FloatArray,  # shape: (n_terms or more, n_masks)
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:  # ([n_resamples,] n_targets, n_masks + all terms)
    """Return changes of sums of squares with the distributions, and variances."""
    n_resamples, shape = len(rows), (len(coefficients), masks.shape[1] + 1)
    if not laws.features:
        return np.zeros((1, *shape)), np.zeros(shape)
    n_copies = max(round(float(weights.sum())), 1)
    matrices = laws.changes(rows, generator, n_copies)
    every = np.column_stack([masks, np.ones(len(masks))])[1:]
    given = np.pad(coefficients, ((0, 0), (0, len(masks) - coefficients.shape[1])))
    given = given[:, 1:]
    changes = np.empty((n_resamples, *shape))
    mean, square = np.zeros((2, *given.shape))
    step = max(1, LARGEST_BLOCK // max(given.size, 1))
    for start in range(0, n_resamples, step):
        block = slice(start, start + step)
        part = {i: matrix[block] for i, matrix in matrices.items()}
        change = laws.relearned(coefficients[np.newaxis], part)[:, :, 1:] - given
        changes[block] = (change * (2.0 * given + change)) @ every
        mean += change.sum(axis=0) / n_resamples
        square += np.square(change).sum(axis=0) / n_resamples
    return changes, np.maximum(square - np.square(mean), 0.0) @ every


Image = Callable[[FloatArray], FloatArray]


def _same(values: FloatArray) -> FloatArray:
    """Return what is given."""
    return values


@dataclass(frozen=True)
class RowSums:
    """What bounds are of: each target, or sums over targets in other coordinates.

    Variances add up in the rows of a step or of the trajectory; the identity
    :math:`V_i = \\hat V_i + 2 E[e \\hat f_i] + a_i E[e^2]` holds for the sums.
    """

    image: Image = _same  # maps (..., n_targets) to (..., n_images), linearly
    groups: IndexArray | None = None  # shape: (n_images,), rows; None for each alone
    row_of_target: IndexArray | None = None  # shape: (n_targets,)
    n_rows: int = 0
    varies: BoolArray | None = None  # shape: (n_images,); None for what the fit says
    adds_variances: bool = True  # whether those of the targets of a row add up

    def add(self, values: FloatArray) -> FloatArray:
        """Add (..., n_images) up to (..., n_rows)."""
        if self.groups is None:
            return values
        return sum_coordinates(values, self.groups, self.n_rows)

    def largest(self, values: FloatArray) -> FloatArray:
        """Return the largest of (..., n_targets), at least 0; shape (..., n_rows)."""
        if self.row_of_target is None:
            return values
        found = np.zeros((*values.shape[:-1], self.n_rows))
        np.maximum.at(found.T, self.row_of_target, values.T)
        return found

    def variance(self, values: FloatArray) -> FloatArray:
        """Add up variances of targets; 0 where only resamples know that of a row."""
        if self.row_of_target is None:
            return values
        known = values * self.adds_variances
        return sum_coordinates(known, self.row_of_target, self.n_rows)

    def squares(
        self,
        coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
        spread: FloatArray,  # shape: (n_targets,)
    ) -> FloatArray:  # shape: (..., n_rows, n_terms)
        """Return sums of squared coefficients, 0 for what does not vary."""
        varies = spread > 0 if self.varies is None else self.varies
        squares = np.square(map_rows(self.image, coefficients))
        return map_rows(self.add, np.where(varies[:, np.newaxis], squares, 0.0))


def sum_coordinates(
    values: FloatArray,  # shape: (..., n_coordinates)
    groups: IndexArray,  # shape: (n_coordinates,)
    n_groups: int,
) -> FloatArray:  # shape: (..., n_groups)
    """Add up the coordinates of each group."""
    sums = sum_rows(np.moveaxis(values, -1, 0), groups, n_groups)
    return np.moveaxis(sums, 0, -1)


def map_rows(
    image: Image,  # of values of shape (..., n_targets)
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
) -> FloatArray:
    """Map the rows of coefficients to those of other coordinates."""
    return np.swapaxes(image(np.swapaxes(coefficients, -1, -2)), -1, -2)


EACH_TARGET = RowSums()


def posterior_squares(
    problem: FittedProblem,
    n_draws: int,
    generator: np.random.Generator,
    rows: RowSums = EACH_TARGET,
    *,
    spread: float = 1.5,  # of the prior's parameters, as it is for drivers
    sets: Sequence[Sequence[int]] = (),  # of inputs
    n_inputs: int | None = None,  # whose terms count; those of others in the last sum
    relearns: bool = False,  # whether distributions that were learned are drawn too
) -> tuple[FloatArray, BoolArray]:
    """Return variances of draws, and which of them the evidence says are not 0.

    First-order, total and Shapley variances of inputs, closed and total ones of sets of
    inputs, and that of all, of shape (n_draws, n_rows, 3 n_features + 2 n_sets + 1);
    flags of the first two, of shape (n_rows, 2 n_features).
    """
    samples, solver = problem.require_samples("sobol_interval"), problem.solver
    assert isinstance(solver, LearnedRidgeSolver)  # see ``checked_method``
    given = problem.basis.multi_indices if solver.given else None
    n_targets = len(problem.spread)
    settled = np.zeros((n_targets, 2 * len(problem.basis.laws)))
    squares: FloatArray | float = 0.0
    with one_thread_if_small(0):  # matrices of few terms
        for part in coefficient_draws(
            solver,
            problem.basis.laws,
            given,
            samples,
            problem.groups,
            n_draws,
            generator,
            spread,
        ):
            settled[part.targets] = part.settled.ravel()
            terms = part.multi_indices
            of_sets = [
                terms_of_set(kind, terms, own)
                for kind in ("closed", "total")
                for own in sets
            ]
            masks = np.column_stack([index_masks(terms), *of_sets])
            if n_inputs is not None:
                masks = masks * ~terms[:, n_inputs:].any(axis=1, keepdims=True)
            masks = np.column_stack([masks, np.ones(len(terms))])
            chosen, weights = part.targets, None
            if rows.image is not _same:  # (n_chosen, n_images)
                weights = np.square(rows.image(np.eye(n_targets)[chosen]))
            own, mean = [], np.zeros(1)
            for coefficients, variances in part.draws:
                image = rows.image(_placed(coefficients.T, chosen, n_targets))
                if weights is None:
                    uncertain = _placed(variances.T, chosen, n_targets)
                else:
                    uncertain = variances.T @ weights
                parts = np.square(image) - uncertain  # (n_terms, n_images)
                own.append(rows.add(masks.T @ parts).T)
                mean = mean + image / n_draws
            squares = squares + np.array(own)
            if relearns:
                squares += _with_laws(
                    problem.basis, part, mean, samples, rows, len(own), generator
                )
    known = rows.largest(settled.T).T > 0  # shape: (n_rows, 2 n_inputs)
    return np.maximum(squares, 0.0), known


def _placed(values: FloatArray, chosen: IndexArray, n_targets: int) -> FloatArray:
    """Return the columns of some targets among those of all, the others 0."""
    placed = np.zeros((len(values), n_targets))
    placed[:, chosen] = values
    return placed


def _with_laws(
    basis: Basis,
    part: CoefficientDraws,
    coefficients: FloatArray,  # shape: (n_terms, n_images)
    samples: Samples,
    rows: RowSums,
    n_draws: int,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (n_draws or 1, n_rows, 3 * n_inputs + 1)
    """Return changes of sums of squares with the distributions, of leading terms."""
    squares = np.square(coefficients)
    whole = squares.sum(axis=0)
    squares = squares / np.where(whole > 0, whole, 1.0)  # each image counts alike
    order = np.argsort(-squares.sum(axis=1), kind="stable")
    enough = np.cumsum(squares[order], axis=0) >= _LEADING * (whole > 0)
    n_leading = int(np.argmax(np.append(enough.all(axis=1), True))) + 1
    some = np.sort(order[: min(n_leading, _MOST_LEADING)])
    listed = np.pad(part.multi_indices[some], ((1, 0), (0, 0)))
    if not all(isinstance(law, LevelsLaw) for law in basis.laws):
        # Repeats of a setting say nothing more of the distributions.
        samples = replace(samples, targets=samples.targets[:, :0])
    samples = with_mean_weight_one(without_copies(samples))
    X = samples.inputs
    leading = PolynomialBasis(basis.laws, listed)
    known = LearnedLaws(leading, X, whole=True, reach=basis.reach)
    shares = dirichlet_shares(samples.weights, n_draws, generator)
    given = np.pad(coefficients[some].T, ((0, 0), (1, 0)))
    masks = index_masks(known.multi_indices)
    changes, _ = law_errors(known, given, samples.weights, shares, masks, generator)
    changes = np.swapaxes(changes - changes.mean(axis=0), 1, 2)
    return np.swapaxes(rows.add(changes), 1, 2)


# Degrees that are high, and the share of the variance in them from which an input may
# need higher ones; a share of it in terms of the most inputs.
_HIGH_DEGREE, _LARGE_SHARE, _LARGEST_ORDER_SHARE = 30, 0.1, 0.7

# Columns in which a direction is shorter than this do not vary along it.
_NO_LENGTH = 1e-8
_MOST_INPUTS = 200

# Two terms are aliases whose correlation is as near to one; at least one of them has
# such a share of the variance. More inputs than the last number have too many pairs.
_ALIKE, _ALIAS_SHARE, _MOST_ALIASED = 1.0 - 1e-9, 0.05, 26

_MOST_NAMED = 6

# So many settings a term, or such a part of all that levels make, tell of the others.
_FEW, _PART = 3, 0.25


class EdgeOfFamilyWarning(UserWarning):
    """The learned prior leans on the largest degree or order that there is."""


class DependentInputsWarning(UserWarning):
    """The samples cannot tell what an input, or a term, does from what others do."""


def warn_of_samples(problem: FittedProblem, names: Sequence[str]) -> None:
    """Warn of stated inputs that do not vary, and of all else of a learned fit."""
    if problem.samples is not None:
        _warn_of_held(problem.basis.laws, problem.samples.inputs, names)
        _warn_of_repeats(problem.basis, problem.samples.inputs)
    solver = problem.solver
    if not isinstance(solver, LearnedRidgeSolver):
        return
    basis, coefficients = problem.basis, problem.coefficients
    _warn_of_edges(basis, coefficients, names)
    if problem.samples is not None:
        X = problem.samples.inputs
        if not _warn_of_ties(X, names):
            _warn_of_aliases(solver.priors, basis, coefficients, X, names)


def _warn_of_held(
    laws: Sequence[InputLaw], X: FloatArray, names: Sequence[str]
) -> None:
    """Warn of inputs with a stated distribution that have one value."""
    is_held = (X[0] == X).all(axis=0) & (len(X) > 1)
    if not is_held.any():
        return
    held = [i for i in np.flatnonzero(is_held).tolist() if not laws[i].learned]
    if held:
        said = _listed([f"{names[i]} = {X[0, i]:g}" for i in held])
        warn_outside_folds(
            f"In all samples {said}, where a distribution is stated: what it does "
            "cannot be learned, so the indices, those of other inputs too, are not "
            "those of this distribution. Vary it, or leave it out.",
            DependentInputsWarning,
        )


def _warn_of_repeats(basis: Basis, X: FloatArray) -> None:
    """Warn of repeats of few settings beside the terms, and of all there may be."""
    levels = 1.0 + np.count_nonzero(np.diff(np.sort(X, axis=0), axis=0), axis=0)
    if 2 * levels.max() > len(X):
        return
    n_terms = len(basis.multi_indices) if isinstance(basis, PolynomialBasis) else np.inf
    n_settings = len(np.unique(X, axis=0))
    few = min(_FEW * n_terms, _PART * np.prod(levels))
    if n_settings < few and 2 * n_settings <= len(X):
        warn_outside_folds(
            f"The {len(X)} samples are of {n_settings} settings, few beside "
            f"{n_terms:g} terms. Samples that are left out one by one, as in q2_ and "
            "in intervals, have repeats in the fit: nothing is known of others. "
            "Leave settings out, as GroupKFold and skpce.explain(replicate=...) do.",
            MoreTermsThanRowsWarning,
        )


def _warn_of_edges(
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    names: Sequence[str],
) -> None:
    """Warn of inputs that may need more degrees, and of terms of more inputs."""
    steep, crowded = [], False
    if isinstance(basis, PolynomialBasis):
        high = basis.exponents[1:] >= _HIGH_DEGREE
        squares = np.square(coefficients[:, 1:])
        large = squares @ high > _LARGE_SHARE * squares.sum(axis=1, keepdims=True)
        found = np.flatnonzero(large.any(axis=0))
        steep = [names[i] for i in found.tolist()]
        last = np.count_nonzero(basis.exponents[1:], axis=1) == LARGEST_ORDER
        most = squares @ last > _LARGEST_ORDER_SHARE * squares.sum(axis=1)
        crowded = bool(most.any()) and len(names) > LARGEST_ORDER
    if steep:
        warn_outside_folds(
            f"The output varies fast along {_listed(steep)}: polynomials of "
            f"degree {LARGEST_DEGREE}, the largest there are, matter as much as low "
            "ones. What varies faster still is missed; a step is better met by a "
            "forest, or by an input that says on which side a sample is.",
            EdgeOfFamilyWarning,
        )
    if crowded:
        warn_outside_folds(
            f"Most of the variance is sought in terms of {LARGEST_ORDER} inputs, the "
            "most there are: what more inputs do together is missed. Compare Q² with "
            "that of a Gaussian process.",
            EdgeOfFamilyWarning,
        )


def _warn_of_ties(X: FloatArray, names: Sequence[str]) -> bool:
    """Warn of an exact linear constraint on the inputs; return whether there is one."""
    n_rows, n_inputs = X.shape
    if not 1 < n_inputs <= min(_MOST_INPUTS, n_rows - 1):
        return False
    centred = X - X.mean(axis=0)
    length = np.sqrt(np.square(centred).sum(axis=0))
    varies = np.flatnonzero(length > 0)
    if len(varies) < 2:
        return False
    unit = centred[:, varies] / length[varies]
    _, values, right = np.linalg.svd(unit, full_matrices=False)
    if values[-1] > _NO_LENGTH:
        return False
    tied = varies[np.abs(right[-1]) > 1e-6]
    warn_outside_folds(
        f"A linear combination of {_listed([names[i] for i in tied])} is constant in "
        "the samples, as the parts of a mixture are: what one of them does cannot be "
        "told from what the others do. Leave one out, or take their ratios.",
        DependentInputsWarning,
    )
    return True


def _warn_of_aliases(
    priors: Sequence[TermPrior],
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,
    names: Sequence[str],
) -> None:
    """Warn of terms of other inputs, of degree one or two, alike in the samples."""
    if not isinstance(basis, PolynomialBasis) or X.shape[1] > _MOST_ALIASED:
        return
    terms = _low_terms(priors[0])
    values = PolynomialBasis(basis.laws, terms).evaluate(X)
    values = values - values.mean(axis=0)
    length = np.sqrt(np.square(values).sum(axis=0))
    values = values / np.where(length > _NO_LENGTH, length, np.inf)
    alike = np.triu(np.abs(values.T @ values) > _ALIKE, 1)
    squares = np.square(coefficients)
    whole = squares[:, 1:].sum(axis=1, keepdims=True)
    large = (squares > _ALIAS_SHARE * whole).any(axis=0)
    large[0] = False
    matters = (
        (terms[:, np.newaxis] == basis.multi_indices[large]).all(axis=2).any(axis=1)
    )
    one, other = np.nonzero(alike & (matters[:, np.newaxis] | matters))
    apart = ((terms[one] > 0) != (terms[other] > 0)).any(axis=1)
    one, other = one[apart], other[apart]
    if not len(one):
        return
    pairs = zip(terms[one], terms[other], strict=True)
    said = [f"{_term(a, names)} and {_term(b, names)}" for a, b in pairs]
    warn_outside_folds(
        f"The samples cannot tell apart {_listed(said)}: in all rows they are the "
        "same, but for a factor and a constant. What they do is divided among them by "
        "the prior. Add rows in which they differ, such as centre points; products are "
        "left out by interaction_order=1.",
        DependentInputsWarning,
    )


def _low_terms(prior: TermPrior) -> IndexArray:  # shape: (n_terms, n_inputs)
    """List the constant, two functions an input, and products of the first ones."""
    unit = np.eye(len(prior.n_functions), dtype=np.int64)
    first = unit[prior.n_functions > 0]
    found = [0 * unit[:1], first, 2 * unit[prior.n_functions > 1]]
    if len(prior.order_weights) > 1:
        one, other = np.triu_indices(len(first), 1)
        found.append(first[one] + first[other])
    return np.vstack(found)


def _term(exponents: IndexArray, names: Sequence[str]) -> str:
    """Return the name of a term of degree one or two."""
    inputs = np.flatnonzero(exponents)
    if exponents.max() > 1:
        return f"{names[inputs[0]]}²"
    return "·".join(names[i] for i in inputs.tolist())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown}, ..."
