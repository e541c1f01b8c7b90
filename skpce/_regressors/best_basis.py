"""A polynomial chaos regressor that chooses its own basis and solver."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import (
    FloatArray,
    attribute_of,
    check_integer,
    check_option,
    check_real,
    fail,
    listed,
    method_of,
    unchanged_on_failure,
    validated,
)
from .._checks.callbacks import (
    CALLBACK_BASES,
    N_WRAPPERS,
    FitProgress,
    ends_callbacks,
)
from .._expansion.targets import warn_of_targets
from .._input_laws import InputOutsideSupportWarning
from .._regressor import PolynomialChaosRegressor
from .._solvers import PENALIZED, SOLVERS
from .._version import DOC_LINK_TEMPLATE


class PolynomialChaosRegressorCV(
    *CALLBACK_BASES,  # type: ignore[misc]  # none before scikit-learn 1.9
    MultiOutputMixin,
    TransformerMixin,
    RegressorMixin,
    BaseEstimator,
):
    r"""Polynomial chaos regression with degree, truncation and solver chosen.

    Every combination of ``degrees``, ``qs`` and ``solvers`` is fitted once; the one of
    the smallest closed-form leave-one-out error wins, with the correction of sparse
    solvers for their search. The errors of several targets are added up in units of
    the variance of each. No fold is refitted. From scikit-learn 1.9 on
    ``set_callbacks`` takes its callbacks, such as ``sklearn.callback.ProgressBar()``,
    which receive each combination.

    Parameters
    ----------
    degrees : sequence of int, default=(1, 2, 3, 4, 5)
        Degrees to try.
    qs : sequence of float, default=(1.0, 0.75)
        Exponents of the q-norm to try; 1.0 is the total degree.
    solvers : sequence of str, default=("anisotropic_ridge", "subspace_pursuit")
        Solvers to try, as in :class:`PolynomialChaosRegressor`.
    distribution, interaction_order, anisotropy, alphas
        As in :class:`PolynomialChaosRegressor`; penalties are for the solvers that
        have one.

    Attributes
    ----------
    degree_ : int
        Chosen degree.
    q_ : float
        Chosen exponent.
    chosen_solver_ : str
        Chosen solver.
    cv_results_ : dict of ndarray
        ``"degree"``, ``"q"``, ``"solver"``, ``"n_terms"`` and ``"error"``, one entry
        for each combination: the corrected leave-one-out error in units of the
        variance, averaged over the targets.

    See Also
    --------
    PolynomialChaosRegressor : One basis and one solver; the other attributes and the
        methods are described there.

    Notes
    -----
    The error of the winner is smaller than its error on new data, since it is the
    smallest of several. A combination whose basis does not fit in memory raises.

    A tie goes to the smaller basis.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from skpce import PolynomialChaosRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 2))
    >>> y = X[:, 0] ** 3 + X[:, 1]
    >>> model = PolynomialChaosRegressorCV(distribution=uniform(-1, 2)).fit(X, y)
    >>> model.degree_
    3
    >>> model.total_sobol_indices_.round(3)
    array([[0.3, 0.7]])
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degrees: Sequence[int] = (1, 2, 3, 4, 5),
        *,
        qs: Sequence[float] = (1.0, 0.75),
        solvers: Sequence[str] = ("anisotropic_ridge", "subspace_pursuit"),
        distribution: Any = "normal",
        interaction_order: int | None = None,
        anisotropy: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
    ) -> None:
        self.degrees = degrees
        self.qs = qs
        self.solvers = solvers
        self.distribution = distribution
        self.interaction_order = interaction_order
        self.anisotropy = anisotropy
        self.alphas = alphas

    @ends_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosRegressorCV:
        """Fit every combination and keep the best.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`PolynomialChaosRegressor.fit`, like what is refused or warned
            of; one choice serves all targets.

        Returns
        -------
        self : PolynomialChaosRegressorCV
            The fitted estimator.
        """
        self._check_choices()
        combinations = self._combinations()
        progress = FitProgress(self, len(combinations))
        with unchanged_on_failure(self):
            tried = progress.each(combinations, "candidate")
            self._fit_candidates(tried, X, y, sample_weight)
        problem = self.best_estimator_._problem
        warn_of_targets(self.expansion_, problem, N_WRAPPERS)
        return self

    def _fit_candidates(
        self,
        combinations: Iterable[tuple[int, float, str]],
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> None:
        fitted: list[Any] = []
        rows = []
        for degree, q, solver in combinations:
            candidate = self._candidate(degree, q, solver)
            with warnings.catch_warnings():
                if fitted:  # the first said it
                    warnings.simplefilter("ignore", InputOutsideSupportWarning)
                candidate._fit_expansion(X, y, sample_weight)
            fitted.append(candidate)
            n_terms = len(candidate.multi_indices_)
            rows.append((degree, q, solver, n_terms, _relative_error(candidate)))
        self.cv_results_: dict[str, NDArray[Any]] = {
            name: np.array(column)
            for name, column in zip(_COLUMNS, zip(*rows, strict=True), strict=True)
        }
        sizes, errors = self.cv_results_["n_terms"], self.cv_results_["error"]
        best = int(np.lexsort((sizes, errors))[0])
        degree, q, solver = rows[best][:3]
        self.degree_: int = degree
        self.q_: float = q
        self.chosen_solver_: str = solver
        self.best_estimator_: PolynomialChaosRegressor = fitted[best]
        validate_data(self, X, reset=True, skip_check_array=True)

    def _check_choices(self) -> None:
        owner = type(self).__name__
        for name in ("degrees", "qs", "solvers"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
                raise fail(owner, name, "a sequence", value)
            if not listed(value, name):
                raise fail(owner, name, "a sequence that is not empty", value)
        for degree in self.degrees:
            check_integer(owner, "degrees", degree)
        for q in self.qs:
            check_real(owner, "qs", q, low=0, high=1, closed="right")
        for solver in self.solvers:
            check_option(owner, "solvers", solver, set(SOLVERS) - {"auto", "paper"})

    def _combinations(self) -> list[tuple[int, float, str]]:
        """Return what to try; a q-norm thins nothing below degree two."""
        combinations = {
            (int(degree), float(q) if degree > 1 else 1.0, solver): None
            for degree, q, solver in product(self.degrees, self.qs, self.solvers)
        }
        return list(combinations)

    def _candidate(self, degree: int, q: float, solver: str) -> Any:
        return PolynomialChaosRegressor(
            degree,
            distribution=self.distribution,
            truncation="total_degree" if q == 1.0 else "hyperbolic",
            q=q,
            interaction_order=self.interaction_order,
            anisotropy=self.anisotropy,
            solver=solver,
            alphas=self.alphas if solver in PENALIZED else None,
        )

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        self._check_inputs(X)
        return self.best_estimator_.predict(X, return_std)

    predict.__doc__ = PolynomialChaosRegressor.predict.__doc__

    def transform(self, X: ArrayLike) -> FloatArray:
        self._check_inputs(X)
        return self.best_estimator_.transform(X)

    transform.__doc__ = PolynomialChaosRegressor.transform.__doc__

    def _check_inputs(self, X: ArrayLike) -> None:
        """Refuse X in the name of this class; the best estimator reads it again."""
        check_is_fitted(self)
        validated(self, X, reset=False)

    # All the rest is that of the best estimator, read as the regressor reads it.
    _problem = attribute_of("best_estimator_", lambda e: e._problem)
    expansion_ = attribute_of("best_estimator_", lambda e: e.expansion_)
    _of_targets = PolynomialChaosRegressor._of_targets
    _labels_of_y = attribute_of("best_estimator_", lambda e: e._labels_of_y)
    levels_ = attribute_of("best_estimator_", lambda e: e.levels_)
    basis_ = PolynomialChaosRegressor.basis_
    coefficients_ = PolynomialChaosRegressor.coefficients_
    multi_indices_ = PolynomialChaosRegressor.multi_indices_
    alpha_ = attribute_of("best_estimator_", lambda e: e.alpha_)
    solver_ = attribute_of("best_estimator_", lambda e: e.solver_)
    sobol_indices_ = PolynomialChaosRegressor.sobol_indices_
    total_sobol_indices_ = PolynomialChaosRegressor.total_sobol_indices_
    total_variance_ = PolynomialChaosRegressor.total_variance_
    loo_error_ = PolynomialChaosRegressor.loo_error_
    q2_ = PolynomialChaosRegressor.q2_
    unexplained_share_ = PolynomialChaosRegressor.unexplained_share_
    feature_importances_ = PolynomialChaosRegressor.feature_importances_

    moments = PolynomialChaosRegressor.moments
    conditional_expectation = PolynomialChaosRegressor.conditional_expectation
    main_effects = PolynomialChaosRegressor.main_effects
    marginal = PolynomialChaosRegressor.marginal
    gradient = PolynomialChaosRegressor.gradient
    derivative_sensitivity = PolynomialChaosRegressor.derivative_sensitivity
    lipschitz_estimate = PolynomialChaosRegressor.lipschitz_estimate
    sobol_index = PolynomialChaosRegressor.sobol_index
    closed_sobol_index = PolynomialChaosRegressor.closed_sobol_index
    total_sobol_index = PolynomialChaosRegressor.total_sobol_index
    interaction_indices = PolynomialChaosRegressor.interaction_indices
    shapley_effects = PolynomialChaosRegressor.shapley_effects
    aggregated_sobol_indices = PolynomialChaosRegressor.aggregated_sobol_indices
    sobol_interval = PolynomialChaosRegressor.sobol_interval
    noise_corrected_sobol_indices = (
        PolynomialChaosRegressor.noise_corrected_sobol_indices
    )
    _predictive = PolynomialChaosRegressor._predictive
    sample = PolynomialChaosRegressor.sample
    predict_interval = PolynomialChaosRegressor.predict_interval
    sobol_frame = method_of("best_estimator_", PolynomialChaosRegressor.sobol_frame)
    get_feature_names_out = PolynomialChaosRegressor.get_feature_names_out


_COLUMNS = ("degree", "q", "solver", "n_terms", "error")


def _relative_error(fitted: PolynomialChaosRegressor) -> float:
    """Return the mean error of the targets that vary, in units of their variance."""
    problem, q2 = fitted._problem, fitted.q2_
    varies = ~np.isnan(q2)
    if not varies.any():
        return 0.0
    error = problem.fit.criterion[varies] / problem.target_variance[varies]
    return float(np.mean(error))
