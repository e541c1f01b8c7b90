"""Delete a subject in a copy of the package, and run the tests of the rest.

``python -m benchmarks.without`` does so for each subject in turn, with names for some
of them. A subject is deleted by its folders or files and by the lines of ``__init__``
files that name them. Test files that name it are its own, and left out.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: What is deleted for each subject; the layers above it go with it.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "decision": ("decision",),
    "embedding": ("embedding",),
    "model file": ("_model_file.py",),
    "named parts": ("inspection/_parts", "plotting/_part_effects.py"),
    "plotting": ("plotting", "_report.py"),
    "report": ("_report.py",),
    "sample size": ("sample_size",),
}


def names_of(package: Path, removed: str) -> set[str]:
    """Return the public names of a folder or file of the package."""
    place = package / removed
    if (place / "__init__.py").exists() and not place.name.startswith("_"):
        return {f"skpce.{place.name}", f"from skpce import {place.name}"}
    return set()


def without_imports(init: Path, removed: str) -> set[str]:
    """Take the imports of what was removed out of an ``__init__``; return the names."""
    text = init.read_text(encoding="utf-8")
    lines, gone = text.split("\n"), set()
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            place = (init.parent / (node.module or "").replace(".", "/")).as_posix()
            target = (package_of(init) / removed).with_suffix("").as_posix()
            if f"{place}/".startswith(f"{target}/"):
                gone |= {alias.asname or alias.name for alias in node.names}
                del lines[node.lineno - 1 : node.end_lineno]
    kept = [line for line in lines if line.strip().strip('",') not in gone]
    init.write_text("\n".join(kept), encoding="utf-8")
    return gone


def package_of(path: Path) -> Path:
    """Return the folder of the package that a file is in."""
    return next(parent for parent in path.parents if parent.name == "skpce")


def copy_without(removed: tuple[str, ...], folder: Path) -> set[str]:
    """Copy the package and its tests without a subject; return the names that went."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("skpce", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    package, gone = folder / "skpce", set()
    for each in removed:
        gone |= names_of(package, each)
        place = package / each
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        for init in package.rglob("__init__.py"):
            gone |= without_imports(init, each)
    return gone


def run(subject: str, arguments: list[str]) -> tuple[str, int]:
    """Delete a subject and test the rest; return the last line and the exit status."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        gone = copy_without(SUBJECTS[subject], folder)
        modules = [
            "skpce." + part.removesuffix(".py").replace("/", ".")
            for part in SUBJECTS[subject]
        ]
        pattern = re.compile(
            "|".join(rf"(?<![\w.]){re.escape(name)}\b" for name in {*gone, *modules})
        )
        tests = sorted((folder / "tests" / "skpce").rglob("test_*.py"))
        kept = [
            str(test.relative_to(folder))
            for test in tests
            if not pattern.search(test.read_text(encoding="utf-8"))
        ]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments]
        command += ["-o", "addopts=--import-mode=importlib", *kept]
        options: dict[str, Any] = {"cwd": folder, "text": True, "capture_output": True}
        options["env"] = os.environ | {"PYTHONPATH": temporary}
        where = [sys.executable, "-c", "import skpce; print(skpce.__file__)"]
        assert temporary in subprocess.run(where, **options, check=True).stdout
        found = subprocess.run(command, **options, check=False)
        lines = found.stdout.strip().split("\n")
        if found.returncode:
            print("\n".join(lines[-20:]), found.stderr[-2000:], file=sys.stderr)
        left = f"{len(kept)} of {len(tests)} test files"
        return f"{subject}: {left}; {lines[-1].strip('= ')}", found.returncode


def main() -> int:
    """Run some subjects, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", choices=[*SUBJECTS, []], default=[])
    parser.add_argument("--jobs", default="2", help="processes of pytest")
    given = parser.parse_args()
    worst = 0
    for subject in given.subjects or SUBJECTS:
        line, status = run(subject, ["-n", given.jobs, "--dist", "loadfile"])
        print(line, flush=True)
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
