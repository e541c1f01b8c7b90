"""One HTML file about a fit and members that it has not seen."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer, check_rows, fail, refuse_other_rows
from .._input_laws import InputOutsideSupportWarning
from .._input_laws.columns import warn_outside
from ..drivers import Answer
from ..inspection._reading import Reading, expansion_of
from . import compositions, sections
from . import outputs as real_outputs
from .content import ReportContent
from .page import HtmlReport

_TITLE = "What drives each decision"


def report(
    pipeline: Any,
    X_test: ArrayLike,
    y_test: ArrayLike,
    *,
    verdict: Answer | None = None,
    path: str | os.PathLike[str] | None = None,
    title: str = _TITLE,
    input_features: Sequence[str] | None = None,
    date: str | None = None,
    random_state: int = 0,
    outputs: Any = None,
) -> str:
    """Describe a fit in one self-contained HTML page.

    The answer comes first: sentences, a picture and a row for each decision or output.
    Then come, folded, the verdict, Q², the fragility of policies or the spread of real
    outputs, shares and Sobol indices, and coverage on members that were held out. Where
    a verdict is given, each share of the variance is that of its table of drivers. The
    page has no script and asks nothing of another host; the same arguments give the
    same bytes. All arguments are checked before anything is computed or written: a
    ``ValueError`` says which data, verdict or path does not fit.

    Parameters
    ----------
    pipeline : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate` or a
        :class:`skpce.PolynomialChaosRegressor` (or its CV), or a Pipeline that ends in
        one.
    X_test : array-like of shape (n_members, n_features)
        Inputs of members that were not fitted, before any embedding.
    y_test : array-like of shape (n_members, n_parts) or data frame
        Their policies, the steps side by side; or their real outputs (NaN where a
        member failed).
    verdict : Answer or None, default=None
        From :func:`skpce.inspection.verdict`, on the members that were fitted. With
        None the page says that there is none.
    path : str, path-like or None, default=None
        Where to write the page, in one piece; None only returns it.
    title : str, default="What drives each decision"
        Heading of the page; for real outputs it ends in "output".
    input_features : sequence of str or None, default=None
        Names of the inputs of the expansion; None asks the pipeline.
    date : str or None, default=None
        Printed with the versions. None prints no date.
    random_state : int, default=0
        Randomness of the draws behind intervals and figures.
    outputs : dict or None, default=None
        Columns of real outputs that belong together, such as
        ``{"accuracy": 1, "logits": 10}``. None takes the groups of the verdict, else
        those of the names of y in ``fit``.

    Returns
    -------
    page : str
        The HTML text.

    See Also
    --------
    skpce.inspection.verdict : Which input drives which output?
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
    check_rows("report", "X_test", X_test)
    refuse_other_rows(X_test=X_test, y_test=y_test)
    reading = expansion_of(
        pipeline, X_test, input_features, outputs=outputs, verdict=verdict
    )
    if reading.problem is None:
        raise ValueError(
            f"Got {pipeline!r}; expected a fitted estimator: an expansion alone has no "
            "residuals."
        )
    if len(reading.inputs) < 2:
        raise ValueError(
            f"X_test has {len(reading.inputs)} members; expected two or more."
        )
    content = ReportContent(
        pipeline, reading, y_test, verdict, random_state, outputs=outputs
    )
    if content.is_real and title == _TITLE:
        title = "What drives each output"
    page = HtmlReport(title)
    with _warned_once(reading):
        _add_sections(page, content, date)
    if path is not None:
        page.save(path)
    return page.to_html()


@contextmanager
def _warned_once(reading: Reading) -> Iterator[None]:
    """Warn of inputs outside their distributions here, and in no section."""
    expansion = reading.expansion
    inputs = np.asarray(reading.inputs, dtype=np.float64)
    warn_outside(expansion.basis.laws, inputs, expansion.input_names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputOutsideSupportWarning)
        yield


def _add_sections(page: HtmlReport, content: ReportContent, date: str | None) -> None:
    """Add the answer, and what it rests on."""
    sections.add_answer(page, content)
    sections.add_verdict(page, content)
    sections.add_goodness(page, content)
    if content.is_real:
        real_outputs.add_spread(page, content)
        sections.add_indices(page, content)
        real_outputs.add_coverage(page, content)
        real_outputs.add_effects(page, content)
    else:
        compositions.add_fragility(page, content)
        sections.add_indices(page, content)
        compositions.add_coverage(page, content)
        compositions.add_policies(page, content)
    sections.add_inputs(page, content)
    sections.add_origin(page, content, date)


def _check_arguments(path: Any, title: Any, date: Any, random_state: Any) -> None:
    """Refuse what no section could use, and a path where no page could be saved."""
    if not isinstance(title, str):
        raise fail("report", "title", "a str", title)
    if not (date is None or isinstance(date, str)):
        raise fail("report", "date", "a str or None", date)
    check_integer("report", "random_state", random_state)
    if path is None:
        return
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path={path!r} must be a str, a path or None.")
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"path={str(path)!r} is a folder; expected that of a file.")
    if not target.parent.is_dir():
        raise ValueError(f"path={str(path)!r} must be in a folder that exists.")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"path={str(path)!r} must be in a folder that can be written.")
