"""Cells of tables: numbers, dates and words, and numbers and dates that are written as words."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

MISSING_WORDS = frozenset(
    ("", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "?", ".", "...",
     "-", "--", "\u2013", "\u2014")
)  # fmt: skip
"""Text that stands for a missing cell, in lower case."""
CODE = re.compile(r"0\d+")
"""Digits with a leading zero, such as ZIP codes, which are not numbers."""
NUMBER_OBJECTS = ("integer", "floating", "mixed-integer-float", "decimal")
"""Kinds of objects, as of pandas."""
SIGN = r"[-+\u2212]"
CURRENCY = r"[A-Z]{0,2}[$\u00a2-\u00a5\u20a0-\u20cf]"
PRICE = re.compile(rf"{CURRENCY}|[A-Z]{{3}}|R ")
"""What numbers with a currency contain."""
NUMBER = re.compile(
    rf"(?P<limit>[<>\u2264\u2265]=?)?\s*(?P<open>\()?\s*(?P<sign>{SIGN})?\s*"
    rf"(?P<before>{CURRENCY}|(?:[A-Z]{{3}}|R|Rs\.?|[Kk]r\.?|Fr\.?)(?=\s))?\s*(?P<sign2>{SIGN})?"
    r"(?P<digits>[.,]?\d(?:[\d.,'\u2019\s]*\d)?[.,]?)(?P<exponent>[eE][-+]?\d+)?"
    rf"\s*(?P<after>[%\u2030]|{CURRENCY}|[\u00b0\u00b5\u03bc]?[^\W\d_]{{1,10}}[23\u00b2\u00b3]?"
    r"(?:/[^\W\d_]{1,5}[23\u00b2\u00b3]?)?|\u00b0)?\s*(?P<close>\))?"
)
DATE = re.compile(
    r"(?P<a>\d{4}|\d{1,2}|[A-Za-z]{3,9})(?:[-/. ]|\. )(?P<b>\d{1,2}|[A-Za-z]{3,9})"
    r"(?:[-/. ]|, |\. )(?P<c>\d{4}|\d{1,2})"
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?(?:\s*(?:Z|UTC|[-+]\d\d:?\d\d))?)?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
EPOCH = datetime(1970, 1, 1)
MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True)
class Cells:
    """The cells of a column."""

    kind: str  # "number", "date", "word", or what else the column has
    values: AnyArray  # numbers or days since 1970, nan if missing; or codes of words, -1 if missing
    words: list[str]  # distinct words, upper and lower case being the same
    is_category: bool = False  # whether the type of the column is boolean or categorical

    @property
    def missing(self) -> AnyArray:
        """Mask of the missing cells, (n,)."""
        return self.values < 0 if self.kind == "word" else np.isnan(self.values)

    def count_words(self) -> IntArray:
        """Return the number of cells of each word."""
        return np.bincount(self.values[~self.missing], minlength=len(self.words))

    def spread(self, values: AnyArray) -> AnyArray:
        """Return the value of the word of each cell, nan where it is missing."""
        return np.append(values, np.nan)[self.values]


def import_pandas() -> Any:
    """Return the package pandas; raise ImportError if it is missing."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("The extra 'tables' is missing; see Installation.") from error
    return pandas


def read_cells(name: str, series: Any, *, as_words: bool = False) -> Cells:
    """Return the cells of a pandas column; text of plain numbers as numbers unless `as_words`."""
    pd = import_pandas()
    if hasattr(series.dtype, "pyarrow_dtype") and series.dtype.kind not in "iuf":
        series = series.astype(object)
    types, dtype = pd.api.types, series.dtype
    kind = types.infer_dtype(series, skipna=True) if dtype.kind == "O" else ""
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_localize(None)
    elif kind in ("date", "datetime", "datetime64"):
        local = [v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for v in series]
        series = pd.to_datetime(pd.Series(local, dtype=object), errors="coerce")
    elif kind == "timedelta":
        series = pd.to_timedelta(series)
    if series.dtype.kind in "mM":
        moments = series.to_numpy().astype(f"{series.dtype.kind}8[us]")
        days = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / MICROSECONDS_PER_DAY)
        return Cells("date" if series.dtype.kind == "M" else "number", days, [])
    if (dtype.kind in "iuf" and types.is_numeric_dtype(dtype)) or kind in NUMBER_OBJECTS:
        return _make_numbers(name, series)
    objects = series.astype(object)
    missing = objects.isna()
    kinds = {
        type(v) for v in objects[~missing] if not isinstance(v, str | int | float | np.generic)
    }
    if kinds or dtype.kind == "c":
        described = min((found.__name__ for found in kinds), default="complex")
        return Cells(f"values of type {described}", np.where(missing, np.nan, 0.0), [])
    is_category = dtype.kind == "b" or kind == "boolean" or isinstance(dtype, pd.CategoricalDtype)
    codes, distinct = pd.factorize(objects)
    cells = _to_words(codes, distinct, is_category)
    if not (as_words or is_category):
        numbers = pd.to_numeric(objects, errors="coerce")
        if numbers.isna().sum() == cells.missing.sum() and not any(map(CODE.match, cells.words)):
            return _make_numbers(name, numbers)
    return cells


