"""The experiments: from a task to an attribution with a verdict.

The only part that joins `gflownet_envs` and `skpce`.
"""
