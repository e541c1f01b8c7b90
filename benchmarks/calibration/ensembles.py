"""The ensembles: members to fit, members held out, and the pipeline between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import softmax
from scipy.stats import norm, randint, uniform
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import scale

from benchmarks.measuring import solved, study_of
from gflownet_envs.environments.walks import GridEnvironment
from gflownet_envs.experiments.analysis import make_pipeline as make_task_pipeline
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import SHIFTS, quadrant_shift_rewards
from skpce import CompositionalPCESurrogate, PolynomialChaosFeatures


@dataclass(frozen=True)
class Ensemble:
    """One draw of training and held-out members.

    Attributes
    ----------
    pipeline : Pipeline
        Not fitted; its last step is the surrogate.
    X : ndarray of shape (n_members, n_inputs)
    y : ndarray of shape (n_members, n_parts)
    n_fit : int
        Members to fit, the first ones; the others are held out.
    """

    pipeline: Pipeline
    X: np.ndarray
    y: np.ndarray
    n_fit: int


#: Makes an ensemble: (members to fit, members held out, seed, cache).
Maker = Callable[[int, int, int, Path], Ensemble]


#: Draws of Buchwald-Hartwig that share their held-out members, and the members that
#: each of them has to fit. Every proxy costs a quarter of a CPU-second.
POOL_DRAWS, POOL_BLOCK = 8, 100


def grid(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return exact policies behind a PCA of the rewards, as in the default preset.

    All other rewards of the 625 are held out.
    """
    preset = default_preset("grid", n_fit, n_held_out)
    exact = exact_policies("grid", preset, seed, cache)
    pipeline = make_task_pipeline(exact, preset, preset.degrees[0], seed)
    return Ensemble(pipeline, exact.X, exact.y, n_fit)


