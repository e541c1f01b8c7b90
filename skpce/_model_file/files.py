"""Model files: estimators on disk, as arrays and plain JSON.

A model file is an ``.npz`` file of numpy: a zip archive, not compressed, of
``model.json`` and one ``.npy`` file per array. The comment of the archive, which is the
end of the file, is the SHA-256 of all bytes before it. The page on model files of the
user guide describes the entries of ``model.json``. ``"format"``, ``"version"`` and the
digest at the end will be so in every version.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.lib import format as npy
from sklearn.base import BaseEstimator

from .._checks import check_path, write_file
from .._version import __version__
from .kinds import (
    ESTIMATORS,
    OF_SCIKIT_LEARN,
    OURS,
    check_estimator,
    class_of,
    public_path,
)
from .state import Field, Reader, Writer, check_fields, check_value, shown

FORMAT = "skpce model"
VERSION = 3

_JSON = "model.json"
_DIGITS = 64

# Kinds of numbers and text that arrays may hold.
_DTYPES = "biufcU"

# Longest header of an array; numpy writes one of 128 bytes for up to ten axes.
_LONGEST_HEADER = 10_000


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
    writer = _FileWriter()
    model = writer.other(estimator, "the model")
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


def _model_of(content: bytes) -> Any:
    """Return the estimator of the bytes of a file."""
    members = _members(content)
    description = json.loads(members.pop(_JSON), parse_constant=_refuse_constant)
    _check_version(description)
    arrays = {
        name.removesuffix(".npy"): _array_of(name, part)
        for name, part in members.items()
    }
    reader = _FileReader(arrays)
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
    version = description.get("version")
    if type(version) is not int or version < 1:
        raise ValueError(f"the version of its format is {shown(version)}")
    if version > VERSION:
        raise ValueError(
            f"its format has version {version}, and skpce {__version__} reads versions "
            f"up to {VERSION}. Install a newer skpce"
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


_REFUSED = "a model file does not hold"

# Names of the estimators that it holds.
_HELD = " and, of scikit-learn, ".join(
    ", ".join(path.rpartition(".")[2] for path in paths)
    for paths in (OURS, OF_SCIKIT_LEARN)
)


class _FileWriter(Writer):
    """Writes estimators as records, and their arrays apart, by name."""

    in_a_file = True

    def __init__(self) -> None:
        super().__init__()
        self.arrays: dict[str, Any] = {}
        self._name_of_array: dict[int, str] = {}

    def array(self, value: Any, where: str) -> Any:
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
            self.arrays[name] = value
            self._name_of_array[id(value)] = name
        return {"array": self._name_of_array[id(value)]}

    def other(self, value: Any, where: str) -> Any:
        path = public_path(type(value))
        if path is not None:
            return self.record(value, lambda: self._estimator(value, path))
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

    def _estimator(self, estimator: Any, path: str) -> dict[str, Any]:
        owner = type(estimator).__name__
        parameters = estimator.get_params(deep=False)
        if "memory" in parameters:  # of a Pipeline: a folder of this machine
            parameters["memory"] = None
        attributes = {k: v for k, v in vars(estimator).items() if k not in parameters}
        output = attributes.pop("_sklearn_output_config", {}).get("transform")
        fitted = {
            name: attributes.pop(entry.attribute)
            for name, entry in _fields_of(path, attributes).items()
            if entry.attribute in attributes
        }
        for name in attributes:
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


def _fields_of(path: str, attributes: Mapping[str, Any]) -> dict[str, Field]:
    """Return the fitted fields, of scikit-learn with every public fitted attribute."""
    fields = dict(ESTIMATORS[path])
    if path in OF_SCIKIT_LEARN:
        learned = [n for n in attributes if n.endswith("_") and not n.startswith("_")]
        fields |= {name: Field(name) for name in learned if name not in fields}
    return fields


class _FileReader(Reader):
    """Makes estimators from records, with arrays by name."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        super().__init__()
        self.arrays = arrays
        self.used: set[str] = set()

    def array(self, name: Any) -> Any:
        if type(name) is not str or name not in self.arrays:
            raise ValueError(f"it lacks the array {shown(name)}")
        self.used.add(name)
        return self.arrays[name]

    def object_of(self, tag: str, fields: dict[str, Any]) -> Any:
        if tag not in ESTIMATORS:
            return super().object_of(tag, fields)
        if set(fields) != {"parameters", "fitted", "output"}:
            raise ValueError(f"a {tag!r} has the entries {shown(sorted(fields))}")
        estimator = _unfitted(tag, self._named(fields["parameters"]))
        fitted = self._named(fields["fitted"])
        expected = _fields_of(tag, fitted)
        if fitted:
            check_fields(tag, fitted, expected)
            _check_targets(tag, **fitted)
        vars(estimator).update(
            {expected[name].attribute: fitted[name] for name in fitted}
        )
        if fields["output"] is not None:
            check_value(fields["output"], ("default", "pandas", "polars"))
            estimator.set_output(transform=fields["output"])
        return estimator

    def _named(self, plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise ValueError(f"expected named values. Got {shown(plain)}")
        return {name: self.value(value) for name, value in plain.items()}


def _unfitted(path: str, parameters: dict[str, Any]) -> Any:
    """Return an estimator of these parameters."""
    made = class_of(path)
    known = inspect.signature(made).parameters
    for name in parameters:
        if name not in known:
            raise ValueError(f"{path} has no parameter {shown(name)} in this version")
    if path == "sklearn.pipeline.Pipeline":
        _check_pipeline(**parameters)
    return made(**parameters)


def _check_pipeline(steps: Any, memory: Any = None, **others: Any) -> None:
    if memory is not None:
        raise ValueError(f"the memory of a Pipeline must be None. Got {shown(memory)}")
    check_value(steps, tuple[tuple[Any, ...], ...])
    for step in steps:
        if len(step) != 2 or type(step[0]) is not str:
            raise ValueError(f"expected a name and an estimator. Got {shown(step)}")
        if step[1] is not None and type(step[1]) is not str:
            check_estimator(step[1])


def _check_targets(path: str, **fitted: Any) -> None:
    """Raise ``ValueError`` for an expansion of other targets than those of the fit."""
    if path != "skpce.PolynomialChaosRegressor":
        return
    found = fitted["expansion"].coefficients.shape
    if found != fitted["problem"].fit.coefficients.shape:
        raise ValueError(f"a {path!r} has an expansion of other targets than fitted")
