"""What the displays read from a fitted estimator or from a Pipeline ending in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray
from ..inspection import Verdict
from ..inspection._reading import (
    is_surrogate,
    last_estimator,
    surrogate_inputs,
    unknown_estimator,
)


@dataclass(frozen=True)
class Attribution:
    """Sobol indices with the share that they say nothing about.

    Parameters
    ----------
    rows, inputs : list of str
        Names of the steps (or targets) and of the inputs.
    first_order, total_order : ndarray of shape (n_rows, n_inputs)
        Shares of the variance of the expansion.
    variance : ndarray of shape (n_rows,)
        Of the expansion.
    unexplained : ndarray of shape (n_rows,)
        One minus Q², in [0, 1]; NaN for a row without choice or variance.
    supported : tuple of bool or None
        Whether a verdict supports the attribution; None without a verdict.
    sampled : bool
        Whether the indices are those of an expansion of another regressor's
        predictions at draws of its inputs.
    """

    rows: list[str]
    inputs: list[str]
    first_order: FloatArray
    total_order: FloatArray
    variance: FloatArray
    unexplained: FloatArray
    supported: tuple[bool, ...] | None = None
    sampled: bool = False

    def judged(self, verdict: Verdict | None) -> Attribution:
        """Return the same with the cross-fitted Q² and the answers of a verdict.

        Raises
        ------
        ValueError
            When the verdict is about other steps.
        """
        if verdict is None:
            return self
        refuse_other_steps(verdict, self.rows)
        q2 = np.array([step.q2 for step in verdict.steps])
        return replace(self, supported=verdict.attributable).with_unexplained(
            np.clip(1.0 - q2, 0.0, 1.0)
        )

    def with_unexplained(self, share: ArrayLike) -> Attribution:
        """Return the same with another unexplained share (n_rows,).

        An expansion without variance explains nothing, whatever its Q².

        Raises
        ------
        ValueError
            For another number of shares, or one that is not from 0 to 1.
        """
        given = np.asarray(share, dtype=np.float64)
        if given.shape != (len(self.rows),):
            raise ValueError(
                f"unexplained has shape {given.shape}; expected ({len(self.rows)},), "
                "one share per step."
            )
        outside = (given < 0) | (given > 1)
        if outside.any():
            worst = given[int(np.argmax(outside))]
            raise ValueError(
                f"unexplained holds {float(worst)!r}; expected shares from 0 to 1, or "
                "NaN for a step without choice."
            )
        flat = (self.variance <= 0) & ~np.isnan(given)
        return replace(self, unexplained=np.where(flat, 1.0, given))


def input_table(pipeline: Any, X: ArrayLike | None) -> FloatArray | None:
    """Return the inputs of the last estimator; those seen in ``fit`` without X.

    None where a fit keeps no inputs (a regressor).
    """
    if X is not None:
        return np.asarray(surrogate_inputs(pipeline, X), dtype=np.float64)
    last, _ = last_estimator(pipeline)
    return getattr(getattr(last, "diagnostics_", None), "inputs", None)


def require_expansion(estimator: Any) -> None:
    """Raise ``ValueError`` for an estimator without a polynomial expansion."""
    if not hasattr(estimator, "coefficients_") or not hasattr(estimator, "basis_"):
        raise unknown_estimator(estimator)


def attribution_of(
    pipeline: Any, input_features: Sequence[str] | None = None
) -> Attribution:
    """Read the indices of a fitted surrogate or regressor.

    Raises
    ------
    ValueError
        If the estimator has no indices, or names have another length.
    """
    last, inputs = last_estimator(pipeline, input_features)
    if is_surrogate(last):
        rows = list(last.step_names_)
        first, total = last.step_sobol_indices_, last.step_total_sobol_indices_
        unexplained = last.step_unexplained_share_
        variance = last.step_total_variance_
    elif hasattr(last, "unexplained_share_") and hasattr(last, "sobol_indices_"):
        first, total = last.sobol_indices_, last.total_sobol_indices_
        unexplained, variance = last.unexplained_share_, last.total_variance_
        rows = target_names(len(first))
    else:
        raise unknown_estimator(last)
    sampled = getattr(last, "indices_from_", "coefficients") == "sampling"
    found = Attribution(
        rows, inputs, first, total, variance, unexplained, sampled=sampled
    )
    return found.with_unexplained(unexplained)


def target_names(n_targets: int) -> list[str]:
    """Return names for the targets of a regressor, which knows none."""
    return ["y"] if n_targets == 1 else [f"y{i}" for i in range(n_targets)]


def squared_clr_coefficients(surrogate: Any) -> FloatArray:
    """Return the squared clr coefficients added up by step (n_steps, n_terms)."""
    geometry = surrogate.geometry_
    clr = geometry.from_coordinates(surrogate.coefficients_.T).T
    sums = np.zeros((geometry.layout.n_steps, surrogate.coefficients_.shape[1]))
    np.add.at(sums, geometry.step_of_active, np.square(clr))
    return sums


def refuse_other_steps(verdict: Verdict, step_names: Sequence[str]) -> None:
    """Raise ``ValueError`` when a verdict is none, or about other steps."""
    if not isinstance(verdict, Verdict):
        raise ValueError(f"verdict={verdict!r} must be a Verdict or None.")
    judged = tuple(step.step for step in verdict.steps)
    if judged != tuple(step_names):
        raise ValueError(
            f"verdict is about the steps {judged!r}, the estimator about "
            f"{tuple(step_names)!r}."
        )


def check_position(name: str, value: Any, size: int) -> int:
    """Return a position from 0 to ``size - 1``.

    Raises
    ------
    ValueError
        For anything else, with the value.
    """
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or not 0 <= value < size:
        raise ValueError(f"{name}={value!r} must be an int from 0 to {size - 1}.")
    return int(value)
