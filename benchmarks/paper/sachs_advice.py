"""Is the paper's advice what to perturb in the Sachs network good advice?

The paper reads two pieces of advice from its indices and variances: perturbations along
the Raf/Mek/P38 axis would most reduce the uncertainty of the MAPK edges, interventions
on PKA and PKC that of the hub edges; and edges of high variance are candidates for
interventions, while robust ones can be treated as established. The interventions exist:
six of the nine conditions of Sachs et al. (2005) inhibit or activate a measured
protein.

A member sees 200 cells: observational ones, or 100 of them and 100 in which one protein
was perturbed, with the likelihood of Cooper and Yoo (1999). Of each pair of proteins
the exact probabilities of both directions and of no edge are computed, and of a group
of pairs the mean over its pairs of

- *between members*: the mean total variation to the mean over members, which is what
  the paper's variance measures;
- *in all*: the entropy in bits of the mean over members, which also has what each
  member by itself leaves open.

An intervention is good for a group if it lowers these. Each repetition draws all cells
anew. The choices of standardisation are run beside each other: by all cells, and within
each condition, which takes away the shifts of the means.

The *index's advice* is read as the paper does: of the principal component of the
covariances with the larger first-order index for the group (degree 1, 20 members), the
perturbed protein with the largest squared loadings.

*Established*: the reference is the posterior of all 7,466 cells of the nine conditions;
a pair has *changed* if the mean of the observational members is more than one half from
it in total variation.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.paper.sachs_advice``; what is
in ``benchmarks/paper/results/sachs_advice.json`` is not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA

from benchmarks.gflownet.sachs_interventions import (
    Cells,
    draw,
    read_cells,
    reward_of,
)
from benchmarks.measuring import load, options, save
from gflownet_envs.datasets._sachs import CONSENSUS_EDGES
from gflownet_envs.exact.dag import GraphFlows
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.tasks.sachs import MAX_EDGES
from gflownet_envs.rewards.graph_scores import sample_covariances
from skpce import CompositionalPCESurrogate

RECORD = Path(__file__).parent / "results" / "sachs_advice.json"
N_REPETITIONS, N_MEMBERS, N_FOR_INDICES = 20, 8, 20
OBSERVATIONAL = 1
#: Conditions that perturb a measured protein, by number.
INTERVENTIONS = {
    "Akt inhibited": 3,
    "PKC inhibited": 4,
    "PIP2 inhibited": 5,
    "Mek inhibited": 6,
    "PKC activated": 8,
    "PKA activated": 9,
}
_MAPK = (("Raf", "Mek"), ("Mek", "Erk"), ("PKA", "P38"))
GROUPS = {
    "MAPK": _MAPK,
    "hub": tuple(
        edge
        for edge in CONSENSUS_EDGES
        if edge[0] in ("PKA", "PKC") and edge not in _MAPK
    ),
}
#: What the paper advises for each group.
ADVISED = {
    "MAPK": ("Mek inhibited",),
    "hub": ("PKC inhibited", "PKC activated", "PKA activated"),
}
STANDARDIZED = ("all cells", "within conditions")
_LEAST = 1e-6  # probability, for log-ratios


def outcomes(
    names: Sequence[str],
    samples: np.ndarray,  # shape: (E, n, d)
    targets: np.ndarray,  # shape: (n,)
    max_edges: int = MAX_EDGES,
) -> np.ndarray:  # shape: (E, n_pairs, 3)
    """Return the probabilities of i → j, j → i and no edge, of all pairs i < j."""
    flows = GraphFlows(reward_of(names, samples, targets, max_edges))
    edges = flows.edge_marginals().numpy()
    one, other = np.triu_indices(len(names), 1)
    forth, back = edges[:, one, other], edges[:, other, one]
    none = np.clip(1.0 - forth - back, 0.0, None)
    return np.stack([forth, back, none], axis=-1)


def between_members(laws: np.ndarray) -> np.ndarray:
    # shapes: (E, n_pairs, 3) -> (n_pairs,)
    """Return the mean total variation of the members to their mean."""
    return np.asarray(0.5 * np.abs(laws - laws.mean(axis=0)).sum(axis=-1).mean(axis=0))


def in_all(laws: np.ndarray) -> np.ndarray:  # shapes: (E, n_pairs, 3) -> (n_pairs,)
    """Return the entropy in bits of the mean over members."""
    mean = np.clip(laws.mean(axis=0), 1e-300, 1.0)
    return np.asarray(-(mean * np.log2(mean)).sum(axis=-1))


def places(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[int]:
    """Return the numbers of the pairs of some edges among all pairs i < j."""
    pairs = list(combinations(range(len(names)), 2))
    number = {name: i for i, name in enumerate(names)}
    return [pairs.index(tuple(sorted((number[a], number[b])))) for a, b in edges]


def advice_of_indices(
    names: Sequence[str],
    covariances: np.ndarray,  # shape: (E, d * d)
    laws: np.ndarray,  # shape: (E, n_pairs, 3)
) -> dict[str, Any]:
    """Return the indices of PC1 and PC2 by group, and the protein they point at."""
    pca = PCA(2, whiten=True, svd_solver="full").fit(covariances)
    X = pca.transform(covariances)
    targets = sorted({name.split()[0] for name in INTERVENTIONS})
    loadings = np.square(pca.components_).reshape(2, len(names), len(names))
    of_protein = loadings.sum(axis=1) + loadings.sum(axis=2)  # (2, d)
    found = {}
    for group, edges in GROUPS.items():
        some = np.maximum(laws[:, places(names, edges)], _LEAST)
        surrogate = CompositionalPCESurrogate(
            1, steps=(3,) * len(edges), solver="ridge", distribution="normal"
        )
        surrogate.fit(X, some.reshape(len(some), -1))
        share = surrogate.step_sobol_indices_.mean(axis=0)
        leading = int(np.argmax(share))
        weight = [of_protein[leading, list(names).index(target)] for target in targets]
        found[group] = {"first": share, "protein": targets[int(np.argmax(weight))]}
    return found


@cache
def cells_of(standardized: str) -> Cells:
    """Return all cells, standardised in one of two ways."""
    within = standardized == "within conditions"
    return read_cells(observational=False, within=within)


@cache
def reference(standardized: str) -> np.ndarray:  # shape: (n_pairs, 3)
    """Return the posterior of all cells."""
    cells = cells_of(standardized)
    every = len(cells.names) * (len(cells.names) - 1) // 2  # no limit on edges
    return outcomes(cells.names, cells.values[np.newaxis], cells.target, every)[0]


def measure(standardized: str, repetition: int) -> dict[str, Any]:
    """Compare the interventions on one draw of all members."""
    started = time.process_time()
    cells, names = cells_of(standardized), cells_of(standardized).names
    rng = np.random.default_rng(repetition)
    samples, targets = draw(cells, [OBSERVATIONAL], N_FOR_INDICES, rng)
    before = outcomes(names, samples, targets)
    found: dict[str, Any] = {
        "indices": advice_of_indices(names, sample_covariances(samples), before),
        "interventions": {},
    }
    some = {"observational": before[:N_MEMBERS]}
    for name, number in INTERVENTIONS.items():
        drawn = draw(cells, [OBSERVATIONAL, number], N_MEMBERS, rng)
        some[name] = outcomes(names, *drawn)
    for name, laws in some.items():
        found["interventions"][name] = {
            group: [
                float(between_members(laws)[places(names, edges)].mean()),
                float(in_all(laws)[places(names, edges)].mean()),
            ]
            for group, edges in GROUPS.items()
        }
    distance = 0.5 * np.abs(before.mean(axis=0) - reference(standardized)).sum(axis=-1)
    found["pairs"] = {
        "between": between_members(before),
        "in_all": in_all(before),
        "edge": 1.0 - before.mean(axis=0)[:, 2],
        "distance": distance,
    }
    return rounded(found | {"seconds": time.process_time() - started})


def main() -> None:
    arguments = options(__doc__, repetitions=N_REPETITIONS)
    torch.set_num_threads(1)
    found = load(RECORD)
    for repetition in range(arguments.repetitions):
        for standardized in STANDARDIZED:
            rows = found.setdefault(standardized, [])
            if len(rows) > repetition:
                continue
            rows.append(measure(standardized, repetition))
            save(RECORD, found)
            print(repetition, standardized, rows[-1]["seconds"], flush=True)


if __name__ == "__main__":
    main()
