"""What a run stood on: versions, the machine in words, the command and the date."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .methods import PACKAGES


def record(arguments: list[str]) -> dict[str, Any]:
    """Return the record that is saved with the results."""
    return {
        "command": shlex.join(["python", "-m", "benchmarks.pce", *arguments]),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "commit": commit(),
        "cores": os.cpu_count(),
        "memory_gb": round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
        ),
        "load": round(os.getloadavg()[0], 1),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def commit() -> str:
    """The commit of the working tree, with a mark if files differ from it."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=7"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
