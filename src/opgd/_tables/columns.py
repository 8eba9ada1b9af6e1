"""Encoded columns: how the cells of one column of a table become columns of numbers.

The fields are plain data, so that model files can store them.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opgd._tables.cells import Cells, DateCells, NumberCells, WordCells, read_words
from opgd._tables.text_dates import (
    FORMATS,
    describe_ambiguity,
    find_date_format,
    is_ambiguous,
    parse_dates,
)
from opgd._tables.text_numbers import (
    STYLES,
    UNITS,
    NumberFormat,
    find_format,
    is_missing_number,
    parse_words,
)
from opgd._utils.text import list_names
from opgd.core.types import AnyArray, FloatArray

MAX_QUOTED = 40
BOOLEANS = {"True": 1.0, "False": 0.0}
BINARY = {"1": "True", "0": "False"}
CYCLES = {"hour": 24, "weekday": 7, "month": 12}
"""Cycles of dates and their lengths."""
OUTPUT = re.compile(rf"(.+?)(=.*|:days|:({'|'.join(CYCLES)})_(sin|cos))")
"""Names of encoded categories and dates: name of the column, and ending."""


def quote(value: Any) -> str:
    """Return a shortened value in quotes."""
    text = str(value)
    return repr(text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…")


def find_source(feature: str) -> str | None:
    """Return the column of a feature named like "plan=gold" or "signup:days", None for others."""
    found = OUTPUT.fullmatch(feature)
    return found[1] if found else None


class ChangedColumn(ValueError):  # noqa: N818
    """Raised for a column that cannot be encoded as in the training table."""

    def __init__(self, name: str, before: str, now: str, row: int | None = None) -> None:
        place = "" if row is None else f" (row {row})"
        super().__init__(
            f"Column {name!r} has {before} in the training table, but now has {now}{place}. "
            "Correct the column, or fit the encoder again."
        )
        self.name, self.before, self.now, self.row = name, before, now, row


@dataclass(frozen=True)
class NumberColumn:
    """Numbers that are passed on, and text that is parsed as numbers."""

    name: str
    style: str = "plain"
    unit: str = ""

    @property
    def outputs(self) -> list[str]:
        """Endings of the names of the encoded columns."""
        return [""]

    @property
    def format(self) -> NumberFormat:
        """The format of the numbers in text."""
        return NumberFormat(self.style, self.unit)

    def encode(self, cells: Cells, notes: list[str]) -> AnyArray:
        """Return the numbers, (n, 1), nan where missing; `notes` receives what is unexpected."""
        if isinstance(cells, NumberCells):
            if self.unit and not np.all(cells.missing):
                raise ChangedColumn(self.name, str(self.format), "numbers without a unit")
            return cells.values[:, None]
        if not isinstance(cells, WordCells):
            now = "dates" if isinstance(cells, DateCells) else cells.what
            raise ChangedColumn(self.name, "numbers", now)
        numbers = self._parse(cells, notes)
        return _spread(numbers, cells)[:, None]

    def _parse(self, cells: WordCells, notes: list[str]) -> FloatArray:
        """Return the number of each word; text that is not a number is treated as missing."""
        numbers = _parse_booleans(cells.words, self.format)
        invalid = np.isnan(numbers) & ~is_missing_number(cells.words)
        if invalid.any():
            other = find_format(cells.words, cells.count_words())
            if other is not None and other.unit == self.unit and other != self.format:
                notes.append(
                    f"Column {self.name!r} has {str(other) or 'plain numbers'}, unlike the "
                    "training table; its numbers are read accordingly."
                )
                numbers = _parse_booleans(cells.words, other)
                invalid = np.isnan(numbers) & ~is_missing_number(cells.words)
        _check_parsed(self.name, str(self.format) or "numbers", cells, invalid, notes)
        return numbers


def _parse_booleans(words: list[str], number_format: NumberFormat) -> FloatArray:
    if words and not number_format.unit and set(words) <= set(BOOLEANS):
        return np.array([BOOLEANS[word] for word in words])
    return parse_words(words, number_format)


def _check_parsed(
    name: str, expected: str, cells: WordCells, invalid: AnyArray, notes: list[str]
) -> None:
    """Raise ChangedColumn if no word is valid; add a note if some are not."""
    if not invalid.any():
        return
    wrong = [word for word, is_wrong in zip(cells.words, invalid, strict=True) if is_wrong]
    if invalid.all():
        row = int(np.argmax(cells.codes >= 0))
        raise ChangedColumn(name, expected, f"text such as {quote(wrong[0])}", row)
    count = int(cells.count_words()[invalid].sum())
    listed = list_names([quote(word) for word in wrong])
    notes.append(
        f"Column {name!r} has {expected}, but also {count} other cell{'s' * (count > 1)}, treated "
        f"as missing: {listed}."
    )


def _spread(values: FloatArray, cells: WordCells) -> FloatArray:
    """Return the value of the word of each cell, nan where missing."""
    return np.append(values, np.nan)[cells.codes]


@dataclass(frozen=True)
class CategoryColumn:
    """Categories as indicator columns, one for each level except the reference level.

    A level is a category, the group of rare categories or the group of missing cells. An
    indicator of the reference level would be a linear function of the others.
    """

    name: str
    levels: list[str]
    shares: list[float]  # shares of the levels in the training table
    words: list[str]  # categories of the training table
    places: list[int]  # level of each word
    reference: int = 0  # level without an indicator
    other: int = -1  # level of unknown categories, -1 for none
    missing: int = -1  # level of missing cells, -1 for none
    numeric: bool = False  # whether the categories were numbers

    @property
    def outputs(self) -> list[str]:
        """Endings of the names of the encoded columns."""
        indicated = [level for k, level in enumerate(self.levels) if k != self.reference]
        return [f"={level}" for level in indicated]

    def encode(self, cells: Cells, notes: list[str]) -> AnyArray:
        """Return the indicators, (n, len(outputs)); `notes` receives unknown categories.

        Rare and unknown categories without a level have the average indicators of the training
        table, and missing cells without a level are nan.
        """
        words, rows = self._to_words(cells), self.word_rows
        self._note_unknown([word for word in words.words if word not in rows], notes)
        unknown, missing = self.other_rows
        row_of_word = [rows.get(word, unknown) for word in words.words]
        indicators: FloatArray = self.indicators[np.array([*row_of_word, missing])[words.codes]]
        return indicators

    @property
    def indicators(self) -> FloatArray:
        """Indicators of each level, of unknown categories and of missing cells, by row."""
        n_levels = len(self.levels)
        rows = np.vstack([np.eye(n_levels), self.shares, np.full(n_levels, np.nan)])
        return np.delete(rows, self.reference, axis=1)

    @property
    def other_rows(self) -> tuple[int, int]:
        """Rows of `indicators` for unknown categories and for missing cells."""
        unknown = len(self.levels) if self.other < 0 else self.other
        return unknown, len(self.levels) + 1 if self.missing < 0 else self.missing

    @property
    def word_rows(self) -> dict[str, int]:
        """Rows of `indicators` by category of the training table."""
        unknown, _ = self.other_rows
        rows = [unknown if place < 0 else place for place in self.places]
        return dict(zip(self.words, rows, strict=True))

    def _note_unknown(self, unknown: list[str], notes: list[str]) -> None:
        if unknown:
            listed = list_names([quote(word) for word in unknown])
            noun = "an unknown category" if len(unknown) == 1 else "unknown categories"
            outcome = "treated as other" if self.other >= 0 else "ignored"
            notes.append(f"Column {self.name!r} has {noun}, {outcome}: {listed}.")

    def _to_words(self, cells: Cells) -> WordCells:
        words = self._read_words(cells)
        if set(self.words) <= set(BOOLEANS) and set(words.words) <= set(BINARY):
            return replace(words, words=[BINARY[word] for word in words.words])
        return words

    def _read_words(self, cells: Cells) -> WordCells:
        if isinstance(cells, WordCells):
            return cells
        if not isinstance(cells, NumberCells):
            now = "dates" if isinstance(cells, DateCells) else cells.what
            raise ChangedColumn(self.name, self._describe(), now)
        words = read_words(cells.values.tolist(), declared=True, numeric=True)
        if not self.numeric and words.words and not set(words.words) & set(self.words):
            raise ChangedColumn(self.name, self._describe(), f"numbers such as {words.words[0]}")
        return words

    def _describe(self) -> str:
        return f"categories such as {quote(self.words[0])}"


@dataclass(frozen=True)
class DateColumn:
    """Dates as elapsed days, and as sine and cosine of cycles that vary."""

    name: str
    format: str = ""  # a name in text_dates.FORMATS; empty if the table had dates, not text
    origin: float = 0.0  # earliest date of the training table, in days since 1970
    cycles: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        """Endings of the names of the encoded columns."""
        return [":days", *(f":{cycle}_{wave}" for cycle in self.cycles for wave in ("sin", "cos"))]

    def encode(self, cells: Cells, notes: list[str]) -> FloatArray:
        """Return elapsed days and cycles, (n, len(outputs)), nan where missing."""
        days = self.read_days(cells, notes)
        columns = [days - self.origin]
        for cycle in self.cycles:
            angle = 2 * np.pi * get_position(days, cycle) / CYCLES[cycle]
            columns += [np.sin(angle), np.cos(angle)]
        return np.column_stack(columns)

    def read_days(self, cells: Cells, notes: list[str]) -> FloatArray:
        """Return the dates as days since 1970, nan where missing."""
        if isinstance(cells, DateCells):
            return cells.days
        if not isinstance(cells, WordCells):
            now = "numbers" if isinstance(cells, NumberCells) else cells.what
            if np.all(cells.missing):
                return np.full(len(cells.missing), np.nan)
            raise ChangedColumn(self.name, "dates", now)
        name = self.format or find_date_format(cells.words, cells.count_words())
        if not self.format and is_ambiguous(cells.words):
            notes.append(describe_ambiguity([self.name]))
        days = parse_dates(cells.words, name or next(iter(FORMATS)))
        invalid = np.isnan(days) & ~is_missing_number(cells.words)
        expected = f"dates ({self.format})" if self.format else "dates"
        _check_parsed(self.name, expected, cells, invalid, notes)
        return _spread(days, cells)


def get_position(days: FloatArray, cycle: str) -> FloatArray:
    """Return the position of dates in a cycle: hour from 0, weekday from Monday, month from 0."""
    if cycle == "hour":
        return 24.0 * (days % 1.0)
    if cycle == "weekday":
        return (np.floor(days) + 3) % 7  # 1970 began on a Thursday
    known = np.isfinite(days)
    months = np.where(known, days, 0.0).astype("datetime64[D]").astype("datetime64[M]")
    return np.where(known, months.astype(np.int64) % 12, np.nan)


Column = NumberColumn | CategoryColumn | DateColumn
CHOICES = {"style": tuple(STYLES), "unit": ("", *UNITS), "format": ("", *FORMATS)}
