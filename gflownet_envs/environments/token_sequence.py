"""Sequences of tokens, one appended at each step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.prefix import PrefixEnvironment

_MAX_NUMBER = 2**62  # object numbers are int64
_MAX_LISTED = 2_000_000


class TokenSequenceEnvironment(PrefixEnvironment):
    """Append one token at a time: a tree.

    A sequence is finished when it has `max_length` tokens, the end token counted, or
    earlier, when the end token is appended. Without an end token all sequences have
    exactly `max_length` tokens. A state holds the tokens so far, then −1; its encoding
    is the one-hot tokens by position beside a one-hot step.

    Objects are numbered by length without the end token, and among equal lengths with
    the last token running fastest. `object_states` lists them, as many as are asked
    for.

    A subclass may override `_grammar_mask` to forbid tokens. Its reachable sequences
    are listed when it is made and numbered in the same order; where there are more than
    two million of them, or of the states before them, objects have no numbers.

    Parameters
    ----------
    tokens : sequence of str
        Their names, at least one besides the end token.
    max_length : int
        At least 1.
    end_token : str, optional
        One of the tokens. Default: sequences end at `max_length` alone.
    name : str, optional
        By default ``"tokens-"``, the number of tokens, ``"x"`` and `max_length`, then
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
        names = _validated_tokens(tokens, end_token)
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
        self._codes = self._allowed_codes()
        if self._codes is None:
            self._refuse_numbers(f"the grammar leaves more than {_MAX_LISTED} states")
        else:
            self.n_objects = len(self._codes)

    def _refuse_numbers(self, reason: str) -> None:
        self.n_objects = None
        self.is_enumerable, self.enumeration_reason = False, reason

    def _allowed_codes(self) -> Tensor | None:  # shape: (n_objects,)
        """List the codes of the sequences that the grammar allows; None if too many."""
        unfinished = self.initial_state((1,))
        codes, n_listed = [], 0
        while len(unfinished):
            prefixes, actions = self.valid_mask(unfinished).nonzero(as_tuple=True)
            n_listed += len(prefixes)
            if n_listed > _MAX_LISTED:
                return None
            reached = self.step(unfinished[prefixes], actions)
            finished = self.is_terminal(reached)
            codes.append(self._code(reached[finished]))
            unfinished = reached[~finished]
        return torch.cat(codes).sort().values

    def _grammar_mask(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., A), bool
        """Return True where a token may follow; must leave a way to finish.

        A subclass sets what its grammar needs before it calls ``super().__init__``.
        What it returns for finished states does not matter.
        """
        shape = (*states.shape[:-1], self.n_actions)
        return torch.ones(shape, dtype=torch.bool, device=states.device)

    def is_terminal(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (...), bool
        is_full = states[..., -1] >= 0
        if self.end_token is None:
            return is_full
        return is_full | (states == self._end).any(dim=-1)

    def valid_mask(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., A), bool
        return self._grammar_mask(states) & ~self.is_terminal(states)[..., None]

    def encode(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (..., (T - 1) * A + T), float32
        """Return one-hot tokens by position and a one-hot step.

        The last position is filled in finished sequences only, and left out.
        """
        tokens = torch.arange(self.n_actions, device=states.device)
        one_hot = (states[..., :-1, None] == tokens).flatten(start_dim=-2)
        step = self._one_hot_step(states)
        return torch.cat((one_hot, step), dim=-1).to(torch.float32)

    def _code(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (...)
        """Number finished sequences as if every one of them were allowed."""
        is_content = (states >= 0) & (states != self._end)
        digits = states - ((self._end >= 0) & (states > self._end)).long()
        code = torch.zeros_like(states[..., 0])
        for position in range(self.max_length):
            longer = code * len(self._content) + digits[..., position]
            code = torch.where(is_content[..., position], longer, code)
        return code + self._first_code.to(states.device)[is_content.sum(dim=-1)]

    def object_index(
        self,
        states: Tensor,  # shape: (..., T)
    ) -> Tensor:  # shape: (...)
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


def _validated_tokens(tokens: Sequence[str], end_token: str | None) -> tuple[str, ...]:
    """Return the names of the tokens; raise ValueError if they cannot be used."""
    if isinstance(tokens, str) or not all(isinstance(name, str) for name in tokens):
        raise ValueError(f"tokens must be a sequence of names (str), got {tokens!r}")
    names = tuple(tokens)
    if len(set(names)) < len(names):
        raise ValueError(f"tokens must be distinct names, got {names!r}")
    if end_token is not None and end_token not in names:
        raise ValueError(f"end_token must be one of {names!r}, got {end_token!r}")
    if len(names) - (end_token is not None) < 1:
        raise ValueError(
            f"tokens must hold at least one name besides the end token, got {names!r}"
        )
    return names
