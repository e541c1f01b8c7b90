"""What the README promises works."""

import re
from pathlib import Path

import pytest

from tests.golden.numbers import ANY_MACHINE, difference
from tests.shared import printed_by

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


CODE = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SHOWN = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def printed_in(folder, code):
    """Run an example in a folder; it needs neither torch nor GFlowNets."""
    guard = "\nimport sys; assert not {'torch', 'gflownet_envs'} & set(sys.modules)\n"
    return printed_by("-W", "error", "-c", code + guard, cwd=folder)


@pytest.mark.slow
def test_a_table_of_runs_is_explained_as_it_stands_below(tmp_path):
    assert len(CODE) == len(SHOWN) == 2
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = printed_in(tmp_path, CODE[0])
    assert not difference(SHOWN[0], printed, ANY_MACHINE)
    assert len([line for line in CODE[0].splitlines() if line]) <= 10


@pytest.mark.parametrize("page", ["index.md", "getting_started.md"])
def test_the_documentation_includes_both_examples(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    included = re.findall(
        r"^```{include} ../README.md\n:start-after: (.*)\n:end-before: (.*)\n```$",
        text,
        re.MULTILINE,
    )
    parts = [README.split(start)[1].split(end)[0] for start, end in included]
    for part, code, shown in zip(parts, CODE, SHOWN, strict=True):
        assert code in part
        assert shown in part
    assert "```python" not in text  # the examples are told once


@pytest.mark.slow
def test_an_ensemble_of_models_prints_what_stands_below_it(tmp_path):
    printed = printed_in(tmp_path, CODE[1])
    assert not difference(SHOWN[1], printed, ANY_MACHINE)
    assert len(CODE[1].split("\n\n")[1].splitlines()) <= 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["demo", "test"])
def test_both_commands_are_targets(target):
    assert f"make {target}" in README
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_files_that_it_links_to_exist():
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", README)
    links += re.findall(r"`((?:docs|examples|benchmarks)/[^`*]+\.\w+)`", README)
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing
