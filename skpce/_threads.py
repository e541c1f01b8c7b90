"""One BLAS thread for small fits.

On a busy machine a second thread costs a small factorisation one to two orders of
magnitude. threadpoolctl comes with scikit-learn. Its limits hold for the process, so
fits that overlap in several threads share one: the first sets it, the last lifts it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# Design matrices with fewer entries are small: a second thread gains nothing.
_SMALL = 4_000_000


@cache
def _controller() -> ThreadpoolController:
    """Look for the thread pools once; the look costs milliseconds."""
    return ThreadpoolController()


class _SharedLimit:
    """A limit of one thread that is held while anybody needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limit: object | None = None

    def acquire(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.restore_original_limits()  # type: ignore[union-attr]
                self._limit = None


_SHARED_LIMIT = _SharedLimit()


@contextmanager
def one_thread_if_small(n_entries: int) -> Iterator[None]:
    """Use one BLAS thread inside, when a design matrix has few entries."""
    if n_entries >= _SMALL:
        yield
        return
    _SHARED_LIMIT.acquire()
    try:
        yield
    finally:
        _SHARED_LIMIT.release()
