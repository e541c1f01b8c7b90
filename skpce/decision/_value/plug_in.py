"""Values of rows of the table from an expansion, taken as given or as resampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._basis.basis import PolynomialBasis
from ..._checks import FloatArray, one_thread_if_small, refuse_memory
from ..._expansion.problem import (
    FittedProblem,
    resample_counts,
)
from .decision_problem import DecisionProblem, centred, quiet_fit
from .envelope import Worth, gained, of_points
from .expected_value import rule_of, value_of_inputs

# Points and panels of resamples, whose spread is much larger than what they leave.
_POINTS, _PARTS = 1024, 2


@dataclass(frozen=True, eq=False)
class Row:
    """Inputs to be known, and the expansion that says what this is worth."""

    basis: PolynomialBasis
    coefficients: FloatArray  # (n_actions, n_terms)
    places: list[int]  # of the features in the basis
    problem: FittedProblem  # the fit behind the expansion
    table: FloatArray | None = None  # rows of dependent inputs, averaged over

    @classmethod
    def marginal(cls, given: DecisionProblem, features: list[int]) -> Row:
        """Average the other inputs out of the expansion of all inputs."""
        problem = given.problem
        return cls(problem.basis.with_terms, given.coefficients, features, problem)

    @classmethod
    def regression(cls, given: DecisionProblem, features: list[int]) -> Row:
        """Fit an expansion of these inputs alone."""
        known, inputs = given.regressor_of(features), given.inputs[:, features]
        problem = quiet_fit(known, inputs, given.contrasts)._problem
        table = inputs if len(features) > 1 else None
        places = list(range(len(features)))
        coefficients = centred(problem.coefficients)
        return cls(problem.basis, coefficients, places, problem, table)

    def worth(self, n_samples: int, seed: int) -> Worth:
        """Return the value of knowing the inputs."""
        if self.table is None:
            known = self.basis, self.coefficients, self.places
            return value_of_inputs(*known, n_samples, seed)
        values = self.basis.combine(self.table, self.coefficients).T
        masses = np.full(len(self.table), 1.0 / len(self.table))
        return of_points(values, masses, values @ masses)

    def refitted(
        self, n_resamples: int, generator: np.random.Generator
    ) -> FloatArray | None:  # shape: (n_resamples, n_actions, n_terms or more)
        """Return fits to resampled members, whose laws are learned anew."""
        problem = self.problem
        if problem.samples is None or problem.solver.sees_inputs:
            return None
        samples = problem.samples
        size = len(samples.weights) + problem.fit.coefficients.size
        what = f"n_resamples={n_resamples}"
        refuse_memory("value_of_information", 16.0 * n_resamples * size, what)
        counts = resample_counts(samples.weights, n_resamples, generator)
        solver, linear, fit = problem.solver, problem.linear, problem.fit
        with one_thread_if_small(linear.design.size):
            if self.table is not None:
                return centred(solver.resample(linear, fit, counts))
            laws = problem.learned_laws()
            return centred(laws.resample(solver, linear, fit, counts, generator))

    def values_of(self, drawn: FloatArray) -> FloatArray:  # shape: (n_resamples,)
        """Return values of fits of ``refitted``."""
        basis = self.basis
        if self.table is None:
            indices = self.problem.learned_laws().multi_indices
            basis = PolynomialBasis(basis.laws, indices, basis.reach)
            # Accurate enough for a spread.
            points, masses = rule_of(basis, self.places, _POINTS, _PARTS)
        else:
            points = self.table
            masses = np.full(len(points), 1.0 / len(points))
        own, kept = basis.of_inputs(self.places)
        needed = 16.0 * drawn.shape[0] * drawn.shape[1] * len(points)
        what = f"n_resamples={len(drawn)} and n_samples that make {len(points)} points"
        refuse_memory("value_of_information", needed, what)
        values = drawn[:, :, kept] @ own.evaluate(points).T
        means = drawn[:, :, 0]
        if self.table is not None:
            means = values @ masses
        found = gained(np.moveaxis(values, 1, 0), means.T[:, :, np.newaxis])
        return np.asarray(found @ masses)
