"""Labelled sequences of reasoning strategies."""

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.token_sequence import TokenSequenceEnvironment

#: In the order in which they help most.
STRATEGIES = (
    "restate",
    "recall",
    "decompose",
    "estimate",
    "substitute",
    "compute",
    "simplify",
    "compare",
    "check",
    "conclude",
)


def strategy_environment(n_steps: int = 5) -> TokenSequenceEnvironment:
    """Return sequences of `n_steps` of ten reasoning strategies, without an end token.

    The numbers are the paper's (supplement, figure 8); the names are chosen here.

    Examples
    --------
    >>> strategy_environment().n_objects
    100000
    """
    name = f"strategy-reasoning-{n_steps}"
    return TokenSequenceEnvironment(STRATEGIES, n_steps, name=name)


def strategy_quality(
    states: Tensor,  # shape: (..., T)
) -> Tensor:  # shape: (...), float32
    r"""Return how good finished sequences of strategies are, at most 1.

    .. math::
        q(x) = \frac1T \sum_{t=0}^{T-1} \Bigl(
        1 - \Bigl|\frac{t}{T-1} - \frac{x_t}{9}\Bigr|
        - \tfrac12 [x_t = x_{t-1}] \Bigr)

    Each strategy has its time, in the order of `STRATEGIES`, and to repeat the one
    before costs half a step. The paper does not say what its reward models learn; this
    is chosen here.

    Examples
    --------
    >>> strategy_quality(torch.tensor([[0, 2, 4, 7, 9], [9, 9, 9, 0, 0]]))
    tensor([ 0.9778, -0.1000])
    """
    times = torch.linspace(0, 1, states.shape[-1])
    places = states / (len(STRATEGIES) - 1)
    in_time = 1 - (times.to(states.device) - places).abs()
    repeats = (states[..., 1:] == states[..., :-1]).sum(dim=-1)
    return in_time.mean(dim=-1) - 0.5 * repeats / states.shape[-1]


def strategy_problems(
    environment: TokenSequenceEnvironment,
    n_problems: int = 40,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:  # shapes: (n, T), (n,)
    """Return random sequences of strategies and their qualities, which are labels.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
        As `strategy_environment` makes it.
    n_problems : int, default=40
        As many as the paper has of arithmetic problems.
    seed : int, default=0

    Examples
    --------
    >>> problems, labels = strategy_problems(strategy_environment())
    >>> problems.shape, labels.shape
    (torch.Size([40, 5]), torch.Size([40]))
    """
    require_at_least("n_problems", n_problems, 1)
    n_objects = environment.require_listed_objects()
    if environment.action_names != STRATEGIES or n_problems > n_objects:
        raise ValueError(
            f"environment must have the ten strategies and at least {n_problems} "
            f"sequences, got {environment.name}"
        )
    rng = np.random.default_rng(seed)
    chosen = rng.choice(n_objects, size=n_problems, replace=False)
    problems = environment.object_states(torch.from_numpy(chosen))
    return problems, strategy_quality(problems)
