"""What embeddings of 50 members with 500 reward entries keep, and what they press.

Ensembles, each with 50 members to fit and 100 fresh ones:

- *sources*: five independent sources with exponential laws, mixed into 500 entries,
  and noise with 8 % of the variance;
- *flat*: 500 entries of a normal law with sixty equal directions, where no five
  directions hold much;
- *yields*: predicted yields of 500 random Buchwald–Hartwig reactions by networks that
  each saw 30 % of the data (needs the data).

Per embedding into five inputs: R² of the reconstruction, on the rows of the fit and on
fresh members; the largest correlation of two inputs; how many inputs a Shapiro–Wilk
test at 5 % lets pass as normal; the epoch that was used; CPU seconds of the fit. "to
the end" trains all epochs without held-out rows. Medians over seeds, which are those of
the ensemble and of the embedding (*yields*: of the embedding alone).

A second table is about policy-relevant features on *yields*, all reactions and exact
policies: per step, how much of the change of the log-policy of fresh members (from that
of the pilot, in clr coordinates) the first order explains, what the second order adds
(half the variance of the change of log R over the objects behind a choice), and the
root mean squares of the change and of its first order. A third is about the modes of a
Gaussian process that saw 30 % of the data.

Two settings were chosen on ensembles like *sources* and *flat*: where training starts
(at the linear optimum) and the learning rate of the β-VAE. Kernel PCA was changed after
first runs, in which its R² was 0 by the way it was measured: its width now follows the
variance of the entries between members (before, every member was far from every other,
then, with the variance between entries, near), and the way back is least squares from
inputs to entries.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.latents``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression

from gflownet_envs import policies_along, solve_exact
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce.embedding import BetaVAE, NormalizingFlow
from skpce.inspection import input_tests

from .reactions import Reactions, add_options, markdown_table, publish

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


def sources(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = rng.exponential(size=(N_FIT + N_FRESH, 5)) - 1
    signal = drawn * [3, 2.5, 2, 1.5, 1] @ rng.normal(size=(5, N_ENTRIES))
    return signal + 1.4 * rng.normal(size=signal.shape)


def flat(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(N_FIT + N_FRESH, 60))
    return drawn @ rng.normal(size=(60, N_ENTRIES))


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


def embeddings_table(ensembles: dict[str, Callable], n_seeds: int) -> str:
    rows, columns = [], []
    for ensemble, draw in ensembles.items():
        for name, make in EMBEDDINGS.items():
            runs = [measure(make(seed), draw(seed)) for seed in range(n_seeds)]
            columns = list(runs[0])
            medians = [np.median([run[column] for run in runs]) for column in columns]
            shown = [
                "–" if np.isnan(m) else f"{m:.0f}" if c in _COUNTS else f"{m:.2f}"
                for c, m in zip(columns, medians, strict=True)
            ]
            rows.append([ensemble, name, *shown])
    return markdown_table(["ensemble", "embedding", *columns], rows)


def first_order_table(reactions: Reactions) -> str:
    environment, trajectory = reactions.environment, reactions.reference
    log_reward = reactions.log_reward(N_FIT + N_FRESH)
    started = time.process_time()
    features = PolicyRelevantFeatures(environment, trajectory=trajectory)
    features.fit(log_reward[:N_FIT])
    seconds = time.process_time() - started
    fresh = log_reward[N_FIT:]
    members = solve_exact(environment, fresh)
    pilot, y = (
        np.log(policies_along(environment, policies, trajectory).y)
        for policies in (features.pilot_, members)
    )
    changes = [
        y - pilot,
        *(features.log_policy_change(fresh, order=order) for order in (1, 2)),
    ]
    rows = []
    for step, name in enumerate(environment.step_names):
        own = features.feature_steps_ == step
        change, first, second = (
            part[:, own] - part[:, own].mean(axis=1, keepdims=True) for part in changes
        )
        shares = [
            1 - np.square(change - part).sum() / np.square(change).sum()
            for part in (first, second)
        ]
        spreads = [np.sqrt(np.square(part).mean()) for part in (change, first)]
        shown = [f"{value:.2f}" for value in (*shares, *spreads)]
        rows.append([name, str(own.sum()), *shown])
    columns = ["step", "actions", "R² of first order", "R² to second order"]
    columns += ["rms change", "rms first order"]
    return f"{markdown_table(columns, rows)}\nCPU seconds of the fit: {seconds:.2f}\n"


def modes_table(reactions: Reactions) -> str:
    started = time.process_time()
    modes, unseen = reactions.modes(50)
    seconds = time.process_time() - started
    data, sizes = reactions.data, reactions.environment.sizes
    places = np.ravel_multi_index(data.data[unseen].T, sizes)
    target = data.target[unseen]
    score = (
        1
        - np.square(modes.mean[places] - target).sum()
        / np.square(target - target.mean()).sum()
    )
    shares = np.cumsum(modes.explained_variance_ratio)
    deviation = np.sqrt(np.diag(modes.covariance))
    rows = [
        ["R² of the mean on unseen reactions", f"{score:.3f}"],
        ["posterior standard deviation, mean, percent", f"{deviation.mean():.2f}"],
        *([f"variance held by {d} modes", f"{shares[d - 1]:.1%}"] for d in (5, 15, 50)),
        ["CPU seconds", f"{seconds:.1f}"],
    ]
    return markdown_table(["Gaussian process", "value"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-yields", action="store_true", help="needs no data")
    add_options(parser)
    arguments = parser.parse_args()
    ensembles: dict[str, Callable] = {"sources": sources, "flat": flat}
    reactions = None if arguments.no_yields else Reactions(arguments.blocks)
    if reactions is not None:
        entries = yields(reactions)
        ensembles["yields"] = lambda seed: entries
    tables = [embeddings_table(ensembles, arguments.seeds)]
    if reactions is not None:
        tables += [first_order_table(reactions), modes_table(reactions)]
    publish("\n".join(tables), arguments.write)


if __name__ == "__main__":
    main()
