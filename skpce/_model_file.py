"""Model files: estimators on disk, as arrays and plain JSON.

A model file is an ``.npz`` file of numpy: a zip archive, not compressed, of
``model.json`` and one ``.npy`` file per array. The comment of the archive, which is the
end of the file, is the SHA-256 of all bytes before it. The page on model files of the
user guide describes the entries of ``model.json``.

What is not plain data, such as an expansion, is a *record*: its kind and its named
fields. ``_noun`` and ``OURS`` list the kinds, their fields, and what each field may
hold; a noun or an attribute that is new is one line there. A field holds what its text
says: ``"floats[terms inputs]"`` is an array of finite floats whose axes have the
lengths that these names have in other fields of the record, ``"reals"`` may be NaN or
infinite, ``"(text)"`` is a sequence, ``"fit | samples"`` is one of two kinds, ``"?"``
at the end allows None, ``"attribute: ..."`` at the beginning says which attribute it
is where that has another name.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy
from numpy.lib import format as npy
from scipy import stats
from sklearn.base import BaseEstimator

from ._basis.basis import PolynomialBasis
from ._checks import Samples, check_path, write_file
from ._compositions.amalgamation import Amalgamation
from ._compositions.fitted import (
    FittedCompositions,
    InputModelFit,
    InputModels,
    InputModelSolver,
)
from ._compositions.log_ratio import LOG_RATIOS, LogRatioGeometry
from ._compositions.steps import StepLayout
from ._expansion.expansion import Expansion
from ._expansion.intervals import SobolInterval
from ._expansion.problem import FittedProblem
from ._input_laws import NAMED_LAWS, ContinuousLaw, DiscreteLaw, scores
from ._input_laws.families import (
    SeenLogNormalLaw,
    SeenLogUniformLaw,
    SeenNormalLaw,
    SeenUniformLaw,
    is_frozen,
)
from ._input_laws.maps import IsoprobabilisticMap
from ._input_laws.measures import FiniteMeasure
from ._input_laws.smoothed import SmoothedLaw
from ._input_laws.tabulated import EmpiricalLaw, OrdinalLaw, TabulatedLaw
from ._learned.kernel_basis import KernelBasis
from ._learned.prior import TermPrior
from ._learned.ridge import LearnedRidgeSolver
from ._solvers import CRITERIA, SOLVERS, DesignMoments, LinearFit
from ._solvers.external import ExternalSolver
from ._solvers.problem import Leverage, LeverageFactor
from ._version import __version__

FORMAT = "skpce model"
VERSION = 1

_JSON = "model.json"
_DIGITS = 64

# Kinds of numbers and text that arrays may hold.
_DTYPES = "biufcU"

# Longest header of an array; numpy writes one of 128 bytes for up to ten axes.
_LONGEST_HEADER = 10_000

_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
) | {"bool", "float16", "float32", "float64"}

#: Axes whose lengths a record has in common with those that refer to it.
SHARED_AXES = frozenset({"inputs", "terms", "targets", "samples", "steps", "parts"})

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save an estimator as an open file of arrays and plain JSON.

    Nothing in it is pickled: :func:`load_model` runs no code of the file, numpy and
    json alone can read it, and it does not depend on how this package is organised
    inside. See the page on model files of the user guide for the layout.

    Parameters
    ----------
    estimator : estimator
        Of this package, or a :class:`sklearn.pipeline.Pipeline` of them behind common
        steps of scikit-learn such as ``StandardScaler`` and ``PCA``; fitted or not. A
        ``regressor`` is one of the linear models of scikit-learn. Distributions are
        those of :mod:`scipy.stats`.
    path : str or path-like
        Where to write; ``.npz`` is the usual ending. A file that is there is replaced
        once the new one is complete.

    Raises
    ------
    ValueError
        If a part of the estimator is nothing that a model file holds. The message names
        it.
    OSError
        If the file cannot be written, such as a ``FileNotFoundError`` that names a
        folder that does not exist. Nothing half-written stays.

    See Also
    --------
    load_model : Reads the file.

    Notes
    -----
    The memory of a pipeline is a folder of this machine and is not saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor, load_model, save_model
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> pce = PolynomialChaosRegressor(2).fit(X, X[:, 0] * X[:, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "product.npz"
    ...     save_model(pce, path)
    ...     again = load_model(path)
    ...     with np.load(path) as arrays:
    ...         coefficients = arrays["expansion.coefficients"]
    >>> np.array_equal(again.predict(X), pce.predict(X))
    True
    >>> np.array_equal(coefficients, pce.coefficients_)
    True
    """
    check_path("save_model", path)
    if public_path(type(estimator)) is None:
        raise ValueError(
            f"estimator is {shown(estimator)}; expected one that a model file holds: "
            f"{_HELD}."
        )
    writer = _Writer()
    model = writer.estimator(estimator, "the model")
    head = {
        "format": FORMAT,
        "version": VERSION,
        "written_with": {
            "skpce": __version__,
            "scikit-learn": version("scikit-learn"),
            "scipy": scipy.__version__,
            "numpy": np.__version__,
        },
        "model": model["object"],
    }
    members = {_JSON: _json_bytes(head, writer.records)}
    members |= {f"{name}.npy": _array_bytes(a) for name, a in writer.arrays.items()}
    write_file(path, _archive(members))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a model file.

    Its predictions, indices, intervals and draws are those of the estimator that was
    saved, to the last bit on the same machine with the same libraries, and a fit from
    sums goes on with ``partial_fit``. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like
        A file of :func:`save_model`.

    Returns
    -------
    estimator : estimator
        Of the class that was saved.

    Raises
    ------
    OSError
        If the file cannot be read: a ``FileNotFoundError`` if there is none, a
        ``PermissionError`` if it must not be read.
    ValueError
        If it is no model file, is damaged or was edited, is of a version that this
        package does not know, or holds what does not fit together. The message names
        the file and says what is wrong.

    See Also
    --------
    save_model : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skpce import PolynomialChaosRegressor, load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.npz"
    ...     save_model(PolynomialChaosRegressor(3), path)
    ...     load_model(path)
    PolynomialChaosRegressor(degree=3)
    """
    check_path("load_model", path)
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; expected a model file of skpce.")
    content = Path(path).read_bytes()
    try:
        return _model_of(content)
    except Exception as error:  # whatever a file may hold
        reason = str(error)
        if type(error) is not ValueError:
            reason = f"what it holds does not fit together ({error!r})"
        raise ValueError(
            f"{path} cannot be read as a model file of skpce: {reason}."
        ) from error


def _json_bytes(head: dict[str, Any], records: list[dict[str, Any]]) -> bytes:
    """Return the description as JSON, each record on a line of its own."""
    lines = [json.dumps(one, allow_nan=False, ensure_ascii=False) for one in records]
    entries = [f"{json.dumps(name)}: {json.dumps(head[name])}" for name in head]
    entries.append('"objects": [\n' + ",\n".join(lines) + "\n]")
    return ("{" + ",\n".join(entries) + "}\n").encode()


def _array_bytes(array: Any) -> bytes:
    """Return an array as a file of numpy."""
    buffer = io.BytesIO()
    npy.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _archive(members: dict[str, bytes]) -> bytes:
    """Return a zip archive that ends in the digest of what is before."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # of no date
        archive.comment = b"0" * _DIGITS
    content = buffer.getvalue()[:-_DIGITS]
    return content + hashlib.sha256(content).hexdigest().encode()


