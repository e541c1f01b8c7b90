"""Counter-based random streams, one a member."""

from enum import IntEnum
from numbers import Integral

import numpy as np


class Purpose(IntEnum):
    """What a stream is for; each purpose has counters of its own."""

    INITIALISATION = 0
    SAMPLING = 1
    ROW_SUBSET = 2
    MINIBATCH = 3
    REPLAY = 4
    EVALUATION = 5


class MemberStream:
    """The random numbers of one member of an ensemble.

    Philox is a counter-based generator: the numbers are a function of (seed, member,
    purpose, position) alone. Member 17 of 50 therefore gets the very numbers of member
    17 trained alone, whatever the blocks and however often a purpose draws.

    Parameters
    ----------
    seed : int
        Non-negative; 0 is a seed.
    member : int
        Non-negative number of the member in the whole ensemble.

    Examples
    --------
    >>> alone = MemberStream(seed=0, member=17).generator(Purpose.SAMPLING)
    >>> again = MemberStream(seed=0, member=17).generator(Purpose.SAMPLING)
    >>> bool((alone.random(size=3) == again.random(size=3)).all())
    True
    """

    def __init__(self, seed: int, member: int) -> None:
        for name, value in (("seed", seed), ("member", member)):
            is_integer = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_integer or not 0 <= value < 2**64:
                raise ValueError(
                    f"{name} must be in [0, 2**64) and an int, got {value!r}"
                )
        self.seed = int(seed)
        self.member = int(member)

    def generator(self, purpose: Purpose) -> np.random.Generator:
        """Return a new generator at the start of the stream for ``purpose``."""
        key = np.array([self.seed, self.member], dtype=np.uint64)
        # the top word of the 256-bit counter is never reached by drawing
        counter = np.array([0, 0, 0, int(purpose)], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))


def member_streams(seed: int, members: tuple[int, ...]) -> list[MemberStream]:
    """Return the streams of several members."""
    return [MemberStream(seed, member) for member in members]


class UniformChunks:
    """Uniform numbers of all members, drawn for many iterations at a time.

    The numbers do not depend on the size of the chunks. They lie in [0, 1 − 2⁻²⁴], so
    that they stay below 1 in float32.
    """

    def __init__(
        self,
        streams: list[MemberStream],
        shape: tuple[int, ...],
        chunk: int = 64,
        purpose: Purpose = Purpose.SAMPLING,
    ) -> None:
        self._generators = [stream.generator(purpose) for stream in streams]
        self._shape = shape
        self._chunk = chunk
        self._buffer = np.empty((len(streams), 0, *shape))
        self._position = 0

    def next(self) -> np.ndarray:  # shape: (E, *shape), float64
        """Return the numbers of the next iteration."""
        if self._position == self._buffer.shape[1]:
            self._buffer = np.stack(
                [g.random(size=(self._chunk, *self._shape)) for g in self._generators]
            ).clip(max=1 - 2.0**-24)
            self._position = 0
        self._position += 1
        return self._buffer[:, self._position - 1]

    def keep(self, rows: np.ndarray) -> None:
        """Go on with the numbers of some members."""
        self._generators = [self._generators[row] for row in rows]
        self._buffer = self._buffer[rows]
