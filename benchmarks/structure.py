"""How large the packages are, and how many files and functions a call walks through.

    python -m benchmarks.structure                # the figures beside the record
    python -m benchmarks.structure --record       # write those that fell
    python -m benchmarks.structure --record --why "what the larger figures are for"
    python -m benchmarks.structure --files fit    # the files of a trip

The record is ``docs/structure.csv``, which the page on the architecture shows.
``tests/test_structure.py`` fails where a figure is above its record.

Sizes, imports and parameters are read from the syntax trees. Imports count wherever
they stand: at the top of a module, in a function, under ``TYPE_CHECKING``. A trip walks
through a file when one of its functions is entered during the call; every module is
imported before, and bodies of modules and classes do not count. Comprehensions,
generators and lambdas are functions of their file. The trip ``run grid`` counts both
packages, the others skpce.
"""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import io
import pkgutil
import subprocess
import sys
import tempfile
import threading
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from benchmarks.measuring import options

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("skpce", "gflownet_envs")
RECORD = ROOT / "docs" / "structure.csv"

VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})

_NO_CODE = {
    getattr(tokenize, name)
    for name in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")
}


@dataclass(frozen=True)
class Package:
    """The sources of a package.

    Attributes
    ----------
    name : str
        Of the package.
    root : Path
        Folder that holds it.
    """

    name: str
    root: Path = field(default=ROOT)

    @property
    def folder(self) -> Path:
        """Folder of the package."""
        return self.root / self.name

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files by the name of their module."""
        return {
            self._module_name(path): path for path in sorted(self.folder.rglob("*.py"))
        }

    def _module_name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax trees by module."""
        return {
            name: ast.parse(path.read_text(encoding="utf-8"))
            for name, path in self.files.items()
        }

    def is_package(self, module: str) -> bool:
        """Whether a module is the ``__init__`` of a folder."""
        return module in self.files and self.files[module].name == "__init__.py"

    # Sizes.

    @cached_property
    def code_lines(self) -> int:
        """Lines of code: without docstrings, blank lines, comments and imports."""
        return sum(
            _code_lines(path.read_text(encoding="utf-8"), self.trees[name])
            for name, path in self.files.items()
        )

    @property
    def vague_names(self) -> list[str]:
        """Modules and folders whose name says nothing."""
        return [
            name
            for name in self.files
            if VAGUE_NAMES & {part.strip("_") for part in name.split(".")}
        ]

    # Imports.

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules of the package that each module imports."""
        return {name: set(self._imported_by(name)) - {name} for name in self.files}

    def _imported_by(self, module: str) -> Iterator[str]:
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.files:
                        yield alias.name
            elif isinstance(node, ast.ImportFrom):
                source = self._source_of(module, node)
                if source in self.files:
                    for alias in node.names:
                        yield self.defining_module(source, alias.name)

    def _source_of(self, module: str, node: ast.ImportFrom) -> str:
        """Return the absolute name of what an import is from."""
        if node.level == 0:
            return node.module or ""
        parts = module.split(".")
        up = node.level - 1 if self.is_package(module) else node.level
        parts = parts[: len(parts) - up]
        return ".".join([*parts, node.module] if node.module else parts)

    def defining_module(self, source: str, name: str) -> str:
        """Return the module that a name comes from, through the re-exports."""
        if f"{source}.{name}" in self.files:
            return f"{source}.{name}"
        if not self.is_package(source):
            return source
        for node in ast.walk(self.trees[source]):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        further = self._source_of(source, node)
                        if further in self.files and further != source:
                            return self.defining_module(further, alias.name)
        return self._lazily_from(source).get(name, source)

    def _lazily_from(self, source: str) -> dict[str, str]:
        """Return the modules of names that ``__getattr__`` loads, from a dict."""
        found = {}
        for node in ast.walk(self.trees[source]):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(
                        value, ast.Constant
                    ):
                        module = f"{source}.{value.value}".replace("..", ".")
                        if module in self.files:
                            name = str(key.value)
                            found[name] = self.defining_module(module, name)
        return found

    @property
    def circles(self) -> list[list[str]]:
        """Groups of modules that import one another, directly or through others."""
        return [sorted(group) for group in components(self.imports) if len(group) > 1]

    @cached_property
    def floors(self) -> int:
        """Number of modules on the longest path of imports."""
        depth: dict[str, int] = {}

        def below(module: str) -> int:
            if module not in depth:
                depth[module] = 0  # of a circle
                depth[module] = 1 + max(map(below, self.imports[module]), default=0)
            return depth[module]

        return max(map(below, self.files))

    # Classes.

    @cached_property
    def classes(self) -> list[tuple[str, list[str]]]:
        """All classes, those within functions too, with the names of their bases."""
        return [
            (node.name, [_name(base) for base in node.bases])
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        ]

    @cached_property
    def estimators(self) -> set[str]:
        """Classes that inherit from scikit-learn's BaseEstimator, or from one."""
        names = {"BaseEstimator"}
        for _ in range(5):  # as deep as anyone inherits
            names |= {name for name, bases in self.classes if names & set(bases)}
        return names - {"BaseEstimator"}

    @property
    def own_bases(self) -> list[tuple[str, str]]:
        """Estimators and the classes of ours that they inherit from directly."""
        ours = {name for name, _ in self.classes}
        return [
            (name, base)
            for name, bases in self.classes
            for base in bases
            if name in self.estimators and base in ours
        ]

    @property
    def mixins(self) -> list[str]:
        """Classes named so."""
        return sorted(name for name, _ in self.classes if name.endswith("Mixin"))

    # Parameters.

    @cached_property
    def parameters(self) -> dict[str, int]:
        """Number of parameters of each function, ``self`` and ``cls`` not counted."""
        found = {}
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    every = node.args
                    names = [*every.posonlyargs, *every.args, *every.kwonlyargs]
                    counted = [one for one in names if one.arg not in ("self", "cls")]
                    found[f"{module}.{node.name}:{node.lineno}"] = len(counted)
        return found


