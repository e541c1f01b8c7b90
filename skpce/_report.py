"""A self-contained HTML report: text, tables and figures in one file.

No server, no script, no address of another host: figures are inlined as PNG.
"""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ._checks import format_cell

# Text keeps to a length that one reads; tables and figures may be wider.
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1, h2, p, pre { max-width: 60rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; }
th { vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
figure { margin: 1rem 0; } img { max-width: 100%; }
pre { background: #f6f6f6; padding: 0.8rem; white-space: pre-wrap;
      overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
@media print {
  body { margin: 0; font-size: 10pt; } h2 { break-after: avoid; }
  table { font-size: 7.5pt; } th, td { padding: 0.1rem 0.3rem; }
  tr, figure { break-inside: avoid; } .scroll { overflow: visible; }
}
"""


class HtmlReport:
    """Collects sections and writes them to one file.

    Parameters
    ----------
    title : str
        Heading of the page.

    Examples
    --------
    >>> from skpce._report import HtmlReport
    >>> report = HtmlReport("A <title>")
    >>> report.add_table(["step", "Q²"], [["catalyst", 0.31]])
    >>> "&lt;title&gt;" in report.to_html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def add_heading(self, text: str) -> None:
        """Start a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def add_text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def add_preformatted(self, text: str) -> None:
        """Add text whose line breaks count."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def add_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        """Add a table; numbers are shortened to three digits."""
        head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(format_cell(cell))}</td>" for cell in row)
            + "</tr>"
            for row in rows
        )
        title = f"<caption>{escape(caption)}</caption>" if caption else ""
        self._parts.append(
            f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def add_png(self, payload: bytes, description: str) -> None:
        """Add the bytes of a PNG file, inlined."""
        encoded = base64.b64encode(payload).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(description, quote=True)}" '
            f'src="data:image/png;base64,{encoded}">'
            f"<figcaption>{escape(description)}</figcaption></figure>"
        )

    def to_html(self) -> str:
        """Return the page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body><h1>{escape(self.title)}</h1>{''.join(self._parts)}</body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page in one piece: a reader never finds half of it."""
        target = Path(path)
        page = self.to_html()
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            temporary.write_text(page, encoding="utf-8")  # rights as umask has them
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


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
