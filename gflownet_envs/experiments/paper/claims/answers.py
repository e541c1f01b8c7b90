"""What we have beside a claim: a figure and a word from every draw, and why.

A rule looks at one draw at a time. The figure of a row is the median over the draws
with their range, and its word is made once, here, from how many of them agree.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

#: Figures that differ by less than this, relatively, agree.
TOLERANCE = 0.2

#: A word is decided where at least this share of the draws says so.
DECIDED = 0.85

AGREES, DOES_NOT, UNDECIDED = "agrees", "does not", "undecided"
INCOMPARABLE = "cannot be compared"
SAME, DIFFERS = "same", "differs"
UNFINISHED = "not finished"  # how the reason of such a row begins

#: Kinds of rows: what holds for any members; what a surrogate that knows nothing of
#: the rewards, or the mean policy, reaches too; what the draws speak about.
IDENTITY, NO_POWER, INFORMATIVE = "identity", "no power", "informative"

Found = Mapping[str, Any]  # pieces by name


@dataclass(frozen=True)
class Seen:
    """What one draw shows.

    Attributes
    ----------
    figures : tuple of (str, float or None)
        Numbers, each with the words around it and ``{}`` in its place.
    agrees : bool or None
        None where there is nothing to compare.
    text : str
        In place of figures.
    """

    figures: tuple[tuple[str, float | None], ...] = ()
    agrees: bool | None = None
    text: str = ""


@dataclass(frozen=True)
class Side:
    """Our figure of one kind of policies over all draws, and its word.

    With how many of how many draws agree.
    """

    text: str = ""
    word: str = INCOMPARABLE
    n_agree: int = 0
    n_draws: int = 0


@dataclass(frozen=True)
class Answer:
    """What we have beside one claim.

    Attributes
    ----------
    word : str
        One of the words of this module.
    sides : dict of str to Side
        Our figure by column, ``"exact"`` for example, or `OURS` alone.
    why : str
    kind : str
        One of the kinds of this module; empty for settings and for what cannot be
        compared.
    readings : dict of str to Side
        Of what the paper leaves open, by the name of the reading.
    """

    word: str
    sides: dict[str, Side] = field(default_factory=dict)
    why: str = ""
    kind: str = ""
    readings: dict[str, Side] = field(default_factory=dict)


#: Of a side that is about no policies: settings, formulas, data.
OURS = "ours"

#: The columns of the page: kinds of policies. The word of a row is about the last one
#: that there is: the paper has trained policies.
COLUMNS = ("exact", "trained")


def over_draws(seen: Sequence[Seen]) -> Side:
    """Return medians with ranges, and the word that the draws decide."""
    votes = [one.agrees for one in seen if one.agrees is not None]
    with_figures = [one.figures for one in seen if one.figures]
    if not with_figures:
        texts = [one.text for one in seen]
        text = max(texts, key=texts.count)
    else:
        text = ", ".join(
            words.format(median_and_range([figure for _, figure in column]))
            for words, column in zip(
                [words for words, _ in with_figures[0]],
                zip(*with_figures, strict=True),
                strict=True,
            )
        )
    if not votes:
        return Side(text)
    n_agree = sum(votes)
    if 0 < n_agree < len(votes):
        text += f"; agrees in {n_agree} of {len(votes)} draws"
    return Side(text, word_of(n_agree / len(votes)), n_agree, len(votes))


def word_of(share: float) -> str:
    """Return the word for the share of the draws that agree."""
    if share >= DECIDED - 1e-9:
        return AGREES
    return DOES_NOT if share <= 1 - DECIDED + 1e-9 else UNDECIDED


def median_and_range(figures: Sequence[float | None]) -> str:
    """Return the median with the smallest and the largest figure."""
    known = [figure for figure in figures if figure is not None and np.isfinite(figure)]
    if not known:
        return "–"
    low, high = number(min(known)), number(max(known))
    middle = number(float(np.median(known)))
    return middle if low == high else f"{middle} ({low} to {high})"


def judged(
    claim: Any,
    sides: dict[str, Side],
    control: dict[str, Side] | None = None,
    readings: dict[str, Side] | None = None,
) -> Answer:
    """Return the answer: its word, and its kind by what knows nothing of the rewards.

    Parameters
    ----------
    claim : Claim
    sides : dict of str to Side
        By column.
    control : dict of str to Side, optional
        The same of random inputs, or of the mean policy.
    readings : dict of str to Side, optional
    """
    readings = readings or {}
    for column in reversed(COLUMNS):
        side = sides.get(column, Side())
        if side.word == INCOMPARABLE:
            continue
        blind = (control or {}).get(column, Side()).word
        kind = INFORMATIVE
        if claim.kind == IDENTITY:
            kind = IDENTITY
        elif side.word == blind == AGREES:
            kind = NO_POWER
        return Answer(side.word, sides, claim.why, kind, readings)
    texts = [side.text for side in sides.values() if side.text]
    why = claim.why or (texts[0] if texts else "not measured")
    return Answer(INCOMPARABLE, sides, why, "", readings)


def tolerance(wanted: float, within: float | None = None) -> float:
    """Return how far a figure may be off: a fifth, and not more than is given.

    A figure of zero has no fifth: what is given counts.
    """
    fifth = TOLERANCE * abs(wanted)
    if within is None:
        return fifth
    return min(within, fifth) if wanted else within


def is_missing(value: Any) -> bool:
    """Whether there is no number."""
    return value is None or not np.isfinite(value)


def number(value: Any) -> str:
    """Return a number with three digits, as tables show it."""
    if is_missing(value):
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3g}'):g}"
    if value and not 1e-3 <= abs(value) < 1e5:
        text = f"{value:.1e}"
    return text.replace("-", "−", 1) if value < 0 else text


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes
    ----------
    id : str
    section : str
        Of the page.
    text : str
        What is claimed.
    paper : str
        The paper's figure as it prints it; empty for settings, whose numbers are in
        ``values``.
    rule : str
        How ours is compared; a name in ``rules.RULES``.
    quotes : tuple of str
        Verbatim from the source of the paper.
    kind : {"finding", "identity", "setting"}
        What the paper measured, what holds for any members, or what it chose.
    task : str or None
        The system it is about.
    why : str
        Why it cannot be compared, or what else is to be said.
    note : str
    release : str
        What the authors' later release has in its place, where that differs.
    withdrawn : bool
        Whether the release withdraws the claim.
    values : mapping
        Whatever else the rule needs.
    """

    id: str
    section: str
    text: str
    rule: str
    quotes: tuple[str, ...]
    paper: str = ""
    kind: str = "finding"
    task: str | None = None
    why: str = ""
    note: str = ""
    release: str = ""
    withdrawn: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper, by its label."""

    label: str
    name: str
    section: str = ""  # of the claims that have all numbers of a table


@dataclass(frozen=True)
class ClaimList:
    """Everything that the page answers.

    Attributes
    ----------
    claims : tuple of Claim
    figures, tables : tuple of Item
    no_claim : tuple of str
        Passages with numbers that state nothing.
    printed : mapping
        Numbers of the paper that figures show beside ours.
    """

    claims: tuple[Claim, ...]
    figures: tuple[Item, ...]
    tables: tuple[Item, ...]
    no_claim: tuple[str, ...]
    printed: Mapping[str, Any]


@cache
def claim_list() -> ClaimList:
    """Read the list that comes with the package."""
    place = files(__package__).joinpath("claims.toml")
    record = tomllib.loads(place.read_text(encoding="utf-8"))
    claims = tuple(_claim(entry) for entry in record["claim"])
    numbers = [claim.id for claim in claims]
    assert len(set(numbers)) == len(numbers)
    return ClaimList(
        claims,
        tuple(Item(**entry) for entry in record["figure"]),
        tuple(Item(**entry) for entry in record["table"]),
        tuple(record["no_claim"]["quotes"]),
        record["printed"],
    )


def _claim(entry: dict[str, Any]) -> Claim:
    named = {f.name for f in fields(Claim)} - {"values", "quotes"}
    return Claim(
        **{key: entry[key] for key in entry if key in named},
        quotes=tuple(entry["quotes"]),
        values={k: v for k, v in entry.items() if k not in named | {"quotes"}},
    )
