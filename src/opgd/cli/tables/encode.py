"""Encode label, group and weight columns; invalid cells raise BadInput, by column."""

import re
from typing import Any

import numpy as np
import polars as pl

from opgd._tables.cells import NumberCells, WordCells, read_cells
from opgd._tables.columns import NumberColumn
from opgd._tables.text_numbers import find_format
from opgd.cli.console import list_names, list_rows, quote
from opgd.cli.errors import BadInput
from opgd.cli.tables.read import Table
from opgd.core.types import AnyArray, FloatArray

MISSING_LABELS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "?")
"""Text that stands for a missing label, in lower case; "None" can be a class."""
WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
"""Integers in canonical form; 007 and 1.0 stay text."""
MAX_FRACTIONS = 20
"""Maximum number of different fractions that can be class labels, such as doses."""


def encode_numbers(table: Table, name: str, option: str) -> FloatArray:
    """Return the numbers of a column, nan where missing; other cells raise BadInput."""
    cells = read_cells(name, series := table.column(name, option), series.dtype)
    if isinstance(cells, NumberCells):
        return cells.values.astype(np.float64)
    notes: list[str] = []
    if isinstance(cells, WordCells):
        found = find_format(cells.words, cells.count_words())
        if found is not None:
            values = NumberColumn(name, found.style, found.unit).encode(cells, notes)[:, 0]
            if not notes:
                return values
    raise BadInput(f"Column {quote(name)} ({option}) has cells that are not numbers.")


# labels: integers stay integers, everything else stays text


def encode_labels(name: str, series: pl.Series) -> tuple[AnyArray, AnyArray]:
    """Return the labels, (n,), and a mask of missing ones."""
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise BadInput(
            f"Column {quote(name)} has values of type {series.dtype}, which cannot be "
            "labels or groups; convert them to text or numbers."
        )
    if series.dtype.is_integer() or series.dtype == pl.Boolean:
        filled = series.fill_null(False if series.dtype == pl.Boolean else 0)
        return filled.to_numpy(), series.is_null().to_numpy()
    if series.dtype.is_float():
        missing = series.is_null() | series.is_nan()
        if (missing | (series == series.round())).all():
            return series.fill_null(0.0).to_numpy(), missing.to_numpy()
        series = series.fill_nan(None)
    words = series.cast(pl.String).str.strip_chars()
    missing = words.is_null() | words.str.to_lowercase().is_in(list(MISSING_LABELS))
    known = words.filter(~missing).to_list()
    if known and all(WHOLE_NUMBER.fullmatch(word) for word in known):
        numbers = words.zip_with(~missing, pl.Series(["0"]).new_from_index(0, len(words)))
        return numbers.cast(pl.Int64).to_numpy(), missing.to_numpy()
    return np.array(words.fill_null("").to_list(), dtype=object), missing.to_numpy()


def encode_known_labels(
    name: str, series: pl.Series, classes: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return labels as classes of the model, (n,), and a mask of missing ones."""
    labels, missing = encode_labels(name, series)
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
    groups, missing = encode_labels(column, table.column(column, "--groups"))
    if missing.any():
        rows = list_rows(table.row_numbers[missing])
        raise BadInput(
            f"Column {quote(column)} (--groups) is empty in {rows}; every row needs a group."
        )
    return groups.astype(str)


def check_classes(name: str, labels: AnyArray) -> AnyArray:
    """Return valid class labels, text as an array of str; raise BadInput for other columns."""
    check_class_values(name, set(labels.tolist()), len(labels))
    return labels.astype(str) if labels.dtype == object else labels


def check_class_values(name: str, classes: set[Any], n_rows: int) -> None:
    """Raise BadInput if the distinct values of a column cannot be classes of so many rows."""
    if len(classes) == 1:
        raise BadInput(
            f"Column {quote(name)} has only one class ({quote(classes.pop())}); "
            "a classifier needs at least two."
        )
    fractions = [label for label in classes if _is_fraction(label)]
    if len(fractions) > MAX_FRACTIONS or 2 * len(classes) > n_rows:
        raise BadInput(
            f"Column {quote(name)} has {len(classes)} different values in {n_rows} rows "
            f"({list_names(sorted(classes)[:3])}, ...). "
            "Check that it is the label column; classes need several rows each."
        )


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
