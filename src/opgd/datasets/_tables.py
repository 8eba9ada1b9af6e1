"""Tables as text: reading them, and writing them so that no half a file is ever left."""

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

LARGEST_TEXT = 32 * 2**20  # bytes; the largest of the fifteen has 2 MB
BESIDE_FEATURES = ("speaker", "split", "target")
MISSING = {"", "?", "na", "nan"}

FloatArray = npt.NDArray[np.float64]
Strings = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Table:
    """Rows as a source has them.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_columns), nan where missing
    labels : ndarray of shape (n_rows,), strings
    """

    numbers: FloatArray
    labels: Strings


def number(text: str) -> float:
    """A cell's number; the usual marks of a missing one give nan."""
    text = text.strip()
    return float("nan") if text.lower() in MISSING else float(text)


def parse(rows: Sequence[Sequence[str]], columns: Sequence[int], label: int) -> Table:
    """Turn cells into numbers and labels; `columns` and `label` are positions in a row."""
    width = len(rows[0]) if rows else 0
    for position, row in enumerate(rows, start=1):
        if len(row) != width:
            raise DatasetMismatchError(f"row {position} has {len(row)} cells, row 1 has {width}")
    try:
        cells = [number(row[column]) for row in rows for column in columns]
    except ValueError as problem:
        raise DatasetMismatchError(f"a cell is no number: {problem}") from None
    numbers = np.array(cells, dtype=float).reshape(len(rows), len(columns))
    return Table(numbers, np.array([row[label].strip() for row in rows], dtype=str))


def read_file(path: Path, feature_names: Sequence[str]) -> Table:
    """Read a table with a header from a .csv or .csv.gz file.

    Columns are put in the order of `feature_names` where the header has just these, and are left
    in their own order otherwise. The columns speaker and split are passed over.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            content = file.read(LARGEST_TEXT + 1)
        text = content.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as problem:
        raise DatasetMismatchError(f"it is damaged: {problem}") from problem
    if len(content) > LARGEST_TEXT:
        raise DatasetMismatchError(f"it holds more than {LARGEST_TEXT >> 20} MB of text")
    try:
        return parse_with_header(
            [row for row in csv.reader(text.splitlines()) if row], feature_names
        )
    except csv.Error as problem:
        raise DatasetMismatchError(f"it is no table: {problem}") from problem


def parse_with_header(rows: Sequence[Sequence[str]], feature_names: Sequence[str]) -> Table:
    """Find the columns by the names in the first row."""
    header = [cell.strip() for cell in rows[0]] if rows else []
    if "target" not in header:
        raise DatasetMismatchError("its first row does not name a column target")
    own = [name for name in header if name not in BESIDE_FEATURES]
    if sorted(own) == sorted(feature_names):
        columns = [header.index(name) for name in feature_names]
    else:
        columns = [place for place, name in enumerate(header) if name not in BESIDE_FEATURES]
    if any(len(row) != len(header) for row in rows[1:]):
        raise DatasetMismatchError("its rows and its header differ in length")
    return parse(rows[1:], columns, header.index("target"))


def write_file(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a .csv.gz file under another name first, so that `path` is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wt", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)  # gone already if all went well
