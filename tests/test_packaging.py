"""The distribution says what it needs, and needs no more."""

import importlib.metadata
import importlib.resources
import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

import skpce
from gflownet_envs.extras import TORCH

ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]


def names_of(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_version_is_that_of_the_distribution():
    assert skpce.__version__ == importlib.metadata.version("skpce")
    assert PROJECT["dynamic"] == ["version", "readme"]


def test_links_of_the_readme_are_absolute_on_the_page_of_a_registry():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    hooks = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]
    relative = r"\]\((?!https://)([^)]+)\)"
    assert all((ROOT / link).is_file() for link in re.findall(relative, text))
    for rule in hooks["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert not re.findall(relative, text)
    assert text.count("![") == text.count("https://img.shields.io/") + text.count(
        "https://raw.githubusercontent.com/skpce/skpce/v$HFPR_VERSION/docs/images/"
    )


def test_the_core_needs_four_packages():
    four = {"numpy", "scipy", "scikit-learn", "joblib"}
    assert names_of(PROJECT["dependencies"]) == four
    assert "scikit-learn>=1.6" in PROJECT["dependencies"]
    assert PROJECT["requires-python"] == ">=3.11"


@pytest.mark.parametrize("package", ["skpce", "gflownet_envs"])
def test_only_the_experiments_join_both_packages(package):
    other = {"skpce": "gflownet_envs", "gflownet_envs": "skpce"}[package]
    pattern = re.compile(rf"^\s*(from|import) {other}\b", flags=re.MULTILINE)
    joining = {
        path.relative_to(ROOT).parts[:2]
        for path in (ROOT / package).rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert joining <= {("gflownet_envs", "experiments")}


def test_torch_is_pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert {TORCH, skpce._checks.TORCH} <= set(pins)
    assert f"\nTORCH ?= {TORCH}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    needed = {name.lower() for name in names_of(PROJECT["dependencies"])}
    assert needed <= {pin.partition("==")[0].lower() for pin in pins}


def test_pages_install_only_what_there_is():
    """No package of this name is on a registry, and plain torch may bring CUDA."""
    pages = [*ROOT.glob("*.md"), ROOT / "Makefile"]
    for folder in ("docs", "skpce", "gflownet_envs", "examples", "benchmarks"):
        pages += [
            path
            for kind in ("py", "md", "rst", "txt")
            for path in (ROOT / folder).rglob(f"*.{kind}")
        ]
    wrong = re.compile(r"""pip install[^\n#]* ["']?(skpce|torch)(\[|["'\s]|$)""")
    assert len(pages) > 300
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not wrong.search(text), (path, wrong.search(text)[0])


def lower_bounds():
    """Name and lower bound of each requirement outside docs and of other libraries."""
    extras = PROJECT["optional-dependencies"]
    others = {"docs", "oracle", "neighbours", "all"}
    groups = [extras[name] for name in extras if name not in others]
    for requirement in sum(groups, PROJECT["dependencies"]):
        yield re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()


def test_the_minimum_set_is_what_the_requirements_allow():
    lines = (ROOT / "constraints-minimum.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    # Tools are not imported; torch has one build here.
    tools = {"torch", "ruff", "mypy", "codespell"}
    bounds = [pair for pair in lower_bounds() if pair[0] not in tools]
    assert {name for name, _ in bounds} == set(pins) - {"pyparsing"}
    for name, bound in bounds:
        assert Version(bound) == Version(pins[name]), (name, bound, pins[name])


def test_the_conda_recipe_needs_what_the_distribution_needs():
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    recipe = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)$", text, flags=re.MULTILINE))
    renamed = {"torch": "pytorch", "matplotlib": "matplotlib-base", "dask": "dask-core"}
    of_tests = names_of(PROJECT["optional-dependencies"]["test"]) - {"pandas"}
    needed = {
        renamed.get(name, name): bound
        for name, bound in lower_bounds()
        if name not in of_tests
    }
    requires = CONFIGURATION["build-system"]["requires"]
    builds = dict(need.split(">=") for need in requires)
    assert recipe == needed | builds
    assert f'version: "{skpce.__version__}"' in text
    for script, target in PROJECT["scripts"].items():
        assert f"- {script} = {target}" in text


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {skpce.__version__}\n" in text
    for key in ("title", "abstract", "authors", "license", "repository-code"):
        assert f"\n{key}:" in text, key


def test_the_source_distribution_holds_whole_folders():
    """A pattern without a leading slash also takes folders of that name elsewhere."""
    built = CONFIGURATION["tool"]["hatch"]["build"]["targets"]["sdist"]
    assert all(pattern.startswith("/") for pattern in built["include"])
    assert all((ROOT / pattern[1:]).exists() for pattern in built["include"])
    assert {"/skpce", "/gflownet_envs", "/tests"} <= set(built["include"])


OF_THE_REPOSITORY = pytest.mark.skipif(
    not (ROOT / ".ci").is_dir(), reason="the source distribution has no workflows"
)


@OF_THE_REPOSITORY
def test_actions_are_pinned_to_commits():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
        assert used
        for action in used:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