def _model_of(content: bytes) -> Any:
    """Return the estimator of the bytes of a file."""
    members = _members(content)
    description = json.loads(members.pop(_JSON), parse_constant=_refuse_constant)
    _check_version(description)
    arrays = {
        name.removesuffix(".npy"): _array_of(name, part)
        for name, part in members.items()
    }
    reader = _Reader(arrays)
    reader.read(description.get("objects"))
    model = reader.object(description.get("model"))
    if public_path(type(model)) is None:
        raise ValueError("what it holds is no estimator")
    unused = set(arrays) - reader.used
    if unused:
        raise ValueError(f"nothing refers to its array {min(unused)!r}")
    return model


def _members(content: bytes) -> dict[str, bytes]:
    """Return the parts of an archive that is as it was written."""
    body, digest = content[:-_DIGITS], content[-_DIGITS:]
    if not content.startswith(b"PK"):
        raise ValueError("it is no zip archive, or its beginning is missing")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(
            "it does not end in the SHA-256 of its content. It is another archive, or "
            "it was cut off, damaged or edited after it was written"
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its parts are compressed")
        if sum(entry.file_size for entry in entries) > len(content):
            raise ValueError("its parts are larger than the file")
        members = {entry.filename: archive.read(entry) for entry in entries}
    if len(members) < len(entries):
        raise ValueError("a part is there twice")
    if _JSON not in members:
        raise ValueError(f"it has no part {_JSON}")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"its {_JSON} holds the number {name}")


def _check_version(description: Any) -> None:
    """Raise ``ValueError`` for another format, or a version that is not known."""
    if type(description) is not dict or description.get("format") != FORMAT:
        raise ValueError(f"its {_JSON} does not say that the format is {FORMAT!r}")
    if description.get("version") != VERSION:
        raise ValueError(
            f"its format has version {shown(description.get('version'))}, and skpce "
            f"{__version__} reads version {VERSION}. Install the skpce that wrote it"
        )


