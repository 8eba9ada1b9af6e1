"""Find the files of a table, read them in batches, and check that their columns agree.

All messages name the file.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from opgd._utils.columns import classify_dtype
from opgd._utils.text import list_names

PARQUET = (".parquet", ".pq")
DELIMITED = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
SEPARATORS = ",;\t|"
HEADER_BYTES = 2**20
"""Maximum length of the first line of delimited text."""
CSV_BLOCK_BYTES = 2**22
PARQUET_BUFFER_BYTES = 2**18
"""Bytes read at a time from each column, so that memory does not depend on row groups."""
MISSING_WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "?")
NULLS = ["", *{form(word) for word in MISSING_WORDS for form in (str.lower, str.upper, str.title)}]


class Source(ABC):
    """One file of a table."""

    kind: str
    """Name of the format, for messages."""
    path: Path
    types: dict[str, Any]
    """Types of the columns (pyarrow), by name."""
    n_rows: int | None
    """Number of rows, if it is known before all of them are read."""

    @abstractmethod
    def batches(
        self, names: Sequence[str], labels: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of consecutive rows, at most about `n_rows` of them at a time.

        Text columns among `labels` stay text, even if a file has only numbers there.
        """

    def __str__(self) -> str:
        return repr(str(self.path))


class ParquetSource(Source):
    """A Parquet file, read page by page."""

    kind = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        with explain_failure(self):
            file = self._open()
        schema = file.schema_arrow
        self.types = dict(zip(schema.names, schema.types, strict=True))
        self.n_rows = file.metadata.num_rows
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
        labels: Sequence[str],  # noqa: ARG002
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
            header = self._read_header()
            if not header.strip():
                raise ValueError(f"{self} is empty.")
            self.separator = separator or detect_separator(header)
            with self._open({}) as reader:
                schema = reader.schema
        check_names(self, schema.names)
        self.types = {
            name: _widen(dtype) for name, dtype in zip(schema.names, schema.types, strict=True)
        }
        self._whole = {
            name
            for name, dtype in zip(schema.names, schema.types, strict=True)
            if pa.types.is_integer(dtype)
        }

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
                strings_can_be_null=True,
                timestamp_parsers=[],
            ),
        )

    def batches(
        self, names: Sequence[str], labels: Sequence[str], n_rows: int
    ) -> Iterator[pa.RecordBatch]:
        types = {name: self.types[name] for name in names}
        types |= {name: pa.string() for name in labels if name in self._whole}
        with explain_failure(self), self._open(types, names) as reader:
            for batch in reader:
                for first in range(0, batch.num_rows, n_rows):
                    yield batch.slice(first, n_rows)


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


# paths


def split_ending(path: Path) -> tuple[str, str]:
    """Return the extensions of format and compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return (suffixes[-1] if suffixes else ""), compression


def is_supported(path: Path) -> bool:
    """Return whether the name of a file has the extension of a table."""
    ending, compression = split_ending(path)
    return ending in DELIMITED or (ending in PARQUET and not compression)


def list_files(path: Path) -> list[Path]:
    """Return the files of a table in order: the file itself, or all tables in a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist.")
    if not path.is_dir():
        if not is_supported(path):
            endings = ", ".join([*PARQUET, *DELIMITED])
            raise ValueError(
                f"{str(path)!r} has an unsupported extension. Supported are {endings}, and text "
                f"that is compressed ({', '.join(COMPRESSED)})."
            )
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and is_supported(file)]
    files = [file for file in files if not _is_hidden(file.relative_to(path))]
    if not files:
        raise ValueError(f"The folder {str(path)!r} has no Parquet or CSV files.")
    for file in files:
        parts = [part for part in file.relative_to(path).parts[:-1] if "=" in part]
        if parts:
            raise ValueError(
                f"The folder {parts[0]!r} in {str(path)!r} is a partition whose column is not in "
                "its files. Open each partition by itself, or write the column into the files."
            )
    kinds = {split_ending(file)[0] in PARQUET for file in files}
    if len(kinds) > 1:
        raise ValueError(f"The folder {str(path)!r} has both Parquet and CSV files.")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


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


def is_numeric(dtype: Any) -> bool:
    """Return whether the columns of a type are features; columns without values are, too."""
    return classify_dtype(dtype) == "numbers" or pa.types.is_null(dtype)
