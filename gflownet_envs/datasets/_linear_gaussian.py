"""Data simulated from a known Gaussian network."""

from collections.abc import Mapping
from numbers import Integral
from types import MappingProxyType

import numpy as np
from sklearn.utils import Bunch

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
        - ``covariance``: ndarray of shape (n_nodes, n_nodes), that of the law;
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
