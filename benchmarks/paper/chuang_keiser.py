"""Does a low Sobol index mark genuine chemistry, and a high one an artefact?

The paper says so of the steps of the Buchwald–Hartwig task, in answer to Chuang and
Keiser (2018). Here the answer is known: the data are changed so that one component
carries no signal, and everything else is done as in the task.

- *measured*: the data as they are. All four components carry signal.
- *scrambled additives*: the additives of all rows are permuted.
- *additives scrambled within blocks*: yields are permuted among the additives of each
  catalyst, base and halide; the averages of the other components are untouched.
- *permuted halides*, *catalysts*, *bases*: the same for the levels of that component.
- *left-out additives*: no member sees a reaction with any of six additives.

A permuted component is an *artefact*: whatever a policy prefers among its levels is
chance of the data set. Each repetition permutes anew and trains 50 members anew, each
on 30 % of the rows (the task's proxies with 64 units a layer in place of 128). Policies
are exact, along the trajectory of the task. For each step:

- of the paper: D of its expansion and of the members (sum over additive log-ratios),
  mean first-order index of PC1, largest index of a component (degree 3, 500
  predictions);
- fragility: mean total variation, and over that of equal noise; Aitchison variance per
  degree of freedom;
- the verdict on five components, and `explain` on the leading component of each named
  part: does something drive the step?
- named parts, solved again: the shares of the component's average, of single reactions;
- *agreement*: the square of the members' mean log-policy over that and their variance;
- *gain on unseen reactions*: by how much (in R²) a member predicts the rows that it has
  not seen better with the component than with its mean over the levels.

Run: ``SKPCE_DATA=… OMP_NUM_THREADS=1 python -m benchmarks.paper.chuang_keiser``; what
is in ``benchmarks/paper/results/chuang_keiser.json`` is not repeated. With ``--recipe
paper`` it adds ensembles of the paper's proxies, with ``--recipe "nine tenths"`` of
members that see 90 % of the rows. Then ``python -m benchmarks.paper.artefacts_page``
writes tables and picture.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.embedding.reactions import Reactions
from benchmarks.measuring import load, options, save
from gflownet_envs import policies_along, solve_exact, train_feature_proxies
from gflownet_envs.experiments.analysis import span_coordinates
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.task import NamedParts, factorial_parts, level_parts
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.random_streams import Purpose, member_streams
from gflownet_envs.rewards.proxies import PAPER_PROXY, ProxySpec
from gflownet_envs.rewards.source import one_hot_levels
from skpce import CompositionalPCESurrogate, LogRatioTransformer, explain
from skpce.inspection import part_effects, verdict
from skpce.metrics import excess_fragility, policy_fragility

RECORD = Path(__file__).parent / "results" / "chuang_keiser.json"
COMPONENTS = ("catalyst", "base", "aryl_halide", "additive")
N_MEMBERS, N_REPETITIONS = 50, 20
N_COMPONENTS, PAPER_DEGREE, N_PAPER_PREDICTIONS = 5, 3, 500
N_LEFT_OUT, N_DRAWS, N_EXPLAINED = 6, 48, 10
SINGLE = "single reactions"

RECIPES = {
    "default": ProxySpec(hidden=(64, 64)),
    "paper": replace(PAPER_PROXY, hidden=(64, 64)),
    # Members that share most of their rows share the chance in them too.
    "nine tenths": ProxySpec(hidden=(64, 64), train_fraction=0.9, batch_size=64),
}


@dataclass(frozen=True)
class Condition:
    """What is done to the data.

    Attributes
    ----------
    scrambled : str or None
        Component whose levels are permuted.
    within : bool
        Whether only among reactions that are equal in all other components.
    n_left_out : int
        Additives that no member sees.
    """

    scrambled: str | None = None
    within: bool = True
    n_left_out: int = 0


CONDITIONS = {
    "measured": Condition(),
    "scrambled additives": Condition("additive", within=False),
    "additives scrambled within blocks": Condition("additive"),
    "permuted halides": Condition("aryl_halide"),
    "permuted catalysts": Condition("catalyst"),
    "permuted bases": Condition("base"),
    "left-out additives": Condition(n_left_out=N_LEFT_OUT),
}
#: Conditions with half the repetitions.
FEWER, N_FEWER = ("measured", "scrambled additives", "left-out additives"), 10
#: Where `explain` is asked too, and what the other recipes are trained on.
FEW = ("measured", "additives scrambled within blocks", "permuted halides")


def scrambled(
    levels: np.ndarray,  # shape: (n, 4), int
    yields: np.ndarray,  # shape: (n,)
    component: int,
    within: bool,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Take the signal of one component out of the data.

    Within blocks, the yields of reactions that are equal in all other components are
    permuted; else the levels of the component are permuted over all rows.
    """
    if not within:
        levels = levels.copy()
        levels[:, component] = rng.permutation(levels[:, component])
        return levels, yields
    others = np.delete(levels, component, axis=1)
    _, block = np.unique(others, axis=0, return_inverse=True)
    block = block.ravel()
    order = np.lexsort((rng.random(len(yields)), block))
    permuted = np.empty_like(yields)
    permuted[np.argsort(block, kind="stable")] = yields[order]
    return levels, permuted


