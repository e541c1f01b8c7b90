"""Fitted objects as plain data, and back.

Plain data are None, bools, numbers, text, lists, numpy arrays, and dicts that hold one
of the *markers* below. What is not plain, such as an expansion, becomes a *record*: a
dict of its kind and its named fields. Records stand in one flat list, each after those
that it refers to by their position, so that an object that several others share is
written once, and reading needs no recursion from record to record.

========================================  ===========================================
marker                                    stands for
========================================  ===========================================
``{"object": 3}``                         the record at position 3
``{"array": "expansion.coefficients"}``   an array of a model file; a pickle has the
                                          array itself
``{"tuple": [...]}``                      a tuple
``{"mapping": [[key, value], ...]}``      a dict
``{"range": [start, stop, step]}``        a range
``{"float": "nan"}``                      a float that is not finite
``{"number": "float32", "value": 0.5}``   a number of numpy
``{"entries": [...], "shape": [2]}``      an array of objects, such as names
========================================  ===========================================

A kind says which fields an object has and what they may hold. ``nouns`` lists them
all. Nothing that is written names a class or a module of this package that is private,
so that they can be renamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

#: Raises ``ValueError`` unless a field holds what it should.
Check = Callable[[Any, "Sizes"], None]

#: Kinds of numbers and text, as ``dtype.kind``, that arrays may hold.
_PLAIN_DTYPES = "biufcU"

_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
) | {"bool", "float16", "float32", "float64"}


@dataclass(frozen=True)
class Kind:
    """How one kind of object is written and read.

    Parameters
    ----------
    tag : str
        Its name, which never changes.
    make : callable
        Makes the object from its attributes, given by name.
    fields : mapping of str to Check
        Names of the fields, which never change, and what they may hold.
    sources : mapping of str to str
        Attributes of the object with another name than their field.
    read : callable or None, default=None
        Returns fields of an object that are no attributes.
    accepts : callable or None, default=None
        Whether an object of the class can be written as this kind.
    check : callable or None, default=None
        Raises ``ValueError`` unless the fields of an object agree.
    local : sequence of str
        Sizes that say nothing about an object that refers to this one.
    in_pickles : bool, default=True
        Whether a pickle has it as a record too.
    """

    tag: str
    make: Callable[..., Any]
    fields: Mapping[str, Check]
    sources: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[Any], dict[str, Any]] | None = None
    accepts: Callable[[Any], bool] | None = None
    check: Callable[[Any], None] | None = None
    local: Sequence[str] = ()
    in_pickles: bool = True

    def fields_of(self, value: Any) -> dict[str, Any]:
        """Return the fields of an object by name."""
        given = {} if self.read is None else self.read(value)
        return given | {
            name: getattr(value, self.sources.get(name, name))
            for name in self.fields
            if name not in given
        }

    def made(self, fields: dict[str, Any], sizes: Sizes) -> Any:
        """Return the object of some fields, once they are checked."""
        refuse_other_fields(self.tag, fields, self.fields)
        check_fields(self.tag, fields, self.fields, sizes)
        value = self.make(**{self.sources.get(k, k): v for k, v in fields.items()})
        if self.check is not None:
            self.check(value)
        return value


#: Kinds by their tags, and by the classes of their objects; ``nouns`` fills them.
KINDS: dict[str, Kind] = {}
CLASSES: dict[type, Kind] = {}


def register(kind: Kind, *classes: type) -> None:
    """Let objects of these classes be written as this kind."""
    KINDS[kind.tag] = kind
    CLASSES.update(dict.fromkeys(classes, kind))


class Writer:
    """Writes objects as records.

    Parameters
    ----------
    keeps_others : bool, default=True
        Leave arrays, and what is of no kind, as they are: ``pickle`` sees to them.
    """

    def __init__(self, *, keeps_others: bool = True) -> None:
        self.keeps_others = keeps_others
        self.records: list[dict[str, Any]] = []
        # With the objects themselves: an id is unique only while its object is alive.
        self._position: dict[int, tuple[int, Any]] = {}
        self._contiguous: dict[int, tuple[Any, Any]] = {}

    def plain(self, value: Any, where: str) -> Any:
        """Return a value as plain data; ``where`` names it, for arrays and messages."""
        kind: Any = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.plain(entry, where) for entry in value]
        if kind is tuple:
            return {"tuple": [self.plain(entry, where) for entry in value]}
        if kind is dict:
            pairs = value.items()
            written = [[self.plain(k, where), self.plain(v, where)] for k, v in pairs]
            return {"mapping": written}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.name in _NUMBERS:
            return {
                "number": value.dtype.name,
                "value": self.plain(value.item(), where),
            }
        known = CLASSES.get(kind)
        if known is None or not self._takes(known, value):
            return self.other(value, where)
        return {"object": self.record(value, lambda: self._fields(value, known))}

    def _takes(self, kind: Kind, value: Any) -> bool:
        if self.keeps_others and not kind.in_pickles:
            return False
        return kind.accepts is None or kind.accepts(value)

    def _fields(self, value: Any, kind: Kind) -> dict[str, Any]:
        fields = kind.fields_of(value)
        written = {k: self.plain(v, f"{kind.tag}.{k}") for k, v in fields.items()}
        return {"kind": kind.tag, **written}

    def record(self, value: Any, write: Callable[[], dict[str, Any]]) -> int:
        """Return the position of the record of an object, written if it is new."""
        if id(value) not in self._position:
            written = write()
            self._position[id(value)] = len(self.records), value
            self.records.append(written)
        return self._position[id(value)][0]

    def _array(self, value: Any, where: str) -> Any:
        if value.dtype.kind == "O":
            entries = [self.plain(entry, where) for entry in value.ravel().tolist()]
            return {"entries": entries, "shape": list(value.shape)}
        if id(value) not in self._contiguous:
            # Else it would be written in "C" order, and rounded differently in
            # products of matrices.
            whole = value.flags.c_contiguous or value.flags.f_contiguous
            self._contiguous[id(value)] = (
                value if whole else value.copy(order="K"),
                value,
            )
        return self.array(self._contiguous[id(value)][0], where)

    def array(self, value: Any, where: str) -> Any:
        """Return an array as it is written."""
        return value

    def other(self, value: Any, where: str) -> Any:
        """Return what is of no kind as it is written."""
        return value


class Reader:
    """Makes objects from records."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self._sizes: dict[int, Sizes] = {}

    def read(self, records: Any) -> None:
        """Make the object of every record."""
        if type(records) is not list:
            raise ValueError(f"objects must be a list of records. Got {shown(records)}")
        for record in records:
            if type(record) is not dict or type(record.get("kind")) is not str:
                raise ValueError(f"expected a record with a kind. Got {shown(record)}")
            sizes = Sizes(self._sizes)
            kind = KINDS.get(record["kind"])
            if kind is None:
                self.made.append(self.other(record, sizes))
                continue
            fields = {k: self.value(part) for k, part in record.items() if k != "kind"}
            value = kind.made(fields, sizes)
            self.made.append(value)
            self._sizes[id(value)] = sizes.without(kind.local)

    def value(self, plain: Any) -> Any:
        """Return the value that plain data stand for."""
        if type(plain) is list:
            return [self.value(entry) for entry in plain]
        if type(plain) is not dict:
            return plain
        for marker, read in _MARKERS.items():
            if marker in plain:
                return read(self, plain)
        raise ValueError(f"expected a marker. Got {shown(plain)}")

    def object(self, position: Any) -> Any:
        """Return an object that was made before."""
        if type(position) is not int or not 0 <= position < len(self.made):
            raise ValueError(f"expected an earlier object. Got {shown(position)}")
        return self.made[position]

    def array(self, name: Any) -> Any:
        """Return the array of a name; a pickle has none."""
        raise ValueError(f"there is no array {shown(name)}")

    def other(self, record: dict[str, Any], sizes: Sizes) -> Any:
        """Return the object of a record of no kind that is registered."""
        raise ValueError(
            f"it holds a {shown(record['kind'])}, which this version of skpce does "
            "not know"
        )


