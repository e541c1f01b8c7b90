import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from gflownet_envs.policies import StackedGRU, StackedMLP, masked_log_policy
from gflownet_envs.random_streams import member_streams
from tests.shared import cases


def test_against_separate_torch_networks():
    stack = StackedMLP((4, 8, 6, 3), member_streams(0, (0, 1, 2)), torch.float64)
    inputs = torch.randn(3, 5, 4, dtype=torch.float64)
    for member in range(3):
        layers = []
        for weight, bias in zip(stack.weights, stack.biases, strict=True):
            layer = torch.nn.Linear(*weight.shape[1:], dtype=torch.float64)
            layer.weight.data = weight[member].T
            layer.bias.data = bias[member, 0]
            layers += [layer, torch.nn.ReLU()]
        network = torch.nn.Sequential(*layers[:-1])
        torch.testing.assert_close(stack(inputs)[member], network(inputs[member]))


@cases(("kind", "sizes"), (StackedMLP, ((4, 8, 3),)), (StackedGRU, (4, 8, 3)))
def test_parameters_are_those_of_the_member_alone_and_come_back(kind, sizes):
    together = kind(*sizes, member_streams(0, (0, 1, 2)))
    alone = kind(*sizes, member_streams(0, (2,))).to_arrays()
    arrays = together.to_arrays()
    for name, array in alone.items():
        assert_array_equal(arrays[name][2], array[0])
    again = kind.from_arrays(arrays)
    inputs = {StackedMLP: torch.randn(7, 4), StackedGRU: torch.tensor([[2, 0, -1]])}
    read = kind.read if kind is StackedGRU else kind.forward
    assert torch.equal(read(again, inputs[kind]), read(together, inputs[kind]))


def test_initialization_bounds():
    streams = member_streams(0, range(20))
    for initialization, gain in (("linear", 1.0), ("he", 6**0.5)):
        arrays = StackedMLP((50, 40, 30), streams, torch.float64, initialization)
        arrays = arrays.to_arrays()
        for name, bound in (
            *(("weight_0", gain / 50**0.5), ("bias_0", 1 / 50**0.5)),
            *(("weight_1", 1 / 40**0.5), ("bias_1", 1 / 40**0.5)),
        ):
            largest = np.abs(arrays[name]).max()
            assert 0.97 * bound < largest <= bound, (initialization, name)
    with pytest.raises(ValueError, match="initialization must be one of"):
        StackedMLP((2, 3), streams, initialization="zero")


def test_masked_actions_have_probability_zero_and_no_gradient():
    logits = torch.tensor([[1.0, 2.0, 50.0], [0.0, 0.0, 0.0]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    log_policy = masked_log_policy(logits, mask)
    assert log_policy[0].exp().sum().item() == 1
    assert torch.isneginf(log_policy[0, 2])
    assert torch.isneginf(log_policy[1]).all()
    log_policy[0, 0].backward()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] == 0
