"""Memory and CPU time of the exact solver on token sequences, a table or a function.

By default 20⁵ sequences (3.2 million objects, 168,421 unfinished states) and 80
members. The table is float32 and belongs to the caller; the function makes the same
rewards a few members at a time. Growth is the peak of resident memory over what was
resident before; listing the states is measured apart. Log Z and the first decision are
compared with sums of rewards.

Run: ``python -m benchmarks.gflownet.exact_memory table`` and ``... function``, in two
processes, because the peak of a process never falls.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from gflownet_envs import (
    ExactSolution,
    StateGraph,
    TokenSequenceEnvironment,
    solve_exact,
)

Result = TypeVar("Result")


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measured(name: str, run: Callable[[], Result]) -> Result:
    """Run, and print CPU time and how far the peak rose over what was resident."""
    before, started = resident_megabytes(), time.process_time()
    result = run()
    cpu_seconds = time.process_time() - started
    growth = peak_megabytes() - before
    kept = resident_megabytes() - before
    print(
        f"{name}: {cpu_seconds:.1f} CPU-s, peak {growth:+.0f} MB, kept {kept:+.0f} MB",
        flush=True,
    )
    return result


def rewards(
    members: slice,
    objects: Tensor,  # shape: (m,)
) -> Tensor:  # shape: (e, m), float32
    """Return waves over the object numbers, another frequency for each member."""
    frequencies = torch.arange(members.start, members.stop)[:, None] + 1.0
    return 3 * torch.sin(frequencies * objects * 1e-4)


def largest_error(
    solution: ExactSolution,
    environment: TokenSequenceEnvironment,
) -> float:
    """Compare log Z and the first decision with sums of rewards, every tenth member."""
    first = solution.log_policy(environment.initial_state()).exp()
    objects = torch.arange(environment.n_objects)
    errors = []
    for member in range(0, solution.n_members, 10):
        row = rewards(slice(member, member + 1), objects)[0].to(torch.float64).exp()
        by_first_token = row.reshape(environment.n_actions, -1).sum(dim=1)
        errors.append((solution.log_z[member] - row.sum().log()).abs())
        errors.append((first[member] - by_first_token / row.sum()).abs().max())
    return float(torch.stack(errors).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reward", choices=["table", "function"])
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--length", type=int, default=5)
    parser.add_argument("--members", type=int, default=80)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = [str(i) for i in range(arguments.tokens)]
    environment = TokenSequenceEnvironment(names, arguments.length)
    print(f"{environment.n_objects} objects, {arguments.members} members")
    if arguments.reward == "table":
        table = torch.empty(arguments.members, environment.n_objects)
        objects = torch.arange(environment.n_objects)
        for member in range(arguments.members):
            table[member] = rewards(slice(member, member + 1), objects)[0]
        print(f"the caller's table: {table.nbytes / 1e6:.0f} MB")
    graph = measured(
        "list the states", lambda: StateGraph.from_environment(environment)
    )
    print(f"{graph.n_states} unfinished states")
    if arguments.reward == "table":
        solution = measured("solve", lambda: solve_exact(graph, table))
    else:
        solution = measured(
            "solve", lambda: solve_exact(graph, rewards, n_members=arguments.members)
        )
    print(f"largest error {largest_error(solution, environment):.1e}")


if __name__ == "__main__":
    main()
