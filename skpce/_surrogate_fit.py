"""The steps of a fit of the surrogate: checks, the linear problem, what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._basis import PolynomialBasis
from ._checks import (
    FloatArray,
    check_boolean,
    check_integer,
    check_real,
    make_generator,
)
from ._compositions.composition import resolve_mask
from ._compositions.levels import (
    FitProblem,
    bootstrap_indices,
    make_level,
    permutation_p_values,
)
from ._compositions.log_ratio import (
    LogRatioGeometry,
    check_log_ratio_parameters,
    log_ratios_of,
    sum_by_step,
)
from ._compositions.models import InputModelFit, InputModelSolver, is_linear
from ._compositions.predictive import ResidualLaw
from ._compositions.steps import resolve_layout
from ._dependence.tests import SurrogateDiagnostics
from ._goodness import (
    LOG_RATIO_FLOOR,
    q2_from_sums,
    weighted_spread,
    without_slopes,
)
from ._solvers import LinearFit, LinearProblem, make_solver


class SurrogateFitMixin:
    """How ``CompositionalPCESurrogate.fit`` goes about."""

    steps: Any
    log_ratio: Any
    reference: Any
    mask: Any
    zero_replacement: Any
    closure: Any
    solver: Any
    regressor: Any
    alpha_per_target: Any
    n_resamples: Any
    confidence_level: Any
    n_permutations: Any
    random_state: Any
    n_jobs: Any
    basis_: PolynomialBasis
    _log_ratio_parameters: Any
    _relearning: Any

    def _check_own_parameters(self, owner: str) -> None:
        check_boolean(owner, "alpha_per_target", self.alpha_per_target)
        check_integer(owner, "n_resamples", self.n_resamples)
        check_integer(owner, "n_permutations", self.n_permutations)
        check_real(owner, "confidence_level", self.confidence_level, low=0, high=1)
        check_log_ratio_parameters(owner, **self._log_ratio_parameters())

    def _check_resampling(self, owner: str, weights: FloatArray) -> None:
        if self.n_resamples and len(weights) > 1 and weights.sum() < 2:
            raise ValueError(
                f"sample_weight sums to {weights.sum():.3g} copies; with n_resamples="
                f"{self.n_resamples} {owner} draws that many, and needs at least 2. "
                "Weights are frequencies: multiply them up to the number of members."
            )

    def _make_geometry(
        self, y: Any, values: FloatArray, owner: str
    ) -> LogRatioGeometry:
        layout = resolve_layout(y, self.steps, values.shape[1], owner)
        check_log_ratio_parameters(owner, **self._log_ratio_parameters(), layout=layout)
        mask = resolve_mask(self.mask, values, layout, owner)
        return LogRatioGeometry(layout, mask, self.log_ratio, int(self.reference))

    def _log_ratios(self, values: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
        return log_ratios_of(
            values,
            geometry,
            closure=self.closure,
            zero_replacement=self.zero_replacement,
            name="y",
        )

    @property
    def _is_of_the_paper(self) -> bool:
        return self.solver == "paper" and self.regressor is None

    def _make_problem(
        self,
        solver: Any,
        geometry: LogRatioGeometry,
        clr: FloatArray,
        X: FloatArray,
        weights: FloatArray,
    ) -> FitProblem:
        """Choose the coordinates in which the solver sees the log-ratios.

        One penalty per step is pooled in an isometric system, so that the fit does
        not depend on the coordinates in which it is reported.
        """
        if self._is_of_the_paper:
            fitted = LogRatioGeometry(geometry.layout, geometry.mask, "alr", -1)
        elif self.alpha_per_target or self.log_ratio == "ilr":
            fitted = geometry
        else:
            fitted = LogRatioGeometry(geometry.layout, geometry.mask, "ilr", -1)
        targets = fitted.to_coordinates(clr)
        pooled = not self._is_of_the_paper and not self.alpha_per_target
        spread = sum_by_step(weighted_spread(clr, weights, LOG_RATIO_FLOOR), geometry)
        groups = fitted.step_of_coordinate if pooled else np.arange(targets.shape[1])
        solver = self._solver_for(solver, X, targets)
        linear = LinearProblem(
            self._design_for(solver, X), targets, weights, groups, self.basis_.exponents
        )
        return FitProblem(
            solver,
            linear,
            fitted,
            self.basis_.multi_indices,
            spread[fitted.step_of_coordinate],
        )

    def _solver_for(self, solver: Any, X: FloatArray, targets: FloatArray) -> Any:
        """Let a regressor that has no coefficients see the inputs themselves."""
        if self.regressor is None:
            return solver
        if not targets.shape[1]:
            return make_solver(type(self).__name__, "ols", None)
        if is_linear(self.regressor, X, targets[:, 0]):
            return solver
        generator = make_generator(self.random_state)
        return InputModelSolver(self.regressor, self.basis_, generator)

    def _design_for(self, solver: Any, X: FloatArray) -> FloatArray:
        if isinstance(solver, InputModelSolver):
            return X
        return self.basis_.evaluate(X)

    def _store_layout(self, geometry: LogRatioGeometry) -> None:
        self.geometry_ = geometry
        self.steps_: tuple[int, ...] = geometry.layout.widths
        self.step_names_: tuple[str, ...] = geometry.layout.step_names
        self.part_names_: tuple[str, ...] = geometry.layout.part_names
        self.mask_: NDArray[np.bool_] = geometry.mask
        self.coordinate_steps_: NDArray[np.int64] = geometry.step_of_coordinate
        self._n_features_out = geometry.n_coordinates

    def _store_fit(self, problem: FitProblem, fit: LinearFit, clr: FloatArray) -> None:
        self.multi_indices_: NDArray[np.int64] = problem.multi_indices
        # The design is made again when it is needed: it is large beside the rest.
        no_design = np.zeros((0, 0))
        self._problem = replace(
            problem, linear=replace(problem.linear, design=no_design)
        )
        self._models = getattr(fit, "models", None)
        self._fitted_geometry = problem.geometry
        coefficients = without_slopes(fit.coefficients, problem.spread)
        self._clr_coefficients = problem.clr_coefficients(coefficients)
        self.alpha_: FloatArray = self._alpha_by_step(problem, fit.alpha)
        self._store_indices(clr, problem.linear.weights)
        self.indices_from_ = "coefficients" if self._models is None else "sampling"
        self.fidelity_: FloatArray = self._fidelity(problem, fit)

    def _store_indices(self, clr: FloatArray, weights: FloatArray) -> None:
        found = {}
        for name in ("coordinate", "step", "trajectory"):
            level = make_level(name, self.geometry_, clr, weights)
            found[name] = level.indices(self._clr_coefficients, self.multi_indices_)
            if name == "coordinate":
                self.coefficients_: FloatArray = level.coefficients(
                    self._clr_coefficients
                )
        self.sobol_indices_: FloatArray = found["coordinate"].first_order
        self.total_sobol_indices_: FloatArray = found["coordinate"].total_order
        self.total_variance_: FloatArray = found["coordinate"].total_variance
        self.step_sobol_indices_: FloatArray = found["step"].first_order
        self.step_total_sobol_indices_: FloatArray = found["step"].total_order
        self.step_total_variance_: FloatArray = found["step"].total_variance
        self.feature_importances_: FloatArray = found["trajectory"].total_order[0]

    def _fidelity(self, problem: FitProblem, fit: LinearFit) -> FloatArray:
        """Return the Q² of the expansion as a copy of the predictions, by step."""
        if not isinstance(fit, InputModelFit):
            return np.where(self.step_total_variance_ > 0, 1.0, np.nan)
        geometry = problem.geometry
        predicted, missed = (
            geometry.from_coordinates(values)
            for values in problem.solver.fidelity_residuals(fit)  # type: ignore[attr-defined]
        )
        once = np.ones(len(predicted))
        spread = sum_by_step(
            weighted_spread(predicted, once, LOG_RATIO_FLOOR), geometry
        )
        press = sum_by_step(np.square(missed).sum(axis=0), geometry)
        return np.where(geometry.has_choice, q2_from_sums(press, spread), np.nan)

    def _alpha_by_step(self, problem: FitProblem, alpha: FloatArray) -> FloatArray:
        if self._is_of_the_paper or self.alpha_per_target:
            return alpha
        by_step = np.full(self.geometry_.layout.n_steps, np.nan)
        by_step[problem.linear.groups] = alpha
        return by_step

    def _store_diagnostics(
        self, problem: FitProblem, fit: LinearFit, clr: FloatArray, X: FloatArray
    ) -> None:
        weights = problem.linear.weights
        self._residual_law = ResidualLaw(fit, weights, problem.geometry)
        press = problem.step_press(fit.loo_residuals)
        spread = weighted_spread(clr, weights, LOG_RATIO_FLOOR)
        q2 = q2_from_sums(press, sum_by_step(spread, self.geometry_))
        q2 = np.where(self.geometry_.has_choice, q2, np.nan)
        self.step_unexplained_share_: FloatArray = np.clip(1.0 - q2, 0.0, 1.0)
        generator = make_generator(self.random_state)
        p_values = None
        if self.n_permutations:
            p_values = permutation_p_values(
                problem, press, self.n_permutations, generator, self.n_jobs
            )
            p_values = np.where(np.isfinite(q2), p_values, np.nan)
        self.diagnostics_: SurrogateDiagnostics = SurrogateDiagnostics(
            loo_q2=q2,
            n_members=round(float(weights.sum())),
            n_terms=len(self.multi_indices_),
            permutation_p_values=p_values,
            inputs=X,
            basis=self.basis_,
        )
        if self.n_resamples:
            first, total, _ = bootstrap_indices(
                self._relearning(problem, X),
                fit,
                make_level("step", self.geometry_, clr, weights),
                self.n_resamples,
                self.confidence_level,
                generator,
                self.n_jobs,
            )
            self.step_sobol_interval_: FloatArray = first
            self.step_total_sobol_interval_: FloatArray = total

    def _whole_problem(self) -> FitProblem:
        """Return what the solver was given, with its design."""
        linear = self._problem.linear
        design = self._design_for(self._problem.solver, self.diagnostics_.inputs)
        return replace(self._problem, linear=replace(linear, design=design))

    def _clr_at(
        self,
        X: FloatArray,  # shape: (n_members, n_features), checked
    ) -> FloatArray:  # shape: (n_members, n_active)
        """Evaluate the centred log-ratios: of the models, or of the expansion."""
        if self._models is None:
            return self.basis_.combine(X, self._clr_coefficients)
        return self._fitted_geometry.from_coordinates(self._models.predict(X))
