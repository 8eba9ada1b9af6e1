"""Prepare tables for fitting that are too large for memory.

They are read twice: first to select a sample, from which the encoding of the columns is decided,
then to encode all rows in batches and to copy the features to disk.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from opgd._tables.columns import ChangedColumn
from opgd._utils.warnings import DataWarning
from opgd.cli.console import Terminal, count_noun, quote
from opgd.cli.errors import BadInput
from opgd.cli.tables.batches import QUIET, iterate_tables, read_sample
from opgd.cli.tables.columns import select_columns
from opgd.cli.tables.encode import check_class_values, encode_labels, encode_numbers
from opgd.cli.tables.frames import pop_frame
from opgd.cli.tables.read import Table
from opgd.cli.tables.training import (
    Selection,
    Training,
    encode_training,
    find_incomplete,
    find_weighted,
)
from opgd.core.types import AnyArray
from opgd.files import copy_to_disk

MAX_WARNINGS = 3


def read_large_training(
    path: str, selection: Selection, terminal: Terminal, *, allow_nan: bool
) -> Training:
    """Encode rows and labels for a fit in batches; features are on disk, labels in memory."""
    sample = encode_sample(path, selection, terminal, allow_nan=allow_nan)
    return _Encoding(sample, selection, terminal).encode_all(path)


def encode_sample(
    path: str, selection: Selection, terminal: Terminal, *, allow_nan: bool
) -> Training:
    """Encode some of the rows of a large table."""
    drawn = read_sample(path, terminal)
    numbered = dict.fromkeys(_find_row_numbers(drawn), "ignore")
    selection = replace(selection, kinds=numbered | selection.kinds)
    return encode_training(drawn, selection, terminal, allow_nan=allow_nan)


def _find_row_numbers(table: Table) -> list[str]:
    """Return columns that number the rows, which the encoder cannot find in a part of the rows."""
    names = []
    for name, series in zip(
        table.frame.columns, select_columns(table.frame, table.frame.columns), strict=True
    ):
        if series.dtype.is_numeric() or series.dtype == pl.String:
            numbers = series.cast(pl.Float64, strict=False).to_numpy()
            differences = numbers - table.row_numbers
            names += [name] * bool(np.all(differences == differences[0]))
    return names


class _Encoding:
    """Encoding of all rows, as decided from a sample."""

    def __init__(self, sample: Training, selection: Selection, terminal: Terminal) -> None:
        self.sample, self.selection, self.terminal = sample, selection, terminal
        self.names = [column.name for column in sample.encoder.columns_]
        self.words: dict[Any, int] = {}
        self.label_type: Any = None
        self.codes: list[AnyArray] = []
        self.weights: list[AnyArray] = []

    def encode_all(self, path: str) -> Training:
        columns = list(self.sample.X.columns)
        n_read = 0
        is_single = np.result_type(*self.sample.X.dtypes) == np.float32
        dtype = np.float32 if is_single else np.float64

        def encode_batches() -> Iterator[AnyArray]:
            nonlocal n_read
            for table in iterate_tables(path, QUIET):
                n_read += len(table.row_numbers)
                yield self._encode_batch(table)

        with _fewer_warnings():
            rows = copy_to_disk(encode_batches(), len(columns), dtype)
        X = pd.DataFrame(rows, columns=columns, copy=False)
        if len(X) < n_read:
            self.terminal.note(f"Dropped {count_noun(n_read - len(X), 'row')} of all rows.")
        return replace(
            self.sample,
            X=X,
            y=self._decode_labels(),
            weights=np.concatenate(self.weights) if self.weights else None,
            groups=None,
            n_left_out=n_read - len(X),
            sample=self.sample,
        )

    def _encode_batch(self, table: Table) -> AnyArray:
        """Return the features of the rows that are used, and store their labels and weights."""
        codes, mask = self._encode_labels(table)
        weights = None
        if self.selection.weights is not None:
            weights = encode_numbers(table, self.selection.weights, "--weights")
            mask = mask & find_weighted(table, weights, self.selection)
        frame = pop_frame(table, self.names, QUIET)
        if self.selection.drop_missing:
            mask = mask & ~find_incomplete(self.sample.encoder, frame)
        self.codes.append(codes[mask])
        if weights is not None:
            self.weights.append(weights[mask])
        if not mask.any():
            return np.empty((0, len(self.sample.X.columns)))
        features = self._encode_features(frame[mask], table)
        if self.sample.imputer is not None:
            features = self.sample.imputer.transform(features)
        return np.asarray(features)

    def _encode_features(self, frame: pd.DataFrame, table: Table) -> Any:
        try:
            return self.sample.encoder.transform(frame)
        except ChangedColumn as error:
            place = "" if error.row is None else f" (row {frame.index[error.row]})"
            raise BadInput(
                f"Column {quote(error.name)} of {table.source} has {error.now}{place}, but "
                f"{error.before} in the rows that decide how columns are encoded. Set its kind "
                "with --as, or correct the column."
            ) from None

    def _encode_labels(self, table: Table) -> tuple[AnyArray, AnyArray]:
        """Return codes of the distinct values of the target, and a mask of those not missing."""
        series = table.column(str(self.selection.target), "--target")
        self.label_type = series.dtype
        distinct = series.unique(maintain_order=True)
        _, missing = encode_labels(str(self.selection.target), distinct)
        values = distinct.to_list()
        codes = np.array(
            [self.words.setdefault(value, len(self.words)) for value in values], dtype=np.int32
        )
        places = pl.Series(range(len(values)), dtype=pl.Int32)
        found = series.replace_strict(distinct, places, return_dtype=pl.Int32).to_numpy()
        return codes[found], ~missing[found]

    def _decode_labels(self) -> AnyArray:
        """Return the labels of all rows that are used, (n,)."""
        name = str(self.selection.target)
        codes = np.concatenate(self.codes)
        used = np.bincount(codes, minlength=len(self.words)) > 0
        places = np.cumsum(used) - 1
        words = [word for word, is_used in zip(self.words, used, strict=True) if is_used]
        labels, _ = encode_labels(name, pl.Series(words, dtype=self.label_type))
        check_class_values(name, set(labels.tolist()), len(codes))
        return labels[places[codes]]


@contextmanager
def _fewer_warnings() -> Iterator[None]:
    """Show the first few warnings about the data only: every batch may have some."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield
    for entry in caught[:MAX_WARNINGS]:
        warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
