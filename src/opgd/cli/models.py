"""Model files, new rows for a model, and its predictions."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text
from sklearn.pipeline import Pipeline

from opgd.cli.console import Terminal, count_noun, list_names, quote, sanitize
from opgd.cli.decisions import Decision
from opgd.cli.errors import BadInput
from opgd.cli.tables.encode import encode_known_labels
from opgd.cli.tables.read import QUIET, Table, is_large, iterate_tables, read_table
from opgd.cli.tables.training import Training, check_complete
from opgd.cli.tables.write import TableOutput, build_answer_table, select_kept_columns
from opgd.core.types import AnyArray
from opgd.inspection.feature_selection import has_selected_features
from opgd.model_file import load_model, load_notes, save_model
from opgd.table_encoder import TableEncoder

ADVICE_ON_MISSING = (
    "The model has no fill values (fit with --impute median stores them); pass --drop-missing to "
    "drop {rows}."
)


@dataclass(frozen=True)
class Model:
    """A fitted estimator with its steps, and the notes from its model file."""

    estimator: Any
    steps: Pipeline | None  # before the estimator, if the file has a pipeline
    fill_values: dict[str, float] | None  # by feature
    imputation_method: str | None
    training: dict[str, Any]  # plain data from a file: any entry may be missing

    @property
    def is_classifier(self) -> bool:
        """Whether the model has classes; otherwise it has clusters."""
        return hasattr(self.estimator, "classes_")

    @property
    def accepts_missing(self) -> bool:
        """Whether the model predicts for rows with missing features."""
        return bool(self.estimator.__sklearn_tags__().input_tags.allow_nan)

    @property
    def target(self) -> str | None:
        """The name of the label column in the training table, if known."""
        return self._get_column("target")

    @property
    def groups(self) -> str | None:
        """The name of the group column in the training table, if there was one."""
        return self._get_column("groups")

    @property
    def encoder(self) -> TableEncoder | None:
        """The table encoder, if it is the first step."""
        first = None if self.steps is None else self.steps[0]
        return first if isinstance(first, TableEncoder) else None

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns that the model needs, if they had names."""
        first = self.estimator if self.steps is None else self.steps[0]
        if not hasattr(first, "feature_names_in_"):
            return None
        if self.encoder is not None:
            return [column["column"] for column in self.encoder.columns_ if column["outputs"]]
        return [str(name) for name in first.feature_names_in_]

    @property
    def unused_columns(self) -> set[str]:
        """The names of columns that new rows need not have, since no axis uses them."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None or not has_selected_features(self.estimator):
            return set()
        used = set(names[self.estimator.support_].tolist())
        if self.steps is None:
            return set(names.tolist()) - used
        if self.encoder is None or list(self.encoder.get_feature_names_out()) != list(names):
            return set()
        columns = self.encoder.columns_
        return {column["column"] for column in columns if used.isdisjoint(column["outputs"])}

    @property
    def pipeline(self) -> Any:
        """The model as it was stored."""
        if self.steps is None:
            return self.estimator
        return Pipeline([*self.steps.steps, ("model", self.estimator)])

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the features of the rows of a table."""
        steps = _make_number_encoder(list(frame.columns)) if self.steps is None else self.steps
        features = steps.transform(frame)
        if not isinstance(features, pd.DataFrame):
            features = pd.DataFrame(np.asarray(features, dtype=np.float64))
        return features.set_axis(frame.index, axis=0)

    def to_input(self, features: pd.DataFrame) -> Any:
        """Return features as the estimator expects them: with names only if it has some."""
        return features if hasattr(self.estimator, "feature_names_in_") else features.to_numpy()

    def _get_column(self, role: str) -> str | None:
        column = self.training.get(role)
        return column if isinstance(column, str) else None


@dataclass(frozen=True)
class NewRows:
    """Rows for a model, and the table without the dropped rows."""

    frame: pd.DataFrame  # columns of the table, indexed by row number in the file
    X: Any  # features, as the estimator expects them
    table: Table


