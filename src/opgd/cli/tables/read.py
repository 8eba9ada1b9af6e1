"""Read tables from CSV, TSV, Parquet and Arrow files and folders, or CSV from standard input.

For delimited text, this module checks encoding, header and row lengths; polars parses the rest.
"""

import codecs
import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from opgd.cli.console import Terminal, count_noun, list_names, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.columns import drop_columns, select_columns
from opgd.core.types import AnyArray
from opgd.files import COMPRESSED, DELIMITED, PARQUET, open_table, split_ending

STANDARD_INPUT = "-"
ARROW = (".arrow", ".ipc", ".feather")
ENDINGS = (*DELIMITED, *PARQUET, *ARROW)
SEPARATORS = ",;\t|"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass
class Table:
    """A table as read from a file; all columns of delimited text are strings."""

    source: str  # name in messages
    frame: pl.DataFrame
    row_numbers: AnyArray  # (n,), in the file, counted from 1 after the header
    decimal_commas: bool  # whether 1,5 is a number in this table

    def column(self, name: str, option: str) -> pl.Series:
        """Return a column; if it does not exist, the message names the option."""
        if name not in self.frame.columns:
            columns = {column.casefold(): column for column in self.frame.columns}
            near = [columns[key] for key in get_close_matches(name.casefold(), columns, n=1)]
            raise BadInput(
                f"{self.source} has no column {quote(name)} ({option})"
                + (f"; did you mean {quote(near[0])}?" if near else ".")
                + f" Its columns are {list_names(self.frame.columns)}."
            )
        return select_columns(self.frame, [name])[0]

    def pop_columns(self, names: list[str], keep: Collection[str] = ()) -> list[pl.Series]:
        """Return columns and remove them from the table, except those in `keep`."""
        columns = select_columns(self.frame, names)
        self.frame = drop_columns(self.frame, {*names} - {*keep})
        return columns

    def select_rows(self, mask: AnyArray) -> "Table":
        """Return a table of the rows where `mask`, (n,), is true."""
        frame = self.frame.filter(pl.Series(mask)) if self.frame.width else self.frame
        return Table(self.source, frame, self.row_numbers[mask], self.decimal_commas)


def read_table(path: str, terminal: Terminal) -> Table:
    """Read a table; raise BadInput if it cannot be read."""
    if path == STANDARD_INPUT:
        source = "Standard input"
        frame, commas = _read_text(sys.stdin.buffer.read(), source, None, terminal)
        return make_table(source, frame, terminal, commas)
    if not Path(path).exists():
        raise BadInput(f"File {quote(path)} does not exist.")
    source = sanitize(path, 200)
    if not Path(path).is_dir():
        frame, commas = _read_file(Path(path), terminal)
        return make_table(source, frame, terminal, commas)
    files = [_read_file(file, terminal) for file in open_table(path).files]
    names = files[0][0].columns
    frames = [pl.DataFrame(select_columns(frame, names), names) for frame, _ in files]
    frame = pl.concat(frames, how="vertical_relaxed")
    return make_table(source, frame, terminal, any(commas for _, commas in files))


def _read_file(path: Path, terminal: Terminal) -> tuple[pl.DataFrame, bool]:
    """Return all cells of a file, and whether it may have decimal commas."""
    source, ending = sanitize(str(path), 200), path.suffix.lower()
    inner, compression = split_ending(path)
    if inner in DELIMITED:
        data = _decompress(path) if compression else path.read_bytes()
        return _read_text(data, source, DELIMITED[inner], terminal)
    if ending in PARQUET:
        return _read_binary(pl.read_parquet, str(path), "Parquet"), False
    if ending in ARROW:
        return _read_binary(_read_arrow, str(path), "Arrow"), False
    raise BadInput(
        f"{source} has the unsupported extension {quote(ending)}; supported are "
        f"{', '.join(ENDINGS)}, and text that is compressed ({', '.join(COMPRESSED)}). Export the "
        "table, for example as CSV."
    )


def _decompress(path: Path) -> bytes:
    import pyarrow as pa

    with open(path, "rb"):  # raise PermissionError rather than an error of pyarrow
        pass
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            return bytes(stream.read())
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{sanitize(str(path), 200)} is damaged: {_first_line(error)}.") from None


