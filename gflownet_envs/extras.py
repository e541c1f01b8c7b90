"""Optional libraries: the extra that installs each, and what is said without it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

EXTRA_OF = {
    "torch": "torch",
    "safetensors": "torch",
    "msgspec": "torch",
    "matplotlib": "plot",
    "pooch": "data",
    "pandas": "frames",
    "click": "cli",
    "rich": "cli",
    "rdkit": "chem",
    "distributed": "dask",
    "gfn": "neighbours",
    "gymnasium": "neighbours",
}
#: The build that is tested, installed first: any other may bring CUDA along.
TORCH = "torch==2.13.0"
#: What a run needs before it starts: a missing library must not end it after training.
OF_A_RUN = ("torch", "safetensors", "msgspec", "matplotlib")


def import_extra(module: str, user: str) -> Any:
    """Return a module; where a library of an extra is missing the error names it."""
    try:
        import_module(module.partition(".")[0])
        return import_module(module)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA_OF:  # what is missing is no extra of ours
            raise
        raise ImportError(missing([library], user)) from error


def require_extras(libraries: Iterable[str], user: str) -> None:
    """Raise ``ImportError`` naming every library that is missing; imports none."""
    absent = [library for library in libraries if find_spec(library) is None]
    if absent:
        raise ImportError(missing(absent, user))


def missing(libraries: list[str], user: str) -> str:
    """Return the sentence that says what is missing and what installs it."""
    extras = ",".join(dict.fromkeys(EXTRA_OF[library] for library in libraries))
    first = f"{TORCH} " if "torch" in libraries else ""
    command = f'pip install {first}".[{extras}]"'
    return (
        f"{user} needs {', '.join(libraries)}: {command}, in a copy of the repository"
    )


def run_command() -> None:
    """Start ``gflownet-envs``, or say which extras it needs."""
    try:
        require_extras(("click", "rich", *OF_A_RUN), "gflownet-envs")
    except ImportError as error:
        sys.exit(f"Error: {error}")
    import_module("gflownet_envs.experiments.command_line").main()
