"""Expand the predictions of a model on a design, and measure how faithful that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray, check_integer, check_real
from .._dependence.tests import fidelity_reason
from .._goodness import q2_from_sums, weighted_spread
from .._multi_index import count_terms
from .._regressor import PolynomialChaosRegressor

#: Draws design points: (rows for the expansion, predictions of the model there).
Draw = Callable[[int], tuple[FloatArray, FloatArray]]

# Degrees that are tried when none is given.
_LARGEST_DEGREE = 12

# An expansion whose variance is more than this many times that of the model at the
# design points owes it to tails that no point has seen, unless it is as good as exact.
LARGEST_INFLATION = 1.25
_EXACT = 0.999


class RegressorUnderLawsOf(PolynomialChaosRegressor):
    """A regressor whose input laws come from other rows than its design.

    ``law_source`` is set after ``__init__``: the design is drawn from the laws of
    the data, and laws learned again from the design would carry its sampling error.
    """

    law_source: FloatArray

    def _fit_basis(self, X: FloatArray, weights: FloatArray, **options: Any) -> None:
        rows = self.law_source
        super()._fit_basis(rows, np.ones(len(rows)), **options)

    def _warn_constant_targets(self) -> None:
        """Be silent: the result says that the predictions do not vary."""


@dataclass(frozen=True)
class ExpansionOptions:
    """How a model is expanded.

    Parameters
    ----------
    degree : int or None
        None lets leave-one-out choose.
    n_samples, n_held_out : int
        Design points of the fit, and of the fidelity.
    distribution, truncation, q, interaction_order, solver
        As in :class:`skpce.PolynomialChaosRegressor`.
    """

    degree: Any
    n_samples: Any
    n_held_out: Any
    distribution: Any
    truncation: Any
    q: Any
    interaction_order: Any
    solver: Any

    def check(self, owner: str) -> None:
        """Raise ``ValueError`` for a bad parameter."""
        check_integer(owner, "n_samples", self.n_samples, low=10)
        check_integer(owner, "n_held_out", self.n_held_out, low=10)
        grid = np.linspace(0.0, 1.0, 20)[:, np.newaxis]
        PolynomialChaosRegressor(  # its own checks, at no cost
            1 if self.degree is None else self.degree,
            distribution="uniform",
            truncation=self.truncation,
            q=self.q,
            interaction_order=self.interaction_order,
            solver=self.solver,
        ).fit(grid, grid[:, 0])

    def regressor(self, degree: int, law_source: FloatArray) -> RegressorUnderLawsOf:
        """Return the estimator, not fitted."""
        pce = RegressorUnderLawsOf(
            degree,
            distribution=self.distribution,
            truncation=self.truncation,
            q=self.q,
            interaction_order=self.interaction_order,
            solver=self.solver,
        )
        pce.law_source = law_source
        return pce

    def degrees(self, n_features: int, accept: Callable[[int], bool]) -> list[int]:
        """Return the degrees to try: at most half as many terms as design points."""
        if self.degree is not None:
            return [int(self.degree)]
        limit = self.n_samples // 2
        tried = [1]
        for degree in range(2, _LARGEST_DEGREE + 1):
            n_terms = count_terms(
                n_features,
                degree,
                q=float(self.q),
                interaction_order=self.interaction_order,
                stop_above=limit,
            )
            if n_terms > limit or not accept(degree):
                break
            tried.append(degree)
        return tried


@dataclass(frozen=True)
class ModelExpansion:
    """An expansion of a model, and its fidelity.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        Of the orthonormal basis.
    multi_indices : ndarray of shape (n_terms, n_inputs)
        The index set.
    degree : int
        Of the index set.
    fidelity, standard_error : ndarray of shape (n_targets,)
        Q² on held-out design points; NaN without variance.
    squared_distance : ndarray of shape (n_targets,)
        Mean squared difference between model and expansion there.
    model_variance : ndarray of shape (n_targets,)
        Variance of the model under the design.
    inflation : ndarray of shape (n_targets,)
        Variance of the expansion, in closed form, over that of the model at all
        design points; NaN without variance.
    """

    coefficients: FloatArray
    multi_indices: IndexArray
    degree: int
    fidelity: FloatArray
    standard_error: FloatArray
    squared_distance: FloatArray
    model_variance: FloatArray
    inflation: FloatArray

    def reasons(self, min_fidelity: float) -> list[tuple[str, ...]]:
        """Say, target by target, why the expansion cannot stand for the model."""
        return [
            (*fidelity_reason(q2, min_fidelity), *_inflation_reason(q2, inflation))
            for q2, inflation in zip(self.fidelity, self.inflation, strict=True)
        ]

    def bounds(self, shares: FloatArray) -> FloatArray:  # (2, n_targets, n_features)
        r"""Bound the indices of the model from those of the expansion.

        A closed or total index is :math:`\lVert P f\rVert^2 / \mathrm{Var} f` with an
        orthogonal projection P, and a projection does not lengthen:
        :math:`|\lVert Pf\rVert - \lVert Pg\rVert| \le \lVert f - g\rVert`.
        """
        variance = np.square(self.coefficients[:, 1:]).sum(axis=1)[:, np.newaxis]
        norm = np.sqrt(shares * variance)
        distance = np.sqrt(self.squared_distance)[:, np.newaxis]
        edges = np.stack([np.maximum(norm - distance, 0.0), norm + distance])
        whole = np.where(self.model_variance > 0, self.model_variance, np.nan)
        return np.clip(np.square(edges) / whole[:, np.newaxis], 0.0, 1.0)


def _inflation_reason(fidelity: float, inflation: float) -> tuple[str, ...]:
    if not inflation > LARGEST_INFLATION or fidelity >= _EXACT:
        return ()
    return (
        f"the expansion has {inflation:.2g} times the variance that the model shows at "
        "the design points: tails that no point has seen decide its indices",
    )


def expand_model(
    draw: Draw,
    options: ExpansionOptions,
    law_source: FloatArray,
    accept: Callable[[int], bool] = lambda degree: True,
) -> ModelExpansion:
    """Fit an expansion to a model and measure its fidelity on held-out points.

    The degree, when it is not given, is chosen by leave-one-out on the design, among
    those whose variance is not inflated; the held-out points take no part in it.
    """
    inputs, values = draw(int(options.n_samples))
    variance = values.var(axis=0)
    best, best_score = None, (False, -np.inf)
    for degree in options.degrees(inputs.shape[1], accept):
        pce = options.regressor(degree, law_source).fit(inputs, values)
        varies = ~np.isnan(pce.q2_)
        q2 = float(pce.q2_[varies].mean()) if varies.any() else 0.0
        inflated = pce.total_variance_ > LARGEST_INFLATION * variance
        score = (not np.any(inflated & (pce.q2_ < _EXACT)), q2)
        if best is None or score > best_score:
            best, best_score = pce, score
    return _measured(best, values, *draw(int(options.n_held_out)))


def _measured(
    pce: Any, fitted: FloatArray, inputs: FloatArray, values: FloatArray
) -> ModelExpansion:
    predicted = pce.predict(inputs).reshape(values.shape)
    residuals = values - predicted
    spread = weighted_spread(values, np.ones(len(values)))
    fidelity = q2_from_sums(np.square(residuals).sum(axis=0), spread)
    sample = np.where(spread > 0, np.vstack([fitted, values]).var(axis=0), np.nan)
    return ModelExpansion(
        coefficients=pce.coefficients_,
        multi_indices=pce.multi_indices_,
        degree=int(pce.degree),
        fidelity=fidelity,
        standard_error=_standard_error(residuals, values, spread),
        squared_distance=np.square(residuals).mean(axis=0),
        model_variance=_model_variance(pce.coefficients_, predicted, residuals, spread),
        inflation=pce.total_variance_ / sample,
    )


def _standard_error(
    residuals: FloatArray, values: FloatArray, spread: FloatArray
) -> FloatArray:
    """Standard error of a ratio of means, by linearisation; NaN without variance."""
    n = len(values)
    scale = np.where(spread > 0, spread / n, np.nan)
    ratio = np.square(residuals).mean(axis=0) / scale
    deviations = np.square(values - values.mean(axis=0))
    return (np.square(residuals) - ratio * deviations).std(axis=0) / scale / np.sqrt(n)


def _model_variance(
    coefficients: FloatArray,
    predicted: FloatArray,
    residuals: FloatArray,
    spread: FloatArray,
) -> FloatArray:
    """Variance of the model: that of the expansion, corrected on held-out points.

    With ``f = g + r``, ``Var f = Var g + 2 Cov(g, r) + Var r``. ``Var g`` is exact and
    the rest is small for a faithful expansion, so this varies less than the sample
    variance, which takes its place where the sum is not positive.
    """
    covariance = np.mean((predicted - predicted.mean(axis=0)) * residuals, axis=0)
    variance = np.square(coefficients[:, 1:]).sum(axis=1)
    corrected = variance + 2 * covariance + residuals.var(axis=0)
    sample = spread / len(residuals)
    return np.where(spread > 0, np.where(corrected > 0, corrected, sample), 0.0)


def check_limits(owner: str, **limits: Any) -> None:
    """Check the thresholds of a supported attribution."""
    for name, value in limits.items():
        if name == "min_fidelity":
            check_real(owner, name, value, high=1, closed="right")
        else:
            check_real(owner, name, value, low=0, high=1, closed="both")
