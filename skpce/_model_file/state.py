"""Fitted objects as plain data, and back.

Plain data are None, bools, numbers, text, lists, numpy arrays, and dicts that hold a
*marker* such as ``"tuple"``; ``Reader.value`` lists them. What is not plain, such as an
expansion, becomes a *record*: a dict of its kind and its named fields. Records stand in
one flat list, each after those that it refers to by their position, so that an object
that several others share is written once, and reading needs no recursion from record to
record.

A kind says which fields an object has and what they may hold; ``kinds`` lists them all.
Nothing that is written names a class or a module of this package that is private, so
that they can be renamed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np
from sklearn.base import BaseEstimator

#: Axes whose lengths a record has in common with those that refer to it.
SHARED_AXES = frozenset({"inputs", "terms", "targets", "samples", "steps", "parts"})

_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
) | {"bool", "float16", "float32", "float64"}


@dataclass(frozen=True)
class Field:
    """What a field of a record may hold."""

    attribute: str  # its name on the object
    holds: Any = Any  # an annotation, a tuple of options, or a function that refuses
    axes: str = ""  # their names; the fields of a record agree on the lengths
    may_lack: bool = False


@dataclass(frozen=True)
class Kind:
    """How one kind of object is written and read."""

    tag: str  # its name, which never changes
    fields: Mapping[str, Field]  # under names that never change
    make: Callable[..., Any]  # makes the object from its attributes by name
    read: Callable[[Any], dict[str, Any]] = lambda value: {}  # what is no attribute
    accepts: Callable[[Any], bool] = lambda value: True  # whether it can be written
    rules: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    in_pickles: bool = True  # whether a pickle has it as a record too

    def values_of(self, value: Any) -> dict[str, Any]:
        """Return what the fields of an object hold."""
        read = self.read(value)
        return read | {
            name: getattr(value, entry.attribute)
            for name, entry in self.fields.items()
            if name not in read
        }

    def made(self, values: dict[str, Any]) -> Any:
        """Return the object of some fields, once they are checked."""
        check_fields(self.tag, values, self.fields)
        attributes = {self.fields[name].attribute: values[name] for name in values}
        value = self.make(**attributes)
        for message, holds in self.rules.items():
            if not holds(value):
                raise ValueError(message)
        return value


#: Kinds by their tags, and by the classes of their objects; ``kinds`` fills them.
KINDS: dict[str, Kind] = {}
CLASSES: dict[type, Kind] = {}


def register(kind: Kind, *classes: type) -> None:
    """Let objects of these classes be written as this kind."""
    KINDS[kind.tag] = kind
    CLASSES.update(dict.fromkeys(classes, kind))


def check_fields(
    tag: str, values: Mapping[str, Any], fields: Mapping[str, Field]
) -> None:
    """Raise ``ValueError`` for fields that are others, hold others or disagree."""
    for name in values:
        if name not in fields:
            raise ValueError(f"a {tag!r} has an unknown field {shown(name)}")
    for name, entry in fields.items():
        if name not in values and not entry.may_lack:
            raise ValueError(f"a {tag!r} lacks the field {name!r}")
    known: dict[str, int] = {}
    for name, value in values.items():
        try:
            check_value(value, fields[name].holds)
            for axis, length in _lengths(value, fields[name].axes.split()):
                if known.setdefault(axis, length) != length:
                    raise ValueError(f"has {length} {axis}, others {known[axis]}")
        except ValueError as error:
            raise ValueError(f"the field {name!r} of a {tag!r} {error}") from None


def _lengths(value: Any, axes: list[str]) -> Iterator[tuple[str, int]]:
    """Yield the names and lengths of the axes of a value, and of what it refers to."""
    if isinstance(value, np.ndarray) and axes:
        if value.ndim != len(axes):
            raise ValueError(f"has shape {value.shape}; expected ({', '.join(axes)})")
        yield from zip(axes, value.shape, strict=True)
    elif isinstance(value, (int, np.integer)) and axes:
        yield axes[0], int(value)
    elif type(value) in (list, tuple):
        if axes:
            yield axes[0], len(value)
        for entry in value:
            yield from _lengths(entry, [])
    elif type(value) in CLASSES:
        kind = CLASSES[type(value)]
        for name, inner in kind.values_of(value).items():
            for axis, length in _lengths(inner, kind.fields[name].axes.split()):
                if axis in SHARED_AXES:
                    yield axis, length


#: What an annotation is called in messages, and what it allows.
_SIMPLE: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    float: ("a float", lambda value: isinstance(value, (float, np.floating))),
    int: ("an int", lambda value: type(value) is int or isinstance(value, np.integer)),
    bool: ("a bool", lambda value: type(value) is bool),
    str: ("a text", lambda value: type(value) is str),
    dict: ("a mapping", lambda value: type(value) is dict),
}


def check_value(value: Any, holds: Any) -> None:
    """Raise ``ValueError`` for a value that a field must not hold."""
    origin, arguments = get_origin(holds), get_args(holds)
    if holds is Any or (origin is UnionType and value is None):
        return
    if origin is UnionType and arguments[1] is type(None):
        check_value(value, arguments[0])
    elif origin is np.ndarray:
        _check_array(value, np.dtype(*get_args(arguments[-1])).kind)
    elif origin in (tuple, Sequence):
        _check_sequence(value, arguments)
    elif holds in _SIMPLE:
        expected, is_one = _SIMPLE[holds]
        if not is_one(value):
            raise ValueError(f"must be {expected}. Got {shown(value)}")
    elif type(holds) is tuple:
        if value not in holds:
            raise ValueError(f"must be one of {holds}. Got {shown(value)}")
    elif origin is not UnionType and not isinstance(holds, type):
        holds(value)
    elif not isinstance(value, holds):
        tags = [
            repr(CLASSES[known].tag) for known in CLASSES if issubclass(known, holds)
        ]
        raise ValueError(f"must be {' or '.join(tags)}. Got {type(value).__name__}")


def _check_array(value: Any, kind: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind:
        raise ValueError(f"must be an array of kind {kind}. Got {shown(value)}")
    if kind == "i" and value.min(initial=0) < 0:  # would count from the end
        raise ValueError(f"must not be negative. Got {value.min()}")
    if kind == "O":
        _check_sequence(value.tolist(), (str, ...))


def _check_sequence(value: Any, entries: tuple[Any, ...]) -> None:
    if type(value) not in (list, tuple):
        raise ValueError(f"must be a sequence. Got {shown(value)}")
    if len(entries) == 1 or entries[1] is Ellipsis:
        entries = entries[:1] * len(value)
    if len(entries) != len(value):
        raise ValueError(f"must have {len(entries)} entries. Got {shown(value)}")
    for entry, holds in zip(value, entries, strict=True):
        check_value(entry, holds)


def shown(value: Any) -> str:
    """Return a short text of a value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Writer:
    """Writes objects as records, and leaves what is of no kind to ``pickle``."""

    in_a_file = False

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        # With the objects themselves: an id is unique only while its object is alive.
        self._position: dict[int, tuple[int, Any]] = {}
        self._contiguous: dict[int, tuple[Any, Any]] = {}

    def plain(self, value: Any, where: str) -> Any:
        """Return a value as plain data; ``where`` names it, for arrays and messages."""
        of: Any = type(value)
        if value is None or of in (bool, int, str):
            return value
        if of is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if of is list:
            return [self.plain(entry, where) for entry in value]
        if of is tuple:
            return {"tuple": [self.plain(entry, where) for entry in value]}
        if of is dict:
            pairs = value.items()
            written = [[self.plain(k, where), self.plain(v, where)] for k, v in pairs]
            return {"mapping": written}
        if of is range:
            return {"range": [value.start, value.stop, value.step]}
        if of in (np.ndarray, np.memmap):
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.name in _NUMBERS:
            number = self.plain(value.item(), where)
            return {"number": value.dtype.name, "value": number}
        kind = CLASSES.get(of)
        if kind is None or not (kind.in_pickles or self.in_a_file):
            return self.other(value, where)
        if not kind.accepts(value):
            return self.other(value, where)
        return self.record(value, lambda: self._fields(value, kind))

    def _fields(self, value: Any, kind: Kind) -> dict[str, Any]:
        values = kind.values_of(value).items()
        written = {name: self.plain(v, f"{kind.tag}.{name}") for name, v in values}
        return {"kind": kind.tag, **written}

    def record(self, value: Any, write: Callable[[], dict[str, Any]]) -> dict[str, int]:
        """Return where the record of an object is, which is written if it is new."""
        if id(value) not in self._position:
            written = write()
            self._position[id(value)] = len(self.records), value
            self.records.append(written)
        return {"object": self._position[id(value)][0]}

    def _array(self, value: Any, where: str) -> Any:
        if value.dtype.kind == "O":
            entries = [self.plain(entry, where) for entry in value.ravel().tolist()]
            return {"entries": entries, "shape": list(value.shape)}
        if id(value) not in self._contiguous:
            # Else it would be written in "C" order, and rounded differently in
            # products of matrices.
            is_whole = value.flags.c_contiguous or value.flags.f_contiguous
            whole = value if is_whole else value.copy(order="K")
            self._contiguous[id(value)] = whole, value
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

    def read(self, records: Any) -> None:
        """Make the object of every record."""
        if type(records) is not list:
            raise ValueError(f"objects must be a list of records. Got {shown(records)}")
        for record in records:
            if type(record) is not dict or type(record.get("kind")) is not str:
                raise ValueError(f"expected a record with a kind. Got {shown(record)}")
            fields = dict(record)
            self.made.append(self.object_of(fields.pop("kind"), fields))

    def object_of(self, tag: str, fields: dict[str, Any]) -> Any:
        """Return the object of a record."""
        if tag not in KINDS:
            raise ValueError(
                f"it holds a {shown(tag)}, which this version of skpce does not know"
            )
        return KINDS[tag].made({k: self.value(plain) for k, plain in fields.items()})

    def value(self, plain: Any) -> Any:
        """Return the value that plain data stand for."""
        if type(plain) is list:
            return [self.value(entry) for entry in plain]
        if type(plain) is not dict:
            return plain
        match plain:
            case {"object": position}:
                return self.object(position)
            case {"array": name}:
                return self.array(name)
            case {"tuple": [*entries]}:
                return tuple(map(self.value, entries))
            case {"mapping": [*pairs]}:
                return dict(map(self._pair, pairs))
            case {"range": [*bounds]}:
                return range(*bounds)
            case {"float": text}:
                return _not_finite(text)
            case {"number": name, "value": value}:
                return _number(name, self.value(value))
            case {"entries": [*entries], "shape": [*shape]}:
                return _array_of_objects([self.value(one) for one in entries], shape)
        raise ValueError(f"expected a marker. Got {shown(plain)}")

    def object(self, position: Any) -> Any:
        """Return an object that was made before."""
        if type(position) is not int or not 0 <= position < len(self.made):
            raise ValueError(f"expected an earlier object. Got {shown(position)}")
        return self.made[position]

    def array(self, name: Any) -> Any:
        """Return the array of a name; a pickle has none."""
        raise ValueError(f"there is no array {shown(name)}")

    def _pair(self, pair: Any) -> tuple[Any, Any]:
        if type(pair) is not list or len(pair) != 2:
            raise ValueError(f"expected pairs. Got {shown(pair)}")
        return self.value(pair[0]), self.value(pair[1])


def _not_finite(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(f"expected nan, inf or -inf. Got {shown(text)}")
    return float(text)


def _number(name: Any, value: Any) -> Any:
    if name not in _NUMBERS or type(value) not in (bool, int, float):
        raise ValueError(f"expected a number of numpy. Got {shown((name, value))}")
    return np.dtype(name).type(value)


def _array_of_objects(entries: list[Any], shape: list[Any]) -> Any:
    is_shape = all(type(length) is int and length >= 0 for length in shape)
    if not is_shape or math.prod(shape) != len(entries):
        raise ValueError(f"expected {len(entries)} entries. Got {shown(shape)}")
    values = np.empty(len(entries), dtype=object)
    for number, entry in enumerate(entries):  # an entry may be a list
        values[number] = entry
    return values.reshape(shape)


# Pickles: what an estimator has learned, as plain data.

_RECORDS = "objects of the state"


def plain_state(estimator: Any) -> dict[str, Any]:
    """Return the state of an estimator; to be its ``__getstate__``."""
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
