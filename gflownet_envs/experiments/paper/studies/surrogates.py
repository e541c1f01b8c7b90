"""Surrogates side by side on one data set: errors and cost.

All of them go through `CompositionalPCESurrogate`: the solvers as they are, other
regressors by ``regressor=``. The mean policy does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import kl_div
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import mean_absolute_error
from sklearn.neural_network import MLPRegressor
from sklearn.utils import Tags
from threadpoolctl import threadpool_limits

from gflownet_envs.experiments.analysis import sums_of_steps
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.metrics import coverage_interval

N_PREDICTIONS = 10_000  # that are timed


@dataclass(frozen=True, eq=False)
class Split:
    """Inputs and policies of fitted and of held-out members.

    Attributes
    ----------
    X, y : ndarray of shape (n_members, ...)
        Of the fitted members; inputs are whitened components, or the inputs themselves.
    X_test, y_test : ndarray of shape (n_test, ...)
    steps : tuple of int
    mask : ndarray of bool of shape (n_parts,)
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    steps: tuple[int, ...]
    mask: np.ndarray

    @property
    def shape(self) -> dict[str, Any]:
        """What metrics and transformers ask for."""
        return {"steps": self.steps, "mask": self.mask}


def split_of(
    dataset: PolicyDataset, n_components: int | None, rows: np.ndarray | None = None
) -> Split:
    """Return the split of a data set, or of new fitted rows and all other members.

    Parameters
    ----------
    dataset : PolicyDataset
    n_components : int or None
        Principal components of the rewards; None takes the rewards as they are.
    rows : ndarray of int, optional
        The members to fit; default: the data set's own.

    Returns
    -------
    Split
    """
    fitted = np.flatnonzero(~dataset.is_test) if rows is None else np.unique(rows)
    held_out = np.setdiff1d(np.arange(dataset.n_members), fitted)
    return split_rows(dataset, n_components, fitted, held_out)


def split_rows(
    dataset: PolicyDataset,
    n_components: int | None,
    fitted: np.ndarray,
    held_out: np.ndarray,
) -> Split:
    """Return the split of some members to fit and some held out."""
    X, X_test = dataset.X[fitted], dataset.X[held_out]
    if n_components is not None:
        pca = PCA(n_components, whiten=True, svd_solver="full").fit(X)
        X, X_test = pca.transform(X), pca.transform(X_test)
    y, y_test = dataset.y[fitted], dataset.y[held_out]
    return Split(X, y, X_test, y_test, dataset.steps, dataset.mask)


def errors_and_times(
    method: str, split: Split, degree: int, seed: int, *, timed: bool = True
) -> dict[str, float | None]:
    """Fit a method and return its error and its CPU-seconds, and nothing else.

    Regressions are fitted step by step to isometric log-ratios, without the expansion
    from which `CompositionalPCESurrogate` has their indices.

    Parameters
    ----------
    method : str
        "mean" (of all policies), "paper" (its expansion), "ridge1" (of degree 1),
        "learned" (a learned prior), "mlp" (the paper's network) or "gp" (a process).
    split : Split
    degree : int
        Of the paper's expansion.
    seed : int
    timed : bool, default=True
        Whether predictions are timed.

    Returns
    -------
    found : dict
        ``mae`` on the held-out members, ``fit_seconds``, and ``sample_seconds`` of
        10,000 predictions or None.
    """
    if method == "mean":
        predicted = np.tile(split.y.mean(axis=0), (len(split.y_test), 1))
        mae = float(mean_absolute_error(split.y_test, predicted))
        return {"mae": mae, "fit_seconds": 0.0, "sample_seconds": 0.0}
    surrogate = make_surrogate(method, split, degree, seed)
    many = np.random.default_rng(seed).normal(size=(N_PREDICTIONS, split.X.shape[1]))
    with threadpool_limits(1):
        predict: Callable[[Any], Any]
        started = time.process_time()
        if surrogate.regressor is None:
            predict = surrogate.fit(split.X, split.y).predict
        else:
            predict = regressed(surrogate.regressor, split)
        fitted = time.process_time()
        mae = float(mean_absolute_error(split.y_test, predict(split.X_test)))
        sampling = time.process_time()
        if timed:
            predict(many)
        sampled = time.process_time() - sampling if timed else None
    return {"mae": mae, "fit_seconds": fitted - started, "sample_seconds": sampled}


