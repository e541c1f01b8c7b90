"""Optional libraries, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str, user: str) -> Any:
    """Return an optional module; without it the error names the extra."""
    library = module.partition(".")[0]
    try:
        import_module(library)
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # the library is there, and something that it needs is not
        raise ImportError(
            f"{user} needs {library}: pip install 'skpce[{extra}]'"
        ) from error
