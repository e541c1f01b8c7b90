"""How often the verdict says "attributable" of outputs that are no probabilities.

Inputs are three independent standard normals, the model is
``PolynomialChaosRegressor(2)``. An output is a polynomial of degree 2 of the inputs and
a residual; the true Q² is the polynomial's share of the variance. Kinds of outputs:

- *score, normal / heavy tails / skewed*: one column; the residual is normal, t with 2.5
  degrees of freedom, or lognormal of log-standard deviation 1.
- *10 columns, one group*: correlated normal residuals, judged as one output.
- *losses, replicates declared*: three members for each setting of the inputs. Half of
  the residual variance is lognormal and common to the members of a setting (a cluster
  that no input explains), half is the member's own. ``replicate=`` has the setting.
- *losses, replicates not declared*: the same data without ``replicate=``: what happens
  to those who forget it.

Three tables. *errors*: true Q² = 0, any "attributable" is an error (nominal at most
5 %). *power*: true Q² = 0.8, 50 members; with replicates 51 members, which are 17
settings, and 150, which are 50. *curve*: the rate against the true Q² for a score with
normal residuals. Rates come with their Clopper-Pearson interval at 95 %.

Run: ``python benchmarks/any_output/false_attribution.py``
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import binomtest, norm

from skpce import PolynomialChaosFeatures, PolynomialChaosRegressor
from skpce.inspection import verdict

FloatArray = NDArray[np.float64]

N_INPUTS = 3
N_COLUMNS = 10
N_REPLICATES = 3
LEVEL = 0.05
MIN_Q2 = 0.25
ERROR_MEMBERS = (30, 60)
POWER_Q2 = 0.8
POWER_MEMBERS, POWER_CLUSTERED = (50,), (51, 150)
CURVE_Q2 = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
CURVE_MEMBERS = (30, 60, 120)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw residuals of mean 0 and variance 1."""
    return rng.normal(size=shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw t residuals with 2.5 degrees of freedom, scaled to variance 1."""
    return rng.standard_t(2.5, size=shape) / np.sqrt(2.5 / 0.5)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw lognormal residuals, centred and scaled to variance 1."""
    variance = np.exp(2) - np.exp(1)
    return (rng.lognormal(size=shape) - np.exp(0.5)) / np.sqrt(variance)


def mixed(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw normal residuals whose columns are correlated; variance 1 in each."""
    turn = rng.normal(size=(shape[1], shape[1]))
    return rng.normal(size=shape) @ (turn / np.linalg.norm(turn, axis=0))


KINDS: dict[str, tuple[Callable[..., FloatArray], int, bool, bool]] = {
    # residual, columns, members in clusters, clusters declared
    "score, normal": (normal, 1, False, False),
    "score, heavy tails": (heavy, 1, False, False),
    "score, skewed": (skewed, 1, False, False),
    "10 columns, one group": (mixed, N_COLUMNS, False, False),
    "losses, replicates declared": (skewed, 1, True, True),
    "losses, replicates not declared": (skewed, 1, True, False),
}


def simulate(
    kind: str, q2: float, n_members: int, seed: int
) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Draw inputs, outputs of true Q² ``q2`` and the setting of each member."""
    draw, n_columns, in_clusters, _ = KINDS[kind]
    rng = np.random.default_rng(seed)
    size = N_REPLICATES if in_clusters else 1
    n_settings = -(-n_members // size)
    setting = np.repeat(np.arange(n_settings), size)
    X = rng.normal(size=(n_settings, N_INPUTS))
    basis = PolynomialChaosFeatures(2, distribution=[norm(0, 1)] * N_INPUTS)
    design = basis.fit(X).transform(X)[:, 1:]
    coefficients = rng.normal(size=(n_columns, design.shape[1]))
    coefficients /= np.linalg.norm(coefficients, axis=1, keepdims=True)
    residual = draw(rng, (len(setting), n_columns))
    if in_clusters:
        residual += draw(rng, (n_settings, n_columns))[setting]
        residual /= np.sqrt(2)
    signal = (design @ coefficients.T)[setting]
    return X[setting], np.sqrt(q2) * signal + np.sqrt(1 - q2) * residual, setting


def judge(
    kind: str, q2: float, n_members: int, seed: int
) -> tuple[bool, bool, bool, float]:
    """Say: attributable, p small, Q² of a quarter or more; and CPU seconds."""
    start = time.process_time()
    X, y, setting = simulate(kind, q2, n_members, seed)
    _, n_columns, _, declared = KINDS[kind]
    found = verdict(
        PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
        X,
        y if n_columns > 1 else y[:, 0],
        outputs={"group": n_columns} if n_columns > 1 else None,
        replicate=setting if declared else None,
    )
    return (
        bool(found.attributable[0]),
        bool(found.p_value[0] <= LEVEL),
        bool(found.q2[0] >= MIN_Q2),
        time.process_time() - start,
    )


class Records:
    """Judgements of ensembles, as a file that a second run continues."""

    def __init__(self, path: Path | None, arguments: argparse.Namespace) -> None:
        self.path, self.arguments = path, arguments
        exists = path is not None and path.exists()
        self.found: dict[str, Any] = json.loads(path.read_text()) if exists else {}

    def of(
        self, kind: str, q2: float, n_members: int, n_ensembles: int
    ) -> FloatArray:  # shape: (n_ensembles, 4)
        """Judge ensembles of one population."""
        key = f"{kind}|{q2:g}|{n_members}|{n_ensembles}"
        if key not in self.found:
            self.found[key] = Parallel(n_jobs=self.arguments.jobs)(
                delayed(judge)(kind, q2, n_members, seed) for seed in range(n_ensembles)
            )
            if self.path is not None:
                self.path.write_text(json.dumps(self.found))
        return np.array(self.found[key], dtype=np.float64)


def rate(hits: FloatArray) -> str:
    """Return a rate and its interval."""
    found = binomtest(int(hits.sum()), hits.size).proportion_ci(0.95)
    return f"{hits.mean():.1%} [{found.low:.1%}, {found.high:.1%}]"


def print_rates(
    records: Records,
    q2: float,
    members: tuple[int, ...],
    clustered: tuple[int, ...],
    n_ensembles: int,
) -> None:
    columns = (
        "output",
        "members",
        "attributable",
        f"p ≤ {LEVEL}",
        f"Q² ≥ {MIN_Q2}",
        "CPU-s a verdict",
    )
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for kind, (_, _, in_clusters, _) in KINDS.items():
        for n in clustered if in_clusters else members:
            judged = records.of(kind, q2, n, n_ensembles)
            rates = " | ".join(rate(column) for column in judged[:, :3].T)
            print(f"| {kind} | {n} | {rates} | {judged[:, 3].mean():.2f} |", flush=True)


def print_curve(records: Records, n_ensembles: int) -> None:
    print("| true Q² | " + " | ".join(f"n = {n}" for n in CURVE_MEMBERS) + " |")
    print("| --- |" + " --- |" * len(CURVE_MEMBERS))
    for q2 in CURVE_Q2:
        judged = [
            records.of("score, normal", q2, n, n_ensembles)[:, 0] for n in CURVE_MEMBERS
        ]
        print(f"| {q2:g} | {' | '.join(map(rate, judged))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--parts",
        nargs="+",
        default=("errors", "power", "curve"),
        choices=("errors", "power", "curve"),
    )
    parser.add_argument("--errors", type=int, default=400, help="ensembles per row")
    parser.add_argument("--power", type=int, default=200, help="ensembles per row")
    parser.add_argument("--curve", type=int, default=200, help="ensembles per cell")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", type=Path, help="JSON file to continue from")
    arguments = parser.parse_args()
    records = Records(arguments.records, arguments)
    if "errors" in arguments.parts:
        print(f"True Q² = 0, {arguments.errors} ensembles a row\n")
        print_rates(records, 0.0, ERROR_MEMBERS, ERROR_MEMBERS, arguments.errors)
    if "power" in arguments.parts:
        print(f"\nTrue Q² = {POWER_Q2}, {arguments.power} ensembles a row\n")
        print_rates(records, POWER_Q2, POWER_MEMBERS, POWER_CLUSTERED, arguments.power)
    if "curve" in arguments.parts:
        print(f"\nRate of attributable scores, {arguments.curve} ensembles a cell\n")
        print_curve(records, arguments.curve)


if __name__ == "__main__":
    main()
