"""Other tools for importance on the same ensembles, in one run.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.answer.peers --out runs/answer``, in an
environment with ``benchmarks/answer/requirements.txt``. What a tool names is what its
documentation takes for important: a p-value below 5 % after a correction for the number
of inputs, where it has one (hidimstat); a mean over two standard deviations above 0
(the guide of scikit-learn on permutation importance); else more than the mean of all
inputs, the default of ``SelectFromModel``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

import skpce

from .ensembles import KINDS, POWER
from .measure import generator_of

#: Kinds on which tools are compared.
CHOSEN = (
    *("pure noise", "base", "base, n = 100", "null correlated .7 with a driver"),
    *("product, n = 100", "inputs with 2 degrees of freedom"),
)

Named = np.ndarray  # of bool, shape: (n_inputs,)


def ours(X: np.ndarray, y: np.ndarray) -> Named:
    """Return inputs that drive."""
    return (skpce.explain(X, y).drivers.state == "drives")[0]


def forest(X: np.ndarray, y: np.ndarray) -> Named:
    """Return inputs whose mean decrease in impurity is above the mean."""
    found = RandomForestRegressor(random_state=0).fit(X, y).feature_importances_
    return found > found.mean()


def permutations(X: np.ndarray, y: np.ndarray) -> Named:
    """Return inputs whose permutation importance is above 0 on rows left out."""
    X, T, y, t = train_test_split(X, y, random_state=0)
    model = RandomForestRegressor(random_state=0).fit(X, y)
    found = permutation_importance(model, T, t, n_repeats=30, random_state=0)
    return found.importances_mean - 2 * found.importances_std > 0


def shap(X: np.ndarray, y: np.ndarray) -> Named:
    """Return inputs whose mean absolute Shapley value is above the mean."""
    from shap import TreeExplainer

    model = RandomForestRegressor(random_state=0).fit(X, y)
    found = np.abs(TreeExplainer(model).shap_values(X)).mean(axis=0)
    return found > found.mean()


def distilled(X: np.ndarray, y: np.ndarray) -> Named:
    """Return what the distilled conditional randomisation test of hidimstat selects."""
    from hidimstat import D0CRT
    from sklearn.linear_model import LassoCV

    test = D0CRT(LassoCV(n_jobs=1), screening_threshold=100, random_state=0)
    test.fit_importance(X, y)
    return test.fwer_selection(0.05) != 0


def conditional(X: np.ndarray, y: np.ndarray) -> Named:
    """Return what the conditional feature importance of hidimstat selects."""
    from hidimstat import CFI

    X, T, y, t = train_test_split(X, y, random_state=0)
    test = CFI(RandomForestRegressor(random_state=0).fit(X, y), random_state=0)
    test.fit(X, y)
    test.importance(T, t)
    return test.fwer_selection(0.05) != 0


def optuna(name: str) -> Callable[[np.ndarray, np.ndarray], Named]:
    """Return a tool that asks an evaluator of Optuna."""

    def call(X: np.ndarray, y: np.ndarray) -> Named:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        ends = np.stack([X.min(axis=0), X.max(axis=0)]).T
        laws = {
            f"x{i}": optuna.distributions.FloatDistribution(*map(float, own))
            for i, own in enumerate(ends)
        }
        study = optuna.create_study()
        for row, value in zip(X, y, strict=True):
            given = {f"x{i}": float(v) for i, v in enumerate(row)}
            study.add_trial(
                optuna.trial.create_trial(
                    params=given, distributions=laws, value=float(value)
                )
            )
        options = {} if name.startswith("Ped") else {"seed": 0}
        evaluator = getattr(optuna.importance, f"{name}ImportanceEvaluator")(**options)
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
        found = np.array([shares[f"x{i}"] for i in range(X.shape[1])])
        return found > found.mean()

    return call


TOOLS: Mapping[str, Callable[[np.ndarray, np.ndarray], Named]] = {
    "skpce.explain": ours,
    "forest, impurity": forest,
    "forest, permutation importance": permutations,
    "forest, SHAP": shap,
    "hidimstat, distilled test": distilled,
    "hidimstat, conditional importance": conditional,
    "Optuna, fANOVA": optuna("Fanova"),
    "Optuna, PED-ANOVA": optuna("PedAnova"),
    "Optuna, impurity": optuna("MeanDecreaseImpurity"),
}


def compare(kind: str, number: int) -> dict[str, Any]:
    """Return how often each tool names some null, and each driver; CPU-seconds."""
    n_runs, make = (KINDS | POWER)[kind]
    found: dict[str, Any] = {}
    for tool, call in TOOLS.items():
        null, drivers, seconds = [], [], []
        for seed in range(number):
            case = make(n_runs, generator_of(kind, seed))
            acts = np.isin(np.arange(case.X.shape[1]), case.drivers)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                named = call(case.X, case.y)
            seconds.append(time.process_time() - start)
            null.append(bool(named[~acts].any()))
            drivers.append(named[acts].tolist())
        found[tool] = {
            "null": float(np.mean(null)),
            "found": np.mean(drivers, axis=0).tolist(),
            "seconds": float(np.median(seconds)),
            "number": number,
        }
        print(kind, tool, found[tool], flush=True)
    return found


def main() -> None:
    """Compare what is not compared yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ensembles", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("runs/answer"))
    arguments = parser.parse_args()
    path = arguments.out / "peers.json"
    arguments.out.mkdir(parents=True, exist_ok=True)
    done = json.loads(path.read_text()) if path.exists() else {}
    for kind in CHOSEN:
        if kind not in done:
            done[kind] = compare(kind, arguments.ensembles)
            path.write_text(json.dumps(done, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
