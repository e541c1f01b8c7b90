"""Routes from the parts of a reward to policies: solved again, and from a pilot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import torch

from gflownet_envs.block_store import Store
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.experiments.part_effects import exact_solver, policies_of_parts
from gflownet_envs.experiments.task import NamedParts, Policies, Preset, Study
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from gflownet_envs.rewards.source import (
    RewardSource,
    mean_reward,
    reward_of_objects,
    reward_rows,
)
from gflownet_envs.training.train import train_ensemble
from skpce.inspection import Result, part_effects

SOLVED = "solved again"


#: Float64 numbers of the weights of a pilot, features times objects, that fit.
MAX_WEIGHTS = 2**27


Parts = Mapping[str, np.ndarray]


def routes(
    study: Study,
    policies: Policies,
    named: NamedParts,
    preset: Preset,
    n_draws: int,
    seed: int,
    store: Store | None,
) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Prepare one route after another, where the task allows it."""
    solve = exact_solver(study, policies)
    exact = policies.exact
    assert solve is not None
    assert exact is not None
    columns = {
        "steps": dict(zip(exact.step_names, exact.steps, strict=True)),
        "mask": exact.mask,
    }
    recombined = partial(
        part_effects,
        parts=named.parts,
        combine=dict,
        n_draws=n_draws,
        dependent=False,
        batch_size=named.batch_size,
        random_state=seed,
        **columns,
    )
    again = partial(policies_of_parts, named, study, solve)
    yield SOLVED, partial(recombined, again)
    if policies.solution is not None and not why_no_pilot(study):
        models = pilots(study, policies, named, preset, seed, store)
        for name, model in models:
            yield name, partial(recombined, model)


def pilots(
    study: Study,
    policies: Policies,
    named: NamedParts,
    preset: Preset,
    seed: int,
    store: Store | None,
) -> Iterator[tuple[str, Callable[[Parts], np.ndarray]]]:
    """Yield what is predicted from the mean reward, solved or trained."""
    assert policies.solution is not None
    graph = policies.solution.graph
    train = study.reward.select(slice(0, study.n_train))
    log_reward = table_of(train, graph)
    trained = train_ensemble(
        study.environment,
        mean_reward(train, study.environment),
        preset.training,
        seed=seed,
        store=store,
    )
    settings = {
        "exact pilot": ({"pilot": "exact"}, (None, 2)),
        "trained pilot": ({"pilot": trained}, (None,)),
        "trained pilot, sampled": (
            {"pilot": trained, "n_samples": 4096, "random_state": seed},
            (None, 2),
        ),
    }
    for name, (parameters, orders) in settings.items():
        features = PolicyRelevantFeatures(
            graph, trajectory=study.trajectory, **parameters
        ).fit(log_reward)
        for order in orders:
            text = "all orders" if order is None else "second order"
            model = partial(changed_policies, features, named, graph, order)
            yield f"{name}, {text}", model


def why_no_pilot(study: Study) -> str:
    """Return why there is no route from a pilot; nothing where there is one."""
    environment = study.environment
    if not environment.is_enumerable:
        return "its objects are not numbered, and weights are one for each object"
    n_weights = int(environment.valid_mask(study.trajectory.states[:-1]).sum())
    n_weights *= environment.require_listed_objects()
    if n_weights > MAX_WEIGHTS:
        return (
            f"weights of {environment.n_objects:,} objects for each action are "
            f"{8 * n_weights / 2**30:.1f} GiB"
        )
    return ""


def changed_policies(
    features: PolicyRelevantFeatures,
    named: NamedParts,
    graph: StateGraph,
    order: int | None,
    parts: Parts,
) -> np.ndarray:  # shape: (n, ΣK)
    """Return the policies that a pilot predicts for parts."""
    return features.predict_policy(table_of(named.reward(parts), graph), order=order)


def table_of(
    reward: RewardSource, graph: StateGraph
) -> np.ndarray:  # shape: (n_members, n_objects)
    """Return log R of all objects."""
    objects = torch.arange(graph.environment.require_listed_objects())
    members = slice(0, reward.n_members)
    return reward_rows(reward_of_objects(reward, graph), members, objects).numpy()
