"""The paper's table of embeddings, with the columns that it lacks.

500 outputs of the yield proxies, 30 members to fit, 50 to test, five inputs, degree 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import shapiro
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from gflownet_envs.experiments.paper.measures import columns_of, rounded
from gflownet_envs.experiments.paper.studies.surrogates import (
    Split,
    aitchison_q2,
    pushed_coverage,
)
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import CompositionalPCESurrogate
from skpce.embedding import BetaVAE, NormalizingFlow

N_FIT, N_TEST, N_ENTRIES, N_INPUTS, DEGREE = 30, 50, 500, 5, 3

#: Linear PCA, kernel PCA (RBF), β-VAE (β = 4) trained to the end, PCA and flow, and
#: five random numbers, which are not in the paper.
EMBEDDINGS = ("pca", "kernel", "vae", "flow", "random")


def compare_embeddings_of(
    datasets: Mapping[str, PolicyDataset],
    draws: Sequence[int],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Return the figures of each embedding in each draw of members and of its seed.

    Parameters
    ----------
    datasets : mapping of str to PolicyDataset
        Exact and trained policies of the reactions, of at least 80 members; with
        fewer the held-out ones are fewer.
    draws : sequence of int
        Seeds of the members to fit, of the 500 outputs and of the embeddings.
    progress : callable
        Called as ``progress(done, total)``.

    Returns
    -------
    found : dict
        By source and by name in ``EMBEDDINGS``, lists with one entry a draw.
    """
    rewards = [set(dataset.rewards.tolist()) for dataset in datasets.values()]
    common = sorted(set.intersection(*rewards))  # some trained ones may have diverged
    rows = {
        source: dataset.select(np.flatnonzero(np.isin(dataset.rewards, common)))
        for source, dataset in datasets.items()
    }
    found: dict[str, Any] = {
        source: {name: [] for name in EMBEDDINGS} for source in datasets
    }
    for number, draw in enumerate(draws):
        one = _in_one_draw(rows, draw)
        for source, methods in one.items():
            for name, row in methods.items():
                found[source][name].append(row)
        progress(number + 1, len(draws))
    columns = {
        source: {name: columns_of(drawn) for name, drawn in methods.items()}
        for source, methods in found.items()
    }
    plain: dict[str, Any] = rounded(columns)
    return plain


def _in_one_draw(datasets: Mapping[str, PolicyDataset], seed: int) -> dict[str, Any]:
    """Fit the embeddings once, and the policies of each source to their inputs."""
    some = next(iter(datasets.values()))
    rng = np.random.default_rng(seed)
    order = rng.permutation(some.n_members)[: N_FIT + N_TEST]
    n_entries = min(N_ENTRIES, some.X.shape[1])
    X = some.X[order][:, rng.choice(some.X.shape[1], n_entries, replace=False)]
    found: dict[str, Any] = {source: {} for source in datasets}
    for name in EMBEDDINGS:
        with threadpool_limits(1):
            embedding = _make(name, X[:N_FIT], seed).fit(X[:N_FIT])
            inputs = embedding.transform(X)
            for source, dataset in datasets.items():
                y = dataset.y[order]
                split = Split(
                    inputs[:N_FIT],
                    y[:N_FIT],
                    inputs[N_FIT:],
                    y[N_FIT:],
                    dataset.steps,
                    dataset.mask,
                )
                found[source][name] = _about(name, embedding, X, split, seed)
    return found


def _make(name: str, X: np.ndarray, seed: int) -> Any:
    width = 1.0 / (X.shape[1] * X.var(axis=0).mean())
    rng = np.random.default_rng(seed)
    learned: dict[str, Any] = {"validation_fraction": None, "random_state": seed}
    return {
        "pca": PCA(N_INPUTS, whiten=True, svd_solver="full"),
        "kernel": KernelPCA(N_INPUTS, kernel="rbf", gamma=width),
        "vae": BetaVAE(N_INPUTS, **learned),
        "flow": NormalizingFlow(N_INPUTS, **learned),
        "random": FunctionTransformer(lambda X: rng.normal(size=(len(X), N_INPUTS))),
    }[name]


def _about(
    name: str, embedding: Any, X: np.ndarray, split: Split, seed: int
) -> dict[str, Any]:
    """Return what the inputs keep, how they look, and what they predict."""
    # the rewards back from the inputs; by least squares for kernel PCA, of which the
    # paper has none: scikit-learn's pre-image is the mean
    every, back = np.concatenate([split.X, split.X_test]), None
    if name == "kernel":
        back = LinearRegression().fit(split.X, X[:N_FIT]).predict(every)
    elif name != "random":
        back = embedding.inverse_transform(every)
    mean = X[:N_FIT].mean(axis=0)
    found: dict[str, Any] = {}
    parts = {"": slice(N_FIT), "_new": slice(N_FIT, None)}
    inputs = {"": split.X, "_new": split.X_test}
    for part, rows in parts.items():
        lost = np.square(X[rows] - back[rows]).sum() if back is not None else np.nan
        found[f"r2{part}"] = 1.0 - lost / np.square(X[rows] - mean).sum()
        correlation = np.corrcoef(inputs[part].T) - np.eye(N_INPUTS)
        found[f"rho{part}"] = float(np.abs(correlation).max())
        smallest = min(float(shapiro(column).pvalue) for column in inputs[part].T)
        found[f"shapiro_p{part}"] = smallest
    shape: dict[str, Any] = {**split.shape, "random_state": seed}
    paper = CompositionalPCESurrogate(
        DEGREE, solver="paper", log_ratio="alr", distribution="normal", **shape
    ).fit(split.X, split.y)
    line = CompositionalPCESurrogate(
        1, solver="ridge", distribution="normal", **shape
    ).fit(split.X, split.y)
    q2 = aitchison_q2(line.predict(split.X_test), split)
    return found | {
        "coverage": pushed_coverage(paper, split, seed),
        "q2": float(np.nanmean(q2)),
    }
