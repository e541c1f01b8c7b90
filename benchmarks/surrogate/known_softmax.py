"""An ensemble whose law is known: a softmax of known polynomials and a residual.

Logits are expansions of degree 2 in three independent standard normal inputs, in two
steps of 3 and 4 actions; the third input does nothing in the first step. Each logit of
each member has an independent normal residual. True values are closed forms of the
coefficients, tensor quadrature where a probability is integrated over the inputs, or
quasi-Monte Carlo where residuals are integrated too. Nothing here calls ``skpce``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, permutations, product
from math import factorial

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import NDArray
from scipy.linalg import block_diag, helmert
from scipy.special import softmax, xlogy
from scipy.stats import norm, qmc

FloatArray = NDArray[np.float64]

WIDTHS = (3, 4)
N_INPUTS = 3
EXPONENTS = np.array(
    [e for e in product(range(3), repeat=N_INPUTS) if sum(e) <= 2], dtype=np.int64
)
STEP_OF_PART = np.repeat(np.arange(len(WIDTHS)), WIDTHS)
BY_STEP = (np.arange(len(WIDTHS))[:, np.newaxis] == STEP_OF_PART).astype(float)
PAIRS = tuple(combinations(range(N_INPUTS), 2))

_NODES = 40
_LOG2_DRAWS = 18


def hermite_design(X: FloatArray) -> FloatArray:
    """Return products of orthonormal Hermite polynomials; (n_members, n_terms)."""
    values = [
        hermite_e.hermeval(X, np.eye(3)[k]) / np.sqrt(factorial(k)) for k in range(3)
    ]
    return np.column_stack(
        [np.prod([values[k][:, i] for i, k in enumerate(e)], axis=0) for e in EXPONENTS]
    )


def blockwise(matrix_of: dict[int, FloatArray]) -> FloatArray:
    """Put one matrix per width side by side, in the order of the steps."""
    return block_diag(*[matrix_of[width] for width in WIDTHS])


def shares(squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return first-order, total and Shapley shares of rows of squared coefficients.

    The Shapley effects are means over all orders of the inputs of what an input adds
    to the variance that the inputs before it explain.
    """
    constant = ~EXPONENTS.any(axis=1)
    whole = squares[:, ~constant].sum(axis=1, keepdims=True)

    def closed(chosen: tuple[int, ...]) -> FloatArray:
        outside = [i for i in range(N_INPUTS) if i not in chosen]
        inside = ~EXPONENTS[:, outside].any(axis=1) & ~constant
        return squares[:, inside].sum(axis=1)

    everything = tuple(range(N_INPUTS))
    first = np.column_stack([closed((i,)) for i in everything])
    others = [tuple(k for k in everything if k != i) for i in everything]
    total = whole - np.column_stack([closed(rest) for rest in others])
    shapley = np.zeros_like(first)
    for order in permutations(everything):
        for k, i in enumerate(order):
            shapley[:, i] += closed(order[: k + 1]) - closed(order[:k])
    return first / whole, total / whole, shapley / factorial(N_INPUTS) / whole


