r"""How far members are from their targets, by their own residuals alone.

A trajectory τ that ends in the object x has the residual of trajectory balance

.. math::
    \delta(\tau) = \log Z + \log P_F(\tau) - \log R(x) - \log P_B(\tau \mid x),

so that :math:`w(\tau) / Z = e^{-\delta(\tau)}` is the exact ratio of the trajectories'
target :math:`Q(\tau) = R(x) P_B(\tau \mid x) / Z` to the policy :math:`P_F(\tau)`.
Objects are functions of trajectories, and a function of two random variables does not
increase their distance in total variation (data processing):

.. math::
    \frac12 \sum_x |P_T(x) - R(x) / Z| \le
    \frac12 \sum_\tau |P_F(\tau) - Q(\tau)| =
    E_{\tau \sim P_F} (1 - e^{-\delta(\tau)})_+ .

In a tree each object has one trajectory and both sides are the same. Elsewhere the left
side is smaller as far as the errors of the trajectories of an object cancel: no bound
by residuals alone sees that.

Three ways to evaluate the right side, or a bound of it:

- *listed*: all trajectories, one by one; Z is the sum of :math:`R P_B`;
- *summed*: where they are too many, the Bhattacharyya coefficient
  :math:`b = \sum_\tau \sqrt{P_F(\tau) Q(\tau)}` by one pass over the edges, since
  roots of products are products of roots; the distance is at most
  :math:`\sqrt{1 - b^2}` (Le Cam 1973; Tsybakov, *Introduction to nonparametric
  estimation*, 2009, lemma 2.3);
- *sampled*: n trajectories of the policy. The integrand is in [0, 1] and rises with Z.
  With an upper bound of Z its mean is at most

  .. math::
      \bar f + \sqrt{2 V L / n} + 7 L / (3 (n - 1)), \qquad L = \log (2 / \alpha)

  with probability 1 − α, where V is the variance of the sample (Maurer and Pontil,
  COLT 2009, theorem 4). Weights may have any tails.

An upper bound of Z is the one thing that samples of the policy cannot give without an
assumption: a mode of the reward that they never visit is missing in it. Where the
objects are listed Z is the sum of their rewards. Elsewhere it is estimated from m
trajectories of the policy and n of the uniform policy U. With the mixture
:math:`M = \frac12 P_F + \frac12 U` the mean over both of

.. math::
    Y = \frac{R P_B}{M} - \beta \Big(\frac{P_F}{M} - 1\Big)

is Z, whatever β (a control variate: Owen and Zhou, JASA 2000); with β = Z it has no
variance once the policy is exact. β is the geometric mean of the weights of other
trajectories. As :math:`R P_B / M \ge 0` and :math:`P_F / M \le 2`, by Bernstein's
inequality (Boucheron, Lugosi and Massart, *Concentration inequalities*, 2013, corollary
2.11), with probability 1 − α,

.. math::
    Z - \bar Y \le \sqrt{2 L (\sigma_P^2 / (4 m) + \sigma_U^2 / (4 n))}
    + (Z + \beta) L / (3 \min(m, n)), \qquad L = \log (1 / \alpha),

and the assumption is that the variances are at most twice those of the samples.

That a bounded loss bounds the distance is also the subject of Lei et al., *Stable
GFlowNets with probabilistic guarantees*, arXiv 2605.01729.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    StateGraph,
    require_at_least,
    sample_uniformly,
)
from gflownet_envs.policies.networks import HeadLayout, PolicyNetwork
from gflownet_envs.random_streams import Purpose, member_streams
from gflownet_envs.rewards.source import (
    ObjectReward,
    RewardSource,
    checked_log_reward,
    log_reward_table,
    reward_of_objects,
    reward_rows,
)
from gflownet_envs.sampling import PlainSampler
from gflownet_envs.storage import split_into_blocks

if TYPE_CHECKING:
    from gflownet_envs.policy_dataset import PolicyDataset

MAX_LISTED = 100_000
"""Trajectories that are listed one by one, at most; more are summed."""

MAX_STATES = 200_000
"""States of a space whose trajectories are summed, at most; others are sampled."""

_VALUES_AT_ONCE = 2**22  # float64 numbers of an array that grows with members
_VARIANCE_ALLOWANCE = 2.0  # the true variance of weights over that of the sample
_ROUNDING = 1e-9  # added to bounds that are certain: sums of float64 numbers


class _Members(Protocol):
    """What is read of an ensemble."""

    @property
    def environment(self) -> Environment: ...
    @property
    def members(self) -> tuple[int, ...]: ...
    @property
    def n_members(self) -> int: ...
    @property
    def network(self) -> PolicyNetwork: ...
    def log_policy_table(self, graph: StateGraph) -> Tensor: ...
    def subset(self, members: Sequence[int]) -> _Members: ...


@dataclass(frozen=True, eq=False)
class DistanceBound:
    """Upper bounds of the distances of members from their exact distributions.

    Attributes
    ----------
    bound : ndarray of shape (E,)
        In total variation, between 0 and 1.
    kind : {"certain", "probable", "estimate"}
        ``"certain"``: all trajectories entered. ``"probable"``: each bound holds with
        the probability ``confidence_level``, as log Z is known. ``"estimate"``: so it
        does if the variances of the importance weights are at most twice those of the
        samples, which a mode that neither the policy nor uniformly random actions
        reached violates without a trace.
    method : {"listed", "summed", "sampled"}
        How: see ``gflownet_envs.training.certificate``.
    n_trajectories : int
        That were listed, summed or sampled, of each member.
    confidence_level : float
        1 where the bound is certain.
    learned_backward : bool, default=False
        Whether each member has a backward policy of its own, by which its exact policy
        differs from that of other members with the same reward.
    """

    bound: np.ndarray
    kind: str
    method: str
    n_trajectories: int
    confidence_level: float
    learned_backward: bool = False

    def describe(self) -> str:
        """Say what the bounds are, in words.

        Examples
        --------
        >>> import numpy as np
        >>> found = DistanceBound(np.array([0.01, 0.2]), "certain", "listed", 6, 1.0)
        >>> print(found.describe())
        the distances to the exact distributions are at most 0.010 to 0.200, by all 6
        trajectories
        """
        low, high = self.bound.min(), self.bound.max()
        text = "the distances to the exact distributions are at most "
        text += f"{low:.3f} to {high:.3f}"
        if self.kind == "certain":
            return f"{text}, by all {self.n_trajectories:,} trajectories"
        text += (
            f", each with probability {self.confidence_level:g}, by "
            f"{self.n_trajectories:,} sampled trajectories"
        )
        if self.kind == "probable":
            return text
        return f"{text}, if these miss no mode of the reward: an estimate"

    def noise_share(
        self,
        data: PolicyDataset,  # of the same members, in their order
    ) -> np.ndarray:  # shape: (n_steps,)
        r"""Bound the share of training noise in the variance of each step.

        Of the probabilities: log-ratios have no such bound, as a small probability may
        be wrong by any factor. A member that is within ε of its target passes a state s
        with the probability P(s), at least that of the steps before it. The edges that
        leave s are disjoint events, and so is the rest: its policy in s is therefore
        within :math:`t = \varepsilon / P(s)` of the exact one, and the squared
        differences of the probabilities add up to at most :math:`2 t^2`. The bound is
        the mean of these over the variance between the members.

        Returns
        -------
        ndarray of shape (n_steps,)
            May be above 1, which says nothing; NaN for a step without choice. As
            certain as the bounds: it is no estimate of the noise, which may be nothing.

        Raises
        ------
        ValueError
            If the number of members differs, or their backward policies were learned:
            then policies of one reward differ although all of them are exact.

        Examples
        --------
        >>> import numpy as np
        >>> from gflownet_envs import GridEnvironment, PolicyDataset
        >>> environment = GridEnvironment(size=2, max_moves=1)
        >>> right = [np.array([0, 0, 0, p, 1 - p]) for p in (0.2, 0.5, 0.8)]
        >>> at_end = np.array([0, 0, 0, 0, 1.0])
        >>> data = PolicyDataset.from_policies(
        ...     environment,
        ...     [lambda state, p=p: at_end if state[2] else p for p in right],
        ...     [[0.0], [1.0], [2.0]],
        ...     trajectory=[3, 4],
        ... )
        >>> found = DistanceBound(np.full(3, 0.01), "certain", "listed", 3, 1.0)
        >>> found.noise_share(data).round(4)
        array([0.0017,    nan])
        """
        if data.n_members != len(self.bound):
            raise ValueError(
                f"data has {data.n_members} members and the bound {len(self.bound)}; "
                "expected the same members"
            )
        if self.learned_backward:
            raise ValueError(
                "the members have learned backward policies, by which their exact "
                "policies differ; expected uniform ones: learn_backward_policy=False"
            )
        reached = np.ones(data.n_members)
        shares = np.full(data.n_steps, np.nan)
        for step, columns in enumerate(data.step_slices):
            policy = data.y[:, columns]
            total = policy.var(axis=0).sum()
            if total > 0:
                with np.errstate(divide="ignore"):
                    within = np.minimum(self.bound / reached, 1.0)
                shares[step] = 2 * np.square(within).mean() / total
            taken = data.action_names[columns].index(data.trajectory[step])
            reached = reached * policy[:, taken]
        return shares


def distance_bound(
    ensemble: _Members,
    reward: RewardSource,  # of the members, in their order
    *,
    n_samples: int,
    confidence_level: float,
    log_z: ArrayLike | None,
    seed: int,
) -> DistanceBound:
    """Bound the distance of every member; `TrainedEnsemble.distance_bound` says how."""
    require_at_least("n_samples", n_samples, 100)
    is_real = isinstance(confidence_level, Real)
    if not is_real or not 0 < confidence_level < 1:
        raise ValueError(
            f"confidence_level must be above 0 and below 1, got {confidence_level!r}"
        )
    environment, layout = ensemble.environment, head_layout(ensemble)
    given = _checked_log_z(log_z, ensemble.n_members)
    graph = None
    if environment.n_objects is not None:
        graph = StateGraph.if_listed(environment, MAX_STATES)
    if graph is not None and not layout.n_backward_actions:
        return bound_by_all(ensemble, reward, graph)
    known = _log_sum_of_rewards(reward, graph, environment.n_objects, given is None)
    if known is not None and given is not None:
        is_short = given + _slack(given) < known
        _refuse_too_small(given, is_short, known, ensemble.members)
    return bound_by_samples(
        ensemble,
        reward,
        layout,
        n_samples=n_samples,
        confidence_level=confidence_level,
        log_z=given if known is None else known,
        seed=seed,
    )


def head_layout(ensemble: _Members) -> HeadLayout:
    """Return what the outputs of an ensemble's networks are, by their number."""
    environment = ensemble.environment
    state = environment.initial_state((1,))
    extra = ensemble.network.outputs(environment, state).shape[-1]
    extra -= environment.n_actions
    n_backward = environment.n_backward_actions
    learns_backward = n_backward > 1 and extra >= n_backward
    return HeadLayout(
        n_actions=environment.n_actions,
        n_backward_actions=n_backward if learns_backward else 0,
        has_flow=extra in ((n_backward + 1,) if learns_backward else (1,)),
    )


