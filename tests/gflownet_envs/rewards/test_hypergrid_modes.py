"""The rewards of the hypergrid against the paper's formula in fractions."""

from fractions import Fraction

import pytest
import torch

from gflownet_envs import HypergridEnvironment, hypergrid_mode_rewards, mode_of_object
from tests.shared import cases, refuses


def reward_of_cell(cell, side, r0, r1, r2):
    distances = [abs(Fraction(x, side - 1) - Fraction(1, 2)) for x in cell]
    is_outer = all(u > Fraction(1, 4) for u in distances)
    is_mode = all(Fraction(3, 10) < u < Fraction(4, 10) for u in distances)
    return r0 + r1 * is_outer + r2 * is_mode


@pytest.mark.parametrize(("n_dims", "side"), [(2, 8), (3, 7), (1, 21), (2, 16)])
def test_formula(n_dims, side):
    env = HypergridEnvironment(n_dims, side)
    reward = hypergrid_mode_rewards(env, 0.01, 0.5, 2.0).exp()
    cells = env.object_cells().tolist()
    expected = [reward_of_cell(cell, side, 0.01, 0.5, 2.0) for cell in cells]
    torch.testing.assert_close(reward, torch.tensor([expected], dtype=torch.float64))


@pytest.mark.parametrize(("n_dims", "side"), [(2, 8), (3, 9), (2, 20)])
def test_modes_are_as_many_as_corners_and_of_equal_size(n_dims, side):
    env = HypergridEnvironment(n_dims, side)
    mode = mode_of_object(env)
    sizes = torch.bincount(mode[mode >= 0])
    assert len(sizes) == 2**n_dims
    assert (sizes == sizes[0]).all()
    reward = hypergrid_mode_rewards(env)[0]
    assert torch.equal(reward == reward.max(), mode >= 0)


def test_one_row_a_member():
    env = HypergridEnvironment()
    together = hypergrid_mode_rewards(env, r0=[0.1, 0.001], r2=torch.tensor([2.0, 3.0]))
    alone = hypergrid_mode_rewards(env, r0=0.001, r2=3.0)
    assert torch.equal(together[1:], alone)


@cases(
    ("levels", "message"),
    ({"r0": 0.0}, "r0 must be a finite number > 0, .* got 0.0"),
    ({"r1": [-1.0]}, "r1 must be a finite number ≥ 0"),
    ({"r2": [[1.0]]}, "r2 must be"),
    ({"r0": [0.1, 0.2], "r1": [0.5] * 3}, r"got \[2, 3\] numbers"),
)
def test_bad_levels(levels, message):
    refuses(message, hypergrid_mode_rewards, HypergridEnvironment(), **levels)
    for side in (2, 6, 11):
        env = HypergridEnvironment(2, side)
        refuses(f"as 8 does, got {side}", hypergrid_mode_rewards, env)
