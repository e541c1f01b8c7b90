"""Layers: who may import whom, what is public, what is documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

from tests.golden.surface import PUBLIC_PACKAGES

ROOT = Path(__file__).resolve().parents[1]
LIGHT_MODULES = [name for name in PUBLIC_PACKAGES if name.startswith("skpce")]
LIGHT_MODULES.remove("skpce.plotting")


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def top_level(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.slow
def test_skpce_needs_only_its_dependencies():
    """At the top of a module: numpy, scipy, scikit-learn, joblib, threadpoolctl."""
    allowed = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "skpce"}
    allowed |= set(sys.stdlib_module_names)
    for path in sources("skpce"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        tried = [
            node for part in body if isinstance(part, ast.Try) for node in part.body
        ]
        for node in body + tried:  # imports inside functions may be optional
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = {node.module or ""}
            else:
                continue
            assert top_level(names) <= allowed, f"{path.name}: {names}"


@pytest.mark.slow
def test_scikit_learn_is_used_through_its_public_names():
    private_module = re.compile(r"sklearn[a-z_.]*\._")
    for path in sources("skpce"):
        text = path.read_text(encoding="utf-8")
        assert not private_module.search(text), path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "sklearn"
            ):
                private = [a.name for a in node.names if a.name.startswith("_")]
                assert not private, f"{path.name}: {private}"


@pytest.mark.parametrize("module", PUBLIC_PACKAGES)
def test_public_names_exist(module):
    if module == "skpce.plotting":
        pytest.importorskip("matplotlib")
    if module.startswith("gflownet_envs"):
        pytest.importorskip("torch")
    imported_module = importlib.import_module(module)
    names = imported_module.__all__
    assert len(names) == len(set(names))
    for name in names:
        member = getattr(imported_module, name)
        if inspect.isclass(member) or inspect.isfunction(member):
            assert inspect.getdoc(member), f"{module}.{name} has no docstring"


def public_callables():
    """Yield (label, callable whose signature counts, object that documents it)."""
    seen = set()
    for module in LIGHT_MODULES:
        for name in importlib.import_module(module).__all__:
            member = getattr(importlib.import_module(module), name)
            is_warning = inspect.isclass(member) and issubclass(member, Warning)
            if not callable(member) or is_warning or member in seen:
                continue
            seen.add(member)
            yield f"{module}.{name}", member, member
            if inspect.isclass(member):
                for method, function in inspect.getmembers(member, inspect.isfunction):
                    own = function.__module__.startswith("skpce")
                    if own and not method.startswith("_"):
                        yield f"{module}.{name}.{method}", function, function


DOCUMENTED = re.compile(r"^(\w[\w, ]*?) : (.*?)(?=^\S|\Z)", re.M | re.S)
DEFAULT = re.compile(r"default=(\([^)]*\)|\"[^\"]*\"|[^\s,]+)")


def documented_defaults(docstring: str) -> dict[str, str]:
    """Read ``name : type, default=value`` from the Parameters section."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.M | re.S
    )
    found = {}
    for names, description in DOCUMENTED.findall(section.group(1) if section else ""):
        default = DEFAULT.search(description.split("\n")[0])
        for name in names.split(", "):
            if default:
                found[name] = default.group(1)
    return found


@pytest.mark.parametrize(
    ("function", "documented"),
    [pytest.param(f, d, id=label) for label, f, d in public_callables()],
)
def test_documented_defaults_are_those_of_the_signature(function, documented):
    docstring = inspect.getdoc(documented) or ""
    signature = inspect.signature(function).parameters
    for name, text in documented_defaults(docstring).items():
        assert name in signature, f"{name} is documented but is no parameter"
        assert ast.literal_eval(text) == signature[name].default, name
    for name in signature:
        if name not in ("self", "args", "kwargs") and "Parameters\n" in docstring:
            assert re.search(rf"\b{name}\b", docstring), f"{name} is not documented"