def n_trajectories(graph: StateGraph) -> float:
    """Count the trajectories of a space, in floating point.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> graph = StateGraph.from_environment(GridEnvironment(size=3, max_moves=2))
    >>> n_trajectories(graph)
    9.0
    """
    n_objects = graph.environment.require_listed_objects()
    ways = torch.zeros(graph.n_states + n_objects, dtype=torch.float64)
    ways[0] = 1.0
    for step in range(graph.n_layers):
        layer = graph.layer(step)
        mask = graph.mask[layer]
        passed = ways[layer, None].expand(mask.shape)
        ways.index_add_(0, graph.children[layer][mask], passed[mask])
    return float(ways[graph.n_states :].sum())


def bound_by_all(
    ensemble: _Members, reward: RewardSource, graph: StateGraph
) -> DistanceBound:
    """Bound the distances by all trajectories: listed, or summed if they are many."""
    number = n_trajectories(graph)
    is_listed = number <= MAX_LISTED
    distance = _listed_distance if is_listed else _summed_distance
    width = max(graph.mask.numel(), int(number) if is_listed else 0)
    objects = torch.arange(graph.environment.require_listed_objects())
    found = np.empty(ensemble.n_members)
    for rows in _member_slices(ensemble.n_members, width):
        some = ensemble.subset(ensemble.members[rows])
        own = reward_of_objects(reward.select(rows), graph)
        log_reward = reward_rows(own, slice(0, some.n_members), objects)
        found[rows] = distance(graph, some.log_policy_table(graph), log_reward)
    return DistanceBound(
        bound=np.minimum(found + _ROUNDING, 1.0),
        kind="certain",
        method="listed" if is_listed else "summed",
        n_trajectories=int(number),
        confidence_level=1.0,
    )


