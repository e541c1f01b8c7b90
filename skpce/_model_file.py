"""Model files: estimators on disk, as arrays and plain JSON.

A model file is an ``.npz`` file of numpy: a zip archive, not compressed, of
``model.json`` and one ``.npy`` file per array. The comment of the archive, which is the
end of the file, is the SHA-256 of all bytes before it. The page on model files of the
user guide describes the entries of ``model.json``.

What is not plain data is an *object*: its kind and its named fields. ``NOUNS`` lists
the kinds; their fields are those of the dataclass, or the parameters of the class.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
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
    InputModelSolver,
)
from ._compositions.log_ratio import LogRatioGeometry, StepLayout
from ._expansion.expansion import Expansion
from ._expansion.intervals import SobolInterval
from ._expansion.problem import FittedProblem
from ._input_laws import NAMED_LAWS, scores
from ._input_laws.families import FiniteMeasure
from ._input_laws.other_libraries import all_in_scipy
from ._input_laws.tabulated import ContinuousLaw, DiscreteLaw
from ._learned.prior import TermPrior
from ._learned.ridge import KernelBasis, LearnedRidgeSolver
from ._solvers import SOLVERS
from ._solvers.external import ExternalSolver
from ._solvers.problem import (
    CRITERIA,
    DesignMoments,
    Leverage,
    LeverageFactor,
    LinearFit,
)
from ._version import __version__

FORMAT = "skpce model"
VERSION = 1

_JSON = "model.json"
_DIGITS = 64

# Kinds of numbers and text that arrays may hold.
_DTYPES = "biufcU"

#: Classes of objects by their kinds. One that is new is one line here.
NOUNS: Mapping[str, type] = {
    **{f"{name} distribution": law for name, law in NAMED_LAWS.items()},
    "continuous distribution": ContinuousLaw,
    "discrete distribution": DiscreteLaw,
    "finite measure": FiniteMeasure,
    **{
        f"{name} solver": type(make(np.ones(1), CRITERIA[0]))
        for name, make in SOLVERS.items()
    },
    "learned ridge": LearnedRidgeSolver,
    "regressor of the basis": ExternalSolver,
    "regressor of the inputs": InputModelSolver,
    "basis": PolynomialBasis,
    "basis of kernels": KernelBasis,
    "prior of terms": TermPrior,
    "expansion": Expansion,
    "linear fit": LinearFit,
    "leverage": Leverage,
    "leverage factor": LeverageFactor,
    "samples": Samples,
    "sums over the samples": DesignMoments,
    "fitted problem": FittedProblem,
    "intervals of indices": SobolInterval,
    "fit to models of the inputs": InputModelFit,
    "steps": StepLayout,
    "amalgamation": Amalgamation,
    "log-ratio coordinates": LogRatioGeometry,
    "compositions": FittedCompositions,
    "diagnostics": scores.SurrogateDiagnostics,
    "column of a distribution": scores.DistributionMap,
    "linear column": scores.LinearMap,
    "normal scores": scores.GaussianScores,
}
_KIND_OF: Mapping[type, str] = {noun: kind for kind, noun in NOUNS.items()}

#: Estimators by their public names.
OURS = (
    "skpce.PolynomialChaosRegressor",
    "skpce.CompositionalPCESurrogate",
    "skpce.PolynomialChaosFeatures",
    "skpce.LogRatioTransformer",
    "skpce.NatafTransformer",
    "skpce.embedding.PLSTransformer",
)

_LINEAR_MODELS = (
    *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV"),
    *("HuberRegressor", "Lars", "LarsCV", "Lasso", "LassoCV", "LassoLars"),
    *("LassoLarsCV", "LassoLarsIC", "LinearRegression", "OrthogonalMatchingPursuit"),
    *("OrthogonalMatchingPursuitCV", "Ridge", "RidgeCV"),
)

#: Others whose parameters and attributes are plain data.
OF_SCIKIT_LEARN = (
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing.StandardScaler",
    "sklearn.preprocessing.MinMaxScaler",
    "sklearn.preprocessing.MaxAbsScaler",
    "sklearn.preprocessing.RobustScaler",
    "sklearn.preprocessing.QuantileTransformer",
    "sklearn.decomposition.PCA",
    "sklearn.decomposition.TruncatedSVD",
    "sklearn.feature_selection.VarianceThreshold",
    "sklearn.cross_decomposition.PLSRegression",
    *(f"sklearn.linear_model.{name}" for name in _LINEAR_MODELS),
)

_REFUSED = "a model file does not hold"

# Names of the estimators that it holds.
_HELD = " and, of scikit-learn, ".join(
    ", ".join(path.rpartition(".")[2] for path in paths)
    for paths in (OURS, OF_SCIKIT_LEARN)
)


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
        If the file cannot be written, such as a ``FileNotFoundError`` where its folder
        does not exist. Nothing half-written stays.

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
            f"estimator is {_shown(estimator)}; expected one that a model file holds: "
            f"{_HELD}."
        )
    writer = _Writer()
    model = writer.plain(estimator, "the model")
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
    as_json = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    objects = ",\n".join(map(as_json, writer.records))  # each on a line of its own
    text = f'{as_json(head)[:-1]}, "objects": [\n{objects}\n]}}\n'
    write_file(path, _archive(text.encode(), writer.arrays))


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


# The file


def _archive(description: bytes, arrays: Mapping[str, Any]) -> bytes:
    """Return a zip archive that ends in the digest of what is before."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_JSON), description)  # of no date
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as part:
                npy.write_array(part, array, version=(1, 0), allow_pickle=False)
        archive.comment = b"0" * _DIGITS
    content = buffer.getvalue()[:-_DIGITS]
    return content + hashlib.sha256(content).hexdigest().encode()


