"""Write tables atomically: a file is either complete or absent."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from opgd._utils.files import check_writable_path, open_atomically, write_atomically
from opgd.cli.console import Terminal, quote
from opgd.cli.errors import BadInput, ClosedOutput, discard_output, escape_controls
from opgd.cli.tables.encode import check_plain
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

    def write(self, frame: pd.DataFrame, terminal: Terminal) -> None:
        """Write the table to the file or to standard output."""
        if self.ending == ".parquet":
            data = frame.to_parquet(index=False, engine="pyarrow")
        else:
            data = self._format(frame, terminal)
        if self.path is None:
            _write_to_stdout(data)
        else:
            write_atomically(self.path, data, self.force)

    def write_batches(self, frames: Iterator[pd.DataFrame], terminal: Terminal) -> None:
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

    def _format_all(self, frames: Iterator[pd.DataFrame], terminal: Terminal) -> Iterator[bytes]:
        for number, frame in enumerate(frames):
            shown = Terminal(quiet=True) if number else terminal
            yield self._format(frame, shown, header=not number)

    def _format(self, frame: pd.DataFrame, terminal: Terminal, header: bool = True) -> bytes:
        """Return the table as delimited text."""
        for name in frame:
            reason = "CSV cannot hold; write a .parquet file, or leave the column out of --keep"
            check_plain(name, frame[name], reason)
        frame = frame if self.raw else _escape_formulas(frame, terminal)
        separator = "\t" if self.ending == ".tsv" else ","
        text = frame.to_csv(index=False, sep=separator, header=header, lineterminator="\n")
        return text.encode()


def _write_parquet(frames: Iterator[pd.DataFrame], stream: BinaryIO) -> None:
    import pyarrow.parquet

    with ExitStack() as opened:
        writer = None
        for frame in frames:
            rows = pyarrow.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(stream, rows.schema)
                opened.enter_context(writer)
            writer.write_table(rows)


def select_kept_columns(table: Table, names: list[str]) -> dict[str, pd.Series]:
    """Return the columns of --keep by name."""
    return {name: table.column(name, "--keep") for name in dict.fromkeys(names)}


def build_answer_table(
    row_numbers: AnyArray, answers: dict[str, Any], kept: dict[str, pd.Series] | None = None
) -> pd.DataFrame:
    """Return a table of row numbers, copied columns and predictions of a model."""
    columns: dict[str, Any] = {"row": row_numbers}
    for name, series in (kept or {}).items():
        if name == "row" or name in answers:
            raise BadInput(f"--keep {quote(name)}: the output already has a column with that name.")
        columns[name] = series.array
    for name, values in answers.items():
        columns[name] = values.astype(str).astype(object) if values.dtype.kind in "UO" else values
    return pd.DataFrame(columns)


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


def _escape_formulas(frame: pd.DataFrame, terminal: Terminal) -> pd.DataFrame:
    """Return a table with an apostrophe before cells and column names that are formulas."""
    columns = {}
    for name in frame:
        series = frame[name]
        if isinstance(series.dtype, pd.CategoricalDtype):
            series = series.astype(object)
        if not pd.api.types.is_numeric_dtype(series.dtype) and any(
            map(_is_formula, series.unique())
        ):
            columns[name] = series.astype(object).map(_escape)
    names = [_escape(name) for name in frame]
    if columns or names != list(frame):
        terminal.note(
            "Text that looks like a formula was prefixed with an apostrophe; --raw disables this."
        )
    return frame.assign(**columns).set_axis(names, axis=1)


def _escape(value: Any) -> Any:
    return f"'{value}" if _is_formula(value) else value


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and bool(FORMULA.match(value)) and not NUMBER.fullmatch(value)