@dataclass(frozen=True)
class KnownSoftmax:
    """The law of the members.

    Parameters
    ----------
    residual : float
        Standard deviation of the residual of each logit.
    """

    residual: float

    @cached_property
    def coefficients(self) -> FloatArray:
        """Coefficients of the logits, centred by step; (n_parts, n_terms)."""
        values = np.random.default_rng(99).normal(size=(len(STEP_OF_PART), 10))
        values *= np.where(EXPONENTS.sum(axis=1) == 2, 0.5, 1.0)
        values[np.ix_(STEP_OF_PART == 0, EXPONENTS[:, 2] > 0)] = 0.0
        return values - (BY_STEP.T / BY_STEP.sum(axis=1)) @ (BY_STEP @ values)

    def logits(self, X: FloatArray) -> FloatArray:
        return hermite_design(X) @ self.coefficients.T

    def policy(self, X: FloatArray, residual: FloatArray | None = None) -> FloatArray:
        logits = self.logits(X)
        if residual is not None:
            logits = logits + self.residual * residual
        starts = np.cumsum([0, *WIDTHS])
        return np.concatenate(
            [softmax(logits[..., a:b], axis=-1) for a, b in pairwise(starts)],
            axis=-1,
        )

    def draw(self, n: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return the inputs and the policies of some members."""
        generator = np.random.default_rng([seed, n])
        X = generator.normal(size=(n, N_INPUTS))
        return X, self.policy(X, generator.normal(size=(n, len(STEP_OF_PART))))

    def squares(self, level: str) -> FloatArray:
        """Return squared coefficients of the rows of a level; (n_rows, n_terms)."""
        if level in ("step", "trajectory"):
            by_step = BY_STEP @ np.square(self.coefficients)
            return by_step if level == "step" else by_step.sum(axis=0, keepdims=True)
        matrix_of = {
            "clr": {k: np.eye(k) for k in WIDTHS},
            "ilr": {k: helmert(k) for k in WIDTHS},
            "alr": {k: np.eye(k)[:-1] - np.eye(k)[-1] for k in WIDTHS},
        }[level]
        return np.square(blockwise(matrix_of) @ self.coefficients)

    @cached_property
    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Policies without residual on a tensor grid, and weights of one axis."""
        nodes, weights = hermite_e.hermegauss(_NODES)
        X = np.array(list(product(nodes, repeat=N_INPUTS)))
        shape = (_NODES,) * N_INPUTS + (len(STEP_OF_PART),)
        return self.policy(X).reshape(shape), weights / weights.sum()

    def mean_given(self, chosen: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Return E[p | some inputs] on the grid of these inputs, and its weights."""
        values, weights = self._grid
        others = [i for i in range(N_INPUTS) if i not in chosen]
        for i in sorted(others, reverse=True):
            values = np.tensordot(weights, values, axes=(0, i))
        joint = np.ones(1)
        for _ in chosen:
            joint = np.multiply.outer(joint, weights)
        return values.reshape(-1, len(STEP_OF_PART)), joint.ravel()

    def _variance_given(self, chosen: tuple[int, ...]) -> FloatArray:
        values, weights = self.mean_given(chosen)
        return weights @ np.square(values - weights @ values)

    @cached_property
    def probability_indices(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Partial variances of the probabilities: first-order, total, whole."""
        everything = tuple(range(N_INPUTS))
        whole = self._variance_given(everything)
        first = [self._variance_given((i,)) for i in everything]
        others = [tuple(k for k in everything if k != i) for i in everything]
        total = [whole - self._variance_given(rest) for rest in others]
        return np.array(first).T, np.array(total).T, whole

    def probability_main_effects(self, points: FloatArray) -> FloatArray:
        """Return E[p | x_i] - E[p] at some values; (n_inputs, n_points, n_parts)."""
        nodes, weights = hermite_e.hermegauss(_NODES)
        weights = weights / weights.sum()
        rest = np.array(list(product(nodes, repeat=N_INPUTS - 1)))
        joint = np.multiply.outer(weights, weights).ravel()
        mean = self.mean_given(())[0][0]
        return np.array(
            [
                [
                    joint @ self.policy(np.insert(rest, i, value, axis=1)) - mean
                    for value in points
                ]
                for i in range(N_INPUTS)
            ]
        )

    @cached_property
    def _members(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Policies of members: two with the same inputs, one with others."""
        n_parts = len(STEP_OF_PART)
        sobol = qmc.Sobol(2 * (N_INPUTS + n_parts), rng=np.random.default_rng(0))
        normal = norm.ppf(sobol.random_base2(_LOG2_DRAWS))
        X, other, one, two = np.split(
            normal, np.cumsum([N_INPUTS, N_INPUTS, n_parts]), axis=1
        )
        return self.policy(X, one), self.policy(X, two), self.policy(other, two)

    @cached_property
    def fragility(self) -> dict[str, FloatArray]:
        """Measures of disagreement of members; each (n_steps,)."""
        p, _, stranger = self._members
        mean = p.mean(axis=0)
        widths = np.array(WIDTHS)
        signal = self.squares("step")[:, 1:].sum(axis=1)
        alr = self.squares("alr")[:, 1:].sum(axis=1)
        alr_of_step = np.array([alr[:2].sum(), alr[2:].sum()])
        middle = (p + mean) / 2
        divergence = xlogy(p, p / middle) + xlogy(mean, mean / middle)
        distance = {
            "total_variation": np.abs(p - mean),
            "pairwise_total_variation": np.abs(p - stranger),
            "jensen_shannon": divergence,
        }
        found = {
            name: BY_STEP @ value.mean(axis=0) / 2 for name, value in distance.items()
        }
        found["mutual_information"] = BY_STEP @ xlogy(p, p / mean).mean(axis=0)
        found["aitchison_variance"] = signal + (widths - 1) * self.residual**2
        # A residual of variance s² in each logit is 2 s² in each alr coordinate.
        found["alr_sum"] = alr_of_step + 2 * (widths - 1) * self.residual**2
        return found

    @cached_property
    def noise_shares(self) -> dict[str, FloatArray]:
        """Share of the residual in three measures of disagreement; (n_steps,)."""
        p, twin, _ = self._members
        noise = (np.array(WIDTHS) - 1) * self.residual**2
        pair = BY_STEP @ np.abs(p - twin).mean(axis=0) / 2
        given = BY_STEP @ self._information_within
        return {
            "aitchison_variance": noise / self.fragility["aitchison_variance"],
            "total_variation": pair / self.fragility["pairwise_total_variation"],
            "mutual_information": given / self.fragility["mutual_information"],
        }

    @cached_property
    def _information_within(self) -> FloatArray:
        """E[p log p] - E[m log m] with m = E[p | inputs], part by part."""
        n_parts = len(STEP_OF_PART)
        sobol = qmc.Sobol(n_parts, rng=np.random.default_rng(2))
        residual = norm.ppf(sobol.random_base2(9))[:, np.newaxis]
        sobol = qmc.Sobol(N_INPUTS, rng=np.random.default_rng(3))
        outer = norm.ppf(sobol.random_base2(11))
        gain = np.zeros(n_parts)
        for X in np.array_split(outer, 64):
            p = self.policy(X, residual)
            mean = p.mean(axis=0)
            gain += (xlogy(p, p).mean(axis=0) - xlogy(mean, mean)).sum(axis=0)
        return gain / len(outer)
