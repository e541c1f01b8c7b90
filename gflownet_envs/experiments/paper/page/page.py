"""The page itself: claims with a word each, figures, tables; one file, no network."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from gflownet_envs.experiments.paper.claims.answers import (
    AGREES,
    COLUMNS,
    DIFFERS,
    DOES_NOT,
    INCOMPARABLE,
    OURS,
    SAME,
    UNFINISHED,
    Answer,
    Side,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim, Item, claim_list
from gflownet_envs.experiments.paper.claims.rules import answer
from gflownet_envs.experiments.paper.page.panels import png
from gflownet_envs.experiments.paper.page.pictures import draw_figures
from gflownet_envs.experiments.paper.page.tables import make_tables
from gflownet_envs.experiments.task import Table
from gflownet_envs.storage import environment_versions
from skpce._checks import format_cell

TITLE = "The paper on one page"

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
p { max-width: 60rem; } h1 { font-size: 1.7rem; margin-bottom: .3rem; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #ccc; }
h3 { margin: 1.8rem 0 .4rem; font-size: 1.1rem; }
nav a { margin-right: 1rem; white-space: nowrap; }
table { border-collapse: collapse; font-size: .87rem; margin: .4rem 0 1rem; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid #ddd; text-align: left;
         vertical-align: top; }
th { vertical-align: bottom; font-weight: 600; }
.claims td.id { white-space: nowrap; color: #666; }
.claims table { table-layout: fixed; width: 100%; }
.claims td { overflow-wrap: break-word; }
.claims th:first-child { width: 3.6rem; } .claims th:nth-child(2) { width: 26%; }
.claims th:nth-child(3) { width: 11%; } .claims th:last-child { width: 10.5rem; }
.word { font-weight: 600; white-space: nowrap; }
.yes { color: #00694B; } .no { color: #A93400; } .none { color: #666; }
.why { color: #555; font-size: .82rem; display: block; font-weight: 400;
       white-space: normal; }
.scroll { overflow-x: auto; }
.panels { columns: 19rem 3; column-gap: 1rem; }
figure { margin: 0 0 1rem; break-inside: avoid; }
figure img { width: 100%; max-width: 30rem; height: auto; }
figcaption { font-size: .85rem; color: #444; }
@media (max-width: 40rem) {
  .claims thead { display: none; }
  .claims table, .claims tbody, .claims tr, .claims td { display: block;
    width: auto !important; }
  .claims tr { border-bottom: 2px solid #bbb; padding: .4rem 0; }
  .claims td { border: 0; padding: .08rem 0; }
  .claims td.empty { display: none; }
  .claims td[data-label]::before { content: attr(data-label) ": "; color: #666; }
}
@media print { body { font-size: 9pt; } figure, tr { break-inside: avoid; } }
"""

_HEADINGS = {
    "exact, paper": "exact",
    "trained, paper": "trained",
    "exact, default": "exact, default",
    "trained, default": "trained, default",
}
_CLASSES = {AGREES: "yes", SAME: "yes", DOES_NOT: "no", DIFFERS: "no"}


