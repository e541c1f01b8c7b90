"""Ablations and controls of the surrogate on one data set.

Members, degree and components; correlation brought into the inputs. Errors are those
of held-out members that no fit of a curve sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import mean_absolute_error
from threadpoolctl import threadpool_limits

from gflownet_envs.experiments.paper.measures import columns_of, rounded
from gflownet_envs.experiments.paper.studies.surrogates import (
    Split,
    errors_and_times,
    make_surrogate,
    pushed_coverage,
    split_rows,
)
from gflownet_envs.policy_dataset import PolicyDataset

SIZES = (10, 20, 30, 40, 50, 60, 80, 100)
DEGREES = (1, 2, 3, 4, 5)
COMPONENTS = (1, 2, 3, 5, 7, 10)
CORRELATION = 0.8
_WITH_PROCESS = 60  # members of the fits beside which a process stands
_MORE_DRAWS = 4  # times as many, of the injected correlation


def ablate(
    dataset: PolicyDataset,
    *,
    n_components: int | None,
    degree: int,
    n_fit: int,
    seed: int,
    draws: Sequence[int],
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Return the curves of the paper's figure S7, and its negative controls.

    Parameters
    ----------
    dataset : PolicyDataset
    n_components : int or None
    degree : int
        Of the paper's expansion where it is not varied.
    n_fit : int
        Members to fit where they are not varied.
    seed : int
    draws : sequence of int
        Seeds of the members to fit and of those held out.
    progress : callable, optional

    Returns
    -------
    curves : dict
        ``members``, ``degrees``, ``components``: lists of dicts whose figures are
        lists with one entry a draw; ``correlation``: such a dict.
    """
    draw = _draws(dataset, draws)
    largest = len(draw[0][0])
    n_fit = min(n_fit, largest)
    # curve, where on it, members to fit, components, degree
    fits = [("members", n, n, n_components, degree) for n in SIZES if n <= largest]
    fits += [("degrees", p, n_fit, n_components, p) for p in DEGREES]
    if n_components is not None:
        most = min(n_fit - 1, dataset.X.shape[1])
        some = [k for k in COMPONENTS if k <= most]
        fits += [("components", k, n_fit, k, degree) for k in some]
    found: dict[str, Any] = {"members": [], "degrees": [], "components": []}
    for number, (curve, at, n_members, n_inputs, p) in enumerate(fits):
        beside = ["mean"] if curve == "degrees" else ["mean", "ridge1"]
        if curve == "members" and n_members == _WITH_PROCESS:
            beside.append("gp")
        rows = []
        with threadpool_limits(1):
            for one in draw:
                split = _split(dataset, one, n_members, n_inputs)
                paper = make_surrogate("paper", split, p, seed).fit(split.X, split.y)
                predicted = paper.predict(split.X_test)
                row: dict[str, float | None] = {
                    "mae_paper": mean_absolute_error(split.y_test, predicted),
                    "coverage_paper": pushed_coverage(paper, split, seed),
                }
                for method in beside:
                    errors = errors_and_times(method, split, p, seed, timed=False)
                    row[f"mae_{method}"] = errors["mae"]
                if n_inputs is not None:
                    X = dataset.X[one[0][:n_members]]
                    ratios = PCA(svd_solver="full").fit(X).explained_variance_ratio_
                    row["explained"] = float(ratios[:n_inputs].sum())
                rows.append(row)
        same = {"at": at, "n_terms": comb(split.X.shape[1] + p, p)}
        found[curve].append(columns_of(rows) | same)
        if progress is not None:
            progress(number + 1, len(fits))
    many = range(draws[0], draws[0] + _MORE_DRAWS * len(draws))  # few fits each
    moved = [
        injected_correlation(_split(dataset, one, n_fit, n_components), degree, seed)
        for one in _draws(dataset, many)
    ]
    found["correlation"] = columns_of(moved)
    return rounded(found)


def _draws(
    dataset: PolicyDataset, draws: Sequence[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return orders of the members to fit, and those that are held out throughout."""
    n_test = min(50, dataset.n_members // 3)
    orders = [
        np.random.default_rng(number).permutation(dataset.n_members) for number in draws
    ]
    return [(order[n_test:], order[:n_test]) for order in orders]


def _split(
    dataset: PolicyDataset,
    draw: tuple[np.ndarray, np.ndarray],
    n_fit: int,
    n_components: int | None,
) -> Split:
    if n_components is not None:
        n_components = min(n_components, n_fit - 1)
    return split_rows(dataset, n_components, draw[0][:n_fit], draw[1])


def injected_correlation(split: Split, degree: int, seed: int) -> dict[str, float]:
    """Return how far indices move where the second input is made to follow the first.

    The inputs stay standardised; the policies are the same. ``change_random`` is of
    inputs that are random numbers from the start.
    """
    missing = float("nan")
    if split.X.shape[1] < 2:
        return {"change": missing, "change_random": missing}
    random = np.random.default_rng(seed).normal(size=split.X.shape)
    found = {}
    for name, X in (("change", split.X), ("change_random", random)):
        mixed = X.copy()
        mixed[:, 1] = CORRELATION * X[:, 0] + np.sqrt(1 - CORRELATION**2) * X[:, 1]
        before, after = (
            make_surrogate("paper", split, degree, seed)
            .fit(some, split.y)
            .step_total_sobol_indices_
            for some in (X, mixed)
        )
        change = np.abs(after - before)[before.sum(axis=1) > 0][:, :2]
        found[name] = float(change.mean()) if change.size else missing
    return found
