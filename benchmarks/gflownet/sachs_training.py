"""Why GFlowNets of the Sachs proteins do not converge, with their certificates.

Four rewards of the task (preset ``default``), trained with its settings and others. Of
each member: the upper bound of its distance by residuals, with the exact log Z
(`GraphFlows`), and how many edges its graphs have beside the exact mean. No graph has
more than 18 edges.

Run: ``SKPCE_DATA=… python -m benchmarks.gflownet.sachs_training``
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks.measuring import study_of
from gflownet_envs import train_ensemble
from gflownet_envs.experiments.task import Study
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.sampling import PlainSampler
from gflownet_envs.training.certificate import head_layout
from gflownet_envs.training.convergence import NotConvergedWarning
from gflownet_envs.training.ensemble import TrainedEnsemble

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "detailed balance": {"objective": "detailed_balance"},
    "sub-trajectory balance": {"objective": "sub_trajectory_balance"},
    "half of the actions at random": {"exploration_epsilon": 0.5},
}
_N_SAMPLES = 2048


def n_edges(ensemble: TrainedEnsemble) -> np.ndarray:  # shape: (E, n)
    """Return how many edges sampled graphs have."""
    environment = ensemble.environment
    shape = (ensemble.n_members, _N_SAMPLES, environment.max_steps)
    uniforms = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    sampler = PlainSampler(environment, head_layout(ensemble))
    with torch.no_grad():
        batch = sampler(ensemble.network, uniforms.clamp(max=1 - 2.0**-24))
    return ((batch.actions >= 0).sum(dim=-1) - 1).numpy()


def line(name: str, study: Study, log_z: torch.Tensor, n_exact: np.ndarray) -> str:
    """Train, and say how far the members are."""
    spec = replace(TASKS["sachs"].presets["default"].training, **SETTINGS[name])
    started = time.process_time()
    ensemble = train_ensemble(study.environment, study.reward, spec, seed=0)
    spent = (time.process_time() - started) / ensemble.n_members
    rows = list(ensemble.rewards)
    found = ensemble.distance_bound(n_samples=_N_SAMPLES, log_z=log_z[rows].numpy())
    edges = n_edges(ensemble)
    share = ensemble.diagnostics.effective_sample_share
    return (
        f"{name}: bounds {found.bound.min():.3f} to {found.bound.max():.3f} "
        f"({found.kind}), effective sample share {share.min():.3f} to "
        f"{share.max():.3f}, edges {edges.mean():.1f} (exact "
        f"{n_exact[rows].mean():.1f}), graphs at the limit {(edges == 18).mean():.0%}, "
        f"{spent:.1f} CPU-s a member"
    )


def main() -> None:
    warnings.simplefilter("ignore", NotConvergedWarning)
    preset = TASKS["sachs"].presets["default"]
    study = study_of("sachs", replace(preset, n_train=4, n_test=0))
    assert study.exact_solver is not None  # of this task
    flows: Any = study.exact_solver(study.reward)
    n_exact = flows.edge_marginals().sum(dim=(1, 2)).numpy()
    for name in SETTINGS:
        print(line(name, study, flows.log_z(), n_exact), flush=True)


if __name__ == "__main__":
    main()
