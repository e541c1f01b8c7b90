"""One HTML file about a fitted surrogate and members that it has not seen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._checks import check_integer, fail
from .._compositions.steps import checked_policies
from ..inspection import Result
from ..inspection._reading import compositions_of


def report(
    pipeline: Any,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    verdict: Result | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = "What drives each step",
    input_features: Sequence[str] | None = None,
    date: str | None = None,
    random_state: int = 0,
) -> str:
    """Describe a fitted surrogate in one self-contained HTML page.

    The verdict comes first, then Q², fragility, Sobol indices with the unexplained
    part, and coverage on members that were held out. The page has no script and asks
    nothing of another host; the same arguments give the same bytes. All arguments
    are checked before anything is computed or written: a ``ValueError`` says which
    data, verdict or path does not fit.

    Parameters
    ----------
    pipeline : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate`, or a Pipeline that ends in one.
    X_test : array-like of shape (n_members, n_features)
        Inputs of members that were not fitted, before any embedding.
    y_test : array-like of shape (n_members, n_parts) or data frame
        Their policies, the steps side by side.
    verdict : Result or None, default=None
        From :func:`skpce.inspection.verdict`, on the members that were fitted. With
        None the page says that there is none.
    path : str, path-like or None, default=None
        Where to write the page, in one piece; None only returns it.
    title : str, default="What drives each step"
        Heading of the page.
    input_features : sequence of str or None, default=None
        Names of the inputs of the surrogate; None asks the pipeline.
    date : str or None, default=None
        Printed with the versions. None prints no date.
    random_state : int, default=0
        Randomness of the draws behind intervals and figures.

    Returns
    -------
    page : str
        The HTML text.

    See Also
    --------
    skpce.inspection.verdict : Is the attribution supported?
    skpce.metrics.policy_fragility : The measures of disagreement.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], 0 * X[:, 0], rng.normal(size=60)], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, steps={"first": 3})
    >>> page = report(surrogate.fit(X[:40], y[:40]), X[40:], y[40:])
    >>> page.startswith("<!doctype html>"), "No verdict was given" in page
    (True, True)
    """
    _check_arguments(path, title, date, random_state)
    # Imported here: the displays are not needed to import skpce.
    from .page import (
        HtmlReport,
        ReportContent,
        add_attribution,
        add_origin,
        add_predictions,
    )

    reading, _ = compositions_of(pipeline, X_test, input_features)
    inputs = reading.inputs
    if len(inputs) < 2:
        raise ValueError(f"X_test has {len(inputs)} members; expected two or more.")
    values = checked_policies(y_test, reading.estimator, len(inputs), "y_test")
    content = ReportContent(pipeline, reading, values, verdict)
    page = HtmlReport(title)
    add_attribution(page, content)
    add_predictions(page, content, random_state)
    add_origin(page, content, date, random_state)
    if path is not None:
        page.save(path)
    return page.to_html()


def _check_arguments(path: Any, title: Any, date: Any, random_state: Any) -> None:
    """Raise ``ValueError`` for what no section could use."""
    if not isinstance(title, str):
        raise fail("report", "title", "a str", title)
    if not (date is None or isinstance(date, str)):
        raise fail("report", "date", "a str or None", date)
    check_integer("report", "random_state", random_state)
    if path is not None:
        refuse_unwritable(path)


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Raise ``ValueError`` where no page could be saved, before it is made."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path={path!r} must be a str, a path or None.")
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"path={str(path)!r} is a folder; expected that of a file.")
    if not target.parent.is_dir():
        raise ValueError(f"path={str(path)!r} is in a folder that does not exist.")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"path={str(path)!r} is in a folder that is not writable.")
