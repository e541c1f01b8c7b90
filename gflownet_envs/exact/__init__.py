"""Exact policies: of listed states, of graphs too many to list, along a trajectory."""

from gflownet_envs.exact.dag import GraphFlows, edge_marginals
from gflownet_envs.exact.solve import (
    ExactSolution,
    PoliciesAlong,
    PolicySource,
    Trajectory,
    WholeSpace,
    distance_to_exact,
    greedy_trajectory,
    mean_policy,
    policies_along,
    policies_everywhere,
    solve_exact,
    terminating_distribution,
    trajectory_of_actions,
)

__all__ = [
    "ExactSolution",
    "GraphFlows",
    "PoliciesAlong",
    "PolicySource",
    "Trajectory",
    "WholeSpace",
    "distance_to_exact",
    "edge_marginals",
    "greedy_trajectory",
    "mean_policy",
    "policies_along",
    "policies_everywhere",
    "solve_exact",
    "terminating_distribution",
    "trajectory_of_actions",
]
