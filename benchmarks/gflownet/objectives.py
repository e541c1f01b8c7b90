"""Which objectives miss modes, and what repairs it.

A two-dimensional hypergrid with four modes far apart and little reward between them.
Every objective trains replicates (same reward, other random numbers), on-policy and
with each kind of exploration. A mode counts as found when the policy gives it at least
half of its exact mass.

Run: ``python -m benchmarks.gflownet.objectives``
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.measuring import options, table
from gflownet_envs import OBJECTIVES, TrainingSpec, solve_exact, train_ensemble
from gflownet_envs.environments import HypergridEnvironment
from gflownet_envs.exact import terminating_distribution
from gflownet_envs.rewards.source import hypergrid_mode_rewards, mode_of_object
from gflownet_envs.training.convergence import NotConvergedWarning

EXPLORATION = {
    "none": {},
    "5 % random": {"exploration_epsilon": 0.05},
    "20 % random": {"exploration_epsilon": 0.2},
    "temperature 2": {"exploration_temperature": 2.0},
    "5 % random, half replayed": {"exploration_epsilon": 0.05, "replay_fraction": 0.5},
}


def main() -> None:
    sizes = {"side": 16, "batch": 16, "iterations": 1000, "replicates": 10}
    arguments = options(__doc__, r0=[0.01, 0.0001], **sizes)
    warnings.simplefilter("ignore", NotConvergedWarning)
    environment = HypergridEnvironment(n_dims=2, side=arguments.side)
    is_mode = mode_of_object(environment).numpy() == np.arange(4)[:, None]
    usual = TrainingSpec(
        n_iterations=arguments.iterations,
        batch_size=arguments.batch,
        exploration_epsilon=0.0,
        check_every=0,
    )
    columns = ["objective", "exploration", "distance, mean / worst"]
    columns += ["modes found of 4", "smallest effective sample share", "CPU-s a member"]
    for r0 in arguments.r0:
        log_reward, rows = hypergrid_mode_rewards(environment, r0=r0), []
        solution = solve_exact(environment, log_reward)
        exact = solution.target_distribution()[0].numpy() @ is_mode.T
        for objective, (name, settings) in product(OBJECTIVES, EXPLORATION.items()):
            spec = replace(usual, objective=objective, **settings)
            start = time.process_time()
            ensemble = train_ensemble(
                environment, log_reward, spec, n_replicates=arguments.replicates
            )
            seconds = (time.process_time() - start) / arguments.replicates
            policy = ensemble.log_policy_table(solution.graph)
            law = terminating_distribution(solution.graph, policy).numpy() @ is_mode.T
            found = (law >= 0.5 * exact).sum(axis=1).mean()
            distance = ensemble.diagnostics.distance
            share = ensemble.diagnostics.effective_sample_share.min()
            shown = f"{distance.mean():.3f} / {distance.max():.3f}"
            cells = [f"{found:.1f}", f"{share:.2f}", f"{seconds:.2f}"]
            rows.append([objective, name, shown, *cells])
        print(f"\nR0 = {r0}\n\n{table(columns, rows)}", flush=True)


if __name__ == "__main__":
    main()
