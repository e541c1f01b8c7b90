"""Inputs of members that an embedding has not seen: are they independent and normal?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from ..._checks import FloatArray, IndexArray
from .._cross_fit import Split, take
from .._input_tests import input_tests, numeric, smallest_p_value
from .._reading import last_and_inputs

# A test of a correlation by Fisher's z needs more than three members.
_SMALLEST_FOLD = 4


@dataclass(frozen=True, eq=False)
class HeldOutInputs:
    r"""Dependence and normality of the inputs of held-out members.

    Parameters
    ----------
    correlation : ndarray of shape (n_inputs, n_inputs)
        Size of Pearson's correlation, pooled over the folds; NaN where it is not
        known.
    dependence_p_values : ndarray of shape (n_inputs, n_inputs)
        Tests that it is 0 in every fold; not adjusted over the pairs.
    normality_p_values : ndarray of shape (n_inputs,)
        Shapiro-Wilk tests of the members of all folds together.
    n_members : int
        Members that were held out; replicates of a reward count once.

    Notes
    -----
    Each fold has its own embedding, and the directions of a PCA may turn round between
    them. Hence correlations :math:`r_f` are taken within the :math:`n_f` members of a
    fold and pooled without their signs,

    .. math::

        \hat\rho^2 = \frac{\sum_f n_f r_f'^2}{\sum_f n_f}, \qquad
        r_f'^2 = 1 - (1 - r_f^2) \frac{n_f - 1}{n_f - 2},

    at least 0; :math:`r_f'^2` has mean 0 for independent normal inputs. The test is
    :math:`\sum_f (n_f - 3) \operatorname{artanh}^2 r_f \sim \chi^2` with one degree of
    freedom a fold (Fisher's z). For normality each input is standardised by mean and
    deviation of the fold's training members, as the surrogate does.
    """

    correlation: FloatArray
    dependence_p_values: FloatArray
    normality_p_values: FloatArray
    n_members: int

    @classmethod
    def of(cls, folds: Sequence[tuple[FloatArray, FloatArray]]) -> HeldOutInputs:
        """Test the inputs of members seen and held out, fold by fold."""
        units = [_standardised(seen, new) for seen, new in folds]
        rows = np.concatenate(units)
        return cls(*_pooled_correlation(units), _normality(rows), len(rows))

    @property
    def largest_correlation(self) -> float:
        """Largest correlation of two inputs; NaN for no pair.

        The largest of many noisy figures: read it with the p-value.
        """
        pairs = _pairs(self.correlation)
        return float(np.nanmax(pairs)) if np.isfinite(pairs).any() else float("nan")

    @property
    def smallest_dependence_p_value(self) -> float:
        """Smallest of ``dependence_p_values``, times the number of pairs."""
        return smallest_p_value(_pairs(self.dependence_p_values))

    @property
    def smallest_normality_p_value(self) -> float:
        """Smallest of ``normality_p_values``, times their number."""
        return smallest_p_value(self.normality_p_values)


def _standardised(seen: FloatArray, new: FloatArray) -> FloatArray:
    """Return new rows in units of those seen; NaN for an input that is constant."""
    deviation = seen.std(axis=0)
    unit = np.where(deviation > 0, deviation, np.nan)
    return (new - seen.mean(axis=0)) / unit


def _normality(rows: FloatArray) -> FloatArray:
    """Test each input over the folds in which it varies; NaN for none."""
    found = np.full(rows.shape[1], np.nan)
    for i, column in enumerate(rows.T):
        known = column[~np.isnan(column)]
        if known.size:
            found[i] = input_tests(known[:, np.newaxis]).normality_p_values[0]
    return found


def _pooled_correlation(folds: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    n_inputs = folds[0].shape[1]
    squares, weights, statistic, freedom = np.zeros((4, n_inputs, n_inputs))
    for fold in folds:
        n_members = len(fold)
        if n_members < _SMALLEST_FOLD:
            continue
        r = input_tests(np.nan_to_num(fold)).pearson
        known = ~np.isnan(r)
        r = np.where(known, np.clip(r, -1.0 + 1e-12, 1.0 - 1e-12), 0.0)
        adjusted = 1.0 - (1.0 - r**2) * (n_members - 1) / (n_members - 2)
        squares += np.where(known, n_members * adjusted, 0.0)
        weights += n_members * known
        statistic += (n_members - 3) * np.arctanh(r) ** 2
        freedom += known
    some = freedom > 0
    pooled = squares / np.where(some, weights, 1.0)
    p_values = stats.chi2.sf(statistic, np.where(some, freedom, 1.0))
    return (
        np.where(some, np.sqrt(np.maximum(pooled, 0.0)), np.nan),
        np.where(some, p_values, np.nan),
    )


def _pairs(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix), k=1)]


def held_out_inputs(
    model: Any,
    X: Any,
    y: Any,
    splits: Sequence[Split],
    once: IndexArray,  # rows of which no two have the same reward
) -> HeldOutInputs | None:
    """Test held-out inputs; None for text, or another number of them in a fold."""
    folds = []
    for train, test in splits:
        fitted = clone(model).fit(take(X, train), take(y, train))
        seen, new = (
            numeric(last_and_inputs(fitted, take(X, np.intersect1d(rows, once)))[1])
            for rows in (train, test)
        )
        if seen is None or new is None:
            return None
        folds.append((seen, new))
    alike = len({new.shape[1] for _, new in folds}) == 1
    return HeldOutInputs.of(folds) if alike else None