def grid_four(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return the same with four components and degree 3: 35 terms, often too many."""
    preset = replace(default_preset("grid", n_fit, n_held_out), n_components=4)
    exact = exact_policies("grid", preset, seed, cache)
    pipeline = make_task_pipeline(exact, preset, 3, seed)
    return Ensemble(pipeline, exact.X, exact.y, n_fit)


def grid_levels(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return the same policies with the levels of the quadrants as inputs.

    The law of the inputs is then known: five levels, equally likely.
    """
    preset = default_preset("grid", n_fit, n_held_out)
    exact = exact_policies("grid", preset, seed, cache)
    shifts = quadrant_shift_rewards(GridEnvironment())[1].numpy()[exact.members]
    surrogate = CompositionalPCESurrogate(
        2,
        steps=exact.steps,
        mask=exact.mask,
        distribution=[randint(0, len(SHIFTS))] * shifts.shape[1],
        random_state=seed,
        solver="ridge",
    )
    X = np.searchsorted(SHIFTS, shifts).astype(np.float64)
    return Ensemble(make_pipeline(surrogate), X, exact.y, n_fit)


def buchwald_hartwig(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return exact policies for the rewards of trained proxies; default preset.

    Eight seeds share a pool of proxies: each fits its own members, and all are judged
    by the same held-out ones.
    """
    pool, block = divmod(seed, POOL_DRAWS)
    if n_fit > POOL_BLOCK:
        raise ValueError(f"n_fit must be at most {POOL_BLOCK}, got {n_fit}")
    preset = default_preset("buchwald-hartwig", POOL_DRAWS * POOL_BLOCK, n_held_out)
    exact = exact_policies("buchwald-hartwig", preset, pool, cache)
    fitted = block * POOL_BLOCK + np.arange(n_fit)
    chosen = np.r_[fitted, np.flatnonzero(exact.is_test)]
    pipeline = make_task_pipeline(exact, preset, preset.degrees[0], seed)
    return Ensemble(pipeline, exact.X[chosen], exact.y[chosen], n_fit)


def default_preset(task: str, n_fit: int, n_held_out: int) -> Preset:
    """Return the ``default`` preset of a task with so many members."""
    return replace(TASKS[task].presets["default"], n_train=n_fit, n_test=n_held_out)


def exact_policies(task: str, preset: Preset, seed: int, cache: Path) -> PolicyDataset:
    """Solve every reward of a task; trained proxies are stored in the cache."""
    return solved(study_of(task, preset, cache / task, seed), preset, seed)


#: The known softmax: parts of each step, and the inputs' share of its variance.
SOFTMAX_STEPS = {"weak": 3, "even": 5, "strong": 4}
SOFTMAX_Q2 = (0.2, 0.5, 0.8)
N_SOFTMAX_INPUTS = 3


def known_softmax(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return a softmax of quadratics in normal inputs, plus normal residuals.

    The polynomials are the same for every seed. Residuals are correlated between the
    actions of a step and between steps.
    """
    laws = [norm(0, 1)] * N_SOFTMAX_INPUTS
    basis = PolynomialChaosFeatures(2, distribution=laws)
    fixed, drawn = np.random.default_rng(2024), np.random.default_rng(seed)
    X = drawn.normal(size=(n_fit + n_held_out, N_SOFTMAX_INPUTS))
    design = basis.fit_transform(X)[:, 1:]  # no constant
    shared = drawn.normal(size=(len(X), 2))
    blocks = []
    for width, q2 in zip(SOFTMAX_STEPS.values(), SOFTMAX_Q2, strict=True):
        # Each part of the log-ratios has the Aitchison variance width - 1.
        signal = design @ _unit(fixed.normal(size=(design.shape[1], width)))
        common = shared @ _unit(fixed.normal(size=(2, width)))
        alone = drawn.normal(size=signal.shape) / np.sqrt(width - 1)
        residual = (common + alone) / np.sqrt(2)
        logits = np.sqrt(q2) * signal + np.sqrt(1 - q2) * residual
        blocks.append(softmax(np.sqrt(width - 1) * logits, axis=1))
    surrogate = CompositionalPCESurrogate(
        2, steps=SOFTMAX_STEPS, distribution=laws, random_state=seed, solver="ridge"
    )
    return Ensemble(make_pipeline(surrogate), X, np.hstack(blocks), n_fit)


def _unit(loadings: np.ndarray) -> np.ndarray:
    """Centre over the parts; sum of squares one."""
    centred = loadings - loadings.mean(axis=1, keepdims=True)
    return centred / np.linalg.norm(centred)


#: Bottles of which the classifiers speak; bottles that they do not see.
BOTTLES = (20, 68, 83, 100, 140)


def wine_classifiers(n_fit: int, n_held_out: int, seed: int, cache: Path) -> Ensemble:
    """Return classifiers that differ in two hyper-parameters and a bootstrap sample.

    The inputs are the hyper-parameters, drawn from uniform laws: the logarithm of the
    penalty's inverse and of the weight of the first class. The bootstrap sample is no
    input: its effect is left to the residual distribution.
    """
    wine, grape = scale(load_wine().data), load_wine().target
    others = np.setdiff1d(np.arange(len(wine)), BOTTLES)
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1.0, 1.0, size=(n_fit + n_held_out, 2))
    policies = []
    for log_c, log_weight in X:
        rows = generator.choice(others, size=len(others))
        model = LogisticRegression(
            C=0.1 * 10**log_c, class_weight={0: 10**log_weight}, max_iter=1000
        )
        model.fit(wine[rows], grape[rows])
        policies.append(model.predict_proba(wine[list(BOTTLES)]).ravel())
    surrogate = CompositionalPCESurrogate(
        2,
        steps={f"bottle {bottle + 1}": 3 for bottle in BOTTLES},
        distribution=[uniform(-1, 2)] * 2,
        random_state=seed,
        solver="ridge",
    )
    return Ensemble(make_pipeline(surrogate), X, np.vstack(policies), n_fit)


#: The ensembles by the name that the page shows.
ENSEMBLES: Mapping[str, Maker] = {
    "grid": grid,
    "grid, 4 components": grid_four,
    "grid, levels": grid_levels,
    "Buchwald-Hartwig": buchwald_hartwig,
    "known softmax": known_softmax,
    "wine classifiers": wine_classifiers,
}
