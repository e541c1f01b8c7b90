"""How much is left to decide on after k components were observed, held out.

An expansion is fitted to the training members. Of each held-out member the first k
components of some order are observed, the others are averaged out.

- *Utilities*: share of the variance of the contrasts of the utilities that is not
  explained.
- *Regret*: the utility that is lost by taking the action which is best by the expansion
  given these components, over what is lost by the best fixed action.
- *Value*: share of the variance of the policy's expected value, under measured yields
  or under the gold reward, that is not explained by an expansion of degree two. This is
  what the release reports.

Orders: by the value of information of each component (``value_of_information`` on the
training members), by its Sobol share of the utilities, by its own variance, and the
mean over random ones, 20 or 4 a prompt. Errors are those over prompts or of a bootstrap
over held-out members.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.acquisition
--blocks runs/studies --write docs/downloads/acquisition.txt``
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.measuring import (
    mean_and_error,
    options,
    publish,
    stored_sections,
    study_page,
    table,
)
from benchmarks.studies.bayesian_optimization import r_squared
from benchmarks.studies.best_of_n import answers_of, learn
from benchmarks.studies.rewards import ENSEMBLES, components_of, reward_ensemble
from skpce import PolynomialChaosRegressor
from skpce.decision import value_of_information

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.studies.acquisition --blocks runs/studies"
)
N_COMPONENTS, N_OF_PREFERENCES = 6, 4
N_RANDOM, N_RANDOM_OF_A_PROMPT, N_RESAMPLES = 20, 4, 200
TEMPERATURE = 0.5  # of the selection under a reward model
N_COMPARISONS = 40
ORDERS = ("value", "Sobol share", "variance", "random")
#: Published residuals of the value after k components.
RELEASE = {
    ("reactions", "value"): (1.103, 0.500, 0.380, 0.368, 0.359, 0.338, 0.336),
    ("reactions", "variance"): (1.103, 0.500, 0.380, 0.368, 0.365, 0.338, 0.336),
    ("reactions", "random"): (1.103, 1.104, 1.103, 0.557, 0.524, 0.362, 0.336),
    ("preferences", "value"): (1.018, 0.829, 0.788, 0.808, 0.845),
    ("preferences", "variance"): (1.018, 1.020, 0.929, 0.875, 0.845),
    ("preferences", "random"): (1.018, 0.949, 0.852, 0.875, 0.845),
}

Loss = Callable[[np.ndarray, np.ndarray], float]


def orders_of(
    inputs: np.ndarray, utility: np.ndarray, n_random: int = N_RANDOM, seed: int = 0
) -> dict[str, list[np.ndarray]]:
    """Return the orders in which components are observed; several random ones."""
    model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    expansion = model.fit(inputs, utility).expansion_
    found = value_of_information(expansion, n_samples=16384, random_state=0)
    n_inputs = inputs.shape[1]
    rng = np.random.default_rng(seed)
    return {
        "value": [np.argsort(-found.plug_in[:n_inputs], kind="stable")],
        "Sobol share": [np.argsort(-found.variance_share[:n_inputs], kind="stable")],
        "variance": [np.arange(n_inputs)],
        "random": [rng.permutation(n_inputs) for _ in range(n_random)],
    }


def predictions_after(
    inputs: np.ndarray,
    targets: np.ndarray,
    order: np.ndarray,
    n_train: int,
    degree: int,
) -> list[np.ndarray]:  # each (n_test, n_targets)
    """Return what is expected of held-out members after 0, 1, ... components."""
    train, test = slice(n_train), slice(n_train, None)
    n_test = len(inputs) - n_train
    found = [np.tile(targets[train].mean(axis=0), (n_test, 1))]
    for k in range(1, len(order) + 1):
        model = PolynomialChaosRegressor(degree, solver="ridge", distribution="normal")
        model.fit(inputs[train][:, order[:k]], targets[train])
        found.append(model.predict(inputs[test][:, order[:k]]).reshape(n_test, -1))
    return found


def unexplained(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the residual over the variance of the truth."""
    return 1.0 - r_squared(truth, predicted)


