"""Complete grids of real trainings: the one place to add one.

A grid is a name, the levels of its inputs and a function that trains once: of a setting
and a seed to its outputs. The seed draws the split of the data and whatever is random
in the training. Data are those of scikit-learn, and a text for the language model.
Errors and losses are of rows that were left out; ``seconds`` is the CPU time of a fit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC

Setting = Mapping[str, Any]
Outputs = dict[str, float]
N_SEEDS = 3
SCALERS: Mapping[str, Callable[[], Any]] = {
    "none": FunctionTransformer,
    "standard": StandardScaler,
    "range": MinMaxScaler,
    "quantiles": lambda: QuantileTransformer(n_quantiles=100),
}


@dataclass(frozen=True)
class Grid:
    """All settings of a training, each with three seeds.

    Attributes
    ----------
    name : str
    inputs : mapping of str to tuple
        The levels of each input; text where they have no order.
    log : tuple of str
        Inputs whose levels are multiples of each other.
    train : callable
        Of a setting and a seed to the outputs.
    """

    name: str
    inputs: Mapping[str, tuple[Any, ...]]
    log: tuple[str, ...]
    train: Callable[[Setting, int], Outputs]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each input."""
        return tuple(map(len, self.inputs.values()))

    def setting(self, index: int) -> dict[str, Any]:
        """Return a setting by its place in the order of the levels."""
        places = np.unravel_index(index, self.shape)
        return {
            name: levels[place]
            for (name, levels), place in zip(self.inputs.items(), places, strict=True)
        }


