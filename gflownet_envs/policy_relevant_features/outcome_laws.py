"""The distribution of the finished object from any state on, under a pilot policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_at_least
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.solve import (
    PolicySource,
    Trajectory,
    push_forward,
    solve_exact,
)
from gflownet_envs.policies.networks import torch_threads
from gflownet_envs.sampling import inverse_cdf_sample
from gflownet_envs.training.spec import TrainingSpec
from gflownet_envs.training.train import train_ensemble

# Float64 numbers of an array that grows with starts times states or edges.
_VALUES_AT_ONCE = 2**22

# Uniform numbers lie below one also after rounding.
_BELOW_ONE = 1 - 2.0**-24


PILOTS = ("auto", "exact", "trained")


def exact_outcome_distributions(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (N, A)
    starts: Tensor,  # shape: (m,), int64
) -> Tensor:  # shape: (m, n_objects), float64
    r"""Return :math:`P_F(x \mid s)`, the distribution of the object made from s on.

    The probability of being in each state is pushed forward through the layers.

    Parameters
    ----------
    graph : StateGraph
    log_policy : Tensor of shape (n_states, n_actions)
        Of one member, −inf where an action is not allowed.
    starts : Tensor of shape (m,)
        Numbers as in ``graph.children``: below ``n_states`` a state, else an object.

    Raises
    ------
    ValueError
        If the policy has another shape, or a start is no such number.

    Examples
    --------
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    >>> solution = solve_exact(env, torch.tensor([[1.0, 3.0, 2.0, 4.0]]).log())
    >>> after_x = solution.graph.children[0, :1]
    >>> outcomes = exact_outcome_distributions(
    ...     solution.graph, solution.log_policy_table[0], after_x
    ... )
    >>> [round(p, 6) for p in outcomes[0].tolist()]
    [0.25, 0.75, 0.0, 0.0]
    """
    if log_policy.shape != graph.mask.shape:
        raise ValueError(
            f"log_policy must have shape {tuple(graph.mask.shape)}, got "
            f"{tuple(log_policy.shape)}"
        )
    n_total = graph.n_states + graph.environment.require_listed_objects()
    bad = starts[(starts < 0) | (starts >= n_total)]
    if len(bad):
        raise ValueError(f"starts must be in [0, {n_total}), got {int(bad[0])}")
    policy = log_policy.to(torch.float64).exp().masked_fill(~graph.mask, 0.0)
    size = max(1, _VALUES_AT_ONCE // max(n_total, graph.mask.numel()))
    reached = torch.zeros((len(starts), n_total), dtype=torch.float64)
    reached[torch.arange(len(starts)), starts] = 1.0
    for part in reached.split(size):
        push_forward(graph, policy[None], part)
    return reached[:, graph.n_states :]


def sampled_outcome_distributions(
    environment: Environment,
    pilot: PolicySource,
    starts: Tensor,  # shape: (m, S)
    n_samples: int,
    rng: np.random.RandomState,
) -> Tensor:  # shape: (m, n_objects), float64
    r"""Estimate :math:`P_F(x \mid s)` by frequencies of sampled trajectories.

    For spaces whose states cannot be listed but whose objects are numbered. A
    frequency p has the standard error :math:`\sqrt{p (1 - p) / n}`.

    Parameters
    ----------
    environment : Environment
    pilot : PolicySource
        With one member.
    starts : Tensor of shape (m, S)
        States, also terminal ones.
    n_samples : int
        Trajectories from each start.
    rng : numpy RandomState

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment, solve_exact
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> pilot = solve_exact(env, torch.zeros(1, 3))
    >>> starts = env.initial_state((1,))
    >>> rng = np.random.RandomState(0)
    >>> outcomes = sampled_outcome_distributions(env, pilot, starts, 900, rng)
    >>> bool((outcomes - 1 / 3).abs().max() < 0.05)
    True
    """
    require_at_least("n_samples", n_samples, 1)
    n_objects = environment.require_listed_objects()
    states = starts.repeat_interleave(n_samples, dim=0)
    for _ in range(environment.max_steps):
        going_on = (~environment.is_terminal(states)).nonzero()[:, 0]
        if not len(going_on):
            break
        actions = _sampled_actions(environment, pilot, states[going_on], rng)
        states[going_on] = environment.step(states[going_on], actions)
    row = torch.arange(len(starts)).repeat_interleave(n_samples)
    place = row * n_objects + environment.object_index(states)
    counts = torch.bincount(place, minlength=len(starts) * n_objects)
    return counts.reshape(len(starts), n_objects).to(torch.float64) / n_samples


def _sampled_actions(
    environment: Environment,
    pilot: PolicySource,
    states: Tensor,  # shape: (n, S)
    rng: np.random.RandomState,
) -> Tensor:  # shape: (n,)
    """Draw one action a state by the inverse of its distribution function."""
    uniforms = torch.from_numpy(rng.uniform(size=len(states))).clamp(max=_BELOW_ONE)
    chosen = []
    size = max(1, _VALUES_AT_ONCE // environment.n_actions)
    for part, u in zip(states.split(size), uniforms.split(size), strict=True):
        policy = pilot.log_policy(part)[0].to(torch.float64).exp()
        allowed = environment.valid_mask(part)
        policy = policy.masked_fill(~allowed, 0.0)
        chosen.append(inverse_cdf_sample(policy.cumsum(dim=-1), u))
    return torch.cat(chosen)


@dataclass(frozen=True, eq=False)
class ChoiceLaws:
    """The choice of one step: its actions and what becomes of each."""

    step: int
    actions: Tensor  # shape: (K,), the allowed ones
    policy: Tensor  # shape: (K,), the pilot's probabilities
    # shape: (K, n_objects), the distribution of the object given the state of the step
    # and the action
    outcomes: Tensor


def fit_pilot(
    environment: Environment,
    graph: StateGraph | None,
    log_reward: np.ndarray,  # shape: (n_objects,)
    pilot: object,
    training: TrainingSpec | None,
    rng: np.random.RandomState,
) -> PolicySource:
    """Solve or train the policy of one reward, or take the one that is given."""
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


def retained_steps(names: Sequence[str], excluded: Sequence[str | int]) -> list[int]:
    """Return the numbers of the steps that are not excluded."""
    names = list(names)
    if isinstance(excluded, str):
        raise ValueError(
            f"exclude_steps must be a sequence, got {excluded!r}; write ({excluded!r},)"
        )
    left_out = set()
    for step in excluded:
        if isinstance(step, Integral) and 0 <= step < len(names):
            left_out.add(int(step))
        elif step in names:
            left_out.add(names.index(str(step)))
        else:
            raise ValueError(
                f"exclude_steps must name steps among {names}, or number them from 0, "
                f"got {step!r}"
            )
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
    """Return what becomes of the allowed actions at some steps."""
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
            assert graph is not None
            terminal = environment.is_terminal(children)
            starts = torch.empty(len(children), dtype=torch.int64)
            starts[~terminal] = graph.state_ids(children[~terminal])
            objects = environment.object_index(children[terminal])
            starts[terminal] = graph.n_states + objects
            policy = pilot.log_policy(graph.states)[0]
            outcomes = exact_outcome_distributions(graph, policy, starts)
        else:
            outcomes = sampled_outcome_distributions(
                environment, pilot, children, n_samples, rng
            )
        log_policy = pilot.log_policy(trajectory.states[:-1])[0].to(torch.float64)
    sizes = [len(actions) for _, actions in chosen]
    return [
        ChoiceLaws(t, actions, torch.softmax(log_policy[t, actions], dim=0), laws)
        for (t, actions), laws in zip(chosen, outcomes.split(sizes), strict=True)
    ]
