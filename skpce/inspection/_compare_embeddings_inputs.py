"""What an embedding makes of members it has not seen: dependence and normality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from .._checks import FloatArray, IndexArray
from .._dependence.tests import InputTests, input_tests
from .._fitted_pipeline import last_and_inputs
from ._cross_fit import Split, take

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

    @property
    def largest_correlation(self) -> float:
        """Largest correlation of two inputs; NaN for no pair.

        The largest of many noisy figures: read it with the p-value.
        """
        pairs = self.correlation[np.triu_indices(len(self.correlation), k=1)]
        return float(np.nanmax(pairs)) if np.isfinite(pairs).any() else float("nan")

    @property
    def smallest_dependence_p_value(self) -> float:
        """Smallest of ``dependence_p_values``, times the number of pairs."""
        above = np.triu_indices(len(self.correlation), k=1)
        return smallest_p_value(self.dependence_p_values[above])

    @property
    def smallest_normality_p_value(self) -> float:
        """Smallest of ``normality_p_values``, times their number."""
        return smallest_p_value(self.normality_p_values)


def smallest_p_value(p_values: FloatArray) -> float:
    """Return the smallest p-value times their number; NaN for none."""
    known = p_values[~np.isnan(p_values)]
    return float(min(known.min() * known.size, 1.0)) if known.size else float("nan")


def fitted_inputs(model: Any, X: Any, once: IndexArray) -> InputTests | None:
    """Test the inputs of the members of the fit; None where they are no numbers.

    ``once`` are rows of which no two have the same reward.
    """
    last, inputs = last_and_inputs(model, take(X, once))
    values = _numbers(inputs)
    diagnostics = getattr(last, "diagnostics_", None)
    laws = None if diagnostics is None else diagnostics.law_p_values
    return None if values is None else input_tests(values, laws)


def held_out_inputs(
    model: Any, X: Any, y: Any, splits: Sequence[Split], once: IndexArray
) -> HeldOutInputs | None:
    """Fit a pipeline in every fold and test the inputs of those who are held out.

    None where the inputs are no numbers, or their number differs between folds.
    """
    folds = []
    for train, test in splits:
        fitted = clone(model).fit(take(X, train), take(y, train))
        seen, new = (
            _numbers(last_and_inputs(fitted, take(X, np.intersect1d(rows, once)))[1])
            for rows in (train, test)
        )
        if seen is None or new is None:
            return None
        folds.append(_standardised(seen, new))
    if len({fold.shape[1] for fold in folds}) > 1:
        return None
    correlation, p_values = _pooled_correlation(folds)
    rows = np.concatenate(folds)
    return HeldOutInputs(correlation, p_values, _normality(rows), len(rows))


def _numbers(inputs: Any) -> FloatArray | None:
    try:
        values = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):  # text
        return None
    return values if values.ndim == 2 and np.isfinite(values).all() else None


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