def _listed_distance(
    graph: StateGraph, log_policy: Tensor, log_reward: Tensor
) -> Tensor:
    # shapes: log_policy (e, N, A), log_reward (e, n_objects) -> (e,)
    """Return ½ Σ |P_F(τ) − Q(τ)| over all trajectories."""
    ids = torch.zeros(1, dtype=torch.int64)
    log_pf = log_policy.new_zeros((len(log_policy), 1))
    log_pb = log_policy.new_zeros(1)
    ends: list[tuple[Tensor, Tensor]] = []
    for _ in range(graph.n_layers):
        which, action = graph.mask[ids].nonzero(as_tuple=True)
        log_pf = log_pf[:, which] + log_policy[:, ids[which], action]
        log_pb = log_pb[which] + graph.log_pb[ids[which], action]
        child = graph.children[ids[which], action]
        ended = child >= graph.n_states
        log_weight = log_reward[:, child[ended] - graph.n_states] + log_pb[ended]
        ends.append((log_pf[:, ended], log_weight))
        ids, log_pf, log_pb = child[~ended], log_pf[:, ~ended], log_pb[~ended]
    policy = torch.cat([log_p for log_p, _ in ends], dim=1).exp()
    target = torch.softmax(torch.cat([weight for _, weight in ends], dim=1), dim=1)
    return 0.5 * (policy - target).abs().sum(dim=1)


