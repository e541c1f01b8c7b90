"""Real data, fetched once, checked by checksum, and never kept in the package.

Each ``fetch_*`` looks in the folder named by the environment variable
``SKPCE_DATA``, then in the cache, then at the public address.
"""

from gflownet_envs.datasets._buchwald_hartwig import fetch_buchwald_hartwig

__all__ = ["fetch_buchwald_hartwig"]
