"""Policies with a leading member axis: heads, stacked perceptrons, all in one array."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.random_streams import MemberStream, Purpose

FloatArray = NDArray[np.floating]

_VALUES_AT_ONCE = 2**24  # numbers that a layer of all members puts out at a time
INITIALIZATIONS = ("linear", "he")


@dataclass(frozen=True)
class HeadLayout:
    """The columns of a network's output: forward logits, backward logits, log-flow.

    Attributes
    ----------
    n_actions : int
        Forward actions; their logits come first.
    n_backward_actions : int, default=0
        Backward actions whose logits follow; 0 where the backward policy is not
        learned.
    has_flow : bool, default=False
        Whether the last column is the log-flow of the state.

    Examples
    --------
    >>> layout = HeadLayout(n_actions=5, n_backward_actions=3, has_flow=True)
    >>> layout.n_outputs, layout.forward, layout.backward, layout.flow
    (9, slice(0, 5, None), slice(5, 8, None), slice(8, 9, None))
    """

    n_actions: int
    n_backward_actions: int = 0
    has_flow: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return self.n_actions + self.n_backward_actions + int(self.has_flow)

    @property
    def forward(self) -> slice:
        """Columns of the forward logits."""
        return slice(0, self.n_actions)

    @property
    def backward(self) -> slice:
        """Columns of the backward logits."""
        return slice(self.n_actions, self.n_actions + self.n_backward_actions)

    @property
    def flow(self) -> slice:
        """The column of the log-flow."""
        return slice(self.n_outputs - int(self.has_flow), self.n_outputs)


def masked_logits(logits: Tensor, mask: Tensor) -> Tensor:
    # shapes: logits (..., A), mask (..., A), bool -> (..., A)
    """Return the logits with −inf where an action is not allowed."""
    return torch.where(mask, logits, float("-inf"))


def masked_log_policy(
    logits: Tensor,  # shape: (..., A)
    mask: Tensor,  # shape: (..., A), bool
) -> Tensor:  # shape: (..., A)
    """Return the log-softmax over allowed actions, −inf on the others.

    Rows without any allowed action (terminal states) are −inf throughout and pass no
    gradient.

    Examples
    --------
    >>> mask = torch.tensor([True, True, False])
    >>> masked_log_policy(torch.zeros(3), mask).exp()
    tensor([0.5000, 0.5000, 0.0000])
    """
    nothing_allowed = ~mask.any(dim=-1, keepdim=True)
    open_logits = logits.masked_fill(~mask, float("-inf"))
    open_logits = open_logits.masked_fill(nothing_allowed, 0.0)
    log_policy = torch.log_softmax(open_logits, dim=-1)
    return log_policy.masked_fill(nothing_allowed, float("-inf"))


#: Takes the present states of a batch of every member, (E, B, S), and the actions that
#: led there, (E, B), None at the start; returns the outputs, (E, B, n_outputs).
Walker = Callable[[Tensor, Tensor | None], Tensor]


class PolicyNetwork(Protocol):
    """One network a member, evaluated together."""

    @property
    def n_members(self) -> int:
        """Number of networks in the stack."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters."""
        ...

    def outputs(self, environment: Environment, states: Tensor) -> Tensor:
        """Return the outputs of all members in the same states, (E, N, n_outputs)."""
        ...

    def walker(self, environment: Environment) -> Walker:
        """Return a function of the states and actions of a walk, one after another."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters by name."""
        ...

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Rebuild a stack from what `to_arrays` gave."""
        ...

    def select(self, rows: slice | np.ndarray) -> Self:
        """Return copies of some of the networks, on the same device."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return what is trained."""
        ...

    def to(self, device: str) -> Self:
        """Move the parameters to a device."""
        ...


