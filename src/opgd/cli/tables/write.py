"""Write tables atomically: a file is either complete or absent."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from opgd._utils.files import check_writable_path, open_atomically, write_atomically
from opgd.cli.console import Terminal, quote
from opgd.cli.errors import BadInput, ClosedOutput, discard_output, escape_controls
from opgd.cli.tables.columns import replace_columns, select_columns
from opgd.cli.tables.read import NUMBER, Table
from opgd.core.types import AnyArray

STANDARD_OUTPUT = "-"
FORMULA = re.compile(
    "[\t\r\n]|[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*"
    "([=@\uff1d\uff20]|[+\\-\uff0b\uff0d].)",
    re.DOTALL,
)
"""Text that spreadsheets evaluate as a formula, except numbers; + and - alone can be classes.

Full-width forms are included, since some spreadsheets treat them like the ASCII characters, and
characters without a width may precede a formula. The download of the report has the same rule.
"""


def check_new_file(path: str | Path, *, force: bool, inputs: list[str]) -> Path:
    """Return the path if it can be written and is not one of the inputs, else raise BadInput."""
    try:
        target = check_writable_path(path, force)
    except FileExistsError as error:
        if "overwrite=True" in str(error):
            message = f"File {quote(path)} already exists; use --force to replace it."
            raise BadInput(message) from None
        reason = str(error).rsplit(": ", 1)[1]  # it is a device, pipe or link
        raise BadInput(f"Cannot write {quote(path)}: {reason}") from None
    except IsADirectoryError:
        raise BadInput(f"Cannot write {quote(path)}: it is a folder.") from None
    except FileNotFoundError:
        raise BadInput(f"Cannot write {quote(path)}: its folder does not exist.") from None
    if not os.access(target.parent, os.W_OK):
        raise BadInput(f"Cannot write {quote(path)}: its folder is read-only.")
    if any(_is_same_file(target, other) for other in inputs):
        raise BadInput(f"{quote(path)} is read by this command; choose another output file.")
    return target


def check_other_file(path: str | Path, other: str | Path) -> None:
    """Raise BadInput if two outputs of a command are the same file."""
    if _is_same_file(Path(path), other):
        raise BadInput(f"{quote(path)} is given for two outputs; choose different files.")


def _is_same_file(path: Path, other: str | Path) -> bool:
    """Return whether two paths name one file, which need not exist."""
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    return path.exists() and Path(other).exists() and path.samefile(other)


class TableOutput:
    """Destination of a table: CSV on standard output, or a file in the format of its extension."""

    def __init__(
        self, path: str | None, *, force: bool, inputs: list[str], raw: bool = False
    ) -> None:
        self.raw, self.force = raw, force
        self.path = None
        if path not in (None, STANDARD_OUTPUT):
            self.path = check_new_file(str(path), force=force, inputs=inputs)
            if self.path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
                raise BadInput(f"{quote(path)} must end in .csv, .tsv or .parquet.")

    @property
    def ending(self) -> str:
        """The extension of the file, in lower case."""
        return ".csv" if self.path is None else self.path.suffix.lower()

    def write(self, frame: pl.DataFrame, terminal: Terminal) -> None:
        """Write the table to the file or to standard output."""
        if self.ending == ".parquet":
            buffer = io.BytesIO()
            frame.write_parquet(buffer)
            data = buffer.getvalue()
        else:
            data = self._format(frame, terminal)
        if self.path is None:
            _write_to_stdout(data)
        else:
            write_atomically(self.path, data, self.force)

    def write_batches(self, frames: Iterator[pl.DataFrame], terminal: Terminal) -> None:
        """Write a table that is given in batches of rows, all with the same columns."""
        if self.path is None:
            for data in self._format_all(frames, terminal):
                _write_to_stdout(data)
            return
        with open_atomically(self.path, self.force) as stream:
            if self.ending == ".parquet":
                _write_parquet(frames, stream)
            else:
                for data in self._format_all(frames, terminal):
                    stream.write(data)

    def _format_all(self, frames: Iterator[pl.DataFrame], terminal: Terminal) -> Iterator[bytes]:
        for number, frame in enumerate(frames):
            shown = Terminal(quiet=True) if number else terminal
            yield self._format(frame, shown, header=not number)

    def _format(self, frame: pl.DataFrame, terminal: Terminal, header: bool = True) -> bytes:
        """Return the table as delimited text."""
        frame = _convert_to_text(frame)
        frame = frame if self.raw else _escape_formulas(frame, terminal)
        buffer = io.BytesIO()
        separator = "\t" if self.ending == ".tsv" else ","
        frame.write_csv(buffer, separator=separator, include_header=header)
        return buffer.getvalue()


def _write_parquet(frames: Iterator[pl.DataFrame], stream: BinaryIO) -> None:
    import pyarrow.parquet

    with ExitStack() as opened:
        writer = None
        for frame in frames:
            rows = frame.to_arrow()
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(stream, rows.schema)
                opened.enter_context(writer)
            writer.write_table(rows)


def select_kept_columns(table: Table, names: list[str]) -> dict[str, pl.Series]:
    """Return the columns of --keep by name."""
    return {name: table.column(name, "--keep") for name in dict.fromkeys(names)}


def build_answer_table(
    row_numbers: AnyArray, answers: dict[str, Any], kept: dict[str, pl.Series] | None = None
) -> pl.DataFrame:
    """Return a table of row numbers, copied columns and predictions of a model."""
    kept = kept or {}
    for name in kept:
        if name == "row" or name in answers:
            raise BadInput(f"--keep {quote(name)}: the output already has a column with that name.")
    columns = {name: _to_series(name, values) for name, values in answers.items()}
    return pl.DataFrame({"row": row_numbers, **kept, **columns})


def _to_series(name: str, values: Any) -> pl.Series:
    if values.dtype.kind in "UO":
        return pl.Series(name, [str(value) for value in values], dtype=pl.String)
    return pl.Series(name, values)


def _write_to_stdout(data: bytes) -> None:
    if isinstance(sys.stdout, ClosedOutput):
        raise BadInput("Standard output is closed; use -o to write a file.")
    if sys.stdout.isatty():  # files and pipes get the labels as they are
        data = escape_controls(data.decode()).encode()
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has closed the pipe; do not flush again at exit
        discard_output()


def _convert_to_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with categories as text; raise BadInput for columns that CSV cannot hold."""
    words = {}
    for name, series in zip(frame.columns, select_columns(frame, frame.columns), strict=True):
        if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
            raise BadInput(
                f"Column {quote(name)} has values of type {series.dtype}, which CSV cannot "
                "hold; write a .parquet file, or leave the column out of --keep."
            )
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            words[name] = series.cast(pl.String)
    return replace_columns(frame, words)


def _escape_formulas(frame: pl.DataFrame, terminal: Terminal) -> pl.DataFrame:
    """Return a table with an apostrophe before cells and column names that are formulas."""
    columns = zip(frame.columns, select_columns(frame, frame.columns), strict=True)
    escaped = {
        name: pl.Series([_escape(text) for text in series], dtype=pl.String)
        for name, series in columns
        if series.dtype == pl.String and any(_is_formula(text) for text in series.unique())
    }
    result = replace_columns(frame, escaped)
    result.columns = [_escape(name) for name in frame.columns]
    if escaped or result.columns != frame.columns:
        terminal.note(
            "Text that looks like a formula was prefixed with an apostrophe; --raw disables this."
        )
    return result


def _escape(text: str) -> str:
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str | None) -> bool:
    return text is not None and bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)