def page_files(
    found: Mapping[str, Any], preset: str, seed: int
) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the page and its pictures by file name, and the counts of the words.

    Parameters
    ----------
    found : mapping of str to dict
        The pieces of the page by name.
    preset : {"quick", "full"}
    seed : int

    Returns
    -------
    files : dict of str to bytes
        ``paper.html`` and ``figures/*.png``.
    counts : dict of str to int
        How many findings agree, do not, cannot be compared; settings that are the
        same, or differ.
    """
    listed = claim_list()
    answers = {claim.id: answer(claim, found) for claim in listed.claims}
    counts = count_words(listed.claims, answers)
    figures = {
        label: [(text, png(picture)) for text, picture in panels]
        for label, panels in draw_figures(found).items()
    }
    body = [
        _summary(found, counts, preset, answers),
        "<h2 id=claims>Claims</h2>",
        _how_to_read(),
        *_claims(listed.claims, answers, has_default="grid-default" in found),
        "<h2 id=figures>Figures</h2>",
        *(_figure(item, figures[item.label]) for item in listed.figures),
        "<h2 id=tables>Tables</h2>",
        *_tables(listed.tables, make_tables(found)),
        _how_made(found, preset, seed),
    ]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{TITLE}</h1>{''.join(body)}</body></html>\n"
    )
    files = {"paper.html": page.encode(errors="backslashreplace")}
    for label, panels in figures.items():
        for number, (_, payload) in enumerate(panels, start=1):
            files[f"figures/{_anchor(label)}_{number}.png"] = payload
    return files, counts


def count_words(
    claims: tuple[Claim, ...], answers: Mapping[str, Answer]
) -> dict[str, int]:
    """Count the words of all claims; findings and settings have words of their own."""
    words = Counter(answers[claim.id].word for claim in claims)
    return {
        word: words[word] for word in (AGREES, DOES_NOT, INCOMPARABLE, SAME, DIFFERS)
    }


def _summary(
    found: Mapping[str, Any],
    counts: Mapping[str, int],
    preset: str,
    answers: Mapping[str, Answer],
) -> str:
    n_findings = counts[AGREES] + counts[DOES_NOT] + counts[INCOMPARABLE]
    reduced = [
        f"{name.removesuffix('-paper')} ({piece['record']['reduced']})"
        for name, piece in found.items()
        if piece.get("record", {}).get("reduced")
    ]
    unfinished = sum(row.why.startswith(UNFINISHED) for row in answers.values())
    note = ""
    if unfinished:
        note = (
            f"<p>{unfinished} of the rows that cannot be compared are {UNFINISHED}.</p>"
        )
    if reduced:
        note += (
            f"<p>Preset <code>{preset}</code>, with sizes smaller than the paper's: "
            f"{escape('; '.join(reduced))}.</p>"
        )
    return (
        "<p>Nartallo-Kaluarachchi et al., “Interpretable epistemic uncertainty "
        "decomposition in sequential generative models via polynomial chaos "
        "surrogates”: every figure, every table and every number of the paper, beside "
        "ours.</p>"
        f"<p><b>Of {n_findings} findings {counts[AGREES]} agree, {counts[DOES_NOT]} do "
        f"not, {counts[INCOMPARABLE]} cannot be compared.</b> Of "
        f"{counts[SAME] + counts[DIFFERS]} settings {counts[SAME]} are the same. A "
        "disagreement is a result, not a failure.</p>"
        f"{note}<nav><a href=#claims>Claims</a><a href=#figures>Figures</a>"
        "<a href=#tables>Tables</a><a href=#made>How this was made</a></nav>"
    )


def _how_to_read() -> str:
    return (
        "<p>“Exact” and “trained”: policies solved from the rewards, and GFlowNets "
        "trained with the paper's settings; both with the paper's estimator, degree "
        "and inputs. “Default”: our settings, under which training comes close to the "
        "exact policies; they stand beside the paper's and are not judged. = agrees "
        "with the paper, ≠ does not. The word of a row is about the trained policies, "
        "which the paper has; about the exact ones where nothing was trained with the "
        "paper's settings. Figures agree within 20 %, coverages, shares and indices "
        "within 0.05, shares of Kolmogorov–Smirnov pairs within 0.1, unless the row "
        "says otherwise. Seconds stand beside each other without a word, since they "
        "were taken on different machines; ratios of times of one run are judged.</p>"
    )


def _claims(
    claims: tuple[Claim, ...], answers: Mapping[str, Answer], *, has_default: bool
) -> list[str]:
    """Return a table for each section."""
    columns = [
        f"{source}, {settings}"
        for source, settings in COLUMNS
        if has_default or settings == "paper"
    ]
    parts: list[str] = []
    for section in dict.fromkeys(claim.section for claim in claims):
        head = "".join(
            f"<th>{escape(name)}</th>"
            for name in (
                "",
                "claim",
                "paper",
                *(_HEADINGS[column] for column in columns),
                "word",
            )
        )
        rows = "".join(
            _claim_row(claim, answers[claim.id], columns)
            for claim in claims
            if claim.section == section
        )
        parts.append(
            f"<h3>{escape(section)}</h3><div class=claims><table><thead><tr>{head}"
            f"</tr></thead><tbody>{rows}</tbody></table></div>"
        )
    return parts


def _claim_row(claim: Claim, found: Answer, columns: list[str]) -> str:
    why = " ".join(part for part in (found.why, claim.note) if part)
    note = f"<span class=why>{escape(why)}</span>" if why else ""
    cells = [
        f'<td class=id id="{claim.id}">{claim.id}</td>',
        f"<td>{escape(claim.text)}{note}</td>",
        f'<td data-label="paper">{escape(claim.paper)}</td>',
    ]
    if OURS in found.sides:
        text = escape(_marked(found.sides[OURS]))
        cells.append(f'<td colspan={len(columns)} data-label="ours">{text}</td>')
        columns = []
    for column in columns:
        text, agrees = found.sides.get(column, ("–", None))
        if column.endswith("default"):  # of other settings: not judged
            agrees = None
        kind = ' class="empty"' if text == "–" else ""
        label = f'data-label="{_HEADINGS[column]}"'
        cells.append(f"<td{kind} {label}>{escape(_marked((text, agrees)))}</td>")
    kind = _CLASSES.get(found.word, "none")
    cells.append(f'<td class="word {kind}">{found.word}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _marked(side: Side) -> str:
    """Return our figure with a sign of whether it agrees, where it is judged."""
    text, agrees = side
    if agrees is None:
        return text
    return f"{'=' if agrees else '≠'}\N{NO-BREAK SPACE}{text}"


def _figure(item: Item, panels: list[tuple[str, bytes]]) -> str:
    pictures = "".join(
        f'<figure><img alt="{escape(text, quote=True)}" loading="lazy" '
        f'src="data:image/png;base64,{base64.b64encode(payload).decode("ascii")}">'
        f"<figcaption>{escape(text)}</figcaption></figure>"
        for text, payload in panels
    )
    if not panels:
        pictures = "<p>Not drawn: a piece that it needs is not finished.</p>"
    return (
        f'<h3 id="{_anchor(item.label)}">{escape(item.name)}</h3>'
        f"<div class=panels>{pictures}</div>"
    )


def _tables(items: tuple[Item, ...], tables: Mapping[str, Table]) -> list[str]:
    return [
        f'<h3 id="{_anchor(item.label)}">{escape(item.name)}</h3>'
        f"<p>{escape(tables[item.label].caption)}.</p>"
        f"<div class=scroll>{_table(tables[item.label])}</div>"
        for item in items
    ]


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escape(format_cell(cell))}</td>" for cell in row)
        + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _how_made(found: Mapping[str, Any], preset: str, seed: int) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in environment_versions().items() if v)
    far = []
    for name, piece in found.items():
        distance = piece.get("record", {}).get("distance")
        if distance:
            far.append(f"{name} {distance['mean']:.3f}")
    return (
        "<h2 id=made>How this was made</h2>"
        f"<p>gflownet-envs paper --preset {preset}, seed {seed}. {escape(versions)}."
        "</p>"
        "<p>Distance of the trained policies from the exact ones (½ Σ over all "
        f"objects, mean over the members): {escape('; '.join(far))}.</p>"
    )


def _anchor(label: str) -> str:
    return re.sub(r"\W+", "_", label)
