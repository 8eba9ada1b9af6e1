"""Tables from files: CSV, TSV, Parquet, Arrow, and CSV from the standard input."""

import io
import sys
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from opgd.cli.delimited import read_delimited
from opgd.cli.errors import BadInput
from opgd.cli.text import counted, listed, quoted, shown
from opgd.cli.voice import Voice
from opgd.core.types import AnyArray

STANDARD_INPUT = "-"
DELIMITED = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".ipc", ".feather")
ENDINGS = (*DELIMITED, *PARQUET, *ARROW)


@dataclass
class Table:
    """A table as it was read; columns of text files are all words."""

    source: str  # what to call it in messages
    frame: pl.DataFrame
    row_numbers: AnyArray  # (n,), counted from 1 in the file, the header not counted
    decimal_commas: bool  # whether 1,5 is a number here

    def column(self, name: str, what: str) -> pl.Series:
        """A column by its name."""
        if name not in self.frame.columns:
            folded = {own.casefold(): own for own in self.frame.columns}
            near = [folded[own] for own in get_close_matches(name.casefold(), folded, n=1)]
            raise BadInput(
                f"{self.source} has no column {quoted(name)} ({what})"
                + (f"; did you mean {quoted(near[0])}?" if near else ".")
                + f" Its columns are {listed(self.frame.columns)}."
            )
        return self.frame[name]

    def take(self, names: list[str], keep: Collection[str] = ()) -> list[pl.Series]:
        """Columns, which leave the table, but for some that are wanted again."""
        taken = self.frame.select(names).get_columns()
        self.frame = self.frame.drop([name for name in names if name not in keep])
        return taken

    def rows(self, keep: AnyArray) -> "Table":
        """The rows of a mask, (n,)."""
        kept = self.frame.filter(pl.Series(keep)) if self.frame.width else self.frame
        return Table(self.source, kept, self.row_numbers[keep], self.decimal_commas)

    def numbered(self, row_numbers: AnyArray) -> "Table":
        """The rows of these numbers."""
        return self.rows(np.isin(self.row_numbers, row_numbers))


def read_table(path: str, voice: Voice) -> Table:
    """Read a table; what cannot be read is refused in a sentence."""
    if path == STANDARD_INPUT:
        return _from_text(sys.stdin.buffer.read(), "The standard input", None, voice)
    source, ending = shown(path, 200), Path(path).suffix.lower()
    if not Path(path).exists():
        raise BadInput(f"There is no file {quoted(path)}.")
    if Path(path).is_dir():
        raise BadInput(f"{quoted(path)} is a folder; give the table in it.")
    if ending in DELIMITED:
        return _from_text(Path(path).read_bytes(), source, DELIMITED[ending], voice)
    if ending in PARQUET:
        return _table(source, _read_binary(pl.read_parquet, path, "Parquet"), voice)
    if ending in ARROW:
        return _table(source, _read_binary(_read_arrow, path, "Arrow"), voice)
    raise BadInput(
        f"{source} has the ending {quoted(ending)}; tables end in {', '.join(ENDINGS)}. "
        "Export it as one of these, CSV for instance."
    )


def _from_text(data: bytes, source: str, separator: str | None, voice: Voice) -> Table:
    read = read_delimited(data, source, separator)
    if read.separator not in (",", separator):
        voice.note(f"{source}: columns are separated by {read.separator!r}.")
    return _table(source, read.frame, voice, decimal_commas=read.separator == ";")


def _read_arrow(path: str) -> pl.DataFrame:
    data = Path(path).read_bytes()
    if data.startswith(b"ARROW1"):
        return pl.read_ipc(io.BytesIO(data))
    return pl.read_ipc_stream(io.BytesIO(data))  # the streaming kind has the same endings


def _read_binary(read: Any, path: str, kind: str) -> pl.DataFrame:
    with open(path, "rb"):  # a file that must not be read says so in the system's words
        pass
    try:
        frame: pl.DataFrame = read(path)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # its panics are no exceptions
        reason = shown(str(error).strip().splitlines()[0] if str(error).strip() else "damaged", 150)
        raise BadInput(f"{shown(path, 200)} cannot be read as {kind}: {reason}.") from None
    return frame


def _table(source: str, frame: pl.DataFrame, voice: Voice, decimal_commas: bool = False) -> Table:
    """The table without unnamed columns and empty rows, neither of which is data."""
    unnamed = [name for name in frame.columns if not name]
    if unnamed:
        voice.note(f"{source}: the column without a name is left out (is it an index?).")
        frame = frame.drop(unnamed)
    numbers = np.arange(1, frame.height + 1)
    if frame.width > 1:
        empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
        if empty.any():
            voice.note(f"{source}: {counted(int(empty.sum()), 'empty row')} left out.")
            frame, numbers = frame.filter(pl.Series(~empty)), numbers[~empty]
    if frame.height == 0:
        raise BadInput(f"{source} has no rows{', only a header' if frame.width else ''}.")
    return Table(source, frame, numbers, decimal_commas)
