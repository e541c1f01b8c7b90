r"""Quantiles of softmax values over many rows of residuals, block by block.

With the centre :math:`c_k(x)`, the scale :math:`s(x)` of a step and the residuals
:math:`r_{ik}` of the draws :math:`i`, the probabilities are

.. math:: p_{ik}(x) = \exp(c_k + s r_{ik} - L_i), \qquad
          L_i = \log \sum_k \exp(c_k + s r_{ik}).

One pass over the parts gives :math:`L_i`. A second one sorts
:math:`s r_{ik} - L_i` for each part, whose order is that of the probabilities: only
those that the quantiles need are exponentiated, and no array has the size of draws
times inputs times parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from scipy.special import logsumexp

from .._checks import FloatArray, IndexArray
from .._expansion.predictive import sorted_quantiles

# Values held at once, which stay in the second cache: 512 KiB.
_BLOCK = 65_536

# Sums below this have lost the terms that underflow.
_SMALLEST_SUM = 1e-280


def softmax_quantiles(
    rows: FloatArray,  # shape: (n_draws, n_active), residuals as log-ratios
    scale: FloatArray,  # shape: (n_inputs, n_steps), not negative
    centre: FloatArray,  # shape: (n_inputs, n_active)
    steps: Sequence[slice],  # the columns of each step
    levels: Sequence[float],
) -> FloatArray:  # shape: (n_levels, n_inputs, n_active)
    """Return quantiles of ``softmax(centre + scale * rows)`` over the rows."""
    found = np.empty((len(levels), *centre.shape))
    for first, n_steps, columns in _runs(steps, len(rows)):
        shape = n_steps, -1, len(rows)
        residuals = np.ascontiguousarray(rows[:, columns].T).reshape(shape)
        residuals -= residuals.max(axis=1, keepdims=True)  # which L takes in as well
        some = max(1, _BLOCK // residuals.size)
        for start in range(0, len(centre), some):
            at = slice(start, start + some)
            values = centre[at, columns].reshape(-1, *residuals.shape[:2])
            own = scale[at, first : first + n_steps, np.newaxis, np.newaxis]
            quantiles = _quantiles_of_steps(residuals, own, values, levels)
            found[:, at, columns] = quantiles.reshape(*quantiles.shape[:2], -1)
    return found


def _probabilities(centre: FloatArray, rest: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(np.exp(centre + rest), 1.0))


def _runs(steps: Sequence[slice], n_draws: int) -> Iterator[tuple[int, int, slice]]:
    """Yield neighbouring steps of one width that fit into a block together."""
    first = 0
    while first < len(steps):
        width = steps[first].stop - steps[first].start
        most, n_steps = max(1, _BLOCK // (width * n_draws)), 1
        for other in steps[first + 1 : first + most]:
            if other.stop - other.start != width:
                break
            n_steps += 1
        last = steps[first + n_steps - 1]
        yield first, n_steps, slice(steps[first].start, last.stop)
        first += n_steps


def _quantiles_of_steps(
    residuals: FloatArray,  # shape: (n_steps, width, n_draws), at most 0
    scale: FloatArray,  # shape: (n_inputs, n_steps, 1, 1)
    centre: FloatArray,  # shape: (n_inputs, n_steps, width)
    levels: Sequence[float],
) -> FloatArray:  # shape: (n_levels, n_inputs, n_steps, width)
    """Return the quantiles of some inputs, for steps of one width."""
    n_steps, width, n_draws = residuals.shape
    size = max(1, _BLOCK // (n_steps * n_draws))
    blocks = [slice(start, start + size) for start in range(0, width, size)]
    largest = centre.max(axis=2)[:, :, np.newaxis]
    weights = np.exp(centre - largest)[:, :, np.newaxis]
    sums = np.zeros((len(centre), n_steps, 1, n_draws))
    for block in blocks:
        values = scale * residuals[:, block]
        sums += weights[..., block] @ np.exp(values, out=values)
    if sums.min() > _SMALLEST_SUM:
        total = np.log(sums) + largest[..., np.newaxis]
    else:
        values = scale * residuals + centre[..., np.newaxis]
        total = logsumexp(values, axis=2, keepdims=True)
    found = np.empty((len(levels), *centre.shape))
    for block in blocks:
        values = scale * residuals[:, block]
        values -= total
        values.sort(axis=-1)
        logs = centre[..., block]
        found[..., block] = sorted_quantiles(
            values, levels, partial(_probabilities, logs)
        )
    return found


# Values of draws held at once: 8 MiB.
_BLOCK_OF_DRAWS = 1_048_576


def quantiles_of_draws(
    rows: FloatArray,  # shape: (n_rows, n_active), residuals as log-ratios
    which: IndexArray,  # shape: (n_draws,), the row of each draw
    scale: FloatArray,  # shape: (n_draws, n_steps)
    centre: Callable[[slice], FloatArray],  # of columns, of shape (n_draws, width)
    steps: Sequence[slice],  # the columns of each step
    levels: Sequence[float],
) -> FloatArray:  # shape: (n_levels, n_active)
    """Return quantiles of ``softmax(centre + scale * rows[which])`` over the draws."""
    found = np.empty((len(levels), rows.shape[1]))
    size = max(1, _BLOCK_OF_DRAWS // len(which))
    step_of = np.repeat(np.arange(len(steps)), [one.stop - one.start for one in steps])

    def logits(columns: slice) -> FloatArray:  # shape: (n_draws, width)
        values = scale[:, step_of[columns]] * rows[which, columns]
        values += centre(columns)
        return values

    first = 0
    while first < len(steps):
        last = first + 1
        while last < len(steps) and steps[last].stop - steps[first].start <= size:
            last += 1
        start, stop = steps[first].start, steps[last - 1].stop
        blocks = [slice(at, min(at + size, stop)) for at in range(start, stop, size)]
        total = np.full((len(which), last - first), -np.inf)
        for block in blocks:
            values = logits(block)
            own = step_of[block] - first
            at = np.flatnonzero(np.diff(own, prepend=-1))
            largest = np.maximum.reduceat(values, at, axis=1)
            values -= largest[:, own - own[0]]
            sums = np.add.reduceat(np.exp(values, out=values), at, axis=1)
            here = total[:, own[at]]
            total[:, own[at]] = np.logaddexp(here, largest + np.log(sums))
        for block in blocks:
            values = logits(block)
            values -= total[:, step_of[block] - first]
            ordered = np.sort(np.ascontiguousarray(values.T), axis=-1)
            found[:, block] = sorted_quantiles(
                ordered, levels, partial(_probabilities, np.zeros(1))
            )
        first = last
    return found
