"""Every index, interval and decomposition of the surrogate beside its true value.

The ensemble is that of ``known_softmax.py``. Tables, printed as Markdown:

- *rates*: root mean squared error over seeds, and the slope of its logarithm against
  that of the number of members; -1/2 is the rate of an estimate from independent
  members. Where a method draws, draws grow with the members: 32 each, 8 for bounds.
- *no residual*: the largest error without a residual, from as many members as terms.
- *coverage of intervals of indices*: bootstrap, 200 resamples, nominal 90 %.
- *coverage of predictive intervals*: their probability under the true law.

"Plain" is least squares with frozen laws, "default" the surrogate as it comes: ridge
and learned normal laws. Slopes within 0.1 of -1/2 were called right before any were
seen; the sizes and the residual were not changed afterwards. That intervals of indices
learn the laws anew was decided after looking at their coverage here.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.surrogate.ground_truth --parts rates``
and, with fewer seeds, ``--seeds 60 --parts exact coverage``
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .estimate_errors import (
    FITS,
    RESIDUAL_LAWS,
    TEST_INPUTS,
    Errors,
    TrueIntervals,
    effect_errors,
    ensemble_errors,
    fitted,
    index_errors,
    probability_errors,
)
from .known_softmax import EXPONENTS, KnownSoftmax, shares

FloatArray = NDArray[np.float64]

RESIDUAL = 0.5
MEMBERS = (100, 200, 400, 800, 1600)
FEW_MEMBERS = (10, 11, 20, 40)
DRAWS_A_MEMBER = 32
DRAWS_OF_BOUNDS = 8  # the normal residual law costs draws times members
TOLERANCE = 0.1
N_RESAMPLES = 200
INTERVAL_LEVEL = 0.9


def one_ensemble(
    truth: KnownSoftmax, intervals: TrueIntervals, kind: str, n: int, seed: int
) -> tuple[Errors, dict[str, FloatArray]]:
    """Return all errors of one ensemble, and coverages."""
    surrogate = fitted(kind, *truth.draw(n, seed))
    errors = index_errors(truth, surrogate)
    errors |= effect_errors(truth, surrogate)
    errors |= probability_errors(truth, surrogate, DRAWS_A_MEMBER * n)
    coverage = {}
    for residual in RESIDUAL_LAWS:
        missed, inside = intervals.compare(surrogate, residual, DRAWS_OF_BOUNDS * n)
        errors |= missed
        coverage |= inside
    if kind == "plain":
        errors |= ensemble_errors(truth, n, seed)
    return {name: np.mean(np.square(e)) for name, e in errors.items()}, coverage


def print_rates(arguments: argparse.Namespace) -> None:
    truth = KnownSoftmax(RESIDUAL)
    _ = truth.noise_shares, truth.fragility, truth.probability_indices  # once, here
    intervals = TrueIntervals(truth)
    rmse: dict[tuple[str, str], list[float]] = defaultdict(list)
    covered: dict[tuple[str, str], list[FloatArray]] = defaultdict(list)
    for kind in FITS:
        for n in MEMBERS:
            found = Parallel(n_jobs=arguments.jobs)(
                delayed(one_ensemble)(truth, intervals, kind, n, seed)
                for seed in range(arguments.seeds)
            )
            for name in found[0][0]:
                mean = np.mean([errors[name] for errors, _ in found])
                rmse[kind, name].append(float(np.sqrt(mean)))
            for name in found[0][1]:
                mean = np.mean([inside[name] for _, inside in found], axis=0)
                covered[kind, name].append(mean)
            print(kind, n, file=sys.stderr, flush=True)
    print(f"\nRoot mean squared error, {arguments.seeds} seeds\n")
    of_kind = [f"n = {MEMBERS[0]}", f"n = {MEMBERS[-1]}", "slope"]
    header = [f"{kind}, {cell}" for kind in FITS for cell in of_kind]
    print(_row(["figure", *header]))
    print(_row(["---"] * (len(header) + 1)))
    for name in dict.fromkeys(name for _, name in rmse):
        cells = [_rate_cells(rmse.get((kind, name))) for kind in FITS]
        print(_row([name, *np.ravel(cells).tolist()]))
    print("\nProbability of predictive intervals under the true law\n")
    print(_row(["fit", "law", "nominal", *(f"n = {n}" for n in MEMBERS)]))
    print(_row(["---"] * (len(MEMBERS) + 3)))
    for (kind, name), by_size in covered.items():
        levels = RESIDUAL_LAWS[name.rsplit(", ", 1)[1]]
        for level, row in zip(levels, np.transpose(by_size), strict=True):
            cells = [f"{value:.3f}" for value in row]
            print(_row([kind, name, f"{level:.0%}", *cells]))


def _rate_cells(rmse: list[float] | None) -> list[str]:
    """Return the first and the last error and the slope; a star where it is not -1/2.

    The slope is that of the logarithm of the error on the logarithm of the size.
    """
    if rmse is None:
        return ["–"] * 3
    slope = float(np.polyfit(np.log(MEMBERS), np.log(rmse), 1)[0])
    star = "" if abs(slope + 0.5) <= TOLERANCE else " *"
    return [f"{rmse[0]:.4f}", f"{rmse[-1]:.4f}", f"{slope:.2f}{star}"]


def print_without_residual(arguments: argparse.Namespace) -> None:
    truth = KnownSoftmax(0.0)
    print("\nLargest error without a residual, plain fit, 20 seeds\n")
    largest: dict[str, list[str]] = defaultdict(list)
    for n in FEW_MEMBERS:
        worst: dict[str, float] = defaultdict(float)
        for seed in range(20):
            surrogate = fitted("plain", *truth.draw(n, seed))
            errors = index_errors(truth, surrogate) | effect_errors(truth, surrogate)
            if n > len(EXPONENTS):
                bounds = surrogate.predict_interval(TEST_INPUTS)
                policy = truth.policy(TEST_INPUTS)
                errors["bounds, given the inputs"] = np.array(bounds) - policy
            if n == FEW_MEMBERS[-1]:
                first, total, _ = shares(truth.squares("step"))
                found = surrogate.sobol_interval(n_resamples=50)
                errors["bootstrap bounds of step indices"] = np.array(
                    [found.first_order - first, found.total_order - total]
                )
            for name, error in errors.items():
                worst[name] = max(worst[name], float(np.abs(error).max()))
        for name in worst:
            missing = FEW_MEMBERS.index(n) - len(largest[name])
            largest[name] += ["–"] * missing + [f"{worst[name]:.0e}"]
    print(_row(["figure", *(f"n = {n}" for n in FEW_MEMBERS)]))
    print(_row(["---"] * (len(FEW_MEMBERS) + 1)))
    for name, cells in largest.items():
        print(_row([name, *cells]))


def intervals_hold(truth: KnownSoftmax, kind: str, n: int, seed: int) -> list:
    """Return level, class of the true index, held or not, and width of intervals."""
    surrogate = fitted(kind, *truth.draw(n, seed))
    found = []
    for level in ("coordinate", "step", "trajectory"):
        squares = truth.squares("ilr" if level == "coordinate" else level)
        bounds = surrogate.sobol_interval(
            level, INTERVAL_LEVEL, n_resamples=N_RESAMPLES
        )
        names = ("first_order", "total_order", "shapley")
        for name, true in zip(names, shares(squares), strict=True):
            low, high = getattr(bounds, name)
            held = (low <= true) & (true <= high)
            for index, inside, width in zip(
                true.ravel(), held.ravel(), (high - low).ravel(), strict=True
            ):
                found.append((level, class_of(index), inside, width))
    return found


def class_of(index: float) -> str:
    if index < 1e-12:
        return "0"
    return "below 0.05" if index < 0.05 else "0.05 and above"


def print_coverage(arguments: argparse.Namespace) -> None:
    truth = KnownSoftmax(RESIDUAL)
    print(
        f"\nCoverage of {INTERVAL_LEVEL:.0%} bootstrap intervals of indices, "
        f"{arguments.seeds} seeds; mean width in brackets\n"
    )
    sizes = MEMBERS[:3]
    print(_row(["fit", "level", "true index", *(f"n = {n}" for n in sizes)]))
    print(_row(["---"] * (len(sizes) + 3)))
    for kind in FITS:
        cells: dict[tuple[str, str], list[str]] = defaultdict(list)
        for n in sizes:
            ensembles = Parallel(n_jobs=arguments.jobs)(
                delayed(intervals_hold)(truth, kind, n, seed)
                for seed in range(arguments.seeds)
            )
            groups = defaultdict(list)
            for level, size, inside, width in _flatten(ensembles):
                groups[level, size].append((inside, width))
            for group in sorted(groups):
                inside, width = np.mean(groups[group], axis=0)
                cells[group].append(f"{inside:.2f} ({width:.3f})")
            print(kind, n, file=sys.stderr, flush=True)
        for (level, size), row in cells.items():
            print(_row([kind, level, size, *row]))


def _flatten(ensembles: list) -> Iterator[tuple]:
    for ensemble in ensembles:
        yield from ensemble


def _row(cells: list) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--parts", nargs="+", default=("rates", "exact", "coverage"), metavar="PART"
    )
    arguments = parser.parse_args()
    parts = {
        "rates": print_rates,
        "exact": print_without_residual,
        "coverage": print_coverage,
    }
    for name in arguments.parts:
        parts[name](arguments)


if __name__ == "__main__":
    main()
