"""Small functions of the package by example."""

import math
import re

import numpy as np
import pytest
import torch

from gflownet_envs.block_store import (
    BlockLayout,
    array_digest,
    block_ticker,
    json_values,
    load_or_run,
    share_out,
    split_into_blocks,
)
from gflownet_envs.environments import GridEnvironment
from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.environments.state_graph import StateGraph, require_enumerable
from gflownet_envs.environments.uniform_trajectories import (
    environment_digest,
    sample_uniformly,
)
from gflownet_envs.exact.dag import adjacency
from gflownet_envs.experiments.analysis import span_coordinates
from gflownet_envs.experiments.tasks.graphs import (
    covariance_names,
    edge_kind,
    levels_of_nodes,
)
from gflownet_envs.experiments.tasks.molecule_studies import columns_of_levels
from gflownet_envs.objectives import flows_along
from gflownet_envs.policies.networks import StackedMLP, masked_logits, torch_threads
from gflownet_envs.policy_relevant_features.outcome_laws import ChoiceLaws
from gflownet_envs.policy_relevant_features.transformer import log_policy_change
from gflownet_envs.random_streams import UniformChunks, member_streams
from gflownet_envs.rewards.closed_form import (
    bump_profiles,
    quadrant_of_cell,
    target,
    wiener_modes,
)
from gflownet_envs.rewards.gaussian_process import one_hot_levels
from gflownet_envs.rewards.problems import right_equations
from gflownet_envs.rewards.source import (
    FunctionReward,
    MeanReward,
    RewardTable,
    as_reward_source,
    member_inputs,
    reward_of_objects,
    reward_rows,
    uncopied_log_reward,
    validated_log_reward,
)
from gflownet_envs.sampling.rollouts import with_forced
from gflownet_envs.sampling.tables import PolicyTape
from gflownet_envs.storage import environment_versions, write_bytes, write_json
from gflownet_envs.training.convergence import effective_sample_share


def test_load_or_run():
    layout = BlockLayout(1, {"x": ()})
    found = load_or_run(None, {}, lambda: {"x": np.zeros(1)}, layout)
    assert repr(found) == "{'x': array([0.])}"


def test_block_ticker():
    seen = []
    tick = block_ticker(lambda *done: seen.append(done), 1, 3, length=10)
    tick(4)
    assert seen == [(14, 30)]


def test_array_digest():
    assert array_digest(np.zeros(3)) == array_digest(np.zeros(3))
    assert array_digest(np.zeros(3)) != array_digest(np.zeros((3, 1)))


def test_json_values():
    assert json_values({"hidden": (64, 64)}) == {"hidden": [64, 64]}


def test_share_out():
    assert [block.stop - block.start for block in share_out(150, 50)] == [
        38,
        38,
        37,
        37,
    ]
    assert repr(share_out(50, 50)) == "[slice(0, 50, None)]"


def test_split_into_blocks():
    assert (
        repr(split_into_blocks(5, 2))
        == "[slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]"
    )


def test_flows_along():
    alive = torch.tensor([[[True, True, False]]])
    flows = torch.tensor([[[9.0, 2.0, 9.0]]])
    assert (
        repr(flows_along(flows, torch.tensor([10.0]), torch.tensor([[7.0]]), alive))
        == "tensor([[[10., 12.,  7.,  7.]]])"
    )


def test_member_streams():
    assert [stream.member for stream in member_streams(0, (4, 7))] == [4, 7]


def test_uniform_chunks():
    uniforms = UniformChunks(member_streams(0, (0, 1)), shape=(8, 3))
    assert uniforms.next().shape == (2, 8, 3)


def test_effective_sample_share():
    assert (
        repr(effective_sample_share(torch.tensor([[0.0, 0.0], [0.0, -100.0]])))
        == "tensor([1.0000, 0.5000])"
    )


def test_masked_logits():
    assert (
        repr(masked_logits(torch.zeros(3), torch.tensor([True, True, False])))
        == "tensor([0., 0., -inf])"
    )


def test_torch_threads():
    before = torch.get_num_threads()
    with torch_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_quadrant_of_cell():
    assert (
        repr(quadrant_of_cell(torch.tensor([[1, 1], [0, 2], [4, 0], [2, 3]])))
        == "tensor([0, 1, 2, 3])"
    )


def test_bump_profiles():
    assert bump_profiles(torch.tensor([0.0, 0.75])).round(decimals=3).tolist() == [
        1.0,
        0.006,
        0.006,
    ]


def test_target():
    assert repr(target(torch.zeros(1))) == "tensor([2.])"


def test_wiener_modes():
    assert wiener_modes(torch.tensor([2 * math.pi])).square().round(
        decimals=3
    ).tolist() == [[5.093, 0.566]]


def test_one_hot_levels():
    assert (
        repr(one_hot_levels([[1, 0], [0, 2]], sizes=(2, 3)))
        == "array([[0., 1., 1., 0., 0.],\n       [1., 0., 0., 0., 1.]])"
    )


def test_right_equations():
    assert (len(right_equations()), " ".join(right_equations()[0])) == (
        222,
        "0 + 0 = 0",
    )


def test_validated_log_reward():
    assert (
        repr(validated_log_reward([[0, 1, 2]], GridEnvironment(size=2, max_moves=1)))
        == "tensor([[0., 1., 2.]], dtype=torch.float64)"
    )


def test_uncopied_log_reward():
    table = torch.zeros(1, 3)
    environment = GridEnvironment(size=2, max_moves=1)
    assert uncopied_log_reward(table, environment).data_ptr() == table.data_ptr()


