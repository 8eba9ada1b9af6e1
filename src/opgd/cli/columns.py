"""Columns as numbers: cells that are none, missing cells and infinite ones, told by column."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from opgd.cli.errors import BadInput
from opgd.cli.reading import Table
from opgd.cli.text import counted, quoted, rows_listed, shown
from opgd.core.types import AnyArray, FloatArray

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "?")
"""Words for a missing cell, in lower case."""
MOST_COLUMNS = 8
DECIMAL_COMMA = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Numbers:
    """Columns as numbers; missing cells are nan."""

    names: list[str]
    values: FloatArray  # (n, p)
    commas: list[str]  # columns whose decimal commas were read as points


def read_numbers(table: Table, names: list[str], keep: Collection[str] = ()) -> Numbers:
    """Columns of a table as numbers; cells that are no numbers, or infinite, are refused.

    The columns are taken out of the table, but for those to keep, so that it is not in memory
    twice.
    """
    # by column, as they come: memory that nothing was written to yet is not used
    values = np.empty((len(table.row_numbers), len(names)), order="F")
    wrong, infinite, commas = [], [], []
    columns = table.take(names, keep)[::-1]
    for j, name in enumerate(names):
        series = columns.pop()
        numbers, bad, comma = _parsed(series, table.decimal_commas)
        values[:, j] = numbers.to_numpy()
        if bad.any():
            wrong.append((name, bad.to_numpy(), series))
        if comma:
            commas.append(name)
        if np.any(np.isinf(values[:, j])):
            infinite.append((name, np.isinf(values[:, j]), series))
    if wrong:
        raise BadInput(_complaint(table, wrong, "cells that are not numbers", _correct(wrong)))
    if infinite:
        raise BadInput(_complaint(table, infinite, "infinite values", _correct(infinite)))
    return Numbers(names, values, commas)


def _parsed(series: pl.Series, decimal_commas: bool) -> tuple[pl.Series, pl.Series, bool]:
    """Numbers (nan where missing), which cells are none, and whether commas were read as points."""
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum) or dtype == pl.String:
        return _from_words(series.cast(pl.String), decimal_commas)
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64).fill_null(float("nan"))
        return numbers, _nowhere(len(series)), False
    return pl.Series(np.full(len(series), np.nan)), series.is_not_null(), False


def _from_words(series: pl.Series, decimal_commas: bool) -> tuple[pl.Series, pl.Series, bool]:
    numbers = series.cast(pl.Float64, strict=False)
    if not numbers.null_count():  # most columns are plain, and tables may have many
        return numbers, _nowhere(len(series)), False
    words = series.str.strip_chars()
    missing = is_missing(words, MISSING)
    numbers, comma = words.cast(pl.Float64, strict=False), False
    bad = numbers.is_null() & ~missing
    if bad.any() and set(words.filter(~missing).str.to_lowercase()) <= {"true", "false"}:
        numbers = (words.str.to_lowercase() == "true").cast(pl.Float64)
    elif bad.any() and decimal_commas and _have_commas(words, bad):
        numbers, comma = (
            words.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False),
            True,
        )
    nan = pl.Series([float("nan")])
    numbers = numbers.zip_with(~missing, nan.new_from_index(0, len(numbers)))
    bad = numbers.is_null()
    return numbers.fill_null(float("nan")), bad, comma


def _nowhere(n_rows: int) -> pl.Series:
    return pl.Series(np.zeros(n_rows, dtype=bool))


def _have_commas(words: pl.Series, bad: pl.Series) -> bool:
    """Whether commas are decimal ones; with points beside them, either could part thousands."""
    commas = bool(words.filter(bad).str.contains(DECIMAL_COMMA).all())
    return commas and not words.str.contains(".", literal=True).any()


def is_missing(words: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    """Which words stand for a missing cell; words have no spaces around them."""
    return words.is_null() | words.str.to_lowercase().is_in(list(marks))


def check_complete(table: Table, numbers: Numbers, ways_out: str) -> None:
    """Refuse missing cells, by column, and say what can be done."""
    holes = np.isnan(numbers.values)
    if holes.any():
        found = [(numbers.names[j], holes[:, j], None) for j in np.flatnonzero(holes.any(axis=0))]
        n_rows = int(holes.any(axis=1).sum())
        advice = ways_out.format(rows=counted(n_rows, "row"))
        raise BadInput(_complaint(table, found, "missing cells", advice))


def _complaint(table: Table, found: list[tuple[str, AnyArray, Any]], what: str, advice: str) -> str:
    """A line for each column: how many cells, in which rows, and the first of them."""
    verb = "has" if len(found) == 1 else "have"
    lines = [f"{counted(len(found), 'column')} of {table.source} {verb} {what}:"]
    width = max(len(shown(name, 30)) for name, _, _ in found[:MOST_COLUMNS])
    for name, where, series in found[:MOST_COLUMNS]:
        example = "" if series is None else f", such as {_example(series, where)}"
        rows = rows_listed(table.row_numbers[where])
        count = f"{int(where.sum())} of {counted(len(where), 'row')}"
        lines.append(f"  {shown(name, 30):{width}}  {count}{example} ({rows})")
    if len(found) > MOST_COLUMNS:
        lines.append(f"  and {counted(len(found) - MOST_COLUMNS, 'more column', 'more columns')}")
    return "\n".join([*lines, advice])


def _example(series: pl.Series, where: AnyArray) -> str:
    kind = "a date " if series.dtype.is_temporal() else ""
    return kind + quoted(series.filter(pl.Series(where))[0])


def _correct(found: list[tuple[str, AnyArray, Any]]) -> str:
    options = " ".join(f"--ignore {quoted(name)}" for name, _, _ in found[:3])
    more = " ..." if len(found) > 3 else ""
    return f"Correct the cells, or leave columns out of the model: {options}{more}."
