"""Designs of textbooks, and what the analysis of variance says of them.

``textbook.json`` has each table with its source, the p-value of each input as the book
has it, of its effects alone and together, the inputs that act in the order of their
effects, the arguments of ``skpce.explain``, and why the answer differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import skpce
from benchmarks.measuring import load

DESIGNS: dict[str, dict[str, Any]] = load(Path(__file__).with_suffix(".json"))


def answer_of(design: dict[str, Any]) -> dict[str, Any]:
    """Return states, p-values and totals of the inputs, and whether the book agrees."""
    *_, output = design["table"]
    given = {"outputs": output, "order": False, **design["options"]}
    drivers = skpce.explain(design["table"], **given).drivers
    names = list(map(str, drivers.input_names))
    order = np.argsort(-drivers.total[0], kind="stable")
    named = [names[i] for i in order if drivers.state[0, i] == "drives"]
    inputs = {
        name: {
            "state": str(drivers.state[0, i]),
            "p": float(drivers.p_value[0, i]),
            "total": float(drivers.total[0, i]),
            "book": design["numbers"].get(name, ""),
        }
        for i, name in enumerate(names)
    }
    return {
        "inputs": inputs,
        "agrees": named == design["drivers"],
        "why": design["why"],
    }
