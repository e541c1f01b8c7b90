"""How well each embedding of the reward predicts each choice of the policy.

Buchwald–Hartwig: log R of 4,608 reactions by networks that each saw 30 % of the data
(both recipes), exact policies along the reference trajectory. Per embedding, number of
inputs d and step: Q² of a degree-1 surrogate (degree 2 for few inputs), cross-fitted in
five folds. Embedding and surrogate are refitted in every fold
(`skpce.inspection.verdict`).

- *kernel PCA* has a width that follows the variance of the entries between members.
- *PLS* looks at the ilr coordinates of the policies. Neither is scaled, so it knows
  members by their inner products only and is given their coordinates in an orthonormal
  basis of their span: the same scores, at less cost. Nothing is lost or learned.
- *PLS, scaled* divides entries and coordinates by their standard deviations, which is
  the default.
- *policy-relevant* are principal components of the expected log R behind each choice of
  all four steps. At the additive, the last step, these features *are* the logits.
- *policy-relevant, not own*: a pipeline per explained step, without its features.
- *Karhunen–Loève modes* need rewards drawn from their Gaussian process (30 % of the
  measured reactions, nothing else). That is another ensemble, so PCA and
  policy-relevant features are repeated on it.

Attributable is what the verdict calls so: some input of the surrogate drives the step,
p ≤ 0.05 by Holm over inputs and steps; for *not own*, which has a verdict for each
step, p ≤ 0.05 / 4. PLS looks at y, so that its inputs cannot be tested by y.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.policy_q2``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any, ClassVar

import joblib
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.pipeline import make_pipeline

from benchmarks.measuring import options, publish, stored, table
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.embedding import BetaVAE, NormalizingFlow, PLSTransformer
from skpce.inspection import verdict

from .reactions import RECIPES, Reactions

MEMBERS = (50, 500)
DIMENSIONS = (2, 5, 10, 15)
QUADRATIC = (2, 5)  # numbers of inputs for degree 2
WITH_INTERVAL = 5  # the number of inputs whose intervals are shown
SIGNIFICANCE = 0.05

PLS, PLS_SCALED = "PLS", "PLS, scaled"
RELEVANT, NOT_OWN = "policy-relevant", "policy-relevant, not own"
MODES = "Karhunen–Loève modes"
PROCESS = "Gaussian process"


class WideKernelPCA(KernelPCA):
    """Kernel PCA of a width that follows the variance of the entries."""

    def fit(self, X: np.ndarray, y: Any = None) -> WideKernelPCA:
        self.set_params(gamma=1 / (X.shape[1] * X.var(axis=0).mean()))
        return super().fit(X)


class Remembered(TransformerMixin, BaseEstimator):
    """An embedding that is not shown y, fitted once to the same rows.

    A verdict fits it to those of a fold several times, and each degree does so anew.
    """

    fitted: ClassVar[dict[str, Any]] = {}

    def __init__(self, embedding: Any) -> None:
        self.embedding = embedding

    def fit(self, X: np.ndarray, y: Any = None) -> Remembered:
        key = joblib.hash((self.embedding, X))
        if key not in self.fitted:
            self.fitted[key] = clone(self.embedding).fit(X)
        self.embedding_ = self.fitted[key]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.embedding_.transform(X)


def relevant(reactions: Reactions, d: int, without: tuple[str, ...] = ()) -> Any:
    """Principal components of policy-relevant features."""
    features = PolicyRelevantFeatures(
        reactions.environment, trajectory=reactions.reference, exclude_steps=without
    )
    return make_pipeline(features, PCA(d, svd_solver="full"))


def least_squares(reactions: Reactions, d: int, scale: bool) -> PLSTransformer:
    """Partial least squares on log-ratios."""
    return PLSTransformer(
        d,
        scale=scale,
        max_iter=5000,
        target_transformer=LogRatioTransformer(steps=reactions.steps),
    )


EMBEDDINGS: dict[str, Callable[[Reactions, int], Any]] = {
    "PCA": lambda reactions, d: Remembered(PCA(d, svd_solver="full")),
    "kernel PCA": lambda reactions, d: Remembered(
        WideKernelPCA(d, kernel="rbf", eigen_solver="dense")
    ),
    PLS: lambda reactions, d: least_squares(reactions, d, scale=False),
    PLS_SCALED: lambda reactions, d: least_squares(reactions, d, scale=True),
    "β-VAE": lambda reactions, d: Remembered(BetaVAE(d, random_state=0)),
    "PCA + flow": lambda reactions, d: Remembered(NormalizingFlow(d, random_state=0)),
    RELEVANT: relevant,
    MODES: lambda reactions, d: "passthrough",
}
ON_PROCESS = (MODES, "PCA", RELEVANT, NOT_OWN)
ON_PROXIES = (*(name for name in EMBEDDINGS if name != MODES), NOT_OWN)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members, and the embeddings that are compared on them.

    Attributes
    ----------
    log_reward : ndarray of shape (E, 4608)
    policies : ndarray of shape (E, 47)
        Steps side by side.
    inputs : ndarray of shape (E, 15) or None
        Those of the Gaussian process.
    """

    name: str
    embeddings: tuple[str, ...]
    log_reward: np.ndarray
    policies: np.ndarray
    inputs: np.ndarray | None = None

    def first(self, n_members: int) -> Ensemble:
        """Keep the first members."""
        inputs = None if self.inputs is None else self.inputs[:n_members]
        log_reward, policies = self.log_reward[:n_members], self.policies[:n_members]
        return replace(self, log_reward=log_reward, policies=policies, inputs=inputs)

    def columns(self, embedding: str, d: int) -> np.ndarray:  # shape: (E, n_columns)
        """Return what an embedding is given."""
        if embedding == MODES:
            return self.inputs[:, :d]
        if embedding == PLS:
            return PCA(svd_solver="full").fit_transform(self.log_reward)
        return self.log_reward


