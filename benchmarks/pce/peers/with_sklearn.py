"""scikit-learn: monomials with RidgeCV, and a Gaussian process; no Sobol indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]

ALPHAS = np.logspace(-8, 4, 17)


def _two_dimensional(model: Any) -> Fitted:
    return Fitted(lambda X: model.predict(X).reshape(len(X), -1))


def make_ridge() -> Fit:
    """Return the fit of a ridge on scaled monomials, one penalty an output."""

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        model = make_pipeline(
            StandardScaler(),
            PolynomialFeatures(degree, include_bias=False),
            StandardScaler(),
            RidgeCV(alphas=ALPHAS, alpha_per_target=True),
        )
        return _two_dimensional(model.fit(X, Y))

    return fit


def make_gaussian_process() -> Fit:
    """Return the fit of a Gaussian process with one length scale an input."""

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(
            np.ones(X.shape[1]), (1e-2, 1e3)
        ) + WhiteKernel(1e-4, (1e-10, 1e1))
        model = make_pipeline(
            StandardScaler(),
            GaussianProcessRegressor(kernel, normalize_y=True, random_state=0),
        )
        return _two_dimensional(model.fit(X, Y))

    return fit


METHODS = (
    Method("PolynomialFeatures + RidgeCV", "peer", "sklearn", make_ridge),
    Method("Gaussian process", "peer", "sklearn", make_gaussian_process),
)
