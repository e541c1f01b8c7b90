"""What results with one row per target and feature share: table, words, HTML."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._checks import FloatArray, format_cell, import_pandas

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