def proxies(reactions: Reactions, recipe: str) -> Ensemble:
    """Networks of one recipe."""
    log_reward = reactions.predictions(max(MEMBERS), recipe) / TEMPERATURE
    name = f"proxies, recipe {recipe}"
    return Ensemble(name, ON_PROXIES, log_reward, reactions.policies(log_reward))


def process(reactions: Reactions) -> tuple[Ensemble, np.ndarray]:  # (n_modes,)
    """Draws of a Gaussian process, and the share of its variance in leading modes."""
    modes = reactions.modes(max(DIMENSIONS))
    inputs, yields = modes.sample(max(MEMBERS), random_state=0)
    log_reward = yields / TEMPERATURE
    policies = reactions.policies(log_reward)
    ensemble = Ensemble(PROCESS, ON_PROCESS, log_reward, policies, inputs)
    return ensemble, np.cumsum(modes.explained_variance_ratio)


@dataclass(frozen=True)
class Cell:
    """An ensemble, an embedding, a number of inputs and a degree."""

    ensemble: str
    n_members: int
    embedding: str
    d: int
    degree: int


Figures = dict[str, dict[str, Any]]  # by step
Results = dict[Cell, dict[str, Any]]  # steps and CPU seconds


def judge(
    embedding: Any,
    X: np.ndarray,  # shape: (E, n_columns)
    y: np.ndarray,  # shape: (E, n_parts)
    steps: dict[str, int],
    degree: int,
    level: float = SIGNIFICANCE,
) -> Figures:
    found = verdict(
        make_pipeline(
            embedding,
            CompositionalPCESurrogate(
                degree, steps=steps, solver="ridge", distribution="normal"
            ),
        ),
        X,
        y,
        cv=5,
    )
    return {
        each.step: {
            "q2": each.q2,
            "low": each.q2_low,
            "high": each.q2_high,
            "p": each.p_value,
            "attributable": each.attributable and each.p_value <= level,
        }
        for each in found.steps
    }


def measure(cell: Cell, ensemble: Ensemble, reactions: Reactions) -> Figures:
    """Return the figures of all steps."""
    X = ensemble.columns(cell.embedding, cell.d)
    y, steps = ensemble.policies, reactions.steps
    if cell.embedding != NOT_OWN:
        embedding = EMBEDDINGS[cell.embedding](reactions, cell.d)
        return judge(embedding, X, y, steps, cell.degree)
    figures: Figures = {}
    step_of_column = np.repeat(list(steps), list(steps.values()))
    for step, size in steps.items():
        figures |= judge(
            relevant(reactions, cell.d, without=(step,)),
            X,
            y[:, step_of_column == step],
            {step: size},
            cell.degree,
            SIGNIFICANCE / len(steps),
        )
    return figures


def timed(cell: Cell, ensemble: Ensemble, reactions: Reactions) -> dict[str, Any]:
    """Measure a cell, with its CPU seconds."""
    started = time.process_time()
    steps = measure(cell, ensemble, reactions)
    seconds = time.process_time() - started
    print(f"{cell}: {seconds:.1f} CPU s", file=sys.stderr, flush=True)
    return {"steps": steps, "cpu_seconds": seconds}


