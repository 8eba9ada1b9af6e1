"""Copies of features on disk: written in batches, then mapped into memory.

The files have no name: the system removes them as soon as the last array that uses them is deleted
or the process ends, however it ends.
"""

import errno
import mmap
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from opgd.core.types import AnyArray

LASTING_FOLDER = Path("/var/tmp")  # nosec
"""Folder for large temporary files; ``/tmp`` is often kept in memory."""


def choose_folder(cache: Any) -> Path:
    """Return the folder for a copy: `cache`, ``TMPDIR``, ``/var/tmp``, or the system's default."""
    if cache is not None:
        if not Path(cache).is_dir():
            raise FileNotFoundError(f"The folder {str(cache)!r} (`cache`) does not exist.")
        return Path(cache)
    if "TMPDIR" not in os.environ and os.access(LASTING_FOLDER, os.W_OK | os.X_OK):
        return LASTING_FOLDER
    return Path(tempfile.gettempdir())


class DiskCopy:
    """Rows that are appended to a temporary file; to be used as a context manager.

    Parameters
    ----------
    n_columns : int
    dtype : dtype of the rows
    cache : path of the folder, or None
    n_bytes : int, default=0
        Expected size, if it is known; raise OSError if the disk has no room for it.
    """

    def __init__(self, n_columns: int, dtype: Any, cache: Any = None, n_bytes: int = 0) -> None:
        self.n_columns, self.dtype = n_columns, np.dtype(dtype)
        self.n_rows = 0
        self.folder = choose_folder(cache)
        if n_bytes > shutil.disk_usage(self.folder).free:
            raise self._make_full_error(n_bytes)

    def _make_full_error(self, n_bytes: int) -> OSError:
        free = shutil.disk_usage(self.folder).free
        return OSError(
            errno.ENOSPC,
            f"the copy of the features needs {max(n_bytes, free) / 1e9:.2f} GB or more in "
            f"{str(self.folder)!r}, which has {free / 1e9:.2f} GB; free some space or set TMPDIR "
            "(`cache` in Python) to a folder on another disk",
        )

    def __enter__(self) -> Self:
        self._file = tempfile.TemporaryFile(dir=self.folder, prefix="opgd-")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._file.close()
        except OSError:  # a full disk, while the rest is written: reported already
            if error is None:
                raise

    def append(self, rows: AnyArray) -> None:
        """Append rows, (n, n_columns)."""
        assert rows.shape[1] == self.n_columns
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
            self._file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            n_bytes = self.n_rows * self.n_columns * self.dtype.itemsize
            raise self._make_full_error(n_bytes) from None
        self.n_rows += len(rows)

    def open(self) -> AnyArray:
        """Return the rows as a read-only array on disk, which outlives the context."""
        if not self.n_rows or not self.n_columns:
            return np.empty((self.n_rows, self.n_columns), dtype=self.dtype)
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        # not a numpy.memmap, which joblib would open in other processes by its name
        return np.frombuffer(mapped, dtype=self.dtype).reshape(self.n_rows, self.n_columns)
