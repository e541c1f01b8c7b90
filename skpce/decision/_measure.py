r"""What to measure next under a belief, in units of reward.

The particles :math:`x_i` of a belief have weights :math:`w_i`. An observation of an
outcome :math:`h_j` with normal noise turns the expected utility of action :math:`k`
into :math:`\sum_i w_i \varphi(s - h_j(x_i))\, u_k(x_i) / \sum_i w_i \varphi(s -
h_j(x_i))`; what the best action gains by it on average is an integral over :math:`s`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from .._checks import (
    FloatArray,
    fail,
    refuse_extremes,
    renamed,
)
from .._result import Result
from ._belief import InputBelief, as_function, columns_of, evaluated, read_noise

OWNER = "measure_next"


# Standard deviations of the noise beyond which it is left out.
_TAIL = 9
# Noise below this share of the spread of an outcome says no less than no noise.
_LEAST_NOISE = 1e-9
# Nodes of a panel, which is as wide as one standard deviation of the noise.
_NODES = 12
# Panels that are integrated at once.
_PANELS_AT_ONCE = 8192
# Signals that are evaluated together are this many deviations apart at most.
_BLOCK = 8.0
_BISECTIONS = 48


def measure_next(
    belief: InputBelief,
    *,
    outcome: Any,
    utility: Any = None,
    noise_sd: Any,
    which: Any = None,
    names: Any = None,
) -> Result:
    r"""Rank what could be measured next by what it is worth to the decision.

    Parameters
    ----------
    belief : InputBelief
        Particles and weights.
    outcome : fitted regressor or callable
        From inputs, (n, n_inputs), to what can be measured, (n,) or (n, n_outcomes).
    utility : fitted regressor, callable or None, default=None
        From inputs to the utility of each action, (n, n_actions). None takes the
        outcomes: each candidate is an action whose reward can be measured.
    noise_sd : float or array-like of shape (n_candidates,)
        Standard deviation of the normal noise of a measurement.
    which : array-like of int, or None, default=None
        Columns of the outcome that may be measured; None means all.
    names : sequence of str or None, default=None
        Names of all columns of the outcome; None means ``outcome0, ...``.

    Returns
    -------
    ranking : Result
        One row for each candidate. Columns are ``worth`` (in units of the utility: how
        much better the best action is on average after one noisy observation has
        changed the weights, exact for the particles), ``mean`` and
        ``standard_deviation`` of the outcome under the belief, and ``rank``, 1 for what
        to measure next. ``best`` is the position of its column, ``best_name`` its name,
        and ``best_action`` the action that is best before the measurement.

    Raises
    ------
    ValueError
        For bad arguments, or functions that return other shapes or no finite numbers.

    See Also
    --------
    value_of_information : For the inputs of an expansion, with a test.

    Notes
    -----
    A belief of few particles far apart knows too well which of them an observation
    points to: the gradient is then that of knowing the particle. Use as many particles
    as make their distances small next to the noise. Where there are many actions, the
    best of many means over few particles is too large as well.

    Examples
    --------
    Two rewards vary as much; only one of them may become the best action.

    >>> import numpy as np
    >>> from skpce.decision import InputBelief, measure_next
    >>> rng = np.random.default_rng(0)
    >>> belief = InputBelief(rng.normal(size=(2000, 2)))
    >>> reward = lambda x: np.c_[0 * x[:, 0], x[:, 0], x[:, 1] - 4]
    >>> found = measure_next(belief, outcome=reward, noise_sd=0.5)
    >>> found.best, found.worth.round(1) + 0.0
    (1, array([0. , 0.3, 0. ]))
    """
    if not isinstance(belief, InputBelief):
        raise fail(OWNER, "belief", "an InputBelief", belief)
    outcomes = _evaluated("outcome", outcome, belief)
    numbered = [f"outcome{i}" for i in range(outcomes.shape[1])]
    labels = renamed("names", names, numbered)
    columns = columns_of(OWNER, which, outcomes.shape[1])
    utilities = outcomes if utility is None else _evaluated("utility", utility, belief)
    if utilities.shape[1] < 2:
        raise ValueError(
            f"The utility of {OWNER} has {utilities.shape[1]} column; expected one for "
            "each of two or more actions."
        )
    chosen = outcomes[:, columns]
    mean = belief.weights @ chosen
    variance = belief.weights @ np.square(chosen - mean)
    variance = np.where(np.ptp(chosen, axis=0) > 0, variance, 0.0)
    noise = read_noise(OWNER, noise_sd, len(columns), "candidates")
    present = belief.weights > 0
    points, masses = chosen[present], belief.weights[present]
    known, pairs = utilities[present].T, zip(points.T, noise, strict=True)
    worth = np.array([value_of_signal(one, masses, known, sd) for one, sd in pairs])
    rank = np.empty(len(columns), dtype=np.int64)
    rank[np.argsort(-worth, kind="stable")] = np.arange(1, len(columns) + 1)
    best = int(np.argmin(rank))
    own = tuple(labels[i] for i in columns)
    spread = np.sqrt(variance)
    return Result(
        {"candidate": own},
        {"worth": worth, "mean": mean, "standard_deviation": spread, "rank": rank},
        title=f"Measure {own[best]!r} next, by knowledge gradient.",
        notes=tuple(
            f"- {own[i]}: {worth[i]:.3g} (outcome {mean[i]:.3g} ± {spread[i]:.3g})"
            for i in np.argsort(rank)[:12]
        ),
        figures={
            "best": int(columns[best]),
            "best_name": own[best],
            "best_action": int(np.argmax(belief.weights @ utilities)),
        },
    )


def _evaluated(name: str, function: Any, belief: InputBelief) -> FloatArray:
    """Return values of a function at the particles; shape (n_particles, n_columns)."""
    call = as_function(OWNER, function, belief.names, name)
    values = evaluated(OWNER, name, call, belief.particles)
    refuse_extremes(values, f"The {name} of {OWNER}")
    return values


# The value of one noisy observation


def value_of_signal(
    points: FloatArray,  # shape: (n_points,), what is observed without noise
    masses: FloatArray,  # shape: (n_points,), of sum 1
    utilities: FloatArray,  # shape: (n_actions, n_points)
    deviation: float,  # of the normal noise
) -> float:
    """Return the value of one noisy observation of a function of the points."""
    best = int(np.argmax(utilities @ masses))
    x, place = np.unique(points, return_inverse=True)
    worth = np.zeros((len(x), len(utilities)))
    np.add.at(worth, place, ((utilities - utilities[best]) * masses).T)
    deviation = max(deviation, _LEAST_NOISE * float(np.ptp(x)))
    if np.diff(x).min(initial=np.inf) > 2 * _TAIL * deviation:  # it is known which
        return float(worth.max(axis=1).sum())
    x, worth = (x - x[0]) / deviation, worth.T  # noise has the deviation one

    def at(signals: FloatArray) -> FloatArray:  # shape: (n_actions, n)
        """Return utilities times the density of observations."""
        order = np.argsort(signals, kind="stable")
        found = np.empty((len(worth), len(signals)))
        start = 0
        while start < len(order):  # only points near a block of signals matter
            first = signals[order[start]]
            stop = np.searchsorted(signals, first + _BLOCK, sorter=order)
            own = order[start : max(int(stop), start + 1)]
            ends = [first - _TAIL, signals[own[-1]] + _TAIL]
            near = slice(*np.searchsorted(x, ends).tolist())
            t = x[near, np.newaxis] - signals[own]
            found[:, own] = worth[:, near] @ np.exp(-0.5 * t * t)
            start += len(own)
        return found / np.sqrt(2.0 * np.pi)

    def crossings(edges: FloatArray) -> FloatArray:
        """Return where another action becomes the best one."""
        grid = _cut(edges, 4)
        values = np.partition(at(grid), -2, axis=0)
        gap = values[-1] - values[-2]
        # Between two points at which the lead is smallest it may be lost and regained.
        lowest = np.flatnonzero((gap[1:-1] <= gap[:-2]) & (gap[1:-1] <= gap[2:])) + 1
        near = [_cut(grid[i - 1 : i + 2], 16) for i in lowest]
        grid = np.unique(np.concatenate([grid, *near]))
        owners = at(grid).argmax(axis=0)
        changes = np.flatnonzero(np.diff(owners))
        low, high, first = grid[changes], grid[changes + 1], owners[changes]
        for _ in range(_BISECTIONS if len(changes) else 0):
            middle = (low + high) / 2.0
            same = at(middle).argmax(axis=0) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return high

    near = np.floor(x)[:, np.newaxis] + np.arange(-_TAIL, _TAIL + 1)
    starts, (nodes, weights) = np.unique(near), leggauss(_NODES)
    total = 0.0
    for begin in range(0, len(starts), _PANELS_AT_ONCE):
        some = starts[begin : begin + _PANELS_AT_ONCE]
        edges = np.union1d(some, some + 1.0)
        edges = np.union1d(edges, crossings(edges))
        middle, half = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges) / 2.0
        inside = middle[:, np.newaxis] + half[:, np.newaxis] * nodes
        largest = at(inside.ravel()).max(axis=0).reshape(inside.shape)
        total += float(half @ largest @ weights)
    return total


def _cut(edges: FloatArray, parts: int) -> FloatArray:
    """Cut each interval into equal parts."""
    steps = np.arange(parts) / parts
    points = edges[:-1, np.newaxis] + np.diff(edges)[:, np.newaxis] * steps
    return np.append(points.ravel(), edges[-1])
