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

from skpce import PolynomialChaosRegressor

from .functions import Levels, Problem

FloatArray = NDArray[np.float64]
#: From (problem, X, places of X in [0, 1], y, seed) to one figure for each input.
Tool = Callable[[Problem, FloatArray, FloatArray, FloatArray, int], FloatArray]


def laws_of(problem: Problem) -> list[Any]:
    """Return the distributions as the regressors take them."""
    return ["categorical" if isinstance(law, Levels) else law for law in problem.laws]


def expansion(**options: Any) -> Tool:
    """Return a tool: total indices of a regressor with the true distributions."""

    def total_indices(
        problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
    ) -> FloatArray:
        model = PolynomialChaosRegressor(distribution=laws_of(problem), **options)
        return np.asarray(model.fit(X, y).total_sobol_indices_[0])

    return total_indices


def hyperbolic(
    degree: int, q: float, solver: str | None, order: int | None = None
) -> Tool:
    """Return the tool with a thinned basis."""
    return expansion(
        degree=degree,
        truncation="hyperbolic",
        q=q,
        solver=solver,
        interaction_order=order,
    )


#: Settings of ours, compared on other data than the tools are.
RECIPES: dict[str, Tool] = {
    "without settings": expansion(),
    "degree 5": expansion(degree=5),
    "6, q = 0.75": hyperbolic(6, 0.75, None),
    "6, q = 0.75, pairs": hyperbolic(6, 0.75, None, 2),
    "6, q = 0.75, pairs, subspace_pursuit": hyperbolic(6, 0.75, "subspace_pursuit", 2),
    "6, q = 0.75, pairs, lars": hyperbolic(6, 0.75, "lars", 2),
    "6, q = 0.75, ridge": hyperbolic(6, 0.75, "ridge"),
    "degree 2, ridge": expansion(degree=2, solver="ridge"),
}


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


def shapleyx(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """Sparse Bayesian learning on Legendre polynomials, as it comes."""
    import matplotlib
    import pandas as pd

    matplotlib.use("Agg")  # it plots, and prints
    from matplotlib import pyplot
    from shapleyx import rshdmr

    names = [f"x{column}" for column in range(places.shape[1])]
    table = pd.DataFrame(places, columns=names).assign(Y=y)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = rshdmr(table, resampling=False, n_jobs=1)
        _, _, totals = model.run_all()
    pyplot.close("all")
    return np.asarray(totals["total"], dtype=np.float64)


def equal_shares(
    problem: Problem, X: FloatArray, places: FloatArray, y: FloatArray, seed: int
) -> FloatArray:
    """No tool: the same share for each input, whatever the data."""
    return np.full(X.shape[1], 1 / X.shape[1])


TOOLS: dict[str, tuple[str | None, Tool]] = {  # package, function
    "skpce": (None, expansion()),
    "skpce, degree 2, ridge": (None, expansion(degree=2, solver="ridge")),
    "Optuna fANOVA": ("optuna", fanova),
    "Optuna PED-ANOVA": ("optuna", ped_anova),
    "forest, permutation": ("sklearn", permutation),
    "forest, SHAP": ("shap", shap),
    "shapleyx": ("shapleyx", shapleyx),
    "equal shares": (None, equal_shares),
}
