"""From results to plain numbers by name, and back: which number does a name stand for?

A recorded name is a path such as ``verdict.steps[0].q2`` or
``frame["total_order"]``. The test follows the recorded paths by attribute and by
column, so that a result may change its type while its numbers stay.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tests.golden.surface import OURS, fitted_names

RENAMED = {
    "told": "explained_alone",
    "kept": "retained",
    "driven": "variance_share",
    "driven_standard_error": "variance_share_standard_error",
}
"""Columns and fields with a new name; a recorded name is looked for first."""

VOLATILE = {"cpu_seconds", "wall_seconds", "versions"}
"""Fields that differ from run to run, or from one set of libraries to another."""

REPEATED = {"rows"}
"""Fields whose numbers are recorded as columns; a row leads back to its table."""

SAME_MACHINE = 1e-12
"""What moving code may change on one machine."""

ANY_MACHINE = 1e-7
"""Kernels of BLAS change the fourteenth digit, versions of scipy the ninth."""

PROSE = {"reasons", "cautions", "independence", "dependence"}
"""Fields in words: only the numbers in them are recorded, under ``field~``."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
_STEP = re.compile(r'\.(\w+)(\(\))?|\[(\d+)\]|\["([^"]*)"\]|(~)')


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text as they are written, in their order."""
    return _NUMBER.findall(text)


# From a result to names and plain values.


def flatten(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every number and name of a result, with the path that leads to it."""
    if _is_plain(value):
        yield path, plain(value)
    elif _is_frame(value):
        for column in value.columns:
            yield f'{path}["{column}"]', plain(value[column])
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            if "time" not in str(key) and key not in VOLATILE:
                yield from flatten(entry, f'{path}["{key}"]')
    elif isinstance(value, BaseEstimator):
        if not path:  # no estimators within estimators
            yield from _attributes(value, fitted_names(value), path)
    elif hasattr(value, "_fields"):
        yield from _attributes(value, value._fields, path)
    elif isinstance(value, (list, tuple)):
        for position, entry in enumerate(value):
            yield from flatten(entry, f"{path}[{position}]")
    elif _is_result(value):
        yield from _attributes(value, _fields_and_properties(value), path)
        for frame in ("to_frame", "effect_frame"):
            if hasattr(value, frame):
                yield from flatten(getattr(value, frame)(), f"{path}.{frame}()")


def _attributes(value: Any, names: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in names:
        if name in VOLATILE | REPEATED:
            continue
        if name in PROSE:
            yield f"{path}.{name}~", numbers_in(_as_text(getattr(value, name)))
        else:
            yield from flatten(getattr(value, name), f"{path}.{name}")


def _fields_and_properties(value: Any) -> list[str]:
    names = [field.name for field in dataclasses.fields(value)]
    for name in dir(type(value)):
        member = getattr(type(value), name)
        if isinstance(member, (property, functools.cached_property)):
            names.append(name)
    return [name for name in names if not name.startswith("_")]


def _is_result(value: Any) -> bool:
    """Whether it is a record with a public name, not one of how we compute."""
    cls = type(value)
    if not dataclasses.is_dataclass(value) or cls.__module__.split(".")[0] not in OURS:
        return False
    return cls.__name__ in _public_names() | OF_METHODS


#: Records that methods return, whose classes are not public.
OF_METHODS = frozenset(
    {
        *("ExpansionMoments", "InteractionIndices", "PredictionInterval"),
        *("ProbabilitySobolIndices", "SobolIndices", "SobolInterval"),
        *("SurrogateDiagnostics", "Decision"),
    }
)


@functools.cache
def _public_names() -> frozenset[str]:
    import skpce
    from skpce import decision, inspection, metrics, sample_size

    modules = (skpce, decision, inspection, metrics, sample_size)
    return frozenset(name for module in modules for name in module.__all__)


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "iloc")


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufUS" or all(map(_is_plain, value.ravel()))
    return (
        isinstance(value, (list, tuple))
        and not hasattr(value, "_fields")
        and (all(_is_plain(entry) and np.ndim(entry) == 0 for entry in value))
    )


def plain(value: Any) -> Any:
    """Return a value as JSON has it: nested lists of numbers, texts and None."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(_as_text, value))


# From a name back to the value.


def read(value: Any, path: str) -> Any:
    """Return what a recorded path leads to now."""
    for step in _STEP.finditer(path):
        attribute, call, position, key, words = step.groups()
        if attribute is not None:
            value = _attribute(value, attribute)
            value = value() if call else value
        elif position is not None:
            value = value[int(position)]
        elif key is not None:
            value = _entry(value, key)
        elif words is not None:
            value = numbers_in(_as_text(value))
    return plain(value)


def _attribute(value: Any, name: str) -> Any:
    if hasattr(value, name) or name not in RENAMED:
        return getattr(value, name)
    return getattr(value, RENAMED[name])


def _entry(value: Any, key: str) -> Any:
    known = {str(name): name for name in value}
    return value[known[key if key in known else RENAMED.get(key, key)]]


def difference(recorded: Any, found: Any, tolerance: float) -> str | None:
    """Say how two plain values differ; None where they agree.

    What is written in words was rounded: on another machine than that of the recording
    the last digit may differ by one.
    """
    if isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            return f"{len(found)} entries, recorded {len(recorded)}"
        pairs = zip(recorded, found, strict=True)
        said = (difference(*pair, tolerance) for pair in pairs)
        return next((text for text in said if text is not None), None)
    if _is_number(recorded) and _is_number(found):
        close = np.isclose(
            found, recorded, rtol=tolerance, atol=tolerance, equal_nan=True
        )
        return None if close else f"{found!r}, recorded {recorded!r}"
    if recorded == found or (
        tolerance > SAME_MACHINE and _differ_by_rounding(recorded, found)
    ):
        return None
    return f"{found!r}, recorded {recorded!r}"


def _differ_by_rounding(recorded: Any, found: Any) -> bool:
    """Whether the numbers of two texts differ by one in the last digit at most."""
    if not (isinstance(recorded, str) and isinstance(found, str)):
        return False
    if _NUMBER.split(recorded) != _NUMBER.split(found):
        return False
    pairs = zip(numbers_in(recorded), numbers_in(found), strict=True)
    for one, other in (map(Decimal, pair) for pair in pairs):
        last = max(int(number.as_tuple().exponent) for number in (one, other))
        if abs(one - other) > Decimal(1).scaleb(last):
            return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
