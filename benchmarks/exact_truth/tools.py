"""Tools that say which input matters: the one place to add one.

A tool gets a study and returns scores to rank the inputs by, which of them it names,
and, where it estimates them, first-order and total shares. What is named is what its
documentation takes for important: a p-value below 5 % after a correction for the number
of inputs, where it has one (hidimstat); a mean over two standard deviations above 0
(the guide of scikit-learn on permutation importance); more than the mean of all inputs,
the default of ``SelectFromModel``; else a total share, or a first-order one, of at
least .05. Tools for numbers alone get the places of labels; forests and processes get
them one-hot, as Optuna does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import randint
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

import skpce
from benchmarks.pce.fits import gaussian_process
from benchmarks.pce.functions import pick_freeze

from .studies import Study

FloatArray = NDArray[np.float64]
NAMED_FROM = 0.05


@dataclass(frozen=True)
class Found:
    """What a tool says of a study, one value an input.

    ``of_settings`` says that the shares are those of the variance between settings,
    without that of the seeds. ``low`` and ``high`` are an interval of the total.
    """

    scores: FloatArray
    named: NDArray[np.bool_]
    first: FloatArray | None = None
    total: FloatArray | None = None
    of_settings: bool = True
    low: FloatArray | None = None
    high: FloatArray | None = None


Tool = Callable[[Study], Found]


def shares(first: FloatArray | None, total: FloatArray | None = None) -> Found:
    """Return what follows from shares alone."""
    scores = first if total is None else total
    assert scores is not None
    return Found(scores, scores >= NAMED_FROM, first, total)


def optuna_study(study: Study) -> Any:
    """Return the runs as a study of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = optuna.distributions
    laws: dict[str, Any] = {}
    for key, own in study.levels.items():
        if isinstance(own[0], str):
            laws[key] = of.CategoricalDistribution(own)
        elif isinstance(own[0], int):
            laws[key] = of.IntDistribution(own[0], own[-1], log=key in study.log)
        else:
            laws[key] = of.FloatDistribution(own[0], own[-1], log=key in study.log)
    trials = optuna.create_study()
    table = study.table()
    for k, value in enumerate(study.y):
        given = {key: table[key][k] for key in study.levels}
        trials.add_trial(
            optuna.trial.create_trial(
                params=given, distributions=laws, value=float(value)
            )
        )
    return trials


def explained(study: Study) -> Found:
    """Ask for the drivers; runs of a sampler that learns are read as its study."""
    if study.adaptive:
        answer = skpce.explain(optuna_study(study))
    else:
        log = [name for name in study.log if name in study.levels]
        answer = skpce.explain(study.table(), outputs="y", log=log)
    rows = answer.drivers
    order = [list(rows.input_names).index(name) for name in study.levels]
    first, total, low, high = (
        np.asarray(value)[0][order]
        for value in (rows.first, rows.total, rows.total_low, rows.total_high)
    )
    named = np.asarray(rows.state)[0][order] == "drives"
    return Found(
        np.where(named, 1 + total, total), named, first, total, False, low, high
    )


def fitted(study: Study) -> Found:
    """Fit without settings, and read the indices of the expansion."""
    X = study.numbers(study.places)
    kinds = ["categorical" if label else "auto" for label in study.is_label()]
    model = skpce.PolynomialChaosRegressor(distribution=kinds).fit(X, study.y)
    return shares(
        np.ravel(model.sobol_indices_).copy(), np.ravel(model.total_sobol_indices_)
    )


def one_hot(study: Study, places: Any) -> FloatArray:
    """Return runs as numbers, with a column a label."""
    columns = [
        np.eye(len(own))[places[:, j]]
        if isinstance(own[0], str)
        else study.axis(j)[places[:, j]][:, None]
        for j, own in enumerate(study.levels.values())
    ]
    return np.hstack(columns)


def over_levels(study: Study, evaluate: Callable[[Any], FloatArray]) -> Found:
    """Return the shares of a model over all levels, by exchanging one input.

    Means over 2^11 points of the model, whose own error is about .01.
    """
    laws = [randint(0, len(own)) for own in study.levels.values()]
    found = pick_freeze(lambda places: evaluate(places.astype(int)), laws, 10)
    return shares(found.first, found.total)


def forest(study: Study) -> Found:
    """Fit a forest and measure the shares of its predictions."""
    model = RandomForestRegressor(random_state=0)
    model.fit(one_hot(study, study.places), study.y)
    return over_levels(study, lambda p: model.predict(one_hot(study, p)))