def number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def shown(cell: Cell, step: str, figures: dict[str, Any], last: str) -> str:
    """Return a cell of a table."""
    text = number(figures["q2"])
    if cell.d == WITH_INTERVAL:
        text += f" [{number(figures['low'])}, {number(figures['high'])}]"
    if cell.embedding == RELEVANT and step == last:
        return f"({text})"
    return f"**{text}**" if figures["attributable"] else text


def cells_table(results: Results, wanted: list[Cell], steps: list[str]) -> str:
    rows = []
    for cell in wanted:
        found = [
            shown(cell, step, results[cell]["steps"][step], steps[-1]) for step in steps
        ]
        rows.append([cell.embedding, str(cell.d), *found])
    return table(["embedding", "d", *steps], rows)


def counts(results: Results, wanted: list[Cell], steps: list[str]) -> str:
    """Return in how many dimensions a step is attributable."""
    rows = []
    for key, same in groupby(wanted, lambda c: (c.ensemble, c.n_members, c.embedding)):
        judged = [results[cell]["steps"] for cell in same]
        found = [
            str(sum(one[step]["attributable"] for one in judged)) for step in steps
        ]
        if key[2] == RELEVANT:
            found[-1] = "–"
        if key[2] == PLS_SCALED:
            found = ["–"] * len(steps)
        rows.append([*map(str, key), *found])
    return table(["ensemble", "members", "embedding", *steps], rows)


HEAD = """# Which embedding predicts which choice

Cross-fitted Q² of exact Buchwald–Hartwig policies, per step, embedding and number of
inputs d. [Embeddings](embeddings.md) describes each embedding.

Embedding and surrogate are refitted in each of five folds. **Bold**: attributable by
`skpce.inspection.verdict` (some input drives the step, p ≤ 0.05 over inputs and steps;
an input can be shown to act where few members leave Q² near 0).
Intervals, at d = {interval}, are bootstraps over members at 90 %. In parentheses: at
the last step the policy-relevant features *are* the logits, so this Q² is no evidence.
*Not own*: a pipeline per explained step, without the features of that step.

The Gaussian process is another ensemble: rewards are draws of its whole posterior, and
the inputs of its modes are exact. Variance held by leading modes: {held}.

Written by `OMP_NUM_THREADS=1 python -m benchmarks.embedding.policy_q2`. PLS looks at
y, so that its inputs are not tested. {minutes:.0f} CPU minutes, beside the training of
the networks.
"""


def page(results: Results, steps: list[str], shares: np.ndarray) -> str:
    """Return the page."""
    linear = [cell for cell in results if cell.degree == 1]
    parts = [
        HEAD.format(
            interval=WITH_INTERVAL,
            held=", ".join(f"{shares[d - 1]:.1%} by {d}" for d in DIMENSIONS),
            minutes=sum(each["cpu_seconds"] for each in results.values()) / 60,
        ),
        "## In how many of four dimensions a step is attributable, degree 1\n",
        counts(results, linear, steps),
    ]
    by = groupby(results, lambda cell: (cell.ensemble, cell.n_members, cell.degree))
    for (name, n_members, degree), wanted in by:
        title = f"{name[0].upper()}{name[1:]}, {n_members} members, degree {degree}"
        parts += [f"## {title}\n", cells_table(results, list(wanted), steps)]
    return "\n".join(parts)


def main() -> None:
    arguments = options(__doc__, cells=Path, blocks=str, write=Path)
    reactions, results = Reactions(arguments.blocks), Results()
    drawn, shares = process(reactions)
    for ensemble in (*(proxies(reactions, recipe) for recipe in RECIPES), drawn):
        for n_members in MEMBERS:
            members = ensemble.first(n_members)
            Remembered.fitted.clear()
            for degree, dimensions in ((1, DIMENSIONS), (2, QUADRATIC)):
                for embedding, d in product(ensemble.embeddings, dimensions):
                    cell = Cell(ensemble.name, n_members, embedding, d, degree)
                    file = arguments.cells and arguments.cells / f"{cell}.json"
                    results[cell] = stored(
                        file, partial(timed, cell, members, reactions)
                    )
    steps = list(reactions.steps)
    publish(page(results, steps, shares), arguments.write)


if __name__ == "__main__":
    main()
