"""What counts as passed: invariants that hold, or a refusal that says what is wrong.

A call is *accepted* when it returns and its result has no broken invariant. It is
*refused* when it raises ``ValueError`` or ``TypeError`` whose message names an argument
and what is expected of it. Everything else is *unexplained*: other exceptions, among
them those of linear algebra and warnings of arithmetic, calls without an end, messages
that name nothing, and results that cannot be true.
"""

from __future__ import annotations

import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.exceptions import ComplexWarning
from scipy.linalg import LinAlgWarning

ACCEPTED, REFUSED, UNEXPLAINED = "accepted", "refused", "unexplained"

#: Seconds after which a call counts as one without an end.
LONGEST = 120

# What a message says of what would have been right.
_EXPECTATION = re.compile(
    r"expect|must|should|needs?\b|give|at (least|most)|instead|required|requires"
    r"|minimum|does not match|contains (NaN|inf)|infinit|not supported|differ"
    r"|no tabl|has no|takes no|unknown|unexpected|missing|Lower|refuse|only|not equal"
    r"|\bbut\b|all zero|not to \d|masked|does not hold"
    r"|more than once|twice|cannot|could not",
    re.IGNORECASE,
)

# scikit-learn's own messages about the arrays of ``fit`` and ``predict``.
_OF_SCIKIT_LEARN = re.compile(
    r"Found array with|Found input variables with inconsistent|Expected 2D array"
    r"|feature names|inconsistent length|setting an array element|numbers? of samples"
    r"|Expected 2D|Singleton array|Unknown label|float\(\) argument|dtype=|bad input"
    r"|Expected sequence or array-like|could not convert|should have at least 1 dim"
)


# What the rows and columns of X and y are called.
_AXES = frozenset(
    {
        "X",
        "y",
        "input",
        "draws",
        "estimator",
        "members",
        "samples",
        "features",
        "targets",
        "parts",
        "inputs",
    }
)


@dataclass(frozen=True)
class Case:
    """One call, what may be wrong with its result, and what a refusal may name."""

    name: str  # of the public callable, such as skpce.metrics.crps_score
    call: Callable[[], Any]
    faults: Callable[[Any], Iterable[str]]  # broken invariants of the result
    arguments: frozenset[str]  # one of which a refusal names
    described: str  # for the reader
    is_fit: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a call ended."""

    name: str
    kind: str  # ACCEPTED, REFUSED or UNEXPLAINED
    reason: str  # message of a refusal, or what is unexplained
    described: str
    is_fit: bool


class NoEndError(Exception):
    """A call took too long."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise ``NoEndError`` after some seconds, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: Any) -> None:
        raise NoEndError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(case: Case) -> Outcome:
    """Make the call and say how it ended."""

    def ended(kind: str, reason: str) -> Outcome:
        return Outcome(case.name, kind, reason, case.described, case.is_fit)

    try:
        with within(LONGEST), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # (ill-conditioned matrices of a regressor of the caller warn in words)
            for category in (RuntimeWarning, ComplexWarning, DeprecationWarning):
                warnings.simplefilter("error", category)
            warnings.simplefilter("ignore", LinAlgWarning)
            faults = list(case.faults(case.call()))
    except (ValueError, TypeError) as error:
        problem = _problem_of_refusal(error, case.arguments)
        if problem is None:
            return ended(REFUSED, str(error))
        return ended(UNEXPLAINED, f"{problem}: {_where(error)}")
    except (Exception, NoEndError) as error:
        return ended(UNEXPLAINED, _where(error))
    if faults:
        return ended(UNEXPLAINED, "; ".join(faults[:3]))
    return ended(ACCEPTED, "")


def _problem_of_refusal(error: Exception, arguments: frozenset[str]) -> str | None:
    """Return what is wrong with the message of a refusal; None for nothing."""
    if type(error).__module__.startswith("numpy"):
        return "an error of linear algebra"
    message = str(error)
    if _OF_SCIKIT_LEARN.search(message):
        return None
    words = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", message))
    if not words & (arguments | _AXES):
        return "the message names no argument"
    if not _EXPECTATION.search(message):
        return "the message does not say what is expected"
    return None


def _where(error: BaseException) -> str:
    """Return the type, the message, and the line that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/skpce/" in frame.filename]
    last = (ours or frames or [None])[-1]
    place = "" if last is None else f" [{last.filename.split('/')[-1]}:{last.lineno}]"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{place}"
