"""Numbers in text: "1.5", "1,234", "1 234", "21%", "$5", "5 EUR", "1,5", "(12.50)"."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

CURRENCIES = "$€£¥₹"
UNITS = ("%", *CURRENCIES)
ISO_4217 = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP
BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP
GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS
KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR
MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF
SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD
TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG
"""
CURRENCY_CODES = frozenset(ISO_4217.split())
"""Other capital letters beside a number, as in "BMW 320", are not a unit."""
SIGNS_OF_CODES = {"EUR": "€", "INR": "₹"}
"""Signs that no other currency has; several have "$", "£" or "¥"."""
WITH_CODE = re.compile(
    r"[+-]?\(?(?:(?P<before>[A-Z]{3})\s[^A-Za-z\d]*\d[^A-Za-z]*"
    r"|[^A-Za-z\d]*\d[^A-Za-z]*(?P<after>[A-Z]{3})\)?)"
)
"""An amount with a currency code; without a space, as in "INV-12", a code before is a prefix."""
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
SEPARATORS = {"spaced": SPACES, "apostrophe": APOSTROPHES}
"""Separators of thousands by the first word of a style, except for commas and points."""
WITHOUT_SEPARATORS = str.maketrans("", "", SPACES + APOSTROPHES)
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?", re.ASCII)
WITH_TEXT = re.compile(
    rf"(?P<before>[A-Za-z]*[{CURRENCIES}])?\s*[+-]?\d[\d.,{SPACES}{APOSTROPHES}]*(?P<after>\D*)"
)
"""A number with other text, as in "12 kg", "3,5 zł" or "US$5"; "INV-12" is a name."""
POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
"""Numbers whose points may separate thousands."""
BELOW_THOUSAND = re.compile(r"[+-]?\d{1,3}", re.ASCII)
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d+", re.ASCII)
GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*(?:,\d+)?", re.ASCII)
CODE = re.compile(rf"0(?:[{SPACES}]?\d)+", re.ASCII)
"""Digits with a leading zero, such as ZIP codes; a column that has some is not numeric."""
MISSING_NUMBERS = ("none", "-", "\N{EN DASH}", "\N{EM DASH}")
"""Text that stands for a missing number, in lower case, although it can be a category."""
MINUS = "\N{MINUS SIGN}"
MIN_SHARE = 0.9
"""Share of the cells that must be numbers or dates; the others are treated as missing."""


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written in a column of text."""

    style: str = "plain"  # a key of STYLES
    unit: str = ""  # "%", or the sign or code of a currency, which every number has

    def parse(self, word: str) -> float:
        """Return the number, nan if the text has another format."""
        body = normalize_sign(word)
        if self.unit:
            body = normalize_sign(strip_unit(body, self.unit))
        if not body or not STYLES[self.style].fullmatch(body):
            return np.nan
        if "comma" in self.style:
            body = body.replace(".", "").replace(",", ".")
        value = float(body.replace(",", "").translate(WITHOUT_SEPARATORS))
        return value if np.isfinite(value) else np.nan

    def __str__(self) -> str:
        """Return a description, empty for plain numbers."""
        unit = {"": "", "%": "percentages"}.get(self.unit, f"amounts in {self.unit}")
        style = {
            "plain": "",
            "grouped": "commas between thousands",
            "comma": "decimal commas",
            "grouped comma": "decimal commas and points between thousands",
            "spaced": "spaces between thousands",
            "spaced comma": "decimal commas and spaces between thousands",
            "apostrophe": "apostrophes between thousands",
            "apostrophe comma": "decimal commas and apostrophes between thousands",
        }[self.style]
        return " with ".join(part for part in (unit, style) if part)


def _compile_separated(separators: str, mark: str) -> re.Pattern[str]:
    """Return the pattern of numbers such as "1 234.5"; smaller ones have no separator."""
    integer = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{separators}]\d{{3}})+)"
    return re.compile(rf"[+-]?(?:{integer}(?:{mark}\d+)?|{mark}\d+)", re.ASCII)


STYLES = {
    "plain": PLAIN,  # 1234.5
    "grouped": GROUPED,  # 1,234.5
    "comma": COMMA,  # 1234,5
    "grouped comma": GROUPED_COMMA,  # 1.234,5
    "spaced": _compile_separated(SPACES, r"\."),  # 1 234.5
    "spaced comma": _compile_separated(SPACES, ","),  # 1 234,5
    "apostrophe": _compile_separated(APOSTROPHES, r"\."),  # 1'234.5
    "apostrophe comma": _compile_separated(APOSTROPHES, ","),  # 1'234,5
}


def normalize_sign(word: str) -> str:
    """Return text with an ASCII minus; negative numbers of accountants are in parentheses."""
    if word[:1] == "(" and word[-1:] == ")":
        word = "-" + word[1:-1].strip()
    return word.replace(MINUS, "-")


def strip_unit(word: str, unit: str) -> str:
    """Return the number in text such as "21 %", "-$5" or "5 EUR"; empty without the unit.

    The code of a currency is equivalent to a sign that no other currency has.
    """
    code = find_currency_code(word)
    if is_currency_code(unit) and code != unit:
        unit = SIGNS_OF_CODES.get(unit, "")
    elif unit and SIGNS_OF_CODES.get(code) == unit:
        unit = code
    if not unit:
        return ""
    sign = word[:1] if word[:1] in ("+", "-") else ""
    body = word[len(sign) :].strip()
    if body.startswith(unit) and unit != "%":
        body = body[len(unit) :].strip()
    elif body.endswith(unit):
        body = body[: -len(unit)].strip()
    else:
        return ""
    return sign + body


def is_currency_code(unit: str) -> bool:
    """Return whether a unit is the code of a currency."""
    return unit in CURRENCY_CODES


def find_currency_code(word: str) -> str:
    """Return the currency code of an amount such as "5 EUR" or "USD 5", empty if it has none."""
    found = WITH_CODE.fullmatch(word)
    code = (found["before"] or found["after"]) if found else ""
    return code if is_currency_code(code) else ""


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
    as "1,5", shows that its comma is a decimal one. Amounts in other currencies than most are not
    numbers.
    """
    expected = ~is_missing_number(words)
    n_cells = counts[expected].sum()
    if not n_cells or any(CODE.fullmatch(word) for word in words):
        return None
    best, best_share = None, 0.0
    for candidate in _list_candidates(words):
        share = counts[np.isfinite(parse_words(words, candidate))].sum() / n_cells
        if share > best_share:
            best, best_share = candidate, share
        if share == 1.0:
            break
    return best if best_share >= min_share else None


