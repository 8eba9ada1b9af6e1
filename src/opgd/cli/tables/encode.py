"""Encode label, group and weight columns; invalid cells raise BadInput, by column."""

import re
from typing import Any

import numpy as np
import pandas as pd

from opgd._table_cells import find_number_format, parse_numbers, read_cells
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
    cells = read_cells(name, table.column(name, option))
    values = cells.values
    if cells.kind == "word":
        numbers, _ = parse_numbers(
            cells.words, *find_number_format(cells.words, cells.count_words())
        )
        values = cells.spread(numbers)
    if cells.kind not in ("number", "word") or np.any(np.isnan(values) & ~cells.missing):
        raise BadInput(f"Column {quote(name)} ({option}) has cells that are not numbers.")
    return values


# labels: integers stay integers, everything else stays text


def encode_labels(name: str, series: pd.Series) -> tuple[AnyArray, AnyArray]:
    """Return the labels, (n,), and a mask of missing ones."""
    missing, kind = series.isna().to_numpy(), series.dtype.kind
    if kind in "iub" or (kind == "f" and (series.isna() | (series % 1 == 0)).all()):
        return series.fillna(False if kind == "b" else 0).to_numpy(
            series.to_numpy()[:0].dtype
        ), missing
    check_plain(name, series, "cannot be labels or groups; convert them to text or numbers")
    words = series.astype(object).where(~missing, "").astype(str).str.strip()
    missing = words.str.lower().isin(MISSING_LABELS).to_numpy()
    if len(known := words[~missing]) and all(map(WHOLE_NUMBER.fullmatch, known)):
        return words.where(~missing, "0").astype(np.int64).to_numpy(), missing
    return words.to_numpy(object), missing


def check_plain(name: str, series: pd.Series, reason: str) -> None:
    """Raise BadInput for a column of lists, binary data and the like."""
    if series.dtype.kind == "O":
        for value in series:
            if isinstance(value, bytes | list | tuple | dict | set | np.ndarray):
                kind = type(value).__name__
                raise BadInput(f"Column {quote(name)} has values of type {kind}, which {reason}.")


def encode_known_labels(
    name: str, series: pd.Series, classes: AnyArray
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
