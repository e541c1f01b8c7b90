"""One BLAS thread for small fits.

On a busy machine a second thread costs a small factorisation one to two orders of
magnitude. threadpoolctl comes with scikit-learn. Its limits hold for the process, so
fits that overlap in several threads share one: the first sets it, the last lifts it.
Since threadpoolctl 3.8 only the thread that once set a limit of OpenBLAS may change it,
and calls from others do nothing: whoever sets or lifts ours takes that right first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

# Design matrices with fewer entries are small: a second thread gains nothing.
_SMALL = 4_000_000


@cache
def _controller() -> ThreadpoolController:
    """Look for the thread pools once; the look costs milliseconds."""
    return ThreadpoolController()


def _clear_controlling_thread() -> None:
    """Let this thread, and later any other, set limits; no-op before 3.8."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _SharedLimit:
    """A limit of one thread that is held while anybody needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limit: Any = None

    def acquire(self) -> None:
        with self._lock:
            if self._holders == 0:
                _clear_controlling_thread()
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                _clear_controlling_thread()
                self._limit.restore_original_limits()
                _clear_controlling_thread()
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
