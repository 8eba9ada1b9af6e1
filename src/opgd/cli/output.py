"""Files and tables that the command writes: complete under their name, or not at all."""

import io
import os
import re
import sys
from pathlib import Path

import polars as pl

from opgd._utils.files import free_path, write_whole
from opgd.cli.delimited import NUMBER
from opgd.cli.errors import BadInput
from opgd.cli.streams import forget_output
from opgd.cli.text import quoted
from opgd.cli.voice import Voice

STANDARD_OUTPUT = "-"
FORMULA = re.compile("[=@\t\r\n\uff1d\uff20]|[+\\-\uff0b\uff0d].", re.DOTALL)
"""Text that spreadsheets take for a formula, numbers aside; + and - alone are names of classes.

The last of each kind are wide forms, which some of them take for the narrow ones.
"""


def new_file(path: str | Path, *, force: bool, inputs: list[str]) -> Path:
    """A path that may be written, known before the work begins; never one that is read."""
    try:
        target = free_path(path, force)
    except FileExistsError:
        raise BadInput(f"There is a file {quoted(path)} already; --force replaces it.") from None
    except IsADirectoryError:
        raise BadInput(f"Cannot write {quoted(path)}: it is a folder.") from None
    except FileNotFoundError:
        raise BadInput(f"Cannot write {quoted(path)}: there is no such folder.") from None
    if not os.access(target.parent, os.W_OK):
        raise BadInput(f"Cannot write {quoted(path)}: its folder is read-only.")
    for other in inputs:
        if target.exists() and Path(other).exists() and target.samefile(other):
            raise BadInput(f"{quoted(path)} is read by this command; write to another file.")
    return target


class TableOutput:
    """Where a table goes: CSV on the standard output, or a file by its ending."""

    def __init__(self, path: str | None, *, force: bool, inputs: list[str], raw: bool) -> None:
        self.raw, self.force = raw, force
        self.path = None
        if path not in (None, STANDARD_OUTPUT):
            self.path = new_file(str(path), force=force, inputs=inputs)
            if self.path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
                raise BadInput(f"{quoted(path)} must end in .csv, .tsv or .parquet.")

    def write(self, frame: pl.DataFrame, voice: Voice) -> None:
        """Write the table."""
        ending = ".csv" if self.path is None else self.path.suffix.lower()
        buffer = io.BytesIO()
        if ending == ".parquet":
            frame.write_parquet(buffer)
        else:
            frame = frame if self.raw else _without_formulas(frame, voice)
            frame.write_csv(buffer, separator="\t" if ending == ".tsv" else ",")
        if self.path is None:
            _to_standard_output(buffer.getvalue())
        else:
            write_whole(self.path, buffer.getvalue(), self.force)


def _to_standard_output(data: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # whoever reads has enough; the interpreter must not try again
        forget_output()


def _without_formulas(frame: pl.DataFrame, voice: Voice) -> pl.DataFrame:
    """Text that a spreadsheet would run gets an apostrophe, in the header too."""
    words = frame.select(pl.col(pl.String))
    changed = [
        pl.Series(own.name, [_safe(text) for text in own], dtype=pl.String)
        for own in words.iter_columns()
        if any(_is_formula(text) for text in own.unique())
    ]
    result = frame.with_columns(changed)
    result.columns = [_safe(name) for name in frame.columns]
    if changed or result.columns != frame.columns:
        voice.note("Text that begins like a formula got an apostrophe; --raw leaves it as it is.")
    return result


def _safe(text: str) -> str:
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str | None) -> bool:
    return text is not None and bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)
