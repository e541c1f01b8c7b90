"""Small fits beside their floor: CPU time of ``fit`` and of the bare arithmetic.

56 terms of five normal inputs. All fits are called in turn in one process, so that they
see the same machine; a round takes the shortest of several calls, and the table has
the medians over the rounds, with one thread in BLAS. The floor chooses penalties by
generalised cross-validation; beside it stands leave-one-out as it is written down
(``benchmarks/pce/floor.py``), and ``--predict`` adds predictions and indices.

Run: ``python -m benchmarks.pce.small_fits [--rounds 7] [--sizes 50x43 5000x1]``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median

from threadpoolctl import threadpool_limits

from skpce import PolynomialChaosRegressor

from . import floor
from .truths import STANDARD_NORMAL, RandomExpansion

DEGREE, N_FEATURES = 3, 5
SIZES = ("50x43", "50x1", "5000x1", "5000x1000")
# Numbers in y that are fitted in a round, up to 100 calls of each fit.
_WORK = 20_000_000

Work = Callable[[], object]


def fits(n_samples: int, n_targets: int) -> dict[str, Work]:
    """Return the fits by name; the first is the floor."""
    truth = RandomExpansion(N_FEATURES, DEGREE, n_targets)
    X, Y = truth.data(n_samples, seed=0)

    def ours(**parameters: str) -> Work:
        return lambda: PolynomialChaosRegressor(
            DEGREE, distribution=STANDARD_NORMAL, **parameters
        ).fit(X, Y)

    return {
        "floor": lambda: floor.fit(X, Y, truth.laws, DEGREE),
        "floor, leave-one-out": lambda: floor.fit_by_leaving_out(
            X, Y, truth.laws, DEGREE
        ),
        "ridge": ours(),
        "gcv": ours(criterion="gcv"),
    }


def readings(n_samples: int, n_targets: int) -> dict[str, Work]:
    """Return what is read of a fit, by name."""
    truth = RandomExpansion(N_FEATURES, DEGREE, n_targets)
    X, Y = truth.data(n_samples, seed=0)
    fitted = PolynomialChaosRegressor(
        DEGREE, distribution=STANDARD_NORMAL, solver="ridge"
    ).fit(X, Y)
    return {
        "predict 50 rows": lambda: fitted.predict(X[:50]),
        "total Sobol indices": lambda: fitted.expansion_.grouped(None).sobol_indices(),
    }


def seconds(works: dict[str, Work], n_calls: int, n_rounds: int) -> dict[str, float]:
    """Return the median over the rounds of the shortest time of each."""
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(n_rounds):
        shortest = dict.fromkeys(works, float("inf"))
        for _ in range(n_calls):
            for name, work in works.items():
                start = time.process_time()
                work()
                taken = time.process_time() - start
                shortest[name] = min(shortest[name], taken)
        for name, taken in shortest.items():
            rounds[name].append(taken)
    return {name: median(taken) for name, taken in rounds.items()}


def main() -> None:
    """Print milliseconds, and ratios to the floor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", nargs="*", default=SIZES, metavar="SAMPLESxOUTPUTS")
    parser.add_argument("--predict", action="store_true")
    chosen = parser.parse_args()
    for size in chosen.sizes:
        n_samples, n_targets = map(int, size.split("x"))
        n_calls = min(100, max(3, _WORK // (n_samples * n_targets * chosen.rounds)))
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of more terms than samples
            works = fits(n_samples, n_targets)
            if chosen.predict:
                works |= readings(n_samples, n_targets)
            found = seconds(works, n_calls, chosen.rounds)
        least = found["floor"]
        print(f"{size}, medians of {chosen.rounds} rounds of {n_calls} calls")
        for name, taken in found.items():
            print(
                f"  {name:<22}{1e3 * taken:>9.3f} ms{taken / least:>8.2f}", flush=True
            )


if __name__ == "__main__":
    main()
