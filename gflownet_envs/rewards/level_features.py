"""What the levels of a component are, as columns that a kernel can compare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from gflownet_envs.chemistry import molecular_descriptors
from gflownet_envs.rewards.gaussian_process import one_hot_levels

# A descriptor is constant if its spread is below this share of its largest value.
_ROUNDING = 1e-10


def level_descriptors(
    smiles: Sequence[str | None],
    *,
    names: Sequence[str] | None = None,
) -> np.ndarray:  # shape: (n_levels, n_columns)
    r"""Return a table of standardised molecular descriptors of a component's levels.

    Each descriptor has mean 0 over the levels that are molecules, and all of them
    together variance 1: the squared distance of two of K molecules is 2K/(K − 1) on
    average. That of two one-hot vectors is 2, so that components of many levels, and
    one-hot vectors beside descriptors, weigh about alike in a kernel of one width. (Of
    three molecules it is 3.)

    A level that is no molecule (nothing is added) is 0 in all descriptors, the average
    molecule, and has a further column of its own: its squared distance to others is 2
    on average.

    Parameters
    ----------
    smiles : sequence of str or None
        Of each level; None or empty where nothing is added.
    names : sequence of str, optional
        Of RDKit's descriptors; default: all.

    Returns
    -------
    table : ndarray of shape (n_levels, n_columns)
        Descriptors that are constant or not defined for some level are left out.

    Raises
    ------
    ValueError
        If RDKit reads no molecule, or no descriptor tells the molecules apart.

    See Also
    --------
    level_features : Puts the tables of components side by side.

    Examples
    --------
    >>> halides = ["Clc1ccccn1", "Brc1ccccn1", None]
    >>> level_descriptors(halides, names=["MolWt", "RingCount"])  # doctest: +SKIP
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  1.]])
    """
    present = np.array([bool(name) for name in smiles], dtype=bool)
    values, _ = molecular_descriptors([name for name in smiles if name], names)
    values = _telling(values)
    n_kept = values.shape[1]
    if n_kept == 0:
        raise ValueError(
            "smiles must be of at least two molecules that some descriptor tells "
            f"apart, got {list(smiles)}"
        )
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    table = np.zeros((len(present), n_kept + (not present.all())))
    table[present, :n_kept] = standard / np.sqrt(n_kept)
    table[~present, n_kept:] = 1.0
    return table


def _telling(
    values: np.ndarray,  # shape: (n, n_descriptors)
) -> np.ndarray:  # shape: (n, n_kept)
    """Return the descriptors that are finite and differ between molecules."""
    if len(values) < 2:
        return values[:, :0]
    values = values[:, np.isfinite(values).all(axis=0)]
    sizes = np.abs(values).max(axis=0)
    return values[:, values.std(axis=0) > _ROUNDING * sizes]


def level_features(
    levels: ArrayLike,  # shape: (n, n_components), int
    tables: Sequence[ArrayLike],  # shapes: (size, n_columns), one a component
) -> np.ndarray:  # shape: (n, Σ n_columns), float64
    """Return the rows of the tables of all components, side by side.

    Tables may be descriptors, identity matrices (`one_hot_levels` is that), or both
    next to each other: levels are then told apart and similar ones still alike.

    Parameters
    ----------
    levels : array of int of shape (n, n_components)
        The level of each component.
    tables : sequence of arrays of shape (size, n_columns)
        A row for each level of a component.

    Raises
    ------
    ValueError
        If there is not one table a component, a table is not two-dimensional and
        finite, or a level has no row.

    Examples
    --------
    >>> sizes = [[0.1], [0.5], [0.9]]
    >>> level_features([[1, 0], [0, 2]], [np.eye(2), sizes])
    array([[0. , 1. , 0.1],
           [1. , 0. , 0.9]])
    """
    blocks = [np.asarray(table, dtype=np.float64) for table in tables]
    for i, block in enumerate(blocks):
        if block.ndim != 2 or not np.isfinite(block).all():
            raise ValueError(
                f"tables[{i}] must be finite, of shape (size, n_columns), got shape "
                f"{block.shape}"
            )
    chosen = one_hot_levels(levels, [len(block) for block in blocks])
    return chosen @ block_diag(*blocks)