def _make_numbers(name: str, series: Any) -> Cells:
    values = import_pandas().to_numeric(series).to_numpy(np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = series.index[int(np.argmax(np.isinf(values)))]
        raise ValueError(
            f"Input X contains infinity in column {name!r}, first in row {row}. Replace infinite "
            "values by missing ones."
        )
    return Cells("number", values, [])


def to_words(cells: Cells) -> Cells:
    """Return numbers or dates as words."""
    if cells.kind not in ("number", "date"):
        return cells
    known = cells.values[~cells.missing]
    if cells.kind == "date":
        moments = (known * MICROSECONDS_PER_DAY).round().astype("datetime64[us]")
        known = np.datetime_as_string(moments, "s")
    distinct, places = np.unique(known, return_inverse=True)
    codes = np.full(len(cells.values), -1)
    codes[~cells.missing] = places
    return _to_words(codes, distinct, is_category=True)


def _to_words(codes: AnyArray, distinct: Any, is_category: bool) -> Cells:
    places: dict[str, int] = {}
    words: list[str] = []
    mapped = np.full(len(distinct) + 1, -1)  # the last one for missing cells
    for code, value in enumerate(distinct.tolist()):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        word = " ".join(str(value).split())
        if word.casefold() in MISSING_WORDS:
            continue
        if word.casefold() not in places:
            places[word.casefold()] = len(words)
            words.append(word)
        mapped[code] = places[word.casefold()]
    return Cells("word", mapped[codes], words, is_category)


def find_number_format(words: Sequence[str], counts: IntArray) -> tuple[str, str]:
    """Return the decimal mark and the most frequent unit of numbers in text.

    A mark is decimal if it follows another one, or if the digits after it cannot be a group of
    thousands, as three digits with a currency are; each cell has a vote. Without votes, the point
    is decimal.
    """
    marks: Counter[str] = Counter()
    units: Counter[str] = Counter()
    for word, count in zip(words, counts.tolist(), strict=True):
        found = NUMBER.fullmatch(word)
        if found is None:
            continue
        if unit := _get_unit(found):
            units[unit] += count
        digits = found["digits"]
        used = {mark for mark in ".," if mark in digits}
        if len(used) == 2:
            marks[max(used, key=digits.rindex)] += count
        elif used:
            mark = used.pop()
            before, _, after = digits.rpartition(mark)
            is_group = len(after) == 3 and 1 <= len(before) <= 3 and before != "0"
            if mark in before or (is_group and PRICE.search(word)):
                marks["," if mark == "." else "."] += count
            elif not is_group:
                marks[mark] += count
    decimal = "," if marks[","] > marks["."] else "."
    return decimal, units.most_common(1)[0][0] if units else ""


def parse_numbers(words: Sequence[str], decimal: str, unit: str) -> tuple[FloatArray, AnyArray]:
    """Return the numbers, nan for other text and other units, and a mask of limits like "<5"."""
    values, limits = np.full(len(words), np.nan), np.zeros(len(words), dtype=bool)
    mark, group = re.escape(decimal), re.escape(",.".replace(decimal, ""))
    numeral = re.compile(
        rf"(?:\d+|\d{{1,3}}(?:{group}\d{{3}})+|\d{{1,3}}(?:['\u2019\s]\d{{3}})+)?(?:{mark}\d*)?"
    )
    for place, word in enumerate(words):
        found = NUMBER.fullmatch(word)
        if (
            found is None
            or _get_unit(found) not in ("", unit)
            or bool(found["open"]) != bool(found["close"])
            or not numeral.fullmatch(found["digits"])
        ):
            continue
        digits = re.sub(rf"[^\d{mark}]", "", found["digits"]).replace(decimal, ".")
        negative = bool(found["open"])
        for sign in (found["sign"], found["sign2"]):
            negative ^= sign is not None and sign != "+"
        value = float(digits + (found["exponent"] or ""))
        if np.isfinite(value):
            values[place], limits[place] = -value if negative else value, bool(found["limit"])
    return values, limits


def _get_unit(found: re.Match[str]) -> str:
    return (found["before"] or found["after"] or "").casefold().rstrip(".")


def parse_dates(words: Sequence[str], *, day_first: bool) -> FloatArray:
    """Return dates and times as days since 1970, nan for other text; time zones are ignored."""
    return np.array([_parse_date(word, day_first) for word in words], dtype=np.float64)


def _parse_date(word: str, day_first: bool) -> float:
    found = DATE.fullmatch(word)
    if found is None:
        return np.nan
    a, b, c = found["a"], found["b"], found["c"]
    if len(a) == 4 and a.isdigit():
        year, month, day = a, b, c
    elif a.isalpha() or not (day_first or b.isalpha()):
        month, day, year = a, b, c
    else:
        day, month, year = a, b, c
    if len(year) not in (2, 4):
        return np.nan
    try:
        number = int(year) + (0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000)
        in_year = MONTHS.index(month[:3].lower()) + 1 if month.isalpha() else int(month)
        hour = int(found["hour"] or 0)
        if found["half"]:
            hour = hour % 12 + 12 * (found["half"] in "pP")
        time = timedelta(minutes=int(found["minute"] or 0), seconds=float(found["second"] or 0))
        return (datetime(number, in_year, int(day), hour) + time - EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):  # no such month, day or hour
        return np.nan
