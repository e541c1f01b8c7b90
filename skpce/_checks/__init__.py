"""Checks of parameters, weights and names, and what every part of the package shares.

Checks of parameters have scikit-learn's wording: its own validator is private, so the
few rules that are needed are here. Every check happens in ``fit``; ``__init__`` only
stores.

On a busy machine a second BLAS thread costs a small factorisation one to two orders of
magnitude, so small fits use one. The limits of threadpoolctl, which comes with
scikit-learn, hold for the process: fits that overlap in several threads share one
limit, which the first sets and the last lifts. Since threadpoolctl 3.8 only the thread
that once set a limit of OpenBLAS may change it, and calls from others do nothing: each
thread takes that right before it sets or lifts the limit.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from errno import ENOENT
from functools import cache, cached_property
from glob import escape as escape_glob
from html import escape
from numbers import Integral, Real
from pathlib import Path
from socket import gethostname
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from .extras import (
    import_extra as import_extra,
)
from .levels import (
    validated as validated,
)
from .memory import (
    refuse_memory as refuse_memory,
)
from .numbers import (
    LARGEST_INTEGER,
)
from .numbers import (
    FloatArray as FloatArray,
)
from .numbers import (
    as_floats as as_floats,
)
from .numbers import (
    binary_scales as binary_scales,
)
from .numbers import (
    correlations_of as correlations_of,
)
from .numbers import (
    floats_with_nan as floats_with_nan,
)
from .numbers import (
    is_missing as is_missing,
)
from .numbers import (
    listed as listed,
)
from .numbers import (
    numbers_of_text as numbers_of_text,
)
from .numbers import (
    refuse_extremes as refuse_extremes,
)
from .numbers import (
    refuse_no_numbers as refuse_no_numbers,
)
from .numbers import (
    refuse_not_finite as refuse_not_finite,
)
from .numbers import (
    validated_array as validated_array,
)

IndexArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Members that a verdict needs. An input that explains 90 % of the variance has a Q²
#: below 0.25 in 5 % of ensembles of 8 members, in 10 % of 7, in 23 % of 5.
FEWEST_MEMBERS = 8

#: More samples than this are no whole numbers of a double.
LARGEST_COUNT = 2.0**53

P = ParamSpec("P")
R = TypeVar("R")


def fail(owner: str, name: str, expected: str, value: Any) -> ValueError:
    return ValueError(
        f"The {name!r} parameter of {owner} must be {expected}. Got {value!r} instead."
    )


def _floats(owner: str, name: str, value: Any, expected: str) -> FloatArray:
    try:
        refuse_no_numbers(value, name)
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise fail(owner, name, expected, value) from None


def finite_floats(owner: str, name: str, value: Any, expected: str) -> FloatArray:
    """Return a copy as an array of finite floats, or raise ``ValueError``."""
    values = _floats(owner, name, value, expected)
    if not values.size or not np.isfinite(values).all():
        raise fail(owner, name, expected, value)
    return values


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_position(value: Any, size: int) -> bool:
    """Return whether a value is an int from 0 to ``size - 1``."""
    return _is_integer(value) and 0 <= int(value) < size


def check_integer(
    owner: str,
    name: str,
    value: Any,
    *,
    low: int = 0,
    high: int | None = None,
    none_allowed: bool = False,
) -> None:
    """Raise ``ValueError`` unless ``value`` is an int from ``low`` to ``high``."""
    if value is None and none_allowed:
        return
    high = sys.maxsize if high is None else high
    if not _is_integer(value) or value < low or value > high:
        end = "inf)" if high == sys.maxsize else f"{high}]"
        suffix = " or None" if none_allowed else ""
        raise fail(owner, name, f"an int in the range [{low}, {end}{suffix}", value)


#: More permutations, resamples or repeated fits than this take hours.
MOST_REPEATS = 200_000


def check_real(
    owner: str,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    closed: str = "neither",
) -> None:
    """Raise ``ValueError`` unless ``value`` is a real number in the interval.

    ``closed`` is one of ``"left"``, ``"right"``, ``"both"``, ``"neither"``.
    """
    left, right = closed in ("left", "both"), closed in ("right", "both")
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(value, int):
        is_real &= abs(value) <= LARGEST_INTEGER
    valid = (
        is_real
        and (value >= low if left else value > low)
        and (value <= high if right else value < high)
    )
    if not valid:
        interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
        raise fail(owner, name, f"a float in the range {interval}", value)


def check_draws(
    owner: str, name: str, value: Any, *, low: int = 1, each: int = 1
) -> None:
    """Refuse what is no number of draws, and draws that exceed the memory.

    Each draw takes ``each`` numbers, of which a few copies are in use.
    """
    check_integer(owner, name, value, low=low)
    refuse_memory(owner, 32.0 * min(int(value), 10**30) * each, f"{name}={value}")


def check_option(owner: str, name: str, value: Any, options: Collection[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of the named options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in sorted(options))
        raise fail(owner, name, f"one of {listed}", value)


def check_boolean(owner: str, name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise fail(owner, name, "a bool", value)


def check_rows(owner: str, name: str, value: Any, *, dense: bool = True) -> None:
    """Raise ``ValueError`` unless ``value`` has rows; of what is left to others."""
    if dense and issparse(value):
        raise fail(owner, name, "a dense table", value)
    if isinstance(value, str) or not hasattr(value, "__len__"):
        raise fail(owner, name, "a table with a row for each member", value)
    if getattr(value, "ndim", 1) == 0:
        raise fail(owner, name, "a table with a row for each member", value)


def check_alphas(owner: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` is None or positive finite numbers."""
    if value is None:
        return
    expected = "None or an array-like of positive finite floats"
    alphas = finite_floats(owner, "alphas", value, expected)
    if alphas.ndim != 1 or np.any(alphas <= 0):
        raise fail(owner, "alphas", expected, value)


