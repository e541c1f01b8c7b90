"""Refit a whole pipeline in every fold, and measure its error step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._checks import FloatArray, IndexArray
from .._compositions.log_ratio import LogRatioGeometry, clr_of, sum_by_step
from .._goodness import LOG_RATIO_FLOOR, weighted_spread

Split = tuple[IndexArray, IndexArray]


def take(table: Any, rows: IndexArray) -> Any:
    """Take rows of an array or data frame."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def final_estimator(pipeline: Any) -> tuple[str, Any]:
    """Return the parameter prefix and the innermost last estimator.

    Looks through pipelines and through meta-estimators that hold one estimator (a
    grid search, a target transformation), not through a surrogate on another regressor.
    """
    if isinstance(pipeline, Pipeline):
        name, last = pipeline.steps[-1]
        prefix, inner = final_estimator(last)
        return f"{name}__{prefix}", inner
    known = pipeline.get_params(deep=False) if hasattr(pipeline, "get_params") else {}
    if "degree" in known or "steps" in known:  # an expansion, on any regressor
        return "", pipeline
    for name in ("estimator", "regressor"):
        wrapped = known.get(name)
        if hasattr(wrapped, "fit") and hasattr(wrapped, "get_params"):
            prefix, inner = final_estimator(wrapped)
            return f"{name}__{prefix}", inner
    return "", pipeline


def with_parameters(pipeline: Any, **parameters: Any) -> Any:
    """Clone a pipeline and set those parameters that its last estimator has."""
    copy = clone(pipeline)
    prefix, last = final_estimator(copy)
    known = last.get_params(deep=False)
    copy.set_params(
        **{f"{prefix}{name}": v for name, v in parameters.items() if name in known}
    )
    return copy


@dataclass(frozen=True)
class CrossFit:
    """A pipeline, its data and the folds.

    Parameters
    ----------
    pipeline : estimator
        Cloned and fitted in every fold.
    X, y : array or data frame
        Inputs and compositions of all members.
    splits : sequence of (train, test)
        The folds.
    geometry : LogRatioGeometry
        Steps and mask, read from all of y.
    zero_replacement : float
        For predictions and observations alike.
    """

    pipeline: Any
    X: Any
    y: Any
    splits: Sequence[Split]
    geometry: LogRatioGeometry
    zero_replacement: float

    def squared_errors(
        self, order: IndexArray | None = None, *, inputs: IndexArray | None = None
    ) -> FloatArray:
        """Return squared clr errors of held-out members; shape (n_members, n_active).

        ``order`` permutes the policies: row i has the policy of member ``order[i]``.
        ``inputs`` gives the members the inputs of others instead.
        """
        X = self.X if inputs is None else take(self.X, inputs)
        y = self.y if order is None else take(self.y, order)
        observed = clr_of(y, self.geometry, self.zero_replacement, "y")
        errors = np.full_like(observed, np.nan)
        for train, test in self.splits:
            model = clone(self.pipeline)
            model.fit(take(X, train), take(y, train))
            predicted = np.asarray(model.predict(take(X, test)), dtype=np.float64)
            clr = clr_of(predicted, self.geometry, self.zero_replacement, "prediction")
            errors[test] = np.square(observed[test] - clr)
        return errors

    def mean_only_errors(self) -> FloatArray:
        """Return squared errors of the mean of the training members."""
        observed = clr_of(self.y, self.geometry, self.zero_replacement, "y")
        errors = np.full_like(observed, np.nan)
        for train, test in self.splits:
            errors[test] = np.square(observed[test] - observed[train].mean(axis=0))
        return errors

    def squared_deviations(self) -> FloatArray:
        """Return squared deviations from the mean of all members.

        0 where they are rounding: such a step has no variance.
        """
        observed = clr_of(self.y, self.geometry, self.zero_replacement, "y")
        spread = weighted_spread(observed, np.ones(len(observed)), LOG_RATIO_FLOOR)
        return np.where(spread > 0, np.square(observed - observed.mean(axis=0)), 0.0)


def step_q2(
    errors: FloatArray,  # shape: (n_members, n_active)
    deviations: FloatArray,  # shape: (n_members, n_active)
    geometry: LogRatioGeometry,
) -> FloatArray:  # shape: (n_steps,)
    """Return Q² per step; NaN for a step without choice or variance."""
    held_out = ~np.isnan(errors).any(axis=1)
    press = sum_by_step(errors[held_out].sum(axis=0), geometry)
    spread = sum_by_step(deviations[held_out].sum(axis=0), geometry)
    return 1.0 - press / np.where(spread > 0, spread, np.nan)


def bootstrap_q2(
    errors: FloatArray,
    deviations: FloatArray,
    geometry: LogRatioGeometry,
    confidence_level: float,
    generator: np.random.Generator,
    reward: Any = None,
    n_resamples: int = 2000,
) -> FloatArray:  # shape: (2, n_steps)
    """Return percentile intervals of Q² over resampled members.

    Members of one reward are drawn together: they are one observation of it.
    """
    held_out = np.flatnonzero(~np.isnan(errors).any(axis=1))
    labels = np.arange(len(errors)) if reward is None else np.asarray(reward)
    names, group = np.unique(labels[held_out], return_inverse=True)
    n_groups = len(names)
    counts = generator.multinomial(
        n_groups, np.full(n_groups, 1.0 / n_groups), size=n_resamples
    )
    member = np.zeros((geometry.layout.n_steps, errors.shape[1]))
    member[geometry.step_of_active, np.arange(errors.shape[1])] = 1.0
    together = (np.arange(n_groups)[:, np.newaxis] == group).astype(float)
    press = counts @ (together @ errors[held_out] @ member.T)
    spread = counts @ (together @ deviations[held_out] @ member.T)
    q2 = 1.0 - press / np.where(spread > 0, spread, np.nan)
    tail = (1.0 - confidence_level) / 2.0
    return np.quantile(q2, [tail, 1.0 - tail], axis=0)
