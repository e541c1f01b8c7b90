"""The paper's ablation of embeddings, with the column that it lacks.

The paper's supplementary table compares PCA, kernel PCA, a β-VAE (β = 4) and PCA with
a flow on Buchwald–Hartwig: 500 outputs of the proxies, 30 members to fit, 50 to test,
5 inputs, degree 3 with Hermite polynomials. Here it is run with

- both recipes for the proxies: the paper's (full batch, 200 steps) and the default;
- policies that are exact, and policies trained with the paper's settings, some of
  which have not converged;
- the paper's estimator (``solver="paper"``) and its interval, the push-forward of the
  inputs alone;
- every figure on the members of the fit *and* on the 50 others, and held-out Q².

The paper does not say which 500 outputs: they are drawn at random among the 4,608
reactions. Policies choose among all reactions. Rows beyond the paper's: PLS on the same
500, PCA of all reactions, policy-relevant features (which need all reactions; five
principal components of them), and two that know nothing: five random numbers as
inputs, and the quantiles of the 30 policies themselves. Modes of a Gaussian process
that saw 30 % of the data are another ensemble, not another embedding, and stand apart.

Medians over five seeds. Exact: seed s has members 80 s to 80 s + 79, the first thirty
to fit. Trained: members 0 to 79, split anew by each seed. Each seed draws its 500.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.ablation --blocks FOLDER``
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gflownet_envs import policies_along, train_ensemble
from gflownet_envs.block_store import BlockStore
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from gflownet_envs.rewards.proxies import yield_log_reward
from gflownet_envs.training.convergence import NotConvergedWarning
from gflownet_envs.training.spec import PAPER_TRAINING
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.embedding import BetaVAE, NormalizingFlow, PLSTransformer
from skpce.inspection import input_tests
from skpce.metrics import coverage_interval

from .ablation_page import Figures, Results, ablation_page
from .latents import DecodedKernelPCA
from .reactions import RECIPES, Reactions, add_options, publish

N_FIT, N_TEST, N_ENTRIES, N_INPUTS, DEGREE = 30, 50, 500, 5, 3
N_MEMBERS = N_FIT + N_TEST
LEVEL = 0.95
SIGNIFICANCE = 0.05
TRAINING = replace(PAPER_TRAINING, n_iterations=3000)


@dataclass(frozen=True, eq=False)
class Members:
    """Thirty members to fit and fifty to test.

    Attributes
    ----------
    log_reward : ndarray of shape (80, 4608)
    y : ndarray of shape (80, 47)
        Policies along the reference trajectory.
    entries : ndarray of shape (500,), int
        Reactions that the embeddings of the paper see.
    seed : int
    """

    log_reward: np.ndarray
    y: np.ndarray
    entries: np.ndarray
    seed: int


@dataclass(frozen=True)
class Candidate:
    """An embedding.

    Attributes
    ----------
    make : callable
        From the reactions and a seed.
    all_entries : bool, default=False
        Whether it sees all reactions.
    """

    make: Callable[[Reactions, int], Any]
    all_entries: bool = False


def no_information(reactions: Reactions, seed: int) -> FunctionTransformer:
    rng = np.random.default_rng(seed)
    return FunctionTransformer(lambda X: rng.normal(size=(len(X), N_INPUTS)))


def pls(reactions: Reactions, seed: int) -> PLSTransformer:
    log_ratios = LogRatioTransformer("ilr", steps=reactions.steps)
    return PLSTransformer(N_INPUTS, target_transformer=log_ratios)


def policy_relevant(*excluded: str) -> Callable[[Reactions, int], Any]:
    def make(reactions: Reactions, seed: int) -> Any:
        features = PolicyRelevantFeatures(
            reactions.environment,
            trajectory=reactions.reference,
            exclude_steps=excluded,
        )
        return make_pipeline(features, PCA(N_INPUTS, svd_solver="full"))

    return make


CANDIDATES = {
    "PCA": Candidate(lambda r, seed: PCA(N_INPUTS, svd_solver="full")),
    "kernel PCA": Candidate(lambda r, seed: DecodedKernelPCA(N_INPUTS, kernel="rbf")),
    "β-VAE": Candidate(lambda r, seed: BetaVAE(N_INPUTS, random_state=seed)),
    "β-VAE, to the end": Candidate(
        lambda r, seed: BetaVAE(N_INPUTS, validation_fraction=None, random_state=seed)
    ),
    "PCA + flow": Candidate(
        lambda r, seed: NormalizingFlow(N_INPUTS, random_state=seed)
    ),
    "PCA + flow, to the end": Candidate(
        lambda r, seed: NormalizingFlow(
            N_INPUTS, validation_fraction=None, random_state=seed
        )
    ),
    "PLS": Candidate(pls),
    "PCA, all reactions": Candidate(
        lambda r, seed: PCA(N_INPUTS, svd_solver="full"), all_entries=True
    ),
    "policy-relevant": Candidate(policy_relevant(), all_entries=True),
    "policy-relevant, without those of the additive": Candidate(
        policy_relevant("additive"), all_entries=True
    ),
    "five random numbers": Candidate(no_information),
}


def ensembles(
    reactions: Reactions, recipe: str, blocks: str | None, n_seeds: int
) -> dict[str, list[Members]]:
    """Return the members of every seed, by what their policies are."""
    every = reactions.log_reward(n_seeds * N_MEMBERS, recipe)
    exact, trained = [], []
    policies = trained_policies(reactions, every[:N_MEMBERS], blocks)
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        entries = rng.choice(len(reactions.levels), N_ENTRIES, replace=False)
        own = every[seed * N_MEMBERS : (seed + 1) * N_MEMBERS]
        exact.append(Members(own, reactions.policies(own), entries, seed))
        order = rng.permutation(N_MEMBERS)
        trained.append(Members(every[order], policies[order], entries, seed))
    return {"exact": exact, "trained": trained}


def trained_policies(
    reactions: Reactions,
    log_reward: np.ndarray,  # shape: (E, 4608)
    blocks: str | None,
) -> np.ndarray:  # shape: (E, 47)
    """Return policies trained with the paper's settings, converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        trained = train_ensemble(
            reactions.environment,
            log_reward,
            TRAINING,
            store=BlockStore(blocks) if blocks else None,
        )
    return policies_along(reactions.environment, trained, reactions.reference).y


