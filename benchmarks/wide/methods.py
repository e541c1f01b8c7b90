"""Regressors that are compared on many inputs.

``composed``: an expansion of expansions. The first layer is a few linear expansions of
all univariate terms, the second one an expansion of total degree 3 in their values, as
in deep polynomial chaos; both layers are trained together by gradients from a start at
partial least squares, with the number of units and the decay of the weights chosen on a
fifth of the sample.

``additive process``: a Gaussian process with orthogonal additive kernels (Lu,
Boukouvalas and Hensman, ICML 2022): a squared-exponential kernel of each standardised
input, less its mean over the input, one length and a variance for each order of
interaction, by marginal likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpce import PolynomialChaosRegressor

FloatArray = NDArray[np.float64]


class AdditiveProcess(RegressorMixin, BaseEstimator):
    """A Gaussian process with orthogonal additive kernels up to order two."""

    def fit(self, X: FloatArray, y: FloatArray) -> AdditiveProcess:
        self.center_, self.scale_ = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(self.scale_ > 0, self.scale_, 1.0)
        self.X_ = (X - self.center_) / self.scale_
        self.mean_, self.unit_ = y.mean(), max(y.std(), 1e-30)
        target = (y - self.mean_) / self.unit_
        best = np.inf
        for length in (1.0, 2.0, 4.0):
            orders = self._orders(self.X_, length)

            def loss(log: FloatArray, orders: Any = orders) -> float:
                kernel = np.tensordot(np.exp(log[:2]), orders, 1)
                kernel[np.diag_indices_from(kernel)] += np.exp(log[2]) + 1e-8
                try:
                    factor = cho_factor(kernel, lower=True)
                except np.linalg.LinAlgError:
                    return 1e10
                fitted = target @ cho_solve(factor, target)
                return float(fitted / 2 + np.log(np.diag(factor[0])).sum())

            found = minimize(loss, np.array([-0.5, -2.0, -2.0]), method="Nelder-Mead")
            if found.fun < best:
                best, self.length_, self.log_ = found.fun, length, found.x
        kernel = np.tensordot(np.exp(self.log_[:2]), self._orders(self.X_), 1)
        kernel[np.diag_indices_from(kernel)] += np.exp(self.log_[2]) + 1e-8
        self.dual_ = cho_solve(cho_factor(kernel, lower=True), target)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        orders = self._orders((X - self.center_) / self.scale_)
        kernel = np.tensordot(np.exp(self.log_[:2]), orders, 1)
        return np.asarray(self.mean_ + self.unit_ * kernel @ self.dual_)

    def _orders(self, Z: FloatArray, length: float | None = None) -> FloatArray:
        """Return the kernels of orders one and two, each with a mean diagonal of 1."""
        length = self.length_ if length is None else length
        first, squares = np.zeros((2, len(Z), len(self.X_)))
        spread = length**2
        for one, two in zip(Z.T, self.X_.T, strict=True):
            kernel = np.exp(-((one[:, np.newaxis] - two) ** 2) / (2 * spread))
            means = [np.exp(-(c**2) / (2 * (1 + spread))) for c in (one, two)]
            factor = length * np.sqrt(2 + spread) / (1 + spread)
            kernel -= factor * np.outer(*means)
            first += kernel
            squares += kernel**2
        pairs = (first**2 - squares) / 2
        if length is not None and len(Z) == len(self.X_):
            self.units_ = [max(np.diag(k).mean(), 1e-30) for k in (first, pairs)]
        return np.array([first / self.units_[0], pairs / self.units_[1]])


class Composed(RegressorMixin, BaseEstimator):
    """Two layers of expansions, trained together."""

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree

    def fit(self, X: FloatArray, y: FloatArray) -> Composed:
        rng = np.random.default_rng(0)
        held_out = rng.permutation(len(y)) < len(y) // 5
        self.features_ = make_pipeline(
            StandardScaler(),
            FunctionTransformer(_powers, kw_args={"degree": self.degree}),
            StandardScaler(),
        ).fit(X)
        design = self.features_.transform(X)
        self.mean_, self.unit_ = y.mean(), max(y.std(), 1e-30)
        target = (y - self.mean_) / self.unit_
        best = np.inf
        for n_units in (1, 3, 6):
            for decay in (1e-3, 1e-1):
                state = self._train(
                    design[~held_out], target[~held_out], n_units, decay
                )
                error = np.mean(
                    (target[held_out] - self._evaluate(design[held_out], state)) ** 2
                )
                if error < best:
                    best, chosen = error, (n_units, decay)
        self.state_ = self._train(design, target, *chosen)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        design = self.features_.transform(X)
        return np.asarray(self.mean_ + self.unit_ * self._evaluate(design, self.state_))

    def _train(
        self, design: FloatArray, target: FloatArray, n_units: int, decay: float
    ) -> Any:
        import torch

        torch.set_num_threads(1)
        n_units = min(n_units, design.shape[1], len(design) - 2)
        start = PLSRegression(n_units, scale=False).fit(design, target)
        A, y = torch.tensor(design), torch.tensor(target)
        W = torch.tensor(start.x_rotations_.copy())
        W = (W / (A @ W).std(dim=0)).requires_grad_()
        n_terms = len(_second_layer(torch.zeros(1, n_units))[0])
        c = torch.zeros(n_terms, dtype=torch.float64)
        c[1 : 1 + n_units] = torch.tensor(start.y_loadings_[0]) * 0.5
        c.requires_grad_()
        optimizer = torch.optim.Adam([W, c], lr=0.01)
        for _ in range(400):
            optimizer.zero_grad()
            units = A @ W
            units = units / units.std(dim=0)
            loss = ((_second_layer(units) @ c - y) ** 2).mean()
            loss = loss + decay * ((c[1:] ** 2).sum() + (W**2).sum())
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            return W.numpy() / (A @ W).std(dim=0).numpy(), c.numpy()

    def _evaluate(self, design: FloatArray, state: Any) -> FloatArray:
        import torch

        W, c = state
        return np.asarray(_second_layer(torch.tensor(design @ W)).numpy() @ c)


def _second_layer(units: Any) -> Any:
    """Return Hermite functions of the units: 1, single ones to degree 3, pairs."""
    import torch

    n = units.shape[1]
    one, two = torch.triu_indices(n, n, 1)
    parts = [
        torch.ones_like(units[:, :1]),
        units,
        (units**2 - 1) / 2**0.5,
        (units**3 - 3 * units) / 6**0.5,
        units[:, one] * units[:, two],
    ]
    return torch.cat(parts, dim=1)


def _powers(X: FloatArray, degree: int) -> FloatArray:
    return np.hstack([X**k for k in range(1, degree + 1)])


def _single_terms(degree: int, last: Any) -> Any:
    """Return a linear regressor of the powers of each input."""
    powers = FunctionTransformer(_powers, kw_args={"degree": degree})
    return make_pipeline(StandardScaler(), powers, StandardScaler(), last)


def _sparse(degree: int, law: Any, n_inputs: int) -> Any:
    """Return subspace pursuit on as many terms as fit: pairs up to 100 inputs."""
    few = n_inputs <= 100
    curved = few and degree > 2
    return PolynomialChaosRegressor(
        degree,
        distribution=law,
        truncation="hyperbolic" if curved else "total_degree",
        q=0.7 if curved else 1.0,
        interaction_order=None if few else 1,
        solver="subspace_pursuit",
    )


#: Makes a regressor from the degree, the laws and the number of inputs.
METHODS: dict[str, Callable[[int, Any, int], Any]] = {
    "without settings": lambda degree, law, n: PolynomialChaosRegressor(
        distribution=law
    ),
    "LassoCV": lambda degree, law, n: _single_terms(degree, LassoCV(cv=5)),
    "RidgeCV": lambda degree, law, n: _single_terms(
        degree, RidgeCV(np.logspace(-3, 5, 17))
    ),
    "subspace pursuit": _sparse,
    "additive process": lambda degree, law, n: AdditiveProcess(),
    "composed": lambda degree, law, n: Composed(degree),
}


def quiet() -> None:
    """Do not warn of penalties at the end of a path, nor of iterations."""
    warnings.simplefilter("ignore")
