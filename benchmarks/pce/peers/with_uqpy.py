"""UQpy: least squares, and least angle regression with selection by leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method, column_wise

FloatArray = NDArray[np.float64]


def make(sparse: bool) -> Fit:
    """Return the fit; UQpy selects terms for one output at a time."""
    from UQpy.distributions import JointIndependent, Normal, Uniform
    from UQpy.sensitivity.PceSensitivity import PceSensitivity
    from UQpy.surrogates.polynomial_chaos import (
        LeastAngleRegression,
        LeastSquareRegression,
        PolynomialChaosExpansion,
        TotalDegreeBasis,
    )

    def marginal(law: Any) -> Any:
        if is_normal(law):
            return Normal(loc=float(law.mean()), scale=float(law.std()))
        low, high = (float(bound) for bound in law.support())
        return Uniform(loc=low, scale=high - low)

    def expansion(laws: Sequence[Any], degree: int) -> Any:
        joint = JointIndependent(marginals=[marginal(law) for law in laws])
        return PolynomialChaosExpansion(
            polynomial_basis=TotalDegreeBasis(joint, degree),
            regression_method=LeastSquareRegression(),
        )

    def fitted(model: Any) -> Fitted:
        def total_indices() -> FloatArray:
            sensitivity = PceSensitivity(model)
            sensitivity.run()
            return sensitivity.total_order_indices.T

        return Fitted(lambda points: np.asarray(model.predict(points)), total_indices)

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        if not sparse:
            model = expansion(laws, degree)
            model.fit(X, Y)
            return fitted(model)

        def fit_one(column: FloatArray) -> Fitted:
            model = expansion(laws, degree)
            model.fit(X, column[:, None])
            return fitted(LeastAngleRegression.model_selection(model))

        return column_wise(fit_one, Y)

    return fit


METHODS = (
    Method("UQpy", "peer", "UQpy", lambda: make(False)),
    Method("UQpy LAR", "peer", "UQpy", lambda: make(True)),
)
