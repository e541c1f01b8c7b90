"""pygpc: pseudoinverse, and LARS-lasso with a fixed penalty."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]

#: Penalty of the lasso, for outputs of variance 1: pygpc does not choose it.
LASSO_ALPHA = 1e-3


def make(sparse: bool) -> Fit:
    """Return the fit."""
    import pygpc
    from pygpc.testfunctions import Dummy

    def parameter(law: Any) -> Any:
        if is_normal(law):
            return pygpc.Norm(pdf_shape=[float(law.mean()), float(law.std())])
        limits = [float(bound) for bound in law.support()]
        return pygpc.Beta(pdf_shape=[1, 1], pdf_limits=limits)

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        parameters = OrderedDict(
            (f"x{i}", parameter(law)) for i, law in enumerate(laws)
        )
        n_features = len(laws)
        model = pygpc.Reg(
            problem=pygpc.Problem(Dummy(), parameters),
            order=[degree] * n_features,
            order_max=degree,
            order_max_norm=1.0,
            interaction_order=n_features,
            interaction_order_current=n_features,
            options={"verbose": False, "backend": "python"},
        )
        model.backend = "python"
        grid = pygpc.RandomGrid(parameters_random=parameters, coords=X)
        model.grid = grid
        model.init_gpc_matrix()
        centre, scale = Y.mean(axis=0), Y.std(axis=0)
        coefficients = model.solve(
            results=(Y - centre) / scale,
            solver="LarsLasso" if sparse else "Moore-Penrose",
            settings={"alpha": LASSO_ALPHA} if sparse else None,
        )

        def predict(points: FloatArray) -> FloatArray:
            standardised = grid.get_normalized_coordinates(points)
            found = model.get_approximation(coefficients, standardised)
            return centre + scale * np.asarray(found).reshape(len(points), -1)

        def total_indices() -> FloatArray:
            shares, sets, _ = model.get_sobol_indices(coefficients)
            return np.array(
                [
                    sum(
                        share
                        for share, chosen in zip(shares, sets, strict=True)
                        if i in chosen
                    )
                    for i in range(n_features)
                ]
            ).T

        return Fitted(predict, total_indices)

    return fit


METHODS = (
    Method("pygpc", "peer", "pygpc", lambda: make(False)),
    Method("pygpc LarsLasso", "peer", "pygpc", lambda: make(True)),
)