def check_positive_weights(
    owner: str, name: str, value: Any, n_features: int
) -> FloatArray:
    """Return one positive finite weight per feature; ones for None."""
    if value is None:
        return np.ones(n_features)
    expected = "None or an array-like of positive finite floats, one per feature"
    weights = _floats(owner, name, value, expected)
    if weights.ndim == 1 and len(weights) != n_features:
        raise ValueError(
            f"The {name!r} parameter of {owner} has {len(weights)} entries but there "
            f"are {n_features} features in X. Give one weight per feature."
        )
    if weights.ndim != 1 or not np.all((weights > 0) & np.isfinite(weights)):
        raise fail(owner, name, expected, value)
    return weights


@dataclass(frozen=True)
class Samples:
    """Samples of positive weight."""

    inputs: FloatArray  # shape: (n_samples, n_features)
    targets: FloatArray  # shape: (n_samples, n_targets)
    weights: FloatArray  # shape: (n_samples,)

    @cached_property
    def lacks_targets(self) -> bool:
        """Whether some samples lack a target (NaN)."""
        return bool(np.isnan(self.targets).any())

    def of(self, rows: IndexArray, targets: IndexArray) -> Samples:
        """Select rows and targets."""
        chosen = self.targets[np.ix_(rows, targets)]
        return Samples(self.inputs[rows], chosen, self.weights[rows])

    def copy(self) -> Samples:
        """Return samples that no caller can change."""
        return Samples(self.inputs.copy(), self.targets.copy(), self.weights.copy())

    def at_least_one_copy(self) -> Samples:
        """Scale weights that add up to less than the number of samples up to it."""
        weights = at_least_one_copy(self.weights)
        return self if weights is self.weights else replace(self, weights=weights)


def at_least_one_copy(weights: FloatArray) -> FloatArray:
    """Scale frequencies that were normalised so that a row counts once on average."""
    total, count = float(weights.sum()), float(np.count_nonzero(weights))
    return weights if total >= count * (1.0 - 1e-9) else weights * (count / total)


