"""Polynomial chaos regression."""

from __future__ import annotations

import warnings
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

from ._basis import BasisMixin
from ._checks import (
    BasisFeatureNamesMixin,
    FloatArray,
    Samples,
    check_option,
    checked_sample_weight,
    input_names,
    one_thread_if_small,
    unchanged_on_failure,
)
from ._expansion import ExpansionMixin
from ._goodness import (
    predictive_q2,
    weighted_spread,
    without_slopes,
)
from ._intervals import SobolIntervalMixin
from ._sobol import sobol_indices
from ._solvers import (
    CRITERIA,
    CoefficientSolver,
    LinearFit,
    LinearProblem,
    make_solver,
)
from ._sums_fit import SumsFitMixin


class ConstantTargetWarning(UserWarning):
    """A target does not vary: it has no variance to attribute to the inputs."""


class PolynomialChaosRegressor(
    SumsFitMixin,
    BasisMixin,
    SobolIntervalMixin,
    ExpansionMixin,
    BasisFeatureNamesMixin,
    MultiOutputMixin,
    TransformerMixin,
    RegressorMixin,
    BaseEstimator,
):
    r"""Polynomial chaos expansion with Sobol indices in closed form.

    Fits :math:`y \approx \sum_j c_j \psi_j(x)` in an orthonormal polynomial basis of
    the law of the inputs. The coefficients give the mean, the variance and the Sobol
    indices without further sampling [1]_.

    Parameters
    ----------
    degree : int, default=2
        Largest degree of a term.
    distribution : str, frozen law, or list, default="normal"
        The law of each input, as in :class:`PolynomialChaosFeatures`: ``"normal"``,
        ``"uniform"``, ``"exponential"``, ``"gamma"``, ``"beta"``, ``"empirical"``,
        ``"categorical"``, a frozen ``scipy.stats`` law, or a list with one of these
        per feature. Sobol indices are exact only for frozen laws; learned ones carry
        the error of what was learned, which ``sobol_interval`` contains.
    truncation : {"total_degree", "hyperbolic"}, default="total_degree"
        How the index set is cut; ``"hyperbolic"`` uses the q-norm.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1]; only with ``truncation="hyperbolic"``.
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    anisotropy : array-like of shape (n_features,) or None, default=None
        Positive weight of each input in the truncation: an input of weight 2 gets
        half the degree.
    multi_indices : array-like of shape (n_terms, n_features) or None, default=None
        The terms themselves; ``degree`` and the truncation then have no effect.
    solver : str, default="ridge"
        How the coefficients are estimated.

        - ``"ridge"``: the intercept is free and the penalty of each target is chosen
          by closed-form leave-one-out.
        - ``"weighted_ridge"``: the penalty grows with the degree of a term as
          :math:`\lambda\gamma^{2|j|}`; :math:`\gamma \ge 1` is chosen for all targets
          together. For small samples of smooth functions.
        - ``"anisotropic_ridge"``: the same with a decay :math:`\gamma_i` for each
          input, found one input after another.
        - ``"ols"``: least squares, of least norm when there are more terms than
          samples.
        - ``"lars"``, ``"omp"``, ``"subspace_pursuit"``: least squares on a few terms,
          searched for by least-angle regression, orthogonal matching pursuit or
          subspace pursuit; their number is chosen by leave-one-out, corrected for the
          search. For functions with a few large coefficients.
        - ``"ard"``: sparse Bayesian learning
          (:class:`sklearn.linear_model.ARDRegression`).
        - ``"auto"``: ``"anisotropic_ridge"`` or ``"subspace_pursuit"``, whichever
          has the smaller corrected leave-one-out error, for each target.
        - ``"paper"``: the intercept is penalised too, penalties 1e-8 ... 1 by
          generalised cross-validation (the paper's eq. 4); for comparison only.
    regressor : estimator or None, default=None
        A linear regressor of scikit-learn in place of ``solver``. It sees the basis
        without the constant.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties for the ridge solvers and ``"auto"``, in units of the
        sum-of-squares loss; None means 25 values from 1e-8 to 1e4.
    criterion : {"auto", "loo", "gcv"}, default="auto"
        What chooses the penalty: leave-one-out, or generalised cross-validation.
        ``"auto"`` is leave-one-out up to four million entries of the design matrix.
        Beyond, with more samples than terms, the ridge solvers and ``"ols"`` add up
        sums over blocks of samples in bounded memory, which leaves generalised
        cross-validation. ``"gcv"`` with frozen laws always does so, and
        allows ``partial_fit``.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_targets, n_terms)
        Coefficients; column 0 is the mean of the expansion.
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is the constant.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalty; 0 for a fit without one.
    solver_ : ndarray of str of shape (n_targets,)
        Name of the solver of each target; its class for a ``regressor``.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_targets, n_features)
        First-order and total Sobol indices: shares of the variance *of the
        expansion*. 0 for a target without variance, of which ``fit`` warns.
    total_variance_ : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of y.
    loo_error_ : ndarray of shape (n_targets,)
        Mean squared leave-one-out residual; ``inf`` where it is not defined. For
        sparse solvers it is that of least squares on the chosen terms, which flatters
        the search for them. From sums (see ``criterion``) it is the generalised
        cross-validation score; for a ``regressor`` the error of five-fold
        cross-validation.
    q2_ : ndarray of shape (n_targets,)
        Leave-one-out coefficient of prediction, 1 - PRESS / (sum of squares about
        the mean); ``-inf`` where it is not defined, NaN for a constant target.
    unexplained_share_ : ndarray of shape (n_targets,)
        ``1 - q2_`` clipped to [0, 1]: the share of the variance of y that the
        expansion does not predict. Sobol indices say nothing about this share.
    feature_importances_ : ndarray of shape (n_features,)
        Total indices aggregated over the targets, weighted by their variance.
    basis_ : PolynomialBasis
        Input laws and index set.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    PolynomialChaosFeatures : The basis alone.
    CompositionalPCESurrogate : The same for targets that are probabilities.

    Notes
    -----
    Indices decompose the variance under *independent* inputs with the stated laws.
    For dependent inputs they are not shares of the variance.

    Zero weights drop a row. A weight of 2 means two copies; leave-one-out leaves out
    one of them. Weights that add up to less than the number of rows are normalised
    ones: they are scaled up to it.

    Small fits run on one BLAS thread: a second one costs more than it gains.

    References
    ----------
    .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
       expansions", Reliability Engineering and System Safety 93 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-np.pi, np.pi, size=(1000, 3))
    >>> y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2
    >>> y += 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    >>> law = uniform(-np.pi, 2 * np.pi)
    >>> pce = PolynomialChaosRegressor(12, distribution=law, solver="ols").fit(X, y)
    >>> pce.sobol_indices_.round(3) + 0.0
    array([[0.314, 0.442, 0.   ]])
    >>> pce.total_sobol_indices_.round(3)
    array([[0.558, 0.442, 0.244]])
    """

    def __init__(
        self,
        degree: int = 2,
        *,
        distribution: Any = "normal",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
        anisotropy: ArrayLike | None = None,
        multi_indices: ArrayLike | None = None,
        solver: str = "ridge",
        regressor: Any = None,
        alphas: ArrayLike | None = None,
        criterion: str = "auto",
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.anisotropy = anisotropy
        self.multi_indices = multi_indices
        self.solver = solver
        self.regressor = regressor
        self.alphas = alphas
        self.criterion = criterion

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosRegressor:
        """Fit the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; all of them share one factorisation.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, bad data, or a basis too large for memory.

        Warns
        -----
        ConstantTargetWarning
            When a target does not vary. Its indices are 0.
        """
        self._fit_expansion(X, y, sample_weight)
        self._warn_constant_targets()
        return self

    def _fit_expansion(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> None:
        solver = self._make_solver()
        with unchanged_on_failure(self):
            values = self._validated(X, y, sample_weight, reset=True)
            values = values.at_least_one_copy()
            self._learn_basis(values)
            if self._fits_from_sums(len(values.inputs)):
                self._sums = self._sum_blocks(values)
                self._store_sums(solver)
            else:
                self._sums = None
                self._store_samples(solver, values.copy())

    def _warn_constant_targets(self) -> None:
        constant = np.flatnonzero(self._target_variance == 0.0).tolist()
        if not constant:
            return
        which = "y" if self._n_dimensions_of_y == 1 else f"Of y the targets {constant}"
        warnings.warn(
            f"{which} without variance: the Sobol indices are 0 and q2_ is NaN.",
            ConstantTargetWarning,
            stacklevel=3,
        )

    def _make_solver(self) -> CoefficientSolver:
        owner = type(self).__name__
        check_option(owner, "criterion", self.criterion, ("auto", *CRITERIA))
        return make_solver(
            owner,
            self.solver,
            self.alphas,
            criterion="gcv" if self.criterion == "gcv" else "loo",
            regressor=self.regressor,
        )

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool
    ) -> Samples:
        inputs, values = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
        )
        targets = values.reshape(values.shape[0], -1).astype(np.float64, copy=False)
        weights = checked_sample_weight(sample_weight, inputs)
        if reset:
            self._n_dimensions_of_y = values.ndim
            self._n_targets = targets.shape[1]
        elif targets.shape[1] != self._n_targets:
            raise ValueError(
                f"y has {targets.shape[1]} targets but the samples before had "
                f"{self._n_targets}."
            )
        used = weights > 0
        if used.all():
            return Samples(inputs, targets, weights)
        return Samples(inputs[used], targets[used], weights[used])

    def _store_samples(self, solver: CoefficientSolver, samples: Samples) -> None:
        self._samples = samples
        problem = self._linear_problem()
        with one_thread_if_small(problem.design.size):
            fit = solver.fit(problem)
        spread = weighted_spread(samples.targets, samples.weights)
        self._store_fit(fit, spread)
        self._target_variance = spread / samples.weights.sum()
        error, q2 = predictive_q2(fit.loo_residuals, samples.targets, samples.weights)
        self.loo_error_: FloatArray = error
        self.q2_: FloatArray = q2
        self._set_unexplained()

    def _linear_problem(self) -> LinearProblem:
        """Return what the solver was given; ``_samples`` must not be None."""
        samples = self._samples
        assert samples is not None
        return LinearProblem(
            self.basis_.evaluate(samples.inputs),
            samples.targets,
            samples.weights,
            np.arange(self._n_targets),
            self.basis_.exponents,
        )

    def _store_fit(self, fit: LinearFit, spread: FloatArray) -> None:
        self._fit = fit
        self.coefficients_: FloatArray = without_slopes(fit.coefficients, spread)
        self.alpha_: FloatArray = fit.alpha
        name = self.solver if self.regressor is None else type(self.regressor).__name__
        names = fit.solver_names or (name,) * self._n_targets
        self.solver_: NDArray[np.str_] = np.array(names)
        indices = sobol_indices(self.coefficients_, self.multi_indices_)
        self.sobol_indices_: FloatArray = indices.first_order
        self.total_sobol_indices_: FloatArray = indices.total_order
        self.total_variance_: FloatArray = indices.total_variance
        weight = indices.total_variance
        total = weight.sum()
        self.feature_importances_: FloatArray = (
            weight @ indices.total_order / total
            if total > 0
            else np.zeros(self.n_features_in_)
        )

    def _set_unexplained(self) -> None:
        self.unexplained_share_: FloatArray = np.clip(1.0 - self.q2_, 0.0, 1.0)

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Evaluate the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new value of y.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.
        std : ndarray of the shape of y
            Only with ``return_std=True``: the scale of the leave-one-out residuals
            times :math:`\\sqrt{1 + h(x)}` with the leverage :math:`h`. It contains
            noise, truncation error and the error of the coefficients, as if the
            first two were alike everywhere.
        """
        check_is_fitted(self)
        if not return_std:
            return self._in_shape_of_y(self._predict_blocks(X, self.coefficients_))
        if getattr(self, "_fit", None) is None:
            raise ValueError(
                "return_std=True needs the residuals of a fit; a marginal expansion "
                "has none."
            )
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        self.basis_.warn_outside(inputs, input_names(self))
        values = np.empty((len(inputs), len(self.coefficients_)))
        deviation = np.empty_like(values)
        scale = np.sqrt(self._fit.residual_variance)
        for rows, design in self.basis_.blocks(inputs):
            values[rows] = design @ self.coefficients_.T
            deviation[rows] = scale * self._fit.prediction_scale(design)
        return self._in_shape_of_y(values), self._in_shape_of_y(deviation)

    def _in_shape_of_y(self, values: FloatArray) -> FloatArray:
        return values[:, 0] if self._n_dimensions_of_y == 1 else values

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the orthonormal basis at X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        design : ndarray of shape (n_samples, n_terms)
            Values of the basis functions; column 0 is one.
        """
        return self._evaluate_basis(X)
