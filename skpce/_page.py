"""One HTML page: sections, tables and figures.

No server, no address of another host: figures are inlined, as SVG where that is smaller
than PNG. The first section is open, the others are folded. A few lines of script sort a
table by the heading that is clicked, and hide the inputs that do not matter; without
them the page is complete too.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._checks import html_table, write_file

# Text keeps to a length that one reads; tables and figures may be wider.
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1, h2, p, pre { max-width: 60rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; }
th { vertical-align: bottom; cursor: pointer; }
button { font: inherit; font-size: 0.85rem; }
th:first-child, td:first-child { text-align: left; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
figure { margin: 1rem 0; } img { max-width: 100%; background: #fff; }
pre { background: #f6f6f6; padding: 0.8rem; white-space: pre-wrap;
      overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
nav ul { padding-left: 1.2rem; columns: 2 18rem; margin: 0.5rem 0 1.5rem; }
details { border-bottom: 1px solid #ccc; }
summary { cursor: pointer; font-weight: 600; font-size: 0.9rem; }
summary h2 { display: inline-block; margin: 0.8rem 0; border: 0; font-size: 1.2rem; }
.answer { font-size: 1.1rem; }
.badge { border-radius: 0.6rem; padding: 0.1rem 0.6rem; white-space: nowrap;
         background: #e4e4e4; }
.supported { background: #cdebd8; } .refused { background: #f6d5c9; }
@media screen and (prefers-color-scheme: dark) {
  body { color: #e2e2e2; background: #16181d; } a { color: #7fb8e8; }
  h2, details { border-color: #444; } th, td { border-color: #3a3a3a; }
  pre { background: #22252b; } img { filter: brightness(0.85); }
  .badge { background: #3d3f45; }
  .supported { background: #1f5a39; } .refused { background: #7a3521; }
}
@media (max-width: 30rem) {
  body { margin: 0.5rem auto; font-size: 15px; }
  table { font-size: 0.8rem; } th, td { padding: 0.2rem 0.25rem; }
  caption { max-width: 22rem; } .badge { white-space: normal; border-radius: 0.3rem; }
  summary h2 { display: inline; line-height: 1.4; }
  figure { overflow-x: auto; } img { max-width: none; width: 34rem; }
  img.narrow { max-width: 100%; width: auto; }
  .scroll { overflow-x: scroll; }
  .scroll table { width: max-content; } .scroll td { max-width: 11rem; }
}
@media print {
  details::details-content { content-visibility: visible; display: block; }
  nav, button { display: none; }
  body { margin: 0; font-size: 10pt; } h2 { break-after: avoid; }
  table { font-size: 7.5pt; } th, td { padding: 0.1rem 0.3rem; }
  tr, figure { break-inside: avoid; } .scroll { overflow: visible; }
}
"""

_SCRIPT = """
function valueOf(text) {
  const number = /^(<|about )?\\s*(-?\\d+(\\.\\d+)?(e[-+]?\\d+)?)/i;
  const found = text.replace("\u2212", "-").match(number);
  if (!found) return null;
  return Number(found[2]) - (found[1] === "<" ? 1e-9 : 0);
}
function compare(one, other) {
  const a = valueOf(one), b = valueOf(other);
  if (a !== null && b !== null) return a - b;
  if (a !== null || b !== null) return a !== null ? 1 : -1;
  return one.localeCompare(other);
}
document.querySelectorAll("table").forEach(table => {
  const body = table.tBodies[0], rows = Array.from(body.rows);
  const text = (row, place) => row.cells[place].textContent.trim();
  Array.from(table.tHead.rows[0].cells).forEach((head, place) => {
    let down = false;
    head.title = "sort";
    head.addEventListener("click", () => {
      down = !down;
      const sign = down ? -1 : 1;
      rows.sort((a, b) => sign * compare(text(a, place), text(b, place)));
      body.append(...rows);
    });
  });
  const idle = rows.filter(row => /does not matter/.test(row.textContent));
  if (idle.length && idle.length < rows.length) {
    const button = document.createElement("button");
    let hidden = false;
    const show = () => {
      idle.forEach(row => { row.hidden = hidden; });
      const all = `show all ${rows.length}`;
      button.textContent = hidden ? all : "hide what does not matter";
    };
    button.addEventListener("click", () => { hidden = !hidden; show(); });
    show();
    table.before(button);
  }
});
"""

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
        page = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body><h1>{escape(self.title)}</h1>{self._body()}"
            f"<script>{_SCRIPT}</script></body></html>\n"
        )
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
