"""The twenty reactions that drive each choice most, moved and solved again.

Buchwald–Hartwig, exact policies along the reference trajectory, both recipes of
proxies. Members 0 to 49 are *fitted*, members 50 to 99 are *fresh*. A *move* changes
the predicted yield of a reaction by one standard deviation over the fitted members, up
or down: one reaction at a time, all twenty together up or down, or all twenty with
random signs (20 draws). It starts from the mean log R of the fitted members, or from
each of the fresh ones. What is predicted is the change of the centred log-policy of the
step:

    R² = 1 − Σ (actual − predicted)² / Σ actual²

over actions, moves and, for fresh members, members. No mean is subtracted: a prediction
of no change has R² 0.

Linear indices give a slope for each reaction and action:

- *surrogate*: ``effect`` of ``back_to_reward``, for policy-relevant features and a
  ``CompositionalPCESurrogate`` of degree 1, with ten principal components between
  them or none, on the fitted members or on 500 (the fitted ones and others than the
  fresh ones); *on rewards* has ten principal components of log R itself;
- *first order*: ``components_`` of ``PolicyRelevantFeatures``, which is
  ``log_policy_change(order=1)``, one pilot at the mean reward;
- *mean of first orders*: each fitted member as its own pilot (Stein's lemma: for
  normal rewards the mean gradient is the best linear map);
- *solved half-differences*: of both moves from the mean reward, solved. One at a time
  from the mean no linear index can do better.

Not linear:

- *second order*: ``log_policy_change(order=2)``, the same pilot;
- *mean of fitted members*: of their own changes, solved again. It shows about what a
  prediction that does not know the member can reach on fresh ones;
- *second order, member known*: ``log_policy_change`` of the member with the move, less
  that of the member, the same pilot;
- *member's pilot*: features fitted to the one fresh member, first and second order.

``log_policy_change()``, all orders, is an identity here; its largest error is printed.
A reaction's place in a ranking is the root mean square of the changes of a step that
one standard deviation makes. For an expansion of degree 1 this is the order of
``variance_share`` and of ``effect_size``.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.embedding.perturbed_reactions``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from gflownet_envs import StateGraph
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce import CompositionalPCESurrogate
from skpce.inspection import Result, back_to_reward

from .reactions import RECIPES, Reactions, add_options, markdown_table, publish

N_FIT, N_FRESH, N_MANY = 50, 50, 500
N_TOP, N_DRAWS, N_SHOWN = 20, 20, 5
BLOCK = 256  # reactions moved at once

# Name, principal components (None: no such step), members, policy-relevant features.
SURROGATES = (
    ("surrogate on rewards, 10 components", 10, N_FIT, False),
    ("surrogate, 10 components", 10, N_FIT, True),
    ("surrogate", None, N_FIT, True),
    ("surrogate, 10 components, 500 members", 10, N_MANY, True),
    ("surrogate, 500 members", None, N_MANY, True),
)
FIRST = "first order"
Change = Callable[[np.ndarray], np.ndarray]


class Choices:
    """Members of one recipe, and changes of their centred log-policies.

    Changes have one row a reward and one column an action, steps side by side.
    """

    def __init__(self, reactions: Reactions, recipe: str) -> None:
        log_reward = reactions.log_reward(N_MANY + N_FRESH, recipe)
        self.reactions = reactions
        self.graph = StateGraph.from_environment(reactions.environment)
        self.fitted, self.fresh, others = np.split(log_reward, [N_FIT, N_FIT + N_FRESH])
        self.many = np.concatenate([self.fitted, others])
        self.mean, self.spread = self.fitted.mean(axis=0), self.fitted.std(axis=0)
        sizes = list(reactions.steps.values())
        self.steps = [
            slice(end - n, end) for n, end in zip(sizes, np.cumsum(sizes), strict=True)
        ]

    def centred(
        self,
        values: np.ndarray,  # shape: (..., 47)
    ) -> np.ndarray:  # shape: (..., 47)
        parts = self.by_step(values)
        return np.concatenate(
            [part - part.mean(axis=-1, keepdims=True) for part in parts], axis=-1
        )

    def by_step(self, values: np.ndarray) -> list[np.ndarray]:
        return [values[..., step] for step in self.steps]

    def solved(
        self,
        base: np.ndarray,  # shape: (4608,)
        moves: np.ndarray,  # shape: (n, 4608)
    ) -> np.ndarray:  # shape: (n, 47)
        """Return the actual changes: the policy solved before and after."""
        rows = np.concatenate([base[None], base + moves])
        log_policy = self.centred(np.log(self.reactions.policies(rows)))
        return log_policy[1:] - log_policy[0]

    def expanded(
        self,
        pilot: PolicyRelevantFeatures,
        rewards: np.ndarray,  # shape: (n, 4608)
        order: int | None,
    ) -> np.ndarray:  # shape: (n, 47)
        return self.centred(pilot.log_policy_change(rewards, order=order))

    def features(self, scale: bool = False) -> PolicyRelevantFeatures:
        return PolicyRelevantFeatures(
            self.graph,
            trajectory=self.reactions.reference,
            relative=True,
            scale=scale,
        )

    @cached_property
    def pilot(self) -> PolicyRelevantFeatures:
        return self.features().fit(self.fitted)

    @cached_property
    def own_pilots(self) -> list[PolicyRelevantFeatures]:
        return [self.features().fit(member[None]) for member in self.fresh]

    @cached_property
    def effects(self) -> dict[str, Result]:
        """What ``back_to_reward`` says of each surrogate."""
        steps = tuple(self.reactions.steps.values())
        found = {}
        for name, n_components, n_members, relevant in SURROGATES:
            X = self.fitted if n_members == N_FIT else self.many
            embedding: list[Any] = [self.features(scale=True)] if relevant else []
            if n_components is not None:
                embedding.append(PCA(n_components, svd_solver="full"))
            surrogate = CompositionalPCESurrogate(
                1, steps=steps, solver="ridge", distribution="normal"
            )
            pipeline = make_pipeline(*embedding, surrogate)
            found[name] = back_to_reward(pipeline.fit(X, self.reactions.policies(X)), X)
        return found

    @cached_property
    def slopes(self) -> dict[str, np.ndarray]:  # shape of each: (4608, 47)
        """Change of each log-policy for a nat of one reaction, by linear indices."""
        members = {N_FIT: self.fitted, N_MANY: self.many}
        found = {
            name: self.effects[name].effect.T / members[n].std(axis=0)[:, np.newaxis]
            for name, _, n, _ in SURROGATES
        }
        found[FIRST] = self.pilot.components_.T
        found["mean of first orders"] = np.mean(
            [self.features().fit(each[None]).components_.T for each in self.fitted],
            axis=0,
        )
        up, down = self.each_solved
        found["solved half-differences"] = (up - down) / (2 * self.spread[:, None])
        return {name: self.centred(slope) for name, slope in found.items()}

    @cached_property
    def each_solved(self) -> np.ndarray:  # shape: (2, 4608, 47)
        """Actual changes from the mean, each reaction alone up and down."""
        return self._each(lambda moves: self.solved(self.mean, moves))

    @cached_property
    def each_second(self) -> np.ndarray:  # shape: (2, 4608, 47)
        """The same by the second order."""
        return self._each(lambda moves: self.expanded(self.pilot, self.mean + moves, 2))

    def _each(self, change: Change) -> np.ndarray:
        parts = []
        for first in range(0, len(self.mean), BLOCK):
            moves = np.diag(self.spread)[first : first + BLOCK]
            parts.append([change(moves), change(-moves)])
        return np.concatenate(parts, axis=1)


def sizes(
    changes: np.ndarray,  # shape: (..., 4608, K)
) -> np.ndarray:  # shape: (4608,)
    squares = np.square(changes).mean(axis=-1)
    return np.sqrt(squares if squares.ndim == 1 else squares.mean(axis=0))


def top(
    size: np.ndarray,  # shape: (4608,)
) -> np.ndarray:  # shape: (20,)
    return np.argsort(-size, kind="stable")[:N_TOP]


def agreement(
    actual: np.ndarray,  # shape: (..., n, K)
    predicted: np.ndarray,  # shape: (n, K) or as `actual`
) -> tuple[float, float]:
    """Return R² about zero and the squared correlation; NaN where nothing changed.

    Centred changes have mean zero, so that the correlation subtracts none either.
    """
    predicted = np.broadcast_to(predicted, actual.shape)
    total, power = np.square(actual).sum(), np.square(predicted).sum()
    if total == 0.0:
        return np.nan, np.nan
    together = (actual * predicted).sum()
    r2 = 1 - np.square(actual - predicted).sum() / total
    return r2, together**2 / (total * power) if power > 0 else 0.0


def three_moves(
    choices: Choices, reactions: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    alone = np.diag(choices.spread)[reactions]
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (N_DRAWS, len(reactions)))
    return {
        "one at a time": np.concatenate([alone, -alone]),
        "together": np.array([1.0, -1.0])[:, np.newaxis] * alone.sum(axis=0),
        "random signs": signs @ alone,
    }


def compared(
    choices: Choices,
    moves: np.ndarray,  # shape: (n, 4608)
    step: slice,
) -> dict[str, list[tuple[float, float]]]:
    """Return the agreement of each prediction, from the mean and from fresh members."""
    mean, pilot = choices.mean, choices.pilot
    blind = {name: moves @ slope for name, slope in choices.slopes.items()}
    blind["second order"] = choices.expanded(pilot, mean + moves, 2)
    blind["mean of fitted members"] = np.mean(
        [choices.solved(member, moves) for member in choices.fitted], axis=0
    )
    pairs = list(zip(choices.fresh, choices.own_pilots, strict=True))
    knowing = {
        "second order, member known": [
            choices.expanded(pilot, member + moves, 2)
            - choices.expanded(pilot, member[None], 2)
            for member in choices.fresh
        ],
        "first order, member's pilot": [
            choices.expanded(own, member + moves, 1) for member, own in pairs
        ],
        "second order, member's pilot": [
            choices.expanded(own, member + moves, 2) for member, own in pairs
        ],
    }
    actual = choices.solved(mean, moves)[:, step]
    fresh = np.stack([choices.solved(each, moves) for each in choices.fresh])[..., step]
    found = {
        name: [agreement(base, part[:, step]) for base in (actual, fresh)]
        for name, part in blind.items()
    }
    for name, parts in knowing.items():
        part = np.stack(parts)[..., step]
        found[name] = [(np.nan, np.nan), agreement(fresh, part)]
    return found


def cell(pair: list[tuple[float, float]], which: int) -> str:
    shown = ["–" if np.isnan(each[which]) else f"{each[which]:z.2f}" for each in pair]
    return " / ".join(shown)


def rankings_table(choices: Choices) -> str:
    """Say how many of the twenty are those of the largest actual changes."""
    ranked: dict[str, list[np.ndarray]] = {}
    for name, effects in choices.effects.items():
        for column in ("share", "variance_share", "explained_alone"):
            ranked[f"{name}: {column}"] = list(np.abs(getattr(effects, column)))
    changes = {
        name: choices.slopes[name] * choices.spread[:, np.newaxis]
        for name in (FIRST, "mean of first orders")
    }
    for name, change in (*changes.items(), ("second order", choices.each_second)):
        ranked[name] = [sizes(part) for part in choices.by_step(change)]
    true = [top(sizes(part)) for part in choices.by_step(choices.each_solved)]
    rows = []
    for name, by_step in ranked.items():
        pairs = zip(by_step, true, strict=True)
        both = [np.intersect1d(top(size), twenty) for size, twenty in pairs]
        rows.append([name, *(str(len(each)) for each in both)])
    return markdown_table(["index", *choices.reactions.steps], rows)


def own_twenty_table(choices: Choices) -> str:
    """Judge each linear index on the reactions that it names itself."""
    rows = []
    for name, slope in choices.slopes.items():
        moved = slope * choices.spread[:, np.newaxis]
        found, retained = [], []
        for number, step in enumerate(choices.steps):
            chosen = top(sizes(moved[:, step]))
            moves = three_moves(choices, chosen, number)["one at a time"]
            starts = [choices.mean, *choices.fresh]
            actual = [choices.solved(start, moves)[:, step] for start in starts]
            predicted = (moves @ slope)[:, step]
            both = [
                agreement(part, predicted) for part in (actual[0], np.stack(actual[1:]))
            ]
            found.append(cell(both, 0))
            if name in choices.effects:
                effects = choices.effects[name]
                q2, part = (
                    1 - effects.unexplained[number],
                    effects.retained[chosen].mean(),
                )
                retained.append(f"{q2:.2f}, {part:.2f}")
        rows.append([name, "R²", *found])
        if retained:
            rows.append(["", "Q², retained", *retained])
    return markdown_table(["index", "", *choices.reactions.steps], rows)


def moves_tables(choices: Choices) -> str:
    """Judge each prediction on the twenty reactions of first order."""
    deviation = choices.spread[:, np.newaxis]
    found: dict[str, list[dict]] = {}
    error = 0.0
    for number, step in enumerate(choices.steps):
        chosen = top(sizes((choices.slopes[FIRST] * deviation)[:, step]))
        for name, moves in three_moves(choices, chosen, number).items():
            found.setdefault(name, []).append(compared(choices, moves, step))
            exact = choices.expanded(choices.pilot, choices.mean + moves, None)
            gap = exact - choices.solved(choices.mean, moves)
            error = max(error, np.abs(gap).max())
    columns = ["moved", "prediction", *choices.reactions.steps]
    pages = []
    for which in (0, 1):
        rows = [
            [moved, name, *(cell(step[name], which) for step in by_step)]
            for moved, by_step in found.items()
            for name in by_step[0]
            if which == 0 or moved == "one at a time"
        ]
        title = ("R²", "Squared correlation")[which]
        pages.append(f"{title}, from the mean / from fresh members\n")
        pages.append(markdown_table(columns, rows))
    pages.append(f"All orders from the mean: largest error {error:.0e}\n")
    return "\n".join(pages)


def leading_table(choices: Choices) -> str:
    """Name the first reactions of each step, with the size of their changes."""
    reactions = choices.reactions
    names = np.array(reactions.environment.action_names, dtype=object)
    offsets = np.array(reactions.environment.offsets)
    rows = []
    for label, step in zip(reactions.steps, choices.steps, strict=True):
        size = sizes((choices.slopes[FIRST] * choices.spread[:, None])[:, step])
        chosen = top(size)[:N_SHOWN]
        changes = np.concatenate([choices.each_second, choices.each_solved])
        for reaction in chosen:
            levels = names[offsets + reactions.levels[reaction]]
            spread = TEMPERATURE * choices.spread[reaction]
            figures = [size[reaction], *sizes(changes[:, reaction, step])]
            name = " · ".join(level.split(": ", 1)[1] for level in levels)
            shown = [f"{figure:.3f}" for figure in figures]
            rows.append([label, name, f"{spread:.1f}", *shown])
    columns = ["step", "reaction", "sd, percent", FIRST, "second, up", "second, down"]
    return markdown_table([*columns, "solved, up", "solved, down"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser)
    arguments = parser.parse_args()
    reactions = Reactions(arguments.blocks)
    pages = []
    for recipe in RECIPES:
        started = time.process_time()
        choices = Choices(reactions, recipe)
        spread = np.percentile(choices.spread, [10, 50, 90])
        pages += [
            f"## Recipe {recipe}\n",
            "Standard deviation of log R, 10, 50 and 90 percent of the reactions: "
            f"{spread[0]:.2f}, {spread[1]:.2f}, {spread[2]:.2f}\n",
            f"Of {N_TOP}, among those of the largest actual changes from the mean\n",
            rankings_table(choices),
            "One at a time, the index's own twenty: R² from the mean / from fresh "
            "members; leave-one-out Q² of the step, and mean `retained`\n",
            own_twenty_table(choices),
            f"The twenty of {FIRST}\n",
            moves_tables(choices),
        ]
        if recipe == "default":
            pages.append(f"The first {N_SHOWN}, rms change over the actions\n")
            pages.append(leading_table(choices))
        seconds = time.process_time() - started
        pages.append(f"CPU seconds, proxies trained before: {seconds:.0f}\n")
    publish("\n".join(pages), arguments.write)


if __name__ == "__main__":
    main()
