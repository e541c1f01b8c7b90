"""How often the verdict is wrong on ensembles whose truth is known.

Ensembles have two steps of 4 and 6 actions. Log-ratios are polynomials of degree 2 of
three standard normal inputs plus a residual; the population Q² is their share of the
variance. Two tables:

- *errors*: Q² = 0 (any step called attributable is an error, nominal at most 5 %) and
  Q² = 0.8 (a step not called attributable is a miss), for the surrogate alone, behind
  PCA, and behind PLS on the log-ratios. For PLS the three inputs stand among 57 others
  of standard deviation 1 that drive nothing; their own is 3 ("PLS") or 1 ("PLS-flat",
  where 50 members cannot show which directions matter).
  Beside the verdict: how often a step has p <= 0.05 after Holm, whatever its Q²; and
  how often the leave-one-out Q² of one fit on all members is above 0.25, where PLS has
  seen the member that is left out.
- *curve*: how often a step is called attributable, against the population Q² and the
  number of members, for the surrogate alone.

Rates come with their Clopper-Pearson interval at 95 %; in the curve the half-width of
the widest one stands below the table, as if both steps of an ensemble were one.

Run: ``python benchmarks/verdict/error_rates.py --ensembles 100``
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax
from scipy.stats import binomtest, norm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cross_decomposition import PLSSVD
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    PolynomialChaosFeatures,
)
from skpce.inspection import verdict

WIDTHS = (4, 6)
N_INPUTS = 3
N_OTHERS = 57
MIN_Q2 = 0.25
LEVEL = 0.05
EMBEDDINGS = ("alone", "PCA", "PLS", "PLS-flat")
# Standard deviation of the inputs among others of standard deviation 1.
SPREAD = {"PLS": 3.0, "PLS-flat": 1.0}
CURVE_Q2 = (0.0, 0.1, 0.25, 0.4, 0.6, 0.8, 1.0)
CURVE_MEMBERS = (30, 50, 100, 200)


class LogRatioPLS(TransformerMixin, BaseEstimator):
    """Scores of X in a partial least squares fit of the log-ratios of y.

    By the singular value decomposition of the cross-covariance: the iteration of
    ``PLSRegression`` converges slowly on noise.
    """

    def __init__(self, n_components: int = N_INPUTS) -> None:
        self.n_components = n_components

    def fit(self, X: np.ndarray, y: np.ndarray) -> LogRatioPLS:
        targets = LogRatioTransformer(steps=WIDTHS).fit_transform(y)
        self.pls_ = PLSSVD(self.n_components, scale=False).fit(X, targets)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.pls_.transform(X)


def simulate(q2: float, n_members: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs and policies whose population Q² is ``q2`` in every step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, N_INPUTS))
    laws = [norm(0, 1)] * N_INPUTS
    basis = PolynomialChaosFeatures(2, distribution=laws).fit(X)
    design = basis.transform(X)[:, 1:]
    blocks = []
    for width in WIDTHS:
        coefficients = rng.normal(size=(width, design.shape[1]))
        coefficients -= coefficients.mean(axis=0)
        coefficients /= np.linalg.norm(coefficients)
        residual = rng.normal(size=(n_members, width)) / np.sqrt(width - 1)
        logits = np.sqrt(q2) * design @ coefficients.T + np.sqrt(1 - q2) * residual
        blocks.append(softmax(rng.normal(size=width) + logits, axis=1))
    return X, np.hstack(blocks)


def hide(X: np.ndarray, spread: float, seed: int) -> np.ndarray:
    """Put the inputs among others, and turn the axes."""
    rng = np.random.default_rng([seed, 1])
    others = rng.normal(size=(len(X), N_OTHERS))
    turn = np.linalg.qr(rng.normal(size=(N_INPUTS + N_OTHERS,) * 2))[0]
    return np.hstack([spread * X, others]) @ turn


def judge(
    embedding: str,
    q2: float,
    seed: int,
    n_members: int,
) -> np.ndarray:
    """Return per step: attributable, significant, leave-one-out too; CPU seconds."""
    start = time.process_time()
    X, y = simulate(q2, n_members, seed)
    surrogate = CompositionalPCESurrogate(
        2, steps=WIDTHS, solver="ridge", distribution="normal"
    )
    pipeline = surrogate
    if embedding == "PCA":
        pipeline = make_pipeline(PCA(N_INPUTS, whiten=True), surrogate)
    elif embedding in SPREAD:
        X = hide(X, SPREAD[embedding], seed)
        pipeline = make_pipeline(LogRatioPLS(), surrogate)
    found = verdict(pipeline, X, y)
    called = found.attributable
    significant = [step.p_value <= LEVEL for step in found.steps]
    fitted = pipeline.fit(X, y)
    last = fitted if embedding == "alone" else fitted[-1]
    seconds = [time.process_time() - start] * len(WIDTHS)
    fooled = last.diagnostics_.loo_q2 > MIN_Q2
    return np.array([called, significant, fooled, seconds], dtype=float)


def judge_many(
    arguments: argparse.Namespace, n_ensembles: int, *task
) -> np.ndarray:  # shape: (4, n_ensembles, n_steps)
    """Judge ensembles of one population."""
    embedding, q2, n_members = task
    first = arguments.first_seed
    judged = Parallel(n_jobs=arguments.jobs)(
        delayed(judge)(embedding, q2, seed, n_members)
        for seed in range(first, first + n_ensembles)
    )
    return np.swapaxes(judged, 0, 1)


def interval_of(n_hits: int, n_all: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a rate at 95 %."""
    found = binomtest(n_hits, n_all).proportion_ci(0.95)
    return found.low, found.high


