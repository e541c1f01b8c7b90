"""How probable each edge is under a law over directed acyclic graphs."""

import torch
from torch import Tensor

from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.state_graph import StateGraph

_CLOSURE_TOLERANCE = 1e-6


def edge_marginals(
    graph: StateGraph,
    distribution: Tensor,  # shape: (E, n_objects)
) -> Tensor:  # shape: (E, n_nodes, n_nodes), float64
    r"""Return the probability of each edge under each member's law over graphs.

    The law is exact (:meth:`ExactSolution.target_distribution`, or the softmax of a
    table of scores: the posterior over graphs) or that of a trained policy
    (`terminating_distribution`).

    Every order of adding the edges of an acyclic graph stays acyclic, so :math:`|E|!`
    paths lead to a graph with :math:`|E|` edges. A GFlowNet that leaves log P_B out
    therefore samples graphs in proportion to :math:`R(G)\,|E|!` and prefers many
    edges; with the uniform P_B, whose paths have probability :math:`1 / |E|!` each, it
    samples in proportion to R.

    Parameters
    ----------
    graph : StateGraph
        Of a `DagEnvironment`.
    distribution : Tensor of shape (n_members, n_objects)
        Probabilities, one row a member.

    Returns
    -------
    marginals : Tensor of shape (n_members, n_nodes, n_nodes), float64
        ``marginals[e, i, j]`` is that of i → j; the diagonal is 0.

    Examples
    --------
    The uniform law over the 25 graphs of three nodes: 8 of them have a given edge.

    >>> graph = StateGraph.from_environment(DagEnvironment(3))
    >>> marginals = edge_marginals(graph, torch.full((1, 25), 1 / 25))
    >>> [round(p, 6) for p in marginals[0, 0].tolist()]
    [0.0, 0.32, 0.32]
    """
    environment = _require_graphs(graph.environment)
    n_objects = environment.require_listed_objects()
    law = torch.as_tensor(distribution).to(torch.float64)
    if law.ndim != 2 or law.shape[1] != n_objects:
        raise ValueError(
            f"distribution must have shape (n_members, {n_objects}) for "
            f"{environment.name}, got {tuple(law.shape)}"
        )
    off = float((law.sum(dim=-1) - 1).abs().nan_to_num(nan=float("inf")).max())
    if off > _CLOSURE_TOLERANCE or (law < 0).any():
        raise ValueError(
            "distribution must be probabilities that sum to one; the smallest is "
            f"{float(law.min()):.3g}, the largest distance of a sum from one {off:.3g}"
        )
    is_edge = adjacency(environment, graph.final_states()).to(torch.float64)
    return torch.tensordot(law, is_edge, dims=1)


def adjacency(
    environment: DagEnvironment,
    states: Tensor,  # shape: (..., S)
) -> Tensor:  # shape: (..., n_nodes, n_nodes), bool
    """Say which edges each graph has; row i, column j for i → j.

    The mean over sampled graphs estimates edge marginals where graphs are too many to
    list.

    Examples
    --------
    >>> env = DagEnvironment(2)
    >>> adjacency(env, env.step(env.initial_state(), torch.tensor(0))).tolist()
    [[False, True], [False, False]]
    """
    parents = _require_graphs(environment).parent_sets(states)[..., None, :]
    nodes = torch.arange(environment.n_nodes, device=states.device)
    return (parents >> nodes[:, None]) & 1 == 1


def _require_graphs(environment: object) -> DagEnvironment:
    if not isinstance(environment, DagEnvironment):
        raise ValueError(f"a DagEnvironment is needed, got {environment!r}")
    return environment
