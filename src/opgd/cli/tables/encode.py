"""Encode table columns as numbers and labels; invalid cells raise BadInput, by column."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from opgd.cli.console import Terminal, count_noun, list_names, list_rows, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.read import Table
from opgd.core.types import AnyArray, FloatArray

MISSING_CELLS = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "?")
"""Text that stands for a missing cell, in lower case."""
MISSING_LABELS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "?")
"""Text that stands for a missing label, in lower case; "None" can be a class."""
MAX_COLUMNS = 8
"""Maximum number of columns listed in a message."""
DECIMAL_COMMA = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}")
"""Integers in canonical form; 007 and 1.0 stay text."""
MAX_FRACTIONS = 20
"""Maximum number of different fractions that can be class labels, such as doses."""


@dataclass(frozen=True)
class Numbers:
    """Columns as numbers; missing cells are nan."""

    names: list[str]
    values: FloatArray  # (n, p)
    decimal_commas: list[str]  # columns in which commas were read as decimal points


@dataclass(frozen=True)
class Fault:
    """Cells of a column that cannot be used."""

    column: str
    mask: AnyArray  # (n,)
    cells: pl.Series | None = None  # the whole column, to quote an example from


# numbers


def encode_numbers(table: Table, names: list[str], keep: Collection[str] = ()) -> Numbers:
    """Return columns of a table as numbers; other and infinite cells raise BadInput.

    The columns are removed from the table, except those in `keep`, so that the data are not in
    memory twice.
    """
    # filled column by column, so that memory is allocated only as columns are converted
    values = np.empty((len(table.row_numbers), len(names)), order="F")
    wrong, infinite, decimal_commas = [], [], []
    columns = table.pop_columns(names, keep)[::-1]
    for j, name in enumerate(names):
        series = columns.pop()
        numbers, invalid, has_commas = _parse_numbers(series, table.decimal_commas)
        values[:, j] = numbers.to_numpy()
        if invalid.any():
            wrong.append(Fault(name, invalid.to_numpy(), series))
        if has_commas:
            decimal_commas.append(name)
        if np.any(np.isinf(values[:, j])):
            infinite.append(Fault(name, np.isinf(values[:, j]), series))
    if wrong:
        raise BadInput(
            _describe_faults(table, wrong, "cells that are not numbers", _format_advice(wrong))
        )
    if infinite:
        raise BadInput(
            _describe_faults(table, infinite, "infinite values", _format_advice(infinite))
        )
    return Numbers(names, values, decimal_commas)


def note_decimal_commas(numbers: Numbers, terminal: Terminal) -> None:
    """Print a note on columns with decimal commas."""
    if numbers.decimal_commas:
        names = list_names(numbers.decimal_commas)
        terminal.note(f"Decimal commas were read as points in {names}.")


def check_complete(table: Table, numbers: Numbers, advice: str) -> None:
    """Raise BadInput for missing cells; {rows} in the advice becomes their number of rows."""
    missing = np.isnan(numbers.values)
    if missing.any():
        columns = np.flatnonzero(missing.any(axis=0))
        faults = [Fault(numbers.names[j], missing[:, j]) for j in columns]
        rows = count_noun(int(missing.any(axis=1).sum()), "row")
        raise BadInput(_describe_faults(table, faults, "missing cells", advice.format(rows=rows)))


def _parse_numbers(series: pl.Series, decimal_commas: bool) -> tuple[pl.Series, pl.Series, bool]:
    """Return numbers (nan where missing), invalid cells, and whether commas were read as points."""
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum) or dtype == pl.String:
        return _parse_words(series.cast(pl.String), decimal_commas)
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64).fill_null(float("nan"))
        return numbers, _make_empty_mask(len(series)), False
    return pl.Series(np.full(len(series), np.nan)), series.is_not_null(), False


def _parse_words(series: pl.Series, decimal_commas: bool) -> tuple[pl.Series, pl.Series, bool]:
    numbers = series.cast(pl.Float64, strict=False)
    if not numbers.null_count():  # the fast path, for most columns
        return numbers, _make_empty_mask(len(series)), False
    words = series.str.strip_chars()
    missing = _find_missing(words, MISSING_CELLS)
    numbers, has_commas = words.cast(pl.Float64, strict=False), False
    invalid = numbers.is_null() & ~missing
    if invalid.any() and set(words.filter(~missing).str.to_lowercase()) <= {"true", "false"}:
        numbers = (words.str.to_lowercase() == "true").cast(pl.Float64)
    elif invalid.any() and decimal_commas and _have_decimal_commas(words, invalid):
        points = words.str.replace(",", ".", literal=True)
        numbers, has_commas = points.cast(pl.Float64, strict=False), True
    nan = pl.Series([float("nan")])
    numbers = numbers.zip_with(~missing, nan.new_from_index(0, len(numbers)))
    invalid = numbers.is_null()
    return numbers.fill_null(float("nan")), invalid, has_commas


def _make_empty_mask(n_rows: int) -> pl.Series:
    return pl.Series(np.zeros(n_rows, dtype=bool))


def _have_decimal_commas(words: pl.Series, invalid: pl.Series) -> bool:
    """Return whether all commas are decimal; with points too, one could separate thousands."""
    commas = bool(words.filter(invalid).str.contains(DECIMAL_COMMA).all())
    return commas and not words.str.contains(".", literal=True).any()


def _find_missing(words: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    """Return a mask of stripped words that stand for a missing cell."""
    return words.is_null() | words.str.to_lowercase().is_in(list(marks))


def _describe_faults(table: Table, faults: list[Fault], what: str, advice: str) -> str:
    """Return a message with the number, the rows and an example of the faults of each column."""
    verb = "has" if len(faults) == 1 else "have"
    lines = [f"{count_noun(len(faults), 'column')} of {table.source} {verb} {what}:"]
    width = max(len(sanitize(fault.column, 30)) for fault in faults[:MAX_COLUMNS])
    for fault in faults[:MAX_COLUMNS]:
        rows = list_rows(table.row_numbers[fault.mask])
        count = f"{int(fault.mask.sum())} of {count_noun(len(fault.mask), 'row')}"
        name = f"{sanitize(fault.column, 30):{width}}"
        lines.append(f"  {name}  {count}{_format_example(fault)} ({rows})")
    if len(faults) > MAX_COLUMNS:
        n_more = len(faults) - MAX_COLUMNS
        lines.append(f"  and {count_noun(n_more, 'more column', 'more columns')}")
    return "\n".join([*lines, advice])


def _format_example(fault: Fault) -> str:
    if fault.cells is None:
        return ""
    kind = "a date " if fault.cells.dtype.is_temporal() else ""
    return f", such as {kind}{quote(fault.cells.filter(pl.Series(fault.mask))[0])}"


def _format_advice(faults: list[Fault]) -> str:
    more = " ..." if len(faults) > 3 else ""
    options = format_ignore_options([fault.column for fault in faults])
    return f"Correct the cells or exclude the columns: {options}{more}."


def format_ignore_options(names: list[str]) -> str:
    """Return the --ignore options for the first three columns."""
    return " ".join(f"--ignore {quote(name)}" for name in names[:3])


# labels: integers stay integers, everything else stays text


def encode_labels(series: pl.Series) -> tuple[AnyArray, AnyArray]:
    """Return the labels, (n,), and a mask of missing ones."""
    if series.dtype.is_integer() or series.dtype == pl.Boolean:
        filled = series.fill_null(False if series.dtype == pl.Boolean else 0)
        return filled.to_numpy(), series.is_null().to_numpy()
    if series.dtype.is_float():
        missing = series.is_null() | series.is_nan()
        if (missing | (series == series.round())).all():
            return series.fill_null(0.0).to_numpy(), missing.to_numpy()
        series = series.fill_nan(None)
    words = series.cast(pl.String).str.strip_chars()
    missing = _find_missing(words, MISSING_LABELS)
    known = words.filter(~missing).to_list()
    if known and all(WHOLE_NUMBER.fullmatch(word) for word in known):
        numbers = words.zip_with(~missing, pl.Series(["0"]).new_from_index(0, len(words)))
        return numbers.cast(pl.Int64).to_numpy(), missing.to_numpy()
    return np.array(words.fill_null("").to_list(), dtype=object), missing.to_numpy()


def encode_known_labels(
    name: str, series: pl.Series, classes: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return labels as classes of the model, (n,), and a mask of missing ones."""
    labels, missing = encode_labels(series)
    numeric = classes.dtype.kind in "iuf"
    exact = {label: k for k, label in enumerate(classes.tolist())}
    equivalent = {_normalize_label(label, numeric): k for label, k in exact.items()}
    codes = np.array(
        [
            exact.get(label, equivalent.get(_normalize_label(label, numeric), -1))
            for label in labels.tolist()
        ],
        dtype=np.intp,
    )
    unknown = (codes < 0) & ~missing
    if unknown.any():
        names = dict.fromkeys(labels[unknown].tolist())
        raise BadInput(
            f"Column {quote(name)} has labels that are not classes of the model: "
            f"{list_names(names)} ({int(unknown.sum())} of {len(labels)} rows). "
            f"The classes of the model are {list_names(classes.tolist())}."
        )
    return classes[np.maximum(codes, 0)], missing


