"""Models from files, new rows in the form in which a model takes them, and its answers."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text

from opgd.cli.console import Terminal, count_noun, list_names, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.encode import (
    Numbers,
    check_complete,
    encode_known_labels,
    encode_numbers,
    note_decimal_commas,
)
from opgd.cli.tables.read import Table, read_table
from opgd.cli.tables.training import Training
from opgd.cli.tables.write import TableOutput, build_answer_table, select_kept_columns
from opgd.core.types import AnyArray
from opgd.model_file import load_model_and_notes, save_model

ADVICE_ON_MISSING = (
    "The model has no values for them (fit with --impute median keeps some); "
    "--drop-missing leaves {rows} out."
)


@dataclass(frozen=True)
class Model:
    """A fitted estimator, and the notes of its fit."""

    estimator: Any
    fill_values: dict[str, float] | None  # by column
    imputation_method: str | None
    training: dict[str, Any]  # plain data from a file: any entry may be missing

    @property
    def is_classifier(self) -> bool:
        """Whether it has classes; otherwise it has clusters."""
        return hasattr(self.estimator, "classes_")

    @property
    def target(self) -> str | None:
        """The column of labels in the training table."""
        return self._get_column("target")

    @property
    def groups(self) -> str | None:
        """The column of groups in the training table, if rows were left out by it."""
        return self._get_column("groups")

    @property
    def columns(self) -> list[str] | None:
        """The columns that it was fitted to, if they had names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _get_column(self, role: str) -> str | None:
        column = self.training.get(role)
        return column if isinstance(column, str) else None


@dataclass(frozen=True)
class NewRows:
    """Rows for a model, and the table without the rows that were left out."""

    X: Any  # pandas.DataFrame; its index are row numbers of the file
    table: Table


# files


def open_model(path: str) -> Model:
    """Read a model file."""
    estimator, notes = load_model_and_notes(path)
    try:
        fill_values, method = _parse_imputation(estimator, notes.get("preprocessing", {}))
        training = dict(notes.get("training", {}))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"The notes in {quote(path)} do not belong to its model.") from None
    return Model(estimator, fill_values, method, training)


def _parse_imputation(estimator: Any, notes: Any) -> tuple[dict[str, float] | None, str | None]:
    """Return values for missing cells by column, and what they are; ValueError if they are odd."""
    if "imputation" not in notes:
        return None, None
    values, method = notes["imputation"]["values"], str(notes["imputation"]["method"])
    fill_values = {name: float(values[name]) for name in estimator.feature_names_in_}
    if not all(map(math.isfinite, fill_values.values())):
        raise ValueError
    return fill_values, method


def save_trained_model(
    estimator: Any, path: Path, notes: dict[str, Any], training: Training, *, force: bool
) -> None:
    """Write a model file that holds what new rows need."""
    contents = {"training": notes, "preprocessing": training.preprocessing}
    save_model(estimator, path, notes=contents, overwrite=force)


# new rows


def select_new_rows(
    model: Model,
    table: Table,
    terminal: Terminal,
    *,
    drop_missing: bool,
    expected: Collection[str] = (),
    keep: Collection[str] = (),
) -> NewRows:
    """Return the model's columns by name, in its order, without missing cells.

    Other columns that are expected, such as the labels, are not noted as unused; columns to keep
    stay in the table too.
    """
    names = _select_columns(model, table, terminal, {*expected, model.target, model.groups})
    numbers = encode_numbers(table, names, keep)
    note_decimal_commas(numbers, terminal)
    mask: AnyArray = np.ones(len(numbers.values), dtype=bool)
    missing = np.isnan(numbers.values)
    values = numbers.values
    if missing.any() and model.fill_values is not None:
        fill = np.array([model.fill_values[name] for name in names])
        values = np.where(missing, fill, values)
        cells, method = count_noun(int(missing.sum()), "missing cell"), model.imputation_method
        terminal.note(f"{cells} filled by the model's {sanitize(method)}.")
    elif missing.any() and drop_missing:
        mask = np.logical_not(missing.any(axis=1))
        values = values[mask]
        terminal.note(f"{count_noun(int(np.sum(~mask)), 'row')} with missing cells left out.")
    check_complete(table, Numbers(names, values, []), ADVICE_ON_MISSING)
    if not mask.any():
        raise BadInput(f"Every row of {table.source} has a missing cell: no row is left.")
    kept = table.select_rows(mask)
    columns = None if model.columns is None else names
    return NewRows(pd.DataFrame(values, columns=columns, index=kept.row_numbers), kept)


