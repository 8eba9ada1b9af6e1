"""Columns of the table: how they were encoded, and their missing cells."""

from dataclasses import dataclass

import numpy as np

from opgd.core.types import AnyArray
from opgd.inspection.pipelines import OriginalColumns, Unwrapped

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
    def n_used(self) -> int:
        """Number of columns of the table that contribute to the features of the model."""
        return self.n_columns - sum(not column.features for column in self.listed)

    @property
    def encoded(self) -> bool:
        """Whether columns of the table and features of the model differ."""
        return any(column.features != [column.name] for column in self.listed)


AVERAGED = "The model averages over the possible values of missing cells."
FILLED = "Missing cells were filled before the fit."


def describe_columns(
    unwrapped: Unwrapped, cells: AnyArray, names: list[str], originals: OriginalColumns | None
) -> Columns:
    """Return the columns of a table encoder, or those with missing cells without one.

    `cells` are the features of the model, `originals` the columns before the steps of a pipeline.
    """
    in_model = np.isnan(cells).sum(axis=0)
    if unwrapped.table is None:
        columns, gaps = names, in_model
        if originals is not None:
            columns = originals.names
            gaps = np.array([column.missing.sum() for column in originals.cells])
        listed = [
            TableColumn(name, "", "", int(number), [name])
            for name, number in zip(columns, gaps, strict=True)
            if number
        ]
        n_columns, n_cells = len(columns), len(cells) * len(columns)
    else:
        listed = [
            TableColumn(
                *(entry[key] for key in ("column", "kind", "encoding", "missing", "outputs"))
            )
            for entry in unwrapped.table
        ]
        n_columns = len(listed)
        n_cells = len(cells) * sum(1 for column in listed if column.features)
    n_missing = sum(column.n_missing for column in listed if column.features)
    treatment = "" if not n_missing else AVERAGED if in_model.any() else FILLED
    return Columns(listed[:MAX_COLUMNS], n_columns, len(names), n_missing, n_cells, treatment)
