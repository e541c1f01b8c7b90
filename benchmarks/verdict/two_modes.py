"""Level and power of `skpce.inspection.modes_test` on members whose law is known.

One table of single tests: how often the dip of n members has p <= 0.05, tested on
log-odds, as `modes_test` does, and on probabilities. One of families: 68 log-odds, four
steps of 17 actions, of which none or one has two modes; how often any is called bimodal
after Holm's method, and how often the one that is.

``--null`` prints the quantiles of the dip of uniform samples, and the fit in 1/sqrt(n)
that `modes_test` takes its p-values from; it needs `diptest`, of the extra ``oracle``.

Run: ``python -m benchmarks.verdict.two_modes`` (five CPU-minutes, and two for --null)
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from benchmarks.measuring import options, table
from skpce.drivers._exchange import holm
from skpce.inspection._modes import (
    _NULL_P_VALUES,
    dip_p_values,
    dip_statistic,
    without_ties,
)

LEVEL = 0.05
MEMBERS = (15, 30, 80, 200)
N_TESTS = 68
LAWS = {
    "uniform": lambda rng, n: rng.uniform(-3, 3, n),
    "normal, sd 1": lambda rng, n: rng.normal(0, 1, n),
    "normal, sd 4": lambda rng, n: rng.normal(0, 4, n),
    "exponential": lambda rng, n: rng.exponential(1, n),
    "Student, 3 degrees of freedom": lambda rng, n: rng.standard_t(3, n),
    "two normals, 3 sd apart": lambda rng, n: mixture(rng, n, 3.0),
    "two normals, 4 sd apart": lambda rng, n: mixture(rng, n, 4.0),
    "two normals, 5 sd apart": lambda rng, n: mixture(rng, n, 5.0),
    "the same, one in five": lambda rng, n: mixture(rng, n, 5.0, 0.2),
    "4 tanh(3x), x normal": lambda rng, n: 4 * np.tanh(3 * rng.normal(size=n)),
    "and noise of sd 1": lambda rng, n: (
        4 * np.tanh(3 * rng.normal(size=n)) + rng.normal(size=n)
    ),
    "ten trials, log-odds normal": lambda rng, n: trials(rng, rng.normal(size=n)),
    "ten trials, log-odds ± 2": lambda rng, n: trials(rng, rng.choice([-2, 2], n)),
}
NULL_SAMPLES = {10: 10**6, 20: 3 * 10**6, 30: 5 * 10**6, 100: 5 * 10**6, 1000: 10**6}


def mixture(
    rng: np.random.Generator, n: int, distance: float, share: float = 0.5
) -> np.ndarray:
    return rng.normal(size=n) + distance * ((rng.random(n) < share) - 0.5)


def trials(rng: np.random.Generator, log_odds: np.ndarray) -> np.ndarray:
    """Return the log-odds of the frequencies of ten trials, and half of one more."""
    hits = rng.binomial(10, expit(log_odds))
    return np.log((hits + 0.5) / (10.5 - hits))


def p_values(samples: np.ndarray) -> np.ndarray:  # of shape (n_tests, n_members)
    dips = np.array([dip_statistic(without_ties(values)) for values in samples])
    return dip_p_values(dips, samples.shape[1])


def single_tests(n_samples: int, rng: np.random.Generator) -> None:
    """Print the share of samples with two modes, on both scales."""
    rows = []
    for name, law in LAWS.items():
        rows.append([name])
        for n in MEMBERS:
            samples = np.array([law(rng, n) for _ in range(n_samples)])
            found = [np.mean(p_values(s) <= LEVEL) for s in (samples, expit(samples))]
            rows[-1].append("{:.2f} ({:.2f})".format(*found))
    print(table(["log-odds", *(f"{n} members" for n in MEMBERS)], rows))


def families(n_families: int, rng: np.random.Generator) -> None:
    """Print how often any of many tests is significant, with none or one that is so."""
    rows = []
    for n in MEMBERS:
        called = np.zeros(3)
        for _ in range(n_families):
            found = p_values(rng.uniform(size=(N_TESTS, n)))
            called[0] += holm(found).min() <= LEVEL
            found[0] = p_values(mixture(rng, n, 5.0)[np.newaxis])[0]
            adjusted = holm(found)
            called[1:] += adjusted[0] <= LEVEL, adjusted[1:].min() <= LEVEL
        rows.append([str(n), *(f"{share:.2f}" for share in called / n_families)])
    heads = ["members", "none has two modes", "one has", "others called so beside it"]
    print(table(heads, rows))


def null(rng: np.random.Generator) -> None:
    """Print quantiles of sqrt(n) times the dip, and their fit in 1/sqrt(n)."""
    from diptest import dipstat

    levels = np.array([0.99, *_NULL_P_VALUES[1:]])
    quantiles = []
    for n, n_samples in NULL_SAMPLES.items():
        dips = [dipstat(rng.random(n)) for _ in range(n_samples)]
        quantiles.append(np.sqrt(n) * np.quantile(dips, 1 - levels))
        print(n, quantiles[-1].round(3).tolist(), flush=True)
    sizes = np.array(list(NULL_SAMPLES))
    design = np.column_stack([np.ones(len(sizes)), -1 / np.sqrt(sizes)])
    a, b = np.linalg.lstsq(design, np.array(quantiles), rcond=None)[0]
    print("A", a.round(3).tolist(), "B", b.round(3).tolist(), sep="\n")


def main() -> None:
    arguments = options(__doc__, samples=1000, families=2000, seed=0, null=False)
    rng = np.random.default_rng(arguments.seed)
    if arguments.null:
        null(rng)
        return
    single_tests(arguments.samples, rng)
    families(arguments.families, rng)


if __name__ == "__main__":
    main()
