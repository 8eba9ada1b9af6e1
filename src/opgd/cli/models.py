"""Models from files, and new rows in the form in which a model takes them."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from opgd.cli.columns import Numbers, check_complete, read_numbers
from opgd.cli.errors import BadInput
from opgd.cli.reading import Table
from opgd.cli.text import counted, listed, quoted, shown
from opgd.cli.voice import Voice
from opgd.core.types import AnyArray
from opgd.model_file import load_model_and_notes

LEAVE_OUT = (
    "The model has no values for them (fit with --impute median keeps some); "
    "--drop-missing leaves {rows} out."
)


@dataclass(frozen=True)
class Model:
    """A fitted estimator, and what was noted when it was fitted."""

    estimator: Any
    imputation: dict[str, float] | None  # by column
    imputation_method: str | None
    training: dict[str, Any]  # what is there is plain data, but from a file: any of it may lack

    @property
    def target(self) -> str | None:
        """The column of labels in the training table."""
        return self._noted("target")

    @property
    def groups(self) -> str | None:
        """The column of groups in the training table, if rows were left out by it."""
        return self._noted("groups")

    def _noted(self, name: str) -> str | None:
        column = self.training.get(name)
        return column if isinstance(column, str) else None

    @property
    def columns(self) -> list[str] | None:
        """The columns that it was fitted to, if they had names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


@dataclass(frozen=True)
class NewRows:
    """Rows for a model, and the table without the rows that were left out."""

    X: Any  # pandas.DataFrame; its index are row numbers of the file
    table: Table


def open_model(path: str) -> Model:
    """Read a model file."""
    estimator, notes = load_model_and_notes(path)
    training, preprocessing = notes.get("training", {}), notes.get("preprocessing", {})
    values, method = None, None
    try:
        if "imputation" in preprocessing:
            values, method = (
                preprocessing["imputation"]["values"],
                str(preprocessing["imputation"]["method"]),
            )
            values = {name: float(values[name]) for name in estimator.feature_names_in_}
            if not all(map(math.isfinite, values.values())):
                raise ValueError
        training = dict(training)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"The notes in {quoted(path)} do not belong to its model.") from None
    return Model(estimator, values, method, training)


def new_rows(
    model: Model,
    table: Table,
    voice: Voice,
    *,
    drop_missing: bool,
    besides: Collection[str] = (),
    keep: Collection[str] = (),
) -> NewRows:
    """The model's columns by name, in its order, without missing cells.

    Other columns that are wanted, such as the labels, are not said to be unused; columns to keep
    stay in the table too.
    """
    names = _columns_of(model, table, voice, {*besides, model.target, model.groups})
    numbers = read_numbers(table, names, keep)
    if numbers.commas:
        voice.note(f"Decimal commas were read as points in {listed(numbers.commas)}.")
    whole: AnyArray = np.ones(len(numbers.values), dtype=bool)
    holes = np.isnan(numbers.values)
    if holes.any() and model.imputation is not None:
        fill = np.array([model.imputation[name] for name in names])
        numbers = Numbers(names, np.where(holes, fill, numbers.values), numbers.commas)
        how = shown(model.imputation_method)
        voice.note(f"{counted(int(holes.sum()), 'missing cell')} filled by the model's {how}.")
    elif holes.any() and drop_missing:
        whole = np.logical_not(np.any(holes, axis=1))
        voice.note(f"{counted(int(np.sum(~whole)), 'row')} with missing cells left out.")
    values = numbers.values if whole.all() else numbers.values[whole]
    check_complete(table, Numbers(names, values, []), LEAVE_OUT)
    if not whole.any():
        raise BadInput(f"Every row of {table.source} has a missing cell: no row is left.")
    kept = table.rows(whole)
    columns = None if model.columns is None else names
    return NewRows(pd.DataFrame(values, columns=columns, index=kept.row_numbers), kept)


def _columns_of(model: Model, table: Table, voice: Voice, besides: set[str | None]) -> list[str]:
    present = table.frame.columns
    if model.columns is None:  # fitted in Python to an array
        n_features = int(model.estimator.n_features_in_)
        present = [name for name in present if name not in besides]
        if len(present) != n_features:
            raise BadInput(
                f"The model was fitted to {counted(n_features, 'column')} without names, "
                f"and {table.source} has {len(present)}."
            )
        voice.note("The model does not know names of columns: they are taken in their order.")
        return present
    there = set(present)
    lacking = [name for name in model.columns if name not in there]
    if lacking:
        word = "column" if len(lacking) == 1 else "columns"
        raise BadInput(
            f"{table.source} lacks the {word} {listed(lacking)} of the model; "
            f"it has {listed(present)}."
        )
    known = {*model.columns, *besides}
    extra = [name for name in present if name not in known]
    if extra:
        voice.note(f"Columns that the model does not use: {listed(extra)}.")
    return model.columns
