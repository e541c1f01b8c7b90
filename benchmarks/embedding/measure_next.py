"""Which reactions to measure next, so that the choice of an additive is less fragile.

Each repetition draws the measured part of the Buchwald–Hartwig reactions, trains an
ensemble on it, lets every rule pick 5 % of the others, reveals their yields and trains
the ensemble again. A network sees a random part of what is measured. The networks of
all rules have the same random streams: they draw the same places of the table, in which
the picks come last.

The choice is that of the additive at the end of the reference trajectory. Rules by
indices fit one pipeline, policy-relevant features, PCA and an expansion of degree 1,
and read `back_to_reward` for that step. In these features the logits of the step are
included, on purpose: this is about which entries matter, no test of prediction.

The rules, the number of components and the noise of the rule that picks in turn were
chosen on seeds 1000 and 1001; the page has seeds 0, 1, ...

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.measure_next
--blocks runs/measure-blocks --write docs/downloads/measure_next.txt``
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline

from gflownet_envs import (
    policies_everywhere,
    solve_exact,
    train_yield_proxies,
    yield_log_reward,
)
from gflownet_envs.block_store import BlockStore, array_digest, load_or_run
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from gflownet_envs.rewards.proxy_training import ProxySpec
from skpce import CompositionalPCESurrogate
from skpce.inspection import Result, back_to_reward
from skpce.metrics import policy_fragility, total_variation_distance

from .measure_next_page import page
from .reactions import Reactions, add_options, publish

N_MEMBERS = 50
MEASURED, PICKED, SEEN = 0.4, 0.05, 0.75  # of all, of the unmeasured, of the measured
COMPONENTS = 40
STEP = "additive"

# In mean variances of the candidates. A measured yield then retains a third of its
# variance, as about a third of the networks do not train on it.
NOISE = 0.5


class Study:
    """What all repetitions share.

    Attributes
    ----------
    objects : ndarray of shape (4599,), int
        Place of every measured reaction in the reward table.
    shared : ndarray of shape (4608,), int
        How many levels each reaction has in common with the state of the choice.
    """

    def __init__(self, blocks: str | None) -> None:
        self.reactions = Reactions()
        self.store = BlockStore(blocks) if blocks else None
        data, sizes = self.reactions.data, self.reactions.environment.sizes
        self.objects = np.ravel_multi_index(data.data.T, sizes)
        state = data.data[np.argmax(data.target), :-1]
        self.shared = (self.reactions.levels[:, :-1] == state).sum(axis=1)

    def train(
        self,
        rows: np.ndarray,  # shape: (n,), int
        seed: int,
    ) -> np.ndarray:  # shape: (N_MEMBERS, 4608)
        """Return log R of an ensemble that knows the yields of some reactions."""
        data = self.reactions.data
        proxies = train_yield_proxies(
            data.data[rows],
            data.target[rows],
            self.reactions.levels,
            ProxySpec(train_fraction=SEEN),
            members=range(N_MEMBERS),
            seed=seed,
            store=self.store,
        )
        return yield_log_reward(proxies.predictions, TEMPERATURE)

    @cached_property
    def truth(self) -> np.ndarray:  # shape: (1, ΣK)
        """Policies of the measured yields in every state; others count as 0 percent."""
        yields = np.zeros(len(self.reactions.levels))
        yields[self.objects] = self.reactions.data.target
        log_reward = yield_log_reward(yields[np.newaxis], TEMPERATURE)
        solution = solve_exact(self.reactions.environment, log_reward)
        return policies_everywhere(solution.graph, solution).y

    def figures(
        self,
        log_reward: np.ndarray,  # shape: (E, 4608)
    ) -> np.ndarray:  # shape: (2, 4)
        """Return variance, TV and two errors: at the choice, and averaged over states.

        Averages are over all states where an additive is chosen; those of the errors
        over the states all of whose reactions are measured.
        """
        solution = solve_exact(self.reactions.environment, log_reward)
        every = policies_everywhere(solution.graph, solution)
        fragility = policy_fragility(every.y, steps=every.steps, mask=every.mask)
        of_mean, of_members = (
            total_variation_distance(policy, self.truth, steps=every.steps).mean(axis=0)
            for policy in (every.y.mean(axis=0, keepdims=True), every.y)
        )
        table = np.array(
            [
                fragility.aitchison_variance,
                fragility.total_variation,
                of_mean,
                of_members,
            ]
        )
        state = solution.graph.state_ids(self.reactions.reference.states[-2])
        last = table[:, -len(self.complete) :]
        averages = [*last[:2].mean(axis=1), *last[2:, self.complete].mean(axis=1)]
        return np.array([table[:, int(state)], averages])

    @cached_property
    def complete(self) -> np.ndarray:  # shape: (192,), bool
        """Whether every additive was measured in a state where one is chosen."""
        measured = np.zeros(len(self.reactions.levels), dtype=bool)
        measured[self.objects] = True
        return measured.reshape(-1, self.reactions.steps[STEP]).all(axis=1)


class Repetition:
    """One measured set, the ensemble that knows it, and what rules look at.

    Candidates are the unmeasured reactions.
    """

    def __init__(self, study: Study, seed: int) -> None:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(study.objects))
        n_measured, _, self.n_picks = split_sizes(len(order))
        self.study, self.seed = study, seed
        self.measured, self.unmeasured = order[:n_measured], order[n_measured:]
        self.candidates = study.objects[self.unmeasured]  # shape: (n_candidates,)
        self.chance = rng.random(len(self.candidates))
        self.log_reward = study.train(self.measured, seed)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The expansion whose indices are read."""
        reactions = self.study.reactions
        return make_pipeline(
            PolicyRelevantFeatures(
                reactions.environment, trajectory=reactions.reference
            ),
            PCA(COMPONENTS, svd_solver="full"),
            CompositionalPCESurrogate(
                1, steps=reactions.steps, solver="ridge", distribution="normal"
            ),
        ).fit(self.log_reward, reactions.policies(self.log_reward))

    @cached_property
    def effects(self) -> Result:
        return back_to_reward(self.pipeline, self.log_reward)

    def index(self, name: str) -> np.ndarray:  # shape: (n_candidates,)
        """Return an index of the candidates for the choice."""
        step = self.effects.target_names.index(STEP)
        return getattr(self.effects, name)[step, self.candidates]

    def after(
        self,
        picks: np.ndarray,  # shape: (n_picks,), int
    ) -> np.ndarray:  # shape: (2, 4)
        """Return the figures of the ensemble that has learned the picks too."""
        rows = np.concatenate([self.measured, np.sort(self.unmeasured[picks])])
        return self.study.figures(self.study.train(rows, self.seed))

    def results(self) -> dict[str, np.ndarray]:
        """Let every rule pick; return figures, and what the picks are like.

        Levels are counted that reactions share with the state of the choice: 0 to 3.
        """
        shared = self.study.shared[self.candidates]
        picks = [rule(self)[: self.n_picks] for rule in RULES.values()]
        predicted = self.log_reward[:, self.candidates].mean(axis=0)
        explained = self.index("explained_alone")
        return {
            "before": self.study.figures(self.log_reward),
            "after": np.array([self.after(its_picks) for its_picks in picks]),
            "shared": np.array([np.bincount(shared[p], minlength=4) for p in picks]),
            "shared_by_all": np.bincount(shared, minlength=4),
            "log_reward": np.array([predicted[p].mean() for p in picks]),
            "explained_alone": np.array(
                [explained[shared == n].mean() for n in range(4)]
            ),
        }


