"""Log-ratio coordinates of compositions, step by step.

All kinds are linear images of the centred log-ratio
:math:`\\mathrm{clr}_k = \\log p_k - K^{-1} \\sum_l \\log p_l` [1]_:

- alr: :math:`\\log(p_k / p_r) = \\mathrm{clr}_k - \\mathrm{clr}_r` for a reference
  part :math:`r`;
- ilr: :math:`H\\, \\mathrm{clr}` with :math:`H` the Helmert matrix, an isometry [2]_.

Hence one set of coefficients serves all three. Masked parts take no part in any of
them, and a step with one possible part has no coordinates.

References
----------
.. [1] J. Aitchison, "The Statistical Analysis of Compositional Data", Journal of
   the Royal Statistical Society B 44 (1982).
.. [2] J. J. Egozcue, V. Pawlowsky-Glahn, G. Mateu-Figueras and C. Barceló-Vidal,
   "Isometric logratio transformations for compositional data analysis",
   Mathematical Geology 35 (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, helmert
from scipy.special import softmax

from ._checks import BoolArray, FloatArray, IndexArray
from ._steps import StepLayout

LOG_RATIOS = ("alr", "clr", "ilr")


@dataclass(frozen=True)
class LogRatioGeometry:
    """The coordinates of one kind for a layout of steps.

    Parameters
    ----------
    layout : StepLayout
        Widths and names.
    mask : ndarray of bool of shape (n_parts,)
        True where a part is possible.
    log_ratio : {"alr", "clr", "ilr"}
        Kind of the coordinates.
    reference : int
        Reference part of alr within each step; a masked one gives way to the last
        possible part.
    """

    layout: StepLayout
    mask: BoolArray
    log_ratio: str
    reference: int

    @cached_property
    def _step_parts(self) -> list[IndexArray]:
        """The possible parts of each step that has a choice; else empty."""
        parts = []
        for columns in self.layout.slices:
            possible = columns.start + np.flatnonzero(self.mask[columns])
            parts.append(possible if possible.size > 1 else possible[:0])
        return parts

    @cached_property
    def active_parts(self) -> IndexArray:
        """Columns that enter a log-ratio; shape (n_active,)."""
        return np.concatenate(self._step_parts).astype(np.int64)

    @cached_property
    def step_of_active(self) -> IndexArray:
        """Step of each active part; shape (n_active,)."""
        return self.layout.step_of_part[self.active_parts]

    @cached_property
    def has_choice(self) -> BoolArray:
        """Whether a step has at least two possible parts; shape (n_steps,)."""
        return np.array([parts.size > 0 for parts in self._step_parts])

    @cached_property
    def step_of_coordinate(self) -> IndexArray:
        """Step of each coordinate; shape (n_coordinates,)."""
        counts = [len(matrix) for matrix in self._matrices]
        return np.repeat(np.arange(self.layout.n_steps), counts)

    @cached_property
    def _matrices(self) -> list[FloatArray]:
        """Per step the matrix from clr to coordinates."""
        return [
            self._matrix(parts, columns)
            for parts, columns in zip(self._step_parts, self.layout.slices, strict=True)
        ]

    def _matrix(self, parts: IndexArray, columns: slice) -> FloatArray:
        n_parts = len(parts)
        if n_parts == 0:
            return np.zeros((0, 0))
        if self.log_ratio == "clr":
            return np.eye(n_parts)
        if self.log_ratio == "ilr":
            return helmert(n_parts)
        reference = self._reference_position(parts, columns)
        others = np.delete(np.eye(n_parts), reference, axis=0)
        others[:, reference] = -1.0
        return others

    def _reference_position(self, parts: IndexArray, columns: slice) -> int:
        wanted = columns.start + self.reference
        if self.reference < 0:
            wanted = columns.stop + self.reference
        found = np.flatnonzero(parts == wanted)
        return int(found[0]) if found.size else len(parts) - 1

    @cached_property
    def _to_coordinates(self) -> FloatArray:
        return block_diag(*[matrix for matrix in self._matrices if matrix.size])

    @cached_property
    def _from_coordinates(self) -> FloatArray:
        # The pseudo-inverse of a full-rank map onto coordinates of the zero-sum space
        # is its inverse there; clr itself is projected onto that space.
        inverses = []
        for matrix in self._matrices:
            if matrix.size:
                n_parts = matrix.shape[1]
                centring = np.eye(n_parts) - 1.0 / n_parts
                inverse = {"clr": np.eye(n_parts), "ilr": matrix.T}.get(self.log_ratio)
                if inverse is None:
                    inverse = np.where(matrix.T > 0, 1.0, 0.0)
                inverses.append(centring @ inverse)
        return block_diag(*inverses)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates over all steps."""
        return len(self.step_of_coordinate)

    def clr(self, compositions: FloatArray) -> FloatArray:
        """Return centred log-ratios; shape (n_members, n_active)."""
        logs = np.log(compositions[:, self.active_parts])
        for columns in self._active_slices:
            logs[:, columns] -= logs[:, columns].mean(axis=1, keepdims=True)
        return logs

    @cached_property
    def _active_slices(self) -> list[slice]:
        ends = np.cumsum([parts.size for parts in self._step_parts])
        return [
            slice(int(end) - parts.size, int(end))
            for end, parts in zip(ends, self._step_parts, strict=True)
            if parts.size
        ]

    def to_coordinates(self, clr: FloatArray) -> FloatArray:
        """Map clr values (..., n_active) to coordinates (..., n_coordinates)."""
        if not self.n_coordinates:
            return np.zeros((*clr.shape[:-1], 0))
        return clr @ self._to_coordinates.T

    def from_coordinates(self, coordinates: FloatArray) -> FloatArray:
        """Map coordinates (..., n_coordinates) to clr values (..., n_active)."""
        if not self.n_coordinates:
            return np.zeros((*coordinates.shape[:-1], 0))
        return coordinates @ self._from_coordinates.T

    def compositions(self, clr: FloatArray) -> FloatArray:
        """Return the softmax of clr values (..., n_active); shape (..., n_parts).

        Masked parts are exactly 0, the only part of a step exactly 1.
        """
        values = np.zeros((*clr.shape[:-1], self.layout.n_parts))
        values[..., self.mask] = 1.0
        for columns in self._active_slices:
            parts = self.active_parts[columns]
            values[..., parts] = softmax(clr[..., columns], axis=-1)
        return values

    @cached_property
    def coordinate_names(self) -> list[str]:
        """Names such as ``catalyst:L1/L4`` (alr), ``catalyst:L1`` (clr),
        ``catalyst:ilr0``.
        """
        names: list[str] = []
        for step, parts in enumerate(self._step_parts):
            if parts.size:
                labels = [self.layout.part_names[part] for part in parts]
                prefix = self.layout.step_names[step]
                names += [f"{prefix}:{tail}" for tail in self._tails(step, labels)]
        return names

    def _tails(self, step: int, labels: list[str]) -> list[str]:
        if self.log_ratio == "clr":
            return labels
        if self.log_ratio == "ilr":
            return [f"ilr{i}" for i in range(len(labels) - 1)]
        reference = self._reference_position(
            self._step_parts[step], self.layout.slices[step]
        )
        others = [label for i, label in enumerate(labels) if i != reference]
        return [f"{label}/{labels[reference]}" for label in others]