def checked_sample_weight(
    sample_weight: ArrayLike | None,
    X: FloatArray,
    name: str = "sample_weight",
    largest: float = LARGEST_COUNT,
) -> FloatArray:
    """Return float weights of shape (n_samples,); None means one copy of each row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = as_floats(sample_weight, name)
    if weights.shape != (X.shape[0],):
        raise ValueError(
            f"{name}.shape == {weights.shape}, expected {(X.shape[0],)}, a weight for "
            "each row of X or y!"
        )
    refuse_not_finite(weights, name)
    if np.any(weights < 0):
        raise ValueError(
            f"{name} must be non-negative; the smallest is {float(weights.min())!r}."
        )
    if not np.any(weights > 0):
        raise ValueError(f"{name} must not be all zero: no sample is left.")
    if np.isfinite(largest) and weights.sum() > largest:
        raise ValueError(
            f"{name} adds up to {float(weights.sum())!r}; weights are frequencies, of "
            f"which at most {largest:g} are expected. Rescale them."
        )
    return weights


def input_names(estimator: Any, input_features: ArrayLike | None = None) -> list[str]:
    """Return the names of the inputs of a fitted estimator."""
    seen = getattr(estimator, "feature_names_in_", None)
    names = _positions(estimator.n_features_in_) if seen is None else list(seen)
    return chosen_names(input_features, names)


def chosen_names(input_features: ArrayLike | None, seen: Sequence[str]) -> list[str]:
    """Return the names given, or those seen in ``fit`` for None.

    Names that are only positions (``x0, x1, ...``) are replaced by any others.
    """
    if input_features is None:
        return list(seen)
    names = [str(name) for name in np.asarray(input_features, dtype=object)]
    if list(seen) not in (_positions(len(seen)), names):
        raise ValueError(
            "input_features is not equal to feature_names_in_; expected "
            f"{list(seen)}. Got {names}."
        )
    if len(names) != len(seen):
        raise ValueError(
            "input_features should have length equal to number of features "
            f"({len(seen)}), got {len(names)}"
        )
    return names


def refuse_other_names(
    what: str, given: Sequence[str] | None, names: Sequence[str] | None
) -> None:
    """Refuse inputs that have other names than expected, or another order.

    Names that are only positions (``x0, x1, ...``) or unknown (None) match any.
    """
    if given is None or names is None:
        return
    first, second = ([str(name) for name in some] for some in (given, names))
    if _positions(len(first)) == first or _positions(len(second)) == second:
        return
    if first != second:
        raise ValueError(
            f"{what} has the inputs {first}; expected {second}, in this order."
        )


def _positions(n_features: int) -> list[str]:
    return [f"x{i}" for i in range(n_features)]


def checked_random_state(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's ``random_state``, or raise ``ValueError`` by its name."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, an int from 0 to 4294967295 or a "
            f"numpy.random.RandomState. Got {random_state!r} instead."
        ) from None


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator from scikit-learn's ``random_state``."""
    seed = checked_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Undo every attribute that was set inside, if an exception leaves it."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# Design matrices with fewer entries are small: a second thread gains nothing.
_SMALL = 4_000_000


@cache
def _controller() -> ThreadpoolController:
    """Find the thread pools once, as this takes milliseconds."""
    return ThreadpoolController()


@cache
def _thread_counts() -> list[Callable[[], int | None]]:
    """Return what counts the threads of each BLAS."""
    every = _controller().lib_controllers
    return [pool.get_num_threads for pool in every if pool.user_api == "blas"]


def _clear_controlling_thread() -> None:
    """Let this thread, and later any other, set limits; no-op before 3.8."""
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class _SharedLimit:
    """One thread for as long as any fit is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0 and any(n() != 1 for n in _thread_counts()):
                _clear_controlling_thread()
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._limit is not None:
                _clear_controlling_thread()
                self._limit.restore_original_limits()
                _clear_controlling_thread()
                self._limit = None


_SHARED_LIMIT = _SharedLimit()


def one_thread_if_small(n_entries: int) -> AbstractContextManager[None]:
    """Use one BLAS thread inside, when a design matrix has few entries."""
    return nullcontext() if n_entries >= _SMALL else _SHARED_LIMIT


def state_of_fields(noun: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without what was computed from them.

    To be its ``__getstate__``, so that pickles and copies are small.
    """
    return {entry.name: getattr(noun, entry.name) for entry in fields(noun)}