def _select_columns(
    model: Model, table: Table, terminal: Terminal, expected: set[str | None]
) -> list[str]:
    present = table.frame.columns
    if model.columns is None:  # fitted in Python to an array
        names = [name for name in present if name not in expected]
        _check_number_of_columns(model, table, names)
        terminal.note("The model does not know names of columns: they are taken in their order.")
        return names
    present_names = set(present)
    missing = [name for name in model.columns if name not in present_names]
    if missing:
        word = "column" if len(missing) == 1 else "columns"
        raise BadInput(
            f"{table.source} lacks the {word} {list_names(missing)} of the model; "
            f"it has {list_names(present)}."
        )
    known = {*model.columns, *expected}
    unused = [name for name in present if name not in known]
    if unused:
        terminal.note(f"Columns that the model does not use: {list_names(unused)}.")
    return model.columns


def _check_number_of_columns(model: Model, table: Table, names: list[str]) -> None:
    n_features = int(model.estimator.n_features_in_)
    if len(names) != n_features:
        raise BadInput(
            f"The model was fitted to {count_noun(n_features, 'column')} without names, "
            f"and {table.source} has {len(names)}."
        )


# answers


def predict_rows(estimator: Any, X: Any, *, proba: bool = False) -> dict[str, Any]:
    """Return columns: prediction, probability, typicality if there are Gaussians, by name."""
    probabilities = estimator.predict_proba(X)
    is_classifier = hasattr(estimator, "classes_")
    columns: dict[str, Any] = {
        "prediction" if is_classifier else "cluster": estimator.predict(X),
        "probability": probabilities.max(axis=1),
    }
    if hasattr(estimator, "typicality"):  # defined by the nearest Gaussian
        columns["typicality"] = estimator.typicality(X)
    if proba:
        labels = estimator.classes_.tolist() if is_classifier else range(probabilities.shape[1])
        columns |= {f"probability_{label}": probabilities[:, k] for k, label in enumerate(labels)}
    return columns


def apply_model(
    answer: Callable[[Any, Any], dict[str, Any]],
    model_path: str,
    data: str,
    output: TableOutput,
    *,
    keep: list[str],
    drop_missing: bool,
    terminal: Terminal,
) -> None:
    """Read a model and a table, and write what `answer(estimator, X)` returns for its rows."""
    if terminal.as_json and output.path is None:
        raise BadInput("--json prints a summary where the table would go; add -o FILE.")
    model = open_model(model_path)
    table = read_table(data, terminal)
    rows = select_new_rows(model, table, terminal, drop_missing=drop_missing, keep=keep)
    answers = answer(model.estimator, rows.X)
    kept = select_kept_columns(rows.table, keep)
    output.write(build_answer_table(rows.table.row_numbers, answers, kept), terminal)
    if output.path is not None:
        facts = {"output": str(output.path)} | _summarize_answers(model, rows, answers)
        error = ""
        if "error" in facts:
            error = f"; error {facts['error']:.3f} by its column {quote(model.target)}"
        page = Text(f"{count_noun(facts['rows'], 'row')} in {output.path}{error}")
        terminal.print_result(facts, page)


def _summarize_answers(model: Model, rows: NewRows, answers: dict[str, Any]) -> dict[str, Any]:
    """Return the number of rows of each class, and the error if the table has the labels."""
    facts: dict[str, Any] = {"rows": len(rows.X), "columns": list(answers)}
    for name in ("prediction", "cluster"):
        if name in answers:
            labels, counts = np.unique(answers[name], return_counts=True)
            facts["counts"] = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    if "prediction" in answers and model.target in rows.table.frame.columns:
        series = rows.table.frame[model.target]
        try:
            labels, missing = encode_known_labels(series, model.estimator.classes_)
        except BadInput:  # another column of the same name
            return facts
        if not missing.all():
            wrong = answers["prediction"][~missing] != labels[~missing]
            facts["error"] = float(np.mean(wrong))
    return facts
