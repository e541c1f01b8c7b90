"""Where the time of training goes, beside the arithmetic floor.

Trains 50 members, or the numbers given with ``--members``, on the Buchwald–Hartwig
shape with trajectory balance and a batch of 32, first as it is and then with a clock
around each operation of torch. Prints CPU milliseconds an iteration by kind of work,
and the floor: the products of matrices that a step cannot do without (the 17 states of
the first three steps once, then 32 sampled states; forward, gradients of weights and of
hidden values), at the highest rate that products of these shapes, batched over 50
members, reach here. The clock does not see inside NumPy, which trains listed spaces.

Run: ``python -m benchmarks.gflownet.where_time_goes --members 1 10 50``
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.measuring import cpu_seconds
from gflownet_envs import SequentialSelectionEnvironment, TrainingSpec, train_ensemble

SIZES = {"catalyst": 4, "base": 3, "aryl halide": 16, "additive": 24}
BATCH, HIDDEN = 32, 64
N_BATCHED = 50  # members behind the floor
PRODUCTS = {"bmm", "baddbmm", "mm", "addmm"}
SAMPLING = {
    "searchsorted",
    "cumsum",
    "gather",
    "index",
    "index_select",
    "take",
    "where",
}


class OperationClock(TorchDispatchMode):
    """Adds up the CPU time of the operations of torch by kind of work.

    torch's profiler reads wall time, which a busy machine spoils; this reads the CPU
    time of the thread around each operation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: Counter[str] = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Time one operation."""
        start = time.thread_time()
        result = operation(*args, **(kwargs or {}))
        spent = time.thread_time() - start
        backward = torch._C._current_autograd_node() is not None
        self.seconds[kind_of(operation.overloadpacket.__name__, backward)] += spent
        return result


def kind_of(operation: str, backward: bool) -> str:
    """Name the kind of work of an operation."""
    if "adam" in operation:
        return "Adam"
    if operation in PRODUCTS:
        return f"products of matrices, {'backward' if backward else 'forward'}"
    if backward:
        return "rest of the backward pass"
    if operation in SAMPLING:
        return "sampling and look-ups"
    return "rest of the forward pass (softmax, loss, copies)"


def floor_products() -> list[tuple[int, int, int]]:
    """Return (rows, inner, columns) of every product of a step of one member."""
    levels = list(SIZES.values())
    n_inputs = sum(levels) + len(levels)
    n_shared = sum(int(np.prod(levels[:t])) for t in range(3))
    found = []
    for n_rows, n_columns in ((n_shared, sum(levels[:3])), (BATCH, levels[3])):
        widths = (n_inputs, HIDDEN, HIDDEN, n_columns)
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths)):
            found.append((n_rows, fan_in, fan_out))  # forward
            found.append((fan_in, n_rows, fan_out))  # gradient of the weights
            if layer > 0:
                found.append((n_rows, fan_out, fan_in))  # gradient of the inputs
    return found


def rate(rows: int, inner: int, columns: int) -> float:
    """Floating-point operations a CPU-second of a batched product; best of 5."""
    left = torch.randn(N_BATCHED, rows, inner)
    right = torch.randn(N_BATCHED, inner, columns)
    out = torch.empty(N_BATCHED, rows, columns)
    n_calls = 200

    def run() -> None:
        for _ in range(n_calls):
            torch.bmm(left, right, out=out)

    work = 2 * N_BATCHED * rows * inner * columns * n_calls
    return work / min(cpu_seconds(run) for _ in range(5))


def floor_rates() -> tuple[float, float]:
    """Return the CPU-seconds of the floor and of the bare products, for one member."""
    products = floor_products()
    work = 2 * sum(a * b * c for a, b, c in products)
    rates = [rate(*shape) for shape in products]
    bare = sum(2 * a * b * c / r for (a, b, c), r in zip(products, rates, strict=True))
    floor = work / max(rates)
    print(
        f"floor of a member: {work / 1e6:.2f} MFLOP at {max(rates) / 1e9:.1f} GFLOP/s "
        f"= {floor * 1e3:.4f} ms; the bare products take {bare * 1e3:.4f} ms"
    )
    return floor, bare


def measure(
    n_members: int, n_iterations: int, repeats: int, floor: float, bare: float
) -> None:
    """Train some members and print what an iteration takes."""
    environment = SequentialSelectionEnvironment(
        {name: [str(i) for i in range(size)] for name, size in SIZES.items()}
    )
    rng = np.random.default_rng(0)
    log_reward = rng.normal(scale=3.0, size=(n_members, environment.n_objects))
    spec = TrainingSpec(
        objective="trajectory_balance",
        n_iterations=n_iterations,
        batch_size=BATCH,
        hidden=(HIDDEN, HIDDEN),
        exploration_epsilon=0.0,
        check_every=0,
        block_size=n_members,
    )

    def run(spec: TrainingSpec = spec) -> None:
        train_ensemble(environment, log_reward, spec)

    # listing the states and the check at the end belong to no iteration
    start = replace(spec, n_iterations=1)
    run(start)
    once = median(cpu_seconds(lambda: run(start)) for _ in range(repeats))
    runs = [cpu_seconds(run) - once for _ in range(repeats)]
    with OperationClock() as clock:
        run()
    found = clock.seconds
    to_ms = 1e3 / n_iterations
    plain = median(runs)
    outside = plain - found.total()
    found["outside torch's operations (Python, NumPy)"] = max(outside, 0.0)
    print(
        f"{n_members} members: {plain * to_ms:.3f} ms an iteration (median of "
        f"{repeats}; quickest {min(runs) * to_ms:.3f})"
    )
    for kind, spent in found.most_common():
        print(f"  {spent * to_ms:7.3f} ms  {spent / found.total():5.1%}  {kind}")
    ratio = plain / n_iterations / n_members
    print(
        f"  training / floor {ratio / floor:.2f}; / bare products {ratio / bare:.2f}; "
        f"3000 iterations: {ratio * 3000:.3f} CPU-s a member, floor {floor * 3000:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--members", type=int, nargs="+", default=[50])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    floor, bare = floor_rates()
    for n_members in arguments.members:
        measure(n_members, arguments.iterations, arguments.repeats, floor, bare)


if __name__ == "__main__":
    main()