def _summed_distance(
    graph: StateGraph, log_policy: Tensor, log_reward: Tensor
) -> Tensor:
    # shapes: log_policy (e, N, A), log_reward (e, n_objects) -> (e,)
    """Return √(1 − b²) with the coefficient b of Bhattacharyya over trajectories."""
    target = torch.log_softmax(log_reward, dim=1)
    unknown = target.new_full((len(target), graph.n_states), float("-inf"))
    roots = torch.cat((unknown, 0.5 * target), dim=1)  # log of sums of roots
    for step in reversed(range(graph.n_layers)):
        layer = graph.layer(step)
        mask, children = graph.mask[layer], graph.children[layer].clamp(min=0)
        edge = 0.5 * (log_policy[:, layer] + graph.log_pb[layer])
        edge = edge + roots[:, children.flatten()].unflatten(1, children.shape)
        edge = edge.masked_fill(~mask, float("-inf"))
        roots[:, layer] = torch.logsumexp(edge, dim=-1)
    return (-torch.expm1(2 * roots[:, 0].clamp(max=0.0))).sqrt()


def bound_by_samples(
    ensemble: _Members,
    reward: RewardSource,
    layout: HeadLayout,
    *,
    n_samples: int,
    confidence_level: float,
    log_z: np.ndarray | None,
    seed: int,
) -> DistanceBound:
    """Bound the distances by samples; where ``log_z`` is None, Z by more of them."""
    environment = ensemble.environment
    sampler = PlainSampler(environment, layout)
    error = 1.0 - confidence_level
    width = environment.max_steps * max(environment.n_actions, environment.state_size)
    found = np.empty(ensemble.n_members)
    for rows in _member_slices(ensemble.n_members, width * min(n_samples, 256)):
        some = ensemble.subset(ensemble.members[rows])
        samples = _Samples(some, reward.select(rows), sampler, width)
        policy = samples.of_policy(n_samples, seed)
        if log_z is None:
            error_each = error / 2
            own = _upper_log_z(policy, samples.of_uniform(n_samples, seed), error_each)
        else:
            error_each = error
            own = log_z[rows]
            seen = logsumexp(policy[0], axis=1) - math.log(n_samples)
            is_short = _is_contradicted(own, policy[0])
            _refuse_too_small(own, is_short, seen, some.members)
        found[rows] = _upper_mean(
            -np.expm1(np.minimum(policy[0] - own[:, None], 0.0)), error_each
        )
    return DistanceBound(
        bound=np.minimum(found, 1.0),
        kind="estimate" if log_z is None else "probable",
        method="sampled",
        n_trajectories=n_samples if log_z is not None else 2 * n_samples,
        confidence_level=float(confidence_level),
        learned_backward=layout.n_backward_actions > 0,
    )


