"""OpenTURNS: least squares on the full basis, and least angle regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recurrences import is_normal
from .base import Fit, Fitted, Method

FloatArray = NDArray[np.float64]


def make(sparse: bool) -> Fit:
    """Return the fit; ``sparse`` selects terms by the corrected leave-one-out."""
    import openturns as ot

    ot.Log.Show(ot.Log.NONE)
    ot.TBB.Disable()

    def distribution(laws: Sequence[Any]) -> Any:
        return ot.JointDistribution(
            [
                ot.Normal(law.mean(), law.std())
                if is_normal(law)
                else ot.Uniform(*law.support())
                for law in laws
            ]
        )

    def projection() -> Any:
        if not sparse:
            return ot.LeastSquaresStrategy()
        return ot.LeastSquaresStrategy(
            ot.LeastSquaresMetaModelSelectionFactory(
                ot.LARS(), ot.CorrectedLeaveOneOut()
            )
        )

    def fit(X: FloatArray, Y: FloatArray, laws: Sequence[Any], degree: int) -> Fitted:
        joint = distribution(laws)
        enumeration = ot.LinearEnumerateFunction(len(laws))
        basis = ot.OrthogonalProductPolynomialFactory(
            [
                ot.StandardDistributionPolynomialFactory(joint.getMarginal(i))
                for i in range(len(laws))
            ],
            enumeration,
        )
        size = enumeration.getBasisSizeFromTotalDegree(degree)
        algorithm = ot.FunctionalChaosAlgorithm(
            ot.Sample(X),
            ot.Sample(Y),
            joint,
            ot.FixedStrategy(basis, size),
            projection(),
        )
        algorithm.run()
        result = algorithm.getResult()
        model = result.getMetaModel()

        def total_indices() -> FloatArray:
            indices = ot.FunctionalChaosSobolIndices(result)
            return np.array(
                [
                    [indices.getSobolTotalIndex(i, k) for i in range(len(laws))]
                    for k in range(Y.shape[1])
                ]
            )

        return Fitted(lambda points: np.array(model(ot.Sample(points))), total_indices)

    return fit


METHODS = (
    Method("OpenTURNS full", "peer", "openturns", lambda: make(False)),
    Method("OpenTURNS LARS", "peer", "openturns", lambda: make(True)),
)
