"""Surrogates side by side on one data set: errors, coverage, cost, and indices.

All of them go through `CompositionalPCESurrogate`: the solvers as they are, other
regressors by ``regressor=``. Two do not: the mean policy, and the raw ensemble with
indices from the members as they are given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.metrics import coverage_interval

#: Names of the methods, in the order of the tables.
METHODS: Mapping[str, str] = {
    "mean": "mean policy",
    "paper": "the paper's expansion",
    "ridge1": "ridge, degree 1",
    "learned": "learned prior",
    "mlp": "network (the paper's baseline)",
    "gp": "Gaussian process",
    "ensemble": "raw ensemble, indices from given data",
}

LEVEL = 0.95
_N_PREDICTIONS = 10_000
_BINS = 5


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
    is_fitted = ~dataset.is_test
    if rows is not None:
        is_fitted = np.zeros(dataset.n_members, dtype=bool)
        is_fitted[rows] = True
    places = np.arange(dataset.n_members)
    return split_rows(dataset, n_components, places[is_fitted], places[~is_fitted])


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


def evaluate(method: str, split: Split, degree: int, seed: int) -> dict[str, Any]:
    """Fit a method and measure it on the held-out members.

    Parameters
    ----------
    method : str
        A name in ``METHODS``.
    split : Split
    degree : int
        Of the paper's expansion, and of the expansion behind a regressor's indices.
    seed : int

    Returns
    -------
    found : dict
        ``mae``, ``kl`` (a step), ``q2`` (mean over steps with a choice), ``coverage``
        (95 %, given the inputs), ``fit_seconds`` (the regression alone),
        ``sample_seconds`` (10,000 predictions), ``index_seconds`` (everything until
        there are indices) and ``total`` (total indices of the steps; first-order ones
        of the raw ensemble).
    """
    with threadpool_limits(1):
        if method in ("mean", "ensemble"):
            return rounded(_without_fit(method, split))
        return rounded(_with_fit(method, split, degree, seed))


def errors_and_times(
    method: str, split: Split, degree: int, seed: int, *, timed: bool = True
) -> dict[str, float | None]:
    """Fit a method and return its error and its CPU-seconds, and nothing else.

    Regressions are fitted step by step to isometric log-ratios, without the expansion
    that `evaluate` draws indices from.

    Parameters
    ----------
    method : str
        A name in ``METHODS`` but "ensemble".
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
    many = np.random.default_rng(seed).normal(size=(_N_PREDICTIONS, split.X.shape[1]))
    with threadpool_limits(1):
        predict: Callable[[Any], Any]
        started = time.process_time()
        if surrogate.regressor is None:
            predict = surrogate.fit(split.X, split.y).predict
        else:
            predict = _regressed(surrogate.regressor, split)
        fitted = time.process_time()
        mae = float(mean_absolute_error(split.y_test, predict(split.X_test)))
        sampling = time.process_time()
        if timed:
            predict(many)
        sampled = time.process_time() - sampling if timed else None
    return {"mae": mae, "fit_seconds": fitted - started, "sample_seconds": sampled}


def _regressed(regressor: Any, split: Split) -> Callable[[np.ndarray], np.ndarray]:
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
        "q2_steps": q2,
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


def _without_fit(method: str, split: Split) -> dict[str, Any]:
    """Predict the mean of the fitted members; intervals are their quantiles."""
    n_test = len(split.y_test)
    predicted = np.tile(_geometric_mean(split), (n_test, 1))
    if method == "mean":
        predicted = np.tile(split.y.mean(axis=0), (n_test, 1))
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    lower, upper = np.quantile(split.y, tails, axis=0, method="weibull")
    band = [np.tile(end, (n_test, 1)) for end in (lower, upper)]
    found = policy_errors(predicted, split)
    found["coverage"] = _mean_coverage(split, *band)
    found |= {"fit_seconds": 0.0, "sample_seconds": 0.0, "index_seconds": None}
    if method == "ensemble":
        started = time.process_time()
        found["total"] = given_data_indices(split)
        found["index_seconds"] = time.process_time() - started
    return found


def _geometric_mean(split: Split) -> np.ndarray:  # shape: (n_parts,)
    """Return the centre of the fitted members in Aitchison geometry."""
    clr = LogRatioTransformer("clr", **split.shape).fit(split.y)
    centre: np.ndarray = clr.inverse_transform(clr.transform(split.y).mean(0)[None])[0]
    return centre


