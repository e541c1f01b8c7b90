r"""Of what a sensitivity index is a share: a coordinate, a step or the trajectory.

All are read off one set of clr coefficients :math:`c_{kj}`. A *coordinate* is a linear
image of them. A *step* adds the squares of its parts, which is its Aitchison variance
[1]_: the same in every orthonormal basis of the log-ratios, and free of a reference.
The *trajectory* adds all steps.

References
----------
.. [1] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
   multidimensional and functional outputs", Electronic Journal of Statistics 8 (2014),
   section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._checks import FloatArray, IndexArray
from ._goodness import LOG_RATIO_FLOOR, weighted_spread
from ._log_ratio_geometry import LogRatioGeometry
from ._shapley import shapley_variances
from ._sobol import partial_variances

#: Levels at which indices are given.
LEVELS = ("coordinate", "step", "trajectory")

#: Step of a row that belongs to all steps.
ALL_STEPS = -1


@dataclass(frozen=True)
class LevelIndices:
    """Indices of the rows of a level.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (..., n_rows, n_features)
        Shares of the variance; 0 without variance.
    total_variance : ndarray of shape (..., n_rows)
        Variance of each row.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    total_variance: FloatArray


@dataclass(frozen=True)
class IndexLevel:
    """How clr coefficients make up the rows of a level.

    Parameters
    ----------
    geometry : LogRatioGeometry or None
        Coordinates that the coefficients are mapped to; None leaves them as they are.
    spread : ndarray of shape (n_targets,)
        Sum of squares behind each target; 0 where slopes are rounding noise.
    member : ndarray of shape (n_rows, n_targets)
        Ones where a target counts for a row.
    steps : ndarray of int of shape (n_rows,)
        Step of each row; -1 for all steps.
    names : tuple of str
        One per row.
    """

    geometry: LogRatioGeometry | None
    spread: FloatArray
    member: FloatArray
    steps: IndexArray
    names: tuple[str, ...]

    def coefficients(
        self,
        clr_coefficients: FloatArray,  # shape: (..., n_active, n_terms)
    ) -> FloatArray:  # shape: (..., n_targets, n_terms)
        """Map to the targets, without slopes where there is no spread."""
        values = clr_coefficients
        if self.geometry is not None:
            swapped = self.geometry.to_coordinates(np.swapaxes(values, -1, -2))
            values = np.swapaxes(swapped, -1, -2)
        slopes = (self.spread > 0)[:, np.newaxis]
        constant = np.arange(values.shape[-1]) == 0
        return np.where(slopes | constant, values, 0.0)

    def indices(
        self,
        clr_coefficients: FloatArray,  # shape: (..., n_active, n_terms)
        multi_indices: IndexArray,  # shape: (n_terms, n_features)
    ) -> LevelIndices:
        """Add up the squares of each row and divide by its variance."""
        values = self.coefficients(clr_coefficients)
        first, total, variance = partial_variances(values, multi_indices)
        shapley = shapley_variances(values, multi_indices)
        whole = (self.member @ variance[..., np.newaxis])[..., 0]
        safe = np.where(whole > 0, whole, 1.0)[..., np.newaxis]
        first, total, shapley = (
            self.member @ part / safe for part in (first, total, shapley)
        )
        return LevelIndices(first, total, shapley, whole)


def make_level(
    level: str,
    geometry: LogRatioGeometry,
    clr: FloatArray,  # shape: (n_members, n_active)
    weights: FloatArray,  # shape: (n_members,)
) -> IndexLevel:
    """Return the rows of a level; ``geometry`` says which coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._index_levels import make_level
    >>> from skpce._log_ratio_geometry import LogRatioGeometry
    >>> from skpce._steps import StepLayout
    >>> layout = StepLayout((2, 2), ("a", "b"), ("0", "1", "0", "1"))
    >>> geometry = LogRatioGeometry(layout, np.ones(4, bool), "ilr", -1)
    >>> level = make_level("step", geometry, np.eye(4), np.ones(4))
    >>> level.member
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.]])
    """
    if level == "coordinate":
        spread = weighted_spread(geometry.to_coordinates(clr), weights, LOG_RATIO_FLOOR)
        return IndexLevel(
            geometry,
            spread,
            np.eye(geometry.n_coordinates),
            geometry.step_of_coordinate,
            tuple(geometry.coordinate_names),
        )
    layout, step_of_active = geometry.layout, geometry.step_of_active
    by_step = (np.arange(layout.n_steps)[:, np.newaxis] == step_of_active).astype(float)
    spread = by_step @ weighted_spread(clr, weights, LOG_RATIO_FLOOR)
    if level == "step":
        member, steps = by_step, np.arange(layout.n_steps)
        names = layout.step_names
    else:
        member, steps = np.ones((1, len(step_of_active))), np.array([ALL_STEPS])
        names = ("trajectory",)
    return IndexLevel(None, spread[step_of_active], member, steps, tuple(names))
