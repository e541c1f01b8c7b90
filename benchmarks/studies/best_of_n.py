"""Selection under an uncertain reward model: softmax, best of n, and what to know.

A reward model is learned from 40 (or 150) comparisons of answers with eight features:
logistic regression on the differences of the features (Bradley and Terry), one for each
bootstrap sample of the comparisons. Comparisons do not determine the offset of a head,
which is drawn as widely as rewards spread over answers. A prompt has twelve answers; a
member selects one by ``softmax(r / b)``, or takes the best of n answers drawn with
replacement. Rewards are in units of their standard deviation over the answers.

Members differ by PCA of their rewards for the twelve answers, five components of 80
members; held out are 200 further ones. Residuals are shares of the total variance of
the centred log-ratios, and of the probabilities, by expansions of degree one and two.
The last table asks what it is worth to know a component before one answer is taken.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.best_of_n
--write docs/downloads/best_of_n.txt``
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.measuring import (
    mean_and_error,
    numbers,
    options,
    publish,
    study_page,
    table,
)
from benchmarks.studies.bayesian_optimization import centred_logs, r_squared
from skpce import (
    CompositionalPCESurrogate,
    DependentInputsWarning,
    PolynomialChaosRegressor,
)
from skpce.decision import value_of_information
from skpce.metrics import policy_fragility

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.studies.best_of_n"
N_FEATURES, N_ANSWERS = 8, 12
NUMBERS_OF_COMPARISONS = (40, 150)
N_TRAIN, N_TEST, N_COMPONENTS = 80, 200, 5
OFFSET = 1.0
TEMPERATURES = (2.0, 1.0, 0.5, 0.25, 0.1)
BEST_OF = (2, 4, 8, 16)
DEGREES = (1, 2)
#: Published figures: TV and residual, for each temperature (synthetic and preferences),
#: and TV for each n (preferences).
RELEASE = {
    2.0: ("0.188", "0.169", "0.121"),
    1.0: ("0.315", "0.173", "0.222"),
    0.5: ("0.446", "0.213", "0.358"),
    0.25: ("0.539", "0.328", "0.486"),
    0.1: ("0.592", "0.486", "0.592"),
}
RELEASE_BEST_OF = {2: "0.182", 4: "0.265", 8: "0.330", 16: "0.358"}
RELEASE_VARIANCE = (0.934, 0.029, 0.021, 0.017)
RELEASE_VALUE = (0.082, 0.295, 0.241, 0.220)


@dataclass(frozen=True)
class RewardModels:
    """Heads of a reward model: weights of the features, and offsets."""

    weights: np.ndarray  # shape: (n_members, n_features)
    offsets: np.ndarray  # shape: (n_members,)
    gold: np.ndarray  # shape: (n_features,), behind the comparisons

    def rewards(self, answers: np.ndarray) -> np.ndarray:  # shape: (n_members, K)
        """Return rewards in units of their standard deviation over the answers."""
        values = self.weights @ answers.T
        return (values + self.offsets[:, np.newaxis]) / values.std(axis=1).mean()


def learn(
    seed: int, n_comparisons: int, n_members: int = N_TRAIN + N_TEST
) -> RewardModels:
    """Learn one head from each bootstrap sample of simulated comparisons."""
    rng = np.random.default_rng(seed)
    gold = rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES)
    pairs = rng.normal(size=(n_comparisons, 2, N_FEATURES))
    differences = pairs[:, 0] - pairs[:, 1]
    chance = 1.0 / (1.0 + np.exp(-2.0 * differences @ gold))
    prefers = rng.random(n_comparisons) < chance
    weights = []
    for _ in range(n_members):
        rows = rng.integers(n_comparisons, size=n_comparisons)
        head = LogisticRegression(C=1.0, fit_intercept=False)
        weights.append(head.fit(differences[rows], prefers[rows]).coef_[0])
    scale = np.linalg.norm(weights, axis=1).mean()
    offsets = OFFSET * scale * rng.normal(size=n_members)
    return RewardModels(np.array(weights), offsets, gold)


def answers_of(seed: int) -> np.ndarray:  # shape: (K, n_features)
    """Draw the features of the answers to one prompt."""
    return np.random.default_rng([seed, 1]).normal(size=(N_ANSWERS, N_FEATURES))


def best_of(rewards: np.ndarray, n: int) -> np.ndarray:  # shape: (n_members, K)
    """Return the distribution of the best of n answers drawn with replacement."""
    n_answers = rewards.shape[1]
    places = rewards.argsort(axis=1).argsort(axis=1)  # 0 for the worst
    shares = np.stack([places, places + 1]) / n_answers
    return shares[1] ** n - shares[0] ** n


def surrogate_residuals(rewards: np.ndarray, policies: np.ndarray) -> np.ndarray:
    """Return held-out residuals, (degree, log-ratios or probabilities)."""
    found = []
    for degree in DEGREES:
        model = make_pipeline(
            PCA(N_COMPONENTS, whiten=True),
            CompositionalPCESurrogate(degree, solver="ridge", distribution="normal"),
        )
        model.fit(rewards[:N_TRAIN], policies[:N_TRAIN])
        predicted, truth = model.predict(rewards[N_TRAIN:]), policies[N_TRAIN:]
        residual = 1.0 - r_squared(centred_logs(truth), centred_logs(predicted))
        found.append([residual, 1.0 - r_squared(truth, predicted)])
    return np.array(found)


def worth(rewards: np.ndarray, seed: int):
    """Return the table of what the components are worth to the choice of an answer."""
    model = make_pipeline(
        PCA(N_COMPONENTS, whiten=True),
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentInputsWarning)
        return value_of_information(
            *(model, rewards[:N_TRAIN], rewards[:N_TRAIN]),
            n_resamples=0,
            n_samples=4096,
            random_state=seed,
        )


def selections() -> dict[str, object]:
    """Return functions of the rewards, each with its name."""
    found: dict[str, object] = {
        f"softmax, β = {b:g}": lambda r, b=b: softmax(r / b, axis=1)
        for b in TEMPERATURES
    }
    return found | {f"best of {n}": lambda r, n=n: best_of(r, n) for n in BEST_OF}


def selection_section(rewards: list[np.ndarray], n_comparisons: int) -> str:
    """TV and residuals for each way to select."""
    beside = {
        f"softmax, β = {b:g}": (f"{one[0]} / {one[2]}", one[1])
        for b, one in RELEASE.items()
    }
    beside |= {f"best of {n}": (f"– / {v}", "") for n, v in RELEASE_BEST_OF.items()}
    rows = []
    for name, select in selections().items():
        tv, residual = [], []
        for values in rewards:
            policies = select(values)
            found = policy_fragility(policies[:N_TRAIN])
            tv.append(found.total_variation[0])
            residual.append(surrogate_residuals(values, policies))
        cells = [
            mean_and_error(np.array(residual)[:, d, k])
            for k in range(2)
            for d in range(len(DEGREES))
        ]
        rows.append([name, mean_and_error(tv), *cells, *beside[name]])
    columns = [
        *("selection", "TV", "log-ratios, degree 1", "degree 2"),
        *("probabilities, degree 1", "degree 2"),
        *("published TV (simulated / preferences)", "published residual"),
    ]
    title = (
        f"Reward models from {n_comparisons} comparisons: total variation of the "
        "members to their mean, and held-out residuals (mean ± standard error over "
        f"{len(rewards)} prompts, each with reward models of its own):"
    )
    return f"{title}\n\n{table(columns, rows)}"


def worth_section(rewards: list[np.ndarray], n_comparisons: int) -> str:
    """Variance, value, and the test of it, for each component."""
    found = [worth(r, seed) for seed, r in enumerate(rewards)]
    rows = []
    for place, name in enumerate(found[0].input_names):
        rows.append(
            [
                name if name == "all inputs" else f"component {place + 1}",
                mean_and_error([f.variance_share[place] for f in found]),
                mean_and_error([f.plug_in[place] for f in found], 4),
                mean_and_error([f.plug_in[place] / f.evpi for f in found]),
                mean_and_error([f.lower_bound[place] for f in found], 4),
                f"{np.sum([f.supported[place] for f in found])} of {len(found)}",
            ]
        )
    columns = [
        *("known", "share of the variance", "worth, plug-in", "over that of all"),
        *("lower bound", "supported"),
    ]
    title = (
        f"{n_comparisons} comparisons: what it is worth to know a component before one "
        "answer is taken, in standard deviations of the rewards over the answers:"
    )
    return f"{title}\n\n{table(columns, rows)}"


def published() -> str:
    """Return the release's figures of the components."""
    return (
        "Published for preferences: shares of the variance "
        f"{numbers(RELEASE_VARIANCE, 3)}; first-order indices of the value under a "
        f"known gold reward {numbers(RELEASE_VALUE, 3)}, residual 0.58 in the sample "
        "and 0.85 on held-out members."
    )


def main() -> None:
    arguments = options(__doc__, repetitions=20, write=Path)
    sections = []
    for n_comparisons in NUMBERS_OF_COMPARISONS:
        rewards = [
            learn(seed, n_comparisons).rewards(answers_of(seed))
            for seed in range(arguments.repetitions)
        ]
        sections.append(selection_section(rewards, n_comparisons))
        sections.append(worth_section(rewards, n_comparisons))
    sections.append(published())
    command = f"{COMMAND} --repetitions {arguments.repetitions}"
    publish(study_page(sections, command), arguments.write)


if __name__ == "__main__":
    main()
