"""What is public stays: names, signatures, attributes of classes and of fits.

The recording is ``tests/golden/public_surface.json``, which
``python -m tests.golden.record surface`` rewrites. Annotations do not count. Names may
be added to a class; names added to ``__all__`` are listed in ``ADDED``, what was
removed or has another signature in ``CHANGED``, and modules that moved in ``MOVED``.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests.golden.ensembles import FITTED, NEEDS
from tests.golden.surface import surface_of

ADDED: set[str] = set()
"""New names in ``__all__``, with their package: ``"skpce.Expansion"``."""

CHANGED: set[str] = set()
"""Names that left or look different; of a class it covers the members too.

A learned attribute is listed behind the name in ``FITTED``:
``"LogRatioTransformer: geometry_"``.
"""

MOVED: dict[str, str] = {}
"""Public modules with another address now: old to new. Their names must be there."""

RECORDED = json.loads(
    (Path(__file__).parent / "golden" / "public_surface.json").read_text("utf-8")
)


def is_listed(name: str) -> bool:
    """Whether the name, or the class or package that holds it, is in CHANGED."""
    return any(name == known or name.startswith(f"{known}.") for known in CHANGED)


def matches(recorded: str, found: str | None) -> bool:
    """A method of scikit-learn must be there; of ours, the signature counts."""
    return found is not None if recorded == "inherited" else found == recorded


def current_surface(package: str) -> dict[str, str]:
    """What is public now, under the address at which it was recorded."""
    address = MOVED.get(package, package)
    return {
        package + name.removeprefix(address): text
        for name, text in surface_of(address).items()
    }


@pytest.mark.parametrize("package", RECORDED["names"])
def test_recorded_names_look_the_same(package):
    if package == "skpce.plotting":
        pytest.importorskip("matplotlib")
    if is_listed(package):
        pytest.skip("the package is in CHANGED")
    found = current_surface(package)
    different = {
        name: (text, found.get(name))
        for name, text in RECORDED["names"][package].items()
        if not matches(text, found.get(name)) and not is_listed(name)
    }
    assert different == {}


@pytest.mark.parametrize("package", RECORDED["names"])
def test_new_public_names_are_listed(package):
    if is_listed(package):
        pytest.skip("the package is in CHANGED")
    names = importlib.import_module(MOVED.get(package, package)).__all__
    known = RECORDED["names"][package]
    added = {f"{package}.{name}" for name in names} - set(known)
    assert added == {name for name in ADDED if name.rpartition(".")[0] == package}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
def test_a_fit_learns_what_it_learned(name):
    for library in NEEDS.get(name, []):
        pytest.importorskip(library)
    fitted = FITTED[name]()
    missing = [
        attribute
        for attribute in RECORDED["fitted"][name]
        if not hasattr(fitted, attribute) and f"{name}: {attribute}" not in CHANGED
    ]
    assert missing == []


def test_lists_of_changes_are_not_stale():
    """What is listed as changed was recorded, and does differ."""
    learned = {
        f"{name}: {attribute}"
        for name, attributes in RECORDED["fitted"].items()
        for attribute in attributes
    }
    left = CHANGED - learned - set(RECORDED["names"])
    for package, names in RECORDED["names"].items():
        if is_listed(package):
            continue
        found = current_surface(package)
        for name in left & set(names):
            members = [key for key in names if f"{key}.".startswith(f"{name}.")]
            assert any(not matches(names[key], found.get(key)) for key in members), name
        left = left - set(names)
    assert left == set()
