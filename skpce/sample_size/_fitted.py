"""What a fitted estimator says of noise, signal and design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._basis import PolynomialBasis
from .._checks import BoolArray, FloatArray, IndexArray, fail
from .._compositions.log_ratio import sum_by_step
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate


@dataclass(frozen=True)
class FittedFacts:
    """Noise and signal of each output (a step or a target).

    Parameters
    ----------
    names : tuple of str
        Of the outputs.
    noise_variance : ndarray of shape (n_outputs,)
        Residual variance, summed over the coordinates of an output.
    signal_variance : ndarray of shape (n_outputs,)
        Variance of the expansion that leave-one-out confirms.
    is_nothing : ndarray of bool of shape (n_outputs,)
        Where there is nothing to attribute: no choice, or a constant target.
    n_coordinates : ndarray of int of shape (n_outputs,)
        Coordinates of an output.
    n_members : int
        Members of the fit; copies are counted.
    gram : ndarray of shape (n_terms, n_terms)
        Sum of squares and products of the design.
    basis : PolynomialBasis
        Laws and terms.
    """

    names: tuple[str, ...]
    noise_variance: FloatArray
    signal_variance: FloatArray
    is_nothing: BoolArray
    n_coordinates: IndexArray
    n_members: int
    gram: FloatArray
    basis: PolynomialBasis

    @property
    def n_terms(self) -> int:
        """Number of terms, with the constant."""
        return len(self.basis.multi_indices)


def fitted_facts(owner: str, estimator: Any) -> FittedFacts:
    """Read what is needed from a fitted surrogate or regressor.

    Raises
    ------
    ValueError
        If it is neither, or a marginal expansion, which has no samples.
    NotFittedError
        If it is not fitted.
    """
    if isinstance(estimator, CompositionalPCESurrogate):
        check_is_fitted(estimator)
        return _facts_of_surrogate(estimator)
    if isinstance(estimator, PolynomialChaosRegressor):
        check_is_fitted(estimator)
        estimator._require_fit(owner)
        return _facts_of_regressor(estimator)
    expected = "a fitted PolynomialChaosRegressor or CompositionalPCESurrogate"
    raise fail(owner, "estimator", expected, estimator)


def _facts_of_surrogate(surrogate: CompositionalPCESurrogate) -> FittedFacts:
    law, geometry = surrogate._residual_law, surrogate.geometry_
    weights, n_steps = law.weights, len(surrogate.steps_)
    q2 = surrogate.diagnostics_.loo_q2
    noise = _step_mean_square(law.fit.scaled_residuals, surrogate)
    error = _step_mean_square(law.fit.loo_residuals, surrogate)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = error * q2 / (1.0 - q2)
    parts = np.bincount(geometry.step_of_active, minlength=n_steps)
    design = np.sqrt(weights)[:, np.newaxis] * surrogate.basis_.evaluate(
        surrogate.diagnostics_.inputs
    )
    return FittedFacts(
        tuple(str(name) for name in surrogate.step_names_),
        noise,
        _confirmed(surrogate.step_total_variance_, explained, q2),
        np.isnan(q2),
        np.maximum(parts - 1, 1),
        max(surrogate.diagnostics_.n_members, 1),
        design.T @ design,
        surrogate.basis_,
    )


def _step_mean_square(
    residuals: FloatArray, surrogate: CompositionalPCESurrogate
) -> FloatArray:
    """Return the mean square of clr residuals, summed over each step."""
    law = surrogate._residual_law
    squares = np.square(law.geometry.from_coordinates(residuals))
    mean = np.average(squares, axis=0, weights=law.weights)
    return sum_by_step(mean, law.geometry)


def _facts_of_regressor(regressor: PolynomialChaosRegressor) -> FittedFacts:
    samples, sums = regressor._samples, regressor._sums
    if samples is not None:
        weights = samples.weights
        root = np.sqrt(weights)[:, np.newaxis]
        design = root * regressor.basis_.evaluate(samples.inputs)
        total, gram = weights.sum(), design.T @ design
    else:
        assert sums is not None  # a fit keeps its samples or their sums
        total = sums.total_weight
        gram = sums.gram + total * np.outer(sums.mean, sums.mean)
    n_targets = len(regressor.coefficients_)
    explained = regressor._target_variance * regressor.q2_
    return FittedFacts(
        tuple(f"y{k}" for k in range(n_targets)) if n_targets > 1 else ("y",),
        np.asarray(regressor._fit.residual_variance, dtype=np.float64),
        _confirmed(regressor.total_variance_, explained, regressor.q2_),
        np.isnan(regressor.q2_),
        np.ones(n_targets, dtype=np.int64),
        max(round(float(total)), 1),
        gram,
        regressor.basis_,
    )


def _confirmed(
    expansion: FloatArray, explained: FloatArray, q2: FloatArray
) -> FloatArray:
    """Return the smaller of the variance of the expansion and of what it predicts.

    Noise in the coefficients adds to the first. 0 where nothing is predicted.
    """
    smaller = np.fmin(expansion, np.where(q2 < 1.0, explained, np.inf))
    signal = np.where(q2 > 0.0, np.maximum(smaller, 0.0), 0.0)
    return np.where(np.isnan(q2), np.nan, signal)
