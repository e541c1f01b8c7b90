"""The structure of the sources: circles, inheritance and names.

``python -m benchmarks.structure`` prints the figures beside their record.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.structure import (
    PACKAGES,
    Package,
    figures,
    recorded,
    records,
    risen,
    unexplained,
)


@pytest.fixture(scope="module")
def package(request):
    return Package(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_no_module_imports_itself_through_others(package):
    assert package.circles == []


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_classes_and_names(package):
    assert package.mixins == []
    assert package.estimators
    assert package.own_bases == []
    assert package.vague_names == []


@pytest.mark.slow
def test_nothing_grew():
    """A figure above its record is raised on purpose, in a commit that says for what.

    Make the change smaller, or run ``python -m benchmarks.structure --record --why
    "what for"``. Whoever lowers a figure runs it without ``--why``.
    """
    found = figures()
    assert risen(found) == {}
    assert set(recorded()) == set(found)


def test_what_rose_says_for_what():
    now, *before = map(recorded, records())
    assert unexplained(now, before[0] if before else now) == []


def test_a_figure_that_rises_without_a_reason_is_found():
    def record(value, why):
        return {"lines": {"value": str(value), "raised for": why}}

    assert unexplained(record(2, ""), record(1, "")) == ["lines"]
    assert unexplained(record(2, "old"), record(1, "old")) == ["lines"]
    assert unexplained(record(2, "new"), record(1, "old")) == []
    assert unexplained(record(1, ""), record(2, "")) == []


BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
def test_every_benchmark_can_be_imported_as_a_module():
    """All but those of other libraries that are not installed."""
    for path in sorted(BENCHMARKS.rglob("*.py")):
        parts = path.relative_to(BENCHMARKS.parent).with_suffix("").parts
        beside = {other.stem for other in path.parent.glob("*.py")} - {path.stem}
        missing = ""
        try:
            importlib.import_module(".".join(parts))
        except ModuleNotFoundError as error:
            missing = error.name.split(".")[0]
        assert missing not in beside | set(PACKAGES) | {"benchmarks"}, path