def _members(content: bytes) -> dict[str, Any]:
    """Return the arrays, and the bytes of other parts, of an archive as written."""
    body, digest = content[:-_DIGITS], content[-_DIGITS:]
    if not content.startswith(b"PK"):
        raise ValueError("it is no zip archive, or its beginning is missing")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(
            "it does not end in the SHA-256 of its content. It is another archive, or "
            "it was cut off, damaged or edited after it was written"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as parts:
        members = {name: parts[name] for name in parts.files}
    if _JSON not in members:
        raise ValueError(f"it has no part {_JSON}")
    for name, array in members.items():
        if name != _JSON and not isinstance(array, np.ndarray):
            raise ValueError(f"its part {name!r} is no array")
        if name != _JSON and array.dtype.kind not in _DTYPES:
            raise ValueError(f"its part {name!r} is an array of {array.dtype}")
    return members


def _model_of(content: bytes) -> Any:
    """Return the estimator of the bytes of a file."""
    arrays = _members(content)
    description = json.loads(arrays.pop(_JSON))
    if type(description) is not dict or description.get("format") != FORMAT:
        raise ValueError(f"its {_JSON} does not say that the format is {FORMAT!r}")
    if description.get("version") != VERSION:
        raise ValueError(
            f"its format has version {_shown(description.get('version'))}, and skpce "
            f"{__version__} reads version {VERSION}. Install the skpce that wrote it"
        )
    reader = _Reader(arrays)
    for record in description["objects"]:
        reader.made.append(_object_of(record, reader))
    model = reader.value({"object": description["model"]})
    if public_path(type(model)) is None:
        raise ValueError("what it holds is no estimator")
    return model


def _shown(value: Any) -> str:
    """Return a short text of a value, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# What objects hold


def field_names(noun: type) -> tuple[str, ...]:
    """Return the names of what an object of a class holds."""
    if is_dataclass(noun):
        return tuple(entry.name for entry in fields(noun))
    parameters = inspect.signature(noun).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)


def public_path(estimator_class: type) -> str | None:
    """Return the public name of a class that a model file can hold, else None."""
    for path in (*OURS, *OF_SCIKIT_LEARN):
        if path.endswith(f".{estimator_class.__name__}"):
            return path if _class_of(path) is estimator_class else None
    return None


def _class_of(path: str) -> Any:
    """Return the class of a public name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


#: Class of a discrete distribution that was made from a table.
_TABLE = type(stats.rv_discrete(values=([0.0], [1.0])))


def _parts_of_scipy(frozen: Any) -> dict[str, Any] | None:
    """Return name and parameters of a distribution; None without a name in scipy."""
    family = frozen.dist
    name, table = family.name, None
    if type(family) is stats.rv_histogram:
        name, table = "rv_histogram", (*family._histogram, family._density)
    elif type(family) is _TABLE:
        name, table = "rv_discrete", (family.xk, family.pk)
    known = getattr(stats, str(name), None)
    if table is None and (
        type(known) is not type(family)
        or any(getattr(known, k) != getattr(family, k) for k in ("a", "b", "shapes"))
    ):
        return None
    parts = {"arguments": frozen.args, "keywords": frozen.kwds}
    return {"family": name, **parts, "table": table}


def _scipy_distribution(
    family: str, arguments: Any, keywords: dict[str, Any], table: Any
) -> Any:
    """Freeze a distribution of ``scipy.stats``, given by its name."""
    found = getattr(stats, family, None)
    if table is not None and family == "rv_discrete":
        found = stats.rv_discrete(values=(table[0], table[1]))
    elif table is not None and family == "rv_histogram":
        found = stats.rv_histogram((table[0], table[1]), density=table[2])
    if not isinstance(found, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(f"scipy.stats has no distribution {_shown(family)}")
    return found(*arguments, **keywords)


def _random_state(state: Any) -> np.random.RandomState:
    made = np.random.RandomState()
    made.set_state(state)
    return made


#: Functions that make objects of other kinds.
_MADE: Mapping[str, Callable[..., Any]] = {
    "scipy distribution": _scipy_distribution,
    "random state": _random_state,
}


# Writing


class _Writer:
    """Writes objects as records, and their arrays apart, by name.

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
        if of in (np.ndarray, np.memmap):
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            number = self.plain(value.item(), where)
            return {"number": value.dtype.name, "value": number}
        known = all_in_scipy(value)  # a distribution of another library
        if known is not value:
            return self.plain(known, where)
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> dict[str, int]:
        """Return where the record of an object is, which is written if it is new."""
        if id(value) not in self._position:
            record = self._record(value, where)
            self._position[id(value)] = len(self.records), value
            self.records.append(record)
        return {"object": self._position[id(value)][0]}

    def _record(self, value: Any, where: str) -> dict[str, Any]:
        path = public_path(type(value))
        if path is not None:
            state = dict(vars(value))
            if "memory" in state:  # of a Pipeline: a folder of this machine
                state["memory"] = None
            return {"kind": path, "state": self._named(state, type(value).__name__)}
        kind, parts = _KIND_OF.get(type(value)), None
        if kind is not None:
            parts = {name: getattr(value, name) for name in field_names(type(value))}
        elif hasattr(value, "dist") and hasattr(value, "args"):
            kind, parts = "scipy distribution", _parts_of_scipy(value)
        elif isinstance(value, np.random.RandomState):
            state = value.get_state(legacy=False)
            is_ours = state["bit_generator"] == "MT19937"
            kind, parts = "random state", {"state": state} if is_ours else None
        if kind is None or parts is None:
            raise ValueError(_not_held(value, where))
        return {"kind": kind, **self._named(parts, kind)}

    def _named(self, values: Mapping[str, Any], owner: str) -> dict[str, Any]:
        return {k: self.plain(value, f"{owner}.{k}") for k, value in values.items()}

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
            name = base = where.replace(" ", "_")
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


def _not_held(value: Any, where: str) -> str:
    """Say what a model file does not hold."""
    if hasattr(value, "dist"):
        return (
            f"{where} is {type(value.dist).__name__} {value.dist.name!r}, no "
            "distribution of scipy.stats by its name; expected one that its name "
            "and its parameters make again"
        )
    if isinstance(value, BaseEstimator):
        return (
            f"{where} is a {type(value).__name__}, which {_REFUSED}. It holds "
            f"{_HELD}; expected one of these"
        )
    return (
        f"{where} is {_shown(value)}, which {_REFUSED}; expected numbers, text, arrays "
        "of them, lists, dicts, distributions of scipy.stats and estimators that it "
        "holds"
    )


# Reading


def _object_of(record: Any, reader: _Reader) -> Any:
    """Return the object of a record; classes are those that are listed, no others."""
    values = dict(record)
    kind = values.pop("kind")
    is_estimator = kind in OURS or kind in OF_SCIKIT_LEARN
    if not is_estimator and kind not in NOUNS and kind not in _MADE:
        raise ValueError(
            f"it holds a {_shown(kind)}, which this version of skpce does not know"
        )
    named = reader.named(values["state"] if is_estimator else values)
    if kind in _MADE:
        return _MADE[kind](**named)
    noun = _class_of(kind) if is_estimator else NOUNS[kind]
    if is_estimator:
        for name in named:
            if callable(getattr(noun, name, None)):
                raise ValueError(f"a {noun.__name__} has no attribute {name!r}")
        if "memory" in named:  # no folder is made that a file names
            named["memory"] = None
    elif set(named) != set(field_names(noun)):
        raise ValueError(f"a {kind!r} has the fields {', '.join(sorted(named))}")
    if not (is_estimator or is_dataclass(noun)):
        return noun(**named)
    made = object.__new__(noun)  # as it was: nothing is checked or completed again
    vars(made).update(named)
    return made


class _Reader:
    """Values of plain data, with arrays by name and the objects made before."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.made: list[Any] = []

    def named(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by their names."""
        return {name: self.value(value) for name, value in plain.items()}

    def value(self, plain: Any) -> Any:
        """Return the value that plain data stand for."""
        if type(plain) is list:
            return [self.value(entry) for entry in plain]
        if type(plain) is not dict:
            return plain
        match plain:
            case {"object": int(position)} if 0 <= position < len(self.made):
                return self.made[position]
            case {"array": str(name)} if name in self.arrays:
                return self.arrays[name]
            case {"tuple": [*entries]}:
                return tuple(map(self.value, entries))
            case {"mapping": [*pairs]}:
                return {self.value(key): self.value(value) for key, value in pairs}
            case {"float": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"number": str(name), "value": value}:
                return np.dtype(name).type(self.value(value))
            case {"entries": [*entries], "shape": [*shape]}:
                values = np.empty(len(entries), dtype=object)
                for number, entry in enumerate(entries):  # an entry may be a list
                    values[number] = self.value(entry)
                return values.reshape(shape)
        raise ValueError(f"it does not hold what {_shown(plain)} stands for")
