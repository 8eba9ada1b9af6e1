"""Shorten and escape names of classes and columns for plots."""

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opgd.inspection.text import MAX_LENGTH, shorten


def format_names(names: Iterable[Any], max_length: int = MAX_LENGTH) -> list[str]:
    """Return shortened and escaped names; a number is added to names that would look equal."""
    shown = [shorten(_strip_controls(str(name)), max_length) for name in names]
    times, seen = Counter(shown), Counter[str]()
    for i, name in enumerate(shown):
        if times[name] > 1:
            seen[name] += 1
            shown[i] = f"{name} #{seen[name]}"
    return [escape_text(name) for name in shown]


def escape_text(text: str) -> str:
    """Return text that matplotlib shows literally, without math mode.

    Characters that are missing in the fonts are replaced by their code points in brackets.
    """
    families = _get_families()
    printable = "".join(c if _has_glyph(c, families) else f"[{ord(c):X}]" for c in text)
    return printable.replace("$", r"\$")


def _strip_controls(text: str) -> str:
    """Return text without control and formatting characters, or "(empty)"."""
    kinds = {"Cc": " ", "Cf": "", "Zl": " ", "Zp": " "}
    text = "".join(kinds.get(unicodedata.category(c), c) for c in text).strip()
    return text or "(empty)"


def _get_families() -> tuple[str, ...]:
    from matplotlib.font_manager import FontProperties

    return tuple(FontProperties().get_family())


@functools.lru_cache(maxsize=4096)
def _has_glyph(character: str, families: tuple[str, ...]) -> bool:
    if character.isascii():
        return True
    if unicodedata.category(character) in ("Cs", "Co", "Cn"):
        return False
    return any(font.get_char_index(ord(character)) for font in _load_fonts(families))


@functools.lru_cache(maxsize=16)
def _load_fonts(families: tuple[str, ...]) -> list[Any]:
    """Return the fonts of the font families, in order of fallback."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return [get_font(findfont(FontProperties(family=[family]))) for family in families]
