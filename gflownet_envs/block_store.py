"""Stores of finished blocks, under the name that users import."""

from gflownet_envs.storage import BlockStore, DamagedBlockWarning

__all__ = ["BlockStore", "DamagedBlockWarning"]
