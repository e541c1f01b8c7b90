"""An orthogonal additive kernel (Lu, Boukouvalas and Hensman 2022), in numpy and scipy.

A Gaussian process whose kernel is a sum over the sets of up to three inputs: products
of squared-exponential kernels, each conditioned on a mean of zero under the
distribution of its input, and one weight for every order. Lengths, weights and noise
maximise the marginal likelihood. As in the paper, inputs are brought to a standard
measure first (:func:`germ`); the Sobol indices are those of the posterior mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import norm, uniform

FloatArray = NDArray[np.float64]
N_NODES = 48
_LENGTH, _ORDER, _NOISE = (0.05, 50.0), (1e-6, 1e3), (1e-6, 3.0)


def germ(laws: Sequence[Any], X: FloatArray) -> tuple[tuple[Any, ...], FloatArray]:
    """Return uniform inputs on [-1, 1] and all others as standard normal ones."""
    measures, columns = [], []
    for law, column in zip(laws, X.T, strict=True):
        places = np.clip(law.cdf(column), 1e-15, 1 - 1e-15)
        flat = law.dist.name == "uniform"
        measures.append(uniform(-1, 2) if flat else norm(0, 1))
        columns.append(2 * places - 1 if flat else norm.ppf(places))
    return tuple(measures), np.column_stack(columns)


def _squares(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a[:, None] - b[None, :]) ** 2


def elementary_sums(K: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return symmetric sums of orders one to three over the first axis."""
    one, two, three = np.zeros((3, *K.shape[1:]))
    for k in K:  # each sum over the sets that k is the last of
        three += k * two
        two += k * one
        one += k
    return one, two, three


class AdditiveKernel:
    """The fit; ``laws`` are uniform on [-1, 1] or standard normal."""

    def __init__(self, laws: Sequence[Any]) -> None:
        self.measures = []
        for law in laws:
            flat = law.dist.name == "uniform"
            nodes, weights = (leggauss if flat else hermegauss)(N_NODES)
            self.measures.append((nodes, weights / weights.sum()))

    def fit(self, X: FloatArray, y: FloatArray) -> AdditiveKernel:
        """Learn lengths, weights of orders and noise."""
        d = X.shape[1]
        self.X, self.mean, self.scale = X, y.mean(), y.std() or 1.0
        self.z = (y - self.mean) / self.scale
        self.distances = [_squares(column, column) for column in X.T]
        start = np.r_[np.zeros(d), np.log([0.1, 0.5, 0.1, 0.02]), np.log(0.05)]
        bounds = np.log([_LENGTH] * d + [_ORDER] * 4 + [_NOISE])
        options = {"maxiter": 200}
        found = minimize(
            self._objective, start, jac=True, bounds=bounds, options=options
        )
        self.lengths, self.weights = np.exp(found.x[:d]), np.exp(found.x[d : d + 4])
        K, _ = self._covariance(found.x)
        self.alpha = cho_solve(cho_factor(K), self.z)
        return self

    def _constrained(
        self, i: int, length: float, left: FloatArray, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Kernel of input i between points and the data, and by log length."""
        nodes, weights = self.measures[i]

        def kernel(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
            K = np.exp(-distances / (2 * length**2))
            return K, K * distances / length**2

        K, dK = kernel(squares)
        a, da = (part @ weights for part in kernel(_squares(left, nodes)))
        b, db = (part @ weights for part in kernel(_squares(self.X[:, i], nodes)))
        v, dv = (weights @ part @ weights for part in kernel(_squares(nodes, nodes)))
        ab = np.outer(a, b)
        slope = dK - (np.outer(da, b) + np.outer(a, db) - ab * (dv / v)) / v
        return K - ab / v, slope

    def _covariance(self, t: FloatArray) -> tuple[FloatArray, tuple[Any, ...]]:
        d = len(self.measures)
        pairs = [
            self._constrained(i, np.exp(t[i]), self.X[:, i], self.distances[i])
            for i in range(d)
        ]
        K = np.array([pair[0] for pair in pairs])
        orders, weights = elementary_sums(K), np.exp(t[d : d + 4])
        total = weights[0] + sum(
            w * e for w, e in zip(weights[1:], orders, strict=True)
        )
        total[np.diag_indices_from(total)] += np.exp(t[-1])
        return total, (K, [pair[1] for pair in pairs], orders, weights)

    def _objective(self, t: FloatArray) -> tuple[float, FloatArray]:
        """Negative log marginal likelihood and its gradient."""
        total, (K, slopes, orders, weights) = self._covariance(t)
        factor = cho_factor(total, lower=True)
        alpha = cho_solve(factor, self.z)
        inverse = cho_solve(factor, np.eye(len(alpha)))
        G = (inverse - np.outer(alpha, alpha)) / 2
        one, two, _ = orders
        gradient = []
        for k, slope in zip(K, slopes, strict=True):
            rest = one - k
            rest = weights[1] + weights[2] * rest + weights[3] * (two - k * rest)
            gradient.append(np.vdot(G, rest * slope))
        gradient += [weights[0] * G.sum()]
        gradient += [
            w * np.vdot(G, e) for w, e in zip(weights[1:], orders, strict=True)
        ]
        gradient += [np.exp(t[-1]) * np.trace(G)]
        value = self.z @ alpha / 2 + np.log(np.diag(factor[0])).sum()
        return float(value), np.array(gradient)

    def _kernels(self, T: FloatArray) -> FloatArray:
        return np.array(
            [
                self._constrained(i, length, T[:, i], _squares(T[:, i], self.X[:, i]))[
                    0
                ]
                for i, length in enumerate(self.lengths)
            ]
        )

    def predict(self, T: FloatArray) -> FloatArray:
        """Return the posterior mean."""
        K = self.weights[0] + sum(
            w * e
            for w, e in zip(
                self.weights[1:], elementary_sums(self._kernels(T)), strict=True
            )
        )
        return self.mean + self.scale * (K @ self.alpha)

    def indices(self) -> tuple[FloatArray, FloatArray]:
        """Return first-order and total indices of the posterior mean."""
        nodes = np.column_stack([nodes for nodes, _ in self.measures])
        moments = np.array(
            [
                k.T @ (weights[:, None] * k)
                for k, (_, weights) in zip(
                    self._kernels(nodes), self.measures, strict=True
                )
            ]
        )
        squares = self.weights[1:] ** 2

        def variance(order: int, M: FloatArray) -> float:
            return float(squares[order] * (self.alpha @ M @ self.alpha))

        one, two, three = elementary_sums(moments)
        whole = variance(0, one) + variance(1, two) + variance(2, three)
        if whole <= 0:
            return tuple(np.zeros((2, len(moments))))
        first, total = [], []
        for M in moments:
            pairs = M * (one - M)
            first.append(variance(0, M) / whole)
            more = variance(1, pairs) + variance(2, M * (two - pairs))
            total.append(first[-1] + more / whole)
        return np.array(first), np.array(total)
