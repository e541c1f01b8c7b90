r"""The value of noisy observations, before they are made (preposterior analysis).

The mean of :math:`n` observations with independent normal noise is
:math:`s = x + \eta`, :math:`\eta \sim N(0, r / n)`. Knowing it changes the functions of
the input to :math:`E[\psi_k(x) \mid s]`. For a normal input these are
:math:`\rho^k \psi_k(z)` with a standard normal :math:`z` and
:math:`\rho^2 = \sigma^2 / (\sigma^2 + r / n)`, by Mehler's formula [1]_: the value of
the observations is that of knowing the input, with the coefficients of degree k times
:math:`\rho^k`, for polynomials of any degree. For any other input it is

.. math:: \int \max_k \sum_i m_i\, \varphi_{r/n}(s - x_i)\, f_k(x_i)\, ds
          - \max_k E f_k

with points and masses of the input, integrated between the crossings.

References
----------
.. [1] W. N. Mehler's formula: M. Abramowitz and I. A. Stegun, "Handbook of
   Mathematical Functions", 1964, 22.6.26; as a regression, O. V. Sarmanov, Doklady
   Akademii Nauk SSSR 132 (1960).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtri

from ..._basis.basis import PolynomialBasis
from ..._checks import FloatArray
from ..._expansion.moments import marginal_basis
from ..._input_laws import InputLaw, NormalLaw
from ..._input_laws.pieces import quantiles, rule_of_pieces
from .envelope import Worth, gains, payoff, value_of_input
from .expected_value import Draws, by_degree, value_of_inputs

# Standard deviations of the noise beyond which it is left out.
_TAIL = 9.0
# Nodes of a panel, which is as wide as one standard deviation of the noise.
_NODES = 12
# Signals that are evaluated together are this many deviations apart at most.
_BLOCK = 8.0
_BISECTIONS = 48
# Panels of the signal; with more, noise is so small that the input is known.
_MOST_PANELS = 10_000
# Cuts of each panel of an input, where noise is small.
_MOST_PARTS = 64


def value_of_observations(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_actions, n_terms)
    deviations: Mapping[int, float],  # of the mean of the noise, by input
    *,
    temperature: float | None = None,
    n_samples: int = 16384,
    seed: int = 0,
) -> Worth:
    """Return the value of observing some inputs with normal noise of given deviation.

    Inputs are independent, so is the noise. Only for inputs that are numbers.
    """
    features = sorted(deviations)
    own, rows = marginal_basis(basis, features)
    noise = [deviations[i] for i in features]
    shrinkage = np.ones(len(rows))
    for i, (law, deviation) in enumerate(zip(own.laws, noise, strict=True)):
        if isinstance(law, NormalLaw):
            shrinkage *= correlation(law, deviation) ** own.multi_indices[:, i]
    shrunk = coefficients[:, rows] * shrinkage
    others = [i for i, law in enumerate(own.laws) if not isinstance(law, NormalLaw)]
    if not any((own.multi_indices[shrunk.any(axis=0)][:, i] > 0).any() for i in others):
        every = range(len(features))
        settings = {"temperature": temperature, "n_samples": n_samples, "seed": seed}
        return value_of_inputs(own, shrunk, every, **settings)  # type: ignore[arg-type]
    if len(features) == 1:
        table = by_degree(own.multi_indices[:, 0], shrunk)
        return value_of_noisy_input(own.laws[0], table, noise[0], temperature)
    return _drawn(
        own, shrunk, noise, temperature, Draws(2 * len(noise), n_samples, seed)
    )


def correlation(law: InputLaw, deviation: float) -> float:
    """Return the correlation of a normal input and its noisy observation."""
    return float(law.scale / np.hypot(law.scale, deviation))


def value_of_noisy_input(
    law: InputLaw,
    coefficients: FloatArray,  # shape: (n_actions, degree + 1)
    deviation: float,
    temperature: float | None = None,
) -> Worth:
    """Return the value of one observation of an input with normal noise."""
    gain, _ = gains(coefficients)
    degree = gain.shape[1] - 1
    if not gain[:, 1:].any():
        return Worth(0.0, 0.0)
    points, masses = _fine_rule(law, degree, deviation)
    spread = points.max() - points.min() + 2.0 * _TAIL * deviation
    if spread > _MOST_PANELS * deviation:
        return value_of_input(law, coefficients, temperature)
    values = gain @ law.evaluate(points, degree)
    return value_of_signal(points, masses, values, deviation, temperature)


def _fine_rule(
    law: InputLaw, degree: int, deviation: float
) -> tuple[FloatArray, FloatArray]:
    """Return points and masses of an input that resolve the noise."""
    points, masses = rule_of_pieces(law, np.empty(0), degree)
    if law.atoms(max(degree, 1)) is None:
        mean = masses @ points
        sd = float(np.sqrt(masses @ np.square(points - mean)))
        parts = int(min(max(np.ceil(sd / deviation), 1), _MOST_PARTS))
        points, masses = rule_of_pieces(law, np.empty(0), degree, parts)
    matters = masses > 1e-18
    return points[matters], masses[matters]


def value_of_signal(
    points: FloatArray,  # shape: (n_points,), what is observed without noise
    masses: FloatArray,  # shape: (n_points,), of sum 1
    utilities: FloatArray,  # shape: (n_actions, n_points)
    deviation: float,  # of the normal noise
    temperature: float | None = None,
) -> Worth:
    """Return the value of one noisy observation of a function of the points."""
    means = utilities @ masses
    best = int(np.argmax(means))
    signal = _Signal(points, masses, utilities - utilities[best], deviation)
    low, high = points.min() - _TAIL * deviation, points.max() + _TAIL * deviation
    n_panels = int(np.ceil((high - low) / deviation))
    edges = np.linspace(low, high, min(n_panels, _MOST_PANELS) + 1)
    if temperature is None:
        edges = np.union1d(edges, signal.crossings(edges))
    nodes, weights = leggauss(_NODES)
    half = np.diff(edges)[:, np.newaxis] / 2.0
    at = (edges[:-1, np.newaxis] + half * (nodes + 1.0)).ravel()
    weights = (half * weights).ravel()
    density, totals = signal.at(at)
    flip = float(weights @ np.where(totals.max(axis=0) > totals[best], density, 0.0))
    if temperature is None:
        value = float(weights @ totals.max(axis=0))
    else:
        safe = np.where(density > 0, density, 1.0)
        soft = density * payoff(totals / safe, temperature)
        value = float(weights @ soft - payoff(means - means[best], temperature))
    return Worth(max(value, 0.0), min(max(flip, 0.0), 1.0))


class _Signal:
    """Density of a noisy observation, and utilities times this density."""

    def __init__(
        self,
        points: FloatArray,
        masses: FloatArray,
        gain: FloatArray,  # shape: (n_actions, n_points)
        deviation: float,
    ) -> None:
        order = np.argsort(points, kind="stable")
        self.points, self.deviation = points[order], deviation
        self.weighted = np.vstack([masses, gain * masses])[:, order]

    def at(
        self, signals: FloatArray
    ) -> tuple[FloatArray, FloatArray]:  # shapes: (n,), (n_actions, n)
        order = np.argsort(signals, kind="stable")
        found = np.empty((len(self.weighted), len(signals)))
        start = 0
        while start < len(order):  # only points near a block of signals matter
            first = signals[order[start]]
            stop = np.searchsorted(
                signals, first + _BLOCK * self.deviation, sorter=order
            )
            own = order[start : max(int(stop), start + 1)]
            reach = _TAIL * self.deviation
            ends = np.searchsorted(
                self.points, [first - reach, signals[own[-1]] + reach]
            )
            near = slice(*ends.tolist())
            t = (self.points[near, np.newaxis] - signals[own]) / self.deviation
            found[:, own] = self.weighted[:, near] @ np.exp(-0.5 * t * t)
            start += len(own)
        found /= self.deviation * np.sqrt(2.0 * np.pi)
        return found[0], found[1:]

    def owners(self, signals: FloatArray) -> FloatArray:
        return np.asarray(self.at(signals)[1].argmax(axis=0))

    def crossings(self, edges: FloatArray) -> FloatArray:
        """Return where another action becomes the best one."""
        grid = _cut(edges, 4)
        values = np.partition(self.at(grid)[1], -2, axis=0)
        gap = values[-1] - values[-2]
        # Between two points at which the lead is smallest it may be lost and regained.
        lowest = np.flatnonzero((gap[1:-1] <= gap[:-2]) & (gap[1:-1] <= gap[2:])) + 1
        near = [_cut(grid[i - 1 : i + 2], 16) for i in lowest]
        grid = np.unique(np.concatenate([grid, *near]))
        owners = self.owners(grid)
        changes = np.flatnonzero(np.diff(owners))
        low, high = grid[changes], grid[changes + 1]
        first = owners[changes]
        for _ in range(_BISECTIONS if len(changes) else 0):
            middle = (low + high) / 2.0
            same = self.owners(middle) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return high


def _cut(edges: FloatArray, parts: int) -> FloatArray:
    """Cut each interval into equal parts."""
    steps = np.arange(parts) / parts
    points = edges[:-1, np.newaxis] + np.diff(edges)[:, np.newaxis] * steps
    return np.append(points.ravel(), edges[-1])


def _drawn(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shrunk in normal inputs
    noise: Sequence[float],
    temperature: float | None,
    draws: Draws,
) -> Worth:
    """Draw the inputs and the noise, and average over what is known afterwards."""
    gain, _ = gains(coefficients)
    largest = basis.multi_indices.max(axis=0).tolist()
    rules = [
        None if isinstance(law, NormalLaw) else _fine_rule(law, degree, deviation)
        for law, degree, deviation in zip(basis.laws, largest, noise, strict=True)
    ]

    def values_at(uniforms: FloatArray) -> FloatArray:
        product = np.ones((len(gain[0]), len(uniforms)))
        for i, (law, rule) in enumerate(zip(basis.laws, rules, strict=True)):
            inputs = quantiles(law, uniforms[:, 2 * i], largest[i])
            if rule is None:
                table = law.evaluate(inputs, largest[i])
            else:
                signals = inputs + noise[i] * ndtri(uniforms[:, 2 * i + 1])
                points, masses = rule
                functions = law.evaluate(points, largest[i])
                density, totals = _Signal(points, masses, functions, noise[i]).at(
                    signals
                )
                table = totals / np.where(density > 0, density, 1.0)
            product *= table[basis.multi_indices[:, i]]
        return gain @ product

    return draws.worth(values_at, gain[:, 0], temperature)