def rate(hits: np.ndarray) -> str:
    """Return a rate and its interval."""
    low, high = interval_of(int(hits.sum()), hits.size)
    return f"{hits.mean():.1%} [{low:.1%}, {high:.1%}]"


def print_errors(arguments: argparse.Namespace) -> None:
    columns = (
        "pipeline",
        "population Q²",
        "any step attributable",
        "every step attributable",
        f"p ≤ {LEVEL} in any step",
        f"leave-one-out Q² > {MIN_Q2} in any step",
        "CPU-s an ensemble",
    )
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for embedding in arguments.embeddings:
        for q2 in arguments.q2:
            judged = judge_many(
                arguments, arguments.ensembles, embedding, q2, arguments.members
            )
            called, fooled = judged[[0, 2]].astype(bool)
            significant = np.max(judged[1], axis=1)
            cells = (
                embedding,
                f"{q2:g}",
                rate(called.any(axis=1)),
                rate(called.all(axis=1)),
                rate(significant),
                rate(fooled.any(axis=1)),
                f"{judged[3, :, 0].mean():.2f}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)


def print_curve(arguments: argparse.Namespace) -> None:
    print("| population Q² | " + " | ".join(f"n = {n}" for n in CURVE_MEMBERS) + " |")
    print("| --- |" + " --- |" * len(CURVE_MEMBERS))
    widest, seconds = 0.0, 0.0
    for q2 in CURVE_Q2:
        rates = []
        for n_members in CURVE_MEMBERS:
            judged = judge_many(arguments, arguments.curve, "alone", q2, n_members)
            rates.append(judged[0].mean())
            n_hits = round(rates[-1] * arguments.curve)
            low, high = interval_of(n_hits, arguments.curve)
            widest, seconds = max(widest, (high - low) / 2), seconds + judged[3].sum()
        cells = " | ".join(f"{value:.0%}" for value in rates)
        print(f"| {q2:g} | {cells} |", flush=True)
    print(f"\nwidest half-width {widest:.1%}; {seconds / len(WIDTHS):.0f} CPU-s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ensembles", type=int, default=100)
    parser.add_argument("--curve", type=int, default=50, help="ensembles per cell")
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument(
        "--embeddings", nargs="+", default=EMBEDDINGS, choices=EMBEDDINGS
    )
    parser.add_argument("--q2", type=float, nargs="+", default=(0.0, 0.8))
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print(f"Seeds from {arguments.first_seed}\n")
    if arguments.ensembles:
        print(f"{arguments.ensembles} ensembles of {arguments.members} members\n")
        print_errors(arguments)
    if arguments.curve:
        print(f"\nRate of attributable steps, {arguments.curve} ensembles of 2 steps\n")
        print_curve(arguments)


if __name__ == "__main__":
    main()