def _array_of(name: str, content: bytes) -> Any:
    """Return an array of a file of numpy, whose header says no more than it holds."""
    if content[:8] != npy.magic(1, 0):
        raise ValueError(f"its part {name!r} is no array")
    buffer = io.BytesIO(content)
    buffer.seek(8)
    shape, fortran, dtype = npy.read_array_header_1_0(
        buffer, max_header_size=_LONGEST_HEADER
    )
    data = content[buffer.tell() :]
    if dtype.hasobject or dtype.kind not in _DTYPES or not dtype.itemsize:
        raise ValueError(f"its part {name!r} is an array of {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"its part {name!r} has {len(data)} bytes for shape {shape}")
    stored = np.ndarray(shape, dtype, data, order="F" if fortran else "C")
    return stored.copy(order="K")


# What a field holds


@dataclass(frozen=True)
class Kind:
    """How one kind of object is written and read."""

    tag: str  # its name in files
    holds: Mapping[str, Any]  # by the name of each field: a text, options, or a check
    make: Callable[..., Any]  # makes the object from its attributes by name
    read: Callable[[Any], dict[str, Any]] = lambda value: {}  # what is no attribute
    accepts: Callable[[Any], bool] = lambda value: True  # whether it can be written
    rules: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def values_of(self, value: Any) -> dict[str, Any]:
        """Return what the fields of an object hold."""
        read = self.read(value)
        names = attributes(self.holds).items()
        return read | {
            name: getattr(value, attribute)
            for name, attribute in names
            if name not in read
        }

    def made(self, values: dict[str, Any]) -> Any:
        """Return the object of some fields, once they are checked."""
        check_fields(self.tag, values, self.holds)
        known = attributes(self.holds)
        value = self.make(**{known[name]: values[name] for name in values})
        for message, holds in self.rules.items():
            if not holds(value):
                raise ValueError(message)
        return value


#: Kinds by their tags, and by the classes of their objects.
KINDS: dict[str, Kind] = {}
CLASSES: dict[type, Kind] = {}


def _register(kind: Kind, *classes: type) -> None:
    KINDS[kind.tag] = kind
    CLASSES.update(dict.fromkeys(classes, kind))


@dataclass(frozen=True)
class Spec:
    """What a text such as ``"points: floats[terms inputs]?"`` says."""

    attribute: str
    holds: str
    axes: tuple[str, ...]
    may_be_none: bool


@cache
def spec_of(text: str) -> Spec:
    """Read what a field holds."""
    attribute, colon, holds = text.rpartition(": ")
    may_be_none = holds.endswith("?")
    holds, _, axes = holds.removesuffix("?").partition("[")
    names = tuple(axes.removesuffix("]").split())
    return Spec(attribute if colon else "", holds, names, may_be_none)


def attributes(holds: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of fields by the names of these."""
    texts = {name: one if type(one) is str else "" for name, one in holds.items()}
    return {name: spec_of(text).attribute or name for name, text in texts.items()}


def check_fields(tag: str, values: Mapping[str, Any], holds: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for fields that are others, hold others or disagree."""
    for name in values:
        if name not in holds:
            raise ValueError(f"a {tag!r} has an unknown field {shown(name)}")
    for name in holds:
        if name not in values and (tag not in ESTIMATORS or name not in _MAY_LACK):
            raise ValueError(f"a {tag!r} lacks the field {name!r}")
    known: dict[str, int] = {}
    for name, value in values.items():
        try:
            check_value(value, holds[name])
            for axis, length in _lengths(value, holds[name]):
                if known.setdefault(axis, length) != length:
                    raise ValueError(f"has {length} {axis}, others {known[axis]}")
        except ValueError as error:
            raise ValueError(f"the field {name!r} of a {tag!r} {error}") from None


def _lengths(value: Any, holds: Any) -> Iterator[tuple[str, int]]:
    """Yield the names and lengths of the axes of a value, and of what it refers to."""
    axes = spec_of(holds).axes if type(holds) is str else ()
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
            yield from _lengths(entry, "")
    elif type(value) in CLASSES:
        kind = CLASSES[type(value)]
        for name, inner in kind.values_of(value).items():
            for axis, length in _lengths(inner, kind.holds[name]):
                if axis in SHARED_AXES:
                    yield axis, length


#: What the words of a field are called in messages, and what they allow.
_SCALARS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a finite float", lambda v: _is_real(v) and math.isfinite(v)),
    "real": ("a float", lambda value: _is_real(value)),
    "int": ("an int", lambda v: type(v) is int or isinstance(v, np.integer)),
    "bool": ("a bool", lambda value: type(value) is bool),
    "text": ("a text", lambda value: type(value) is str),
    "mapping": ("a mapping", lambda value: type(value) is dict),
    "frozen": ("a frozen distribution", lambda value: is_frozen(value)),
    "number": ("a finite number or an array of them", lambda v: _is_numeric(v)),
}

#: The kinds of arrays, and what their entries must be.
_ARRAYS: Mapping[str, tuple[str, str, Callable[[Any], bool]]] = {
    "floats": ("f", "finite", lambda value: bool(np.isfinite(value).all())),
    "positives": (
        "f",
        "positive and finite",
        lambda value: bool((np.isfinite(value) & (value > 0)).all()),
    ),
    "reals": ("f", "", lambda value: True),
    "ints": ("i", "not negative", lambda value: value.min(initial=0) >= 0),
    "bools": ("b", "", lambda value: True),
    "texts": ("U", "", lambda value: True),
    "labels": (
        "O",
        "text",
        lambda value: all(type(entry) is str for entry in value.ravel()),
    ),
}


def _is_real(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


def _is_numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf" and bool(np.isfinite(value).all())


def check_value(value: Any, holds: Any) -> None:
    """Raise ``ValueError`` for a value that a field must not hold."""
    if type(holds) is tuple:
        if value not in holds:
            raise ValueError(f"must be one of {holds}. Got {shown(value)}")
    elif callable(holds):
        holds(value)
    else:
        spec = spec_of(holds)
        if value is not None or not spec.may_be_none:
            _check_one(value, spec.holds)


def _check_one(value: Any, holds: str) -> None:
    """Raise ``ValueError`` unless a value is what a word says."""
    if holds == "any":
        return
    if holds.startswith("("):
        if type(value) not in (list, tuple):
            raise ValueError(f"must be a sequence. Got {shown(value)}")
        for entry in value:
            _check_one(entry, holds[1:-1])
    elif holds == "estimator":
        check_estimator(value)
    elif holds in _SCALARS:
        expected, is_one = _SCALARS[holds]
        if not is_one(value):
            raise ValueError(f"must be {expected}. Got {shown(value)}")
    elif holds in _ARRAYS:
        kind, expected, are = _ARRAYS[holds]
        if not isinstance(value, np.ndarray) or value.dtype.kind != kind:
            raise ValueError(f"must be an array of kind {kind}. Got {shown(value)}")
        if not are(value):
            raise ValueError(f"must be {expected}. Got {shown(value)}")
    else:
        found = CLASSES.get(type(value))
        tags = holds.split(" | ")
        if found is None or found.tag not in tags:
            raise ValueError(f"must be {holds!r}. Got {type(value).__name__}")


def shown(value: Any) -> str:
    """Return a short text of a value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Kinds


def _noun(
    tag: str,
    noun: Any,
    *,
    rules: Mapping[str, Callable[[Any], bool]] = _NOTHING,
    make: Callable[..., Any] | None = None,
    read: Callable[[Any], dict[str, Any]] = lambda value: {},
    **holds: Any,
) -> None:
    """List a class whose fields are its attributes."""
    made = partial(make or _with_attributes, noun)
    _register(Kind(tag, holds, made, read, rules=rules), noun)


def _with_attributes(noun: Any, **attributes: Any) -> Any:
    """Return an object that has these attributes."""
    made = noun.__new__(noun)
    vars(made).update(attributes)
    return made


# Distributions of scipy.stats


def _scipy_distribution(
    family: str, arguments: Sequence[Any], keywords: dict[str, Any], table: Any
) -> Any:
    """Freeze a distribution of ``scipy.stats``, given by its name."""
    found = getattr(stats, family, None)
    if table is not None and family == "rv_discrete":
        found = stats.rv_discrete(values=(table[0], table[1]))
    elif table is not None and family == "rv_histogram":
        found = stats.rv_histogram((table[0], table[1]), density=table[2])
    if not isinstance(found, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(f"scipy.stats has no distribution {shown(family)}")
    for value in (*arguments, *keywords.values()):
        if not isinstance(value, (int, float, np.number, np.ndarray)):
            raise ValueError(f"a parameter of {family} is {shown(value)}")
    return found(*arguments, **keywords)


#: Class of a discrete distribution that was made from a table.
_TABLE = type(stats.rv_discrete(values=([0.0], [1.0])))


def _parts_of_scipy(frozen: Any) -> dict[str, Any]:
    """Return the name and parameters of a distribution, and its table if it has one."""
    family = frozen.dist
    name, table = family.name, None
    if type(family) is stats.rv_histogram:
        name, table = "rv_histogram", (*family._histogram, family._density)
    elif type(family) is _TABLE:
        name, table = "rv_discrete", (family.xk, family.pk)
    parts = {"arguments": frozen.args, "keywords": frozen.kwds}
    return {"family": name, **parts, "table": table}


def _is_of_scipy(frozen: Any) -> bool:
    """Return whether ``scipy.stats`` has the distribution by its name."""
    parts, family = _parts_of_scipy(frozen), frozen.dist
    if parts["table"] is not None:
        return True
    known = getattr(stats, str(parts["family"]), None)
    return type(known) is type(family) and all(
        getattr(known, name) == getattr(family, name) for name in ("a", "b", "shapes")
    )


_register(
    Kind(
        "scipy distribution",
        {"family": "text", "arguments": "(any)", "keywords": "mapping", "table": "any"},
        _scipy_distribution,
        _parts_of_scipy,
        accepts=_is_of_scipy,
    ),
    type(stats.norm()),
    type(stats.bernoulli(0.5)),
)


# Distributions of the inputs


def _with_recurrences(noun: Any, recurrences: Any, **attributes: Any) -> Any:
    """Return a distribution with the recurrences that were computed for it."""
    made = _with_attributes(noun, **attributes)
    for degree, a, b, defect in recurrences:
        shapes = [getattr(part, "shape", None) for part in (a, b)]
        if shapes != [(degree,), (degree,)]:
            raise ValueError(f"a recurrence of degree {degree} has shapes {shapes}")
        for part in (a, b):
            check_value(part, "floats")
            part.flags.writeable = False
        made._recurrences[degree] = a, b, float(defect)
    return made


def _recurrences_of(law: Any) -> dict[str, Any]:
    known = sorted(law._recurrences.items())
    return {"recurrences": tuple((degree, *found) for degree, found in known)}


_noun("finite measure", FiniteMeasure, points="floats[points]", masses="floats[points]")

_LAW: dict[str, Any] = {"location": "float", "scale": "float", "learned": "bool"}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "gamma": {"shape": "float"},
    "exponential": {"shape": "float"},
    "beta": {"shapes": "(float)"},
    "categorical": {"table": "finite measure"},
}
for _name, _law in NAMED_LAWS.items():
    if not issubclass(_law, TabulatedLaw):
        _noun(f"{_name} distribution", _law, **_LAW, **_PARAMETERS.get(_name, {}))
_SEEN = {"lowest": "real", "highest": "real", **_LAW}
_noun("seen normal distribution", SeenNormalLaw, **_SEEN)
_noun("seen uniform distribution", SeenUniformLaw, **_SEEN)
_noun("seen lognormal distribution", SeenLogNormalLaw, **_SEEN)
_noun("seen loguniform distribution", SeenLogUniformLaw, **_SEEN)


def _tabulated(tag: str, law: Any, **holds: Any) -> None:
    """List a distribution with recurrences.

    These are the degree, ``a_0 ...``, ``b_1 ...`` and the distance from orthonormality.
    """
    holds |= {"recurrences": "((any))", **_LAW}
    _noun(tag, law, make=_with_recurrences, read=_recurrences_of, **holds)


_tabulated("empirical distribution", EmpiricalLaw, table="finite measure")
_tabulated("ordinal distribution", OrdinalLaw, table="finite measure")
_tabulated("smoothed distribution", SmoothedLaw, table="finite measure")
_tabulated("continuous distribution", ContinuousLaw, scipy="frozen: frozen")
_tabulated("discrete distribution", DiscreteLaw, scipy="frozen: frozen")

_DISTRIBUTIONS = " | ".join(
    tag
    for tag in KINDS
    if tag.endswith(" distribution") and not tag.startswith("scipy")
)


# Solvers, under the names of the parameter ``solver``

_NAME_OF_SOLVER = {
    type(make(np.ones(1), CRITERIA[0])): name for name, make in SOLVERS.items()
}


def _parts_of_solver(solver: Any) -> dict[str, Any]:
    return {
        "name": _NAME_OF_SOLVER[type(solver)],
        "alphas": getattr(solver, "alphas", np.ones(1)),
        "criterion": getattr(solver, "criterion", CRITERIA[0]),
    }


_register(
    Kind(
        "solver",
        {
            "name": tuple(SOLVERS),
            "alphas": "floats[penalties]",
            "criterion": tuple(CRITERIA),
        },
        lambda name, alphas, criterion: SOLVERS[name](alphas, criterion),
        _parts_of_solver,
    ),
    *_NAME_OF_SOLVER,
)


# Fits, and what they consist of

_BASES = "basis | basis of kernels"
_FITS = "linear fit | fit to models of the inputs"
_SOLVERS = "solver | learned ridge | regressor of the basis | regressor of the inputs"

_noun(
    "basis",
    PolynomialBasis,
    distributions=f"laws: ({_DISTRIBUTIONS})[inputs]",
    multi_indices="ints[terms inputs]",
    reach="floats[ends inputs]?",
    rules={
        "row 0 of the multi-indices of a 'basis' must be zero": lambda basis: (
            len(basis.multi_indices) > 0 and not basis.multi_indices[0].any()
        )
    },
)
_noun(
    "prior of terms",
    TermPrior,
    weights="floats[inputs]",
    decays="positives[inputs]",
    exponent="float",
    order_weights="positives[orders]",
    n_functions="ints[inputs]",
    noise="float",
    log_evidence="real",
    rules={
        "the weights of a 'prior of terms' must not be negative, nor its exponent": (
            lambda prior: prior.weights.min() >= 0 < prior.exponent
        )
    },
)
_noun(
    "basis of kernels",
    KernelBasis,
    distributions=f"laws: ({_DISTRIBUTIONS})[inputs]",
    inputs="floats[samples inputs]",
    priors="(prior of terms)",
    maps="(floats)",
    rules={
        "a 'basis of kernels' has other maps than priors and samples": lambda basis: (
            len(basis.maps) == len(basis.priors)
            and all(each.shape[:1] == basis.inputs.shape[:1] for each in basis.maps)
        )
    },
)
_noun(
    "expansion",
    Expansion,
    basis=_BASES,
    coefficients="floats[outputs terms]",
    input_names="(text)[inputs]",
    output_names="(text)[outputs]",
    groups="ints[outputs]?",
    group_names="(text)[groups]",
    q2="reals[groups]",
    scalar="bool",
    target_variance="reals[outputs]?",
    loo_error="reals[outputs]?",
)
_noun(
    "learned ridge",
    LearnedRidgeSolver,
    scales="floats[priors terms]",
    noise="positives[priors]",
    prior_of="ints[groups]",
    refined="bool",
    given="bool",
    priors="(prior of terms)",
)
_noun("regressor of the basis", ExternalSolver, regressor="estimator")
_noun(
    "regressor of the inputs",
    InputModelSolver,
    regressor="estimator",
    basis="basis",
    draws="floats[draws inputs]",
    held_out="floats[draws inputs]",
)
_noun(
    "leverage factor",
    LeverageFactor,
    right="floats[rank used]",
    singular_values="floats[rank]",
    center="floats[centres]",
    used="ints[used]",
    scale="floats[used]",
    base="float",
)
_noun(
    "leverage",
    Leverage,
    factors="(leverage factor)",
    factor_of_target="ints[targets]",
    alpha="floats[targets]",
    rules={
        "a target of a 'leverage' has no factor": lambda leverage: bool(
            (leverage.factor_of_target < len(leverage.factors)).all()
        )
    },
)
_fit = partial(
    _noun,
    coefficients="floats[targets terms]",
    alpha="floats[targets]",
    scales="floats[targets terms]",
    leverage="leverage",
    criterion="reals[targets]",
    loo_residuals="reals[samples targets]?",
    scaled_residuals="reals[samples targets]?",
    residual_variance="reals[targets]",
)
_fit("linear fit", LinearFit)
_fit("fit to models of the inputs", InputModelFit, models="models of the inputs")


def _check_models(parts: Any) -> None:
    """Raise ``ValueError`` unless these are columns, each with an estimator."""
    check_value(parts, "((any))")
    for part in parts:
        if len(part) != 2:
            raise ValueError(f"must be columns and an estimator. Got {shown(part)}")
        check_value(part[0], "ints")
        check_estimator(part[1])


_noun("models of the inputs", InputModels, parts=_check_models, n_fitted="int")
_noun(
    "samples",
    Samples,
    inputs="floats[samples inputs]",
    targets="reals[samples targets]",
    weights="positives[samples]",
)
_noun(
    "sums over the samples",
    DesignMoments,
    total_weight="float",
    mean="floats[terms]",
    target_mean="floats[targets]",
    gram="floats[terms terms]",
    cross="floats[terms targets]",
    target_square="floats[targets]",
)
_noun(
    "fitted problem",
    FittedProblem,
    basis=_BASES,
    solver=_SOLVERS,
    fit=_FITS,
    spread="floats[targets]",
    groups="ints[targets]",
    samples="samples?",
    sums="sums over the samples?",
    on_inputs="bool",
)
_noun(
    "intervals of indices",
    SobolInterval,
    first_order="reals[bounds rows inputs]",
    total_order="reals[bounds rows inputs]",
    shapley="reals[bounds rows inputs]",
    confidence_level="float",
    method="text",
)


# Compositions

_noun(
    "steps",
    StepLayout,
    widths="(int)[steps]",
    step_names="(text)[steps]",
    part_names="(text)[parts]",
    rules={
        "the widths of 'steps' are not those of their parts": lambda steps: (
            min(steps.widths, default=0) > 0 and steps.n_parts == len(steps.part_names)
        )
    },
)
_noun(
    "amalgamation",
    Amalgamation,
    step_names="(text)",
    given_widths="(int)",
    given_names="(text)[given]",
    possible="bools[given]",
    place="ints[given]",
    rules={
        "an 'amalgamation' has columns beyond its steps": lambda made: (
            sum(made.given_widths) == len(made.place) and made.place.min() >= 0
        )
    },
)
_noun(
    "log-ratio coordinates",
    LogRatioGeometry,
    steps="layout: steps",
    mask="bools[parts]",
    log_ratio=tuple(LOG_RATIOS),
    reference="int",
)
_noun(
    "compositions",
    FittedCompositions,
    expansion="expansion",
    problem="fitted problem",
    coordinates="geometry: log-ratio coordinates",
    fitted_coordinates="fitted_geometry: log-ratio coordinates",
    models="models of the inputs?",
    step_interval="intervals of indices?",
    owner="text",
    random_state="any",
    n_jobs="int?",
    pooled="bool",
    scalar="bool",
    rules={
        "'compositions' have an expansion of other parts than theirs": lambda fitted: (
            fitted.expansion.n_outputs == fitted.geometry.active_parts.size
        ),
        "'compositions' have a fit of other coordinates than theirs": lambda fitted: (
            len(fitted.problem.fit.coefficients) == fitted.fitted_geometry.n_coordinates
        ),
    },
)
_noun(
    "diagnostics",
    scores.SurrogateDiagnostics,
    loo_q2="reals[steps]",
    n_members="int",
    n_terms="int",
    permutation_p_values="reals[steps]?",
    inputs="floats[samples inputs]",
    basis=_BASES,
)


# Maps of dependent inputs

_COLUMNS = (
    "constant column | normal column | column of a distribution | empirical column"
)

_noun("constant column", scores.ConstantMap, value="float")
_noun("normal column", scores.NormalMap, location="float", scale="float")
_noun(
    "column of a distribution",
    scores.DistributionMap,
    scipy="frozen: frozen",
    lowest="real",
    highest="real",
)
_noun(
    "empirical column",
    scores.EmpiricalMap,
    values="floats[values]",
    scores="floats[values]",
    slope="float",
)
_noun(
    "normal scores",
    scores.GaussianScores,
    correlation="floats[inputs inputs]",
    root="floats[inputs inputs]",
)
_noun(
    "scores by kernels",
    scores.KernelScores,
    rows="floats[rows inputs]",
    weights="floats[rows]",
    bandwidth="float",
    correlation="floats[inputs inputs]",
)
_noun(
    "isoprobabilistic map",
    IsoprobabilisticMap,
    owner="text",
    names="(text)[inputs]",
    distributions=f"laws: ({_DISTRIBUTIONS})[inputs]",
    columns=f"({_COLUMNS})[inputs]",
    scores="normal scores | scores by kernels",
    sequential="bool",
)


# Random states


def _random_state(**parts: Any) -> np.random.RandomState:
    state = np.random.RandomState()
    state.set_state(("MT19937", *(parts[name] for name in _OF_STATE)))
    return state


def _check_key(value: Any) -> None:
    if not (
        isinstance(value, np.ndarray)
        and value.shape == (624,)
        and value.dtype == np.uint32
    ):
        raise ValueError(f"must be 624 words of 32 bits. Got {shown(value)}")


_OF_STATE = {
    "key": _check_key,
    "position": tuple(range(625)),
    "has_gauss": (0, 1),
    "gauss": "float",
}
_register(
    Kind(
        "random state",
        _OF_STATE,
        _random_state,
        lambda state: dict(zip(_OF_STATE, state.get_state()[1:], strict=True)),
        accepts=lambda state: (
            state.get_state(legacy=False)["bit_generator"] == "MT19937"
        ),
    ),
    np.random.RandomState,
)


# Estimators, by the names under which their packages show them


def check_estimator(value: Any, path: str | None = None) -> None:
    """Raise ``ValueError`` unless a value is an estimator, or that of a path."""
    found = public_path(type(value))
    if found is None or path not in (None, found):
        raise ValueError(f"must be {path or 'an estimator'}. Got {shown(value)}")


#: Fitted attributes that some fits do not have.
_MAY_LACK = (
    "feature_names_in_",
    "diagnostics_",
    "step_sobol_interval_",
    "step_total_sobol_interval_",
    "predict_1d",
    "levels_",
    "names_of_columns",
    "amalgamation",
)

_OF_INPUTS = {"n_features_in_": "int[inputs]", "feature_names_in_": "labels[inputs]"}
_OF_PARTS = {"n_features_in_": "int[parts]", "feature_names_in_": "labels[parts]"}
_OF_MAP = {
    "map": "_map: isoprobabilistic map",
    "correlation_": "floats[inputs inputs]",
    "shrinkage_": "float",
    **_OF_INPUTS,
}
_REGRESSOR = {
    "alpha_": "floats[targets]",
    "problem": "_problem: fitted problem",
    "expansion": "expansion_: expansion",
    "is_scalar": "_is_scalar: bool",
    "levels_": "mapping",
    "names_of_columns": "_labels_of_y: (any)",
    **_OF_INPUTS,
}

OURS: Mapping[str, Mapping[str, Any]] = {
    "skpce.PolynomialChaosFeatures": {
        "basis_": "basis",
        "levels_": "mapping",
        **_OF_INPUTS,
    },
    "skpce.PolynomialChaosRegressor": {**_REGRESSOR, "solver_": "texts[targets]"},
    "skpce.CompositionalPCESurrogate": {
        "compositions": "_fitted: compositions",
        "diagnostics_": "diagnostics",
        "names_of_columns": "_labels_of_y: (any)",
        "n_features_out": "_n_features_out: int",
        "step_sobol_interval_": "reals[bounds steps inputs]",
        "step_total_sobol_interval_": "reals[bounds steps inputs]",
        "levels_": "mapping",
        "amalgamation": "_amalgamation: amalgamation?",
        **_OF_INPUTS,
    },
    "skpce.LogRatioTransformer": {
        "coordinates": "geometry_: log-ratio coordinates",
        "n_features_out": "_n_features_out: int",
        **_OF_PARTS,
    },
    "skpce.NatafTransformer": _OF_MAP,
    "skpce.RosenblattTransformer": {**_OF_MAP, "bandwidth_": "float"},
    "skpce.embedding.PLSTransformer": {
        "pls_": partial(
            check_estimator, path="sklearn.cross_decomposition.PLSRegression"
        ),
        "target_transformer_": "estimator?",
        "n_iter_": "int",
        **_OF_INPUTS,
    },
}

_LINEAR_MODELS = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV "
    "Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV Ridge RidgeCV"
)

_COMPONENTS = "floats[components inputs]"

#: Of these every public fitted attribute is written; those listed here are what their
#: ``transform`` or ``predict`` reads.
OF_SCIKIT_LEARN: Mapping[str, Mapping[str, Any]] = {
    f"sklearn.{path}": {**_OF_INPUTS, **holds}
    for path, holds in {
        "preprocessing.StandardScaler": {
            "mean_": "floats[inputs]?",
            "scale_": "floats[inputs]?",
        },
        "preprocessing.MinMaxScaler": {
            "min_": "floats[inputs]",
            "scale_": "floats[inputs]",
        },
        "preprocessing.MaxAbsScaler": {"scale_": "floats[inputs]"},
        "preprocessing.RobustScaler": {
            "center_": "floats[inputs]?",
            "scale_": "floats[inputs]?",
        },
        "preprocessing.QuantileTransformer": {
            "quantiles_": "floats[quantiles inputs]",
            "references_": "floats[quantiles]",
        },
        "decomposition.PCA": {
            "components_": _COMPONENTS,
            "mean_": "floats[inputs]",
            "explained_variance_": "floats[components]",
        },
        "decomposition.TruncatedSVD": {"components_": _COMPONENTS},
        "feature_selection.VarianceThreshold": {"variances_": "floats[inputs]"},
        "cross_decomposition.PLSRegression": {
            "x_rotations_": "floats[inputs components]",
            "x_loadings_": "floats[inputs components]",
            "coef_": "floats[targets inputs]",
            "intercept_": "floats[targets]",
            "x_mean": "_x_mean: floats[inputs]",
            "x_std": "_x_std: floats[inputs]",
            "y_mean": "_y_mean: floats[targets]",
            "y_std": "_y_std: floats[targets]",
            "predict_1d": "_predict_1d: any",
        },
        **{
            f"linear_model.{name}": {"coef_": "number", "intercept_": "number"}
            for name in _LINEAR_MODELS.split()
        },
    }.items()
} | {"sklearn.pipeline.Pipeline": {}}

ESTIMATORS = {**OURS, **OF_SCIKIT_LEARN}


def public_path(estimator_class: type) -> str | None:
    """Return the public name of a class that a model file can hold, else None."""
    for path in ESTIMATORS:
        if path.endswith(f".{estimator_class.__name__}"):
            return path if class_of(path) is estimator_class else None
    return None


def class_of(path: str) -> Any:
    """Return the class of a public name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _fields_of(path: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted fields, of scikit-learn with every public fitted attribute."""
    holds = dict(ESTIMATORS[path])
    if path in OF_SCIKIT_LEARN:
        learned = [n for n in attributes if n.endswith("_") and not n.startswith("_")]
        holds |= {name: "any" for name in learned if name not in holds}
    return holds


# Writing

_REFUSED = "a model file does not hold"

# Names of the estimators that it holds.
_HELD = " and, of scikit-learn, ".join(
    ", ".join(path.rpartition(".")[2] for path in paths)
    for paths in (OURS, OF_SCIKIT_LEARN)
)


class _Writer:
    """Writes estimators as records, and their arrays apart, by name.

    Records stand in one flat list, each after those that it refers to by their
    position, so that an object that several others share is written once.
    """

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.arrays: dict[str, Any] = {}
        # With the objects themselves: an id is unique only while its object is alive.
        self._position: dict[int, tuple[int, Any]] = {}
        self._name_of_array: dict[int, tuple[str, Any]] = {}

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
        if kind is not None and kind.accepts(value):
            return self._record(value, lambda: self._fields(value, kind))
        return self.estimator(value, where)

    def _fields(self, value: Any, kind: Kind) -> dict[str, Any]:
        values = kind.values_of(value).items()
        written = {name: self.plain(v, f"{kind.tag}.{name}") for name, v in values}
        return {"kind": kind.tag, **written}

    def _record(
        self, value: Any, write: Callable[[], dict[str, Any]]
    ) -> dict[str, int]:
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
        if value.dtype.kind not in _DTYPES or not value.dtype.isnative:
            raise ValueError(
                f"{where} is an array of {value.dtype}, which {_REFUSED}; expected "
                "numbers or text in the byte order of this machine"
            )
        if id(value) not in self._name_of_array:
            name = base = where.replace(" ", "_").removeprefix("skpce.")
            number = 1
            while name in self.arrays:
                number += 1
                name = f"{base}-{number}"
            # Else it would be written in "C" order, and rounded differently in
            # products of matrices.
            is_whole = value.flags.c_contiguous or value.flags.f_contiguous
            self.arrays[name] = value if is_whole else value.copy(order="K")
            self._name_of_array[id(value)] = name, value
        return {"array": self._name_of_array[id(value)][0]}

    def estimator(self, value: Any, where: str) -> Any:
        """Return where the record of an estimator is."""
        path = public_path(type(value))
        if path is not None:
            return self._record(value, lambda: self._parts(value, path))
        if hasattr(value, "dist"):
            raise ValueError(
                f"{where} is {type(value.dist).__name__} {value.dist.name!r}, no "
                "distribution of scipy.stats by its name; expected one that its name "
                "and its parameters make again"
            )
        if isinstance(value, BaseEstimator):
            raise ValueError(
                f"{where} is a {type(value).__name__}, which {_REFUSED}. It holds "
                f"{_HELD}; expected one of these"
            )
        raise ValueError(
            f"{where} is {shown(value)}, which {_REFUSED}; expected numbers, text, "
            "arrays of them, lists, dicts, distributions of scipy.stats and estimators "
            "that it holds"
        )

    def _parts(self, estimator: Any, path: str) -> dict[str, Any]:
        owner = type(estimator).__name__
        parameters = estimator.get_params(deep=False)
        if "memory" in parameters:  # of a Pipeline: a folder of this machine
            parameters["memory"] = None
        learned = {k: v for k, v in vars(estimator).items() if k not in parameters}
        output = learned.pop("_sklearn_output_config", {}).get("transform")
        holds = _fields_of(path, learned)
        fitted = {
            name: learned.pop(attribute)
            for name, attribute in attributes(holds).items()
            if attribute in learned
        }
        for name in learned:
            if path in OURS or name == "_metadata_request":
                raise ValueError(
                    f"estimator has the attribute {name!r} of {owner}, which "
                    f"{_REFUSED}; expected those of its class alone"
                )
        return {
            "kind": path,
            "parameters": self._named(parameters, owner),
            "fitted": self._named(fitted, owner),
            "output": output,
        }

    def _named(self, values: Mapping[str, Any], owner: str) -> dict[str, Any]:
        return {k: self.plain(value, f"{owner}.{k}") for k, value in values.items()}


# Reading


class _Reader:
    """Makes estimators from records, with arrays by name."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.made: list[Any] = []
        self.arrays = arrays
        self.used: set[str] = set()

    def read(self, records: Any) -> None:
        """Make the object of every record."""
        if type(records) is not list:
            raise ValueError(f"objects must be a list of records. Got {shown(records)}")
        for record in records:
            if type(record) is not dict or type(record.get("kind")) is not str:
                raise ValueError(f"expected a record with a kind. Got {shown(record)}")
            fields = dict(record)
            self.made.append(self._object_of(fields.pop("kind"), fields))

    def _object_of(self, tag: str, fields: dict[str, Any]) -> Any:
        if tag in ESTIMATORS:
            return self._estimator(tag, fields)
        if tag not in KINDS:
            raise ValueError(
                f"it holds a {shown(tag)}, which this version of skpce does not know"
            )
        return KINDS[tag].made(self._named(fields))

    def _estimator(self, path: str, fields: dict[str, Any]) -> Any:
        if set(fields) != {"parameters", "fitted", "output"}:
            raise ValueError(f"a {path!r} has the entries {shown(sorted(fields))}")
        estimator = _unfitted(path, self._named(fields["parameters"]))
        fitted = self._named(fields["fitted"])
        holds = _fields_of(path, fitted)
        if fitted:
            check_fields(path, fitted, holds)
            _check_targets(path, **fitted)
        known = attributes(holds)
        vars(estimator).update({known[name]: fitted[name] for name in fitted})
        if fields["output"] is not None:
            check_value(fields["output"], ("default", "pandas", "polars"))
            estimator.set_output(transform=fields["output"])
        return estimator

    def _named(self, plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise ValueError(f"expected named values. Got {shown(plain)}")
        return {name: self.value(value) for name, value in plain.items()}

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
                return self._array(name)
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

    def _array(self, name: Any) -> Any:
        if type(name) is not str or name not in self.arrays:
            raise ValueError(f"it lacks the array {shown(name)}")
        self.used.add(name)
        return self.arrays[name]

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


def _unfitted(path: str, parameters: dict[str, Any]) -> Any:
    """Return an estimator of these parameters."""
    made = class_of(path)
    known = inspect.signature(made).parameters
    for name in parameters:
        if name not in known:
            raise ValueError(f"{path} has no parameter {shown(name)} in this version")
    if path == "sklearn.pipeline.Pipeline":
        _check_pipeline(**parameters)
    for name in ("regressor", "target_transformer"):
        if parameters.get(name) is not None:
            check_estimator(parameters[name])
    return made(**parameters)


def _check_pipeline(steps: Any, memory: Any = None, **others: Any) -> None:
    if memory is not None:
        raise ValueError(f"the memory of a Pipeline must be None. Got {shown(memory)}")
    check_value(steps, "((any))")
    for step in steps:
        if len(step) != 2 or type(step[0]) is not str:
            raise ValueError(f"expected a name and an estimator. Got {shown(step)}")
        if step[1] is not None and step[1] != "passthrough":
            check_estimator(step[1])


def _check_targets(path: str, **fitted: Any) -> None:
    """Raise ``ValueError`` for an expansion of other targets than those of the fit."""
    if path != "skpce.PolynomialChaosRegressor":
        return
    found = fitted["expansion"].coefficients.shape
    if found != fitted["problem"].fit.coefficients.shape:
        raise ValueError(f"a {path!r} has an expansion of other targets than fitted")
