"""Atomic writing of files."""

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

KINDS = {
    stat.S_ISLNK: "a symbolic link; pass the path of the file itself",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}
"""What is never replaced, by the test of its mode."""
KEEPS_PERMISSIONS = sys.platform != "win32"
"""Whether a file passes its permissions on; the only one on Windows, read-only, forbids to replace
it, and would forbid to delete the temporary file."""


def check_writable_path(path: Any, overwrite: bool) -> Path:
    """Return the path if a file can be created there; raise OSError otherwise."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {str(path)!r}: it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save to {str(path)!r}: the folder {str(path.parent)!r} does not exist."
        )
    if _read_status(path) is not None and not overwrite:
        raise _make_exists_error(path)
    return path


def write_atomically(path: Path, data: bytes, overwrite: bool) -> None:
    """Write a file that is either complete or absent; see `open_atomically`."""
    with open_atomically(path, overwrite) as stream:
        stream.write(data)


@contextmanager
def open_atomically(path: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder, and rename it to `path` when all is written.

    A file that is replaced passes on its permissions. Other kinds of files, such as devices and
    symbolic links, are not replaced.
    """
    previous = _read_status(path)
    temporary = path.with_name(f".opgd-{secrets.token_hex(8)}.tmp")
    try:
        # nobody else may read the new contents before the permissions are those of the old ones
        mode = 0o666 if previous is None else 0o600
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if previous is not None and overwrite and KEEPS_PERMISSIONS:
            temporary.chmod(stat.S_IMODE(previous.st_mode))
        _read_status(path)  # again, since writing may have taken long
        _rename(temporary, path, overwrite)
    finally:
        temporary.unlink(missing_ok=True)


def _read_status(path: Path) -> os.stat_result | None:
    """Return the status of a regular file, None if there is none; raise OSError for others."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    for has_kind, words in KINDS.items():
        if has_kind(status.st_mode):
            raise FileExistsError(f"Cannot save to {str(path)!r}: it is {words}.")
    return status


def _make_exists_error(path: Path) -> FileExistsError:
    return FileExistsError(
        f"Cannot save to {str(path)!r}: the file exists already. Pass overwrite=True to replace it."
    )


def _rename(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(temporary, path)  # unlike os.replace, fails if the file exists
            return
        except FileExistsError:
            raise _make_exists_error(path) from None
        except OSError:  # not every file system supports links
            if os.path.lexists(path):
                raise _make_exists_error(path) from None
    os.replace(temporary, path)
