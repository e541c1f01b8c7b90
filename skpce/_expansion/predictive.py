r"""The predictive distribution of a fit: predictions, residuals, and what y can be.

A member of an ensemble is the prediction at its inputs plus a residual. What y can be
(any real value, or probabilities that sum to one) is said by what was fitted: the rest
is the same for all of them.

The scale of the noise describes how the spread of the residuals changes with the
inputs. With the scaled leave-one-out residuals :math:`r_{ik}` of the targets :math:`k`
of a group,

.. math:: v_i = \Bigl(\sum_k r_{ik}^2\Bigr)^{1/3}

is nearly normal where the residuals are (the transformation of Wilson and Hilferty
[1]_), and a ridge expansion of it, additive in the inputs and of degree 2, has its
penalty chosen by leave-one-out. The largest penalties return the mean: a constant scale
where the inputs have no effect on it. The scale is :math:`s(x) = \hat v(x)^{3/2}`, in
units of its root mean square over the members.

References
----------
.. [1] E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", Proceedings
   of the National Academy of Sciences 17 (1931).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv

from .._basis.basis import PolynomialBasis, Truncation, sample_laws
from .._checks import (
    FloatArray,
    IndexArray,
    RandomState,
    as_floats,
    check_draws,
    check_option,
    check_real,
    fail,
    finite_floats,
    make_generator,
    one_thread_if_small,
    refuse_nan,
    refuse_not_finite,
    refuse_other_names,
    refuse_other_rows,
    validated,
    warn_outside_folds,
)
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.families import is_frozen, warn_outside
from .._input_laws.other_libraries import is_of_another_library
from .._result import Result
from .._solvers.problem import DEFAULT_ALPHAS, DesignDecomposition, solve_path
from .expansion import checked_outputs
from .problem import FittedProblem, sum_coordinates

#: Distributions of the residuals.
RESIDUAL_LAWS = ("resampled", "gaussian")

#: How the spread of the residuals is described.
NOISES = ("constant", "inputs")

# Smallest and largest response of the scale model, in units of its mean over the
# members, and of the largest of a member: an expansion is not positive by itself.
_SMALLEST_RESPONSE = 0.2
_LARGEST_RESPONSE = 1.5

# Quantiles of few residuals. Positions i/(n + 1) ("weibull") cover a new member without
# a fit, and the factor sqrt(1 + h) widens them once more. "hazen" is too narrow in
# spite of it.
QUANTILE: Final = "median_unbiased"

# Values at a time while quantiles are taken: 8 MiB.
CHUNK_ENTRIES: Final = 1_048_576

# Quantiles whose distance from the median is the spread: one standard deviation.
_LEVELS = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))

#: Draws inputs: (number, generator) -> (number, n_features).
InputSampler = Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class ResidualLaw:
    r"""Leave-one-out residuals of an ensemble, in the fitted coordinates.

    The predictive distribution is the push-forward of the inputs *plus* that of the
    residuals: the push-forward alone (as in the paper) is too narrow by the
    unexplained share of the variance. A residual of member :math:`i`, left out, has the
    variance :math:`\sigma^2 / (1 - h_i)` with the leverage :math:`h_i`, and a
    prediction at :math:`x` has :math:`\sigma^2 (1 + h(x))` [1]_. One row has all
    targets of a member, which preserves the dependence between them.

    References
    ----------
    .. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
       and Hall, 1982, section 2.1.
    """

    residuals: FloatArray  # shape: (n_members, n_fitted), of equal variance
    weights: FloatArray  # shape: (n_members,), frequencies

    def draw(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:  # shape: (size, n_fitted)
        """Draw scaled residuals.

        ``"gaussian"`` has their second moments and mean zero; ``"resampled"`` draws
        whole rows; None gives zeros, the push-forward alone.
        """
        if kind is None:
            return np.zeros((size, self.residuals.shape[1]))
        refuse_undefined(self.residuals)
        share = self.weights / self.weights.sum()
        if kind == "resampled":
            return self.residuals[generator.choice(len(share), size=size, p=share)]
        # R'R are the second moments; R has a row for each coordinate at most.
        root = np.linalg.qr(np.sqrt(share)[:, np.newaxis] * self.residuals, mode="r")
        return generator.standard_normal(size=(size, len(root))) @ root

    def atoms(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return rows for quantiles: each residual as often as its weight says.

        This avoids the noise of drawing. Where weights are no multiples of the smallest
        one, or copies are more than ``size``, so many rows are evenly spread over them.
        None has one atom, zero.
        """
        if kind != "resampled":
            return self.draw(1 if kind is None else size, kind, generator)
        refuse_undefined(self.residuals)
        copies = self.weights / self.weights[self.weights > 0].min()
        number = int(copies.sum().round())
        if np.abs(copies - copies.round()).max() > 1e-9 or number > size:
            number = size
        at = (np.arange(number) + 0.5) * (copies.sum() / number)
        return self.residuals[np.searchsorted(np.cumsum(copies), at)]


