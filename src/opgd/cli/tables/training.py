"""Prepare tables for fitting: select and encode columns, and fill or drop missing cells.

Tables that are too large for memory are read twice: first to select a sample, which decides how
columns are encoded, then to encode all rows in batches.
"""

import shlex
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from rich.text import Text
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from opgd._table_cells import read_cells
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.cli.console import (
    Terminal,
    count_noun,
    list_names,
    list_rows,
    make_console,
    quote,
    sanitize,
)
from opgd.cli.errors import BadInput
from opgd.cli.model_summary import format_encoding, list_columns
from opgd.cli.tables.encode import (
    check_class_values,
    check_classes,
    encode_groups,
    encode_labels,
    encode_numbers,
)
from opgd.cli.tables.read import (
    QUIET,
    Table,
    is_large,
    iterate_tables,
    read_sample,
    read_table,
)
from opgd.core.types import AnyArray, FloatArray
from opgd.files import copy_to_disk
from opgd.table_encoder import KINDS, TableEncoder

IMPUTATIONS = ("median", "mean")
MAX_WARNINGS = 3
"""Maximum number of warnings about batches that are shown."""
ADVICE_ON_MISSING = (
    "Pass --drop-missing to drop {rows}, or --impute median to fill the cells with medians, "
    "which are stored in the model for new rows."
)


@dataclass(frozen=True)
class Selection:
    """Options for the selection and kinds of columns and the treatment of missing cells."""

    use: list[str] | None
    ignore: list[str] | None
    drop_missing: bool
    impute: str | None
    target: str | None = None
    weights: str | None = None
    groups: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise BadInput for an unknown imputation method, before the table is read."""
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise BadInput(
                f"--impute must be {' or '.join(IMPUTATIONS)}, got {quote(self.impute)}."
            )


@dataclass(frozen=True)
class Training:
    """Training rows, encoded, and the steps that encode new rows."""

    X: Any  # pandas.DataFrame of features, indexed by row number in the file
    y: AnyArray | None
    weights: FloatArray | None
    groups: AnyArray | None
    n_left_out: int
    encoder: TableEncoder
    imputer: SimpleImputer | None
    sample: "Training | None" = None
    """Some of the rows, in memory, if X is too large for it."""

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, so that features are the columns of the table."""
        return all(column["kind"] == "number" for column in self.encoder.columns_)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """Preprocessing of new rows, for the model file."""
        if not self.is_plain or self.imputer is None:
            return {}
        return {"imputation": {"method": self.imputer.strategy, "values": self.fill_values}}

    @property
    def fill_values(self) -> dict[str, float] | None:
        """Fill values for missing cells, by feature."""
        if self.imputer is None:
            return None
        values = self.imputer.statistics_.tolist()
        return dict(zip(self.imputer.feature_names_in_.tolist(), values, strict=True))

    @property
    def stored_encoder(self) -> TableEncoder | None:
        """The encoder, if the model file contains it."""
        return None if self.is_plain else self.encoder

    def make_model(self, estimator: Any) -> Any:
        """Return the model to store: a pipeline, or the estimator if all columns are numbers."""
        if self.is_plain:
            return estimator
        imputer = [] if self.imputer is None else [("imputer", self.imputer)]
        return Pipeline([("encoder", self.encoder), *imputer, ("model", estimator)])


def parse_kinds(options: list[str] | None) -> dict[str, str]:
    """Return kinds by column from options of the form COLUMN=KIND."""
    kinds = {}
    for option in options or []:
        name, _, kind = option.rpartition("=")
        if not name or kind not in KINDS:
            raise BadInput(
                f"--as must be COLUMN=KIND with the kind {', '.join(KINDS[:-1])} or {KINDS[-1]}, "
                f"got {quote(option)}."
            )
        kinds[name] = kind
    return kinds


def read_training(
    path: str,
    selection: Selection,
    terminal: Terminal,
    *,
    allow_nan: bool,
    in_batches: bool = False,
    dry_run: bool = False,
) -> Training:
    """Read and encode rows and labels for a fit; raise BadInput if they cannot be used.

    Missing cells stay missing if `allow_nan`; otherwise they must be dropped or filled. With
    `in_batches`, features of large tables are on disk; a dry run encodes some of the rows only.
    """
    if not (in_batches and is_large(path)):
        return encode_training(read_table(path, terminal), selection, terminal, allow_nan=allow_nan)
    drawn = read_sample(path, terminal)
    numbered = {}  # numbers of rows, which the encoder cannot recognize in a part of the rows
    for name in set(_select_columns(drawn, selection)) - set(selection.kinds):
        numbers = read_cells(name, drawn.frame[name])
        if numbers.kind == "number" and np.ptp(numbers.values - drawn.row_numbers) == 0:
            numbered[name] = "ignore"
    selection = replace(selection, kinds=numbered | selection.kinds)
    sample = encode_training(drawn, selection, terminal, allow_nan=allow_nan)
    return sample if dry_run else _encode_all(path, sample, selection, terminal)


