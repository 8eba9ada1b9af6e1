"""Tables in files that are larger than memory."""

import mmap
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from opgd._utils.text import list_names
from opgd.core.types import AnyArray

try:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pa_parquet
except ImportError as error:
    _missing = error.name
else:
    _missing = None

__all__ = ["FileTable", "open_table"]

PARQUET = (".parquet", ".pq")
DELIMITED = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
"""Extensions of delimited text, and the separators that they imply."""
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
SEPARATORS = ",;\t|"
MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "?")
"""Missing cells of delimited text, in lower and upper case and capitalized."""
BLOCK_BYTES, BUFFER_BYTES = 2**22, 2**18
"""Bytes read at a time of delimited text, and of each column of a Parquet file."""
MAX_BATCH_CELLS, MAX_BATCH_ROWS = 2**20, 2**16
LASTING_FOLDER = Path("/var/tmp")  # nosec
"""Folder for large temporary files; ``/tmp`` is often kept in memory."""


def open_table(
    path: Any, *, columns: Sequence[str] | None = None, cache: Any = None
) -> "FileTable":
    """Open a table in files, without reading its rows.

    Parameters
    ----------
    path : str or path-like
        A Parquet file (``.parquet``, ``.pq``), delimited text (``.csv``, ``.txt``, ``.tsv``,
        ``.tab``), which may be compressed (``.gz``, ``.bz2``, ``.zst``, ``.lz4``), or a folder of
        such files, all of one format and with the same columns. The files of a folder and of its
        subfolders are read in the order of their names; names that start with a dot or an
        underscore are ignored.
    columns : sequence of str, default=None
        Columns to use as features; by default all columns. They have to be numeric.
    cache : str or path-like, default=None
        Folder for temporary copies of the features. By default it is that of the environment
        variable ``TMPDIR``, ``/var/tmp``, or the system's folder for temporary files.

    Returns
    -------
    table : FileTable

    Raises
    ------
    FileNotFoundError
        If `path` or `cache` does not exist.
    ValueError
        If a file cannot be read, or has other columns than the first one.

    See Also
    --------
    TableEncoder : Encoding of columns that are not numeric.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import opgd
    >>> path = Path(tempfile.mkdtemp()) / "iris.csv.gz"
    >>> load_iris(as_frame=True).frame.to_csv(path, index=False)
    >>> X, y = opgd.open_table(path).split("target")
    >>> X.shape
    (150, 4)
    >>> opgd.OPGDClassifier(2).fit(X, y).score(X, y) > 0.97
    True
    """
    if _missing is not None:
        raise ImportError(
            f"open_table needs {_missing}: the extra 'tables' is missing; see Installation."
        )
    return FileTable(list_files(Path(path)), columns, cache)