def multiples(low: float, high: float, number: int) -> tuple[float, ...]:
    """Return levels at equal ratios, to three digits."""
    return tuple(float(f"{v:.3g}") for v in np.geomspace(low, high, number))


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a data set and what is to be predicted."""
    load = {
        "digits": load_digits,
        "cancer": load_breast_cancer,
        "diabetes": load_diabetes,
    }
    X, y = load[name](return_X_y=True)
    if name == "diabetes":
        y = (y - y.mean()) / y.std()
    return X, y


@lru_cache(maxsize=8)
def split(name: str, n_train: int, seed: int) -> list[np.ndarray]:
    """Return training and test rows of a data set."""
    X, y = data(name)
    classes = y if name != "diabetes" else None
    return train_test_split(
        X, y, train_size=n_train, stratify=classes, random_state=seed
    )


def probabilities_judged(P: np.ndarray, y: np.ndarray) -> Outputs:
    """Return error, log loss and calibration of predicted probabilities.

    Calibration is the expected error over ten bins of the largest probability.
    """
    top, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((top * 10).astype(int), 9)
    gaps = np.bincount(bins, right - top, minlength=10)
    return {
        "error": float(1 - right.mean()),
        "log loss": float(-np.log(np.clip(P[np.arange(len(y)), y], 1e-12, 1)).mean()),
        "calibration": float(np.abs(gaps).sum() / len(y)),
    }


def classified(model: Any, X: np.ndarray, y: np.ndarray) -> Outputs:
    """Judge the probabilities of a classifier."""
    return probabilities_judged(model.predict_proba(X), y)


def regressed(model: Any, X: np.ndarray, y: np.ndarray) -> Outputs:
    """Return the unexplained share and the absolute error of predictions."""
    found = model.predict(X)
    return {
        "error": float(np.mean((found - y) ** 2) / y.var()),
        "absolute error": float(np.abs(found - y).mean()),
    }


def trainer(
    name: str,
    make: Callable[[Setting, int], BaseEstimator],
    judge: Callable[[Any, np.ndarray, np.ndarray], Outputs],
    n_train: int | None = None,
) -> Callable[[Setting, int], Outputs]:
    """Return the training of an estimator of scikit-learn on rows of a data set.

    Without ``n_train`` their number is an input.
    """

    def train(setting: Setting, seed: int) -> Outputs:
        X, X_test, y, y_test = split(name, n_train or setting["rows"], seed)
        start = time.process_time()
        model = make(setting, seed).fit(X, y)
        seconds = time.process_time() - start
        return judge(model, X_test, y_test) | {"seconds": seconds}

    return train


def perceptron(s: Setting, seed: int) -> BaseEstimator:
    """Return a multilayer perceptron."""
    network = MLPClassifier(
        (s["units"],),
        activation=s["activation"],
        learning_rate_init=s["rate"],
        alpha=s["penalty"],
        batch_size=s["batch"],
        max_iter=30,
        random_state=seed,
    )
    return make_pipeline(StandardScaler(), network)


def forest(s: Setting, seed: int) -> BaseEstimator:
    """Return a random forest."""
    return RandomForestClassifier(
        s["trees"],
        criterion=s["criterion"],
        max_depth=s["depth"],
        max_features=s["features"],
        min_samples_leaf=s["leaf"],
        bootstrap=s["rows"] == "drawn",
        random_state=seed,
    )


def neighbours(s: Setting, seed: int) -> BaseEstimator:
    """Return the nearest neighbours of scaled components."""
    return make_pipeline(
        SCALERS[s["scaling"]](),
        PCA(s["components"], random_state=seed),
        KNeighborsClassifier(s["neighbours"], weights=s["weights"], p=s["power"]),
    )


def boosting(s: Setting, seed: int) -> BaseEstimator:
    """Return boosted trees."""
    return GradientBoostingRegressor(
        loss=s["loss"],
        learning_rate=s["rate"],
        n_estimators=s["trees"],
        max_depth=s["depth"],
        subsample=s["rows"],
        random_state=seed,
    )


def elastic_net(s: Setting, seed: int) -> BaseEstimator:
    """Return an elastic net on polynomials of the inputs."""
    net = ElasticNet(
        s["penalty"],
        l1_ratio=s["share of L1"],
        selection=s["selection"],
        max_iter=300,
        random_state=seed,
    )
    features = PolynomialFeatures(s["degree"], include_bias=False)
    return make_pipeline(SCALERS[s["scaling"]](), features, StandardScaler(), net)


def kept(model: Any, X: np.ndarray, y: np.ndarray) -> Outputs:
    """Judge a regression, and say how many terms it has kept."""
    return regressed(model, X, y) | {"kept": float(np.mean(model[-1].coef_ != 0))}


def support_vectors(s: Setting, seed: int) -> BaseEstimator:
    """Return a support vector machine."""
    weights = None if s["weights"] == "equal" else s["weights"]
    machine = SVC(C=s["C"], gamma=s["gamma"], kernel=s["kernel"], class_weight=weights)
    return make_pipeline(SCALERS[s["scaling"]](), machine)


def margins(model: Any, X: np.ndarray, y: np.ndarray) -> Outputs:
    """Judge a support vector machine by its margins."""
    margin = model.decision_function(X) * (2 * y - 1)
    machine = model[-1]
    return {
        "error": float(np.mean(margin <= 0)),
        "hinge loss": float(np.maximum(1 - margin, 0).mean()),
        "support vectors": float(machine.n_support_.sum() / machine.shape_fit_[0]),
    }


OPTIMIZERS: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "momentum": lambda *given, **own: torch.optim.SGD(*given, momentum=0.9, **own),
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
}


def train_network(s: Setting, seed: int) -> Outputs:
    """Train a network of torch on digits for 120 steps."""
    rows = split("digits", 500, seed)
    X, T = (torch.as_tensor(v / 16, dtype=torch.float32) for v in rows[:2])
    y = torch.as_tensor(rows[2])
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(64, s["units"]),
        torch.nn.ReLU(),
        torch.nn.Dropout(s["dropout"]),
        torch.nn.Linear(s["units"], 10),
    )
    start = time.process_time()
    optimizer = OPTIMIZERS[s["optimizer"]](
        net.parameters(), lr=s["rate"], weight_decay=s["penalty"]
    )
    for batch in torch.randint(len(X), (120, 64)):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(X[batch]), y[batch]).backward()
        optimizer.step()
    seconds = time.process_time() - start
    net.eval()
    with torch.no_grad():
        P = torch.softmax(net(T).double(), dim=1).nan_to_num(0.1).numpy()
    return probabilities_judged(P, rows[3]) | {"seconds": seconds}


@cache
def text(alphabet: str) -> tuple[np.ndarray, int]:
    """Return the text as numbers of its characters, and how many there are."""
    from gflownet_envs.datasets import fetch_shakespeare

    read = fetch_shakespeare()
    if alphabet != "as written":
        read = read.lower()
    if alphabet == "letters":
        read = " ".join("".join(c if c.isalpha() else " " for c in read).split())
    letters, numbers = np.unique(np.array(list(read)), return_inverse=True)
    return numbers, len(letters)


def contexts(numbers: np.ndarray, order: int, size: int) -> np.ndarray:
    """Return for each character from the fifth on the number of those before it."""
    found = np.zeros(len(numbers) - 4, dtype=np.int64)
    for back in range(order, 0, -1):
        found = found * size + numbers[4 - back : len(numbers) - back]
    return found


def train_text(s: Setting, seed: int) -> Outputs:
    """Count what follows what in a part of a text, and predict another part."""
    numbers, size = text(s["alphabet"])
    start_at = np.random.default_rng(seed).integers(len(numbers) - 150_000)
    own = numbers[start_at : start_at + s["characters"]]
    test = numbers[start_at + 120_000 :][:2004]
    smoothing, order = s["smoothing"], s["order"] - 1
    started = time.process_time()
    P = np.full((2000, size), 1 / size)
    for k in range(order + 1) if s["method"] != "one order" else [order]:
        keys, counts = np.unique(
            contexts(own, k, size) * size + own[4:], return_counts=True
        )
        asked = contexts(test, k, size)[:, None] * size + np.arange(size)
        places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        follow = np.where(keys[places] == asked, counts[places], 0)
        seen = follow.sum(axis=1, keepdims=True)
        prior = P if s["method"] == "interpolation" else np.full_like(P, 1 / size)
        fresh = (follow + smoothing * size * prior) / (seen + smoothing * size)
        P = np.where(seen > 0, fresh, P) if s["method"] == "back-off" else fresh
    seconds = time.process_time() - started
    return probabilities_judged(P, test[4:]) | {"seconds": seconds}


@cache
def hypergrid() -> tuple[Any, torch.Tensor]:
    """Return the environment of the GFlowNet and the logarithm of its reward."""
    from gflownet_envs import GridEnvironment

    environment = GridEnvironment(size=6, max_moves=8)
    rng = np.random.default_rng(0)
    reward = torch.as_tensor(rng.normal(size=(1, environment.n_objects)))
    return environment, 1.5 * reward


@lru_cache(maxsize=1)
def trained(values: tuple[tuple[str, Any], ...]) -> Any:
    """Train the policies of all seeds of a setting, side by side."""
    from gflownet_envs import TrainingSpec, train_ensemble

    s = dict(values)
    environment, log_reward = hypergrid()
    spec = TrainingSpec(
        objective=s["objective"],
        learning_rate=s["rate"],
        log_z_learning_rate=s["rate of log Z"],
        exploration_epsilon=s["exploration"],
        batch_size=s["batch"],
        hidden=(s["units"],),
        n_iterations=300,
        check_every=0,
        log_z_init=0.0,
    )
    return train_ensemble(
        environment, log_reward, spec, n_replicates=N_SEEDS, seed=0
    ).diagnostics


def train_gflownet(s: Setting, seed: int) -> Outputs:
    """Train a GFlowNet on a small grid; seeds of a setting share a run."""
    found = trained(tuple(s.items()))
    return {
        "distance": float(found.distance[seed]),
        "loss": float(found.final_loss[seed]),
        "log Z": float(found.log_z[seed]),
        "seconds": float(found.cpu_seconds[seed]),
    }


GRIDS: Mapping[str, Grid] = {
    grid.name: grid
    for grid in (
        Grid(
            "perceptron",
            {
                "rate": multiples(1e-4, 0.1, 6),
                "penalty": multiples(1e-5, 10, 4),
                "units": (4, 12, 36, 108),
                "batch": (16, 32, 64, 128),
                "activation": ("logistic", "relu", "tanh"),
            },
            ("rate", "penalty", "units", "batch"),
            trainer("digits", perceptron, classified, 500),
        ),
        Grid(
            "network",
            {
                "rate": multiples(1e-4, 1, 6),
                "penalty": multiples(1e-6, 1e-2, 3),
                "units": (4, 12, 36, 108),
                "dropout": (0.0, 0.2, 0.4, 0.6),
                "optimizer": tuple(OPTIMIZERS),
            },
            ("rate", "penalty", "units"),
            train_network,
        ),
        Grid(
            "boosting",
            {
                "rate": multiples(0.01, 1, 6),
                "trees": (10, 20, 40, 80),
                "depth": (1, 2, 3, 5),
                "rows": (0.4, 0.6, 0.8, 1.0),
                "loss": ("absolute_error", "huber", "squared_error"),
            },
            ("rate", "trees"),
            trainer("diabetes", boosting, regressed, 250),
        ),
        Grid(
            "support vectors",
            {
                "C": multiples(0.01, 1000, 8),
                "gamma": multiples(1e-4, 10, 8),
                "kernel": ("poly", "rbf", "sigmoid"),
                "scaling": ("quantiles", "range", "standard"),
                "weights": ("balanced", "equal"),
            },
            ("C", "gamma"),
            trainer("cancer", support_vectors, margins, 200),
        ),
        Grid(
            "elastic net",
            {
                "penalty": multiples(1e-4, 3, 8),
                "share of L1": (0.05, 0.25, 0.5, 0.75, 0.95),
                "rows": (50, 100, 200),
                "degree": (1, 2),
                "scaling": ("none", "quantiles", "range"),
                "selection": ("cyclic", "random"),
            },
            ("penalty", "rows"),
            trainer("diabetes", elastic_net, kept),
        ),
        Grid(
            "forest",
            {
                "trees": (5, 10, 20, 40),
                "depth": (2, 4, 6, 9, 14),
                "features": multiples(0.03, 1, 5),
                "leaf": (1, 2, 5, 10),
                "criterion": ("entropy", "gini"),
                "rows": ("all", "drawn"),
            },
            ("trees", "features", "leaf"),
            trainer("digits", forest, classified, 500),
        ),
        Grid(
            "neighbours",
            {
                "neighbours": (1, 2, 4, 8, 16, 32, 64, 128),
                "components": (2, 4, 8, 16, 32, 60),
                "power": (1, 2, 3),
                "scaling": tuple(SCALERS),
                "weights": ("distance", "uniform"),
            },
            ("neighbours", "components"),
            trainer("digits", neighbours, classified, 500),
        ),
        Grid(
            "text",
            {
                "order": (1, 2, 3, 4, 5),
                "smoothing": multiples(1e-4, 1, 6),
                "characters": (2000, 6000, 18000, 54000, 100000),
                "alphabet": ("as written", "letters", "lower case"),
                "method": ("back-off", "interpolation", "one order"),
            },
            ("smoothing", "characters"),
            train_text,
        ),
        Grid(
            "GFlowNet",
            {
                "objective": (
                    "detailed_balance",
                    "sub_trajectory_balance",
                    "trajectory_balance",
                ),
                "rate": multiples(1e-3, 0.03, 3),
                "rate of log Z": multiples(1e-3, 1, 4),
                "exploration": (0.0, 0.1, 0.3),
                "batch": (8, 16, 32, 64),
                "units": (8, 24, 72),
            },
            ("rate", "rate of log Z", "batch", "units"),
            train_gflownet,
        ),
    )
}


def quietly(grid: Grid, index: int, seed: int) -> Outputs:
    """Train once, without warnings of trainings that did not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return grid.train(grid.setting(index), seed)
