"""The list of claims: every figure, table and number of the paper, with its rule."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any


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
