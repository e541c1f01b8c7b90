"""The structure of the sources: circles, inheritance, sizes and names.

``python -m benchmarks.files_walked --structure`` prints the figures.
"""

from __future__ import annotations

import pytest

from benchmarks.structure import PACKAGES, Package, components

LARGEST_ROOT = 20
LARGEST_FOLDER = 12
LONGEST_FILE = 600


@pytest.fixture(scope="module")
def package(request):
    return Package(request.param)


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_no_module_imports_itself_through_others(package):
    assert package.circles == []


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_there_are_no_mixins_of_ours(package):
    assert package.mixins == []


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_estimators_inherit_from_scikit_learn_only(package):
    assert package.estimators
    assert package.own_bases == []


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_a_root_can_be_seen_at_once(package):
    assert len(package.root_entries) <= LARGEST_ROOT


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_a_folder_can_be_seen_at_once(package):
    folders = package.files_of_folders
    wide = {name: size for name, size in folders.items() if size > LARGEST_FOLDER}
    assert wide == {}


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_no_file_is_too_long(package):
    long = {name: n for name, n in package.lines.items() if n > LONGEST_FILE}
    assert long == {}


@pytest.mark.parametrize("package", PACKAGES, indirect=True)
def test_a_module_is_named_for_what_is_in_it(package):
    assert package.vague_names == []


# The readers of the sources, on sources of which everything is known.


@pytest.fixture
def small(tmp_path):
    """A package with a re-export, a lazy import, a lazy name and a mixin."""
    sources = {
        "__init__": "from ._a import A\nfrom .sub import B\n",
        "_a": "def f():\n    from . import B\nclass A(AddMixin, BaseEstimator): ...\n",
        "_c": "import small._a\nclass AddMixin:\n    first_order: int\n",
        "sub/__init__": "NAMES = {'B': 'b'}\n",
        "sub/b": "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from ..utils import g\nclass B: ...\n",
        "utils": "from small import A\ndef g(x):\n    return hasattr(x, 'basis_')\n",
    }
    for name, text in sources.items():
        path = tmp_path / "small" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Package("small", tmp_path)


def test_names_are_followed_to_where_they_are_defined(small):
    assert small.imports == {
        "small": {"small._a", "small.sub.b"},
        "small._a": {"small.sub.b"},
        "small._c": {"small._a"},
        "small.sub": set(),
        "small.sub.b": {"small.utils"},
        "small.utils": {"small._a"},
    }


def test_circles_count_lazy_imports_and_those_for_types(small):
    assert small.circles == [["small._a", "small.sub.b", "small.utils"]]


def test_classes_are_read(small):
    assert small.mixins == ["AddMixin"]
    assert small.own_bases == [("A", "AddMixin")]
    assert small.classes_with("first_order") == ["AddMixin"]


def test_files_and_switches_are_counted(small):
    assert small.root_entries == ["__init__.py", "_a.py", "_c.py", "sub", "utils.py"]
    assert small.files_of_folders == {"small": 3, "small/sub": 1}
    assert small.vague_names == ["small.utils"]
    assert small.switches == {"hasattr": 1}
    assert small.estimator_switches == ["small.utils:3"]


def test_components_of_a_graph():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert sorted(map(sorted, components(graph))) == [["a", "b", "c"], ["d"]]
