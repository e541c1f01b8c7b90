"""Coverage and width of prediction intervals where the truth is known.

Three standard normal inputs, six cases:

- *normal*: x1 + x1 x2 / 2 plus standard normal noise; fitted at degree 2;
- *grows with |x1|*: the same with noise of standard deviation |x1|;
- *t(2.5)*: noise from Student's t with 2.5 degrees of freedom;
- *skewed*: noise from an exponential distribution, less its mean;
- *missing terms*: x1 + sin(2 x1) + x2 x3 plus normal noise of standard deviation 0.3,
  fitted at degree 1;
- *compositions*: softmax of (x1, x2 - x1, 0) plus normal noise of standard deviation
  0.7, fitted at degree 1; a part is covered or not.

Intervals of level 0.9: residuals (``predict_interval``), residuals with
``noise="inputs"``, split conformal (a fit to one half, calibration by the other), CV+
with five folds, and CV+ with ``noise="inputs"``. A cell has the coverage of 1,000 new
members, overall and where |x1| > 1.5, and the mean width, averaged over the
ensembles.

Run: ``python -m benchmarks.coverage.any_output``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax

from benchmarks.measuring import options, table
from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor

LEVEL = 0.9
N_NEW = 1000
TAIL = 1.5

COMPOSITIONS = "compositions"
Noise = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def real(noise: Noise) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a case of one function with a kind of noise."""

    def draw(generator: np.random.Generator, size: int):
        X = generator.normal(size=(size, 3))
        return X, X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + noise(generator, X)

    return draw


def missing_terms(generator: np.random.Generator, size: int):
    X = generator.normal(size=(size, 3))
    y = X[:, 0] + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, y + 0.3 * generator.normal(size=size)


def compositions(generator: np.random.Generator, size: int):
    X = generator.normal(size=(size, 3))
    logits = np.column_stack([X[:, 0], X[:, 1] - X[:, 0], np.zeros(size)])
    return X, softmax(logits + 0.7 * generator.normal(size=(size, 3)), axis=1)


#: How a case is drawn, and the degree of the fit.
CASES = {
    "normal": (real(lambda g, X: g.normal(size=len(X))), 2),
    "grows with abs(x1)": (
        real(lambda g, X: np.abs(X[:, 0]) * g.normal(size=len(X))),
        2,
    ),
    "t(2.5)": (real(lambda g, X: g.standard_t(2.5, size=len(X))), 2),
    "skewed": (real(lambda g, X: g.exponential(size=len(X)) - 1.0), 2),
    "missing terms": (missing_terms, 1),
    COMPOSITIONS: (compositions, 1),
}

METHODS = ("residual", "residual, inputs", "split", "CV+", "CV+, inputs")


def intervals(model, X, y, X_new, seed: int):
    """Return the bounds of each method."""
    first, second = slice(None, len(X) // 2), slice(len(X) // 2, None)
    options = {"confidence_level": LEVEL, "random_state": seed}
    conformal = {"method": "conformal", **options}
    whole = model.fit(X, y)
    found = [
        whole.predict_interval(X_new, **options),
        whole.predict_interval(X_new, noise="inputs", **options),
        whole.predict_interval(X_new, **conformal),
        whole.predict_interval(X_new, noise="inputs", **conformal),
    ]
    half = model.fit(X[first], y[first])
    calibration = X[second], y[second]
    split = half.predict_interval(X_new, calibration=calibration, **conformal)
    return [*found[:2], split, *found[2:]]


def measure(case: str, n_members: int, seed: int) -> tuple[np.ndarray, float]:
    """Return two coverages and the width of each method, and CPU-seconds."""
    draw, degree = CASES[case]
    is_real = case != COMPOSITIONS
    kind = PolynomialChaosRegressor if is_real else CompositionalPCESurrogate
    model = kind(degree, solver="ridge", distribution="normal")
    generator = np.random.default_rng([seed, n_members, list(CASES).index(case)])
    X, y = draw(generator, n_members)
    X_new, y_new = draw(generator, N_NEW)
    tail = np.abs(X_new[:, 0]) > TAIL
    start, rows = time.process_time(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lower, upper in intervals(model, X, y, X_new, seed):
            inside = (lower <= y_new) & (y_new <= upper)
            rows.append((inside.mean(), inside[tail].mean(), np.mean(upper - lower)))
    return np.array(rows), time.process_time() - start


def main() -> None:
    arguments = options(
        __doc__, ensembles=300, members=(30, 60, 200), cases=CASES, jobs=2
    )
    rows, largest_error, seconds = [], 0.0, 0.0
    for case, n_members in product(arguments.cases, arguments.members):
        found = Parallel(n_jobs=arguments.jobs)(
            delayed(measure)(case, n_members, seed)
            for seed in range(arguments.ensembles)
        )
        values = np.array([one for one, _ in found])
        seconds += sum(spent for _, spent in found)
        deviation = values[:, :, 0].std(axis=0, ddof=1)
        error = deviation.max() / np.sqrt(arguments.ensembles)
        largest_error = max(largest_error, error)
        cells = [f"{a:.2f} / {b:.2f}, {c:.2f}" for a, b, c in values.mean(axis=0)]
        rows.append([case, str(n_members), *cells])
    print(table(["case", "n", *METHODS], rows))
    print(
        f"{arguments.ensembles} ensembles a row; largest standard error of a "
        f"coverage overall {largest_error:.3f}; {seconds:.0f} CPU-seconds."
    )


if __name__ == "__main__":
    main()
