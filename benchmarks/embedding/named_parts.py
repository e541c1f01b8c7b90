"""A reward of four named parts, of which the policy depends on two: are they found?

log R(x) = mean(x) + Σ_k z_k part_k(x), with z_k independent standard normal. Each part
lives on reactions of its own:

- *polar* and *apolar*: reactions of the ligand XPhos in polar and in apolar solvents;
- *tBuXPhos* and *AdBrettPhos*: reactions of the other two ligands, with 92 % of the
  variance of log R.

Explained are the choices of base and solvent after XPhos. The other ligands' reactions
are behind other branches and do not affect them. (The choice of the ligand depends on
all four parts, and is left out.)

**Truth.** Shares of the Aitchison variance of a step under the laws of z. Of the
solvent in closed form: log-ratios of a last step are linear in z. Of the base, where
parts interact, by Gauss–Hermite quadrature over all four z with the exact policies; no
surrogate takes part.

**Recovered** from 100 members: a surrogate of degree 3 on two principal components of
policy-relevant features, and from it the indices of groups of reward entries by

- ``dependent_sobol_indices`` (first order and Shapley) and ``back_to_reward`` (share,
  beside the first order), with the joint law of log R learned from the 100 members, or
  from 5000 draws of log R, for which no policy is needed;
- ``sobol_indices`` (first order and Shapley) as a function of z, with their laws given.

Errors are the largest over both steps and four parts. ``back_to_reward`` has a share of
covariance, which is the first-order index where parts do not interact. The last row of
errors has no surrogate: it is what the variances of z among 100 members do to the
shares of the solvent. The last table is the verdict (cross-fitted)
on embeddings that see the two parts and on one that does not. The members are other
ones with each seed.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.named_parts``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline

from gflownet_envs import (
    SequentialSelectionEnvironment,
    policies_along,
    solve_exact,
    trajectory_of_actions,
)
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.inspection import (
    back_to_reward,
    dependent_sobol_indices,
    sobol_indices,
    verdict,
)

from .reactions import markdown_table, publish

ENVIRONMENT = SequentialSelectionEnvironment(
    {
        "ligand": ["XPhos", "tBuXPhos", "AdBrettPhos"],
        "base": ["P2Et", "MTBD", "BTMG"],
        "solvent": ["DMSO", "DMF", "toluene", "dioxane"],
    }
)
TRAJECTORY = trajectory_of_actions(ENVIRONMENT, [0, 3, 6])
STEPS = {"base": 3, "solvent": 4}

#: What a part adds to log R of XPhos, per base (rows) and solvent of its kind.
POLAR = np.array([[2.4, 0.0], [-1.2, -2.4], [1.2, -1.2]])
APOLAR = np.array([[0.0, 2.0], [2.8, 1.2], [-2.0, -3.2]])
#: The same of the other ligands, for all solvents.
BEHIND = np.array(
    [
        [[6, -3, 4, -5], [-4, 5, 2, -6], [3, -6, -3, 6]],
        [[-5, 4, 6, -3], [6, -2, -5, 3], [-4, 6, -2, -5]],
    ]
)

N_MEMBERS, N_DRAWS, DEGREE = 100, 5000, 3
N_NODES = 11
TOLERANCE = 0.05


def named_parts() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the reward entries of each part, and the parts.

    Returns
    -------
    entries : dict of str to ndarray of int
        Positions of the reactions of a part.
    parts : ndarray of shape (4, 36)
        What each part adds to log R for z = 1; 0 off its own entries.
    """
    ligand, _, solvent = ENVIRONMENT.object_levels().numpy().T
    at_xphos, polar = ligand == 0, solvent < POLAR.shape[1]
    where = {
        "polar": (at_xphos & polar, POLAR),
        "apolar": (at_xphos & ~polar, APOLAR),
        "tBuXPhos": (ligand == 1, BEHIND[0]),
        "AdBrettPhos": (ligand == 2, BEHIND[1]),
    }
    parts = np.zeros((len(where), len(ligand)))
    for part, (own, values) in zip(parts, where.values(), strict=True):
        part[own] = values.ravel()
    return {name: np.flatnonzero(own) for name, (own, _) in where.items()}, parts


ENTRIES, PARTS = named_parts()
MEAN = 0.5 * np.random.default_rng(0).normal(size=ENVIRONMENT.n_objects)
NAMES = tuple(ENTRIES)


def log_reward(
    z: np.ndarray,  # shape: (E, 4)
) -> np.ndarray:  # shape: (E, 36)
    return MEAN + z @ PARTS