def test_reward_rows():
    objects = torch.tensor([2, 0])
    assert (
        repr(reward_rows(torch.tensor([[0.0, 1.0, 2.0]]), slice(0, 1), objects))
        == "tensor([[2., 0.]], dtype=torch.float64)"
    )
    assert (
        repr(
            reward_rows(lambda members, x: [[2.0 * i for i in x]], slice(0, 1), objects)
        )
        == "tensor([[4., 0.]], dtype=torch.float64)"
    )


def test_member_inputs():
    with pytest.raises(
        ValueError,
        match=re.escape("amplitudes must have shape (n_members, 3), got (1, 2)"),
    ):
        member_inputs("amplitudes", [[0.5, 1.0]], n_inputs=3)


def test_as_reward_source():
    env = GridEnvironment(size=2, max_moves=1)
    assert as_reward_source([[0.0, 1.0, 2.0]], env).n_members == 1


def test_mean_reward_of_states():
    def count(weights, states):
        return weights * states.sum(dim=-1)

    mean = MeanReward(FunctionReward(count, [[1.0], [3.0]]))
    assert (
        repr(mean.of_states(torch.ones(1, 2, 4, dtype=torch.int64)))
        == "tensor([[8., 8.]], dtype=torch.float64)"
    )


def test_reward_of_objects():
    env = GridEnvironment(size=2, max_moves=1)
    graph = StateGraph.from_environment(env)
    assert (
        repr(reward_of_objects(RewardTable(env, [[0.0, 1.0, 2.0]]), graph))
        == "tensor([[0., 1., 2.]], dtype=torch.float64)"
    )


def test_log_policy_change():
    law = ChoiceLaws(0, torch.arange(2), torch.full((2,), 0.5), torch.eye(2))
    assert (
        repr(log_policy_change(law, np.array([[1.0, 0.0]]), None).round(3))
        == "array([[ 0.38, -0.62]])"
    )
    assert (
        repr(
            [
                log_policy_change(law, np.array([[1.0, 0.0]]), order)[0]
                for order in (1, 2)
            ]
        )
        == "[array([ 0.5, -0.5]), array([ 0.375, -0.625])]"
    )


def test_span_coordinates():
    X = np.random.default_rng(0).normal(size=(5, 100))
    assert bool(np.allclose(span_coordinates(X) @ span_coordinates(X).T, X @ X.T))


def test_edge_kind():
    assert [
        edge_kind(e, [("a", "b")]) for e in (("a", "b"), ("b", "a"), ("a", "c"))
    ] == ["known", "known, other way", "not known"]


def test_covariance_names():
    assert covariance_names(["a", "b"]) == (
        "cov(a, a)",
        "cov(a, b)",
        "cov(b, a)",
        "cov(b, b)",
    )


def test_levels_of_nodes():
    assert levels_of_nodes(["a", "b"])["b"].tolist() == [1, 2, 3]


def test_columns_of_levels():
    assert (
        repr(columns_of_levels(np.array([[0, 1], [0, 0]]), ("a", "b"), ["C", "O"])["b"])
        == "{'C': array([1]), 'O': array([0])}"
    )


def test_require_at_least():
    with pytest.raises(ValueError, match=re.escape("size must be at least 2, got 1")):
        require_at_least("size", 1, least=2)


def test_require_enumerable():
    with pytest.raises(
        ValueError,
        match=re.escape(
            "dag-6-15 is not enumerable: graphs are listed up to 5 nodes, got 6"
        ),
    ):
        require_enumerable(DagEnvironment(6))


def test_sample_uniformly():
    assert (
        repr(sample_uniformly(GridEnvironment(), n_trajectories=3).states.shape)
        == "torch.Size([3, 7, 4])"
    )


def test_environment_digest():
    one, other = GridEnvironment(size=3), GridEnvironment(size=4)
    assert environment_digest(one) == environment_digest(GridEnvironment(size=3))
    assert environment_digest(one) != environment_digest(other)


def test_with_forced():
    assert (
        repr(with_forced(torch.tensor([[1, 1]]), torch.tensor([[[-1], [0]]]), step=0))
        == "tensor([[1, 0]])"
    )


def test_policy_tape():
    network = StackedMLP((5, 16, 3), member_streams(0, (0, 1)))
    tape = PolicyTape(network, n_rows=7)
    table = tape.add(torch.zeros(7, 5), columns=slice(0, 3))
    assert repr(table.policy.shape) == "torch.Size([2, 7, 3])"
    first_and_last, _ = tape.pick(torch.tensor([0, 41]))
    first_and_last.sum().backward()
    assert (
        repr([bias.grad.shape for bias in network.biases])
        == "[torch.Size([2, 1, 16]), torch.Size([2, 1, 3])]"
    )


def test_adjacency():
    env = DagEnvironment(2)
    assert adjacency(env, env.step(env.initial_state(), torch.tensor(0))).tolist() == [
        [False, True],
        [False, False],
    ]


def test_write_bytes(tmp_path):
    write_bytes(tmp_path / "a.txt", b"one")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_write_json(tmp_path):
    path = tmp_path / "results.json"
    write_json(path, {"q2": float("nan"), "n_members": 3})
    assert path.read_text() == '{\n  "n_members": 3,\n  "q2": null\n}\n'


def test_environment_versions():
    found = sorted(set(environment_versions()) - {"torch"})
    assert found == ["numpy", "python", "scikit-learn", "scipy", "skpce"]
