"""Read tables from CSV, TSV, Parquet and Arrow files and folders, or CSV from standard input.

pyarrow parses the files, and large ones in batches; cells of delimited text stay text.
"""

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from opgd._utils.memory import get_memory
from opgd.cli.console import Terminal, count_noun, list_names, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.core.types import AnyArray
from opgd.files import (
    COMPRESSED,
    DELIMITED,
    PARQUET,
    SEPARATORS,
    list_files,
    open_table,
    split_ending,
)

STANDARD_INPUT = "-"
ARROW = (".arrow", ".ipc", ".feather")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DECIMAL_COMMA = r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*"
MEMORY_SHARE = 1 / 8
"""Share of the memory from which tables are large: several copies are needed for a fit."""
EXPANSION = 5
"""Size of compressed text and of Parquet in memory, relative to the file."""
MAX_BATCH_ROWS = 2**15
MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS, SAMPLE_CELLS = 1000, 10_000, 500_000
QUIET = Terminal(quiet=True)
NULLABLE = {
    pa.type_for_alias(f"{sign}int{size}"): pd.api.types.pandas_dtype(f"{sign.upper()}Int{size}")
    for sign in ("", "u")
    for size in (8, 16, 32, 64)
} | {pa.bool_(): pd.BooleanDtype()}
"""Types of columns whose missing cells must not turn integers into floats."""


@dataclass(frozen=True)
class Table:
    """A table as read from a file; all columns of delimited text are text."""

    source: str  # name in messages
    frame: pd.DataFrame  # indexed by the row in the file, counted from 1 after the header
    decimal_commas: bool = False  # whether 1,5 is a number in this table

    @property
    def row_numbers(self) -> AnyArray:
        """The numbers of the rows in the file, (n,)."""
        return self.frame.index.to_numpy()

    def column(self, name: str, option: str) -> pd.Series:
        """Return a column; if it does not exist, the message names the option."""
        if name not in self.frame:
            columns = {column.casefold(): column for column in self.frame}
            near = [columns[key] for key in get_close_matches(name.casefold(), columns, n=1)]
            raise BadInput(
                f"{self.source} has no column {quote(name)} ({option})"
                + (f"; did you mean {quote(near[0])}?" if near else ".")
                + f" Its columns are {list_names(self.frame.columns.tolist())}."
            )
        return self.frame[name]

    def get_features(self, names: list[str], terminal: Terminal) -> pd.DataFrame:
        """Return columns, with decimal points instead of commas."""
        frame, points = self.frame[names], {}
        for name in names if self.decimal_commas else ():
            words = frame[name][frame[name].str.contains(",", regex=False, na=False)]
            has_points = frame[name].str.contains(".", regex=False, na=False).any()
            if len(words) and words.str.fullmatch(DECIMAL_COMMA).all() and not has_points:
                points[name] = frame[name].str.replace(",", ".")
        if points:
            terminal.note(f"Decimal commas were read as points in {list_names(list(points))}.")
        return pd.DataFrame(dict(frame.items()) | points) if points else frame

    def select_rows(self, mask: AnyArray) -> "Table":
        """Return a table of the rows where `mask`, (n,), is true."""
        return Table(self.source, self.frame[mask], self.decimal_commas)


def is_large(path: str) -> bool:
    """Return whether a table is read in batches: if it needs a large share of the memory."""
    if path == STANDARD_INPUT or path.lower().endswith(ARROW):
        return False
    size = 0
    for file in list_files(Path(path)):
        expanded = file.suffix.lower() in (*COMPRESSED, *PARQUET)
        size += file.stat().st_size * (EXPANSION if expanded else 1)
    return size > MEMORY_SHARE * get_memory()


def read_table(path: str, terminal: Terminal) -> Table:
    """Read a table; raise BadInput if it cannot be read."""
    is_file = path == STANDARD_INPUT or path.lower().endswith(ARROW)
    files = [Path(path)] if is_file else list_files(Path(path))
    parts = [_read_file(file, terminal) for file in files]
    source = parts[0].source if len(parts) == 1 else sanitize(path, 200)
    names = parts[0].frame.columns
    for part in parts:
        if differing := sorted({*names} ^ {*part.frame}):
            listed = list_names(differing)
            raise BadInput(f"The files of {source} have different columns: {listed}.")
    frame = pd.concat([part.frame[names] for part in parts], ignore_index=True)
    commas = any(part.decimal_commas for part in parts)
    return _tidy(Table(source, frame, commas), terminal)


def iterate_tables(path: str, terminal: Terminal) -> Iterator[Table]:
    """Yield tables of consecutive rows; row numbers count all of them."""
    opened, n_before, source = open_table(path), 0, sanitize(path, 200)
    names = opened.columns
    if opened.separator is not None:
        names = _check_names(names, source)
    for batch in opened.scan(opened.columns, MAX_BATCH_ROWS, as_text=opened.columns):
        frame = _to_pandas(batch).set_axis(names, axis=1)
        if not frame.isna().all(axis=None):
            table = Table(source, frame, opened.separator == ";")
            yield _tidy(table, QUIET if n_before else terminal, n_before)
        n_before += len(frame)
    if not n_before:
        raise BadInput(f"{source} has no rows.")


