"""Prepare tables for fitting: select and encode columns, and fill or drop missing cells."""

import shlex
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from rich.text import Text
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from opgd._tables.columns import NumberColumn
from opgd._tables.inference import KINDS, UnreadableColumn
from opgd._tables.reading import read_new_columns
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.cli.console import (
    Terminal,
    count_noun,
    list_rows,
    make_console,
    quote,
    sanitize,
)
from opgd.cli.errors import BadInput
from opgd.cli.tables.encode import check_classes, encode_groups, encode_labels, encode_numbers
from opgd.cli.tables.frames import pop_frame
from opgd.cli.tables.read import Table, read_table
from opgd.core.types import AnyArray, FloatArray
from opgd.table_encoder import TableEncoder

IMPUTATIONS = ("median", "mean")
MAX_COLUMNS = 8
"""Maximum number of columns listed in a message."""
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
        columns = self.encoder.columns_
        plain = all(isinstance(c, NumberColumn) and not str(c.format) for c in columns)
        return plain and len(columns) == self.encoder.n_features_in_

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
    path: str, selection: Selection, terminal: Terminal, *, allow_nan: bool
) -> Training:
    """Read and encode rows and labels for a fit; raise BadInput if they cannot be used.

    Missing cells stay missing if `allow_nan`; otherwise they must be dropped or filled.
    """
    return encode_training(read_table(path, terminal), selection, terminal, allow_nan=allow_nan)


def encode_training(
    table: Table, selection: Selection, terminal: Terminal, *, allow_nan: bool
) -> Training:
    """Encode the rows of a table for a fit, and take their columns out of the table."""
    names = _select_columns(table, selection)
    labels, mask = _encode_target(table, selection, terminal)
    groups = None if selection.groups is None else encode_groups(table, selection.groups)
    weights = None
    if selection.weights is not None:
        weights = encode_numbers(table, selection.weights, "--weights")
        mask = mask & find_weighted(table, weights, selection)
    kinds = {name: kind for name, kind in selection.kinds.items() if name in names}
    encoder = TableEncoder(kinds or None).set_output(transform="pandas")
    frame = pop_frame(table, names, terminal)
    _fit_encoder(encoder, frame[mask], table)
    if selection.drop_missing:
        mask = _drop_incomplete(encoder, frame, mask, table, terminal)
        _fit_encoder(encoder, frame[mask], table)
    note_encoding(encoder, terminal)
    features = encoder.transform(frame[mask])
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


def _fit_encoder(encoder: TableEncoder, frame: pd.DataFrame, table: Table) -> None:
    try:
        encoder.fit(frame)
    except UnreadableColumn as error:
        option = shlex.quote(f"{sanitize(error.name, 200)}={error.kind}")
        raise BadInput(
            f"--as {option} does not fit {table.source}: {error.reason}. Convert the column, or "
            "pass another kind."
        ) from None


def show_encoding(training: Training, terminal: Terminal) -> None:
    """Print how the columns of a table would be encoded, as the result of a command."""
    summary = training.encoder.summary_
    facts = {
        "rows": len(training.X),
        "rows_left_out": training.n_left_out,
        "features": len(training.X.columns),
        "table": [vars(entry) for entry in summary],
    }
    dropped = f", {training.n_left_out} dropped" if training.n_left_out else ""
    title = f"{facts['rows']} rows{dropped}, {len(summary)} columns, {facts['features']} features"
    terminal.print_result(facts, Text(f"{title}\n{summary.to_text(make_console().width)}"))


def note_encoding(encoder: TableEncoder, terminal: Terminal) -> None:
    """Print what the encoder does with each column, unless all are complete columns of numbers."""
    summary = encoder.summary_
    if all(entry.action == "kept" for entry in summary) and not summary.n_missing:
        return
    n_features = count_noun(len(encoder.get_feature_names_out()), "feature")
    terminal.note(f"{count_noun(len(summary), 'column')}, encoded as {n_features}:")
    terminal.show(summary)
    if any(not entry.outputs and entry.kind != "ignored" for entry in summary):
        used = next(entry.column for entry in summary if entry.outputs)
        example = shlex.quote(f"{sanitize(used, 200)}=ignore")
        terminal.note(f"Change the kind of a column with --as, for example --as {example}")


