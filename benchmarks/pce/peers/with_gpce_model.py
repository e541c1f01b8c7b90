"""gPCE_model: pseudoinverse."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]


def make() -> Fit:
    """Return the fit."""
    import uncertain_variables as uv
    from gPCE_model import GpcModel

    def variable(name: str, law: Any) -> Any:
        if is_normal(law):
            return uv.Variable(name, uv.NormalDistribution(law.mean(), law.std()))
        return uv.Variable(name, uv.UniformDistribution(*law.support()))

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        variables = uv.VariableSet()
        names = [f"x{i}" for i in range(len(laws))]
        for name, law in zip(names, laws, strict=True):
            variables.add(variable(name, law))
        model = GpcModel(variables, p=degree)
        model.compute_coeffs_by_regression(X, Y)

        def total_indices() -> FloatArray:
            outputs = SimpleNamespace(
                model=model, QoI_names=[str(k) for k in range(Y.shape[1])]
            )
            _, shares, _ = model.compute_partial_vars(outputs, max_index=len(laws))
            members = [set(str(name).split()) for name in shares.columns]
            active = np.array([[name in m for name in names] for m in members])
            return shares.to_numpy() @ active

        return Fitted(model.predict, total_indices)

    return fit


METHODS = (Method("gPCE_model", "peer", "gPCE_model", make),)
