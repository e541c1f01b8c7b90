"""Record the golden files, and compare with another commit.

``python -m tests.golden.record [surface] [numbers]`` rewrites the files; record on the
commit before a change, never after it: what is recorded is what must not change.
``python -m tests.golden.record against COMMIT``, or ``make golden BASE=COMMIT``, is for
code that only moves: it records the numbers of that commit on this machine, and lists
those that differ here by more than 1e-12.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.against_commit import checkout
from tests.golden.ensembles import FITTED, Results
from tests.golden.numbers import SAME_MACHINE, difference, flatten, read
from tests.golden.surface import PUBLIC_PACKAGES, fitted_names, surface_of
from tests.golden.trips import TRIPS

FOLDER = Path(__file__).parent
SURFACE = FOLDER / "public_surface.json"
NUMBERS = FOLDER / "numbers.json"


def plain_numbers(results: Results) -> dict[str, Any]:
    """Return every number of the results of a trip by its path."""
    found: dict[str, Any] = {}
    for name, result in results.items():
        found |= {f"{name} -> {path}": value for path, value in flatten(result, "")}
    return found


def record_surface() -> None:
    """Write what is public now."""
    recorded = {
        "names": {package: surface_of(package) for package in PUBLIC_PACKAGES},
        "fitted": {name: fitted_names(fit()) for name, fit in FITTED.items()},
    }
    SURFACE.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def record_numbers() -> None:
    """Write the numbers of all trips, one name a line."""
    lines = []
    for name, trip in TRIPS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = plain_numbers(trip())
        entries = (
            f"  {json.dumps(path)}: {json.dumps(value, ensure_ascii=False)}"
            for path, value in found.items()
        )
        lines.append(f'"{name}": {{\n' + ",\n".join(entries) + "\n}")
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def differences(
    name: str, recorded: dict[str, Any], tolerance: float
) -> dict[str, str]:
    """Return, by its path, what a trip gives now that differs from the recording."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = TRIPS[name]()
    found = {}
    for path, value in recorded.items():
        of_test = tolerance > SAME_MACHINE and any(name in path for name in _NORMALITY)
        close = _SINGLE_PRECISION if of_test else tolerance
        said = difference(value, _value_at(results, path), close)
        if said is not None:
            found[path] = said
    return found


# Shapiro's and Wilk's p-values, whose test older versions of scipy compute in float32.
_NORMALITY, _SINGLE_PRECISION = ("normality_p", "distribution_p"), 1e-4


def _value_at(results: Results, path: str) -> Any:
    """Return what a recorded path leads to now, or why it leads nowhere."""
    name, _, steps = path.partition(" -> ")
    try:
        return read(results[name], steps)
    except (AttributeError, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def compare_with(commit: str) -> int:
    """List what differs from another commit on this machine; return how much does."""
    with checkout(commit) as folder:
        command = [sys.executable, "-m", "tests.golden.record", "numbers"]
        environment = os.environ | {"PYTHONPATH": str(folder)}
        subprocess.run(command, check=True, cwd=folder, env=environment)
        path = folder / NUMBERS.relative_to(FOLDER.parents[1])
        before = json.loads(path.read_text(encoding="utf-8"))
    n_different = 0
    for name in TRIPS:
        recorded = before.get(name, {})
        found = differences(name, recorded, SAME_MACHINE)
        n_different += len(found)
        print(f"{name}: {len(found)} of {len(recorded)} differ")  # noqa: T201
        for place, said in found.items():
            print(f"  {place}: {said}")  # noqa: T201
    return n_different


def main(chosen: list[str]) -> int:
    """Write the chosen golden files, or compare; return the exit status."""
    if chosen[:1] == ["against"]:
        (commit,) = chosen[1:]
        return int(compare_with(commit) > 0)
    if not chosen or "surface" in chosen:
        record_surface()
    if not chosen or "numbers" in chosen:
        record_numbers()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
