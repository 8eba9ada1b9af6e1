"""Read tables from CSV, TSV, Parquet and Arrow files and folders, or CSV from standard input.

pyarrow parses the files, and large ones in batches; cells of delimited text stay text.
"""

import codecs
import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
from opgd.files import COMPRESSED, DELIMITED, PARQUET, list_files, open_table, split_ending

STANDARD_INPUT = "-"
ARROW = (".arrow", ".ipc", ".feather")
SEPARATORS = ",;\t|"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
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
        frame, changed = self.frame[names], []
        for name in names if self.decimal_commas else ():
            words = frame[name][frame[name].str.contains(",", regex=False, na=False)]
            has_points = frame[name].str.contains(".", regex=False, na=False).any()
            if len(words) and words.str.fullmatch(DECIMAL_COMMA).all() and not has_points:
                frame = frame.assign(**{name: frame[name].str.replace(",", ".")})
                changed.append(name)
        if changed:
            terminal.note(f"Decimal commas were read as points in {list_names(changed)}.")
        return frame

    def select_rows(self, mask: AnyArray) -> "Table":
        """Return a table of the rows where `mask`, (n,), is true."""
        return Table(self.source, self.frame[mask], self.decimal_commas)


def is_large(path: str) -> bool:
    """Return whether a table is read in batches: if it needs a large share of the memory."""
    if path == STANDARD_INPUT or not Path(path).exists() or path.endswith(ARROW):
        return False
    size = 0
    for file in list_files(Path(path)) if Path(path).is_dir() else [Path(path)]:
        expanded = file.suffix.lower() in (*COMPRESSED, *PARQUET)
        size += file.stat().st_size * (EXPANSION if expanded else 1)
    return size > MEMORY_SHARE * get_memory()


def read_table(path: str, terminal: Terminal) -> Table:
    """Read a table; raise BadInput if it cannot be read."""
    if path == STANDARD_INPUT:
        frame, commas = _read_text(sys.stdin.buffer.read(), "Standard input", "", terminal)
        return _make_table("Standard input", frame, terminal, commas)
    if not Path(path).exists():
        raise BadInput(f"File {quote(path)} does not exist.")
    source, parts, commas = sanitize(path, 200), list[pd.DataFrame](), False
    files = list_files(Path(path)) if Path(path).is_dir() else [Path(path)]
    for file in files:
        frame, has_commas = _read_file(file, terminal)
        commas |= has_commas
        if parts and set(parts[0]) != set(frame):
            differing = list_names(sorted(set(parts[0]) ^ set(frame)))
            raise BadInput(f"The files of {source} have different columns: {differing}.")
        parts.append(frame[parts[0].columns] if parts else frame)
    return _make_table(source, pd.concat(parts, ignore_index=True), terminal, commas)


def iterate_tables(path: str, terminal: Terminal) -> Iterator[Table]:
    """Yield tables of consecutive rows; row numbers count all of them."""
    opened, n_before, source = open_table(path), 0, sanitize(path, 200)
    names = opened.columns
    if opened.separator is not None:
        names = _read_header(io.StringIO(opened.read_header()), opened.separator, source)[0]
    for batch in opened.scan(opened.columns, MAX_BATCH_ROWS, as_text=True):
        frame = _to_pandas(batch).set_axis(names, axis=1)
        if not frame.isna().all(axis=None):
            shown = QUIET if n_before else terminal
            yield _make_table(source, frame, shown, opened.separator == ";", n_before)
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
    return Table(parts[0].source, frame, parts[0].decimal_commas)


def _make_table(
    source: str, frame: pd.DataFrame, terminal: Terminal, commas: bool, n_before: int = 0
) -> Table:
    """Return the table without unnamed columns and empty rows."""
    if "" in frame:
        terminal.note(f"{source}: ignoring the column without a name, probably an index.")
        frame = frame.drop(columns="")
    if not len(frame):
        raise BadInput(f"{source} has no rows{', only a header' if frame.shape[1] else ''}.")
    empty = np.full(len(frame), frame.shape[1] > 1)
    for column in frame:
        if empty.any():
            empty &= (frame[column].isna() | frame[column].isin([""])).to_numpy()
    if empty.any():
        terminal.note(f"{source}: {count_noun(int(empty.sum()), 'empty row')} dropped.")
    frame = frame.set_axis(range(n_before + 1, n_before + len(frame) + 1), axis=0)
    return Table(source, frame[~empty], commas)


