"""tesuract: least squares and cross-validated matching pursuit, uniform inputs only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal, standardise
from .base import Fit, Fitted, Method, NotSupportedError, column_wise

FloatArray = NDArray[np.float64]


def make(fit_type: str) -> Fit:
    """Return the fit."""
    from tesuract import PCEReg

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        if any(is_normal(law) for law in laws):
            raise NotSupportedError("uniform inputs only")
        standardised = standardise(X, laws)

        def fit_one(column: FloatArray) -> Fitted:
            model = PCEReg(order=degree, fit_type=fit_type, normalized=True)
            model.fit(standardised, column)
            return Fitted(
                lambda points: model.predict(standardise(points, laws)),
                lambda: np.array(model.sensitivity_indices()),
            )

        return column_wise(fit_one, Y)

    return fit


METHODS = (
    Method("tesuract", "peer", "tesuract", lambda: make("linear")),
    Method("tesuract OMP", "peer", "tesuract", lambda: make("OmpCV")),
)
