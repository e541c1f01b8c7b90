"""PyApprox: least squares, and orthogonal matching pursuit with leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method, column_wise

FloatArray = NDArray[np.float64]

#: Longest path of the matching pursuit; its cost grows with the cube of the length.
MAX_TERMS = 100


def make(sparse: bool) -> Fit:
    """Return the fit; the matching pursuit takes one output at a time."""
    from pyapprox.probability import GaussianMarginal, UniformMarginal
    from pyapprox.surrogates.affine.expansions import (
        LeastSquaresFitter,
        OMPCVFitter,
        create_pce_from_marginals,
    )
    from pyapprox.util.backends.numpy import NumpyBkd

    backend = NumpyBkd()

    def marginal(law: Any) -> Any:
        if is_normal(law):
            return GaussianMarginal(float(law.mean()), float(law.std()), backend)
        return UniformMarginal(*(float(bound) for bound in law.support()), backend)

    def fitted(surrogate: Any) -> Fitted:
        return Fitted(
            lambda points: np.asarray(surrogate(points.T)).T,
            lambda: np.asarray(surrogate.total_sobol_indices()).T,
        )

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        marginals = [marginal(law) for law in laws]
        if not sparse:
            model = create_pce_from_marginals(
                marginals, degree, backend, nqoi=Y.shape[1]
            )
            found = LeastSquaresFitter(backend).fit(model, X.T, Y.T)
            return fitted(found.surrogate())
        model = create_pce_from_marginals(marginals, degree, backend)
        longest = min(len(X) - 3, model.nterms(), MAX_TERMS)

        def fit_one(column: FloatArray) -> Fitted:
            fitter = OMPCVFitter(backend, max_nonzeros=longest)
            return fitted(fitter.fit(model, X.T, column[None, :]).surrogate())

        return column_wise(fit_one, Y)

    return fit


METHODS = (
    Method("PyApprox", "peer", "pyapprox", lambda: make(False)),
    Method("PyApprox OMP-CV", "peer", "pyapprox", lambda: make(True)),
)
