"""Rewrite the golden files: ``python -m tests.golden.record [surface] [numbers]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.golden.ensembles import FITTED
from tests.golden.surface import PUBLIC_PACKAGES, fitted_names, surface_of

FOLDER = Path(__file__).parent


def record_surface() -> None:
    """Write what is public now."""
    recorded = {
        "names": {package: surface_of(package) for package in PUBLIC_PACKAGES},
        "fitted": {name: fitted_names(fit()) for name, fit in FITTED.items()},
    }
    path = FOLDER / "public_surface.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def main(chosen: list[str]) -> None:
    """Write the chosen golden files; all of them without a choice."""
    if not chosen or "surface" in chosen:
        record_surface()


if __name__ == "__main__":
    main(sys.argv[1:])