def lost(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean utility that is lost by the best predicted action."""
    chosen = truth[np.arange(len(truth)), predicted.argmax(axis=1)]
    return float((truth.max(axis=1) - chosen).mean())


def curves(
    inputs: np.ndarray, targets: np.ndarray, utility: np.ndarray, n_train: int, **how
) -> dict[str, np.ndarray]:  # order -> (n_resamples + 1, n_components + 1)
    """Return the loss after k components; the first row is that of all members."""
    degree, loss = how["degree"], how["loss"]
    truth = targets[n_train:]
    rng = np.random.default_rng(1)
    n_test = len(truth)
    resamples = [np.arange(n_test)]
    resamples += [
        rng.integers(n_test, size=n_test) for _ in range(how.get("n_resamples", 0))
    ]
    found = {}
    every = how.get("orders") or orders_of(inputs[:n_train], utility[:n_train])
    for name, orders in every.items():
        curve = np.zeros((len(resamples), inputs.shape[1] + 1))
        for order in orders:
            after = predictions_after(inputs, targets, order, n_train, degree)
            curve += [[loss(truth[rows], p[rows]) for p in after] for rows in resamples]
        found[name] = curve / len(orders)
    return found


def relative(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Divide by the loss before anything is observed."""
    return {name: curve / curve[:, :1] for name, curve in found.items()}


def every_loss(
    inputs: np.ndarray,
    utility: np.ndarray,
    values: np.ndarray | None,  # shape: (n_members,)
    n_train: int,
    **how,
) -> dict[str, dict[str, np.ndarray]]:
    """Return the curves of the utilities, of the regret and of the value."""
    contrasts = utility - utility.mean(axis=1, keepdims=True)
    given = inputs, contrasts, utility, n_train
    found = {
        "utilities": curves(*given, degree=1, loss=unexplained, **how),
        "regret": relative(curves(*given, degree=1, loss=lost, **how)),
    }
    if values is not None:
        given = inputs, values[:, np.newaxis], utility, n_train
        found["value"] = curves(*given, degree=2, loss=unexplained, **how)
    return found


def published(system: str) -> list[list[str]]:
    """Return the rows of the release."""
    return [
        ["value, published", name, *(f"{value:.2f}" for value in RELEASE[system, name])]
        for name in ORDERS
        if (system, name) in RELEASE
    ]


def task_section(system: str, blocks: Path | None) -> str:
    """Return the curves of the rewards of a task, with bootstrap errors."""
    ensemble = reward_ensemble(system, blocks)
    inputs = ensemble.components(N_COMPONENTS)
    utility, n_train = ensemble.utilities(), ensemble.n_train
    is_measured = ensemble.measured is not None
    values = ensemble.policy_values() if is_measured else None
    rows = []
    for what, found in every_loss(
        inputs, utility, values, n_train, n_resamples=N_RESAMPLES
    ).items():
        for name in ORDERS:
            mean, errors = found[name][0], found[name][1:].std(axis=0, ddof=1)
            cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, errors, strict=True)]
            rows.append([what, name, *cells])
    if is_measured:
        rows += published(system.split(",")[0])
    split = f"{n_train} members to learn from, {len(utility) - n_train} held out."
    return f"### {system}\n\n{split}\n\n{table(_columns(inputs.shape[1]), rows)}"


def preference_curves(seed: int) -> dict[str, dict[str, np.ndarray]]:
    """Return the curves of one prompt, for each loss."""
    models, answers = learn(seed, N_COMPARISONS), answers_of(seed)
    rewards, n_train = models.rewards(answers), 80
    values = softmax(rewards / TEMPERATURE, axis=1) @ (answers @ models.gold)
    inputs = components_of(rewards, n_train, N_OF_PREFERENCES)
    orders = orders_of(inputs[:n_train], rewards[:n_train], N_RANDOM_OF_A_PROMPT, seed)
    return every_loss(inputs, rewards, values, n_train, orders=orders)


def preference_section(repetitions: int) -> str:
    """Return the mean curves over prompts."""
    found = [preference_curves(seed) for seed in range(repetitions)]
    found = [f for f in found if _is_complete(f)]
    rows = []
    for what, name in product(("utilities", "regret", "value"), ORDERS):
        values = np.array([one[what][name][0] for one in found])
        cells = [mean_and_error(column, 2) for column in values.T]
        rows.append([what, name, *cells])
    title = (
        f"### Simulated preferences\n\n{N_COMPARISONS} comparisons, β = "
        f"{TEMPERATURE:g}, mean ± standard error over {len(found)} prompts; 80 members "
        "to learn from, 200 held out. The first component is mostly the offset."
    )
    columns = _columns(N_OF_PREFERENCES)
    return f"{title}\n\n{table(columns, rows + published('preferences'))}"


def _is_complete(found: dict[str, dict[str, np.ndarray]]) -> bool:
    """Whether every order has a curve of full length and a regret to begin with."""
    every = [curve for of_loss in found.values() for curve in of_loss.values()]
    length = N_OF_PREFERENCES + 1
    return all(one.shape[1] == length and np.isfinite(one).all() for one in every)


def _columns(n_components: int) -> list[str]:
    return ["residual of", "order", *(f"k = {k}" for k in range(n_components + 1))]


def main() -> None:
    arguments = options(__doc__, repetitions=20, blocks=Path, write=Path)
    make = {name: partial(task_section, name, arguments.blocks) for name in ENSEMBLES}
    n_prompts = arguments.repetitions
    make[f"preferences {n_prompts}"] = partial(preference_section, n_prompts)
    sections, spent = stored_sections("acquisition", make, arguments.blocks)
    command = f"{COMMAND} --repetitions {arguments.repetitions}"
    publish(study_page(sections, command, spent), arguments.write)


if __name__ == "__main__":
    main()
