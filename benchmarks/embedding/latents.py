"""What embeddings of 50 members with 500 reward entries keep, and what they press.

The entries are predicted yields of 500 random Buchwald–Hartwig reactions, by networks
that each saw 30 % of the data; 50 members are fitted, 100 are fresh.

Per embedding into five inputs: R² of the reconstruction, on the rows of the fit and on
fresh members; the largest correlation of two inputs; how many inputs a Shapiro–Wilk
test at 5 % lets pass as normal; the epoch that was used; CPU seconds of the fit. "to
the end" trains all epochs without held-out rows. Medians over seeds of the embedding.

Two settings were chosen on ensembles of exponential sources and of normal entries:
where training starts (at the linear optimum) and the learning rate of the β-VAE. Kernel
PCA was changed after first runs, in which its R² was 0 by the way it was measured: its
width now follows the variance of the entries between members (before, every member was
far from every other, then, with the variance between entries, near), and the way back
is least squares from inputs to entries.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.latents``
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression

from benchmarks.measuring import options, publish, table
from skpce.embedding import BetaVAE, NormalizingFlow
from skpce.inspection import input_tests

from .reactions import Reactions

N_FIT, N_FRESH, N_ENTRIES, N_INPUTS = 50, 100, 500, 5
_COUNTS = ("normal fit", "normal fresh", "epoch")


class DecodedKernelPCA(KernelPCA):
    """Kernel PCA of a width that follows the entries, with a linear way back.

    scikit-learn's own pre-image takes the width for the entries for the inputs as
    well. They are of another size, all look alike to it, and it returns the mean.
    """

    def fit(self, X: np.ndarray, y: Any = None) -> DecodedKernelPCA:
        self.set_params(gamma=1 / (X.shape[1] * X.var(axis=0).mean()))
        super().fit(X)
        self.decoder_ = LinearRegression().fit(self.transform(X), X)
        return self

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        return self.decoder_.predict(X)


EMBEDDINGS: dict[str, Callable[[int], Any]] = {
    "PCA": lambda seed: PCA(N_INPUTS, svd_solver="full"),
    "kernel PCA": lambda seed: DecodedKernelPCA(N_INPUTS, kernel="rbf"),
    "β-VAE": lambda seed: BetaVAE(N_INPUTS, random_state=seed),
    "β-VAE, linear": lambda seed: BetaVAE(
        N_INPUTS, hidden_layer_sizes=(), random_state=seed
    ),
    "β-VAE, to the end": lambda seed: BetaVAE(
        N_INPUTS, validation_fraction=None, random_state=seed
    ),
    "PCA + flow": lambda seed: NormalizingFlow(N_INPUTS, random_state=seed),
    "PCA + flow, to the end": lambda seed: NormalizingFlow(
        N_INPUTS, validation_fraction=None, random_state=seed
    ),
}


def yields(reactions: Reactions) -> np.ndarray:
    """Predictions of 500 reactions."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(reactions.levels), N_ENTRIES, replace=False)
    return reactions.predictions(N_FIT + N_FRESH)[:, chosen]


def r2(embedding: Any, X: np.ndarray, mean: np.ndarray) -> float:
    back = embedding.inverse_transform(embedding.transform(X))
    return 1 - np.square(X - back).sum() / np.square(X - mean).sum()


def measure(embedding: Any, rows: np.ndarray) -> dict[str, float]:
    X, fresh = rows[:N_FIT], rows[N_FIT:]
    started = time.process_time()
    embedding.fit(X)
    seconds = time.process_time() - started
    tests = [input_tests(embedding.transform(part)) for part in (X, fresh)]
    correlation = [abs(each.largest("pearson")) for each in tests]
    normal = [int((each.normality_p_values > 0.05).sum()) for each in tests]
    mean = X.mean(axis=0)
    return {
        "R² fit": r2(embedding, X, mean),
        "R² fresh": r2(embedding, fresh, mean),
        "max ρ fit": correlation[0],
        "max ρ fresh": correlation[1],
        "normal fit": normal[0],
        "normal fresh": normal[1],
        "epoch": getattr(embedding, "n_epochs_", np.nan),
        "CPU s": seconds,
    }


def embeddings_table(rows: np.ndarray, n_seeds: int) -> str:
    lines, columns = [], []
    for name, make in EMBEDDINGS.items():
        runs = [measure(make(seed), rows) for seed in range(n_seeds)]
        columns = list(runs[0])
        medians = [np.median([run[column] for run in runs]) for column in columns]
        shown = [
            "–" if np.isnan(m) else f"{m:.0f}" if c in _COUNTS else f"{m:.2f}"
            for c, m in zip(columns, medians, strict=True)
        ]
        lines.append([name, *shown])
    return table(["embedding", *columns], lines)


def main() -> None:
    arguments = options(__doc__, seeds=5, blocks=str, write=Path)
    rows = yields(Reactions(arguments.blocks))
    publish(embeddings_table(rows, arguments.seeds), arguments.write)


if __name__ == "__main__":
    main()
