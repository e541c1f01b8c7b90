r"""P-values of squared scores: ranks among draws, and tails of quadratic forms.

Where an input does nothing, a statistic is :math:`\sum_{ac} w_a s_{ac}^2` with scores
:math:`s_{ac} = \sum_i f_a(x_{\pi(i)}) r_{ic}` of terms and residuals, over exchanges
:math:`\pi` of the units, or over their signs. The first two moments of the scores are
known exactly: over exchanges their covariance is :math:`F'F \otimes R'R / (n - 1)`,
over signs :math:`\sum_i f_i f_i' \otimes r_i r_i'`. With terms and residuals that are
bounded the scores are nearly normal, with lighter tails, and the tail of the statistic
is that of a mixture of chi-squares, which a saddle point gives to some per cent [1]_.

References
----------
.. [1] D. Kuonen, "Saddlepoint approximations for distributions of quadratic forms in
   normal variables", Biometrika 86 (1999).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from .._checks import FloatArray, IndexArray

# Exceedances from which a rank is a p-value; below, the tail is extrapolated.
_EXCEEDED = 10

#: Part of the level that is kept for what an input does alone; the rest is for pairs.
ALONE = 0.8

# Steps of the bisection for a saddle point.
_STEPS = 50


def smaller_rank(
    observed: Sequence[FloatArray],  # two of shape (1, n_outputs)
    drawn: tuple[FloatArray, FloatArray],  # two of shape (n_draws, n_outputs)
) -> FloatArray:  # shape: (n_outputs,)
    """Rank the smaller rank of two statistics; extrapolate where few are as large.

    The first one, of what an input does alone, has most of the level.
    """
    number = len(drawn[0]) + 1
    ranks = []
    for own, others in zip(observed, drawn, strict=True):
        values = _rounded(np.concatenate([own, others]))
        ranks.append(number - stats.rankdata(values, method="min", axis=0) + 1)
    smaller = np.minimum(ranks[0] / ALONE, ranks[1] / (1.0 - ALONE))
    found = (smaller <= smaller[0]).mean(axis=0)
    if number > 1000:
        for output in np.flatnonzero(found * number < _EXCEEDED).tolist():
            tails = [
                tail_of_draws(float(own[0, output]), others[:, output])
                for own, others in zip(observed, drawn, strict=True)
            ]
            both = min(tails[0] / ALONE, tails[1] / (1.0 - ALONE))
            found[output] = min(found[output], both)
    return np.asarray(found)


def rank_p_values(
    observed: FloatArray,  # shape: (n_outputs,)
    drawn: FloatArray,  # shape: (n_draws, n_outputs)
) -> FloatArray:
    """Return ranks as p-values; extrapolated where few draws are as large."""
    reached = _rounded(drawn) >= _rounded(observed)
    found = (1.0 + reached.sum(axis=0)) / (len(drawn) + 1.0)
    if len(drawn) >= 1000:
        few = np.flatnonzero(found * (len(drawn) + 1) < _EXCEEDED)
        for output in few.tolist():
            tail = tail_of_draws(float(observed[output]), drawn[:, output])
            found[output] = min(found[output], tail)
    return np.asarray(found)


def _rounded(values: FloatArray) -> FloatArray:
    """Round to nine digits: equal arrangements have equal statistics."""
    with np.errstate(divide="ignore"):
        digits = 9 - np.ceil(np.log10(np.maximum(np.abs(values), 1e-300)))
    factor = np.power(10.0, np.clip(digits, -300, 300))
    return np.asarray(np.round(values * factor) / factor)


def tail_of_draws(observed: float, drawn: FloatArray) -> float:
    """Return the share of draws beyond a value, by an exponential tail.

    The statistics are quadratic forms, whose tails are exponential or lighter. The mean
    excess is taken two standard errors too large.
    """
    size = max(len(drawn) // 40, 25)
    largest = np.sort(drawn)[-size - 1 :]
    start, excess = largest[0], largest[1:] - largest[0]
    mean = excess.mean() * (1.0 + 2.0 / np.sqrt(size))
    distinct = len(np.unique(_rounded(largest)))
    if observed <= start or not mean > 0 or distinct < size // 2:
        return 1.0  # few arrangements: there is no tail
    return float(size / len(drawn) * np.exp(-(observed - start) / mean))


def tail_of_mixture(
    observed: FloatArray,  # shape: (n_outputs,)
    sizes: FloatArray,  # shape: (n_outputs, n_parts), not negative
) -> FloatArray:  # shape: (n_outputs,)
    r"""Return the probability of larger values of :math:`\sum_k \lambda_k \chi^2_1`.

    By the saddle point above the mean; by three moments below, where nothing is
    decided.
    """
    largest = sizes.max(axis=1, initial=0.0)
    known = largest > 0
    found = np.ones(len(observed))
    scale = np.where(known, largest, 1.0)
    parts, value = sizes / scale[:, np.newaxis], observed / scale
    found[known] = _tail_of_moments(value[known], parts[known])
    above = known & (value > 1.1 * parts.sum(axis=1))
    if above.any():
        found[above] = _tail_of_saddle_point(value[above], parts[above])
    return np.clip(found, 0.0, 1.0)


def _tail_of_moments(value: FloatArray, parts: FloatArray) -> FloatArray:
    """Return the tail of a chi-square with the same first three moments."""
    first, second, third = (np.power(parts, k).sum(axis=1) for k in (1, 2, 3))
    degrees = second**3 / third**2
    standard = (value - first) / np.sqrt(2.0 * second)
    return np.asarray(stats.chi2.sf(degrees + standard * np.sqrt(2 * degrees), degrees))


def _tail_of_saddle_point(value: FloatArray, parts: FloatArray) -> FloatArray:
    low, high = np.zeros(len(value)), np.full(len(value), 0.5)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        slope = (parts / (1.0 - 2.0 * middle[:, np.newaxis] * parts)).sum(axis=1)
        below = slope < value
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    at = low[:, np.newaxis]
    left = 1.0 - 2.0 * at * parts
    cumulant = -0.5 * np.log(left).sum(axis=1)
    curvature = 2.0 * np.square(parts / left).sum(axis=1)
    w = np.sqrt(2.0 * np.maximum(low * value - cumulant, 1e-12))
    v = low * np.sqrt(curvature)
    return np.asarray(stats.norm.sf(w + np.log(np.maximum(v, 1e-300) / w) / w))


def sizes_of_exchange(
    terms: FloatArray,  # shape: (n_units, n_terms)
    weights: FloatArray,  # shape: (n_terms,)
    residuals: FloatArray,  # shape: (n_outputs, n_units, n_columns)
    strata: IndexArray | None = None,  # shape: (n_units,)
) -> FloatArray:  # shape: (n_outputs, n_terms * n_columns)
    """Return the parts of the mixture over exchanges of units, in their strata."""
    scaled = terms * np.sqrt(weights)
    if strata is None:
        own = np.linalg.eigvalsh(_covariance(scaled[np.newaxis]))[0]
        theirs = np.linalg.eigvalsh(_covariance(residuals))
        found = own[:, np.newaxis] * theirs[:, np.newaxis, :] * (len(terms) - 1)
        return np.maximum(found.reshape(len(residuals), -1), 0.0)
    n_outputs, _, n_columns = residuals.shape
    n_parts = scaled.shape[1] * n_columns
    whole = np.zeros((n_outputs, n_parts, n_parts))
    for stratum in np.unique(strata):
        rows = strata == stratum
        if rows.sum() > 1:
            own = _covariance(scaled[np.newaxis, rows])[0]
            theirs = _covariance(residuals[:, rows])
            whole += (rows.sum() - 1) * _products(own, theirs)
    return np.maximum(np.linalg.eigvalsh(whole), 0.0)


def sizes_of_signs(
    terms: FloatArray,  # shape: (n_rows, n_terms)
    weights: FloatArray,  # shape: (n_terms,)
    residuals: FloatArray,  # shape: (n_outputs, n_rows, n_columns)
    unit: IndexArray | None = None,  # shape: (n_rows,), of one sign; None: each row
) -> FloatArray:  # shape: (n_outputs, n_parts)
    """Return the parts of the mixture over signs of units."""
    scaled = terms * np.sqrt(weights)
    product = scaled[np.newaxis, :, :, np.newaxis] * residuals[:, :, np.newaxis, :]
    flat = product.reshape(*product.shape[:2], -1)
    if unit is not None:
        sums = np.zeros((len(flat), int(unit.max()) + 1, flat.shape[2]))
        np.add.at(np.moveaxis(sums, 1, 0), unit, np.moveaxis(flat, 1, 0))
        flat = sums
    turned = np.swapaxes(flat, 1, 2)
    small = flat.shape[2] <= flat.shape[1]
    whole = turned @ flat if small else flat @ turned
    return np.maximum(np.linalg.eigvalsh(whole), 0.0)


def _covariance(values: FloatArray) -> FloatArray:  # (n, n_columns, n_columns)
    """Return covariances of tables of shape (n, n_rows, n_columns)."""
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(np.swapaxes(centred, 1, 2) @ centred / (values.shape[1] - 1))


def _products(own: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return the products of Kronecker of one matrix with some."""
    n_outputs, size = len(theirs), len(own) * theirs.shape[1]
    found = own[:, np.newaxis, :, np.newaxis] * theirs[:, np.newaxis, :, np.newaxis, :]
    return found.reshape(n_outputs, size, size)