def _code_lines(text: str, tree: ast.Module) -> int:
    """Number of lines with a token that is neither comment, docstring nor import."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (
            is_text and isinstance(node.value.value, str)
        ):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - skipped)


def _name(node: ast.expr) -> str:
    """Return ``Base`` for ``Base``, ``module.Base`` and ``Base[int]``."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph."""
    edges = [[other in targets for other in graph] for targets in graph.values()]
    number, labels = connected_components(np.array(edges), connection="strong")
    found: list[set[str]] = [set() for _ in range(number)]
    for name, label in zip(graph, labels, strict=True):
        found[label].add(name)
    return found


# What a call walks through


def import_everything() -> None:
    """Import every module of both packages, and what they load when they draw."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            importlib.import_module(found.name)
    importlib.import_module("matplotlib.pyplot")


def functions_of(
    call: Callable[[], Any], packages: tuple[str, ...]
) -> set[tuple[str, int]]:
    """Return files and first lines of the functions that a call executes."""
    seen: set[Any] = set()

    def on_event(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:
            seen.add(frame.f_code)

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    folders = [ROOT / package for package in packages]
    return {
        (str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno)
        for code in seen
        if any(Path(code.co_filename).is_relative_to(folder) for folder in folders)
    }


def trips() -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted."""
    from scipy.special import softmax
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor, explain
    from skpce.inspection import verdict

    widths, rng = (3, 2, 4), np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = np.hstack([softmax(X @ rng.normal(size=(3, w)), axis=1) for w in widths])
    given: dict[str, Any] = {"solver": "ridge", "distribution": "normal"}
    surrogate = CompositionalPCESurrogate(steps=widths, **given)
    fitted = CompositionalPCESurrogate(steps=widths, **given).fit(X, y)
    pipeline = make_pipeline(PCA(2), CompositionalPCESurrogate(steps=widths, **given))
    return {
        "fit": lambda: PolynomialChaosRegressor(**given).fit(X, y),
        "surrogate fit": lambda: surrogate.fit(X, y),
        "predict_interval": lambda: fitted.predict_interval(X),
        "verdict": lambda: verdict(pipeline, X, y),
        "explain": lambda: explain(X, y[:, 0]),
        "run grid": _run_grid,
    }


