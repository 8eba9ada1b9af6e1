"""Columns of the table: how they were encoded, and their missing cells."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray
from opgd.inspection.pipelines import Unwrapped

MAX_COLUMNS = 200


@dataclass(frozen=True)
class TableColumn:
    """A column of the table before the steps of a pipeline."""

    name: str
    kind: str
    action: str
    n_missing: int
    features: list[str]  # names of the encoded columns; empty if the column is not used


@dataclass(frozen=True)
class Columns:
    """Columns of the table, and what happened to missing cells."""

    listed: list[TableColumn]
    n_columns: int  # of the table
    n_features: int  # of the model
    n_missing: int
    n_cells: int
    treatment: str

    @property
    def encoded(self) -> bool:
        """Whether columns of the table and features of the model differ."""
        return any(column.features != [column.name] for column in self.listed)


def describe_columns(unwrapped: Unwrapped, cells: AnyArray, names: list[str]) -> Columns:
    """Return the columns of a table encoder, or those with missing cells without one."""
    in_model = np.isnan(cells).sum(axis=0)
    averaged = "The model averages over the possible values of missing cells."
    if unwrapped.table is None:
        listed = [
            TableColumn(name, "number", "", int(number), [name])
            for name, number in zip(names, in_model, strict=True)
            if number
        ]
        treatment = averaged if listed else ""
        n_missing, n_cells = int(in_model.sum()), cells.size
        return Columns(listed[:MAX_COLUMNS], len(names), len(names), n_missing, n_cells, treatment)
    listed = [
        TableColumn(entry.column, entry.kind, entry.action, entry.n_missing, list(entry.outputs))
        for entry in unwrapped.table
    ]
    n_missing = sum(column.n_missing for column in listed if column.features)
    n_cells = unwrapped.table.n_rows * sum(1 for column in listed if column.features)
    filled = "Missing cells were filled before the fit."
    treatment = "" if not n_missing else averaged if in_model.any() else filled
    return Columns(listed[:MAX_COLUMNS], len(listed), len(names), n_missing, n_cells, treatment)
