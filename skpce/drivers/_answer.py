"""What explain and verdict return: drivers, what they rest on, in tables and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import (
    FloatArray,
    IndexArray,
    OutputGroups,
    Steps,
    alone,
    check_real,
    html_table,
    listed,
    one_thread_for,
    renamed,
)
from .._compositions.outputs import Outputs, warn_of_zeros
from .._input_laws.families import warn_of_narrow
from .._input_laws.other_libraries import all_in_scipy
from .._result import Result
from ..ensembles._table import known_names
from ._cautions import WORDS, Caution, cautions_in_words, said, tie_of, without_doubles
from ._cautions import listed as listed_in_words
from ._design import Design
from ._findings import (
    _SMALL,
    Findings,
    State,
    between,
    find_drivers,
    percent,
    percent_in_words,
    rest_of,
)
from ._runs import Asked, read_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._curves import Curves

# Names in a list, and sentences, before they are summarised.
_MOST_NAMES, _MOST_SENTENCES = 4, 4

_PRINTED = 12  # rows of an output that are printed, and outputs
_MOST_Q2 = 5  # outputs whose Q² is printed


class Source(Protocol):
    """What was explained: runs, or a pipeline."""

    def fit(self, blocks: IndexArray | None = None) -> Any:
        """Return an estimator, fitted to all runs, beside the means of blocks."""

    def inputs_of(self, settings: Any) -> Any:
        """Return settings as the inputs of the estimator."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Result):
    """Which input drives which output: what ``explain`` and ``verdict`` return.

    A table with one row for each output (for each step of compositions), whose further
    parts are attributes. Everything that is printed, drawn and reported is made from
    these. Of a row:

    attributable : bool
        Whether some input drives the output.
    q2, q2_low, q2_high : float
        Share of the variance of runs that were left out of the fit which it predicts
        (Q²), and its 90 % interval; NaN for an output without variance.
    not_predicted : float
        What the fit behind the shares takes for noise, from 0 to 1. Where nothing
        drives the output: one minus Q² of runs left out.
    noise_share : float
        Share of the noise between repeats in the variance; NaN without repeats.
    lack_of_fit : float
        P-value of what the fit misses beyond that noise; NaN without repeats.
    p_value : float
        The smallest of the inputs' p-values, adjusted for all of the answer.
    members : int
        Runs that have the output.
    reasons : tuple of str
        Why nothing is attributed; empty where something is.

    Parameters
    ----------
    keys, columns, supported, reasons, facts, title, notes, figures, tables, answer, \
framed, printed
        As of :class:`skpce.inspection.Result`.
    drivers : Result
        One row for each output and input (or named group of inputs), see
        :func:`skpce.explain`.
    pairs : Result
        Pairs of inputs that act together.
    design : Design
        What was exchanged with what.
    cautions : tuple of Caution
        What weakens the answer, as values; ``evidence`` has them in words.
    sentences : tuple of str
        The answer in words.
    findings : Findings
        States, shares and evidence as arrays, of which all else was made.
    source : object
        What was explained; its ``fit`` makes :attr:`model`.

    Examples
    --------
    >>> import numpy as np
    >>> import skpce
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 2))
    >>> answer = skpce.explain(X, X[:, 0] + 0.1 * rng.normal(size=60))
    >>> answer.attributable, answer.drivers.state[0, 0]
    ((True,), 'drives')
    """

    if TYPE_CHECKING:

        @property
        def attributable(self) -> tuple[bool, ...]: ...

    drivers: Result = field(kw_only=True)
    pairs: Result = field(kw_only=True)
    design: Design = field(kw_only=True)
    cautions: tuple[Caution, ...] = field(kw_only=True)
    sentences: tuple[str, ...] = field(kw_only=True)
    findings: Findings = field(kw_only=True)
    source: Source = field(kw_only=True)

    @cached_property
    def model(self) -> Any:
        """Estimator fitted to all runs: a regressor, of probabilities a surrogate.

        It takes the logarithm to base 10 of the inputs in ``source.logarithms``, and
        categories as labels where the runs were in a data frame, else as numbers of
        ``source.levels``; :meth:`predict` takes all as they were. Where runs are
        compared within blocks, real outputs are those of a block like the mean of all.
        """
        return self.source.fit(self.design.blocks)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, or of groups of them."""
        return tuple(map(str, self.drivers.keys["input"]))

    def with_names(self, names: Sequence[str]) -> Answer:
        """Return the same answer with other names of its inputs.

        Parameters
        ----------
        names : sequence of str
            As many as there are inputs.

        Returns
        -------
        answer : Answer
            Whose tables and words have the new names.

        Raises
        ------
        ValueError
            For another number of names.
        """
        old = self.input_names
        new = tuple(renamed("names", names, list(old)))
        if new == old:
            return self
        mine = len(self.cautions) - len(self.findings.cautions)
        name_of = dict(zip(old, new, strict=True))
        cautions = tuple(one.with_names(name_of) for one in self.findings.cautions)
        return make_answer(
            replace(self.findings, cautions=cautions),
            new,
            self.figures["measured_as"],
            self.source,
            negligible=self.figures["negligible"],
            cautions=self.cautions[:mine],
            q2=np.stack([self.q2, self.q2_low, self.q2_high]),
        )

    def with_cautions(self, *cautions: Caution) -> Answer:
        """Return the same answer with further cautions, such as of the training.

        Parameters
        ----------
        *cautions : Caution
            ``"not converged"`` has the figures ``members``, ``n_members``, ``limit``
            and ``by`` ("distance" or "bound"), ``"noise bound"`` has ``at_most``, a
            share for each output, and ``"note"`` has ``words``.

        Returns
        -------
        answer : Answer
            Whose ``cautions`` begin with them.

        Raises
        ------
        ValueError
            For a code that has no words.

        Examples
        --------
        >>> import numpy as np
        >>> import skpce
        >>> from skpce.drivers import Caution
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(60, 2))
        >>> answer = skpce.explain(X, X[:, 0] + 0.1 * rng.normal(size=60))
        >>> figures = {"members": (7,), "n_members": 60, "limit": 0.03, "by": "bound"}
        >>> answer.with_cautions(Caution("not converged", figures)).evidence[2]
        'Caution: member 7 of 60 is not shown to be within 0.03 of the target of the \
training, in total variation: some of what differs may be the training.'
        """
        for one in cautions:
            if one.code not in WORDS:
                raise ValueError(
                    f"caution has the code {one.code!r}; expected one of "
                    f"{', '.join(map(repr, sorted(WORDS)))}."
                )
        return replace(self, cautions=(*cautions, *self.cautions))

    @property
    def evidence(self) -> tuple[str, ...]:
        """What the answer rests on, and the cautions, in words."""
        lines = [f"Design: {self.design}"]
        lines += [
            f"{getattr(row, self._first_key)}: Q² = {row.q2:z.2f} [{row.q2_low:z.2f}, "
            f"{row.q2_high:z.2f}], the share of the variance of runs left out that is "
            "predicted."
            for row in self.rows[:_MOST_Q2]
            if not np.isnan(row.q2)
        ]
        if len(self.rows) > _MOST_Q2:
            lines.append(f"... and {len(self.rows) - _MOST_Q2} more.")
        measured = self.figures["measured_as"]
        if measured.are_compositions or measured.is_scaled:
            lines.append(f"Outputs: {measured}.")
        failed = [
            f"{getattr(row, self._first_key)} has {row.members}"
            for row in self.rows
            if 0 < row.members < self.n_members
        ]
        if failed:
            lines.append(
                f"Failed runs: {', '.join(failed)} of {self.n_members}. A run that "
                "failed in one output counts in the others."
            )
        lines += cautions_in_words(self.cautions)
        return (*lines, *self.notes)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", *self._lines(), "", *self.evidence])

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> list[str]:
        """Return the table of drivers as text."""
        table, inputs = self.drivers, self.input_names
        width = max(len(name) for name in (*inputs, "input"))
        head = f"{'input':{width}}  {'state':17}  {'p':>7}  share alone  in all"
        lines = []
        for o, output in enumerate(self._labels[:_PRINTED]):
            if np.isnan(self.q2[o]):
                continue
            if len(self._labels) > 1:
                lines.append(f"{output}:")
            lines.append(head)
            order = np.argsort(-table.total[o], kind="stable")
            for i in order[:_PRINTED].tolist():
                total = self._share("total", o, i)
                p_value = max(table.p_value[o, i], 1e-300)
                lines.append(
                    f"{inputs[i]:{width}}  {table.state[o, i]:17}  "
                    f"{p_value:7.2g}  {percent(table.first[o, i]):>11}  {total}"
                )
            if len(order) > _PRINTED:
                lines.append(f"... and {len(order) - _PRINTED} more inputs.")
        if len(self._labels) > _PRINTED:
            lines.append(f"... and {len(self._labels) - _PRINTED} more outputs.")
        return lines

    def columns_in_words(self, output: int) -> list[tuple[str, list[str]]]:
        """Return the drivers of one output as headings and cells of a short table.

        Parameters
        ----------
        output : int
            Its position.

        Returns
        -------
        columns : list of (str, list of str)
            Inputs with the largest share in all on top; columns without any entry are
            left out.
        """
        table = self.drivers
        order = np.argsort(-np.nan_to_num(table.total[output]), kind="stable").tolist()
        columns = [
            ("input", [self.input_names[i] for i in order]),
            ("state", [str(table.state[output, i]) for i in order]),
            ("share alone", [self._share("first", output, i) for i in order]),
            ("in all", [self._share("total", output, i) for i in order]),
            ("p", [f"{max(table.p_value[output, i], 1e-300):.2g}" for i in order]),
            ("together with", [table.partners[output, i] or "–" for i in order]),
            ("more runs", [_more(table.more_runs[output, i]) for i in order]),
            ("shown", [self._scope(output, i) for i in order]),
        ]
        return [column for column in columns if set(column[1]) != {"–"}]

    def _scope(self, output: int, i: int) -> str:
        """Return where what is said of an input was shown."""
        is_shown = self.drivers.state[output, i] in (State.DRIVES, State.SPREAD)
        return _SCOPES.get(self.drivers.scope[output, i], "–") if is_shown else "–"

    def _share(self, name: str, output: int, i: int) -> str:
        """Return a share in percent, with its interval."""
        share, low, high = (
            self.drivers.columns[name + end][output, i] for end in ("", "_low", "_high")
        )
        return f"{percent(share)} [{100 * low:.0f}, {100 * high:.0f}]"

    def _repr_html_(self) -> str:
        words = "".join(f"<p><b>{escape(text)}</b></p>" for text in self.sentences)
        tables = []
        for output, name in enumerate(self._labels[:_PRINTED]):
            if not np.isnan(self.q2[output]):
                headings, cells = zip(*self.columns_in_words(output), strict=True)
                caption = str(name) if len(self._labels) > 1 else ""
                rows = list(zip(*cells, strict=True))[:_PRINTED]
                tables.append(html_table(headings, rows, caption))
        evidence = "".join(f"<p>{escape(text)}</p>" for text in self.evidence)
        return f"{words}{''.join(tables)}{evidence}"

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the shares of each output as bars with their intervals.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes, or None, default=None
            Where to draw, one for each output (the first four); None makes a figure.

        Returns
        -------
        axes : matplotlib axes, or list of axes
            One, or one for each output.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        from ._picture import draw_answer

        return draw_answer(self, ax)

    def plot_effects(self) -> Any:
        """Draw what the leading drivers do, with the runs behind it.

        A panel for each output and driver, at most eight: points are runs, lines the
        mean prediction of :attr:`model`. Categories have their names; inputs in
        logarithms have the values that they had before, on a log scale.

        Returns
        -------
        figure : matplotlib figure
            With its axes.

        Raises
        ------
        ValueError
            For the answer of a pipeline, or without an output that varies.
        ImportError
            Without matplotlib.
        """
        from ._effects import draw_effects, effects_of

        return draw_effects(effects_of(self))

    def over(self, axis: ArrayLike | None = None, *, name: str | None = None) -> Curves:
        """Say where along an axis, such as epochs, each input matters.

        The outputs are the points of curves: accuracy after each epoch, a trajectory at
        each time. Of runs that failed at some point nothing is used.

        Parameters
        ----------
        axis : array-like of shape (n_outputs,), default=None
            Position of each output; None reads the last number of their names.
        name : str, default=None
            What the axis is called; None takes the word before these numbers.

        Returns
        -------
        curves : Curves
            Which inputs drive the curve, where each of them begins to matter, and its
            shares along the axis with bands. ``plot`` draws them.

        Raises
        ------
        ValueError
            If positions are no numbers that differ, one for each output, for the answer
            of a pipeline, or for fewer than eight runs without failure.

        Examples
        --------
        >>> import numpy as np
        >>> import skpce
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(60, 2))
        >>> epochs = np.arange(1, 7)
        >>> late = np.maximum(epochs - 3, 0)  # the first input acts from 4 on
        >>> Y = X[:, [0]] * late + 0.2 * rng.normal(size=(60, 1))
        >>> Y += 0.02 * rng.normal(size=Y.shape)
        >>> curves = skpce.explain(X, Y).over(epochs, name="epoch")
        >>> curves.begins
        array([ 4., nan])
        """
        from ._curves import curves_of

        return curves_of(self, axis, name)

    def predict(self, settings: Any) -> FloatArray:
        """Predict the outputs of other settings, given as those of the runs were.

        Parameters
        ----------
        settings : data frame, dict of columns, list of dicts, path or array-like
            Columns with the names that the inputs had in the runs, in their units:
            labels of categories, and values of inputs in logarithms as they were
            before. Other columns are not read. A dict of values is one setting. An
            array has the inputs in their order, shape (n_settings, n_inputs). Of a
            pipeline what its ``predict`` takes.

        Returns
        -------
        predicted : ndarray of shape (n_settings,) or (n_settings, n_outputs)
            What :attr:`model` predicts, in the units of the outputs; the first shape
            for one column of outputs.

        Raises
        ------
        ValueError
            If an input is missing, or has a value that is no number, has no logarithm,
            or is a label that no run had.

        Examples
        --------
        >>> import numpy as np
        >>> import skpce
        >>> rng = np.random.default_rng(0)
        >>> rate, solver = 10.0 ** rng.uniform(-4, 0, 60), rng.choice(["a", "b"], 60)
        >>> loss = np.log10(rate) + 0.1 * rng.normal(size=60)
        >>> runs = {"rate": rate, "solver": solver, "loss": loss}
        >>> answer = skpce.explain(runs, outputs="loss", log=["rate"])
        >>> answer.predict({"rate": [0.01, 0.1], "solver": ["a", "b"]}).round(1)
        array([-2., -1.])
        """
        return np.asarray(self.model.predict(self.source.inputs_of(settings)))

    def report(self, path: Any) -> None:
        """Write the answer as one HTML page.

        Parameters
        ----------
        path : str or path
            File to write, which ends in .html or .htm; pictures are part of it.

        Raises
        ------
        ValueError
            If ``path`` is no path, has another ending, or cannot be written.
        OSError
            If the file cannot be written.
        ImportError
            Without matplotlib.
        """
        from ._page import write_report

        write_report(self, path)


_SCOPES = {"beyond": "beyond the settings tried", "tried": "at the settings tried"}


def _more(number: float) -> str:
    """Say how many more runs would settle an input."""
    if np.isnan(number):
        return "–"
    return "too many" if np.isinf(number) else f"about {number:.0f}"


def make_answer(
    findings: Findings,
    names: Sequence[str],
    outputs: Outputs,
    source: Source,
    *,
    negligible: float,
    cautions: Sequence[Caution] = (),
    q2: FloatArray | None = None,  # (3, n_outputs), of a pipeline; None: of the fit
) -> Answer:
    """Make an answer of what was found."""
    shares = findings.shares
    found = shares.q2 if q2 is None else q2
    columns = {
        **dict(zip(("q2", "q2_low", "q2_high"), found, strict=True)),
        "not_predicted": 1.0 - shares.explained,
        "noise_share": shares.noise,
        "lack_of_fit": shares.lack_of_fit,
        "p_value": findings.p_values.min(axis=1, initial=1.0),
        "members": findings.n_members,
    }
    drives = (findings.states == State.DRIVES).any(axis=1)
    supported = tuple((drives & ~np.isnan(found[0])).tolist())
    nothing = "no choice, or no variance between members"
    reasons = tuple(
        () if good else (nothing if np.isnan(q2) else "no input is shown to drive it",)
        for good, q2 in zip(supported, shares.q2[0], strict=True)
    )
    sentences = sentences_of(findings, names, outputs.names, negligible)
    facts = tuple(
        f"Q² = {middle:z.2f} [{low:z.2f}, {high:z.2f}], p = {p_value:.3g}"
        for middle, low, high, p_value in zip(*found, columns["p_value"], strict=True)
    )
    return Answer(
        {outputs.noun: tuple(outputs.names)},
        columns,
        supported=supported,
        reasons=reasons,
        facts=facts,
        title="\n".join(sentences),
        figures={
            "measured_as": outputs,
            "n_members": findings.design.n_rows,
            "confidence_level": 0.9,
            "negligible": negligible,
            "step_names": tuple(outputs.names),
        },
        answer="attributable",
        framed=(outputs.noun, "attributable", *columns, "reasons"),
        drivers=_drivers_table(findings, names, outputs),
        pairs=_pairs_table(findings, names, outputs),
        design=findings.design,
        cautions=(*cautions, *findings.cautions),
        sentences=sentences,
        findings=findings,
        source=source,
    )


def _drivers_table(
    findings: Findings, names: Sequence[str], outputs: Outputs
) -> Result:
    """Return the table of outputs and inputs."""
    shares, shape = findings.shares, findings.p_values.shape
    partners = np.full(shape, "", dtype=object)
    for output, i, j in sorted(findings.pair_p_values):
        for one, other in ((i, j), (j, i)):
            known = f"{partners[output, one]}, {names[other]}"
            partners[output, one] = known.removeprefix(", ")
    columns: Mapping[str, NDArray[Any]] = {
        "state": findings.states.astype(str).astype(object),
        "p_value": findings.p_values,
        "q_value": findings.q_values,
        **shares.columns(),
        "partners": partners,
        "more_runs": findings.more_runs,
        "scope": findings.tested.scope,
    }
    keys = {"output": tuple(outputs.names), "input": tuple(names)}
    return Result(keys, columns, framed=(*keys, *columns), printed=("total", "first"))


def _pairs_table(findings: Findings, names: Sequence[str], outputs: Outputs) -> Result:
    """Return the named pairs as a table."""
    keys = sorted(findings.pair_p_values)
    o, i, j = np.array(keys, dtype=np.int64).reshape(-1, 3).T
    inputs = np.array(names, dtype=object)
    output = np.array(outputs.names, dtype=object)[o]
    first, second = inputs[i], inputs[j]
    columns = {
        "output": output,
        "first_input": first,
        "second_input": second,
        "p_value": np.array([findings.pair_p_values[key] for key in keys]),
        "share": findings.shares.pairs[o, i, j],
    }
    pairs = output + ": " + first + " and " + second
    return Result({"pair": tuple(pairs)}, columns)


# One call from a study, a search, a table of runs, or arrays, to the drivers.


def explain(
    data: Any,
    y: ArrayLike | None = None,
    *,
    inputs: Sequence[str] | Mapping[str, Any] | None = None,
    outputs: OutputGroups = None,
    steps: Steps = None,
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
        dicts, a dataset of xarray, or the path of a CSV or JSON file; a study of
        Optuna; a fitted search of scikit-learn, or its ``cv_results_``; an
        :class:`skpce.ensembles.Ensemble`; a ``PolicyDataset`` of ``gflownet_envs``, of
        which members with one reward are repeats; or, with ``y``, the inputs alone.
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
    log : str or sequence of str, default=()
        Inputs of which the logarithm to base 10 is taken. A study knows its own, and a
        log-uniform or log-normal distribution of scipy.stats in ``inputs`` says so.
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
        means nothing. Blocks that share positions are series of their own; groups,
        which are exchanged as a whole, need no order.
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
        For data that cannot be read, columns that do not exist, fewer than eight runs,
        or an order with several runs at each place, before any fit.
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
    inputs = all_in_scipy(inputs) if isinstance(inputs, Mapping) else inputs
    log = [log] if isinstance(log, str) else listed(log, "log")
    asked = Asked(inputs, outputs, steps, tuple(log), replicate, blocks, groups, order)
    runs = read_runs(data, y, asked)
    found = runs.data
    members, names = _rows(found.names, together)
    if found.read.geometry is not None:
        warn_of_zeros(found.y, found.read.geometry, found.read.zero_replacement)
    laws = found.laws
    if laws is not None:
        warn_of_narrow(laws, found.X, found.names)
    with one_thread_for(len(found.X)):
        findings = find_drivers(
            found.X,
            found.is_category,
            laws,
            found.coordinates,
            found.read,
            runs.design,
            members=members,
            names=names,
            negligible=negligible,
        )
    places = tuple(one.of_rows(runs.rows) for one in findings.cautions)
    return make_answer(
        replace(findings, cautions=places),
        names,
        found.read,
        found,
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
    groups = {}
    for name, given in (together or {}).items():
        what = f"together[{str(name)!r}]"
        inputs = known_names(given, known, what, "input that varies")
        groups[str(name)] = sorted(known.index(one) for one in inputs)
    rows = alone("together", groups, known) | groups
    return [tuple(places) for places in rows.values()], list(rows)


# Words


def sentences_of(
    findings: Findings, names: Sequence[str], outputs: Sequence[str], negligible: float
) -> tuple[str, ...]:
    """Say for each output what drives it; outputs with one answer share a sentence.

    Of many outputs with answers of their own, those with the same drivers share one,
    with ranges in place of intervals.
    """
    words = partial(_Words, findings, names, outputs, negligible)
    single = [words([output]).sentence for output in range(len(outputs))]
    are_many = len(set(single)) > _MOST_SENTENCES
    alike: dict[Any, list[int]] = {}
    for output, states in enumerate(findings.states):
        key = tuple(states) if are_many else single[output]
        alike.setdefault(key, []).append(output)
    found = []
    for own in alike.values():
        text = words(own).sentence if are_many else single[own[0]]
        text = _OWN_WORDS.sub(lambda begin: begin[2].capitalize(), text)
        found.append(text.replace("\0", listed_in_words([outputs[o] for o in own])))
    return tuple(found)


# Beginnings that are no names of inputs, which keep their letters.
_OWN_WORDS = re.compile(
    r"(^|(?<=[.] ))"
    r"(nothing is|no input is|less than 1 %|this is|there is|what(?= .* is shown))"
)

_UNTOLD: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "constraint": lambda f: f"cannot be told apart: they {tie_of(f)} in every run",
    "alike": lambda f: "cannot be told apart: in these runs they vary together",
    "not exchanged": lambda f: f"cannot be tested: {f['why']}",
}


# Share that the fit predicts of runs left out, from which on it is strange that no
# input is found.
_PREDICTS = 0.25

# What is predicted of runs left out less than of all, from which on it is said.
_STILL_OPEN = 0.1


@dataclass(frozen=True, eq=False)
class _Words:
    """The sentence of outputs with the same states, whose names replace each NUL.

    Figures of several outputs are ranges.
    """

    findings: Findings
    names: Sequence[str]
    every: Sequence[str]  # names of all outputs
    negligible: float
    outputs: list[int]

    @property
    def output(self) -> int | None:
        """The output, if it is one alone."""
        return self.outputs[0] if len(self.outputs) == 1 else None

    @property
    def sentence(self) -> str:
        if np.isnan(self.findings.shares.q2[0, self.outputs]).all():
            return "there is no choice, or no variance between the runs, of \0."
        if not self.names:
            return "no input is tested, so that nothing is attributed of \0."
        if "series" in [one.code for one in self.findings.cautions]:
            return (
                "nothing is settled about \0, because each run resembles those before "
                "it: see the caution."
            )
        parts = self._drivers(), self._others(), self._open(), self._rest()
        return " ".join(filter(None, parts))

    def rows(self, state: State) -> list[int]:
        """Return the rows of a state, the largest total share first."""
        total = np.nan_to_num(self.findings.shares.total[0, self.outputs])
        order = np.argsort(-total.mean(axis=0), kind="stable").tolist()
        states = self.findings.states[self.outputs[0]]
        return [i for i in order if states[i] is state]

    def _drivers(self) -> str:
        """Say what drives, where that is shown, and which inputs act together."""
        drivers, shares = self.rows(State.DRIVES), self.findings.shares
        if not drivers:
            return "no input is shown to drive \0."
        parts = []
        for i in drivers:
            share, figures = self._figures(i)
            if i == drivers[0]:
                of_what = f"variance of \0{self.findings.design.within_blocks}"
                share = f"drives {share} of the {of_what}"
            parts.append(f"{self.names[i]} {share} {figures}")
        text = f"{listed_in_words(parts, len(parts))}."
        at_tried = (self.findings.tested.scope[self.outputs] == "tried").any(axis=0)
        tried = [self.names[i] for i in drivers if at_tried[i]]
        if tried:
            is_part = len(tried) < len(drivers)
            about = f"what {said(tried, 'does', 'do')}" if is_part else "this"
            text += f" {about} is shown at the settings tried, not beyond them."
        pairs = [k for k in sorted(self.findings.pair_p_values) if k[0] == self.output]
        for o, i, j in sorted(pairs, key=lambda key: -shares.pairs[key]):
            share = shares.pairs[o, i, j]
            more = f": {percent(share)} that neither explains alone"
            more = more if share and len(pairs) > 1 else ""
            text += f" {self.names[i]} and {self.names[j]} act together{more}."
        return text

    def _figures(self, i: int) -> tuple[str, str]:
        """Return the share of an input, and its interval with what it does alone."""
        shares = self.findings.shares
        if self.output is None:
            totals, lows, highs = shares.total[:, self.outputs, i]
            within = between(lows.min(), highs.max())
            return between(totals.min(), totals.max()), f"(intervals within {within})"
        total, low, high = shares.total[:, self.output, i].tolist()
        first = float(shares.first[0, self.output, i])
        figures = between(low, high)
        if high < _SMALL:
            figures += ", small"
        if total - first >= 0.02:
            figures += f"; {percent_in_words(first)} alone"
        share = percent_in_words(total)
        if total < 0.005 and high > _SMALL:
            share = "an unknown share"
        return share, f"({figures})"

    def _others(self) -> str:
        """Say what acts on the spread, and what does not matter."""
        spread, some = (
            [self.names[i] for i in self.rows(state)]
            for state in (State.SPREAD, State.NOTHING)
        )
        parts = []
        if spread:
            parts.append(f"{said(spread, 'acts', 'act')} on the spread of \0.")
        if some:
            each = " each" if len(some) > 1 else ""
            subject = said(some, "does", "do")
            if len(some) > _MOST_NAMES + 1:
                which = "The other " if len(some) < len(self.names) else "All "
                which = "" if self.rows(State.OPEN) else which
                subject = f"{which}{len(some)} inputs do"
            parts.append(
                f"{subject} not matter (below {percent(self.negligible)}{each})."
            )
        return " ".join(parts)

    def _open(self) -> str:
        """Say which inputs nothing tests or tells apart, and which are not settled."""
        rows, parts = self.rows(State.OPEN), []
        for one in without_doubles(self.findings.cautions):
            inputs = one.figures.get("inputs", ())
            known = {self.names[i]: i for i in rows}
            if one.code in _UNTOLD and set(inputs) <= set(known):
                rows = [i for i in rows if self.names[i] not in inputs]
                why = _UNTOLD[one.code](one.figures)
                parts.append(f"{listed_in_words(inputs)} {why}.")
        if not rows:
            return " ".join(parts)
        text = f"{said([self.names[i] for i in rows], 'is', 'are')} not settled"
        if self.output is None:
            return " ".join([*parts, f"{text}."])
        if self.findings.shares.total[2, self.output, rows].max() < self.negligible:
            noise = float(self.findings.shares.noise[self.output])
            left = 1.0 - self.findings.shares.q2[0, self.output] - np.nan_to_num(noise)
            text += (
                f": below {percent(self.negligible)} as far as the model sees, which "
                f"leaves {percent(left)} of the variance open."
            )
            if np.isnan(noise):
                text += " Repeats of settings would tell how much of that is noise."
            return " ".join([*parts, text])
        more = self.findings.more_runs[self.output, rows]
        known_more = np.maximum(more[np.isfinite(more)], 10).astype(int)
        if known_more.size:
            ends = np.unique([known_more.min(), known_more.max()])
            which = "it" if len(rows) == 1 else "them"
            which = "some of them" if known_more.size < more.size else which
            number = " to ".join(map(str, ends))
            text += f" (about {number} more runs would settle {which})"
        return " ".join([*parts, f"{text}."])

    def _rest(self) -> str:
        """Split all of the variance; without drivers, say what is predicted."""
        drives, parts = self.rows(State.DRIVES), []
        if self.output is None:
            every = [rest_of(self.findings, output)[0] for output in self.outputs]
            text = f"{between(min(every), max(every))} is not predicted by this model."
            return f"{text}{self._still_open()}" if drives else ""
        left, noise, together = rest_of(self.findings, self.output)
        name, q2 = self.findings.shares.noise_name, self.findings.shares.q2[0]
        is_open = self._still_open()
        if drives and is_open and q2[self.output] <= 0:
            return is_open.lstrip()  # what a fit divides that predicts nothing is noise
        if drives:
            if together >= 0.005:
                shown = self.output in [o for o, *_ in self.findings.pair_p_values]
                what = "is what several inputs do together"
                what = what if shown else "the model gives to several inputs together"
                parts.append(f"{percent(together)} {what}")
            parts.append(f"{percent_in_words(left)} is not predicted by this model")
            if not np.isnan(noise):
                parts.append(f"{percent_in_words(noise)} is {name}")
            return f"{listed_in_words(parts)}.{is_open}"
        if not np.isnan(noise) and noise >= 0.005:
            parts.append(f"{percent(noise)} is {name}.")
        if q2[self.output] >= _PREDICTS:
            parts.append(
                f"The model predicts {percent(q2[self.output])} of the variance of "
                "runs left out, but the test cannot say by which input."
            )
        return " ".join(parts)

    def _still_open(self) -> str:
        """Say where fits to fewer runs predict much less than the fit to all."""
        shares = self.findings.shares
        q2 = np.maximum(shares.q2[0, self.outputs], 0.0)
        is_open = shares.explained[self.outputs] - q2 > _STILL_OPEN
        if not is_open.any():
            return ""
        ends, some = q2[is_open], np.array(self.outputs)[is_open]
        alone = percent_in_words(ends[0])
        how_much = between(ends.min(), ends.max()) if some[1:].size else alone
        if len(some) < len(self.outputs):
            how_much += f" of {listed_in_words([self.every[o] for o in some])}"
        return (
            f" Of runs left out, fits to the others predict {how_much}: the shares may "
            "change with more runs."
        )
