"""From rewards to policies: exact, trained, and how far apart they are."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gflownet_envs.blocks import Store
from gflownet_envs.exact import ExactSolution, distance_to_exact, solve_exact
from gflownet_envs.experiments.task import Progress, Study, part_names, stage
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.trained_ensemble import TrainedEnsemble
from gflownet_envs.training import train_ensemble
from gflownet_envs.training_spec import TrainingSpec
from gflownet_envs.trajectories import PolicySource, policies_along


@dataclass(frozen=True)
class Policies:
    """The policies of a study along its trajectory.

    Attributes
    ----------
    exact : PolicyDataset
        Of all members.
    trained : PolicyDataset or None
        Of the members that were trained; None when they are only solved.
    ensemble : TrainedEnsemble or None
    solution : ExactSolution
    distance : ndarray of shape (n_trained,) or None
        ½ Σ |P_T − R/Z| over the objects, per trained member.
    cpu_seconds : dict
    """

    exact: PolicyDataset
    trained: PolicyDataset | None
    ensemble: TrainedEnsemble | None
    solution: ExactSolution
    distance: np.ndarray | None
    cpu_seconds: dict[str, float]


def make_policies(
    study: Study,
    spec: TrainingSpec,
    *,
    train: bool,
    seed: int,
    store: Store | None,
    progress: Progress,
) -> Policies:
    """Solve every member exactly, and train those that the study asks for."""
    started = time.process_time()
    solution = solve_exact(study.environment, study.log_reward)
    exact = _dataset(study, solution, "exact", len(study.log_reward), seed)
    cpu_seconds = {"exact": time.process_time() - started}
    progress("solving exactly", 1, 1)
    if not train:
        return Policies(exact, None, None, solution, None, cpu_seconds)
    n_trained = study.n_train + study.n_test
    ensemble = train_ensemble(
        study.environment,
        study.log_reward[:n_trained],
        spec,
        seed=seed,
        members=study.members[:n_trained].tolist(),
        progress=stage(progress, "training GFlowNets"),
        store=store,
    )
    cpu_seconds["training"] = float(ensemble.diagnostics.cpu_seconds.sum())
    distance = distance_to_exact(
        solution.graph,
        ensemble.log_policy_table(solution.graph),
        study.log_reward[:n_trained],
    )
    return Policies(
        exact,
        _dataset(study, ensemble, "trained", n_trained, seed),
        ensemble,
        solution,
        distance.numpy(),
        cpu_seconds,
    )


def _dataset(
    study: Study, policies: PolicySource, source: str, n_members: int, seed: int
) -> PolicyDataset:
    along = policies_along(study.environment, policies, study.trajectory)
    names = study.environment.action_names
    taken = [names[action] for action in study.trajectory.actions]
    return PolicyDataset(
        study.reward_features[:n_members],
        along.y,
        steps=along.steps,
        mask=along.mask,
        step_names=along.step_names,
        action_names=part_names(study.environment, along.action_names),
        feature_names=study.feature_names,
        members=study.members[:n_members],
        rewards=study.members[:n_members],
        seeds=np.full(n_members, seed),
        is_test=np.arange(n_members) >= study.n_train,
        trajectory=part_names(study.environment, taken),
        source=source,
        metadata={"task": study.environment.name, "unit_of_X": study.feature_unit},
    )
