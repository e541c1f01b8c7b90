"""gflownet_envs, many members or one at a time."""

from __future__ import annotations

import time

import torch

from gflownet_envs import StateGraph, TrainingSpec, train_ensemble

from ..shapes import environment_of
from .base import Answer, Settings, Task


def train(
    task: Task, settings: Settings, members: tuple[int, ...], seed: int
) -> Answer:
    """Train the members in one block; a loop over calls trains them one at a time."""
    torch.set_num_threads(1)
    environment = environment_of(task)
    graph = StateGraph.from_environment(environment)
    log_reward = task.log_reward[list(members)]
    train_ensemble(environment, log_reward[:1], TrainingSpec(n_iterations=5))
    started = time.process_time()
    trained = train_ensemble(
        environment, log_reward, specification(settings), seed=seed, members=members
    )
    seconds = time.process_time() - started
    return Answer(seconds / len(members), trained.log_policy_table(graph).numpy())


def specification(settings: Settings) -> TrainingSpec:
    """Translate the settings."""
    if settings.our_defaults:
        return TrainingSpec(n_iterations=settings.n_iterations)
    return TrainingSpec(
        objective=settings.objective,
        n_iterations=settings.n_iterations,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        final_learning_rate_fraction=settings.final_fraction,
        log_z_learning_rate=settings.log_z_learning_rate,
        hidden=(settings.hidden, settings.hidden),
        adam_betas=(0.9, 0.999),
        initialization="linear",
        exploration_epsilon=0.0,
        check_every=0,  # the peers look at nothing while they train
    )