# files


def open_model(path: str) -> Model:
    """Read a model file."""
    try:
        model, notes = load_model(path), load_notes(path)
    except ValueError as error:
        raise BadInput(f"{error} (MODEL, the first argument)") from None
    steps, estimator = None, model
    if isinstance(model, Pipeline):
        steps, estimator = model[:-1], model[-1]
    try:
        fill_values, method = _parse_imputation(estimator, notes.get("preprocessing", {}))
        training = dict(notes.get("training", {}))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadInput(f"The notes in {quote(path)} do not match its model.") from None
    return Model(estimator, steps, fill_values, method, training)


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
    save_model(training.make_model(estimator), path, notes=contents, overwrite=force)


# new rows


def _make_number_encoder(names: list[str]) -> TableEncoder:
    """Return an encoder of columns that are all numbers."""
    encoder = TableEncoder(dict.fromkeys(names, "number")).set_output(transform="pandas")
    return encoder.fit(pd.DataFrame({name: [0.0, 1.0] for name in names}))


def select_new_rows(
    model: Model,
    table: Table,
    terminal: Terminal,
    *,
    drop_missing: bool,
    expected: Collection[str] = (),
) -> NewRows:
    """Return the features of the rows of a table, with missing cells filled or dropped.

    Columns in `expected`, such as the labels, are not reported as unused.
    """
    names = _select_columns(model, table, terminal, {*expected, model.target, model.groups})
    frame = table.get_features(names, terminal)
    if model.columns is not None:  # those that no axis uses may be absent
        frame = frame.reindex(columns=model.columns)
    features = model.encode(frame)
    if model.fill_values is not None:
        n_missing = int(features.isna().sum().sum())
        features = features.fillna(model.fill_values)
        if n_missing:
            cells, method = count_noun(n_missing, "missing cell"), model.imputation_method
            terminal.note(f"{cells} filled with the {sanitize(method)} of the training rows.")
    mask: AnyArray = np.ones(len(frame), dtype=bool)
    if drop_missing:
        used = model.estimator.support_ if model.unused_columns else slice(None)
        mask = features.loc[:, used].notna().all(axis=1).to_numpy()
        if not mask.all():
            terminal.note(f"Dropped {count_noun(int(np.sum(~mask)), 'row')} with missing cells.")
    if not mask.any():
        raise BadInput(f"Every row of {table.source} has missing cells; no row is left.")
    features = features[mask]
    if not model.accepts_missing:
        check_complete(features, table.source, ADVICE_ON_MISSING, model.encoder)
    return NewRows(frame[mask], model.to_input(features), table.select_rows(mask))


def _select_columns(
    model: Model, table: Table, terminal: Terminal, expected: set[str | None]
) -> list[str]:
    present = table.frame.columns.tolist()
    if model.columns is None:  # fitted in Python to an array
        names = [name for name in present if name not in expected]
        n_features = int(model.pipeline.n_features_in_)
        if len(names) != n_features:
            raise BadInput(
                f"The model was fitted to {count_noun(n_features, 'column')} without names, "
                f"but {table.source} has {len(names)}."
            )
        terminal.note("The model has no column names; columns are used in the order of the table.")
        return names
    present_names = set(present)
    optional = model.unused_columns - present_names
    needed = [name for name in model.columns if name not in optional]
    missing = [name for name in needed if name not in present_names]
    if missing:
        word = "column" if len(missing) == 1 else "columns"
        raise BadInput(
            f"{table.source} has no {word} {list_names(missing)}, which the model needs; "
            f"its columns are {list_names(present)}."
        )
    known = {*model.columns, *expected}
    if model.encoder is not None:  # columns that the fit has dropped are no news
        known |= set(model.encoder.feature_names_in_.tolist())
    unused = [name for name in present if name not in known]
    if unused:
        terminal.note(f"Columns that the model does not use: {list_names(unused)}.")
    return needed


# predictions


