"""One call from a study, a search, a table of runs, or arrays, to the drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_real, listed
from ._answer import Answer, make_answer
from ._findings import find_drivers
from ._runs import Asked, read_runs


def explain(
    data: Any,
    y: ArrayLike | None = None,
    *,
    inputs: Sequence[str] | Mapping[str, Any] | None = None,
    outputs: Any = None,
    steps: Any = None,
    log: Sequence[str] = (),
    replicate: Any = None,
    blocks: Any = None,
    groups: Any = None,
    order: Any = None,
    together: Mapping[str, Sequence[str]] | None = None,
    negligible: float = 0.05,
) -> Answer:
    """Say which input drives which output, with an error rate.

    Parameters
    ----------
    data : table, study, search, Ensemble, path, or array-like of shape (n_runs, \
n_inputs)
        A table with one row for each run: a data frame, a dict of columns, a list of
        dicts, or the path of a CSV file; a study of Optuna; a fitted search of
        scikit-learn, or its ``cv_results_``; an :class:`skpce.ensembles.Ensemble`; or,
        with ``y``, the inputs alone.
    y : array-like of shape (n_runs,) or (n_runs, n_columns), default=None
        Outputs, or probabilities with their steps side by side, also of shape (n_runs,
        n_steps, n_classes); NaN where a run failed. Only with inputs in ``data``.
    inputs : sequence of str, or dict of str to distribution, default=None
        Columns that differ between runs, with their distributions where these are
        known; names, where ``data`` is an array. None takes all columns of a table that
        have no other role, without those that name, number or date the runs, or that
        look like a result; a note says which.
    outputs : str, sequence of str, or dict, default=None
        Columns of a table, or of ``y``, with what a run gave; names, where ``y`` is an
        array; objectives of a study, scorers of a search. A dict names groups of
        columns, which are explained as one. Needed for a table.
    steps : dict of str to int or to sequence of str, or sequence of int, default=None
        Probabilities: widths of the steps in ``y``, or their columns in a table.
    log : sequence of str, default=()
        Inputs of which the logarithm to base 10 is taken. A study knows its own.
    replicate : str, sequence of str, or array-like of shape (n_runs,), default=None
        Columns that count repeats of a setting, such as the seed. With ``y``: the label
        of the setting of each run. Equal inputs are repeats without it.
    blocks : str or array-like of shape (n_runs,), default=None
        Day, machine, batch: exchanged within, their means taken out.
    groups : str or array-like of shape (n_runs,), default=None
        Runs that belong together, such as lineages: exchanged as a whole. Inputs may
        vary within.
    order : str, array-like of shape (n_runs,), or False, default=None
        Time or position of each run in a series. False says that the order of the rows
        means nothing.
    together : dict of str to sequence of str, default=None
        Groups of inputs that are tested, and shared, as one.
    negligible : float, default=0.05
        Share of the variance below which an input does not matter.

    Returns
    -------
    answer : Answer
        ``print`` gives it in words. ``answer.drivers`` has, for each output and input:

        state : "drives", "acts on the spread", "does not matter" or "not settled"
            *Drives* and *acts on the spread* are tested: the probability that any of
            them is wrong, in all of the answer, is at most 5 %. *Does not matter*: the
            simultaneous upper end of its total share is below ``negligible``.
        p_value, q_value : float
            Of the test, adjusted by Holm, and by Benjamini and Hochberg.
        first, total : float
            Share of the variance of the output between runs that the input explains
            alone, and in all with interactions; ``..._low`` and ``..._high`` are
            simultaneous 90 % intervals of all shares of the output.
        partners : str
            Inputs that it acts together with.
        more_runs : float
            About how many more runs would settle it; infinite where too many, NaN where
            it is settled.
        scope : "beyond" or "tried"
            Whether the test speaks of settings like those that were tried, or of these
            alone.

    Raises
    ------
    ValueError
        For data that cannot be read, columns that do not exist, or fewer than eight
        runs, before any fit.
    ImportError
        If a study or search is read and no library of data frames is installed.

    See Also
    --------
    skpce.inspection.verdict : The same for a pipeline, with an embedding of the inputs.

    Notes
    -----
    The test of an input is described in the user guide. It finds inputs that act alone
    or in pairs; what three inputs do only together, or what varies faster than a
    polynomial of degree four, it does not see. Nothing depends on a random state, or on
    the order of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> import skpce
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 3))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60)
    >>> answer = skpce.explain(X, y)
    >>> answer.drivers.state.tolist()
    [['drives', 'drives', 'does not matter']]
    """
    check_real("explain", "negligible", negligible, low=0, high=1)
    asked = Asked(
        *(inputs, outputs, steps, tuple(listed(log, "log"))),
        *(replicate, blocks, groups, order),
    )
    runs = read_runs(data, y, asked)
    found = runs.data
    members, names = _rows(found.names, together)
    order = found.order_of_inputs()
    place = np.argsort(order)
    ordered = found.of_inputs(order)
    findings = find_drivers(
        ordered.X,
        ordered.is_category,
        ordered.laws,
        ordered.coordinates,
        ordered.read,
        runs.design,
        [tuple(place[list(inputs)].tolist()) for inputs in members],
        names,
        negligible,
    )
    return make_answer(
        *(findings, names, found.read, found),
        negligible=negligible,
        cautions=runs.cautions,
    )


def _rows(
    known: Sequence[str], together: Mapping[str, Sequence[str]] | None
) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the inputs of each row of the answer, and the names of the rows."""
    if together is not None and not isinstance(together, Mapping):
        raise ValueError(
            "together must be a dict of names of groups to inputs. Got "
            f"{together!r} instead."
        )
    groups: dict[str, tuple[int, ...]] = {}
    used: dict[str, str] = {}
    for name, given in (together or {}).items():
        members = [str(m) for m in ([given] if isinstance(given, str) else given)]
        for member in members:
            _check_member(member, str(name), known, used)
            used[member] = str(name)
        if not members:
            raise ValueError(f"together has no input in {name!r}; expected some.")
        groups[str(name)] = tuple(sorted(known.index(m) for m in members))
    singles = {name: (i,) for i, name in enumerate(known) if name not in used}
    clash = next((name for name in groups if name in singles), None)
    if clash is not None:
        raise ValueError(
            f"together has the name {clash!r}, which is that of an input outside of "
            "the group; expected another."
        )
    rows = singles | groups
    return list(rows.values()), list(rows)


def _check_member(
    member: str, group: str, known: Sequence[str], used: Mapping[str, str]
) -> None:
    if member not in known:
        raise ValueError(
            f"together has {member!r} in {group!r}, which is no input that varies: "
            f"expected some of {list(known)}."
        )
    if member in used:
        raise ValueError(
            f"together has {member!r} in {used[member]!r} and in {group!r}; expected "
            "each input in one group."
        )
