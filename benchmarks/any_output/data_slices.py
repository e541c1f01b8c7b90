"""Data slices: degree one beside degree two, and is the mislabelled slice found?

The training rows of a data set of scikit-learn are cut into twelve slices; in one of
them every label, or a part of them (``--wrong``), is replaced by another one. Members
are trained on a random half of the slices, and the outputs are the log-odds of the true
class of the ten test cases that are the most undecided when all slices are used. Two
thirds of the members are used to fit, one third to judge; none occurs twice. In each
repetition rows, slices and members are drawn anew. The table has averages over the
cases and the repetitions:

- *LDS*, the linear datamodelling score: rank correlation of predicted and true outputs;
- *Q²*: one minus the squared error over the variance around the mean of the fit;
- *leave one out*: rank correlation of what the fit says, and what is true, when one
  slice is taken from all of the data, over slices and cases;
- *found by effect* and *found by index*: in how many repetitions the mislabelled slice
  has the lowest mean effect, and the largest mean total Sobol index, of all slices; in
  parentheses its mean place.

Run: ``python -m benchmarks.any_output.data_slices``, and once more with ``--wrong 0.3
--members 240``: the tables of the page on data slices in the user guide.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import bernoulli, spearmanr
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import PolynomialChaosRegressor
from skpce.ensembles import slice_design

RATE = 0.5
N_SLICES = 12
N_CASES = 10
CLASSIFIERS = {
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=300)
    ),
    "naive Bayes": lambda: make_pipeline(
        StandardScaler(), GaussianNB(var_smoothing=1e-3)
    ),
}
# loader, training rows
SHAPES = {
    "digits": (load_digits, 900),
    "breast_cancer": (load_breast_cancer, 360),
    "wine": (load_wine, 120),
}
HEADER = (
    "data",
    "classifier",
    "members",
    "fit",
    "LDS",
    "Q²",
    "leave one out",
    "found by effect",
    "found by index",
)


@dataclass(frozen=True)
class SlicedData:
    """Training rows in slices, one mislabelled, and the cases that are judged."""

    features: np.ndarray  # shape: (n_rows, n_features)
    truth: np.ndarray  # shape: (n_rows,)
    labels: np.ndarray  # shape: (n_rows,): those that are trained on
    slices: list[np.ndarray]  # row numbers
    wrong: int  # the mislabelled slice
    cases: np.ndarray  # row numbers

    def log_odds(self, seen: np.ndarray, make: Callable[[], Any]) -> np.ndarray:
        """Return log-odds of the true class of the cases after some slices."""
        rows = np.concatenate([self.slices[i] for i in np.flatnonzero(seen)])
        model = make().fit(self.features[rows], self.labels[rows])
        logs = model.predict_log_proba(self.features[self.cases])
        own = np.full(len(self.cases), np.log(1e-9))  # a class that was not seen
        place = np.searchsorted(model.classes_, self.truth[self.cases])
        known = np.isin(self.truth[self.cases], model.classes_)
        own[known] = logs[known, place[known]]
        own = np.clip(own, np.log(1e-9), np.log1p(-1e-9))
        return own - np.log(-np.expm1(own))


def draw(
    name: str, make: Callable[[], Any], share_wrong: float, rng: np.random.Generator
) -> SlicedData:
    """Cut a data set into slices and find the undecided cases."""
    load, n_train = SHAPES[name]
    features, truth = load(return_X_y=True)
    order = rng.permutation(len(truth))
    slices = np.split(order[:n_train], N_SLICES)
    wrong = int(rng.integers(N_SLICES))
    replaced = slices[wrong][: round(share_wrong * len(slices[wrong]))]
    n_classes = truth.max() + 1
    labels = truth.copy()
    labels[replaced] += rng.integers(1, n_classes, len(replaced))
    labels %= n_classes
    data = SlicedData(features, truth, labels, slices, wrong, order[n_train:])
    margin = np.abs(data.log_odds(np.ones(N_SLICES), make))
    cases = data.cases[np.argsort(margin)[:N_CASES]]
    return SlicedData(features, truth, labels, slices, wrong, cases)


def candidates() -> dict[str, Any]:
    """Return what is fitted to zeros and ones."""
    law = bernoulli(RATE)
    return {
        "lasso": MultiOutputRegressor(LassoCV()),
        "degree 1": PolynomialChaosRegressor(1, distribution=law, solver="ridge"),
        "degree 2": PolynomialChaosRegressor(2, distribution=law),
    }


def effects_and_indices(
    model: Any,
) -> tuple[np.ndarray, np.ndarray]:  # each of shape (N_CASES, N_SLICES)
    """Return effects of each slice, and total indices."""
    if isinstance(model, MultiOutputRegressor):
        effect = np.array([one.coef_ for one in model.estimators_])
        square = np.square(effect)
        spread = square.sum(axis=1, keepdims=True)
        return effect, square / np.where(spread > 0, spread, 1)
    alone = model.multi_indices_.sum(axis=1) == 1
    slopes = model.coefficients_[:, alone] @ model.multi_indices_[alone]
    return slopes / np.sqrt(RATE * (1 - RATE)), model.total_sobol_indices_


def measure(
    name: str,
    make: Callable[[], Any],
    n_members: int,
    share_wrong: float,
    seed: int,
) -> dict[str, list[float]]:
    """Return the figures of one repetition, for each candidate."""
    rng = np.random.default_rng(seed)
    data = draw(name, make, share_wrong, rng)
    design = slice_design(n_members, N_SLICES, RATE, random_state=seed)
    design = rng.permutation(np.unique(design, axis=0)).astype(float)
    outputs = np.array([data.log_odds(seen, make) for seen in design])
    everything = np.ones((1, N_SLICES))
    without = everything - np.eye(N_SLICES)
    actual = data.log_odds(everything[0], make) - [
        data.log_odds(seen, make) for seen in without
    ]
    n_fit = 2 * len(design) // 3
    X_fit, X_new = design[:n_fit], design[n_fit:]
    y_fit, y_new = outputs[:n_fit], outputs[n_fit:]
    found = {}
    for label, model in candidates().items():
        predicted = model.fit(X_fit, y_fit).predict(X_new)
        lds = [
            spearmanr(one, true)[0] if np.ptp(one) > 0 else 0.0
            for one, true in zip(predicted.T, y_new.T, strict=True)
        ]
        press = np.square(y_new - predicted).sum(axis=0)
        spread = np.square(y_new - y_fit.mean(axis=0)).sum(axis=0)
        said = model.predict(everything) - model.predict(without)
        effect, index = effects_and_indices(model)
        found[label] = [
            float(np.mean(lds)),
            float(np.mean(1 - press / spread)),
            float(spearmanr(said.ravel(), actual.ravel())[0]),
            1 + int(np.sum(effect.mean(axis=0) < effect.mean(axis=0)[data.wrong])),
            1 + int(np.sum(index.mean(axis=0) > index.mean(axis=0)[data.wrong])),
        ]
    return found


def row(cells: tuple[Any, ...]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--members", type=int, nargs="+", default=[60, 240])
    parser.add_argument("--data", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--wrong", type=float, default=1.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    started = time.process_time()
    print(row(HEADER))
    print(row(("---",) * 3 + ("---",) + ("---:",) * 5))
    for name in arguments.data:
        for classifier, make in CLASSIFIERS.items():
            for n_members in arguments.members:
                runs = [
                    measure(name, make, n_members, arguments.wrong, seed)
                    for seed in range(arguments.repetitions)
                ]
                for label in runs[0]:
                    figures = np.array([run[label] for run in runs])
                    mean = figures.mean(axis=0)
                    hits = (figures[:, 3:] == 1).sum(axis=0)
                    places = [
                        f"{hit} of {len(runs)} ({rank:.1f})"
                        for hit, rank in zip(hits, mean[3:], strict=True)
                    ]
                    scores = [f"{value:.2f}" for value in mean[:3]]
                    print(
                        row((name, classifier, n_members, label, *scores, *places)),
                        flush=True,
                    )
    print(f"\n{time.process_time() - started:.0f} CPU-seconds")


if __name__ == "__main__":
    main()
