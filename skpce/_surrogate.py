"""Polynomial chaos of probabilities, over one or many steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from ._basis.basis import BasisMixin, PolynomialBasis
from ._checks import (
    FloatArray,
    check_boolean,
    check_integer,
    check_real,
    checked_sample_weight,
    make_generator,
)
from ._compositions.composition import checked_policies, d2_kl_deviance, resolve_mask
from ._compositions.indices import FramesMixin, SurrogateIndicesMixin
from ._compositions.levels import (
    FitProblem,
    bootstrap_indices,
    make_level,
    permutation_p_values,
)
from ._compositions.log_ratio import (
    LogRatioCoordinatesMixin,
    LogRatioGeometry,
    check_log_ratio_parameters,
    log_ratios_of,
    sum_by_step,
)
from ._compositions.models import InputModelFit, InputModelSolver, is_linear
from ._compositions.modes import PredictedModesMixin
from ._compositions.predictive import PredictiveLawMixin, ResidualLaw
from ._compositions.probability_indices import ProbabilityIndicesMixin
from ._compositions.steps import (
    column_labels,
    refuse_nan,
    refuse_ragged,
    resolve_layout,
)
from ._dependence.tests import SurrogateDiagnostics
from ._solvers import LinearFit, LinearProblem, make_solver
from ._solvers.problem import (
    LOG_RATIO_FLOOR,
    q2_from_sums,
    weighted_spread,
    without_slopes,
)


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


class CompositionalPCESurrogate(
    SurrogateFitMixin,
    SurrogateIndicesMixin,
    ProbabilityIndicesMixin,
    PredictiveLawMixin,
    PredictedModesMixin,
    FramesMixin,
    BasisMixin,
    LogRatioCoordinatesMixin,
    MultiOutputMixin,
    TransformerMixin,
    RegressorMixin,
    BaseEstimator,
):
    r"""Polynomial chaos surrogate of probabilities, with Sobol indices per step.

    Each member of an ensemble has inputs :math:`x` (what differs between members)
    and, at one or several *steps*, a probability vector (what the member would do).
    The surrogate expands the log-ratios of the probabilities in orthonormal
    polynomials of the inputs and maps back by the softmax, so that predictions stay
    on the simplices [1]_. The coefficients give, in closed form, the share of the
    variance of each step that each input drives.

    Nothing here knows where the ensemble comes from: bagged classifiers, token laws
    of language models and policies of agents all do.

    Parameters
    ----------
    degree : int, default=2
        Largest degree of a term.
    steps : sequence, dict, or None, default=None
        Width of each step, or its columns (positions, or names in a data frame):
        blocks of columns of y, side by side, that each sum to one. A dict gives
        names too. None reads two-level columns or names such as ``step__action`` of
        a data frame, else all columns are one step.
    log_ratio : {"alr", "clr", "ilr"}, default="ilr"
        Coordinates in which coefficients and indices are reported. The fit does not
        depend on it (unless ``alpha_per_target``).
    reference : int, default=-1
        Reference part of alr in each step; a masked one gives way to the last
        possible part.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member. In cross-validation give the mask itself: a rare action may
        vanish in a fold.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.
    closure : {"renormalize", "strict"}, default="renormalize"
        Divide each row of each step by its sum (with a :class:`ClosureWarning`
        above 1e-3), or refuse rows further than 1e-6 from one.
    distribution, truncation, q, interaction_order
        The basis, as in :class:`PolynomialChaosRegressor`.
    solver : str, default="ridge"
        ``"ridge"`` chooses one penalty per step by leave-one-out pooled in Aitchison
        norm: the fit is the same in alr, clr and ilr and under relabelling of
        actions. ``"weighted_ridge"``, ``"subspace_pursuit"`` and ``"auto"`` choose
        once per step too, so the same holds. ``"ols"``: least squares. ``"lars"``,
        ``"omp"`` and ``"ard"`` treat each coordinate alone: their fit depends on the
        log-ratio. ``"paper"``: the paper's estimator whole (intercept penalised, one
        penalty of 1e-8 ... 1 per target by generalised cross-validation, alr to the
        last action); for comparison.
    regressor : estimator or None, default=None
        A regressor in place of ``solver``. A linear one (with ``coef_`` after
        ``fit``) is fitted to the basis functions, one coordinate at a time. Any
        other one, such as a forest or a Gaussian process, is fitted to X itself;
        predictions are then its own, and coefficients and indices those of an
        expansion of its predictions at draws of the input laws: see
        ``indices_from_`` and ``fidelity_``. Residuals are those of five-fold
        cross-validation, here and in ``diagnostics_``.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties for the ridge solvers, in units of the sum-of-squares loss; None
        means 25 values from 1e-8 to 1e4.
    alpha_per_target : bool, default=False
        One penalty per coordinate of ``log_ratio``; the fit then depends on the
        coordinates.
    n_resamples : int, default=0
        Bootstrap resamples for the intervals of the step indices; 0 for none.
    confidence_level : float, default=0.9
        Level of these intervals.
    n_permutations : int, default=0
        Permutations for the conditional p-values in ``diagnostics_``; 0 for none.
    random_state : int, RandomState instance or None, default=None
        Randomness of resampling, permutations, ``sample`` and ``predict_interval``.
    n_jobs : int or None, default=None
        Processes for resampling and permutations.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_coordinates, n_terms)
        Coefficients of the coordinates of ``log_ratio``.
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is the constant.
    alpha_ : ndarray of shape (n_steps,) or (n_fitted_coordinates,)
        Penalty of each step; of each fitted coordinate with ``alpha_per_target`` or
        ``solver="paper"``. NaN for a step without choice.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_coordinates, n_features)
        Indices of each coordinate: shares of the variance *of the expansion*.
    total_variance_ : ndarray of shape (n_coordinates,)
        Variance of each coordinate of the expansion.
    step_sobol_indices_, step_total_sobol_indices_ : ndarray (n_steps, n_features)
        Indices aggregated over the coordinates of a step in Aitchison geometry: free
        of any reference. 0 for a step without variance or choice.
    step_total_variance_ : ndarray of shape (n_steps,)
        Aitchison (total) variance of the expansion of each step.
    step_unexplained_share_ : ndarray of shape (n_steps,)
        One minus the leave-one-out Q² of the step, clipped to [0, 1]: the share of
        the variance of y about which the indices say nothing. NaN without choice.
    step_sobol_interval_, step_total_sobol_interval_ : ndarray (2, n_steps, n_features)
        Bootstrap intervals, when ``n_resamples`` is positive. They ignore the
        truncation error.
    diagnostics_ : SurrogateDiagnostics
        Leave-one-out Q² per step and checks of the inputs, conditional on X as
        given. Use :func:`skpce.inspection.verdict` for the whole pipeline.
    feature_importances_ : ndarray of shape (n_features,)
        Total indices of the whole trajectory (all steps together).
    indices_from_ : {"coefficients", "sampling"}
        Whether indices are those of the fit in closed form, or of an expansion of a
        ``regressor`` at draws of its inputs.
    fidelity_ : ndarray of shape (n_steps,)
        Share of the variance of the predictions that this expansion has, on fresh
        draws (Q²); 1 for ``"coefficients"``, NaN for a step without variance.
    steps_, step_names_, part_names_, mask_
        The layout of y.
    coordinate_steps_ : ndarray of int of shape (n_coordinates,)
        Step of each coordinate.
    basis_ : PolynomialBasis
        Input laws and index set.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    skpce.inspection.verdict : Is the attribution supported?
    PolynomialChaosRegressor : The same for unconstrained targets.

    Notes
    -----
    Indices decompose variance under *independent* inputs with the stated laws. The
    expansion is of :math:`g(x) = \mathrm{clr}(p(x))` (the paper's eq. 2, which uses
    alr): :math:`\hat p(x) = \mathrm{softmax}(\sum_j c_j \psi_j(x))`.

    References
    ----------
    .. [1] J. Aitchison, "The Statistical Analysis of Compositional Data", Journal
       of the Royal Statistical Society B 44 (1982).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> first = softmax(np.c_[2 * X[:, 0], 0 * X[:, 0], -X[:, 0]], axis=1)
    >>> second = softmax(np.c_[X[:, 1], 0 * X[:, 1]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(2, steps=(3, 2))
    >>> surrogate = surrogate.fit(X, np.hstack([first, second]))
    >>> surrogate.step_total_sobol_indices_.round(2) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self,
        degree: int = 2,
        *,
        steps: Any = None,
        log_ratio: str = "ilr",
        reference: int = -1,
        mask: Any = "infer",
        zero_replacement: float = 1e-12,
        closure: str = "renormalize",
        distribution: Any = "normal",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
        solver: str = "ridge",
        regressor: Any = None,
        alphas: ArrayLike | None = None,
        alpha_per_target: bool = False,
        n_resamples: int = 0,
        confidence_level: float = 0.9,
        n_permutations: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.degree = degree
        self.steps = steps
        self.log_ratio = log_ratio
        self.reference = reference
        self.mask = mask
        self.zero_replacement = zero_replacement
        self.closure = closure
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.solver = solver
        self.regressor = regressor
        self.alphas = alphas
        self.alpha_per_target = alpha_per_target
        self.n_resamples = n_resamples
        self.confidence_level = confidence_level
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> CompositionalPCESurrogate:
        """Fit the expansion of the log-ratios.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs of each member.
        y : array-like of shape (n_members, n_parts) or data frame
            Probabilities, the steps side by side.
        sample_weight : array-like of shape (n_members,) or None, default=None
            Frequency of each member.

        Returns
        -------
        self : CompositionalPCESurrogate
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, rows of y that are no compositions, or a basis too
            large for memory.
        """
        owner = type(self).__name__
        solver = make_solver(owner, self.solver, self.alphas, regressor=self.regressor)
        self._check_own_parameters(owner)
        refuse_ragged(y)
        refuse_nan(y)
        inputs, targets = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
        )
        self._check_basis(inputs.shape[1])
        values = targets.reshape(targets.shape[0], -1).astype(np.float64)
        weights = checked_sample_weight(sample_weight, inputs)
        self._check_resampling(owner, weights)
        used = weights > 0
        inputs, values, weights = inputs[used], values[used], weights[used]
        geometry = self._make_geometry(y, values, owner)
        clr = self._log_ratios(values, geometry)

        self._fit_basis(inputs, weights)
        problem = self._make_problem(solver, geometry, clr, inputs, weights)
        fit = problem.solver.fit(problem.linear)
        self._n_dimensions_of_y = targets.ndim
        self._labels_of_y = column_labels(y, values.shape[1])
        self._store_layout(geometry)
        self._store_fit(problem, fit, clr)
        self._store_diagnostics(problem, fit, clr, inputs)
        return self

    def _predict_clr(self, X: ArrayLike) -> FloatArray:
        return self._clr_at(self._checked_inputs(X))

    def predict(self, X: ArrayLike) -> FloatArray:
        """Predict the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_members, n_parts)
            Each step on its simplex; masked parts exactly 0. One-dimensional when y
            was.
        """
        clr = self._predict_clr(X)
        compositions = self.geometry_.compositions(clr)
        return compositions[:, 0] if self._n_dimensions_of_y == 1 else compositions

    def transform(self, X: ArrayLike) -> FloatArray:
        """Predict the log-ratio coordinates.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        coordinates : ndarray of shape (n_members, n_coordinates)
            In the kind of ``log_ratio``, the steps side by side.
        """
        clr = self._predict_clr(X)
        return self.geometry_.to_coordinates(clr)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return D² of the Kullback-Leibler deviance.

        ``1 - sum KL(y || prediction) / sum KL(y || mean of y)``: 1 is perfect, 0 as
        good as the mean policy of ``y``, negative is worse.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.
        y : array-like of shape (n_members, n_parts) or data frame
            Probabilities; columns with names must be those of ``fit``.
        sample_weight : array-like of shape (n_members,) or None, default=None
            Frequency of each member.

        Returns
        -------
        score : float
            At most 1.

        Raises
        ------
        ValueError
            If y has another shape or other columns than in ``fit``, is no
            composition, or is positive on a masked part.
        """
        inputs = self._checked_inputs(X)
        closed = checked_policies(y, self, len(inputs))
        weights = checked_sample_weight(sample_weight, closed)
        predicted = self.geometry_.compositions(self._clr_at(inputs))
        return d2_kl_deviance(closed, predicted, weights)