def process(study: Study) -> Found:
    """Fit a Gaussian process with a length for every column."""
    X = one_hot(study, study.places)
    model = gaussian_process(X.shape[1]).fit(X, study.y)
    return over_levels(study, lambda p: model.predict(one_hot(study, p)))


def permutations(study: Study) -> Found:
    """Permute inputs of a forest on runs left out."""
    X, T, y, t = train_test_split(study.numbers(study.places), study.y, random_state=0)
    model = RandomForestRegressor(random_state=0).fit(X, y)
    found = permutation_importance(model, T, t, n_repeats=30, random_state=0)
    mean = found.importances_mean
    return Found(mean, mean - 2 * found.importances_std > 0)


def shap(study: Study) -> Found:
    """Average absolute Shapley values of a forest."""
    from shap import TreeExplainer

    X = study.numbers(study.places)
    model = RandomForestRegressor(random_state=0).fit(X, study.y)
    found = np.abs(TreeExplainer(model).shap_values(X)).mean(axis=0)
    return Found(found, found > found.mean())


def conditional(study: Study) -> Found:
    """Ask hidimstat for the conditional importance of a forest's inputs."""
    from hidimstat import CFI

    X, T, y, t = train_test_split(study.numbers(study.places), study.y, random_state=0)
    test = CFI(
        RandomForestRegressor(random_state=0).fit(X, y),
        feature_types=["continuous"] * X.shape[1],
        random_state=0,
    )
    test.fit(X, y)
    found = test.importance(T, t)
    return Found(np.asarray(found), np.asarray(test.fwer_selection(0.05)) != 0)


def optuna(name: str) -> Tool:
    """Return a tool that asks an evaluator of Optuna."""

    def call(study: Study) -> Found:
        import optuna

        trials = optuna_study(study)
        options = {} if name.startswith("Ped") else {"seed": 0}
        evaluator = getattr(optuna.importance, f"{name}ImportanceEvaluator")(**options)
        found = optuna.importance.get_param_importances(
            trials, evaluator=evaluator, normalize=name != "Fanova"
        )
        scores = np.array([found.get(key, 0.0) for key in study.levels])
        own_first = scores if name == "Fanova" else None
        return Found(scores, scores > scores.mean(), own_first)

    return call


def salib(name: str) -> Tool:
    """Return a given-data estimator of SALib."""

    def call(study: Study) -> Found:
        from importlib import import_module

        X = study.numbers(study.places)
        bounds = np.stack([X.min(axis=0), X.max(axis=0)], axis=1).tolist()
        names = list(study.levels)
        problem = {"num_vars": len(names), "names": names, "bounds": bounds}
        analyze = import_module(f"SALib.analyze.{name}").analyze
        found = analyze(problem, X, study.y, seed=0)
        return shares(np.nan_to_num(np.asarray(found["S1"], dtype=float)))

    return call


def openturns(study: Study) -> Found:
    """Fit the expansion of OpenTURNS as its constructor chooses it."""
    import openturns as ot

    ot.Log.Show(ot.Log.NONE)
    X = study.numbers(study.places)
    laws = ot.JointDistribution(
        [
            ot.Uniform(float(study.axis(j).min()), float(study.axis(j).max()))
            for j in range(X.shape[1])
        ]
    )
    algorithm = ot.FunctionalChaosAlgorithm(
        ot.Sample(X), ot.Sample(study.y[:, None]), laws
    )
    algorithm.run()
    indices = ot.FunctionalChaosSobolIndices(algorithm.getResult())
    inputs = range(X.shape[1])
    return shares(
        np.array([indices.getSobolIndex(j) for j in inputs]),
        np.array([indices.getSobolTotalIndex(j) for j in inputs]),
    )


OURS = "skpce.explain"
TOOLS: Mapping[str, Tool] = {
    OURS: explained,
    "skpce, indices of the fit": fitted,
    "forest, its own shares": forest,
    "Gaussian process": process,
    "OpenTURNS, expansion": openturns,
    "SALib, delta": salib("delta"),
    "SALib, RBD-FAST": salib("rbd_fast"),
    "Optuna, fANOVA": optuna("Fanova"),
    "Optuna, PED-ANOVA": optuna("PedAnova"),
    "Optuna, impurity": optuna("MeanDecreaseImpurity"),
    "permutation importance": permutations,
    "SHAP": shap,
    "hidimstat, conditional importance": conditional,
}
