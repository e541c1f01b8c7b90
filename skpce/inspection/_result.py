"""Results of inspections as tables, words and HTML."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

import numpy as np

from .._checks import FloatArray, format_cell, import_pandas
from .._dependence.tests import InputTests

# Rows of the printed table; the frame has them all.
_PRINTED_FEATURES = 12


class TidyResult:
    """A table with one row per target and feature, and words about each target."""

    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    supported: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns; each (n_targets, n_features) or (n_targets, 1)."""
        raise NotImplementedError

    def _printed_columns(self) -> dict[str, FloatArray]:
        """Return the columns that ``print`` shows; the first one sorts."""
        return self._columns()

    def _facts(self, target: int) -> str:
        """Return the figures that stand behind the words of a target."""
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        """Return sentences that hold for all targets."""
        return ()

    def to_frame(self) -> Any:
        """Return one row per target and feature as a pandas data frame.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``target``, ``feature``, the figures, ``supported`` and
            ``reasons``. Needs pandas.
        """
        n_targets, n_features = len(self.target_names), len(self.feature_names)
        table: dict[str, Any] = {
            "target": np.repeat(np.array(self.target_names, dtype=object), n_features),
            "feature": np.tile(np.array(self.feature_names, dtype=object), n_targets),
        }
        for name, values in self._columns().items():
            table[name] = np.broadcast_to(values, (n_targets, n_features)).ravel()
        table["supported"] = np.repeat(np.array(self.supported), n_features)
        words = np.array(["; ".join(r) for r in self.reasons], dtype=object)
        table["reasons"] = np.repeat(words, n_features)
        return import_pandas().DataFrame(table)

    def __str__(self) -> str:
        lines = []
        for target, name in enumerate(self.target_names):
            lines.append(f"{name}: {self._words(target)}")
            lines += self._rows(target)
        return "\n".join([*lines, *self._notes()])

    def _words(self, target: int) -> str:
        head = "SUPPORTED" if self.supported[target] else "NOT SUPPORTED"
        reasons = "; ".join(self.reasons[target])
        tail = f" Because {reasons}." if reasons else ""
        return f"{head} ({self._facts(target)}).{tail}"

    def _rows(self, target: int) -> list[str]:
        n_features = len(self.feature_names)
        columns = {
            name: np.broadcast_to(values, (len(self.target_names), n_features))[target]
            for name, values in self._printed_columns().items()
        }
        leading = next(iter(columns.values()))
        order = np.argsort(-leading, kind="stable")[:_PRINTED_FEATURES]
        rows = []
        for i in order:
            cells = ", ".join(f"{name} {v[i]:.3f}" for name, v in columns.items())
            rows.append(f"- {self.feature_names[i]}: {cells}")
        left_out = len(self.feature_names) - len(order)
        return [*rows, f"- ({left_out} more)"] if left_out else rows

    def _repr_html_(self) -> str:
        columns = self._columns()
        heads = ["target", "feature", *columns, "supported"]
        head = "".join(f"<th>{escape(name)}</th>" for name in heads)
        shape = (len(self.target_names), len(self.feature_names))
        values = [np.broadcast_to(column, shape) for column in columns.values()]
        body = []
        for target, name in enumerate(self.target_names):
            for i, feature in enumerate(self.feature_names):
                cells = [name, feature, *(value[target, i] for value in values)]
                cells.append(self.supported[target])
                body.append(
                    "<tr>"
                    + "".join(f"<td>{escape(format_cell(c))}</td>" for c in cells)
                    + "</tr>"
                )
        words = "".join(
            f"<p>{escape(name)}: {escape(self._words(target))}</p>"
            for target, name in enumerate(self.target_names)
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
            f"</table>{words}{notes}"
        )


