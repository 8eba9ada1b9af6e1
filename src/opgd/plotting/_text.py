"""Names of classes and columns as text in a picture: literally, and short enough."""

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

from opgd.inspection.text import LONGEST, shorten


def format_names(names: Iterable[Any], longest: int = LONGEST) -> list[str]:
    """Shorten and escape names; those that would look the same get numbers."""
    shown = [shorten(_strip_controls(str(name)), longest) for name in names]
    times, seen = Counter(shown), Counter[str]()
    for i, name in enumerate(shown):
        if times[name] > 1:
            seen[name] += 1
            shown[i] = f"{name} #{seen[name]}"
    return [escape_text(name) for name in shown]


def escape_text(text: str) -> str:
    """Escape text so that matplotlib shows it literally: no formulas, only glyphs of its fonts.

    Characters that the fonts lack become code points in brackets.
    """
    families = _get_families()
    known = "".join(c if _has_glyph(c, families) else f"[{ord(c):X}]" for c in text)
    return known.replace("$", r"\$")


def _strip_controls(text: str) -> str:
    """Remove control characters and marks of direction; the result is never empty."""
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
    """Load the fonts that matplotlib falls back on, in this order."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return [get_font(findfont(FontProperties(family=[family]))) for family in families]
