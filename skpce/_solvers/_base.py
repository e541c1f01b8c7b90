"""What a coefficient solver is: design matrix and targets in, coefficients out.

Nearly every fit here is a *generalised ridge*: with the scale :math:`s_j` of each
term it minimises
:math:`\\sum_i w_i (y_i - c^T \\psi(x_i))^2 + \\lambda \\sum_j c_j^2/s_j^2`.
A plain ridge has :math:`s_j = 1`, degree weights have :math:`s_j = \\gamma^{-|j|}`, a
sparse fit has :math:`\\lambda = 0` and :math:`s_j = 0` for every term that is left out.
So two things, the scales and the penalty, say how to repeat a fit on other samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from ._leverage import Leverage


@dataclass(frozen=True)
class LinearProblem:
    """What a solver is given.

    Parameters
    ----------
    design : ndarray of shape (n_samples, n_terms)
        Basis at the inputs; column 0 is the constant.
    targets : ndarray of shape (n_samples, n_targets)
        One column per target.
    weights : ndarray of shape (n_samples,)
        Positive frequencies.
    groups : ndarray of shape (n_targets,)
        Targets that share one choice (a penalty, a set of terms).
    exponents : ndarray of shape (n_terms, n_inputs)
        Degree of each term in each input.
    """

    design: FloatArray
    targets: FloatArray
    weights: FloatArray
    groups: IndexArray
    exponents: IndexArray

    def permuted(self, order: IndexArray) -> LinearProblem:
        """Pair the targets with the inputs of other samples."""
        return replace(self, design=self.design[order])

    def resampled(self, counts: IndexArray) -> LinearProblem:
        """Take each sample as often as ``counts`` says; weights are not used."""
        drawn = counts > 0
        return replace(
            self,
            design=self.design[drawn],
            targets=self.targets[drawn],
            weights=counts[drawn].astype(np.float64),
        )

    def of_rows(self, rows: IndexArray) -> LinearProblem:
        """Keep some samples, which may come several times."""
        return replace(
            self,
            design=self.design[rows],
            targets=self.targets[rows],
            weights=self.weights[rows],
        )

    def of_targets(self, columns: IndexArray) -> LinearProblem:
        """Keep some targets."""
        return replace(
            self, targets=self.targets[:, columns], groups=self.groups[columns]
        )


@dataclass(frozen=True)
class LinearFit:
    """What a solver returns.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        One row per target.
    alpha : ndarray of shape (n_targets,)
        Penalty of each target, in units of the sum-of-squares loss.
    scales : ndarray of shape (n_targets, n_terms)
        Scale of each term; 0 where a term is left out.
    leverage : Leverage
        Of new samples.
    criterion : ndarray of shape (n_targets,)
        Mean squared error by which the fit was chosen, with its correction for the
        choice of terms; ``inf`` where it is not defined.
    loo_residuals : ndarray of shape (n_samples, n_targets) or None
        Residuals of leaving one copy out; NaN where a sample fits itself alone. None
        for a fit from accumulated sums, which has no samples.
    scaled_residuals : ndarray of shape (n_samples, n_targets) or None
        The same times the square root of one minus the leverage: alike in variance
        for all samples when the noise is.
    residual_variance : ndarray of shape (n_targets,)
        Mean square of the scaled residuals.
    solver_names : tuple of str or None
        Name of the solver of each target, when there was a choice.
    """

    coefficients: FloatArray
    alpha: FloatArray
    scales: FloatArray
    leverage: Leverage
    criterion: FloatArray
    loo_residuals: Any
    scaled_residuals: Any
    residual_variance: FloatArray
    solver_names: tuple[str, ...] | None = None

    def with_criterion(self, criterion: FloatArray) -> LinearFit:
        """Return the same fit, judged otherwise."""
        return replace(self, criterion=criterion)

    def prediction_scale(self, design: FloatArray) -> FloatArray:
        """Return ``sqrt(1 + leverage)`` of new samples; shape (n_new, n_targets).

        Times a scaled residual this is an error of prediction there.
        """
        return np.sqrt(1.0 + self.leverage.at(design))


class CoefficientSolver(ABC):
    """A way to estimate the coefficients of an expansion."""

    @abstractmethod
    def fit(self, problem: LinearProblem) -> LinearFit:
        """Choose what is to be chosen for each group and estimate the coefficients."""

    @abstractmethod
    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        """Estimate coefficients on other samples with the choices of a fit.

        Resampling keeps the penalties and the terms of the full data: copies of a
        sample in a resample would leak into its leave-one-out error. Returns an array
        of shape (n_targets, n_terms).
        """

    @abstractmethod
    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit on many resamples; counts are of shape (n_resamples, n_samples).

        Returns an array of shape (n_resamples, n_targets, n_terms).
        """