def predict_rows(estimator: Any, X: Any, *, proba: bool = False) -> dict[str, Any]:
    """Return prediction, probability and, for Gaussian models, typicality of rows, by column."""
    is_classifier = hasattr(estimator, "classes_")
    name = "prediction" if is_classifier else "cluster"
    return _tabulate(estimator, X, name, estimator.predict(X), estimator.predict_proba(X), proba)


def decide_rows(
    estimator: Any, X: Any, *, proba: bool, scores: bool, decision: Decision, terminal: Terminal
) -> dict[str, Any]:
    """Return the same with scores, costs, rejection, prediction sets, estimated class shares."""
    decision.check(estimator)
    if scores and not hasattr(estimator, "transform"):
        raise BadInput(f"--scores: {type(estimator).__name__} has no axes to project rows on.")
    projected = np.asarray(estimator.transform(X)) if scores else np.empty((len(X), 0))
    coordinates = {f"axis_{j + 1}": values for j, values in enumerate(projected.T)}
    if not decision.names:
        return predict_rows(estimator, X, proba=proba) | coordinates
    priors = decision.estimate(estimator, X, terminal)
    labels = decision.predict(estimator, X, priors, terminal)
    probabilities = estimator.predict_proba(X, priors)
    columns = _tabulate(estimator, X, "prediction", labels, probabilities, proba)
    known = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()])
    predicted = probabilities[np.arange(len(codes)), codes]
    columns["probability"] = np.where(codes < 0, probabilities.max(axis=1), predicted)
    return columns | decision.predict_sets(estimator, X, priors) | coordinates


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
    tables = iterate_tables(data, terminal) if is_large(data) else [read_table(data, terminal)]
    summaries: list[dict[str, Any]] = []
    errors = np.zeros(2, dtype=np.intp)

    def make_answers() -> Iterator[pd.DataFrame]:
        for table in tables:
            shown = QUIET if summaries else terminal
            rows = select_new_rows(model, table, shown, drop_missing=drop_missing)
            answers = answer(model.estimator, rows.X)
            summaries.append(_summarize_answers(rows, answers))
            errors[:] += count_errors(model, rows, answers)
            kept = select_kept_columns(rows.table, keep)
            yield build_answer_table(rows.table.row_numbers, answers, kept)

    output.write(make_answers(), terminal)
    facts = summaries[0] | {"rows": sum(summary["rows"] for summary in summaries)}
    if "counts" in facts:
        facts["counts"] = dict(sum((Counter(s["counts"]) for s in summaries), Counter()))
    if errors[1]:
        facts["error"] = float(errors[0] / errors[1])
    if output.path is not None:
        facts = {"output": str(output.path)} | facts
        error = ""
        if "error" in facts:
            error = f"; error {facts['error']:.3f} against column {quote(model.target)}"
        page = Text(f"Wrote {count_noun(facts['rows'], 'row')} to {output.path}{error}")
        terminal.print_result(facts, page)


def _summarize_answers(rows: NewRows, answers: dict[str, Any]) -> dict[str, Any]:
    """Return the number of rows, and of those of each class."""
    facts: dict[str, Any] = {"rows": len(rows.X), "columns": list(answers)}
    for name in ("prediction", "cluster"):
        if name in answers:
            labels, counts = np.unique(answers[name], return_counts=True)
            facts["counts"] = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    return facts


def count_errors(model: Model, rows: NewRows, answers: dict[str, Any]) -> tuple[int, int]:
    """Return the numbers of wrong and of all decisions, zeros if the table has no labels.

    Rejected rows are neither right nor wrong.
    """
    if "prediction" not in answers or model.target not in rows.table.frame.columns:
        return 0, 0
    target = str(model.target)
    series = rows.table.column(target, "--target")
    try:
        labels, missing = encode_known_labels(target, series, model.estimator.classes_)
    except BadInput:  # an unrelated column with the same name
        return 0, 0
    decided = np.isin(answers["prediction"], model.estimator.classes_) & ~missing
    return int(np.sum(answers["prediction"][decided] != labels[decided])), int(decided.sum())
