"""CPU-milliseconds of the functions of an environment on a batch of states.

By default the Sachs shape: graphs of 11 nodes and up to 18 edges, 50 members × 16
trajectories. States come from uniformly random trajectories; each figure is the median
of the repetitions, in one thread.

Run: ``python -m benchmarks.gflownet.environment_cost``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from gflownet_envs import DagEnvironment
from gflownet_envs.environments.uniform_trajectories import sample_uniformly


def cpu_milliseconds(call: Callable[[], object], repeats: int, loops: int) -> float:
    """Return the median over repeats of the mean CPU time of a call."""
    figures = []
    for _ in range(repeats):
        started = time.process_time()
        for _ in range(loops):
            call()
        figures.append((time.process_time() - started) / loops * 1e3)
    return float(np.median(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=11)
    parser.add_argument("--max-edges", type=int, default=18)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--loops", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    env = DagEnvironment(arguments.nodes, arguments.max_edges)
    shape = (arguments.members, arguments.batch)
    sample = sample_uniformly(env, arguments.members * arguments.batch)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(sample.before), generator=generator)
    chosen = order[: arguments.members * arguments.batch]
    states = sample.before[chosen].reshape(*shape, -1)
    actions = sample.taken[chosen].reshape(shape)
    calls = {
        "step": lambda: env.step(states, actions),
        "valid_mask": lambda: env.valid_mask(states),
        "encode": lambda: env.encode(states),
        "log_backward_policy": lambda: env.log_backward_policy(states),
    }
    figures = {
        name: cpu_milliseconds(call, arguments.repeats, arguments.loops)
        for name, call in calls.items()
    }
    text = ", ".join(f"{name} {figure:.2f}" for name, figure in figures.items())
    print(f"{env.name}, states {shape}: CPU-milliseconds of {text}")


if __name__ == "__main__":
    main()
