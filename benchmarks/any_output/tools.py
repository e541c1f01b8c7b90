"""Tools that rank inputs, each as a function from data to importances.

Every tool sees the same inputs and outputs. Where a tool takes inputs to be uniform
over a box (the evaluators of Optuna, ``shapleyx``) it gets their places in [0, 1],
under which they are; total indices do not change under such maps. Packages are imported
inside, so that one that is missing leaves the others.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skpce import PolynomialChaosRegressorCV

from .functions import Levels, Problem

FloatArray = NDArray[np.float64]
#: From (problem, X, places of X in [0, 1], y, seed) to one figure for each input.
Tool = Callable[[Problem, FloatArray, FloatArray, FloatArray, int], FloatArray]


def ours(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Total indices of ``PolynomialChaosRegressorCV`` with the true distributions."""
    laws = ["categorical" if isinstance(v, Levels) else v for v in problem.laws]
    model = PolynomialChaosRegressorCV(distribution=laws).fit(X, y)
    return np.asarray(model.total_sobol_indices_[0])


def study_of(problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray) -> Any:
    """Return a study of Optuna whose trials are these points."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    spaces = {
        f"x{column}": optuna.distributions.CategoricalDistribution(range(law.count))
        if isinstance(law, Levels)
        else optuna.distributions.FloatDistribution(0.0, 1.0)
        for column, law in enumerate(problem.laws)
    }
    for row, place, value in zip(X, places, y, strict=True):
        parameters = {
            name: int(row[column])
            if isinstance(problem.laws[column], Levels)
            else float(place[column])
            for column, name in enumerate(spaces)
        }
        study.add_trial(
            optuna.create_trial(
                params=parameters, distributions=spaces, value=float(value)
            )
        )
    return study


def _of_study(evaluator: Any, study: Any, n_inputs: int) -> FloatArray:
    import optuna

    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return np.array([found[f"x{column}"] for column in range(n_inputs)])


def fanova(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Optuna's default; main effects in a forest, which add up to one."""
    import optuna

    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=seed)
    return _of_study(evaluator, study_of(problem, X, places, y), X.shape[1])


def ped_anova(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """How the best tenth of the trials differs from all; adds up to one."""
    import optuna

    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    return _of_study(evaluator, study_of(problem, X, places, y), X.shape[1])


def _forest(X: FloatArray, y: FloatArray, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=seed).fit(X, y)


def permutation(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Half the loss of R² of a forest, which is the total index if it is exact."""
    from sklearn.inspection import permutation_importance

    found = permutation_importance(
        _forest(X, y, seed), X, y, n_repeats=10, random_state=seed
    )
    return np.maximum(found.importances_mean, 0.0) / 2


def shap(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Mean absolute value of the exact values of a forest, as shares."""
    from shap import TreeExplainer

    values = np.abs(TreeExplainer(_forest(X, y, seed)).shap_values(X)).mean(axis=0)
    return np.asarray(values / values.sum())


def _shapleyx(places: FloatArray, y: FloatArray, **options: Any) -> FloatArray:
    import matplotlib
    import pandas as pd

    matplotlib.use("Agg")  # it plots, and prints
    from matplotlib import pyplot
    from shapleyx import rshdmr

    names = [f"x{column}" for column in range(places.shape[1])]
    table = pd.DataFrame(places, columns=names).assign(Y=y)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rshdmr(table, resampling=False, n_jobs=1, **options)
        _, _, totals = model.run_all()
    pyplot.close("all")
    return np.asarray(totals["total"], dtype=np.float64)


def shapleyx_default(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Sparse Bayesian learning on Legendre polynomials, as it comes."""
    return _shapleyx(places, y)


def shapleyx_cv(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """The same, stopped by cross-validation as its documentation recommends."""
    return _shapleyx(places, y, method="ard_cv", cv_method="bayesian")


def equal_shares(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """No tool: the same share for each input, whatever the data."""
    return np.full(X.shape[1], 1 / X.shape[1])


TOOLS: dict[str, tuple[str | None, Tool]] = {  # package, function
    "skpce": (None, ours),
    "Optuna fANOVA": ("optuna", fanova),
    "Optuna PED-ANOVA": ("optuna", ped_anova),
    "forest, permutation": ("sklearn", permutation),
    "forest, SHAP": ("shap", shap),
    "shapleyx": ("shapleyx", shapleyx_default),
    "shapleyx, ard_cv": ("shapleyx", shapleyx_cv),
    "equal shares": (None, equal_shares),
}
