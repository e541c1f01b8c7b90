"""What the sources say of their structure: files, imports, inheritance.

Everything is read from the syntax trees, nothing is imported. Imports count wherever
they stand: at the top of a module, in a function, under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("skpce", "gflownet_envs")

VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})

SWITCHES = ("isinstance", "hasattr")

ESTIMATORS = frozenset(
    {
        "CompositionalPCESurrogate",
        "PolynomialChaosFeatures",
        "PolynomialChaosRegressor",
        "PolynomialChaosRegressorCV",
    }
)
"""Classes whose ``isinstance`` distinguishes our estimators."""

_LEARNED_BY_ANYONE = frozenset(
    {"bandwidth_", "classes_", "coef_", "feature_names_in_", "n_features_in_"}
)
"""Learned attributes that do not tell our estimators apart."""

_MARKERS = frozenset({"py.typed", "__pycache__"})


@dataclass(frozen=True)
class ClassRecord:
    """A class: its name, its bases by name, and the names that it defines.

    Attributes
    ----------
    name, module : str
        Of the class.
    bases : tuple of str
        Names of the classes that it inherits from.
    fields : frozenset of str
        Names with an annotation in the body of the class.
    is_abstract : bool
        Whether it has an abstract method, or is a protocol.
    """

    name: str
    module: str
    bases: tuple[str, ...]
    fields: frozenset[str]
    is_abstract: bool


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

    @property
    def lines(self) -> dict[str, int]:
        """Number of lines of each file."""
        return {
            str(path.relative_to(self.root)): len(
                path.read_text(encoding="utf-8").splitlines()
            )
            for path in self.files.values()
        }

    @property
    def root_entries(self) -> list[str]:
        """Files and folders at the root; markers and caches do not count."""
        return sorted(
            path.name for path in self.folder.iterdir() if path.name not in _MARKERS
        )

    @property
    def files_of_folders(self) -> dict[str, int]:
        """Number of modules in each folder, without ``__init__``."""
        counts: Counter[str] = Counter()
        for path in self.files.values():
            if path.name != "__init__.py":
                counts[str(path.parent.relative_to(self.root))] += 1
        return dict(counts)

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

    @property
    def imported_once(self) -> list[str]:
        """Modules that one other module imports, ``__init__`` not counted."""
        counts: Counter[str] = Counter()
        for module, targets in self.imports.items():
            if not self.is_package(module):
                counts.update(targets)
        return sorted(
            name for name, n in counts.items() if n == 1 and not self.is_package(name)
        )

    # Classes.

    @cached_property
    def classes(self) -> list[ClassRecord]:
        """All classes, those within functions too."""
        return [
            _record(node, module)
            for module, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        ]

    @cached_property
    def estimators(self) -> list[ClassRecord]:
        """Classes that inherit from scikit-learn's BaseEstimator, or from one."""
        names = {"BaseEstimator"}
        found: list[ClassRecord] = []
        for _ in range(5):  # as deep as anyone inherits
            found = [record for record in self.classes if names & set(record.bases)]
            names |= {record.name for record in found}
        return found

    @property
    def own_bases(self) -> list[tuple[str, str]]:
        """Estimators and the classes of ours that they inherit from directly."""
        ours = {record.name for record in self.classes}
        return [
            (record.name, base)
            for record in self.estimators
            for base in record.bases
            if base in ours
        ]

    @property
    def mixins(self) -> list[str]:
        """Classes of ours named so, or inherited by an estimator to add to it."""
        estimators = {record.name for record in self.estimators}
        ours = {record.name: record for record in self.classes}
        found = {name for name in ours if name.endswith("Mixin")}
        found |= {
            base
            for _, base in self.own_bases
            if base not in estimators and not ours[base].is_abstract
        }
        return sorted(found)

    def classes_with(self, attribute: str) -> list[str]:
        """Classes with a field of a name; properties and methods are no fields."""
        return sorted(
            record.name for record in self.classes if attribute in record.fields
        )

    # Switches.

    @property
    def switches(self) -> dict[str, int]:
        """Number of calls of ``isinstance`` and ``hasattr``."""
        return dict(Counter(node.func.id for _, node in self._switch_calls()))

    @property
    def estimator_switches(self) -> list[str]:
        """Where ``isinstance`` tests for one of our estimators, or for its marks."""
        return [
            f"{module}:{node.lineno}"
            for module, node in self._switch_calls()
            if _asks_for_an_estimator(node)
        ]

    def _switch_calls(self) -> Iterator[tuple[str, ast.Call]]:
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id in SWITCHES
                ):
                    yield module, node


def _asks_for_an_estimator(node: ast.Call) -> bool:
    """Whether the class is one of our estimators, or the attribute a learned one."""
    tested = node.args[-1]
    if isinstance(tested, ast.Constant):
        name = str(tested.value)
        return name.endswith("_") and not (
            name.startswith("__") or name in _LEARNED_BY_ANYONE
        )
    names = {
        getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(tested)
    }
    return bool(names & ESTIMATORS)


def _record(node: ast.ClassDef, module: str) -> ClassRecord:
    bases = tuple(filter(None, map(_name, node.bases)))
    fields, is_abstract = set(), "Protocol" in bases
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            fields.add(_name(part.target))
        elif isinstance(part, ast.FunctionDef):
            is_abstract |= "abstractmethod" in map(_name, part.decorator_list)
    return ClassRecord(node.name, module, bases, frozenset(fields), is_abstract)


def _name(node: ast.expr) -> str:
    """Return ``Base`` for ``Base``, ``module.Base`` and ``Base[int]``."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return getattr(node, "id", getattr(node, "attr", ""))


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph (Tarjan)."""
    position: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        position[node] = lowest[node] = len(position)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in position:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], position[target])
        if lowest[node] == position[node]:
            start = stack.index(node)
            found.append(set(stack[start:]))
            del stack[start:]

    for node in graph:
        if node not in position:
            visit(node)
    return found


def describe(package: Package) -> str:
    """Return the figures of a package, one a line."""
    lines = package.lines
    folders = package.files_of_folders
    longest = sorted(lines.items(), key=lambda entry: -entry[1])[:3]
    rows: list[tuple[str, object]] = [
        ("files", len(lines)),
        ("lines", sum(lines.values())),
        ("entries at the root", len(package.root_entries)),
        ("longest files", ", ".join(f"{name} {n}" for name, n in longest)),
        ("files a folder", ", ".join(f"{k} {n}" for k, n in sorted(folders.items()))),
        ("files imported by one other file", len(package.imported_once)),
        ("vague names", ", ".join(package.vague_names) or 0),
        ("home-made mixins", _listed(package.mixins)),
        (
            "estimators that inherit from ours",
            _listed(map(" < ".join, package.own_bases)),
        ),
        (
            "classes with a field first_order",
            _listed(package.classes_with("first_order")),
        ),
        ("isinstance and hasattr", package.switches),
        ("of them asking for an estimator", _listed(package.estimator_switches)),
        ("import circles", _listed(f"{len(c)} files" for c in package.circles)),
    ]
    rows += [("  circle", ", ".join(circle)) for circle in package.circles]
    width = max(len(name) for name, _ in rows)
    return "\n".join([package.name, *(f"  {n:<{width}}  {v}" for n, v in rows)])


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return f"{len(found)}: {', '.join(found)}" if found else "0"