def read_sample(path: str, terminal: Terminal) -> Table:
    """Return between n and 2 n evenly spaced rows of a large table, or all if there are fewer."""
    step, parts = 1, list[Table]()
    for table in iterate_tables(path, terminal):
        size = np.clip(SAMPLE_CELLS // table.frame.shape[1], MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS)
        parts.append(table.select_rows((table.row_numbers - 1) % step == 0))
        while sum(len(part.frame) for part in parts) >= 2 * size:
            step *= 2
            parts = [part.select_rows((part.row_numbers - 1) % step == 0) for part in parts]
    frame = pd.concat([part.frame for part in parts])
    terminal.note(
        f"{parts[0].source} is large: it is read in batches, and {len(frame)} of its rows decide "
        "how columns are encoded."
    )
    return replace(parts[0], frame=frame)


def _tidy(table: Table, terminal: Terminal, n_before: int = 0) -> Table:
    """Return the table without the unnamed column and empty rows, the others numbered."""
    source, frame = table.source, table.frame
    if repeated := frame.columns[frame.columns.duplicated()].unique().tolist():
        raise BadInput(f"{source} has column names more than once: {list_names(repeated)}.")
    if "" in frame:
        terminal.note(f"{source}: ignoring the column without a name, probably an index.")
        frame = frame.drop(columns="")
    if not len(frame):
        raise BadInput(f"{source} has no rows, only a header.")
    empty = frame.isna().all(axis=1).to_numpy() & (frame.shape[1] > 1)
    if empty.any():
        terminal.note(f"{source}: {count_noun(int(empty.sum()), 'empty row')} dropped.")
    frame = frame.set_axis(range(n_before + 1, n_before + len(frame) + 1), axis=0)
    return replace(table, frame=frame[~empty])


def _read_file(path: Path, terminal: Terminal) -> Table:
    source, (ending, compression) = sanitize(str(path), 200), split_ending(path)
    if str(path) == STANDARD_INPUT:
        source, ending, data = "Standard input", ".csv", sys.stdin.buffer.read()
    else:
        data = path.read_bytes()
    try:
        if compression:
            data = pa.input_stream(str(path), compression="detect").read()
        if ending in DELIMITED:
            return _parse_text(data, source, DELIMITED[ending] or "", terminal)
        if ending in PARQUET:
            rows = pyarrow.parquet.ParquetFile(io.BytesIO(data)).read()
        else:
            read = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
            rows = read(data).read_all()
    except (pa.ArrowException, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), "the file is damaged")
        raise BadInput(f"{source} cannot be read: {sanitize(reason, 150)}.") from None
    return Table(source, _to_pandas(rows))


def _to_pandas(rows: Any) -> pd.DataFrame:
    return rows.to_pandas(types_mapper=NULLABLE.get, ignore_metadata=True)


# delimited text


def _parse_text(data: bytes, source: str, separator: str, terminal: Terminal) -> Table:
    """Return the cells as text, empty ones as missing; look for the separator if it is empty."""
    text = _decode(data, source)
    if not separator:
        header = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
        separator = max(SEPARATORS, key=header.count)
        if separator != ",":
            terminal.note(f"{source}: columns are separated by {separator!r}.")
    data = f"{text}\n".encode()
    reading = pyarrow.csv.ReadOptions(use_threads=False)  # threads do not count rows
    parsing = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    names = pyarrow.csv.open_csv(io.BytesIO(data), reading, parsing).schema.names
    cells = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    rows = pyarrow.csv.read_csv(io.BytesIO(data), reading, parsing, cells)
    frame = rows.to_pandas().set_axis(_check_names(names, source), axis=1)
    return Table(source, frame, separator == ";")


def _check_names(names: list[str], source: str) -> list[str]:
    """Return column names without surrounding spaces; raise BadInput if they are numbers."""
    names = [name.strip() for name in names]
    words = [name for name in names if name]
    counts = [str(i) for i in range(len(words) + 1)]
    is_counted = words in (counts[:-1], counts[1:])
    if words and all(map(NUMBER.fullmatch, words)) and not is_counted:
        raise BadInput(
            f"{source} has numbers in its first line ({list_names(words, 3)}); "
            "the first line must contain the column names."
        )
    return names


def _decode(data: bytes, source: str) -> str:
    """Return the text without byte order mark and leading empty lines, with LF line ends."""
    if data.startswith(b"PK\x03\x04"):
        raise BadInput(f"{source} is a zip file or a spreadsheet; export the table as CSV.")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{source} is not UTF-8 text: line {line} has the byte 0x{data[error.start]:02x}. "
            "Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise BadInput(f"{source} is not a text file: it contains zero bytes.")
    if not text.strip():
        raise BadInput(f"{source} is empty.")
    text = text.lstrip("\r\n")
    return text if "\n" in text else text.replace("\r", "\n")
