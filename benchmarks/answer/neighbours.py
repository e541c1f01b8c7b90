"""What neighbouring libraries give for the same 120 runs, each by a call of its own.

    python -m pip install -r benchmarks/answer/requirements.txt
    python -m benchmarks.answer.neighbours

UQpy and PyApprox ask for older versions of what the others need; in an environment of
their own their lines are printed too.

The output is the product of two of five inputs, plus a third, plus noise: by the
formula the first two have 0.26 of the variance alone and 0.35 in all, the third 0.34,
the others nothing. The table "Related software" in docs/motivation.md has what each
library is for. One that is not installed is named as such.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import skpce

N_RUNS, N_INPUTS = 120, 5
NAMES = [f"x{i}" for i in range(N_INPUTS)]
BOUNDS = [[0.0, 1.0]] * N_INPUTS


def model(X: np.ndarray) -> np.ndarray:
    """Return the output without its noise."""
    return 3.0 * X[:, 0] * X[:, 1] + 1.7 * X[:, 2]


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and outputs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N_RUNS, N_INPUTS))
    return X, model(X) + 0.2 * rng.normal(size=N_RUNS)


def numbers(values: Any) -> str:
    """Return numbers for a line."""
    return " ".join(f"{value:.2f}" for value in np.ravel(values))


def forest(X: np.ndarray, y: np.ndarray) -> Any:
    """Return a fitted forest."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(200, random_state=0).fit(X, y)


def ours(X: np.ndarray, y: np.ndarray) -> str:
    """Shares in all, with intervals, of what a test has shown."""
    table = skpce.explain(X, y).drivers
    states = ", ".join(f"{n} {s}" for n, s in zip(NAMES, table.state[0], strict=True))
    return f"shares in all {numbers(table.total)}; {states}"