def encode_groups(table: Table, column: str) -> AnyArray:
    """Return the group of each row as text; raise BadInput if one is missing."""
    groups, missing = encode_labels(table.column(column, "--groups"))
    if missing.any():
        rows = list_rows(table.row_numbers[missing])
        raise BadInput(
            f"Column {quote(column)} (--groups) is empty in {rows}; every row needs a group."
        )
    return groups.astype(str)


def check_classes(name: str, labels: AnyArray) -> AnyArray:
    """Return valid class labels, text as an array of str; raise BadInput for other columns."""
    classes = set(labels.tolist())
    if len(classes) == 1:
        raise BadInput(
            f"Column {quote(name)} has only one class ({quote(classes.pop())}); "
            "a classifier needs at least two."
        )
    fractions = [label for label in classes if _is_fraction(label)]
    if len(fractions) > MAX_FRACTIONS or 2 * len(classes) > len(labels):
        raise BadInput(
            f"Column {quote(name)} has {len(classes)} different values in {len(labels)} rows "
            f"({list_names(sorted(classes)[:3])}, ...). "
            "Check that it is the label column; classes need several rows each."
        )
    return labels.astype(str) if labels.dtype == object else labels


def _is_fraction(label: Any) -> bool:
    try:
        return not float(label).is_integer()
    except (ValueError, OverflowError):
        return False


def _normalize_label(label: Any, numeric: bool) -> Any:
    """Return a key that is equal for equivalent labels: 1 and "1.0", True and "true"."""
    if numeric:
        if isinstance(label, str) and WHOLE_NUMBER.fullmatch(label):
            return int(label)  # exact; integers and floats have equal hashes where they are equal
        try:
            return label if isinstance(label, int) else float(label)
        except ValueError:
            return label
    return str(label).lower() if str(label).lower() in ("true", "false") else str(label)
