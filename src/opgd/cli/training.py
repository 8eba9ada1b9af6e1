"""From a table to what an estimator is fitted to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from opgd.cli.columns import Numbers, check_complete, read_numbers
from opgd.cli.errors import BadInput
from opgd.cli.labels import check_classes, read_labels
from opgd.cli.reading import Table
from opgd.cli.selection import Choice, chosen_columns
from opgd.cli.text import counted, listed, quoted, rows_listed
from opgd.cli.voice import Voice
from opgd.core.types import AnyArray, FloatArray

IMPUTATIONS: dict[str, Any] = {"median": np.nanmedian, "mean": np.nanmean}
WAYS_OUT = (
    "--drop-missing leaves {rows} out; --impute median fills the cells, "
    "and keeps the medians in the model for new rows."
)


@dataclass(frozen=True)
class Training:
    """Rows for a fit, and how they were made."""

    X: Any  # pandas.DataFrame; its index are row numbers of the file
    y: AnyArray | None
    weights: FloatArray | None
    groups: AnyArray | None
    n_left_out: int
    imputation: dict[str, Any] | None

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What new rows need, for the model file."""
        return {} if self.imputation is None else {"imputation": self.imputation}


def check_imputation(how: str | None) -> None:
    """Refuse ways to fill cells that are not known."""
    if how is not None and how not in IMPUTATIONS:
        raise BadInput(f"--impute is {' or '.join(IMPUTATIONS)}, not {quoted(how)}.")


def prepare(table: Table, choice: Choice, voice: Voice) -> Training:
    """Rows and labels, or a sentence about what is wrong with them."""
    special = [own for own in (choice.target, choice.weights, choice.groups) if own is not None]
    y, whole = None, np.ones(len(table.row_numbers), dtype=bool)
    if choice.target is not None:
        y, missing = read_labels(table.column(choice.target, "--target"))
        if missing.any() and not choice.drop_missing:
            raise BadInput(_without_label(table, choice.target, missing))
        whole &= ~missing
    groups = None if choice.groups is None else read_groups(table, choice.groups)
    names = chosen_columns(table, choice, special)
    numbers = read_numbers(table, names)
    _say_commas(numbers, voice)
    weights = None
    if choice.weights is not None:
        table.column(choice.weights, "--weights")
        own = read_numbers(table, [choice.weights])
        if not choice.drop_missing:
            check_complete(table, own, "--drop-missing leaves {rows} out.")
        weights = own.values[:, 0]
        whole &= ~np.isnan(weights)
    imputation, values = None, numbers.values
    if choice.impute is not None:
        imputation, values = _imputed(numbers, whole, choice.impute)
    elif choice.drop_missing:
        whole &= ~np.isnan(values).any(axis=1)
    else:
        check_complete(table, numbers, WAYS_OUT)
    n_left_out = int(np.sum(~whole))
    if not whole.any():
        raise BadInput(f"Every row of {table.source} has a missing cell: no row would be left.")
    if n_left_out:
        voice.note(f"{counted(n_left_out, 'row')} with missing cells left out.")
    if y is not None:
        y = check_classes(str(choice.target), y[whole])
    _say_counters(names, values, voice)
    return Training(
        X=pd.DataFrame(
            values[whole] if n_left_out else values, columns=names, index=table.row_numbers[whole]
        ),
        y=y,
        weights=None if weights is None else weights[whole],
        groups=None if groups is None else groups[whole],
        n_left_out=n_left_out,
        imputation=imputation,
    )


def _without_label(table: Table, target: str, missing: AnyArray) -> str:
    rows = rows_listed(table.row_numbers[missing])
    count = f"{int(missing.sum())} of {counted(len(missing), 'row')}"
    return (
        f"Column {quoted(target)} of {table.source} has no label in {count} ({rows}). "
        "--drop-missing leaves them out."
    )


def read_groups(table: Table, column: str) -> AnyArray:
    """Groups of the rows, as text; every row has one."""
    groups, missing = read_labels(table.column(column, "--groups"))
    if missing.any():
        raise BadInput(
            f"Column {quoted(column)} names no group in {rows_listed(table.row_numbers[missing])}."
        )
    return groups.astype(str)


def _imputed(numbers: Numbers, whole: AnyArray, how: str) -> tuple[dict[str, Any], FloatArray]:
    """Values for missing cells, from the rows of the fit, and the cells with them."""
    holes: AnyArray = np.isnan(numbers.values[whole])
    empty = [numbers.names[j] for j in np.flatnonzero(holes.all(axis=0))]
    if empty:
        options = " ".join(f"--ignore {quoted(name)}" for name in empty[:3])
        raise BadInput(f"Columns without any value cannot be filled: {listed(empty)}; {options}.")
    fill = IMPUTATIONS[how](numbers.values[whole], axis=0)
    values = np.where(np.isnan(numbers.values), fill, numbers.values)
    by_name = dict(zip(numbers.names, fill.tolist(), strict=True))
    return {"method": how, "values": by_name}, values


def _say_commas(numbers: Numbers, voice: Voice) -> None:
    if numbers.commas:
        voice.note(f"Decimal commas were read as points in {listed(numbers.commas)}.")


def _say_counters(names: list[str], values: FloatArray, voice: Voice) -> None:
    """A number of the row tells classes apart if rows are sorted, and new rows not at all."""
    enough = len(values) > 2
    counters = [names[j] for j, own in enumerate(values.T) if enough and np.all(np.diff(own) == 1)]
    if counters:
        voice.note(f"Column {listed(counters)} counts the rows; --ignore leaves it out.")
