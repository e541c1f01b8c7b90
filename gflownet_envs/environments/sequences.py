"""Objects made from left to right: selections, tokens, fragments, expressions."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import Environment, listed_codes, require_at_least


class PrefixEnvironment(Environment):
    """A state holds the choices so far in their order, and −1 where none is made yet.

    The choice at position t is written as ``action − offset[t]``. Undoing an action
    takes the last choice back, so every state has one parent. Subclasses say which
    actions are open, when a walk is finished, and how objects are numbered.
    """

    n_backward_actions = 1
    is_tree = True

    def __init__(self, offsets: Sequence[int]) -> None:
        self.state_size = len(offsets)
        self._offsets = torch.tensor(offsets)

    def initial_state(
        self, batch_shape: Sequence[int] = (), device: torch.device | str | None = None
    ) -> Tensor:
        shape = (*batch_shape, self.state_size)
        return torch.full(shape, -1, dtype=torch.int64, device=device)

    def _steps(self, states: Tensor) -> Tensor:  # shapes: states (..., T) -> (...)
        """Return the number of choices made so far."""
        return (states >= 0).sum(dim=-1)

    def _one_hot_step(self, states: Tensor, shift: int = 0) -> Tensor:
        # shapes: states (..., T) -> (..., T), bool
        """Mark the position of the next choice, moved by `shift`."""
        positions = torch.arange(self.state_size, device=states.device)
        return positions == self._steps(states)[..., None] + shift

    def step(self, states: Tensor, actions: Tensor) -> Tensor:
        is_turn = self._one_hot_step(states) & ~self.is_terminal(states)[..., None]
        choice = actions[..., None] - self._offsets.to(states.device)
        return torch.where(is_turn, choice, states)

    def backward_mask(self, states: Tensor) -> Tensor:
        return states[..., :1] >= 0

    def backward_action(self, states: Tensor, actions: Tensor) -> Tensor:
        return torch.zeros_like(actions)

    def backward(self, states: Tensor, backward_actions: Tensor) -> Tensor:
        return torch.where(self._one_hot_step(states, shift=-1), -1, states)

    def action_history(self, states: Tensor) -> Tensor:
        actions = states + self._offsets.to(states.device)
        return torch.where(states >= 0, actions, -1)


_MAX_NUMBER = 2**62  # object numbers are int64
_MAX_LISTED = 2_000_000


class TokenSequenceEnvironment(PrefixEnvironment):
    """Append one token at a time: a tree.

    A sequence is finished when it has ``max_length`` tokens, the end token counted, or
    earlier, when the end token is appended. Without an end token all sequences have
    exactly ``max_length`` tokens. A state holds the tokens so far, then −1; its
    encoding is the one-hot tokens by position beside a one-hot step.

    Objects are numbered by length without the end token, and among equal lengths with
    the last token running fastest. `object_states` lists them, as many as are wanted
    for.

    A subclass may override ``_grammar_mask`` to forbid tokens. Its reachable sequences
    are listed when it is made and numbered in the same order; where there are more than
    two million of them, or of the states before them, objects have no numbers.

    Parameters
    ----------
    tokens : sequence of str
        Their names, at least one besides the end token.
    max_length : int
        At least 1.
    end_token : str, optional
        One of the tokens. Default: sequences end at ``max_length`` alone.
    name : str, optional
        By default ``"tokens-"``, the number of tokens, ``"x"`` and ``max_length``, then
        ``"-end"`` if there is an end token. A subclass with a grammar needs another.

    Examples
    --------
    >>> env = TokenSequenceEnvironment(["a", "b", "end"], max_length=2, end_token="end")
    >>> env.object_names()
    ('', 'a', 'b', 'a a', 'a b', 'b a', 'b b')
    >>> state = env.step(env.initial_state(), torch.tensor(1))
    >>> state, env.step(state, torch.tensor(2))
    (tensor([ 1, -1]), tensor([1, 2]))
    """

    def __init__(
        self,
        tokens: Sequence[str],
        max_length: int,
        end_token: str | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(tokens, str) or not all(isinstance(t, str) for t in tokens):
            raise ValueError(
                f"tokens must be a sequence of names (str), got {tokens!r}"
            )
        names = tuple(tokens)
        if len(set(names)) < len(names):
            raise ValueError(f"tokens must be distinct names, got {names!r}")
        if end_token is not None and end_token not in names:
            raise ValueError(f"end_token must be one of {names!r}, got {end_token!r}")
        if len(names) - (end_token is not None) < 1:
            raise ValueError(
                "tokens must hold at least one name besides the end token, got "
                f"{names!r}"
            )
        require_at_least("max_length", max_length, 1)
        super().__init__([0] * max_length)
        self.action_names = names
        self.step_names = tuple(f"token {t + 1}" for t in range(max_length))
        self.max_length = max_length
        self.end_token = end_token
        suffix = "" if end_token is None else "-end"
        default_name = f"tokens-{len(names)}x{max_length}{suffix}"
        self.name = default_name if name is None else name
        self._end = -1 if end_token is None else names.index(end_token)
        self._content = torch.tensor([a for a in range(len(names)) if a != self._end])
        # what does not carry on to a later state need not be encoded
        self.encoding_size = (max_length - 1) * len(names) + max_length
        self._number_objects()

    def _number_objects(self) -> None:
        """Set `n_objects` and what numbers them, or the reason why nothing does."""
        n_content = len(self._content)
        shortest = 0 if self.end_token is not None else self.max_length
        counts = [
            n_content**length if length >= shortest else 0
            for length in range(self.max_length + 1)
        ]
        self._codes: Tensor | None = None
        self.n_objects = sum(counts)
        if self.n_objects > _MAX_NUMBER:
            self._refuse_numbers("there are more than 2^62 sequences")
            return
        # what is finished and shorter comes before
        self._first_code = torch.tensor([0, *counts]).cumsum(dim=0)[:-1]
        if type(self)._grammar_mask is TokenSequenceEnvironment._grammar_mask:
            return
        self._codes = listed_codes(self, self._code, _MAX_LISTED)
        if self._codes is None:
            self._refuse_numbers(f"the grammar leaves more than {_MAX_LISTED} states")
        else:
            self.n_objects = len(self._codes)

    def _refuse_numbers(self, reason: str) -> None:
        self.n_objects = None
        self.is_enumerable, self.enumeration_reason = False, reason

    def _grammar_mask(self, states: Tensor) -> Tensor:
        # shapes: states (..., T) -> (..., A), bool
        """Return True where a token may follow; must leave a way to finish.

        A subclass sets what its grammar needs before it calls ``super().__init__``.
        What it returns for finished states does not matter.
        """
        shape = (*states.shape[:-1], self.n_actions)
        return torch.ones(shape, dtype=torch.bool, device=states.device)

    def is_terminal(self, states: Tensor) -> Tensor:
        is_full = states[..., -1] >= 0
        if self.end_token is None:
            return is_full
        return is_full | (states == self._end).any(dim=-1)

    def valid_mask(self, states: Tensor) -> Tensor:
        return self._grammar_mask(states) & ~self.is_terminal(states)[..., None]

    def encode(self, states: Tensor) -> Tensor:
        """Return one-hot tokens by position and a one-hot step.

        The last position is filled in finished sequences only, and left out.
        """
        tokens = torch.arange(self.n_actions, device=states.device)
        one_hot = (states[..., :-1, None] == tokens).flatten(start_dim=-2)
        step = self._one_hot_step(states)
        return torch.cat((one_hot, step), dim=-1).to(torch.float32)

    def _code(self, states: Tensor) -> Tensor:  # shapes: states (..., T) -> (...)
        """Number finished sequences as if every one of them were allowed."""
        is_content = (states >= 0) & (states != self._end)
        digits = states - ((self._end >= 0) & (states > self._end)).long()
        code = torch.zeros_like(states[..., 0])
        for position in range(self.max_length):
            longer = code * len(self._content) + digits[..., position]
            code = torch.where(is_content[..., position], longer, code)
        return code + self._first_code.to(states.device)[is_content.sum(dim=-1)]

    def object_index(self, states: Tensor) -> Tensor:
        self.require_listed_objects()
        code = self._code(states)
        if self._codes is None:
            return code
        return torch.searchsorted(self._codes.to(states.device), code)

    def object_states(
        self,
        indices: Tensor,  # shape: (...), int64
    ) -> Tensor:  # shape: (..., T)
        """Return the finished states of objects, the inverse of `object_index`."""
        n_objects = self.require_listed_objects()
        if ((indices < 0) | (indices >= n_objects)).any():
            raise ValueError(
                f"indices must be in [0, {n_objects}), the objects of {self.name}"
            )
        device = indices.device
        code = indices if self._codes is None else self._codes.to(device)[indices]
        first, content = self._first_code.to(device), self._content.to(device)
        length = torch.searchsorted(first, code, right=True) - 1
        rest = code - first[length]
        states = self.initial_state(indices.shape, device)
        for position in reversed(range(self.max_length)):
            is_content = position < length
            token = content[rest % len(content)]
            states[..., position] = torch.where(is_content, token, -1)
            rest = torch.where(is_content, rest // len(content), rest)
        positions = torch.arange(self.max_length, device=device)
        return torch.where(positions == length[..., None], self._end, states)

    def object_name(self, index: int) -> str:
        self._require_object(index)
        state = self.object_states(torch.tensor(index)).tolist()
        return " ".join(self.action_names[a] for a in state if a not in (-1, self._end))


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
    ``max_length`` tokens, EOS counted where there is one: an expression of exactly
    ``max_length`` tokens ends without it. With :math:`T_n = 2^n` terms of n tokens
    there are :math:`a_n = 2 a_{n-1} + 4 a_{n-2}` expressions of n tokens, from a₁ = 2
    and a₂ = 4: 25,190 of up to nine.

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
        points is close to linear in them. Further inputs are the step and the last
        token, one-hot, and the digits of the tokens as one number, by which
        expressions of equal values differ. Policies that read actions
        (``policy="gru"``) do not use this encoding.

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

    def _grammar_mask(self, states: Tensor) -> Tensor:
        # shapes: states (..., T) -> (..., A), bool
        last = self._last_token(states)
        after_operand = (last == _X) | (last == _TWO)
        tokens = torch.arange(self.n_actions, device=states.device)
        needs_operand_after = tokens <= _MINUS
        may_grow = self._steps(states)[..., None] + 2 <= self.max_length
        follows_operand = (tokens == _PLUS) | (tokens == _MINUS) | (tokens == _EOS)
        fits = may_grow | ~needs_operand_after
        return (follows_operand == after_operand) & fits

    def _last_token(self, states: Tensor) -> Tensor:
        # shapes: states (..., T) -> (..., 1)
        """Return the last token, −1 where there is none."""
        place = (self._steps(states)[..., None] - 1).clamp(min=0)
        return states.gather(-1, place)

    def encode(self, states: Tensor) -> Tensor:
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

    def _numbers(self, states: Tensor) -> Tensor:
        # shapes: states (..., T) -> (..., n_numbers), float64
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


def _endings(x: Tensor) -> tuple[Tensor, ...]:
    # shapes: x (n_points,) -> (n_points,) each
    """Return the values of what may finish a term."""
    two = torch.full_like(x, 2.0)
    return x, two, x.sin(), x.cos(), two.sin(), two.cos()


def _values(
    states: Tensor,  # shape: (N, T)
    x: Tensor,  # shape: (n_points,), float64
    ending: Tensor,  # shape: (N, n_points), float64
) -> Tensor:  # shape: (N, n_points), float64
    """Return the values of expressions with given endings, all in one pass."""
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


class SequentialSelectionEnvironment(PrefixEnvironment):
    """Choose one level of each component in a fixed order: a tree.

    Actions lie on one flat axis over the levels of all components, and the mask opens
    the block of the component whose turn it is. A linear head over that axis is
    therefore exactly one separate linear head a step.

    A state holds the chosen level of each component, −1 where none is chosen yet. Its
    encoding is the one-hot vectors of the chosen levels beside a one-hot step. Objects
    are numbered with the last component running fastest (C order).

    Parameters
    ----------
    levels : mapping of str to sequence of str
        The names of the levels of each component, in the order of the choices.
    name : str, optional
        By default ``"selection-"`` and the numbers of levels.

    Examples
    --------
    >>> env = SequentialSelectionEnvironment(
    ...     {"solvent": ["water", "toluene"], "base": ["K3PO4", "MTBD", "none"]}
    ... )
    >>> env.n_actions, env.n_objects, env.max_steps
    (5, 6, 2)
    >>> env.step_actions(1)
    (2, 3, 4)
    >>> env.object_name(4)
    'toluene | MTBD'
    """

    def __init__(
        self, levels: Mapping[str, Sequence[str]], name: str | None = None
    ) -> None:
        if not isinstance(levels, Mapping):
            raise ValueError(
                f"levels must map each component to its level names, got {levels!r}"
            )
        if len(levels) == 0:
            raise ValueError("levels must name at least one component, got none")
        for component, its_levels in levels.items():
            if isinstance(its_levels, str) or len(its_levels) == 0:
                raise ValueError(
                    f"levels[{component!r}] must be a non-empty sequence of names, "
                    f"got {its_levels!r}"
                )
            names = tuple(its_levels)
            if not all(isinstance(name, str) for name in names):
                raise ValueError(
                    f"levels[{component!r}] must be names (str), got {names!r}"
                )
            if len(set(names)) < len(names):
                raise ValueError(
                    f"levels[{component!r}] must be distinct names, got {names!r}"
                )
        self.levels = {key: tuple(value) for key, value in levels.items()}
        self.sizes = tuple(len(value) for value in self.levels.values())
        self.offsets = tuple(sum(self.sizes[:t]) for t in range(len(self.sizes)))
        super().__init__(self.offsets)
        default_name = "selection-" + "x".join(str(size) for size in self.sizes)
        self.name = default_name if name is None else name
        self.action_names = tuple(
            f"{component}: {level}"
            for component, its_levels in self.levels.items()
            for level in its_levels
        )
        self.step_names = tuple(self.levels)
        self.encoding_size = sum(self.sizes) + len(self.sizes)
        self.n_objects = math.prod(self.sizes)
        self._step_of_action = torch.repeat_interleave(
            torch.arange(len(self.sizes)), torch.tensor(self.sizes)
        )
        self._level_of_action = torch.cat([torch.arange(size) for size in self.sizes])

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., -1] >= 0

    def valid_mask(self, states: Tensor) -> Tensor:
        turn = self._step_of_action.to(states.device)
        return turn == self._steps(states)[..., None]

    def encode(self, states: Tensor) -> Tensor:
        chosen = states[..., self._step_of_action.to(states.device)]
        one_hot = chosen == self._level_of_action.to(states.device)
        step = self._one_hot_step(states)
        return torch.cat((one_hot, step), dim=-1).to(torch.float32)

    def object_index(self, states: Tensor) -> Tensor:
        index = torch.zeros_like(states[..., 0])
        for component, size in enumerate(self.sizes):
            index = index * size + states[..., component]
        return index

    def object_levels(self) -> Tensor:  # shape: (n_objects, n_components)
        """Return the levels of every object, in the order of the reward table."""
        grids = [torch.arange(size) for size in self.sizes]
        return torch.cartesian_prod(*grids).reshape(-1, self.state_size)

    def object_name(self, index: int) -> str:
        self._require_object(index)
        levels = np.unravel_index(index, self.sizes)
        names = zip(self.levels.values(), levels, strict=True)
        return " | ".join(its_levels[level] for its_levels, level in names)

    def step_actions(self, step: int) -> tuple[int, ...]:
        super().step_actions(step)  # checks the range
        start = self.offsets[step]
        return tuple(range(start, start + self.sizes[step]))


def fragment_chain_environment(
    fragments: Sequence[str], positions: int | Sequence[str] = 5
) -> SequentialSelectionEnvironment:
    """Return the tree of chains in which any fragment may stand at any position.

    Objects are chains, ``len(fragments) ** n_positions`` of them. Different chains may
    be the same molecule, which then has the sum of their probabilities.

    Parameters
    ----------
    fragments : sequence of str
        Names or SMILES.
    positions : int or sequence of str, default=5
        How many, or their names; a number gives "fragment 1", "fragment 2" and so on.

    Examples
    --------
    >>> env = fragment_chain_environment(["C=C", "CO", "CN"], positions=2)
    >>> env.n_objects, env.action_names[4], env.object_name(5)
    (9, 'fragment 2: CO', 'CO | CN')
    """
    if isinstance(positions, str):
        raise ValueError(f"positions must be a number or names, got {positions!r}")
    if not isinstance(positions, Sequence):
        require_at_least("positions", positions, 1)
        positions = [f"fragment {t + 1}" for t in range(positions)]
    if len(set(positions)) < len(positions):
        raise ValueError(f"positions must have distinct names, got {positions!r}")
    name = f"chains-{len(fragments)}^{len(positions)}"
    return SequentialSelectionEnvironment(dict.fromkeys(positions, fragments), name)