@torch.no_grad()
def log_policy_in_states(
    network: PolicyNetwork,
    environment: Environment,
    states: Tensor,  # shape: (N, S)
) -> Tensor:  # shape: (E, N, A), float64
    """Return log P_F of every member in the same states; −inf where masked.

    The states are passed through the network in parts, which bounds the memory that
    is needed beside the result.
    """
    width = max(array.shape[-1] for array in network.to_arrays().values())
    n_rows = max(1, _VALUES_AT_ONCE // (network.n_members * width))
    n_actions = environment.n_actions
    shape = (network.n_members, len(states), n_actions)
    log_policy = torch.empty(shape, dtype=torch.float64)
    for start in range(0, len(states), n_rows):
        rows = slice(start, start + n_rows)
        logits = network.outputs(environment, states[rows])[..., :n_actions]
        mask = environment.valid_mask(states[rows])
        log_policy[:, rows] = masked_log_policy(logits.to(torch.float64), mask)
    return log_policy


class StackedMLP(torch.nn.Module):
    """One ReLU network a member, evaluated together by batched matrix products.

    Weights have shape (E, fan_in, fan_out) and biases (E, 1, fan_out). Each member's
    initial numbers come from its own stream, so that they do not depend on the other
    members nor on the precision. They are uniform in ±1/√fan_in, as in
    `torch.nn.Linear`; with ``initialization="he"`` the weights of hidden layers are
    uniform in ±√(6/fan_in) (He et al., ICCV 2015), which suits one-hot inputs better.

    Parameters
    ----------
    sizes : sequence of int
        Widths from the input to the output.
    streams : sequence of MemberStream
        One a member.
    dtype : torch.dtype, default=torch.float32
    initialization : {"linear", "he"}, default="linear"

    Examples
    --------
    >>> from gflownet_envs.random_streams import member_streams
    >>> network = StackedMLP((5, 16, 3), member_streams(0, (0, 1)))
    >>> network(torch.zeros(7, 5)).shape  # the same inputs for both members
    torch.Size([2, 7, 3])
    >>> network(torch.zeros(2, 7, 5)).shape  # inputs of their own
    torch.Size([2, 7, 3])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        streams: Sequence[MemberStream],
        dtype: torch.dtype = torch.float32,
        initialization: str = "linear",
    ) -> None:
        super().__init__()
        if initialization not in INITIALIZATIONS:
            raise ValueError(
                f"initialization must be one of {INITIALIZATIONS}, "
                f"got {initialization!r}"
            )
        hidden_gain = np.sqrt(6) if initialization == "he" else 1.0
        arrays = [_initial_arrays(sizes, stream, hidden_gain) for stream in streams]
        stacked = [np.stack(parts) for parts in zip(*arrays, strict=True)]
        tensors = [torch.nn.Parameter(torch.from_numpy(a).to(dtype)) for a in stacked]
        self.weights = torch.nn.ParameterList(tensors[0::2])
        self.biases = torch.nn.ParameterList(tensors[1::2])

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "StackedMLP":
        """Rebuild a stack from what `to_arrays` gave."""
        n_layers = sum(name.startswith("weight_") for name in arrays)
        weights = [torch.tensor(arrays[f"weight_{i}"]) for i in range(n_layers)]
        biases = [torch.tensor(arrays[f"bias_{i}"]) for i in range(n_layers)]
        return cls.from_tensors(weights, biases)

    @classmethod
    def from_tensors(
        cls,
        weights: Sequence[Tensor],  # shapes: (E, fan_in, fan_out)
        biases: Sequence[Tensor],  # shapes: (E, 1, fan_out)
    ) -> "StackedMLP":
        """Make a stack whose parameters are these tensors, not copies of them."""
        network = cls.__new__(cls)
        torch.nn.Module.__init__(network)
        network.weights = torch.nn.ParameterList(map(torch.nn.Parameter, weights))
        network.biases = torch.nn.ParameterList(map(torch.nn.Parameter, biases))
        return network

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters, named ``weight_0``, ``bias_0`` and so on."""
        arrays = {}
        for name, parts in (("weight", self.weights), ("bias", self.biases)):
            for i, part in enumerate(parts):
                arrays[f"{name}_{i}"] = part.detach().cpu().numpy().copy()
        return arrays

    def select(self, rows: slice | np.ndarray) -> "StackedMLP":
        """Return copies of some of the networks, on the same device."""
        arrays = {name: array[rows] for name, array in self.to_arrays().items()}
        return StackedMLP.from_arrays(arrays).to(self.weights[0].device)

    @property
    def n_members(self) -> int:
        """Number of networks in the stack."""
        return self.weights[0].shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters."""
        return self.weights[0].dtype

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return weights and biases, layer by layer.

        Read it once for many uses: reading a `torch.nn.ParameterList` takes as long as
        a small product of matrices.
        """
        parameters = list(self.parameters())  # the weights, then the biases
        n_layers = len(parameters) // 2
        return list(zip(parameters[:n_layers], parameters[n_layers:], strict=True))

    def forward(
        self,
        inputs: Tensor,  # shape: (B, F) or (E, B, F)
    ) -> Tensor:  # shape: (E, B, A)
        *hidden_layers, (weight, bias) = self.layers()
        values = inputs.expand(self.n_members, *inputs.shape[-2:])
        for own_weight, own_bias in hidden_layers:
            values = torch.relu(torch.baddbmm(own_bias, values, own_weight))
        return torch.baddbmm(bias, values, weight)

    def outputs(self, environment: Environment, states: Tensor) -> Tensor:
        """Return the outputs of all members in the same states."""
        return self(environment.encode(states).to(self.dtype))

    def walker(self, environment: Environment) -> Walker:
        """Return a function that sees the encoding of each state."""
        return lambda states, last_actions: self.outputs(environment, states)


def _initial_arrays(
    sizes: Sequence[int], stream: MemberStream, hidden_gain: float
) -> list[np.ndarray]:
    """Return weight, bias, weight, … of one member."""
    rng = stream.generator(Purpose.INITIALISATION)
    arrays = []
    for fan_in, fan_out in pairwise(sizes):
        bound = 1 / np.sqrt(fan_in)
        arrays.append(hidden_gain * rng.uniform(-bound, bound, size=(fan_in, fan_out)))
        arrays.append(rng.uniform(-bound, bound, size=(1, fan_out)))
    arrays[-2] /= hidden_gain  # the last layer is not followed by a ReLU
    return arrays


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    """Set the number of torch threads inside a block and restore it after.

    The matrices here are small: on a busy two-core machine two threads were 22 times
    slower than one. More cores are used by more processes.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class FlatNetworks:
    """Weights, biases and one number more a member, side by side in one array.

    A step of Adam over one array is one operation, however many layers there are; for
    few members calls of operations take longer than their arithmetic. The layers are
    views, so that `network` always has the present numbers.

    Parameters
    ----------
    network : StackedMLP
        On the CPU; its numbers are copied.

    Attributes
    ----------
    values, gradient : ndarray of shape (E, n_parameters + 1)
        The last column is the number more: log Z in a unit of its own.
    layers, layer_gradients : list of ndarray of shape (E, fan_in + 1, fan_out)
        The last row is the bias, which an input that is always one multiplies.
    network : StackedMLP
        Whose parameters are views of `values`.

    Examples
    --------
    >>> from gflownet_envs.random_streams import member_streams
    >>> flat = FlatNetworks(StackedMLP((5, 16, 3), member_streams(0, (0, 1))))
    >>> flat.values.shape
    (2, 148)
    >>> flat.layers[0][:, -1] = 7.0
    >>> flat.network.to_arrays()["bias_0"].max()
    np.float32(7.0)
    """

    def __init__(self, network: StackedMLP) -> None:
        arrays = network.to_arrays()
        pairs = [
            np.concatenate((arrays[f"weight_{i}"], arrays[f"bias_{i}"]), axis=1)
            for i in range(len(arrays) // 2)
        ]
        flat = [pair.reshape(network.n_members, -1) for pair in pairs]
        log_z = np.zeros((network.n_members, 1), flat[0].dtype)
        self.values = np.concatenate((*flat, log_z), axis=1)
        self.gradient = np.zeros_like(self.values)
        ends = np.cumsum([0, *(part.shape[1] for part in flat)])

        def views(of: FloatArray) -> list[FloatArray]:
            return [
                of[:, start:end].reshape(pair.shape)
                for (start, end), pair in zip(pairwise(ends), pairs, strict=True)
            ]

        self.layers, self.layer_gradients = views(self.values), views(self.gradient)
        tensors = [torch.from_numpy(layer) for layer in self.layers]
        self.network = StackedMLP.from_tensors(
            [tensor[:, :-1] for tensor in tensors],
            [tensor[:, -1:] for tensor in tensors],
        )

    @property
    def n_members(self) -> int:
        """Number of networks."""
        return len(self.values)


class FlatAdam:
    """Adam over the array of `FlatNetworks`: one call for all members and layers.

    Each member is a tensor of its own in this call: what is rounded how depends on the
    place in a tensor, and must not depend on how many members there are.

    Parameters
    ----------
    flat : FlatNetworks
    betas : tuple of float
    """

    def __init__(
        self,
        flat: FlatNetworks,
        betas: tuple[float, float],
        moments: FloatArray | None = None,  # shape: (2, E, n_parameters + 1)
        n_steps: int = 0,
    ) -> None:
        if moments is None:
            moments = np.zeros((2, *flat.values.shape), flat.values.dtype)
        self._betas, self._moments = betas, moments
        self._n_steps = torch.tensor(float(n_steps))
        self._members = [
            [torch.from_numpy(row) for row in array]
            for array in (flat.values, flat.gradient, *moments)
        ]

    def step(self, rate: float) -> None:
        """Take one step."""
        self._n_steps += 1
        # what torch.optim.Adam(fused=True) calls, which itself takes five times as long
        values, gradients, first, second = self._members
        torch._fused_adam_(
            values,
            gradients,
            first,
            second,
            [],
            [self._n_steps] * len(values),
            lr=rate,
            beta1=self._betas[0],
            beta2=self._betas[1],
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )

    def keep(self, flat: FlatNetworks, rows: NDArray[np.intp]) -> "FlatAdam":
        """Return the optimiser of some members, whose numbers are now in ``flat``."""
        n_steps = int(self._n_steps)
        return FlatAdam(flat, self._betas, self._moments[:, rows], n_steps)
