"""Dates in text, in one format per column."""

import re
from datetime import datetime, timedelta

import numpy as np

from opgd._tables.text_numbers import MIN_SHARE, is_missing_number
from opgd._utils.text import list_names
from opgd.core.types import FloatArray, IntArray

ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII
)
FORMATS = {
    "year-month-day": "",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
    "day-month-year": "%d-%m-%Y",
    "day month-name year": "%d %b %Y",
    "day-month-name-year": "%d-%b-%Y",
    "month-name day, year": "%b %d, %Y",
}
"""Formats by name, as of `strptime`; the first is ISO 8601, with an optional time."""
MONTH_FIRST, DAY_FIRST = "month/day/year", "day/month/year"
SHAPE = re.compile(r"\d{1,4}[-/. ].*\d|[A-Za-z]{3} \d{1,2}, \d{4}", re.ASCII)
TIME = re.compile(r"^(.*\d{4})[ T](\d{1,2}:\d{2}(?::\d{2})?)$", re.ASCII)
CLOCK = re.compile(r"\d{1,2}:[0-5]\d(?::[0-5]\d)?(?: ?[AaPp][Mm])?", re.ASCII)
"""A time without a date, or a duration."""
EPOCH = datetime(1970, 1, 1)


def parse_date(word: str, name: str) -> float:
    """Return the days since 1970 of a date in this format, nan for other text.

    An offset such as +01:00 is dropped, so that times are those that are written.
    """
    try:
        if not FORMATS[name]:
            if not ISO.fullmatch(word):
                return np.nan
            moment = datetime.fromisoformat(word)
        else:
            with_time = TIME.match(word)
            pattern = FORMATS[name]
            if with_time and not pattern.startswith("%Y"):
                seconds = ":%S" if with_time[2].count(":") == 2 else ""
                pattern += f" %H:%M{seconds}"
                word = f"{with_time[1]} {with_time[2]}"
            moment = datetime.strptime(word, pattern)
    except ValueError:
        return np.nan
    return float((moment.replace(tzinfo=None) - EPOCH) / timedelta(days=1))


def find_clock_time(words: list[str], counts: IntArray, min_share: float = MIN_SHARE) -> str:
    """Return an example if at least a share of the cells are times without dates, else ""."""
    matches = np.array([CLOCK.fullmatch(word) is not None for word in words])
    expected = counts * ~is_missing_number(words)
    if not expected @ matches >= min_share * expected.sum() > 0:
        return ""
    return words[int(np.argmax(matches))]


def parse_dates(words: list[str], name: str) -> FloatArray:
    """Return the days since 1970 of each word, nan where it has another format."""
    return np.array([parse_date(word, name) for word in words], dtype=np.float64)


def find_date_format(
    words: list[str], counts: IntArray, min_share: float = MIN_SHARE
) -> str | None:
    """Return the name of the format of at least a share of the cells, or None.

    If the whole column can be read in two ways (`is_ambiguous`), the month comes first.
    """
    expected = ~is_missing_number(words)
    n_cells = counts[expected].sum()
    if not n_cells or counts[[bool(SHAPE.match(word)) for word in words]].sum() < (
        min_share * n_cells
    ):
        return None
    best, best_share = None, 0.0
    for name in FORMATS:
        share = counts[np.isfinite(parse_dates(words, name))].sum() / n_cells
        if share > best_share:
            best, best_share = name, share
        if share == 1.0:
            break
    return best if best_share >= min_share else None


def is_ambiguous(words: list[str]) -> bool:
    """Return whether dates such as 03/04/2024 can be read in two ways in the whole column."""
    first, second = parse_dates(words, MONTH_FIRST), parse_dates(words, DAY_FIRST)
    both = np.isfinite(first)
    return np.array_equal(both, np.isfinite(second)) and bool(np.any(first[both] != second[both]))


def describe_ambiguity(names: list[str]) -> str:
    """Return a note on columns of ambiguous dates, which are read with the month first."""
    one = len(names) == 1
    return (
        f"{'Column' if one else 'Columns'} {list_names([repr(name) for name in names])} "
        f"{'has' if one else 'have'} dates that can be read in two ways; {MONTH_FIRST} is assumed. "
        "If the day comes first, convert them before, for example with "
        "pandas.to_datetime(..., dayfirst=True)."
    )
