"""Which columns of a table are inputs, and which outputs, where nobody has said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import is_missing, numbers_of_text
from ..ensembles._table import LIKE_A_NUMBER

# Prefixes of the columns of parameters: of Optuna, MLflow, Weights & Biases, Ray.
_PARAMETERS = re.compile(r"^(params[._]|config[./])")

# Names of columns that number the rows; the first is that of an index of pandas.
_NUMBERS = re.compile(
    r"^(Unnamed: \d+|\s*)$|(^|[^a-z])(id|uuid|index|idx|hash|run|trial|row)$",
    re.IGNORECASE,
)

# Names of columns that a run gives.
_RESULTS = re.compile(
    r"^metrics?[._]|(^|[^a-z])(accuracy|acc|loss|score|auc|auroc|f1|rmse|mse|mae|r2"
    r"|error|metric|objective|reward|perplexity|bleu|recall|precision|likelihood|elbo"
    r"|regret|yield|result|target|outcome|response|duration|runtime|value)s?($|[^a-z])",
    re.IGNORECASE,
)

# Part of the rows that have a value of their own, from which on text is no category,
# and numbers are no levels of a factor.
_DISTINCT_TEXT, _DISTINCT_NUMBERS = 0.5, 0.25

_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$|\d{1,2}[./]\d{1,2}[./]\d{4}"
)


def inputs_of(
    columns: Mapping[Any, NDArray[Any]],  # that have no other role
) -> tuple[list[Any], list[str]]:
    """Return the columns that are taken as inputs, and notes about the others."""
    known = [name for name in columns if _PARAMETERS.match(str(name))]
    if known:
        left = [str(name) for name in columns if name not in known]
        if not left:
            return known, []
        return known, [
            f"The inputs are the columns of parameters; {_listed(left)} "
            f"{'is' if len(left) == 1 else 'are'} left out, unless inputs= has "
            f"{'it' if len(left) == 1 else 'them'}"
        ]
    why = {name: _why_no_input(name, values) for name, values in columns.items()}
    notes = []
    for reason in dict.fromkeys(filter(None, why.values())):
        names = [str(name) for name, own in why.items() if own == reason]
        one, several = reason
        notes.append(
            f"{_listed(names)} {one if len(names) == 1 else several}, and "
            f"{'is no input' if len(names) == 1 else 'are no inputs'} unless inputs= "
            f"has {'it' if len(names) == 1 else 'them'}"
        )
    return [name for name, reason in why.items() if reason is None], notes


def outputs_among(columns: Mapping[Any, NDArray[Any]]) -> list[Any]:
    """Return the columns that look like what a run gave."""
    return [
        name
        for name, values in columns.items()
        if _RESULTS.search(str(name))
        and values.dtype.kind not in "mM"
        and _numbers(values) is not None
    ]


_EMPTY = "is empty", "are empty"
_DATES = "holds dates", "hold dates"
_NAMES = "names the runs", "name the runs"
_COUNTS = "numbers the runs", "number the runs"
_IS_RESULT = "looks like a result", "look like results"


def _why_no_input(name: Any, values: NDArray[Any]) -> tuple[str, str] | None:
    entries = [v for v in values.tolist() if not is_missing(v) and v != ""]
    if not entries:
        return _EMPTY
    if _are_dates(values, entries):
        return _DATES
    distinct = len(set(map(str, entries))) / len(values)
    numbers = _numbers(values)
    if numbers is None:
        texts = [v for v in entries if isinstance(v, str)]
        like = sum(bool(LIKE_A_NUMBER.fullmatch(text.strip())) for text in texts)
        is_name = distinct > _DISTINCT_TEXT and like <= len(entries) / 2
        return _NAMES if is_name else None
    known = numbers[~np.isnan(numbers)]
    if distinct == 1 and _NUMBERS.search(str(name)) and (known == known.round()).all():
        return _COUNTS
    if distinct > _DISTINCT_NUMBERS and _RESULTS.search(str(name)):
        return _IS_RESULT
    return None


def _are_dates(values: NDArray[Any], entries: Sequence[Any]) -> bool:
    if values.dtype.kind in "mM":
        return True
    return all(
        isinstance(v, date) or (isinstance(v, str) and _DATE.match(v.strip()))
        for v in entries
    )


def _numbers(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return a column as numbers; None where it holds labels."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    read = numbers_of_text(values)
    if read is not None:
        return read
    try:
        return np.array([np.nan if is_missing(v) else v for v in values], dtype=float)
    except (TypeError, ValueError):
        return None


def _listed(names: Iterable[str]) -> str:
    shown = [repr(name) for name in names]
    if len(shown) > 6:
        shown = [*shown[:5], f"{len(shown) - 5} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
