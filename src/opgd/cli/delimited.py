"""Text with a separator: encoding, header and ragged rows are checked, polars reads the rest."""

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

import polars as pl

from opgd.cli.errors import BadInput
from opgd.cli.text import counted, listed, shown

SEPARATORS = ",;\t|"
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Delimited:
    """Columns of words, and what stood between them."""

    frame: pl.DataFrame
    separator: str


def read_delimited(data: bytes, source: str, separator: str | None) -> Delimited:
    """All columns as words: what they mean is decided by column, not by the first rows."""
    text = _decoded(data, source)
    separator = separator or _separator(text)
    names = _names(text, separator, source)
    try:
        frame = pl.read_csv(text.encode(), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        _check_lengths(text, separator, len(names), source)
        reason = shown(str(error).strip().splitlines()[0], 150)
        raise BadInput(f"{source} cannot be read as CSV: {reason}.") from None
    if frame.width != len(names):
        raise BadInput(f"{source} cannot be read as CSV: its lines end in different ways.")
    if frame.height and frame[:, -1].null_count():  # a row that is too short looks like this too
        _check_lengths(text, separator, len(names), source)
    frame.columns = names
    return Delimited(frame, separator)


def _decoded(data: bytes, source: str) -> str:
    """The text without a mark of its encoding, with the usual ends of lines."""
    if data.startswith(b"PK\x03\x04"):
        raise BadInput(f"{source} is a zip file or a spreadsheet; export the table as CSV.")
    encoding = "utf-16" if data.startswith(UTF_16) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{source} is not UTF-8 text: line {line} has the byte 0x{data[error.start]:02x}. "
            "Save it with the encoding UTF-8."
        ) from None
    if "\0" in text:
        raise BadInput(f"{source} is not a table of text: it has zero bytes.")
    if not text.strip():
        raise BadInput(f"{source} is empty.")
    text = text.lstrip("\r\n")
    return text if "\n" in text else text.replace("\r", "\n")


def _separator(text: str) -> str:
    """The one of a few that is most frequent in the header, outside of quotes."""
    header = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return max(SEPARATORS, key=header.count)


def _names(text: str, separator: str, source: str) -> list[str]:
    try:
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise BadInput(f"{source} has no header that can be read: {error}.") from None
    names = [name.strip() for name in header]
    words = [name for name in names if name]
    if words and all(NUMBER.fullmatch(name) for name in words) and not _are_counts(words):
        raise BadInput(
            f"{source} has numbers in its first line ({listed(words, 3)}); "
            "a table begins with the names of its columns."
        )
    twice = [name for name, times in Counter(words).items() if times > 1]
    if twice:
        raise BadInput(
            f"{source} has {counted(len(twice), 'column name')} more than once: "
            f"{listed(twice)}. Rename them."
        )
    if len(names) - len(words) > 1:
        raise BadInput(f"{source} has {len(names) - len(words)} columns without a name; name them.")
    return names


def _are_counts(words: list[str]) -> bool:
    """Whether names are 0, 1, ... or 1, 2, ..., as programs give to columns without one."""
    return words in ([str(i + first) for i in range(len(words))] for first in (0, 1))


def _check_lengths(text: str, separator: str, expected: int, source: str) -> None:
    """Refuse rows that have more or fewer cells than the header, by their line."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for cells in lines:
            if cells and len(cells) != expected:
                raise BadInput(
                    f"{source}, line {lines.line_num}: {counted(len(cells), 'cell')} where the "
                    f"header has {expected}."
                )
    except csv.Error as error:
        raise BadInput(f"{source}, line {lines.line_num}: {error}.") from None
