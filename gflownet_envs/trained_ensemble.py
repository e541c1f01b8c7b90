"""The result of training: one policy a member."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.policies.mlp import StackedMLP, masked_log_policy
from gflownet_envs.state_graph import StateGraph


@dataclass(frozen=True, eq=False)
class TrainingDiagnostics:
    """What training says about itself, one number a member.

    Attributes
    ----------
    final_loss : ndarray of shape (E,)
        Mean loss of the last 100 iterations (or of all, if fewer).
    log_z : ndarray of shape (E,)
        The learned log Z, or the mean over the same iterations of the batch estimate,
        which is below the true log Z while the policy is not exact.
    cpu_seconds : ndarray of shape (E,)
        CPU time of the member's block over the members of the block.
    """

    final_loss: np.ndarray
    log_z: np.ndarray
    cpu_seconds: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """Stacked policies of the members that were trained.

    Attributes
    ----------
    environment : Environment
    members : tuple of int
        Their numbers in the whole ensemble.
    network : StackedMLP
    diagnostics : TrainingDiagnostics

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment, TrainingSpec, train_ensemble
    >>> env = GridEnvironment(size=2, max_moves=1)
    >>> log_reward = torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    >>> spec = TrainingSpec(n_iterations=2, hidden=(8,))
    >>> ensemble = train_ensemble(env, log_reward, spec, seed=0)
    >>> ensemble.log_policy(env.initial_state()).shape
    torch.Size([2, 5])
    >>> ensemble.subset([1]).members
    (1,)
    """

    environment: Environment
    members: tuple[int, ...]
    network: StackedMLP
    diagnostics: TrainingDiagnostics

    @property
    def n_members(self) -> int:
        """Number of policies."""
        return len(self.members)

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of the stacked parameters."""
        return self.network.to_arrays()

    @torch.no_grad()
    def log_policy(
        self,
        states: Tensor,  # shape: (..., S)
    ) -> Tensor:  # shape: (E, ..., A), float64
        """Return log P_F of every member in the same states; −inf where masked."""
        flat = states.reshape(-1, states.shape[-1])
        encodings = self.environment.encode(flat).to(self.network.dtype)
        mask = self.environment.valid_mask(flat)
        logits = self.network(encodings).to(torch.float64)
        log_policy = masked_log_policy(logits, mask)
        return log_policy.reshape(self.n_members, *states.shape[:-1], -1)

    def log_policy_table(
        self,
        graph: StateGraph,
    ) -> Tensor:  # shape: (E, N, A), float64
        """Return log P_F in all states of a graph."""
        return self.log_policy(graph.states)

    def subset(self, members: Sequence[int]) -> "TrainedEnsemble":
        """Return the policies of some members, named by their numbers.

        Raises
        ------
        ValueError
            If a member was not trained here.
        """
        missing = [member for member in members if member not in self.members]
        if missing:
            raise ValueError(
                f"members {missing} are not in this ensemble, which has {self.members}"
            )
        rows = [self.members.index(member) for member in members]
        arrays = {name: array[rows] for name, array in self.parameters.items()}
        return TrainedEnsemble(
            environment=self.environment,
            members=tuple(int(member) for member in members),
            network=StackedMLP.from_arrays(arrays),
            diagnostics=TrainingDiagnostics(
                final_loss=self.diagnostics.final_loss[rows],
                log_z=self.diagnostics.log_z[rows],
                cpu_seconds=self.diagnostics.cpu_seconds[rows],
            ),
        )
