"""PyTUQ: least squares, and Bayesian compressive sensing, one output at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal, standardise
from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]


def make(sparse: bool) -> Fit:
    """Return the fit; the basis is evaluated once for all outputs."""
    from pytuq.lreg.bcs import bcs
    from pytuq.lreg.lreg import lsq
    from pytuq.rv.pcrv import PCRV
    from pytuq.utils.mindex import get_mi

    def coefficients(design: FloatArray, y: FloatArray) -> FloatArray:
        regression = bcs() if sparse else lsq()
        regression.fita(design, y)
        found = np.zeros(design.shape[1])
        found[regression.used] = regression.cf
        return found

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        kinds = ["HG" if is_normal(law) else "LU" for law in laws]
        indices = get_mi(degree, len(laws))
        basis = PCRV(1, len(laws), kinds, mi=indices)
        design = basis.evalBases(standardise(X, laws), 0)
        found = np.array([coefficients(design, y) for y in Y.T])

        def total_indices() -> FloatArray:
            model = PCRV(len(found), len(laws), kinds, mi=indices, cfs=found)
            return np.asarray(model.computeTotSens()).reshape(len(found), -1)

        return Fitted(
            lambda points: basis.evalBases(standardise(points, laws), 0) @ found.T,
            total_indices,
        )

    return fit


METHODS = (
    Method("PyTUQ", "peer", "pytuq", lambda: make(False)),
    Method("PyTUQ BCS", "peer", "pytuq", lambda: make(True)),
)
