"""Write tables atomically: a file is either complete or absent."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from opgd._utils.files import check_writable_path, open_atomically
from opgd.cli.console import Terminal, quote
from opgd.cli.errors import BadInput, ClosedOutput, discard_output, escape_controls
from opgd.cli.tables.encode import check_plain
from opgd.cli.tables.read import NUMBER, QUIET, Table
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
    """Return the path if it can be written and is not one of the inputs, else raise an error."""
    target = check_writable_path(path, force)
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

    def write(self, frames: Iterable[pd.DataFrame], terminal: Terminal) -> None:
        """Write a table that is given in batches of rows, all with the same columns."""
        if self.path is None:
            for data in self._format(frames, terminal):
                _write_to_stdout(data)
            return
        with open_atomically(self.path, self.force) as stream:
            if self.ending == ".parquet":
                _write_parquet(iter(frames), stream)
            else:
                stream.writelines(self._format(frames, terminal))

    def _format(self, frames: Iterable[pd.DataFrame], terminal: Terminal) -> Iterator[bytes]:
        """Yield the table as delimited text."""
        separator = "\t" if self.ending == ".tsv" else ","
        for number, batch in enumerate(frames):
            for name in batch:
                reason = "CSV cannot hold; write a .parquet file, or leave the column out of --keep"
                check_plain(name, batch[name], reason)
            shown = QUIET if number else terminal
            rows = batch if self.raw else _escape_formulas(batch, shown)
            text = rows.to_csv(index=False, sep=separator, header=not number, lineterminator="\n")
            yield text.encode()


def _write_parquet(frames: Iterator[pd.DataFrame], stream: BinaryIO) -> None:
    first = pa.Table.from_pandas(next(frames), preserve_index=False)
    with pyarrow.parquet.ParquetWriter(stream, first.schema) as writer:
        writer.write_table(first)
        for frame in frames:
            writer.write_table(pa.Table.from_pandas(frame, first.schema, preserve_index=False))


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
    texts = {name: column for name, column in frame.items() if column.dtype.kind == "O"}
    if any(map(_is_formula, frame)) or any(
        _is_formula(value) for column in texts.values() for value in column.unique()
    ):
        terminal.note(
            "Text that looks like a formula was prefixed with an apostrophe; --raw disables this."
        )
    escaped = {name: column.astype(object).map(_escape) for name, column in texts.items()}
    columns = pd.DataFrame(dict(frame.items()) | escaped)
    return columns.set_axis([_escape(name) for name in frame], axis=1)


def _escape(value: Any) -> Any:
    return f"'{value}" if _is_formula(value) else value


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and bool(FORMULA.match(value)) and not NUMBER.fullmatch(value)
