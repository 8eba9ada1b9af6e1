"""Tables in files that are larger than memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opgd._utils.validation import check_integer

if TYPE_CHECKING:
    from opgd._files.sources import Source

__all__ = ["FileTable", "open_table"]

MAX_BATCH_CELLS = 2**20
MAX_BATCH_ROWS = 2**16


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
    try:
        import pandas  # noqa: F401

        from opgd._files.sources import open_sources
    except ImportError as error:
        raise ImportError(
            f'open_table needs {error.name}; install it with: pip install "opgd[files]"'
        ) from None
    return FileTable(open_sources(Path(path)), columns, cache)


class FileTable:
    """A table in one or more files, as returned by `open_table`.

    `features` and `split` read the files once, in batches, and copy the features to a temporary
    file on disk. They return a data frame whose values stay in that file: a fit reads blocks of
    it, and the system can drop them from memory at any time. The file is removed with the last
    data frame or array that uses it, or when the process ends.

    Attributes
    ----------
    columns : list of str
        Names of all columns.
    feature_columns : list of str
        Names of the columns that are used as features, unless `split` takes them as labels.
    n_rows : int or None
        Number of rows; None for delimited text, whose rows are counted only when they are read.
    """

    def __init__(self, sources: "list[Source]", columns: Sequence[str] | None, cache: Any) -> None:
        self._sources, self._cache = sources, cache
        self.columns = list(sources[0].types)
        self.feature_columns = list(self.columns if columns is None else columns)
        if isinstance(columns, str):
            raise TypeError(f"columns must be a sequence of names, got the text {columns!r}.")
        for name in self.feature_columns:
            self._check_column(name, "columns")
        if len(set(self.feature_columns)) < len(self.feature_columns):
            raise ValueError(f"columns has a name more than once: {self.feature_columns}.")
        counts = [source.n_rows for source in sources]
        self.n_rows = None if None in counts else sum(n for n in counts if n is not None)

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f"{self.n_rows} rows, "
        n_files = len(self._sources)
        files = str(self._sources[0]) if n_files == 1 else f"{n_files} files"
        return f"FileTable({files}, {rows}{len(self.columns)} columns)"

    def features(self) -> Any:
        """Return the features as a data frame on disk.

        Returns
        -------
        X : pandas.DataFrame of shape (n_rows, n_features)
            Values are float32 if those of the files fit into it, else float64; NaN where missing.
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
            Labels, in memory: numbers, dates, or objects (text).
        columns : ndarrays of shape (n_rows,), as many as `others`
            The other columns, in memory.
        """
        for name in (target, *others):
            self._check_column(name, "target" if name is target else "others")
        return self._read((target, *others))

    def batches(self, n_rows: int | None = None) -> Iterator[Any]:
        """Yield all columns in batches of rows, for example to predict with constant memory.

        Parameters
        ----------
        n_rows : int, default=None
            Maximum number of rows of a batch; by default up to 65536, fewer with many columns.

        Yields
        ------
        batch : pandas.DataFrame
            Consecutive rows. The index counts the rows of the table.
        """
        n_rows = _count_batch_rows(len(self.columns)) if n_rows is None else n_rows
        check_integer("n_rows", n_rows, 1)
        n_before = 0
        for source in self._sources:
            for batch in source.batches(self.columns, (), n_rows):
                frame = batch.to_pandas()
                frame.index = range(n_before, n_before + len(frame))
                n_before += len(frame)
                yield frame

    def _check_column(self, name: str, argument: str) -> None:
        if name not in self.columns:
            from opgd._utils.text import list_names

            raise ValueError(
                f"{self._sources[0]} has no column {name!r} (`{argument}`). Its columns are "
                f"{list_names([repr(column) for column in self.columns])}."
            )

    def _read(self, others: Sequence[str]) -> tuple[Any, ...]:
        """Return the features, and each of the other columns as an array."""
        import pandas as pd

        from opgd._files.columns import ColumnArray, check_numeric, choose_dtype
        from opgd._files.disk_copy import DiskCopy
        from opgd._files.sources import release_memory

        names = [name for name in self.feature_columns if name not in others]
        if not names:
            raise ValueError(f"No column of {self._sources[0]} is left as a feature.")
        check_numeric(self._sources, names)
        dtype = np.dtype(choose_dtype(self._sources, names))
        n_bytes = (self.n_rows or 0) * len(names) * dtype.itemsize
        arrays = [ColumnArray(name) for name in others]
        with DiskCopy(len(names), dtype, self._cache, n_bytes) as copy:
            text = set(others).intersection(*(source.whole for source in self._sources))
            for source in self._sources:
                _copy_rows(source, names, arrays, text, copy)
            if not copy.n_rows:
                raise ValueError(f"{self._sources[0]} has no rows.")
            X = pd.DataFrame(copy.open(), columns=names, copy=False)
        release_memory()
        return X, *(array.to_array(numbers=array.name in text) for array in arrays)


def _count_batch_rows(n_columns: int) -> int:
    return max(1, min(MAX_BATCH_ROWS, MAX_BATCH_CELLS // max(1, n_columns)))


def _copy_rows(
    source: "Source", names: list[str], arrays: list[Any], text: set[str], copy: Any
) -> None:
    """Append the features of a file to the copy, and its labels and weights to arrays."""
    from opgd._files.columns import check_finite, fill_block

    labels = [array.name for array in arrays]
    n_rows = _count_batch_rows(len(names))
    block = np.empty((n_rows, len(names)), dtype=copy.dtype)
    n_before = 0
    for batch in source.batches([*names, *labels], text, n_rows):
        rows = fill_block(batch, names, block)
        check_finite(rows, names, n_before, source)
        copy.append(rows)
        for place, array in enumerate(arrays, start=len(names)):
            array.append(batch.column(place), source)
        n_before += len(rows)
