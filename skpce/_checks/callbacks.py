"""Callbacks of scikit-learn, which it has since 1.9, and the progress of functions.

A callback such as ``ProgressBar`` belongs to the fit of one estimator. A function that
refits estimators hundreds of times stands as a task of its own, and its refits have no
callbacks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sklearn.base import BaseEstimator

from . import fail

try:
    from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks
except ImportError:  # before 1.9
    CallbackSupportMixin = FitCallback = with_callbacks = None

P = ParamSpec("P")
R = TypeVar("R")


def is_callback(value: Any) -> bool:
    """Say whether this is a callback of scikit-learn, not a class of them."""
    if FitCallback is None or isinstance(value, type):
        return False
    return isinstance(value, FitCallback)


def check_progress(owner: str, progress: Any) -> None:
    """Refuse what is no callback."""
    if progress is not None and not callable(progress):
        expected = "a callback of scikit-learn, a callable or None"
        raise fail(owner, "progress", expected, progress)


def counted(
    progress: Callable[[int, int], None] | None, total: int, size: Callable[[Any], int]
) -> Callable[[Any], None]:
    """Return what adds up the sizes of results and reports the sum to ``progress``."""
    n_done = 0

    def done(result: Any) -> None:
        nonlocal n_done
        n_done += size(result)
        if progress is not None:
            progress(n_done, total)

    return done


def without_callbacks(estimator: Any) -> Any:
    """Take the callbacks from an estimator and all that are inside it; return it."""
    if CallbackSupportMixin is not None:
        for part in (estimator, *estimator.get_params(deep=True).values()):
            if isinstance(part, CallbackSupportMixin):
                part.set_callbacks()
    return estimator


def takes_callbacks(function: Callable[P, R]) -> Callable[P, R]:
    """Let the argument ``progress`` of a function also be a callback."""

    @wraps(function)
    def with_progress(*args: P.args, **kwargs: P.kwargs) -> R:
        callback = kwargs.get("progress")
        if not is_callback(callback):
            return function(*args, **kwargs)

        @with_callbacks
        def work(task: Any) -> R:
            report = _Report(task)
            options: Any = kwargs | {"progress": report}
            found = function(*args, **options)
            report.finish()
            return found

        kind = type(function.__name__, (CallbackSupportMixin, BaseEstimator), {})
        task: Any = kind()
        return work(task.set_callbacks(callback))

    return with_progress


class _Report:
    """Passes on to callbacks of a task what ``progress(done, total)`` receives."""

    def __init__(self, task: Any) -> None:
        self.task, self.n_done = task, 0
        self.part: Any = None
        self.root = task._init_callback_context(task_name="all", max_subtasks=None)
        self.root.call_on_fit_task_begin(estimator=task)

    def __call__(self, done: int, total: int) -> None:
        if self.part is None or done <= self.n_done:  # another round has begun
            self._end_part()
            self.part = self.root.subcontext(task_name="refits", max_subtasks=total)
            self.part.call_on_fit_task_begin(estimator=self.task)
        for _ in range(self.n_done, done):
            step = self.part.subcontext(task_name="refit")
            step.call_on_fit_task_begin(estimator=self.task)
            step.call_on_fit_task_end(estimator=self.task)
        self.n_done = done

    def finish(self) -> None:
        self._end_part()
        self.root.call_on_fit_task_end(estimator=self.task)

    def _end_part(self) -> None:
        if self.part is not None:
            self.part.call_on_fit_task_end(estimator=self.task)
        self.part, self.n_done = None, 0
