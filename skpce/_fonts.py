"""Names in pictures: on short lines, in any writing that an installed font has.

Matplotlib's own font has no Chinese, Japanese or Korean characters, nor many others.
Texts that are not ASCII fall back on those of the families below that are installed;
of a character that none has matplotlib draws a box, and says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

#: Families that hold many characters and go with the usual font.
PREFERRED_FAMILIES = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans CJK TC"),
    *("Noto Sans SC", "Noto Sans JP", "Noto Sans KR", "Source Han Sans SC"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
    *("Microsoft YaHei", "SimHei", "Yu Gothic", "MS Gothic", "Malgun Gothic"),
    *("PingFang SC", "Hiragino Sans", "Hiragino Sans GB", "Apple SD Gothic Neo"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Devanagari", "Noto Sans Thai"),
    *("Segoe UI", "Segoe UI Symbol", "Nirmala UI", "Leelawadee UI"),
    *("Arial Unicode MS", "Noto Sans Symbols", "Noto Sans Symbols 2", "Symbola"),
)


# Letters of all names of levels on an axis; names that are slanted, more are upright.
_LETTERS, _MOST_SLANTED = 32, 12


def choose_fonts(*artists: Any) -> None:
    """Let all texts inside fall back on fonts of other writings."""
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    installed = {entry.name for entry in fontManager.ttflist}
    others = [name for name in PREFERRED_FAMILIES if name in installed]
    for artist in artists:
        for text in artist.findobj(Text):
            if others and not text.get_text().isascii():
                own = text.get_fontfamily()
                text.set_fontfamily([*own, *(n for n in others if n not in own)])


def labels(names: Iterable[Any], width: int = 28, max_lines: int = 3) -> list[str]:
    """Return labels of names; those of different names differ."""
    given = list(map(str, names))
    found = {name: label(name, width, max_lines) for name in given}
    seen = Counter(found.values())
    for place, (name, text) in enumerate(found.items(), start=1):
        if seen[text] > 1:  # they differ in what is cut
            short = label(name, width - len(f" ({place})"), max_lines)
            found[name] = f"{short} ({place})"
    return [found[name] for name in given]


def label(name: Any, width: int = 28, max_lines: int = 3) -> str:
    """Return a name on short lines: ``$`` starts no formula, ``_`` hides nothing.

    A name that is too long is cut in its middle: those that are numbered differ at
    their ends.
    """
    shown = str(name).encode(errors="backslashreplace").decode()  # a lone surrogate
    text = " ".join(shown.split())
    width = max(2, width * len(text) // max(1, width_in_letters(text)))
    lines = wrap(text, width) or [""]
    if len(lines) > max_lines == 1:
        half = max((width - 3) // 2, 1)
        lines = [f"{text[:half].rstrip()} … {text[-half:].lstrip()}"]
    elif len(lines) > max_lines:
        end = text[-max(width - 2, 1) :]
        whole = re.search(r"[\W_](?=[^\W_])", end)  # of a word that is cut, nothing
        end = end[whole.end() :] if whole else end
        lines = [*lines[: max_lines - 1], f"… {end}"]
    shown = "\n".join(lines).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def width_in_letters(text: str) -> int:
    """Return how many Latin letters are as wide; Chinese ones count twice."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def name_levels(ax: Any, at: Any, levels: Sequence[Any]) -> None:
    """Write the names of levels under an axis; those that would touch are turned."""
    names = [str(level) for level in levels]
    style: dict[str, Any] = {"fontsize": 9}
    if max(map(len, names)) > _LETTERS // len(names):
        names = labels(names, 18, 1)
        style = {"fontsize": 8, "rotation": 25, "ha": "right"}
        if len(names) > _MOST_SLANTED:
            style = {"fontsize": max(130 / len(names), 4), "rotation": 90}
    ax.set_xticks(at, names, **style)


def log_axis(ax: Any) -> None:
    """Make the x axis logarithmic, with plain ticks over little more than a decade."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if high < 30.0 * low:  # where ticks between decades have labels
        ax.locator_params(axis="x", subs=(1.0, 2.0, 5.0))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
