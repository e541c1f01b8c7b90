"""Roll-outs by environment functions or by look-ups, exploration, a replay buffer."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, StateGraph, require_choice
from gflownet_envs.policies.networks import (
    HeadLayout,
    PolicyNetwork,
    StackedMLP,
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


@dataclass(frozen=True, eq=False)
class SharedLayers:
    """The layers with no more states than a batch has trajectories, in one table.

    Attributes
    ----------
    first_row : dict of int to int
        The row of the first state of each shared layer.
    ids : Tensor of shape (n,), int64
        The state of each row.
    columns : slice
        The actions that these layers use.
    """

    first_row: dict[int, int]
    ids: Tensor
    columns: slice


def shared_layers(graph: StateGraph, batch_size: int) -> SharedLayers:
    """Find the small layers; the first, which has one state, is always there."""
    ids, first_row, n_shared = [], {}, 0
    for t in range(graph.n_layers):
        layer = graph.layer(t)
        if layer.stop - layer.start <= batch_size:
            first_row[t] = n_shared
            ids.append(torch.arange(layer.start, layer.stop))
            n_shared += layer.stop - layer.start
    used = [graph.open_columns(t)[0] for t in first_row]
    columns = slice(min(c.start for c in used), max(c.stop for c in used))
    return SharedLayers(first_row, torch.cat(ids), columns)


class _PolicyTable(NamedTuple):
    """What the networks of all members put out in n states."""

    log_policy: Tensor  # shape: (E, n, A), −inf where closed
    log_flow: Tensor | None  # shape: (E, n, 1)
    cdf: Tensor  # shape: (E · n, A), of the sampled policy


class TableSampler:
    """Roll-outs by look-ups of state numbers in a `StateGraph`.

    The network sees each state of a layer once when the layer has no more states than
    the batch has trajectories (such layers are "shared"), and the sampled states
    otherwise. For Buchwald–Hartwig and a batch of 32, 17 + 32 evaluations replace
    4 × 32. Agrees with `PlainSampler` up to rounding.

    Parameters
    ----------
    graph : StateGraph
    batch_size : int
    dtype : torch.dtype, default=torch.float32
    layout : HeadLayout, optional
        What the network puts out; without backward logits. Default: the forward
        logits alone.
    device : torch.device or str, default="cpu"
    """

    def __init__(
        self,
        graph: StateGraph,
        batch_size: int,
        dtype: torch.dtype = torch.float32,
        layout: HeadLayout | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.graph = graph
        n_actions = graph.environment.n_actions
        self.layout = HeadLayout(n_actions) if layout is None else layout
        if self.layout.n_backward_actions:
            raise ValueError("TableSampler has no learned backward policy")
        self._log_pb = graph.log_pb.to(device, dtype)
        self._encodings = graph.encodings.to(device, dtype)
        self._mask = graph.mask.to(device)
        # a policy that is no number may take a closed action: it goes somewhere too
        somewhere = graph.children.amax(dim=1, keepdim=True)
        self._children = graph.children.where(graph.mask, somewhere).to(device)
        shared = shared_layers(graph, batch_size)
        self._first_row, self._shared_ids = shared.first_row, shared.ids.to(device)
        self._shared_columns = shared.columns
        self._columns = [graph.open_columns(t)[0] for t in range(graph.n_layers)]

    @property
    def environment(self) -> Environment:
        """The environment whose trajectories are sampled."""
        return self.graph.environment

    def __call__(
        self,
        network: PolicyNetwork,
        uniforms: Tensor,  # shape: (E, B, T)
        exploration: Exploration = ON_POLICY,
        forced: Tensor | None = None,  # shape: (E, B, T), −1 where free
    ) -> RolloutBatch:
        assert isinstance(network, StackedMLP)  # which reads states alone
        n_members, batch_size, n_steps = uniforms.shape
        n_states, n_actions = self._mask.shape
        by_step = uniforms.movedim(-1, 0).reshape(n_steps, -1)
        forced = None if forced is None else forced.flatten(0, 1)
        everyone = torch.arange(n_members * batch_size, device=uniforms.device)
        shared = self._evaluate(
            network, self._shared_ids, self._shared_columns, exploration
        )
        tables, first_cell = [shared], shared.log_policy.numel()
        n_shared = len(self._shared_ids)
        first_shared = everyone // batch_size * n_shared
        first_place = n_members * n_shared
        ids, steps = torch.zeros_like(everyone), []
        for t in range(self.graph.n_layers):
            alive = ids < n_states
            first_of_layer = self.graph.layer(t).start
            here = ids.where(alive, first_of_layer)
            if t in self._first_row:
                columns = self._shared_columns
                places = first_shared + (here - first_of_layer + self._first_row[t])
                cells, cdf = places * shared.cdf.shape[1], shared.cdf[places]
            else:
                columns, states = self._columns[t], here.view(n_members, batch_size)
                table = self._evaluate(network, states, columns, exploration)
                cdf, places = table.cdf, everyone + first_place
                cells = everyone * cdf.shape[1] + first_cell
                tables.append(table)
                first_cell += table.log_policy.numel()
                first_place += len(everyone)
            chosen = inverse_cdf_sample(cdf, by_step[t]) + columns.start
            actions = with_forced(chosen, forced, t)
            edges = here * n_actions + actions
            ids = self._children.take(edges).where(alive, ids)
            cells = cells + actions - columns.start
            steps.append((actions, alive, cells, places, edges))
        actions, alive, cells, places, edges = map(
            torch.stack, zip(*steps, strict=True)
        )
        log_policy = torch.cat([table.log_policy.flatten() for table in tables])
        log_pf = log_policy.take(cells)
        log_flow = None
        if self.layout.has_flow:
            flows = [t.log_flow.flatten() for t in tables if t.log_flow is not None]
            log_flow = torch.cat(flows).take(places)

        def by_member(values: Tensor) -> Tensor:  # (T, E · B) -> (E, B, T)
            return values.view(-1, n_members, batch_size).movedim(0, -1)

        return RolloutBatch(
            actions=by_member(actions.where(alive, -1)),
            log_pf=by_member(log_pf.where(alive, 0.0)),
            log_pb=by_member(self._log_pb.take(edges).where(alive, 0.0)),
            alive=by_member(alive),
            objects=(ids - n_states).view(n_members, batch_size),
            log_flow=None if log_flow is None else by_member(log_flow),
        )

    def _evaluate(
        self,
        network: StackedMLP,
        ids: Tensor,  # shape: (n,) or (E, n)
        columns: slice,
        exploration: Exploration,
    ) -> _PolicyTable:
        """Return the policies of all members in some states, over some actions."""
        outputs, mask = network(self._encodings[ids]), self._mask[ids][..., columns]
        logits = outputs[..., columns].masked_fill(~mask, float("-inf"))
        log_policy = torch.log_softmax(logits, dim=-1)
        known = log_policy.detach()
        cdf = cumulative_policy(known, mask, exploration, known.exp())
        log_flow = outputs[..., self.layout.flow] if self.layout.has_flow else None
        return _PolicyTable(log_policy, log_flow, cdf.flatten(0, 1))
