"""Fonts for names in any writing, and what is shown where none is installed.

Matplotlib's own font has no Chinese, Japanese or Korean characters, nor many others: it
draws boxes and warns at each of them. Here every character that the font in use lacks
is looked up in the fonts of the machine, those below first; a text gets the families
that it needs behind its own. A character that no font has is shown by its number, with
one warning that says what to do.
"""

from __future__ import annotations

import textwrap
import unicodedata
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

#: Looked at first, because they hold many characters and go with the usual font.
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

_NO_FONT = (
    "Names hold characters that no installed font has: figures show their numbers, "
    "such as \\u4e2d, instead. Install a font that has them, for example Noto Sans "
    "CJK, and remove matplotlib's list of fonts (matplotlib.get_cachedir())."
)


def in_installed_fonts(text: str) -> str:
    """Return a text with the numbers of those characters that no font has."""
    lost = {c for c in _foreign(text) if c not in _families_of(_foreign(text))}
    if not lost:
        return text
    warnings.warn(_NO_FONT, UserWarning, stacklevel=2)
    return "".join(
        char.encode("ascii", "backslashreplace").decode() if char in lost else char
        for char in text
    )


def choose_fonts(*artists: Any) -> None:
    """Give all texts inside what they need to be read: families, or numbers."""
    from matplotlib.text import Text

    for artist in artists:
        for text in artist.findobj(Text):
            given = text.get_text()
            if given.isascii():
                continue
            readable = in_installed_fonts(given)
            if readable != given:
                text.set_text(readable)
            needed = dict.fromkeys(_families_of(_foreign(readable)).values())
            own = text.get_fontfamily()
            text.set_fontfamily([*own, *(name for name in needed if name not in own)])


def label(name: Any, width: int = 28, max_lines: int = 3) -> str:
    """Return a name on short lines: ``$`` starts no formula, ``_`` hides nothing.

    Characters that no installed font has are shown by their numbers.
    """
    shown = str(name).encode(errors="backslashreplace").decode()  # a lone surrogate
    text = in_installed_fonts(" ".join(shown.split()))
    width = max(2, width * len(text) // max(1, width_in_letters(text)))
    lines = textwrap.wrap(text, width, max_lines=max_lines, placeholder=" …")
    if lines and lines[-1].strip() == "…":  # a word longer than the line
        lines = textwrap.wrap(text, width)[:max_lines]
        lines[-1] = f"{lines[-1][: width - 2]} …"
    shown = "\n".join(lines).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def width_in_letters(text: str) -> int:
    """Return how many Latin letters are as wide; Chinese ones count twice."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _foreign(text: str) -> str:
    """Return the characters, each once, that the font in use lacks."""
    if text.isascii():
        return ""
    from matplotlib.font_manager import FontProperties

    others = "".join(sorted({c for c in text if not (c.isascii() or c.isspace())}))
    return _missing(others, tuple(FontProperties().get_family()), _n_fonts())


def _families_of(characters: str) -> dict[str, str]:
    """Return an installed family for each character; without those that have none."""
    return _found(characters, _n_fonts()) if characters else {}


def _n_fonts() -> int:
    """Count the known fonts: what was found holds until there is another one."""
    from matplotlib.font_manager import fontManager

    return len(fontManager.ttflist)


@lru_cache(256)
def _missing(characters: str, families: tuple[str, ...], n_fonts: int) -> str:
    fonts = [font for font in map(_font, families) if font is not None]
    return "".join(
        char
        for char in characters
        if not any(font.get_char_index(ord(char)) for font in fonts)
    )


@lru_cache(256)
def _found(characters: str, n_fonts: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for family in _candidates():
        wanted = [char for char in characters if char not in found]
        if not wanted:
            break
        font = _font(family)
        if font is not None:
            has = (char for char in wanted if font.get_char_index(ord(char)))
            found |= dict.fromkeys(has, family)
    return found


def _candidates() -> Iterator[str]:
    """Yield the installed families, those that we prefer first."""
    from matplotlib.font_manager import fontManager

    installed = {entry.name for entry in fontManager.ttflist}
    yield from (name for name in PREFERRED_FAMILIES if name in installed)
    others = installed.difference(PREFERRED_FAMILIES)
    # the fonts of last resort have a box for everything
    yield from sorted(n for n in others if "LastResort" not in n.replace(" ", ""))


def _font(family: str) -> Any:
    """Return the font of a family; None where there is none that can be read."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    try:
        properties = FontProperties(family=[family])
        return get_font(findfont(properties, fallback_to_default=False))
    except (ValueError, OSError, RuntimeError):
        return None