def study(reactions: Reactions, name: str, members: Members) -> Figures:
    """Fit one embedding and the surrogates behind it; measure both."""
    candidate = CANDIDATES[name]
    X = members.log_reward
    if not candidate.all_entries:
        X = X[:, members.entries]
    embedding = candidate.make(reactions, members.seed)
    inputs = np.empty((N_MEMBERS, N_INPUTS))
    inputs[:N_FIT] = embedding.fit(X[:N_FIT], members.y[:N_FIT]).transform(X[:N_FIT])
    inputs[N_FIT:] = embedding.transform(X[N_FIT:])
    back = np.full_like(X, np.nan)
    if not isinstance(embedding, FunctionTransformer):
        back = embedding.inverse_transform(inputs)
    return {
        **about_inputs(inputs, X, back),
        **about_policies(reactions, inputs, members),
    }


def parts() -> Iterator[tuple[str, slice]]:
    yield "fit", slice(N_FIT)
    yield "test", slice(N_FIT, None)


def about_inputs(
    inputs: np.ndarray,  # shape: (80, 5)
    X: np.ndarray,  # shape: (80, n_entries)
    back: np.ndarray,  # shape: (80, n_entries)
) -> Figures:
    """Return reconstruction, correlation and normality, on both parts."""
    found = {}
    mean = X[:N_FIT].mean(axis=0)
    for part, rows in parts():
        tests = input_tests(inputs[rows])
        lost = np.square(X[rows] - back[rows]).sum()
        found[f"R² {part}"] = 1 - lost / np.square(X[rows] - mean).sum()
        found[f"ρ {part}"] = abs(tests.largest("pearson"))
        found[f"normal {part}"] = (tests.normality_p_values > SIGNIFICANCE).sum()
    return found


