"""Columns of tables as pandas data frames, for the table encoder."""

import re
import shlex
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from opgd.cli.console import Terminal, list_names, list_rows, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.read import Table
from opgd.core.types import AnyArray

DECIMAL_COMMA = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"
LEADING_ZERO = r"^0\d"
"""Codes such as 007, which are not numbers."""
FEW_ROWS = 1000
"""Columns up to this length are searched in Python, since each query of polars takes a while."""
MISSING = re.compile(r"(?i)\s*(na|n/a|#n/a|<na>|-?nan|null|none|\?)?\s*")
"""Text that stands for a missing number."""


def pop_frame(
    table: Table, names: list[str], terminal: Terminal, keep: Collection[str] = ()
) -> pd.DataFrame:
    """Return columns as a data frame indexed by row number, and remove them from the table.

    Columns in `keep` stay in the table, too. Text that consists of plain numbers is converted, so
    that the encoder does not have to parse it cell by cell.
    """
    columns = table.pop_columns(names, keep)[::-1]
    arrays: dict[str, Any] = {}
    with_commas = []
    for name in names:
        series = columns.pop()
        numbers = _parse_plain(series)
        if numbers is None and table.decimal_commas and _has_decimal_commas(series):
            numbers = _parse_plain(series.str.replace(",", ".", literal=True))
            with_commas += [] if numbers is None else [name]
        arrays[name] = _to_array(series) if numbers is None else numbers
    _check_finite(arrays, table)
    if with_commas:
        terminal.note(f"Decimal commas were read as points in {list_names(with_commas)}.")
    return pd.DataFrame(arrays, index=table.row_numbers, columns=names)


def _check_finite(arrays: dict[str, Any], table: Table) -> None:
    for name, values in arrays.items():
        if values.dtype.kind == "f" and np.isinf(values).any():
            rows = list_rows(table.row_numbers[np.isinf(values)])
            example = quote(values[np.isinf(values)][0])
            raise BadInput(
                f"Column {quote(name)} of {table.source} has infinite values, such as {example} "
                f"({rows}). Correct the cells or exclude the column: "
                f"--ignore {shlex.quote(sanitize(name, 200))}"
            )


def _parse_plain(series: pl.Series) -> AnyArray | None:
    """Return text as numbers, nan where missing; None if some cells are not plain numbers."""
    if series.dtype != pl.String:
        return None
    numbers = series.cast(pl.Float64, strict=False)
    if numbers.null_count() > series.null_count():  # spaces, or other text
        numbers = series.str.strip_chars().cast(pl.Float64, strict=False)
        odd = series.filter(numbers.is_null() & series.is_not_null()).unique()
        if not all(MISSING.fullmatch(word) for word in odd.to_list()):
            return None
    if numbers.null_count() == len(numbers) or _has_codes(series):
        return None
    return numbers.to_numpy()  # nan for null


def _has_codes(series: pl.Series) -> bool:
    """Return whether some cells are digits with a leading zero."""
    if len(series) > FEW_ROWS:
        return bool(series.str.contains(LEADING_ZERO).any())
    return any(word[1:2].isdigit() for word in series.to_list() if word and word[0] == "0")


def _has_decimal_commas(series: pl.Series) -> bool:
    """Return whether all commas are decimal; with points too, one could separate thousands."""
    if series.dtype != pl.String:
        return False
    words = series.str.strip_chars()
    commas = words.filter(words.str.contains(",", literal=True))
    if not len(commas) or words.str.contains(".", literal=True).any():
        return False
    return bool(commas.str.contains(DECIMAL_COMMA).all())


def _to_array(series: pl.Series) -> Any:
    """Return a column as an array that pandas keeps, with None or nan where missing."""
    dtype = series.dtype
    if dtype.is_float() or (dtype.is_integer() and not series.null_count()):
        return series.to_numpy()
    if dtype.is_integer() or dtype.is_decimal():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if dtype in (pl.Date, pl.Datetime, pl.Duration):
        return series.to_numpy()
    words = series.cast(pl.String) if dtype in (pl.Categorical, pl.Enum) else series
    objects = np.empty(len(series), dtype=object)
    for place, value in enumerate(words.to_list()):  # one by one, since a value can be a list
        objects[place] = value
    return objects