def check_path(owner: str, path: Any) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless this can be the path of a file."""
    error = fail(owner, "path", "the path of a file", path)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(str(error))
    if not Path(path).name:
        raise error


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file in one piece, so that no reader finds half of it."""
    target = Path(path)
    if not target.parent.is_dir():  # else the message would name the temporary file
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(target.parent))
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ValueError(f"{target} is a device or a pipe; expected a path of a file.")
    here = f".{target.name}.{gethostname()}-"  # process numbers are those of a machine
    _remove_leftovers(target.parent, here)
    temporary = target.with_name(f"{here}{os.getpid()}-{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(content)  # with the rights of umask
        os.replace(temporary, target)
    except OSError as error:  # a full disk names no file, others the temporary one
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what writers of a file left which were killed on this machine."""
    if os.name != "posix":  # signal 0 is a real one elsewhere
        return
    for path in folder.glob(f"{escape_glob(prefix)}*.tmp"):
        number = path.name.removeprefix(prefix).partition("-")[0]
        if number.isdecimal():
            try:
                os.kill(int(number), 0)
            except ProcessLookupError:
                path.unlink(missing_ok=True)
            except (OSError, OverflowError):
                continue


def format_cell(value: Any, digits: int = 3) -> str:
    """Return a short text: three digits, yes/no, a dash for NaN."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "–" if np.isnan(value) else f"{value + 0.0:.{digits}g}"
    if isinstance(value, tuple):
        return "; ".join(str(part) for part in value)
    return str(value)


def html_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[Any]],
    caption: str = "",
    digits: int = 3,
) -> str:
    """Return an HTML table whose cells are short texts."""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    cells = (
        "".join(f"<td>{escape(format_cell(cell, digits))}</td>" for cell in row)
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def method_of(
    attribute: str,
    function: Callable[Concatenate[Any, P], R],
    *,
    inputs: str | None = "X",
) -> Callable[Concatenate[Any, P], R]:
    """Return a method that calls a function of an attribute of a fitted estimator.

    The method has the name, the signature and the documentation of the function. The
    argument named ``inputs`` is first checked for the number and the names of its
    features; what is missing or infinite in it is left to the function.
    """
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        source = getattr(self, attribute)
        # What is missing is left to the function, which reports it.
        try:
            call: Any = signature.bind_partial(source, *args, **kwargs)
        except TypeError as error:
            owner = f"{type(self).__name__}.{function.__name__}()"
            raise TypeError(f"{owner} {error}") from None
        if call.arguments.get(inputs) is not None:
            call.arguments[inputs] = validated(
                self, call.arguments[inputs], reset=False, ensure_all_finite=False
            )
        return function(*call.args, **call.kwargs)

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(method, name, getattr(function, name, None))
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="self"), *others]
    )
    return method


def attribute_of(attribute: str, read: Callable[[Any], Any]) -> property:
    """Return a fitted attribute that is read from another one."""
    return _FittedAttribute(attribute, read)


class _FittedAttribute(property):
    """A property whose absence before ``fit`` is reported under its own name."""

    def __init__(self, attribute: str, read: Callable[[Any], Any]) -> None:
        super().__init__(self._value)
        self._attribute, self._read, self._name = attribute, read, attribute

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def _value(self, estimator: Any) -> Any:
        try:
            source = getattr(estimator, self._attribute)
        except AttributeError:
            raise AttributeError(
                f"{type(estimator).__name__!r} object has no attribute {self._name!r}",
                name=self._name,
                obj=estimator,
            ) from None
        return self._read(source)
