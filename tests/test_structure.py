"""Structure: no import circle, and folders that can be looked over."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["gflownet_envs"]


def modules(package: str) -> dict[str, Path]:
    """Return the source files of a package by the names of their modules."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_within(package: str) -> dict[str, set[str]]:
    """Return which modules each module imports, at any depth and for types alone."""
    found = modules(package)
    graph = {}
    for name, path in found.items():
        is_package = path.name == "__init__.py"
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & set(found)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    parents = name.split(".")
                    parents = parents[: len(parents) - node.level + is_package]
                    base = ".".join([*parents, *filter(None, [base])])
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    graph[name] |= {full if full in found else base} & set(found)
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of one circle, or none."""
    finished: set[str] = set()

    def follow(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in finished:
            for other in sorted(graph[name]):
                if found := follow(other, [*path, name]):
                    return found
            finished.add(name)
        return []

    for name in graph:
        if found := follow(name, []):
            return found
    return []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_by_way_of_others(package):
    found = circle(imports_within(package))
    assert not found, " imports ".join(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_are_small(package):
    entries = {
        path.relative_to(ROOT / package).parts[0]
        for path in (*modules(package).values(), *(ROOT / package).glob("*.*"))
    }
    assert len(entries) <= 20
    folders = {path.parent for path in modules(package).values()}
    for folder in folders:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 12 or folder == ROOT / package, folder


def test_the_contracts_of_the_experiments_are_a_leaf():
    imported = imports_within("gflownet_envs")["gflownet_envs.experiments.task"]
    assert not [name for name in imported if ".experiments" in name]
