"""The affine map that the transformers before the last step of a pipeline make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._fitted_model import Inputs, read_inputs

FloatArray = NDArray[np.float64]

# Departure from an affine map that is rounding, relative to the spread of the output.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AffineMap:
    r"""The map :math:`z = W (x - m) + b` and the data on both sides of it.

    Parameters
    ----------
    matrix : ndarray of shape (n_outputs, n_features)
        W.
    inputs : Inputs
        X as given.
    outputs : ndarray of shape (n_samples, n_outputs)
        X after the transformers.
    """

    matrix: FloatArray
    inputs: Inputs
    outputs: FloatArray

    @property
    def loading(self) -> FloatArray:  # shape: (n_features, n_outputs)
        """Least-squares coefficients of X on its image: x = m + A (z - mean) + rest.

        For PCA on the rows of its fit these are the (scaled) components.
        """
        X, Z = self.inputs.values, self.outputs
        scale = Z.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        standard = (Z - Z.mean(axis=0)) / scale
        solution = np.linalg.lstsq(standard, X - X.mean(axis=0), rcond=1e-10)[0]
        return solution.T / scale

    @property
    def residuals(self) -> FloatArray:  # shape: (n_samples, n_features)
        """Part of X that its image does not determine."""
        X, Z = self.inputs.values, self.outputs
        return X - X.mean(axis=0) - (Z - Z.mean(axis=0)) @ self.loading.T


def affine_map(steps: list[tuple[str, Any]], X: Any) -> AffineMap:
    """Compose the steps; each one is checked on the rows of X.

    Raises
    ------
    ValueError
        Naming the first step that is not affine.
    """
    first = inputs = read_inputs(X, smallest=3)
    table, matrix = X, np.eye(first.values.shape[1])
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        table, inputs, linear = _step_map(name, step, table, inputs)
        matrix = linear @ matrix
    if len(first.values) < inputs.values.shape[1] + 2:
        raise ValueError(
            f"X has {len(first.values)} rows; {inputs.values.shape[1]} embedded inputs "
            f"need at least {inputs.values.shape[1] + 2}."
        )
    return AffineMap(matrix, first, inputs.values)


def _step_map(
    name: str, step: Any, table: Any, inputs: Inputs
) -> tuple[Any, Inputs, FloatArray]:
    """Transform a table, and read the linear part off unit perturbations."""
    X = inputs.values
    answer = step.transform(table)
    try:
        outputs = read_inputs(answer, smallest=1)
    except (TypeError, ValueError):
        raise _not_affine(
            name, step, "its output is not a finite numeric table"
        ) from None
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    probes = np.vstack([mean, mean + np.diag(scale)])
    images = np.asarray(step.transform(inputs.like(probes)), dtype=np.float64)
    linear = (images[1:] - images[0]).T / scale
    expected = images[0] + (X - mean) @ linear.T
    spread = np.abs(outputs.values - images[0]).max(axis=0)
    rounding = _TOLERANCE * spread + 1e-12 * np.abs(outputs.values).max(axis=0)
    error = np.abs(outputs.values - expected).max(axis=0)
    if np.any(error > rounding):
        worst = float(np.max(error / np.maximum(spread, 1e-300)))
        raise _not_affine(
            name,
            step,
            f"on X it departs from an affine map by {worst:.2g} of its range",
        )
    return answer, outputs, linear


def _not_affine(name: str, step: Any, why: str) -> ValueError:
    return ValueError(
        f"The step {name!r} ({type(step).__name__}) is not affine: {why}. Indices in "
        "the original space need affine steps (scaling, PCA, selection of columns). "
        "skpce.inspection.sobol_indices(pipeline, X) takes any pipeline."
    )
