"""The bound of `TrainedEnsemble.distance_bound` beside the exact distance.

Twenty rewards a space, trained for five numbers of iterations. The exact distance is
that of the exact solver (`distance_to_exact`) in float64. Three bounds: by all
trajectories (listed where there are at most 100,000 of them, else summed over edges),
by 4,096 samples with log Z known as the sum of the rewards, and by 4,096 samples and as
many of uniformly random actions with log Z estimated from them. The last space has
modes that its members miss, as they are trained with the paper's settings and without
exploration. A bound is below the truth if it is smaller by more than 1e-12.

Run: ``python -m benchmarks.gflownet.certificate --out runs/certificate.json``, which
goes on where it was interrupted, and with ``--table`` for the table of what is there
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.gflownet.converged import Space, expressions, graphs, spaces
from benchmarks.measuring import load, options, save
from gflownet_envs import (
    PAPER_TRAINING,
    HypergridEnvironment,
    StateGraph,
    TrainingSpec,
    distance_to_exact,
    hypergrid_mode_rewards,
    train_ensemble,
)
from gflownet_envs.training import certificate
from gflownet_envs.training.convergence import NotConvergedWarning
from gflownet_envs.training.ensemble import TrainedEnsemble

STAGES = (30, 100, 300, 1000, 3000)  # iterations
N_SAMPLES = 4096
CONFIDENCE_LEVEL = 0.95
BOUNDS = ("all", "known", "estimated")
TITLES = {
    "all": "all trajectories",
    "known": "samples, Z known",
    "estimated": "samples, Z estimated",
}


def certified_spaces(n_members: int, seed: int) -> Iterator[Space]:
    """Yield the spaces, the cheap ones first."""
    names = ("grid", "levels", "hypergrid", "tokens and")
    listed = spaces(n_members, seed)
    for _, space in zip(names, listed, strict=False):
        yield space
    scores = np.random.default_rng(seed).normal(size=(n_members, 4, 16))
    yield graphs("adjacency", "adjacency", scores)
    modes = HypergridEnvironment(n_dims=2, side=32)
    r0 = np.geomspace(1e-5, 1e-3, n_members)
    table = hypergrid_mode_rewards(modes, r0=r0).numpy()
    yield Space("hypergrid 32×32, modes missed", modes, table, PAPER_TRAINING)
    shown = expressions(np.random.default_rng(seed).normal(size=(n_members, 2)))
    yield list(shown)[-1]
    scores = np.random.default_rng(seed).normal(size=(n_members, 5, 32))
    yield graphs("sets", "parent_sets", scores)


def measure(space: Space, n_iterations: int) -> dict[str, object]:
    """Train an ensemble, and return its distances and their bounds."""
    spec = TrainingSpec() if space.own is None else space.own
    if space.own is PAPER_TRAINING:
        n_iterations //= 10
    spec = replace(spec, n_iterations=n_iterations, check_every=0)
    started = time.process_time()
    ensemble = train_ensemble(space.environment, space.log_reward, spec, seed=1)
    seconds = {"training": time.process_time() - started}
    graph = StateGraph.from_environment(space.environment)
    truth = distance_to_exact(
        graph, ensemble.log_policy_table(graph), ensemble.reward.log_reward
    )
    row = {
        "space": space.name,
        "n_iterations": n_iterations,
        "n_trajectories": certificate.n_trajectories(graph),
        "converged": ensemble.diagnostics.converged.tolist(),
        "truth": truth.tolist(),
    }
    for name in BOUNDS:
        started = time.process_time()
        found = bound(ensemble, name)
        seconds[name] = time.process_time() - started
        row[name] = found.bound.tolist()
        row[f"method_{name}"] = f"{found.method}, {found.kind}"
    return row | {"cpu_seconds": seconds}


def bound(ensemble: TrainedEnsemble, name: str) -> certificate.DistanceBound:
    """Return one of the three bounds of all members."""
    if name == "all":
        return ensemble.distance_bound()
    log_z = None
    if name == "known":
        log_z = torch.logsumexp(ensemble.reward.log_reward.double(), dim=1).numpy()
    return certificate.bound_by_samples(
        ensemble,
        ensemble.reward.select(np.array(ensemble.rewards)),
        certificate.head_layout(ensemble),
        n_samples=N_SAMPLES,
        confidence_level=CONFIDENCE_LEVEL,
        log_z=log_z,
        seed=0,
    )


def table(rows: list[dict]) -> str:
    """Return one line for each space and stage."""
    lines = [
        "Upper bounds of the distance of trained members from their exact "
        "distributions, in total variation. Median truth; then for each bound how "
        "many of the members are below the truth, the median factor bound / truth, "
        "and the CPU-seconds a member in milliseconds.",
        "",
        f"{'space':32}{'iterations':>11}{'members':>8}{'truth':>9}"
        + "".join(f"{TITLES[name]:>32}" for name in BOUNDS)
        + f"{'training':>10}",
    ]
    for row in rows:
        truth = np.array(row["truth"])
        line = f"{row['space']:32}{row['n_iterations']:>11}{len(truth):>8}"
        line += f"{np.median(truth):>9.2g}"
        for name in BOUNDS:
            n_below, factor = below_and_factor(row, name)
            spent = 1e3 * row["cpu_seconds"][name] / len(truth)
            line += f"{f'{n_below} below, {factor:.3g} ×, {spent:.0f} ms':>32}"
        spent = row["cpu_seconds"]["training"] / len(truth)
        lines.append(line + f"{spent:>8.2f} s")
    lines += ["", *totals(rows)]
    return "\n".join(lines)


def below_and_factor(row: dict, name: str) -> tuple[int, float]:
    """Return how many members' bounds are below the truth, and the median factor."""
    truth, found = np.array(row["truth"]), np.array(row[name])
    return int((found < truth - 1e-12).sum()), float(np.median(found / truth))


def totals(rows: list[dict]) -> Iterator[str]:
    """Yield a sentence a bound, over all spaces and over what has converged."""
    for name in BOUNDS:
        for missed, chosen in (
            ("without missed modes", [r for r in rows if "missed" not in r["space"]]),
            ("modes missed", [r for r in rows if "missed" in r["space"]]),
        ):
            truth = np.concatenate([r["truth"] for r in chosen] or [[]])
            found = np.concatenate([r[name] for r in chosen] or [[]])
            close = (truth > 1e-3) & (truth <= 0.03)
            if not len(truth):
                continue
            below = (found < truth - 1e-12).mean()
            line = (
                f"{TITLES[name]}, {missed}: {below:.2%} of {len(truth)} below the truth"
            )
            if close.any():
                factor = found[close] / truth[close]
                line += (
                    f"; factor of the {close.sum()} members with a distance from 0.001 "
                    f"to 0.03: median {np.median(factor):.2f}, nine in ten at most "
                    f"{np.quantile(factor, 0.9):.2f}, largest {factor.max():.2f}"
                )
            yield line


def main() -> None:
    out = Path("runs/certificate.json")
    arguments = options(__doc__, members=20, seed=0, out=out, table=False)
    warnings.simplefilter("ignore", NotConvergedWarning)
    rows = load(arguments.out) or []
    done = {(row["space"], row["stage"]) for row in rows}
    every = certified_spaces(arguments.members, arguments.seed)
    for space in () if arguments.table else every:
        for stage in STAGES:
            if (space.name, stage) not in done:
                rows.append(measure(space, stage) | {"stage": stage})
                save(arguments.out, rows)
    print(table(rows))


if __name__ == "__main__":
    main()