def find_common_text(
    words: list[str], counts: IntArray, min_share: float = MIN_SHARE
) -> tuple[str, str]:
    """Return the text beside the numbers of at least a share of the cells, and an example.

    Both are empty if there is no such text.
    """
    n_cells: Counter[str] = Counter()
    examples: dict[str, str] = {}
    expected = ~is_missing_number(words)
    for word, count in zip(words, (counts * expected).tolist(), strict=True):
        if found := WITH_TEXT.fullmatch(normalize_sign(word)):
            text = (found["before"] or found["after"]).strip()
            n_cells[text] += count
            examples.setdefault(text, word)
    for text, number in n_cells.items():
        if text and number >= min_share * counts[expected].sum():
            return text, examples[text]
    return "", ""


def _list_candidates(words: list[str]) -> list[NumberFormat]:
    """Return the formats of which some words have the unit and the separator of thousands."""
    codes = Counter(find_currency_code(normalize_sign(word)) for word in words)
    del codes[""]
    units = [unit for unit in UNITS if any(unit in word for word in words)]
    units += [code for code, number in codes.items() if number > codes.total() / 2]
    styles = [style for style in STYLES if _has_separator(words, style)]
    candidates = [NumberFormat(style, unit) for unit in ("", *units) for style in styles]
    if any(find_role_of_points(words, unit) == "thousands" for unit in units):
        candidates.sort(key=lambda candidate: candidate.style != "grouped comma")
    return candidates


def find_role_of_points(words: list[str], unit: str) -> str:
    """Return what the points of amounts are: "decimal", "thousands" or "unclear".

    If three digits follow each point, as in "1.421 €", points separate thousands if there are
    smaller amounts such as "950 €", where decimals would be written, too. The role is unclear if
    there are none, or if few amounts, such as "1.5 €" or "1421 €", contradict the others.
    """
    if unit in ("", "%"):
        return "decimal"
    amounts = [normalize_sign(strip_unit(normalize_sign(word), unit)) for word in words]
    pointed = [amount for amount in amounts if "." in amount]
    others = [amount for amount in amounts if amount and "." not in amount]
    n_grouped = sum(POINTS.fullmatch(amount) is not None for amount in pointed)
    if not pointed or n_grouped < MIN_SHARE * len(pointed):
        return "decimal"
    agree = n_grouped == len(pointed) and all(BELOW_THOUSAND.fullmatch(a) for a in others)
    return "thousands" if agree and others else "unclear"


def _has_separator(words: list[str], style: str) -> bool:
    separators = SEPARATORS.get(style.partition(" ")[0], "")
    return not separators or any(c in word for word in words for c in separators)
