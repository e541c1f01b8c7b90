"""The page itself: claims with a word each, figures, tables; one file, no network."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from html import escape
from importlib import resources
from string import Template
from typing import Any

from gflownet_envs.experiments.figures import png
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
    Claim,
    Item,
    Side,
    claim_list,
)
from gflownet_envs.experiments.paper.claims.rules import answer, papers_settings
from gflownet_envs.experiments.paper.measures import (
    N_DRAWS,
    N_EMBEDDING_DRAWS,
    N_FEW_DRAWS,
    N_LARGE_DRAWS,
    N_STUDY_DRAWS,
    n_draws_of_preset,
)
from gflownet_envs.experiments.paper.page.pictures import draw_figures
from gflownet_envs.experiments.paper.systems import FIRST, READINGS
from gflownet_envs.storage import environment_versions

TITLE = "The paper on one page"

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
    n_draws = partial(n_draws_of_preset, quick=preset == "quick")
    versions = ", ".join(f"{k} {v}" for k, v in environment_versions().items() if v)
    known = {n: piece.get("record", {}).get("distance") for n, piece in found.items()}
    distances = [f"{name} {own['mean']:.3f}" for name, own in known.items() if own]
    template = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    page = Template(template).substitute(
        {word.replace(" ", "_"): count for word, count in counts.items()},
        title=TITLE,
        incomparable=counts[INCOMPARABLE],
        settings=counts[SAME] + counts[DIFFERS],
        withdrawn=sum(claim.withdrawn for claim in listed.claims),
        notes=_notes(found, preset, answers),
        n_draws=n_draws(N_DRAWS),
        n_large_draws=n_draws(N_LARGE_DRAWS),
        n_few_draws=n_draws(N_FEW_DRAWS),
        n_embedding_draws=n_draws(N_EMBEDDING_DRAWS),
        n_study_draws=n_draws(N_STUDY_DRAWS),
        decided=f"{DECIDED:.0%}",
        readings="; ".join(
            f"<i>{escape(name)}</i>: {escape(reading.words)}"
            for name, reading in READINGS.items()
        ),
        claims="".join(_claims(listed.claims, answers)),
        figures="".join(_figure(item, figures[item.label]) for item in listed.figures),
        tables="".join(map(_table, listed.tables)),
        preset=preset,
        seed=seed,
        versions=escape(versions),
        distances=escape("; ".join(distances)),
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


def _notes(found: Mapping[str, Any], preset: str, answers: Mapping[str, Answer]) -> str:
    """Say what is not finished, and what is smaller than in the paper."""
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
    return note


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
            f'<h3 id="{_anchor(section)}">{escape(section)}</h3><div class=claims>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )
    return parts


def _claim_row(claim: Claim, found: Answer) -> str:
    why = " ".join(part for part in (found.why, claim.note) if part)
    text = claim.paper or papers_settings(claim)
    after = f"later release: {claim.release}" if claim.release else ""
    mark = "<br><b class=withdrawn>withdrawn</b>" if claim.withdrawn else ""
    cells = [
        f'<td class=id id="{claim.id}">{claim.id}</td>',
        f"<td>{escape(claim.text)}{_aside(why)}</td>",
        f'<td data-label="paper">{escape(text)}{mark}{_aside(after)}</td>',
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


def _table(item: Item) -> str:
    """Name a table of the paper, and the claims that have its numbers."""
    section = f'<a href="#{_anchor(item.section)}">{escape(item.section)}</a>'
    return f'<li id="{_anchor(item.label)}">{escape(item.name)}: {section}</li>'


def _anchor(label: str) -> str:
    return re.sub(r"\W+", "_", label)