Rule = Callable[[Repetition], np.ndarray]


def largest_first(score: Callable[[Repetition], np.ndarray]) -> Rule:
    """Return the rule that picks the largest scores."""
    return lambda repetition: np.argsort(-score(repetition), kind="stable")


def explained_in_turn(repetition: Repetition) -> np.ndarray:  # shape: (n_picks,), int
    """Pick the largest `explained_alone`, condition on it, pick the next.

    With the covariances C of the candidates and G of candidates with the predicted
    log-ratios, a candidate explains |G_x|² / (C_xx + noise), up to a constant; without
    noise and picks this is `explained_alone`. A pick takes from both what it explains.
    """
    reactions = repetition.study.reactions
    policy = repetition.pipeline.predict(repetition.log_reward)
    log_ratios = np.log(policy[:, -reactions.steps[STEP] :])
    log_ratios -= log_ratios.mean(axis=1, keepdims=True)
    log_ratios -= log_ratios.mean(axis=0)
    entries = repetition.log_reward[:, repetition.candidates]
    entries = entries - entries.mean(axis=0)
    inner = np.eye(len(entries)) / len(entries)  # C is entries' inner entries
    variance = entries.var(axis=0)
    G = entries.T @ inner @ log_ratios
    noise = NOISE * variance.mean()
    picks: list[int] = []
    for _ in range(repetition.n_picks):
        explained = np.square(G).sum(axis=1) / (variance + noise)
        explained[picks] = -1.0
        pick = int(explained.argmax())
        direction = inner @ entries[:, pick]
        covariance = entries.T @ direction
        total = variance[pick] + noise
        G = G - np.outer(covariance / total, G[pick])
        variance = variance - covariance**2 / total
        inner = inner - np.outer(direction, direction) / total
        picks.append(pick)
    return np.array(picks)


