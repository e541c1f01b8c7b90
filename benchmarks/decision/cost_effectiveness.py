"""EVPPI of a cost-effectiveness model, against additive models and voiage.

    python -m benchmarks.decision.cost_effectiveness

The model is the one on which methods for partial perfect information are compared
(A. Brennan, S. Kharroubi, A. O'Hagan and J. Chilcott, Medical Decision Making 27,
2007; M. Strong, J. E. Oakley and A. Brennan, Medical Decision Making 34, 2014, case
study 1, without correlations): two drugs and nineteen normal parameters with

    NB_0 = 10000 (t5 t6 t7 + t8 t9 t10) - (t1 + t2 t3 t4)
    NB_1 = 10000 (t14 t15 t16 + t17 t18 t19) - (t11 + t12 t13 t4).

It is simulated here, with means and deviations that were not compared with those of the
papers; no figure is taken from them. The truth of a set is exact:
the conditional mean of a product of independent parameters puts their means in place of
the others, and one or two parameters are then averaged by 10^7 draws.

Each repetition draws a sample of the parameters with both net benefits. Estimators see
the same sample:

- ``value_of_information`` of an expansion of degree two in all nineteen inputs
  (210 terms), one fit for all rows, and with ``form="regression"``;
- a generalised additive model of the incremental net benefit in the parameters of the
  row (``pygam``: penalised splines, a tensor product for two, the penalty by
  generalised cross-validation), which is the method of Strong et al., mgcv in R;
- ``voiage.evppi`` as it is by default.

The last row is no model but ``u = (0, z^2 - 1)`` with a normal z, whose conditional
mean is not linear. Columns are the mean over repetitions and the root mean squared
error to the truth.
Packages that are not installed are left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from scipy.stats import norm

from benchmarks.measuring import options, table
from skpce import PolynomialChaosRegressor
from skpce.decision import value_of_information

# Mean and standard deviation of t1, ..., t19.
PARAMETERS = (
    *((1000.0, 1.0), (0.10, 0.02), (5.20, 1.00), (400.0, 200.0)),
    *((0.70, 0.10), (0.30, 0.10), (3.00, 0.50)),
    *((0.25, 0.10), (-0.10, 0.02), (0.50, 0.20)),
    *((1500.0, 1.0), (0.08, 0.02), (6.10, 1.00)),
    *((0.80, 0.10), (0.30, 0.05), (3.00, 1.00)),
    *((0.20, 0.05), (-0.10, 0.02), (0.50, 0.20)),
)
MEAN, DEVIATION = np.array(PARAMETERS).T
ROWS = {
    "t5": [4],
    "t6": [5],
    "t7": [6],
    "t14": [13],
    "t15": [14],
    "t16": [15],
    "t4": [3],
    "t6 and t15": [5, 14],
    "t7 and t16": [6, 15],
}


def net_benefits(t: np.ndarray) -> np.ndarray:  # shape: (n, 19) -> (n, 2)
    t = t.T
    return np.column_stack(
        [
            1e4 * (t[4] * t[5] * t[6] + t[7] * t[8] * t[9]) - t[0] - t[1] * t[2] * t[3],
            1e4 * (t[13] * t[14] * t[15] + t[16] * t[17] * t[18])
            - (t[10] + t[11] * t[12] * t[3]),
        ]
    )


def truth(columns: list[int], n_draws: int = 10**7) -> tuple[float, float]:
    """Return the EVPPI and its standard error."""
    rng, gains = np.random.default_rng(1), []
    best = net_benefits(MEAN[np.newaxis]).max()
    for _ in range(10):
        t = np.tile(MEAN, (n_draws // 10, 1))
        noise = rng.normal(size=(len(t) // 2, len(columns)))
        t[:, columns] += DEVIATION[columns] * np.vstack([noise, -noise])
        gain = net_benefits(t).max(axis=1) - best
        gains.append(gain.reshape(2, -1).mean(axis=0))
    pairs = np.concatenate(gains)
    return max(float(pairs.mean()), 0.0), float(pairs.std() / np.sqrt(len(pairs)))


def by_expansion(form: str) -> Callable[[np.ndarray, np.ndarray], list[float]]:
    laws = [norm(m, s) for m, s in PARAMETERS]

    def estimate(t: np.ndarray, benefits: np.ndarray) -> list[float]:
        groups = {name: own for name, own in ROWS.items() if len(own) > 1}
        found = value_of_information(
            *(
                PolynomialChaosRegressor(2, distribution=laws, solver="ridge"),
                t,
                benefits,
                groups,
            ),
            form=form,
            n_resamples=0,
            n_samples=4096,
            random_state=0,
        )
        value = dict(zip(found.input_names, found.plug_in, strict=True))
        return [value[n if len(o) > 1 else f"x{o[0]}"] for n, o in ROWS.items()]

    return estimate


def by_additive_model(t: np.ndarray, benefits: np.ndarray) -> list[float]:
    from pygam import LinearGAM, s, te

    increment, found = benefits[:, 1] - benefits[:, 0], []
    for own in ROWS.values():
        terms = s(0) if len(own) == 1 else te(0, 1, n_splines=8)
        model = LinearGAM(terms).gridsearch(
            t[:, own], increment, lam=np.logspace(-2, 5, 9), progress=False
        )
        fitted = model.predict(t[:, own])
        found.append(np.maximum(fitted, 0.0).mean() - max(fitted.mean(), 0.0))
    return found


def by_voiage(t: np.ndarray, benefits: np.ndarray) -> list[float]:
    from voiage.methods.basic import evppi

    names = [f"x{i}" for i in range(t.shape[1])]
    samples = dict(zip(names, t.T, strict=True))
    found = []
    for own in ROWS.values():
        chosen = [names[i] for i in own]
        only = {name: samples[name] for name in chosen}
        found.append(float(evppi(benefits, only, chosen)))
    return found


def of_square(method: Callable[..., list[float]], size: int, seed: int) -> float:
    """Return what a method finds for ``(0, z^2 - 1)``, in place of the first row."""
    rng = np.random.default_rng(seed)
    t = rng.normal(MEAN, DEVIATION, size=(size, len(MEAN)))
    z = (t[:, ROWS["t5"]] - MEAN[ROWS["t5"]]) / DEVIATION[ROWS["t5"]]
    return method(t, np.column_stack([0.0 * z, z**2 - 1.0]))[0]


def main() -> None:
    given = options(__doc__, size=500, repetitions=20)
    warnings.filterwarnings("ignore")
    methods = {
        "expansion, marginal": by_expansion("marginal"),
        "expansion, regression": by_expansion("regression"),
    }
    for package, method in (("pygam", by_additive_model), ("voiage", by_voiage)):
        with suppress(PackageNotFoundError):
            methods[f"{package} {version(package)}"] = method
    exact = np.array([truth(own) for own in ROWS.values()])
    found = {name: np.empty((given.repetitions, len(ROWS))) for name in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for seed in range(given.repetitions):
        rng = np.random.default_rng(seed)
        t = rng.normal(MEAN, DEVIATION, size=(given.size, len(MEAN)))
        for name, method in methods.items():
            started = time.process_time()
            found[name][seed] = method(t, net_benefits(t))
            seconds[name] += time.process_time() - started
    print(f"{given.repetitions} samples of {given.size}; mean (root of the mean")
    print("squared error), CPU seconds for a sample below.\n")
    rows = []
    for place, (name, (value, error)) in enumerate(zip(ROWS, exact, strict=True)):
        cells = []
        for values in found.values():
            one = values[:, place]
            rmse = np.sqrt(np.square(one - value).mean())
            cells.append(f"{one.mean():.0f} ({rmse:.0f})")
        rows.append([name, f"{value:.1f} ± {error:.1f}", *cells])
    squares = [
        np.mean([of_square(method, given.size, seed) for seed in range(3)])
        for method in methods.values()
    ]
    rows.append(["$(0, z^2 - 1)$", "0.484", *(f"{value:.3f}" for value in squares)])
    spent = [f"{total / given.repetitions:.2f}" for total in seconds.values()]
    print(table(["known", "truth", *methods], [*rows, ["CPU s", "", *spent]]))


if __name__ == "__main__":
    main()
