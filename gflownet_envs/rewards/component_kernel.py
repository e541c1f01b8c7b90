"""A kernel with one width for each component of an object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    Kernel,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)


class ComponentRBF(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    r"""Squared exponential kernel with one width for each block of columns.

    .. math:: k(x, z) = \exp \Bigl( -\frac12 \sum_b
        \frac{\lVert x_b - z_b \rVert^2}{\ell_b^2} \Bigr),

    where :math:`x_b` are the columns of block b. scikit-learn's ``RBF`` has one width
    for all columns or one for each: too few for components of different weight, too
    many for one-hot vectors and descriptors.

    Parameters
    ----------
    sizes : sequence of int
        Number of columns of each block, in the order of the columns.
    length_scale : array-like of float of shape (n_blocks,)
        The widths; where optimisation starts.
    length_scale_bounds : pair of float or "fixed", default=(0.1, 100)
        A width at its upper bound says that the block does not matter; scikit-learn
        then warns.

    Raises
    ------
    ValueError
        When it is evaluated, if there is not one positive width a block, or `sizes` do
        not add up to the columns.

    See Also
    --------
    level_features : Columns to use it on.

    Examples
    --------
    >>> kernel = ComponentRBF((2, 1), (1.0, 2.0))
    >>> kernel(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]])).round(3)
    array([[1.   , 0.223],
           [0.223, 1.   ]])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        length_scale: ArrayLike,
        length_scale_bounds: tuple[float, float] | str = (1e-1, 1e2),
    ) -> None:
        self.sizes = sizes
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """How scikit-learn optimises the widths."""
        return Hyperparameter(
            "length_scale", "numeric", self.length_scale_bounds, len(self.sizes)
        )

    def __call__(
        self,
        X: np.ndarray,  # shape: (n, F)
        Y: np.ndarray | None = None,  # shape: (m, F)
        eval_gradient: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the kernel matrix, and its gradient by the logarithms of the widths.

        Parameters
        ----------
        X : ndarray of shape (n, n_columns)
        Y : ndarray of shape (m, n_columns), optional
            Default: X.
        eval_gradient : bool, default=False

        Returns
        -------
        values : ndarray of shape (n, m)
        gradient : ndarray of shape (n, n, n_blocks)
            With `eval_gradient`; without blocks if the bounds are ``"fixed"``.
        """
        widths = self._checked_widths(X)
        ends = np.cumsum(self.sizes)[:-1]
        parts = [np.split(rows, ends, axis=1) for rows in (X, X if Y is None else Y)]
        blocks = [
            cdist(x, y, "sqeuclidean") / width**2
            for x, y, width in zip(*parts, widths, strict=True)
        ]
        values = np.exp(-0.5 * np.sum(blocks, axis=0))
        if not eval_gradient:
            return values
        if self.hyperparameter_length_scale.fixed:
            return values, np.empty((*values.shape, 0))
        return values, np.stack([values * block for block in blocks], axis=2)

    def __repr__(self) -> str:
        widths = ", ".join(f"{width:.3g}" for width in np.ravel(self.length_scale))
        return f"{type(self).__name__}(length_scale=[{widths}])"

    def _checked_widths(self, X: np.ndarray) -> np.ndarray:  # shape: (n_blocks,)
        # scikit-learn's optimiser gives a single width as a number
        widths = np.atleast_1d(np.asarray(self.length_scale, dtype=np.float64))
        if widths.shape != (len(self.sizes),) or not (widths > 0).all():
            raise ValueError(
                f"length_scale must be {len(self.sizes)} positive numbers, one a "
                f"block, got {self.length_scale!r}"
            )
        if sum(self.sizes) != X.shape[1]:
            raise ValueError(
                f"sizes must add up to the columns, {X.shape[1]}, got {self.sizes!r}"
            )
        return widths
