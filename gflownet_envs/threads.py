"""One torch thread where more would be slower."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    """Set the number of torch threads inside a block and restore it after.

    The matrices here are small: on a busy two-core machine two threads were 22 times
    slower than one. More cores are used by more processes.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with torch_threads(1):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
