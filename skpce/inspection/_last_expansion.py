"""The expansion at the end of a pipeline, its outputs grouped into targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate


@dataclass(frozen=True)
class LastStep:
    """The expansion at the end of a pipeline, its rows grouped into targets.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_terms)
        One row per output, or per log-ratio of a surrogate.
    multi_indices : ndarray of shape (n_terms, n_inputs)
        The index set.
    basis : PolynomialBasis
        Laws of the embedded inputs.
    group : ndarray of shape (n_targets, n_rows)
        Zeros and ones: which rows a target sums.
    target_names : tuple of str
        Outputs, or steps.
    q2 : ndarray of shape (n_targets,)
        Leave-one-out Q².
    """

    coefficients: FloatArray
    multi_indices: IndexArray
    basis: Any
    group: FloatArray
    target_names: tuple[str, ...]
    q2: FloatArray

    @property
    def laws(self) -> Sequence[InputLaw]:
        """Of the embedded inputs."""
        return self.basis.laws

    @property
    def variance(self) -> FloatArray:  # shape: (n_targets,)
        """Variance of the expansion."""
        return self.group @ np.square(self.coefficients[:, 1:]).sum(axis=1)

    def share(self, parts: FloatArray) -> FloatArray:
        """Sum rows into targets and divide by the variance; 0 without variance."""
        safe = np.where(self.variance > 0, self.variance, 1.0)
        return (self.group @ parts) / safe[:, np.newaxis]


def split_pipeline(pipeline: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps before the expansion, and the expansion.

    Raises
    ------
    ValueError
        If the last step is no expansion.
    """
    if not isinstance(pipeline, Pipeline):
        steps, last = [], pipeline
    else:
        steps, last = pipeline.steps[:-1], pipeline.steps[-1][1]
    if isinstance(last, Pipeline):
        inner, last = split_pipeline(last)
        steps = [*steps, *inner]
    if not isinstance(last, (PolynomialChaosRegressor, CompositionalPCESurrogate)):
        raise ValueError(
            f"The last step is {type(last).__name__}; expected "
            "PolynomialChaosRegressor or CompositionalPCESurrogate. For any other "
            "model use skpce.inspection.sobol_indices(pipeline, X)."
        )
    return list(steps), last


def last_step(estimator: Any) -> LastStep:
    """Read a fitted expansion.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If an input is categorical.
    """
    check_is_fitted(estimator)
    for i, law in enumerate(estimator.basis_.laws):
        if not law.is_polynomial:
            raise ValueError(
                f"Embedded input {i} has a {type(law).__name__}; expected a law of "
                "numbers: categories have no linear embedding and no derivatives."
            )
    if isinstance(estimator, CompositionalPCESurrogate):
        geometry = estimator.geometry_
        n_steps = geometry.layout.n_steps
        rows = estimator._clr_coefficients
        group = np.arange(n_steps)[:, np.newaxis] == geometry.step_of_active
        names = tuple(str(name) for name in geometry.layout.step_names)
        q2 = estimator.diagnostics_.loo_q2
    else:
        rows = estimator.coefficients_
        group, q2 = np.eye(len(rows)), estimator.q2_
        names = ("y",) if len(rows) == 1 else tuple(f"y{k}" for k in range(len(rows)))
    return LastStep(
        rows,
        estimator.multi_indices_,
        estimator.basis_,
        group.astype(np.float64),
        names,
        q2,
    )
