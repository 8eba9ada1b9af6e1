"""Prepare tables for fitting: select columns, and fill or drop missing cells."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from opgd.cli.console import Terminal, count_noun, list_names, list_rows, quote
from opgd.cli.errors import BadInput
from opgd.cli.tables.encode import (
    Numbers,
    check_classes,
    check_complete,
    encode_groups,
    encode_labels,
    encode_numbers,
    format_ignore_options,
    note_decimal_commas,
)
from opgd.cli.tables.read import Table, read_table
from opgd.core.types import AnyArray, FloatArray

IMPUTATIONS: dict[str, Any] = {"median": np.nanmedian, "mean": np.nanmean}
ADVICE_ON_MISSING = (
    "Pass --drop-missing to drop {rows}, or --impute median to fill the cells with medians, "
    "which are stored in the model for new rows."
)


@dataclass(frozen=True)
class Selection:
    """Options for the selection of columns and the treatment of missing cells."""

    use: list[str] | None
    ignore: list[str] | None
    drop_missing: bool
    impute: str | None
    target: str | None = None
    weights: str | None = None
    groups: str | None = None

    def __post_init__(self) -> None:
        """Raise BadInput for an unknown imputation method, before the table is read."""
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise BadInput(
                f"--impute must be {' or '.join(IMPUTATIONS)}, got {quote(self.impute)}."
            )


@dataclass(frozen=True)
class Training:
    """Training rows, and how missing cells were treated."""

    X: Any  # pandas.DataFrame, indexed by row number in the file
    y: AnyArray | None
    weights: FloatArray | None
    groups: AnyArray | None
    n_left_out: int
    imputation: dict[str, Any] | None

    @property
    def preprocessing(self) -> dict[str, Any]:
        """Preprocessing of new rows, for the model file."""
        return {} if self.imputation is None else {"imputation": self.imputation}

    @property
    def fill_values(self) -> dict[str, float] | None:
        """Fill values for missing cells, by column."""
        return None if self.imputation is None else self.imputation["values"]


def read_training(path: str, selection: Selection, terminal: Terminal) -> Training:
    """Read rows and labels for a fit; raise BadInput if they cannot be used."""
    table = read_table(path, terminal)
    labels, labeled = _encode_target(table, selection)
    groups = None if selection.groups is None else encode_groups(table, selection.groups)
    names = _select_columns(table, selection)
    numbers = encode_numbers(table, names)
    note_decimal_commas(numbers, terminal)
    weights = _encode_weights(table, selection)
    mask = labeled if weights is None else labeled & ~np.isnan(weights)
    values, mask, imputation = _handle_missing(table, numbers, mask, selection)
    if not mask.any():
        raise BadInput(
            f"Every row of {table.source} lacks a label, a weight or another value, so no rows "
            "remain. Impute missing features with --impute, or drop their columns with --ignore."
        )
    n_left_out = int(np.sum(~mask))
    if n_left_out:
        terminal.note(f"Dropped {count_noun(n_left_out, 'row')} with missing cells.")
    y = None if labels is None else check_classes(str(selection.target), labels[mask])
    _note_counters(names, values, terminal)
    rows = values[mask] if n_left_out else values
    return Training(
        X=pd.DataFrame(rows, columns=names, index=table.row_numbers[mask]),
        y=y,
        weights=None if weights is None else weights[mask],
        groups=None if groups is None else groups[mask],
        n_left_out=n_left_out,
        imputation=imputation,
    )


def _encode_target(table: Table, selection: Selection) -> tuple[AnyArray | None, AnyArray]:
    """Return the labels, if there is a target, and a mask of the labeled rows."""
    if selection.target is None:
        return None, np.ones(len(table.row_numbers), dtype=bool)
    labels, missing = encode_labels(table.column(selection.target, "--target"))
    if missing.any() and not selection.drop_missing:
        rows = list_rows(table.row_numbers[missing])
        count = f"{int(missing.sum())} of {count_noun(len(missing), 'row')}"
        raise BadInput(
            f"Column {quote(selection.target)} of {table.source} has no label in {count} ({rows}). "
            "Pass --drop-missing to drop such rows."
        )
    return labels, ~missing


def _encode_weights(table: Table, selection: Selection) -> FloatArray | None:
    if selection.weights is None:
        return None
    table.column(selection.weights, "--weights")
    numbers = encode_numbers(table, [selection.weights])
    if not selection.drop_missing:
        check_complete(table, numbers, "Pass --drop-missing to drop {rows}.")
    return numbers.values[:, 0]


def _select_columns(table: Table, selection: Selection) -> list[str]:
    """Return the names of the columns to use, without labels, weights and groups."""
    matched = _match_columns(table, selection.ignore or [], "--ignore")
    ignored = {*matched, selection.target, selection.weights, selection.groups}
    columns = table.frame.columns
    candidates = _match_columns(table, selection.use, "--use") if selection.use else columns
    names = [name for name in candidates if name not in ignored]
    if not names:
        raise BadInput(
            f"No column of {table.source} is left for the model; check --use and --ignore."
        )
    return names


def _match_columns(table: Table, patterns: list[str], option: str) -> list[str]:
    matches = []
    for pattern in patterns:
        names = [name for name in table.frame.columns if name == pattern]
        names = names or [name for name in table.frame.columns if fnmatchcase(name, pattern)]
        if not names:
            table.column(pattern, option)  # raises BadInput
        matches += names
    return list(dict.fromkeys(matches))


def _handle_missing(
    table: Table, numbers: Numbers, mask: AnyArray, selection: Selection
) -> tuple[FloatArray, AnyArray, dict[str, Any] | None]:
    """Fill missing cells, drop their rows, or raise BadInput.

    Returns the values, a mask of the rows to use, and the imputation for the model file.
    """
    values = numbers.values
    if selection.impute is not None:
        fill = _compute_fill_values(numbers, mask, selection.impute)
        by_name = dict(zip(numbers.names, fill.tolist(), strict=True))
        filled = np.where(np.isnan(values), fill, values)
        return filled, mask, {"method": selection.impute, "values": by_name}
    if selection.drop_missing:
        return values, mask & ~np.isnan(values).any(axis=1), None
    check_complete(table, numbers, ADVICE_ON_MISSING)
    return values, mask, None


def _compute_fill_values(numbers: Numbers, mask: AnyArray, method: str) -> FloatArray:
    """Return fill values for missing cells, (p,), computed from the rows to use."""
    missing: AnyArray = np.isnan(numbers.values[mask])
    empty = [numbers.names[j] for j in np.flatnonzero(missing.all(axis=0))]
    if empty:
        options = format_ignore_options(empty)
        raise BadInput(
            f"Columns without any value cannot be imputed: {list_names(empty)}. "
            f"Exclude them: {options}."
        )
    return IMPUTATIONS[method](numbers.values[mask], axis=0)


def _note_counters(names: list[str], values: FloatArray, terminal: Terminal) -> None:
    """Note columns that count the rows: with sorted rows they separate the classes by accident."""
    if len(values) <= 2:
        return
    counters = [names[j] for j, column in enumerate(values.T) if np.all(np.diff(column) == 1)]
    if counters:
        terminal.note(f"Column {list_names(counters)} counts the rows; exclude it with --ignore.")
