"""The part of the contract of environments that needs the list of all states."""

import torch

from gflownet_envs.environments.base import Environment
from gflownet_envs.exact import solve_exact, terminating_distribution
from gflownet_envs.state_graph import StateGraph
from gflownet_envs.uniform_trajectories import SampledTrajectories


def graph_tables(environment: Environment, sample: SampledTrajectories) -> None:
    graph = StateGraph.from_environment(environment)
    ids = graph.state_ids(sample.before)
    assert torch.equal(graph.states[ids], sample.before), "state_ids must find states"
    mask = environment.valid_mask(graph.states)
    assert torch.equal(graph.mask, mask), "the graph must hold valid_mask"
    assert torch.equal(graph.encodings, environment.encode(graph.states)), (
        "the graph must hold the encodings"
    )
    n_encodings = len(torch.unique(graph.encodings, dim=0))
    assert n_encodings == graph.n_states, (
        f"encode must distinguish non-terminal states: {graph.n_states} states have "
        f"{n_encodings} encodings"
    )
    children = graph.children[ids, sample.taken]
    finished = environment.is_terminal(sample.after)
    objects = children[finished] - graph.n_states
    assert torch.equal(objects, environment.object_index(sample.after[finished])), (
        "edges to objects must agree with object_index"
    )
    going_on = sample.after[~finished]
    assert torch.equal(graph.states[children[~finished]], going_on), (
        "edges must agree with step"
    )
    log_pb = environment.log_backward_policy(sample.after)
    assert torch.equal(graph.log_pb[ids, sample.taken], log_pb), (
        "edges must hold log P_B"
    )
    reached = torch.unique(graph.children[graph.children >= graph.n_states])
    assert len(reached) == environment.n_objects, (
        f"n_objects is {environment.n_objects}, {len(reached)} can be reached"
    )


def edges_match_parents(environment: Environment, sample: SampledTrajectories) -> None:
    graph = StateGraph.from_environment(environment)
    n_total = graph.n_states + environment.n_objects
    share = torch.zeros(n_total, dtype=torch.float64)
    edges = graph.children[graph.mask]
    share.index_add_(0, edges, graph.log_pb[graph.mask].exp())
    assert torch.allclose(share[1:], torch.ones_like(share[1:]), rtol=0, atol=1e-12), (
        "P_B over the edges into a state must sum to 1 (parents and edges disagree)"
    )


def exact_law(environment: Environment, sample: SampledTrajectories) -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (2, environment.n_objects)
    log_reward = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
    solution = solve_exact(environment, log_reward)
    table = solution.log_policy_table
    law = terminating_distribution(solution.graph, table)
    error = (law - solution.target_distribution()).abs().max().item()
    assert error < 1e-10, f"the exact law must be ∝ reward, the error is {error:.1e}"
    forward = solution.log_flow[..., None] + table
    values = torch.cat((solution.log_flow, log_reward), dim=1)
    backward = values[:, solution.graph.children.clamp(min=0)] + solution.graph.log_pb
    mask = solution.graph.mask
    gap = (forward - backward)[:, mask].abs().max().item()
    assert gap < 1e-10, f"forward and backward flow must agree, the gap is {gap:.1e}"