RULES: dict[str, Rule] = {
    "random": largest_first(lambda r: r.chance),
    "largest variance": largest_first(
        lambda r: r.log_reward[:, r.candidates].var(axis=0)
    ),
    "near, no index": largest_first(
        lambda r: r.study.shared[r.candidates].clip(min=1) + r.chance
    ),
    "near, high yields": lambda r: np.lexsort(
        [-r.log_reward[:, r.candidates].mean(axis=0), -r.study.shared[r.candidates]]
    ),
    "`explained_alone`": largest_first(lambda r: r.index("explained_alone")),
    "`explained_alone` in turn": explained_in_turn,
    "`variance_share`": largest_first(lambda r: r.index("variance_share")),
}


def split_sizes(n_reactions: int) -> tuple[int, int, int]:
    """Return the numbers of known reactions, of candidates and of picks."""
    n_measured = round(MEASURED * n_reactions)
    n_candidates = n_reactions - n_measured
    return n_measured, n_candidates, round(PICKED * n_candidates)


def results(
    study: Study, seeds: range
) -> dict[str, np.ndarray]:  # shapes: (n_repetitions, ...)
    """Return what the repetitions gave; finished ones come from the store."""
    found = []
    for seed in seeds:
        key = {
            "kind": "measure next",
            "seed": seed,
            "members": N_MEMBERS,
            "shares": [MEASURED, PICKED, SEEN],
            "components": COMPONENTS,
            "noise": NOISE,
            "rules": list(RULES),
            "yields_sha256": array_digest(study.reactions.data.target),
        }
        run = partial(_results_of_seed, study, seed)
        found.append(load_or_run(study.store, key, run))
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _results_of_seed(study: Study, seed: int) -> dict[str, np.ndarray]:
    return Repetition(study, seed).results()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.repetitions < 2:
        raise ValueError(
            "repetitions must be at least 2, for standard errors, "
            f"got {arguments.repetitions}"
        )
    study = Study(arguments.blocks)
    first = arguments.first_seed
    found = results(study, range(first, first + arguments.repetitions))
    _, n_candidates, n_picks = split_sizes(len(study.objects))
    design = {
        "n_repetitions": arguments.repetitions,
        "n_members": N_MEMBERS,
        "measured": MEASURED,
        "seen": SEEN,
        "picked": PICKED,
        "n_candidates": n_candidates,
        "n_picks": n_picks,
        "components": COMPONENTS,
        "temperature": TEMPERATURE,
        "n_states": len(study.complete),
        "n_complete": study.complete.sum(),
        "first_seed": first,
        "last_seed": first + arguments.repetitions - 1,
    }
    publish(page(found, list(RULES), design), arguments.write)


if __name__ == "__main__":
    main()
