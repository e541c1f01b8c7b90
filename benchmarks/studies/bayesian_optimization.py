"""Bayesian optimisation under the posterior of a Gaussian process, in its own modes.

The next experiment is drawn from ``softmax(f / t)`` over the candidates, where f is a
draw of the posterior. What is asked is which mode of the posterior drives the choice.

- *Synthetic*: a function on 25 places of the unit interval, six noisy observations,
  ``t`` one prior standard deviation.
- *Reactions*: 15 unmeasured Buchwald–Hartwig reactions, 30 measured ones, kernel fitted
  to these, ``t`` 0.45 standard deviations of the measured yields.

``softmax`` makes log-ratios linear, so that an expansion of degree one is exact but for
modes that are left out. The first table has the residual of a surrogate on held-out
draws of the whole posterior; a surrogate is fitted to 120 draws and sees the first d
modes. Then there are the share of each mode by several ways to count, and how often the
leading mode changes with the reference over many posteriors.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.bayesian_optimization
--write docs/downloads/bayesian_optimization.txt``
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.measuring import (
    mean_and_error,
    numbers,
    options,
    publish,
    study_page,
    table,
)
from benchmarks.studies.gaussian_posterior import (
    Posterior,
    by_reference,
    of_reactions,
    rankings,
    reactions,
    slopes_of,
    synthetic,
)
from skpce import CompositionalPCESurrogate
from skpce.metrics import policy_fragility

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.studies.bayesian_optimization"
N_TRAIN, N_TEST = 120, 1000
NUMBERS_OF_MODES = (3, 5, 8, 12)
TEMPERATURES = {"synthetic": 1.0, "reactions": 0.45}
SHOWN_MODES = {"synthetic": 5, "reactions": 8}
#: The release's published figures, synthetic and on reactions.
RELEASE = {
    "synthetic": {"tv": "0.155", "residual": ("0.143", "0.035", "0.025", "0.006")},
    "reactions": {"tv": "0.410", "residual": ("0.724", "0.569", "0.377", "0.142")},
}
RELEASE_SHARES = {
    "synthetic": (0.123, 0.088, 0.323, 0.401, 0.021),
    "reactions": (0.080, 0.222, 0.191, 0.143, 0.112, 0.090, 0.065, 0.060),
}


def policies(values: np.ndarray, temperature: float) -> np.ndarray:
    """Return the distribution of the next experiment for each draw."""
    return softmax(values / temperature, axis=1)


def residuals(
    posterior: Posterior, n_modes: int, temperature: float, seed: int
) -> tuple[float, float, float]:
    """Return the residual on held-out draws, the exact one, and that of probabilities.

    The first two are of the centred log-ratios, as shares of their total variance.
    """
    rng = np.random.default_rng([seed, 7])
    xi, values = posterior.draw(N_TRAIN + N_TEST, rng)
    y = policies(values, temperature)
    train, test = slice(N_TRAIN), slice(N_TRAIN, None)
    surrogate = CompositionalPCESurrogate(1, solver="ridge", distribution="normal").fit(
        xi[train, :n_modes], y[train]
    )
    predicted = surrogate.predict(xi[test, :n_modes])
    residual = 1.0 - r_squared(centred_logs(y[test]), centred_logs(predicted))
    of_probabilities = 1.0 - r_squared(y[test], predicted)
    variances, modes = posterior.modes()
    centred = modes - modes.mean(axis=1, keepdims=True)
    spread = variances * np.square(centred).sum(axis=1)
    return residual, float(spread[n_modes:].sum() / spread.sum()), of_probabilities


def centred_logs(y: np.ndarray) -> np.ndarray:
    """Return centred log-ratios."""
    logs = np.log(np.clip(y, 1e-300, None))
    return logs - logs.mean(axis=1, keepdims=True)


def r_squared(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return R² of all columns together."""
    around = np.square(truth - truth.mean(axis=0)).sum()
    return float(1.0 - np.square(truth - predicted).sum() / around)


def fragility(posterior: Posterior, temperature: float, seed: int) -> float:
    """Return the mean total variation of the policies of draws to their mean."""
    _, values = posterior.draw(N_TEST, np.random.default_rng([seed, 8]))
    found = policy_fragility(policies(values, temperature))
    return float(found.total_variation[0])


