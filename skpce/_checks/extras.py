"""Optional libraries, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The build that is tested, installed first: any other may bring CUDA along.
TORCH = "torch==2.13.0"


def import_extra(module: str, extra: str, user: str) -> Any:
    """Return an optional module; without it the error names the extra."""
    library = module.partition(".")[0]
    try:
        import_module(library)
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # the library is there, and something that it needs is not
        first = f"{TORCH} " if library == "torch" else ""
        raise ImportError(
            f'{user} needs {library}: pip install {first}".[{extra}]", in a copy of '
            "the repository"
        ) from error
