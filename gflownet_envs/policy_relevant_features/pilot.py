"""One policy on the mean reward, and the laws of what it makes along a trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.exact import solve_exact
from gflownet_envs.policy_relevant_features.outcome_laws import (
    exact_outcome_laws,
    sampled_outcome_laws,
)
from gflownet_envs.state_graph import StateGraph, TooManyStatesError
from gflownet_envs.threads import torch_threads
from gflownet_envs.training import train_ensemble
from gflownet_envs.training_spec import TrainingSpec
from gflownet_envs.trajectories import PolicySource, Trajectory

PILOTS = ("auto", "exact", "trained")


@dataclass(frozen=True, eq=False)
class ChoiceLaws:
    """The choice of one step: its actions and what becomes of each.

    Attributes
    ----------
    step : int
    actions : Tensor of shape (K,)
        The allowed ones.
    policy : Tensor of shape (K,), float64
        The pilot's probabilities.
    outcomes : Tensor of shape (K, n_objects), float64
        The law of the object given the state of the step and the action.
    """

    step: int
    actions: Tensor
    policy: Tensor
    outcomes: Tensor


def listed_graph(space: Environment | StateGraph, max_states: int) -> StateGraph | None:
    """Return the graph of a space, or None where its states cannot be listed."""
    if isinstance(space, StateGraph):
        return space
    if not space.is_enumerable:
        return None
    try:
        return StateGraph.from_environment(space, max_states)
    except TooManyStatesError:
        return None


def fit_pilot(
    environment: Environment,
    graph: StateGraph | None,
    log_reward: np.ndarray,  # shape: (n_objects,)
    pilot: object,
    training: TrainingSpec | None,
    rng: np.random.RandomState,
) -> PolicySource:
    """Solve or train the policy of one reward, or take the one that is given.

    Raises
    ------
    ValueError
        If `pilot` is neither a name in `PILOTS` nor a policy of one member, or is
        ``"exact"`` where states cannot be listed.
    """
    if hasattr(pilot, "log_policy"):
        n_members = pilot.log_policy(environment.initial_state((1,))).shape[0]
        if n_members != 1:
            raise ValueError(f"pilot must have one member, got one with {n_members}")
        return pilot
    if not isinstance(pilot, str) or pilot not in PILOTS:
        raise ValueError(
            f"pilot must be one of {PILOTS} or a policy source, got {pilot!r}"
        )
    if pilot == "exact" and graph is None:
        raise ValueError(
            f"pilot='exact' needs a listed space, and {environment.name} is not "
            "enumerable or has more states than max_states; use 'trained'"
        )
    if graph is not None and pilot != "trained":
        return solve_exact(graph, log_reward[None])
    seed = int(rng.randint(2**31))
    return train_ensemble(environment, log_reward[None], training, seed=seed)


def kept_steps(
    names: Sequence[str],
    excluded: Sequence[str | int],
) -> list[int]:
    """Return the numbers of the steps that are not excluded.

    Raises
    ------
    ValueError
        If `excluded` is a string, or has neither a name nor a number of a step.
    """
    names = list(names)
    if isinstance(excluded, str):
        raise ValueError(
            f"exclude_steps must be a sequence, got {excluded!r}; write ({excluded!r},)"
        )
    left_out = set()
    for step in excluded:
        is_number = isinstance(step, Integral) and 0 <= step < len(names)
        if not is_number and step not in names:
            raise ValueError(
                f"exclude_steps must name steps among {names}, or number them from 0, "
                f"got {step!r}"
            )
        left_out.add(int(step) if is_number else names.index(step))
    return [step for step in range(len(names)) if step not in left_out]


def laws_along(
    environment: Environment,
    graph: StateGraph | None,
    pilot: PolicySource,
    trajectory: Trajectory,
    steps: Sequence[int],
    n_samples: int | None,
    rng: np.random.RandomState,
) -> list[ChoiceLaws]:
    """Return what becomes of the allowed actions at some steps.

    Weights are exact unless `n_samples` is given. Steps with a single allowed action
    are no choice and are left out.
    """
    chosen = [
        (t, environment.valid_mask(trajectory.states[t]).nonzero()[:, 0]) for t in steps
    ]
    chosen = [(t, actions) for t, actions in chosen if len(actions) > 1]
    if not chosen:
        return []
    children = torch.cat(
        [
            environment.step(trajectory.states[t].expand(len(actions), -1), actions)
            for t, actions in chosen
        ]
    )
    with torch_threads(1):
        if n_samples is None:
            outcomes = _exact(environment, graph, pilot, children)
        else:
            outcomes = sampled_outcome_laws(
                environment, pilot, children, n_samples, rng
            )
        log_policy = pilot.log_policy(trajectory.states[:-1])[0].to(torch.float64)
    sizes = [len(actions) for _, actions in chosen]
    return [
        ChoiceLaws(t, actions, torch.softmax(log_policy[t, actions], dim=0), laws)
        for (t, actions), laws in zip(chosen, outcomes.split(sizes), strict=True)
    ]


def _exact(
    environment: Environment,
    graph: StateGraph,
    pilot: PolicySource,
    states: Tensor,  # shape: (m, S)
) -> Tensor:  # shape: (m, n_objects)
    terminal = environment.is_terminal(states)
    starts = torch.empty(len(states), dtype=torch.int64)
    starts[~terminal] = graph.state_ids(states[~terminal])
    starts[terminal] = graph.n_states + environment.object_index(states[terminal])
    return exact_outcome_laws(graph, pilot.log_policy(graph.states)[0], starts)
