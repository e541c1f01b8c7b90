"""Data about networks: the protein signals of Sachs et al., and simulated ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gflownet_envs.datasets._fetch import (
    fetch_table,
    source_of,
    table_bytes,
)

FEATURE_NAMES = (
    *("Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"),
)
N_OBSERVATIONS = 853  # of the 7,466 rows of the raw file, the first ones

# The network found in the 2005 paper, as in bnlearn's repository.
CONSENSUS_EDGES = tuple(
    (source, target)
    for source, targets in {
        "Erk": ["Akt"],
        "Mek": ["Erk"],
        "PIP3": ["PIP2"],
        "PKA": ["Akt", "Erk", "Jnk", "Mek", "P38", "Raf"],
        "PKC": ["Jnk", "Mek", "P38", "PKA", "Raf"],
        "Plcg": ["PIP2", "PIP3"],
        "Raf": ["Mek"],
    }.items()
    for target in targets
)


def convert_raw(raw: bytes) -> bytes:
    """Turn the first 853 rows of the raw table, tab separated, into the tidy one."""
    lines = raw.decode("utf-8").splitlines()[1 : N_OBSERVATIONS + 1]
    rows = [[f"{float(cell):g}" for cell in line.split("\t")] for line in lines]
    return table_bytes(FEATURE_NAMES, *rows)


SOURCE = source_of("sachs", convert_raw)


def fetch_sachs(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Bunch | tuple[Any, None]:
    """Fetch the 853 observational cells of Sachs et al. (2005).

    The data are looked for in the folder ``$SKPCE_DATA``, then in the cache, then
    at the public address; what is found is checked by its SHA-256.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None is the user's cache folder (`pooch.os_cache`).
    download_if_missing : bool, default=True
        Whether to download what is not found. False raises an OSError instead.
    n_retries : int, default=3
        How often a failed download is tried again.
    return_X_y : bool, default=False
        Whether to return ``(data, None)`` instead of a Bunch: there is no target.
    as_frame : bool, default=False
        Whether data and frame are pandas objects.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``data``: ndarray or DataFrame of shape (853, 11), fluorescence;
        - ``target``: None;
        - ``feature_names``: list of str;
        - ``edges``: tuple of 17 pairs (source, target), the network that the source
          found, for reference only;
        - ``frame``: DataFrame of the data, or None without ``as_frame``;
        - ``DESCR``: what the rows are, and which are left out;
        - ``filename``: the file that was read.
    (data, None) : tuple
        With ``return_X_y``.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one.
    OSError
        If the data are not found and cannot be downloaded.
    ImportError
        If pandas (``as_frame``) or pooch (cache, download) is needed and missing.

    References
    ----------
    K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger, G. P. Nolan. Causal
    protein-signaling networks derived from multiparameter single-cell data. Science
    308 (2005) 523–529.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_sachs
    >>> bunch = fetch_sachs()  # doctest: +SKIP
    >>> bunch.data.shape, len(bunch.edges)  # doctest: +SKIP
    ((853, 11), 17)
    """
    return fetch_table(
        "sachs",
        SOURCE,
        (data_home, download_if_missing, n_retries),
        FEATURE_NAMES,
        None,
        _read,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(rows: list[dict[str, str]]) -> dict[str, Any]:
    cells = np.array([list(row.values()) for row in rows], dtype=np.float64)
    return {"data": cells, "edges": CONSENSUS_EDGES}


# Each node and its parents: the consensus network of Sachs et al. (2005) among five
# of its eleven molecules.
SIX_EDGE_NETWORK: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Raf": ("PKA",),
        "Mek": ("Raf", "PKA"),
        "Erk": ("Mek", "PKA"),
        "PKA": (),
        "P38": ("PKA",),
    }
)


def make_linear_gaussian_data(
    network: Mapping[str, tuple[str, ...]] = SIX_EDGE_NETWORK,
    n_samples: int = 853,
    *,
    noise_variance: float = 0.5,
    seed: int = 0,
) -> Bunch:
    r"""Simulate rows of a linear Gaussian network.

    .. math::
        x_j = \sum_{i \in \mathrm{Pa}(j)} \beta_{ij} x_i + \varepsilon_j, \qquad
        \varepsilon_j \sim N(0, \sigma^2)

    with :math:`\beta_{ij} \sim N(0, 1)` and σ² = 0.5: the supplement of the paper
    ("Linear Gaussian network"). About the five-node network the paper says only that
    its trajectories have seven steps; chosen here are five molecules of the Sachs
    network with six edges among them, which are added in six steps before the stop,
    and as many rows as the Sachs data have.

    Parameters
    ----------
    network : mapping of str to tuple of str, default=SIX_EDGE_NETWORK
        The parents of each node. The order of the nodes is that of the columns.
    n_samples : int, default=853
    noise_variance : float, default=0.5
    seed : int, default=0

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``data``: ndarray of shape (n_samples, n_nodes), not standardised;
        - ``weights``: ndarray of shape (n_nodes, n_nodes), β with the parent as row;
        - ``covariance``: ndarray of shape (n_nodes, n_nodes), that of the distribution;
        - ``feature_names``: list of str;
        - ``edges``: tuple of pairs (source, target).

    Raises
    ------
    ValueError
        If a parent is no node, the network has a cycle, or a number is out of range.

    Examples
    --------
    >>> from gflownet_envs.datasets import make_linear_gaussian_data
    >>> bunch = make_linear_gaussian_data()
    >>> bunch.data.shape, len(bunch.edges)
    ((853, 5), 6)
    """
    names = tuple(network)
    for node, parents in network.items():
        unknown = [name for name in parents if name not in network]
        if unknown or len(set(parents)) < len(parents):
            raise ValueError(
                f"the parents of {node!r} must be distinct nodes of {names}, "
                f"got {tuple(parents)}"
            )
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an int ≥ 1, got {n_samples!r}")
    if not 0 < noise_variance < np.inf:
        raise ValueError(f"noise_variance must be positive, got {noise_variance!r}")
    edges = tuple((i, j) for j in names for i in network[j])
    mask = np.array([[(i, j) in edges for j in names] for i in names])
    # nilpotent exactly where there is no cycle
    if np.linalg.matrix_power(mask.astype(float), len(names)).any():
        raise ValueError(f"the network must be acyclic, got the edges {edges}")
    rng = np.random.default_rng(seed)
    weights = np.where(mask, rng.normal(size=mask.shape), 0.0)
    noise = rng.normal(scale=np.sqrt(noise_variance), size=(n_samples, len(names)))
    # x = x β + ε
    from_noise = np.linalg.inv(np.eye(len(names)) - weights)
    return Bunch(
        data=noise @ from_noise,
        weights=weights,
        covariance=noise_variance * from_noise.T @ from_noise,
        feature_names=list(names),
        edges=edges,
    )