def _with_fit(method: str, split: Split, degree: int, seed: int) -> dict[str, Any]:
    surrogate = make_surrogate(method, split, degree, seed)
    started = time.process_time()
    surrogate.fit(split.X, split.y)
    whole = time.process_time() - started
    predicted = surrogate.predict(split.X_test)
    band = surrogate.predict_interval(
        split.X_test,
        confidence_level=LEVEL,
        residual="resampled",
        random_state=seed,
    )
    draws = np.random.default_rng(seed).normal(size=(_N_PREDICTIONS, split.X.shape[1]))
    started = time.process_time()
    surrogate.predict(draws)
    sampled = time.process_time() - started
    fitted = whole
    if surrogate.regressor is not None:
        started = time.process_time()
        _regressed(surrogate.regressor, split)
        fitted = time.process_time() - started
    return policy_errors(predicted, split) | {
        "coverage": _mean_coverage(split, *band),
        "fit_seconds": fitted,
        "sample_seconds": sampled,
        "index_seconds": whole,
        "total": surrogate.step_total_sobol_indices_,
        "fidelity": float(np.nanmean(surrogate.fidelity_)),
    }


def _mean_coverage(split: Split, lower: np.ndarray, upper: np.ndarray) -> float:
    found = coverage_interval(split.y_test, lower, upper, **split.shape).coverage
    return float(np.nanmean(found))


def make_surrogate(
    method: str, split: Split, degree: int, seed: int
) -> CompositionalPCESurrogate:
    """Return the unfitted surrogate of a method."""
    shape: dict[str, Any] = {**split.shape, "random_state": seed}
    fixed: dict[str, Any] = {**shape, "distribution": "normal"}
    n_inputs = split.X.shape[1]
    makers: dict[str, Callable[[], CompositionalPCESurrogate]] = {
        "paper": lambda: CompositionalPCESurrogate(
            degree, solver="paper", log_ratio="alr", **fixed
        ),
        "ridge1": lambda: CompositionalPCESurrogate(1, solver="ridge", **fixed),
        "learned": lambda: CompositionalPCESurrogate(**shape),
        "mlp": lambda: CompositionalPCESurrogate(2, regressor=_network(seed), **fixed),
        "gp": lambda: CompositionalPCESurrogate(
            2, regressor=_process(n_inputs, seed), **fixed
        ),
    }
    return makers[method]()


class Network(MLPRegressor):
    """The network baseline, one for all log-ratios of a step."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True  # it has several outputs, and no tag
        return tags


def _network(seed: int) -> Network:
    """Return the baseline; the paper says no more of it than that it is an MLP."""
    return Network(
        hidden_layer_sizes=(64, 64), max_iter=500, tol=1e-5, random_state=seed
    )


def _process(n_inputs: int, seed: int) -> GaussianProcessRegressor:
    """Return a process with one length for each input, and noise."""
    kernel = ConstantKernel(1.0, (1e-4, 1e3)) * RBF(
        np.ones(n_inputs), (0.05, 100.0)
    ) + WhiteKernel(0.1, (1e-6, 10.0))
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)


def given_data_indices(split: Split) -> np.ndarray:  # shape: (n_steps, n_inputs)
    """Return first-order indices from the members alone, in Aitchison geometry.

    The variance between bins of an input over the variance of all members, less what
    bins of random members would have [1]_. No model, and no total indices.

    References
    ----------
    .. [1] E. Plischke, E. Borgonovo, C. L. Smith, "Global sensitivity measures from
       given data", European Journal of Operational Research 226 (2013).
    """
    clr = LogRatioTransformer("clr", **split.shape).fit(split.y)
    values = clr.transform(split.y)
    n, n_inputs = split.X.shape
    n_bins = min(_BINS, n // 4)
    by_chance = (n_bins - 1) / (n - 1)
    spread = sums_of_steps(values.var(axis=0), clr)
    spread[spread == 0] = np.nan
    indices = np.empty((len(split.steps), n_inputs))
    for column in range(n_inputs):
        rank = np.argsort(np.argsort(split.X[:, column], kind="stable"))
        group = rank * n_bins // n
        means = np.array([values[group == g].mean(axis=0) for g in range(n_bins)])
        weight = np.bincount(group)[:, None] / n
        between = (weight * np.square(means - values.mean(axis=0))).sum(axis=0)
        share = sums_of_steps(between, clr) / spread
        indices[:, column] = (share - by_chance) / (1 - by_chance)
    return indices
