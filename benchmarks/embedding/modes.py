"""Which kernel a Gaussian process of yields needs, and what its modes explain.

Three descriptions of a Buchwald–Hartwig reaction are compared: *one-hot* levels,
*descriptors* (RDKit's, standardised over the levels of each component), and *both* side
by side, under one RBF kernel of one width. With *widths* the one-hot vector and the
descriptors of each component have a width of their own each, four or eight in all.

Two designs. *a third*: 30 % of the measured reactions are seen, the others are
predicted. *four additives*: of the other nineteen and of none, 30 % are seen; all
reactions of the four are predicted. The seed draws the additives and the seen part.

First table, means over seeds: R² of the posterior mean on the reactions to predict (and
its range); the mean posterior standard deviation there, without noise, in percent of
yield; mean square of the standardised errors and share of errors within the 90 %
interval, both with the noise of measurements; variance of the posterior over all 4,608
candidates that is held by the first modes; CPU seconds.

Second table, seed 0: rewards are drawn from the posterior, policies are exact along the
path to the best measured reaction. Cross-fitted Q² of each step by a linear surrogate
whose inputs are the first 5 / 15 / 50 modes: of rewards from the *whole* posterior, and
of rewards from these *modes alone*, which shows what a surrogate does with all that
varies.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.modes``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from gflownet_envs import yield_log_reward
from gflownet_envs.datasets import fetch_buchwald_hartwig
from gflownet_envs.rewards.gaussian_process import (
    ComponentRBF,
    GaussianProcessModes,
    gaussian_process_modes,
    level_descriptors,
    level_features,
)
from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict

from .reactions import Reactions, add_options, markdown_table, publish

SEEN_SHARE, N_LEFT_OUT = 0.3, 4
DIMENSIONS = (5, 15, 50)
DESIGNS = ("a third", "four additives")


def component_kernel(tables: list[np.ndarray]) -> Kernel:
    sizes = tuple(table.shape[1] for table in tables)
    return ConstantKernel() * ComponentRBF(sizes, np.ones(len(sizes)))


class Kernels:
    """Tables of levels, and the kernels over them."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        smiles = fetch_buchwald_hartwig(smiles=True).smiles
        one_hot = [np.eye(size) for size in sizes]
        described = [level_descriptors(levels) for levels in smiles.values()]
        both = [np.hstack(pair) for pair in zip(one_hot, described, strict=True)]
        blocks = [
            part for pair in zip(one_hot, described, strict=True) for part in pair
        ]
        self.tables = {
            "one-hot": one_hot,
            "descriptors": described,
            "both": both,
            "one-hot, widths": one_hot,
            "both, widths": both,
        }
        # None is a constant times RBF()
        self.kernels = dict.fromkeys(self.tables) | {
            "one-hot, widths": component_kernel(one_hot),
            "both, widths": component_kernel(blocks),
        }

    def fit(
        self,
        name: str,
        reactions: Reactions,
        seen: np.ndarray,  # shape: (n,), int
    ) -> GaussianProcessModes:
        tables, data = self.tables[name], reactions.data
        with warnings.catch_warnings():
            # a width at its bound says that a block does not matter
            warnings.simplefilter("ignore", ConvergenceWarning)
            return gaussian_process_modes(
                level_features(data.data[seen], tables),
                data.target[seen],
                level_features(reactions.levels, tables),
                n_modes=DIMENSIONS[-1],
                kernel=self.kernels[name],
                random_state=0,
            )


def split(
    design: str,
    additives: np.ndarray,  # shape: (n,), int
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:  # rows that are seen, rows to predict
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(additives))
    if design == "four additives":
        present = np.unique(additives[additives > 0])
        left_out = np.isin(
            additives[order], rng.choice(present, N_LEFT_OUT, replace=False)
        )
        order, held_out = order[~left_out], order[left_out]
        return order[: round(SEEN_SHARE * len(order))], held_out
    n_seen = round(SEEN_SHARE * len(order))
    return order[:n_seen], order[n_seen:]


def quality(
    modes: GaussianProcessModes,
    places: np.ndarray,  # shape: (m,), candidates that are predicted
    target: np.ndarray,  # shape: (m,)
) -> dict[str, float]:
    variance = np.diag(modes.covariance)[places]
    error = target - modes.mean[places]
    standard = error / np.sqrt(variance + modes.noise_variance)
    shares = np.cumsum(modes.explained_variance_ratio)
    spread = np.square(target - target.mean()).sum()
    return {
        "R²": 1 - np.square(error).sum() / spread,
        "sd": np.sqrt(variance).mean(),
        "error²/variance": np.square(standard).mean(),
        "90 % cover": (np.abs(standard) < norm.ppf(0.95)).mean(),
        **{f"{d} modes hold": shares[d - 1] for d in DIMENSIONS},
    }


def explained(
    reactions: Reactions,
    modes: GaussianProcessModes,
    n_members: int,
) -> dict[str, list[str]]:  # of each step, Q² with more and more inputs
    found = {}
    drawn, whole = modes.sample(n_members, random_state=0)
    for rewards in ("whole", "modes alone"):
        q2 = []
        for d in DIMENSIONS:
            inputs = drawn[:, :d]
            unmoved = np.zeros((n_members, DIMENSIONS[-1] - d))
            alone = modes.values(np.hstack([inputs, unmoved]))
            values = whole if rewards == "whole" else alone
            judged = verdict(
                CompositionalPCESurrogate(
                    1, steps=reactions.steps, solver="ridge", distribution="normal"
                ),
                inputs,
                reactions.policies(yield_log_reward(values)),
            )
            q2.append([f"{step.q2:z.2f}".replace("-", "−") for step in judged.steps])
        found[rewards] = [" / ".join(step) for step in zip(*q2, strict=True)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="only these")
    add_options(parser)
    arguments = parser.parse_args()
    reactions = Reactions(arguments.blocks)
    data, sizes = reactions.data, reactions.environment.sizes
    kernels = Kernels(sizes)
    every = np.ravel_multi_index(data.data.T, sizes)
    qualities, steps, columns = [], [], []
    for design in DESIGNS:
        for name in arguments.kernels or kernels.tables:
            runs = []
            for seed in range(arguments.seeds):
                seen, unseen = split(design, data.data[:, 3], seed)
                started = time.process_time()
                modes = kernels.fit(name, reactions, seen)
                seconds = time.process_time() - started
                runs.append(quality(modes, every[unseen], data.target[unseen]))
                runs[-1]["CPU s"] = seconds
                if seed == 0:
                    found = explained(reactions, modes, arguments.members)
                    steps += [
                        [design, name, rewards, *q2] for rewards, q2 in found.items()
                    ]
            means = {key: np.mean([run[key] for run in runs]) for key in runs[0]}
            r2 = [run["R²"] for run in runs]
            columns = ["R²", "range", *list(means)[1:]]
            shown = [
                f"{value:.3f}" if value < 1 else f"{value:.2f}"
                for value in means.values()
            ]
            qualities.append(
                [design, name, shown[0], f"{min(r2):.2f} to {max(r2):.2f}", *shown[1:]]
            )
    page = [
        markdown_table(["predicted", "kernel", *columns], qualities),
        markdown_table(["predicted", "kernel", "rewards", *reactions.steps], steps),
    ]
    publish("\n".join(page), arguments.write)


if __name__ == "__main__":
    main()
