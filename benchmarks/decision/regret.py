"""Regret of decisions under an uncertain reward, for ensembles of several sizes.

Each repetition draws a problem (``tree_problem.py``), an ensemble of members with exact
policies, and the true inputs, which are no member. In each round a leaf is chosen and
its utility observed with noise of standard deviation 0.5. Regret is the largest true
utility minus that of the chosen leaf, without noise, summed over the rounds. Arms of a
repetition share problem, members, truth and noise (one number per round and leaf).

Arms. "sampled" acts by the probabilities of a policy, "greedy" by its likeliest action.

- *surrogate*: ``ThompsonPolicy`` with a ``CompositionalPCESurrogate`` of degree 2 and,
  to learn, a ``PolynomialChaosRegressor`` of degree 2 from the inputs to the utilities
  of the members. Its leave-one-out error is added to the variance of the noise.
- *outcome model*: the same belief, but the leaf is the best one of the outcome model
  at one draw: no policy at all.
- *ensemble*: weights on the members, whose utilities and policies are known exactly.
- *exact*: the same as the surrogate, with the true functions in place of both fits.

All settings were fixed before the first run. Run:
``python -m benchmarks.decision.regret``

``--rounds`` and ``--arms`` came later, to look at a longer campaign.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from benchmarks.measuring import table
from benchmarks.studies.closed_loop_arms import node_widths, walk
from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.decision import ThompsonPolicy

from .tree_problem import N_INPUTS, WIDTHS, TreeProblem

DEGREE = 2
NOISE_SD = 0.5
#: What every other arm is compared with.
REFERENCE = "surrogate, draw, greedy"


class Setting:
    """What the arms of one repetition share."""

    def __init__(self, n_members: int, n_rounds: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.problem = TreeProblem.draw(rng)
        self.truth = rng.normal(size=N_INPUTS)
        self.utility = self.problem.utilities(self.truth[np.newaxis])[0]
        noise_shape = (n_rounds, len(self.utility))
        self.noise = rng.normal(scale=NOISE_SD, size=noise_shape)
        # Members come last: a smaller ensemble is the start of a larger one.
        self.X = rng.normal(size=(n_members, N_INPUTS))
        self.member_utilities = self.problem.utilities(self.X)
        self.member_policies = self.problem.policies(self.X)
        self.surrogate = CompositionalPCESurrogate(
            DEGREE, steps=node_widths(WIDTHS), solver="ridge", distribution="normal"
        )
        self.surrogate.fit(self.X, self.member_policies)
        self.outcome = PolynomialChaosRegressor(
            DEGREE, solver="ridge", distribution="normal"
        )
        self.outcome.fit(self.X, self.member_utilities)
        self.outcome_sd = np.sqrt(NOISE_SD**2 + self.outcome.loo_error_)
        self.seed = seed

    def action_rng(self) -> np.random.Generator:
        """Randomness of the actions of an arm: not the stream of the problem."""
        return np.random.default_rng((self.seed, 1))


def greedy_leaf(policy: np.ndarray) -> int:
    """Walk by the likeliest action of a policy at every node; return the leaf."""
    blocks = np.split(policy, np.cumsum(node_widths(WIDTHS))[:-1])
    return walk(np.array([block.argmax() for block in blocks]), WIDTHS)


class Surrogate:
    """Any rule of ThompsonPolicy."""

    def __init__(self, setting, learns=True, **options) -> None:
        self.setting, self.learns = setting, learns
        self.policy = ThompsonPolicy(
            setting.surrogate, random_state=setting.seed, **options
        ).fit()

    def choose(self) -> int:
        return walk(self.policy.choose().actions, WIDTHS)

    def learn(self, leaf: int, value: float) -> None:
        if self.learns:
            sd = self.setting.outcome_sd[leaf]
            outcome = self.setting.outcome
            self.policy.update(value, outcome=outcome, noise_sd=sd, which=leaf)


class OutcomeModel(Surrogate):
    """The leaf whose predicted utility is largest at one draw of the inputs."""

    def __init__(self, setting) -> None:
        super().__init__(setting)
        self.rng = setting.action_rng()

    def choose(self) -> int:
        draw = self.policy.belief_.sample(1, self.rng)
        return int(self.setting.outcome.predict(draw)[0].argmax())


class Exact:
    """Thompson sampling with the true functions."""

    def __init__(self, setting) -> None:
        self.setting, self.rng = setting, setting.action_rng()
        self.policy = ThompsonPolicy(
            setting.surrogate,
            inputs=[norm(0, 1)] * N_INPUTS,
            random_state=setting.seed,
        ).fit()

    def choose(self) -> int:
        draw = self.policy.belief_.sample(1, self.rng)
        return greedy_leaf(self.setting.problem.policies(draw)[0])

    def learn(self, leaf: int, value: float) -> None:
        utilities = self.setting.problem.utilities
        self.policy.update(value, outcome=utilities, noise_sd=NOISE_SD, which=leaf)


class Ensemble:
    """Weights on the members; nothing between them."""

    def __init__(self, setting) -> None:
        self.setting = setting
        self.log_weights = np.zeros(len(setting.X))
        self.rng = setting.action_rng()

    def choose(self) -> int:
        policies = self.setting.member_policies
        weights = softmax(self.log_weights)
        return greedy_leaf(policies[self.rng.choice(len(policies), p=weights)])

    def learn(self, leaf: int, value: float) -> None:
        error = value - self.setting.member_utilities[:, leaf]
        self.log_weights -= 0.5 * (error / NOISE_SD) ** 2


ARMS = {
    "surrogate, draw, sampled": lambda s: Surrogate(s),
    REFERENCE: lambda s: Surrogate(s, greedy=True),
    "surrogate, draw, greedy, Kalman": lambda s: Surrogate(
        s, greedy=True, method="kalman"
    ),
    "surrogate, vote": lambda s: Surrogate(s, rule="vote"),
    "surrogate, mean, greedy": lambda s: Surrogate(s, rule="mean", greedy=True),
    "outcome model, draw": OutcomeModel,
    "ensemble, draw, greedy": Ensemble,
    "surrogate, mean, greedy, no update": lambda s: Surrogate(
        s, rule="mean", greedy=True, learns=False
    ),
    "exact, draw, greedy": Exact,
}


def regrets(setting: Setting, arms: list[str]) -> np.ndarray:
    """Return the regret of every round; shape (n_arms, n_rounds)."""
    best = setting.utility.max()
    found = np.empty((len(arms), len(setting.noise)))
    for a, name in enumerate(arms):
        arm = ARMS[name](setting)
        for t, noise in enumerate(setting.noise):
            leaf = arm.choose()
            found[a, t] = best - setting.utility[leaf]
            arm.learn(leaf, setting.utility[leaf] + noise[leaf])
    return found


def rows_of(found: np.ndarray, arms: list[str]) -> list[list[str]]:
    """Return a row for each arm, of regrets (n_repetitions, n_arms, n_rounds)."""
    total = found.sum(axis=2)
    rows = []
    for a, name in enumerate(arms):
        low, middle, high = np.quantile(total[:, a], [0.1, 0.5, 0.9])
        cells = [name, f"{middle:.1f} ({low:.1f} to {high:.1f})"]
        cells.append(f"{found[:, a, -10:].mean():.2f}")
        difference = total[:, a] - total[:, arms.index(REFERENCE)]
        half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
        shown = f"{difference.mean():+.1f} ± {half:.1f}"
        rows.append([*cells, "" if name == REFERENCE else shown])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--members", type=int, nargs="+", default=[10, 30, 100, 300])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    arguments = parser.parse_args()
    for n_members in arguments.members:
        start = time.process_time()
        settings = [
            Setting(n_members, arguments.rounds, seed)
            for seed in range(arguments.repetitions)
        ]
        found = np.array([regrets(setting, arguments.arms) for setting in settings])
        seconds = time.process_time() - start
        print(
            f"{n_members} members, {arguments.rounds} rounds, {len(found)} "
            f"repetitions, {seconds:.0f} s CPU\n"
        )
        heads = ["arm", "median regret (10-90 %)", "last 10 rounds, each"]
        heads.append("minus draw, greedy")
        print(table(heads, rows_of(found, arguments.arms)), flush=True)


if __name__ == "__main__":
    main()
