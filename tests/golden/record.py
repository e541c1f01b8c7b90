"""Rewrite the golden files: ``python -m tests.golden.record [surface] [numbers]``.

Record on the commit before a change, never after it: what is recorded is what must not
change.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_info

from tests.golden.ensembles import FITTED
from tests.golden.numbers import flatten
from tests.golden.surface import PUBLIC_PACKAGES, fitted_names, surface_of
from tests.golden.trips import TRIPS, Results

FOLDER = Path(__file__).parent
SURFACE = FOLDER / "public_surface.json"
NUMBERS = FOLDER / "numbers.json"

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "pandas", "joblib")


def environment() -> dict[str, str]:
    """Return what decides on the last digits: versions and the kernels of BLAS."""
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    kernels = {info.get("architecture") for info in threadpool_info()} - {None}
    found = {"machine": platform.machine(), "kernels": ", ".join(sorted(kernels))}
    return found | versions


def training_digits() -> str:
    """Return a number whose last digits change with the kernels of training.

    The processor chooses them, whatever the versions are.
    """
    inputs = torch.linspace(-1.0, 1.0, 64 * 24).reshape(64, 24).sin()
    weights = torch.linspace(-2.0, 1.0, 24 * 48).reshape(24, 48).cos()
    weights.requires_grad_()
    loss = torch.logsumexp(torch.tanh(inputs @ weights) @ weights.T, dim=1).square()
    loss.mean().backward()
    return f"{float(loss.sum())!r}, {float(weights.grad.square().sum())!r}"


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
    lines = [
        f'"environment": {json.dumps(environment())}',
        f'"training": {json.dumps(training_digits())}',
    ]
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


def main(chosen: list[str]) -> None:
    """Write the chosen golden files; all of them without a choice."""
    if not chosen or "surface" in chosen:
        record_surface()
    if not chosen or "numbers" in chosen:
        record_numbers()


if __name__ == "__main__":
    main(sys.argv[1:])