def about_policies(
    reactions: Reactions,
    inputs: np.ndarray,  # shape: (80, 5)
    members: Members,
) -> Figures:
    """Return coverage and held-out Q² of the surrogates."""
    shape = {"steps": reactions.steps, "mask": np.ones(members.y.shape[1], dtype=bool)}
    Z, Z_test = inputs[:N_FIT], inputs[N_FIT:]
    y, y_test = members.y[:N_FIT], members.y[N_FIT:]
    paper, ours, line = (
        CompositionalPCESurrogate(
            degree,
            solver=solver,
            distribution="normal",
            random_state=members.seed,
            **shape,
        ).fit(Z, y)
        for degree, solver in ((DEGREE, "paper"), (DEGREE, "ridge"), (1, "ridge"))
    )
    as_paper = paper.predict_interval(None, confidence_level=LEVEL, residual=None)
    given = line.predict_interval(Z_test, confidence_level=LEVEL)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    alone = np.quantile(y, tails, axis=0, method="weibull")[:, np.newaxis]
    q2 = {
        "paper": held_out_q2(paper.predict(Z_test), y_test, shape),
        "ridge": held_out_q2(ours.predict(Z_test), y_test, shape),
        "line": held_out_q2(line.predict(Z_test), y_test, shape),
    }
    intervals = {"": as_paper, " given": given, " alone": alone}
    return {
        **{
            f"coverage{law}": coverage_interval(
                y_test, *interval, **shape
            ).coverage.mean()
            for law, interval in intervals.items()
        },
        **{
            f"Q² {model} {step}": value
            for model, values in q2.items()
            for step, value in zip(reactions.steps, values, strict=True)
        },
        **{f"Q² {model}": values.mean() for model, values in q2.items()},
    }


def held_out_q2(
    predicted: np.ndarray,  # shape: (E, 47)
    observed: np.ndarray,  # shape: (E, 47)
    shape: dict[str, Any],
) -> np.ndarray:  # shape: (n_steps,)
    """Return 1 − Σ|clr y − clr ŷ|² / Σ|clr y − mean|² of each step."""
    clr = LogRatioTransformer("clr", **shape).fit(observed)
    truth, guess = clr.transform(observed), clr.transform(predicted)
    errors = np.square(truth - guess).sum(axis=0)
    spread = np.square(truth - truth.mean(axis=0)).sum(axis=0)
    steps = np.repeat(np.arange(len(shape["steps"])), list(shape["steps"].values()))
    return 1 - np.bincount(steps, errors) / np.bincount(steps, spread)


def gaussian_process(reactions: Reactions, n_seeds: int) -> Figures:
    """Return the same figures for modes of a posterior; medians over draws."""
    modes, _ = reactions.modes(N_INPUTS)
    runs = []
    for seed in range(n_seeds):
        inputs, values = modes.sample(N_MEMBERS, random_state=seed)
        log_reward = yield_log_reward(values)
        y = reactions.policies(log_reward)
        members = Members(log_reward, y, np.arange(len(modes.mean)), seed)
        back = yield_log_reward(modes.values(inputs))
        runs.append(
            {
                **about_inputs(inputs, log_reward, back),
                **about_policies(reactions, inputs, members),
            }
        )
    return medians(runs)


def medians(runs: list[Figures]) -> Figures:
    """Return medians; and how often the paper's rule for closed forms holds."""
    found = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
    for part, _ in parts():
        all_normal = [run[f"normal {part}"] == N_INPUTS for run in runs]
        uncorrelated = [run[f"ρ {part}"] < 0.15 for run in runs]
        valid = np.logical_and(all_normal, uncorrelated)
        found[f"all normal {part}"] = float(np.sum(all_normal))
        found[f"valid {part}"] = float(np.sum(valid))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    add_options(parser)
    arguments = parser.parse_args()
    started = time.process_time()
    reactions = Reactions(arguments.blocks)
    results: Results = {}
    for recipe in reversed(RECIPES):  # the paper's first
        found = ensembles(reactions, recipe, arguments.blocks, arguments.seeds)
        for source, per_seed in found.items():
            for name in CANDIDATES:
                results[recipe, source, name] = medians(
                    [study(reactions, name, members) for members in per_seed]
                )
    results["Gaussian process", "exact", "its five modes"] = gaussian_process(
        reactions, arguments.seeds
    )
    seconds = time.process_time() - started
    page = ablation_page(results, tuple(reactions.steps), arguments.seeds, seconds)
    publish(page, arguments.write)


if __name__ == "__main__":
    main()
