"""From rewards to policies: exact, trained, and how far apart they are."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from gflownet_envs.block_store import Store
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.dag import GraphFlows
from gflownet_envs.exact.solve import distance_to_exact, solve_exact
from gflownet_envs.exact.trajectories import PolicySource, policies_along
from gflownet_envs.experiments.task import Policies, Progress, Study, part_names, stage
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import RewardSource, mean_reward, reward_of_objects
from gflownet_envs.training.ensemble import TrainedEnsemble
from gflownet_envs.training.spec import TrainingSpec
from gflownet_envs.training.train import train_ensemble

# Log-probabilities of trained policies in all states that are held at once.
_VALUES_AT_ONCE = 2**23
_N_SAMPLES = 2048  # trajectories of a member behind the bound of its distance


def make_policies(
    study: Study,
    spec: TrainingSpec,
    *,
    train: bool,
    seed: int,
    store: Store | None,
    progress: Progress,
    solve: bool = True,
    n_replicates: int = 1,
    n_control: int = 0,
    n_jobs: int | None = None,
) -> Policies:
    """Solve every member exactly where it can be, and train if requested."""
    started = time.process_time()
    exact, solution = None, None
    solved: PolicySource | None = None
    if solve and study.environment.is_enumerable:
        solved = solution = solve_exact(study.environment, study.reward)
    elif solve and study.exact_solver is not None:
        solved = study.exact_solver(study.reward)
    elif solve and not train:
        raise ValueError(
            f"the policies of {study.environment.name} cannot be solved exactly, since "
            f"{study.environment.enumeration_reason}; they have to be trained"
        )
    if solved is not None:
        exact = _dataset(study, solved, "exact", study.reward.n_members, seed)
        progress("solving exactly", 1, 1)
    cpu_seconds = {"exact": time.process_time() - started}
    if not train:
        return Policies(cpu_seconds, exact, solution)
    n_rewards = study.n_train + study.n_test
    # larger than the numbers of all members; the first replicate of a reward has its
    stride = int(study.members.max()) + 1
    numbers = study.members[:n_rewards, None] + stride * np.arange(n_replicates)
    train_all = partial(
        train_ensemble, study.environment, seed=seed, n_jobs=n_jobs, store=store
    )
    ensemble = train_all(
        study.reward.select(slice(0, n_rewards)),
        spec,
        n_replicates=n_replicates,
        members=numbers.ravel().tolist(),
        progress=stage(progress, "training GFlowNets"),
    )
    cpu_seconds["training"] = float(ensemble.diagnostics.cpu_seconds.sum())
    control = None
    if n_control:
        # numbers beyond those of all other members
        first = (n_replicates + 1) * stride
        alike = train_all(
            mean_reward(
                study.reward.select(slice(0, study.n_train)), study.environment
            ),
            spec,
            n_replicates=n_control,
            members=range(first, first + n_control),
            progress=stage(progress, "training the control"),
        )
        cpu_seconds["control"] = float(alike.diagnostics.cpu_seconds.sum())
        if alike.n_members > 1:  # one alone has no spread; the others diverged
            control = policies_along(study.environment, alike, study.trajectory).y
    distance = None
    if solution is not None:
        started = time.process_time()
        distance = ensemble_distance(solution.graph, study.reward, ensemble)
        cpu_seconds["exact"] += time.process_time() - started
    bound = None
    if solve and solution is None:  # who wants no exact policies wants no bound
        started = time.process_time()
        known = solved.log_z() if isinstance(solved, GraphFlows) else None
        bound = ensemble.distance_bound(
            n_samples=_N_SAMPLES,
            log_z=None if known is None else known[list(ensemble.rewards)].numpy(),
            seed=seed,
        )
        cpu_seconds["bounds of distances"] = time.process_time() - started
    return Policies(
        cpu_seconds,
        exact,
        solution,
        trained=_dataset(study, ensemble, "trained", n_rewards, seed),
        ensemble=ensemble,
        distance=distance,
        control=control,
        bound=bound,
    )


def ensemble_distance(
    graph: StateGraph, reward: RewardSource, ensemble: TrainedEnsemble
) -> np.ndarray:  # shape: (n_trained,)
    """Return the distance of every trained member from its exact distribution."""
    size = max(1, _VALUES_AT_ONCE // graph.mask.numel())
    distance = np.empty(ensemble.n_members)
    for start in range(0, ensemble.n_members, size):
        rows = slice(start, start + size)
        some = ensemble.subset(ensemble.members[rows])
        own = reward_of_objects(reward.select(np.array(some.rewards)), graph)
        table = some.log_policy_table(graph)
        distance[rows] = distance_to_exact(graph, table, own).numpy()
    return distance


def _dataset(
    study: Study,
    policies: PolicySource,
    source: str,
    n_rewards: int,
    seed: int,
) -> PolicyDataset:
    """Return the policies of all rewards, or of the members that were trained."""
    along = policies_along(study.environment, policies, study.trajectory)
    names = study.environment.action_names
    taken = [names[action] for action in study.trajectory.actions]
    reward, members = np.arange(n_rewards), study.members[:n_rewards]
    if isinstance(policies, TrainedEnsemble):  # those that diverged are not in it
        reward, members = np.array(policies.rewards), np.array(policies.members)
    return PolicyDataset(
        study.reward_features[reward],
        along.y,
        steps=tuple(along.steps.values()),
        mask=along.mask,
        step_names=along.step_names,
        action_names=part_names(study.environment, along.action_names),
        feature_names=study.feature_names,
        members=members,
        rewards=study.members[reward],
        seeds=np.full(len(reward), seed),
        is_test=reward >= study.n_train,
        trajectory=part_names(study.environment, taken),
        source=source,
        metadata={"task": study.environment.name, "unit_of_X": study.feature_unit},
    )
