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

# How a message says what would have been right.
_EXPECTATION = re.compile(
    r"\b(must|should|[Ee]xpect(s|ed|ing)?|needs?|requires?|at (least|most)|up to"
    r"|Give|Use|Rescale|Lower|Leave|Fit|Reduce)\b|; (give|leave|use)\b"
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
    spoiled: str = ""  # the argument that is wrong, when one is known to be
    sound: Callable[[], Any] | None = None  # the call before it was spoiled


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
        with _strictly():
            faults = list(case.faults(case.call()))
    except (ValueError, TypeError) as error:
        problem = _problem_of_refusal(error, case)
        if problem is None:
            return ended(REFUSED, str(error))
        return ended(UNEXPLAINED, f"{problem}: {_where(error)}")
    except (Exception, NoEndError) as error:
        return ended(UNEXPLAINED, _where(error))
    if faults:
        return ended(UNEXPLAINED, "; ".join(faults[:3]))
    return ended(ACCEPTED, "")


@contextmanager
def _strictly() -> Iterator[None]:
    """Raise warnings of arithmetic inside, and what has no end."""
    with within(LONGEST), warnings.catch_warnings(action="ignore"):
        for category in (RuntimeWarning, ComplexWarning, DeprecationWarning):
            warnings.simplefilter("error", category)
        # ill-conditioned matrices of a regressor of the caller warn in words
        warnings.simplefilter("ignore", LinAlgWarning)
        yield


def _problem_of_refusal(error: Exception, case: Case) -> str | None:
    """Return what is wrong with a refusal; None for nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    message, last = str(error), frames[-1]
    # scikit-learn's check of the arrays of methods of estimators, in its own words
    if any(frame.name == "validate_data" for frame in frames):
        return None
    if "/sklearn/" not in last.filename and "raise" not in (last.line or ""):
        return "an error that nobody worded"
    if type(error).__module__.startswith("numpy"):
        return "an error of linear algebra"
    words = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", message))
    if not words & case.arguments:
        return "the message names no argument"
    if not _EXPECTATION.search(message):
        return "the message does not say what is expected"
    noun = case.spoiled.removeprefix("n_")
    # a pipeline that is given calls X_test X
    named = {case.spoiled, noun, noun.removesuffix("s"), noun.removesuffix("_test")}
    if case.spoiled and not words & named and _passes(case.sound):
        return f"the message names another argument than {case.spoiled}"
    return None


def _passes(call: Callable[[], Any] | None) -> bool:
    """Return whether a call ends without an exception."""
    if call is None:
        return False
    try:
        with _strictly():
            call()
    except (Exception, NoEndError):
        return False
    return True


def _where(error: BaseException) -> str:
    """Return the type, the message, and the line that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/skpce/" in frame.filename]
    last = (ours or frames or [None])[-1]
    place = "" if last is None else f" [{last.filename.split('/')[-1]}:{last.lineno}]"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}{place}"
