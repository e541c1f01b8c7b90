"""The pages of the documentation: tables that fit, links to files that exist."""

import re
from pathlib import Path

import numpy as np
import pytest

from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
)
from skpce._input_laws import NAMED_LAWS
from skpce._solvers import SOLVERS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(
    page
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    if not {"_build", "auto_examples", "named_parts"} & set(page.parts)
    and page.name != "table.md"
)
#: Columns of a table in the text column of a page; wider ones stand behind a link.
MOST_COLUMNS = 6


def shown(page):
    """Return the text of a page with what it includes, up to the option's mark."""
    text = page.read_text(encoding="utf-8")
    parts = [text]
    for name, end in re.findall(
        r"```\{include\} (\S+)\n(?::end-before: \"(.*)\"\n)?```", text
    ):
        included = (page.parent / name).read_text(encoding="utf-8")
        assert not end or end in included
        parts.append(included.split(end)[0] if end else included)
    return "\n".join(parts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_have_at_most_six_columns(page):
    for rule in re.findall(r"^\|[\s:|-]+\|$", shown(page), flags=re.MULTILINE):
        assert rule.count("|") - 1 <= MOST_COLUMNS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_downloads_and_commands_of_benchmarks_exist(page):
    text = shown(page)
    found = re.findall(r"\{download\}`[^`]*<([^>`]+)>`", text)
    assert all((page.parent / name).exists() for name in found)
    for table in re.findall(r"\{download\}`[^`]*<([^>`]+\.txt)>`", text):
        text += (page.parent / table).read_text(encoding="utf-8")
        assert re.search(r"python\s+-m\s+benchmarks|gflownet-envs", text), table
    for name in re.findall(r"python\s+-m\s+(benchmarks[\w.]*\w)", text):
        path = DOCS.parent / name.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    assert not re.findall(r"python\s+benchmarks/\S+", text)


#: Pages with tables that no download holds: figures of single runs, named beside them.
UNRECORDED = {"benchmarks_gflownet.md", "paper_baselines.md", "results.md"}
RECORDED = [
    page
    for page in PAGES
    if page.name not in UNRECORDED
    and re.search(r"\{download\}`[^`]*<[^>`]+\.txt>`", shown(page))
]


def fractions(text):
    """Return the decimal fractions in a text, with the number of their digits."""
    number = r"(?<![\w.])(\d*\.(\d+))(?![\w.]*\d)"
    found = re.findall(number, text.replace(",", ""))
    return {(float(value), len(digits)) for value, digits in found}


@pytest.mark.parametrize("page", RECORDED, ids=lambda page: page.stem)
def test_figures_of_tables_stand_in_what_a_command_wrote(page):
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"<([^>`]+\.txt)>`", shown(page)))
    tables = [(page.parent / name).read_text(encoding="utf-8") for name in names]
    shares = np.array([own for own, _ in fractions("\n".join(tables))])
    recorded = np.concatenate([shares, 100 * shares])  # or in percent
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for value, digits in fractions("\n".join(rows)):
        assert np.abs(recorded - value).min() <= 0.5001 * 10**-digits, value


STUDIES = [page for page in PAGES if page.parent.name in {"studies", "tasks"}]


@pytest.mark.parametrize("page", STUDIES, ids=lambda page: page.stem)
def test_studies_open_with_their_question(page):
    assert page.read_text(encoding="utf-8").split("\n\n")[1].count("?") == 1


@pytest.mark.parametrize(
    ("names", "page", "documented"),
    [
        (SOLVERS, "regression", [PolynomialChaosRegressor, CompositionalPCESurrogate]),
        (NAMED_LAWS, "input_laws", [PolynomialChaosFeatures]),
    ],
)
def test_solvers_and_distributions_are_listed(names, page, documented):
    """In the table of a page, and in the docstrings of the parameter."""
    table = (DOCS / "user_guide" / f"{page}.md").read_text(encoding="utf-8")
    assert set(names) <= set(re.findall(r'^\| `"(\w+)"` \|', table, flags=re.MULTILINE))
    for owner in documented:
        assert set(names) <= set(re.findall(r'``"(\w+)"``', owner.__doc__)), owner
