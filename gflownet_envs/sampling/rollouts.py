"""Rollouts by environment functions, with exploration and a replay buffer."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, require_choice
from gflownet_envs.policies.networks import (
    HeadLayout,
    PolicyNetwork,
    masked_log_policy,
    masked_logits,
)


@dataclass(frozen=True, eq=False)
class RolloutBatch:
    """Trajectories and their log-probabilities. Steps after the end carry log 1 = 0.

    Attributes
    ----------
    actions : Tensor of shape (E, B, T), int64
        −1 after the end.
    log_pf : Tensor of shape (E, B, T)
        Carries the gradient of the policy; the samples carry none.
    log_pb : Tensor of shape (E, B, T)
        Carries a gradient where the backward policy is learned.
    alive : Tensor of shape (E, B, T), bool
        True where an action was taken.
    final_states : Tensor of shape (E, B, S), int64, or None
    objects : Tensor of shape (E, B), int64, or None
        Columns of the reward table. A sampler gives one of the two.
    log_flow : Tensor of shape (E, B, T) or None
        The network's log-flow of the state before each action, where it has one.
    """

    actions: Tensor
    log_pf: Tensor
    log_pb: Tensor
    alive: Tensor
    final_states: Tensor | None = None
    objects: Tensor | None = None
    log_flow: Tensor | None = None


@dataclass(frozen=True)
class Exploration:
    """How the sampled policy differs from the trained one.

    Attributes
    ----------
    epsilon : float, default=0.0
        Share of uniformly random actions.
    temperature : float, default=1.0
        Log-policies are divided by it; above 1 the sampled policy is flatter.

    Examples
    --------
    >>> Exploration(epsilon=0.05)
    Exploration(epsilon=0.05, temperature=1.0)
    """

    epsilon: float = 0.0
    temperature: float = 1.0


ON_POLICY = Exploration()
"""Sampling from the trained policy itself."""


@torch.no_grad()
def cumulative_policy(
    logits: Tensor,  # shape: (..., A)
    mask: Tensor,  # shape: (..., A), bool
    exploration: Exploration = ON_POLICY,
    policy: Tensor | None = None,  # shape: (..., A), softmax of the logits if known
) -> Tensor:  # shape: (..., A)
    """Return cumulative probabilities of the sampled policy.

    It is (1 − ε) π^(1/temperature) / Σ + ε · uniform over allowed actions. `logits` are
    −inf where the mask is False, at least one entry a row is not; log-probabilities
    will do.

    Examples
    --------
    >>> log_policy = torch.tensor([1.0, 0.0, 0.0]).log()
    >>> mask = torch.tensor([True, True, False])
    >>> cumulative_policy(log_policy, mask, Exploration(epsilon=0.5))
    tensor([0.7500, 1.0000, 1.0000])
    """
    if exploration.temperature != 1:
        # the largest becomes 0, so that no quotient overflows
        logits = logits - logits.amax(dim=-1, keepdim=True)
        policy = torch.softmax(logits / exploration.temperature, dim=-1)
    elif policy is None:
        policy = torch.softmax(logits, dim=-1)
    if exploration.epsilon > 0:
        share = exploration.epsilon / mask.sum(dim=-1, keepdim=True)
        policy = (policy * (1 - exploration.epsilon)).addcmul_(mask, share)
    return policy.cumsum(dim=-1)


def inverse_cdf_sample(
    cumulative: Tensor,  # shape: (..., A)
    uniforms: Tensor,  # shape: (...)
) -> Tensor:  # shape: (...)
    """Return the first action whose cumulative probability exceeds the uniform.

    Uniforms are at most 1 − 2⁻²⁴, so an action of probability 0 is never drawn. Rows
    that are no numbers give the last action; their loss is no number either.

    Examples
    --------
    >>> cumulative = torch.tensor([[0.2, 0.2, 1.0], [0.2, 0.2, 1.0]])
    >>> inverse_cdf_sample(cumulative, torch.tensor([0.1, 0.2]))
    tensor([0, 2])
    """
    threshold = uniforms[..., None] * cumulative[..., -1:]
    actions = torch.searchsorted(cumulative, threshold, right=True)[..., 0]
    return actions.clamp_(max=cumulative.shape[-1] - 1)


def with_forced(actions: Tensor, forced: Tensor | None, step: int) -> Tensor:
    # shapes: actions (E, B), forced (E, B, T), −1 where free -> (E, B)
    """Put given actions in place of sampled ones."""
    if forced is None:
        return actions
    given = forced[..., step]
    return torch.where(given >= 0, given, actions)


class PlainSampler:
    """Roll-outs by the functions of an environment.

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
        outputs_in = network.walker(self.environment)
        state = self.environment.initial_state(uniforms.shape[:2]).to(uniforms.device)
        seen, put_out, chosen = [state], [outputs_in(state, None)], []
        logits_of_steps = []
        for t, u in enumerate(uniforms.unbind(dim=-1)):
            mask = self._open_mask(state)
            logits = masked_logits(put_out[-1][..., self.layout.forward], mask)
            cdf = cumulative_policy(logits, mask, exploration)
            action = with_forced(inverse_cdf_sample(cdf, u), forced, t)
            state = self.environment.step(state, action)
            logits_of_steps.append(logits)
            chosen.append(action)
            seen.append(state)
            if t + 1 < uniforms.shape[2] or self.layout.n_backward_actions:
                put_out.append(outputs_in(state, action))
        states, actions = torch.stack(seen, dim=2), torch.stack(chosen, dim=2)
        outputs = torch.stack(put_out, dim=2)
        alive = ~self.environment.is_terminal(states[:, :, :-1])
        log_policy = torch.log_softmax(torch.stack(logits_of_steps, dim=2), dim=-1)
        log_pf = log_policy.gather(-1, actions[..., None])[..., 0]
        log_pb = self._log_backward(states, actions, alive, outputs)
        log_flow = None
        if self.layout.has_flow:
            log_flow = outputs[:, :, : actions.shape[2], -1]
        return RolloutBatch(
            actions=torch.where(alive, actions, -1),
            log_pf=log_pf.where(alive, 0.0),
            log_pb=log_pb.to(log_pf.dtype).where(alive, 0.0),
            alive=alive,
            final_states=states[:, :, -1],
            log_flow=log_flow,
        )

    def _open_mask(self, states: Tensor) -> Tensor:
        # shapes: states (E, B, S) -> (E, B, A), bool
        """Return the mask of actions; finished states may do anything (padding)."""
        mask = self.environment.valid_mask(states)
        require_choice(self.environment, states, mask)
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


_BEST_SHARE = 0.1  # half of the replays come from this part of the buffer


class ReplayBuffer:
    """The last trajectories of every member, with the rewards they reached.

    Half of the replays are drawn from the tenth of the buffer with the highest rewards
    and half from all of it (Shen et al., *Towards understanding and improving GFlowNet
    training*, ICML 2023, section 4).

    Parameters
    ----------
    n_members, capacity, n_steps : int
    device : torch.device or str, default="cpu"

    Examples
    --------
    >>> buffer = ReplayBuffer(n_members=1, capacity=4, n_steps=2)
    >>> actions = torch.tensor([[[0, 1], [1, -1]]])
    >>> buffer.add(actions, torch.tensor([[0.0, 5.0]]))
    >>> buffer.draw(torch.tensor([[0.0, 0.9]])).tolist()
    [[[1, -1], [0, 1]]]
    """

    def __init__(
        self,
        n_members: int,
        capacity: int,
        n_steps: int,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (n_members, capacity)
        self._actions = torch.full((*shape, n_steps), -1, device=device)
        self._log_reward = torch.full(shape, float("-inf"), device=device)
        self._n_added = 0

    @property
    def n_stored(self) -> int:
        """Number of trajectories of each member."""
        return min(self._n_added, self._actions.shape[1])

    def add(
        self,
        actions: Tensor,  # shape: (E, B, T), −1 after the end
        log_reward: Tensor,  # shape: (E, B)
    ) -> None:
        """Store trajectories in place of the oldest ones."""
        capacity = self._actions.shape[1]
        places = torch.arange(actions.shape[1], device=actions.device)
        places = (places + self._n_added) % capacity
        latest = slice(max(0, actions.shape[1] - capacity), None)
        self._actions[:, places[latest]] = actions[:, latest]
        self._log_reward[:, places[latest]] = log_reward[:, latest].to(
            self._log_reward.dtype
        )
        self._n_added += actions.shape[1]

    def draw(
        self,
        uniforms: Tensor,  # shape: (E, R)
    ) -> Tensor:  # shape: (E, R, T)
        """Return R trajectories of each member; the first half from the best."""
        n_stored, n_drawn = self.n_stored, uniforms.shape[1]
        n_best = max(1, round(_BEST_SHARE * n_stored))
        order = self._log_reward[:, :n_stored].argsort(dim=1, descending=True)
        is_from_best = (
            torch.arange(n_drawn, device=uniforms.device) < (n_drawn + 1) // 2
        )
        limits = torch.where(is_from_best, n_best, n_stored)
        ranks = (uniforms * limits).long().clamp(max=n_stored - 1)
        rows = order.gather(1, ranks)
        index = rows[..., None].expand(-1, -1, self._actions.shape[2])
        return self._actions.gather(1, index)

    def keep(self, rows: Tensor) -> None:
        """Go on with the trajectories of some members."""
        self._actions, self._log_reward = self._actions[rows], self._log_reward[rows]