def encode_training(
    table: Table, selection: Selection, terminal: Terminal, *, allow_nan: bool
) -> Training:
    """Encode the rows of a table for a fit."""
    names = _select_columns(table, selection)
    labels, mask = _encode_target(table, selection, terminal)
    groups = None if selection.groups is None else encode_groups(table, selection.groups)
    weights = None
    if selection.weights is not None:
        weights = encode_numbers(table, selection.weights, "--weights")
        mask = mask & _find_weighted(table, weights, selection)
    kinds = {name: kind for name, kind in selection.kinds.items() if name in names}
    encoder = TableEncoder(kinds or None).set_output(transform="pandas")
    frame = table.get_features(names, terminal)
    if selection.drop_missing:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # of the rows that are dropped, too
            encoder.fit(frame[mask])
        mask = _drop_incomplete(encoder, frame, mask, table, terminal)
    features = encoder.fit_transform(frame[mask])
    note_encoding(encoder, terminal)
    imputer = None
    if selection.impute is not None:
        imputer = SimpleImputer(strategy=selection.impute).set_output(transform="pandas")
        features = imputer.fit_transform(features)
    elif not allow_nan:
        check_complete(features, table.source, ADVICE_ON_MISSING, encoder)
    return Training(
        X=features,
        y=None if labels is None else check_classes(str(selection.target), labels[mask]),
        weights=None if weights is None else weights[mask],
        groups=None if groups is None else groups[mask],
        n_left_out=int(np.sum(~mask)),
        encoder=encoder,
        imputer=imputer,
    )


def _encode_all(path: str, sample: Training, selection: Selection, terminal: Terminal) -> Training:
    """Return all rows, encoded as the sample is: features on disk, labels and weights in memory."""
    target, n_read = str(selection.target), 0
    words, weights = list[pd.Categorical](), list[FloatArray]()

    def encode_batches() -> Iterator[AnyArray]:
        nonlocal n_read
        for table in iterate_tables(path, QUIET):
            n_read += len(table.frame)
            series = table.column(target, "--target")
            mask = ~encode_labels(target, series)[1]
            values = None
            if selection.weights is not None:
                values = encode_numbers(table, selection.weights, "--weights")
                mask = mask & _find_weighted(table, values, selection)
            frame = table.get_features(_list_used(sample.encoder), QUIET)
            if selection.drop_missing:
                mask = mask & ~_find_incomplete(sample.encoder, frame)
            if not mask.any():
                continue
            features = sample.encoder.transform(frame[mask])
            if sample.imputer is not None:
                features = sample.imputer.transform(features)
            words.append(pd.Categorical(series[mask]))
            if values is not None:
                weights.append(values[mask])
            yield np.asarray(features)

    names = list(sample.X.columns)
    with _fewer_warnings():
        rows = copy_to_disk(encode_batches(), len(names), np.float64)
    X = pd.DataFrame(rows, columns=names, copy=False)
    joined = union_categoricals(words)
    labels, _ = encode_labels(target, joined.categories.to_series())
    check_class_values(target, set(labels.tolist()), len(X))
    if len(X) < n_read:
        terminal.note(f"Dropped {count_noun(n_read - len(X), 'row')} of all rows.")
    return replace(
        sample,
        X=X,
        y=(labels.astype(str) if labels.dtype == object else labels)[joined.codes],
        weights=np.concatenate(weights) if weights else None,
        groups=None,
        n_left_out=n_read - len(X),
        sample=sample,
    )


