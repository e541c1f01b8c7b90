"""Worker processes that end with the process which started them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Generator
from multiprocessing import current_process, parent_process
from threading import Thread
from typing import Any

from joblib import Parallel
from joblib.parallel import get_active_backend

_SECONDS_BETWEEN_LOOKS = 1.0


def workers(n_jobs: int | None, **options: Any) -> Parallel:
    """Return ``joblib.Parallel`` whose processes do not outlive a killed parent.

    Those of loky, joblib's default, would wait five minutes for another task. Whoever
    gave the backend an initializer of their own keeps it.
    """
    backend, _ = get_active_backend()
    if "initializer" not in getattr(backend, "backend_kwargs", {}):
        options |= {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    return Parallel(n_jobs=n_jobs, **options)


def collected(
    results: Generator[Any, None, None], done: Callable[[Any], None]
) -> list[Any]:
    """Return all results, each given to ``done``; stop the processes when it fails."""
    found = []
    try:
        for result in results:
            done(result)
            found.append(result)
    finally:  # a suspended generator dispatches for as long as a traceback holds it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()
    return found


def end_with_parent(parent: int) -> None:
    """Let this process, if it is a worker of loky, end when its parent is gone.

    Workers of other backends, such as dask, have keepers of their own.
    """
    if current_process().name.startswith("Loky"):
        Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    guardian = parent_process()
    if os.name == "posix" or guardian is None:
        while os.getppid() == parent:  # whose parent is gone has another one
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    else:  # on Windows the number stays
        guardian.join()
    os._exit(1)
