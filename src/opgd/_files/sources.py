"""Read the files of a table in batches, and check that their columns agree.

All messages name the file.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from opgd._files.paths import DELIMITED, PARQUET, list_files, split_ending
from opgd._utils.columns import classify_dtype
from opgd._utils.text import list_names

SEPARATORS = ",;\t|"
HEADER_BYTES = 2**20
"""Maximum length of the first line of delimited text."""
CSV_BLOCK_BYTES = 2**22
PARQUET_BUFFER_BYTES = 2**18
"""Bytes read at a time from each column, so that memory does not depend on row groups."""
MISSING_WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "?")
NULLS = ["", *{form(word) for word in MISSING_WORDS for form in (str.lower, str.upper, str.title)}]
TEXT_NULLS = [word for word in NULLS if word.lower() != "none"]
"""Missing cells of text, of which "None" can be a word."""


class Source(ABC):
    """One file of a table."""

    kind: str
    """Name of the format, for messages."""
    path: Path
    types: dict[str, Any]
    """Types of the columns (pyarrow), by name."""
    n_rows: int | None
    """Number of rows, if it is known before all of them are read."""
    header: str = ""
    """The first line of delimited text."""
    separator: str | None = None
    """The separator of delimited text."""
    whole: Collection[str] = ()
    """Columns of delimited text that begin with whole numbers, which may be labels."""

    @abstractmethod
    def batches(
        self, names: Sequence[str], text: Collection[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of consecutive rows, at most `n_rows` of them at a time.

        Columns of delimited text that are in `text` are not converted to numbers.
        """

    def __str__(self) -> str:
        return repr(str(self.path))


