"""What a fit was made from and what it found: all that a refit needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray, Samples, one_thread_if_small
from .._solvers import (
    CoefficientSolver,
    DesignMoments,
    LinearFit,
    LinearProblem,
    sum_moments,
)
from .._solvers.problem import (
    predictive_q2,
    q2_from_sums,
    weighted_spread,
    without_slopes,
)


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """The data and the outcome of a linear fit.

    Intervals, noise correction, resampling and ensemble sizes are functions of it.

    Parameters
    ----------
    basis : PolynomialBasis
        Distributions of the inputs and index set.
    solver : CoefficientSolver
        With its penalties.
    fit : LinearFit
        What it found.
    spread : ndarray of shape (n_targets,)
        Weighted sum of squares behind each target; 0 where slopes are rounding.
    groups : ndarray of int of shape (n_targets,)
        Targets that share one choice.
    samples : Samples or None
        Inputs, targets and weights; None for a fit from sums over them.
    sums : DesignMoments or None, default=None
        These sums.
    on_inputs : bool, default=False
        Whether the solver is given the inputs themselves in place of the basis.
    """

    basis: PolynomialBasis
    solver: CoefficientSolver
    fit: LinearFit
    spread: FloatArray
    groups: IndexArray
    samples: Samples | None
    sums: DesignMoments | None = None
    on_inputs: bool = False

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
        return self.spread / self.total_weight

    @cached_property
    def _prediction(self) -> tuple[FloatArray, FloatArray]:
        """Mean squared leave-one-out residual, and Q²."""
        if self.samples is not None:
            residuals = self.fit.loo_residuals
            return predictive_q2(residuals, self.samples.targets, self.samples.weights)
        error = np.where(self.spread > 0, self.fit.criterion, 0.0)
        return error, q2_from_sums(self.fit.criterion * self.total_weight, self.spread)

    @property
    def loo_error(self) -> FloatArray:
        """Mean squared leave-one-out residual of each target; shape (n_targets,)."""
        return self._prediction[0]

    @property
    def q2(self) -> FloatArray:
        """Leave-one-out Q² of each target; shape (n_targets,)."""
        return self._prediction[1]

    def predict_with_std(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return predictions and their standard deviations, each (n, n_targets)."""
        coefficients = self.coefficients
        values = np.empty((len(X), len(coefficients)))
        deviation = np.empty_like(values)
        scale = np.sqrt(self.fit.residual_variance)
        for rows, design in self.basis.blocks(X):
            values[rows] = design @ coefficients.T
            deviation[rows] = scale * self.fit.prediction_scale(design)
        return values, deviation

    @property
    def linear(self) -> LinearProblem:
        """What the solver was given.

        The design is made again each time: it is large beside the rest.
        """
        assert self.samples is not None  # see ``require_samples``
        return linear_problem(self.basis, self.samples, self.groups, self.on_inputs)

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

    def require_samples(self, owner: str) -> Samples:
        """Return the samples.

        Raises
        ------
        ValueError
            For a fit from sums, which has none.
        """
        if self.samples is None:
            raise ValueError(
                f"{owner} needs the samples, but this fit kept only sums over them. "
                "Fit with criterion='loo' to keep the samples."
            )
        return self.samples


def linear_problem(
    basis: PolynomialBasis,
    samples: Samples,
    groups: IndexArray,
    on_inputs: bool = False,
) -> LinearProblem:
    """Return what a solver is given: the basis at the inputs, and the targets."""
    design = samples.inputs if on_inputs else basis.evaluate(samples.inputs)
    return LinearProblem(
        design, samples.targets, samples.weights, groups, basis.exponents
    )


def solve_samples(
    solver: CoefficientSolver,
    basis: PolynomialBasis,
    samples: Samples,
    groups: IndexArray | None = None,
) -> FittedProblem:
    """Fit the whole design; each target makes its own choices without ``groups``."""
    if groups is None:
        groups = np.arange(samples.targets.shape[1])
    problem = linear_problem(basis, samples, groups)
    with one_thread_if_small(problem.design.size):
        fit = solver.fit(problem)
    spread = weighted_spread(samples.targets, samples.weights)
    return FittedProblem(basis, solver, fit, spread, groups, samples)


def solve_sums(
    solver: Any, basis: PolynomialBasis, sums: DesignMoments
) -> FittedProblem:
    """Fit from sums over the samples."""
    groups = np.arange(len(sums.target_spread))
    with one_thread_if_small(len(basis.multi_indices) ** 2):
        fit = solver.fit_moments(sums, groups, basis.exponents)
    return FittedProblem(basis, solver, fit, sums.target_spread, groups, None, sums)


def sum_blocks(basis: PolynomialBasis, samples: Samples) -> DesignMoments:
    """Add up the moments of the design, block by block."""
    n_terms = len(basis.multi_indices)
    # A size at which adding up the sums costs little beside them.
    entries = min(max(2**19, 4 * n_terms**2), 2**23)
    with one_thread_if_small(samples.targets.size + n_terms**2):
        return sum_moments(
            DesignMoments.of_block(design, samples.targets[rows], samples.weights[rows])
            for rows, design in basis.blocks(samples.inputs, max_entries=entries)
        )