def _read_file(path: Path, terminal: Terminal) -> tuple[pd.DataFrame, bool]:
    """Return all cells of a file, and whether it may have decimal commas."""
    source, (inner, compression) = sanitize(str(path), 200), split_ending(path)
    data = path.read_bytes()
    try:
        if inner in DELIMITED:
            if compression:
                data = pa.input_stream(str(path), compression="detect").read()
            return _read_text(data, source, DELIMITED[inner] or "", terminal)
        if inner in PARQUET:
            with pyarrow.parquet.ParquetFile(io.BytesIO(data)) as file:
                return _to_pandas(file.read()), False
        if inner in ARROW:
            read = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
            return _to_pandas(read(data).read_all()), False
    except (pa.ArrowException, OSError) as error:
        kind = "Parquet" if inner in PARQUET else "Arrow" if inner in ARROW else "CSV"
        raise BadInput(f"{source} cannot be read as {kind}: {_first_line(error)}.") from None
    raise BadInput(
        f"{source} has the unsupported extension {quote(path.suffix.lower())}; supported are "
        f"{', '.join((*DELIMITED, *PARQUET, *ARROW))}, and text that is compressed "
        f"({', '.join(COMPRESSED)}). Export the table, for example as CSV."
    )


def _to_pandas(rows: Any) -> pd.DataFrame:
    return rows.to_pandas(types_mapper=NULLABLE.get, ignore_metadata=True)


# delimited text


def _read_text(
    data: bytes, source: str, separator: str, terminal: Terminal
) -> tuple[pd.DataFrame, bool]:
    """Return the cells as text, and whether they may have decimal commas."""
    text = _decode(data, source)
    lines = io.StringIO(text)
    names, n_lines, delimiter = _read_header(lines, separator, source)
    if delimiter not in (",", separator):
        terminal.note(f"{source}: columns are separated by {delimiter!r}.")
    if not lines.readline():
        return pd.DataFrame(columns=names), False
    try:
        rows = pyarrow.csv.read_csv(
            io.BytesIO(text.encode()),
            pyarrow.csv.ReadOptions(column_names=names, skip_rows=n_lines),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowException as error:
        _check_row_lengths(text, delimiter, len(names), source)
        raise BadInput(f"{source} cannot be read as CSV: {_first_line(error)}.") from None
    return rows.to_pandas(), delimiter == ";"


def _decode(data: bytes, source: str) -> str:
    """Return the text without byte order mark and leading empty lines, with LF line ends."""
    if data.startswith(b"PK\x03\x04"):
        raise BadInput(f"{source} is a zip file or a spreadsheet; export the table as CSV.")
    encoding = "utf-16" if data.startswith(UTF_16) else "utf-8-sig"
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


def _read_header(lines: Any, separator: str, source: str) -> tuple[list[str], int, str]:
    """Return the column names, the number of lines that they take, and the separator."""
    header = lines.readline()
    n_lines = 1
    while header.count('"') % 2 and (more := lines.readline()):
        header, n_lines = header + more, n_lines + 1
    bare = re.sub(r'"[^"]*"', "", header)
    separator = separator or max(SEPARATORS, key=bare.count)
    try:
        cells = next(csv.reader(io.StringIO(header, newline=""), delimiter=separator), [])
    except csv.Error as error:
        raise BadInput(f"The header of {source} cannot be read: {error}.") from None
    names = [name.strip() for name in cells]
    words = [name for name in names if name]
    are_counts = any(words == [str(i + first) for i in range(len(words))] for first in (0, 1))
    if words and all(NUMBER.fullmatch(name) for name in words) and not are_counts:
        raise BadInput(
            f"{source} has numbers in its first line ({list_names(words, 3)}); "
            "the first line must contain the column names."
        )
    if repeated := [name for name, times in Counter(words).items() if times > 1]:
        raise BadInput(
            f"{source} has {count_noun(len(repeated), 'column name')} more than once: "
            f"{list_names(repeated)}. Rename the columns."
        )
    if len(names) - len(words) > 1:
        raise BadInput(f"{source} has {len(names) - len(words)} columns without a name. Name them.")
    return names, n_lines, separator


def _check_row_lengths(text: str, separator: str, expected: int, source: str) -> None:
    """Raise BadInput at the first row with more or fewer cells than the header."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for cells in lines:
            if cells and len(cells) != expected:
                raise BadInput(
                    f"{source}, line {lines.line_num}: {count_noun(len(cells), 'cell')} where the "
                    f"header has {expected}."
                )
    except csv.Error as error:
        raise BadInput(f"{source}, line {lines.line_num}: {error}.") from None


def _first_line(error: BaseException) -> str:
    return sanitize(next(iter(str(error).strip().splitlines()), "the file is damaged"), 150)