def data_of(
    name: str, levels: np.ndarray, yields: np.ndarray, repetition: int
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return levels, yields and left-out additives of a condition and repetition."""
    condition = CONDITIONS[name]
    rng = np.random.default_rng([repetition, *name.encode()])
    if condition.scrambled is not None:
        component = COMPONENTS.index(condition.scrambled)
        levels, yields = scrambled(levels, yields, component, condition.within, rng)
    additives = levels[:, COMPONENTS.index("additive")]
    out = rng.choice(additives.max() + 1, condition.n_left_out, replace=False)
    known = ~np.isin(additives, out)
    return levels[known], yields[known], sorted(out.tolist())


def unseen_rows(n_rows: int, spec: ProxySpec, seed: int, members: Sequence[int]) -> Any:
    # shape: -> (E, n_rows), bool
    """Return which rows each member has not seen."""
    n_seen = round(spec.train_fraction * n_rows)
    unseen = np.ones((len(members), n_rows), dtype=bool)
    for row, stream in zip(unseen, member_streams(seed, tuple(members)), strict=True):
        row[stream.generator(Purpose.ROW_SUBSET).permutation(n_rows)[:n_seen]] = False
    return unseen


def gain_on_unseen(
    predictions: np.ndarray,  # shape: (E, n_objects)
    sizes: tuple[int, ...],
    levels: np.ndarray,  # shape: (n, c)
    yields: np.ndarray,  # shape: (n,)
    unseen: np.ndarray,  # shape: (E, n), bool
) -> np.ndarray:  # shape: (c,)
    """Return the R² that each component adds on unseen rows, mean over members.

    Without the component: its predictions, averaged over its levels.
    """
    table = predictions.reshape(-1, *sizes)
    place = tuple(levels.T)

    def mse(of: np.ndarray) -> np.ndarray:  # shape: (E,)
        errors = np.square(of[(slice(None), *place)] - yields)
        return np.asarray(np.mean(errors, axis=1, where=unseen))

    full = mse(table)
    variance = np.array([yields[rows].var() for rows in unseen])
    gains = []
    for axis in range(1, len(sizes) + 1):
        mean = np.broadcast_to(table.mean(axis=axis, keepdims=True), table.shape)
        gains.append(((mse(mean) - full) / variance).mean())
    return np.array(gains)


def agreement(y: np.ndarray, steps: dict[str, int]) -> np.ndarray:  # shape: (n_steps,)
    """Return ``m² / (m² + variance)`` of the centred log-policies of each step."""
    clr = LogRatioTransformer("clr", steps=steps).fit(y)
    values = clr.transform(y)
    mean = np.square(values.mean(axis=0))
    spread = values.var(axis=0)
    of_step = clr.coordinate_steps_
    signal = np.bincount(of_step, mean, minlength=len(steps))
    noise = np.bincount(of_step, spread, minlength=len(steps))
    return signal / (signal + noise)


def paper_figures(
    predictions: np.ndarray, y: np.ndarray, steps: dict[str, int], seed: int
) -> dict[str, np.ndarray]:
    """Return D of the paper's expansion and its mean first-order indices."""
    n_seen = min(N_PAPER_PREDICTIONS, predictions.shape[1])
    rng = np.random.default_rng(seed)
    some = np.sort(rng.choice(predictions.shape[1], n_seen, replace=False))
    surrogate = CompositionalPCESurrogate(
        PAPER_DEGREE,
        steps=steps,
        solver="paper",
        distribution="normal",
        log_ratio="alr",
        random_state=seed,
    )
    pca = PCA(N_COMPONENTS, whiten=True, svd_solver="full")
    fitted = Pipeline([("pca", pca), ("surrogate", surrogate)])
    fitted.fit(predictions[:, some], y)
    surrogate = fitted[-1]
    of_step = surrogate.coordinate_steps_
    d = np.bincount(of_step, surrogate.total_variance_, minlength=len(steps))
    first = np.array(
        [
            surrogate.sobol_indices_[of_step == step].mean(axis=0)
            for step in range(len(steps))
        ]
    )
    return {"d_expansion": d, "s1": first[:, 0], "s_largest": first.max(axis=1)}


def shares_of_parts(
    reactions: Reactions, named: NamedParts, seed: int, n_draws: int = N_DRAWS
) -> Any:
    """Exchange the parts between members and solve every exchange again."""

    def model(parts: Any) -> np.ndarray:
        solved = solve_exact(reactions.environment, named.reward(parts))
        return policies_along(reactions.environment, solved, reactions.reference).y

    return part_effects(
        model=model,
        parts=named.parts,
        combine=dict,
        n_draws=n_draws,
        steps=reactions.steps,
        random_state=seed,
    )


def named_figures(
    effects: Any, components: Sequence[str]
) -> dict[str, np.ndarray | list[bool]]:
    """Return shares of the step's own average and of single reactions."""
    names = list(effects.part_names)
    own = [
        effects.first[step, names.index(component.replace("_", " "))]
        for step, component in enumerate(components)
    ]
    return {
        "own": np.array(own),
        "single_total": effects.total[:, names.index(SINGLE)],
        "supported": [bool(step.supported) for step in effects.steps],
    }


def driven(answer: Any) -> dict[str, Any]:
    """Return whether something drives each step."""
    return {
        "drives": (answer.drivers.state == "drives").any(axis=1),
        "p": answer.p_value,
    }


def measure(
    reactions: Reactions, recipe: str, name: str, repetition: int
) -> dict[str, Any]:
    """Train, solve and judge one ensemble."""
    started = time.process_time()
    spec, steps = RECIPES[recipe], reactions.steps
    levels, yields, out = data_of(
        name, reactions.data.data, reactions.data.target, repetition
    )
    # Repetitions have members, and rows, of their own; conditions have the same.
    members = range(repetition * N_MEMBERS, (repetition + 1) * N_MEMBERS)
    sizes = reactions.levels.max(axis=0) + 1
    proxies = train_feature_proxies(
        one_hot_levels(levels, sizes), yields, spec, members=members
    )
    log_reward = proxies.predict(one_hot_levels(reactions.levels, sizes)) / TEMPERATURE
    y = reactions.policies(log_reward)
    unseen = unseen_rows(len(yields), spec, 0, members)
    spread = policy_fragility(y, steps=steps)
    sizes = tuple(steps.values())
    found: dict[str, Any] = {
        "r2": float(np.mean(proxies.r2_held_out)),
        "d_members": spread.alr_sum,
        "total_variation": spread.total_variation,
        "per_freedom": spread.variance_per_freedom,
        "excess": excess_fragility(y, steps=steps, n_draws=200, random_state=0).excess,
        "agreement": agreement(y, steps),
        "gain": gain_on_unseen(proxies.predictions, sizes, levels, yields, unseen),
        **paper_figures(proxies.predictions, y, steps, repetition),
    }
    ridge = CompositionalPCESurrogate(
        1, steps=steps, solver="ridge", distribution="normal"
    )
    pipeline = make_pipeline(
        PCA(N_COMPONENTS, whiten=True, svd_solver="full"), clone(ridge)
    )
    found["verdict"] = driven(
        verdict(pipeline, span_coordinates(proxies.predictions), y, order=False)
    )
    named = factorial_parts(
        reactions.environment,
        log_reward,
        reactions.data.levels,
        phrases={},
        rest=SINGLE,
    )
    found["parts"] = named_figures(
        shares_of_parts(reactions, named, repetition), list(steps)
    )
    if name in FEW and recipe == "default" and repetition < N_EXPLAINED:
        leading = np.column_stack(
            [
                PCA(1, svd_solver="full").fit_transform(of.reshape(len(of), -1))
                for of in named.parts.values()
            ]
        )
        found["explain"] = driven(
            explain(leading, y, steps=steps, inputs=list(named.parts), order=False)
        )
    if out:
        found |= of_levels(reactions, log_reward, y, out, repetition)
    return rounded(found | {"seconds": time.process_time() - started})


def of_levels(
    reactions: Reactions,
    log_reward: np.ndarray,
    y: np.ndarray,
    out: list[int],
    seed: int,
) -> dict[str, Any]:
    """Return figures of each additive: those left out are artefacts."""
    names = list(reactions.data.levels["additive"])
    last = y[:, -len(names) :]
    log_policy = np.log(last)
    clr = log_policy - log_policy.mean(axis=1, keepdims=True)
    named = level_parts(
        reactions.environment, log_reward, reactions.data.levels, "additive"
    )
    effects = shares_of_parts(reactions, named, seed)
    places = [list(effects.part_names).index(name) for name in names]
    levels = {
        "log_ratio_variance": clr.var(axis=0),
        "probability_sd": last.std(axis=0),
        "relative_sd": last.std(axis=0) / last.mean(axis=0),
        "share": effects.first[-1, places],
    }
    return {"left_out": out, "levels": levels}


def main() -> None:
    arguments = options(__doc__, recipe="default", repetitions=N_REPETITIONS)
    warnings.simplefilter("ignore")  # of the paper's fit: more terms than members
    torch.set_num_threads(1)
    found = load(RECORD)
    reactions = Reactions()
    names = list(CONDITIONS) if arguments.recipe == "default" else list(FEW)
    for repetition in range(arguments.repetitions):
        for name in names:
            if name in FEWER and repetition >= N_FEWER:
                continue
            rows = found.setdefault(arguments.recipe, {}).setdefault(name, [])
            if len(rows) > repetition:
                continue
            with threadpool_limits(1):
                rows.append(measure(reactions, arguments.recipe, name, repetition))
            save(RECORD, found)
            print(repetition, name, rows[-1]["seconds"], flush=True)


if __name__ == "__main__":
    main()
