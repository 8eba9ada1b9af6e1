"""Numbers in text: "1.5", "1,234", "21%", "$5", "1,5", "(12.50)"."""

import re
from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

CURRENCIES = "$€£¥₹"
UNITS = ("%", *CURRENCIES)
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?", re.ASCII)
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d+", re.ASCII)
GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*(?:,\d+)?", re.ASCII)
CODE = re.compile(r"0\d+", re.ASCII)
"""Digits with a leading zero, such as ZIP codes; a column that has some is not numeric."""
MISSING_NUMBERS = ("none", "-", "\N{EN DASH}", "\N{EM DASH}")
"""Text that stands for a missing number, in lower case, although it can be a category."""
MINUS = "\N{MINUS SIGN}"
MIN_SHARE = 0.9
"""Share of the cells that must be numbers or dates; the others are treated as missing."""


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written in a column of text."""

    style: str = "plain"  # "plain", "grouped" (1,234.5), "comma" (1,5), "grouped comma" (1.234,5)
    unit: str = ""  # "%" or the sign of a currency, which every number has

    def parse(self, word: str) -> float:
        """Return the number, nan if the text has another format."""
        body = normalize_sign(word)
        if self.unit:
            body = normalize_sign(strip_unit(body, self.unit))
        if not body or not STYLES[self.style].fullmatch(body):
            return np.nan
        if "comma" in self.style:
            body = body.replace(".", "").replace(",", ".")
        value = float(body.replace(",", ""))
        return value if np.isfinite(value) else np.nan

    def __str__(self) -> str:
        """Return a description, empty for plain numbers."""
        unit = {"": "", "%": "percentages"}.get(self.unit, f"amounts in {self.unit}")
        style = {
            "plain": "",
            "grouped": "commas between thousands",
            "comma": "decimal commas",
            "grouped comma": "decimal commas and points between thousands",
        }[self.style]
        return " with ".join(part for part in (unit, style) if part)


STYLES = {"plain": PLAIN, "grouped": GROUPED, "comma": COMMA, "grouped comma": GROUPED_COMMA}
FORMATS = [NumberFormat(style, unit) for unit in ("", *UNITS) for style in STYLES]


def normalize_sign(word: str) -> str:
    """Return text with an ASCII minus; negative numbers of accountants are in parentheses."""
    if word[:1] == "(" and word[-1:] == ")":
        word = "-" + word[1:-1].strip()
    return word.replace(MINUS, "-")


def strip_unit(word: str, unit: str) -> str:
    """Return the number in text such as "21 %", "-$5" or "5 €"; empty without the unit."""
    sign = word[:1] if word[:1] in ("+", "-") else ""
    body = word[len(sign) :].strip()
    if body.startswith(unit) and unit != "%":
        body = body[len(unit) :].strip()
    elif body.endswith(unit):
        body = body[: -len(unit)].strip()
    else:
        return ""
    return sign + body


def parse_words(words: list[str], number_format: NumberFormat) -> FloatArray:
    """Return the number of each word, nan where it has another format."""
    return np.array([number_format.parse(word) for word in words], dtype=np.float64)


def is_missing_number(words: list[str]) -> AnyArray:
    """Return a mask of words that stand for a missing number although they can be categories."""
    return np.array([word.lower() in MISSING_NUMBERS for word in words], dtype=bool)


def find_format(
    words: list[str], counts: IntArray, min_share: float = MIN_SHARE
) -> NumberFormat | None:
    """Return the format of at least a share of the cells, or None.

    `counts` has the number of cells of each word.

    Simple formats are preferred: "1,234" is a number with thousands unless another cell, such
    as "1,5", shows that its comma is a decimal one.
    """
    expected = ~is_missing_number(words)
    n_cells = counts[expected].sum()
    if not n_cells or any(CODE.fullmatch(word) for word in words):
        return None
    best, best_share = None, 0.0
    for candidate in FORMATS:
        if candidate.unit and not any(candidate.unit in word for word in words):
            continue
        share = counts[np.isfinite(parse_words(words, candidate))].sum() / n_cells
        if share > best_share:
            best, best_share = candidate, share
        if share == 1.0:
            break
    return best if best_share >= min_share else None