def _float(reader: Reader, plain: Any) -> float:
    if plain["float"] not in ("nan", "inf", "-inf"):
        raise ValueError(f"expected nan, inf or -inf. Got {shown(plain)}")
    return float(plain["float"])


def _mapping(reader: Reader, plain: Any) -> dict[Any, Any]:
    pairs = plain["mapping"]
    if type(pairs) is not list or any(
        type(pair) is not list or len(pair) != 2 for pair in pairs
    ):
        raise ValueError(f"expected pairs. Got {shown(pairs)}")
    return {reader.value(key): reader.value(value) for key, value in pairs}


def _number(reader: Reader, plain: Any) -> Any:
    name, value = plain["number"], reader.value(plain.get("value"))
    if name not in _NUMBERS or type(value) not in (bool, int, float):
        raise ValueError(f"expected a number of numpy. Got {shown(plain)}")
    return np.dtype(name).type(value)


def _entries(reader: Reader, plain: Any) -> Any:
    entries, shape = _listed(plain["entries"]), _listed(plain.get("shape"))
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != len(
        entries
    ):
        raise ValueError(f"expected {len(entries)} entries. Got {shown(shape)}")
    values = np.empty(len(entries), dtype=object)
    for number, entry in enumerate(entries):
        values[number] = reader.value(entry)
    return values.reshape(shape)


def _listed(plain: Any) -> list[Any]:
    if type(plain) is not list:
        raise ValueError(f"expected a list. Got {shown(plain)}")
    return plain


_MARKERS: Mapping[str, Callable[[Reader, Any], Any]] = {
    "object": lambda reader, plain: reader.object(plain["object"]),
    "array": lambda reader, plain: reader.array(plain["array"]),
    "tuple": lambda reader, plain: tuple(map(reader.value, _listed(plain["tuple"]))),
    "mapping": _mapping,
    "range": lambda reader, plain: range(*_listed(plain["range"])),
    "float": _float,
    "number": _number,
    "entries": _entries,
}