def refuse_undefined(residuals: FloatArray) -> None:
    """Raise ``ValueError`` where leaving a member out has no residual."""
    if np.isnan(residuals).any():
        raise ValueError(
            "The residual distribution is not defined: with as many terms as members a "
            "least-squares fit has no leave-one-out residuals. Use "
            "solver='ridge', a lower degree, or residual=None (the push-forward "
            "alone, which is too narrow)."
        )


@dataclass(frozen=True, eq=False)
class NoiseScale:
    """The spread of residuals as a function of the inputs, for groups of targets."""

    basis: PolynomialBasis
    coefficients: FloatArray  # shape: (n_groups, n_terms), of the response
    bounds: FloatArray  # shape: (2, n_groups), of the response
    units: FloatArray  # shape: (n_groups,), root mean square over the members
    group_of_target: IndexArray  # shape: (n_fitted,)
    at_members: FloatArray  # shape: (n_members, n_fitted), each left out of its own

    def at(self, X: FloatArray) -> FloatArray:  # shape: (n_samples, n_fitted)
        """Return the scale of each fitted target."""
        response = self.basis.combine(X, self.coefficients)
        scale = np.clip(response, *self.bounds) ** 1.5 / self.units
        return scale[:, self.group_of_target]


def learn_noise_scale(problem: FittedProblem, owner: str) -> NoiseScale:
    """Regress the spread of the residuals on the inputs."""
    samples = problem.require_samples(owner)
    residuals, weights = problem.fit.scaled_residuals, samples.weights
    refuse_undefined(residuals)
    labels, group_of_target = np.unique(problem.noise_groups, return_inverse=True)
    # Sums of squares over the targets of a group.
    squares = sum_coordinates(np.square(residuals), group_of_target, len(labels))
    responses = np.cbrt(squares)
    # Functions of single inputs, of degree 2; all contrasts of a category.
    laws = problem.basis.laws
    terms = Truncation.of_laws(laws, 2, 1.0, 1).listed()
    basis = PolynomialBasis(laws, terms, problem.basis.reach)
    design = basis.evaluate(samples.inputs)
    with one_thread_if_small(design.size):
        decomposition = DesignDecomposition.from_design(design, weights)
        fit = solve_path(
            decomposition, responses, DEFAULT_ALPHAS, np.arange(len(labels))
        )
    mean = np.average(responses, axis=0, weights=weights)
    safe = np.where(mean > 0, mean, 1.0)  # without residuals the scale is one
    # A member whose spread decides its own scale would look too regular.
    left_out = responses - np.where(mean > 0, fit.loo_residuals, responses - safe)
    left_out = np.where(np.isnan(left_out), safe, left_out)
    largest = np.maximum(_LARGEST_RESPONSE * left_out.max(axis=0), safe)
    bounds = np.stack([_SMALLEST_RESPONSE * safe, largest])
    at_members = np.clip(left_out, *bounds) ** 1.5
    units = np.sqrt(np.average(np.square(at_members), axis=0, weights=weights))
    coefficients = fit.coefficients.copy()
    coefficients[mean == 0, 0] = 1.0
    of_targets = (at_members / units)[:, group_of_target]
    return NoiseScale(basis, coefficients, bounds, units, group_of_target, of_targets)