def make_table(
    source: str, frame: pl.DataFrame, terminal: Terminal, decimal_commas: bool = False
) -> Table:
    """Return the table without unnamed columns and empty rows."""
    unnamed = [name for name in frame.columns if not name]
    if unnamed:
        terminal.note(f"{source}: ignoring the column without a name, probably an index.")
        frame = drop_columns(frame, unnamed)
    row_numbers = np.arange(1, frame.height + 1)
    if frame.width > 1:
        empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
        if empty.any():
            terminal.note(f"{source}: {count_noun(int(empty.sum()), 'empty row')} dropped.")
            frame, row_numbers = frame.filter(pl.Series(~empty)), row_numbers[~empty]
    if frame.height == 0:
        raise BadInput(f"{source} has no rows{', only a header' if frame.width else ''}.")
    return Table(source, frame, row_numbers, decimal_commas)


# Parquet and Arrow


def _read_binary(read: Callable[[str], pl.DataFrame], path: str, kind: str) -> pl.DataFrame:
    with open(path, "rb"):  # raise PermissionError rather than an error of polars
        pass
    try:
        return read(path)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of polars do not derive from Exception
        reason = _first_line(error) if str(error).strip() else "the file is damaged"
        raise BadInput(f"{sanitize(path, 200)} cannot be read as {kind}: {reason}.") from None


def _read_arrow(path: str) -> pl.DataFrame:
    data = Path(path).read_bytes()
    if data.startswith(b"ARROW1"):
        return pl.read_ipc(io.BytesIO(data))
    return pl.read_ipc_stream(io.BytesIO(data))  # the streaming format has the same extensions


def _first_line(error: BaseException) -> str:
    return sanitize(str(error).strip().splitlines()[0], 150)


# delimited text


def _read_text(
    data: bytes, source: str, separator: str | None, terminal: Terminal
) -> tuple[pl.DataFrame, bool]:
    """Return the cells as strings, and whether they may have decimal commas."""
    text = _decode(data, source)
    delimiter = separator or _detect_separator(text)
    frame = _parse_columns(text, delimiter, source)
    if delimiter not in (",", separator):
        terminal.note(f"{source}: columns are separated by {delimiter!r}.")
    return frame, delimiter == ";"


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


def _detect_separator(text: str) -> str:
    """Return the most frequent separator in the header, outside quotes."""
    header = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return max(SEPARATORS, key=header.count)


def _parse_columns(text: str, separator: str, source: str) -> pl.DataFrame:
    """Return all columns as strings; types are decided later, from whole columns."""
    names = parse_header(text, separator, source)
    try:
        frame = pl.read_csv(text.encode(), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        _check_row_lengths(text, separator, len(names), source)
        raise BadInput(f"{source} cannot be read as CSV: {_first_line(error)}.") from None
    if frame.width != len(names):
        raise BadInput(f"{source} cannot be read as CSV: its line endings are mixed.")
    if frame.height and frame[:, -1].null_count():  # rows that are too short also end in nulls
        _check_row_lengths(text, separator, len(names), source)
    frame.columns = names
    return frame


def parse_header(text: str, separator: str, source: str) -> list[str]:
    """Return the column names in the first line; raise BadInput if they cannot be used."""
    try:
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise BadInput(f"The header of {source} cannot be read: {error}.") from None
    names = [name.strip() for name in header]
    words = [name for name in names if name]
    if words and all(NUMBER.fullmatch(name) for name in words) and not _are_counts(words):
        raise BadInput(
            f"{source} has numbers in its first line ({list_names(words, 3)}); "
            "the first line must contain the column names."
        )
    repeated = [name for name, times in Counter(words).items() if times > 1]
    if repeated:
        raise BadInput(
            f"{source} has {count_noun(len(repeated), 'column name')} more than once: "
            f"{list_names(repeated)}. Rename the columns."
        )
    if len(names) - len(words) > 1:
        raise BadInput(f"{source} has {len(names) - len(words)} columns without a name. Name them.")
    return names


def _are_counts(words: list[str]) -> bool:
    """Return whether names are 0, 1, ... or 1, 2, ..., as some programs number columns."""
    return words in ([str(i + first) for i in range(len(words))] for first in (0, 1))


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
