"""Encode label, group and weight columns; invalid cells raise BadInput, by column."""

import re
from typing import Any

import numpy as np
import pandas as pd

from opgd._table_cells import read_cells
from opgd.cli.console import list_names, list_rows, quote
from opgd.cli.errors import BadInput
from opgd.cli.tables.read import QUIET, Table
from opgd.core.types import AnyArray, FloatArray
from opgd.files import MISSING_WORDS

WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
"""Integers in canonical form; 007 and 1.0 stay text."""
FRACTION = re.compile(r"[+-]?\d*\.\d*[1-9]\d*([eE][+-]?\d+)?", re.ASCII)
MAX_FRACTIONS = 20
"""Maximum number of different fractions that can be class labels, such as doses."""


def encode_numbers(table: Table, name: str, option: str) -> FloatArray:
    """Return the numbers of a column, nan where missing; other cells raise BadInput."""
    table.column(name, option)  # raises BadInput if it does not exist
    cells = read_cells(name, table.get_features([name], QUIET)[name])
    if cells.kind != "number":
        raise BadInput(f"Column {quote(name)} ({option}) has cells that are not numbers.")
    return cells.values


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
    missing = words.str.lower().isin(MISSING_WORDS).to_numpy()
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
    known = list(enumerate(classes.tolist()))
    places = {word: place for place, label in known for word in _list_spellings(label)}
    places |= {str(label): place for place, label in known}
    codes = np.array([places.get(str(label), -1) for label in labels.tolist()], dtype=np.intp)
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
    fractions = [label for label in classes if FRACTION.fullmatch(str(label))]
    if len(fractions) > MAX_FRACTIONS or 2 * len(classes) > n_rows:
        raise BadInput(
            f"Column {quote(name)} has {len(classes)} different values in {n_rows} rows "
            f"({list_names(sorted(classes)[:3])}, ...). "
            "Check that it is the label column; classes need several rows each."
        )


def _list_spellings(label: Any) -> list[str]:
    """Return how tables may write a label: 1 as 1.0, and True as TRUE."""
    word = str(label)
    if word.lower() in ("true", "false"):
        return [word.lower(), word.upper(), word.title()]
    if isinstance(label, int | float) and label % 1 == 0:
        return [f"{int(label)}", f"{int(label)}.0"]
    return []
