"""A decay for each of many inputs: time, leave-one-out error, and error.

The common decay (``weighted_ridge``) beside a decay for each input by descent, with and
without the rule that these must lower the leave-one-out error to less than a third.

Run: ``python -m benchmarks.wide.many_decays``
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import norm, uniform

from skpce import PolynomialChaosRegressor
from skpce._solvers import decay_descent

N_TEST = 2000
# Inputs that matter, members, noise over the deviation, and whether inputs interact.
TRUTHS = [(4, 60, 0.2, True), (4, 120, 0.2, True), (4, 250, 0.5, True)]
TRUTHS += [(10, 120, 0.5, False), (20, 200, 0.2, True)]
TRUTHS += [(60, 200, 0.2, False), (60, 300, 0.2, True)]


def hundred_inputs(X: np.ndarray) -> np.ndarray:
    """Return the function of 100 inputs of UQLab's manual of sensitivity analysis."""
    k, x = np.arange(1, 101), X.T
    smooth = k * (X**3 - 5 * X + np.log(X**2 + X**4) / 3)
    pairs = x[0] * x[1] ** 2 + x[1] * x[3] - x[2] * x[4] + x[50] + x[49] * x[53] ** 2
    return 3 + smooth.sum(axis=1) / 100 + pairs


def of_hundred(n_members: int) -> tuple[Any, ...]:
    """Draw inputs and values, those of the test last, and the distributions."""
    rng = np.random.default_rng(0)
    X = 1 + rng.uniform(size=(n_members + N_TEST, 100))
    X[:, 19] = 2 * X[:, 19] - 1
    laws = [uniform(1, 1)] * 100
    laws[19] = uniform(1, 2)
    y = hundred_inputs(X)
    return X, y, y, laws


def of_truth(k: int, n: int, noise: float, interact: bool) -> tuple[Any, ...]:
    """Draw a truth of 60 inputs of which k matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + N_TEST, 60))
    truth = X[:, :k] @ (1 / np.sqrt(1 + np.arange(k)))
    if interact:
        truth = truth + X[:, 0] * X[:, 1] + 0.5 * (X[:, 2] ** 2 - 1)
    y = truth + noise * truth.std() * rng.normal(size=len(truth))
    return X, y, truth, norm()


def row(name: str, n: int, data: tuple[Any, ...], **basis: Any) -> str:
    """Return a row for each kind of decays: leave-one-out error, error, CPU seconds."""
    X, y, truth, laws = data
    lines = []
    ratio = decay_descent._LEAST_RATIO
    for decays, solver, least in (
        ("common", "weighted_ridge", ratio),
        ("each", "anisotropic_ridge", 1.0),
        ("each, by the rule", "anisotropic_ridge", ratio),
    ):
        decay_descent._LEAST_RATIO = least
        model = PolynomialChaosRegressor(distribution=laws, solver=solver, **basis)
        started = time.process_time()
        model.fit(X[:n], y[:n])
        seconds = time.process_time() - started
        miss = np.mean((model.predict(X[n:]) - truth[n:]) ** 2) / truth[n:].var()
        figures = f"{1 - model.q2_[0]:.4f} | {miss:.4f} | {seconds:.2f}"
        lines.append(f"| {name} | {decays} | {figures} |")
    decay_descent._LEAST_RATIO = ratio
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    print("| function | decays | leave-one-out | error | CPU-s |")
    print("| --- | --- | ---: | ---: | ---: |")
    hundred, few = of_hundred(400), {"truncation": "hyperbolic", "q": 0.5}
    print(row("100 inputs, single ones of degree 2", 400, hundred, degree=2, **few))
    print(row("100 inputs, single ones of degree 3", 400, hundred, degree=3, **few))
    print(row("100 inputs, pairs, degree 2", 400, hundred, degree=2))
    for k, n, noise, interact in TRUTHS:
        data = of_truth(k, n, noise, interact)
        pairs = ", with a product" if interact else ""
        name = f"{k} of 60 inputs{pairs}, {n} members, noise {noise:.0%}"
        print(row(name, n, data, degree=2), flush=True)


if __name__ == "__main__":
    main()