def shown(value: Any) -> str:
    """Return a short text of a value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Pickles: what an estimator has learned, as plain data.


def plain_state(estimator: Any) -> dict[str, Any]:
    """Return the state of an estimator; to be its ``__getstate__``.

    Other estimators inside, and what is of no kind, are left to ``pickle``.
    """
    writer = Writer()
    attributes = BaseEstimator.__getstate__(estimator).items()
    plain = {name: writer.plain(value, name) for name, value in attributes}
    return {**plain, _RECORDS: writer.records} if writer.records else plain


def restore_state(estimator: Any, state: dict[str, Any]) -> None:
    """Set the state of an estimator; to be its ``__setstate__``."""
    reader = Reader()
    reader.read(state.get(_RECORDS, []))
    attributes = {
        name: reader.value(plain) for name, plain in state.items() if name != _RECORDS
    }
    BaseEstimator.__setstate__(estimator, attributes)


_RECORDS = "objects of the state"


# What fields may hold.


class Sizes:
    """Lengths of axes that the fields of an object share, by name.

    Parameters
    ----------
    of_objects : mapping of int to Sizes
        Those of the objects before, by their ids.
    """

    def __init__(self, of_objects: Mapping[int, Sizes]) -> None:
        self._of_objects = of_objects
        self._known: dict[str, int] = {}

    def agree(self, name: str, size: int) -> None:
        """Raise ``ValueError`` for another length than the fields before."""
        if self._known.setdefault(name, size) != size:
            raise ValueError(f"has {size} {name}, others {self._known[name]}")

    def take_over(self, value: Any) -> None:
        """Let the sizes of an object that a field refers to agree too."""
        known = self._of_objects.get(id(value))
        for name, size in () if known is None else known._known.items():
            self.agree(name, size)

    def without(self, local: Sequence[str]) -> Sizes:
        """Return them without some names."""
        for name in local:
            self._known.pop(name, None)
        return self


def check_fields(
    tag: str, fields: Mapping[str, Any], checks: Mapping[str, Check], sizes: Sizes
) -> None:
    """Raise ``ValueError`` for a field that holds what it should not."""
    for name, value in fields.items():
        try:
            checks[name](value, sizes)
        except ValueError as error:
            raise ValueError(f"the field {name!r} of a {tag!r} {error}") from None


def refuse_other_fields(
    tag: str,
    fields: Mapping[str, Any],
    expected: Mapping[str, Check],
    optional: Sequence[str] = (),
) -> None:
    """Raise ``ValueError`` for a field too many or too few."""
    for name in fields:
        if name not in expected:
            raise ValueError(f"a {tag!r} has an unknown field {shown(name)}")
    for name in expected:
        if name not in fields and name not in optional:
            raise ValueError(f"a {tag!r} lacks the field {name!r}")


def anything(value: Any, sizes: Sizes) -> None:
    """Accept every value."""


def _accept(expected: str, is_one: Callable[[Any], bool]) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        if not is_one(value):
            raise ValueError(f"must be {expected}. Got {shown(value)}")

    return check


real = _accept("a float", lambda value: isinstance(value, (float, np.floating)))
whole = _accept("an int", lambda value: type(value) is int)
flag = _accept("a bool", lambda value: type(value) is bool)
text = _accept("a text", lambda value: type(value) is str)
mapping = _accept("a mapping", lambda value: type(value) is dict)


def size(name: str) -> Check:
    """Accept an int that is the length of an axis."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not int and not isinstance(value, np.integer):
            raise ValueError(f"must be an int. Got {shown(value)}")
        sizes.agree(name, int(value))

    return check


def array(kinds: str, axes: str) -> Check:
    """Accept an array: ``dtype.kind`` in ``kinds``, and an axis for each word."""
    names = axes.split()

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise ValueError(f"must be an array of kind {kinds}. Got {shown(value)}")
        if value.ndim != len(names):
            raise ValueError(f"has shape {value.shape}; expected ({', '.join(names)})")
        for name, length in zip(names, value.shape, strict=True):
            sizes.agree(name, length)

    return check


def one_of(*classes: type) -> Check:
    """Accept an object of these classes, or of one that inherits from them."""

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, classes):
            expected = " or ".join(
                repr(kind.tag)
                for known, kind in CLASSES.items()
                if issubclass(known, classes)
            )
            raise ValueError(f"must be {expected}. Got {type(value).__name__}")
        sizes.take_over(value)

    return check


def several(entry: Check, axis: str | None = None) -> Check:
    """Accept a list or a tuple of such entries, as long as an axis."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) not in (list, tuple):
            raise ValueError(f"must be a sequence. Got {shown(value)}")
        if axis is not None:
            sizes.agree(axis, len(value))
        for one in value:
            entry(one, sizes)

    return check


def optional(entry: Check) -> Check:
    """Accept None too."""

    def check(value: Any, sizes: Sizes) -> None:
        if value is not None:
            entry(value, sizes)

    return check


def option(*options: Any) -> Check:
    """Accept one of some values."""
    return _accept(f"one of {options}", lambda value: value in options)