class ParquetSource(Source):
    """A Parquet file, read page by page."""

    kind = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        with explain_failure(self), self._open() as file:
            schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows
        self.types = dict(zip(schema.names, schema.types, strict=True))
        check_names(self, schema.names)

    def _open(self) -> Any:
        # without buffering of whole row groups, which may be as large as the file
        return pyarrow.parquet.ParquetFile(
            self.path,
            buffer_size=PARQUET_BUFFER_BYTES,
            pre_buffer=False,
            page_checksum_verification=True,
        )

    def batches(
        self,
        names: Sequence[str],
        text: Collection[str],  # noqa: ARG002
        n_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        with explain_failure(self), self._open() as file:
            for batch in file.iter_batches(n_rows, columns=list(names), use_threads=False):
                yield batch.select(list(names))  # "a" also reads a column named "a.b"


class TextSource(Source):
    """Delimited text, which may be compressed; numbers are read as float64."""

    kind = "CSV"

    def __init__(self, path: Path) -> None:
        self.path, self.n_rows = path, None
        separator = DELIMITED[split_ending(path)[0]]
        with explain_failure(self):
            self.header = self._read_header()
            if not self.header.strip():
                raise ValueError(f"{self} is empty.")
            self.separator = separator or detect_separator(self.header)
            with self._open({}) as reader:
                schema = reader.schema
        check_names(self, schema.names)
        types = dict(zip(schema.names, schema.types, strict=True))
        self.types = {name: _widen(dtype) for name, dtype in types.items()}
        self.whole = {name for name, dtype in types.items() if pa.types.is_integer(dtype)}

    def _read_header(self) -> str:
        with pa.input_stream(str(self.path), compression="detect") as stream:
            data = stream.read(HEADER_BYTES)
        return data.decode("utf-8-sig", "replace").lstrip("\r\n").split("\n", 1)[0]

    def _open(self, types: dict[str, Any], names: Sequence[str] = ()) -> Any:
        csv = pyarrow.csv
        return csv.open_csv(
            pa.input_stream(str(self.path), compression="detect"),
            read_options=csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(names),
                null_values=NULLS,
                strings_can_be_null=False,
                timestamp_parsers=[],
            ),
        )

    def batches(
        self, names: Sequence[str], text: Collection[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        types = {name: pa.string() if name in text else self.types[name] for name in names}
        only_text = set(names) <= set(text)
        words = pa.array([""] if only_text else TEXT_NULLS)
        with explain_failure(self), self._open(types, names) as reader:
            for read in reader:
                batch = _remove_words(read, words)
                for first in range(0, batch.num_rows, n_rows):
                    yield batch.slice(first, n_rows)


def _remove_words(batch: pa.RecordBatch, words: Any) -> pa.RecordBatch:
    """Return a batch with nulls in place of some words in columns of text."""
    compute = pyarrow.compute
    for j, column in enumerate(batch.columns):
        if pa.types.is_string(column.type):
            missing = compute.is_in(column, value_set=words)
            column = compute.if_else(missing, pa.scalar(None, column.type), column)
            batch = batch.set_column(j, batch.schema.names[j], column)
    return batch


def _widen(dtype: Any) -> Any:
    """Return the type for all blocks of a column, given the one inferred from the first block."""
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_null(dtype):
        return pa.float64()
    return pa.bool_() if pa.types.is_boolean(dtype) else pa.string()


def detect_separator(header: str) -> str:
    """Return the most frequent separator in the header, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def check_names(source: Source, names: Sequence[str]) -> None:
    """Raise ValueError for repeated column names."""
    repeated = [repr(name) for name, number in Counter(names).items() if number > 1]
    if repeated:
        raise ValueError(f"{source} has more than one column named {list_names(repeated)}.")


@contextmanager
def explain_failure(source: Source) -> Iterator[None]:
    """Turn errors of pyarrow into one sentence that names the file, and the column if known."""
    try:
        yield
    except (pa.ArrowException, EOFError, UnicodeError) as error:
        text = str(error).strip().splitlines()[0] if str(error).strip() else "it is damaged"
        if text.startswith("straddling"):
            text = f"a line is longer than {CSV_BLOCK_BYTES // 2**20} MB, or a quote is not closed"
        column = re.match(r"In CSV column #(\d+): (.*)", text)
        if column is not None:
            name = list(source.types)[int(column[1])]
            reason = column[2].removeprefix("CSV conversion error to double: ")
            raise ValueError(
                f"Column {name!r} of {source} is not numeric ({reason}). Correct it, or leave it "
                "out of `columns`."
            ) from None
        raise ValueError(f"{source} cannot be read as {source.kind}: {text[:200]}.") from None
    except OSError as error:
        if error.filename is not None:  # such as a missing permission
            raise
        text = str(error).strip().splitlines()[0]
        raise ValueError(f"{source} cannot be read as {source.kind}: {text[:200]}.") from None


def open_sources(path: Path) -> list[Source]:
    """Return the files of a table, all of which have the columns of the first."""
    sources: list[Source] = []
    for file in list_files(path):
        is_parquet = split_ending(file)[0] in PARQUET
        sources.append(ParquetSource(file) if is_parquet else TextSource(file))
        _check_same_columns(sources[0], sources[-1])
    return sources


def _check_same_columns(first: Source, other: Source) -> None:
    for one, two in ((first, other), (other, first)):
        absent = [repr(name) for name in one.types if name not in two.types]
        if absent:
            raise ValueError(f"{two} has no column {list_names(absent)}, which {one} has.")
    for name, dtype in first.types.items():
        found = other.types[name]
        if dtype != found and not (is_numeric(dtype) and is_numeric(found)):
            raise ValueError(f"Column {name!r} is {dtype} in {first} and {found} in {other}.")


def release_memory() -> None:
    """Return memory to the system that pyarrow keeps for later batches, 200 MB for 100 columns."""
    pa.default_memory_pool().release_unused()


def is_numeric(dtype: Any) -> bool:
    """Return whether the columns of a type are features; columns without values are, too."""
    return classify_dtype(dtype) == "numbers" or pa.types.is_null(dtype)
