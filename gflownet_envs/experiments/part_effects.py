"""Find which named part of the rewards explains which choice, by solving again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gflownet_envs.exact.solve import solve_exact
from gflownet_envs.exact.trajectories import PolicySource, policies_along
from gflownet_envs.experiments.task import (
    NamedParts,
    PartFindings,
    Policies,
    Progress,
    Study,
    TrainingNoise,
    stage,
)
from gflownet_envs.policy_dataset import PolicyDataset
from skpce.inspection import Result, part_effects
from skpce.metrics import policy_fragility


def find_part_effects(
    study: Study,
    policies: Policies,
    noise: TrainingNoise | None,
    *,
    n_draws: int,
    seed: int,
    progress: Progress,
) -> tuple[PartFindings, ...]:
    """Return the effects of the parts of every split; none where nothing is solved."""
    solve = exact_solver(study, policies)
    exact = policies.exact
    if solve is None or exact is None:
        return ()
    noise_share = noise_beside_exact(noise, policies)
    found = []
    for named in study.named_parts:
        started = time.process_time()
        with threadpool_limits(1):
            effects = effects_of_parts(
                named, study, exact, solve, n_draws, seed=seed, progress=progress
            )
        found.append(
            PartFindings(named, effects, noise_share, {}, time.process_time() - started)
        )
    return tuple(found)


def exact_solver(
    study: Study, policies: Policies
) -> Callable[[Any], PolicySource] | None:
    """Return what solves rewards of the study; None where nothing does."""
    if policies.solution is not None:
        return partial(solve_exact, policies.solution.graph)
    return study.exact_solver


def effects_of_parts(
    named: NamedParts,
    study: Study,
    exact: PolicyDataset,
    solve: Callable[[Any], PolicySource],
    n_draws: int,
    *,
    seed: int,
    progress: Progress,
) -> Result:
    """Exchange the parts between members and solve again."""

    def policies(parts: Mapping[str, np.ndarray]) -> np.ndarray:
        solved = solve(named.reward(parts))
        return policies_along(study.environment, solved, study.trajectory).y

    return part_effects(
        policies,
        named.parts,
        combine=dict,
        n_draws=n_draws,
        dependent=named.freezes,
        steps=dict(zip(exact.step_names, exact.steps, strict=True)),
        mask=exact.mask,
        batch_size=named.batch_size,
        random_state=seed,
        progress=stage(progress, f"parts: {named.title}"),
    )


def noise_beside_exact(
    noise: TrainingNoise | None, policies: Policies
) -> np.ndarray | None:  # shape: (n_steps,)
    r"""Return the share of training noise, were it independent of the rewards.

    :math:`N / (N + V)`, with V the Aitchison variance of the exact policies of the
    training members and N that of the differences between trained and exact ones.
    """
    if noise is None or noise.exact is None or policies.trained is None:
        return None
    assert policies.exact is not None  # there is noise against it
    of_noise = noise.exact.log_ratio_share * _variance(policies.trained)
    return np.asarray(of_noise / (of_noise + _variance(policies.exact)))


def _variance(dataset: PolicyDataset) -> np.ndarray:  # shape: (n_steps,)
    train = dataset.train
    found = policy_fragility(train.y, steps=train.steps, mask=train.mask)
    return np.asarray(found.aitchison_variance)
