"""Real data, fetched once, checked by checksum, and never shipped in the package.

Each ``fetch_*`` looks in the folder named by the environment variable
``SKPCE_DATA``, then in the cache, then at the public address. ``make_*`` simulates.
"""

from gflownet_envs.datasets._buchwald_hartwig import fetch_buchwald_hartwig
from gflownet_envs.datasets._learning_curves import fetch_learning_curves
from gflownet_envs.datasets._molecules import fetch_fragments, fetch_seh
from gflownet_envs.datasets._sachs import (
    SIX_EDGE_NETWORK,
    fetch_sachs,
    make_linear_gaussian_data,
)
from gflownet_envs.datasets._shakespeare import fetch_shakespeare

__all__ = [
    "SIX_EDGE_NETWORK",
    "fetch_buchwald_hartwig",
    "fetch_fragments",
    "fetch_learning_curves",
    "fetch_sachs",
    "fetch_seh",
    "fetch_shakespeare",
    "make_linear_gaussian_data",
]
