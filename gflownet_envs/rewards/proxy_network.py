"""Fitting stacked regression networks, each on its own rows."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.policies.mlp import StackedMLP
from gflownet_envs.random_streams import MemberStream, Purpose


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The rows of every member; all members have the same number of rows.

    Attributes
    ----------
    inputs : Tensor of shape (n, F)
        Shared by all members, which differ in the rows they use.
    targets : Tensor of shape (E, n)
    train_rows : Tensor of shape (E, n_train), int64
    validation_rows : Tensor of shape (E, n_validation), int64
        May be empty.
    """

    inputs: Tensor
    targets: Tensor
    train_rows: Tensor
    validation_rows: Tensor

    def keep(self, members: Tensor) -> "RegressionData":
        """Return the data of some members."""
        return RegressionData(
            self.inputs,
            self.targets[members],
            self.train_rows[members],
            self.validation_rows[members],
        )


class StackedRegression:
    """Least-squares training of stacked networks by Adam, epoch by epoch.

    With validation rows, each member keeps the parameters of its best epoch, stops
    after `patience` epochs without a better one, and then leaves the stack: it costs
    nothing more, and what the others do has no influence on it.
    """

    def __init__(
        self,
        network: StackedMLP,
        data: RegressionData,
        streams: list[MemberStream],
        learning_rate: float,
        batch_size: int | None,
        patience: int | None,
    ) -> None:
        self._batch_size = batch_size
        self._patience = patience
        self._learning_rate = learning_rate
        self._data = data
        self._active = torch.arange(len(streams))
        self._shufflers = [stream.generator(Purpose.MINIBATCH) for stream in streams]
        self._network = network
        self._optimizer = self._new_optimizer()
        self._best_arrays = network.to_arrays()
        self.best_epoch = np.zeros(len(streams), dtype=np.int64)
        self._best_loss = np.full(len(streams), np.inf)

    @property
    def is_finished(self) -> bool:
        """Whether every member has stopped."""
        return len(self._active) == 0

    def _new_optimizer(self) -> torch.optim.Adam:
        parameters = self._network.parameters()
        return torch.optim.Adam(parameters, lr=self._learning_rate, fused=True)

    def result(self) -> StackedMLP:
        """Return the parameters of the best epochs, or the last without patience."""
        if self._patience is None:
            return self._network
        return StackedMLP.from_arrays(self._best_arrays)

    def train_epoch(self, epoch: int) -> None:
        """Go once over each member's rows, then judge by its validation rows."""
        for places in self._minibatches():
            rows = self._data.train_rows.gather(1, places)
            loss = self._squared_error(rows).mean(dim=-1).sum()
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self._optimizer.step()
        self._judge(epoch)

    def _minibatches(self) -> tuple[Tensor, ...]:  # shapes: (E, b)
        """Return the places of each minibatch among the training rows."""
        n_members, n_rows = self._data.train_rows.shape
        if self._batch_size is None:
            return (torch.arange(n_rows).expand(n_members, n_rows),)
        orders = [g.permutation(n_rows) for g in self._shufflers]
        return torch.from_numpy(np.stack(orders)).split(self._batch_size, dim=1)

    def _squared_error(
        self,
        rows: Tensor,  # shape: (E, b)
    ) -> Tensor:  # shape: (E, b)
        predicted = self._network(self._data.inputs[rows])[..., 0]
        return (predicted - self._data.targets.gather(1, rows)).square()

    @torch.no_grad()
    def _judge(self, epoch: int) -> None:
        """Record the best parameters; drop the members that are out of patience."""
        if self._patience is None:
            self.best_epoch[:] = epoch
            return
        losses = self._squared_error(self._data.validation_rows).mean(dim=-1)
        active = self._active.numpy()
        losses = losses.double().numpy()
        better = losses < self._best_loss[active]
        self._best_loss[active[better]] = losses[better]
        self._record(torch.from_numpy(better), epoch)
        goes_on = epoch - self.best_epoch[active] < self._patience
        if not goes_on.all():
            self._drop(torch.from_numpy(goes_on))

    def _record(
        self,
        better: Tensor,  # shape: (E_active,), bool
        epoch: int,
    ) -> None:
        members = self._active[better].numpy()
        self.best_epoch[members] = epoch
        for name, array in self._network.to_arrays().items():
            self._best_arrays[name][members] = array[better.numpy()]

    def _drop(
        self,
        goes_on: Tensor,  # shape: (E_active,), bool
    ) -> None:
        """Leave out finished members, with their rows and the state of Adam."""
        state = self._optimizer.state_dict()["state"]
        kept = goes_on.numpy()
        arrays = {name: a[kept] for name, a in self._network.to_arrays().items()}
        self._network = StackedMLP.from_arrays(arrays)
        self._optimizer = self._new_optimizer()
        for i, parameter in enumerate(self._network.parameters()):
            self._optimizer.state[parameter] = {
                "step": state[i]["step"],
                "exp_avg": state[i]["exp_avg"][goes_on],
                "exp_avg_sq": state[i]["exp_avg_sq"][goes_on],
            }
        self._data = self._data.keep(goes_on)
        self._shufflers = [
            g for g, k in zip(self._shufflers, goes_on.tolist(), strict=True) if k
        ]
        self._active = self._active[goes_on]