def _run_grid() -> None:
    """Run the command line in this process."""
    from click.testing import CliRunner

    from gflownet_envs.experiments.command_line import main

    with tempfile.TemporaryDirectory() as folder:
        command = ["run", "grid", "--preset", "smoke", "--jobs", "1", "--out", folder]
        CliRunner().invoke(main, command, catch_exceptions=False)


def walked() -> dict[str, set[tuple[str, int]]]:
    """Return the functions of every trip, on one thread: more need a function more."""
    import_everything()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: functions_of(call, PACKAGES if name == "run grid" else PACKAGES[:1])
            for name, call in trips().items()
        }


# Figures and their record


def public_names() -> int:
    """Number of names in ``__all__`` of skpce and its public modules, modules apart."""
    package = importlib.import_module("skpce")
    found = [f"skpce.{one.name}" for one in pkgutil.iter_modules(package.__path__)]
    public = [name for name in found if not name.rpartition(".")[2].startswith("_")]
    modules = [package, *map(importlib.import_module, public)]
    return len(
        {
            id(value)
            for module in modules
            for name in module.__all__
            if not inspect.ismodule(value := getattr(module, name))
        }
    )


def figures() -> dict[str, int]:
    """Return all figures by name."""
    found: dict[str, int] = {}
    for name in (*PACKAGES, "tests", "benchmarks"):
        found[f"{name}, lines of code"] = Package(name).code_lines
    for name in PACKAGES:
        package = Package(name)
        found[f"{name}, floors of imports"] = package.floors
        found[f"{name}, most parameters"] = max(package.parameters.values())
    found["skpce, public names"] = public_names()
    for name, functions in walked().items():
        found[f"{name}, files walked"] = len({file for file, _ in functions})
        found[f"{name}, functions walked"] = len(functions)
    return found


def recorded(text: str | None = None) -> dict[str, dict[str, str]]:
    """Return the rows of the record, or of the text of one, by figure."""
    lines = RECORD.read_text(encoding="utf-8") if text is None else text
    return {row["figure"]: row for row in csv.DictReader(lines.splitlines())}


def unexplained(
    now: dict[str, dict[str, str]], before: dict[str, dict[str, str]]
) -> list[str]:
    """Return the figures that rose from one record to the next without a new reason."""
    return [
        name
        for name, row in now.items()
        if name in before
        and int(row["value"]) > int(before[name]["value"])
        and row["raised for"] in ("", before[name]["raised for"])
    ]


def records() -> list[str]:
    """Return the record in the folder, and those of git before it where it is there."""
    command = ["git", "log", "-3", "--format=%H", "--", "docs/structure.csv"]
    options: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True}
    commits = subprocess.run(command, **options).stdout.split()
    texts = [RECORD.read_text(encoding="utf-8")]
    for commit in commits:
        shown = ["git", "show", f"{commit}:docs/structure.csv"]
        text = subprocess.run(shown, **options).stdout
        if text and text != texts[-1]:
            texts.append(text)
    return texts


def risen(found: dict[str, int]) -> dict[str, str]:
    """Return the figures above their record, and by how much."""
    record = recorded()
    return {
        name: f"{value}, recorded {record[name]['value'] if name in record else '–'}"
        for name, value in found.items()
        if name not in record or value > int(record[name]["value"])
    }


def write_record(found: dict[str, int], why: str) -> None:
    """Write the figures; those that rose say what for."""
    before = recorded() if RECORD.exists() else {}
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["figure", "value", "raised for"])
        for name, value in found.items():
            old = before.get(name, {"value": value, "raised for": ""})
            rose = value > int(old["value"])
            writer.writerow([name, value, why if rose else old["raised for"]])


def main() -> None:
    """Print the figures, or record them."""
    chosen = options(__doc__, files=str, record=False, why="")
    if chosen.files:
        print("\n".join(sorted({file for file, _ in walked()[chosen.files]})))
        return
    found = figures()
    higher = risen(found) if RECORD.exists() else {}
    for name, value in found.items():
        print(f"{name:<36}{value:>8}   {higher.get(name, '')}")
    if chosen.record and higher and not chosen.why:
        raise SystemExit(f"{', '.join(higher)} rose: say what for with --why")
    if chosen.record:
        write_record(found, chosen.why)


if __name__ == "__main__":
    main()
