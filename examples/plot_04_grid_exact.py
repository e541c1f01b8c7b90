"""
Exact GFlowNets on a grid
=========================

A walker starts in the corner of a 5 × 5 board, makes up to five moves, and stops. The
reward of the last cell is uncertain: each quadrant of the board has a level of which
only a uniform distribution is known. Every reward is solved exactly by dynamic
programming, so there is no training noise. Which quadrant explains which move?

This example needs torch.
"""

# %%
# The rewards are data: a table with one row a member and one column a reachable cell.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy.stats import uniform

from gflownet_envs import (
    GridEnvironment,
    greedy_trajectory,
    mean_log_reward,
    policies_along,
    quadrant_shift_rewards,
    solve_exact,
)
from gflownet_envs.rewards.source import quadrant_of_cell
from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.plotting import CoverageDisplay, SobolDisplay

environment = GridEnvironment()
base = mean_log_reward(quadrant_shift_rewards(environment)[0], environment)
quadrant = quadrant_of_cell(torch.tensor(environment.cells)).numpy()
levels = pd.DataFrame(
    np.random.default_rng(0).uniform(-1, 1, size=(300, 4)),
    columns=["near", "right", "down", "far"],
)
log_reward = base.numpy() + levels.to_numpy()[:, quadrant]

# %%
# All members are solved at once. The policies are read along the walk that is
# greedy under the mean reward.

solution = solve_exact(environment, log_reward)
pilot = solve_exact(solution.graph, base)
trajectory = greedy_trajectory(environment, pilot.log_policy)
along = policies_along(environment, solution, trajectory)
print("walk  ", [environment.action_names[action] for action in trajectory.actions])
print("states", solution.graph.n_states, "objects", environment.n_objects)
print("y     ", along.y.shape, "steps", along.steps)

# %%
# One hundred members fit the surrogate, the others check it. At the last step only
# "stop" is allowed: there is no choice, hence nothing to attribute.

train, test = slice(0, 100), slice(100, None)
surrogate = CompositionalPCESurrogate(
    2,
    steps=along.steps,
    mask=along.mask,
    distribution=uniform(-1, 2),
    solver="ridge",
)
surrogate.fit(levels[train], along.y[train])
found = verdict(
    surrogate,
    levels[train],
    along.y[train],
    noise_share=np.zeros(len(along.steps)),
)
print(found)
print("D² on held-out members", round(surrogate.score(levels[test], along.y[test]), 5))

# %%
# Left: the near quadrant explains the first moves, the others later ones. Right:
# intervals on the 200 held-out members.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained", width_ratios=(3, 2)
)
SobolDisplay.from_estimator(surrogate, verdict=found, ax=left)
CoverageDisplay.from_estimator(surrogate, levels[test], along.y[test], ax=right)
