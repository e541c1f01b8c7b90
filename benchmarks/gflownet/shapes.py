"""CPU-seconds per member on shapes that are not Buchwald–Hartwig.

Recurrent policies on two token shapes (7 tokens in 9 steps, 17 in 5), all members at
once beside one at a time; and directed acyclic graphs of 11 nodes with up to 18 edges
(the shape of the Sachs data) with a 2 × 128 perceptron and batches of 16. Rewards are
random; one thread; medians of the repetitions.

Run: ``python -m benchmarks.gflownet.shapes``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from gflownet_envs import TrainingSpec, train_ensemble
from gflownet_envs.environments import DagEnvironment, TokenSequenceEnvironment
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.rewards.source import FunctionReward
from gflownet_envs.training.convergence import NotConvergedWarning

TOKEN_SHAPES = ((7, 9), (17, 5))


def cpu_seconds(environment, reward, spec: TrainingSpec) -> float:
    """Return CPU-seconds per member of training."""
    start = time.process_time()
    train_ensemble(environment, reward, spec)
    return (time.process_time() - start) / reward.n_members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    rng = np.random.default_rng(0)
    for n_tokens, n_steps in TOKEN_SHAPES:
        tokens = [*(f"t{i}" for i in range(n_tokens - 1)), "end"]
        environment = TokenSequenceEnvironment(tokens, n_steps, end_token="end")
        weights = rng.normal(size=(arguments.members, n_tokens + 1, n_steps))
        reward = FunctionReward(sequence_scores, weights)
        spec = TrainingSpec(
            policy="gru",
            hidden=(64,),
            batch_size=32,
            n_iterations=arguments.iterations,
            check_every=0,
            max_table_states=0,
        )
        together, alone = [], []
        for _ in range(arguments.repeats):
            together.append(cpu_seconds(environment, reward, spec))
            alone.append(cpu_seconds(environment, reward.select(slice(0, 1)), spec))
        one, all_of_them = np.median(alone), np.median(together)
        print(
            f"GRU, {n_tokens} tokens x {n_steps} steps: {arguments.members} members at "
            f"once {all_of_them * 1e3 / arguments.iterations:.3f} CPU-ms an iteration "
            f"and member, one at a time {one * 1e3 / arguments.iterations:.3f}, ratio "
            f"{one / all_of_them:.1f}",
            flush=True,
        )
    environment = DagEnvironment(11, max_edges=18)
    scores = rng.normal(size=(arguments.members, 11, 2**11))
    reward = LocalScoreReward(environment, scores)
    spec = TrainingSpec(
        hidden=(128, 128),
        batch_size=16,
        n_iterations=arguments.iterations,
        check_every=0,
    )
    found = [
        cpu_seconds(environment, reward, spec) * 3000 / arguments.iterations
        for _ in range(arguments.repeats)
    ]
    print(
        f"DAGs of 11 nodes, up to 18 edges, 2 x 128, batch 16: {np.median(found):.1f} "
        "CPU-s a member of 3000 iterations"
    )


def sequence_scores(weights, states):
    """Sum a weight for each token in its place; −1 stands for no token."""
    import torch

    steps = torch.arange(states.shape[-1])
    member = torch.arange(states.shape[0])[:, None, None]
    return weights[member, states, steps].sum(dim=-1)


if __name__ == "__main__":
    main()
