"""The page itself: claims with a word each, figures, tables; one file, no network."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any

from gflownet_envs.experiments.paper.claims.answers import (
    AGREES,
    COLUMNS,
    DECIDED,
    DIFFERS,
    DOES_NOT,
    IDENTITY,
    INCOMPARABLE,
    INFORMATIVE,
    NO_POWER,
    OURS,
    SAME,
    UNDECIDED,
    UNFINISHED,
    Answer,
    Side,
)
from gflownet_envs.experiments.paper.claims.claim_list import Claim, Item, claim_list
from gflownet_envs.experiments.paper.claims.rules import answer, papers_settings
from gflownet_envs.experiments.paper.measures import (
    N_DRAWS,
    N_EMBEDDING_DRAWS,
    N_FEW_DRAWS,
    N_LARGE_DRAWS,
    N_STUDY_DRAWS,
    n_draws_of_preset,
)
from gflownet_envs.experiments.paper.page.panels import png
from gflownet_envs.experiments.paper.page.pictures import draw_figures
from gflownet_envs.experiments.paper.page.tables import make_tables
from gflownet_envs.experiments.paper.systems import FIRST, READINGS
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
.claims th:first-child { width: 3.6rem; } .claims th:nth-child(2) { width: 22%; }
.claims th:nth-child(3) { width: 13%; } .claims th:last-child { width: 9.5rem; }
.word { font-weight: 600; white-space: nowrap; }
.yes { color: #00694B; } .no { color: #A93400; } .none { color: #666; }
.maybe { color: #7A5C00; } .withdrawn { color: #A93400; }
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

_CLASSES = {AGREES: "yes", SAME: "yes", DOES_NOT: "no", DIFFERS: "no"}
_CLASSES |= {UNDECIDED: "maybe"}
_SIGNS = {AGREES: "=", SAME: "=", DOES_NOT: "≠", DIFFERS: "≠", UNDECIDED: "?"}


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
        See `count_words`.
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
        _how_to_read(preset),
        *_claims(listed.claims, answers),
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
    """Count the informative rows and their words, the other kinds, and the settings.

    Every row is in one count but those of the informative ones, which are counted
    once together, and once by their words.
    """
    found = [answers[claim.id] for claim in claims]
    words = Counter(row.word for row in found if row.kind == INFORMATIVE)
    kinds = Counter(row.kind for row in found)
    others = Counter(row.word for row in found if not row.kind)
    counts = {"informative": kinds[INFORMATIVE]}
    counts |= {word: words[word] for word in (AGREES, DOES_NOT, UNDECIDED)}
    counts |= {"identities": kinds[IDENTITY], "without power": kinds[NO_POWER]}
    return counts | {word: others[word] for word in (INCOMPARABLE, SAME, DIFFERS)}


def _summary(
    found: Mapping[str, Any],
    counts: Mapping[str, int],
    preset: str,
    answers: Mapping[str, Answer],
) -> str:
    reduced = [
        f"{name.removesuffix(f'-{FIRST}')} ({piece['record']['reduced']})"
        for name, piece in found.items()
        if name.endswith(f"-{FIRST}") and piece["record"]["reduced"]
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
    withdrawn = sum(claim.withdrawn for claim in claim_list().claims)
    return (
        "<p>Nartallo-Kaluarachchi et al., “Interpretable epistemic uncertainty "
        "decomposition in sequential generative models via polynomial chaos "
        "surrogates”: every figure, every table and every number of the paper, beside "
        "ours.</p>"
        f"<p><b>Of {counts['informative']} informative findings {counts[AGREES]} "
        f"agree, {counts[DOES_NOT]} do not, {counts[UNDECIDED]} are undecided.</b> "
        f"{counts['identities']} rows are identities, {counts['without power']} have "
        f"no power, {counts[INCOMPARABLE]} cannot be compared. Of "
        f"{counts[SAME] + counts[DIFFERS]} settings {counts[SAME]} are the same. The "
        f"authors' later release withdraws {withdrawn} of the findings. A "
        "disagreement is a result, not a failure.</p>"
        f"{note}<nav><a href=#claims>Claims</a><a href=#figures>Figures</a>"
        "<a href=#tables>Tables</a><a href=#made>How this was made</a></nav>"
    )


def _how_to_read(preset: str) -> str:
    n_draws = partial(n_draws_of_preset, quick=preset == "quick")
    readings = "; ".join(
        f"<i>{escape(name)}</i>: {escape(reading.words)}"
        for name, reading in READINGS.items()
    )
    return (
        "<p>“Exact” and “trained”: policies solved from the rewards, and GFlowNets "
        "trained with the paper's settings; both with the paper's estimator, degree "
        f"and inputs. The members to fit are drawn {n_draws(N_DRAWS)} times from all "
        f"that there are ({n_draws(N_LARGE_DRAWS)} times for Sachs and for graphs of "
        f"five nodes, {n_draws(N_FEW_DRAWS)} times for other readings, "
        f"{n_draws(N_EMBEDDING_DRAWS)} times for the embeddings, "
        f"{n_draws(N_STUDY_DRAWS)} times for Table 1 and figure S7; what the indices "
        "mean has ten or twelve repetitions). "
        "A figure is the median of the draws, with the smallest and the largest in "
        "brackets. = agrees "
        f"with the paper in {DECIDED:.0%} of the draws or more, ≠ does not in as many, "
        "? is in between: undecided. The word of a row is about the trained policies, "
        "which the paper has; about the exact ones where nothing was trained with the "
        "paper's settings.</p>"
        "<p><b>Kinds of rows.</b> An <i>identity</i> holds for any members. A row has "
        "<i>no power</i> where it agrees, and random numbers as inputs, or the mean "
        "policy, agree too in the same draws: such a figure shows nothing about the "
        "surrogate. All other rows with a word are <i>informative</i>.</p>"
        f"<p><b>What the paper leaves open</b> is read in several ways: {readings}. "
        "The word is about the first; the others have a sign of their own.</p>"
        "<p>Figures agree within 20 %; coverages, shares and indices within 0.05 "
        "where that is less; counts of Kolmogorov–Smirnov pairs within 20 % or one "
        "pair. Seconds stand beside each other without a word, since they were taken "
        "on different machines; ratios of times of one run are judged. "
        "<span class=withdrawn>Withdrawn</span>: by the authors' later release, whose "
        "figures stand below the paper's where they differ.</p>"
    )


def _claims(claims: tuple[Claim, ...], answers: Mapping[str, Answer]) -> list[str]:
    """Return a table for each section."""
    columns = ("", "claim", "paper", *COLUMNS, "other readings", "word")
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    parts: list[str] = []
    for section in dict.fromkeys(claim.section for claim in claims):
        rows = "".join(
            _claim_row(claim, answers[claim.id])
            for claim in claims
            if claim.section == section
        )
        parts.append(
            f"<h3>{escape(section)}</h3><div class=claims><table><thead><tr>{head}"
            f"</tr></thead><tbody>{rows}</tbody></table></div>"
        )
    return parts


def _claim_row(claim: Claim, found: Answer) -> str:
    why = " ".join(part for part in (found.why, claim.note) if part)
    cells = [
        f'<td class=id id="{claim.id}">{claim.id}</td>',
        f"<td>{escape(claim.text)}{_aside(why)}</td>",
        f'<td data-label="paper">{_papers(claim)}</td>',
    ]
    if OURS in found.sides:
        text = escape(_marked(found.sides[OURS]))
        cells.append(f'<td colspan={len(COLUMNS) + 1} data-label="ours">{text}</td>')
    else:
        columns = {name: [found.sides.get(name, Side("–"))] for name in COLUMNS}
        texts = {name: [_marked(side) for side in columns[name]] for name in columns}
        texts["other readings"] = [
            f"{name}: {_marked(side)}" for name, side in found.readings.items()
        ] or ["–"]
        for name, lines in texts.items():
            kind = ' class="empty"' if lines == ["–"] else ""
            text = "<br>".join(map(escape, lines))
            cells.append(f'<td{kind} data-label="{name}">{text}</td>')
    kind = _CLASSES.get(found.word, "none")
    apart = found.kind in (IDENTITY, NO_POWER)
    name = _aside(f"{found.kind}") if apart else ""
    cells.append(f'<td class="word {kind}">{found.word}{name}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _papers(claim: Claim) -> str:
    """Return the paper's figure, and what became of it."""
    text = claim.paper or papers_settings(claim)
    after = f"later release: {claim.release}" if claim.release else ""
    mark = "<br><b class=withdrawn>withdrawn</b>" if claim.withdrawn else ""
    return f"{escape(text)}{mark}{_aside(after)}"


def _aside(text: str) -> str:
    return f"<span class=why>{escape(text)}</span>" if text else ""


def _marked(side: Side) -> str:
    """Return our figure with a sign of whether it agrees, where it is judged."""
    sign = _SIGNS.get(side.word)
    return side.text if sign is None else f"{sign}\N{NO-BREAK SPACE}{side.text}"


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
