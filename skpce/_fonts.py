"""Names in pictures: on short lines, in any writing that an installed font has.

Matplotlib's own font has no Chinese, Japanese or Korean characters, nor many others.
Texts that are not ASCII fall back on those of the families below that are installed;
of a character that none has matplotlib draws a box, and says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import takewhile
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
    for text, number in Counter(found.values()).items():
        if number > 1:
            alike = [name for name, own in found.items() if own == text]
            found |= _labels_of_words(alike, width, max_lines)
    seen = Counter(found.values())
    for place, (name, text) in enumerate(found.items(), start=1):
        if seen[text] > 1:  # they differ in too many words
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
    lines, width = _wrapped(text, width)
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


def _wrapped(text: str, width: int) -> tuple[list[str], int]:
    """Return lines, and the characters of each: Chinese ones count twice."""
    width = max(2, width * len(text) // max(1, width_in_letters(text)))
    lines = [""]
    for word in _words(text):
        for start in range(0, len(word), width):
            part = word[start : start + width]
            if lines[-1] and len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.strip() for line in lines], width


def _words(text: str) -> list[str]:
    """Cut a text after spaces and inside names such as ``a_b``."""
    inside = r"(?<=[^\W_][_./])(?=[^\W_])|(?<=[^\W\d_]-)(?=[^\W\d_])"
    return re.split(rf"(?<= )(?=[^ ])|{inside}", text)


def _labels_of_words(
    names: Sequence[str], width: int, max_lines: int
) -> dict[str, str]:
    """Label names by the words in which they differ, and others as there is room."""
    words = [[part for word in _words(name) for part in _parts(word)] for name in names]
    n_first = _n_alike(words)
    n_last = _n_alike([own[n_first:][::-1] for own in words])
    is_table = len(set(map(len, words))) == 1
    found = {}
    for name, own in zip(names, words, strict=True):
        kept = set(range(n_first, len(own) - n_last))
        if is_table:
            kept = {i for i in kept if len({other[i] for other in words}) > 1}
        last = len(own) - 1
        for i in sorted(set(range(last + 1)) - kept, key=lambda i: min(i, last - i)):
            if i in (0, last) or kept & {i - 1, i + 1}:
                lines, _ = _wrapped(_joined(own, kept | {i}), width)
                kept |= {i} if len(lines) <= max_lines else set()
        found[name] = label(_joined(own, kept), width, max_lines)
    return found


def _n_alike(rows: Sequence[Sequence[str]]) -> int:
    """Return with how many common words all rows begin."""
    columns = zip(*rows, strict=False)
    return len(list(takewhile(lambda column: len(set(column)) == 1, columns)))


def _parts(word: str) -> list[str]:
    """Cut a word that is too long for one."""
    return re.findall(r".{1,8}", word) if len(word) > 16 else [word]


def _joined(words: Sequence[str], kept: Container[int]) -> str:
    """Return a text with some of its words."""
    text = "".join(word if i in kept else "\0" for i, word in enumerate(words))
    return re.sub(r" *\0+", " … ", text).strip()


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
