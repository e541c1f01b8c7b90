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

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import ndtri

from ..._basis.basis import PolynomialBasis
from ..._checks import FloatArray
from ..._expansion.moments import marginal_basis
from ..._input_laws.families import InputLaw, NormalLaw
from ..._input_laws.pieces import deviation_of, quantiles, rule_of_pieces
from .envelope import Worth, gains, of_points, value_of_input
from .expected_value import Settings, by_degree, value_of_inputs, worth_by_draws

# Standard deviations of the noise beyond which it is left out.
_TAIL = 9.0
# Nodes of a panel, which is as wide as one standard deviation of the noise.
_NODES = 12
# Signals that are evaluated together are this many deviations apart at most.
_BLOCK = 8.0
_BISECTIONS = 48
# Panels of the signal; with more, noise is so small that the input is known.
_MOST_PANELS = 10_000
# Panels that are integrated at once.
_PANELS_AT_ONCE = 8192
# Cuts of each panel of an input, where noise is small.
_MOST_PARTS = 64
# The same of a drawn input; with less noise it is known.
_MOST_PARTS_DRAWN = 512


def value_of_observations(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_actions, n_terms)
    deviations: Mapping[int, float],  # of the mean of the noise, by input
    how: Settings,
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
        return value_of_inputs(own, shrunk, range(len(features)), how)
    if len(features) == 1:
        table = by_degree(own.multi_indices[:, 0], shrunk)
        return value_of_noisy_input(own.laws[0], table, noise[0], how.temperature)
    return _drawn(own, shrunk, noise, how)


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
    points, masses = _fine_rule(law, degree, deviation, _MOST_PARTS)
    spread = points.max() - points.min() + 2.0 * _TAIL * deviation
    if spread > _MOST_PANELS * deviation:
        return value_of_input(law, coefficients, temperature)
    values = gain @ law.evaluate(points, degree)
    return value_of_signal(points, masses, values, deviation, temperature)


def _fine_rule(
    law: InputLaw, degree: int, deviation: float, most_parts: int
) -> tuple[FloatArray, FloatArray]:
    """Return points and masses of an input that resolve the noise."""
    points, masses = rule_of_pieces(law, np.empty(0), degree)
    if law.atoms(max(degree, 1)) is None:
        parts = math.ceil(min(deviation_of(points, masses) / deviation, most_parts))
        points, masses = rule_of_pieces(law, np.empty(0), degree, max(parts, 1))
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
    gain, means = utilities - utilities[best], means - means[best]
    order = np.argsort(points, kind="stable")
    points, masses = points[order] - points[order[0]], masses[order]
    gain = gain[:, order]
    # Points far apart next to the noise are told apart; equal ones are one.
    starts = np.r_[0, np.flatnonzero(np.diff(points) > 2.0 * _TAIL * deviation) + 1]
    stops = np.r_[starts[1:], len(points)]
    alone = points[starts] == points[stops - 1]
    own = np.add.reduceat(masses, starts)[alone]
    totals = np.add.reduceat(gain * masses, starts, axis=1)[:, alone]
    value, flip, _ = _known(own, totals, means, temperature)
    signal = _Signal(points, masses, gain, deviation)
    low, high = points[starts[~alone]], points[stops[~alone] - 1]
    stretches = np.stack([low, high]) + _TAIL * deviation * np.array([[-1.0], [1.0]])
    for edges in _panels(stretches, deviation):
        if temperature is None:
            edges = np.union1d(edges, signal.crossings(edges))
        at, weights = _nodes(edges, stretches)
        density, totals = signal.at(at)
        known = _known(weights * density, weights * totals, means, temperature)
        value, flip = value + known.value, flip + known.flip_probability
    return Worth(value, min(flip, 1.0))


def _known(
    masses: FloatArray,  # shape: (n,)
    totals: FloatArray,  # shape: (n_actions, n), utilities times the masses
    means: FloatArray,  # shape: (n_actions,), largest for the best action
    temperature: float | None,
) -> Worth:
    """Return what is gained at some signals, and how often the action changes."""
    safe = np.where(masses > 0, masses, 1.0)
    return of_points(totals / safe, masses, means, temperature)


def _panels(
    stretches: FloatArray,  # shape: (2, n), ends
    deviation: float,
) -> Iterator[FloatArray]:
    """Cut stretches into panels as wide as the noise; give the edges of some."""
    low, high = stretches
    counts = np.ceil((high - low) / deviation).astype(np.int64)
    widths = (high - low) / np.maximum(counts, 1)
    ends = np.cumsum(counts)
    for start in range(0, int(counts.sum()), _PANELS_AT_ONCE):
        numbers = np.arange(start, min(start + _PANELS_AT_ONCE, int(ends[-1])))
        place = np.searchsorted(ends, numbers, side="right")
        steps = numbers - ends[place] + counts[place] + np.array([[0], [1]])
        yield np.unique(low[place] + widths[place] * steps)


def _nodes(
    edges: FloatArray, stretches: FloatArray
) -> tuple[FloatArray, FloatArray]:  # shape of each: (n_nodes,)
    """Return nodes and weights of the panels that are within a stretch."""
    middle, half = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges) / 2.0
    place = np.searchsorted(stretches[0], middle, side="right") - 1
    within = (place >= 0) & (middle < stretches[1][place])
    nodes, weights = leggauss(_NODES)
    at = middle[within, np.newaxis] + half[within, np.newaxis] * nodes
    return at.ravel(), (half[within, np.newaxis] * weights).ravel()


class _Signal:
    """Density of a noisy observation, and utilities times this density."""

    def __init__(
        self,
        points: FloatArray,  # increasing
        masses: FloatArray,
        gain: FloatArray,  # shape: (n_actions, n_points)
        deviation: float,
    ) -> None:
        self.points, self.deviation = points, deviation
        self.weighted = np.vstack([masses, gain * masses])

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
    how: Settings,
) -> Worth:
    """Draw the inputs and the noise, and average over what is known afterwards."""
    gain, _ = gains(coefficients)
    largest = basis.multi_indices.max(axis=0).tolist()
    rules = [
        _rule_of_drawn(law, degree, deviation)
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

    return worth_by_draws(2 * len(noise), values_at, gain[:, 0], how)


def _rule_of_drawn(
    law: InputLaw, degree: int, deviation: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return points and masses, or None: nothing to average after the observation.

    A normal input has shrunken coefficients, and without much noise an input is known.
    """
    if isinstance(law, NormalLaw):
        return None
    points, masses = rule_of_pieces(law, np.empty(0), degree)
    if law.atoms(max(degree, 1)) is not None:
        values = np.unique(points)
        known = np.diff(values).min(initial=np.inf) > 2.0 * _TAIL * deviation
    else:
        known = deviation_of(points, masses) > _MOST_PARTS_DRAWN * deviation
    return None if known else _fine_rule(law, degree, deviation, _MOST_PARTS_DRAWN)
