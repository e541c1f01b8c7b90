"""A loop that samples objects under an uncertain reward, and learns from rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from gflownet_envs.environments.base import Environment, StateGraph, require_at_least
from gflownet_envs.exact.solve import policies_everywhere, solve_exact
from skpce import CompositionalPCESurrogate
from skpce._checks import check_real
from skpce.decision import ThompsonPolicy

#: Components with a smaller share of the variance are left out.
_LEAST_SHARE = 1e-3
_SMALLEST_VARIANCE = 1e-300  # of an observation without noise

#: Different members from which a surrogate can be learned.
_FEWEST_MEMBERS = 2


class SamplingLoop:
    r"""Choose objects by a surrogate of the members' policies, and learn from them.

    The paper's outlook describes the loop: draw what is uncertain from the belief,
    evaluate the surrogate in each state, take an action, and update the belief by the
    reward that is observed. Here what is uncertain are whitened principal components
    :math:`z` of the members' log rewards, which they predict linearly,
    :math:`\log R(x) \approx \bar r(x) + z^\top s(x)`; the surrogate is a polynomial of
    degree 1 of the policy in every state; the belief is a Kalman filter's, with what
    components leave of log R of an object as noise, the same in each observation of it.

    Members that were trained again give a new loop.

    Parameters
    ----------
    environment : Environment or StateGraph
        Whose states can be listed; a graph saves listing them again.
    log_reward : array-like of shape (n_members, n_objects)
        Log R of each object under each member, of at least two different members.
    n_components : int, default=6
        Components of the log rewards, at most.
    rule : {"draw", "vote", "mean"}, default="draw"
        How policies of the belief become actions, see
        :class:`skpce.decision.ThompsonPolicy`.
    random_state : int or None, default=None
        Randomness of the belief and of the choices.

    Attributes
    ----------
    policy : skpce.decision.ThompsonPolicy
        With the belief about the components.

    Raises
    ------
    ValueError
        For a space that cannot be listed, or log rewards that do not belong to it.

    Examples
    --------
    >>> import numpy as np
    >>> from gflownet_envs import GridEnvironment
    >>> rng = np.random.default_rng(1)
    >>> env = GridEnvironment(size=3, max_moves=3)
    >>> members = rng.normal(size=(41, 3)) @ rng.normal(size=(3, env.n_objects))
    >>> truth, lost = members[0], []
    >>> loop = SamplingLoop(env, members[1:], n_components=3, random_state=0)
    >>> for _ in range(8):
    ...     cell = loop.choose()
    ...     loop.learn(cell, truth[cell], noise_sd=0.1)
    ...     lost.append(truth.max() - truth[cell])
    >>> bool(lost[-1] == 0)  # the best cell
    True
    """

    def __init__(
        self,
        environment: Environment | StateGraph,
        log_reward: ArrayLike,
        *,
        n_components: int = 6,
        rule: str = "draw",
        random_state: int | None = None,
    ) -> None:
        require_at_least("n_components", n_components, 1)
        members = np.asarray(log_reward, dtype=np.float64)
        if members.ndim == 2 and len(np.unique(members, axis=0)) < _FEWEST_MEMBERS:
            raise ValueError(
                f"log_reward has {len(np.unique(members, axis=0))} different members; "
                f"expected at least {_FEWEST_MEMBERS}, draws of the uncertain reward"
            )
        solution = solve_exact(environment, members)
        self._graph = solution.graph
        self._mean = members.mean(axis=0)
        deviation = members - self._mean
        n_most = min(n_components, *members.shape)
        pca = PCA(n_most, whiten=True, svd_solver="full").fit(members)
        kept = pca.explained_variance_ratio_ > _LEAST_SHARE
        inputs = pca.transform(members)[:, kept]
        self._slopes = np.linalg.lstsq(inputs, deviation, rcond=None)[0]
        self._left = (deviation - inputs @ self._slopes).var(axis=0)
        self._seen: dict[int, tuple[float, float]] = {}  # precision and mean
        policies = policies_everywhere(self._graph, solution)
        surrogate = CompositionalPCESurrogate(
            1, steps=policies.steps, solver="ridge", distribution="normal"
        )
        self.policy: Any = ThompsonPolicy(
            surrogate.fit(inputs, policies.y),
            rule=rule,
            greedy=True,
            method="kalman",
            random_state=random_state,
        ).fit()
        self._steps = (self._graph.mask.sum(dim=1) > 1).nonzero()[:, 0].tolist()

    def choose(self, available: ArrayLike | None = None, *, n_tries: int = 10) -> int:
        """Return the object at the end of a walk along policies of the belief.

        Parameters
        ----------
        available : array-like of bool of shape (n_objects,), optional
            Objects that may be chosen, such as those not yet measured.
        n_tries : int, default=10
            Walks to objects that are not available, before the available object of
            the largest reward under one draw of the belief is taken.

        Raises
        ------
        ValueError
            If no object is available, or ``available`` has another shape.
        """
        free = np.ones(len(self._mean), dtype=bool)
        if available is not None:
            free = np.asarray(available)
            if free.shape != self._mean.shape or free.dtype != bool:
                raise ValueError(
                    f"available must be bool of shape {self._mean.shape}, got "
                    f"{free.dtype} of shape {free.shape}"
                )
        if not free.any():
            raise ValueError("available has no object that may be chosen")
        for _ in range(n_tries):
            found = self._walk(self.policy.choose().actions)
            if free[found]:
                return found
        decision = self.policy.choose()
        drawn = self.policy.belief_.mean if decision.inputs is None else decision.inputs
        reward = self._mean + drawn @ self._slopes
        return int(np.argmax(np.where(free, reward, -np.inf)))

    def learn(self, chosen: int, log_reward: float, *, noise_sd: float) -> None:
        """Update the belief by the log reward of an object.

        Parameters
        ----------
        chosen : int
            Number of the object.
        log_reward : float
            What was observed.
        noise_sd : float
            Standard deviation of the noise of the observation, and of what all members
            together do not know of log R.
        """
        require_at_least("chosen", chosen, 0)
        if chosen >= len(self._mean):
            raise ValueError(
                f"chosen must be below the number of objects, {len(self._mean)}, got "
                f"{chosen}"
            )
        check_real("SamplingLoop.learn", "noise_sd", noise_sd, low=0.0, closed="left")
        column, left = self._slopes[:, chosen], self._left[chosen]
        value, variance = float(log_reward), noise_sd**2 + left
        weight, mean = self._seen.get(chosen, (0.0, 0.0))
        own = 1.0 / max(noise_sd**2, _SMALLEST_VARIANCE)
        now = weight + own, mean + (value - mean) * own / (weight + own)
        self._seen[chosen] = now
        if weight:  # what components leave is the same each time
            before, after = 1.0 / weight + left, 1.0 / now[0] + left
            if not after < before:
                return
            variance = 1.0 / (1.0 / after - 1.0 / before)
            value = variance * (now[1] / after - mean / before)
        self.policy.update(
            value,
            outcome=lambda inputs: self._mean[chosen] + inputs @ column,
            noise_sd=float(np.sqrt(variance)),
        )

    def _walk(self, actions: np.ndarray) -> int:
        """Return the object that is reached with one action given in every state."""
        graph, state = self._graph, 0
        action_of = dict(zip(self._steps, actions.tolist(), strict=True))
        while state < graph.n_states:
            if state in action_of:
                columns = graph.environment.step_actions(int(graph.steps[state]))
                action = columns[action_of[state]]
            else:
                action = int(graph.mask[state].nonzero()[0, 0])
            state = int(graph.children[state, action])
        return state - graph.n_states
