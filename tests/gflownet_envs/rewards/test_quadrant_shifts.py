import torch

from gflownet_envs import (
    GridEnvironment,
    greedy_trajectory,
    mean_log_reward,
    quadrant_shift_rewards,
    solve_exact,
)
from gflownet_envs.rewards.source import quadrant_of_cell
from tests.shared import refuses

GRID = GridEnvironment()


def test_a_shift_moves_its_quadrant_alone():
    log_reward, shifts = quadrant_shift_rewards(GRID)
    assert log_reward.shape == (625, 19)
    assert len(torch.unique(shifts, dim=0)) == 625
    base = mean_log_reward(log_reward, GRID)
    difference = log_reward - base
    for index, cell in enumerate(GRID.cells):
        quadrant = 2 * (cell[0] >= 2) + (cell[1] >= 2)
        torch.testing.assert_close(difference[:, index], shifts[:, quadrant])


def test_the_greedy_walk_makes_five_moves_with_a_choice_at_each():
    base = mean_log_reward(quadrant_shift_rewards(GRID)[0], GRID)
    pilot = solve_exact(GRID, base)
    walk = greedy_trajectory(GRID, pilot.log_policy)
    names = [GRID.action_names[a] for a in walk.actions]
    assert names == ["right", "right", "right", "down", "down", "stop"]
    likeliest = pilot.log_policy(walk.states[:5])[0].exp().max(dim=1).values
    assert 0.4 < likeliest.min() <= likeliest.max() < 0.7
    quadrants = quadrant_of_cell(walk.states[:, :2])
    assert quadrants.tolist() == [0, 0, 1, 1, 1, 3, 3]


def test_every_quadrant_must_be_reachable_and_the_base_known():
    small = GridEnvironment(size=5, max_moves=3)
    refuses("all four quadrants", quadrant_shift_rewards, small)