@dataclass(frozen=True)
class StepVerdict:
    """The verdict on one step.

    Parameters
    ----------
    step : str
        Name of the step.
    attributable : bool
        Whether every condition holds.
    q2 : float
        Cross-fitted Q²: share of the Aitchison variance that held-out members'
        inputs predict. NaN for a step without choice.
    q2_low, q2_high : float
        Bootstrap interval over members.
    mean_only_q2 : float
        The same for the mean of the training members (slightly below 0).
    degree_one_q2 : float
        The same for the pipeline at degree 1; NaN where it has no degree.
    p_value : float
        Permutation p-value, Holm-adjusted over the steps.
    noise_share : float
        Share of training noise; NaN where it is not known.
    noise_share_low, noise_share_high : float
        Its interval; NaN where it is not known, or was given without one.
    reasons : tuple of str
        Each condition that failed.
    """

    step: str
    attributable: bool
    q2: float
    q2_low: float
    q2_high: float
    mean_only_q2: float
    degree_one_q2: float
    p_value: float
    noise_share: float
    noise_share_low: float = field(default=np.nan, kw_only=True)
    noise_share_high: float = field(default=np.nan, kw_only=True)
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        if np.isnan(self.q2):
            return f"{self.step}: {self.reasons[0]}."
        head = "ATTRIBUTABLE" if self.attributable else "NOT ATTRIBUTABLE"
        facts = (
            f"Q² = {self.q2:.2f} [{self.q2_low:.2f}, {self.q2_high:.2f}], "
            f"p = {self.p_value:.3g}"
        )
        if not np.isnan(self.noise_share):
            facts += f", training noise {self.noise_share:.0%}"
        if not np.isnan(self.noise_share_low):
            facts += f" [{self.noise_share_low:.0%}, {self.noise_share_high:.0%}]"
        tail = f" Because {'; '.join(self.reasons)}." if self.reasons else ""
        return f"{self.step}: {head} ({facts}).{tail}"


@dataclass(frozen=True)
class Verdict:
    """The verdict on every step of an ensemble.

    Parameters
    ----------
    steps : tuple of StepVerdict
        In the order of y.
    n_members : int
        Size of the ensemble.
    n_permutations : int
        Permutations behind the p-values.
    confidence_level : float
        Of the intervals of Q², and of those of training noise from replicates.
    cautions : tuple of str
        What does not veto but weakens the reading: dependent inputs, inputs that do
        not have the stated law, more terms than members, training noise that is
        unknown or not settled.
    cpu_seconds : float, default=0.0
        CPU time of the permutations, over all processes.
    inputs : InputTests or None, default=None
        Dependence (Pearson, Spearman, distance correlation) and laws of the inputs of
        the last estimator, of one fit on all members. They inform and never veto.
    n_terms : int or None, default=None
        Terms of the basis, so many members a fit without penalty would need; None
        without a basis.
    n_training : int or None, default=None
        Members of the smallest training set of a fold.
    closed_form : bool, default=False
        Whether the permutations came from one factorisation per fold.
    """

    steps: tuple[StepVerdict, ...]
    n_members: int
    n_permutations: int
    confidence_level: float
    cautions: tuple[str, ...]
    cpu_seconds: float = field(default=0.0, compare=False, repr=False)
    inputs: InputTests | None = field(default=None, compare=False, repr=False)
    n_terms: int | None = None
    n_training: int | None = None
    closed_form: bool = field(default=False, compare=False, repr=False)

    @property
    def attributable(self) -> tuple[bool, ...]:
        """One flag per step."""
        return tuple(step.attributable for step in self.steps)

    def __str__(self) -> str:
        good = [step.step for step in self.steps if step.attributable]
        if good:
            head = (
                f"Attribution is supported for {len(good)} of {len(self.steps)} "
                f"steps ({', '.join(good)}), with {self.n_members} members."
            )
        else:
            head = (
                "Attribution is not supported for any step, with "
                f"{self.n_members} members."
            )
        lines = [head, *(f"- {step}" for step in self.steps), *self._notes()]
        return "\n".join(lines)

    def _notes(self) -> list[str]:
        """What stands below the steps: size, inputs, cautions."""
        notes = []
        if self.n_terms is not None and self.n_training is not None:
            notes.append(
                f"Size: {self.n_terms} terms, fitted to {self.n_training} members or "
                "more in each fold."
            )
        if self.inputs is not None:
            notes.append(f"Inputs: {self.inputs}.")
        return [*notes, *(f"Caution: {caution}." for caution in self.cautions)]

    def to_frame(self) -> Any:
        """Return one row per step as a pandas data frame."""
        rows = [
            {entry.name: getattr(step, entry.name) for entry in fields(step)}
            for step in self.steps
        ]
        for row in rows:
            row["reasons"] = "; ".join(row["reasons"])
        return import_pandas().DataFrame(rows)

    def _repr_html_(self) -> str:
        names = [entry.name for entry in fields(StepVerdict)]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td>{escape(format_cell(getattr(s, name)))}</td>" for name in names
            )
            + "</tr>"
            for s in self.steps
        )
        cautions = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{cautions}"
        )
