"""The whole paper on one page: every figure, table and claim beside ours."""

from gflownet_envs.experiments.paper.make import make_paper

__all__ = ["make_paper"]
