"""The methods of the comparison of fits: the one place to add one.

A method is a function of X, y and the distributions of the inputs. It returns the
function that predicts and, where the method has them, its own first-order and total
indices; without, they are estimated on the predictions. The peers get the
distributions, and their inputs uniform or normal (:func:`.additive_kernel.germ`); ours
learns what it needs from X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import PolynomialChaosRegressor

from .additive_kernel import AdditiveKernel, germ

FloatArray = NDArray[np.float64]
Predict = Callable[[FloatArray], FloatArray]
Shares = tuple[FloatArray, FloatArray]
Fitted = tuple[Predict, Callable[[], Shares] | None]
FitOne = Callable[[FloatArray, FloatArray, Sequence[Any]], Fitted]
#: Terms that the peers' sparse fits choose from; the degree follows, up to 10.
MOST_TERMS = 1001


def estimator(make: Callable[[Sequence[Any]], Any]) -> FitOne:
    """Return the fit of one of our estimators, or of scikit-learn's."""

    def fit(X: FloatArray, y: FloatArray, laws: Sequence[Any]) -> Fitted:
        model = make(laws).fit(X, y)
        if not hasattr(model, "sobol_indices_"):
            return model.predict, None
        return model.predict, lambda: (
            np.ravel(model.sobol_indices_),
            np.ravel(model.total_sobol_indices_),
        )

    return fit


def gaussian_process(n_inputs: int, n_restarts: int = 0) -> Any:
    """Return a process with a length for every input, behind a scaling."""
    lengths = RBF(np.ones(n_inputs), (1e-2, 1e3))
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * lengths + WhiteKernel(0.1, (1e-8, 1e1))
    process = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=n_restarts, random_state=0
    )
    return make_pipeline(StandardScaler(), process)


def additive_kernel(X: FloatArray, y: FloatArray, laws: Sequence[Any]) -> Fitted:
    """Fit the orthogonal additive kernel."""
    measures, U = germ(laws, X)
    model = AdditiveKernel(measures).fit(U, y)
    return lambda T: model.predict(germ(laws, T)[1]), model.indices


def sparse(fit: Callable[..., Predict]) -> FitOne:
    """Return the sparse fit of another package: of inputs on the germ, to a degree."""

    def fit_one(X: FloatArray, y: FloatArray, laws: Sequence[Any]) -> Fitted:
        measures, U = germ(laws, X)
        d = len(laws)
        degree = max(k for k in range(1, 11) if comb(d + k, d) <= MOST_TERMS)
        is_flat = [law.dist.name == "uniform" for law in measures]
        predict = fit(U, y, is_flat, degree)
        return lambda T: np.ravel(predict(germ(laws, T)[1])), None

    return fit_one


def openturns_lars(
    U: FloatArray, y: FloatArray, is_flat: Sequence[bool], degree: int
) -> Predict:
    """Select terms by least angle regression and the corrected leave-one-out."""
    import openturns as ot

    ot.Log.Show(ot.Log.NONE)
    ot.TBB.Disable()
    law = ot.JointDistribution([ot.Uniform() if u else ot.Normal() for u in is_flat])
    enumeration = ot.LinearEnumerateFunction(len(is_flat))
    families = [
        ot.StandardDistributionPolynomialFactory(law.getMarginal(i))
        for i in range(len(is_flat))
    ]
    basis = ot.OrthogonalProductPolynomialFactory(families, enumeration)
    size = enumeration.getBasisSizeFromTotalDegree(degree)
    selection = ot.LeastSquaresMetaModelSelectionFactory(
        ot.LARS(), ot.CorrectedLeaveOneOut()
    )
    algorithm = ot.FunctionalChaosAlgorithm(
        ot.Sample(U),
        ot.Sample(y[:, None]),
        law,
        ot.FixedStrategy(basis, size),
        ot.LeastSquaresStrategy(selection),
    )
    algorithm.run()
    model = algorithm.getResult().getMetaModel()
    return lambda points: np.array(model(ot.Sample(points)))


def uqpy_lar(
    U: FloatArray, y: FloatArray, is_flat: Sequence[bool], degree: int
) -> Predict:
    """Select terms by least angle regression and leave-one-out."""
    from UQpy.distributions import JointIndependent, Normal, Uniform
    from UQpy.surrogates.polynomial_chaos import (
        LeastAngleRegression,
        LeastSquareRegression,
        PolynomialChaosExpansion,
        TotalDegreeBasis,
    )

    law = JointIndependent(
        [Uniform(loc=-1.0, scale=2.0) if u else Normal() for u in is_flat]
    )
    model = PolynomialChaosExpansion(
        polynomial_basis=TotalDegreeBasis(law, degree),
        regression_method=LeastSquareRegression(),
    )
    model.fit(U, y[:, None])
    return LeastAngleRegression.model_selection(model).predict


def pyapprox_omp(
    U: FloatArray, y: FloatArray, is_flat: Sequence[bool], degree: int
) -> Predict:
    """Pursue at most a hundred terms, and select by leave-one-out."""
    from pyapprox.probability import GaussianMarginal, UniformMarginal
    from pyapprox.surrogates.affine.expansions import (
        OMPCVFitter,
        create_pce_from_marginals,
    )
    from pyapprox.util.backends.numpy import NumpyBkd

    backend = NumpyBkd()
    marginals = [
        UniformMarginal(-1.0, 1.0, backend)
        if u
        else GaussianMarginal(0.0, 1.0, backend)
        for u in is_flat
    ]
    model = create_pce_from_marginals(marginals, degree, backend)
    longest = min(len(U) - 3, model.nterms(), 100)
    fitter = OMPCVFitter(backend, max_nonzeros=longest)
    surrogate = fitter.fit(model, U.T, y[None]).surrogate()
    return lambda points: np.asarray(surrogate(points.T))


OURS = "skpce"
METHODS: dict[str, FitOne] = {
    OURS: estimator(lambda laws: PolynomialChaosRegressor()),
    "Gaussian process": estimator(lambda laws: gaussian_process(len(laws))),
    "Gaussian process, restart": estimator(lambda laws: gaussian_process(len(laws), 1)),
    "forest": estimator(lambda laws: RandomForestRegressor(random_state=0)),
    "additive kernel": additive_kernel,
    "OpenTURNS LARS": sparse(openturns_lars),
    "UQpy LAR": sparse(uqpy_lar),
    "PyApprox OMP": sparse(pyapprox_omp),
    "old default": estimator(
        lambda laws: PolynomialChaosRegressor(
            degree=2, solver="ridge", distribution="normal"
        )
    ),
}
#: Measured at the commit 279c1e7, the last that has them: ``solver="auto"`` at degree 3
#: and ``PolynomialChaosRegressorCV()``, both with the true distributions of the inputs.
REMOVED = ("old auto", "old CV")
#: Left out of the quick run: they take seconds a fit, or a package that is not there.
SLOW = ("Gaussian process, restart", "UQpy LAR", "PyApprox OMP")
