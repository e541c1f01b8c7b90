"""One HTML page: sections, tables and figures.

No server, no address of another host: figures are inlined, as SVG where that is smaller
than PNG. The first section is open, the others are folded. A few lines of script, in
``_page.html``, sort a table by the heading that is clicked, and hide the inputs that do
not matter; without them the page is complete too.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from ._checks import html_table, write_file

_DOTS_PER_INCH = 110

# Inches of a picture that can be read on a page of 400 pixels as a whole.
_NARROW = 5.6

Column = tuple[str, Any]  # heading and values

# Words of cells that are badges, and their kind.
_BADGES = {
    "driven": "supported",
    "drives": "supported",
    "supported": "supported",
    "not supported": "refused",
    "not attributable": "refused",
    "not judged": "",
    "no choice": "",
    "no variance": "",
}


class HtmlReport:
    """Collects sections and writes them to one file."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []  # of the section that was begun last
        self._sections: list[tuple[str, list[str]]] = [("", self._parts)]

    def add_heading(self, text: str) -> None:
        """Start a section."""
        self._parts = []
        self._sections.append((text, self._parts))

    def add_answer(self, sentences: Iterable[str]) -> None:
        """Add what a reader can repeat."""
        for sentence in sentences:
            self._parts.append(f'<p class="answer">{escape(sentence)}</p>')

    def add_text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def add_preformatted(self, text: str) -> None:
        """Add text whose line breaks count."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def add_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        """Add a table; numbers are shortened to two digits."""
        table = html_table(columns, rows, caption, digits=2)
        for word, kind in _BADGES.items():
            badge = f'<td><span class="badge {kind}">{word}</span></td>'
            table = table.replace(f"<td>{word}</td>", badge)
        self._parts.append(f'<div class="scroll">{table}</div>')

    def add_folded(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        title: str,
        caption: str = "",
    ) -> None:
        """Add a table that is shown when its title is clicked."""
        table = html_table(columns, rows, caption, digits=2)
        self._parts.append(
            f"<details><summary>{escape(title)}</summary>"
            f'<div class="scroll">{table}</div></details>'
        )

    def add_columns(self, columns: Iterable[Column], caption: str = "") -> None:
        """Add a table of columns, each with its heading."""
        headings, values = zip(*columns, strict=True)
        self.add_table(headings, list(zip(*values, strict=True)), caption)

    def add_png(
        self,
        payload: bytes,
        description: str,
        kind: str = "png",
        is_narrow: bool = False,
    ) -> None:
        """Add the bytes of a PNG file, or of one of another kind, inlined."""
        encoded = base64.b64encode(payload).decode("ascii")
        narrow = 'class="narrow" ' if is_narrow else ""
        self._parts.append(
            f'<figure><img {narrow}alt="{escape(description, quote=True)}" '
            f'src="data:image/{kind};base64,{encoded}">'
            f"<figcaption>{escape(description)}</figcaption></figure>"
        )

    def add_figure(self, display: Any, description: str) -> None:
        """Inline the figure of a display and close it."""
        import matplotlib.pyplot as plt

        png, svg = io.BytesIO(), io.BytesIO()
        style = {"dpi": _DOTS_PER_INCH, "metadata": {"Software": None}}
        try:
            display.figure_.savefig(png, format="png", **style)
            with plt.rc_context({"svg.hashsalt": "skpce"}):  # the same bytes each time
                display.figure_.savefig(svg, format="svg", metadata={"Date": None})
        finally:
            plt.close(display.figure_)
        kind, payload = "png", png.getvalue()
        if len(svg.getvalue()) < len(payload):
            kind, payload = "svg+xml", svg.getvalue()
        is_narrow = display.figure_.get_size_inches()[0] <= _NARROW
        self.add_png(payload, description, kind, is_narrow)

    def to_html(self) -> str:
        """Return the page."""
        parts = {"title": escape(self.title), "body": self._body()}
        template = files(__package__).joinpath("_page.html").read_text("utf-8")
        page = re.sub("{{(title|body)}}", lambda found: parts[found[1]], template)
        # a lone surrogate has no place in UTF-8: its number is shown in its place
        return page.encode(errors="backslashreplace").decode()

    def _body(self) -> str:
        """Return the first section, the contents, and the others, folded."""
        begin, *sections = ["".join(parts) for _, parts in self._sections]
        titles = [escape(title) for title, _ in self._sections[1:]]
        found = [begin]
        links = "".join(
            f'<li><a href="#section-{number}">{title}</a></li>'
            for number, title in enumerate(titles)
        )
        for number, (title, text) in enumerate(zip(titles, sections, strict=True)):
            anchor = f'<span id="section-{number}"></span>'
            if number == 0:
                found.append(f"<section>{anchor}<h2>{title}</h2>{text}</section>")
                found += [f"<nav><ul>{links}</ul></nav>"] * (len(titles) > 1)
            else:
                found.append(
                    f"<details><summary><h2>{title}</h2></summary>{anchor}{text}"
                    "</details>"
                )
        return "".join(found)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page in one piece: a reader never finds half of it."""
        write_file(path, self.to_html().encode())