def optuna_(X: np.ndarray, y: np.ndarray) -> str:
    """Importance of reaching the best tenth, which explain does not ask."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    space = {name: optuna.distributions.FloatDistribution(0, 1) for name in NAMES}
    for row, value in zip(X.tolist(), y.tolist(), strict=True):
        params = dict(zip(NAMES, row, strict=True))
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=space, value=value)
        )
    found = optuna.importance.get_param_importances(study)
    return f"PED-ANOVA of the best tenth {numbers([found[n] for n in NAMES])}"


def salib(X: np.ndarray, y: np.ndarray) -> str:
    """Indices by a design, of a model that can be called; moments-free ones of data."""
    from SALib.analyze import pawn, sobol
    from SALib.sample import sobol as design

    problem = {"num_vars": N_INPUTS, "names": NAMES, "bounds": BOUNDS}
    points = design.sample(problem, 1024, seed=0)
    total = sobol.analyze(problem, model(points), seed=0)["ST"]
    of_data = pawn.analyze(problem, X, y, seed=0)["median"]
    return f"Saltelli's design, total {numbers(total)}; PAWN {numbers(of_data)}"


def hidimstat_(X: np.ndarray, y: np.ndarray) -> str:
    """Selection among inputs with a false discovery rate: knockoffs."""
    from hidimstat import model_x_knockoff_importance

    selected, *_ = model_x_knockoff_importance(X, y, fdr=0.2, random_state=0)
    chosen = np.flatnonzero(np.ravel(selected)).tolist()
    return f"knockoffs select {chosen}"


def openturns_(X: np.ndarray, y: np.ndarray) -> str:
    """Probability of failure by importance sampling; dependence by copulas."""
    import openturns as ot

    ot.RandomGenerator.SetSeed(0)
    formula = ot.SymbolicFunction(NAMES, ["3 * x0 * x1 + 1.7 * x2"])
    law = ot.JointDistribution([ot.Uniform(0, 1)] * N_INPUTS)
    output = ot.CompositeRandomVector(formula, ot.RandomVector(law))
    event = ot.ThresholdEvent(output, ot.Greater(), 4.0)
    search = ot.SubsetSampling(event)
    search.run()
    chance = search.getResult().getProbabilityEstimate()
    copula = ot.NormalCopulaFactory().build(ot.Sample(X.tolist()))
    return f"P(y > 4) = {chance:.2g} by subset sampling; {copula.getName()} fitted"


def chaospy_(X: np.ndarray, y: np.ndarray) -> str:
    """Expansion by quadrature on a sparse grid, of a model that can be called."""
    import chaospy as cp

    law = cp.J(*[cp.Uniform(0, 1) for _ in NAMES])
    nodes, weights = cp.generate_quadrature(2, law, sparse=True)
    terms = cp.generate_expansion(2, law)
    fitted = cp.fit_quadrature(terms, nodes, weights, model(nodes.T))
    total = cp.Sens_t(fitted, law)
    return f"{len(nodes.T)} nodes, total {numbers(total)}"


def uqpy(X: np.ndarray, y: np.ndarray) -> str:
    """Sampling of a posterior by a Markov chain."""
    from UQpy.distributions import Normal
    from UQpy.sampling import MetropolisHastings

    chain = MetropolisHastings(
        pdf_target=Normal(float(y.mean()), float(y.std())).pdf,
        **{"dimension": 1, "n_chains": 1, "nsamples": 500, "seed": [[float(y.mean())]]},
        random_state=0,
    )
    return f"Metropolis and Hastings, mean {numbers(chain.samples.mean())}"


def pyapprox_(X: np.ndarray, y: np.ndarray) -> str:
    """Main effects of given runs by bins; estimators of several fidelities."""
    from pyapprox.probability import IndependentJoint, UniformMarginal
    from pyapprox.sensitivity import BinBasedSensitivityAnalysis
    from pyapprox.util.backends.numpy import NumpyBkd

    backend = NumpyBkd()
    law = IndependentJoint([UniformMarginal(0.0, 1.0, backend)] * N_INPUTS, backend)
    analysis = BinBasedSensitivityAnalysis(law, backend)
    analysis.compute(X.T, y[np.newaxis])
    return f"main effects by bins {numbers(analysis.main_effects())}"


def mapie_(X: np.ndarray, y: np.ndarray) -> str:
    """Conformal intervals around any regressor."""
    from mapie.regression import CrossConformalRegressor
    from sklearn.ensemble import RandomForestRegressor

    regressor = RandomForestRegressor(50, random_state=0)
    found = CrossConformalRegressor(regressor, confidence_level=0.9, random_state=0)
    _, ends = found.fit_conformalize(X, y).predict_interval(X[:1])
    return f"interval of the first run {numbers(ends)}"


def shap_(X: np.ndarray, y: np.ndarray) -> str:
    """What each input adds to one prediction of any model."""
    import shap

    values = shap.TreeExplainer(forest(X, y)).shap_values(X)
    size = numbers(abs(values).mean(axis=0))
    return f"of the first run {numbers(values[0])}; mean size {size}"


def evalstats_(X: np.ndarray, y: np.ndarray) -> str:
    """Comparison of two models on shared items."""
    import evalstats
    import pandas as pd

    items = np.arange(2 * N_RUNS) // 2
    score = y[items] + np.tile([0.0, 0.5], N_RUNS)
    table = pd.DataFrame({"item": items, "model": ["a", "b"] * N_RUNS, "score": score})
    return str(evalstats.compare_models(evalstats.load_from(table)))


def shapleyx_(X: np.ndarray, y: np.ndarray) -> str:
    """Shapley effects of a sparse polynomial with resampled intervals."""
    import pandas as pd
    from shapleyx import rshdmr

    table = pd.DataFrame(X, columns=NAMES).assign(Y=y)
    found = rshdmr(table, polys=[6, 3], n_jobs=1, number_of_resamples=50)
    *_, total = found.run_all()
    return f"total {numbers(total['total'])}"


def permutation(X: np.ndarray, y: np.ndarray) -> str:
    """What the score of a fitted estimator loses where an input is permuted."""
    from sklearn.inspection import permutation_importance

    found = permutation_importance(
        forest(X[:80], y[:80]), X[80:], y[80:], random_state=0
    )
    return f"by permutation {numbers(found.importances_mean)}"


#: Functions by the names of the libraries.
NEIGHBOURS: dict[str, Callable[[np.ndarray, np.ndarray], str]] = {
    "skpce": ours,
    "Optuna": optuna_,
    "SALib": salib,
    "hidimstat": hidimstat_,
    "OpenTURNS": openturns_,
    "chaospy": chaospy_,
    "UQpy": uqpy,
    "PyApprox": pyapprox_,
    "MAPIE": mapie_,
    "SHAP": shap_,
    "evalstats": evalstats_,
    "shapleyx": shapleyx_,
    "sklearn": permutation,
}


def main() -> None:
    """Print a line for each library."""
    X, y = data()
    for name, call in NEIGHBOURS.items():
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                told = call(X, y)
            except ImportError as error:
                told = f"not installed: {error}"
        print(f"{name:10} {told}")


if __name__ == "__main__":
    main()
