"""torch and zuko, which only fits of embeddings need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def import_for(owner: str, module: str, extra: str) -> Any:
    """Return an optional module.

    Raises
    ------
    ImportError
        If it is not installed; the message says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{owner} needs {module}: pip install 'skpce[{extra}]'"
        ) from error


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Use one torch thread inside; the matrices here are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
