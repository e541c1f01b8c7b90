"""The parameters of stacked perceptrons in one array, and Adam over it."""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from gflownet_envs.policies.networks import StackedMLP

FloatArray = NDArray[np.floating]


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
