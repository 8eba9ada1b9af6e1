"""Read tables from text files, and write them atomically."""

import csv
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from opgd.datasets._errors import DatasetMismatchError

MAX_TEXT_SIZE = 32 * 2**20  # bytes; the largest data set has 2 MB
OTHER_COLUMNS = ("speaker", "split", "target")
MISSING = {"", "?", "na", "nan"}

FloatArray = npt.NDArray[np.float64]
Strings = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Table:
    """A table as provided by a source.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_columns), nan where missing
    labels : ndarray of shape (n_rows,), strings
    """

    numbers: FloatArray
    labels: Strings


def parse_number(text: str) -> float:
    """Return the number in a cell, nan if it is missing."""
    text = text.strip()
    return float("nan") if text.lower() in MISSING else float(text)


def parse(rows: Sequence[Sequence[str]], columns: Sequence[int], label: int) -> Table:
    """Return cells as numbers and labels; `columns` and `label` are positions in a row."""
    width = len(rows[0]) if rows else 0
    for position, row in enumerate(rows, start=1):
        if len(row) != width:
            raise DatasetMismatchError(f"row {position} has {len(row)} cells, row 1 has {width}")
    try:
        cells = [parse_number(row[column]) for row in rows for column in columns]
    except ValueError as problem:
        raise DatasetMismatchError(f"a cell is not a number: {problem}") from None
    numbers = np.array(cells, dtype=float).reshape(len(rows), len(columns))
    return Table(numbers, np.array([row[label].strip() for row in rows], dtype=str))


def read_file(path: Path, feature_names: Sequence[str]) -> Table:
    """Read a table with a header from a .csv or .csv.gz file.

    Columns are reordered by `feature_names` if the header has exactly these names. The columns
    speaker and split are ignored.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            content = file.read(MAX_TEXT_SIZE + 1)
        text = content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as problem:
        raise DatasetMismatchError(f"it is damaged: {problem}") from problem
    if len(content) > MAX_TEXT_SIZE:
        raise DatasetMismatchError(f"it holds more than {MAX_TEXT_SIZE >> 20} MB of text")
    try:
        return parse_with_header(
            [row for row in csv.reader(text.splitlines()) if row], feature_names
        )
    except csv.Error as problem:
        raise DatasetMismatchError(f"it cannot be read as CSV ({problem})") from problem


def parse_with_header(rows: Sequence[Sequence[str]], feature_names: Sequence[str]) -> Table:
    """Return the table, with columns identified by the names in the first row."""
    header = [cell.strip() for cell in rows[0]] if rows else []
    if "target" not in header:
        raise DatasetMismatchError("its header row has no column named 'target'")
    names = [name for name in header if name not in OTHER_COLUMNS]
    if sorted(names) == sorted(feature_names):
        columns = [header.index(name) for name in feature_names]
    else:
        columns = [place for place, name in enumerate(header) if name not in OTHER_COLUMNS]
    if any(len(row) != len(header) for row in rows[1:]):
        raise DatasetMismatchError("its rows and its header differ in length")
    return parse(rows[1:], columns, header.index("target"))


def write_file(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a .csv.gz file atomically: under a temporary name first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with (
            os.fdopen(descriptor, "wb") as raw,
            gzip.open(raw, "wt", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)  # already renamed on success