def policies(
    log_rewards: np.ndarray,  # shape: (E, 36)
) -> np.ndarray:  # shape: (E, 7)
    """Return exact policies of the explained steps, side by side."""
    solution = solve_exact(ENVIRONMENT, log_rewards)
    whole = policies_along(ENVIRONMENT, solution, TRAJECTORY)
    return whole.y[:, -sum(STEPS.values()) :]


def log_ratios(
    y: np.ndarray,  # shape: (E, 7)
) -> np.ndarray:  # shape: (E, 5)
    """Return orthonormal log-ratios, two of the base and three of the solvent."""
    return LogRatioTransformer("ilr", steps=STEPS).fit_transform(y)


COORDINATE_STEPS = np.repeat(np.arange(len(STEPS)), [k - 1 for k in STEPS.values()])


def by_step(
    variances: np.ndarray,  # shape: (5, ...)
) -> np.ndarray:  # shape: (2, ...)
    """Add up the coordinates of each step."""
    return np.stack([variances[s == COORDINATE_STEPS].sum(axis=0) for s in (0, 1)])


def true_indices() -> tuple[np.ndarray, np.ndarray]:  # shapes: (2, 4)
    """Return first-order and Shapley shares by quadrature over the four z.

    With the tensor of log-ratios at the nodes, Var E[f | z_S] is the weighted variance
    of its mean over the axes that are not in S; Shapley's value shares these (A. B.
    Owen, SIAM/ASA Journal on Uncertainty Quantification 2, 2014).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    weights = weights / weights.sum()
    z = np.array(list(product(nodes, repeat=len(NAMES))))
    shape = (N_NODES,) * len(NAMES)
    tensor = log_ratios(policies(log_reward(z))).reshape(*shape, -1)
    everyone = range(len(NAMES))

    def explained(players: tuple[int, ...]) -> np.ndarray:  # shape: (2,)
        known = _mean_over(tensor, weights, set(everyone) - set(players))
        square = (known - _mean_over(known, weights, set(players))) ** 2
        return by_step(_mean_over(square, weights, set(players)).ravel())

    value = {s: explained(s) for k in range(5) for s in combinations(everyone, k)}
    whole = value[tuple(everyone)]
    first = np.stack([value[(i,)] for i in everyone], axis=1)
    shapley = np.zeros_like(first)
    for players, own in value.items():
        for i in set(everyone) - set(players):
            joined = value[tuple(sorted((*players, i)))]
            shapley[:, i] += (joined - own) / (4 * comb(3, len(players)))
    return first / whole[:, None], shapley / whole[:, None]


def _mean_over(
    tensor: np.ndarray,  # shape: (n or 1, n or 1, n or 1, n or 1, 5)
    weights: np.ndarray,  # shape: (n,)
    axes: set[int],
) -> np.ndarray:
    """Return the weighted mean over some axes, which remain with length 1."""
    for axis in axes:
        tensor = np.expand_dims(np.tensordot(weights, tensor, (0, axis)), axis)
    return tensor


def solvent_shares(
    variance: np.ndarray,  # shape: (4,), of z
) -> np.ndarray:  # shape: (4,)
    """Return the shares of the last step in closed form."""
    behind_reference = PARTS[:, : STEPS["solvent"]]  # XPhos, P2Et
    centred = behind_reference - behind_reference.mean(axis=1, keepdims=True)
    shares = variance * np.square(centred).sum(axis=1)
    return shares / shares.sum()


def features(*excluded: str) -> PolicyRelevantFeatures:
    return PolicyRelevantFeatures(
        ENVIRONMENT, trajectory=TRAJECTORY, exclude_steps=("ligand", *excluded)
    )


def surrogate() -> CompositionalPCESurrogate:
    return CompositionalPCESurrogate(
        DEGREE, steps=STEPS, solver="ridge", distribution="normal"
    )


EMBEDDINGS: dict[str, Callable[[], Any]] = {
    "policy-relevant, 2": lambda: make_pipeline(features(), PCA(2)),
    "… without those of the base": lambda: make_pipeline(features("base"), PCA(2)),
    "… without those of the solvent": lambda: make_pipeline(
        features("solvent"), PCA(2)
    ),
    "PCA, 2": lambda: PCA(2),
    "PCA, 4": lambda: PCA(4),
}

Shares = dict[str, tuple[np.ndarray, np.ndarray | None]]


def recovered(pipeline: Pipeline, z: np.ndarray, seed: int) -> Shares:
    """Return first-order and Shapley shares, shape (2, 4), by each tool."""
    drawn = np.random.default_rng([seed, 1]).normal(size=(N_DRAWS, len(NAMES)))
    found: Shares = {}
    for rows, name in ((z, "the members"), (drawn, f"{N_DRAWS} draws of log R")):
        X = log_reward(rows)
        dependent = dependent_sobol_indices(
            pipeline, X, groups=ENTRIES, random_state=seed
        )
        effects = back_to_reward(pipeline, X, groups=ENTRIES)
        found[f"dependent_sobol_indices, law of {name}"] = (
            dependent.first_order,
            dependent.shapley,
        )
        found[f"back_to_reward, law of {name}"] = (effects.share, None)
    known = sobol_indices(
        lambda rows: log_ratios(pipeline.predict(log_reward(np.asarray(rows)))),
        z,
        distribution=norm(0, 1),
        random_state=seed,
    )
    whole = by_step(known.total_variance)[:, None]
    first, shapley = (
        by_step(table * known.total_variance[:, None]) / whole
        for table in (known.first_order, known.shapley)
    )
    found["sobol_indices of z, laws given"] = first, shapley
    return found


def study(seed: int, truth: tuple[np.ndarray, np.ndarray]) -> tuple[dict, dict]:
    """Return the errors of each tool and the verdicts on each embedding."""
    z = np.random.default_rng(seed).normal(size=(N_MEMBERS, len(NAMES)))
    X = log_reward(z)
    y = policies(X)
    pipeline = make_pipeline(EMBEDDINGS["policy-relevant, 2"](), surrogate()).fit(X, y)
    errors = {
        tool: [
            np.nan if own is None else np.abs(own - true).max()
            for own, true in zip(shares, truth, strict=True)
        ]
        for tool, shares in recovered(pipeline, z, seed).items()
    }
    own_law = np.abs(solvent_shares(z.var(axis=0)) - truth[0][1]).max()
    errors["closed form, variances of the members' z (solvent alone)"] = [own_law] * 2
    verdicts = {
        name: verdict(
            make_pipeline(make(), surrogate()),
            X,
            y,
        ).steps
        for name, make in EMBEDDINGS.items()
    }
    return errors, verdicts


def truth_table(truth: tuple[np.ndarray, np.ndarray]) -> str:
    variance = np.square(PARTS).sum(axis=1)
    rows = [["share of the variance of log R", *_shown(variance / variance.sum())]]
    for s, step in enumerate(STEPS):
        for kind, shares in zip(("first order", "Shapley"), truth, strict=True):
            rows.append([f"{step}, {kind}", *_shown(shares[s])])
    rows.append(["solvent, closed form", *_shown(solvent_shares(np.ones(4)))])
    return markdown_table(["truth", *NAMES], rows)


def _shown(values: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in values]


def errors_table(studies: list[tuple[dict, dict]]) -> str:
    rows = []
    for tool in studies[0][0]:
        errors = np.array([found[tool] for found, _ in studies])
        cells = []
        for own in errors.T:
            missing = np.isnan(own).all()
            within = f"{(own <= TOLERANCE).sum()} of {len(own)}"
            cells += (
                ["–"] * 3 if missing else [*_shown([own.mean(), own.max()]), within]
            )
        rows.append([tool, *cells])
    within = f"within {TOLERANCE}"
    columns = ["first order: mean error", "worst", within]
    columns += ["Shapley: mean error", "worst", within]
    return markdown_table(["tool", *columns], rows)


def verdict_table(studies: list[tuple[dict, dict]]) -> str:
    rows = []
    for name in EMBEDDINGS:
        cells = []
        for s in range(len(STEPS)):
            steps = [verdicts[name][s] for _, verdicts in studies]
            q2 = [step.q2 for step in steps]
            good = sum(step.attributable for step in steps)
            cells += [f"{good} of {len(steps)}", f"{min(q2):.2f} to {max(q2):.2f}"]
        rows.append([name, *cells])
    columns = ["base: attributable", "Q²", "solvent: attributable", "Q²"]
    return markdown_table(["embedding", *columns], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--write", help="file of the page, Markdown; else printed only")
    arguments = parser.parse_args()
    started = time.process_time()
    truth = true_indices()
    studies = [study(seed, truth) for seed in range(arguments.seeds)]
    tables = [truth_table(truth), errors_table(studies), verdict_table(studies)]
    tables.append(f"CPU seconds: {time.process_time() - started:.0f}\n")
    publish("\n".join(tables), arguments.write)


if __name__ == "__main__":
    main()
