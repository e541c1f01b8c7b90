"""Roll-outs by the functions of the environment, for spaces of any size."""

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment
from gflownet_envs.policies.heads import HeadLayout, masked_log_policy, masked_logits
from gflownet_envs.policies.network import PolicyNetwork, Walker
from gflownet_envs.sampling.batch import RolloutBatch
from gflownet_envs.sampling.exploration import (
    ON_POLICY,
    Exploration,
    cumulative_policy,
    inverse_cdf_sample,
    with_forced,
)


class PlainSampler:
    """Roll-outs without gradients, then one pass over all visited states.

    The second pass (teacher forcing) gives log P_F with gradients: the graph of
    autograd holds one evaluation of the network in place of one a step.

    Parameters
    ----------
    environment : Environment
    layout : HeadLayout, optional
        What the network puts out. Default: the forward logits alone.
    """

    def __init__(
        self, environment: Environment, layout: HeadLayout | None = None
    ) -> None:
        self.environment = environment
        self.layout = HeadLayout(environment.n_actions) if layout is None else layout

    def __call__(
        self,
        network: PolicyNetwork,
        uniforms: Tensor,  # shape: (E, B, T)
        exploration: Exploration = ON_POLICY,
        forced: Tensor | None = None,  # shape: (E, B, T), −1 where free
    ) -> RolloutBatch:
        walker = network.walker(self.environment)
        states, masks, actions = self._walk(walker, uniforms, exploration, forced)
        alive = ~self.environment.is_terminal(states[:, :, :-1])
        outputs = walker.outputs()
        visited = outputs[:, :, : actions.shape[2]]
        logits = masked_logits(visited[..., self.layout.forward], masks)
        log_pf = torch.log_softmax(logits, dim=-1)
        log_pf = log_pf.gather(-1, actions[..., None])[..., 0]
        log_pb = self._log_backward(states, actions, alive, outputs)
        return RolloutBatch(
            actions=torch.where(alive, actions, -1),
            log_pf=log_pf.where(alive, 0.0),
            log_pb=log_pb.to(log_pf.dtype).where(alive, 0.0),
            alive=alive,
            final_states=states[:, :, -1],
            log_flow=visited[..., -1] if self.layout.has_flow else None,
        )

    @torch.no_grad()
    def _walk(
        self,
        walker: Walker,
        uniforms: Tensor,  # shape: (E, B, T)
        exploration: Exploration,
        forced: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:  # (E, B, T + 1, S), (E, B, T, A), (E, B, T)
        """Return all states, the masks and the actions."""
        state = self.environment.initial_state(uniforms.shape[:2]).to(uniforms.device)
        states, masks, actions = [state], [], []
        for t, u in enumerate(uniforms.unbind(dim=-1)):
            mask = self._open_mask(state)
            outputs = walker.outputs_now(state)
            logits = masked_logits(outputs[..., self.layout.forward], mask)
            cdf = cumulative_policy(logits, mask, exploration)
            action = with_forced(inverse_cdf_sample(cdf, u), forced, t)
            walker.advance(action)
            state = self.environment.step(state, action)
            masks.append(mask)
            actions.append(action)
            states.append(state)
        if self.layout.n_backward_actions:
            walker.outputs_now(state)  # the last state has a backward policy too
        return (
            torch.stack(states, dim=2),
            torch.stack(masks, dim=2),
            torch.stack(actions, dim=2),
        )

    def _open_mask(
        self,
        states: Tensor,  # shape: (E, B, S)
    ) -> Tensor:  # shape: (E, B, A), bool
        """Return the mask of actions; finished states may do anything (padding)."""
        mask = self.environment.valid_mask(states)
        return mask | self.environment.is_terminal(states)[..., None]

    def _log_backward(
        self,
        states: Tensor,  # shape: (E, B, T + 1, S)
        actions: Tensor,  # shape: (E, B, T)
        alive: Tensor,  # shape: (E, B, T)
        outputs: Tensor,  # shape: (E, B, T or T + 1, n_outputs)
    ) -> Tensor:  # shape: (E, B, T)
        """Return log P_B of the steps taken: uniform over parents, or learned."""
        children = states[:, :, 1:]
        if not self.layout.n_backward_actions:
            return self.environment.log_backward_policy(children)
        logits = outputs[:, :, 1:, self.layout.backward]
        mask = self.environment.backward_mask(children)
        log_policy = masked_log_policy(logits, mask)
        undo = self.environment.backward_action(states[:, :, :-1], actions)
        undo = undo.where(alive, 0)  # padding undoes nothing
        return log_policy.gather(-1, undo[..., None])[..., 0]
