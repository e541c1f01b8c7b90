"""chaospy: point collocation by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]


def make() -> Fit:
    """Return the fit."""
    import chaospy as cp

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        joint = cp.J(
            *(
                cp.Normal(law.mean(), law.std())
                if is_normal(law)
                else cp.Uniform(*law.support())
                for law in laws
            )
        )
        basis = cp.generate_expansion(degree, joint, normed=True)
        model = cp.fit_regression(basis, X.T, Y)
        return Fitted(
            lambda points: np.asarray(model(*points.T)).T.reshape(len(points), -1),
            lambda: cp.Sens_t(model, joint).T,
        )

    return fit


METHODS = (Method("chaospy", "peer", "chaospy", make),)
