"""A fitted pipeline as a function of its first inputs, in the rows of its expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer

from .._checks import FloatArray, refuse_other_names
from .._fitted_pipeline import unwrapped
from .._surrogate import CompositionalPCESurrogate
from ._fitted_model import Inputs, read_inputs
from ._last_expansion import LastStep, last_step, split_pipeline


class OutsideDomainError(ValueError):
    """Rows for which a step before the expansion has no finite value."""


@dataclass(frozen=True)
class PipelineExpansion:
    """The steps before an expansion, and the expansion.

    Parameters
    ----------
    steps : list of (str, transformer)
        Before the expansion; any transformers.
    last : LastStep
        The expansion; its rows are outputs, or log-ratios of a surrogate.
    inputs : Inputs
        X as given, and its container.
    estimator : object
        The fitted expansion itself.
    """

    steps: list[tuple[str, Any]]
    last: LastStep
    inputs: Inputs
    estimator: Any

    @property
    def is_direct(self) -> bool:
        """Whether the expansion reads the columns of X themselves."""
        return not self.steps

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: ``step:action`` of a surrogate, outputs of a regressor."""
        if not isinstance(self.estimator, CompositionalPCESurrogate):
            return self.last.target_names
        layout = self.estimator.geometry_.layout
        return tuple(
            f"{layout.step_names[layout.step_of_part[part]]}:{layout.part_names[part]}"
            for part in np.flatnonzero(self.estimator.mask_)
        )

    def latent(self, values: FloatArray) -> FloatArray:
        """Return what the expansion gets for rows; shape (n_samples, n_inputs).

        Raises
        ------
        OutsideDomainError
            If the steps before it give NaN or infinity.
        """
        if self.is_direct:
            return values
        table = self.inputs.like(values)
        for _, step in self.steps:
            table = step.transform(table)
        latent = np.asarray(table, dtype=np.float64)
        lost = int((~np.isfinite(latent).all(axis=1)).sum())
        if lost:
            raise OutsideDomainError(
                f"The steps before the expansion give NaN or infinity for {lost} of "
                f"{len(latent)} rows that were drawn or moved, as the logarithm of a "
                "negative number does; expected finite values. Transform X before the "
                "pipeline, or give a law with the support of the columns."
            )
        return latent

    def at_latent(self, Z: FloatArray) -> FloatArray:
        """Evaluate the expansion; shape (n_samples, n_rows)."""
        return self.last.basis.combine(Z, self.last.coefficients)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Evaluate the expansion at rows of X; shape (n_samples, n_rows)."""
        return self.at_latent(self.latent(values))


def pipeline_expansion(estimator: Any, X: Any) -> PipelineExpansion:
    """Read a fitted pipeline, a search or an expansion alone, and rows of X.

    Raises
    ------
    ValueError
        If it does not end in an expansion, or X is bad or has other columns, or the
        columns in another order.
    NotFittedError
        If it is not fitted.
    """
    steps, expansion = split_pipeline(unwrapped(estimator))
    last = last_step(expansion)
    inputs = read_inputs(X, smallest=3)
    steps = [
        (name, step)
        for name, step in steps
        if step is not None and not (isinstance(step, str) and step == "passthrough")
    ]
    first = steps[0][1] if steps else expansion
    expected = getattr(first, "n_features_in_", None)
    if expected is not None and expected != inputs.values.shape[1]:
        raise ValueError(
            f"X has {inputs.values.shape[1]} features but the estimator was fitted on "
            f"{expected}."
        )
    if not isinstance(first, ColumnTransformer):  # which takes columns by name
        refuse_other_names("X", inputs.names, getattr(first, "feature_names_in_", None))
    return PipelineExpansion(steps, last, inputs, expansion)
