"""Expressions in sin, cos, +, −, x and 2, one token at a time."""

import torch
from torch import Tensor

from gflownet_envs.environments.token_sequence import TokenSequenceEnvironment

_TOKENS = ("sin", "cos", "+", "−", "x", "2", "EOS")
_SIN, _COS, _PLUS, _MINUS, _X, _TWO, _EOS = range(len(_TOKENS))


class SymbolicExpressionEnvironment(TokenSequenceEnvironment):
    """Write an expression from left to right: a tree with a grammar.

    The vocabulary and the length are the paper's (section 2.5), which leaves the
    notation open. This is infix, as its target ``sin x + 2 − x`` is printed: in prefix
    notation a complete expression ends itself, and the token EOS would decide nothing.
    There are no parentheses; ``sin`` and ``cos`` apply to what follows up to the next
    ``+`` or ``−``, which is an operand or another function of it:

    - *expression*: terms with ``+`` or ``−`` between them;
    - *term*: ``x`` or ``2`` behind any number of ``sin`` and ``cos``.

    The mask leaves a token only if the expression can still be finished within
    `max_length` tokens, EOS counted where there is one: an expression of exactly
    `max_length` tokens ends without it. With :math:`T_n = 2^n` terms of n tokens there
    are :math:`a_n = 2 a_{n-1} + 4 a_{n-2}` expressions of n tokens, from a₁ = 2 and
    a₂ = 4: 25,190 of up to nine.

    Parameters
    ----------
    max_length : int, default=9
        At least 1.

    Examples
    --------
    >>> env = SymbolicExpressionEnvironment()
    >>> env.n_objects, env.object_name(2)
    (25190, 'sin x')
    >>> state = torch.tensor([0, 4, 2, 5, 3, 4, 6, -1, -1])
    >>> env.object_name(int(env.object_index(state)))
    'sin x + 2 − x'
    >>> env.values(state[None], torch.tensor([0.0, 1.0]))
    tensor([[2.0000, 1.8415]], dtype=torch.float64)
    """

    def __init__(self, max_length: int = 9) -> None:
        name = f"symbolic-expression-{max_length}"
        super().__init__(_TOKENS, max_length, end_token="EOS", name=name)

    def _grammar_mask(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., A), bool
        steps = self._steps(states)[..., None]
        last = states.gather(-1, (steps - 1).clamp(min=0))
        after_operand = (last == _X) | (last == _TWO)
        tokens = torch.arange(self.n_actions, device=states.device)
        needs_operand_after = tokens <= _MINUS
        has_room = steps + 2 <= self.max_length
        follows_operand = (tokens == _PLUS) | (tokens == _MINUS) | (tokens == _EOS)
        fits = has_room | ~needs_operand_after
        return (follows_operand == after_operand) & fits

    def values(
        self,
        states: Tensor,  # shape: (N, T)
        x: Tensor,  # shape: (n_points,)
    ) -> Tensor:  # shape: (N, n_points), float64
        """Return the values of finished expressions at some points, all in one pass.

        Read from right to left, a token changes the term that stands behind it, or
        adds that term to the sum.
        """
        unfinished = ~self.is_terminal(states)
        if unfinished.any():
            raise ValueError(
                "states must be finished expressions, got "
                f"{states[unfinished][0].tolist()}"
            )
        x = x.to(torch.float64)
        term = x.new_zeros((len(states), len(x)))
        total = torch.zeros_like(term)
        for tokens in states.flip(-1).unbind(dim=-1):
            total[tokens == _PLUS] += term[tokens == _PLUS]
            total[tokens == _MINUS] -= term[tokens == _MINUS]
            term[tokens == _X] = x
            term[tokens == _TWO] = 2.0
            term[tokens == _SIN] = term[tokens == _SIN].sin()
            term[tokens == _COS] = term[tokens == _COS].cos()
        return total + term