class FileTable:
    """A table in one or more files, as returned by `open_table`.

    `features` and `split` read the files once, in batches, and copy the features to a temporary
    file on disk. They return a data frame whose values stay in that file: a fit reads blocks of
    it, and the system can drop them from memory at any time. The file is removed with the last
    data frame or array that uses it, or when the process ends.

    Attributes
    ----------
    files : list of Path
        The files, in the order in which they are read.
    separator : str or None
        Separator of the columns of delimited text, which is that of the first file.
    columns : list of str
        Names of all columns.
    feature_columns : list of str
        Names of the columns that are used as features, unless `split` takes them as labels.
    n_rows : int or None
        Number of rows; None for delimited text, whose rows are counted only when they are read.
    """

    def __init__(self, files: list[Path], columns: Sequence[str] | None, cache: Any) -> None:
        self.files, self._cache, self.separator = files, cache, None
        ending = split_ending(files[0])[0]
        if ending in DELIMITED:
            header = re.sub(r'"[^"]*"', "", self.read_header())
            self.separator = DELIMITED[ending] or max(SEPARATORS, key=header.count)
        self._schema = self._inspect(files[0])
        for file in files[1:]:
            both, found = f"{str(files[0])!r} and {str(file)!r}", self._inspect(file)
            different = [repr(name) for name in {*self._schema.names} ^ {*found.names}]
            if different:
                raise ValueError(f"Of {both}, only one has the column {list_names(different)}.")
            try:
                self._schema = pa.unify_schemas([self._schema, found], promote_options="permissive")
            except pa.ArrowException as error:
                raise ValueError(f"{both} do not match: {error}.") from None
        self.columns: list[str] = self._schema.names
        columns = [columns] if isinstance(columns, str) else columns
        self.feature_columns = list(self.columns if columns is None else columns)
        self._check_columns(self.feature_columns)
        self.n_rows: int | None = None
        if self.separator is None:
            self.n_rows = sum(pa_parquet.read_metadata(file).num_rows for file in files)

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f"{self.n_rows} rows, "
        n_files = len(self.files)
        files = repr(str(self.files[0])) if n_files == 1 else f"{n_files} files"
        return f"FileTable({files}, {rows}{len(self.columns)} columns)"

    def features(self) -> Any:
        """Return the features as a data frame on disk.

        Returns
        -------
        X : pandas.DataFrame of shape (n_rows, n_features)
            Values are float32 if all columns are, else float64; NaN where missing.
        """
        return self._read(())[0]

    def split(self, target: str, *others: str) -> tuple[Any, ...]:
        """Return features and labels.

        Parameters
        ----------
        target : str
            Column of the labels.
        *others : str
            Further columns to separate from the features, such as weights.

        Returns
        -------
        X : pandas.DataFrame of shape (n_rows, n_features)
            Features on disk, as returned by `features`, without the other columns.
        y : ndarray of shape (n_rows,)
            Labels, in memory: numbers, dates, or objects (text). Numbers in delimited text are
            integers if all of them are whole.
        columns : ndarrays of shape (n_rows,), as many as `others`
            The other columns, in memory.
        """
        self._check_columns([target, *others])
        return self._read((target, *others))

    def batches(self) -> Iterator[Any]:
        """Yield all columns in batches of rows, for example to predict with constant memory.

        Yields
        ------
        batch : pandas.DataFrame
            Up to 65536 consecutive rows, fewer with many columns. The index counts the rows of the
            table.
        """
        n_before = 0
        for batch in self.scan(self.columns):
            frame = batch.to_pandas()
            frame.index = range(n_before, n_before + len(frame))
            n_before += len(frame)
            yield frame

    def read_header(self) -> str:
        """Return the first line of the first file, which is delimited text."""
        path = str(self.files[0])
        with self._explain_failure(self.files[0]), pa.input_stream(path, "detect") as stream:
            data = stream.read(BLOCK_BYTES)
        return str(data, "utf-8-sig", "replace").lstrip("\r\n").split("\n", 1)[0]

    def scan(
        self, names: Sequence[str], n_rows: int | None = None, *, as_text: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield columns as `pyarrow.RecordBatch` of at most `n_rows` rows each.

        The columns `as_text` of delimited text are not converted to numbers.
        """
        n_rows = n_rows or max(1, min(MAX_BATCH_ROWS, MAX_BATCH_CELLS // max(1, len(names))))
        for file in self.files:
            with self._explain_failure(file), self._open(file, names, as_text) as opened:
                if self.separator is None:
                    for batch in opened.iter_batches(n_rows, columns=[*names], use_threads=False):
                        yield batch.select([*names])  # "a" also reads a column named "a.b"
                    continue
                for block in opened:
                    for first in range(0, block.num_rows, n_rows):
                        yield block.slice(first, n_rows)

    def _open(self, file: Path, names: Sequence[str] = (), as_text: Sequence[str] = ()) -> Any:
        """Open a file for reading; of delimited text, all columns if no names are given."""
        if self.separator is None:  # not a dataset, which decodes whole groups of rows
            return pa_parquet.ParquetFile(
                file, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
            )
        types = {name: self._schema.field(name).type for name in names}
        types |= dict.fromkeys(as_text, pa.string())
        nulls = {form(word) for word in MISSING_WORDS for form in (str.lower, str.upper, str.title)}
        return pa_csv.open_csv(
            pa.input_stream(str(file), compression="detect"),
            pa_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            pa_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=types,
                include_columns=[*names],
                null_values=sorted(nulls),
                strings_can_be_null=True,
            ),
        )

    def _inspect(self, file: Path) -> Any:
        """Return the names and types of the columns of a file."""
        with self._explain_failure(file), self._open(file) as opened:
            schema = opened.schema_arrow if self.separator is None else opened.schema
            if len({*schema.names}) < len(schema.names):
                raise EOFError(f"column names occur more than once in {schema.names}")
        if self.separator is not None:  # types of the first cells; later numbers may have decimals
            for j, field in enumerate(schema):
                if not pa.types.is_boolean(field.type):
                    kind = pa.float64() if _is_numeric(field.type) else pa.string()
                    schema = schema.set(j, field.with_type(kind))
        return schema

    @contextmanager
    def _explain_failure(self, file: Path) -> Iterator[None]:
        """Turn errors of pyarrow into one sentence that names the file, and the column if known."""
        try:
            yield
        except (pa.ArrowException, EOFError, UnicodeError, OSError) as error:
            text = (str(error).strip().splitlines() or ["it is damaged"])[0]
            if column := re.match(r"In CSV column #(\d+)", text):
                with self._open(file) as opened:
                    name = opened.schema.names[int(column[1])]
                text = text.replace(column[0], f"in column {name!r}", 1)
            kind = "Parquet" if split_ending(file)[0] in PARQUET else "CSV"
            raise ValueError(
                f"{str(file)!r} cannot be read as {kind}: {text[:200].rstrip('.')}."
            ) from None

    def _check_columns(self, names: Sequence[str]) -> None:
        absent = [repr(name) for name in names if name not in self.columns]
        if absent:
            raise ValueError(
                f"{str(self.files[0])!r} has no column {list_names(absent)}. Its columns are "
                f"{list_names([repr(name) for name in self.columns])}."
            )

    def _read(self, others: Sequence[str]) -> tuple[Any, ...]:
        """Return the features, and each of the other columns as an array."""
        names = [name for name in self.feature_columns if name not in others]
        kinds = {name: self._schema.field(name).type for name in (*names, *others)}
        faulty = [f"{name!r} ({kinds[name]})" for name in names if not _is_numeric(kinds[name])]
        if faulty or not names:
            raise ValueError(
                f"Features in {str(self.files[0])!r} must be numeric columns, got "
                f"{list_names(faulty) or 'no column'}. Choose them with `columns`, or encode "
                "batches of the table with opgd.TableEncoder."
            )
        is_single = all(kinds[name] == pa.float32() for name in names)
        kind = pa.float32() if is_single else pa.float64()
        parts: dict[str, list[Any]] = {name: [] for name in others}
        # labels such as 007 and integers beyond 2^53 are not what they are as floats
        exact = (
            []
            if self.separator is None
            else [name for name in others[:1] if pa.types.is_floating(kinds[name])]
        )
        kinds |= dict.fromkeys(exact, pa.string())

        def make_blocks() -> Iterator[AnyArray]:
            for batch in self.scan([*names, *others], as_text=exact):
                for name in others:
                    parts[name].append(_to_array(batch.column(name), kinds[name]))
                block = np.empty((batch.num_rows, len(names)), dtype=kind.to_pandas_dtype())
                for j, name in enumerate(names):
                    column = batch.column(name).cast(kind, safe=False)
                    block[:, j] = column.to_numpy(zero_copy_only=False)
                yield block

        rows = copy_to_disk(make_blocks(), len(names), kind.to_pandas_dtype(), self._cache)
        if not len(rows):
            raise ValueError(f"{str(self.files[0])!r} has no rows.")
        arrays = [np.concatenate(columns) for columns in parts.values()]
        if self.separator is not None:
            arrays = [_restore_numbers(values) for values in arrays]
        return pd.DataFrame(rows, columns=names, copy=False), *arrays


def _to_array(column: Any, kind: Any) -> AnyArray:
    """Return part of a column as an array; equal words are one object, which saves memory."""
    if column.type != kind:
        column = column.cast(kind)
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
        words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        return words[column.indices.fill_null(len(words) - 1)]
    values: AnyArray = column.to_numpy(zero_copy_only=False)
    return values


def _restore_numbers(values: AnyArray) -> AnyArray:
    """Return cells of delimited text as numbers if all are, and as integers if these are whole.

    Words remain words if one is a code such as 007.
    """
    if values.dtype == object:
        words = [word for word in set(values.tolist()) if word is not None]
        if any(re.match(r"[-+]?0\d", word) for word in words):
            return values
        try:
            if all(re.fullmatch(r"-?\d+", word) for word in words) and None not in values:
                return values.astype(np.int64)
            values = pd.to_numeric(pd.Series(values)).to_numpy(np.float64)
        except (ValueError, OverflowError):
            return values
    is_whole = values.dtype.kind == "f" and np.all(values == np.floor(values))
    return values.astype(np.int64) if is_whole and np.all(np.abs(values) < 2**53) else values


def _is_numeric(kind: Any) -> bool:
    """Return whether columns of a type are features; columns without values are, too."""
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind))


def split_ending(path: Path) -> tuple[str, str]:
    """Return the extensions of format and compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return (suffixes[-1] if suffixes else ""), compression


def list_files(path: Path) -> list[Path]:
    """Return the files of a table in order: the file itself, or all tables in a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist.")
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        parts = {file: file.relative_to(path).parts for file in files}
        files = [file for file in files if not any(part[0] in "._" for part in parts[file])]
    files = [file for file in files if split_ending(file)[0] in (*PARQUET, *DELIMITED)]
    if len({split_ending(file)[0] in PARQUET for file in files}) != 1:
        raise ValueError(
            f"{str(path)!r} must be a Parquet file ({', '.join(PARQUET)}), delimited text "
            f"({', '.join(DELIMITED)}), which may be compressed ({', '.join(COMPRESSED)}), or a "
            "folder of files of one of these formats."
        )
    return files


def copy_to_disk(
    blocks: Iterable[AnyArray], n_columns: int, dtype: Any, cache: Any = None
) -> AnyArray:
    """Return blocks of rows, (m, n_columns) each, as one read-only array in a temporary file.

    The file has no name: the system removes it with the last array that uses it, and when the
    process ends, however it ends.
    """
    folder, n_rows = Path(tempfile.gettempdir() if cache is None else cache), 0
    if cache is None and "TMPDIR" not in os.environ and os.access(LASTING_FOLDER, os.W_OK):
        folder = LASTING_FOLDER
    with tempfile.TemporaryFile(dir=folder, prefix="opgd-") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
            n_rows += len(block)
        file.flush()
        if n_rows * n_columns == 0:
            return np.empty((n_rows, n_columns), dtype=dtype)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    pa.default_memory_pool().release_unused()  # kept for later batches, 200 MB for 100 columns
    # not a numpy.memmap, which joblib would open in other processes by its name
    return np.frombuffer(mapped, dtype=dtype).reshape(n_rows, n_columns)
