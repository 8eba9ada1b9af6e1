"""Model files, new rows for a model, and its predictions."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text

from opgd.cli.console import Terminal, count_noun, list_names, quote, sanitize
from opgd.cli.decisions import Decision
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
    "The model has no fill values (fit with --impute median stores them); pass --drop-missing to "
    "drop {rows}."
)


@dataclass(frozen=True)
class Model:
    """A fitted estimator with the notes from its model file."""

    estimator: Any
    fill_values: dict[str, float] | None  # by column
    imputation_method: str | None
    training: dict[str, Any]  # plain data from a file: any entry may be missing

    @property
    def is_classifier(self) -> bool:
        """Whether the model has classes; otherwise it has clusters."""
        return hasattr(self.estimator, "classes_")

    @property
    def target(self) -> str | None:
        """The name of the label column in the training table, if known."""
        return self._get_column("target")

    @property
    def groups(self) -> str | None:
        """The name of the group column in the training table, if there was one."""
        return self._get_column("groups")

    @property
    def columns(self) -> list[str] | None:
        """The names of the training columns, if they had names."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _get_column(self, role: str) -> str | None:
        column = self.training.get(role)
        return column if isinstance(column, str) else None


@dataclass(frozen=True)
class NewRows:
    """Rows for a model, and the table without the dropped rows."""

    X: Any  # pandas.DataFrame, indexed by row number in the file
    table: Table


# files


def open_model(path: str) -> Model:
    """Read a model file."""
    estimator, notes = load_model_and_notes(path)
    try:
        fill_values, method = _parse_imputation(estimator, notes.get("preprocessing", {}))
        training = dict(notes.get("training", {}))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"The notes in {quote(path)} do not match its model.") from None
    return Model(estimator, fill_values, method, training)


def _parse_imputation(estimator: Any, notes: Any) -> tuple[dict[str, float] | None, str | None]:
    """Return the fill values by column and the imputation method, (None, None) without one."""
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
    """Write a model file with the training summary and the preprocessing of new rows."""
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
    """Return the columns of the model, in its order, with missing cells filled or dropped.

    Columns in `expected`, such as the labels, are not reported as unused; columns in `keep`
    also stay in the table.
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
        terminal.note(f"{cells} filled with the {sanitize(method)} of the training rows.")
    elif missing.any() and drop_missing:
        mask = np.logical_not(missing.any(axis=1))
        values = values[mask]
        terminal.note(f"Dropped {count_noun(int(np.sum(~mask)), 'row')} with missing cells.")
    check_complete(table, Numbers(names, values, []), ADVICE_ON_MISSING)
    if not mask.any():
        raise BadInput(f"Every row of {table.source} has missing cells; no row is left.")
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
        terminal.note("The model has no column names; columns are used in the order of the table.")
        return names
    present_names = set(present)
    missing = [name for name in model.columns if name not in present_names]
    if missing:
        word = "column" if len(missing) == 1 else "columns"
        raise BadInput(
            f"{table.source} has no {word} {list_names(missing)}, which the model needs; "
            f"its columns are {list_names(present)}."
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
            f"but {table.source} has {len(names)}."
        )


# predictions


def predict_rows(estimator: Any, X: Any, *, proba: bool = False) -> dict[str, Any]:
    """Return prediction, probability and, for Gaussian models, typicality of rows, by column."""
    is_classifier = hasattr(estimator, "classes_")
    name = "prediction" if is_classifier else "cluster"
    return _tabulate(estimator, X, name, estimator.predict(X), estimator.predict_proba(X), proba)


def decide_rows(
    estimator: Any, X: Any, *, proba: bool, decision: Decision, terminal: Terminal
) -> dict[str, Any]:
    """Return the same with costs, rejection, prediction sets and estimated class shares."""
    decision.check(estimator)
    if not decision.names:
        return predict_rows(estimator, X, proba=proba)
    priors = decision.estimate(estimator, X, terminal)
    labels = decision.predict(estimator, X, priors, terminal)
    probabilities = estimator.predict_proba(X, priors)
    columns = _tabulate(estimator, X, "prediction", labels, probabilities, proba)
    known = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()])
    predicted = probabilities[np.arange(len(codes)), codes]
    columns["probability"] = np.where(codes < 0, probabilities.max(axis=1), predicted)
    return columns | decision.predict_sets(estimator, X, priors)


def _tabulate(
    estimator: Any, X: Any, name: str, labels: AnyArray, probabilities: AnyArray, proba: bool
) -> dict[str, Any]:
    is_classifier = hasattr(estimator, "classes_")
    columns: dict[str, Any] = {name: labels, "probability": probabilities.max(axis=1)}
    if hasattr(estimator, "typicality"):  # Gaussian models only
        columns["typicality"] = estimator.typicality(X)
    if proba:
        names = estimator.classes_.tolist() if is_classifier else range(probabilities.shape[1])
        columns |= {f"probability_{name}": probabilities[:, k] for k, name in enumerate(names)}
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
    """Read a model and a table, and write the columns that `answer(estimator, X)` returns."""
    if terminal.as_json and output.path is None:
        raise BadInput("--json prints a summary instead of the table; add -o FILE.")
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
            error = f"; error {facts['error']:.3f} against column {quote(model.target)}"
        page = Text(f"Wrote {count_noun(facts['rows'], 'row')} to {output.path}{error}")
        terminal.print_result(facts, page)


def _summarize_answers(model: Model, rows: NewRows, answers: dict[str, Any]) -> dict[str, Any]:
    """Return the number of rows of each class, and the error if the table has the labels."""
    facts: dict[str, Any] = {"rows": len(rows.X), "columns": list(answers)}
    for name in ("prediction", "cluster"):
        if name in answers:
            labels, counts = np.unique(answers[name], return_counts=True)
            facts["counts"] = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    if "prediction" in answers and model.target in rows.table.frame.columns:
        target = str(model.target)
        series = rows.table.column(target, "--target")
        try:
            labels, missing = encode_known_labels(target, series, model.estimator.classes_)
        except BadInput:  # an unrelated column with the same name
            return facts
        decided = np.isin(answers["prediction"], model.estimator.classes_) & ~missing
        if decided.any():  # rejected rows are neither right nor wrong
            wrong = answers["prediction"][decided] != labels[decided]
            facts["error"] = float(np.mean(wrong))
    return facts