class _Samples:
    """Log-weights of trajectories of the policies and of uniformly random actions."""

    def __init__(
        self,
        ensemble: _Members,
        reward: RewardSource,
        sampler: PlainSampler,
        width: int,
    ) -> None:
        self._ensemble, self._reward, self._sampler = ensemble, reward, sampler
        self._environment = ensemble.environment
        per_trajectory = width * ensemble.n_members
        self._n_at_once = max(1, _VALUES_AT_ONCE // per_trajectory)

    def of_policy(self, n: int, seed: int) -> np.ndarray:  # shape: (2, e, n)
        """Return log R P_B over P_F, and over M, for trajectories of each policy."""
        streams = member_streams(seed, self._ensemble.members)
        generators = [stream.generator(Purpose.EVALUATION) for stream in streams]
        found = []
        for part in split_into_blocks(n, self._n_at_once):
            shape = (part.stop - part.start, self._environment.max_steps)
            uniforms = np.stack([g.random(size=shape) for g in generators])
            found.append(self._log_weights(uniforms, None))
        return np.concatenate(found, axis=2)

    def of_uniform(self, n: int, seed: int) -> np.ndarray:  # shape: (2, e, n)
        """Return the same for trajectories of uniformly random actions."""
        walks = sample_uniformly(self._environment, n, seed)
        forced = walks.actions.masked_fill(~walks.alive, -1)
        found = []
        for some in forced.split(self._n_at_once):
            same = some.expand(self._ensemble.n_members, *some.shape)
            found.append(self._log_weights(np.zeros(same.shape), same))
        return np.concatenate(found, axis=2)

    @torch.no_grad()
    def _log_weights(
        self, uniforms: np.ndarray, forced: Tensor | None
    ) -> np.ndarray:  # shapes: (e, b, T), (e, b, T) -> (2, e, b)
        network = self._ensemble.network
        clipped = torch.from_numpy(uniforms.clip(max=1 - 2.0**-24)).to(network.dtype)
        batch = self._sampler(network, clipped, forced=forced)
        states = batch.final_states
        assert states is not None  # of the plain sampler
        log_reward = checked_log_reward(
            self._reward.of_states(states), states, "the reward"
        )
        log_pf = batch.log_pf.to(torch.float64).sum(dim=-1)
        log_q = log_reward.to(torch.float64) + batch.log_pb.to(torch.float64).sum(-1)
        mixture = torch.logaddexp(
            log_pf, _log_uniform(self._environment, batch.actions)
        )
        return torch.stack((log_q - log_pf, log_q - mixture + math.log(2))).numpy()


def _log_uniform(environment: Environment, actions: Tensor) -> Tensor:
    # shapes: actions (e, b, T), −1 after the end -> (e, b), float64
    """Return the log-probability of trajectories under uniformly random actions."""
    state = environment.initial_state(actions.shape[:2])
    found = torch.zeros(actions.shape[:2], dtype=torch.float64)
    for action in actions.unbind(dim=-1):
        n_open = environment.valid_mask(state).sum(dim=-1).clamp(min=1)
        found -= n_open.to(torch.float64).log().where(action >= 0, 0.0)
        state = environment.step(state, action.clamp(min=0))
    return found


def _upper_mean(values: np.ndarray, error: float) -> np.ndarray:
    # shapes: values (e, n), in [0, 1] -> (e,)
    """Bound the expectation from above (Maurer and Pontil 2009, theorem 4)."""
    n = values.shape[1]
    log_term = math.log(2 / error)
    slack = np.sqrt(2 * values.var(axis=1, ddof=1) * log_term / n)
    return np.asarray(values.mean(axis=1) + slack + 7 * log_term / (3 * (n - 1)))


def _upper_log_z(policy: np.ndarray, uniform: np.ndarray, error: float) -> np.ndarray:
    # shapes: policy (2, e, n), uniform (2, e, n) -> (e,)
    """Bound log Z from above, if no variance is over twice that of the samples."""
    n_pilot = policy.shape[2] // 4
    log_beta = policy[0, :, :n_pilot].mean(axis=1)
    policy = policy[:, :, n_pilot:]
    mean, variance = np.zeros(len(log_beta)), np.zeros(len(log_beta))
    for log_w, log_v in (policy, uniform):
        # over β, so that nothing overflows; P_F / M is v / w
        y = np.exp(log_v - log_beta[:, None]) - np.exp(log_v - log_w) + 1
        mean += y.mean(axis=1) / 2
        variance += y.var(axis=1, ddof=1) / (4 * y.shape[1])
    log_term = math.log(1 / error)
    per_sample = log_term / (3 * policy.shape[2])
    slack = np.sqrt(2 * _VARIANCE_ALLOWANCE * variance * log_term) + per_sample
    upper = np.maximum(mean + slack, 0.0) / (1 - per_sample)
    with np.errstate(divide="ignore"):
        return np.asarray(log_beta + np.log(upper))


def _log_sum_of_rewards(
    reward: RewardSource, graph: StateGraph | None, n_objects: int | None, needed: bool
) -> np.ndarray | None:  # shape: (E,)
    """Return the log of the sum of the rewards of all objects; None if not known."""
    if graph is not None:
        table = log_reward_table(reward, graph)
    elif (
        n_objects is not None
        and isinstance(reward, ObjectReward)
        and (needed or n_objects <= _VALUES_AT_ONCE)
    ):
        table = reward.of_objects(torch.arange(n_objects).expand(reward.n_members, -1))
    else:
        return None
    return torch.logsumexp(table.double(), dim=1).cpu().numpy()


def _member_slices(n_members: int, values: int) -> list[slice]:
    return split_into_blocks(n_members, max(1, _VALUES_AT_ONCE // max(values, 1)))


def _checked_log_z(log_z: ArrayLike | None, n_members: int) -> np.ndarray | None:
    if log_z is None:
        return None
    values = np.asarray(log_z, dtype=np.float64)
    if values.shape != (n_members,) or not np.isfinite(values).all():
        raise ValueError(
            f"log_z must have {n_members} finite numbers, one a member, each log Z or "
            f"more, got {log_z!r}"
        )
    return values


def _refuse_too_small(
    log_z: np.ndarray, is_short: np.ndarray, shown: np.ndarray, members: Sequence[int]
) -> None:  # shapes: (e,), (e,), (e,)
    """Refuse log Z that is less than the rewards show."""
    if is_short.any():
        first = int(np.argmax(is_short))
        raise ValueError(
            f"log_z of member {members[first]} is {log_z[first]:g}, and its rewards "
            f"show one of about {shown[first]:g}; expected log Z or more, or None "
            "(diagnostics.log_z, which is learned, is mostly less)"
        )


def _is_contradicted(
    log_z: np.ndarray, log_weights: np.ndarray
) -> np.ndarray:  # shapes: (e,), (e, n) -> (e,)
    r"""Return where log Z is less than the weights show, whose mean is Z or less.

    Of independent :math:`w_i \ge 0` with a mean of at most Z the products
    :math:`\prod_i (1 + \lambda (w_i / Z - 1))` have an expectation of at most 1 for
    each λ in (0, 1), and so has their mean over ten of these: by Markov's inequality it
    is a million with the probability of one in a million (betting: Waudby-Smith and
    Ramdas, JRSS B 2024).
    """
    over = log_weights - (log_z + _slack(log_z))[:, None]
    shares = 0.5 ** np.arange(1, 11)
    gains = [np.logaddexp(np.log1p(-s), np.log(s) + over).sum(axis=1) for s in shares]
    return np.asarray(logsumexp(gains, axis=0) - math.log(10) > math.log(1e6))


def _slack(log_z: np.ndarray) -> np.ndarray:
    """Return what rounding of rewards may take from log Z."""
    return 1e-3 + 1e-6 * np.abs(log_z)
