"""Polynomial chaos regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._basis.basis import BasisFeatureNamesMixin, BasisMixin, PolynomialBasis
from ._basis.index_sets import basis_advice, check_sums_fit
from ._checks import (
    FloatArray,
    Samples,
    check_option,
    checked_sample_weight,
    input_names,
    one_thread_if_small,
    unchanged_on_failure,
)
from ._expansion.expansion import ExpansionMixin
from ._expansion.indices import sobol_indices
from ._expansion.intervals import SobolIntervalMixin
from ._input_laws import learn_input_laws
from ._solvers import (
    CRITERIA,
    FROM_MOMENTS,
    CoefficientSolver,
    DesignMoments,
    LinearFit,
    LinearProblem,
    make_solver,
    sum_moments,
)
from ._solvers.problem import (
    predictive_q2,
    q2_from_sums,
    weighted_spread,
    without_slopes,
)


class ConstantTargetWarning(UserWarning):
    """A target does not vary: it has no variance to attribute to the inputs."""


def _require_exact_addition(estimator: SumsFitMixin) -> bool:
    """Raise ``AttributeError`` with the reason where ``partial_fit`` is not exact."""
    if not _can_add_samples(estimator):
        raise AttributeError(
            "partial_fit is exact, and exists, only with frozen laws, criterion='gcv' "
            f"and a solver among {', '.join(map(repr, sorted(FROM_MOMENTS)))}."
        )
    return True


def _can_add_samples(estimator: SumsFitMixin) -> bool:
    """Whether a fit can be continued with other samples, exactly."""
    laws = estimator.distribution
    listed = isinstance(laws, (Sequence, np.ndarray)) and not isinstance(laws, str)
    laws = laws if listed else [laws]
    return (
        estimator.criterion == "gcv"
        and estimator.regressor is None
        and estimator.solver in FROM_MOMENTS
        and not any(isinstance(law, str) for law in laws)
    )


class SumsFitMixin:
    """``partial_fit``, and fits of designs that are too large to be held whole."""

    distribution: Any
    solver: Any
    regressor: Any
    criterion: Any
    basis_: PolynomialBasis
    multi_indices_: NDArray[np.int64]
    n_features_in_: int
    loo_error_: FloatArray
    q2_: FloatArray
    _n_targets: int
    _sums: DesignMoments | None
    _samples: Samples | None
    _target_variance: FloatArray
    _make_solver: Callable[[], CoefficientSolver]
    _validated: Callable[..., Samples]
    _store_fit: Callable[[LinearFit, FloatArray], None]
    _set_unexplained: Callable[[], None]
    _fit_basis: Callable[..., None]
    _check_basis: Callable[[int], list[Any]]
    _make_multi_indices: Callable[..., NDArray[np.int64]]

    @available_if(_require_exact_addition)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add samples to the fit.

        Exact: after the last call the fit is that of all samples at once, in whatever
        order they came. That needs laws that learn nothing and a criterion that needs
        no second pass, so the method exists only with frozen laws,
        ``criterion="gcv"`` and a solver that fits from sums (the ridge solvers and
        ``"ols"``).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, bad data, weights that add up to less than the number
            of samples, or another basis, number of features or of targets than
            before.
        """
        solver = self._make_solver()
        first = getattr(self, "_sums", None) is None
        with unchanged_on_failure(self):
            values = self._validated(X, y, sample_weight, reset=first)
            if values.at_least_one_copy() is not values:
                raise ValueError(
                    "sample_weight of partial_fit must add up to at least the number "
                    f"of samples, {len(values.weights)}: weights are frequencies. Got "
                    f"a sum of {values.weights.sum():.3g}."
                )
            if first:
                self._learn_basis(values)
                self._sums = self._sum_blocks(values)
            else:
                self._refuse_another_basis()
                assert self._sums is not None  # not the first samples
                self._sums = self._sums + self._sum_blocks(values)
            self._store_sums(solver)
        return self

    def _refuse_another_basis(self) -> None:
        """Raise ``ValueError`` when the parameters no longer give the basis so far."""
        laws = self._check_basis(self.n_features_in_)
        wanted = self._make_multi_indices(self.basis_.laws, input_names(self), 1)
        learned = learn_input_laws(laws, np.zeros((1, len(laws))), np.ones(1))
        same = np.array_equal(wanted, self.multi_indices_)
        if not same or list(learned) != list(self.basis_.laws):
            raise ValueError(
                "partial_fit cannot change the basis: degree, truncation or "
                "distribution differ from those of the samples before. Call fit."
            )

    def _learn_basis(self, samples: Samples) -> None:
        from_sums = self._may_fit_from_sums()
        self._fit_basis(samples.inputs, samples.weights, in_blocks=from_sums)
        if _can_add_samples(self):
            check_sums_fit(
                type(self).__name__,
                len(self.multi_indices_),
                basis_advice(anisotropy=True),
            )

    def _may_fit_from_sums(self) -> bool:
        return (
            self.regressor is None
            and self.solver in FROM_MOMENTS
            and self.criterion != "loo"
        )

    def _fits_from_sums(self, n_samples: int) -> bool:
        if not self._may_fit_from_sums():
            return False
        n_terms = len(self.multi_indices_)
        # Sums are matrices of n_terms by n_terms: no saving with fewer samples.
        large = n_samples * n_terms > LARGEST_WHOLE_DESIGN and n_samples > n_terms
        return large or _can_add_samples(self)

    def _sum_blocks(self, samples: Samples) -> DesignMoments:
        """Add up the moments of the design, block by block."""
        with one_thread_if_small(samples.targets.size + len(self.multi_indices_) ** 2):
            return sum_moments(
                DesignMoments.of_block(
                    design, samples.targets[rows], samples.weights[rows]
                )
                for rows, design in self.basis_.blocks(
                    samples.inputs, max_entries=self._entries_of_block()
                )
            )

    def _entries_of_block(self) -> int:
        """Return a size at which adding up the sums costs little beside them."""
        n_terms = len(self.multi_indices_)
        return min(max(2**19, 4 * n_terms**2), 2**23)

    def _store_sums(self, solver: Any) -> None:
        sums, n_targets = self._sums, self._n_targets
        assert sums is not None
        with one_thread_if_small(len(self.multi_indices_) ** 2):
            fit = solver.fit_moments(sums, np.arange(n_targets), self.basis_.exponents)
        self._samples = None
        self._store_fit(fit, sums.target_spread)
        self._target_variance = sums.target_spread / sums.total_weight
        self.loo_error_ = np.where(sums.target_spread > 0, fit.criterion, 0.0)
        self.q2_ = q2_from_sums(fit.criterion * sums.total_weight, sums.target_spread)
        self._set_unexplained()


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


#: Entries of a design matrix that is fitted whole under ``criterion="auto"``.
LARGEST_WHOLE_DESIGN = 4_000_000
