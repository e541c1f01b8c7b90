r"""Conformal intervals: bounds whose coverage rests on exchangeable members alone.

A member has the score :math:`R_i = |z_i - \hat z(x_i)| / \tau(x_i)` with the prediction
of a fit that has not seen it. The scale :math:`\tau(x) = \sqrt{1 + h(x)}\, s(x)` holds
the leverage and, where it is learned, the scale of the noise; both are functions of the
fit alone, so that the scores stay exchangeable [1]_. The ranks are those of
:math:`k = \lceil (1 - \alpha)(n + 1) \rceil`.

References
----------
.. [1] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman, "Distribution-
   free predictive inference for regression", Journal of the American Statistical
   Association 113 (2018), section 5.2.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from .._checks import FloatArray, IndexArray, Samples, fail
from .._input_laws.columns import warn_outside
from .predictive import Predictive
from .residuals import refuse_undefined

# Bounds in memory at a time while ranks are taken: 64 MiB.
_CHUNK_ENTRIES = 8_388_608


def split_bounds(
    predictive: Predictive,
    X: FloatArray,  # shape: (n_members, n_features)
    calibration: Any,
    confidence_level: float,
    joint: str | None,
    noise: str,
    owner: str,
) -> FloatArray:  # shape: (2, n_members, n_values)
    """Return bounds from the distances of members that are not in the fit."""
    inputs, values = _checked_calibration(predictive, calibration, owner)
    weights = np.ones(len(inputs))
    _warn_of_few(weights, confidence_level, owner)
    distance = Distance(predictive, joint, noise, owner)
    factor = order_statistic(distance.of(inputs, values), weights, confidence_level)
    centre, width = predictive.scores_at(X), factor * distance.unit_at(X)
    like = predictive.space.values(predictive.centre(X))
    return predictive.space.bounds(centre - width, centre + width, like)


def cross_bounds(
    predictive: Predictive,
    X: FloatArray,  # shape: (n_members, n_features)
    cv: Any,
    confidence_level: float,
    joint: str | None,
    noise: str,
    owner: str,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (2, n_members, n_values)
    """Return the bounds of CV+: each member has the fit without its fold."""
    assert predictive.refit is not None  # every estimator gives it
    samples = predictive.problem.require_samples(owner)
    values = predictive.observed(owner)
    _warn_of_few(samples.weights, confidence_level, owner)
    splits = _folds(cv, samples, owner, generator)
    centres, units, distances = [], [], []
    for training, held_out in splits:
        fitted = predictive.refit(training)
        distance = Distance(fitted, joint, noise, owner)
        distances.append(distance.of(samples.inputs[held_out], values[held_out]))
        centres.append(fitted.scores_at(X))
        units.append(distance.unit_at(X))
    fold = np.repeat(np.arange(len(splits)), [len(one) for one in distances])
    weights = samples.weights[np.concatenate([held_out for _, held_out in splits])]
    found = np.concatenate(distances)[:, np.newaxis]
    centre, unit = np.stack(centres), np.stack(units)  # (n_folds, n_members, n_scores)
    lower, upper = np.empty_like(centre[0]), np.empty_like(centre[0])
    size = max(1, _CHUNK_ENTRIES // max(found.size, 1))
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        width = found * unit[fold, rows]
        below, above = centre[fold, rows] - width, centre[fold, rows] + width
        lower[rows] = -order_statistic(-below, weights, confidence_level)
        upper[rows] = order_statistic(above, weights, confidence_level)
    like = predictive.space.values(predictive.centre(X))
    return predictive.space.bounds(lower, upper, like)


class Distance:
    """Distances of members from predictions, in units that only the fit decides."""

    def __init__(
        self, predictive: Predictive, joint: str | None, noise: str, owner: str
    ) -> None:
        self.predictive = predictive
        self.noise = predictive.noise_scale(noise, owner)
        self.deviation, self.groups = np.ones(1), None
        if joint is not None:
            deviation = predictive.space.deviation(predictive.problem)
            refuse_undefined(deviation)
            self.deviation = np.where(deviation > 0, deviation, 1.0)
            self.groups = predictive.space.groups(joint)

    def unit_at(self, X: FloatArray) -> FloatArray:  # shape: (n_members, n_scores)
        """Return the unit at inputs."""
        scale = self.predictive.scale_at(X, self.noise)
        return self.predictive.space.score_scale(scale) * self.deviation

    def of(
        self,
        X: FloatArray,  # shape: (n_members, n_features)
        values: FloatArray,  # shape: (n_members, n_values)
    ) -> FloatArray:  # shape: (n_members, n_scores)
        """Measure members, each score alone or the largest one of a band for all."""
        scores = self.predictive.space.scores(values)
        found = np.abs(scores - self.predictive.scores_at(X)) / self.unit_at(X)
        if self.groups is not None:
            for group in np.unique(self.groups):
                parts = self.groups == group
                found[:, parts] = found[:, parts].max(axis=1, keepdims=True)
        return found


def order_statistic(
    values: FloatArray,  # shape: (n, ...)
    weights: FloatArray,  # shape: (n,), frequencies
    confidence_level: float,
) -> FloatArray:  # shape: (...)
    """Return the value of the rank of a conformal interval; infinity beyond the last.

    With the weight :math:`n` of all values, it is the smallest one up to which the
    weight is at least :math:`(1 - \\alpha)(n + 1)`.
    """
    rank = _rank(weights, confidence_level)
    if rank > weights.sum():
        return np.full(values.shape[1:], np.inf)
    if np.all(weights == 1.0):
        place = math.ceil(rank) - 1
        found: FloatArray = np.partition(values, place, axis=0)[place]
        return found
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0) >= rank
    first = np.argmax(reached, axis=0)[np.newaxis]
    ordered = np.take_along_axis(values, order, axis=0)
    return np.take_along_axis(ordered, first, axis=0)[0]


def _rank(weights: FloatArray, confidence_level: float) -> float:
    """Return the weight that the values below a bound need, without rounding error."""
    return confidence_level * (float(weights.sum()) + 1.0) - 1e-9


def _warn_of_few(weights: FloatArray, confidence_level: float, owner: str) -> None:
    """Warn where no score is large enough for a bound."""
    total = float(weights.sum())
    if _rank(weights, confidence_level) <= total:
        return
    needed = math.ceil(confidence_level / (1.0 - confidence_level) - 1e-9)
    warnings.warn(
        f"{owner}: {total:g} members are too few for a conformal interval of level "
        f"{confidence_level:g}, which needs {needed}: the interval holds every value.",
        stacklevel=6,
    )


def _checked_calibration(
    predictive: Predictive, calibration: Any, owner: str
) -> tuple[FloatArray, FloatArray]:
    """Return inputs and values of members that are not those of the fit."""
    expected = "None or a pair (X, y) of members that are not in the fit"
    if not isinstance(calibration, (tuple, list)) or len(calibration) != 2:
        raise fail(owner, "calibration", expected, calibration)
    assert predictive.read is not None  # every estimator gives it
    inputs, values = predictive.read(*calibration)
    samples = predictive.problem.samples
    if samples is not None and _are_among(
        np.hstack([inputs, values]),
        np.hstack([samples.inputs, predictive.observed(owner)]),
    ):
        raise ValueError(
            f"All {len(inputs)} members of the 'calibration' parameter of {owner} are "
            "in the fit; expected others. Without calibration= the members of the fit "
            "are left out in turn."
        )
    warn_outside(predictive.basis.laws, inputs, predictive.names)
    return inputs, values


def _are_among(rows: FloatArray, others: FloatArray) -> bool:
    """Return whether every row is one of the others, up to rounding."""
    known = {tuple(row) for row in np.round(others, 9).tolist()}
    return all(tuple(row) in known for row in np.round(rows, 9).tolist())


def _folds(
    cv: Any, samples: Samples, owner: str, generator: np.random.Generator
) -> list[tuple[IndexArray, IndexArray]]:
    """Return the training and the held-out members of each fold."""
    n_members = len(samples.inputs)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if not 2 <= int(cv) <= n_members:
            raise fail(owner, "cv", f"from 2 to {n_members}, the number of members", cv)
        seed = int(generator.integers(2**31))
        splitter: Any = KFold(int(cv), shuffle=True, random_state=seed)
    else:
        try:
            splitter = check_cv(cv)
        except ValueError:
            expected = "an int, a splitter, or an iterable of (train, test)"
            raise fail(owner, "cv", expected, cv) from None
    splits = list(splitter.split(samples.inputs))
    held_out = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(held_out), np.arange(n_members)):
        raise ValueError(
            f"The 'cv' parameter of {owner} must hold out each of the {n_members} "
            f"members once. Got {cv!r} instead."
        )
    return splits
