"""Columns of tables in a common form: numbers, words or dates.

Words are stored as their distinct values and a code per row, so that text is parsed once per
distinct value.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from opgd._utils.columns import (
    Fault,
    classify_dtype,
    classify_type,
    convert_column,
    convert_objects,
    is_missing_type,
    raise_faults,
)
from opgd.core.types import AnyArray, FloatArray, IntArray

MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "?")
"""Text that stands for a missing cell, in lower case; "None" can be a category."""
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class NumberCells:
    """Numbers, nan where missing."""

    values: AnyArray  # (n,)
    whole: bool = False  # whether the type of the column is an integer type

    @property
    def missing(self) -> AnyArray:
        """Mask of the missing cells, (n,)."""
        return np.isnan(self.values)


@dataclass(frozen=True)
class WordCells:
    """Text, booleans or categories: distinct words, and the index of the word of each cell."""

    words: list[str]
    codes: IntArray  # (n,), -1 where missing
    declared: bool  # whether the type of the column is boolean or categorical
    numeric: bool = False  # whether all words were numbers or booleans in the table

    @property
    def missing(self) -> AnyArray:
        """Mask of the missing cells, (n,)."""
        return self.codes < 0

    def count_words(self) -> IntArray:
        """Return the number of cells of each word."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))


@dataclass(frozen=True)
class DateCells:
    """Dates and times as days since 1970, nan where missing; without their time zones."""

    days: FloatArray  # (n,)

    @property
    def missing(self) -> AnyArray:
        """Mask of the missing cells, (n,)."""
        return np.isnan(self.days)


@dataclass(frozen=True)
class OtherCells:
    """Values without an encoding, such as lists."""

    what: str
    missing: AnyArray


Cells = NumberCells | WordCells | DateCells | OtherCells


def read_cells(name: str, column: Any, dtype: Any) -> Cells:
    """Return the cells of a column of a data frame or of an array of objects."""
    kind = classify_dtype(dtype)
    text = str(dtype).lower()
    if kind == "numbers" and not text.startswith("bool"):
        return _to_numbers(name, convert_column(column, dtype), "int" in text)
    if kind == "dates or times" and not text.startswith("period"):
        return _read_times(column)
    values = list_values(column)
    if kind == "objects":
        return _read_objects(name, values)
    if kind == "complex numbers" or kind == "nested values":
        return OtherCells(kind, np.array([value is None for value in values]))
    if kind == "text" and any(isinstance(value, bytes) for value in values[:1]):
        return OtherCells("binary data", np.array([value is None for value in values]))
    numeric = text.startswith("bool")
    return read_words(values, declared=numeric or kind == "categories", numeric=numeric)


