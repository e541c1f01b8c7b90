"""What the coefficients of a fitted expansion know, as methods of an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import FloatArray, check_integer, input_names, make_generator
from .indices import SensitivityMixin, sobol_indices
from .marginals import (
    DerivativeSensitivity,
    checked_features,
    conditional_expectation,
    derivative_sensitivity,
    gradient,
    main_effects,
    marginal_basis,
)
from .moments import ExpansionMoments, expansion_moments


class ExpansionMixin(SensitivityMixin):
    """Moments, conditional means, gradients and indices of a fitted expansion.

    For estimators with ``basis_``, ``multi_indices_`` and ``coefficients_``. Nothing
    here is sampled except the points of ``lipschitz_estimate``; everything assumes
    independent inputs with the laws of the basis.
    """

    _n_dimensions_of_y: int
    n_features_in_: int

    def moments(self) -> ExpansionMoments:
        r"""Return mean, variance, skewness and kurtosis of the expansion.

        With the squared centred expansion
        :math:`g^2 = \sum_m b_m \psi_m`, whose coefficients come from products of the
        univariate functions, :math:`E g^3 = \sum_m b_m c_m` and
        :math:`E g^4 = \sum_m b_m^2` [1]_. The result is exact.

        Returns
        -------
        moments : ExpansionMoments
            ``mean``, ``variance``, ``skewness`` and ``kurtosis``, each of shape
            (n_targets,). The kurtosis is the excess over a normal law, as in
            :func:`scipy.stats.kurtosis`. Skewness and kurtosis are NaN for a target
            without variance, and for all targets if an input law, with its heavy
            tails, does not carry twice the degree.

        References
        ----------
        .. [1] B. J. Debusschere et al., "Numerical challenges in the use of
           polynomial chaos representations for stochastic processes", SIAM Journal
           on Scientific Computing 26 (2004), section 2.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 1))
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> moments = pce.fit(X, X[:, 0] ** 2).moments()  # chi-squared
        >>> moments.variance.round(6), moments.kurtosis.round(6)
        (array([2.]), array([12.]))
        """
        check_is_fitted(self)
        return expansion_moments(
            self.basis_.laws, self.coefficients_, self.multi_indices_
        )

    def conditional_expectation(self, X: ArrayLike, features: Any) -> FloatArray:
        r"""Return the mean of y given some of the inputs.

        :math:`E[y \mid x_u]` keeps the terms without other inputs [1]_.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. Only the chosen columns are used; the others may hold anything,
            NaN included.
        features : int, str or sequence of these
            The inputs that are known, by position or by name.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, if there is none, or if a chosen
            column is not finite.

        References
        ----------
        .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
           expansions", Reliability Engineering and System Safety 93 (2008).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).conditional_expectation([[3.0, np.nan]], 0).round(6)
        array([4.])
        """
        check_is_fitted(self)
        chosen = checked_features(features, input_names(self))
        X = self._expansion_inputs(X, chosen)
        values = conditional_expectation(self.basis_, self.coefficients_, X, chosen)
        return self._as_y(values)

    def main_effects(self, X: ArrayLike) -> FloatArray:
        r"""Return what each input changes on its own.

        :math:`E[y \mid x_i] - E[y]` for every input. The mean plus the main effects
        is the additive part of the expansion; the variance of a main effect is the
        first-order index times ``total_variance_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        effects : ndarray (n_samples, n_features) or (n_samples, n_features, n_targets)
            In units of y; three dimensions when y had two.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).main_effects([[3.0, 2.0]]).round(6)
        array([[3., 3.]])
        """
        check_is_fitted(self)
        X = self._expansion_inputs(X, range(self.n_features_in_))
        return self._as_y(main_effects(self.basis_, self.coefficients_, X))

    def marginal(self, features: Any) -> Self:
        """Return a fitted estimator on some of the inputs alone.

        Its expansion is the conditional expectation given these inputs: the other
        inputs are averaged out, not fixed. The inputs stay in the order of X.

        Parameters
        ----------
        features : int, str or sequence of these
            The inputs to keep, by position or by name.

        Returns
        -------
        estimator : estimator of the same class
            With the parameters of this one and ``n_features_in_ = len(features)``.
            Figures of the fit (``q2_``, ``loo_error_``, ``unexplained_share_``) are
            NaN: they belong to the whole expansion.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).marginal([0]).predict([[3.0]]).round(6)
        array([4.])
        """
        check_is_fitted(self)
        chosen = checked_features(features, input_names(self))
        narrow = clone(self)
        narrow.basis_, rows = marginal_basis(self.basis_, chosen)
        narrow.multi_indices_ = narrow.basis_.multi_indices
        _narrow_parameters(narrow, chosen)
        narrow.coefficients_ = self.coefficients_[:, rows]
        narrow.n_features_in_ = len(chosen)
        if hasattr(self, "feature_names_in_"):
            narrow.feature_names_in_ = self.feature_names_in_[chosen]
        narrow._n_dimensions_of_y = self._n_dimensions_of_y
        for name in ("alpha_", "solver_"):
            if hasattr(self, name):
                setattr(narrow, name, getattr(self, name).copy())
        _set_marginal_attributes(narrow)
        return narrow

    def gradient(self, X: ArrayLike) -> FloatArray:
        r"""Return the gradient of the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        gradient : ndarray (n_samples, n_features) or (n_samples, n_targets, n_features)
            :math:`\partial \hat y / \partial x_i`, in units of y per unit of x; three
            dimensions when y had two.

        Raises
        ------
        ValueError
            If an input is categorical: it has no derivative.

        Notes
        -----
        The three-term recurrence of each family is differentiated term by term.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).gradient([[3.0, 2.0]]).round(6)
        array([[1., 4.]])
        """
        check_is_fitted(self)
        X = self._expansion_inputs(X, range(self.n_features_in_))
        values = gradient(self.basis_, self.coefficients_, X)
        return values[:, 0] if self._n_dimensions_of_y == 1 else values

    def derivative_sensitivity(self) -> DerivativeSensitivity:
        r"""Return derivative-based sensitivity measures in closed form.

        :math:`\nu_i = E[(\partial f / \partial x_i)^2]`, and the upper bound
        :math:`C_i \nu_i / D` of the total Sobol index, with the Poincaré constant
        :math:`C_i` of the law [1]_: :math:`\sigma^2` for a normal input,
        :math:`(b - a)^2 / \pi^2` for a uniform one, :math:`4\,\mathrm{scale}^2` for an
        exponential one.

        Returns
        -------
        sensitivity : DerivativeSensitivity
            ``mean_square`` and ``total_order_bound`` of shape
            (n_targets, n_features) and ``poincare_constant`` of shape (n_features,).
            Bounds are NaN for other laws, and all is NaN for a categorical input.

        References
        ----------
        .. [1] S. Kucherenko and B. Iooss, "Derivative-based global sensitivity
           measures", in Handbook of Uncertainty Quantification, Springer (2017),
           section 4.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).derivative_sensitivity().mean_square.round(6)
        array([[1., 4.]])
        """
        check_is_fitted(self)
        return derivative_sensitivity(
            self.basis_.laws, self.coefficients_, self.multi_indices_
        )

    def lipschitz_estimate(
        self,
        *,
        n_samples: int = 1000,
        random_state: Any = None,
        X: ArrayLike | None = None,
    ) -> FloatArray:
        r"""Return the largest gradient norm over a set of points.

        This is a *lower* bound of the Lipschitz constant over the support of the
        inputs. Where the support is unbounded, as for normal inputs, an expansion of
        degree 2 or more has no finite constant, and the estimate grows with
        ``n_samples``.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of points drawn from the laws; unused when X is given.
        random_state : int, RandomState instance or None, default=None
            Randomness of the points.
        X : array-like of shape (n_points, n_features) or None, default=None
            Points to use in place of drawn ones.

        Returns
        -------
        constant : ndarray of shape (n_targets,)
            Largest Euclidean norm of the gradient, in units of y per unit of x.

        Raises
        ------
        ValueError
            If an input is categorical, or ``n_samples`` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import uniform
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
        >>> law = uniform(-1, 2)
        >>> pce = PolynomialChaosRegressor(1, distribution=law, solver="ols")
        >>> pce.fit(X, 3 * X[:, 0] + 4 * X[:, 1])
        PolynomialChaosRegressor(...)
        >>> pce.lipschitz_estimate(random_state=0).round(6)
        array([5.])
        """
        check_is_fitted(self)
        if X is None:
            check_integer("lipschitz_estimate", "n_samples", n_samples, low=1)
            points = self.basis_.sample(int(n_samples), make_generator(random_state))
        else:
            points = self._expansion_inputs(X, range(self.n_features_in_))
        slopes = gradient(self.basis_, self.coefficients_, points)
        return np.linalg.norm(slopes, axis=2).max(axis=0)

    def _expansion_inputs(self, X: ArrayLike, features: Sequence[int]) -> FloatArray:
        """Check the chosen columns of X and return them."""
        values = validate_data(
            self, X, dtype=np.float64, reset=False, ensure_all_finite=False
        )
        names = input_names(self)
        chosen = values[:, list(features)]
        assert_all_finite(chosen, input_name="X")
        for column, i in zip(chosen.T, features, strict=True):
            self.basis_.laws[i].warn_outside(column, names[i])
        return chosen

    def _as_y(self, values: FloatArray) -> FloatArray:
        """Drop the axis of the targets, which is the last, when y had none."""
        return values[..., 0] if self._n_dimensions_of_y == 1 else values


def _narrow_parameters(estimator: Any, features: Sequence[int]) -> None:
    """Keep the entries of these inputs in parameters with one entry per input."""
    for name in ("distribution", "anisotropy"):
        given = getattr(estimator, name, None)
        if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
            setattr(estimator, name, [given[i] for i in features])
    if getattr(estimator, "multi_indices", None) is not None:
        estimator.multi_indices = estimator.multi_indices_


def _set_marginal_attributes(estimator: Any) -> None:
    """Set what ``fit`` derives from the coefficients; NaN for figures of the fit."""
    indices = sobol_indices(estimator.coefficients_, estimator.multi_indices_)
    estimator.sobol_indices_ = indices.first_order
    estimator.total_sobol_indices_ = indices.total_order
    estimator.total_variance_ = indices.total_variance
    whole = indices.total_variance.sum()
    estimator.feature_importances_ = (
        indices.total_variance @ indices.total_order / (whole if whole > 0 else 1.0)
    )
    for name in ("q2_", "loo_error_", "unexplained_share_"):
        setattr(estimator, name, np.full(len(estimator.coefficients_), np.nan))
