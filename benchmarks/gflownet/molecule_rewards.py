"""Proxies, exact policies and their cost on both molecular tasks.

Toy: proxies of the paper's 20-fragment score (30 % of 500 reference chains), held-out
R², and the exact solution over 3.2 million chains. Real: chains of three of the 29
neutral fragments with two attachment atoms, QED, activity proxies on fingerprints (30 %
of 1,786 inhibitors), how similar the chains are to any measured molecule, and how much
the members differ. CPU-seconds on one thread.

Run: ``SKPCE_DATA=… python -m benchmarks.gflownet.molecule_rewards toy`` or ``real``
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter

import numpy as np
import torch

from gflownet_envs import ProxySpec, StateGraph, solve_exact
from gflownet_envs.chemistry import (
    assemble_chains,
    drug_likeness,
    morgan_fingerprints,
    nearest_similarities,
    neutral_links,
)
from gflownet_envs.datasets import fetch_fragments, fetch_seh
from gflownet_envs.environments.selection import fragment_chain_environment
from gflownet_envs.rewards.molecules import (
    POSITIONS,
    TOY_FRAGMENTS,
    ChainProxyReward,
    chain_features,
    descriptor_score,
    molecule_log_reward,
    reference_chains,
    toy_descriptors,
)
from gflownet_envs.rewards.proxies import train_feature_proxies
from gflownet_envs.rewards.proxy_training import PAPER_PROXY

_CLOCK = [time.process_time()]


def report(text: str) -> None:
    """Print a line with the CPU-seconds since the line before."""
    now = time.process_time()
    print(f"{text}  [{now - _CLOCK[0]:.2f} CPU-s]", flush=True)
    _CLOCK[0] = time.process_time()


def quantiles(values) -> str:
    return " ".join(f"{q:.3f}" for q in np.quantile(values, [0, 0.05, 0.5, 0.95, 1]))


def report_proxies(name: str, proxies) -> None:
    report(
        f"{name}: held-out R² {proxies.r2_held_out.mean():.3f} "
        f"({proxies.r2_held_out.min():.3f} to {proxies.r2_held_out.max():.3f}), RMSE "
        f"{np.sqrt(proxies.mse_held_out.mean()):.3f}, epochs "
        f"{np.median(proxies.n_epochs):.0f}"
    )


def toy(n_members: int, n_exact: int) -> None:
    chains = reference_chains()
    targets = descriptor_score(chains)
    report(f"500 reference chains, score: {quantiles(targets)} (0 5 50 95 100 %)")
    features = chain_features(toy_descriptors(), chains)
    specs = {
        "default proxies": ProxySpec(hidden=(64, 64)),
        "paper proxies": ProxySpec(
            hidden=(64, 64),
            batch_size=None,
            patience=None,
            standardize=PAPER_PROXY.standardize,
            learning_rate=PAPER_PROXY.learning_rate,
        ),
    }
    environment = fragment_chain_environment(tuple(TOY_FRAGMENTS), POSITIONS)
    graph = StateGraph.from_environment(environment)
    report(f"graph of {graph.n_states} states")
    for name, spec in specs.items():
        proxies = train_feature_proxies(
            features, targets, spec, members=range(n_members)
        )
        report_proxies(name, proxies)
        reward = ChainProxyReward(environment, proxies, toy_descriptors())
        some = reward.select(slice(0, n_exact))
        solution = solve_exact(graph, some)
        report(f"{n_exact} exact solutions of {environment.n_objects} chains")
        first = solution.log_policy(environment.initial_state()).exp()
        best = first[:, :20].mean(dim=0).argmax()
        print(f"first choice most often: {environment.action_names[best]}")


def real(n_members: int, n_positions: int) -> None:
    bunch = fetch_fragments(min_attachments=2)
    fragments = neutral_links(bunch.smiles, bunch.attachments)
    environment = fragment_chain_environment([s for s, _ in fragments], n_positions)
    chains = environment.object_levels().numpy()
    smiles = assemble_chains(fragments, chains)
    copies = Counter(smiles)
    report(
        f"{len(fragments)} fragments, {len(smiles)} chains, {len(copies)} molecules; "
        f"the most frequent is {max(copies.values())} chains"
    )
    quality = drug_likeness(smiles)
    report(
        f"QED: mean {quality.mean():.3f}, sd {quality.std():.3f}: "
        f"{quantiles(quality)} (0 5 50 95 100 %)"
    )
    measured, activity = fetch_seh(return_X_y=True)
    known, prints = morgan_fingerprints(measured), morgan_fingerprints(smiles)
    report("fingerprints")
    likeness = nearest_similarities(prints, known)
    report(f"similarity to the nearest measured molecule: {quantiles(likeness)}")
    proxies = train_feature_proxies(known, activity, members=range(n_members))
    report_proxies("activity proxies", proxies)
    predicted = proxies.predict(prints)
    report(
        f"predicted activity: sd over chains {predicted.mean(axis=0).std():.3f}, "
        f"sd between members (median chain) {np.median(predicted.std(axis=0)):.3f}; "
        f"sd of the measured {activity.std():.3f}"
    )
    log_reward = molecule_log_reward(predicted, quality)
    solution = solve_exact(environment, log_reward)
    law = solution.target_distribution()
    mean = law.mean(dim=0)
    apart = 0.5 * (law - mean).abs().sum(dim=1)
    report(f"exact: total variation to the mean law {apart.mean():.3f}")
    effective = torch.exp(-(law * law.clamp(min=1e-300).log()).sum(dim=1))
    print(f"effective number of chains (exp entropy): {effective.median():.0f}")
    for index in mean.argsort(descending=True)[:5].tolist():
        print(f"  {mean[index]:.4f}  QED {quality[index]:.2f}  {smiles[index]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("toy", "real"))
    parser.add_argument("--members", type=int, default=80)
    parser.add_argument("--exact", type=int, default=3, help="toy members solved")
    parser.add_argument("--positions", type=int, default=3, help="of real chains")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.task == "toy":
        toy(arguments.members, min(arguments.exact, arguments.members))
    else:
        real(arguments.members, arguments.positions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