def check_complete(
    features: Any, source: str, advice: str, encoder: TableEncoder | None = None
) -> None:
    """Raise BadInput for missing cells, by column of the table that the encoder takes.

    {rows} in the advice becomes the number of rows with missing cells.
    """
    missing = features.isna()
    if not missing.to_numpy().any():
        return
    origins = {name: name for name in missing.columns}
    if encoder is not None:
        origins |= {name: entry.column for entry in encoder.summary_ for name in entry.outputs}
    by_column = missing.T.groupby([origins[name] for name in missing.columns], sort=False).any().T
    incomplete = by_column.loc[:, by_column.any()]
    columns = list(incomplete.columns)
    verb = "has" if len(columns) == 1 else "have"
    lines = [f"{count_noun(len(columns), 'column')} of {source} {verb} missing cells:"]
    shown = {name: sanitize(name, 30) for name in columns[:MAX_COLUMNS]}
    width = max(map(len, shown.values()))
    for name, text in shown.items():
        rows = list_rows(incomplete.index[incomplete[name]])
        count = f"{int(incomplete[name].sum())} of {count_noun(len(incomplete), 'row')}"
        lines.append(f"  {text:{width}}  {count} ({rows})")
    if len(columns) > MAX_COLUMNS:
        n_more = len(columns) - MAX_COLUMNS
        lines.append(f"  and {count_noun(n_more, 'more column', 'more columns')}")
    n_rows = count_noun(int(incomplete.any(axis=1).sum()), "row")
    raise BadInput("\n".join([*lines, advice.format(rows=n_rows)]))


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
    if labels.dtype != object:
        return
    counts = Counter(word for word in labels.tolist() if word)
    if counts:
        words = ", ".join(f"{quote(word)} ({count_noun(n, 'row')})" for word, n in counts.items())
        warn_caller(
            f"Column {quote(target)} has labels that were read as missing: {words}. If such a "
            "label is a class, rename it in the table.",
            DataWarning,
        )


def find_weighted(table: Table, weights: FloatArray, selection: Selection) -> AnyArray:
    """Return a mask of the rows with a weight; raise BadInput if others are not to be dropped."""
    missing = np.isnan(weights)
    if missing.any() and not selection.drop_missing:
        raise BadInput(
            f"Column {quote(selection.weights)} (--weights) is empty in "
            f"{list_rows(table.row_numbers[missing])}; pass --drop-missing to drop such rows."
        )
    return ~missing


def find_incomplete(encoder: TableEncoder, frame: Any) -> AnyArray:
    """Return a mask of the rows with missing cells in the columns that are used."""
    names = [column.name for column in encoder.columns_]
    missing: AnyArray = np.any(
        [cells.missing for cells in read_new_columns(encoder, frame, names)], axis=0
    )
    return missing


def _drop_incomplete(
    encoder: TableEncoder, frame: Any, mask: AnyArray, table: Table, terminal: Terminal
) -> AnyArray:
    """Return a mask of the rows that have all cells of the columns that are used."""
    missing = find_incomplete(encoder, frame)
    complete: AnyArray = mask & ~missing
    if not complete.any():
        raise BadInput(
            f"Every row of {table.source} has missing cells, so that --drop-missing leaves none. "
            "Impute them with --impute median, or exclude columns with --ignore."
        )
    n_dropped = int(np.sum(mask & missing))
    if n_dropped:
        terminal.note(f"Dropped {count_noun(n_dropped, 'row')} with missing cells.")
    return complete


def _select_columns(table: Table, selection: Selection) -> list[str]:
    """Return the names of the columns to use, without labels, weights and groups."""
    for name in selection.kinds:
        table.column(name, "--as")
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
