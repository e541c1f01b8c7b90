"""An environment of gymnasium by the states of one of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.environments.base import Environment, StateGraph
from gflownet_envs.extras import import_extra
from gflownet_envs.rewards.source import graph_and_reward

__all__ = ["to_gymnasium"]


def to_gymnasium(
    environment: Environment | StateGraph,
    log_reward: Tensor | ArrayLike,  # shape: (n_objects,)
) -> Any:
    """Return an environment of gymnasium with the states of one of ours.

    Parameters
    ----------
    environment : Environment or StateGraph
        With states that can be listed.
    log_reward : array of shape (n_objects,)
        Of one member: the reward of the last step; all others give 0.

    Returns
    -------
    gymnasium.Env
        It observes the number of the state in ``graph``, ``graph.n_states + x`` for
        the object x, which ends the episode. ``info["action_mask"]`` has 1 for each
        action that is allowed; another leaves the state as it is.

    Raises
    ------
    ImportError
        If gymnasium is not installed.
    ValueError
        If states cannot be listed, or ``log_reward`` has another shape.

    Examples
    --------
    >>> from gflownet_envs import GridEnvironment
    >>> environment = GridEnvironment(size=2, max_moves=1)
    >>> env = to_gymnasium(environment, [0.0, 1.0, 2.0])  # doctest: +SKIP
    >>> env.reset()  # doctest: +SKIP
    (0, {'action_mask': array([0, 1, 0, 1, 1], dtype=int8)})
    >>> env.step(4)[:3]  # doctest: +SKIP
    (3, 0.0, True)
    """
    gymnasium = import_extra("gymnasium", "to_gymnasium")
    graph, of_one = graph_and_reward(environment, log_reward)
    reward = of_one.numpy()
    children, mask = graph.children.numpy(), graph.mask.numpy().astype(np.int8)
    n_states, n_actions = mask.shape
    ended = np.zeros(n_actions, dtype=np.int8)

    class GymnasiumEnvironment(gymnasium.Env):  # type: ignore[name-defined]
        """A space whose states are listed."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self) -> None:
            self.graph = graph
            self.observation_space = gymnasium.spaces.Discrete(n_states + len(reward))
            self.action_space = gymnasium.spaces.Discrete(n_actions)
            self._state = 0

        def _info(self) -> dict[str, Any]:
            is_over = self._state >= n_states
            return {"action_mask": (ended if is_over else mask[self._state]).copy()}

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[int, dict[str, Any]]:
            super().reset(seed=seed)
            self._state = 0
            return 0, self._info()

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            if not self.action_space.contains(action):
                raise ValueError(
                    f"action must be an int from 0 to {n_actions - 1}, got {action!r}"
                )
            if self._state < n_states and mask[self._state, action]:
                self._state = int(children[self._state, action])
                if self._state >= n_states:
                    last = float(reward[self._state - n_states])
                    return self._state, last, True, False, self._info()
            return self._state, 0.0, self._state >= n_states, False, self._info()

    return GymnasiumEnvironment()