def regressed(regressor: Any, split: Split) -> Callable[[np.ndarray], np.ndarray]:
    """Fit a regressor to the log-ratios of each step; return what predicts policies."""
    ilr = LogRatioTransformer("ilr", **split.shape).fit(split.y)
    targets = ilr.transform(split.y)
    owners = ilr.coordinate_steps_
    models = {}
    for step in np.unique(owners):
        y = targets[:, owners == step]
        y = y[:, 0] if y.shape[1] == 1 else y
        models[step] = clone(regressor).fit(split.X, y)

    def predict(X: np.ndarray) -> np.ndarray:
        found = np.empty((len(X), len(owners)))
        for step, model in models.items():
            found[:, owners == step] = model.predict(X).reshape(len(X), -1)
        return np.asarray(ilr.inverse_transform(found))

    return predict


def policy_errors(predicted: np.ndarray, split: Split) -> dict[str, Any]:
    """Return the errors of predicted policies of the held-out members."""
    y = split.y_test
    q2 = aitchison_q2(predicted, split)
    divergence = kl_div(y, np.maximum(predicted, 1e-300))
    return {
        "mae": float(mean_absolute_error(y, predicted)),
        "kl": float(divergence.sum(axis=1).mean()) / len(split.steps),
        "q2": float(np.nanmean(q2)) if np.isfinite(q2).any() else np.nan,
    }


def aitchison_q2(predicted: np.ndarray, split: Split) -> np.ndarray:  # (n_steps,)
    """Return the share of the variance of log-ratios that is predicted, per step.

    Relative to the mean of the *fitted* members: 0 is what knows no input.
    """
    clr = LogRatioTransformer("clr", **split.shape).fit(split.y)
    observed = clr.transform(split.y_test)
    missed = np.square(observed - clr.transform(predicted)).sum(axis=0)
    deviation = observed - clr.transform(split.y).mean(axis=0)
    spread = sums_of_steps(np.square(deviation).sum(axis=0), clr)
    missed = sums_of_steps(missed, clr)
    return np.asarray(1.0 - missed / np.where(spread > 0, spread, np.nan))


def make_surrogate(
    method: str, split: Split, degree: int, seed: int
) -> CompositionalPCESurrogate:
    """Return the unfitted surrogate of a method."""
    shape: dict[str, Any] = {**split.shape, "random_state": seed}
    if method == "learned":
        return CompositionalPCESurrogate(**shape)
    # the paper says no more of its baseline than that it is an MLP
    network = Network(
        hidden_layer_sizes=(64, 64), max_iter=500, tol=1e-5, random_state=seed
    )
    # one length for each input, and noise
    lengths = RBF(np.ones(split.X.shape[1]), (0.05, 100.0))
    kernel = ConstantKernel(1.0, (1e-4, 1e3)) * lengths + WhiteKernel(0.1, (1e-6, 10.0))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
    settings: dict[str, dict[str, Any]] = {
        "paper": {"degree": degree, "solver": "paper", "log_ratio": "alr"},
        "ridge1": {"degree": 1, "solver": "ridge"},
        "mlp": {"degree": 2, "regressor": network},
        "gp": {"degree": 2, "regressor": process},
    }
    return CompositionalPCESurrogate(**settings[method], distribution="normal", **shape)


def pushed_coverage(
    surrogate: CompositionalPCESurrogate, split: Split, seed: int
) -> float:
    """Return the coverage of 95 % intervals of the push-forward alone."""
    band = surrogate.predict_interval(
        confidence_level=0.95, residual=None, random_state=seed
    )
    found = coverage_interval(split.y_test, *band, **split.shape).coverage
    return float(np.nanmean(found))


class Network(MLPRegressor):
    """The network baseline, one for all log-ratios of a step."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True  # it has several outputs, and no tag
        return tags