@dataclass(frozen=True, eq=False)
class Predictive:
    """Predictions of a fit and the distribution around them."""

    problem: FittedProblem
    names: Sequence[str]  # of the inputs
    owner: str  # for messages
    scalar: bool = False  # whether y was one-dimensional
    noise: NoiseScale | None = None  # None where the spread is constant
    columns: Any = None  # of y, that a part predicts
    # The same for a fit to some of the members; checked inputs and values of others.
    refit: Callable[[Any, IndexArray], Predictive] | None = None
    read: Callable[[Any, Any], tuple[FloatArray, FloatArray]] | None = None

    @property
    def parts(self) -> list[Predictive]:
        """Those of targets that the same samples have."""
        found = []
        for part, targets in self.problem.parts:
            columns: Any = slice(None)
            if part is not self.problem:
                columns = self.problem.columns_of(targets)
            found.append(replace(self, problem=part, columns=columns))
        return found

    def checked(self, X: ArrayLike) -> FloatArray:
        """Return finite inputs; warn of those outside their distributions."""
        values = as_floats(X, "X")
        refuse_not_finite(values, "X")
        basis = self.problem.basis
        warn_outside(basis.laws, values, self.names, basis.reach)
        return values

    def with_noise(self, noise: str, owner: str) -> Predictive:
        """Learn how the spread changes with the inputs, where it does."""
        if noise == "constant":
            return self
        return replace(self, noise=learn_noise_scale(self.problem, owner))

    def residual_law(self, owner: str) -> ResidualLaw:
        """Return the distribution of what the expansion does not explain."""
        weights = self.problem.require_samples(owner).weights
        residuals = self.problem.fit.scaled_residuals * self.problem.optimism
        if self.noise is not None:
            residuals = residuals / self.noise.at_members
        return ResidualLaw(residuals, weights)

    def scale_at(
        self,
        X: FloatArray,  # shape: (n_inputs, n_features)
        design: FloatArray,  # shape: (n_inputs, n_terms), the basis at X
    ) -> FloatArray:  # shape: (n_inputs, n_fitted)
        """Return errors of prediction over residuals of equal variance."""
        scale = np.sqrt(1.0 + self.problem.fit.leverage.at(design))
        return scale if self.noise is None else scale * self.noise.at(X)

    def unit_at(
        self, X: FloatArray, joint: str | None
    ) -> FloatArray:  # shape: (n_inputs, n_scores)
        """Return the units of distances of scores, which only the fit decides."""
        scale = self.scale_at(X, self.problem.basis.evaluate(X))
        unit = self.problem.score_scale(scale)
        if joint is None:
            return unit
        deviation = self.problem.score_deviation()
        refuse_undefined(deviation)
        return unit * np.where(deviation > 0, deviation, 1.0)

    def draw_around(
        self,
        rows: FloatArray,  # shape: (n_inputs or (n_rows, 1), n_fitted), residuals
        X: FloatArray,  # shape: (n_inputs, n_features)
    ) -> FloatArray:  # shape: (n_inputs or (n_rows, n_inputs), n_image)
        """Add a row of residuals, or each of them, to the prediction at each input."""
        design = self.problem.basis.evaluate(X)
        drawn = self.problem.image(rows * self.scale_at(X, design))
        drawn += self.problem.predicted(X, design)
        return drawn

    def scores_at(self, X: FloatArray) -> FloatArray:  # shape: (n_inputs, n_scores)
        """Return the scores of the predictions."""
        return self.problem.scores(self.problem.values(self.problem.predicted(X)))

    def observed(self, owner: str) -> FloatArray:  # shape: (n_members, n_values)
        """Return the values of the members of the fit."""
        targets = self.problem.require_samples(owner).targets
        return self.problem.values(self.problem.image(targets))

    def input_sampler(self, owner: str, inputs: Any) -> InputSampler:
        """Return what draws the inputs: distributions of the fit, others, or rows."""
        names, basis = self.names, self.problem.basis
        refuse_other_names(
            "The feature names should match those that were passed during fit: inputs=",
            getattr(inputs, "columns", None),
            names,
        )
        if inputs is None:
            return basis.sample
        if hasattr(inputs, "particles"):  # a belief: particles by their weights
            n_given = inputs.particles.shape[1]
            if n_given != len(names):
                raise ValueError(
                    f"The 'inputs' parameter of {owner} is a belief about {n_given} "
                    f"inputs; expected {len(names)}."
                )
            refuse_other_names(f"The belief given to {owner}", inputs.names, names)
            draw: InputSampler = inputs.sample
        elif _are_laws(inputs):
            specifications = check_distribution(owner, inputs, names)
            samples = self.problem.require_samples(owner)
            laws = learn_input_laws(specifications, samples.inputs, samples.weights)
            draw = partial(sample_laws, laws)
        else:
            expected = "None, one or more distributions, or one or more rows of numbers"
            rows = finite_floats(owner, "inputs", inputs, expected)
            if rows.ndim != 2 or rows.shape[1] != len(names):
                raise ValueError(
                    f"The 'inputs' parameter of {owner} has shape {rows.shape}; "
                    f"expected (n_rows, {len(names)}) with at least one row."
                )

            def draw(size: int, generator: np.random.Generator) -> FloatArray:
                return rows[generator.integers(len(rows), size=size)]

        def draw_and_warn(size: int, generator: np.random.Generator) -> FloatArray:
            drawn = draw(size, generator)
            warn_outside(basis.laws, drawn, names)
            return drawn

        return draw_and_warn

    def sampled_bounds(
        self,
        draws: FloatArray,  # shape: (n_draws, n_inputs, n_image)
        confidence_level: float,
        joint: str | None,
    ) -> FloatArray:  # shape: (2, n_inputs, n_values)
        """Return marginal bounds, or joint bands, of the draws at each input."""
        values, problem = self.problem.values(draws), self.problem
        if joint is None:
            levels = (1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0
            values.sort(axis=0)  # in which quantiles are found faster
            options: Any = {"method": QUANTILE, "overwrite_input": True}
            return np.asarray(np.quantile(values, levels, axis=0, **options))
        scores, groups = problem.scores(values), problem.score_groups(joint)
        bands = simultaneous_bands(scores, groups, confidence_level)
        return problem.bounds(*bands, values[0])

    def members_held_out(
        self,
        calibration: Any,
        cv: Any,
        noise: str,
        owner: str,
        generator: np.random.Generator,
    ) -> HeldOut:
        """Return members that are not in the fit, or those of the fit and its refits.

        In CV+ each member has the fit without its fold.
        """
        samples = self.problem.samples
        if calibration is not None:
            expected = "None or a pair (X, y) of members that are not in the fit"
            if not isinstance(calibration, (tuple, list)) or len(calibration) != 2:
                raise fail(owner, "calibration", expected, calibration)
            assert self.read is not None  # every estimator gives it
            inputs, values = self.read(*calibration)
            values = values[:, self.columns]
            known: set[Any] = set()
            if samples is not None:
                fitted = np.hstack([samples.inputs, self.observed(owner)])
                known = set(map(tuple, fitted.round(9).tolist()))
            given = np.hstack([inputs, values]).round(9)
            if known.issuperset(map(tuple, given.tolist())):
                raise ValueError(
                    f"All {len(inputs)} members of the 'calibration' parameter of "
                    f"{owner} are in the fit; expected others. Without calibration= "
                    "the members of the fit are left out in turn."
                )
            basis = self.problem.basis
            warn_outside(basis.laws, inputs, self.names, basis.reach)
            whole = self.with_noise(noise, owner)
            return HeldOut(inputs, values, np.ones(len(inputs)), [(whole, slice(None))])
        samples = self.problem.require_samples(owner)
        n_members = len(samples.inputs)
        if isinstance(cv, Integral) and not isinstance(cv, bool):
            if not 2 <= int(cv) <= n_members:
                expected = f"from 2 to {n_members}, the number of members"
                raise fail(owner, "cv", expected, cv)
            seed = int(generator.integers(2**31))
            cv = KFold(int(cv), shuffle=True, random_state=seed)
        try:
            splits = list(check_cv(cv).split(samples.inputs))
        except ValueError:
            expected = "an int, a splitter, or an iterable of (train, test)"
            raise fail(owner, "cv", expected, cv) from None
        held_out = np.concatenate([test for _, test in splits])
        if not np.array_equal(np.sort(held_out), np.arange(n_members)):
            raise ValueError(
                f"The 'cv' parameter of {owner} must hold out each of the {n_members} "
                f"members once. Got {cv!r} instead."
            )
        folds = []
        for training, test in splits:
            assert self.refit is not None  # every estimator gives it
            left = self.refit(self.problem, training).with_noise(noise, owner)
            folds.append((left, test))
        return HeldOut(samples.inputs, self.observed(owner), samples.weights, folds)


def _are_laws(inputs: Any) -> bool:
    """Return whether this is a distribution, or a list with one in it."""
    if isinstance(inputs, (str, Mapping)) or is_frozen(inputs):
        return True
    if is_of_another_library(inputs):
        return True
    return isinstance(inputs, Sequence) and any(map(_are_laws, inputs))


def simultaneous_bands(
    scores: FloatArray,  # shape: (n_draws, n_members, n_scores), without bounds
    groups: IndexArray,  # shape: (n_scores,), a band is joint over a group
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:  # each shape: (n_members, n_scores)
    """Return lower and upper bounds; scores that do not vary have no width."""
    low, centre, high = np.quantile(scores, _LEVELS, axis=0)
    deviation = scores.std(axis=0)
    below = _spread(centre - low, deviation)
    above = _spread(high - centre, deviation)
    # From the median of the others, in units of their spread.
    low, middle, high = quantiles_of_others(scores)
    spread = np.where(scores < middle, middle - low, high - middle)
    distance = np.abs(scores - middle) / _spread(spread, deviation)
    lower, upper = centre.copy(), centre.copy()
    for group in np.unique(groups):
        parts = groups == group
        largest = distance[:, :, parts].max(axis=2)
        factor = np.quantile(largest, confidence_level, axis=0, method=QUANTILE)
        lower[:, parts] -= factor[:, np.newaxis] * below[:, parts]
        upper[:, parts] += factor[:, np.newaxis] * above[:, parts]
    return lower, upper


def quantiles_of_others(values: FloatArray) -> Iterator[FloatArray]:
    """Yield, for each draw, quantiles of the draws without it.

    Without a draw at or below the order statistic :math:`j` the next one replaces it. A
    single draw has no others and replaces them.
    """
    last = len(values) - 1
    positions = [max(last - 1, 0) * level for level in _LEVELS]
    needed = {min(int(at) + k, last) for at in positions for k in range(3)}
    ordered = np.partition(values, sorted(needed), axis=0)
    for at in positions:
        first, second, third = (ordered[min(int(at) + k, last)] for k in range(3))
        left = np.where(values <= first, second, first)
        right = np.where(values <= second, third, second)
        yield left + (at - int(at)) * (right - left)


def _spread(distance: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return distances, with the standard deviation where quantiles coincide."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(distance > 1e-9 * safe, distance, safe)


# Conformal intervals: bounds whose coverage rests on exchangeable members alone.
#
# A member has the score :math:`R_i = |z_i - \hat z(x_i)| / \tau(x_i)` with the
# prediction of a fit that has not seen it. The scale :math:`\tau(x) = \sqrt{1 + h(x)}\,
# s(x)` holds the leverage and, where it is learned, the scale of the noise; both are
# functions of the fit alone, so that the scores stay exchangeable [1]_. The ranks are
# those of :math:`k = \lceil (1 - \alpha)(n + 1) \rceil`.
#
# References
# ----------
# .. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman,
#    "Distribution-free predictive inference for regression", Journal of the American
#    Statistical Association 113 (2018), section 5.2.


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Members, and fits that have not seen them: one, or in CV+ one for each fold."""

    inputs: FloatArray  # shape: (n_members, n_features)
    values: FloatArray  # shape: (n_members, n_values)
    weights: FloatArray  # shape: (n_members,), frequencies
    folds: Sequence[tuple[Predictive, Any]]  # fits, each with its rows of the members

    def bounds(
        self,
        X: FloatArray,  # shape: (n_inputs, n_features)
        confidence_level: float,
        joint: str | None,
    ) -> FloatArray:  # shape: (2, n_inputs, n_scores)
        """Return bounds of scores from distances of the members from their fits."""
        problem, weights = self.folds[0][0].problem, self.weights
        scores = problem.scores(self.values)
        found, fold = np.empty_like(scores), np.empty(len(scores), dtype=np.int64)
        centre = np.empty((len(self.folds), len(X), scores.shape[1]))
        unit = np.empty_like(centre)
        for k, (fitted, rows) in enumerate(self.folds):
            misses = np.abs(scores[rows] - fitted.scores_at(self.inputs[rows]))
            found[rows] = misses / fitted.unit_at(self.inputs[rows], joint)
            fold[rows] = k
            centre[k], unit[k] = fitted.scores_at(X), fitted.unit_at(X, joint)
        if joint is not None:  # each score has the largest distance of its band
            for group in np.unique(groups := problem.score_groups(joint)):
                parts = groups == group
                found[:, parts] = found[:, parts].max(axis=1, keepdims=True)
        bounds = np.empty((2, *centre.shape[1:]))
        size = max(1, CHUNK_ENTRIES // max(found.size, 1))
        for start in range(0, len(X), size):
            at = slice(start, start + size)
            width, middle = found[:, np.newaxis] * unit[fold, at], centre[fold, at]
            below, above = (
                order_statistic(width + sign * middle, weights, confidence_level)
                for sign in (-1, 1)
            )
            bounds[:, at] = -below, above
        return bounds


def order_statistic(
    values: FloatArray,  # shape: (n, ...)
    weights: FloatArray,  # shape: (n,), frequencies
    confidence_level: float,
) -> FloatArray:  # shape: (...)
    """Return the value of the rank of a conformal interval; infinity beyond the last.

    With the weight :math:`n` of all values, it is the smallest one up to which the
    weight is at least :math:`(1 - \\alpha)(n + 1)`. Of exchangeable values it covers a
    new one as promised, where weights are one: ``split_conformal_coverage``, checked in
    ``lean/Core``.
    """
    rank = _rank(weights, confidence_level)
    if rank > weights.sum():
        return np.full(values.shape[1:], np.inf)
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0) >= rank
    first = np.argmax(reached, axis=0)[np.newaxis]
    ordered = np.take_along_axis(values, order, axis=0)
    return np.take_along_axis(ordered, first, axis=0)[0]


def _rank(weights: FloatArray, confidence_level: float) -> float:
    """Return the weight that the values below a bound need, without rounding error."""
    return confidence_level * (float(weights.sum()) + 1.0) - 1e-9


# Draws and intervals of y at new inputs, of real targets and for any output space.


#: How an interval follows from the members.
METHODS = ("residual", "conformal")


def _check_draws(
    owner: str, n_samples: Any, residual: Any, X: Any, inputs: Any, noise: Any
) -> None:
    """Raise ``ValueError`` for bad arguments of draws."""
    check_draws(owner, "n_samples", n_samples)
    check_option(owner, "noise", noise, NOISES)
    check_option(owner, "residual", residual, RESIDUAL_LAWS, none_allowed=True)
    if X is not None and inputs is not None:
        raise ValueError(
            f"{owner} expects X, inputs of members that are known, or inputs=, a "
            "distribution of unknown ones. Got both."
        )


class PredictionInterval(NamedTuple):
    """Lower and upper bounds of y.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_members,) or (n_members, n_targets or n_parts)
        Bounds of each target, or of the probability of each part: marginal ones, or
        joint over several.
    """

    lower: FloatArray
    upper: FloatArray

    def _table(self) -> Result:
        shape = np.shape(self.lower) or (1,)
        names = ("row", "target")
        keys = {n: tuple(range(size)) for n, size in zip(names, shape, strict=False)}
        columns = {name: np.atleast_1d(getattr(self, name)) for name in self._fields}
        return Result(keys, columns)

    def to_frame(self) -> Any:
        """Return the bounds as a table, one row for each row of X and target.

        Returns
        -------
        frame : data frame of pandas or polars
            Positions of the rows of X and of the targets or parts; the bounds.
        """
        return self._table().to_frame()

    def __str__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


# The same for real targets: what the regressors have.


def predictive_of(estimator: Any) -> Predictive:
    """Return the predictive distribution of a fitted regressor."""
    expansion = estimator.expansion_
    owner, scalar = type(estimator).__name__, expansion.scalar

    def refit(problem: FittedProblem, rows: IndexArray) -> Predictive:
        samples = problem.require_samples(f"{owner}.predict_interval").of(rows)
        targets = samples.targets[:, 0] if scalar else samples.targets
        with warnings.catch_warnings():  # the fit to all members has warned
            warnings.simplefilter("ignore")
            alone = clone(estimator).fit(samples.inputs, targets, samples.weights)
        return predictive_of(alone)

    def read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        refuse_other_rows(X=X, y=y)
        inputs = validated(estimator, X, reset=False)
        name = "y of calibration"
        values = checked_outputs(y, expansion.output_names, len(inputs), name)
        refuse_nan(values, name)
        return inputs, values

    known = estimator._problem, expansion.input_names, owner, scalar
    return Predictive(*known, refit=refit, read=read)


def sample(
    predictive: Predictive,
    n_samples: int = 1,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    residual: str | None = "resampled",
    noise: str = "constant",
    random_state: RandomState = None,
) -> FloatArray:
    """Draw values of y from the predictive distribution.

    Parameters
    ----------
    n_samples : int, default=1
        Number of draws.
    X : array-like of shape (n_members, n_features) or None, default=None
        Draw conditional on these inputs. None draws the inputs from their
        distributions.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Draw the inputs from other distributions, without refitting: what if the
        uncertainty were another one? Distributions as in ``distribution=`` (named ones
        are learned from the members of the fit), or rows of inputs, drawn with
        replacement, which preserves their dependence; rows of a
        :class:`skpce.decision.InputBelief` by their weights. None means the
        distributions of the fit.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        Distribution of what the expansion does not explain: whole rows of scaled
        leave-one-out residuals drawn with replacement, which preserves the dependence
        between targets, or a normal distribution with their second moments. None is
        the expansion alone (the paper's choice), which is too narrow by the unexplained
        share.
    noise : {"constant", "inputs"}, default="constant"
        Whether the spread of the residuals depends on the inputs, as in
        :meth:`predict_interval`.
    random_state : int, RandomState instance or None, default=None
        Randomness of the draws. None takes that of the estimator, where it has one.

    Returns
    -------
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        With X one more axis, of length n_members, after the first. Of a surrogate
        policies, whose targets are the parts of all steps; without X one draw of the
        inputs for the whole trajectory.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual distribution is not defined.

    Warns
    -----
    InputOutsideSupportWarning
        When inputs lie outside the distributions of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1))
    >>> y = 2 * X[:, 0] + rng.normal(size=80)
    >>> model = PolynomialChaosRegressor(1, distribution=norm(0, 1)).fit(X, y)
    >>> draws = model.sample(2000, random_state=0)
    >>> alone = model.sample(2000, residual=None, random_state=0)
    >>> np.array([draws.std(), alone.std()]).round(1)
    array([2.1, 1.9])
    """
    owner = f"{predictive.owner}.sample"
    _check_draws(owner, n_samples, residual, X, inputs, noise)
    predictive, *others = predictive.parts
    if others:
        lacking = predictive.problem.what_is_lacking
        raise ValueError(
            f"{owner} has no joint residuals of {lacking} that different samples have "
            f"(NaN in y). Fit these {lacking} apart, or leave the failed samples out."
        )
    sampler = predictive.input_sampler(owner, inputs)
    predictive = predictive.with_noise(noise, owner)
    generator = make_generator(random_state)
    rows = predictive.residual_law(owner).draw(n_samples, residual, generator)
    if X is None:
        image = predictive.draw_around(rows, sampler(n_samples, generator))
    else:
        image = predictive.draw_around(rows[:, np.newaxis], predictive.checked(X))
    drawn = predictive.problem.values(image)
    return drawn[..., 0] if predictive.scalar else drawn


def predict_interval(
    predictive: Predictive,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    confidence_level: float = 0.95,
    joint: str | None = None,
    residual: str | None = "resampled",
    method: str = "residual",
    noise: str = "constant",
    calibration: Any = None,
    cv: Any = 5,
    n_samples: int = 2000,
    random_state: RandomState = None,
) -> PredictionInterval:
    r"""Return prediction intervals of y.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features) or None, default=None
        Intervals conditional on these inputs. None gives one interval per target for a
        member of unknown inputs.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Distribution of the unknown inputs, as in :meth:`sample`.
    confidence_level : float, default=0.95
        Probability that a target of a new member lies inside, target by target; with
        ``joint`` that all of them do.
    joint : {"targets"}, {"step", "trajectory"} or None, default=None
        ``"targets"`` gives bands within which all targets lie together; of a surrogate
        the parts of each ``"step"``, or of the whole ``"trajectory"``. None gives
        marginal intervals.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        As in :meth:`sample`; only with ``method="residual"``.
    method : {"residual", "conformal"}, default="residual"
        ``"residual"`` takes quantiles of the leave-one-out residuals, scaled by the
        leverage of the new inputs: it needs one fit. ``"conformal"`` has a guarantee
        in finite samples, see Notes.
    noise : {"constant", "inputs"}, default="constant"
        ``"inputs"`` learns how the spread of the residuals changes with the inputs and
        scales the interval by it.
    calibration : tuple (X, y) or None, default=None
        Members that are not in the fit, for split conformal intervals. None refits in
        folds (CV+).
    cv : int, splitter or iterable, default=5
        Folds of CV+: an int shuffles the members into as many; the test sets of
        others must hold out each member once.
    n_samples : int, default=2000
        Draws from which quantiles are taken, where they are not those of the residuals
        themselves; the most residuals that are used, evenly spread over the members.
    random_state : int, RandomState instance or None, default=None
        Randomness of draws and of folds. None takes that of the estimator, where it has
        one.

    Returns
    -------
    interval : PredictionInterval
        ``lower`` and ``upper`` in the shape of y; one member when X is None.

    Raises
    ------
    ValueError
        For a bad argument, when the residual distribution is not defined, or for a fit
        from sums over the samples, whose residuals are not known.

    Warns
    -----
    UserWarning
        When there are too few members for a conformal interval of this level. Its
        bounds are then infinite; 0 and 1 of probabilities.

    See Also
    --------
    skpce.explain : Which inputs act on the spread?

    Notes
    -----
    ``method="residual"``: with the scaled leave-one-out residuals :math:`r_i` (of equal
    variance whatever their leverage [1]_) the interval holds the central share of

    .. math:: \hat y(x) + \sqrt{1 + h(x)}\; \frac{s(x)}{s(x_i)}\; r_i ,

    where :math:`s = 1` with constant noise. It is approximate: exact for no
    distribution in finite samples, and close to its level where the expansion leaves
    out little. A band scales the distances of all targets from their medians by one
    number, the quantile of the largest distance in units of the spread of each (sup-t
    [2]_). Median and spread of few residuals are close to each of them; the distance of
    a draw is therefore measured from the median of the *other* draws, in units of their
    spread, as that of a new member will be. Distances of probabilities are those of
    their logits.

    ``noise="inputs"``: :math:`s(x)^{2/3}` is a ridge expansion of
    :math:`|r_i|^{2/3}`, additive in the inputs and of degree 2. Its penalty is chosen
    by leave-one-out, so that :math:`s` is nearly constant where the inputs have no
    effect on the spread.

    ``method="conformal"``: the distances :math:`|y - \hat y(x)| / (\sqrt{1+h(x)} s(x))`
    of :math:`n` members from fits that have not seen them. With ``calibration`` the
    interval contains a new member with a probability of at least :math:`1 - \alpha`,
    and at most :math:`1 - \alpha + 1/(n + 1)` where no two distances are equal
    [3]_, if the calibration members and the new one are exchangeable; no
    distribution is assumed, and the model may be wrong. Without it the bounds are
    those of CV+ [4]_: at least :math:`1 - 2\alpha - \sqrt{2/n}` in the worst case,
    about :math:`1 - \alpha` typically. Both are averages over members, calibration and
    new: neither holds for every :math:`x`, and with ``noise="constant"`` members in the
    tails may be covered less often. Behind an embedding that saw all members
    (a PCA before this estimator) the guarantee is conditional on the inputs as given
    here: refit the whole pipeline to carry it over. Members that share inputs or a
    seed are not exchangeable: give ``cv`` as splits that hold them out together.

    References
    ----------
    .. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
       and Hall, 1982, section 2.1.
    .. [2] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
       theory, implementation, and an application to SVARs", Journal of Applied
       Econometrics 34 (2019), section 2.
    .. [3] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman,
       "Distribution-free predictive inference for regression", Journal of the American
       Statistical Association 113 (2018), theorem 2.
    .. [4] R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, "Predictive
       inference with the jackknife+", Annals of Statistics 49 (2021), theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> y = X[:, 0] + np.abs(X[:, 0]) * rng.normal(size=100)
    >>> model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    >>> model = model.fit(X, y)
    >>> for noise in ("constant", "inputs"):
    ...     lower, upper = model.predict_interval([[0.0], [2.0]], noise=noise)
    ...     print(noise, (upper - lower).round(1))
    constant [3.9 3.9]
    inputs [2.2 9. ]
    >>> lower, upper = model.predict_interval(X, method="conformal", random_state=0)
    >>> lower.shape
    (100,)
    """
    owner, whole = f"{predictive.owner}.predict_interval", predictive.problem
    _check_draws(owner, n_samples, residual, X, inputs, noise)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_option(owner, "method", method, METHODS)
    check_option(owner, "joint", joint, whole.joint, none_allowed=True)
    if len(whole.parts) > 1 and joint not in (None, "step"):
        raise ValueError(
            f"{owner} has no joint residuals of {whole.what_is_lacking} that different "
            "samples have (NaN in y); expected joint=None"
            f"{' or step' if 'step' in whole.joint else ''}. Got joint={joint!r}."
        )
    if X is None:
        check_draws(owner, "n_samples", n_samples, each=whole.n_values)
        if method == "conformal":
            raise ValueError(f"{owner} needs X with method='conformal'.")
    if calibration is not None and method != "conformal":
        raise ValueError(
            f"{owner} expects calibration=None unless method='conformal'; the "
            "residuals of method='residual' are those of the fit."
        )
    wanted = confidence_level, joint
    at = np.zeros((1, 0)) if X is None else predictive.checked(X)
    found = np.empty((2, len(at), whole.n_values))
    for part in predictive.parts:
        generator, problem = make_generator(random_state), part.problem
        if method == "conformal":
            held_out = part.members_held_out(calibration, cv, noise, owner, generator)
            total = float(held_out.weights.sum())
            if _rank(held_out.weights, confidence_level) > total:
                needed = math.ceil(confidence_level / (1.0 - confidence_level) - 1e-9)
                warn_outside_folds(
                    f"{owner}: {total:g} members are too few for a conformal interval "
                    f"of level {confidence_level:g}, which needs {needed}: the "
                    "interval holds every value.",
                    UserWarning,
                )
            like = problem.values(problem.predicted(at))
            lower, upper = held_out.bounds(at, *wanted)
            found[..., part.columns] = problem.bounds(lower, upper, like)
            continue
        if X is None:
            sampler = part.input_sampler(owner, inputs)
        part = part.with_noise(noise, owner)
        law = part.residual_law(owner)
        if X is None:
            rows = law.draw(n_samples, residual, generator)
            drawn = part.draw_around(rows, sampler(n_samples, generator))[:, np.newaxis]
            found[..., part.columns] = part.sampled_bounds(drawn, *wanted)
            continue
        rows = law.atoms(n_samples, residual, generator)[:, np.newaxis]
        size = max(1, CHUNK_ENTRIES // (len(rows) * problem.n_values))
        for start in range(0, len(at), size):
            block = slice(start, start + size)
            drawn = part.draw_around(rows, at[block])
            found[:, block, part.columns] = part.sampled_bounds(drawn, *wanted)
    return PredictionInterval(*(found[..., 0] if predictive.scalar else found))
