"""Problems whose steps a process reward scores: arithmetic, and strategies."""

from itertools import product

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.sequences import TokenSequenceEnvironment

_DIGITS = tuple("0123456789")
_N_PROBLEMS = 40  # of the paper's pool

#: Of the equations.
OPERATIONS = ("+", "−", "×", "÷", "^")


def arithmetic_environment(max_length: int = 5) -> TokenSequenceEnvironment:
    """Return sequences of ten digits, six operators and EOS.

    The paper (section 2.6) has 17 tokens, "digits, operators, and EOS", and five
    steps; the six operators ``+ − × ÷ ^ =`` are chosen here. A sequence ends by EOS
    or after five tokens, which is as long as ``3 + 4 = 7``.

    Examples
    --------
    >>> env = arithmetic_environment()
    >>> env.n_actions, env.n_objects
    (17, 1118481)
    """
    tokens = (*_DIGITS, *OPERATIONS, "=", "EOS")
    name = f"arithmetic-{max_length}"
    return TokenSequenceEnvironment(tokens, max_length, end_token="EOS", name=name)


def arithmetic_problems(
    environment: TokenSequenceEnvironment, seed: int = 0
) -> tuple[Tensor, Tensor]:  # shapes: (40, 5), (40,)
    """Return equations of single digits, the first half right, the others wrong.

    A right equation is drawn from all 222 of the form ``a ∘ b = c``; a wrong one is a
    right one whose result is replaced by another digit. Their labels are 1 and 0.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
        As `arithmetic_environment` makes it, with ``max_length`` 5.
    seed : int, default=0

    Examples
    --------
    >>> env = arithmetic_environment()
    >>> problems, labels = arithmetic_problems(env)
    >>> problems.shape, labels.sum()
    (torch.Size([40, 5]), tensor(20.))
    """
    if environment.max_length != 5 or "=" not in environment.action_names:
        raise ValueError(
            f"environment must be arithmetic_environment(5), got {environment.name}"
        )
    right, n_half = right_equations(), _N_PROBLEMS // 2
    rng = np.random.default_rng(seed)
    chosen = [right[i] for i in rng.permutation(len(right))[: 2 * n_half]]
    offsets = rng.integers(1, 10, size=n_half)
    wrong = [
        (*equation[:4], str((int(equation[4]) + offset) % 10))
        for equation, offset in zip(chosen[n_half:], offsets, strict=True)
    ]
    number = {token: i for i, token in enumerate(environment.action_names)}
    equations = [*chosen[:n_half], *wrong]
    problems = torch.tensor([[number[token] for token in e] for e in equations])
    return problems, torch.repeat_interleave(torch.tensor([1.0, 0.0]), n_half)


def right_equations() -> list[tuple[str, ...]]:
    """Return all right equations ``a ∘ b = c`` of single digits."""
    equations: list[tuple[str, ...]] = []
    for a in range(10):
        for b in range(10):
            quotient = a // b if b > 0 and a % b == 0 else None
            power = a**b if a > 0 or b > 0 else None
            results = (a + b, a - b, a * b, quotient, power)
            equations += [
                (str(a), operation, str(b), "=", str(c))
                for operation, c in zip(OPERATIONS, results, strict=True)
                if c is not None and 0 <= c <= 9
            ]
    return equations


def equations(environment: TokenSequenceEnvironment) -> dict[str, np.ndarray]:
    """Return the numbers of all objects of the form ``a ∘ b = c``, right and wrong.

    Examples
    --------
    >>> {name: len(own) for name, own in equations(arithmetic_environment()).items()}
    {'right equations': 222, 'wrong equations': 4778}
    """
    number = {token: i for i, token in enumerate(environment.action_names)}
    right = set(right_equations())
    every = list(product(_DIGITS, OPERATIONS, _DIGITS, "=", _DIGITS))
    states = torch.tensor([[number[token] for token in one] for one in every])
    objects = environment.object_index(states).numpy()
    is_right = np.array([one in right for one in every])
    return {
        "right equations": objects[is_right],
        "wrong equations": objects[~is_right],
    }


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
    """Return sequences of ``n_steps`` of ten reasoning strategies, with no end token.

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

    Each strategy has its time, in the order of ``STRATEGIES``, and to repeat the one
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
    environment: TokenSequenceEnvironment, seed: int = 0
) -> tuple[Tensor, Tensor]:  # shapes: (40, T), (40,)
    """Return random sequences of strategies and their qualities, which are labels.

    Parameters
    ----------
    environment : TokenSequenceEnvironment
        As `strategy_environment` makes it.
    seed : int, default=0

    Examples
    --------
    >>> problems, labels = strategy_problems(strategy_environment())
    >>> problems.shape, labels.shape
    (torch.Size([40, 5]), torch.Size([40]))
    """
    n_objects = environment.require_listed_objects()
    if environment.action_names != STRATEGIES or n_objects < _N_PROBLEMS:
        raise ValueError(
            f"environment must have the ten strategies and at least {_N_PROBLEMS} "
            f"sequences, got {environment.name}"
        )
    rng = np.random.default_rng(seed)
    chosen = rng.choice(n_objects, size=_N_PROBLEMS, replace=False)
    problems = environment.object_states(torch.from_numpy(chosen))
    return problems, strategy_quality(problems)
