"""Gated recurrent units of all members as one stack of matrices."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.policies.networks import Walker
from gflownet_envs.random_streams import MemberStream, Purpose

_NAMES = ("embedding", "input_bias", "recurrent", "recurrent_bias", "head", "head_bias")


class StackedGRU(torch.nn.Module):
    r"""One recurrent network a member, which reads the actions taken so far.

    The hidden state starts at 0. An action :math:`a` updates it by

    .. math::
        (r, z) = \sigma(W_a^{rz} + b^{rz} + h U^{rz} + c^{rz}), \quad
        n = \tanh(W_a^n + b^n + r \odot (h U^n + c^n)), \quad
        h \leftarrow (1 - z) \odot n + z \odot h

    (Cho et al., EMNLP 2014, in the form of `torch.nn.GRU` on one-hot inputs; the
    input product is a look-up), and the outputs are :math:`h V + d`. Only for spaces
    where a state has a single history (``Environment.is_tree``).

    Parameters
    ----------
    n_actions : int
    hidden : int
        Length of the hidden state.
    n_outputs : int
    streams : sequence of MemberStream
        One a member; all initial numbers are uniform in ±1/√hidden.
    dtype : torch.dtype, default=torch.float32

    Examples
    --------
    >>> from gflownet_envs.random_streams import member_streams
    >>> network = StackedGRU(5, 16, 7, member_streams(0, (0, 1)))
    >>> histories = torch.tensor([[-1, -1], [4, -1], [4, 2]])
    >>> network.read(histories).shape
    torch.Size([2, 3, 7])
    """

    embedding: Tensor  # shape: (E, A, 3H)
    input_bias: Tensor  # shape: (E, 1, 3H)
    recurrent: Tensor  # shape: (E, H, 3H)
    recurrent_bias: Tensor  # shape: (E, 1, 3H)
    head: Tensor  # shape: (E, H, n_outputs)
    head_bias: Tensor  # shape: (E, 1, n_outputs)

    def __init__(
        self,
        n_actions: int,
        hidden: int,
        n_outputs: int,
        streams: Sequence[MemberStream],
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        shapes = [
            *((n_actions, 3 * hidden), (1, 3 * hidden)),
            *((hidden, 3 * hidden), (1, 3 * hidden)),
            *((hidden, n_outputs), (1, n_outputs)),
        ]
        arrays = [_initial_arrays(shapes, hidden, stream) for stream in streams]
        stacked = [np.stack(parts) for parts in zip(*arrays, strict=True)]
        for name, array in zip(_NAMES, stacked, strict=True):
            self._set(name, torch.from_numpy(array).to(dtype))

    def _set(self, name: str, value: Tensor) -> None:
        self.register_parameter(name, torch.nn.Parameter(value))

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "StackedGRU":
        """Rebuild a stack from what `to_arrays` gave."""
        network = cls.__new__(cls)
        torch.nn.Module.__init__(network)
        for name in _NAMES:
            network._set(name, torch.tensor(arrays[name]))
        return network

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters by name."""
        return {
            name: getattr(self, name).detach().cpu().numpy().copy() for name in _NAMES
        }

    def select(self, rows: slice | np.ndarray) -> "StackedGRU":
        """Return copies of some of the networks, on the same device."""
        arrays = {name: array[rows] for name, array in self.to_arrays().items()}
        return StackedGRU.from_arrays(arrays).to(self.head.device)

    @property
    def n_members(self) -> int:
        """Number of networks in the stack."""
        return self.head.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the parameters."""
        return self.head.dtype

    def initial_hidden(self, batch_size: int) -> Tensor:  # shape: (E, B, H)
        """Return the hidden state before the first action."""
        return self.head.new_zeros((self.n_members, batch_size, self.head.shape[1]))

    def gate_inputs(
        self,
        actions: Tensor,  # shape: (E, ...), int64
    ) -> Tensor:  # shape: (E, ..., 3H)
        """Return what actions add to the gates; −1 counts as 0."""
        n_members, n_actions, width = self.embedding.shape
        table = (self.embedding + self.input_bias).reshape(-1, width)
        member = torch.arange(n_members, device=actions.device)
        rows = actions.clamp(min=0).flatten(1) + n_actions * member[:, None]
        return table.index_select(0, rows.flatten()).view(*actions.shape, width)

    def update(
        self,
        hidden: Tensor,  # shape: (E, B, H)
        gates: Tensor,  # shape: (E, B, 3H)
    ) -> Tensor:  # shape: (E, B, H)
        """Return the hidden state after one more action."""
        size = hidden.shape[-1]
        recurrent = torch.baddbmm(self.recurrent_bias, hidden, self.recurrent)
        r_z = torch.sigmoid(gates[..., : 2 * size] + recurrent[..., : 2 * size])
        r, z = r_z[..., :size], r_z[..., size:]
        new = torch.tanh(
            torch.addcmul(gates[..., 2 * size :], r, recurrent[..., 2 * size :])
        )
        return torch.lerp(new, hidden, z)

    def outputs_of(
        self,
        hidden: Tensor,  # shape: (E, B, H)
    ) -> Tensor:  # shape: (E, B, n_outputs)
        """Return the outputs for given hidden states."""
        return torch.baddbmm(self.head_bias, hidden, self.head)

    def read(
        self,
        histories: Tensor,  # shape: (N, T) or (E, N, T), −1 where no action was taken
    ) -> Tensor:  # shape: (E, N, n_outputs)
        """Return the outputs after each of the histories."""
        histories = histories.expand(self.n_members, *histories.shape[-2:])
        hidden = self.initial_hidden(histories.shape[1])
        for t in range(histories.shape[2]):
            after = self.update(hidden, self.gate_inputs(histories[:, :, t]))
            hidden = after.where((histories[:, :, t] >= 0)[..., None], hidden)
        return self.outputs_of(hidden)

    def outputs(self, environment: Environment, states: Tensor) -> Tensor:
        """Return the outputs of all members in the same states."""
        return self.read(environment.action_history(states))

    def walker(self, environment: Environment) -> Walker:
        """Return a function that carries the hidden states along."""
        hidden: Tensor | None = None

        def outputs_in(states: Tensor, last_actions: Tensor | None) -> Tensor:
            nonlocal hidden
            if hidden is None or last_actions is None:
                hidden = self.initial_hidden(states.shape[1])
            else:
                hidden = self.update(hidden, self.gate_inputs(last_actions))
            return self.outputs_of(hidden)

        return outputs_in


def _initial_arrays(
    shapes: Sequence[tuple[int, int]], hidden: int, stream: MemberStream
) -> list[np.ndarray]:
    rng = stream.generator(Purpose.INITIALISATION)
    bound = 1 / np.sqrt(hidden)
    return [rng.uniform(-bound, bound, size=shape) for shape in shapes]
