"""What we have beside a claim: a word, our figures, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gflownet_envs.experiments.paper.claims.claim_list import Claim
from gflownet_envs.experiments.paper.claims.values import is_missing

#: Figures that differ by less than this, relatively, agree.
TOLERANCE = 0.2

AGREES, DOES_NOT, INCOMPARABLE = "agrees", "does not", "cannot be compared"
SAME, DIFFERS = "same", "differs"
UNFINISHED = "not finished"  # how the reason of such a row begins

Found = Mapping[str, Any]  # pieces by name
Side = tuple[str, bool | None]  # our figure, and whether it agrees


@dataclass(frozen=True)
class Answer:
    """What we have beside one claim.

    Attributes
    ----------
    word : str
        One of the five words of this module.
    sides : dict of str to (str, bool or None)
        Our figure by column, ``"exact, paper"`` for example, or `OURS` alone.
    why : str
    """

    word: str
    sides: dict[str, Side] = field(default_factory=dict)
    why: str = ""


#: Of a side that is about no policies: settings, formulas, data.
OURS = "ours"

#: The columns of the page: kind of policies, settings.
COLUMNS = (
    ("exact", "paper"),
    ("trained", "paper"),
    ("exact", "default"),
    ("trained", "default"),
)


def judged(claim: Claim, sides: dict[str, Side], found: Found) -> Answer:
    """Return the word: about trained policies with the paper's settings, else exact."""
    why = claim.why
    piece = found.get(f"{claim.task}-paper")
    reduced = "" if piece is None else piece["record"].get("reduced", "")
    judged = ["trained, paper", "exact, paper"]
    if "iterations" in reduced:  # trained for less long than the paper's
        judged.reverse()
    for column in judged:
        agrees = sides.get(column, ("", None))[1]
        if agrees is not None:
            word = AGREES if agrees else DOES_NOT
            return Answer(word, sides, why)
    texts = [text for text, _ in sides.values() if text]
    return Answer(INCOMPARABLE, sides, why or (texts[0] if texts else "not measured"))


def number(value: Any) -> str:
    """Return a number with three digits, as tables show it."""
    if is_missing(value):
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.3g}'):g}"
    if value and not 1e-3 <= abs(value) < 1e5:
        text = f"{value:.1e}"
    return text.replace("-", "−", 1) if value < 0 else text
