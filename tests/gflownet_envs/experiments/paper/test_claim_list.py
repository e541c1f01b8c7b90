"""The list of claims: nothing of the paper is left out, and each has its rule."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gflownet_envs.experiments.paper.claims.answers import claim_list
from gflownet_envs.experiments.paper.claims.rules import FIGURES, RULES
from gflownet_envs.experiments.tasks import TASKS

# Numbers in the source of the paper that no reader sees as a figure.
_MARKUP = (
    r"\\cite\{[^}]*\}|\\begin\{(equation|align|lstlisting|proof)\}.*?\\end\{\1\}"
    r"|\\(setcounter|renewcommand|addtocontents|cmidrule\(lr\)|includegraphics|label"
    r"|ref|protect)\b[^ ]*|\\multicolumn\{\d\}|\\begin\{tabular\}\{[^}]*\{\}\S*"
    r"|(Figs?\.|Table|Section|Theorems?|Information|Step|Lean)[~ ]S?\d(\.\d)?(--S?\d)?"
    r"|[A-Za-z_^]\{?-?\(?\d+|\(\d\)~|[=>]+ [01]\b"
)


@pytest.fixture(scope="module")
def paper():
    """The source of the paper from its abstract on, where it is at hand."""
    home = os.environ.get("SKPCE_DATA", "../shared/data")
    path = Path(home).parent / "paper" / "paper.tex"
    if not path.is_file():
        pytest.skip("the source of the paper is not in the repository")
    text = path.read_text(encoding="utf-8")
    return plain(text[text.index(r"\begin{abstract}") :])


def plain(text):
    return re.sub(r"\s+", " ", text)


def places(text, part):
    return [m.span() for m in re.finditer(re.escape(plain(part)), text)]


def test_every_quote_is_in_the_paper(paper):
    quotes = [(c.id, quote) for c in claim_list().claims for quote in c.quotes]
    quotes += [("no claim", quote) for quote in claim_list().no_claim]
    assert [entry for entry in quotes if not places(paper, entry[1])] == []


def test_every_number_of_the_paper_is_quoted(paper):
    quotes = [quote for claim in claim_list().claims for quote in claim.quotes]
    spans = [
        span for q in (*quotes, *claim_list().no_claim) for span in places(paper, q)
    ]
    spans += [match.span() for match in re.finditer(_MARKUP, paper)]
    covered = bytearray(len(paper))
    for start, stop in spans:
        covered[start:stop] = b"\1" * (stop - start)
    left = [
        paper[max(0, m.start() - 50) : m.end() + 20]
        for m in re.finditer(r"\d[\d,.]*", paper)
        if not covered[m.start()]
    ]
    assert left == []


def test_every_figure_and_table_of_the_paper_is_listed(paper):
    listed = {item.label for item in (*claim_list().figures, *claim_list().tables)}
    assert set(re.findall(r"\\label\{((?:fig|tab):[^}]*)\}", paper)) == listed


@pytest.mark.parametrize("claim", claim_list().claims, ids=lambda claim: claim.id)
def test_a_claim_names_what_there_is_and_says_why_it_is_not_compared(claim):
    assert claim.rule in RULES
    assert claim.task is None or claim.task in TASKS
    assert claim.kind in ("finding", "identity", "setting")
    assert claim.text
    assert claim.quotes
    if claim.rule in ("incomparable", "beside", "speedups", "surrogate_times"):
        assert claim.why
    # no figure of ours is typed in without a command
    if "ours" in claim.values:
        assert claim.why
        assert claim.rule == "shown"
        assert claim.values["command"]
    # settings show the numbers that they compare and no others
    assert bool(claim.paper) == (claim.rule != "settings")
    if claim.rule == "settings":
        assert claim.kind == "setting"
        assert not re.search(r"\d", claim.text)


@pytest.mark.parametrize("claim", claim_list().claims, ids=lambda claim: claim.id)
def test_measures_are_known_and_seconds_of_another_machine_never_judged(claim):
    name = claim.values.get("measure")
    if claim.rule in ("near", "at_least", "at_most", "range", "ends", "beside"):
        assert name in FIGURES
    if str(name).endswith("_seconds"):
        assert claim.rule in ("beside", "surrogate_times", "surrogate_ratio")
    # identities hold for any members
    if claim.kind == "identity" and claim.rule == "embedding":
        assert name == "rho"
        assert claim.values["method"] in ("pca", "kernel")
    elif claim.kind == "identity":
        terms = ("terms", "terms_and_one")
        assert name in {"theory": terms, "at_most": ("max_rho",)}[claim.rule]
