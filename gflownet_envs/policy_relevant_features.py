"""Which linear functionals of log R a policy depends on: expected log R behind choices.

As a linear embedding of rewards, a transformer of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import Tensor

from gflownet_envs.environments.base import Environment, StateGraph
from gflownet_envs.exact.solve import (
    LOWEST_LOG,
    PolicySource,
    Trajectory,
    greedy_trajectory,
    push_forward,
    solve_exact,
    trajectory_of_actions,
)
from gflownet_envs.policies.networks import torch_threads

__all__ = ["PolicyRelevantFeatures", "exact_outcome_distributions"]

# Float64 numbers of an array that grows with starts times states or edges.
_VALUES_AT_ONCE = 2**22

# Orders of the change of a log-policy in that of log R; None is all of them.
ORDERS = (1, 2, None)

_SMALLEST = np.finfo(np.float64).tiny


def exact_outcome_distributions(
    graph: StateGraph,
    log_policy: Tensor,  # shape: (N, A)
    starts: Tensor,  # shape: (m,), int64
) -> Tensor:  # shape: (m, n_objects), float64
    r"""Return :math:`P_F(x \mid s)`, the distribution of the object made from s on.

    The probability of being in each state is pushed forward through the layers.

    Parameters
    ----------
    graph : StateGraph
    log_policy : Tensor of shape (n_states, n_actions)
        Of one member, −inf where an action is not allowed.
    starts : Tensor of shape (m,)
        Numbers as in ``graph.children``: below ``n_states`` a state, else an object.

    Raises
    ------
    ValueError
        If the policy has another shape, or a start is no such number.

    Examples
    --------
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    >>> solution = solve_exact(env, torch.tensor([[1.0, 3.0, 2.0, 4.0]]).log())
    >>> after_x = solution.graph.children[0, :1]
    >>> outcomes = exact_outcome_distributions(
    ...     solution.graph, solution.log_policy_table[0], after_x
    ... )
    >>> [round(p, 6) for p in outcomes[0].tolist()]
    [0.25, 0.75, 0.0, 0.0]
    """
    if log_policy.shape != graph.mask.shape:
        raise ValueError(
            f"log_policy must have shape {tuple(graph.mask.shape)}, got "
            f"{tuple(log_policy.shape)}"
        )
    n_total = graph.n_states + graph.environment.require_listed_objects()
    bad = starts[(starts < 0) | (starts >= n_total)]
    if len(bad):
        raise ValueError(f"starts must be in [0, {n_total}), got {int(bad[0])}")
    policy = log_policy.to(torch.float64).exp().masked_fill(~graph.mask, 0.0)
    size = max(1, _VALUES_AT_ONCE // max(n_total, graph.mask.numel()))
    reached = torch.zeros((len(starts), n_total), dtype=torch.float64)
    reached[torch.arange(len(starts)), starts] = 1.0
    for part in reached.split(size):
        push_forward(graph, policy[None], part)
    return reached[:, graph.n_states :]


@dataclass(frozen=True, eq=False)
class ChoiceLaws:
    """The choice of one step: its actions and what becomes of each."""

    step: int
    actions: Tensor  # shape: (K,), the allowed ones
    policy: Tensor  # shape: (K,), the pilot's probabilities
    # shape: (K, n_objects), the distribution of the object given the state of the step
    # and the action
    outcomes: Tensor


def retained_steps(names: Sequence[str], excluded: Sequence[str | int]) -> list[int]:
    """Return the numbers of the steps that are not excluded."""
    names = list(names)
    if isinstance(excluded, str):
        raise ValueError(
            f"exclude_steps must be a sequence, got {excluded!r}; write ({excluded!r},)"
        )
    left_out = set()
    for step in excluded:
        if isinstance(step, Integral) and 0 <= step < len(names):
            left_out.add(int(step))
        elif step in names:
            left_out.add(names.index(str(step)))
        else:
            raise ValueError(
                f"exclude_steps must name steps among {names}, or number them from 0, "
                f"got {step!r}"
            )
    return [step for step in range(len(names)) if step not in left_out]


def laws_along(
    graph: StateGraph,
    pilot: PolicySource,
    trajectory: Trajectory,
    steps: Sequence[int],
) -> list[ChoiceLaws]:
    """Return what becomes of the allowed actions at some steps."""
    environment = graph.environment
    chosen = [
        (t, environment.valid_mask(trajectory.states[t]).nonzero()[:, 0]) for t in steps
    ]
    chosen = [(t, actions) for t, actions in chosen if len(actions) > 1]
    if not chosen:
        return []
    ids = graph.state_ids(trajectory.states[[t for t, _ in chosen]]).tolist()
    starts = torch.cat(
        [graph.children[i, a] for i, (_, a) in zip(ids, chosen, strict=True)]
    )
    with torch_threads(1):
        policy = pilot.log_policy(graph.states)[0]
        outcomes = exact_outcome_distributions(graph, policy, starts)
        log_policy = pilot.log_policy(trajectory.states[:-1])[0].to(torch.float64)
    sizes = [len(actions) for _, actions in chosen]
    return [
        ChoiceLaws(t, actions, torch.softmax(log_policy[t, actions], dim=0), laws)
        for (t, actions), laws in zip(chosen, outcomes.split(sizes), strict=True)
    ]


def log_policy_change(
    law: ChoiceLaws, change: np.ndarray, order: int | None
) -> np.ndarray:  # shapes: change (n, n_objects) -> (n, K)
    r"""Return the change of the log-policy of one choice.

    Notes
    -----
    With a fixed backward policy :math:`F(s) = \sum_x R(x) P_B(s \mid x)`, and
    :math:`P_F(x \mid s) = R(x) P_B(s \mid x) / F(s)`. So where log R changes by
    :math:`\delta`, the flow changes by a cumulant generating function,

    .. math:: \log \frac{F'(s)}{F(s)}
        = \log \sum_x P_F(x \mid s) \, e^{\delta(x)}
        = E[\delta \mid s] + \tfrac{1}{2} \mathrm{Var}[\delta \mid s] + \dots,

    and the log-policy by that of the state after the action less that of the state.
    """
    policy = law.policy.numpy()
    outcomes = law.outcomes.numpy()
    made = outcomes > 0
    if order is None:
        flow = np.column_stack(
            [
                logsumexp(change[:, own], axis=1, b=row[own])
                for row, own in zip(outcomes, made, strict=True)
            ]
        )
        return flow - logsumexp(flow, axis=1, b=policy, keepdims=True)
    mean = change @ outcomes.T
    mean_of_state = mean @ policy[:, np.newaxis]
    if order == 1:
        return mean - mean_of_state
    variance = np.column_stack(
        [
            np.square(change[:, own] - centre[:, np.newaxis]) @ row[own]
            for row, own, centre in zip(outcomes, made, mean.T, strict=True)
        ]
    )
    spread = (variance + np.square(mean - mean_of_state)) @ policy
    return mean + variance / 2 - mean_of_state - spread[:, np.newaxis] / 2


class PolicyRelevantFeatures(TransformerMixin, BaseEstimator):
    r"""Map a member's log R to its expectation behind each choice of a trajectory.

    With a fixed backward policy the flow of a state is
    :math:`F(s) = \sum_x R(x) P_B(s \mid x)`, hence
    :math:`\partial \log F(s) / \partial \log R(x) = P_F(x \mid s)`, and to first order
    a change of the reward changes the policy by

    .. math:: \delta \log \pi(a \mid s)
        = E[\delta \log R \mid s, a] - E[\delta \log R \mid s],

    expectations over the objects that are made from there on. The features are

    .. math:: f_{t, a} = \frac{1}{c_t}
        \sum_x P_F(x \mid s_t, a) \, (\log R(x) - \overline{\log R}(x))

    under *one* policy, the pilot, of the mean reward :math:`\overline{\log R}` of the
    members seen in ``fit``: linear functionals of a member's log R, one for each
    allowed action at each step of one trajectory. No policy of a member is used.

    Parameters
    ----------
    environment : Environment or StateGraph
        Its states must be listed. A graph saves listing them again.
    trajectory : Trajectory or sequence of int or None, default=None
        Where policies are read, as states and actions or as actions. None takes the
        likeliest actions of the pilot, which may differ between folds.
    exclude_steps : sequence of str or int, default=()
        Steps, by name or number, whose features are left out. At the last step the
        features of a tree *are* the logits, up to a constant: to predict that step from
        them is no evidence. Leave out the step that is explained.
    relative : bool, default=False
        Subtract :math:`E[\cdot \mid s_t]`: the features are then the first-order change
        of the log-policy, and sum to zero over a step when weighted by the pilot.
    scale : bool, default=True
        Divide the features of each step by one number :math:`c_t`, such that their
        variances over the members add up to one: each step counts alike in a PCA that
        follows.
    pilot : "exact" or policy source, default="exact"
        Solved for the mean reward; or a policy of one member, taken as it is, whatever
        X.

    Attributes
    ----------
    components_ : ndarray of shape (n_features_out, n_objects)
        Weight of each reward entry in each feature; rows add up to
        :math:`1 / c_t` (``relative``: to 0).
    mean_ : ndarray of shape (n_objects,)
        Mean log R of the members of ``fit``.
    feature_steps_, feature_actions_ : ndarray of shape (n_features_out,), int
        Number of the step and of the action of each feature.
    step_scales_ : ndarray of shape (n_steps,)
        :math:`c_t`; NaN where a step has no features.
    trajectory_ : Trajectory
    pilot_ : PolicySource
    n_features_in_ : int
        Number of objects.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X, where it has such.

    Notes
    -----
    First order means: exact where the spread of log R between members is small beside
    one. Where it is not, the policy is a log-sum-exp of rewards and no linear map has
    all of it; :meth:`log_policy_change` and :meth:`predict_policy` have.

    Indices of a polynomial in these features go back to reward entries through
    ``components_``; :func:`skpce.inspection.back_to_reward` does so.

    Examples
    --------
    >>> from gflownet_envs import SequentialSelectionEnvironment
    >>> env = SequentialSelectionEnvironment(
    ...     {"catalyst": ["XPhos", "tBuXPhos"], "base": ["P2Et", "MTBD"]}
    ... )
    >>> log_reward = np.random.default_rng(0).normal(size=(20, 4))
    >>> features = PolicyRelevantFeatures(env, trajectory=[0, 2], scale=False)
    >>> features.fit(log_reward).get_feature_names_out().tolist()
    ['catalyst=XPhos', 'catalyst=tBuXPhos', 'base=P2Et', 'base=MTBD']
    >>> features.components_[2:]  # after XPhos a base is a single reaction
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """

    def __init__(
        self,
        environment: Environment | StateGraph,
        *,
        trajectory: Trajectory | Sequence[int] | None = None,
        exclude_steps: Sequence[str | int] = (),
        relative: bool = False,
        scale: bool = True,
        pilot: str | PolicySource = "exact",
    ) -> None:
        self.environment = environment
        self.trajectory = trajectory
        self.exclude_steps = exclude_steps
        self.relative = relative
        self.scale = scale
        self.pilot = pilot

    def fit(
        self,
        X: ArrayLike,  # shape: (n_members, n_objects)
        y: Any = None,
    ) -> Self:
        """Fit the pilot and read off the weights.

        Parameters
        ----------
        X : array-like of shape (n_members, n_objects)
            Log R of the training members.
        y : None
            Not used.

        Returns
        -------
        self : PolicyRelevantFeatures

        Raises
        ------
        ValueError
            For a bad parameter, X of another width, or if no step leaves a choice.
        """
        space = self._checked_space()
        X = np.asarray(validate_data(self, X, dtype=np.float64))
        n_objects = space.require_listed_objects()
        if X.shape[1] != n_objects:
            raise ValueError(
                f"X must have one column per object of {space.name}, {n_objects}, got "
                f"{X.shape[1]}"
            )
        graph = self.environment
        if isinstance(graph, Environment):
            graph = StateGraph.from_environment(graph)
        self.mean_ = X.mean(axis=0)
        self.pilot_ = self._fitted_pilot(graph)
        self.trajectory_ = self._trajectory(space)
        retained = retained_steps(space.step_names, self.exclude_steps)
        steps = [step for step in retained if step < len(self.trajectory_)]
        laws = laws_along(graph, self.pilot_, self.trajectory_, steps)
        if not laws:
            raise ValueError(
                f"no step of the trajectory leaves a choice, beside exclude_steps="
                f"{self.exclude_steps!r}, with n_features={n_objects} objects"
            )
        self._laws = laws
        self.step_scales_ = np.full(len(self.trajectory_), np.nan)
        blocks = []
        for law in laws:
            weights = law.outcomes.numpy()
            if self.relative:
                weights = weights - law.policy.numpy() @ weights
            spread = np.sqrt(((X - self.mean_) @ weights.T).var(axis=0).sum())
            self.step_scales_[law.step] = spread if self.scale and spread > 0 else 1.0
            blocks.append(weights / self.step_scales_[law.step])
        self.components_ = np.vstack(blocks)
        self.feature_steps_ = np.repeat(
            [law.step for law in laws], [len(law.actions) for law in laws]
        )
        self.feature_actions_ = np.concatenate([law.actions.numpy() for law in laws])
        return self

    def _checked_space(self) -> Environment:
        """Check parameters; return the environment."""
        given = self.environment
        space = given.environment if isinstance(given, StateGraph) else given
        if not isinstance(space, Environment):
            raise ValueError(
                f"environment must be an Environment or a StateGraph, got {given!r}"
            )
        for name in ("relative", "scale"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} must be a bool, got {getattr(self, name)!r}")
        return space

    def _fitted_pilot(self, graph: StateGraph) -> PolicySource:
        """Solve the policy of the mean reward, or take the one that is given."""
        if isinstance(self.pilot, str) and self.pilot == "exact":
            return solve_exact(graph, self.mean_[np.newaxis])
        if isinstance(self.pilot, str) or not hasattr(self.pilot, "log_policy"):
            raise ValueError(
                f"pilot must be 'exact' or a policy source, got {self.pilot!r}"
            )
        n_members = len(self.pilot.log_policy(graph.states[:1]))
        if n_members != 1:
            raise ValueError(f"pilot must have one member, got one with {n_members}")
        return self.pilot

    def _trajectory(self, space: Environment) -> Trajectory:
        if self.trajectory is None:
            return greedy_trajectory(space, self.pilot_.log_policy)
        if isinstance(self.trajectory, Trajectory):
            return self.trajectory
        return trajectory_of_actions(space, self.trajectory)

    def transform(
        self,
        X: ArrayLike,  # shape: (n_members, n_objects)
    ) -> np.ndarray:  # shape: (n_members, n_features_out)
        """Return the features of members.

        Parameters
        ----------
        X : array-like of shape (n_members, n_objects)
            Their log R.

        Returns
        -------
        features : ndarray of shape (n_members, n_features_out)
            Of mean zero over the members of ``fit``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.components_.T

    def log_policy_change(
        self,
        X: ArrayLike,  # shape: (n, n_objects)
        *,
        order: int | None = None,
    ) -> np.ndarray:  # shape: (n, n_features_out)
        r"""Return how the log-policy changes from the mean reward to others.

        Parameters
        ----------
        X : array-like of shape (n, n_objects)
            Log R: members, or ``mean_`` with some entries moved.
        order : {1, 2, None}, default=None
            Of the expansion in :math:`\delta = X - \overline{\log R}`. 1 is linear, 2
            adds half the variance of :math:`\delta` over the objects behind a choice,
            None is all orders.

        Returns
        -------
        change : ndarray of shape (n, n_features_out)
            In nats, one column a feature.

        Raises
        ------
        ValueError
            If there is another number of columns, or another order.

        Notes
        -----
        .. math:: \delta \log \pi(a \mid s)
            = \log E[e^{\delta} \mid s, a] - \log E[e^{\delta} \mid s]

        is exact for changes of any size where the pilot was solved and weights are
        exact: nothing is solved again. A trained or given pilot is taken for the policy
        of ``mean_``. With sampled weights, all orders need draws of the objects whose
        reward grows; the second order, wrong by the third power of the change, is
        steadier.

        Examples
        --------
        Were the reward of one object e² times as large, how likely is its catalyst?

        >>> from gflownet_envs import SequentialSelectionEnvironment
        >>> env = SequentialSelectionEnvironment(
        ...     {"catalyst": ["XPhos", "tBuXPhos"], "base": ["P2Et", "MTBD"]}
        ... )
        >>> features = PolicyRelevantFeatures(env, trajectory=[0, 2])
        >>> features = features.fit(np.zeros((1, 4)))
        >>> for order in (1, 2, None):
        ...     change = features.log_policy_change([[2, 0, 0, 0]], order=order)
        ...     print(change[0, :2].round(2))
        [ 0.5 -0.5]
        [ 0.62 -0.88]
        [ 0.48 -0.95]
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if order not in ORDERS:
            raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
        change = X - self.mean_
        return np.hstack([log_policy_change(law, change, order) for law in self._laws])

    def predict_policy(
        self,
        X: ArrayLike,  # shape: (n, n_objects)
        *,
        order: int | None = None,
    ) -> np.ndarray:  # shape: (n, ΣK)
        r"""Return the policies of rewards along the trajectory.

        Parameters
        ----------
        X : array-like of shape (n, n_objects)
            Their log R.
        order : {1, 2, None}, default=None
            Of :meth:`log_policy_change`.

        Returns
        -------
        y : ndarray of shape (n, ΣK)
            Probabilities, with the columns of
            :func:`~gflownet_envs.policies_along`: all actions of each step side by
            side, 0 where one is not allowed. The steps in ``exclude_steps`` are left
            out.

        Raises
        ------
        ValueError
            If there is another number of columns, or another order.

        See Also
        --------
        skpce.inspection.part_effects : Takes this method as its model, where the parts
            of log R add up to X.

        Notes
        -----
        The policy of the pilot, times the exponential of the change, closed so that
        each step adds up to one,

        .. math:: \pi(a \mid s) \propto \pi_0(a \mid s) \,
            e^{\delta \log \pi(a \mid s)}.

        With all orders, a pilot that was solved and exact weights, it is the exact
        policy. The first and the second order add up to one only after the closure.
        As along any trajectory, allowed actions have at least e⁻⁷⁰⁰.

        Examples
        --------
        The reward of one of four reactions becomes e² times as large:

        >>> from gflownet_envs import SequentialSelectionEnvironment
        >>> env = SequentialSelectionEnvironment(
        ...     {"catalyst": ["XPhos", "tBuXPhos"], "base": ["P2Et", "MTBD"]}
        ... )
        >>> features = PolicyRelevantFeatures(env, trajectory=[0, 2])
        >>> features = features.fit(np.zeros((1, 4)))
        >>> features.predict_policy([[2, 0, 0, 0]]).round(2)
        array([[0.81, 0.19, 0.88, 0.12]])
        """
        change = self.log_policy_change(X, order=order)
        space = self._checked_space()
        allowed = space.valid_mask(self.trajectory_.states[:-1]).cpu().numpy()
        policy = np.tile(allowed.astype(np.float64), (len(change), 1, 1))
        for law in self._laws:
            pilot = np.log(np.maximum(law.policy.numpy(), _SMALLEST))
            changed = pilot + change[:, self.feature_steps_ == law.step]
            log_policy = np.maximum(log_softmax(changed, axis=1), LOWEST_LOG)
            policy[:, law.step, law.actions.numpy()] = np.exp(log_policy)
        retained = retained_steps(space.step_names, self.exclude_steps)
        return np.hstack(
            [
                policy[:, step, list(space.step_actions(step))]
                for step in retained
                if step < len(self.trajectory_)
            ]
        )

    def inverse_transform(
        self,
        features: ArrayLike,  # shape: (n_members, n_features_out)
    ) -> np.ndarray:  # shape: (n_members, n_objects)
        """Return the rewards nearest to the mean reward that have given features.

        Parameters
        ----------
        features : array-like of shape (n_members, n_features_out)
            Features; least squares where no reward has them.

        Returns
        -------
        X : ndarray of shape (n_members, n_objects)
            Log R. What no feature sees is as in ``mean_``.

        Raises
        ------
        ValueError
            If there is another number of columns.
        """
        check_is_fitted(self)
        values = check_array(features, dtype=np.float64)
        if values.shape[1] != len(self.components_):
            raise ValueError(
                f"features has {values.shape[1]} columns, but PolicyRelevantFeatures "
                f"is expecting {len(self.components_)}"
            )
        return self.mean_ + values @ np.linalg.pinv(self.components_).T

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names such as ``catalyst=XPhos``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Only checked: names come from the environment.

        Returns
        -------
        names : ndarray of str of shape (n_features_out,)

        Raises
        ------
        ValueError
            If they differ from the names seen in ``fit``, or are not one per object.
        """
        OneToOneFeatureMixin.get_feature_names_out(self, input_features)  # checks
        space = self._checked_space()
        names = []
        for step, action in zip(
            self.feature_steps_, self.feature_actions_, strict=True
        ):
            step_name, name = space.step_names[step], space.action_names[action]
            names.append(f"{step_name}={name.removeprefix(f'{step_name}: ')}")
        return np.array(names, dtype=object)
