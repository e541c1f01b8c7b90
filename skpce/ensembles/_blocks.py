"""Members in blocks of rows, from arrays that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._checks import FloatArray, check_integer, fail

# Values of a block: 64 MiB.
_VALUES = 8_388_608


def member_blocks(
    X: Any, y: Any, sample_weight: Any = None, *, n_rows: int | None = None
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray | None]]:
    """Go through members block by block, for ``partial_fit``.

    The arrays may be anything with a shape whose slices of rows become arrays of NumPy:
    memory-mapped files, arrays of dask, zarr or HDF5. Only one block is in memory.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features)
        Inputs.
    y : array-like of shape (n_members, n_columns) or (n_members,)
        Outputs.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member.
    n_rows : int or None, default=None
        Members of a block. None takes as many as 64 MiB hold.

    Yields
    ------
    X : ndarray of shape (n_rows, n_features)
        Inputs of some members.
    y : ndarray of shape (n_rows, n_columns) or (n_rows,)
        Their outputs.
    sample_weight : ndarray of shape (n_rows,) or None
        Their frequencies.

    Raises
    ------
    ValueError
        If an array has no shape or another number of members, or for a bad ``n_rows``.

    See Also
    --------
    skpce.CompositionalPCESurrogate.partial_fit : Adds members to a fit.
    skpce.PolynomialChaosRegressor.partial_fit : The same for real outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.ensembles import member_blocks
    >>> X = np.random.default_rng(0).normal(size=(1000, 1))
    >>> model = PolynomialChaosRegressor(
    ...     1, distribution=norm(), solver="ridge", criterion="gcv"
    ... )
    >>> for block in member_blocks(X, 2.0 * X[:, 0], n_rows=300):
    ...     model = model.partial_fit(*block)
    >>> model.coefficients_.round(3) + 0.0
    array([[0., 2.]])
    """
    owner = "member_blocks"
    if n_rows is not None:
        check_integer(owner, "n_rows", n_rows, low=1)
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    for name, values in {"X": X, "y": y, **given}.items():
        if issparse(values):
            raise fail(owner, name, "a dense array", values)
        if not isinstance(getattr(values, "shape", None), tuple) or not values.shape:
            raise fail(owner, name, "an array with a shape, such as np.memmap", values)
        if values.shape[0] != X.shape[0]:
            raise ValueError(
                f"{name} of {owner} has {values.shape[0]} members; expected "
                f"{X.shape[0]}, those of X."
            )
    n_members = int(X.shape[0])
    if n_rows is None:
        width = int(np.prod(X.shape[1:])) + int(np.prod(y.shape[1:]))
        n_rows = max(1, _VALUES // max(width, 1))
    for start in range(0, n_members, n_rows):
        rows = slice(start, min(start + n_rows, n_members))
        weights = None if sample_weight is None else np.asarray(sample_weight[rows])
        yield np.asarray(X[rows]), np.asarray(y[rows]), weights
