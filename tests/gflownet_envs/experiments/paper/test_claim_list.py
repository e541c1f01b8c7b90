"""The list of claims: nothing of the paper is left out, and each has its rule."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gflownet_envs.experiments.paper.claims.claim_list import claim_list
from gflownet_envs.experiments.paper.claims.rules import RULES
from gflownet_envs.experiments.paper.claims.values import LISTS, VALUES
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
    listed -= {item.label for item in claim_list().tables if not item.in_paper}
    assert set(re.findall(r"\\label\{((?:fig|tab):[^}]*)\}", paper)) == listed


def test_claims_name_what_there_is():
    for claim in claim_list().claims:
        assert claim.rule in RULES, claim.id
        assert claim.task is None or claim.task in TASKS, claim.id
        assert claim.kind in ("finding", "identity", "setting"), claim.id
        assert claim.text, claim.id
        assert claim.paper or claim.rule == "settings", claim.id
        assert claim.quotes, claim.id


def test_what_cannot_be_compared_says_why():
    for claim in claim_list().claims:
        if claim.rule in ("incomparable", "beside", "speedups", "surrogate_times"):
            assert claim.why, claim.id


def test_no_figure_of_ours_is_typed_in_without_a_command():
    for claim in claim_list().claims:
        if "ours" in claim.values:
            assert claim.rule == "shown", claim.id
            assert claim.values["command"], claim.id
            assert claim.why, claim.id


def test_settings_show_the_numbers_that_they_compare_and_no_others():
    for claim in claim_list().claims:
        if claim.rule == "settings":
            assert claim.kind == "setting", claim.id
            assert not re.search(r"\d", claim.text), claim.id
            assert claim.paper == "", claim.id


def test_identities_hold_for_any_members():
    """Numbers of terms, and correlations of components on their own members."""
    kinds = {"theory": ("terms", "terms_and_one"), "at_most": ("max_rho",)}
    kinds["embedding"] = ("rho",)
    for claim in claim_list().claims:
        if claim.kind == "identity":
            assert claim.values["measure"] in kinds[claim.rule], claim.id
            if claim.rule == "embedding":
                assert claim.values["method"] in ("pca", "kernel"), claim.id


def test_seconds_of_another_machine_are_never_judged():
    for claim in claim_list().claims:
        if str(claim.values.get("measure")).endswith("_seconds"):
            assert claim.rule in ("beside", "surrogate_times", "surrogate_ratio")


def test_measures_are_known():
    on_one_data_set = {"near", "at_least", "at_most"}
    on_several = {"range", "ends", "each"}
    for claim in claim_list().claims:
        if claim.rule in on_one_data_set:
            assert claim.values["measure"] in VALUES, claim.id
        if claim.rule in on_several:
            assert claim.values["measure"] in LISTS, claim.id
        if claim.rule == "beside":
            assert claim.values["measure"] in {**VALUES, **LISTS}, claim.id
