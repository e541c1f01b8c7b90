"""The stacked GRU against torch's own."""

import torch

from gflownet_envs import StateGraph, TokenSequenceEnvironment
from gflownet_envs.policies import StackedGRU, log_policy_in_states, networks
from gflownet_envs.random_streams import member_streams


def test_against_separate_torch_networks():
    stack = StackedGRU(4, 6, 3, member_streams(0, (0, 1)), torch.float64)
    histories = torch.tensor([[2, 0, 3], [1, 1, 0]])
    for member in range(2):
        gru = torch.nn.GRU(4, 6, batch_first=True, dtype=torch.float64)
        gru.weight_ih_l0.data = stack.embedding[member].T.detach()
        gru.bias_ih_l0.data = stack.input_bias[member, 0].detach()
        gru.weight_hh_l0.data = stack.recurrent[member].T.detach()
        gru.bias_hh_l0.data = stack.recurrent_bias[member, 0].detach()
        one_hot = torch.nn.functional.one_hot(histories, 4).double()
        hidden = gru(one_hot)[0][:, -1]
        expected = hidden @ stack.head[member] + stack.head_bias[member]
        torch.testing.assert_close(stack.read(histories)[member], expected)


def test_many_states_are_read_in_parts(monkeypatch):
    stack = StackedGRU(2, 6, 2, member_streams(0, (0, 1)), torch.float64)
    env = TokenSequenceEnvironment(["a", "b"], max_length=4)
    states = StateGraph.from_environment(env).states
    whole = log_policy_in_states(stack, env, states)
    assert whole.shape == (2, 15, 2)
    monkeypatch.setattr(networks, "_VALUES_AT_ONCE", 2 * 18 * 4)
    parts = log_policy_in_states(stack, env, states)
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)
