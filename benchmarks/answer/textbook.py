"""Designs of textbooks, and what the textbooks say of them.

Data: battery life, filtration rate, purity, chemical yield, yarn and rocket propellant
from D. C. Montgomery, "Design and Analysis of Experiments"; peas from W. N. Venables
and B. D. Ripley, "Modern Applied Statistics with S" (``npk`` of R); oats from F. Yates
(1935, ``Oats`` of R).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import skpce

Columns = dict[str, Any]


@dataclass(frozen=True)
class Design:
    """A table, how it is asked, and what the analysis of variance says.

    ``numbers`` has the p-value of each input, of its effects alone and together.
    """

    table: Columns
    numbers: Mapping[str, str]
    drivers: tuple[str, ...]  # in the order of their effects
    options: Mapping[str, Any]
    why: str = ""  # why the answer differs


def _texts(values: Any) -> np.ndarray:
    return np.array(list(values), dtype=object)


def _words(text: str) -> list[str]:
    return text.split()


def _numbers(text: str) -> np.ndarray:
    return np.array(_words(text), dtype=float)


def battery() -> Design:
    """Return a replicated factorial, 3 x 3 with four repeats."""
    life = """130 155 74 180 34 40 80 75 20 70 82 58 150 188 159 126 136 122 106 115
        25 70 58 45 138 110 168 160 174 120 150 139 96 104 82 60"""
    cells = list(itertools.product("abc", (15.0, 70.0, 125.0)))
    table = {
        "material": _texts(np.repeat([m for m, _ in cells], 4)),
        "temperature": np.repeat([t for _, t in cells], 4),
        "life": _numbers(life),
    }
    numbers = {"temperature": "< .0001", "material": ".0020", "both": ".0186"}
    return Design(table, numbers, ("temperature", "material"), {})


def filtration(repeats: int = 1) -> Design:
    """Return a factorial of four factors at two levels, without repeats."""
    rate = _numbers("45 71 48 65 68 60 80 65 43 100 45 104 75 86 70 96")
    levels = np.array([row[::-1] for row in itertools.product((-1.0, 1.0), repeat=4)])
    table: Columns = dict(
        zip("ABCD", np.repeat(levels, repeats, axis=0).T, strict=True)
    )
    noise = np.random.default_rng(0).normal(size=16 * repeats)
    table["rate"] = np.repeat(rate, repeats)
    if repeats > 1:
        table["rate"] = table["rate"] + 4.4 * noise  # residual deviation of the book
    numbers = {"A": "< .0001", "D": "< .0001", "C": "< .0001", "B": "n.s."}
    why = "256 orders within settings of the other factors: no p-value below .008."
    return Design(table, numbers, ("A", "D", "C"), {}, why if repeats == 1 else "")


def peas() -> Design:
    """Return a factorial in six blocks of four."""
    rows = _words(
        """1 011 49.5 1 110 62.8 1 000 46.8 1 101 57.0 2 100 59.8 2 111 58.5
        2 001 55.5 2 010 56.0 3 010 62.8 3 111 55.8 3 100 69.5 3 001 55.0 4 100 62.0
        4 111 48.8 4 001 45.5 4 010 44.2 5 110 52.0 5 000 51.5 5 101 49.8 5 011 48.8
        6 101 57.2 6 110 59.0 6 011 53.2 6 000 56.0"""
    )
    block, treatment, weight = rows[::3], rows[1::3], rows[2::3]
    table = {
        "block": np.array(block, dtype=int),
        **{
            name: np.array([float(t[k]) for t in treatment])
            for k, name in enumerate("NPK")
        },
        "weight": np.array(weight, dtype=float),
    }
    numbers = {"N": ".0044", "K": ".029", "P": ".47"}
    why = "K has p = .07 within blocks where the effect of N is not taken out."
    return Design(table, numbers, ("N", "K"), {"blocks": "block"}, why)


def oats() -> Design:
    """Return a split plot: varieties on whole plots, nitrogen within them."""
    weights = """111 130 157 174 117 114 161 141 105 140 118 156 61 91 97 100 70 108
        126 149 96 124 121 144 68 64 112 86 60 102 89 96 89 129 132 124 74 89 81 122 64
        103 132 133 70 89 104 117 62 90 100 116 80 82 94 126 63 70 109 99 53 74 118 113
        89 82 86 104 97 99 119 121"""
    rows = list(itertools.product(range(6), "vgm", (0.0, 0.2, 0.4, 0.6)))
    table = {
        "block": np.array([b for b, _, _ in rows]),
        "plot": _texts(f"{b}{v}" for b, v, _ in rows),
        "variety": _texts(v for _, v, _ in rows),
        "nitrogen": np.array([n for _, _, n in rows]),
        "weight": _numbers(weights),
    }
    numbers = {"nitrogen": "< .0001", "variety": ".27", "both": ".93"}
    return Design(table, numbers, ("nitrogen",), {"blocks": "block", "groups": "plot"})


def purity() -> Design:
    """Return batches nested in suppliers."""
    values = """1 -1 0 -2 -3 -4 -2 0 1 1 4 0 1 -2 -3 0 4 2 -1 0 -2 0 3 2 2 4 0 -2 0 2 1
        -1 2 3 2 1"""
    rows = list(itertools.product("abc", range(4), range(3)))
    table = {
        "supplier": _texts(s for s, _, _ in rows),
        "batch": _texts(f"{s}{b}" for s, b, _ in rows),
        "purity": _numbers(values),
    }
    return Design(table, {"supplier": ".42"}, (), {"groups": "batch"})


def composite() -> Design:
    """Return a central composite design."""
    far = np.sqrt(2.0)
    points = [(-1, -1), (-1, 1), (1, -1), (1, 1), *[(0, 0)] * 5]
    points += [(far, 0), (-far, 0), (0, far), (0, -far)]
    X = np.array(points, dtype=float)
    y = _numbers("76.5 77 78 79.5 79.9 80.3 80 79.7 79.8 78.4 75.6 78.5 77")
    table = {"time": X[:, 0], "temperature": X[:, 1], "yield": y}
    numbers = {"time": "< .0001", "temperature": "< .0001", "both": ".13"}
    why = "nine settings leave p = .09 for temperature."
    return Design(table, numbers, ("time", "temperature"), {}, why)


def yarn() -> Design:
    """Return a mixture of three parts."""
    parts = [(1, 0, 0)] * 2 + [(0.5, 0.5, 0)] * 3 + [(0, 1, 0)] * 2
    parts += [(0, 0.5, 0.5)] * 3 + [(0, 0, 1)] * 2 + [(0.5, 0, 0.5)] * 3
    X = np.array(parts, dtype=float)
    y = _numbers("11 12.4 15 14.8 16.1 8.8 10 10 9.7 11.8 16.8 16 17.7 16.4 16.6")
    table: Columns = dict(zip(("a", "b", "c"), X.T, strict=True))
    table["elongation"] = y
    numbers = {"a": "not identified", "b": "not identified", "c": "not identified"}
    return Design(table, numbers, (), {})


def propellant() -> Design:
    """Return a Latin square of five."""
    letters = "ABCDEBCDEACDEABDEABCEABCD"
    rate = """24 20 19 24 24 17 24 30 27 36 18 38 26 27 21 26 31 26 23 22 22 30 20 29
        31"""
    table = {
        "batch": _texts(f"b{k}" for k in np.repeat(range(5), 5)),
        "operator": _texts(f"o{k}" for k in np.tile(range(5), 5)),
        "formulation": _texts(letters),
        "rate": _numbers(rate),
    }
    numbers = {"formulation": ".0025", "operator": ".040", "batch": ".24"}
    return Design(table, numbers, ("formulation", "operator"), {"blocks": "batch"})


DESIGNS = {
    "replicated factorial, battery life": battery,
    "2^4 without repeats, filtration rate": filtration,
    "2^4 twice (effects of the book, simulated noise)": lambda: filtration(2),
    "blocked factorial, peas": peas,
    "split plot, oats": oats,
    "nested, purity": purity,
    "central composite, chemical yield": composite,
    "mixture, yarn": yarn,
    "Latin square, rocket propellant": propellant,
}


def answer_of(design: Design) -> dict[str, Any]:
    """Return states, p-values and totals of the inputs, and the cautions."""
    output = list(design.table)[-1]
    answer = skpce.explain(design.table, outputs=output, order=False, **design.options)
    drivers = answer.drivers
    names = list(map(str, drivers.input_names))
    order = np.argsort(-drivers.total[0], kind="stable")
    named = [names[i] for i in order if drivers.state[0, i] == "drives"]
    return {
        "inputs": {
            name: {
                "state": str(drivers.state[0, i]),
                "p": float(drivers.p_value[0, i]),
                "total": float(drivers.total[0, i]),
                "book": design.numbers.get(name, ""),
            }
            for i, name in enumerate(names)
        },
        "pairs": [
            [str(a), str(b)]
            for a, b in zip(
                answer.pairs.first_input, answer.pairs.second_input, strict=True
            )
        ],
        "cautions": [one.code for one in answer.cautions],
        "design": str(answer.design),
        "agrees": tuple(named) == design.drivers,
        "why": design.why,
    }
