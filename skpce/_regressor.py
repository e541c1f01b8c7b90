"""Polynomial chaos regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import validate_data

from ._basis import BasisMixin
from ._feature_names import BasisFeatureNamesMixin
from ._goodness import predictive_q2, weighted_spread, without_slopes
from ._sample_weight import checked_sample_weight
from ._sobol import sobol_indices
from ._solvers import make_solver

FloatArray = NDArray[np.float64]


class PolynomialChaosRegressor(
    BasisMixin,
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
    distribution : {"normal", "uniform"}, frozen law, or list, default="normal"
        The law of each input, as in :class:`PolynomialChaosFeatures`. Sobol indices
        are exact only for frozen laws; learned ones carry the error of the learned
        location and scale.
    truncation : {"total_degree", "hyperbolic"}, default="total_degree"
        How the index set is cut; ``"hyperbolic"`` uses the q-norm.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1]; only with ``truncation="hyperbolic"``.
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    solver : {"ridge", "ols", "paper"}, default="ridge"
        ``"ridge"``: the intercept is free and the penalty of each target is chosen
        by closed-form leave-one-out. ``"ols"``: least squares, of least norm when
        there are more terms than samples. ``"paper"``: the intercept is penalised
        too, penalties 1e-8 ... 1 by generalised cross-validation (the paper's
        eq. 4); for comparison only.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties for ``"ridge"``, in units of the sum-of-squares loss; None means
        25 values from 1e-8 to 1e4.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_targets, n_terms)
        Coefficients; column 0 is the mean of the expansion.
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is the constant.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalty.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_targets, n_features)
        First-order and total Sobol indices: shares of the variance *of the
        expansion*. 0 for a target without variance.
    total_variance_ : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of y.
    loo_error_ : ndarray of shape (n_targets,)
        Mean squared leave-one-out residual; ``inf`` where it is not defined.
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
    one of them.

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
        solver: str = "ridge",
        alphas: ArrayLike | None = None,
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.solver = solver
        self.alphas = alphas

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
        """
        owner = type(self).__name__
        solver = make_solver(owner, self.solver, self.alphas)
        X, y = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
        )
        targets = y.reshape(y.shape[0], -1).astype(np.float64)
        self._check_basis(X.shape[1])
        weights = checked_sample_weight(sample_weight, X)
        used = weights > 0
        X, targets, weights = X[used], targets[used], weights[used]
        self._fit_basis(X, weights)
        fit = solver.fit(
            self.basis_.evaluate(X), targets, weights, np.arange(targets.shape[1])
        )
        self.coefficients_ = without_slopes(
            fit.coefficients, weighted_spread(targets, weights)
        )
        self.alpha_ = fit.alpha
        self.loo_error_, self.q2_ = predictive_q2(fit.loo_residuals, targets, weights)
        self._n_dimensions_of_y = y.ndim
        self._set_indices()
        return self

    def _set_indices(self) -> None:
        indices = sobol_indices(self.coefficients_, self.multi_indices_)
        self.sobol_indices_ = indices.first_order
        self.total_sobol_indices_ = indices.total_order
        self.total_variance_ = indices.total_variance
        self.unexplained_share_ = np.clip(1.0 - self.q2_, 0.0, 1.0)
        weight = indices.total_variance
        total = weight.sum()
        self.feature_importances_ = (
            weight @ indices.total_order / total
            if total > 0
            else np.zeros(self.n_features_in_)
        )

    def predict(self, X: ArrayLike) -> FloatArray:
        """Evaluate the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.
        """
        values = self.transform(X) @ self.coefficients_.T
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
