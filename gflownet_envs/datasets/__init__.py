"""Real data, fetched once, checked by checksum, and never kept in the package.

Each ``fetch_*`` looks in the folder named by the environment variable
``SKPCE_DATA``, then in the cache, then at the public address. ``make_*`` simulates.
"""

from gflownet_envs.datasets._buchwald_hartwig import fetch_buchwald_hartwig
from gflownet_envs.datasets._fragments import fetch_fragments
from gflownet_envs.datasets._linear_gaussian import (
    SIX_EDGE_NETWORK,
    make_linear_gaussian_data,
)
from gflownet_envs.datasets._sachs import fetch_sachs
from gflownet_envs.datasets._seh import fetch_seh

__all__ = [
    "SIX_EDGE_NETWORK",
    "fetch_buchwald_hartwig",
    "fetch_fragments",
    "fetch_sachs",
    "fetch_seh",
    "make_linear_gaussian_data",
]
