"""Counting and listing the terms that a truncation can afford.

The function :math:`j_i` of input :math:`i` costs :math:`(w_i j_i)^q`, a contrast of a
category :math:`w_i^q`. A term costs what its functions cost together, and is in the
set when that is at most :math:`p^q`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._checks import FloatArray, IndexArray

# Distinct costs of terms, sorted, and how many terms have each.
State = tuple[FloatArray, FloatArray]

# Rounding in the q-norm, relative to degree**q: 2**0.75 + 2**0.75 is not exact.
_TOLERANCE = 1e-9

# Sums of the same costs in another order differ by less, relative to degree**q.
_SAME_COST = 1e-13

# More functions of single inputs than this are not told apart by counting.
LARGEST_UNIVARIATE = 1e8

# Counts up to here are exact where there is a closed form: people can read them.
LARGEST_COUNT = 1e18


def is_isotropic(
    degree: int,
    weights: FloatArray,
    largest: FloatArray,
    categorical: NDArray[np.bool_],
) -> bool:
    """Whether all inputs are alike, so that there is a closed form."""
    alike = np.all(weights == 1.0) and np.all(largest >= degree)
    return bool(alike and not categorical.any())


def budget(degree: int, q: float) -> float:
    """Return what the costs of a term may sum to."""
    return float(degree) ** q * (1.0 + _TOLERANCE)


def function_numbers(
    degree: int,
    weights: FloatArray,
    largest: FloatArray,
    categorical: NDArray[np.bool_],
) -> FloatArray:
    """Return an upper bound of the number of functions of each input alone."""
    with np.errstate(over="ignore"):
        affordable = np.floor(degree * (1.0 + _TOLERANCE) / weights)
    contrasts = np.where(affordable >= 1, largest, 0.0)
    return np.where(categorical, contrasts, np.minimum(affordable, largest))


def univariate_costs(
    degree: int,
    q: float,
    weights: FloatArray,
    largest: FloatArray,
    categorical: NDArray[np.bool_],
) -> list[FloatArray]:
    """Return, for each input, the costs of its functions 1, 2, ... that fit alone."""
    limit = budget(degree, q)
    costs = []
    for weight, n_functions, is_categorical in zip(
        weights,
        function_numbers(degree, weights, largest, categorical),
        categorical,
        strict=True,
    ):
        degrees = np.arange(1.0, n_functions + 1.0)
        if is_categorical:
            degrees = np.ones_like(degrees)
        cost = (weight * degrees) ** q
        costs.append(cost[cost <= limit])
    return costs


def count_isotropic(
    n_features: int, degree: int, q: float, order: int, stop_above: float
) -> int:
    """Count by the number of active inputs; partitions when q < 1."""
    largest = min(degree, order)
    total = 1
    if q == 1.0:
        for size in range(1, largest + 1):
            total += math.comb(n_features, size) * math.comb(degree, size)
            if total > max(stop_above, LARGEST_COUNT):
                break
        return total
    for exponents in _partitions(degree, budget(degree, q), q, largest):
        arrangements = math.factorial(len(exponents))
        for multiplicity in Counter(exponents).values():
            arrangements //= math.factorial(multiplicity)
        total += math.comb(n_features, len(exponents)) * arrangements
        if total > stop_above:
            break
    return total


def _partitions(
    largest: int, limit: float, q: float, n_parts: int
) -> Iterator[tuple[int, ...]]:
    """Yield the non-increasing positive tuples whose sum of q-powers fits."""
    if n_parts == 0:
        return
    for first in range(1, largest + 1):
        if first**q > limit:
            break
        yield (first,)
        for rest in _partitions(first, limit - first**q, q, n_parts - 1):
            yield (first, *rest)


def _cheapest_later(costs: list[FloatArray]) -> FloatArray:
    """Return the smallest cost of the inputs that come after each input."""
    cheapest = np.array([cost.min(initial=np.inf) for cost in costs] + [np.inf])
    return np.minimum.accumulate(cheapest[::-1])[::-1][1:]


def count_affordable(
    costs: list[FloatArray], limit: float, order: int, stop_above: float
) -> int:
    """Count by a dynamic programme over (active inputs, cost), one input at a time.

    ``states[m]`` is about the terms of m inputs that can still grow. Where the
    interaction order cannot bind, all of them are in ``states[0]``.
    """
    cheapest = min((cost.min() for cost in costs if cost.size), default=np.inf)
    step = int(order < len(costs) and order * cheapest < limit)
    states = {0: (np.zeros(1), np.ones(1))}
    total = 1.0
    for cost, later in zip(costs, _cheapest_later(costs), strict=True):
        if not cost.size:
            continue
        values, multiplicity = np.unique(cost, return_counts=True)
        for state_costs, counts in states.values():
            below = np.concatenate([[0.0], np.cumsum(counts)])
            fits = np.searchsorted(state_costs, limit - values, side="right")
            total += float(multiplicity @ below[fits])
        if total > stop_above:
            break
        grown: dict[int, list[State]] = {}
        for active, (state_costs, counts) in states.items():
            grown.setdefault(active, []).append((state_costs, counts))
            if active + step < order:
                grown.setdefault(active + step, []).extend(
                    (state_costs + value, counts * times)
                    for value, times in zip(values, multiplicity, strict=True)
                )
        states = {m: _merge(parts, limit - later, limit) for m, parts in grown.items()}
    return int(min(total, LARGEST_COUNT))


def _merge(parts: list[State], largest: float, limit: float) -> State:
    """Join costs that are equal up to rounding; drop those above ``largest``."""
    costs = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    kept = costs <= largest
    costs, counts = costs[kept], counts[kept]
    keys = np.rint(costs / (_SAME_COST * limit))
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    numbers: Any = np.bincount(where, weights=counts, minlength=len(first))
    return costs[first], numbers


def list_affordable(
    costs: list[FloatArray], limit: float, order: int
) -> tuple[IndexArray, IndexArray]:
    """List all terms whose costs fit, by their active inputs, unsorted.

    Returns the inputs and the exponents of each term, in increasing order of the
    inputs, padded with -1 and 0; shapes (n_terms, largest number of active inputs).
    Only the terms that a later input can still extend are looked at again.
    """
    n_terms = 1
    blocks: list[tuple[IndexArray, int, int]] = []  # parent terms, input, exponent
    ids, spent, active = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
    widest = 0
    for feature, (cost, later) in enumerate(
        zip(costs, _cheapest_later(costs), strict=True)
    ):
        open_terms = [(ids, spent, active)]
        for exponent, value in enumerate(cost, start=1):
            fits = spent + value <= limit
            parents = ids[fits]
            new_ids = np.arange(n_terms, n_terms + len(parents))
            open_terms.append((new_ids, spent[fits] + value, active[fits] + 1))
            blocks.append((parents, feature, exponent))
            n_terms += len(parents)
        parts = zip(*open_terms, strict=True)
        ids, spent, active = (np.concatenate(part) for part in parts)
        widest = max(widest, int(active.max(initial=0)))
        still = (spent + later <= limit) & (active < order)
        ids, spent, active = ids[still], spent[still], active[still]
    return _write_out(n_terms, widest, blocks)


def _write_out(
    n_terms: int, widest: int, blocks: list[tuple[IndexArray, int, int]]
) -> tuple[IndexArray, IndexArray]:
    """Write out terms that are a parent term with one more input."""
    inputs = np.full((n_terms, widest), -1, dtype=np.int64)
    exponents = np.zeros((n_terms, widest), dtype=np.int64)
    size = np.zeros(n_terms, dtype=np.int64)
    start = 1
    for parents, feature, exponent in blocks:
        rows = np.arange(start, start + len(parents))
        inputs[rows], exponents[rows] = inputs[parents], exponents[parents]
        inputs[rows, size[parents]] = feature
        exponents[rows, size[parents]] = exponent
        size[rows] = size[parents] + 1
        start += len(parents)
    return inputs, exponents


def round_up(costs: list[FloatArray], limit: float, n_steps: int) -> list[FloatArray]:
    """Round costs up to few distinct ones: their count is a quick lower bound."""
    grid = limit / n_steps
    rounded = [np.ceil(cost / grid * (1.0 - _TOLERANCE)) * grid for cost in costs]
    return [cost[cost <= limit] for cost in rounded]