def convergence_section(make: dict, repetitions: int) -> str:
    """Residual after d modes, over posteriors."""
    rows, seeds = [], range(repetitions)
    kinds = ("log-ratios, held out", "log-ratios, exact", "probabilities, held out")
    for name, one in make.items():
        t, posteriors = TEMPERATURES[name], [one(seed) for seed in seeds]
        tv = [fragility(p, t, s) for s, p in enumerate(posteriors)]
        columns = []
        for d in NUMBERS_OF_MODES:
            found = np.array([residuals(p, d, t, s) for s, p in enumerate(posteriors)])
            columns.append([mean_and_error(of_kind) for of_kind in found.T])
        for kind, cells, last in zip(
            kinds, zip(*columns, strict=True), (mean_and_error(tv), "", ""), strict=True
        ):
            rows.append([name, kind, *cells, last])
        rows.append(
            [name, "published", *RELEASE[name]["residual"], RELEASE[name]["tv"]]
        )
    heads = [f"d = {d}" for d in NUMBERS_OF_MODES]
    title = (
        f"Residual after the first d modes and total variation (TV), mean ± standard "
        f"error over {repetitions} posteriors:\n\n"
    )
    return title + table(["posterior", "residual of", *heads, "TV"], rows)


def ranking_section(name: str, posterior: Posterior) -> str:
    """Share of each mode by each way to count it."""
    n_modes = SHOWN_MODES[name]
    found = rankings(posterior, n_modes)
    each = by_reference(slopes_of(posterior, n_modes))
    ways = {
        "variance of the posterior": found["variance"],
        "log-ratios to the last candidate": each[-1],
        "log-ratios to the first": each[0],
        "log-ratios to each in turn: *smallest*": each.min(axis=0),
        "*largest*": each.max(axis=0),
        "centred log-ratios (no reference)": found["clr"],
        "**total variance of the log-ratios (Aitchison)**": found["Aitchison"],
        "**value of knowing the mode**": found["worth"],
        "published, to the last (another posterior)": RELEASE_SHARES[name],
    }
    rows = [
        [way, numbers(of), "" if "est*" in way else f"mode {np.argmax(of) + 1}"]
        for way, of in ways.items()
    ]
    shown = ", ".join(str(k + 1) for k in range(n_modes))
    leaders = len(np.unique(each.argmax(axis=1)))
    title = (
        f"One posterior ({name}, seed 0), modes {shown}, of which {leaders} are said "
        "to lead by some candidate:"
    )
    columns = ["averages of the indices of", "shares", "said to lead"]
    return f"{title}\n\n{table(columns, rows)}"


def reference_section(make: dict, repetitions: int) -> str:
    """How often the leading mode changes with the reference."""
    rows = []
    for name, one in make.items():
        different, agree, ends = [], [], []
        for posterior in map(one, range(repetitions)):
            n_modes = SHOWN_MODES[name]
            lead = by_reference(slopes_of(posterior, n_modes)).argmax(axis=1)
            free = lead == rankings(posterior, n_modes)["Aitchison"].argmax()
            different.append(len(np.unique(lead)))
            agree.append(free.mean())
            ends.append([lead[0] != lead[-1], free[-1]])
        first_and_last, last = np.mean(ends, axis=0)
        shares = (np.mean(np.array(different) > 1), first_and_last)
        shares += (np.mean(agree), last)
        cells = [f"{share:.0%}" for share in shares]
        rows.append([name, mean_and_error(different, 1), *cells])
    title = (
        f"Over {repetitions} posteriors each, the mode that leads by the mean index of "
        "log-ratios to one candidate, with every candidate in turn as the reference:"
    )
    columns = ["posterior", "different leaders", "posteriors with more than one"]
    columns += ["first and last disagree", "a reference agrees with Aitchison"]
    return f"{title}\n\n{table([*columns, 'the last one does'], rows)}"


def main() -> None:
    arguments = options(__doc__, repetitions=20, write=Path)
    make = {
        "synthetic": synthetic,
        "reactions": partial(of_reactions, data=reactions()),
    }
    n = arguments.repetitions
    sections = [
        convergence_section(make, n),
        *(ranking_section(name, one(0)) for name, one in make.items()),
        reference_section(make, n),
    ]
    command = f"{COMMAND} --repetitions {arguments.repetitions}"
    publish(study_page(sections, command), arguments.write)


if __name__ == "__main__":
    main()
