"""Expressions in sin, cos, +, −, x and 2, one token at a time."""

import math

import torch
from torch import Tensor

from gflownet_envs.environments.token_sequence import TokenSequenceEnvironment

_TOKENS = ("sin", "cos", "+", "−", "x", "2", "EOS")
_SIN, _COS, _PLUS, _MINUS, _X, _TWO, _EOS = range(len(_TOKENS))

ENCODINGS = ("values", "tokens")

_N_ENCODED_POINTS = 8
_N_ENDINGS = 6  # of `_endings`
_DIGITS_OF_A_NUMBER = 8  # of three bits each: what float32 holds
_VALUE_SCALE = 8.0  # of most values of expressions of nine tokens on [0, 2π]


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
    encoding : {"values", "tokens"}, default="values"
        ``"tokens"`` is that of `TokenSequenceEnvironment`. ``"values"`` is what the
        expression so far means: for each of x, 2 and their sines and cosines, the
        values at eight points of [0, 2π], and the mean of their squares, of the
        expression that it would finish. Where no operand may follow, all are the
        expression itself. A mean squared error to a target that is smooth between the
        points is close to linear in them. Beside them stand a one-hot step, the last
        token, one-hot, and the digits of the tokens as one number, which tells
        expressions of equal values apart. Policies that read actions
        (``policy="gru"``) see none of this.

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

    def __init__(self, max_length: int = 9, *, encoding: str = "values") -> None:
        if encoding not in ENCODINGS:
            raise ValueError(f"encoding must be one of {ENCODINGS}, got {encoding!r}")
        name = f"symbolic-expression-{max_length}"
        super().__init__(_TOKENS, max_length, end_token="EOS", name=name)
        self.encoding = encoding
        if encoding == "values":
            self._n_numbers = -(-(max_length - 1) // _DIGITS_OF_A_NUMBER)
            n_values = _N_ENDINGS * (_N_ENCODED_POINTS + 1)
            self.encoding_size = max_length + _EOS + self._n_numbers + n_values

    def _grammar_mask(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., A), bool
        last = self._last_token(states)
        after_operand = (last == _X) | (last == _TWO)
        tokens = torch.arange(self.n_actions, device=states.device)
        needs_operand_after = tokens <= _MINUS
        has_room = self._steps(states)[..., None] + 2 <= self.max_length
        follows_operand = (tokens == _PLUS) | (tokens == _MINUS) | (tokens == _EOS)
        fits = has_room | ~needs_operand_after
        return (follows_operand == after_operand) & fits

    def _last_token(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., 1)
        """Return the last token, −1 where there is none."""
        place = (self._steps(states)[..., None] - 1).clamp(min=0)
        return states.gather(-1, place)

    def encode(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., F), float32
        """Return one-hot tokens and step, or values of what may be finished."""
        if self.encoding == "tokens":
            return super().encode(states)
        device = states.device
        x = torch.linspace(0, 2 * math.pi, _N_ENCODED_POINTS, dtype=torch.float64)
        last = self._last_token(states)
        is_open = last < _X
        rows = states.reshape(-1, self.max_length)
        one_hot_token = last == torch.arange(_EOS, device=device)
        columns = [self._one_hot_step(states), one_hot_token, self._numbers(states)]
        for ending in _endings(x.to(device)):
            start = torch.where(is_open, ending, 0.0).reshape(len(rows), -1)
            values = _values(rows, x.to(device), start) / _VALUE_SCALE
            values = torch.cat((values, values.square().mean(-1, keepdim=True)), -1)
            columns.append(values.reshape(*states.shape[:-1], -1))
        return torch.cat([column.to(torch.float32) for column in columns], dim=-1)

    def _numbers(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., n_numbers), float64
        """Return the tokens but the last as octal fractions, 0 where there is none."""
        digits = states[..., :-1] + 1
        n_missing = self._n_numbers * _DIGITS_OF_A_NUMBER - digits.shape[-1]
        digits = torch.nn.functional.pad(digits, (0, n_missing)).to(torch.float64)
        places = torch.arange(1, _DIGITS_OF_A_NUMBER + 1, device=states.device)
        by_number = digits.unflatten(-1, (self._n_numbers, _DIGITS_OF_A_NUMBER))
        return (by_number * 8.0**-places).sum(dim=-1)

    def values(
        self,
        states: Tensor,  # shape: (N, T)
        x: Tensor,  # shape: (n_points,)
    ) -> Tensor:  # shape: (N, n_points), float64
        """Return the values of finished expressions at some points, all in one pass."""
        unfinished = ~self.is_terminal(states)
        if unfinished.any():
            raise ValueError(
                "states must be finished expressions, got "
                f"{states[unfinished][0].tolist()}"
            )
        x = x.to(torch.float64)
        return _values(states, x, x.new_zeros((len(states), len(x))))


def _endings(
    x: Tensor,  # shape: (n_points,)
) -> tuple[Tensor, ...]:  # shapes: (n_points,) each
    """Return the values of what may finish a term."""
    two = torch.full_like(x, 2.0)
    return x, two, x.sin(), x.cos(), two.sin(), two.cos()


def _values(
    states: Tensor,  # shape: (N, T)
    x: Tensor,  # shape: (n_points,), float64
    ending: Tensor,  # shape: (N, n_points), float64
) -> Tensor:  # shape: (N, n_points), float64
    """Return the values of expressions with given endings, all in one pass.

    Read from right to left, a token changes the term that stands behind it, or adds
    that term to the sum.
    """
    term = ending.clone()
    total = torch.zeros_like(term)
    for tokens in states.flip(-1).unbind(dim=-1):
        total[tokens == _PLUS] += term[tokens == _PLUS]
        total[tokens == _MINUS] -= term[tokens == _MINUS]
        term[tokens == _X] = x
        term[tokens == _TWO] = 2.0
        term[tokens == _SIN] = term[tokens == _SIN].sin()
        term[tokens == _COS] = term[tokens == _COS].cos()
    return total + term
