"""What an expansion does when some columns before its embedding move."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._checks import FloatArray
from ._affine_map import AffineMap, affine_map
from ._pipeline_expansion import OutsideDomainError, PipelineExpansion

# Degree of the curve of the prediction against one column.
_CURVE_DEGREE = 3


@dataclass(frozen=True)
class MovedColumns:
    """Predictions at rows of X of which some columns moved.

    Where the steps before the expansion are affine, the move is made behind them,
    with the rows of their matrix (the loadings); else the steps transform each moved
    table.

    Parameters
    ----------
    expansion : PipelineExpansion
        The fitted pipeline and X.
    """

    expansion: PipelineExpansion

    @cached_property
    def embedding(self) -> AffineMap | None:
        """The affine map before the expansion; None where a step is not affine."""
        X = self.expansion.inputs
        try:
            return affine_map(self.expansion.steps, X.like(X.values))
        except ValueError:  # its message names the step: no failure here
            return None

    @cached_property
    def mean(self) -> FloatArray:  # shape: (n_features,)
        """Mean of each column of X."""
        return self.expansion.inputs.values.mean(axis=0)

    @cached_property
    def scale(self) -> FloatArray:  # shape: (n_features,)
        """Standard deviation of each column of X."""
        return self.expansion.inputs.values.std(axis=0)

    @cached_property
    def latent(self) -> FloatArray:  # shape: (n_samples, n_inputs)
        """Embedded rows of X."""
        if self.embedding is not None:
            return self.embedding.outputs
        return self.expansion.latent(self.expansion.inputs.values)

    @cached_property
    def values(self) -> FloatArray:  # shape: (n_samples, n_rows)
        """Predictions at the rows of X."""
        return self.expansion.at_latent(self.latent)

    def alone(self, columns: list[int]) -> FloatArray:  # shape: (n_samples, n_rows)
        """Predict where these columns are those of X, and all others their mean."""
        X = self.expansion.inputs.values
        if self.embedding is not None:
            moved = (X[:, columns] - self.mean[columns]) @ self._matrix[:, columns].T
            return self.expansion.at_latent(self.latent.mean(axis=0) + moved)
        rows = np.tile(self.mean, (len(X), 1))
        rows[:, columns] = X[:, columns]
        return self.expansion(rows)

    def raised(self, columns: list[int]) -> FloatArray:  # shape: (n_rows,)
        """Return half the mean change from one deviation below to one above.

        NaN where a moved row leaves the domain of the embedding.
        """
        if self.embedding is not None:
            step = self._matrix[:, columns] @ self.scale[columns]
            high, low = (self.latent + sign * step for sign in (1.0, -1.0))
            change = self.expansion.at_latent(high) - self.expansion.at_latent(low)
        else:
            step = np.zeros_like(self.mean)
            step[columns] = self.scale[columns]
            X = self.expansion.inputs.values
            try:
                change = self.expansion(X + step) - self.expansion(X - step)
            except OutsideDomainError:
                return np.full(self.values.shape[1], np.nan)
        return 0.5 * change.mean(axis=0)

    def kept(self, columns: list[int]) -> float:
        """Return the part of the move of these columns that the embedding sees.

        With one deviation of each, ``s``, and the map there and back ``A W``:
        ``s (A W s) / s s`` on the columns; NaN where the embedding is not affine.
        """
        whole = float(np.square(self.scale[columns]).sum())
        if self.embedding is None or whole == 0.0:
            return float("nan")
        step = self.scale[columns]
        there = self._matrix[:, columns] @ step
        return float(step @ self._loading[columns] @ there) / whole

    @cached_property
    def _loading(self) -> FloatArray:
        assert self.embedding is not None
        return self.embedding.loading

    @property
    def _matrix(self) -> FloatArray:
        assert self.embedding is not None
        return self.embedding.matrix

    def told(self) -> FloatArray:  # shape: (n_rows, n_features)
        """Return the variance of each prediction that a cubic in one column gives.

        With the degrees of freedom taken off: about 0 for a column without effect.
        """
        X, values = self.expansion.inputs.values, self.values
        n_samples = len(X)
        told = np.zeros((values.shape[1], X.shape[1]))
        whole = values.var(axis=0, ddof=1)
        for i in np.flatnonzero(self.scale > 0):
            column = (X[:, i] - self.mean[i]) / self.scale[i]
            degree = min(_CURVE_DEGREE, len(np.unique(column)) - 1)
            if n_samples <= degree + 2:
                continue
            frame, _ = np.linalg.qr(column[:, np.newaxis] ** np.arange(degree + 1))
            left = np.square(values - frame @ (frame.T @ values)).sum(axis=0)
            told[:, i] = whole - left / (n_samples - degree - 1)
        return told

    def loading(self) -> FloatArray:  # shape: (n_features, n_inputs)
        """Return the correlation of each column of X with each embedded input."""
        X, Z = self.expansion.inputs.values, self.latent
        spread = Z.std(axis=0)
        cross = (X - self.mean).T @ (Z - Z.mean(axis=0)) / len(X)
        scale = np.outer(self.scale, spread)
        return cross / np.where(scale > 0, scale, 1.0)