@contextmanager
def _fewer_warnings() -> Iterator[None]:
    """Show the first few warnings about the data only: every batch may have some."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield
    for entry in caught[:MAX_WARNINGS]:
        warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)


def show_encoding(training: Training, terminal: Terminal) -> None:
    """Print how the columns of a table would be encoded, as the result of a command."""
    columns = list_columns(training.encoder)
    facts = {
        "rows": len(training.X),
        "rows_left_out": training.n_left_out,
        "features": len(training.X.columns),
        "table": columns,
    }
    dropped = f", {training.n_left_out} dropped" if training.n_left_out else ""
    title = f"{facts['rows']} rows{dropped}, {len(columns)} columns, {facts['features']} features"
    table = format_encoding(columns, make_console().width)
    terminal.print_result(facts, Text(f"{title}\n{table}"))


def note_encoding(encoder: TableEncoder, terminal: Terminal) -> None:
    """Print what the encoder does with each column, unless all are complete columns of numbers."""
    columns = list_columns(encoder)
    if all(column["kind"] == "number" and not column["missing"] for column in columns):
        return
    n_features = count_noun(len(encoder.get_feature_names_out()), "feature")
    terminal.note(f"{count_noun(len(columns), 'column')}, encoded as {n_features}:")
    terminal.show(format_encoding(columns, make_console(stderr=True).width))
    if any(not column["outputs"] and column["kind"] != "ignored" for column in columns):
        example = shlex.quote(f"{sanitize(_list_used(encoder)[0], 200)}=ignore")
        terminal.note(f"Change the kind of a column with --as, for example --as {example}")


def _list_used(encoder: TableEncoder) -> list[str]:
    return [column["column"] for column in encoder.columns_ if column["outputs"]]


def check_complete(
    features: Any, source: str, advice: str, encoder: TableEncoder | None = None
) -> None:
    """Raise BadInput for missing cells, by column of the table that the encoder takes.

    {rows} in the advice becomes the number of rows with missing cells.
    """
    missing = features.isna()
    rows = missing.index[missing.any(axis=1)]
    if not len(rows):
        return
    encoded = [] if encoder is None else encoder.columns_
    origins = {name: column["column"] for column in encoded for name in column["outputs"]}
    columns = dict.fromkeys(origins.get(name, name) for name in missing.columns[missing.any()])
    n_rows = count_noun(len(rows), "row")
    raise BadInput(
        f"{source} has missing cells in {len(rows)} of {count_noun(len(missing), 'row')} "
        f"({list_rows(rows)}): columns {list_names(list(columns))}. {advice.format(rows=n_rows)}"
    )


def _encode_target(
    table: Table, selection: Selection, terminal: Terminal
) -> tuple[AnyArray | None, AnyArray]:
    """Return the labels, if there is a target, and a mask of the labeled rows."""
    if selection.target is None:
        return None, np.ones(len(table.row_numbers), dtype=bool)
    column = table.column(selection.target, "--target")
    labels, missing = encode_labels(selection.target, column)
    if missing.all():
        raise BadInput(f"Column {quote(selection.target)} of {table.source} has no labels.")
    if missing.any():
        terminal.note(f"Dropped {count_noun(int(missing.sum()), 'row')} without a label.")
        _warn_about_words(selection.target, labels[missing])
    check_classes(selection.target, labels[~missing])
    return labels, ~missing


def _warn_about_words(target: str, labels: AnyArray) -> None:
    """Warn if missing labels are words, which may be meant as a class among other words."""
    counts = Counter(word for word in labels.tolist() if word)
    if counts:
        words = ", ".join(f"{quote(word)} ({count_noun(n, 'row')})" for word, n in counts.items())
        warn_caller(
            f"Column {quote(target)} has labels that were read as missing: {words}. If such a "
            "label is a class, rename it in the table.",
            DataWarning,
        )


def _find_weighted(table: Table, weights: FloatArray, selection: Selection) -> AnyArray:
    """Return a mask of the rows with a weight; raise BadInput if others are not to be dropped."""
    missing = np.isnan(weights)
    if missing.any() and not selection.drop_missing:
        raise BadInput(
            f"Column {quote(selection.weights)} (--weights) is empty in "
            f"{list_rows(table.row_numbers[missing])}; pass --drop-missing to drop such rows."
        )
    return ~missing


def _find_incomplete(encoder: TableEncoder, frame: Any) -> AnyArray:
    """Return a mask of the rows with missing cells in the columns that are used."""
    cells = [read_cells(name, frame[name]) for name in _list_used(encoder)]
    missing: AnyArray = np.any([column.missing for column in cells], axis=0)
    return missing


def _drop_incomplete(
    encoder: TableEncoder, frame: Any, mask: AnyArray, table: Table, terminal: Terminal
) -> AnyArray:
    """Return a mask of the rows that have all cells of the columns that are used."""
    missing = _find_incomplete(encoder, frame)
    if not np.any(mask & ~missing):
        raise BadInput(
            f"Every row of {table.source} has missing cells, so that --drop-missing leaves none. "
            "Impute them with --impute median, or exclude columns with --ignore."
        )
    if n_dropped := int(np.sum(mask & missing)):
        terminal.note(f"Dropped {count_noun(n_dropped, 'row')} with missing cells.")
    return mask & ~missing


def _select_columns(table: Table, selection: Selection) -> list[str]:
    """Return the names of the columns to use, without labels, weights and groups."""
    for name in selection.kinds:
        table.column(name, "--as")
    matched = _match_columns(table, selection.ignore or [], "--ignore")
    ignored = {*matched, selection.target, selection.weights, selection.groups}
    columns = table.frame.columns.tolist()
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
