"""Partial least squares as a step of a Pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.cross_decomposition import PLSRegression
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import FloatArray
from .._model_file.state import plain_state, restore_state
from ._training import checked_inputs


class PLSTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Scores of X in partial least squares: the directions of X that covary with y.

    :class:`sklearn.cross_decomposition.PLSRegression` does the work. By itself it
    does not work in a Pipeline: its ``fit_transform(X, y)`` returns the scores of X and
    of y, a tuple.

    Parameters
    ----------
    n_components : int, default=2
        Number of inputs, at most the smaller of the numbers of rows and features.
    scale : bool, default=True
        Whether features and targets are divided by their standard deviations.
    max_iter : int, default=500
        Largest number of iterations for one component.
    tol : float, default=1e-6
        Tolerance at which they end.
    target_transformer : transformer or None, default=None
        Applied to y first. For policies a :class:`skpce.LogRatioTransformer`: PLS on
        the probabilities themselves would depend mostly on the likely actions.

    Attributes
    ----------
    pls_ : PLSRegression
        With weights, loadings and coefficients.
    target_transformer_ : transformer or None
        The fitted one.
    n_iter_ : int
        Largest number of iterations of a component.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X has such.

    See Also
    --------
    skpce.inspection.verdict : Refits this step in every fold, as it depends on y.

    Notes
    -----
    Leave-one-out diagnostics of a surrogate behind this step are too good, as the
    scores already depend on the member that is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.embedding import PLSTransformer
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = np.exp(0.3 * X[:, :3].sum(axis=1))
    >>> pipeline = make_pipeline(PLSTransformer(1), PolynomialChaosRegressor(3))
    >>> round(pipeline.fit(X[:150], y[:150]).score(X[150:], y[150:]), 1)
    0.9
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        target_transformer: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.target_transformer = target_transformer

    __getstate__, __setstate__ = plain_state, restore_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> PLSTransformer:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training members.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What their scores should go with.

        Returns
        -------
        self : PLSTransformer
            The fitted transformer.
        """
        X, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        self.target_transformer_: Any = None
        if self.target_transformer is not None:
            self.target_transformer_ = clone(self.target_transformer)
            # as it was given: the columns of a data frame may name steps
            table = y if np.ndim(y) == 2 else targets.reshape(-1, 1)
            targets = np.asarray(self.target_transformer_.fit_transform(table))
        pls = PLSRegression(
            self.n_components, scale=self.scale, max_iter=self.max_iter, tol=self.tol
        )
        # scikit-learn's global output setting must not reach the scores
        self.pls_: PLSRegression = pls.set_output(transform="default").fit(X, targets)
        self.n_iter_: int = max(self.pls_.n_iter_, default=0)  # of a constant y
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> FloatArray:
        """Find the directions and return the scores of X alone; as ``fit``."""
        return self.fit(X, y).transform(X)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the scores (n_samples, n_components) of X (n_samples, n_features).

        They are uncorrelated on the rows of ``fit``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.pls_.transform(X)

    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return the members (n_samples, n_features) of given scores, by the loadings.

        Z has shape (n_samples, n_components); another width is a ``ValueError``.
        """
        check_is_fitted(self)
        return self.pls_.inverse_transform(checked_inputs(self, Z))

    @property
    def _n_features_out(self) -> int:
        return self.pls_.x_rotations_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