def list_values(column: Any) -> list[Any]:
    """Return the values of a column as a list of Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column)


def read_words(values: Iterable[Any], *, declared: bool, numeric: bool = False) -> WordCells:
    """Return values as words; surrounding spaces are removed."""
    places: dict[str, int] = {}
    seen: dict[Any, int] = {}
    codes = []
    for value in values:
        code = seen.get(value)
        if code is None:
            word = to_word(value)
            code = -1 if word is None else places.setdefault(word, len(places))
            seen[value] = code
        codes.append(code)
    return WordCells(list(places), np.array(codes, dtype=np.intp), declared, numeric)


def to_word(value: Any) -> str | None:
    """Return a value as text, None if it is missing: 1.0 is "1", and TRUE is "True"."""
    if is_missing_type(type(value)) or value != value:
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    word = str(value).strip()
    lower = word.lower()
    if lower in MISSING_WORDS:
        return None
    return lower.capitalize() if lower in ("true", "false") else word


def _to_numbers(name: str, converted: AnyArray | Fault, whole: bool) -> NumberCells:
    if isinstance(converted, Fault):
        raise_faults({repr(name): converted})
    assert isinstance(converted, np.ndarray)
    values = converted if converted.dtype.kind == "f" else converted.astype(np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity in {name!r}, first in row {int(np.argmax(infinite))}. "
            "Replace infinite values, for example by missing ones."
        )
    return NumberCells(values, whole)


def _read_objects(name: str, values: list[Any]) -> Cells:
    """Return the cells of a column of objects, classified by the types of its values."""
    types = {type(value) for value in values}
    observed = [found for found in types if not is_missing_type(found)]
    kinds = {classify_type(found) for found in observed}
    missing: AnyArray = np.array([is_missing_type(type(value)) for value in values], dtype=bool)
    if kinds - {"numbers"} == {"dates or times"}:  # nan may stand for a missing date
        return _read_time_objects(values, observed)
    if observed and all(issubclass(found, bool | np.bool_) for found in observed):
        return read_words(values, declared=True, numeric=True)
    if kinds <= {"numbers"}:
        whole = any(issubclass(found, int | np.integer) for found in observed)
        return _to_numbers(name, convert_objects(np.array(values, dtype=object)), whole)
    if kinds <= {"numbers", "text", "categories"} and bytes not in types:
        return read_words(values, declared="categories" in kinds)
    if kinds & {"other objects"}:
        strange = next(found for found in observed if classify_type(found) == "other objects")
        return OtherCells(f"objects of type {strange.__name__}", missing)
    return OtherCells("values of several types" if len(kinds) > 1 else min(kinds), missing)


def _read_times(column: Any) -> Cells:
    """Return the cells of a column of dates, times or durations."""
    try:
        values = _to_local_times(column)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        values = np.empty(0, dtype=object)
    if values.dtype.kind == "M":
        return DateCells(to_days(values))
    if values.dtype.kind == "m":
        days = values.astype("timedelta64[us]").astype(np.float64) / 1e6 / SECONDS_PER_DAY
        return NumberCells(np.where(np.isnat(values), np.nan, days))
    objects = list_values(column)
    return _read_time_objects(objects, {type(value) for value in objects})


def _to_local_times(column: Any) -> AnyArray:
    """Return dates, times or durations as an array; dates with a time zone in local time.

    The array is empty for pyarrow dates with a time zone, which are converted one by one.
    """
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "tz", None) is not None:  # pandas
        column = column.dt.tz_localize(None)
    elif getattr(dtype, "time_zone", None) is not None:  # polars
        column = column.dt.replace_time_zone(None)
    elif getattr(getattr(column, "type", None), "tz", None) is not None:
        return np.empty(0, dtype=object)
    return np.asarray(column.to_numpy())


def to_days(values: AnyArray) -> FloatArray:
    """Return dates of NumPy as days since 1970, nan for NaT."""
    microseconds = values.astype("datetime64[us]").astype(np.int64)
    days = microseconds / 1e6 / SECONDS_PER_DAY
    return np.where(np.isnat(values), np.nan, days)


def _read_time_objects(values: list[Any], types: Iterable[type]) -> Cells:
    observed = [found for found in types if not is_missing_type(found) and found is not float]
    numbers: FloatArray = np.array([_to_number_of_days(value) for value in values])
    if any(issubclass(found, date | np.datetime64) for found in observed):
        return DateCells(numbers)
    return NumberCells(numbers)


def _to_number_of_days(value: Any) -> float:
    """Return a date as days since 1970, a duration as days, a time as days since midnight.

    Times with a time zone are local times.
    """
    if is_missing_type(type(value)) or value != value:
        return np.nan
    if isinstance(value, datetime):
        return float((value.replace(tzinfo=None) - datetime(1970, 1, 1)) / timedelta(days=1))
    if isinstance(value, date):
        return float(value.toordinal() - date(1970, 1, 1).toordinal())
    if isinstance(value, time):
        seconds = 3600 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
        return seconds / SECONDS_PER_DAY
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    if isinstance(value, np.datetime64):
        return float(to_days(np.array([value]))[0])
    return float(np.timedelta64(value, "us").astype(np.int64)) / 1e6 / SECONDS_PER_DAY
